//! Dual coordinate ascent for the softmax (Yu, Huang and Lin, Machine Learning 85, 2011; Shalev-Shwartz and Zhang,
//! 2013). One pass costs as much as one gradient, and about ten passes suffice.
//!
//! Every row i has a distribution p_i over the classes, and W = c Σ weight_i (e_label − p_i) x_iᵀ. A step gives one row
//! the distribution that is optimal while all others are fixed. At the optimum p_i = softmax(W x_i), and the gap
//! between primal and dual is c Σ weight_i KL(p_i ‖ softmax(W x_i)).

use super::{LogisticWeights, Samples, SolverSettings, softmax};

/// Rows whose part of the gap is below this share of the average allowance are skipped.
const SETTLED: f64 = 0.1;

/// State of the ascent; another run continues from the last one, also with another strength.
pub(super) struct Solver<'a> {
    samples: &'a Samples<'a>,
    /// The rows to train on.
    chosen: &'a [u32],
    /// Distributions of the chosen rows, stored contiguously.
    duals: Vec<f64>,
    /// By feature and class, with the bias as the last feature.
    weights: Vec<f32>,
    random: SolverRandom,
    passes: u32,
    gap: f64,
}

impl<'a> Solver<'a> {
    pub(super) fn new(samples: &'a Samples<'a>, chosen: &'a [u32]) -> Self {
        let (rows, classes) = (samples.rows.len(), samples.classes);
        assert_eq!(samples.labels.len(), rows, "a label a row");
        assert!(samples.weights.is_none_or(|weights| weights.len() == rows), "a weight a row");
        // All mass on the label corresponds to zero weights.
        let mut duals = vec![0.0; chosen.len() * classes];
        for (dual, &row) in duals.chunks_mut(classes.max(1)).zip(chosen) {
            dual[usize::from(samples.labels[row as usize])] = 1.0;
        }
        let weights = vec![0.0; (samples.features + 1) * classes];
        Solver { samples, chosen, duals, weights, random: SolverRandom(1), passes: 0, gap: 0.0 }
    }

    /// Runs until the gap is small enough.
    pub(super) fn run(&mut self, settings: &SolverSettings) {
        let nothing = self.total_weight() * settings.strength * (self.samples.classes as f64).ln();
        (self.passes, self.gap) = (0, 0.0);
        // With one class or without rows, zero weights are optimal.
        if nothing <= 0.0 {
            return;
        }
        self.rebuild(settings.strength);
        let mut order: Vec<u32> = (0..self.chosen.len() as u32).collect();
        let settled = SETTLED * settings.tolerance * (self.samples.classes as f64).ln();
        while self.passes < settings.passes {
            self.random.shuffle(&mut order);
            let mut gap = 0.0;
            for &at in &order {
                gap += self.step(at as usize, settings.strength, settled);
            }
            self.passes += 1;
            // The accumulated gap mixes many states; the exact gap is computed only when it is small.
            self.gap = gap * settings.strength / nothing;
            if self.gap <= 2.0 * settings.tolerance {
                self.rebuild(settings.strength);
                self.gap = self.exact_gap() * settings.strength / nothing;
            }
            if self.gap <= settings.tolerance {
                break;
            }
        }
        self.rebuild(settings.strength);
    }

    pub(super) fn weights(self) -> LogisticWeights {
        let mut weights = self.weights;
        let bias = weights.split_off(self.samples.features * self.samples.classes);
        LogisticWeights { classes: self.samples.classes, weights, bias, passes: self.passes, gap: self.gap }
    }

    /// Probability of every class for a row.
    pub(super) fn judge(&self, row: usize) -> Vec<f64> {
        let mut scores = self.scores(row);
        softmax(&mut scores);
        scores
    }

