//! Writes down what a crawl fetches, with the truth about it.

use std::collections::{HashMap, HashSet, VecDeque};

use porthole_crawl::Seen;
use porthole_types::{CanonicalUrl, Outcome as Fetched, UrlId};

use super::labelled::LabelledWeb;
use super::target::Target;
use super::trace::{Authority, Label, Step};

pub(super) struct Tally<'a> {
    web: &'a LabelledWeb,
    target: &'a Target,
    starts: HashSet<UrlId>,
    /// How many links away from a start what is known became known.
    depths: HashMap<UrlId, u32>,
    /// What was fetched, and what it links to.
    links: HashMap<UrlId, Vec<UrlId>>,
    urls: HashMap<UrlId, CanonicalUrl>,
    redirects: HashMap<UrlId, UrlId>,
    pub(super) steps: Vec<Step>,
    pub(super) counted: u64,
}

impl<'a> Tally<'a> {
    pub(super) fn new(web: &'a LabelledWeb, target: &'a Target, starts: &[CanonicalUrl]) -> Self {
        Tally {
            web,
            target,
            starts: starts.iter().map(CanonicalUrl::id).collect(),
            depths: HashMap::new(),
            links: HashMap::new(),
            urls: HashMap::new(),
            redirects: HashMap::new(),
            steps: Vec::new(),
            counted: 0,
        }
    }

    pub(super) fn add(&mut self, seen: &Seen<'_>) {
        let id = seen.url.id();
        let depth = *self.depths.entry(id).or_insert(0);
        let step = u32::from(seen.result.outcome != Fetched::Redirected);
        for link in &seen.result.links {
            self.depths.entry(link.oid).or_insert(depth + step);
        }
        self.links.insert(id, seen.result.links.iter().map(|link| link.oid).collect());
        self.urls.insert(id, seen.url.clone());
        if let (Fetched::Redirected, Some(to)) = (&seen.result.outcome, seen.result.links.first()) {
            self.redirects.insert(id, to.oid);
        }
        let label = self.label(seen);
        self.counted += u64::from(label.counts());
        self.steps.push(Step {
            seq: seen.result.seq,
            url: seen.url.to_string(),
            relevance: seen.result.judgment.map(|judgment| judgment.relevance),
            independent: self.target.independent.get(&id).copied(),
            label,
            at: seen.result.at,
            host: seen.url.authority().to_owned(),
            depth,
        });
    }

    fn label(&self, seen: &Seen<'_>) -> Label {
        let id = seen.url.id();
        match () {
            // What leads out of the recording would have been a page on the web that was recorded: it tells nothing.
            () if seen.result.outcome != Fetched::Fetched => Label::None,
            () if self.starts.contains(&id) => Label::Start,
            () if self.web.trained_on.contains(&id) => Label::Trained,
            () if self.target.pages.contains(&id) => Label::About,
            () => Label::Other,
        }
    }

    /// All URLs that were fetched, without redirects to what was not: whoever follows one comes to its end.
    pub(super) fn urls(&self) -> HashSet<UrlId> {
        let mut urls: HashSet<UrlId> = self.urls.keys().copied().collect();
        loop {
            let leads_out = |id: &&UrlId| self.redirects.get(id).is_some_and(|to| !urls.contains(to));
            let out: Vec<UrlId> = urls.iter().filter(leads_out).copied().collect();
            if out.is_empty() {
                return urls;
            }
            urls.retain(|id| !out.contains(id));
        }
    }

    /// The best pages, with how far they are from the start pages.
    pub(super) fn authorities(&self, best: &[(UrlId, f64)], most: usize) -> Vec<Authority> {
        let distances = self.distances();
        let known = best.iter().filter_map(|(id, _)| Some((self.urls.get(id)?, *distances.get(id)?)));
        let authority = |(url, distance): (&CanonicalUrl, u32)| Authority {
            url: url.to_string(),
            host: url.authority().to_owned(),
            distance,
        };
        known.map(authority).take(most).collect()
    }

    /// Links from the nearest start, by the links of what was fetched.
    fn distances(&self) -> HashMap<UrlId, u32> {
        let mut distances: HashMap<UrlId, u32> = self.starts.iter().map(|id| (*id, 0)).collect();
        let mut open: VecDeque<UrlId> = self.starts.iter().copied().collect();
        while let Some(id) = open.pop_front() {
            let further = distances[&id] + 1;
            for target in self.links.get(&id).into_iter().flatten() {
                distances.entry(*target).or_insert_with(|| {
                    open.push_back(*target);
                    further
                });
            }
        }
        distances
    }
}
