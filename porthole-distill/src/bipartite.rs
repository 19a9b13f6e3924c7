//! The part of the graph that contributes to scores: hubs on one side, authorities on the other, and only links that
//! count.

use std::ops::Range;

use crate::DistillGraph;
use crate::csr::Csr;
use crate::inflation::{Inflation, SiteCounter};
use crate::options::PageWeights;
use crate::product::{BlockPosition, Blocks, Stripe, Tiles};

/// Marks a page that is not on this side. No site has this number.
const NONE: u32 = u32::MAX;

/// Hubs and authorities. Links are processed hub by hub, so hubs keep their order; authorities are numbered by
/// decreasing degree, so that those accessed most are adjacent in memory.
pub(crate) struct Bipartite {
    pub(crate) hubs: GraphSide,
    pub(crate) authorities: GraphSide,
    /// Links from hubs to authorities.
    pub(crate) links: Tiles,
}

/// Pages that may have a positive score.
pub(crate) struct GraphSide {
    /// Page numbers.
    pub(crate) pages: Vec<u32>,
    /// Weight of each page's links.
    pub(crate) weights: Vec<f64>,
}

impl Bipartite {
    pub(crate) fn new(graph: &DistillGraph, weights: &PageWeights, correct_inflation: bool) -> Bipartite {
        let (hub_sites, authority_sites) =
            rayon::join(|| sites_of(graph, &weights.rev), || sites_of(graph, &weights.fwd));
        let (hubs, authorities) = rayon::join(
            || Numbering::new(graph.out(), &hub_sites, in_order),
            || Numbering::new(graph.back(), &authority_sites, by_falling_degree),
        );
        let inflation = correct_inflation.then(|| Inflation::new(graph));
        let links = BipartiteLinks { graph, from: &hubs, to: &authorities, inflation }.tiles();
        Bipartite { hubs: hubs.side(&weights.rev), authorities: authorities.side(&weights.fwd), links }
    }
}

/// Site of each page with a weight.
fn sites_of(graph: &DistillGraph, weights: &[f64]) -> Vec<u32> {
    let site = |(site, weight): (&u32, &f64)| if *weight > 0.0 { *site } else { NONE };
    graph.sites().iter().zip(weights).map(site).collect()
}

/// The pages of a side, and their positions in its vector.
struct Numbering {
    /// Pages by their new number.
    pages: Vec<u32>,
    /// Number of links of each page, whether or not they count.
    degrees: Vec<u32>,
    /// Site and position by page.
    places: Vec<(u32, BlockPosition)>,
}

impl Numbering {
    /// Selects the pages with a weight and links. Some of them may have no link that counts; checking that would take
    /// longer than their entries cost.
    fn new(rows: &Csr, sites: &[u32], order: fn(&[u32]) -> Vec<u32>) -> Numbering {
        let degree = |page: usize| if sites[page] == NONE { 0 } else { rows.row(page).len() as u32 };
        let degrees: Vec<u32> = (0..rows.rows()).map(degree).collect();
        let pages = order(&degrees);
        let degrees: Vec<u32> = pages.iter().map(|page| degrees[*page as usize]).collect();
        let mut places = vec![(NONE, BlockPosition { block: 0, offset: 0 }); sites.len()];
        for (block, range) in Blocks::new(&degrees).ranges().iter().enumerate() {
            for (offset, page) in pages[range.clone()].iter().enumerate() {
                let place = BlockPosition { block: block as u16, offset: offset as u16 };
                places[*page as usize] = (sites[*page as usize], place);
            }
        }
        Numbering { pages, degrees, places }
    }

    fn side(self, weights: &[f64]) -> GraphSide {
        let weights = self.pages.iter().map(|page| weights[*page as usize]).collect();
        GraphSide { pages: self.pages, weights }
    }
}

/// Indices of positive degrees.
fn in_order(degrees: &[u32]) -> Vec<u32> {
    (0..).zip(degrees).filter(|(_, degree)| **degree > 0).map(|(page, _)| page).collect()
}

/// Indices of positive degrees, highest first, in linear time; ties keep their order.
fn by_falling_degree(degrees: &[u32]) -> Vec<u32> {
    let highest = degrees.iter().copied().max().unwrap_or(0) as usize;
    let mut next = vec![0_u32; highest + 1];
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

/// Links from hubs to authorities.
struct BipartiteLinks<'a> {
    graph: &'a DistillGraph,
    from: &'a Numbering,
    to: &'a Numbering,
    inflation: Option<Inflation>,
}

impl BipartiteLinks<'_> {
    fn tiles(mut self) -> Tiles {
        let factors = self.inflation.as_mut().map(Inflation::take_factors);
        Tiles::new(&self.from.degrees, &self.to.degrees, factors, |range, stripe| self.fill(range, stripe))
    }

    /// Adds the counted links of some hubs to their tiles.
    fn fill(&self, range: Range<usize>, stripe: &mut Stripe) {
        let mut counter = self.inflation.as_ref().map(|_| SiteCounter::new(self.graph));
        for (source, page) in self.from.pages[range].iter().enumerate() {
            self.push(*page, source as u16, counter.as_mut(), stripe);
        }
    }

    fn push(&self, page: u32, source: u16, counter: Option<&mut SiteCounter>, stripe: &mut Stripe) {
        let own = self.graph.site(page);
        let row = self.graph.targets(page);
        let place = |target: &u32| {
            let (site, place) = self.to.places[*target as usize];
            (site != NONE && site != own).then_some(place)
        };
        if let (Some(inflation), Some(counter)) = (&self.inflation, counter) {
            let codes = inflation.row(page, row.len()).iter().zip(inflation.count(self.graph, row, counter));
            for (target, (k, l)) in row.iter().zip(codes) {
                if let Some(place) = place(target) {
                    stripe.push_coded(place, source, [*k, l]);
                }
            }
        } else {
            row.iter().filter_map(place).for_each(|place| stripe.push(place, source));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_are_descending_and_ties_keep_their_order() {
        assert_eq!(by_falling_degree(&[1, 0, 7, 1, 2, 7, 0]), [2, 5, 4, 0, 3]);
        assert!(by_falling_degree(&[0, 0]).is_empty());
        assert!(by_falling_degree(&[]).is_empty());
    }
}
