//! The part of the web that a strategy has seen: pages that came, and what they link to.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;
use porthole_distill::{Graph, Node, PageRankOptions, page_rank};
use porthole_page::Link;
use porthole_types::UrlId;
use serde::{Deserialize, Serialize};

use crate::{Source, StateError, state};

/// URLs that are remembered: what is met later is not part of the graph.
const MOST_URLS: usize = 1_000_000;

/// Links that are remembered.
const MOST_LINKS: usize = 4_000_000;

/// URLs with numbers in the order in which they were met, and the links between them; bounded, some 100 MB at most.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub(crate) struct Known {
    #[serde(skip)]
    numbers: HashMap<UrlId, u32, FixedState>,
    urls: Vec<UrlId>,
    /// Whether it came, or will not.
    done: Vec<bool>,
    links: Vec<Edge>,
    /// Pages that came, with the end of their links among all links.
    pages: Vec<(u32, u32)>,
}

/// A link between two URLs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) weight: f32,
}

impl Known {
    /// How many URLs are known.
    pub(crate) fn len(&self) -> usize {
        self.urls.len()
    }

    /// How many pages came.
    pub(crate) fn page_count(&self) -> usize {
        self.pages.len()
    }

    /// The number of a URL, if it has one.
    pub(crate) fn find(&self, url: UrlId) -> Option<u32> {
        self.numbers.get(&url).copied()
    }

    /// The number of a URL, which it gets if there is room.
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

    /// The URL of a number.
    pub(crate) fn url(&self, number: u32) -> UrlId {
        self.urls[number as usize]
    }

    /// The numbers of those that neither came nor failed.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u32> {
        (0..self.urls.len() as u32).filter(|&number| !self.done[number as usize])
    }

    /// Whether it neither came nor failed.
    pub(crate) fn waits(&self, number: u32) -> bool {
        !self.done[number as usize]
    }

    /// All links, those of a page together, in the order in which the pages came.
    pub(crate) fn links(&self) -> &[Edge] {
        &self.links
    }

    /// A page came. Its number and its links, each target once with its greatest weight and none to itself; `None` if it
    /// came before, or there is no room for it.
    pub(crate) fn came(
        &mut self,
        source: &Source<'_>,
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
                    self.links.push(Edge { from, to, weight });
                }
                None => break,
            }
        }
        self.pages.push((from, self.links.len() as u32));
        Some((from, start..self.links.len()))
    }

    /// A URL will not come.
    pub(crate) fn settled(&mut self, url: UrlId) {
        if let Some(number) = self.find(url) {
            self.done[number as usize] = true;
        }
    }

    /// PageRank of all that is known, as shares of the largest.
    pub(crate) fn ranks(&self) -> Vec<f64> {
        let nodes = vec![Node { site: 0, relevance: 0.0, fetched: false }; self.urls.len()];
        let options = PageRankOptions { tolerance: 1e-6, max_iterations: 50, ..PageRankOptions::default() };
        let graph = Graph::new(&nodes, &self.links, |link| (link.from, link.to));
        let ranks = graph
            .and_then(|graph| page_rank(&graph, &options))
            .map_or_else(|_| Vec::new(), |rank| rank.ranks);
        let largest = ranks.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        ranks.into_iter().map(|rank| rank / largest).collect()
    }
}

/// What is saved of it.
#[derive(Deserialize)]
struct Parts {
    urls: Vec<UrlId>,
    done: Vec<bool>,
    links: Vec<Edge>,
    pages: Vec<(u32, u32)>,
}

impl TryFrom<Parts> for Known {
    type Error = StateError;

    fn try_from(Parts { urls, done, links, pages }: Parts) -> Result<Known, StateError> {
        let is_known = |number: u32| (number as usize) < urls.len();
        state::check(done.len() == urls.len())?;
        state::check(links.iter().all(|link| is_known(link.from) && is_known(link.to)))?;
        state::check(pages.iter().all(|(page, _)| is_known(*page)))?;
        let numbers = urls.iter().copied().zip(0..).collect();
        Ok(Known { numbers, urls, done, links, pages })
    }
}

/// When something costly is due: after so many pages, and again when there are an eighth more, so that all of it together
/// stays a small part of the work.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Schedule {
    every: u64,
    next: u64,
}

impl Schedule {
    pub(crate) fn new(every: u64) -> Schedule {
        Schedule { every, next: every }
    }

    /// Whether it is due after so many pages; it is not before the next time, then.
    pub(crate) fn is_due(&mut self, pages: u64) -> bool {
        let is_due = pages >= self.next;
        if is_due {
            self.next = pages + self.every.max(pages / 8);
        }
        is_due
    }

    /// Is due next when it was when it was saved; what it is set to stays.
    pub(crate) fn resume(&mut self, saved: Schedule) {
        self.next = saved.next;
    }
}
