//! The site table: the pages of each site. It is all that a synthetic web keeps in memory, some tens of bytes per site;
//! everything else is drawn on request.
//!
//! Sites are in this order: the mainland (portals, ordinary sites, mirrors), the islands (remote communities), the
//! farms, the chains that lead to the islands. Links are drawn from the mainland, so only a chain can lead to an
//! island.

use std::ops::Range;

use super::draw::{Draw, For};
use super::params::{SynthError, SynthParams, part};
use super::plan::count;
use super::topics::{Atlas, LeafTopic};

/// A page: its site, and its number on the site. Number 0 is the home page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SyntheticPage {
    pub(crate) site: u32,
    pub(crate) local: u32,
}

/// One site.
#[derive(Clone, Copy)]
pub(crate) struct SyntheticSite {
    pub(crate) first: u32,
    pub(crate) len: u32,
    pub(crate) kind: SiteKind,
    /// Topic of most of its pages; of a farm, the topic that it pretends to have.
    pub(crate) main: LeafTopic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SiteKind {
    Ordinary,
    Portal,
    /// A copy of another site.
    Mirror(u32),
    /// Part of a remote community.
    Island(u16),
    Farm,
    /// One page on the path to an island.
    Chain {
        island: u16,
        step: u16,
    },
}

/// A remote community of a topic, and the only path to it.
pub(crate) struct Island {
    pub(crate) leaf: LeafTopic,
    pub(crate) sites: Range<u32>,
    /// Sites of one page each; the first is linked from `entries`, the last links into the island.
    pub(crate) chain: Range<u32>,
    /// Home pages of the topic on the mainland that link to the chain.
    pub(crate) entries: Vec<SyntheticPage>,
}

/// Table of all sites.
pub(crate) struct SyntheticSites {
    pub(crate) table: Vec<SyntheticSite>,
    /// Mainland sites by main topic.
    pub(crate) by_leaf: Vec<Vec<u32>>,
    pub(crate) islands: Vec<Island>,
    pub(crate) farms: Range<u32>,
    pub(crate) mainland_pages: u32,
    portals: u32,
    /// Site of every 64th page, so that a page's site is found in one or two steps.
    hints: Vec<u32>,
}

const HINT_BITS: u32 = 6;

impl SyntheticSites {
    /// Builds the table.
    pub(crate) fn new(params: &SynthParams, atlas: &Atlas) -> Result<Self, SynthError> {
        let mut builder = Builder::new(params, atlas);
        builder.mainland();
        let (mainland_sites, mainland_pages) = (builder.sites(), builder.next);
        let islands = builder.islands();
        let farms = builder.farms();
        let chains = builder.chains(islands.len());
        let mut by_leaf = vec![Vec::new(); usize::from(atlas.leaves())];
        for (number, site) in (0..mainland_sites).zip(&builder.table) {
            if site.kind != SiteKind::Portal {
                by_leaf[usize::from(site.main)].push(number);
            }
        }
        if by_leaf.iter().any(Vec::is_empty) {
            let rule = "but every topic needs a site: take more pages or smaller sites".to_owned();
            return Err(SynthError { name: "pages", value: params.pages.to_string(), rule });
        }
        let islands = islands.into_iter().zip(chains);
        let islands =
            islands.map(|((leaf, sites), chain)| Island { leaf, sites, chain, entries: Vec::new() });
        Ok(SyntheticSites {
            hints: hints(&builder.table, builder.next),
            by_leaf,
            islands: islands.collect(),
            farms,
            mainland_pages,
            portals: params.portals,
            table: builder.table,
        })
    }

    /// Whether a site is its topic's first: large enough, sound and open, so that every topic has start pages, even in
    /// a small web.
    pub(crate) fn is_first(&self, site: u32) -> bool {
        (self.portals..self.portals + count(&self.by_leaf)).contains(&site)
    }

    /// The site of a page.
    #[inline]
    pub(crate) fn of(&self, page: SyntheticPage) -> &SyntheticSite {
        &self.table[page.site as usize]
    }

