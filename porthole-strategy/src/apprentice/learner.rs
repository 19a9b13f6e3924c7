//! Who learns from the instances.

use super::counts::Counts;
use super::feature::Weighed;
use super::linear::Linear;
use super::naive_bayes::{LEAST, NaiveBayes, probability};
use super::settings::Kind;
use crate::{StateError, state};

/// A learner, with what it was taught and what it makes of that.
#[derive(Clone, Debug)]
pub(super) enum Learner {
    Bayes(Box<Batches>),
    /// Trained with every instance, and asked from the first training on.
    Linear {
        linear: Linear,
        is_asked: bool,
    },
}

/// Naive Bayes, trained in batches.
#[derive(Clone, Debug)]
pub(super) struct Batches {
    counts: Counts,
    /// What came since the last training, and is added at the next.
    fresh: Counts,
    pub(super) trained: Option<NaiveBayes>,
    length: u32,
}

impl Batches {
    fn train(&mut self) {
        self.counts.merge(&std::mem::take(&mut self.fresh));
        self.trained = NaiveBayes::train(&self.counts, self.length);
    }
}

impl Learner {
    pub(super) fn new(kind: Kind, length: u32) -> Learner {
        let linear = |linear| Learner::Linear { linear, is_asked: false };
        match kind {
            Kind::Bayes => {
                let (counts, fresh) = (Counts::default(), Counts::default());
                Learner::Bayes(Box::new(Batches { counts, fresh, trained: None, length }))
            }
            Kind::Regression => linear(Linear::regression()),
            Kind::Perceptron => linear(Linear::perceptron()),
        }
    }

    /// Begins with what was learnt elsewhere. Only naive Bayes can.
    pub(super) fn begin_with(&mut self, earlier: &Counts) {
        if let Learner::Bayes(bayes) = self {
            bayes.fresh.merge(earlier);
            bayes.train();
        }
    }

    pub(super) fn learn(&mut self, features: &[Weighed], relevance: f64) {
        match self {
            Learner::Bayes(bayes) => bayes.fresh.add(features, relevance),
            Learner::Linear { linear, .. } => linear.learn(features, relevance),
        }
    }

    /// Trains; whether there was enough to learn from.
    pub(super) fn train(&mut self) -> bool {
        match self {
            Learner::Bayes(bayes) => {
                bayes.train();
                bayes.trained.is_some()
            }
            Learner::Linear { linear, is_asked } => {
                *is_asked = linear.learnt() >= 2 * LEAST;
                *is_asked
            }
        }
    }

    /// Whether it is asked.
    pub(super) fn is_trained(&self) -> bool {
        match self {
            Learner::Bayes(bayes) => bayes.trained.is_some(),
            Learner::Linear { is_asked, .. } => *is_asked,
        }
    }

    /// What it says of a link, from 0 to 1; `None` as long as it was not trained.
    pub(super) fn score(&self, features: &[Weighed]) -> Option<f64> {
        match self {
            Learner::Bayes(bayes) => {
                bayes.trained.as_ref().map(|trained| probability(trained.log_odds(features)))
            }
            Learner::Linear { linear, is_asked } => is_asked.then(|| linear.score(features)),
        }
    }

    /// Naive Bayes, if that is what learnt, and it was trained.
    pub(super) fn bayes(&self) -> Option<&NaiveBayes> {
        match self {
            Learner::Bayes(bayes) => bayes.trained.as_ref(),
            Learner::Linear { .. } => None,
        }
    }

    /// What was learnt, if it can be added to what others have.
    pub(super) fn lessons(&self) -> Option<Counts> {
        let Learner::Bayes(bayes) = self else { return None };
        let mut all = bayes.counts.clone();
        all.merge(&bayes.fresh);
        Some(all)
    }

    /// What is saved: whether it was trained, and what was learnt, by who learns.
    pub(super) fn state(&self) -> (bool, Option<[&Counts; 2]>, Option<&Linear>) {
        match self {
            Learner::Bayes(bayes) => (bayes.trained.is_some(), Some([&bayes.counts, &bayes.fresh]), None),
            Learner::Linear { linear, is_asked } => (*is_asked, None, Some(linear)),
        }
    }

    pub(super) fn restore(&mut self, (was_trained, counts, weights): State) -> Result<(), StateError> {
        match (self, counts, weights) {
            (Learner::Bayes(bayes), Some([counts, fresh]), None) => {
                (bayes.counts, bayes.fresh) = (counts, fresh);
                bayes.trained =
                    if was_trained { NaiveBayes::train(&bayes.counts, bayes.length) } else { None };
            }
            (Learner::Linear { linear, is_asked }, None, Some(weights)) => {
                state::check(weights.is_perceptron() == linear.is_perceptron())?;
                (*linear, *is_asked) = (weights, was_trained);
            }
            _ => return Err(StateError::Damaged),
        }
        Ok(())
    }
}

/// What [`Learner::state`] says, when it comes back.
pub(super) type State = (bool, Option<[Counts; 2]>, Option<Linear>);
