//! Cross-validation results of all decisions of a tree, for decisions with few examples.
//!
//! A decision with a class of fewer than five examples cannot choose well between hundreds of combinations, and a
//! calibration fitted to a handful of held-out pages is either none or far too strong. For such a decision the
//! results of all decisions count as `STRENGTH` additional examples: with many examples its own decide, with few
//! those of the tree.

use std::collections::BTreeMap;

use crate::calibration::{Calibration, ScoredDocument};
use crate::naive_bayes::{TOPICAL, Tuning};
use crate::tune::{Choice, FEATURES, TEMPERS, TuningTrial, choose};

/// Number of examples that the results of the whole tree count as.
const STRENGTH: f64 = 30.0;

/// Minimum number of held-out examples in the whole tree. With fewer, defaults are used.
const FEWEST: usize = 20;

/// Maximum number of scored documents that a decision gives to the pool.
const MOST_SCORED: usize = 200;

/// Results of all decisions of a tree.
pub(crate) struct TuningPool {
    examples: usize,
    /// Number of right examples and the sum of their losses, by combination.
    results: BTreeMap<Combination, (f64, f64)>,
    scored: Vec<ScoredDocument>,
}

/// Indices of a way to count, of a number of features and of a calibration. "All terms" has its own index, because
/// their number differs between decisions.
type Combination = (usize, usize, usize);

impl TuningPool {
    /// The results of decisions: the number of held-out examples and the trials of each. `None` if there are too few.
    pub(crate) fn new<'a>(
        decisions: impl Iterator<Item = (usize, &'a [TuningTrial])>,
        choice: &Choice,
    ) -> Option<TuningPool> {
        let mut pool = TuningPool { examples: 0, results: BTreeMap::new(), scored: Vec::new() };
        for (examples, trials) in decisions {
            pool.examples += examples;
            let places: BTreeMap<Combination, &TuningTrial> =
                combinations(trials, choice).zip(trials).collect();
            let all_terms = number_of_sizes(choice) - 1;
            for combination in all_combinations(choice) {
                // A decision with fewer terms uses all of them.
                let (way, _, temper) = combination;
                let trial = places.get(&combination).or_else(|| places.get(&(way, all_terms, temper)));
                let Some(trial) = trial else { continue };
                let sum = pool.results.entry(combination).or_default();
                sum.0 += trial.accuracy * examples as f64;
                sum.1 += trial.log_loss * examples as f64;
            }
        }
        (pool.examples >= FEWEST).then_some(pool)
    }

    /// The best trial of a decision with this number of held-out examples.
    pub(crate) fn choose(&self, examples: usize, trials: &[TuningTrial], choice: &Choice) -> TuningTrial {
        let (own, all) = (examples as f64, self.examples as f64);
        let together = combinations(trials, choice).zip(trials).map(|(combination, trial)| {
            let (right, loss) = self.results.get(&combination).copied().unwrap_or_default();
            let mean = |own_mean: f64, sum: f64| (own * own_mean + STRENGTH * sum / all) / (own + STRENGTH);
            TuningTrial {
                accuracy: mean(trial.accuracy, right),
                log_loss: mean(trial.log_loss, loss),
                ..*trial
            }
        });
        trials[choose(&together.collect::<Vec<_>>())]
    }

    /// Adds scores of held-out documents.
    pub(crate) fn add_scored(&mut self, scored: &[ScoredDocument]) {
        let step = scored.len().div_ceil(MOST_SCORED).max(1);
        self.scored.extend(scored.iter().step_by(step).cloned());
    }

    /// The calibration of a decision with these held-out documents.
    pub(crate) fn calibration(&self, scored: &[ScoredDocument]) -> Calibration {
        Calibration::fitted_with(scored, &self.scored, STRENGTH)
    }

    /// For decisions without any held-out document.
    pub(crate) fn tuning(&self, choice: &Choice) -> Tuning {
        let ways = choice.counting_choices();
        let all = self.examples as f64;
        let trial = |(&(way, size, temper), (right, loss)): (&Combination, &(f64, f64))| TuningTrial {
            saturation: TEMPERS[temper].saturation,
            counting: ways[way].0,
            smoothing: ways[way].1,
            features: choice.features.or(FEATURES.get(size).copied()).unwrap_or(usize::MAX),
            accuracy: right / all,
            log_loss: loss / all,
        };
        let trials: Vec<TuningTrial> = self.results.iter().map(trial).collect();
        let chosen = trials[choose(&trials)];
        Tuning {
            counting: chosen.counting,
            smoothing: chosen.smoothing,
            features: chosen.features,
            calibration: if choice.calibrate { self.calibration(&[]) } else { Calibration::NONE },
            topical: TOPICAL,
        }
    }
}

/// Number of feature counts to try: all of `FEATURES` and "all terms", or one if it is given.
fn number_of_sizes(choice: &Choice) -> usize {
    if choice.features.is_some() { 1 } else { FEATURES.len() + 1 }
}

fn all_combinations(choice: &Choice) -> impl Iterator<Item = Combination> {
    let sizes = number_of_sizes(choice);
    let ways = choice.counting_choices().len();
    (0..ways).flat_map(move |way| {
        (0..sizes).flat_map(move |size| (0..TEMPERS.len()).map(move |temper| (way, size, temper)))
    })
}

/// The combinations of a decision's trials, in their order.
fn combinations(trials: &[TuningTrial], choice: &Choice) -> impl Iterator<Item = Combination> + use<> {
    let sizes = trials.len() / (choice.counting_choices().len() * TEMPERS.len()).max(1);
    let all_terms = number_of_sizes(choice) - 1;
    (0..trials.len()).map(move |at| {
        let (rest, temper) = (at / TEMPERS.len(), at % TEMPERS.len());
        let (way, size) = (rest / sizes, rest % sizes);
        (way, if size + 1 == sizes { all_terms } else { size }, temper)
    })
}
