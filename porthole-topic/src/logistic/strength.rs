//! The strength by cross-validation.

use rayon::prelude::*;

use super::dual::Solver;
use super::{Samples, Settings};

/// The strengths that are worth a try, from weak to strong.
pub const STRENGTHS: [f64; 6] = [1.0, 3.0, 10.0, 30.0, 100.0, 300.0];

/// What came of one strength on rows that were not learnt from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// See [`Settings::strength`].
    pub strength: f64,
    /// The part of the rows, by weight, whose label got the highest probability.
    pub accuracy: f64,
    /// The mean of −ln p(label).
    pub log_loss: f64,
}

/// Tries strengths, given from weak to strong: every fold is judged by weights learnt from the others.
/// `folds` has the fold of each row; rows that are alike belong into the same one.
pub fn cross_validate(
    samples: &Samples<'_>,
    folds: &[u8],
    strengths: &[f64],
    settings: &Settings,
) -> Vec<Trial> {
    assert_eq!(folds.len(), samples.rows.len(), "a fold a row");
    let count = folds.iter().max().map_or(0, |&last| last + 1);
    let one = |fold: u8| one_fold(samples, folds, fold, strengths, settings);
    let tallies: Vec<Vec<Tally>> = (0..count).into_par_iter().map(one).collect();
    let trial = |(at, &strength): (usize, &f64)| {
        let mut all = Tally::default();
        tallies.iter().for_each(|tallies| all.add(tallies[at]));
        Trial { strength, accuracy: all.right / all.weight, log_loss: all.loss / all.weight }
    };
    strengths.iter().enumerate().map(trial).collect()
}

/// The trial with the best accuracy; of equals the one with the lower log loss.
pub fn best(trials: &[Trial]) -> Option<Trial> {
    let order =
        |a: &&Trial, b: &&Trial| a.accuracy.total_cmp(&b.accuracy).then(b.log_loss.total_cmp(&a.log_loss));
    trials.iter().max_by(order).copied()
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    weight: f64,
    right: f64,
    loss: f64,
}

impl Tally {
    fn add(&mut self, other: Tally) {
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
    settings: &Settings,
) -> Vec<Tally> {
    let rows = 0..samples.rows.len();
    let learnt: Vec<u32> = rows.clone().filter(|&row| folds[row] != fold).map(|row| row as u32).collect();
    // From weak to strong each one starts where the last one stopped.
    let mut solver = Solver::new(samples, &learnt);
    let tally = |&strength: &f64| {
        solver.run(&Settings { strength, ..*settings });
        let mut tally = Tally::default();
        rows.clone()
            .filter(|&row| folds[row] == fold)
            .for_each(|row| tally.add(judged(samples, &solver, row)));
        tally
    };
    strengths.iter().map(tally).collect()
}

fn judged(samples: &Samples<'_>, solver: &Solver<'_>, row: usize) -> Tally {
    let weight = samples.weights.map_or(1.0, |weights| f64::from(weights[row]));
    let judged = solver.judge(row);
    let own = judged[usize::from(samples.labels[row])];
    let is_right = judged.iter().all(|&other| other <= own);
    Tally {
        weight,
        right: if is_right { weight } else { 0.0 },
        loss: -weight * own.max(f64::MIN_POSITIVE).ln(),
    }
}
