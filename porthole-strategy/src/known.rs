//! The part of the web that a strategy has seen: fetched pages and their links.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;
use porthole_distill::{DistillGraph, DistillNode, PageRankOptions, page_rank};
use porthole_page::Link;
use porthole_types::UrlId;

use crate::{Saved, Saver, SourcePage, StateError};

/// Maximum number of URLs; later ones are not part of the graph.
const MOST_URLS: usize = 1_000_000;

/// Maximum number of links.
const MOST_LINKS: usize = 4_000_000;

/// URLs, numbered in the order in which they were found, and the links between them. Bounded: about 100 MB at most.
#[derive(Debug, Default)]
pub(crate) struct KnownGraph {
    numbers: HashMap<UrlId, u32, FixedState>,
    urls: Vec<UrlId>,
    /// Whether the URL was fetched or will not be, by URL number.
    done: Vec<bool>,
    links: Vec<KnownEdge>,
    /// Fetched pages, with the end of their links in `links`.
    pages: Vec<(u32, u32)>,
}

/// A link between two URLs.
#[derive(Clone, Copy, Debug, PartialEq)]
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

    pub(crate) fn save(&self, saver: &mut Saver) {
        saver.length(self.urls.len());
        for (url, done) in self.urls.iter().zip(&self.done) {
            saver.url(*url);
            saver.u32(u32::from(*done));
        }
        saver.length(self.links.len());
        for KnownEdge { from, to, weight } in &self.links {
            saver.u32(*from);
            saver.u32(*to);
            saver.f32(*weight);
        }
        saver.length(self.pages.len());
        for (page, end) in &self.pages {
            saver.u32(*page);
            saver.u32(*end);
        }
    }

    pub(crate) fn restored(saved: &mut Saved<'_>) -> Result<KnownGraph, StateError> {
        let mut known = KnownGraph::default();
        for number in 0..saved.length(12)? {
            let url = saved.url()?;
            known.numbers.insert(url, number as u32);
            known.urls.push(url);
            known.done.push(saved.u32()? != 0);
        }
        let inside =
            |number: u32| if (number as usize) < known.urls.len() { Ok(number) } else { Err(StateError) };
        for _ in 0..saved.length(12)? {
            let (from, to) = (inside(saved.u32()?)?, inside(saved.u32()?)?);
            known.links.push(KnownEdge { from, to, weight: saved.f32()? });
        }
        for _ in 0..saved.length(8)? {
            known.pages.push((inside(saved.u32()?)?, saved.u32()?));
        }
        Ok(known)
    }
}

/// Schedule of a costly computation: due after `every` pages, and again whenever the pages have grown by an eighth, so
/// that its total cost stays a small part of the work.
#[derive(Clone, Copy, Debug)]
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

    pub(crate) fn save(&self, saver: &mut Saver) {
        saver.u64(self.next);
    }

    pub(crate) fn restore(&mut self, saved: &mut Saved<'_>) -> Result<(), StateError> {
        self.next = saved.u64()?;
        Ok(())
    }
}