    /// Index of a page among all pages.
    #[inline]
    pub(crate) fn index(&self, page: SyntheticPage) -> u32 {
        self.of(page).first + page.local
    }

    /// The page with an index.
    #[inline]
    pub(crate) fn page(&self, index: u32) -> SyntheticPage {
        let mut site = self.hints[(index >> HINT_BITS) as usize];
        while index - self.table[site as usize].first >= self.table[site as usize].len {
            site += 1;
        }
        SyntheticPage { site, local: index - self.table[site as usize].first }
    }

    /// The original of a mirrored page; the page itself if it is not on a mirror.
    #[inline]
    pub(crate) fn origin(&self, page: SyntheticPage) -> SyntheticPage {
        match self.of(page).kind {
            SiteKind::Mirror(site) => SyntheticPage { site, ..page },
            _ => page,
        }
    }
}

struct Builder<'a> {
    params: &'a SynthParams,
    atlas: &'a Atlas,
    draw: Draw,
    table: Vec<SyntheticSite>,
    next: u32,
    mean: u32,
}

impl<'a> Builder<'a> {
    fn new(params: &'a SynthParams, atlas: &'a Atlas) -> Self {
        let draw = Draw::new(params.seed, For::Sites, 0);
        // Every topic should have several sites, even in a small web.
        let mean = (params.pages / (u32::from(atlas.leaves()) * 4)).clamp(3, params.site_pages);
        Builder { params, atlas, draw, table: Vec::new(), next: 0, mean }
    }

    fn sites(&self) -> u32 {
        u32::try_from(self.table.len()).expect("fewer sites than pages")
    }

    fn push(&mut self, len: u32, kind: SiteKind, main: LeafTopic) {
        self.table.push(SyntheticSite { first: self.next, len, kind, main });
        self.next += len;
    }

    fn mainland(&mut self) {
        for _ in 0..self.params.portals {
            self.push(self.params.pages_a_portal(), SiteKind::Portal, 0);
        }
        let islands = self.params.islands * u32::try_from(self.atlas.remote.len()).expect("a short list");
        let later = islands * (self.params.pages_an_island() + self.params.chain_length)
            + part(self.params.pages, self.params.spam);
        let end = self.params.pages - later;
        self.ordinary(end - part(self.params.pages, self.params.mirrors));
        self.mirrors(end);
        self.ordinary(end);
    }

    /// Adds ordinary sites up to page `end`. The first ones cycle through the topics, so that each has some.
    fn ordinary(&mut self, end: u32) {
        let leaves = u32::from(self.atlas.leaves());
        let weights: Vec<u32> = (0..leaves).map(|leaf| 4 + (leaf * 7) % 9).collect();
        let total: u32 = weights.iter().sum();
        let pages = part(end.saturating_sub(self.next), self.params.largest_site);
        let mut round = 0;
        while self.next < end {
            let leaf = round % leaves;
            let largest = u64::from(pages) * u64::from(weights[leaf as usize]) / u64::from(total);
            let least = if round < leaves { self.mean.max(u32::try_from(largest).unwrap_or(end)) } else { 1 };
            let len = self.size().max(least).min(end - self.next);
            let roll = self.draw.below(total);
            let leaf = if round < 2 * leaves { leaf } else { weighted(&weights, roll) };
            self.push(len, SiteKind::Ordinary, LeafTopic::try_from(leaf).expect("a leaf's number"));
            round += 1;
        }
    }

    fn mirrors(&mut self, end: u32) {
        let originals = self.params.portals..self.sites();
        let mut tries = 0;
        while self.next < end && tries < 4 * originals.len() {
            let number = originals.start + self.draw.below(originals.end - originals.start);
            let site = self.table[number as usize];
            if site.len <= end - self.next {
                self.push(site.len, SiteKind::Mirror(number), site.main);
            }
            tries += 1;
        }
    }

    fn islands(&mut self) -> Vec<(LeafTopic, Range<u32>)> {
        let mut islands = Vec::new();
        for leaf in self.atlas.remote.clone() {
            for _ in 0..self.params.islands {
                let kind = SiteKind::Island(u16::try_from(islands.len()).expect("few islands"));
                let (start, end) = (self.sites(), self.next + self.params.pages_an_island());
                while self.next < end {
                    let len = self.size().min(end - self.next);
                    self.push(len, kind, leaf);
                }
                islands.push((leaf, start..self.sites()));
            }
        }
        islands
    }

