//! The learners that an apprentice can use.

use super::counts::FeatureCounts;
use super::feature::WeightedFeature;
use super::linear::Linear;
use super::naive_bayes::{LEAST, NaiveBayes, priority};
use super::settings::LearnerKind;
use crate::{StateError, state};

/// A learner and its model.
#[derive(Clone, Debug)]
pub(super) enum ApprenticeLearner {
    Bayes(Box<BatchedBayes>),
    /// Trained with every instance, used from the first training on.
    Linear {
        linear: Linear,
        is_asked: bool,
    },
}

/// Naive Bayes, trained in batches.
#[derive(Clone, Debug)]
pub(super) struct BatchedBayes {
    counts: FeatureCounts,
    /// Counts since the last training. They are added at the next one.
    fresh: FeatureCounts,
    pub(super) trained: Option<NaiveBayes>,
    length: u32,
}

impl BatchedBayes {
    fn train(&mut self) {
        self.counts.merge(&std::mem::take(&mut self.fresh));
        self.trained = NaiveBayes::train(&self.counts, self.length);
    }
}

impl ApprenticeLearner {
    pub(super) fn new(kind: LearnerKind, length: u32) -> ApprenticeLearner {
        let linear = |linear| ApprenticeLearner::Linear { linear, is_asked: false };
        match kind {
            LearnerKind::Bayes => {
                let (counts, fresh) = (FeatureCounts::default(), FeatureCounts::default());
                ApprenticeLearner::Bayes(Box::new(BatchedBayes { counts, fresh, trained: None, length }))
            }
            LearnerKind::Regression => linear(Linear::regression()),
            LearnerKind::Perceptron => linear(Linear::perceptron()),
        }
    }

    /// Starts from the counts of an earlier crawl. Only naive Bayes supports it.
    pub(super) fn start_from(&mut self, earlier: &FeatureCounts) {
        if let ApprenticeLearner::Bayes(bayes) = self {
            bayes.fresh.merge(earlier);
            bayes.train();
        }
    }

    pub(super) fn learn(&mut self, features: &[WeightedFeature], relevance: f64) {
        match self {
            ApprenticeLearner::Bayes(bayes) => bayes.fresh.add(features, relevance),
            ApprenticeLearner::Linear { linear, .. } => linear.learn(features, relevance),
        }
    }

    /// Trains; returns whether there were enough instances.
    pub(super) fn train(&mut self) -> bool {
        match self {
            ApprenticeLearner::Bayes(bayes) => {
                bayes.train();
                bayes.trained.is_some()
            }
            ApprenticeLearner::Linear { linear, is_asked } => {
                *is_asked = linear.instances() >= 2 * LEAST;
                *is_asked
            }
        }
    }

    /// Whether the learner can score.
    pub(super) fn is_trained(&self) -> bool {
        match self {
            ApprenticeLearner::Bayes(bayes) => bayes.trained.is_some(),
            ApprenticeLearner::Linear { is_asked, .. } => *is_asked,
        }
    }

    /// Priority of a link from 0 to 1, in the order of the learner's predictions; `None` before the first training.
    pub(super) fn score(&self, features: &[WeightedFeature]) -> Option<f64> {
        match self {
            ApprenticeLearner::Bayes(bayes) => {
                bayes.trained.as_ref().map(|trained| priority(trained.log_odds(features)))
            }
            ApprenticeLearner::Linear { linear, is_asked } => is_asked.then(|| linear.score(features)),
        }
    }

    /// The trained naive Bayes model, if that is the learner.
    pub(super) fn bayes(&self) -> Option<&NaiveBayes> {
        match self {
            ApprenticeLearner::Bayes(bayes) => bayes.trained.as_ref(),
            ApprenticeLearner::Linear { .. } => None,
        }
    }

    /// The counts, if they can be added to those of other crawls.
    pub(super) fn lessons(&self) -> Option<FeatureCounts> {
        let ApprenticeLearner::Bayes(bayes) = self else { return None };
        let mut all = bayes.counts.clone();
        all.merge(&bayes.fresh);
        Some(all)
    }

    /// State to save: whether the learner was trained, and the counts or weights of its kind.
    pub(super) fn state(&self) -> (bool, Option<[&FeatureCounts; 2]>, Option<&Linear>) {
        match self {
            ApprenticeLearner::Bayes(bayes) => {
                (bayes.trained.is_some(), Some([&bayes.counts, &bayes.fresh]), None)
            }
            ApprenticeLearner::Linear { linear, is_asked } => (*is_asked, None, Some(linear)),
        }
    }

    pub(super) fn restore(&mut self, (was_trained, counts, weights): State) -> Result<(), StateError> {
        match (self, counts, weights) {
            (ApprenticeLearner::Bayes(bayes), Some([counts, fresh]), None) => {
                (bayes.counts, bayes.fresh) = (counts, fresh);
                bayes.trained =
                    if was_trained { NaiveBayes::train(&bayes.counts, bayes.length) } else { None };
            }
            (ApprenticeLearner::Linear { linear, is_asked }, None, Some(weights)) => {
                state::check(weights.is_perceptron() == linear.is_perceptron())?;
                (*linear, *is_asked) = (weights, was_trained);
            }
            _ => return Err(StateError::Damaged),
        }
        Ok(())
    }
}

/// Deserialised form of [`ApprenticeLearner::state`].
pub(super) type State = (bool, Option<[FeatureCounts; 2]>, Option<Linear>);
