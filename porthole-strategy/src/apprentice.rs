//! The apprentice of A: it watches which links of which pages led to what, and learns to tell the worth of a link from
//! what stands around it.
//!
//! A page that came is kept as a [`PageContext`] as long as links of it wait. When the target of a link comes, link and outcome
//! are an instance to learn from; so is a link to a page that came before. At first links are worth what soft focus says;
//! after so many pages the apprentice is trained, says anew what all waiting links are worth, and goes on so
//! (A 3.7). With lessons of an earlier crawl it begins trained (A 3.5).

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
use crate::{Aim, Discipline, NameError, Part, PriorityMerge, Source, StateError, Strategy};
use context::{Outcomes, PageContext, Place};
use counts::is_surprising;
use feature::Weighed;
use learner::Learner;
use memory::Memory;
use reach::{FARTHEST, Placed, Reach};
use scoring::Scorer;
use settings::{Parents, Settings};

pub use diagnostics::AtOffset;
pub use lessons::Lessons;
pub use offline::{OfflineLearner, TrainingSet};
pub use settings::{Encoding, Kind, Terms, Topics};
pub use study::{InQueue, PageTopics, Study};
pub use validation::Accuracy;

/// The strategy.
pub struct Apprentice {
    settings: Settings,
    /// For the topics of source pages, if they are features.
    critic: Option<Critic>,
    /// The names of the topics on the way to each, by id: hashed.
    prefixes: Vec<Vec<u32>>,
    memory: Memory,
    learner: Learner,
    /// Knows what was learnt at the last training.
    scorer: Scorer,
    /// What decides how far around links to look, as long as that is open.
    reach: Option<Reach>,
    /// How far pages and their links were apart, in intervals: for learning from surprises alone.
    differences: [u64; counts::DIFFERENCES],
    /// Pages that came.
    pages: u64,
    /// So many pages make the next training due; 0 for never.
    next_training: u64,
    /// What is said anew and was not asked for yet.
    changed: Vec<(UrlId, f64)>,
    /// Of so many URLs it is said at a time what they are worth now.
    piece: usize,
}

impl Apprentice {
    /// An apprentice by its parameters, which the README explains.
    pub(crate) fn new(parameters: &mut Parameters<'_>, aim: &Aim) -> Result<Apprentice, NameError> {
        let mut settings = Settings::read(parameters)?;
        let mut learner = Learner::new(settings.learner, settings.length);
        if let Some(lessons) = &aim.lessons {
            if settings.is_reach_chosen {
                // It was chosen when they were learnt (A 3.5).
                settings.encoding.d_max = lessons.d_max();
            }
            lessons.check(&settings, parameters.strategy())?;
            learner.begin_with(lessons.counts());
        }
        let is_reach_open = settings.is_reach_chosen && aim.lessons.is_none();
        let mut apprentice = Apprentice {
            critic: aim.critic.clone().filter(|_| settings.encoding.classes),
            prefixes: if settings.encoding.has_topics() { prefixes(&aim.paths) } else { Vec::new() },
            memory: Memory::new(settings.remembered),
            learner,
            scorer: Scorer::default(),
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

    /// Something else was learnt than the scorer knows.
    fn trained(&mut self) {
        self.scorer = Scorer::new(&self.learner, &self.settings.encoding);
    }

    fn context(&mut self, source: &Source<'_>) -> PageContext {
        let encoding = &self.settings.encoding;
        let farthest =
            if self.settings.is_reach_chosen { FARTHEST.max(encoding.d_max) } else { encoding.d_max };
        let mut context =
            PageContext::new(source.page, source.judgment.relevance, &encoding.reaching(farthest));
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

    /// Learns what a link led to, unless only surprises teach and it is none.
    fn learn(&mut self, link: Described, source: f32, target: f32) {
        let difference = f64::from((source - target).abs());
        if !is_surprising(&mut self.differences, difference, self.settings.surprises) {
            return;
        }
        match link {
            Described::Near(features) => self.learner.learn(&features, f64::from(target)),
            Described::All(placed) => {
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

    /// Decides how far around links to look; if that is another distance than before, all is learnt anew.
    fn choose_reach(&mut self) {
        let Some(reach) = &self.reach else { return };
        let Some(d_max) = reach.best().filter(|d_max| *d_max != self.settings.encoding.d_max) else { return };
        self.settings.encoding.d_max = d_max;
        let was_trained = self.learner.is_trained();
        self.learner = Learner::new(self.settings.learner, self.settings.length);
        reach.teach(&mut self.learner, d_max);
        if was_trained {
            self.learner.train();
        }
        self.trained();
        if self.memory.is_behind() {
            self.score_all_anew();
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
        self.score_all_anew();
        if self.piece == usize::MAX {
            self.changed = self.scored();
        }
    }

    /// The next piece of what is being scored anew.
    fn scored(&mut self) -> Vec<(UrlId, f64)> {
        let (learner, encoding, scorer) = (&self.learner, &self.settings.encoding, &mut self.scorer);
        let score = |number: u32, context: &PageContext, link: &Place, outcomes: &Outcomes| {
            scorer.score(learner, encoding, (number, context), link, outcomes)
        };
        self.memory.say_anew(self.piece, self.settings.parents, score)
    }
}

/// A link to learn from.
enum Described {
    /// What is near enough.
    Near(Vec<Weighed>),
    /// All that can be seen from it, as long as it is open how far to look.
    All(Placed),
}

/// What a link is worth: soft focus as long as nothing is learnt.
fn score(learner: &Learner, context: &PageContext, features: &[Weighed]) -> f64 {
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

    fn arrived(&mut self, source: &Source<'_>) {
        let (id, relevance) = (source.url.id(), source.judgment.relevance as f32);
        let (encoding, is_open) = (self.settings.encoding, self.reach.is_some());
        let describe = |context: &PageContext, link: &Place, outcomes: &Outcomes| match is_open {
            true => Described::All(Placed::new(context, link, &encoding, outcomes)),
            false => Described::Near(context.features(link, &encoding, outcomes)),
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

    fn priority(&mut self, source: &Source<'_>, link: &Link) -> Option<f64> {
        let target = link.target.id();
        if self.memory.newest().is_none_or(|context| context.source != source.url.id()) {
            // Asked out of turn: answered, and not learnt from.
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
                    Some(_) => Described::All(Placed::new(context, &place, encoding, outcomes)),
                    None => Described::Near(context.features(&place, encoding, outcomes)),
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

    fn in_pieces(&mut self, piece: usize) {
        self.piece = piece.max(1);
    }

    fn score_all_anew(&mut self) {
        if self.learner.is_trained() {
            self.memory.begin_anew();
        }
    }

    fn explain(&mut self, source: &Source<'_>, link: &Link) -> Vec<Part> {
        self.parts(source, link)
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(self.saved())
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        self.restore_from(saved)
    }
}
