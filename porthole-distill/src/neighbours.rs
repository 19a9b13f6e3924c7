//! Estimates a page's relevance from its judged neighbours: the pages that link to it and those that it links to (W 3.1
//! has a hypertext classifier; `docs/decisions/neighbours.md` has the formula).

use crate::DistillGraph;

/// Number of sites of average relevance that are added to those of the neighbours, so that few neighbours are weak
/// evidence.
const SHRINKAGE: f64 = 2.0;

/// Weight of the neighbours' evidence relative to the text: they are linked by choice, so they are not independent.
const WEIGHT: f64 = 0.5;

/// Bound of the text's probability: a critic's probabilities are too close to 0 and 1.
const LEAST: f64 = 0.001;

/// The judged neighbours of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JudgedNeighbours {
    /// Number of sites they are on, including the page's own.
    pub sites: u32,
    /// Their R: the mean over the sites of the mean over the neighbours there, so that a site counts once, however many
    /// of its pages link.
    pub evidence: f64,
}

/// Computes the neighbours of pages.
pub struct Neighbourhoods<'a> {
    graph: &'a DistillGraph,
    base: f64,
    /// Buffer for the neighbours of one page, with their sites.
    found: Vec<(u32, u32)>,
}

impl<'a> Neighbourhoods<'a> {
    /// For a graph, whose mean relevance is the prior.
    pub fn new(graph: &'a DistillGraph) -> Self {
        let judged = graph.is_fetched().iter().filter(|fetched| **fetched).count();
        let sum: f64 = graph.relevances().iter().sum();
        Neighbourhoods { graph, base: if judged == 0 { 0.0 } else { sum / judged as f64 }, found: Vec::new() }
    }

    /// The judged neighbours of a page; `None` if there are none.
    pub fn of(&mut self, page: u32) -> Option<JudgedNeighbours> {
        let Neighbourhoods { graph, found, .. } = self;
        let both = graph.sources(page).iter().chain(graph.targets(page));
        let judged = both.filter(|neighbour| graph.fetched(**neighbour));
        found.clear();
        found.extend(judged.map(|neighbour| (graph.site(*neighbour), *neighbour)));
        found.sort_unstable();
        // A page linked in both directions is one neighbour.
        found.dedup();
        let voices = found.chunk_by(|one, other| one.0 == other.0).map(|site| {
            let sum: f64 = site.iter().map(|(_, page)| graph.relevance(*page)).sum();
            sum / site.len() as f64
        });
        let (sites, sum) = voices.fold((0, 0.0), |(sites, sum), voice| (sites + 1, sum + voice));
        (sites > 0).then(|| JudgedNeighbours { sites, evidence: sum / f64::from(sites) })
    }

    /// Relevance of a page whose text alone gives `own`, combined with its neighbours: half of the prior log odds in
    /// its R is replaced by the log odds among its neighbours.
    pub fn relevance(&self, own: f64, neighbours: &JudgedNeighbours) -> f64 {
        let sites = f64::from(neighbours.sites);
        let among = (neighbours.evidence * sites + self.base * SHRINKAGE) / (sites + SHRINKAGE);
        let odds = log_odds(own) + WEIGHT * (log_odds(among) - log_odds(self.base));
        1.0 / (1.0 + (-odds).exp())
    }
}

fn log_odds(probability: f64) -> f64 {
    let probability = probability.clamp(LEAST, 1.0 - LEAST);
    (probability / (1.0 - probability)).ln()
}
