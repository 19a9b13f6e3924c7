//! Learners trained and evaluated on the links of a recorded crawl: how well and how soon each learns (A 2.3, 3.4).

use super::counts;
use super::learner::ApprenticeLearner;
use super::settings::LearnerKind;
use super::validation::{Accuracy, Instance};

/// Links between pages of a crawl as instances, in the order in which they could be learnt.
#[derive(Clone, Debug)]
pub struct TrainingSet {
    instances: Vec<Instance>,
    /// The relevance bin at which high begins.
    cut: usize,
}

/// A learner that is trained to predict links to pages of high relevance.
#[derive(Clone, Debug)]
pub struct OfflineLearner {
    learner: ApprenticeLearner,
}

impl TrainingSet {
    pub(super) fn new(instances: Vec<Instance>, cut: usize) -> TrainingSet {
        TrainingSet { instances, cut }
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        self.instances.len()
    }

    /// Mean number of features of a link.
    pub fn features_a_link(&self) -> f64 {
        let all: usize = self.instances.iter().map(|instance| instance.features.len()).sum();
        all as f64 / self.instances.len().max(1) as f64
    }

    /// The first `at` links, and the rest.
    pub fn split(mut self, at: usize) -> (TrainingSet, TrainingSet) {
        let rest = self.instances.split_off(at.min(self.instances.len()));
        let rest = TrainingSet { instances: rest, cut: self.cut };
        (self, rest)
    }

    /// Folds for cross-validation: for each part, the links of all others, and its own. All links to one page are in
    /// one part.
    pub fn parts(&self, parts: u64) -> Vec<(TrainingSet, TrainingSet)> {
        let part = |part: u64| {
            let (own, others) =
                self.instances.iter().cloned().partition(|instance| instance.target % parts == part);
            (TrainingSet { instances: others, cut: self.cut }, TrainingSet { instances: own, cut: self.cut })
        };
        (0..parts).map(part).collect()
    }

    /// Median relevance of the targets, low and high (A 2.3).
    pub fn medians(&self) -> [f64; 2] {
        [false, true].map(|is_high| {
            let own = self.instances.iter().filter(|instance| self.is_high(instance) == is_high);
            let mut own: Vec<f64> = own.map(|instance| instance.relevance).collect();
            own.sort_by(f64::total_cmp);
            own.get(own.len() / 2).copied().unwrap_or_default()
        })
    }

    fn is_high(&self, instance: &Instance) -> bool {
        counts::bin(instance.relevance) >= self.cut
    }
}

impl OfflineLearner {
    /// An untrained learner.
    pub fn new(kind: LearnerKind) -> OfflineLearner {
        OfflineLearner { learner: ApprenticeLearner::new(kind, 0) }
    }

    /// Makes one training pass; returns whether there were enough instances.
    pub fn learn(&mut self, training_set: &TrainingSet) -> bool {
        for instance in &training_set.instances {
            self.learner.learn(&instance.features, f64::from(u8::from(training_set.is_high(instance))));
        }
        self.learner.train()
    }

    /// Accuracy on these links. An untrained learner predicts low for all.
    pub fn accuracy_on(&self, training_set: &TrainingSet) -> Accuracy {
        let predict = |instance: &&Instance| {
            (training_set.is_high(instance), self.learner.score(&instance.features).unwrap_or(0.0) >= 0.5)
        };
        Accuracy::of(training_set.instances.iter().map(|instance| predict(&instance)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten links with the word 1 to pages of low relevance, ten with the word 2 to pages of high relevance.
    fn training_set() -> TrainingSet {
        let instance = |target: u64| {
            let (word, relevance) = if target.is_multiple_of(2) { (1, 0.01) } else { (2, 0.9) };
            Instance { target, features: vec![(word, 1)], relevance }
        };
        TrainingSet::new((0..20).map(instance).collect(), counts::bin(0.5))
    }

    #[test]
    fn all_learners_learn_separable_classes() {
        let training_set = training_set();
        assert_eq!(
            (training_set.links(), training_set.features_a_link(), training_set.medians()),
            (20, 1.0, [0.01, 0.9])
        );
        for kind in [LearnerKind::Bayes, LearnerKind::Regression, LearnerKind::Perceptron] {
            let mut learner = OfflineLearner::new(kind);
            assert_eq!(
                learner.accuracy_on(&training_set),
                Accuracy { positive: 0.0, negative: 1.0, average: 0.5 }
            );
            // The regression improves with every pass.
            for _ in 0..if kind == LearnerKind::Bayes { 1 } else { 10 } {
                assert!(learner.learn(&training_set));
            }
            let right = Accuracy { positive: 1.0, negative: 1.0, average: 1.0 };
            assert_eq!(learner.accuracy_on(&training_set), right, "{kind:?}");
        }
    }

    #[test]
    fn folds_are_disjoint_by_target_and_complete() {
        let parts = training_set().parts(5);
        let targets = |training_set: &TrainingSet| {
            training_set.instances.iter().map(|one| one.target).collect::<Vec<_>>()
        };
        for (others, own) in &parts {
            assert_eq!((others.links(), own.links()), (16, 4));
            assert!(targets(own).iter().all(|target| !targets(others).contains(target)));
        }
        let (first, rest) = training_set().split(15);
        assert_eq!((first.links(), targets(&rest)), (15, vec![15, 16, 17, 18, 19]));
    }
}
