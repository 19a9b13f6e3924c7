//! Accuracy of predictions by cross-validation (A 3.4).

use super::counts::{self, FeatureCounts};
use super::feature::WeightedFeature;
use super::naive_bayes::{NaiveBayes, probability};

/// An instance <(u,v), Pr(c*|v)> for cross-validation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Instance {
    /// Target page. All links to one page are in the same fold, so that every test is on unseen pages.
    pub(super) target: u64,
    pub(super) features: Vec<WeightedFeature>,
    pub(super) relevance: f64,
}

/// Accuracy on links whose targets were not seen in training.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// Share of the links to relevant pages that are predicted as such.
    pub positive: f64,
    /// Share of the links to irrelevant pages that are predicted as such.
    pub negative: f64,
    /// Share of all links that are predicted correctly.
    pub average: f64,
}

impl Accuracy {
    /// From links as pairs: whether the target is relevant, and the prediction.
    pub(super) fn of(links: impl Iterator<Item = (bool, bool)>) -> Accuracy {
        let (mut right, mut all) = ([0_u64; 2], [0_u64; 2]);
        for (is_high, predicted) in links {
            all[usize::from(is_high)] += 1;
            right[usize::from(is_high)] += u64::from(predicted == is_high);
        }
        let share = |right: u64, all: u64| right as f64 / all.max(1) as f64;
        Accuracy {
            positive: share(right[1], all[1]),
            negative: share(right[0], all[0]),
            average: share(right[0] + right[1], all[0] + all[1]),
        }
    }

    /// Mean of both shares. It equals the average if both classes are equally frequent; if relevant pages are rare, the
    /// average is best when all links are predicted irrelevant.
    pub fn balanced(&self) -> f64 {
        (self.positive + self.negative) / 2.0
    }
}

/// Predicts each of `parts` folds from the others; `None` if one class has too few instances.
pub(super) fn cross_validated(instances: &[Instance], parts: u64) -> Option<Accuracy> {
    let mut counts = FeatureCounts::default();
    instances.iter().for_each(|instance| counts.add(&[], instance.relevance));
    let cut = counts.cut();
    let mut predictions = Vec::with_capacity(instances.len());
    for part in 0..parts {
        let is_in = |instance: &&Instance| instance.target % parts == part;
        let mut counts = FeatureCounts::default();
        let learnt = instances.iter().filter(|instance| !is_in(instance));
        learnt.for_each(|instance| counts.add(&instance.features, instance.relevance));
        let bayes = NaiveBayes::train(&counts, 0)?;
        predictions.extend(instances.iter().filter(is_in).map(|Instance { features, relevance, .. }| {
            (counts::bin(*relevance) >= cut, probability(bayes.log_odds(features)) >= 0.5)
        }));
    }
    Some(Accuracy::of(predictions.into_iter()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_computed_accuracy() {
        // Twenty low ones with the word 1 and twenty high ones with the word 2; of the high ones, four are called 1.
        let instance = |target: u64, word: u32, relevance: f64| Instance {
            target,
            features: vec![(word, 1)],
            relevance,
        };
        let low = (0..20).map(|n| instance(n, 1, 0.05));
        let high = (20..40).map(|n| instance(n, if n < 24 { 1 } else { 2 }, 0.95));
        let all: Vec<Instance> = low.chain(high).collect();
        let accuracy = cross_validated(&all, 5).unwrap();
        // In every fold, a word predicts the class that it occurs in more often: 1 is low.
        assert_eq!(accuracy, Accuracy { positive: 16.0 / 20.0, negative: 1.0, average: 36.0 / 40.0 });
        assert!((accuracy.balanced() - 0.9).abs() < 1e-12);
        // All of one class: nothing to learn.
        assert_eq!(cross_validated(&all[..20], 5), None);
    }
}
