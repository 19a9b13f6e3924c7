//! Training counts. Integers add up exactly, so learning one by one equals learning all at once, and the lessons of
//! several workers can be summed.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::feature::WeightedFeature;
use crate::state;

/// Number of relevance bins: of width 1 in log odds, from below -7 to above 7. The cut between low and high can then be
/// chosen at any time from the sums alone.
pub(super) const BINS: usize = 16;

/// Allowed cuts between low and high: from log odds -2 (a relevance of 0.12) to 2 (0.88). Beyond them, the halves would
/// no longer separate relevant from irrelevant pages.
const CUTS: Range<usize> = 6..11;

/// Occurrences of features in training instances, by bin of Pr(c*|v).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FeatureCounts {
    /// Number of instances by bin.
    instances: [u64; BINS],
    /// Number of feature occurrences by bin.
    occurrences: [u64; BINS],
    /// Occurrences by feature and bin; most features occur in one or two bins.
    #[serde(serialize_with = "state::sorted")]
    features: HashMap<u64, u32, foldhash::fast::FixedState>,
}

/// Sums below and above a cut.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SplitCounts {
    /// Occurrences of all features, low and high.
    pub(super) occurrences: [u64; 2],
    /// Occurrences of each feature, low and high.
    pub(super) features: HashMap<u32, [u32; 2], foldhash::fast::FixedState>,
}

impl FeatureCounts {
    /// Adds an instance <(u,v), Pr(c*|v)> (A 2.2).
    pub(super) fn add(&mut self, features: &[WeightedFeature], relevance: f64) {
        let bin = bin(relevance);
        self.instances[bin] += 1;
        for (feature, weight) in features {
            self.occurrences[bin] += u64::from(*weight);
            *self.features.entry(key(*feature, bin)).or_default() += u32::from(*weight);
        }
    }

    /// Adds the counts of another learner.
    pub(super) fn merge(&mut self, other: &FeatureCounts) {
        for bin in 0..BINS {
            self.instances[bin] += other.instances[bin];
            self.occurrences[bin] += other.occurrences[bin];
        }
        for (key, count) in &other.features {
            *self.features.entry(*key).or_default() += count;
        }
    }

    /// Total number of instances.
    pub(super) fn instances(&self) -> u64 {
        self.instances.iter().sum()
    }

    /// First bin of the high half: the allowed cut that divides the instances most evenly (A 2.3, "equally probable
    /// intervals as far as possible"). When most pages are irrelevant, the median is near 0 and an even cut would
    /// separate two kinds of irrelevance; then the lowest allowed cut is used, and high is the rarer half.
    pub(super) fn cut(&self) -> usize {
        let all = self.instances();
        let unevenness = |cut: &usize| (2 * self.instances[*cut..].iter().sum::<u64>()).abs_diff(all);
        // On ties, the cut nearest to a relevance of 1/2.
        CUTS.min_by_key(|cut| (unevenness(cut), cut.abs_diff(BINS / 2))).unwrap_or(BINS / 2)
    }

    /// Number of instances below a cut, and from it on.
    pub(super) fn instances_of_halves(&self, cut: usize) -> [u64; 2] {
        [self.instances[..cut].iter().sum(), self.instances[cut..].iter().sum()]
    }

    /// Sums below a cut, and from it on.
    pub(super) fn halves(&self, cut: usize) -> SplitCounts {
        let occurrences = [self.occurrences[..cut].iter().sum(), self.occurrences[cut..].iter().sum()];
        let mut features: HashMap<u32, [u32; 2], _> = HashMap::default();
        for (key, count) in &self.features {
            let (feature, bin) = ((*key >> 4) as u32, (*key & 15) as usize);
            features.entry(feature).or_insert([0, 0])[usize::from(bin >= cut)] += count;
        }
        SplitCounts { occurrences, features }
    }
}

/// Relevance at which a bin begins.
pub(super) fn begin(bin: usize) -> f64 {
    if bin == 0 { 0.0 } else { 1.0 / (1.0 + (8.0 - bin as f64).exp()) }
}

/// Bin of a relevance.
pub(super) fn bin(relevance: f64) -> usize {
    let odds = (relevance / (1.0 - relevance)).ln();
    // NaN counts as the lowest relevance.
    (odds.floor() + 8.0).clamp(0.0, (BINS - 1) as f64) as usize
}

fn key(feature: u32, bin: usize) -> u64 {
    u64::from(feature) << 4 | bin as u64
}

/// Number of bins of |Pr(c*|u) - Pr(c*|v)|.
pub(super) const DIFFERENCES: usize = 64;

/// Counts a difference. Returns whether it is among the largest `share` of all differences counted.
pub(super) fn is_surprising(seen: &mut [u64; DIFFERENCES], difference: f64, share: f64) -> bool {
    let place = ((difference * DIFFERENCES as f64) as usize).min(DIFFERENCES - 1);
    seen[place] += 1;
    let larger: u64 = seen[place + 1..].iter().sum();
    (larger as f64) < share * seen.iter().sum::<u64>() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cut_is_even_unless_most_pages_are_irrelevant() {
        let cut = |relevances: &[f64]| {
            let mut counts = FeatureCounts::default();
            relevances.iter().for_each(|relevance| counts.add(&[], *relevance));
            begin(counts.cut())
        };
        assert_eq!(cut(&[0.1, 0.2, 0.6, 0.9]), 0.5);
        assert_eq!(format!("{:.3}", cut(&[0.3, 0.4, 0.8, 0.9])), "0.500");
        assert_eq!(format!("{:.3}", cut(&[0.6, 0.65, 0.8, 0.95])), "0.731");
        // The median is 0.0015; values above 0.12 are high.
        assert_eq!(format!("{:.3}", cut(&[0.0, 0.0001, 0.001, 0.002, 0.2, 0.9])), "0.119");
        assert_eq!(format!("{:.3}", cut(&[1.0, 0.999, 0.99, 0.98, 0.8, 0.1])), "0.881");
    }

    #[test]
    fn relevance_is_put_into_the_right_bin() {
        for at in 1..BINS {
            assert_eq!(bin(begin(at) + 1e-6), at);
            assert_eq!(bin(begin(at) - 1e-6), at - 1);
        }
        assert_eq!((bin(0.0), bin(1.0), bin(f64::NAN)), (0, BINS - 1, 0));
    }

    #[test]
    fn surprises_are_the_largest_differences_so_far() {
        let mut seen = [0; DIFFERENCES];
        let mut one = |difference| is_surprising(&mut seen, difference, 0.25);
        assert!(one(0.1));
        assert!(one(0.9));
        assert!(!one(0.2));
        assert!(!one(0.3));
        // One of five is larger, and a quarter of five may be; then three of six are larger.
        assert!(one(0.4));
        assert!(!one(0.15));
    }
}
