//! Cross-validation: chooses smoothing, number of features and calibration of a decision on its own examples, or on
//! those of all decisions of a tree where its own are few.

use std::sync::Arc;

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::calibration::{Calibration, ScoredDocument, log_sum, mean_log_loss, normalise};
use crate::naive_bayes::{TOPICAL, TermCounting, Tuning, gain, logdenoms, logpriors};
use crate::pool::TuningPool;
use crate::problem::ClassTermTable;
use crate::statistics::TermFrequencies;

/// Smoothings to try: the 1 of V eq. 1, and less.
pub const SMOOTHINGS: [f64; 6] = [1.0, 0.5, 0.2, 0.1, 0.03, 0.01];

/// Numbers of features to try, besides all.
pub const FEATURES: [usize; 8] = [200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000];

/// Calibrations with which choices are compared: none, and two limits of the number of words.
pub(crate) const TEMPERS: [Calibration; 3] = [
    Calibration::NONE,
    Calibration { saturation: 100.0, power: 1.0 },
    Calibration { saturation: 10.0, power: 1.0 },
];

/// Maximum number of scores kept to fit a calibration: bounds the memory if there are many classes.
const MOST_SCORES: usize = 8 << 20;

/// An example of a decision: its classes and its terms. An example of several topics is right in any of them.
#[derive(Clone, Debug)]
pub(crate) struct Labelled<'a> {
    pub(crate) classes: Vec<u16>,
    pub(crate) counts: &'a TermFrequencies,
}

/// Result of a choice on held-out examples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TuningTrial {
    /// Maximum number of words that a page counted as during the comparison.
    pub saturation: f64,
    /// How terms were counted.
    pub counting: TermCounting,
    /// Smoothing added to every count.
    pub smoothing: f64,
    /// Number of features.
    pub features: usize,
    /// Share of the examples that were assigned to their class.
    pub accuracy: f64,
    /// Mean of -ln Pr\[true class\], before calibration.
    pub log_loss: f64,
}

/// Result of cross-validation at a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// The chosen hyperparameters.
    pub tuning: Tuning,
    /// All combinations tried, by smoothing, then by number of features.
    pub trials: Vec<TuningTrial>,
    /// Result of the choice.
    pub chosen: TuningTrial,
    /// Result of add-one smoothing with all terms.
    pub plain: TuningTrial,
    /// Mean of -ln Pr\[true class\] of the calibrated choice.
    pub calibrated_log_loss: f64,
    /// Number of examples by true class and assigned class.
    pub confusion: Vec<Vec<u32>>,
}

/// Fold of every example: each class is divided into contiguous runs of the examples' order. Neighbours in that order
/// are from one site or thread, and resemble each other more than they resemble future pages; with random folds, each
/// would be judged by its near duplicate.
pub(crate) fn folds(examples: &[Labelled<'_>], classes: usize, folds: usize) -> Vec<usize> {
    let mut sizes = vec![0; classes];
    examples.iter().for_each(|example| sizes[usize::from(example.classes[0])] += 1);
    let mut seen = vec![0; classes];
    let part = |example: &Labelled<'_>| {
        let class = usize::from(example.classes[0]);
        seen[class] += 1;
        (seen[class] - 1) * folds / sizes[class]
    };
    examples.iter().map(part).collect()
}

/// Hash of a document's terms and a seed.
pub fn fingerprint(counts: &TermFrequencies, seed: u64) -> u64 {
    let bytes: Vec<u8> = counts
        .iter()
        .flat_map(|(term, count)| term.0.to_le_bytes().into_iter().chain(count.to_le_bytes()))
        .collect();
    xxh3_64_with_seed(&bytes, seed)
}