    fn farms(&mut self) -> Range<u32> {
        let (start, end) = (self.sites(), self.next + part(self.params.pages, self.params.spam));
        while self.next < end {
            let len = self.size().min(end - self.next);
            let main = *self.draw.pick(&self.atlas.popular);
            self.push(len, SiteKind::Farm, main);
        }
        start..self.sites()
    }

    fn chains(&mut self, islands: usize) -> Vec<Range<u32>> {
        let mut chains = Vec::new();
        for island in 0..u16::try_from(islands).expect("few islands") {
            let start = self.sites();
            let remote = self.atlas.remote[usize::from(island) / self.params.islands.max(1) as usize];
            for step in 0..u16::try_from(self.params.chain_length).expect("a short chain") {
                let main = off_topic(&mut self.draw, self.atlas, remote);
                self.push(1, SiteKind::Chain { island, step }, main);
            }
            chains.push(start..self.sites());
        }
        chains
    }

    /// Draws the size of a site: a few are several times as large as most.
    fn size(&mut self) -> u32 {
        const SIXTHS_OF_THE_MEAN: [u32; 16] = [1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 6, 8, 10, 12, 17, 24];
        let sixths = *self.draw.pick(&SIXTHS_OF_THE_MEAN);
        (self.mean * sixths / 6 + self.draw.below(3)).max(1)
    }
}

fn off_topic(draw: &mut Draw, atlas: &Atlas, leaf: LeafTopic) -> LeafTopic {
    loop {
        let other = LeafTopic::try_from(draw.below(u32::from(atlas.leaves()))).expect("a leaf's number");
        if other != leaf {
            return other;
        }
    }
}

fn weighted(weights: &[u32], roll: u32) -> u32 {
    let mut sum = 0;
    let at = weights.iter().position(|weight| {
        sum += weight;
        roll < sum
    });
    u32::try_from(at.unwrap_or(0)).expect("a leaf's number")
}

fn hints(table: &[SyntheticSite], pages: u32) -> Vec<u32> {
    let mut site = 0;
    let of = |index: u32| {
        while index - table[site].first >= table[site].len {
            site += 1;
        }
        u32::try_from(site).expect("fewer sites than pages")
    };
    (0..pages).step_by(1 << HINT_BITS).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_lies_on_one_site() {
        for pages in [500, 3_000, 20_000] {
            let params = SynthParams { pages, ..SynthParams::default() };
            let sites = SyntheticSites::new(&params, &Atlas::new()).unwrap();
            let total: u32 = sites.table.iter().map(|site| site.len).sum();
            assert_eq!(total, pages);
            for index in 0..pages {
                assert_eq!(sites.index(sites.page(index)), index);
            }
            let len = |number: u32| sites.table[number as usize].len;
            let mirrored =
                |site: &SyntheticSite| matches!(site.kind, SiteKind::Mirror(of) if len(of) == site.len);
            assert!(sites.table.iter().any(mirrored), "{pages} pages have a mirror");
            assert_eq!(sites.islands.len(), 6);
        }
    }

    #[test]
    fn a_topic_can_have_most_of_its_pages_on_one_site() {
        for (largest_site, expected) in [(0.0, 0.0..0.2), (0.6, 0.5..0.7)] {
            let params = SynthParams { pages: 50_000, largest_site, ..SynthParams::default() };
            let sites = SyntheticSites::new(&params, &Atlas::new()).unwrap();
            let mut shares: Vec<f64> = Vec::new();
            for of_leaf in &sites.by_leaf {
                let lens: Vec<u32> = of_leaf.iter().map(|site| sites.table[*site as usize].len).collect();
                let largest = lens.iter().copied().max().unwrap();
                shares.push(f64::from(largest) / f64::from(lens.iter().sum::<u32>()));
            }
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            assert!(expected.contains(&mean), "{largest_site}: {mean}");
        }
    }
}
