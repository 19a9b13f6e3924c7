//! Statistics of terms and leaves at each DOM offset from links (A Figs. 8 and 9).

use std::collections::{BTreeMap, HashMap, HashSet};

use porthole_types::TermId;

use super::context::offset;
use super::counts;
use super::study::CrawlTranscript;

/// Statistics at one DOM offset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AtOffset {
    /// The offset.
    pub offset: i32,
    /// Mean information gain of the terms there about whether the target is relevant, in bits (A Fig. 8).
    pub information_gain: f64,
    /// Sum of theta over the terms there: their share of all occurrences within reach (A Fig. 9 a).
    pub theta: f64,
    /// Number of leaves there.
    pub leaves: u64,
    /// Mean number per link of each element that a leaf is or is in (A Fig. 9 b).
    pub tags: BTreeMap<&'static str, f64>,
    /// Share of the leaves without words, such as breaks and pictures.
    pub without_words: f64,
    /// Share of the leaves that are inside another link.
    pub in_links: f64,
}

#[derive(Default)]
struct OffsetTally {
    /// Instances, low and high, with the term at this offset.
    instances: HashMap<TermId, [u64; 2]>,
    occurrences: u64,
    leaves: u64,
    tags: BTreeMap<&'static str, u64>,
    without_words: u64,
    in_links: u64,
}

pub(super) fn by_offset(study: &CrawlTranscript, d_max: u32) -> Vec<AtOffset> {
    let cut = study.cut_bin();
    let mut tallies: BTreeMap<i32, OffsetTally> = BTreeMap::new();
    let mut all = [0_u64; 2];
    for (page, link, relevance) in study.links() {
        let context = &page.context;
        let half = usize::from(counts::bin(relevance) >= cut);
        all[half] += 1;
        let (first, end) = context.reach(link, d_max);
        let mut seen = HashSet::new();
        for leaf in first..end {
            let at = offset(leaf as u32, link.first, link.last);
            let tally = tallies.entry(at).or_default();
            let terms = context.leaf_terms(leaf);
            tally.leaves += 1;
            *tally.tags.entry(page.tags[leaf]).or_default() += 1;
            tally.without_words += u64::from(terms.is_empty());
            tally.in_links += u64::from(at != 0 && context.is_in_link(leaf));
            tally.occurrences += terms.len() as u64;
            for term in terms.iter().filter(|term| seen.insert((at, **term))) {
                tally.instances.entry(*term).or_default()[half] += 1;
            }
        }
    }
    let occurrences: u64 = tallies.values().map(|tally| tally.occurrences).sum();
    let vocabulary: usize = tallies.values().map(|tally| tally.instances.len()).sum();
    let below = (occurrences + vocabulary as u64).max(1) as f64;
    let links = (all[0] + all[1]).max(1) as f64;
    let of_tally = |(offset, tally): (i32, OffsetTally)| {
        let gains: f64 = tally.instances.values().map(|with| information_gain(*with, all)).sum();
        let terms = tally.instances.len();
        AtOffset {
            offset,
            information_gain: gains / terms.max(1) as f64,
            theta: (terms as u64 + tally.occurrences) as f64 / below,
            leaves: tally.leaves,
            tags: tally.tags.into_iter().map(|(tag, count)| (tag, count as f64 / links)).collect(),
            without_words: tally.without_words as f64 / tally.leaves as f64,
            in_links: tally.in_links as f64 / tally.leaves as f64,
        }
    };
    tallies.into_iter().map(of_tally).collect()
}

/// Information gain in bits of a feature's presence about low or high.
fn information_gain(with: [u64; 2], all: [u64; 2]) -> f64 {
    let without = [all[0] - with[0], all[1] - with[1]];
    let total = (all[0] + all[1]) as f64;
    let share = |part: [u64; 2]| (part[0] + part[1]) as f64 / total;
    entropy(all) - share(with) * entropy(with) - share(without) * entropy(without)
}

fn entropy([low, high]: [u64; 2]) -> f64 {
    let total = (low + high) as f64;
    let part =
        |count: u64| if count == 0 { 0.0 } else { -(count as f64 / total) * (count as f64 / total).log2() };
    part(low) + part(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_computed_information_gain() {
        // A perfect, a useless and a partly useful feature: H = 1, minus 3/4 of H(1/3) = 0.918.
        assert!((information_gain([0, 2], [2, 2]) - 1.0).abs() < 1e-12);
        assert!(information_gain([1, 1], [2, 2]).abs() < 1e-12);
        assert!((information_gain([1, 2], [2, 2]) - (1.0 - 0.75 * 0.918_295_834)).abs() < 1e-9);
    }
}
