//! The part of the web that a strategy has seen: fetched pages and their links.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;
use porthole_distill::{DistillGraph, DistillNode, PageRankOptions, page_rank};
use porthole_page::Link;
use porthole_types::UrlId;
use serde::{Deserialize, Serialize};

use crate::{SourcePage, StateError, state};

/// Maximum number of URLs; later ones are not part of the graph.
const MOST_URLS: usize = 1_000_000;

/// Maximum number of links.
const MOST_LINKS: usize = 4_000_000;

/// URLs, numbered in the order in which they were found, and the links between them. Bounded: about 100 MB at most.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "KnownParts")]
pub(crate) struct KnownGraph {
    #[serde(skip)]
    numbers: HashMap<UrlId, u32, FixedState>,
    urls: Vec<UrlId>,
    /// Whether the URL was fetched or will not be, by URL number.
    done: Vec<bool>,
    links: Vec<KnownEdge>,
    /// Fetched pages, with the end of their links in `links`.
    pages: Vec<(u32, u32)>,
}

/// A link between two URLs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnownEdge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) weight: f32,
}

impl KnownGraph {
    /// Number of known URLs.
    pub(crate) fn len(&self) -> usize {
        self.urls.len()
    }

    /// Number of fetched pages.
    pub(crate) fn page_count(&self) -> usize {
        self.pages.len()
    }

    /// Number of a URL, if it is known.
    pub(crate) fn find(&self, url: UrlId) -> Option<u32> {
        self.numbers.get(&url).copied()
    }

    /// Number of a URL; an unknown URL is added if there is room.
    pub(crate) fn number(&mut self, url: UrlId) -> Option<u32> {
        if let Some(number) = self.find(url) {
            return Some(number);
        }
        let number = u32::try_from(self.urls.len()).ok().filter(|_| self.urls.len() < MOST_URLS)?;
        self.numbers.insert(url, number);
        self.urls.push(url);
        self.done.push(false);
        Some(number)
    }

    /// URL with a number.
    pub(crate) fn url(&self, number: u32) -> UrlId {
        self.urls[number as usize]
    }

    /// Numbers of URLs that were neither fetched nor settled.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u32> {
        (0..self.urls.len() as u32).filter(|&number| !self.done[number as usize])
    }

    /// Whether a URL was neither fetched nor settled.
    pub(crate) fn is_waiting(&self, number: u32) -> bool {
        !self.done[number as usize]
    }

    /// All links, grouped by page, in the order in which the pages were fetched.
    pub(crate) fn links(&self) -> &[KnownEdge] {
        &self.links
    }

    /// Adds a fetched page. Returns its number and its links, each target once with its largest weight, without links
    /// to itself; `None` if the page was added before or there is no room.
    pub(crate) fn record_page(
        &mut self,
        source: &SourcePage<'_>,
        mut weigh: impl FnMut(&Link) -> f32,
    ) -> Option<(u32, Range<usize>)> {
        let from = self.number(source.url.id())?;
        if std::mem::replace(&mut self.done[from as usize], true) {
            return None;
        }
        let start = self.links.len();
        let links = if source.page.robots.nofollow { &[] } else { &source.page.links[..] };
        let mut places: HashMap<u32, usize, FixedState> = HashMap::default();
        for link in links {
            let Some(to) = self.number(link.target.id()).filter(|to| *to != from) else { continue };
            let weight = weigh(link);
            match places.get(&to) {
                Some(&place) => self.links[place].weight = self.links[place].weight.max(weight),
                None if self.links.len() < MOST_LINKS => {
                    places.insert(to, self.links.len());
                    self.links.push(KnownEdge { from, to, weight });
                }
                None => break,
            }
        }
        self.pages.push((from, self.links.len() as u32));
        Some((from, start..self.links.len()))
    }

    /// Marks a URL that will not yield a page.
    pub(crate) fn settled(&mut self, url: UrlId) {
        if let Some(number) = self.find(url) {
            self.done[number as usize] = true;
        }
    }

    /// PageRank of all known URLs, as shares of the largest.
    pub(crate) fn ranks(&self) -> Vec<f64> {
        let nodes = vec![DistillNode { site: 0, relevance: 0.0, fetched: false }; self.urls.len()];
        let options = PageRankOptions { tolerance: 1e-6, max_iterations: 50, ..PageRankOptions::default() };
        let graph = DistillGraph::new(&nodes, &self.links, |link| (link.from, link.to));
        let ranks = graph
            .and_then(|graph| page_rank(&graph, &options))
            .map_or_else(|_| Vec::new(), |rank| rank.ranks);
        let largest = ranks.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        ranks.into_iter().map(|rank| rank / largest).collect()
    }
}

/// Saved state of the graph.
#[derive(Deserialize)]
struct KnownParts {
    urls: Vec<UrlId>,
    done: Vec<bool>,
    links: Vec<KnownEdge>,
    pages: Vec<(u32, u32)>,
}

impl TryFrom<KnownParts> for KnownGraph {
    type Error = StateError;

    fn try_from(KnownParts { urls, done, links, pages }: KnownParts) -> Result<KnownGraph, StateError> {
        let is_known = |number: u32| (number as usize) < urls.len();
        state::check(done.len() == urls.len())?;
        state::check(links.iter().all(|link| is_known(link.from) && is_known(link.to)))?;
        state::check(pages.iter().all(|(page, _)| is_known(*page)))?;
        let numbers = urls.iter().copied().zip(0..).collect();
        Ok(KnownGraph { numbers, urls, done, links, pages })
    }
}

/// Schedule of a costly computation: due after `every` pages, and again whenever the pages have grown by an eighth, so
/// that its total cost stays a small part of the work.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Schedule {
    every: u64,
    next: u64,
}

impl Schedule {
    pub(crate) fn new(every: u64) -> Schedule {
        Schedule { every, next: every }
    }

    /// Whether the computation is due at this number of pages; if so, schedules the next.
    pub(crate) fn is_due(&mut self, pages: u64) -> bool {
        let is_due = pages >= self.next;
        if is_due {
            self.next = pages + self.every.max(pages / 8);
        }
        is_due
    }

    /// Restores the next due time. The interval stays as configured.
    pub(crate) fn resume(&mut self, saved: Schedule) {
        self.next = saved.next;
    }
}
