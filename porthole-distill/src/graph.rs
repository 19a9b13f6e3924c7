//! The link graph, in both directions.

use rayon::prelude::*;

use crate::Error;
use crate::csr::Csr;

/// Maximum number of pages and of links: positions and inflation counts are stored in 16 bits.
const MOST: usize = 1 << 30;

/// A page, as passed by the caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistillNode {
    /// Number of its site: its host, domain or address, as chosen by the caller.
    pub site: u64,
    /// R(d) if the page was judged. NaN and negative values count as 0, values above 1 as 1.
    pub relevance: f64,
    /// Whether the page was fetched and judged. A page with only an estimate is neither hub nor authority.
    pub fetched: bool,
}

/// Pages and the links between them. Duplicate links count once, links from a page to itself are ignored.
#[derive(Clone, Debug)]
pub struct DistillGraph {
    /// Site of each page, renumbered from 0.
    sites: Vec<u32>,
    site_count: usize,
    /// Judged relevance; 0 for pages that were not fetched.
    relevance: Vec<f64>,
    fetched: Vec<bool>,
    out: Csr,
    back: Csr,
}

impl DistillGraph {
    /// Builds the graph from its pages and its links in any order; `ends` returns source and target of a link.
    ///
    /// # Errors
    /// If a link names an unknown page, or there are too many pages or links.
    pub fn new<L: Sync>(
        nodes: &[DistillNode],
        links: &[L],
        ends: impl Fn(&L) -> (u32, u32) + Sync,
    ) -> Result<DistillGraph, Error> {
        check(nodes.len(), links, &ends)?;
        // The two directions are two jobs; each is divided further if there are more cores.
        let parts = rayon::current_num_threads().div_ceil(2);
        let turned = |link: &L| (ends(link).1, ends(link).0);
        let (out, back) = rayon::join(
            || Csr::of_pairs(nodes.len(), links, &ends, parts),
            || Csr::of_pairs(nodes.len(), links, turned, parts),
        );
        let (sites, site_count) = number_sites(nodes);
        let relevance = nodes.iter().map(judged).collect();
        let fetched = nodes.iter().map(|node| node.fetched).collect();
        Ok(DistillGraph { sites, site_count, relevance, fetched, out, back })
    }

    /// Number of pages.
    pub fn pages(&self) -> usize {
        self.sites.len()
    }

    /// Number of distinct links.
    pub fn links(&self) -> usize {
        self.out.len()
    }

    /// The pages that a page links to, ascending.
    pub fn targets(&self, page: u32) -> &[u32] {
        self.out.row(page as usize)
    }

    /// The pages that link to a page, ascending.
    pub fn sources(&self, page: u32) -> &[u32] {
        self.back.row(page as usize)
    }

    /// Whether the page was fetched and judged.
    pub fn fetched(&self, page: u32) -> bool {
        self.fetched[page as usize]
    }

    /// The judged relevance of a page; 0 if it was not fetched.
    pub fn relevance(&self, page: u32) -> f64 {
        self.relevance[page as usize]
    }

    /// Whether two pages are on one site: links between them do not count.
    pub fn same_site(&self, one: u32, other: u32) -> bool {
        self.site(one) == self.site(other)
    }

    pub(crate) fn site(&self, page: u32) -> u32 {
        self.sites[page as usize]
    }

    pub(crate) fn sites(&self) -> &[u32] {
        &self.sites
    }

    pub(crate) fn site_count(&self) -> usize {
        self.site_count
    }

    pub(crate) fn relevances(&self) -> &[f64] {
        &self.relevance
    }

    pub(crate) fn is_fetched(&self) -> &[bool] {
        &self.fetched
    }

    pub(crate) fn out(&self) -> &Csr {
        &self.out
    }

    pub(crate) fn back(&self) -> &Csr {
        &self.back
    }
}

fn check<L: Sync>(pages: usize, links: &[L], ends: impl Fn(&L) -> (u32, u32) + Sync) -> Result<(), Error> {
    let limits = [("pages", pages, MOST), ("links", links.len(), MOST)];
    for (what, found, limit) in limits {
        if found > limit {
            return Err(Error::TooMany { what, found, limit });
        }
    }
    let highest = |link: &L| ends(link).0.max(ends(link).1);
    match links.par_iter().position_first(|link| highest(link) as usize >= pages) {
        Some(link) => Err(Error::UnknownPage { link, page: highest(&links[link]), pages }),
        None => Ok(()),
    }
}

fn judged(node: &DistillNode) -> f64 {
    // NaN is not above 0.
    if node.fetched && node.relevance > 0.0 { node.relevance.min(1.0) } else { 0.0 }
}

/// Renumbers the sites from 0 in ascending order.
fn number_sites(nodes: &[DistillNode]) -> (Vec<u32>, usize) {
    let mut known: Vec<u64> = nodes.iter().map(|node| node.site).collect();
    known.par_sort_unstable();
    known.dedup();
    let number = |node: &DistillNode| known.partition_point(|site| *site < node.site) as u32;
    (nodes.par_iter().map(number).collect(), known.len())
}
