//! Correction for inflated endorsement (Bharat and Henzinger; V 2.2.2): links of many pages of one site to one page
//! count as one link.

use std::collections::BTreeSet;
use std::ops::Range;

use rayon::prelude::*;

use crate::DistillGraph;
use crate::csr::{Csr, by_work, split};

/// Counts below this are their own codes.
const PLAIN: u32 = 1 << 15;

/// Code for the number of links between one site and one page. It takes two bytes per link, and stands for the inverse of
/// the number at double precision.
pub(crate) type Code = u16;

/// The code of 1, which changes nothing.
pub(crate) const ONE: Code = 1;

/// The codes of all links. Counts from [`PLAIN`] on get the codes above it: with at most 2^30 links there are fewer
/// distinct large counts than such codes.
pub(crate) struct Inflation {
    /// Start of each page's codes: the pages of a site are contiguous.
    starts: Vec<u32>,
    /// Codes of k, the number of pages of the source's site that link to the target.
    codes: Vec<Code>,
    /// The large values of l, which need special codes, ascending.
    large: Vec<u32>,
    /// Inverse of the count by code, for k and for l.
    factors: [Vec<f64>; 2],
}

impl Inflation {
    /// Counts, for every link, the pages of the source's site that link to its target.
    pub(crate) fn new(graph: &DistillGraph) -> Inflation {
        let rows = graph.out();
        let pages = pages_of_sites(graph);
        let (starts, site_starts) = starts(rows, &pages);
        let large = large_counts(rows, &pages);
        let mut codes = vec![0; rows.len()];
        // More parts than cores, because links take different times.
        let parts = by_work(&site_starts, 4 * rayon::current_num_threads());
        let parts = split(&mut codes, &site_starts, &parts);
        parts.into_par_iter().for_each(|(sites, codes)| fill(rows, &pages, sites, &large, codes));
        let largest = (0..pages.rows()).map(|site| pages.row(site).len()).max().unwrap_or(0);
        let large_to_sites = large_counts_to_sites(graph);
        let factors = [factors(largest, &large), factors(largest, &large_to_sites)];
        Inflation { starts, codes, large: large_to_sites, factors }
    }

    /// The codes of k for a page's links.
    pub(crate) fn row(&self, page: u32, length: usize) -> &[Code] {
        let start = self.starts[page as usize] as usize;
        &self.codes[start..start + length]
    }

    /// The codes of l for a page's links: the number of pages of the target's site that the page links to.
    pub(crate) fn count<'a>(
        &'a self,
        graph: &'a DistillGraph,
        row: &'a [u32],
        counter: &'a mut SiteCounter,
    ) -> impl Iterator<Item = Code> + 'a {
        counter.count(graph, row);
        row.iter().map(|target| code(counter.0[graph.site(*target) as usize], &self.large))
    }

    /// Inverse counts by code, of k and of l.
    pub(crate) fn take_factors(&mut self) -> [Vec<f64>; 2] {
        std::mem::take(&mut self.factors)
    }
}

/// Number of pages of each site that a page links to. Only the sites of the page counted last are valid.
pub(crate) struct SiteCounter(Vec<u32>);

impl SiteCounter {
    pub(crate) fn new(graph: &DistillGraph) -> SiteCounter {
        SiteCounter(vec![0; graph.site_count()])
    }

    fn count(&mut self, graph: &DistillGraph, row: &[u32]) {
        row.iter().for_each(|target| self.0[graph.site(*target) as usize] = 0);
        row.iter().for_each(|target| self.0[graph.site(*target) as usize] += 1);
    }
}

/// Inverse counts by code, for counts up to `largest`.
fn factors(largest: usize, large: &[u32]) -> Vec<f64> {
    let plain = 0..PLAIN.min(largest as u32 + 1);
    // There is no count 0; treating it as 1 is harmless.
    plain.chain(large.iter().copied()).map(|count| f64::from(count.max(1)).recip()).collect()
}

/// Values of l that need special codes, ascending. Only pages with very many links have them.
fn large_counts_to_sites(graph: &DistillGraph) -> Vec<u32> {
    let mut counter = SiteCounter::new(graph);
    let mut found = BTreeSet::new();
    let rows = (0..graph.pages() as u32).map(|page| graph.targets(page));
    for row in rows.filter(|row| row.len() >= PLAIN as usize) {
        counter.count(graph, row);
        let counts = row.iter().map(|target| counter.0[graph.site(*target) as usize]);
        found.extend(counts.filter(|count| *count >= PLAIN));
    }
    found.into_iter().collect()
}

/// The pages of every site.
fn pages_of_sites(graph: &DistillGraph) -> Csr {
    let mut degrees = vec![0; graph.site_count()];
    graph.sites().iter().for_each(|site| degrees[*site as usize] += 1);
    let mut pages = Csr::of_degrees(degrees.into_iter());
    let (starts, columns) = pages.places();
    let mut next = starts.to_vec();
    for (page, site) in graph.sites().iter().enumerate() {
        columns[next[*site as usize] as usize] = page as u32;
        next[*site as usize] += 1;
    }
    pages
}

