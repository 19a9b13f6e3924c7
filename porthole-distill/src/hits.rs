//! Relevance-weighted HITS (W 3.2, V 2.2): good hubs point to good authorities, and the other way round.

use crate::bipartite::{Bipartite, Side};
use crate::options::PageWeights;
use crate::product::normalise;
use crate::{Error, Graph, Options, check_length};

/// A graph, seen under options: what each page's links weigh, and who may be an authority.
pub struct Distiller<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) options: Options<'a>,
    pub(crate) weights: PageWeights,
}

/// Scores of all pages, by number. Each side sums to 1, or is 0 throughout if no link counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// Hub scores.
    pub hubs: Vec<f64>,
    /// Authority scores.
    pub authorities: Vec<f64>,
    /// How many iterations it took.
    pub iterations: usize,
    /// By how much hubs or authorities, whichever moved more, changed in the last one, all changes added up.
    pub change: f64,
    /// Whether that was little enough.
    pub converged: bool,
}

impl<'a> Distiller<'a> {
    /// Weighs the links of a graph.
    ///
    /// # Errors
    /// If there is not a factor for every page.
    pub fn new(graph: &'a Graph, options: Options<'a>) -> Result<Distiller<'a>, Error> {
        for (what, factors) in [("factors", options.factors), ("hub factors", options.hub_factors)] {
            factors.map_or(Ok(()), |factors| check_length(what, factors, graph.pages()))?;
        }
        Ok(Distiller { graph, options, weights: PageWeights::new(graph, &options) })
    }

    /// Only pages that are more relevant than this may be authorities.
    pub fn rho(&self) -> f64 {
        self.weights.rho
    }

    /// Finds hubs and authorities, on all cores.
    pub fn scores(&self) -> Scores {
        let sides = Bipartite::new(self.graph, &self.weights, self.options.correct_inflation);
        let mut state = State::new(&sides);
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
        Scores { hubs, authorities, iterations, change, converged: change <= self.options.tolerance }
    }
}

/// The scores of those that may have one, and room for the next ones.
struct State {
    hubs: Vec<f64>,
    authorities: Vec<f64>,
    next_hubs: Vec<f64>,
    next_authorities: Vec<f64>,
}

impl State {
    /// All hubs that have a link that counts are alike at first.
    fn new(sides: &Bipartite) -> State {
        let (hubs, authorities) = (sides.hubs.pages.len(), sides.authorities.pages.len());
        let first = 1.0 / sides.links.linked().filter(|linked| *linked).count() as f64;
        State {
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

/// Gives one side its new scores, whose sum `fill` tells, and returns by how much they changed.
fn step(fill: impl FnOnce(&mut [f64]) -> f64, scores: &mut Vec<f64>, next: &mut Vec<f64>) -> f64 {
    let sum = fill(next);
    if !sum.is_normal() {
        // Weights so far apart that their products have no number: no better scores can be found.
        return 0.0;
    }
    let change = normalise(next, sum, scores);
    std::mem::swap(scores, next);
    change
}

fn spread(side: &Side, scores: &[f64], pages: usize) -> Vec<f64> {
    let mut all = vec![0.0; pages];
    for (page, score) in side.pages.iter().zip(scores) {
        all[*page as usize] = *score;
    }
    all
}
