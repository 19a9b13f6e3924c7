//! Options of a distillation.

use crate::DistillGraph;

/// Which pages may be authorities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rho {
    /// The most relevant share of the judged pages; W 3.2 takes 0.1 to 0.2. Pages as relevant as the last of them are
    /// included.
    Share(f64),
    /// Pages with a relevance above this (V Fig. 4).
    Above(f64),
    /// All pages with a positive relevance.
    All,
}

/// How to distil.
#[derive(Clone, Copy, Debug)]
pub struct DistillOptions<'a> {
    /// Which pages may be authorities. Hubs are not restricted.
    pub rho: Rho,
    /// Whether k links from pages of one site to one page weigh 1/k each, and l links from one page to pages of one
    /// site 1/l each (Bharat and Henzinger; V 2.2.2).
    pub correct_inflation: bool,
    /// A factor per page from user feedback: 0 for useless, above 1 for useful. It multiplies the page's relevance in
    /// both steps, and does not change which pages may be authorities.
    pub factors: Option<&'a [f64]>,
    /// A factor per page from user feedback on its links, for the hub step only.
    pub hub_factors: Option<&'a [f64]>,
    /// Stop when neither hubs nor authorities changed by more than this in an iteration, as a sum of absolute changes.
    pub tolerance: f64,
    /// Maximum number of iterations.
    pub max_iterations: usize,
}

impl Default for DistillOptions<'_> {
    fn default() -> Self {
        DistillOptions {
            rho: Rho::Share(0.15),
            correct_inflation: true,
            factors: None,
            hub_factors: None,
            tolerance: 1e-9,
            max_iterations: 200,
        }
    }
}

/// Weights of a page's links in both steps, without the correction for inflation: E_F[u,v] depends only on v, E_B[u,v]
/// only on u (W 3.2).
pub(crate) struct PageWeights {
    /// Weight of links to each page in the authority step; 0 if it may not be an authority.
    pub(crate) fwd: Vec<f64>,
    /// Weight of links of each page in the hub step.
    pub(crate) rev: Vec<f64>,
    /// Relevance that a page must exceed to be an authority.
    pub(crate) rho: f64,
}

impl PageWeights {
    /// The factors must have been checked to have one value per page.
    pub(crate) fn new(graph: &DistillGraph, options: &DistillOptions<'_>) -> PageWeights {
        let rho = threshold(graph, options.rho);
        let pages = || (0..graph.pages() as u32).zip(graph.relevances());
        let worth = |page: u32| options.worth(graph, page);
        let hub =
            |page: u32| options.hub_factors.map_or(1.0, |factors| sanitize_factor(factors[page as usize]));
        let fwd = pages().map(|(page, r)| if *r > rho { worth(page) } else { 0.0 }).collect();
        let rev = pages().map(|(page, _)| worth(page) * hub(page)).collect();
        PageWeights { fwd, rev, rho }
    }
}

impl DistillOptions<'_> {
    /// Relevance of a page times its feedback factor.
    pub(crate) fn worth(&self, graph: &DistillGraph, page: u32) -> f64 {
        let factor = self.factors.map_or(1.0, |factors| sanitize_factor(factors[page as usize]));
        graph.relevance(page) * factor
    }
}

fn sanitize_factor(factor: f64) -> f64 {
    if factor > 0.0 && factor.is_finite() { factor } else { 0.0 }
}

fn threshold(graph: &DistillGraph, rho: Rho) -> f64 {
    match rho {
        Rho::Share(share) => threshold_of_share(graph, share),
        Rho::Above(rho) => rho.max(0.0),
        Rho::All => 0.0,
    }
}

/// Half way between the least relevant page that is included and the most relevant one that is not, so that rounding
/// elsewhere, as in a database, does not change which are included.
fn threshold_of_share(graph: &DistillGraph, share: f64) -> f64 {
    let judged = graph.relevances().iter().zip(graph.is_fetched()).filter(|(_, fetched)| **fetched);
    let mut judged: Vec<f64> = judged.map(|(relevance, _)| *relevance).collect();
    let wanted = (judged.len() as f64 * share.clamp(0.0, 1.0)).ceil() as usize;
    if wanted == 0 {
        return f64::INFINITY;
    }
    let (_, last, rest) = judged.select_nth_unstable_by(wanted - 1, |a, b| b.total_cmp(a));
    let last = *last;
    let next = rest.iter().copied().filter(|relevance| *relevance < last).fold(0.0, f64::max);
    f64::midpoint(last, next)
}
