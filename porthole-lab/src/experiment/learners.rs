//! Comparison of learners for the apprentice (A 2.3), and their training times (A 3.4).

use porthole_strategy::apprentice::{
    Accuracy, Encoding, LearnerKind, OfflineLearner, TermEncoding, TrainingSet,
};
use serde::{Deserialize, Serialize};

use super::apprentice::{CrawledPage, FOLDS, REACH, studied};
use super::folder::Results;
use super::run::{PreparedExperiment, cpu_ms};
use super::studies::Findings;
use super::target::CrawlTarget;
use super::trace::{FetchStep, rounded};
use super::{CrawlPlan, ExperimentError};
use porthole_report::summary::mean;

/// Name of the study in experiments.
pub(super) const NAME: &str = "learners";

/// Number of passes of error-driven learners.
const PASSES: usize = 20;

/// Divisors of a crawl's length at which training is timed.
const PARTS: [usize; 4] = [8, 4, 2, 1];

/// Results of the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learners {
    /// Training of the critic, for comparison.
    pub critic: CriticTraining,
    /// Results from each crawl.
    pub crawls: Vec<Learnt>,
}

/// Cost of training the critic, from the terms of its pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CriticTraining {
    /// Number of training pages.
    pub pages: usize,
    /// Milliseconds of CPU.
    pub cpu_ms: f64,
    /// Milliseconds of CPU if every decision is tuned by cross-validation.
    pub tuned_cpu_ms: f64,
}

/// Results from one crawl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learnt {
    /// The topic.
    pub topic: String,
    /// Number of the sample.
    pub sample: u32,
    /// Median R of the targets of low and of high relevance (A 2.3).
    pub medians: [f64; 2],
    /// Results of every learner.
    pub learners: Vec<LearnerPasses>,
    /// Training from scratch, on growing parts of the crawl.
    pub training: Vec<Training>,
    /// Training on all pages, with all terms of a page as features of its links (A 2.2.3).
    pub all_terms: Training,
    /// Training on the last tenth of the links after the others (A 2.2).
    pub last_tenth: Training,
}

/// A learner, pass by pass; naive Bayes needs one pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearnerPasses {
    /// Name of the learner as a parameter.
    pub learner: String,
    /// Accuracy after each pass.
    pub passes: Vec<Pass>,
    /// Milliseconds of CPU of a pass through all links.
    pub cpu_ms: f64,
}

/// Accuracy after a number of passes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    /// Share of the links to relevant held-out pages that are predicted as such.
    pub positive: f64,
    /// Share of the links to irrelevant pages that are predicted as such.
    pub negative: f64,
    /// Share of all held-out links that are predicted correctly.
    pub average: f64,
    /// Share of the training links that are predicted correctly.
    pub learnt: f64,
}

/// Cost of training naive Bayes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// Number of pages.
    pub pages: usize,
    /// Number of links between them.
    pub links: usize,
    /// Mean number of features of a link.
    pub features: f64,
    /// Milliseconds of CPU to compute the features.
    pub describe_cpu_ms: f64,
    /// Milliseconds of CPU to train.
    pub learn_cpu_ms: f64,
}

impl Training {
    /// Milliseconds of CPU for both.
    pub fn cpu_ms(&self) -> f64 {
        self.describe_cpu_ms + self.learn_cpu_ms
    }
}

/// Runs the study on the baseline's first crawl of each topic.
pub(super) fn study(
    lab: &PreparedExperiment,
    results: &Results,
    tell: &mut dyn FnMut(&str),
) -> Result<Findings, ExperimentError> {
    tell("training the critic once more");
    let critic = lab.critic_training();
    let crawls = lab.of_baseline(results, "three learners", tell, |plan, steps| lab.learners(plan, steps))?;
    Findings::of_numbers(NAME, &Learners { critic, crawls })
}

impl PreparedExperiment {
    /// Measured on one thread, so that its CPU time is the total.
    fn critic_training(&self) -> CriticTraining {
        let timed = |is_tuned| timed(|| self.web.retrain_guide(is_tuned)).1;
        let both = || [false, true].map(timed);
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let [cpu_ms, tuned_cpu_ms] = alone.map_or_else(|_| both(), |alone| alone.install(both));
        CriticTraining { pages: self.web.trained_on.len(), cpu_ms, tuned_cpu_ms }
    }

