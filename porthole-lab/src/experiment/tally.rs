//! Records the fetches of a crawl with their true labels.

use std::collections::{HashMap, HashSet, VecDeque};

use porthole_crawl::Seen;
use porthole_types::{CanonicalUrl, Outcome as Fetched, UrlId};

use super::labelled::LabelledWeb;
use super::target::CrawlTarget;
use super::trace::{Authority, FetchLabel, FetchStep};

pub(super) struct FetchTally<'a> {
    web: &'a LabelledWeb,
    target: &'a CrawlTarget,
    starts: HashSet<UrlId>,
    /// Depth of each known URL: number of links from a start page when it was found.
    depths: HashMap<UrlId, u32>,
    /// Links of each fetched page.
    links: HashMap<UrlId, Vec<UrlId>>,
    urls: HashMap<UrlId, CanonicalUrl>,
    redirects: HashMap<UrlId, UrlId>,
    pub(super) steps: Vec<FetchStep>,
    pub(super) counted: u64,
}

impl<'a> FetchTally<'a> {
    pub(super) fn new(web: &'a LabelledWeb, target: &'a CrawlTarget, starts: &[CanonicalUrl]) -> Self {
        FetchTally {
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
        self.steps.push(FetchStep {
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

    fn label(&self, seen: &Seen<'_>) -> FetchLabel {
        let id = seen.url.id();
        match () {
            // A URL outside the recording might have been a page on the original web, so its label is unknown.
            () if seen.result.outcome != Fetched::Fetched => FetchLabel::None,
            () if self.starts.contains(&id) => FetchLabel::Start,
            () if self.web.trained_on.contains(&id) => FetchLabel::Trained,
            () if self.target.pages.contains(&id) => FetchLabel::About,
            () => FetchLabel::Other,
        }
    }

    /// All fetched URLs, except redirects to URLs that were not fetched: a follower of one reaches its end.
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

    /// The best authorities, with their distances from the start pages.
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

    /// Distance of each page from the nearest start page, by the links of fetched pages.
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
