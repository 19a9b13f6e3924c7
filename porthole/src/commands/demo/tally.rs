//! Counts the results of a demo crawl by the true topic of each page.

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use porthole_crawl::Seen;
use porthole_store::StoreCounts;
use porthole_types::{Judgment, Mark, Outcome, SiteId, TopicId, UrlId};
use porthole_webs::synth::SyntheticWeb;
use serde::Serialize;

use super::lesson::DemoCritic;

/// Numbers of fetches at which the harvest rate is recorded, besides the last one.
const MARKS: [u64; 11] = [50, 100, 200, 500, 1_000, 2_000, 3_000, 5_000, 10_000, 20_000, 50_000];

/// Counts fetches. Pages that the critic was trained on do not count.
pub(super) struct DemoCounter<'a> {
    web: &'a SyntheticWeb,
    examples: &'a HashSet<UrlId>,
    marks: Vec<Mark>,
    wanted: u64,
    began: Instant,
    uncounted: u64,
    fetches: u64,
    pages: u64,
    failures: BTreeMap<&'static str, u64>,
    about_topic: u64,
    agreed: u64,
    hosts: HashSet<SiteId>,
    kinds: BTreeMap<&'static str, u64>,
    /// Sum of the relevance of the counted pages.
    relevance: f64,
    /// Hosts of examples.
    example_hosts: HashSet<String>,
    /// Hosts with a page about the topic.
    topic_hosts: HashSet<String>,
    /// Share of the fetches that returned a page about the topic, after each number of fetches in `MARKS`.
    harvest_at: BTreeMap<u64, f64>,
}

/// Results of a crawl.
#[derive(Serialize)]
pub(super) struct DemoResult {
    pub(super) strategy: String,
    pub(super) stop: &'static str,
    /// Counted fetches.
    pub(super) fetches: u64,
    /// Fetches of start pages and other examples, which are not counted.
    pub(super) uncounted: u64,
    pub(super) pages: u64,
    pub(super) failures: BTreeMap<&'static str, u64>,
    /// Pages whose true topic is the demo's, without duplicates.
    pub(super) about_topic: u64,
    /// Share of the fetches that returned such a page, by number of fetches.
    pub(super) harvest: BTreeMap<u64, f64>,
    /// Mean relevance of all pages.
    pub(super) mean_relevance: f64,
    /// Share of the pages that the critic assigns correctly (about the topic or not).
    pub(super) agreement: f64,
    pub(super) hosts: usize,
    /// Hosts with a page about the topic and without an example.
    pub(super) new_hosts: u64,
    /// Numbers of pages by their true kind.
    pub(super) kinds: BTreeMap<&'static str, u64>,
    pub(super) known: usize,
    pub(super) queued: usize,
    pub(super) links: usize,
    pub(super) seconds: f64,
}

impl<'a> DemoCounter<'a> {
    pub(super) fn new(web: &'a SyntheticWeb, lesson: &'a DemoCritic, wanted: u64) -> Self {
        DemoCounter {
            web,
            examples: &lesson.examples,
            marks: lesson.tree.marks(),
            wanted,
            began: Instant::now(),
            uncounted: 0,
            fetches: 0,
            pages: 0,
            failures: BTreeMap::new(),
            about_topic: 0,
            agreed: 0,
            hosts: HashSet::new(),
            kinds: BTreeMap::new(),
            relevance: 0.0,
            example_hosts: HashSet::new(),
            topic_hosts: HashSet::new(),
            harvest_at: BTreeMap::new(),
        }
    }

    /// Adds a fetch. Returns whether it counts.
    pub(super) fn add(&mut self, seen: &Seen<'_>) -> bool {
        if self.examples.contains(&seen.url.id()) {
            self.uncounted += 1;
            self.example_hosts.insert(seen.url.authority().to_owned());
            return false;
        }
        let before = self.about_topic;
        self.fetches += 1;
        match (&seen.result.outcome, seen.result.judgment) {
            (Outcome::Fetched, Some(judgment)) => self.add_page(seen, judgment),
            (Outcome::Fetched | Outcome::NotModified | Outcome::Redirected, _) => {}
            (Outcome::Retry { failure, .. } | Outcome::Dead(failure) | Outcome::Skipped(failure), _) => {
                *self.failures.entry(failure.kind.name()).or_default() += 1;
            }
        }
        if self.about_topic > before {
            self.topic_hosts.insert(seen.url.authority().to_owned());
        }
        if MARKS.contains(&self.fetches) {
            self.harvest_at.insert(self.fetches, self.harvest());
        }
        true
    }

    fn add_page(&mut self, seen: &Seen<'_>, judgment: Judgment) {
        self.pages += 1;
        self.relevance += judgment.relevance;
        self.hosts.insert(seen.result.sid);
        let Some(truth) = self.web.truth(seen.url) else { return };
        let is_about = self.is_good(truth.topic);
        *self.kinds.entry(truth.kind.name()).or_default() += 1;
        self.about_topic += u64::from(is_about && truth.earns_credit());
        self.agreed += u64::from(is_about == self.is_good(judgment.best));
    }

    fn is_good(&self, topic: TopicId) -> bool {
        matches!(self.marks[usize::from(topic.0)], Mark::Good | Mark::Subsumed)
    }

    /// Share of the fetches that returned a page about the topic.
    pub(super) fn harvest(&self) -> f64 {
        self.about_topic as f64 / self.fetches.max(1) as f64
    }

    /// Whether the requested number of fetches is reached.
    pub(super) fn is_full(&self) -> bool {
        self.fetches >= self.wanted
    }

    pub(super) fn figures(mut self, strategy: String, stop: &'static str, counts: StoreCounts) -> DemoResult {
        self.harvest_at.insert(self.fetches, self.harvest());
        let pages = self.pages.max(1) as f64;
        DemoResult {
            strategy,
            stop,
            fetches: self.fetches,
            uncounted: self.uncounted,
            pages: self.pages,
            failures: self.failures,
            about_topic: self.about_topic,
            harvest: self.harvest_at,
            mean_relevance: self.relevance / pages,
            agreement: self.agreed as f64 / pages,
            hosts: self.hosts.len(),
            new_hosts: self.topic_hosts.difference(&self.example_hosts).count() as u64,
            kinds: self.kinds,
            known: counts.known,
            queued: counts.queued,
            links: counts.links,
            seconds: self.began.elapsed().as_secs_f64(),
        }
    }
}

impl DemoResult {
    /// The harvest rate after a number of fetches; a crawl that ended earlier finds nothing more.
    pub(super) fn harvest_at(&self, fetches: u64) -> f64 {
        let ended = || self.about_topic as f64 / fetches.max(1) as f64;
        self.harvest.get(&fetches).copied().unwrap_or_else(ended)
    }

    pub(super) fn rate(&self) -> f64 {
        (self.fetches + self.uncounted) as f64 / self.seconds.max(1e-9)
    }
}