    /// Updates one row. Returns its part of the gap before the update.
    fn step(&mut self, at: usize, strength: f64, settled: f64) -> f64 {
        let (row, classes) = (self.chosen[at] as usize, self.samples.classes);
        let weight = self.weight(row);
        let scores = self.scores(row);
        let dual = &mut self.duals[at * classes..(at + 1) * classes];
        let apart = divergence(dual, &scores);
        if apart <= settled || weight == 0.0 {
            return weight * apart;
        }
        // The bias is a feature that is 1 everywhere.
        let square = 1.0 + self.samples.rows.row(row).map(|(_, v)| f64::from(v) * f64::from(v)).sum::<f64>();
        let better = best_response(&scores, dual, strength * weight * square);
        let mut change = vec![0.0; classes];
        for ((change, old), new) in change.iter_mut().zip(dual).zip(better) {
            *change = (strength * weight * (*old - new)) as f32;
            *old = new;
        }
        self.add(row, &change);
        weight * apart
    }

    fn scores(&self, row: usize) -> Vec<f64> {
        let classes = self.samples.classes;
        let mut scores = self.weights[self.samples.features * classes..].to_vec();
        for (feature, value) in self.samples.rows.row(row) {
            let start = feature as usize * classes;
            for (score, &weight) in scores.iter_mut().zip(&self.weights[start..start + classes]) {
                *score += value * weight;
            }
        }
        scores.into_iter().map(f64::from).collect()
    }

    fn add(&mut self, row: usize, change: &[f32]) {
        let classes = self.samples.classes;
        let bias = (self.samples.features as u32, 1.0);
        for (feature, value) in self.samples.rows.row(row).chain([bias]) {
            let start = feature as usize * classes;
            for (weight, &change) in self.weights[start..start + classes].iter_mut().zip(change) {
                *weight += value * change;
            }
        }
    }

    /// Recomputes the weights from the distributions, because steps accumulate rounding errors.
    fn rebuild(&mut self, strength: f64) {
        self.weights.fill(0.0);
        let classes = self.samples.classes;
        for at in 0..self.chosen.len() {
            let row = self.chosen[at] as usize;
            let factor = strength * self.weight(row);
            let label = usize::from(self.samples.labels[row]);
            let away =
                |(class, dual): (usize, &f64)| (factor * (f64::from(u8::from(class == label)) - dual)) as f32;
            let dual = &self.duals[at * classes..(at + 1) * classes];
            let change: Vec<f32> = dual.iter().enumerate().map(away).collect();
            self.add(row, &change);
        }
    }

    fn exact_gap(&self) -> f64 {
        let duals = self.duals.chunks(self.samples.classes);
        let parts = self.chosen.iter().zip(duals).map(|(&row, dual)| {
            let row = row as usize;
            self.weight(row) * divergence(dual, &self.scores(row))
        });
        parts.sum()
    }

    fn weight(&self, row: usize) -> f64 {
        self.samples.weights.map_or(1.0, |weights| f64::from(weights[row]))
    }

    fn total_weight(&self) -> f64 {
        self.chosen.iter().map(|&row| self.weight(row as usize)).sum()
    }
}

/// KL(dual ‖ softmax(scores)), never below 0.
fn divergence(dual: &[f64], scores: &[f64]) -> f64 {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let divisor = most + scores.iter().map(|score| (score - most).exp()).sum::<f64>().ln();
    let part = |(&p, score): (&f64, &f64)| if p > 0.0 { p * (p.ln() - score + divisor) } else { 0.0 };
    dual.iter().zip(scores).map(part).sum::<f64>().max(0.0)
}

