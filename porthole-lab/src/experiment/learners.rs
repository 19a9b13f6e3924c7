//! Who should be the apprentice (A 2.3), and how long it takes to train one (A 3.4).

use porthole_strategy::apprentice::{Accuracy, Encoding, Kind, OfflineLearner, Terms, TrainingSet};
use serde::{Deserialize, Serialize};

use super::apprentice::{FOLDS, Found, REACH, studied};
use super::folder::Results;
use super::run::{Lab, cpu_ms};
use super::studies::Findings;
use super::target::Target;
use super::trace::{Step, rounded};
use super::{ExperimentError, Plan};
use porthole_report::summary::mean;

/// The word for the study in experiments.
pub(super) const NAME: &str = "learners";

/// How often what learns from its errors goes through all links.
const PASSES: usize = 20;

/// Parts of a crawl after which training is timed.
const PARTS: [usize; 4] = [8, 4, 2, 1];

/// What it takes to learn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learners {
    /// The critic, beside which apprentices are trained.
    pub critic: CriticTraining,
    /// What was learnt from each crawl.
    pub crawls: Vec<Learnt>,
}

/// What it takes to train the critic, from the terms of its pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CriticTraining {
    /// Pages that it is trained on.
    pub pages: usize,
    /// Milliseconds of CPU.
    pub cpu_ms: f64,
    /// Milliseconds of CPU if every decision is tuned by cross-validation.
    pub tuned_cpu_ms: f64,
}

/// What was learnt from one crawl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learnt {
    /// The topic.
    pub topic: String,
    /// The number of the draw of starts.
    pub sample: u32,
    /// The medians of R of what links to pages of low and of high relevance lead to (A 2.3).
    pub medians: [f64; 2],
    /// Every learner.
    pub learners: Vec<Tried>,
    /// Training from scratch, on ever more pages of the crawl.
    pub training: Vec<Training>,
    /// Training on all of them, where all terms of a page are features of its links (A 2.2.3).
    pub all_terms: Training,
    /// Training with the last tenth of the links when the others have been learnt (A 2.2).
    pub last_tenth: Training,
}

/// A learner, pass by pass; naive Bayes needs one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Its name as a parameter.
    pub learner: String,
    /// After each pass.
    pub passes: Vec<Pass>,
    /// Milliseconds of CPU that a pass through all links takes.
    pub cpu_ms: f64,
}

/// How often a learner is right after so many passes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    /// Share of the links to relevant pages that it calls so, where it has not seen those pages.
    pub positive: f64,
    /// Share of the others that it calls irrelevant.
    pub negative: f64,
    /// Share of all that it is right about.
    pub average: f64,
    /// Share that it is right about of what it learnt from.
    pub learnt: f64,
}

/// What it takes to train naive Bayes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// Pages of the crawl.
    pub pages: usize,
    /// Links between them.
    pub links: usize,
    /// Features of a link, in the mean.
    pub features: f64,
    /// Milliseconds of CPU to describe the links.
    pub describe_cpu_ms: f64,
    /// Milliseconds of CPU to learn from them.
    pub learn_cpu_ms: f64,
}

impl Training {
    /// Milliseconds of CPU for both.
    pub fn cpu_ms(&self) -> f64 {
        self.describe_cpu_ms + self.learn_cpu_ms
    }
}

/// What learners make of the baseline's first crawl of each topic.
pub(super) fn study(
    lab: &Lab,
    results: &Results,
    tell: &mut dyn FnMut(&str),
) -> Result<Findings, ExperimentError> {
    tell("training the critic once more");
    let critic = lab.critic_training();
    let crawls = lab.of_baseline(results, "three learners", tell, |plan, steps| lab.learners(plan, steps))?;
    Findings::of_numbers(NAME, &Learners { critic, crawls })
}

