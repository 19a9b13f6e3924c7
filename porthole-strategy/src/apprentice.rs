//! The apprentice of A: it observes which links led to which pages, and learns to predict a link's relevance from the
//! text around it.
//!
//! A fetched page is kept as a `PageContext` as long as links of it wait. When the target of a link is fetched, link
//! and outcome become a training instance; so does a link to a page that was fetched before. At first, priorities are
//! those of soft focus. After a number of pages the apprentice is trained and rescores all waiting links, and this is
//! repeated as the crawl grows (A 3.7). With lessons of an earlier crawl it starts trained (A 3.5).

mod context;
mod counts;
mod diagnostics;
mod explain;
mod feature;
mod learner;
mod lessons;
mod linear;
mod memory;
mod naive_bayes;
mod offline;
mod reach;
mod saving;
mod scoring;
mod settings;
mod study;
#[cfg(test)]
mod tests;
mod validation;

use porthole_page::Link;
use porthole_topic::Critic;
use porthole_types::{CanonicalUrl, TopicId, UrlId};

use crate::parameters::Parameters;
use crate::{CrawlGoal, Discipline, NameError, Part, PriorityMerge, SourcePage, StateError, Strategy};
use context::{LinkPosition, Outcomes, PageContext};
use counts::is_surprising;
use feature::WeightedFeature;
use learner::ApprenticeLearner;
use memory::LinkMemory;
use reach::{FARTHEST, PositionedInstance, Reach};
use scoring::LinkScorer;
use settings::{ApprenticeSettings, Parents};

pub use diagnostics::AtOffset;
pub use lessons::Lessons;
pub use offline::{OfflineLearner, TrainingSet};
pub use settings::{Encoding, LearnerKind, TermEncoding, TopicEncoding};
pub use study::{CrawlTranscript, PageTopics, QueuedEstimate};
pub use validation::Accuracy;

/// The apprentice strategy.
pub struct Apprentice {
    settings: ApprenticeSettings,
    /// Classifies source pages, if their topics are features.
    critic: Option<Critic>,
    /// Hashed names of each topic and its ancestors, by topic id.
    prefixes: Vec<Vec<u32>>,
    memory: LinkMemory,
    learner: ApprenticeLearner,
    /// Scores by the model of the last training.
    scorer: LinkScorer,
    /// Instances that decide the maximum offset, until it is decided.
    reach: Option<Reach>,
    /// Histogram of the differences in relevance between pages and their links, to learn from surprises only.
    differences: [u64; counts::DIFFERENCES],
    /// Number of fetched pages.
    pages: u64,
    /// Number of pages at which the next training is due; 0 for never.
    next_training: u64,
    /// Rescored URLs that were not returned yet.
    changed: Vec<(UrlId, f64)>,
    /// Maximum number of URLs that are rescored at a time.
    piece: usize,
}

impl Apprentice {
    /// An apprentice by its parameters, which docs/commands.md explains.
    pub(crate) fn new(parameters: &mut Parameters<'_>, goal: &CrawlGoal) -> Result<Apprentice, NameError> {
        let mut settings = ApprenticeSettings::read(parameters)?;
        let mut learner = ApprenticeLearner::new(settings.learner, settings.length);
        if let Some(lessons) = &goal.lessons {
            if settings.is_reach_chosen {
                // The offset was chosen when the lessons were learnt (A 3.5).
                settings.encoding.d_max = lessons.d_max();
            }
            lessons.check(&settings, parameters.strategy())?;
            learner.start_from(lessons.counts());
        }
        let is_reach_open = settings.is_reach_chosen && goal.lessons.is_none();
        let mut apprentice = Apprentice {
            critic: goal.critic.clone().filter(|_| settings.encoding.classes),
            prefixes: if settings.encoding.has_topics() { prefixes(&goal.paths) } else { Vec::new() },
            memory: LinkMemory::new(settings.remembered),
            learner,
            scorer: LinkScorer::default(),
            reach: is_reach_open.then(Reach::default),
            differences: [0; counts::DIFFERENCES],
            pages: 0,
            next_training: settings.first_training,
            changed: Vec::new(),
            piece: usize::MAX,
            settings,
        };
        apprentice.trained();
        Ok(apprentice)
    }