/// Tries all allowed smoothings and numbers of features, chooses the most accurate, and fits its calibration.
pub(crate) fn tune(table: &ClassTermTable, examples: &[Labelled<'_>], choice: &Choice) -> Tuned {
    let folded = FoldTables::new(table, examples, choice.folds);
    let trials = try_all(table, examples, &folded, choice);
    let chosen = trials[choose(&trials)];
    let scored = scored(examples, &folded, &chosen);
    let calibration = if choice.calibrate { Calibration::fitted(&scored) } else { Calibration::NONE };
    Tuned::new(table, trials, chosen, &scored, calibration)
}

/// As `tune`, for a decision with few examples: the results of all decisions of the tree count as some examples more.
/// `chosen` is the trial that `TuningPool::choose` found, `scored` its scores.
pub(crate) fn tune_with_pool(
    table: &ClassTermTable,
    trials: Vec<TuningTrial>,
    (chosen, scored): (TuningTrial, &[ScoredDocument]),
    pool: &TuningPool,
    choice: &Choice,
) -> Tuned {
    let calibration = if choice.calibrate { pool.calibration(scored) } else { Calibration::NONE };
    Tuned::new(table, trials, chosen, scored, calibration)
}

impl Tuned {
    fn new(
        table: &ClassTermTable,
        trials: Vec<TuningTrial>,
        chosen: TuningTrial,
        scored: &[ScoredDocument],
        calibration: Calibration,
    ) -> Tuned {
        let is_plain = |trial: &&TuningTrial| {
            trial.smoothing == 1.0
                && trial.saturation == f64::INFINITY
                && trial.counting == TermCounting::Each
        };
        Tuned {
            tuning: Tuning {
                counting: chosen.counting,
                smoothing: chosen.smoothing,
                // "All terms" stays so when examples are added.
                features: if chosen.features >= table.terms.len() { usize::MAX } else { chosen.features },
                calibration,
                topical: TOPICAL,
            },
            chosen,
            plain: *trials.iter().rfind(is_plain).unwrap_or(&chosen),
            calibrated_log_loss: mean_log_loss(scored, &calibration),
            confusion: confusion(table, scored, &calibration),
            trials,
        }
    }
}

/// The counts without each fold.
pub(crate) struct FoldTables {
    /// Fold of every example.
    parts: Vec<usize>,
    pub(crate) rests: Vec<ClassTermTable>,
}

impl FoldTables {
    pub(crate) fn new(table: &ClassTermTable, examples: &[Labelled<'_>], number: usize) -> FoldTables {
        let parts = folds(examples, table.classes.len(), number);
        let rest = |fold| table.without(in_fold(examples, &parts, fold).flat_map(each_class));
        let rests = (0..number).into_par_iter().map(rest).collect();
        FoldTables { parts, rests }
    }

    /// The examples of a fold.
    pub(crate) fn held_out<'a, 'b>(
        &'b self,
        examples: &'b [Labelled<'a>],
        fold: usize,
    ) -> impl Iterator<Item = &'b Labelled<'a>> + 'b {
        in_fold(examples, &self.parts, fold)
    }
}

/// The results of all allowed choices on held-out examples.
pub(crate) fn try_all(
    table: &ClassTermTable,
    examples: &[Labelled<'_>],
    folded: &FoldTables,
    choice: &Choice,
) -> Vec<TuningTrial> {
    let sizes = sizes(table, choice);
    let counting_choices = choice.counting_choices();
    let mut tally = TuningTally::new(counting_choices.len() * sizes.len() * TEMPERS.len());
    for (fold, rest) in folded.rests.iter().enumerate() {
        let grid = Grid::new(rest, &counting_choices, &sizes);
        let held_out: Vec<&Labelled<'_>> = folded.held_out(examples, fold).collect();
        let sums = held_out.par_chunks(64).map(|piece| grid.tally(piece)).collect::<Vec<_>>();
        sums.iter().for_each(|sum| tally.add(sum));
    }
    trials(&tally, &counting_choices, &sizes, examples.len())
}

/// The allowed choices.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// `None` for all.
    pub(crate) counting: Option<TermCounting>,
    pub(crate) smoothings: Vec<f64>,
    /// `None` for all applicable values of `FEATURES`.
    pub(crate) features: Option<usize>,
    pub(crate) calibrate: bool,
    pub(crate) folds: usize,
}

/// A way to count terms, and a smoothing.
type CountingChoice = (TermCounting, f64);

impl Choice {
    pub(crate) fn counting_choices(&self) -> Vec<CountingChoice> {
        let countings = self.counting.map_or_else(|| TermCounting::ALL.to_vec(), |counting| vec![counting]);
        let with = |counting| self.smoothings.iter().map(move |&smoothing| (counting, smoothing));
        countings.into_iter().flat_map(with).collect()
    }
}

