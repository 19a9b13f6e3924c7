//! The part of the graph in which prestige flows: hubs on one side, authorities on the other, and between them only
//! links that count.

use rayon::prelude::*;

use crate::Graph;
use crate::csr::{Csr, by_work, split};
use crate::inflation::{Code, Codes, Counter};
use crate::options::PageWeights;
use crate::product::Matrix;

/// Not on this side of the graph. No site has this number.
const NONE: u32 = u32::MAX;

/// Hubs and authorities, each numbered by falling degree: the ones that are looked up most lie side by side.
pub(crate) struct Bipartite {
    pub(crate) hubs: Side,
    pub(crate) authorities: Side,
}

/// Pages that may have a score above 0.
pub(crate) struct Side {
    /// Which pages these are.
    pub(crate) pages: Vec<u32>,
    /// What each one's links weigh.
    pub(crate) weights: Vec<f64>,
    /// Their links, to the other side.
    pub(crate) links: Matrix,
}

impl Bipartite {
    pub(crate) fn new(graph: &Graph, weights: &PageWeights, correct_inflation: bool) -> Bipartite {
        let (hub_sites, authority_sites) = (sites_of(graph, &weights.rev), sites_of(graph, &weights.fwd));
        let hubs = Numbering::new(graph.out(), &hub_sites, &authority_sites);
        let authorities = Numbering::new(graph.back(), &authority_sites, &hub_sites);
        let matrix = |rows: &Csr, from: &Numbering, to: &Numbering| {
            let codes = correct_inflation.then(|| Codes::new(rows, graph.sites(), graph.site_count()));
            fill(graph, rows, from, to, codes)
        };
        let out = matrix(graph.out(), &hubs, &authorities);
        let back = matrix(graph.back(), &authorities, &hubs);
        Bipartite { hubs: hubs.side(&weights.rev, out), authorities: authorities.side(&weights.fwd, back) }
    }
}

/// The site of each page that has a weight.
fn sites_of(graph: &Graph, weights: &[f64]) -> Vec<u32> {
    let site = |(site, weight): (&u32, &f64)| if *weight > 0.0 { *site } else { NONE };
    graph.sites().iter().zip(weights).map(site).collect()
}

/// Which pages are on a side, and which numbers they have there.
struct Numbering {
    /// By number.
    pages: Vec<u32>,
    degrees: Vec<u32>,
    /// By page: site and number.
    places: Vec<(u32, u32)>,
}

impl Numbering {
    /// Takes the pages that have a weight, and a link that counts to one of the other side.
    fn new(rows: &Csr, sites: &[u32], others: &[u32]) -> Numbering {
        let counts = |site: u32, other: &&u32| {
            let other = others[**other as usize];
            other != NONE && other != site
        };
        let degree = |page: usize| match sites[page] {
            NONE => 0,
            site => rows.row(page).iter().filter(|other| counts(site, other)).count() as u32,
        };
        let degrees: Vec<u32> = (0..rows.rows()).into_par_iter().with_min_len(1 << 12).map(degree).collect();
        let pages = by_falling_degree(&degrees);
        let mut places = vec![(NONE, NONE); sites.len()];
        for (number, page) in pages.iter().enumerate() {
            places[*page as usize] = (sites[*page as usize], number as u32);
        }
        let degrees = pages.iter().map(|page| degrees[*page as usize]).collect();
        Numbering { pages, degrees, places }
    }

    fn side(self, weights: &[f64], links: Matrix) -> Side {
        let weights = self.pages.iter().map(|page| weights[*page as usize]).collect();
        Side { pages: self.pages, weights, links }
    }
}

/// The numbers of those above 0, in linear time; equal ones keep their order.
fn by_falling_degree(degrees: &[u32]) -> Vec<u32> {
    let highest = degrees.iter().copied().max().unwrap_or(0) as usize;
    let mut next = vec![0_u32; highest + 2];
    for degree in degrees {
        next[*degree as usize] += 1;
    }
    let mut before = 0;
    for count in next[1..].iter_mut().rev() {
        before += std::mem::replace(count, before);
    }
    let mut pages = vec![0; before as usize];
    for (page, degree) in degrees.iter().enumerate().filter(|(_, degree)| **degree > 0) {
        let place = &mut next[*degree as usize];
        pages[*place as usize] = page as u32;
        *place += 1;
    }
    pages
}

fn fill(graph: &Graph, rows: &Csr, from: &Numbering, to: &Numbering, codes: Option<Codes>) -> Matrix {
    let mut kept = Csr::of_degrees(from.degrees.iter().copied());
    let mut kept_codes: Vec<Code> = vec![0; if codes.is_some() { kept.len() } else { 0 }];
    let (starts, columns) = kept.places();
    // More parts than cores, since not every link takes the same time.
    let ranges = by_work(starts, 4 * rayon::current_num_threads());
    let columns = split(columns, starts, &ranges);
    let job = |range| Job { graph, rows, from, to, range };
    match &codes {
        None => columns.into_par_iter().for_each(|(range, columns)| job(range).fill(columns)),
        Some(codes) => {
            let parts = columns.into_par_iter().zip(split(&mut kept_codes, starts, &ranges));
            parts.for_each(|((range, columns), (_, places))| job(range).fill_both(columns, codes, places));
        }
    }
    Matrix::new(kept, kept_codes, codes.map_or_else(Vec::new, Codes::into_reciprocals))
}

/// A range of rows to fill.
struct Job<'a> {
    graph: &'a Graph,
    rows: &'a Csr,
    from: &'a Numbering,
    to: &'a Numbering,
    range: std::ops::Range<usize>,
}

impl Job<'_> {
    fn fill(&self, columns: &mut [u32]) {
        let mut places = columns.iter_mut();
        for page in &self.from.pages[self.range.clone()] {
            let numbers = self.counting(*page).map(|(_, number)| number);
            numbers.zip(&mut places).for_each(|(number, place)| *place = number);
        }
    }

    fn fill_both(&self, columns: &mut [u32], codes: &Codes, codes_of: &mut [Code]) {
        let sites = self.graph.sites();
        let mut counter = Counter::new(self.graph.site_count());
        let mut places = columns.iter_mut().zip(codes_of);
        for page in &self.from.pages[self.range.clone()] {
            let row = self.rows.row(*page as usize);
            counter.count(row, sites);
            for (site, number) in self.counting(*page) {
                let (column, code) = places.next().expect("as many places as links were counted");
                (*column, *code) = (number, counter.code(codes, site));
            }
            counter.forget(row, sites);
        }
    }

    /// Site and number of the pages to which there is a link that counts.
    fn counting(&self, page: u32) -> impl Iterator<Item = (u32, u32)> {
        let own = self.graph.site(page);
        let places = self.rows.row(page as usize).iter().map(|other| self.to.places[*other as usize]);
        places.filter(move |(site, _)| *site != NONE && *site != own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_fall_and_equal_ones_keep_their_order() {
        assert_eq!(by_falling_degree(&[1, 0, 7, 1, 2, 7, 0]), [2, 5, 4, 0, 3]);
        assert!(by_falling_degree(&[0, 0]).is_empty());
        assert!(by_falling_degree(&[]).is_empty());
    }
}