    /// Rebuilds the scorer after training.
    fn trained(&mut self) {
        self.scorer = LinkScorer::new(&self.learner, &self.settings.encoding);
    }

    fn context(&mut self, source: &SourcePage<'_>) -> PageContext {
        let encoding = &self.settings.encoding;
        let farthest =
            if self.settings.is_reach_chosen { FARTHEST.max(encoding.d_max) } else { encoding.d_max };
        let mut context =
            PageContext::new(source.page, source.judgment.relevance, &encoding.with_d_max(farthest));
        context.source = source.url.id();
        if let Some(names) = self.prefixes.get(usize::from(source.judgment.best.0)) {
            context.page_features.extend(feature::of_topic(names, encoding.topics));
        }
        if let Some(critic) = self.critic.as_mut().filter(|_| encoding.classes) {
            let of_class = |(topic, probability): (TopicId, f64)| {
                let name = self.prefixes.get(usize::from(topic.0))?.last()?;
                feature::of_class(*name, probability)
            };
            context
                .page_features
                .extend(critic.all(&source.page.term_counts()).into_iter().filter_map(of_class));
        }
        context
    }

    /// Learns the outcome of a link, unless only surprises are learnt and it is none.
    fn learn(&mut self, link: TrainingLink, source: f32, target: f32) {
        let difference = f64::from((source - target).abs());
        if !is_surprising(&mut self.differences, difference, self.settings.surprises) {
            return;
        }
        match link {
            TrainingLink::Near(features) => self.learner.learn(&features, f64::from(target)),
            TrainingLink::All(placed) => {
                self.learner.learn(&placed.within(self.settings.encoding.d_max), f64::from(target));
                let Some(reach) = &mut self.reach else { return };
                reach.keep(placed, f64::from(target));
                if reach.is_enough() {
                    self.choose_reach();
                    self.reach = None;
                }
            }
        }
    }

    /// Chooses the maximum offset; if it differs from the current one, the learner is rebuilt.
    fn choose_reach(&mut self) {
        let Some(reach) = &self.reach else { return };
        let Some(d_max) = reach.best().filter(|d_max| *d_max != self.settings.encoding.d_max) else { return };
        self.settings.encoding.d_max = d_max;
        let was_trained = self.learner.is_trained();
        self.learner = ApprenticeLearner::new(self.settings.learner, self.settings.length);
        reach.teach(&mut self.learner, d_max);
        if was_trained {
            self.learner.train();
        }
        self.trained();
        if self.memory.is_rescoring() {
            self.rescore_all();
        }
    }

    fn train_if_due(&mut self) {
        if self.next_training == 0 || self.pages < self.next_training {
            return;
        }
        self.choose_reach();
        let is_trained = self.learner.train();
        self.trained();
        if !is_trained {
            return;
        }
        let grown = (self.pages as f64 * self.settings.growth) as u64;
        self.next_training = grown.max(self.pages + 1);
        self.rescore_all();
        if self.piece == usize::MAX {
            self.changed = self.scored();
        }
    }

    /// The next chunk of rescored URLs.
    fn scored(&mut self) -> Vec<(UrlId, f64)> {
        let (learner, encoding, scorer) = (&self.learner, &self.settings.encoding, &mut self.scorer);
        let score = |number: u32, context: &PageContext, link: &LinkPosition, outcomes: &Outcomes| {
            scorer.score(learner, encoding, (number, context), link, outcomes)
        };
        self.memory.rescore_chunk(self.piece, self.settings.parents, score)
    }
}

