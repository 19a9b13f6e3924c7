//! Confirmation of a good topic: a second decision, learned from people's answers about pages of a crawl.
//!
//! Naive Bayes finds pages with the words of a topic. Where a neighbouring topic shares most of these words and has no
//! examples, its pages get the same R, and answers change little: naive Bayes weighs every word by itself, and the pages
//! that were answered with no belong to no topic of the tree. A logistic regression weighs the words that distinguish both
//! kinds of answers. It judges only pages that look like the topic, so that a few answers are enough:
//! R(d) = Pr[good|d] · Pr[yes|good,d].

use porthole_types::{TermId, TopicId};

use crate::calibration::Calibration;
use crate::logistic::{Samples, SolverSettings, SparseRows, cross_validate, fit};
use crate::model::{ClassModel, DecisionTerm, TopicDecision};
use crate::naive_bayes::TermCounting;
use crate::statistics::TermFrequencies;

/// Pages that are about a good topic, and pages that only resemble them.
#[derive(Clone, Debug, Default)]
pub struct AnsweredPages<'a> {
    /// Pages of the crawl that are about the topic.
    pub yes: Vec<&'a TermFrequencies>,
    /// Pages of the crawl that are not.
    pub no: Vec<&'a TermFrequencies>,
    /// Other examples of the topic.
    pub examples: Vec<&'a TermFrequencies>,
}

/// Minimum number of answers of each kind. Examples may come from elsewhere: without a yes, the words of all crawled pages
/// would count against the topic.
const FEWEST: usize = 3;

/// Maximum number of other examples that are used, evenly spaced.
const MOST_EXAMPLES: usize = 500;

/// Number of words from which further words of a page count less. Between 4 and 16 the results are the same.
const SATURATION: f64 = 8.0;

/// Strength of the regression. Between 1.5 and 6 the results are the same.
const STRENGTH: f64 = 3.0;

/// Number of folds of the cross-validation.
const FOLDS: usize = 5;

/// Log loss of the cross-validation from which answers have no pattern; ln 2 is that of a coin. Of answers by the true topics
/// it was 0.43 to 0.61 on 17 crawls, of the same answers in a random order at least 0.62 in 48 of 51 cases.
const MOST_LOSS: f64 = 0.9 * std::f64::consts::LN_2;

/// Trains the confirmation of a good topic. `None` if there are too few answers, or if they cannot be predicted from each
/// other: answers that follow no pattern must not change R.
pub fn confirmation(good: TopicId, pages: &AnsweredPages<'_>) -> Option<TopicDecision> {
    // Where the root is good, so is every page.
    if good == TopicId::ROOT || pages.yes.len() < FEWEST || pages.no.len() < FEWEST {
        return None;
    }
    let step = pages.examples.len().div_ceil(MOST_EXAMPLES).max(1);
    let examples: Vec<&TermFrequencies> = pages.examples.iter().copied().step_by(step).collect();
    let (yes, no) = (pages.yes.len() as f64, pages.no.len() as f64);
    // All other examples together count at most as much as the answers, which are about pages of this crawl.
    let of_example = (yes / examples.len().max(1) as f64).min(1.0);
    let for_it = yes + of_example * examples.len() as f64;
    // Both classes count the same: how often yes was the answer depends on the questions.
    let half = f64::midpoint(for_it, no);
    let parts = [
        (&examples, YES, of_example * half / for_it),
        (&pages.yes, YES, half / for_it),
        (&pages.no, NO, half / no),
    ];
    let terms = terms(parts.iter().flat_map(|(pages, ..)| pages.iter().copied()));
    let (mut rows, mut labels, mut weights, mut folds) =
        (SparseRows::new(), Vec::new(), Vec::new(), Vec::new());
    for (pages, label, weight) in parts {
        for (at, page) in pages.iter().enumerate() {
            rows.push(row(&terms, page));
            labels.push(label);
            weights.push(weight as f32);
            folds.push((at * FOLDS / pages.len()) as u8);
        }
    }
    let samples =
        Samples { rows: &rows, labels: &labels, weights: Some(&weights), classes: 2, features: terms.len() };
    let settings = SolverSettings { strength: STRENGTH, ..SolverSettings::default() };
    let trials = cross_validate(&samples, &folds, &[STRENGTH], &settings);
    if trials.iter().any(|trial| trial.log_loss >= MOST_LOSS) {
        return None;
    }
    let fitted = fit(&samples, &settings);
    let difference = |weights: &[f32]| weights[usize::from(YES)] - weights[usize::from(NO)];
    let class = |topic: TopicId, logprior: f32, documents: usize| ClassModel {
        topic,
        logprior: logprior.into(),
        logdenom: 0.0,
        documents: documents as u32,
    };
    Some(TopicDecision {
        node: good,
        classes: vec![
            class(good, difference(fitted.bias()), examples.len() + pages.yes.len()),
            class(TopicId::ROOT, 0.0, pages.no.len()),
        ],
        features: terms.iter().map(|&term| DecisionTerm { term, scale: 1.0, postings: 1 }).collect(),
        postings: (0..terms.len() as u32).map(|at| (YES, difference(fitted.of(at)))).collect(),
        calibration: CALIBRATION,
        counting: TermCounting::Each,
        smoothing: 0.0,
    })
}

/// The classes of a confirmation.
const YES: u16 = 0;
const NO: u16 = 1;

const CALIBRATION: Calibration = Calibration { saturation: SATURATION, power: 1.0 };

/// The terms of all pages, in order.
fn terms<'a>(pages: impl Iterator<Item = &'a TermFrequencies>) -> Vec<TermId> {
    let mut terms: Vec<TermId> = pages.flatten().map(|(term, _)| *term).collect();
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// A page as a decision of naive Bayes weighs it: its counts, times the factor of the calibration.
fn row(terms: &[TermId], page: &TermFrequencies) -> Vec<(u32, f32)> {
    let length: f64 = page.iter().map(|(_, count)| f64::from(*count)).sum();
    let factor = CALIBRATION.factor(length);
    let value = |&(term, count): &(TermId, u32)| {
        let feature = terms.binary_search(&term).ok()?;
        Some((feature as u32, (f64::from(count) * factor) as f32))
    };
    page.iter().filter_map(value).collect()
}