impl Lab {
    /// On one thread, whose time is all the time that it takes.
    fn critic_training(&self) -> CriticTraining {
        let timed = |is_tuned| timed(|| self.web.trained_anew(is_tuned)).1;
        let both = || [false, true].map(timed);
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let [cpu_ms, tuned_cpu_ms] = alone.map_or_else(|_| both(), |alone| alone.install(both));
        CriticTraining { pages: self.web.trained_on.len(), cpu_ms, tuned_cpu_ms }
    }

    pub(super) fn learners(&self, plan: &Plan, steps: &[Step]) -> Learnt {
        let target = self.target(&plan.topic);
        let pages = self.pages(target, steps);
        let encoding = Encoding::of_terms(Terms::Offset, REACH);
        let material = studied(target, &pages).material(&encoding);
        let kinds =
            [("bayes", Kind::Bayes), ("regression", Kind::Regression), ("perceptron", Kind::Perceptron)];
        Learnt {
            topic: plan.topic.clone(),
            sample: plan.sample,
            medians: material.medians().map(rounded),
            learners: kinds.map(|(name, kind)| Tried::on(&material, name, kind)).to_vec(),
            training: PARTS.map(|part| trained(target, &pages[..pages.len() / part], &encoding)).to_vec(),
            all_terms: trained(target, &pages, &Encoding { far: true, ..encoding }),
            last_tenth: last_tenth(pages.len(), material),
        }
    }
}

impl Tried {
    fn on(material: &TrainingSet, name: &str, kind: Kind) -> Tried {
        let parts = material.parts(FOLDS);
        let mut learners = vec![OfflineLearner::new(kind); parts.len()];
        let passes = (0..if kind == Kind::Bayes { 1 } else { PASSES }).map(|_| {
            let mut said = Vec::new();
            for (learner, (others, own)) in learners.iter_mut().zip(&parts) {
                learner.learn(others);
                said.push((learner.asked(own), learner.asked(others), own.links() as f64));
            }
            Pass::of(&said)
        });
        let passes = passes.collect();
        let cpu_ms = timed(|| OfflineLearner::new(kind).learn(material)).1;
        Tried { learner: name.to_owned(), passes, cpu_ms }
    }
}

impl Pass {
    /// From what was said of each part, of the links that it was not taught with and of those that it was, and the links in
    /// it.
    fn of(said: &[(Accuracy, Accuracy, f64)]) -> Pass {
        let all: f64 = said.iter().map(|part| part.2).sum();
        Pass {
            positive: rounded(mean(said.iter().map(|part| part.0.positive))),
            negative: rounded(mean(said.iter().map(|part| part.0.negative))),
            average: rounded(said.iter().map(|part| part.0.average * part.2).sum::<f64>() / all.max(1.0)),
            learnt: rounded(mean(said.iter().map(|part| part.1.average))),
        }
    }
}

/// Training on some pages, from scratch.
fn trained(target: &Target, pages: &[Found], encoding: &Encoding) -> Training {
    let study = studied(target, pages);
    let (material, describe_cpu_ms) = timed(|| study.material(encoding));
    learnt(pages.len(), &mut OfflineLearner::new(Kind::Bayes), &material, describe_cpu_ms)
}

/// Training with the last tenth, when the others have been learnt; its links are described as they come.
fn last_tenth(pages: usize, material: TrainingSet) -> Training {
    let tenth = material.links() / 10;
    let at = material.links() - tenth;
    let (first, last) = material.split(at);
    let mut learner = OfflineLearner::new(Kind::Bayes);
    learner.learn(&first);
    learnt(pages, &mut learner, &last, 0.0)
}

fn learnt(
    pages: usize,
    learner: &mut OfflineLearner,
    material: &TrainingSet,
    describe_cpu_ms: f64,
) -> Training {
    let learn_cpu_ms = timed(|| learner.learn(material)).1;
    let (links, features) = (material.links(), rounded(material.features_a_link()));
    Training { pages, links, features, describe_cpu_ms, learn_cpu_ms }
}

/// What comes of it, and the milliseconds of CPU that it took.
fn timed<T>(make: impl FnOnce() -> T) -> (T, f64) {
    let began = cpu_ms();
    let made = make();
    (made, rounded(cpu_ms() - began))
}
