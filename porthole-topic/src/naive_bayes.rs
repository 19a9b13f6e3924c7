//! Naive Bayes: from counts to a decision (V eq. 1).
//!
//! Where only some terms take part, documents are read as if they consisted of those alone, so that the theta of
//! a class sum to 1 over the features, as a die's faces must. Without selection that is V eq. 1 to the letter;
//! with it, counting the words that were left out in the denominators measured worse on every collection.

use crate::calibration::Calibration;
use crate::model::{ClassModel, Decision, Feature};
use crate::problem::{Cell, Problem, Table};
use crate::statistics::{Seen, WHOLE};

/// What an occurrence of a term counts, in examples as in the page at hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// Each one: n(d,t) (V eq. 1).
    #[default]
    Each,
    /// A term counts once a document, however often it occurs: a word that was used is likely to be used again,
    /// so its second occurrence tells less than independence has it.
    Once,
    /// Every example counts as `SHARED` words, so that a few long ones do not speak for their class.
    Share,
}

/// The words that an example counts as where all count the same.
const SHARED: f64 = 100.0;

/// What is chosen for a decision before its parameters follow from the counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// What is counted.
    pub counting: Counting,
    /// Added to every count; 1 is V eq. 1.
    pub smoothing: f64,
    /// Terms that take part, those that tell most first.
    pub features: usize,
    /// How far the decision is believed.
    pub calibration: Calibration,
}

impl Counting {
    /// All ways to count.
    pub const ALL: [Counting; 3] = [Counting::Each, Counting::Once, Counting::Share];

    /// What so many occurrences in a document weigh.
    #[inline]
    pub fn weight(self, count: u32) -> f64 {
        match self {
            Counting::Each | Counting::Share => f64::from(count),
            Counting::Once => 1.0,
        }
    }

    /// What was seen of a term counts so much.
    fn of(self, seen: Seen) -> f64 {
        match self {
            Counting::Each => f64::from(seen.count),
            Counting::Once => f64::from(seen.documents),
            Counting::Share => seen.share as f64 * (SHARED / WHOLE as f64),
        }
    }
}

impl Tuning {
    /// For a decision with too few examples to choose anything by: little is added. With one for every term, what two
    /// pages say of a new topic is lost beside the hundreds of the topic that it is part of.
    pub fn untried() -> Self {
        Tuning { smoothing: 0.1, ..Tuning::default() }
    }
}

impl Default for Tuning {
    /// As the papers have it: add one, all terms, believed as it is.
    fn default() -> Self {
        Tuning {
            counting: Counting::Each,
            smoothing: 1.0,
            features: usize::MAX,
            calibration: Calibration::NONE,
        }
    }
}

pub(crate) fn fit(problem: &Problem, table: &Table, tuning: &Tuning) -> Decision {
    let mut chosen = table.ranked();
    chosen.truncate(tuning.features);
    chosen.sort_unstable();
    let logdenoms = logdenoms(table, &chosen, tuning.counting, tuning.smoothing);
    let (mut features, mut postings) = (Vec::with_capacity(chosen.len()), Vec::new());
    for at in chosen {
        let cells = table.cells(at as usize);
        features.push(Feature { term: table.terms[at as usize], scale: 1.0, postings: cells.len() as u32 });
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
    Decision {
        node: problem.node,
        classes: classes.collect(),
        features,
        postings,
        calibration: tuning.calibration,
        counting: tuning.counting,
        smoothing: tuning.smoothing,
    }
}

/// logtheta + logdenom. With s added to every count, theta = (s + n) / (s |V| + N): divided by s above and below,
/// that is V eq. 1 with counts n/s, so a missing term costs exactly logdenom here, too.
pub(crate) fn gain(cell: &Cell, counting: Counting, smoothing: f64) -> f32 {
    (1.0 + counting.of(cell.seen) / smoothing).ln() as f32
}

/// ln Pr\[ci|c0\].
pub(crate) fn logpriors(table: &Table) -> Vec<f64> {
    let all = table.documents() as f64;
    table.classes.iter().map(|class| (f64::from(class.documents) / all).ln()).collect()
}

/// logdenom of every class (V eq. 1).
pub(crate) fn logdenoms(table: &Table, features: &[u32], counting: Counting, smoothing: f64) -> Vec<f64> {
    let mut sums = vec![0.0; table.classes.len()];
    for cell in features.iter().flat_map(|&at| table.cells(at as usize)) {
        sums[usize::from(cell.class)] += counting.of(cell.seen);
    }
    sums.iter().map(|sum| (features.len() as f64 + sum / smoothing).ln()).collect()
}