/// Starts of links by page, and by site.
fn starts(rows: &Csr, pages: &Csr) -> (Vec<u32>, Vec<u32>) {
    let mut by_page = vec![0; rows.rows()];
    let mut by_site = Vec::with_capacity(pages.rows() + 1);
    let mut end = 0;
    for site in 0..pages.rows() {
        by_site.push(end);
        for page in pages.row(site) {
            by_page[*page as usize] = end;
            end += rows.row(*page as usize).len() as u32;
        }
    }
    by_site.push(end);
    (by_page, by_site)
}

/// Values of k that need special codes, ascending. Only huge sites have them.
fn large_counts(rows: &Csr, pages: &Csr) -> Vec<u32> {
    let huge = (0..pages.rows()).filter(|site| pages.row(*site).len() >= PLAIN as usize);
    let mut found = BTreeSet::new();
    for site in huge {
        let mut counter = vec![0; rows.rows()];
        columns(rows, pages.row(site)).for_each(|column| counter[column as usize] += 1);
        found.extend(counter.into_iter().filter(|count| *count >= PLAIN));
    }
    found.into_iter().collect()
}

fn fill(rows: &Csr, pages: &Csr, sites: Range<usize>, large: &[u32], mut codes: &mut [Code]) {
    let mut counter = vec![0_u32; rows.rows()];
    for site in sites {
        let pages = pages.row(site);
        let length = pages.iter().map(|page| rows.row(*page as usize).len()).sum();
        let (part, rest) = codes.split_at_mut(length);
        codes = rest;
        if pages.len() == 1 {
            part.fill(1);
            continue;
        }
        columns(rows, pages).for_each(|column| counter[column as usize] += 1);
        let counted = columns(rows, pages).map(|column| code(counter[column as usize], large));
        part.iter_mut().zip(counted).for_each(|(place, code)| *place = code);
        columns(rows, pages).for_each(|column| counter[column as usize] = 0);
    }
}

fn columns(rows: &Csr, pages: &[u32]) -> impl Iterator<Item = u32> {
    pages.iter().flat_map(|page| rows.row(*page as usize)).copied()
}

fn code(count: u32, large: &[u32]) -> Code {
    if count < PLAIN {
        return count as Code;
    }
    (PLAIN as usize + large.partition_point(|other| *other < count)) as Code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DistillNode;

    #[test]
    fn large_counts_keep_their_precision() {
        // To page 0 link 40,000 and 50,000 pages of two sites and 3 of a third, to page 1 one less of the first.
        let site = |page: u64| u64::from(page > 1) + u64::from(page > 40_001) + u64::from(page > 90_001);
        let nodes: Vec<DistillNode> =
            (0..90_005).map(|page| DistillNode { site: site(page), relevance: 1.0, fetched: true }).collect();
        let mut links: Vec<(u32, u32)> = (2..90_005).map(|page| (page, 0)).collect();
        links.extend((3..40_002).map(|page| (page, 1)));
        let graph = DistillGraph::new(&nodes, &links, |link| *link).unwrap();
        let inflation = Inflation::new(&graph);
        let count = |page: u32, at: usize| {
            let code = inflation.row(page, graph.targets(page).len())[at];
            inflation.factors[0][usize::from(code)].recip().round()
        };
        let found = [count(2, 0), count(40_001, 0), count(40_001, 1), count(40_002, 0), count(90_004, 0)];
        assert_eq!(found, [40_000.0, 40_000.0, 39_999.0, 50_000.0, 3.0]);
        // No page links to two pages of a site except those that link to both.
        let mut counter = SiteCounter::new(&graph);
        let mut factors = |page: u32| -> Vec<f64> {
            let codes = inflation.count(&graph, graph.targets(page), &mut counter);
            codes.map(|code| inflation.factors[1][usize::from(code)]).collect()
        };
        assert_eq!([factors(2), factors(3), factors(90_004)], [vec![1.0], vec![0.5, 0.5], vec![1.0]]);
    }

    #[test]
    fn a_page_may_link_to_very_many_pages_of_a_site() {
        let nodes: Vec<DistillNode> = (0..70_003)
            .map(|page| DistillNode {
                site: u64::from(page > 0) + u64::from(page > 70_000),
                relevance: 1.0,
                fetched: true,
            })
            .collect();
        let links: Vec<(u32, u32)> = (1..70_003).map(|page| (0, page)).collect();
        let graph = DistillGraph::new(&nodes, &links, |link| *link).unwrap();
        let (inflation, mut counter) = (Inflation::new(&graph), SiteCounter::new(&graph));
        let codes: Vec<Code> = inflation.count(&graph, graph.targets(0), &mut counter).collect();
        let counts = [codes[0], codes[69_999], codes[70_000]]
            .map(|code| inflation.factors[1][usize::from(code)].recip());
        assert_eq!(counts.map(f64::round), [70_000.0, 70_000.0, 2.0]);
    }
}
