//! The link graph: who links to whom, both ways round.

use rayon::prelude::*;

use crate::Error;
use crate::csr::Csr;

/// Places and inflation are kept in 16 bits, which is enough for so many pages and links.
const MOST: usize = 1 << 30;

/// A page, as it is handed in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// What counts as its site: a number for its host, its domain or its address, as the caller has it.
    pub site: u64,
    /// R(d) if the page was judged. What is not a number or below 0 counts as 0, what is above 1 as 1.
    pub relevance: f64,
    /// Whether the page was fetched and judged. What is only believed of a page makes it neither hub nor authority.
    pub fetched: bool,
}

/// Pages and the links between them. A link that is there twice counts once, one from a page to itself not at all.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Site of each page, numbered anew from 0.
    sites: Vec<u32>,
    site_count: usize,
    /// Judged relevance; 0 for pages that were not fetched.
    relevance: Vec<f64>,
    fetched: Vec<bool>,
    out: Csr,
    back: Csr,
}

impl Graph {
    /// Builds the graph from its pages and its links in any order; `ends` says of a link from which page to which
    /// it goes.
    ///
    /// # Errors
    /// If a link names a page that is not there, or there is too much of it.
    pub fn new<L: Sync>(
        nodes: &[Node],
        links: &[L],
        ends: impl Fn(&L) -> (u32, u32) + Sync,
    ) -> Result<Graph, Error> {
        check(nodes.len(), links, &ends)?;
        // The two directions are two jobs; each is cut into more where there are more cores.
        let parts = rayon::current_num_threads().div_ceil(2);
        let turned = |link: &L| (ends(link).1, ends(link).0);
        let (out, back) = rayon::join(
            || Csr::of_pairs(nodes.len(), links, &ends, parts),
            || Csr::of_pairs(nodes.len(), links, turned, parts),
        );
        let (sites, site_count) = number_sites(nodes);
        let relevance = nodes.iter().map(judged).collect();
        let fetched = nodes.iter().map(|node| node.fetched).collect();
        Ok(Graph { sites, site_count, relevance, fetched, out, back })
    }

    /// How many pages there are.
    pub fn pages(&self) -> usize {
        self.sites.len()
    }

    /// How many different links there are.
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

    /// Whether two pages are on one site: links between them are nepotism.
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

fn judged(node: &Node) -> f64 {
    // Not a number is not above 0.
    if node.fetched && node.relevance > 0.0 { node.relevance.min(1.0) } else { 0.0 }
}

/// Numbers the sites from 0 in the order of the numbers handed in.
fn number_sites(nodes: &[Node]) -> (Vec<u32>, usize) {
    let mut known: Vec<u64> = nodes.iter().map(|node| node.site).collect();
    known.par_sort_unstable();
    known.dedup();
    let number = |node: &Node| known.partition_point(|site| *site < node.site) as u32;
    (nodes.par_iter().map(number).collect(), known.len())
}
