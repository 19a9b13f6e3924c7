//! Our own strategy: an online learner that estimates a link's relevance from the evidence of all pages that link to
//! it.
//!
//! A waiting link is described by dense features ([`FEATURES`]) and hashed features: its own words, its place in the
//! layout, its host. When its page is fetched, the learner is trained with the page's relevance; from time to time all
//! waiting links are rescored. docs/decisions/porthole-strategy.md lists which features pay, and which were rejected.

mod evidence;
mod learner;
mod reading;

use std::collections::HashSet;

use porthole_page::Link;
use porthole_types::{CanonicalUrl, UrlId};

use self::evidence::{Evidence, WaitingLink};
use self::learner::{DENSE, Dense, LinkEstimator, logistic};
use self::reading::LinkReader;
use crate::catalogue::NameError;
use crate::parameters::Parameters;
use crate::{CrawlGoal, Discipline, Part, PriorityMerge, SourcePage, StateError, Strategy, state};

/// Version of the saved format.
const FORM: u32 = 42;

/// The dense features of a link: name, initial weight, standard deviation of that weight, and the group by which
/// experiments disable it. The weights were found on the development topics of the schools web.
const FEATURES: [(&str, f32, f32, &str); DENSE] = [
    ("base rate", -0.8, 0.3, ""),
    ("relevance of the pages that link to it", 0.5, 0.25, "parents"),
    ("what the critic says of its own words", 0.45, 0.25, "words"),
    ("what the critic says of the words around it, at best", 0.25, 0.25, "around"),
    ("what the critic says of the words around it, on average", 0.2, 0.25, "around"),
    ("relevance of other targets of these pages", 0.3, 0.25, "siblings"),
    ("relevance of other pages on its host", 0.1, 0.2, "host"),
    ("relevance of the targets of adjacent links", 0.35, 0.25, "beside"),
    ("number of pages that link to it", 0.1, 0.25, "count"),
    ("relevance of pages with its words", 0.2, 0.2, "lore"),
    ("relevance of pages with its most significant words", 0.1, 0.2, "lore"),
    ("relevance of the targets of links in the same place", 0.2, 0.25, "place"),
    ("relevance of other targets of its lists", 0.2, 0.25, "list"),
];

/// Feature groups that can be disabled.
const GROUPS: [&str; 11] =
    ["parents", "words", "around", "siblings", "host", "beside", "count", "lore", "place", "list", "hashed"];

/// Minimum number of pages between two rescorings of all links. With many links it is larger, so that at most
/// `RESCORED_PER_PAGE` links are rescored a page on average, unless `rescored=N` says otherwise.
const RESCORE_INTERVAL: u64 = 10;
const RESCORED_PER_PAGE: u64 = 50;

/// Relative change of a link's priority from which the frontier is updated.
const MIN_CHANGE: f32 = 0.05;

/// Default maximum number of remembered links, of about 200 bytes each.
const LINKS: usize = 250_000;

/// Estimates the relevance of links from all evidence, and learns online.
pub struct Porthole {
    reader: LinkReader,
    evidence: Evidence,
    learner: LinkEstimator,
    /// Whether each feature is used.
    uses: [bool; DENSE],
    uses_hashed: bool,
    rescored_per_page: u64,
    pages: u64,
    next_scoring: u64,
    /// URLs whose outcomes were learnt before they were fetched; empty outside the lab.
    foretold: HashSet<UrlId>,
}

impl Porthole {
    /// Parameters: `links=N` is the maximum number of remembered links; `rescored=N` that of links rescored a page on
    /// average; `parents=off` and so on disable feature groups.
    pub(crate) fn new(parameters: &mut Parameters<'_>, goal: &CrawlGoal) -> Result<Porthole, NameError> {
        let links = parameters.number("links", LINKS, 1..=100_000_000)?;
        let rescored_per_page = parameters.number("rescored", RESCORED_PER_PAGE, 1..=1_000_000)?;
        let mut off = Vec::new();
        for group in GROUPS {
            if parameters.word(group, &["on", "off"])? == "off" {
                off.push(group);
            }
        }
        let uses = FEATURES.map(|(_, _, _, group)| !off.contains(&group));
        let weights = FEATURES.map(|(_, weight, _, _)| weight);
        let deviations = FEATURES.map(|(_, _, deviation, _)| deviation);
        Ok(Porthole {
            reader: LinkReader::new(goal.critic.as_ref()),
            evidence: Evidence::new(links),
            learner: LinkEstimator::new(weights, deviations),
            uses,
            uses_hashed: !off.contains(&"hashed"),
            rescored_per_page,
            pages: 0,
            next_scoring: 0,
            foretold: HashSet::new(),
        })
    }

