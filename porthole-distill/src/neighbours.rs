//! What the neighbours of a page say of its relevance: the pages that link to it and those that it links to, as far as
//! they were judged (W 3.1 has a hypertext classifier; `docs/decisions/neighbours.md` has the formula).

use crate::Graph;

/// As many sites that are as good as the average of all pages are added to those of the neighbours, so that few
/// neighbours say little.
const SHRINKAGE: f64 = 2.0;

/// What neighbours say weighs so much beside the text: they were chosen because they are linked, and are no independent
/// witnesses.
const WEIGHT: f64 = 0.5;

/// No text makes more certain than this: a critic's probabilities are too near to 0 and 1.
const LEAST: f64 = 0.001;

/// The judged neighbours of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Neighbours {
    /// How many sites they are on, the page's own included.
    pub sites: u32,
    /// Their R: the mean over the sites of the mean over the neighbours there. A site has one voice, however many of its
    /// pages link to one.
    pub evidence: f64,
}

/// Looks at the neighbours of pages.
pub struct Neighbourhoods<'a> {
    graph: &'a Graph,
    base: f64,
    /// Room for the neighbours of one page, by site.
    found: Vec<(u32, u32)>,
}

impl<'a> Neighbourhoods<'a> {
    /// Of a graph, whose pages are its measure of what is usual.
    pub fn new(graph: &'a Graph) -> Self {
        let judged = graph.is_fetched().iter().filter(|fetched| **fetched).count();
        let sum: f64 = graph.relevances().iter().sum();
        Neighbourhoods { graph, base: if judged == 0 { 0.0 } else { sum / judged as f64 }, found: Vec::new() }
    }

    /// The neighbours of a page that were judged; `None` if there are none.
    pub fn of(&mut self, page: u32) -> Option<Neighbours> {
        let Neighbourhoods { graph, found, .. } = self;
        let both = graph.sources(page).iter().chain(graph.targets(page));
        let judged = both.filter(|neighbour| graph.fetched(**neighbour));
        found.clear();
        found.extend(judged.map(|neighbour| (graph.site(*neighbour), *neighbour)));
        found.sort_unstable();
        // One that links and is linked to is one neighbour.
        found.dedup();
        let voices = found.chunk_by(|one, other| one.0 == other.0).map(|site| {
            let sum: f64 = site.iter().map(|(_, page)| graph.relevance(*page)).sum();
            sum / site.len() as f64
        });
        let (sites, sum) = voices.fold((0, 0.0), |(sites, sum), voice| (sites + 1, sum + voice));
        (sites > 0).then(|| Neighbours { sites, evidence: sum / f64::from(sites) })
    }

    /// The relevance of a page whose text alone gives it `own`, after what its neighbours say: the odds of the usual page
    /// in its R give way, by half, to the odds among its neighbours.
    pub fn relevance(&self, own: f64, neighbours: &Neighbours) -> f64 {
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
