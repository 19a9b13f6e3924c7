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
    /// If there is a background: the share of a page's words that depends on its topic. The others follow the
    /// background's distribution. 1 for classes without shared words.
    pub topical: f64,
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
    /// For decisions with too few examples for cross-validation, in a tree where no other decision has more: the
    /// most frequent choice in the general taxonomy. With add-one smoothing, the evidence of two pages of a new
    /// topic would have no effect against the hundreds of its parent; without calibration, every probability would be 0 or
    /// 1.
    pub fn untried() -> Self {
        Tuning {
            counting: TermCounting::Share,
            smoothing: 0.1,
            calibration: Calibration { saturation: 8.0, power: 1.0 },
            topical: TOPICAL,
            ..Tuning::default()
        }
    }
}

/// Default share of topical words, if there are no examples to choose it by.
pub(crate) const TOPICAL: f64 = 0.2;

/// Maximum prior probability of the background, however many pages it has: examples of topics are few because they
/// are collected by hand, not because such pages are rare.
const MOST_BACKGROUND: f64 = 0.5;

impl Default for Tuning {
    /// As in the papers: add-one smoothing, all terms, no calibration.
    fn default() -> Self {
        Tuning {
            counting: TermCounting::Each,
            smoothing: 1.0,
            features: usize::MAX,
            calibration: Calibration::NONE,
            topical: 1.0,
        }
    }
}

pub(crate) fn fit(problem: &DecisionProblem, table: &ClassTermTable, tuning: &Tuning) -> TopicDecision {
    fit_ranked(problem, table, &table.ranked(), tuning)
}

/// As `fit`, with the terms ranked before.
pub(crate) fn fit_ranked(
    problem: &DecisionProblem,
    table: &ClassTermTable,
    ranked: &[u32],
    tuning: &Tuning,
) -> TopicDecision {
    let mut chosen = ranked[..tuning.features.min(ranked.len())].to_vec();
    chosen.sort_unstable();
    let Likelihoods { features, postings, logdenoms } = match table.background {
        Some(background) if tuning.topical < 1.0 => mixed(table, &chosen, tuning, background),
        _ => separate(table, &chosen, tuning),
    };
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

/// ln theta of the features under every class, as a decision stores them: gain - logdenom, with a gain of 0 for terms
/// without a posting.
struct Likelihoods {
    features: Vec<DecisionTerm>,
    postings: Vec<(u16, f32)>,
    logdenoms: Vec<f64>,
}

/// Every class has its own distribution (V eq. 1).
fn separate(table: &ClassTermTable, chosen: &[u32], tuning: &Tuning) -> Likelihoods {
    let (mut features, mut postings) = (Vec::with_capacity(chosen.len()), Vec::new());
    for &at in chosen {
        let cells = table.cells(at as usize);
        features.push(feature(table, at, cells.len()));
        postings.extend(cells.iter().map(|cell| (cell.class, gain(cell, tuning.counting, tuning.smoothing))));
    }
    let logdenoms = logdenoms(table, chosen, tuning.counting, tuning.smoothing);
    Likelihoods { features, postings, logdenoms }
}

/// The distribution of every class is a mixture of its own and that of the background. A background comes from the
/// crawl and contains the words that all pages of its sites share; the examples of other classes may come from
/// elsewhere. Without the mixture, those words alone would decide for the background.
fn mixed(table: &ClassTermTable, chosen: &[u32], tuning: &Tuning, background: u16) -> Likelihoods {
    let Tuning { counting, smoothing, topical, .. } = *tuning;
    let mut sums = vec![0.0; table.classes.len()];
    for cell in chosen.iter().flat_map(|&at| table.cells(at as usize)) {
        sums[usize::from(cell.class)] += counting.of(cell.seen);
    }
    let totals: Vec<f64> = sums.iter().map(|sum| sum + smoothing * chosen.len() as f64).collect();
    let theta = |class: u16, count: f64| (smoothing + count) / totals[usize::from(class)];
    let mixture = |class: u16, count: f64, behind: f64| match class == background {
        true => behind,
        false => topical * theta(class, count) + (1.0 - topical) * behind,
    };
    let unseen: Vec<f64> =
        (0..totals.len()).map(|class| mixture(class as u16, 0.0, theta(background, 0.0))).collect();
    let (mut features, mut postings) = (Vec::with_capacity(chosen.len()), Vec::new());
    for &at in chosen {
        let cells = table.cells(at as usize);
        let count = |class: u16| {
            let cell = cells.binary_search_by_key(&class, |cell| cell.class);
            cell.map_or(0.0, |place| counting.of(cells[place].seen))
        };
        let gain = |class: u16, behind: f64| {
            (class, (mixture(class, count(class), behind) / unseen[usize::from(class)]).ln() as f32)
        };
        let (before, behind) = (postings.len(), theta(background, count(background)));
        if count(background) > 0.0 {
            postings.extend((0..totals.len() as u16).map(|class| gain(class, behind)));
        } else {
            postings.extend(cells.iter().map(|cell| gain(cell.class, behind)));
        }
        features.push(feature(table, at, postings.len() - before));
    }
    Likelihoods { features, postings, logdenoms: unseen.iter().map(|theta| -theta.ln()).collect() }
}

fn feature(table: &ClassTermTable, at: u32, postings: usize) -> DecisionTerm {
    DecisionTerm { term: table.terms[at as usize], scale: 1.0, postings: postings as u32 }
}

/// logtheta + logdenom. With smoothing s, theta = (s + n) / (s |V| + N); dividing both by s gives V eq. 1 with counts
/// n/s, so a missing term costs exactly logdenom here, too.
pub(crate) fn gain(cell: &Cell, counting: TermCounting, smoothing: f64) -> f32 {
    (1.0 + counting.of(cell.seen) / smoothing).ln() as f32
}

/// ln Pr\[ci|c0\]. A class whose only example is held out counts as half a document.
pub(crate) fn logpriors(table: &ClassTermTable) -> Vec<f64> {
    let mut documents: Vec<f64> =
        table.classes.iter().map(|class| f64::from(class.documents).max(0.5)).collect();
    if let Some(background) = table.background.map(usize::from) {
        let others: f64 = documents.iter().sum::<f64>() - documents[background];
        let most = others * MOST_BACKGROUND / (1.0 - MOST_BACKGROUND);
        documents[background] = documents[background].min(most);
    }
    let all: f64 = documents.iter().sum();
    documents.iter().map(|documents| (documents / all).ln()).collect()
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
