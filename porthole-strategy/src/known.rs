//! The part of the web that a strategy has seen: pages that came, and what they link to.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;
use porthole_distill::{Graph, Node, PageRankOptions, page_rank};
use porthole_page::Link;
use porthole_types::UrlId;

use crate::{Saved, Saver, Source, StateError};

/// URLs that are remembered: what is met later is not part of the graph.
const MOST_URLS: usize = 1_000_000;

/// Links that are remembered.
const MOST_LINKS: usize = 4_000_000;

/// URLs with numbers in the order in which they were met, and the links between them; bounded, some 100 MB at most.
#[derive(Debug, Default)]
pub(crate) struct Known {
    numbers: HashMap<UrlId, u32, FixedState>,
    urls: Vec<UrlId>,
    /// Whether it came, or will not.
    done: Vec<bool>,
    links: Vec<Edge>,
    /// Pages that came, with the end of their links among all links.
    pages: Vec<(u32, u32)>,
}

/// A link between two URLs.
#[derive(Clone, Copy, Debug, PartialEq)]
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

    pub(crate) fn save(&self, saver: &mut Saver) {
        saver.length(self.urls.len());
        for (url, done) in self.urls.iter().zip(&self.done) {
            saver.url(*url);
            saver.u32(u32::from(*done));
        }
        saver.length(self.links.len());
        for Edge { from, to, weight } in &self.links {
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

    pub(crate) fn restored(saved: &mut Saved<'_>) -> Result<Known, StateError> {
        let mut known = Known::default();
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
            known.links.push(Edge { from, to, weight: saved.f32()? });
        }
        for _ in 0..saved.length(8)? {
            known.pages.push((inside(saved.u32()?)?, saved.u32()?));
        }
        Ok(known)
    }
}

/// When something costly is due: after so many pages, and again when there are an eighth more, so that all of it together
/// stays a small part of the work.
#[derive(Clone, Copy, Debug)]
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

    pub(crate) fn save(&self, saver: &mut Saver) {
        saver.u64(self.next);
    }

    pub(crate) fn restore(&mut self, saved: &mut Saved<'_>) -> Result<(), StateError> {
        self.next = saved.u64()?;
        Ok(())
    }
}
