//! Finds near-duplicates by 64-bit simhash, with a table of bands over the last pages.

use porthole_types::UrlId;

/// Maximum number of differing bits of near-duplicates.
const MAX_DISTANCE: u32 = 3;
/// Four bands of 16 bits: three differing bits leave at least one band unchanged.
const BANDS: usize = 4;
/// Maximum number of fingerprints compared per band. A page that shares a band with more is among near-duplicates,
/// and found by the first of them.
const MAX_STEPS: usize = 64;

/// Fingerprints of the last pages that were not near-duplicates. Pages with the same value in a band form a chain
/// from the latest to the oldest. When the oldest is overwritten, the chains end earlier.
pub(super) struct Fingerprints {
    /// Ring buffer. The page at position p, counted from 1, is at (p - 1) modulo the capacity.
    pages: Vec<FingerprintedPage>,
    capacity: usize,
    /// Position of the last page, or 0 if there is none.
    last: u32,
    /// Position of the last page with each value of each band.
    heads: Vec<u32>,
}

struct FingerprintedPage {
    simhash: u64,
    oid: UrlId,
    before: [u32; BANDS],
}

impl Fingerprints {
    pub(super) fn new(capacity: usize) -> Self {
        let heads = vec![0; BANDS << 16];
        Fingerprints { pages: Vec::new(), capacity: capacity.max(1), last: 0, heads }
    }

    /// A near-duplicate of this fingerprint.
    pub(super) fn near(&self, simhash: u64) -> Option<UrlId> {
        (0..BANDS).find_map(|band| {
            let mut position = self.heads[head(simhash, band)];
            for _ in 0..MAX_STEPS {
                let page = self.page(position)?;
                if (page.simhash ^ simhash).count_ones() <= MAX_DISTANCE {
                    return Some(page.oid);
                }
                position = page.before[band];
            }
            None
        })
    }

    pub(super) fn insert(&mut self, simhash: u64, oid: UrlId) {
        // No crawl has four billion originals.
        let Some(position) = self.last.checked_add(1) else { return };
        let before =
            std::array::from_fn(|band| std::mem::replace(&mut self.heads[head(simhash, band)], position));
        let page = FingerprintedPage { simhash, oid, before };
        if self.pages.len() < self.capacity {
            self.pages.push(page);
        } else {
            let slot = self.slot(position);
            self.pages[slot] = page;
        }
        self.last = position;
    }

    /// The page at a position, unless it was overwritten.
    fn page(&self, position: u32) -> Option<&FingerprintedPage> {
        let is_kept = position > 0 && ((self.last - position) as usize) < self.capacity;
        if is_kept { self.pages.get(self.slot(position)) } else { None }
    }

    fn slot(&self, position: u32) -> usize {
        (position as usize - 1) % self.capacity
    }
}

fn head(simhash: u64, band: usize) -> usize {
    let value = (simhash >> (16 * band)) & 0xffff;
    (band << 16) | value as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn three_bits_are_near_and_four_are_not(simhash: u64, flips in proptest::sample::subsequence((0..64).collect::<Vec<u32>>(), 0..8)) {
            let mut fingerprints = Fingerprints::new(100);
            fingerprints.insert(simhash, UrlId(7));
            let other = flips.iter().fold(simhash, |hash, bit| hash ^ 1 << bit);
            prop_assert_eq!(fingerprints.near(other).is_some(), flips.len() <= 3);
        }

        #[test]
        fn results_equal_a_linear_search(hashes in proptest::collection::vec(0u64..1 << 12, 1..120), capacity in 1usize..60) {
            // Spread over two bands, so that neighbours are frequent and chains long.
            let hashes: Vec<u64> = hashes.iter().map(|hash| hash << 10).collect();
            let mut fingerprints = Fingerprints::new(capacity);
            let mut all: Vec<u64> = Vec::new();
            for hash in hashes {
                let kept = &all[all.len().saturating_sub(capacity)..];
                let near = kept.iter().any(|known| (known ^ hash).count_ones() <= MAX_DISTANCE);
                prop_assert_eq!(fingerprints.near(hash).is_some(), near);
                fingerprints.insert(hash, UrlId(hash));
                all.push(hash);
            }
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut fingerprints = Fingerprints::new(1_000);
        for page in 0..50_000u64 {
            fingerprints.insert(page.wrapping_mul(0x9e37_79b9_7f4a_7c15), UrlId(page));
        }
        assert_eq!(fingerprints.pages.len(), 1_000);
        assert_eq!(fingerprints.near(49_999u64.wrapping_mul(0x9e37_79b9_7f4a_7c15)), Some(UrlId(49_999)));
    }
}
