//! Online logistic regression.
//!
//! A few dense features with prior weights are learnt with their covariance (each page is one Newton step on the
//! current posterior), so that some dozens of pages suffice. Words and layout are thousands of hashed features, learnt
//! by Adagrad.

use serde::{Deserialize, Serialize};

use crate::{StateError, state};

/// Number of dense features.
pub(super) const DENSE: usize = 13;

/// Buckets that features are hashed into; a power of two.
pub(super) const BUCKETS: usize = 1 << 18;

/// Learning rate of hashed features.
const RATE: f32 = 0.3;

/// Dense features of a link.
pub(super) type Dense = [f32; DENSE];

/// Estimates the relevance of a link's target.
#[derive(Debug)]
pub(super) struct LinkEstimator {
    weights: [f64; DENSE],
    /// Covariance of the weights.
    spread: [[f64; DENSE]; DENSE],
    /// Weights of the hashed features, and the sums of their squared gradients. Separate arrays, because scoring reads
    /// only the weights.
    hashed: Box<[f32]>,
    squares: Box<[f32]>,
}

/// What is saved of a learner: weights, their covariance, and the hashed features that were ever learnt.
pub(super) type State = ([f64; DENSE], [[f64; DENSE]; DENSE], Vec<(u32, Weight)>);

/// The weight of a hashed feature, and the sum of its squared gradients.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Weight {
    value: f32,
    squares: f32,
}

impl LinkEstimator {
    /// An estimator with prior weights and their standard deviations.
    pub(super) fn new(weights: Dense, deviations: Dense) -> LinkEstimator {
        let mut spread = [[0.0; DENSE]; DENSE];
        for (at, deviation) in deviations.into_iter().enumerate() {
            spread[at][at] = f64::from(deviation).powi(2);
        }
        let zeros = || vec![0.0; BUCKETS].into_boxed_slice();
        LinkEstimator { weights: weights.map(f64::from), spread, hashed: zeros(), squares: zeros() }
    }

    /// Log odds that the link's target is relevant.
    pub(super) fn log_odds(&self, dense: &Dense, hashed: &[u32]) -> f64 {
        self.parts(dense).iter().sum::<f64>() + self.of_hashed(hashed)
    }

    /// Contribution of each dense feature to the log odds.
    pub(super) fn parts(&self, dense: &Dense) -> [f64; DENSE] {
        std::array::from_fn(|at| self.weights[at] * f64::from(dense[at]))
    }

    /// Contribution of the hashed features to the log odds.
    pub(super) fn of_hashed(&self, hashed: &[u32]) -> f64 {
        hashed.iter().map(|&at| f64::from(self.hashed[at as usize % BUCKETS])).sum()
    }

    /// Trains on a link whose target has the given relevance.
    pub(super) fn learn(&mut self, dense: &Dense, hashed: &[u32], relevance: f64) {
        let estimate = logistic(self.log_odds(dense, hashed));
        let miss = relevance - estimate;
        let certainty = (estimate * (1.0 - estimate)).max(1e-3);
        let along: [f64; DENSE] = std::array::from_fn(|row| {
            self.spread[row].iter().zip(dense).map(|(spread, value)| spread * f64::from(*value)).sum()
        });
        let variance: f64 = dense.iter().zip(along).map(|(value, along)| f64::from(*value) * along).sum();
        let gain = 1.0 / (1.0 + certainty * variance);
        for (row, of_row) in along.into_iter().enumerate() {
            self.weights[row] += gain * of_row * miss;
            for (column, of_column) in along.into_iter().enumerate() {
                self.spread[row][column] -= certainty * gain * of_row * of_column;
            }
        }
        let miss = miss as f32;
        for &at in hashed {
            let at = at as usize % BUCKETS;
            self.squares[at] += miss * miss;
            self.hashed[at] += RATE * miss / (0.1 + self.squares[at]).sqrt();
        }
    }

    pub(super) fn state(&self) -> State {
        let all = self.hashed.iter().zip(&self.squares).map(|(&value, &squares)| Weight { value, squares });
        let used = (0..).zip(all).filter(|(_, weight)| weight.squares > 0.0);
        (self.weights, self.spread, used.collect())
    }

    pub(super) fn restore(&mut self, (weights, spread, used): State) -> Result<(), StateError> {
        state::check(used.iter().all(|(at, _)| (*at as usize) < BUCKETS))?;
        (self.weights, self.spread) = (weights, spread);
        self.hashed.fill(0.0);
        self.squares.fill(0.0);
        for (at, Weight { value, squares }) in used {
            (self.hashed[at as usize], self.squares[at as usize]) = (value, squares);
        }
        Ok(())
    }
}

/// Probability of log odds.
pub(super) fn logistic(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

/// Log odds of a probability, clamped to ±4: no single estimate may outweigh all others.
pub(super) fn log_odds(probability: f32) -> f32 {
    const MOST: f32 = 0.982;
    let probability = probability.clamp(1.0 - MOST, MOST);
    (probability / (1.0 - probability)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(first: &[f32]) -> Dense {
        let mut dense = [0.0; DENSE];
        dense[..first.len()].copy_from_slice(first);
        dense
    }

    #[test]
    fn one_page_is_one_newton_step() {
        // One feature of 1 with weight 0 and variance 4: the estimate is 1/2, its certainty 1/4, so that the gain is
        // 1 / (1 + 1/4 * 4) = 1/2, and a relevant page moves the weight by 1/2 * 4 * 1/2 = 1, the variance to 4 - 2.
        let mut learner = LinkEstimator::new(dense(&[0.0]), dense(&[2.0]));
        learner.learn(&dense(&[1.0]), &[], 1.0);
        assert!((learner.weights[0] - 1.0).abs() < 1e-12);
        assert!((learner.spread[0][0] - 2.0).abs() < 1e-12);
    }

    #[test]
    fn decisive_features_get_weight_and_noise_does_not() {
        let mut learner = LinkEstimator::new(dense(&[0.0, 0.5, 0.5]), dense(&[1.0, 1.0, 1.0]));
        // The second feature decides, the third is noise.
        for turn in 0..200 {
            let (decides, noise) = ([1.0, -1.0][turn % 2], [1.0, 1.0, -1.0, -1.0][turn % 4]);
            learner.learn(&dense(&[1.0, decides, noise]), &[], if decides > 0.0 { 0.9 } else { 0.1 });
        }
        let estimate = |decides, noise| logistic(learner.log_odds(&dense(&[1.0, decides, noise]), &[]));
        for noise in [-1.0, 1.0] {
            assert!((estimate(1.0, noise) - 0.9).abs() < 0.05, "{}", estimate(1.0, noise));
            assert!((estimate(-1.0, noise) - 0.1).abs() < 0.05, "{}", estimate(-1.0, noise));
        }
        // Words are distinguished if nothing else differs.
        for turn in 0..200 {
            learner.learn(&dense(&[1.0]), &[[7, 8][turn % 2]], [0.9, 0.1][turn % 2]);
        }
        let estimate = |word| logistic(learner.log_odds(&dense(&[1.0]), &[word]));
        assert!(estimate(7) > 0.8 && estimate(8) < 0.2, "{} {}", estimate(7), estimate(8));
    }
}