/// The distribution p that maximises H(p) + p·scores − ½ step ‖p − old‖².
///
/// There ln p_k + step p_k = b_k − ν, with b_k = scores_k + step old_k and ν such that the sum is 1. The sum is
/// convex and decreasing in ν, so Newton's method converges monotonically from the left.
fn best_response(scores: &[f64], old: &[f64], step: f64) -> Vec<f64> {
    const STEPS: usize = 100;
    let goals: Vec<f64> = scores.iter().zip(old).map(|(score, &old)| score + step * old).collect();
    let mut best = vec![0.0; scores.len()];
    // Start left of the root: there the class with the highest goal alone has all of the mass.
    let mut shift = goals.iter().copied().fold(f64::NEG_INFINITY, f64::max) - step;
    for _ in 0..STEPS {
        let (mut sum, mut slope) = (0.0, 0.0);
        for (p, goal) in best.iter_mut().zip(&goals) {
            *p = with_logarithm(goal - shift, step);
            sum += *p;
            slope += *p / (1.0 + step * *p);
        }
        if sum - 1.0 <= 1e-9 {
            break;
        }
        shift += (sum - 1.0) / slope;
    }
    let sum: f64 = best.iter().sum();
    best.iter_mut().for_each(|p| *p /= sum);
    best
}

/// The p with ln p + step p = goal, for goals up to `step`, where p is 1.
fn with_logarithm(goal: f64, step: f64) -> f64 {
    const STEPS: usize = 50;
    // In t = ln p the left side is convex and increasing: from a start at or above the root, Newton converges
    // monotonically.
    let mut log = goal.min(0.0);
    let mut p = log.exp();
    for _ in 0..STEPS {
        let too_much = log + step * p - goal;
        if too_much <= 1e-11 * (1.0 + goal.abs()) {
            break;
        }
        log -= too_much / (1.0 + step * p);
        p = log.exp();
    }
    p
}

/// Xorshift (Marsaglia 2003): the order of steps has to be mixed, not secret. No crate has this stream, and another
/// order would change the last digits of every model.
struct SolverRandom(u64);

impl SolverRandom {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn shuffle(&mut self, items: &mut [u32]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn objective(scores: &[f64], old: &[f64], step: f64, p: &[f64]) -> f64 {
        let part = |((score, &old), &p): ((&f64, &f64), &f64)| {
            let entropy = if p > 0.0 { -p * p.ln() } else { 0.0 };
            entropy + p * score - 0.5 * step * (p - old).powi(2)
        };
        scores.iter().zip(old).zip(p).map(part).sum()
    }

    fn distribution(mut parts: Vec<f64>) -> Vec<f64> {
        let sum: f64 = parts.iter().sum();
        parts.iter_mut().for_each(|part| *part /= sum);
        parts
    }

    proptest! {
        #[test]
        fn no_distribution_is_better_than_the_best_response(
            scores in prop::collection::vec(-300.0..300.0, 4),
            old in prop::collection::vec(1e-6..1.0, 4),
            other in prop::collection::vec(1e-6..1.0, 4),
            step in -6.0..6.0,
        ) {
            let step = 10f64.powf(step);
            let old = distribution(old);
            let best = best_response(&scores, &old, step);
            prop_assert!((best.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(best.iter().all(|p| (0.0..=1.0).contains(p)), "{best:?}");
            let value = objective(&scores, &old, step, &best);
            let slack = 1e-9 * (1.0 + step + value.abs());
            // Far away, and close to it.
            let other = distribution(other);
            for part in [1.0, 1e-3] {
                let beside: Vec<f64> =
                    best.iter().zip(&other).map(|(best, other)| best + part * (other - best)).collect();
                prop_assert!(objective(&scores, &old, step, &beside) <= value + slack);
            }
        }
    }

    #[test]
    fn without_a_step_the_best_response_is_the_softmax() {
        let mut scores = vec![1.0, -2.0, 0.5];
        let best = best_response(&scores, &[1.0, 0.0, 0.0], 1e-12);
        softmax(&mut scores);
        assert!(best.iter().zip(&scores).all(|(a, b)| (a - b).abs() < 1e-9), "{best:?} {scores:?}");
        assert!(divergence(&[0.5, 0.5], &[3.0, 3.0]) < 1e-12);
        assert!((divergence(&[1.0, 0.0], &[0.0, 0.0]) - 2f64.ln()).abs() < 1e-12);
    }
}
