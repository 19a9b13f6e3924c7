//! Multinomial logistic regression with an L2 penalty over sparse rows.
//!
//! The weights W minimise `c · Σ weight · −ln p(label | row) + ½ ‖W‖²`, with p = softmax(bias + W · row). The bias is
//! penalised like the weight of a feature that is 1 in every row. Therefore the problem has exactly one optimum, and
//! the duality gap bounds the distance from it.

mod critic;
mod dual;
mod strength;
mod weighting;

#[cfg(test)]
mod tests;

pub use critic::{LogisticError, train_logistic};
pub use strength::{STRENGTHS, StrengthTrial, best, cross_validate};
pub use weighting::{Vocabulary, weighted};

/// Sparse rows of numbers, stored contiguously.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseRows {
    /// End of each row.
    ends: Vec<usize>,
    features: Vec<u32>,
    values: Vec<f32>,
}

impl SparseRows {
    /// No rows.
    pub fn new() -> Self {
        SparseRows::default()
    }

    /// Adds a row: features with their values, each feature at most once.
    pub fn push(&mut self, row: impl IntoIterator<Item = (u32, f32)>) {
        for (feature, value) in row {
            self.features.push(feature);
            self.values.push(value);
        }
        self.ends.push(self.features.len());
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A row's features with their values.
    pub fn row(&self, number: usize) -> impl Iterator<Item = (u32, f32)> + Clone + '_ {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        let place = start..self.ends[number];
        self.features[place.clone()].iter().copied().zip(self.values[place].iter().copied())
    }
}

/// Training samples: rows, and the class of each.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a> {
    /// The rows.
    pub rows: &'a SparseRows,
    /// The class of each row, below `classes`.
    pub labels: &'a [u16],
    /// Weight of each row; 1 if absent.
    pub weights: Option<&'a [f32]>,
    /// Number of classes.
    pub classes: usize,
    /// Number of features; all feature numbers are below it.
    pub features: usize,
}

/// Settings of the solver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolverSettings {
    /// Weight of the loss against the penalty: larger values fit the rows more closely. Called `C` in other programs.
    pub strength: f64,
    /// Duality gap at which to stop, relative to the cost of zero weights.
    pub tolerance: f64,
    /// Maximum number of passes over the rows.
    pub passes: u32,
}

impl Default for SolverSettings {
    /// At a tolerance of 1/1000, more passes no longer change which class wins.
    fn default() -> Self {
        SolverSettings { strength: 30.0, tolerance: 1e-3, passes: 200 }
    }
}

/// Trained weights.
#[derive(Clone, Debug, PartialEq)]
pub struct LogisticWeights {
    classes: usize,
    /// By feature and class.
    weights: Vec<f32>,
    bias: Vec<f32>,
    passes: u32,
    gap: f64,
}

/// Trains the weights. The same samples and settings always give the same weights, to the bit.
///
/// # Panics
/// If the number of labels or weights differs from that of the rows, or a label or feature is out of range.
pub fn fit(samples: &Samples<'_>, settings: &SolverSettings) -> LogisticWeights {
    let chosen: Vec<u32> = (0..samples.rows.len() as u32).collect();
    let mut solver = dual::Solver::new(samples, &chosen);
    solver.run(settings);
    solver.weights()
}

impl LogisticWeights {
    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Weights of a feature by class.
    pub fn of(&self, feature: u32) -> &[f32] {
        let start = feature as usize * self.classes;
        &self.weights[start..start + self.classes]
    }

    /// Bias by class.
    pub fn bias(&self) -> &[f32] {
        &self.bias
    }

    /// Number of passes over the rows.
    pub fn passes(&self) -> u32 {
        self.passes
    }

    /// Upper bound of the excess cost of these weights over the optimum, relative to the cost of zero weights.
    pub fn gap(&self) -> f64 {
        self.gap
    }

    /// Probability of every class for a row; they sum to 1.
    pub fn probabilities(&self, row: impl IntoIterator<Item = (u32, f32)>) -> Vec<f64> {
        let mut scores: Vec<f64> = self.bias.iter().copied().map(f64::from).collect();
        for (feature, value) in row {
            for (score, &weight) in scores.iter_mut().zip(self.of(feature)) {
                *score += f64::from(value) * f64::from(weight);
            }
        }
        softmax(&mut scores);
        scores
    }
}

/// Turns scores into probabilities; returns the logarithm of the normaliser.
pub(crate) fn softmax(scores: &mut [f64]) -> f64 {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - most).exp();
        sum += *score;
    }
    scores.iter_mut().for_each(|score| *score /= sum);
    most + sum.ln()
}
