//! The alternatives that A tried and rejected (A 2.3): linear regression and a perceptron, both learning online. Their
//! weights are not sums, so the lessons of several workers cannot be added.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::feature::WeightedFeature;
use super::naive_bayes::priority;
use crate::state;

/// Learning rate.
const RATE: f64 = 0.25;

/// A weight for every feature, and the bias.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Linear {
    is_perceptron: bool,
    #[serde(serialize_with = "state::sorted")]
    weights: HashMap<u32, f32, foldhash::fast::FixedState>,
    bias: f64,
    instances: u64,
}

impl Linear {
    pub(super) fn regression() -> Linear {
        Linear::default()
    }

    pub(super) fn perceptron() -> Linear {
        Linear { is_perceptron: true, ..Linear::default() }
    }

    pub(super) fn is_perceptron(&self) -> bool {
        self.is_perceptron
    }

    /// Number of instances learnt.
    pub(super) fn instances(&self) -> u64 {
        self.instances
    }

    /// Learns an instance by the delta rule, with steps that do not grow with the number of features.
    pub(super) fn learn(&mut self, features: &[WeightedFeature], relevance: f64) {
        self.instances += 1;
        let error = if self.is_perceptron {
            // High or low; a correct prediction changes nothing.
            let (is_high, predicted) = (relevance >= 0.5, self.sum(features) >= 0.0);
            f64::from(i8::from(is_high) - i8::from(predicted))
        } else {
            relevance - self.sum(features)
        };
        let squares = 1.0 + features.iter().map(|(_, weight)| f64::from(*weight).powi(2)).sum::<f64>();
        let step = RATE * error / squares;
        if step == 0.0 {
            return;
        }
        self.bias += step;
        for (feature, weight) in features {
            *self.weights.entry(*feature).or_default() += (step * f64::from(*weight)) as f32;
        }
    }

    /// Weight of a feature.
    pub(super) fn weight(&self, feature: u32) -> f64 {
        self.weights.get(&feature).map_or(0.0, |weight| f64::from(*weight))
    }

    /// The bias.
    pub(super) fn bias(&self) -> f64 {
        self.bias
    }

    fn sum(&self, features: &[WeightedFeature]) -> f64 {
        let weigh = |(feature, weight): &WeightedFeature| self.weight(*feature) * f64::from(*weight);
        self.bias + features.iter().map(weigh).sum::<f64>()
    }

    /// The priority of a link, from 0 to 1: the prediction of R, or in the order of the perceptron's sums.
    pub(super) fn score(&self, features: &[WeightedFeature]) -> f64 {
        let sum = self.sum(features);
        if self.is_perceptron { priority(sum) } else { sum.clamp(0.0, 1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_by_hand() {
        let mut regression = Linear::regression();
        regression.learn(&[(1, 1), (2, 2)], 0.6);
        // The error is 0.6, the squares 1 + 1 + 4, the step 0.25 * 0.6 / 6 = 0.025.
        assert!((regression.bias() - 0.025).abs() < 1e-9);
        assert!((regression.weight(2) - 0.05).abs() < 1e-9);
        assert!((regression.score(&[(1, 1), (2, 2)]) - 0.15).abs() < 1e-7);
    }

    #[test]
    fn both_learn_which_features_lead_to_relevant_pages() {
        for mut learner in [Linear::regression(), Linear::perceptron()] {
            for _ in 0..200 {
                learner.learn(&[(1, 1), (9, 1)], 0.9);
                learner.learn(&[(2, 1), (9, 1)], 0.1);
            }
            assert!(learner.score(&[(1, 1)]) > 0.5 && learner.score(&[(2, 1)]) < 0.5, "{learner:?}");
        }
    }
}
