//! Relevance-weighted HITS (W 3.2, V 2.2): good hubs link to good authorities, and vice versa.

use crate::bipartite::{Bipartite, GraphSide};
use crate::options::PageWeights;
use crate::product::normalise;
use crate::{DistillGraph, DistillOptions, Error, check_length};

/// A graph with options: link weights, and the pages that may be authorities.
pub struct HitsDistiller<'a> {
    pub(crate) graph: &'a DistillGraph,
    pub(crate) options: DistillOptions<'a>,
    pub(crate) weights: PageWeights,
}

/// Scores of all pages, by number. Each side sums to 1, or is 0 everywhere if no link counts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HitsScores {
    /// Hub scores.
    pub hubs: Vec<f64>,
    /// Authority scores.
    pub authorities: Vec<f64>,
    /// Number of iterations.
    pub iterations: usize,
    /// Sum of the absolute changes in the last iteration, of hubs or authorities, whichever is larger.
    pub change: f64,
    /// Whether the change was within the tolerance.
    pub converged: bool,
}

impl<'a> HitsDistiller<'a> {
    /// Computes the link weights of a graph.
    ///
    /// # Errors
    /// If a factor vector does not have one value per page.
    pub fn new(graph: &'a DistillGraph, options: DistillOptions<'a>) -> Result<HitsDistiller<'a>, Error> {
        for (what, factors) in [("factors", options.factors), ("hub factors", options.hub_factors)] {
            factors.map_or(Ok(()), |factors| check_length(what, factors, graph.pages()))?;
        }
        Ok(HitsDistiller { graph, options, weights: PageWeights::new(graph, &options) })
    }

    /// Relevance that a page must exceed to be an authority.
    pub fn rho(&self) -> f64 {
        self.weights.rho
    }

    /// Computes hubs and authorities, on all cores.
    pub fn scores(&self) -> HitsScores {
        let sides = Bipartite::new(self.graph, &self.weights, self.options.correct_inflation);
        let mut state = HitsState::new(&sides);
        let nothing_counts = state.hubs.iter().all(|score| *score == 0.0);
        let (mut iterations, mut change) = (0, if nothing_counts { 0.0 } else { f64::INFINITY });
        while change > self.options.tolerance && iterations < self.options.max_iterations {
            change = state.iterate(&sides);
            iterations += 1;
        }
        let pages = self.graph.pages();
        let (hubs, authorities) = rayon::join(
            || spread(&sides.hubs, &state.hubs, pages),
            || spread(&sides.authorities, &state.authorities, pages),
        );
        HitsScores { hubs, authorities, iterations, change, converged: change <= self.options.tolerance }
    }
}

/// Scores of the pages that may have one, and buffers for the next ones.
struct HitsState {
    hubs: Vec<f64>,
    authorities: Vec<f64>,
    next_hubs: Vec<f64>,
    next_authorities: Vec<f64>,
}

impl HitsState {
    /// Starts with equal scores of all hubs with a counted link.
    fn new(sides: &Bipartite) -> HitsState {
        let (hubs, authorities) = (sides.hubs.pages.len(), sides.authorities.pages.len());
        let first = 1.0 / sides.links.linked().filter(|linked| *linked).count() as f64;
        HitsState {
            hubs: sides.links.linked().map(|linked| if linked { first } else { 0.0 }).collect(),
            authorities: vec![0.0; authorities],
            next_hubs: vec![0.0; hubs],
            next_authorities: vec![0.0; authorities],
        }
    }

    /// V Fig. 4: UpdateAuth, then UpdateHubs.
    fn iterate(&mut self, sides: &Bipartite) -> f64 {
        let Bipartite { hubs, authorities, links } = sides;
        let forward = |next: &mut [f64]| links.to_targets(&self.hubs, &authorities.weights, next);
        let moved = step(forward, &mut self.authorities, &mut self.next_authorities);
        let back = |next: &mut [f64]| links.to_sources(&self.authorities, &hubs.weights, next);
        moved.max(step(back, &mut self.hubs, &mut self.next_hubs))
    }
}

/// Computes the new scores of one side, whose sum `fill` returns, and returns their change.
fn step(fill: impl FnOnce(&mut [f64]) -> f64, scores: &mut Vec<f64>, next: &mut Vec<f64>) -> f64 {
    let sum = fill(next);
    if !sum.is_normal() {
        // The weights are so far apart that their products underflow: no better scores can be computed.
        return 0.0;
    }
    let change = normalise(next, sum, scores);
    std::mem::swap(scores, next);
    change
}

fn spread(side: &GraphSide, scores: &[f64], pages: usize) -> Vec<f64> {
    let mut all = vec![0.0; pages];
    for (page, score) in side.pages.iter().zip(scores) {
        all[*page as usize] = *score;
    }
    all
}
