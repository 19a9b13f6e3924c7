//! Learners that are taught by the links of a crawl and asked about others: who learns how well, and how soon (A 2.3, 3.4).

use super::counts;
use super::learner::Learner;
use super::settings::Kind;
use super::validation::{Accuracy, Instance};

/// Links between pages of a crawl, described: something to learn from, in the order in which it could be learnt.
#[derive(Clone, Debug)]
pub struct TrainingSet {
    instances: Vec<Instance>,
    /// The interval of relevance at which high begins.
    cut: usize,
}

/// A learner that is taught what leads to pages of high relevance.
#[derive(Clone, Debug)]
pub struct OfflineLearner {
    learner: Learner,
}

impl TrainingSet {
    pub(super) fn new(instances: Vec<Instance>, cut: usize) -> TrainingSet {
        TrainingSet { instances, cut }
    }

    /// Links.
    pub fn links(&self) -> usize {
        self.instances.len()
    }

    /// Features of a link, in the mean.
    pub fn features_a_link(&self) -> f64 {
        let all: usize = self.instances.iter().map(|instance| instance.features.len()).sum();
        all as f64 / self.instances.len().max(1) as f64
    }

    /// The first so many links, and the others.
    pub fn split(mut self, at: usize) -> (TrainingSet, TrainingSet) {
        let rest = self.instances.split_off(at.min(self.instances.len()));
        let rest = TrainingSet { instances: rest, cut: self.cut };
        (self, rest)
    }

    /// For each of so many parts, the links of the others and its own. All links to one page are in the same part.
    pub fn parts(&self, parts: u64) -> Vec<(TrainingSet, TrainingSet)> {
        let part = |part: u64| {
            let (own, others) =
                self.instances.iter().cloned().partition(|instance| instance.target % parts == part);
            (TrainingSet { instances: others, cut: self.cut }, TrainingSet { instances: own, cut: self.cut })
        };
        (0..parts).map(part).collect()
    }

    /// The relevance of the targets of low and of high relevance: their medians (A 2.3).
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
    /// One that knows nothing.
    pub fn new(kind: Kind) -> OfflineLearner {
        OfflineLearner { learner: Learner::new(kind, 0) }
    }

    /// Goes through it once, and is ready to be asked; whether there was enough to learn from.
    pub fn learn(&mut self, material: &TrainingSet) -> bool {
        for instance in &material.instances {
            self.learner.learn(&instance.features, f64::from(u8::from(material.is_high(instance))));
        }
        self.learner.train()
    }

    /// How often it is right about these links; as long as it has learnt nothing, it calls all of them irrelevant.
    pub fn asked(&self, material: &TrainingSet) -> Accuracy {
        let says = |instance: &&Instance| {
            (material.is_high(instance), self.learner.score(&instance.features).unwrap_or(0.0) >= 0.5)
        };
        Accuracy::of(material.instances.iter().map(|instance| says(&instance)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten links with the word 1 to pages of low relevance, ten with the word 2 to pages of high relevance.
    fn material() -> TrainingSet {
        let instance = |target: u64| {
            let (word, relevance) = if target.is_multiple_of(2) { (1, 0.01) } else { (2, 0.9) };
            Instance { target, features: vec![(word, 1)], relevance }
        };
        TrainingSet::new((0..20).map(instance).collect(), counts::bin(0.5))
    }

    #[test]
    fn all_of_them_learn_what_is_easy() {
        let material = material();
        assert_eq!(
            (material.links(), material.features_a_link(), material.medians()),
            (20, 1.0, [0.01, 0.9])
        );
        for kind in [Kind::Bayes, Kind::Regression, Kind::Perceptron] {
            let mut learner = OfflineLearner::new(kind);
            assert_eq!(learner.asked(&material), Accuracy { positive: 0.0, negative: 1.0, average: 0.5 });
            // The regression comes nearer with every pass.
            for _ in 0..if kind == Kind::Bayes { 1 } else { 10 } {
                assert!(learner.learn(&material));
            }
            let right = Accuracy { positive: 1.0, negative: 1.0, average: 1.0 };
            assert_eq!(learner.asked(&material), right, "{kind:?}");
        }
    }

    #[test]
    fn parts_have_no_target_in_common_and_are_all() {
        let parts = material().parts(5);
        let targets =
            |material: &TrainingSet| material.instances.iter().map(|one| one.target).collect::<Vec<_>>();
        for (others, own) in &parts {
            assert_eq!((others.links(), own.links()), (16, 4));
            assert!(targets(own).iter().all(|target| !targets(others).contains(target)));
        }
        let (first, rest) = material().split(15);
        assert_eq!((first.links(), targets(&rest)), (15, vec![15, 16, 17, 18, 19]));
    }
}
