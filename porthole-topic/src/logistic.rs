//! Multinomial logistic regression with an L2 penalty over sparse rows: numbers in, numbers out.
//!
//! The weights W minimise `c · Σ weight · −ln p(label | row)  +  ½ ‖W‖²`, with p = softmax(bias + W · row). The
//! bias is penalised like a weight of a feature that is 1 in every row: with that the problem has exactly one
//! optimum, and the gap between it and its dual says how far from it an answer can be at most.

mod critic;
mod dual;
mod strength;
mod weighting;

#[cfg(test)]
mod tests;

pub use critic::{LogisticError, train_logistic};
pub use strength::{STRENGTHS, Trial, best, cross_validate};
pub use weighting::{Vocabulary, weighted};

/// Sparse rows of numbers, one behind the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Where each row ends.
    ends: Vec<usize>,
    features: Vec<u32>,
    values: Vec<f32>,
}

impl Rows {
    /// No rows.
    pub fn new() -> Self {
        Rows::default()
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

/// What is learnt from: rows, and the class of each.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a> {
    /// The rows.
    pub rows: &'a Rows,
    /// The class of each row, below `classes`.
    pub labels: &'a [u16],
    /// What each row counts; 1 without.
    pub weights: Option<&'a [f32]>,
    /// Number of classes.
    pub classes: usize,
    /// Number of features: all of them are below it.
    pub features: usize,
}

/// How to learn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// What a row's loss counts beside the penalty: larger fits the rows more closely. The `C` of other
    /// programs.
    pub strength: f64,
    /// The gap at which to stop, as a part of what no weights at all cost.
    pub tolerance: f64,
    /// To stop after so many passes over the rows in any case.
    pub passes: u32,
}

impl Default for Settings {
    /// At a tolerance of 1/1000 more passes no longer change which class wins.
    fn default() -> Self {
        Settings { strength: 30.0, tolerance: 1e-3, passes: 200 }
    }
}

/// What was learnt.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    classes: usize,
    /// By feature and class.
    weights: Vec<f32>,
    bias: Vec<f32>,
    passes: u32,
    gap: f64,
}

/// Learns the weights. The same samples and settings always give the same weights, to the bit.
///
/// # Panics
/// If labels or weights are not as many as the rows, a label is no class, or a feature is out of range.
pub fn fit(samples: &Samples<'_>, settings: &Settings) -> Weights {
    let chosen: Vec<u32> = (0..samples.rows.len() as u32).collect();
    let mut solver = dual::Solver::new(samples, &chosen);
    solver.run(settings);
    solver.weights()
}

impl Weights {
    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The weight of a feature for every class.
    pub fn of(&self, feature: u32) -> &[f32] {
        let start = feature as usize * self.classes;
        &self.weights[start..start + self.classes]
    }

    /// The bias of every class.
    pub fn bias(&self) -> &[f32] {
        &self.bias
    }

    /// How many passes over the rows it took.
    pub fn passes(&self) -> u32 {
        self.passes
    }

    /// By how much these weights may cost more than the best, as a part of what no weights at all cost.
    pub fn gap(&self) -> f64 {
        self.gap
    }

    /// The probability of every class for a row; they sum to 1.
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

/// Turns scores into probabilities; gives the logarithm of what they were divided by.
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