/// A link to learn from.
enum TrainingLink {
    /// Features within the maximum offset.
    Near(Vec<WeightedFeature>),
    /// All features with their offsets, while the maximum offset is undecided.
    All(PositionedInstance),
}

/// Priority of a link: soft focus until the learner is trained.
fn score(learner: &ApprenticeLearner, context: &PageContext, features: &[WeightedFeature]) -> f64 {
    learner.score(features).unwrap_or(f64::from(context.relevance))
}

/// For every topic, by id, the hashes of its path and of all prefixes of it, the root's first (A 3.8).
fn prefixes(paths: &[String]) -> Vec<Vec<u32>> {
    let of_path = |path: &String| {
        let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
        let mut names = vec![feature::name("/")];
        names.extend(ends.chain([path.len()]).filter(|end| *end > 1).map(|end| feature::name(&path[..end])));
        names
    };
    paths.iter().map(of_path).collect()
}

impl Strategy for Apprentice {
    fn name(&self) -> &str {
        "apprentice"
    }

    fn discipline(&self) -> Discipline {
        let merge = match self.settings.parents {
            Parents::Highest => PriorityMerge::Max,
            Parents::First | Parents::Last => PriorityMerge::Latest,
        };
        Discipline { merge, ..Discipline::default() }
    }

    fn arrived(&mut self, source: &SourcePage<'_>) {
        let (id, relevance) = (source.url.id(), source.judgment.relevance as f32);
        let (encoding, is_open) = (self.settings.encoding, self.reach.is_some());
        let describe = |context: &PageContext, link: &LinkPosition, outcomes: &Outcomes| match is_open {
            true => TrainingLink::All(PositionedInstance::new(context, link, &encoding, outcomes)),
            false => TrainingLink::Near(context.features(link, &encoding, outcomes)),
        };
        for (link, estimate) in self.memory.resolve(id, describe) {
            self.learn(link, estimate, relevance);
        }
        self.memory.set_outcome(id, relevance);
        self.pages += 1;
        self.train_if_due();
        let context = self.context(source);
        self.memory.open(context);
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.memory.forget(url.id());
    }

    fn priority(&mut self, source: &SourcePage<'_>, link: &Link) -> Option<f64> {
        let target = link.target.id();
        if self.memory.newest().is_none_or(|context| context.source != source.url.id()) {
            // Not a link of the last page: scored, but not learnt from.
            let context = self.context(source);
            let features =
                context.features(&context.link(link), &self.settings.encoding, self.memory.outcomes());
            return Some(score(&self.learner, &context, &features));
        }
        let (number, context) = (self.memory.newest_number(), self.memory.newest()?);
        let (place, estimate) = (context.link(link), context.relevance);
        let (encoding, outcomes) = (&self.settings.encoding, self.memory.outcomes());
        let worth = self.scorer.score(&self.learner, encoding, (number, context), &place, outcomes);
        match self.memory.outcome(target) {
            Some(_) if target == source.url.id() => Some(worth),
            Some(outcome) => {
                let link = match self.reach {
                    Some(_) => {
                        TrainingLink::All(PositionedInstance::new(context, &place, encoding, outcomes))
                    }
                    None => TrainingLink::Near(context.features(&place, encoding, outcomes)),
                };
                self.learn(link, estimate, outcome);
                Some(worth)
            }
            None => Some(self.memory.wait(place, worth, self.settings.parents)),
        }
    }

    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        let mut changed = std::mem::take(&mut self.changed);
        changed.append(&mut self.scored());
        changed
    }

    fn set_rescore_chunk(&mut self, piece: usize) {
        self.piece = piece.max(1);
    }

    fn rescore_all(&mut self) {
        if self.learner.is_trained() {
            self.memory.start_rescoring();
        }
    }

    fn explain(&mut self, source: &SourcePage<'_>, link: &Link) -> Vec<Part> {
        self.parts(source, link)
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(self.saved())
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        self.restore_from(saved)
    }
}