fn in_fold<'a, 'b>(
    examples: &'b [Labelled<'a>],
    parts: &'b [usize],
    fold: usize,
) -> impl Iterator<Item = &'b Labelled<'a>> + 'b {
    examples.iter().zip(parts).filter(move |(_, part)| **part == fold).map(|(example, _)| example)
}

fn each_class<'a>(example: &Labelled<'a>) -> impl Iterator<Item = (u16, &'a TermFrequencies)> {
    let counts = example.counts;
    example.classes.clone().into_iter().map(move |class| (class, counts))
}

/// Numbers of features to try, ascending, all terms last.
fn sizes(table: &ClassTermTable, choice: &Choice) -> Vec<usize> {
    let all = table.terms.len();
    let mut sizes: Vec<usize> = match choice.features {
        Some(features) => vec![features.min(all)],
        None => FEATURES.into_iter().filter(|&size| size < all).chain([all]).collect(),
    };
    sizes.dedup();
    sizes
}

/// Evaluates all combinations in one pass: a document's terms are added in the order of their rank, so that every
/// number of features is an intermediate state.
struct Grid<'a> {
    table: &'a ClassTermTable,
    sizes: &'a [usize],
    /// Rank by term index.
    rank: Vec<u32>,
    logpriors: Arc<[f64]>,
    smoothings: Vec<Smoothed>,
}

struct Smoothed {
    counting: TermCounting,
    /// Parallel to the table's cells.
    gains: Vec<f32>,
    /// logdenom of the classes, by number of features.
    logdenoms: Vec<Vec<f64>>,
}

/// For each combination, the number of correct examples and the sum of -ln Pr\[true class\].
struct TuningTally {
    right: Vec<u32>,
    loss: Vec<f64>,
}

impl TuningTally {
    fn new(combinations: usize) -> TuningTally {
        TuningTally { right: vec![0; combinations], loss: vec![0.0; combinations] }
    }

    fn add(&mut self, other: &TuningTally) {
        self.right.iter_mut().zip(&other.right).for_each(|(sum, more)| *sum += more);
        self.loss.iter_mut().zip(&other.loss).for_each(|(sum, more)| *sum += more);
    }
}

impl<'a> Grid<'a> {
    fn new(table: &'a ClassTermTable, counting_choices: &[CountingChoice], sizes: &'a [usize]) -> Self {
        let mut rank = vec![0; table.terms.len()];
        let ranked = table.ranked();
        for (place, &at) in ranked.iter().enumerate() {
            rank[at as usize] = place as u32;
        }
        let smoothed = counting_choices.par_iter().map(|&(counting, smoothing)| Smoothed {
            counting,
            gains: table.all_cells().iter().map(|cell| gain(cell, counting, smoothing)).collect(),
            logdenoms: sizes
                .iter()
                .map(|&size| logdenoms(table, &ranked[..size.min(ranked.len())], counting, smoothing))
                .collect(),
        });
        Grid { table, sizes, rank, logpriors: logpriors(table).into(), smoothings: smoothed.collect() }
    }

