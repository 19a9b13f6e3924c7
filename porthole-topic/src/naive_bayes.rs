//! Naive Bayes: from counts to a decision (V eq. 1).
//!
//! If only some terms are features, documents are treated as if they consisted of those alone, so that the theta of a
//! class sum to 1 over the features. Without feature selection that is exactly V eq. 1; with it, counting the dropped
//! words in the denominators measured worse on every collection.

use crate::calibration::Calibration;
use crate::model::{ClassModel, DecisionTerm, TopicDecision};
use crate::problem::{Cell, ClassTermTable, DecisionProblem};
use crate::statistics::{TermSeen, WHOLE};

/// How occurrences of a term are counted, in examples and in the page that is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TermCounting {
    /// Every occurrence: n(d,t) (V eq. 1).
    #[default]
    Each,
    /// Once a document: a word that was used is likely to be used again, so its second occurrence is weaker evidence
    /// than independence assumes.
    Once,
    /// By share: every example counts as `SHARED` words, so that a few long ones do not dominate their class.
    Share,
}

/// Number of words that every example counts as under `Share`.
const SHARED: f64 = 100.0;

/// Hyperparameters of a decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// How terms are counted.
    pub counting: TermCounting,
    /// Smoothing added to every count; 1 is V eq. 1.
    pub smoothing: f64,
    /// Number of features, most informative first.
    pub features: usize,
    /// Calibration of the decision.
    pub calibration: Calibration,
}

impl TermCounting {
    /// All variants.
    pub const ALL: [TermCounting; 3] = [TermCounting::Each, TermCounting::Once, TermCounting::Share];

    /// Weight of `count` occurrences in a document.
    #[inline]
    pub fn weight(self, count: u32) -> f64 {
        match self {
            TermCounting::Each | TermCounting::Share => f64::from(count),
            TermCounting::Once => 1.0,
        }
    }

    /// Weight of a term's statistics.
    fn of(self, seen: TermSeen) -> f64 {
        match self {
            TermCounting::Each => f64::from(seen.count),
            TermCounting::Once => f64::from(seen.documents),
            TermCounting::Share => seen.share as f64 * (SHARED / WHOLE as f64),
        }
    }
}

impl Tuning {
    /// For a decision with too few examples for cross-validation: little smoothing. With add-one, the evidence of two
    /// pages of a new topic would be lost beside the hundreds of its parent.
    pub fn untried() -> Self {
        Tuning { smoothing: 0.1, ..Tuning::default() }
    }
}

impl Default for Tuning {
    /// As in the papers: add-one smoothing, all terms, no calibration.
    fn default() -> Self {
        Tuning {
            counting: TermCounting::Each,
            smoothing: 1.0,
            features: usize::MAX,
            calibration: Calibration::NONE,
        }
    }
}

pub(crate) fn fit(problem: &DecisionProblem, table: &ClassTermTable, tuning: &Tuning) -> TopicDecision {
    let mut chosen = table.ranked();
    chosen.truncate(tuning.features);
    chosen.sort_unstable();
    let logdenoms = logdenoms(table, &chosen, tuning.counting, tuning.smoothing);
    let (mut features, mut postings) = (Vec::with_capacity(chosen.len()), Vec::new());
    for at in chosen {
        let cells = table.cells(at as usize);
        features.push(DecisionTerm {
            term: table.terms[at as usize],
            scale: 1.0,
            postings: cells.len() as u32,
        });
        postings.extend(cells.iter().map(|cell| (cell.class, gain(cell, tuning.counting, tuning.smoothing))));
    }
    let before = logpriors(table).into_iter().zip(logdenoms);
    let classes = problem.classes.iter().zip(before).zip(&table.classes);
    let classes = classes.map(|((class, (logprior, logdenom)), totals)| ClassModel {
        topic: class.topic,
        logprior,
        logdenom,
        documents: totals.documents,
    });
    TopicDecision {
        node: problem.node,
        classes: classes.collect(),
        features,
        postings,
        calibration: tuning.calibration,
        counting: tuning.counting,
        smoothing: tuning.smoothing,
    }
}

/// logtheta + logdenom. With smoothing s, theta = (s + n) / (s |V| + N); dividing both by s gives V eq. 1 with counts
/// n/s, so a missing term costs exactly logdenom here, too.
pub(crate) fn gain(cell: &Cell, counting: TermCounting, smoothing: f64) -> f32 {
    (1.0 + counting.of(cell.seen) / smoothing).ln() as f32
}

/// ln Pr\[ci|c0\].
pub(crate) fn logpriors(table: &ClassTermTable) -> Vec<f64> {
    let all = table.documents() as f64;
    table.classes.iter().map(|class| (f64::from(class.documents) / all).ln()).collect()
}

/// logdenom of every class (V eq. 1).
pub(crate) fn logdenoms(
    table: &ClassTermTable,
    features: &[u32],
    counting: TermCounting,
    smoothing: f64,
) -> Vec<f64> {
    let mut sums = vec![0.0; table.classes.len()];
    for cell in features.iter().flat_map(|&at| table.cells(at as usize)) {
        sums[usize::from(cell.class)] += counting.of(cell.seen);
    }
    sums.iter().map(|sum| (features.len() as f64 + sum / smoothing).ln()).collect()
}
