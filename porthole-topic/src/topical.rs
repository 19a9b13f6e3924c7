//! Chooses, by held-out examples, which share of a page's words depends on its topic if there is a background.

use std::sync::Arc;

use porthole_types::TopicId;
use rayon::prelude::*;

use crate::calibration::{Calibration, ScoredDocument, mean_log_loss};
use crate::model::TopicDecision;
use crate::naive_bayes::{Tuning, fit_ranked};
use crate::problem::{ClassTermTable, problems};
use crate::statistics::{Statistics, TopicExample};
use crate::taxonomy::Taxonomy;
use crate::train::{TrainingOptions, Tunings, labelled};
use crate::tune::{FoldTables, Labelled};

/// Shares of topical words to choose from; 1 is no mixture.
const SHARES: [f64; 6] = [0.5, 0.3, 0.2, 0.1, 0.05, 1.0];

/// Factors by which the saturation may grow: in a mixture every word is weaker evidence, so more words may count.
const SATURATIONS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

/// Chooses [`Tuning::topical`] and the saturation at the node with the background, by held-out examples of the topics
/// and of the background, which count the same. `None` if there is no such node, or no topic there has an example.
pub fn choose_topical(
    tree: &Taxonomy,
    statistics: &Statistics,
    examples: &[TopicExample<'_>],
    (tunings, otherwise): (&Tunings, &Tuning),
    options: &TrainingOptions,
) -> Option<(TopicId, Tuning)> {
    let mut problems = problems(tree, statistics, options.shape).into_iter();
    let problem = problems.find(|problem| problem.background.is_some())?;
    let tuning = *tunings.get(&problem.node).unwrap_or(otherwise);
    let examples = labelled(&problem, examples);
    let is_own = |classes: &[u16]| classes.iter().all(|&class| Some(class) != problem.background);
    if !examples.iter().any(|example| is_own(&example.classes)) {
        return None;
    }
    let folded = FoldTables::new(&ClassTermTable::new(&problem, statistics), &examples, options.folds.max(2));
    // For every fold and share, the scores of the held-out examples.
    let scores: Vec<[Vec<ScoredDocument>; SHARES.len()]> = folded
        .rests
        .par_iter()
        .enumerate()
        .map(|(fold, rest)| {
            let ranked = rest.ranked();
            SHARES.map(|topical| {
                let scorer =
                    DecisionScorer::new(fit_ranked(&problem, rest, &ranked, &Tuning { topical, ..tuning }));
                folded.held_out(&examples, fold).map(|example| scorer.score(example)).collect()
            })
        })
        .collect();
    let mut best: Option<(f64, Tuning)> = None;
    for (at, topical) in SHARES.into_iter().enumerate() {
        let documents = scores.iter().flat_map(|fold| &fold[at]).cloned();
        let (own, behind): (Vec<_>, Vec<_>) = documents.partition(|document| is_own(&document.classes));
        for saturation in SATURATIONS {
            let calibration =
                Calibration { saturation: tuning.calibration.saturation * saturation, ..tuning.calibration };
            let loss = mean_log_loss(&own, &calibration) + mean_log_loss(&behind, &calibration);
            if best.is_none_or(|(least, _)| loss < least) {
                best = Some((loss, Tuning { topical, calibration, ..tuning }));
            }
        }
    }
    best.map(|(_, tuning)| (problem.node, tuning))
}

/// Scores documents by a decision.
struct DecisionScorer {
    decision: TopicDecision,
    /// Start of each feature's postings.
    starts: Vec<usize>,
    logpriors: Arc<[f64]>,
}

impl DecisionScorer {
    fn new(decision: TopicDecision) -> DecisionScorer {
        let mut end = 0;
        let start = |postings: u32| {
            end += postings as usize;
            end - postings as usize
        };
        let starts = decision.features.iter().map(|feature| feature.postings).map(start).collect();
        let logpriors = decision.classes.iter().map(|class| class.logprior).collect();
        DecisionScorer { decision, starts, logpriors }
    }

    fn score(&self, example: &Labelled<'_>) -> ScoredDocument {
        let TopicDecision { classes, features, postings, counting, .. } = &self.decision;
        let (mut evidence, mut length) = (vec![0.0; classes.len()], 0.0);
        for &(term, count) in example.counts {
            let Ok(place) = features.binary_search_by_key(&term, |feature| feature.term) else { continue };
            let weight = counting.weight(count);
            length += weight;
            let range = self.starts[place]..self.starts[place] + features[place].postings as usize;
            for &(class, gain) in &postings[range] {
                evidence[usize::from(class)] += weight * f64::from(gain);
            }
        }
        evidence.iter_mut().zip(classes).for_each(|(sum, class)| *sum -= length * class.logdenom);
        ScoredDocument {
            evidence,
            logpriors: self.logpriors.clone(),
            length,
            classes: example.classes.clone(),
        }
    }
}