    fn dense(&self, waiting: &WaitingLink) -> Dense {
        let features = self.evidence.features(waiting);
        std::array::from_fn(|at| if self.uses[at] { features[at] } else { 0.0 })
    }

    fn hashed<'w>(&self, waiting: &'w WaitingLink) -> &'w [u32] {
        if self.uses_hashed { waiting.hashed() } else { &[] }
    }

    fn worth(&self, waiting: &WaitingLink) -> f64 {
        logistic(self.learner.log_odds(&self.dense(waiting), self.hashed(waiting)))
    }
}

impl Strategy for Porthole {
    fn name(&self) -> &str {
        "porthole"
    }

    fn discipline(&self) -> Discipline {
        Discipline { merge: PriorityMerge::Latest, ..Discipline::default() }
    }

    fn arrived(&mut self, source: &SourcePage<'_>) {
        let (url, relevance) = (source.url.id(), source.judgment.relevance);
        if !self.foretold.contains(&url)
            && let Some(waiting) = self.evidence.waiting(url)
        {
            let (dense, hashed) = (self.dense(waiting), self.hashed(waiting).to_vec());
            self.learner.learn(&dense, &hashed, relevance);
        }
        let terms = source.page.terms();
        let is_new = self.evidence.record_page(url, source.url.site(), relevance as f32, terms);
        self.pages += 1;
        self.reader.start(source, &mut self.evidence, is_new);
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.evidence.settled(url.id());
    }

    fn foretold(&mut self, url: UrlId, relevance: f64) {
        if let Some(waiting) = self.evidence.waiting(url)
            && self.foretold.insert(url)
        {
            let (dense, hashed) = (self.dense(waiting), self.hashed(waiting).to_vec());
            self.learner.learn(&dense, &hashed, relevance);
        }
    }

    fn priority(&mut self, source: &SourcePage<'_>, link: &Link) -> Option<f64> {
        let (url, site) = self.reader.move_to(source, link);
        if let Some(relevance) = self.evidence.outcome(url) {
            // The page was fetched, so the link is not queued. The value would only be used for a revisit.
            return Some(f64::from(relevance));
        }
        let observation = self.reader.read(source, link, site, self.evidence.waiting(url));
        self.evidence.observe(source.url.id(), url, site, &observation);
        let worth = self.worth(self.evidence.waiting(url)?);
        self.evidence.set_priority(url, worth);
        Some(worth)
    }

    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        if self.pages < self.next_scoring {
            return Vec::new();
        }
        let pause = self.evidence.waiting_count() as u64 / self.rescored_per_page;
        self.next_scoring = self.pages + pause.max(RESCORE_INTERVAL);
        let mut changed = Vec::new();
        for (url, waiting) in self.evidence.all_waiting() {
            let worth = self.worth(waiting);
            let (new, old) = (worth as f32, waiting.priority);
            if (new - old).abs() > MIN_CHANGE * new.max(old) {
                changed.push((url, worth));
            }
        }
        for (url, worth) in &changed {
            self.evidence.set_priority(*url, *worth);
        }
        changed
    }

    fn explain(&mut self, _: &SourcePage<'_>, link: &Link) -> Vec<Part> {
        let Some(waiting) = self.evidence.waiting(link.target.id()) else { return Vec::new() };
        let parts = self.learner.parts(&self.dense(waiting));
        let named =
            FEATURES.iter().zip(parts).map(|((what, ..), adds)| Part { what: (*what).to_owned(), adds });
        let hashed = self.learner.of_hashed(self.hashed(waiting));
        let what = "its words, layout and host, learnt".to_owned();
        named.chain([Part { what, adds: hashed }]).collect()
    }

    fn save(&self) -> Option<Vec<u8>> {
        let learnt = (self.learner.state(), self.evidence.state());
        Some(state::pack(FORM, (self.pages, self.next_scoring, learnt)))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        let (pages, next_scoring, (learner, evidence)) = state::unpack(FORM, saved)?;
        self.learner.restore(learner)?;
        self.evidence.restore(evidence)?;
        (self.pages, self.next_scoring) = (pages, next_scoring);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{TestWeb, goal};

    #[test]
    fn many_links_are_rescored_less_often() {
        let links: String = (0..100).map(|n| format!("<a href=/{n}>owl</a>")).collect();
        let web = TestWeb::new(&[("/", &links, 0.5)]);
        for (name, pause) in
            [("porthole", RESCORE_INTERVAL), ("porthole:rescored=20", 10), ("porthole:rescored=5", 20)]
        {
            let mut parameters = Parameters::parse(name).unwrap();
            let mut strategy = Porthole::new(&mut parameters, &goal("owl", 1)).unwrap();
            web.tell(&mut strategy, "/");
            strategy.rescored();
            assert_eq!(strategy.next_scoring, 1 + pause, "{name}");
        }
    }
}
