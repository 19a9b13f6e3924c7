//! The part of the graph in which prestige flows: hubs on one side, authorities on the other, and between them only
//! links that count.

use std::ops::Range;

use crate::Graph;
use crate::csr::Csr;
use crate::inflation::{Inflation, SiteCounter};
use crate::options::PageWeights;
use crate::product::{Blocks, Place, Stripe, Tiles};

/// Not on this side of the graph. No site has this number.
const NONE: u32 = u32::MAX;

/// Hubs and authorities. Links are worked through hub by hub, so that hubs may stay in their order; authorities are
/// numbered by falling degree: the ones that are looked up most lie side by side.
pub(crate) struct Bipartite {
    pub(crate) hubs: Side,
    pub(crate) authorities: Side,
    /// From hubs to authorities.
    pub(crate) links: Tiles,
}

/// Pages that may have a score above 0.
pub(crate) struct Side {
    /// Which pages these are.
    pub(crate) pages: Vec<u32>,
    /// What each one's links weigh.
    pub(crate) weights: Vec<f64>,
}

impl Bipartite {
    pub(crate) fn new(graph: &Graph, weights: &PageWeights, correct_inflation: bool) -> Bipartite {
        let (hub_sites, authority_sites) =
            rayon::join(|| sites_of(graph, &weights.rev), || sites_of(graph, &weights.fwd));
        let (hubs, authorities) = rayon::join(
            || Numbering::new(graph.out(), &hub_sites, in_order),
            || Numbering::new(graph.back(), &authority_sites, by_falling_degree),
        );
        let inflation = correct_inflation.then(|| Inflation::new(graph));
        let links = Links { graph, from: &hubs, to: &authorities, inflation }.tiles();
        Bipartite { hubs: hubs.side(&weights.rev), authorities: authorities.side(&weights.fwd), links }
    }
}

/// The site of each page that has a weight.
fn sites_of(graph: &Graph, weights: &[f64]) -> Vec<u32> {
    let site = |(site, weight): (&u32, &f64)| if *weight > 0.0 { *site } else { NONE };
    graph.sites().iter().zip(weights).map(site).collect()
}

/// Which pages are on a side, and where they are in its vector.
struct Numbering {
    /// By number.
    pages: Vec<u32>,
    /// How many links each has, whether or not they count.
    degrees: Vec<u32>,
    /// By page: site and place.
    places: Vec<(u32, Place)>,
}

impl Numbering {
    /// Takes the pages that have a weight and links. To see which links count would take longer than the places of
    /// those that have none are worth.
    fn new(rows: &Csr, sites: &[u32], order: fn(&[u32]) -> Vec<u32>) -> Numbering {
        let degree = |page: usize| if sites[page] == NONE { 0 } else { rows.row(page).len() as u32 };
        let degrees: Vec<u32> = (0..rows.rows()).map(degree).collect();
        let pages = order(&degrees);
        let degrees: Vec<u32> = pages.iter().map(|page| degrees[*page as usize]).collect();
        let mut places = vec![(NONE, Place { block: 0, offset: 0 }); sites.len()];
        for (block, range) in Blocks::new(&degrees).ranges().iter().enumerate() {
            for (offset, page) in pages[range.clone()].iter().enumerate() {
                let place = Place { block: block as u16, offset: offset as u16 };
                places[*page as usize] = (sites[*page as usize], place);
            }
        }
        Numbering { pages, degrees, places }
    }

    fn side(self, weights: &[f64]) -> Side {
        let weights = self.pages.iter().map(|page| weights[*page as usize]).collect();
        Side { pages: self.pages, weights }
    }
}

/// The numbers of those above 0.
fn in_order(degrees: &[u32]) -> Vec<u32> {
    (0..).zip(degrees).filter(|(_, degree)| **degree > 0).map(|(page, _)| page).collect()
}

/// The numbers of those above 0, the highest first, in linear time; equal ones keep their order.
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

/// The links of hubs to authorities.
struct Links<'a> {
    graph: &'a Graph,
    from: &'a Numbering,
    to: &'a Numbering,
    inflation: Option<Inflation>,
}

impl Links<'_> {
    fn tiles(mut self) -> Tiles {
        let factors = self.inflation.as_mut().map(Inflation::take_factors);
        Tiles::new(&self.from.degrees, &self.to.degrees, factors, |range, stripe| self.fill(range, stripe))
    }

    /// Puts the links of some hubs that count into their tiles.
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
    fn degrees_fall_and_equal_ones_keep_their_order() {
        assert_eq!(by_falling_degree(&[1, 0, 7, 1, 2, 7, 0]), [2, 5, 4, 0, 3]);
        assert!(by_falling_degree(&[0, 0]).is_empty());
        assert!(by_falling_degree(&[]).is_empty());
    }
}
