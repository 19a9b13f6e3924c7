//! Our own: an online learner that estimates what a link is worth from the evidence of all pages that have it.
//!
//! A link that waits is described by a few numbers ([`FEATURES`]) and by hashed features: its own words, its place in the
//! layout, its host. When the page behind it comes, the learner is told how relevant it is; now and then all links that wait
//! are scored anew. Which parts pay, and which were tried and did not, is in docs/decisions/porthole-strategy.md.

mod evidence;
mod learner;
mod reading;

use porthole_page::Link;
use porthole_types::{CanonicalUrl, UrlId};

use self::evidence::{Evidence, Waiting};
use self::learner::{DENSE, Dense, Learner, logistic};
use self::reading::LinkReader;
use crate::catalogue::NameError;
use crate::parameters::Parameters;
use crate::{Aim, Discipline, Part, PriorityMerge, Source, StateError, Strategy, state};

/// The form of what is saved.
const FORM: u32 = 40;

/// The numbers that describe a link: what they are called, the weight that each has before anything is learnt, how far that
/// may be off, and the group by which experiments leave them out. Weights were found on the development topics of the
/// schools web.
const FEATURES: [(&str, f32, f32, &str); DENSE] = [
    ("what is usual", -0.8, 0.3, ""),
    ("what the pages that link to it are worth", 0.5, 0.25, "parents"),
    ("what the critic says of its own words", 0.45, 0.25, "words"),
    ("what the critic says of the words around it, at best", 0.25, 0.25, "around"),
    ("what the critic says of the words around it, all in all", 0.2, 0.25, "around"),
    ("what other links of these pages led to", 0.3, 0.25, "siblings"),
    ("what other pages of its host are worth", 0.1, 0.2, "host"),
    ("what the links beside it led to", 0.35, 0.25, "beside"),
    ("how many pages link to it", 0.1, 0.25, "count"),
    ("what pages with its words are worth", 0.2, 0.2, "lore"),
    ("what pages with the most telling of its words are worth", 0.1, 0.2, "lore"),
];

/// What can be left out.
const GROUPS: [&str; 9] =
    ["parents", "words", "around", "siblings", "host", "beside", "count", "lore", "hashed"];

/// Pages between two times that all links are scored anew, at least; with many links, so many that there are at most
/// `SCORED_A_PAGE` of them a page.
const BETWEEN_SCORINGS: u64 = 10;
const SCORED_A_PAGE: u64 = 250;

/// The frontier hears of a link again when it is worth this much more or less, as a share of it.
const MATTERS: f32 = 0.05;

/// Links that are remembered at most: each costs some 200 bytes.
const LINKS: usize = 250_000;

/// Estimates the worth of links from all evidence, and learns.
pub struct Porthole {
    reader: LinkReader,
    evidence: Evidence,
    learner: Learner,
    /// Whether each feature is used.
    uses: [bool; DENSE],
    uses_hashed: bool,
    came: u64,
    next_scoring: u64,
}

impl Porthole {
    /// Parameters: `links=N` remembers so many at most; `parents=off` and so on leave a part of the evidence out.
    pub(crate) fn new(parameters: &mut Parameters<'_>, aim: &Aim) -> Result<Porthole, NameError> {
        let links = parameters.number("links", LINKS, 1..=100_000_000)?;
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
            reader: LinkReader::new(aim.critic.as_ref()),
            evidence: Evidence::new(links),
            learner: Learner::new(weights, deviations),
            uses,
            uses_hashed: !off.contains(&"hashed"),
            came: 0,
            next_scoring: 0,
        })
    }

    fn dense(&self, waiting: &Waiting) -> Dense {
        let features = self.evidence.features(waiting);
        std::array::from_fn(|at| if self.uses[at] { features[at] } else { 0.0 })
    }

    fn hashed<'w>(&self, waiting: &'w Waiting) -> &'w [u32] {
        if self.uses_hashed { waiting.hashed() } else { &[] }
    }

    fn worth(&self, waiting: &Waiting) -> f64 {
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

    fn arrived(&mut self, source: &Source<'_>) {
        let (url, relevance) = (source.url.id(), source.judgment.relevance);
        if let Some(waiting) = self.evidence.waiting(url) {
            let (dense, hashed) = (self.dense(waiting), self.hashed(waiting).to_vec());
            self.learner.learn(&dense, &hashed, relevance);
        }
        let terms = source.page.terms();
        let is_new = self.evidence.came(url, source.url.site(), relevance as f32, terms);
        self.came += 1;
        self.reader.start(source, &mut self.evidence, is_new);
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.evidence.settled(url.id());
    }

    fn priority(&mut self, source: &Source<'_>, link: &Link) -> Option<f64> {
        let url = link.target.id();
        if let Some(came) = self.evidence.outcome(url) {
            // Nobody asks: it is not queued. A revisit would be for this.
            return Some(f64::from(came));
        }
        let said = self.reader.read(source, link, self.evidence.waiting(url));
        self.evidence.observe(source.url.id(), url, link.target.site(), &said);
        let worth = self.worth(self.evidence.waiting(url)?);
        self.evidence.give(url, worth);
        Some(worth)
    }

    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        if self.came < self.next_scoring {
            return Vec::new();
        }
        let pause = self.evidence.how_many_wait() as u64 / SCORED_A_PAGE;
        self.next_scoring = self.came + pause.max(BETWEEN_SCORINGS);
        let mut changed = Vec::new();
        for (url, waiting) in self.evidence.all_waiting() {
            let worth = self.worth(waiting);
            let (new, old) = (worth as f32, waiting.given);
            if (new - old).abs() > MATTERS * new.max(old) {
                changed.push((url, worth));
            }
        }
        for (url, worth) in &changed {
            self.evidence.give(*url, *worth);
        }
        changed
    }

    fn explain(&mut self, _: &Source<'_>, link: &Link) -> Vec<Part> {
        let Some(waiting) = self.evidence.waiting(link.target.id()) else { return Vec::new() };
        let parts = self.learner.parts(&self.dense(waiting));
        let named =
            FEATURES.iter().zip(parts).map(|((what, ..), adds)| Part { what: (*what).to_owned(), adds });
        let hashed = self.learner.of_hashed(self.hashed(waiting));
        let what = "its words, layout and host, as learnt".to_owned();
        named.chain([Part { what, adds: hashed }]).collect()
    }

    fn save(&self) -> Option<Vec<u8>> {
        let learnt = (self.learner.state(), self.evidence.state());
        Some(state::save(FORM, (self.came, self.next_scoring, learnt)))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        let (came, next_scoring, (learner, evidence)) = state::restore(FORM, saved)?;
        self.learner.restore(learner)?;
        self.evidence.restore(evidence)?;
        (self.came, self.next_scoring) = (came, next_scoring);
        Ok(())
    }
}