    pub(super) fn learners(&self, plan: &CrawlPlan, steps: &[FetchStep]) -> Learnt {
        let target = self.target(&plan.topic);
        let pages = self.pages(target, steps);
        let encoding = Encoding::of_terms(TermEncoding::Offset, REACH);
        let training_set = studied(target, &pages).training_set(&encoding);
        let kinds = [
            ("bayes", LearnerKind::Bayes),
            ("regression", LearnerKind::Regression),
            ("perceptron", LearnerKind::Perceptron),
        ];
        Learnt {
            topic: plan.topic.clone(),
            sample: plan.sample,
            medians: training_set.medians().map(rounded),
            learners: kinds.map(|(name, kind)| LearnerPasses::on(&training_set, name, kind)).to_vec(),
            training: PARTS.map(|part| trained(target, &pages[..pages.len() / part], &encoding)).to_vec(),
            all_terms: trained(target, &pages, &Encoding { far: true, ..encoding }),
            last_tenth: last_tenth(pages.len(), training_set),
        }
    }
}

impl LearnerPasses {
    fn on(training_set: &TrainingSet, name: &str, kind: LearnerKind) -> LearnerPasses {
        let parts = training_set.parts(FOLDS);
        let mut learners = vec![OfflineLearner::new(kind); parts.len()];
        let passes = (0..if kind == LearnerKind::Bayes { 1 } else { PASSES }).map(|_| {
            let mut folds = Vec::new();
            for (learner, (others, own)) in learners.iter_mut().zip(&parts) {
                learner.learn(others);
                folds.push((learner.accuracy_on(own), learner.accuracy_on(others), own.links() as f64));
            }
            Pass::of(&folds)
        });
        let passes = passes.collect();
        let cpu_ms = timed(|| OfflineLearner::new(kind).learn(training_set)).1;
        LearnerPasses { learner: name.to_owned(), passes, cpu_ms }
    }
}

impl Pass {
    /// From each fold's accuracy on held-out links, accuracy on training links, and number of held-out links.
    fn of(folds: &[(Accuracy, Accuracy, f64)]) -> Pass {
        let all: f64 = folds.iter().map(|part| part.2).sum();
        Pass {
            positive: rounded(mean(folds.iter().map(|part| part.0.positive))),
            negative: rounded(mean(folds.iter().map(|part| part.0.negative))),
            average: rounded(folds.iter().map(|part| part.0.average * part.2).sum::<f64>() / all.max(1.0)),
            learnt: rounded(mean(folds.iter().map(|part| part.1.average))),
        }
    }
}

/// Training on some pages, from scratch.
fn trained(target: &CrawlTarget, pages: &[CrawledPage], encoding: &Encoding) -> Training {
    let study = studied(target, pages);
    let (training_set, describe_cpu_ms) = timed(|| study.training_set(encoding));
    learnt(pages.len(), &mut OfflineLearner::new(LearnerKind::Bayes), &training_set, describe_cpu_ms)
}

/// Training on the last tenth after the others; the features of its links are computed as part of the pass.
fn last_tenth(pages: usize, training_set: TrainingSet) -> Training {
    let tenth = training_set.links() / 10;
    let at = training_set.links() - tenth;
    let (first, last) = training_set.split(at);
    let mut learner = OfflineLearner::new(LearnerKind::Bayes);
    learner.learn(&first);
    learnt(pages, &mut learner, &last, 0.0)
}

fn learnt(
    pages: usize,
    learner: &mut OfflineLearner,
    training_set: &TrainingSet,
    describe_cpu_ms: f64,
) -> Training {
    let learn_cpu_ms = timed(|| learner.learn(training_set)).1;
    let (links, features) = (training_set.links(), rounded(training_set.features_a_link()));
    Training { pages, links, features, describe_cpu_ms, learn_cpu_ms }
}

/// The result of `make`, and the milliseconds of CPU that it took.
fn timed<T>(make: impl FnOnce() -> T) -> (T, f64) {
    let began = cpu_ms();
    let made = make();
    (made, rounded(cpu_ms() - began))
}
