//! The apprentice of A: it watches which links of which pages led to what, and learns to tell the worth of a link from
//! what stands around it.
//!
//! A page that came is kept as a [`Sheet`] as long as links of it wait. When the target of a link comes, link and outcome
//! are an instance to learn from; so is a link to a page that came before. At first links are worth what soft focus says;
//! after so many pages the apprentice is trained, says anew what all waiting links are worth, and goes on so
//! (A 3.7). With lessons of an earlier crawl it begins trained (A 3.5).

mod counts;
mod diagnostics;
mod explain;
mod feature;
mod learner;
mod lessons;
mod linear;
mod memory;
mod naive_bayes;
mod saving;
mod settings;
mod sheet;
mod study;
#[cfg(test)]
mod tests;

use porthole_page::Link;
use porthole_topic::Critic;
use porthole_types::{CanonicalUrl, UrlId};

use crate::parameters::Parameters;
use crate::{Aim, Discipline, NameError, Part, Source, StateError, Strategy, Word};
use counts::is_surprising;
use feature::Weighed;
use learner::Learner;
use memory::Memory;
use settings::{Parents, Settings};
use sheet::Sheet;

pub use diagnostics::AtOffset;
pub use lessons::Lessons;
pub use settings::{Encoding, Terms};
pub use study::{Accuracy, Study};

/// The strategy.
pub struct Apprentice {
    settings: Settings,
    /// For the topics of source pages, if they are features.
    critic: Option<Critic>,
    /// The names of the topics on the way to each, by id: hashed.
    prefixes: Vec<Vec<u32>>,
    memory: Memory,
    learner: Learner,
    /// How far pages and their links were apart, in intervals: for learning from surprises alone.
    differences: [u64; counts::DIFFERENCES],
    /// Pages that came.
    pages: u64,
    /// So many pages make the next training due; 0 for never.
    next_training: u64,
    /// What is said anew and was not asked for yet.
    changed: Vec<(UrlId, f64)>,
}

impl Apprentice {
    /// An apprentice by its parameters, which the README explains.
    pub(crate) fn new(parameters: &mut Parameters<'_>, aim: &Aim) -> Result<Apprentice, NameError> {
        let settings = Settings::read(parameters)?;
        let mut learner = Learner::new(settings.learner, settings.length);
        if let Some(lessons) = &aim.lessons {
            lessons.check(&settings, parameters.strategy())?;
            learner.begin_with(lessons.counts());
        }
        let has_topics = settings.encoding.topics || settings.encoding.classes;
        Ok(Apprentice {
            critic: aim.critic.clone().filter(|_| settings.encoding.classes),
            prefixes: if has_topics { prefixes(&aim.paths) } else { Vec::new() },
            memory: Memory::new(settings.remembered),
            learner,
            differences: [0; counts::DIFFERENCES],
            pages: 0,
            next_training: settings.first_training,
            changed: Vec::new(),
            settings,
        })
    }

    fn sheet(&mut self, source: &Source<'_>) -> Sheet {
        let mut sheet = Sheet::new(source.page, source.judgment.relevance, &self.settings.encoding);
        sheet.source = source.url.id();
        let encoding = &self.settings.encoding;
        if encoding.topics {
            let names = self.prefixes.get(usize::from(source.judgment.best.0)).into_iter().flatten();
            sheet.page_features.extend(names.map(|name| feature::Feature::topic(*name).weighed(1)));
        }
        if let Some(critic) = self.critic.as_mut().filter(|_| encoding.classes) {
            for (topic, probability) in critic.all(&source.page.term_counts()) {
                // A probability is a count of tenths: the naive Bayes learner knows no other.
                let weight = (probability * 10.0).round() as u16;
                if let (1.., Some(name)) =
                    (weight, self.prefixes.get(usize::from(topic.0)).and_then(|names| names.last()))
                {
                    sheet.page_features.push(feature::Feature::class(*name).weighed(weight));
                }
            }
        }
        sheet
    }

    /// Learns what a link led to, unless only surprises teach and it is none.
    fn learn(&mut self, features: &[Weighed], source: f32, target: f32) {
        let difference = f64::from((source - target).abs());
        if is_surprising(&mut self.differences, difference, self.settings.surprises) {
            self.learner.learn(features, f64::from(target));
        }
    }

    fn train_if_due(&mut self) {
        if self.next_training == 0 || self.pages < self.next_training || !self.learner.train() {
            return;
        }
        let grown = (self.pages as f64 * self.settings.growth) as u64;
        self.next_training = grown.max(self.pages + 1);
        let (learner, encoding) = (&self.learner, &self.settings.encoding);
        self.changed = self.memory.say_anew(self.settings.parents, |sheet, link, outcomes| {
            score(learner, sheet, &sheet.features(link, encoding, outcomes))
        });
    }
}

/// What a link is worth: soft focus as long as nothing is learnt.
fn score(learner: &Learner, sheet: &Sheet, features: &[Weighed]) -> f64 {
    learner.score(features).unwrap_or(f64::from(sheet.relevance))
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
        let word = match self.settings.parents {
            Parents::Highest => Word::Highest,
            Parents::First | Parents::Last => Word::Last,
        };
        Discipline { word, ..Discipline::default() }
    }

    fn arrived(&mut self, source: &Source<'_>) {
        let (id, relevance) = (source.url.id(), source.judgment.relevance as f32);
        let encoding = self.settings.encoding;
        for (features, estimate) in self.memory.resolve(id, &encoding) {
            self.learn(&features, estimate, relevance);
        }
        self.memory.set_outcome(id, relevance);
        self.pages += 1;
        self.train_if_due();
        let sheet = self.sheet(source);
        self.memory.open(sheet);
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.memory.forget(url.id());
    }

    fn priority(&mut self, source: &Source<'_>, link: &Link) -> Option<f64> {
        let target = link.target.id();
        if self.memory.newest().is_none_or(|sheet| sheet.source != source.url.id()) {
            // Asked out of turn: answered, and not learnt from.
            let sheet = self.sheet(source);
            let features = sheet.features(&sheet.link(link), &self.settings.encoding, self.memory.outcomes());
            return Some(score(&self.learner, &sheet, &features));
        }
        let sheet = self.memory.newest()?;
        let place = sheet.link(link);
        let features = sheet.features(&place, &self.settings.encoding, self.memory.outcomes());
        let (worth, estimate) = (score(&self.learner, sheet, &features), sheet.relevance);
        match self.memory.outcome(target) {
            Some(_) if target == source.url.id() => Some(worth),
            Some(outcome) => {
                self.learn(&features, estimate, outcome);
                Some(worth)
            }
            None => Some(self.memory.wait(place, worth, self.settings.parents)),
        }
    }

    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        std::mem::take(&mut self.changed)
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
