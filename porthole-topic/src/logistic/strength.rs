//! Choice of the strength by cross-validation.

use rayon::prelude::*;

use super::dual::Solver;
use super::{Samples, SolverSettings};

/// Strengths to try, from weak to strong.
pub const STRENGTHS: [f64; 6] = [1.0, 3.0, 10.0, 30.0, 100.0, 300.0];

/// Result of one strength on held-out rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StrengthTrial {
    /// See [`SolverSettings::strength`].
    pub strength: f64,
    /// Weighted share of the rows whose label got the highest probability.
    pub accuracy: f64,
    /// The mean of −ln p(label).
    pub log_loss: f64,
}

/// Tries strengths, given from weak to strong: every fold is judged by weights trained on the others. `folds` has the
/// fold of each row; similar rows belong into the same fold.
pub fn cross_validate(
    samples: &Samples<'_>,
    folds: &[u8],
    strengths: &[f64],
    settings: &SolverSettings,
) -> Vec<StrengthTrial> {
    assert_eq!(folds.len(), samples.rows.len(), "a fold a row");
    let count = folds.iter().max().map_or(0, |&last| last + 1);
    let one = |fold: u8| one_fold(samples, folds, fold, strengths, settings);
    let tallies: Vec<Vec<StrengthTally>> = (0..count).into_par_iter().map(one).collect();
    let trial = |(at, &strength): (usize, &f64)| {
        let mut all = StrengthTally::default();
        tallies.iter().for_each(|tallies| all.add(tallies[at]));
        StrengthTrial { strength, accuracy: all.right / all.weight, log_loss: all.loss / all.weight }
    };
    strengths.iter().enumerate().map(trial).collect()
}

/// The trial with the best accuracy; on ties the one with the lower log loss.
pub fn best(trials: &[StrengthTrial]) -> Option<StrengthTrial> {
    let order = |a: &&StrengthTrial, b: &&StrengthTrial| {
        a.accuracy.total_cmp(&b.accuracy).then(b.log_loss.total_cmp(&a.log_loss))
    };
    trials.iter().max_by(order).copied()
}

#[derive(Clone, Copy, Debug, Default)]
struct StrengthTally {
    weight: f64,
    right: f64,
    loss: f64,
}

impl StrengthTally {
    fn add(&mut self, other: StrengthTally) {
        self.weight += other.weight;
        self.right += other.right;
        self.loss += other.loss;
    }
}

fn one_fold(
    samples: &Samples<'_>,
    folds: &[u8],
    fold: u8,
    strengths: &[f64],
    settings: &SolverSettings,
) -> Vec<StrengthTally> {
    let rows = 0..samples.rows.len();
    let learnt: Vec<u32> = rows.clone().filter(|&row| folds[row] != fold).map(|row| row as u32).collect();
    // From weak to strong, each run starts from the result of the last.
    let mut solver = Solver::new(samples, &learnt);
    let tally = |&strength: &f64| {
        solver.run(&SolverSettings { strength, ..*settings });
        let mut tally = StrengthTally::default();
        rows.clone()
            .filter(|&row| folds[row] == fold)
            .for_each(|row| tally.add(judged(samples, &solver, row)));
        tally
    };
    strengths.iter().map(tally).collect()
}

fn judged(samples: &Samples<'_>, solver: &Solver<'_>, row: usize) -> StrengthTally {
    let weight = samples.weights.map_or(1.0, |weights| f64::from(weights[row]));
    let judged = solver.judge(row);
    let own = judged[usize::from(samples.labels[row])];
    let is_right = judged.iter().all(|&other| other <= own);
    StrengthTally {
        weight,
        right: if is_right { weight } else { 0.0 },
        loss: -weight * own.max(f64::MIN_POSITIVE).ln(),
    }
}