    fn tally(&self, examples: &[&Labelled<'_>]) -> TuningTally {
        let mut tally = TuningTally::new(self.smoothings.len() * self.sizes.len() * TEMPERS.len());
        let mut scores = Vec::new();
        for Labelled { classes, counts } in examples {
            let ranked = self.ranked(counts);
            for (number, smoothed) in self.smoothings.iter().enumerate() {
                self.walk(&ranked, smoothed, |size, evidence, length| {
                    for (temper, calibration) in TEMPERS.iter().enumerate() {
                        let at = (number * self.sizes.len() + size) * TEMPERS.len() + temper;
                        scores.clear();
                        scores.extend_from_slice(evidence);
                        normalise(&mut scores, self.logpriors.iter().copied(), calibration.factor(length));
                        tally.right[at] += u32::from(classes.contains(&(best(&scores) as u16)));
                        tally.loss[at] -= log_sum(&scores, classes);
                    }
                });
            }
        }
        tally
    }

    /// A document's known terms: rank, index, count; most informative first.
    fn ranked(&self, counts: &TermFrequencies) -> Vec<(u32, u32, u32)> {
        let known = counts.iter().filter_map(|&(term, count)| {
            let at = self.table.find(term)?;
            Some((self.rank[at], at as u32, count))
        });
        let mut ranked: Vec<_> = known.collect();
        ranked.sort_unstable();
        ranked
    }

    /// Calls `reached` with the index of every size, the evidence at that size, and the number of words so far.
    fn walk(
        &self,
        ranked: &[(u32, u32, u32)],
        smoothed: &Smoothed,
        mut reached: impl FnMut(usize, &[f64], f64),
    ) {
        let mut sums = vec![0.0; self.logpriors.len()];
        let mut evidence = sums.clone();
        let mut length = 0.0;
        let mut terms = ranked.iter().peekable();
        for (number, &size) in self.sizes.iter().enumerate() {
            while let Some(&(_, at, count)) = terms.next_if(|(rank, ..)| (*rank as usize) < size) {
                let weight = smoothed.counting.weight(count);
                length += weight;
                let range = self.table.cell_range(at as usize);
                let gains = &smoothed.gains[range];
                for (cell, &gain) in self.table.cells(at as usize).iter().zip(gains) {
                    sums[usize::from(cell.class)] += weight * f64::from(gain);
                }
            }
            for ((said, sum), logdenom) in evidence.iter_mut().zip(&sums).zip(&smoothed.logdenoms[number]) {
                *said = sum - length * logdenom;
            }
            reached(number, &evidence, length);
        }
    }
}

/// Index of the first maximum.
fn best(scores: &[f64]) -> usize {
    let mut best = 0;
    for (at, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = at;
        }
    }
    best
}

fn trials(
    tally: &TuningTally,
    counting_choices: &[CountingChoice],
    sizes: &[usize],
    examples: usize,
) -> Vec<TuningTrial> {
    let combinations = counting_choices.iter().flat_map(|&way| {
        sizes.iter().flat_map(move |&size| TEMPERS.map(|temper| (way, size, temper.saturation)))
    });
    let all = examples.max(1) as f64;
    let trial = |(((counting, smoothing), features, saturation), (&right, &loss))| TuningTrial {
        saturation,
        counting,
        smoothing,
        features,
        accuracy: f64::from(right) / all,
        log_loss: loss / all,
    };
    combinations.zip(tally.right.iter().zip(&tally.loss)).map(trial).collect()
}

/// The most accurate trial; on ties the one with the lower log loss.
pub(crate) fn choose(trials: &[TuningTrial]) -> usize {
    let better = |a: &TuningTrial, b: &TuningTrial| {
        a.accuracy.total_cmp(&b.accuracy).then(b.log_loss.total_cmp(&a.log_loss))
    };
    (0..trials.len()).max_by(|&a, &b| better(&trials[a], &trials[b])).unwrap_or(0)
}

/// Scores of a choice for every example, by a model that was not trained on it.
pub(crate) fn scored(
    examples: &[Labelled<'_>],
    folded: &FoldTables,
    choice: &TuningTrial,
) -> Vec<ScoredDocument> {
    let folds = folded.rests.len();
    let classes = folded.rests.first().map_or(1, |table| table.classes.len());
    let most = MOST_SCORES / classes.max(1);
    let mut all = Vec::new();
    for (fold, rest) in folded.rests.iter().enumerate() {
        let sizes = [choice.features];
        let grid = Grid::new(rest, &[(choice.counting, choice.smoothing)], &sizes);
        let held_out: Vec<&Labelled<'_>> = folded.held_out(examples, fold).take(most / folds).collect();
        let of_one = |Labelled { classes, counts }: &&Labelled<'_>| {
            let mut scored = ScoredDocument {
                evidence: Vec::new(),
                logpriors: grid.logpriors.clone(),
                length: 0.0,
                classes: classes.clone(),
            };
            grid.walk(&grid.ranked(counts), &grid.smoothings[0], |_, evidence, length| {
                scored.evidence = evidence.to_vec();
                scored.length = length;
            });
            scored
        };
        all.par_extend(held_out.par_iter().map(of_one));
    }
    all
}

fn confusion(table: &ClassTermTable, scored: &[ScoredDocument], calibration: &Calibration) -> Vec<Vec<u32>> {
    let mut confusion = vec![vec![0; table.classes.len()]; table.classes.len()];
    for document in scored {
        let best = best(&document.probabilities(calibration));
        let is_right = document.classes.contains(&(best as u16));
        confusion[if is_right { best } else { document.classes[0].into() }][best] += 1;
    }
    confusion
}
