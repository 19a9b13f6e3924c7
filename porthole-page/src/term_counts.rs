//! Counts of a page's terms, in term order.

use porthole_types::TermId;

/// Maximum mean number of probes to the next slot for an occurrence. Hashes need far fewer than one; a page whose
/// words were chosen to collide is sorted instead.
const MAX_STEPS: usize = 4;

/// Number of occurrences of each term, ordered by term.
///
/// A hash table by the upper bits of a term: read from front to back it is in order, except for terms that share a
/// slot, which are neighbours. Several times as fast as sorting all occurrences.
pub(crate) fn count_terms(terms: &[TermId]) -> Vec<(TermId, u32)> {
    // A quarter more slots than terms: most terms of a long text repeat, and a small table stays in the cache.
    let bits = (terms.len() + terms.len() / 4).max(2).next_power_of_two().ilog2();
    // No term wraps around: there are extra slots after the last.
    let mut slots = vec![(TermId(0), 0); (1 << bits) + SPILL];
    let mut occupied = vec![0u64; slots.len().div_ceil(64)];
    let mut steps = terms.len().saturating_mul(MAX_STEPS);
    for &term in terms {
        let mut at = (term.0 >> (u32::BITS - bits)) as usize;
        while slots[at].1 != 0 && slots[at].0 != term {
            at += 1;
            if at == slots.len() || steps == 0 {
                return count_by_sorting(terms);
            }
            steps -= 1;
        }
        slots[at] = (term, slots[at].1 + 1);
        occupied[at / 64] |= 1 << (at % 64);
    }
    let distinct: u32 = occupied.iter().map(|bits| bits.count_ones()).sum();
    let mut counts = Vec::with_capacity(distinct as usize);
    for (word, mut bits) in occupied.into_iter().enumerate() {
        while bits != 0 {
            counts.push(slots[word * 64 + bits.trailing_zeros() as usize]);
            bits &= bits - 1;
        }
    }
    sort_nearly_sorted(&mut counts);
    counts
}

/// Number of extra slots.
const SPILL: usize = 32;

/// Insertion sort: an entry moves past those that took its slot, at most `MAX_STEPS` on average.
fn sort_nearly_sorted(counts: &mut [(TermId, u32)]) {
    for end in 1..counts.len() {
        let mut at = end;
        while at > 0 && counts[at - 1].0 > counts[at].0 {
            counts.swap(at - 1, at);
            at -= 1;
        }
    }
}

fn count_by_sorting(terms: &[TermId]) -> Vec<(TermId, u32)> {
    let mut terms = terms.to_vec();
    terms.sort_unstable();
    terms.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Terms from a small range collide, those from a large range do not; both counts equal those by sorting.
        #[test]
        fn counts_are_those_of_sorting(terms in prop::collection::vec(any::<u32>(), 0..600), shift in 0u32..32) {
            let terms: Vec<TermId> = terms.into_iter().map(|term| TermId(term >> shift)).collect();
            prop_assert_eq!(count_terms(&terms), count_by_sorting(&terms));
            let low: Vec<TermId> = terms.iter().map(|term| TermId(u32::MAX - term.0)).collect();
            prop_assert_eq!(count_terms(&low), count_by_sorting(&low));
        }
    }

    #[test]
    fn terms_that_all_collide_are_counted() {
        let terms: Vec<TermId> = (0..100_000).map(TermId).collect();
        assert_eq!(count_terms(&terms), count_by_sorting(&terms));
    }
}
