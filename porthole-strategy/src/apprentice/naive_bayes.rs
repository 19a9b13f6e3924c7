//! Naive Bayes with two classes, low and high relevance (A 2.3, eq. 1 and 2).

use std::collections::HashMap;

use super::counts::{FeatureCounts, SplitCounts};
use super::feature::WeightedFeature;

/// Minimum number of instances in each half.
pub(super) const LEAST: u64 = 5;

/// A model trained from counts.
#[derive(Clone, Debug)]
pub(super) struct NaiveBayes {
    /// ln Pr(high) - ln Pr(low).
    pub(super) prior: f64,
    /// ln theta(high, feature) - ln theta(low, feature).
    odds: HashMap<u32, f32, foldhash::fast::FixedState>,
    length: f64,
}

impl NaiveBayes {
    /// Trains; `None` if either half has too few instances.
    pub(super) fn train(counts: &FeatureCounts, length: u32) -> Option<NaiveBayes> {
        let cut = counts.cut();
        let [low, high] = counts.instances_of_halves(cut);
        if low < LEAST || high < LEAST {
            return None;
        }
        let SplitCounts { occurrences, features } = counts.halves(cut);
        let vocabulary = features.len() as f64;
        let theta = |count: u32, half: usize| {
            // A eq. 1; the denominator is the number of feature occurrences in the class.
            (1.0 + f64::from(count)) / (vocabulary + occurrences[half] as f64)
        };
        let odds = |[low, high]: [u32; 2]| (theta(high, 1) / theta(low, 0)).ln() as f32;
        let odds = features.into_iter().map(|(feature, counts)| (feature, odds(counts))).collect();
        Some(NaiveBayes { prior: (high as f64 / low as f64).ln(), odds, length: f64::from(length) })
    }

    /// Contribution of a feature to the log odds; 0 if it was never seen.
    pub(super) fn odds(&self, feature: u32) -> f64 {
        self.odds.get(&feature).map_or(0.0, |odds| f64::from(*odds))
    }

    /// Factor by which the contributions of a link with many features are reduced.
    pub(super) fn scale(&self, features: &[WeightedFeature]) -> f64 {
        self.scale_of(features.iter().map(|(_, weight)| f64::from(*weight)).sum())
    }

    fn scale_of(&self, all: f64) -> f64 {
        if self.length > 0.0 && all > self.length { self.length / all } else { 1.0 }
    }

    /// ln Pr(high|link) - ln Pr(low|link).
    pub(super) fn log_odds(&self, features: &[WeightedFeature]) -> f64 {
        let sum: f64 =
            features.iter().map(|(feature, weight)| self.odds(*feature) * f64::from(*weight)).sum();
        self.prior + sum * self.scale(features)
    }

    /// The same for `features` features whose contributions have this sum.
    pub(super) fn log_odds_of(&self, sum: f64, features: usize) -> f64 {
        self.prior + sum * self.scale_of(features as f64)
    }
}

/// Priority of a link by its log odds: in the order of the probability, and 0.5 at even odds. Probabilities are 1 in
/// single precision from log odds of 17 on, so that links with much evidence would tie; priorities differ up to log odds
/// of a thousand.
pub(super) fn priority(log_odds: f64) -> f64 {
    0.5 + 0.5 * log_odds / (1.0 + log_odds.abs())
}

/// Probability of log odds.
pub(super) fn probability(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five low instances with the feature 1, five high ones with 2 and 3.
    fn counts() -> FeatureCounts {
        let mut counts = FeatureCounts::default();
        for _ in 0..5 {
            counts.add(&[(1, 1)], 0.01);
            counts.add(&[(2, 1), (3, 2)], 0.9);
        }
        counts
    }

    #[test]
    fn hand_computed_model() {
        let bayes = NaiveBayes::train(&counts(), 0).unwrap();
        // |T| = 3; low: 5 occurrences, high: 15. theta(low,1) = 6/8, theta(high,1) = 1/18.
        assert!((bayes.odds(1) - (1.0_f64 / 18.0 / (6.0 / 8.0)).ln()).abs() < 1e-6);
        assert!((bayes.odds(2) - (6.0_f64 / 18.0 / (1.0 / 8.0)).ln()).abs() < 1e-6);
        assert!((bayes.odds(3) - (11.0_f64 / 18.0 / (1.0 / 8.0)).ln()).abs() < 1e-6);
        assert_eq!((bayes.prior, bayes.odds(4)), (0.0, 0.0));
        let pr = probability(bayes.log_odds(&[(2, 1), (1, 1)]));
        // 6/18 * 1/18 against 1/8 * 6/8.
        let (high, low): (f64, f64) = (6.0 / 324.0, 6.0 / 64.0);
        assert!((pr - high / (high + low)).abs() < 1e-6);
        // With a length of 1, two features count half each.
        let short = NaiveBayes::train(&counts(), 1).unwrap();
        assert!((short.log_odds(&[(2, 1), (1, 1)]) - (high / low).ln() / 2.0).abs() < 1e-6);
    }

    #[test]
    fn priorities_are_in_the_order_of_log_odds_and_do_not_saturate() {
        let log_odds = [-1_000.0, -40.0, -20.0, -17.0, -1.0, 0.0, 1.0, 17.0, 20.0, 40.0, 999.0, 1_000.0];
        let priorities = log_odds.map(|log_odds| priority(log_odds) as f32);
        assert!(priorities.windows(2).all(|pair| pair[0] < pair[1]), "{priorities:?}");
        assert!(priorities.iter().all(|priority| (0.0..=1.0).contains(priority)), "{priorities:?}");
        assert_eq!(priorities[5], 0.5);
        // Probabilities do.
        assert_eq!(probability(20.0) as f32, probability(40.0) as f32);
    }

    #[test]
    fn one_class_alone_cannot_be_trained() {
        let mut counts = FeatureCounts::default();
        (0..100).for_each(|_| counts.add(&[(1, 1)], 0.9));
        assert!(NaiveBayes::train(&counts, 0).is_none());
        (0..LEAST).for_each(|_| counts.add(&[(1, 1)], 0.01));
        assert!(NaiveBayes::train(&counts, 0).is_some());
    }

    #[test]
    fn incremental_and_merged_counts_equal_batch_counts() {
        let instances: Vec<(Vec<WeightedFeature>, f64)> = (0..200u32)
            .map(|n| (vec![(n % 7, 1), (n % 11 + 100, 2)], f64::from(n * 37 % 100) / 100.0))
            .collect();
        let mut all = FeatureCounts::default();
        instances.iter().for_each(|(features, relevance)| all.add(features, *relevance));
        let mut workers = [FeatureCounts::default(), FeatureCounts::default()];
        for (n, (features, relevance)) in instances.iter().enumerate() {
            workers[usize::from(n % 3 == 0)].add(features, *relevance);
        }
        let [mut one, other] = workers;
        one.merge(&other);
        assert_eq!(one, all);
        let (a, b) = (NaiveBayes::train(&one, 0).unwrap(), NaiveBayes::train(&all, 0).unwrap());
        assert_eq!(a.log_odds(&[(3, 1), (104, 1)]), b.log_odds(&[(3, 1), (104, 1)]));
        assert_ne!(a.log_odds(&[(3, 1)]), NaiveBayes::train(&other, 0).unwrap().log_odds(&[(3, 1)]));
    }
}
