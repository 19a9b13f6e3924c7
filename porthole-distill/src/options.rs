//! What a distillation is asked for.

use crate::Graph;

/// Which pages may be authorities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rho {
    /// The most relevant share of the judged pages; W 3.2 takes 0.1 to 0.2. Pages that are as relevant as the last
    /// of them belong to them.
    Share(f64),
    /// Those with a relevance above this (V Fig. 4).
    Above(f64),
    /// All that are relevant at all.
    All,
}

/// How to distil.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Which pages may be authorities. Hubs need not be relevant to this degree.
    pub rho: Rho,
    /// Whether k pages of a site that link to one page weigh 1/k each, and l pages of a site to which one page links
    /// 1/l each (Bharat and Henzinger; V 2.2.2).
    pub correct_inflation: bool,
    /// A factor a page for what people said of it: 0 for a useless one, above 1 for a useful one. It multiplies the
    /// relevance of the page in both steps, and does not change who may be an authority.
    pub factors: Option<&'a [f64]>,
    /// Another one for what people said of its links: it counts in the hub step alone.
    pub hub_factors: Option<&'a [f64]>,
    /// Enough if neither hubs nor authorities changed by more than this in an iteration, all changes added up.
    pub tolerance: f64,
    /// Enough after so many iterations in any case.
    pub max_iterations: usize,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            rho: Rho::Share(0.15),
            correct_inflation: true,
            factors: None,
            hub_factors: None,
            tolerance: 1e-9,
            max_iterations: 200,
        }
    }
}

/// What a page's links weigh in both steps, without the correction for inflation: E_F[u,v] depends on v alone,
/// E_B[u,v] on u alone (W 3.2).
pub(crate) struct PageWeights {
    /// What links to each page weigh in the authority step; 0 if it may not be one.
    pub(crate) fwd: Vec<f64>,
    /// What links of each page weigh in the hub step.
    pub(crate) rev: Vec<f64>,
    /// Only pages that are more relevant may be authorities.
    pub(crate) rho: f64,
}

impl PageWeights {
    /// The factors must have been checked to be one a page.
    pub(crate) fn new(graph: &Graph, options: &Options<'_>) -> PageWeights {
        let rho = threshold(graph, options.rho);
        let pages = || (0..graph.pages() as u32).zip(graph.relevances());
        let worth = |page: u32| options.worth(graph, page);
        let hub = |page: u32| options.hub_factors.map_or(1.0, |factors| harmless(factors[page as usize]));
        let fwd = pages().map(|(page, r)| if *r > rho { worth(page) } else { 0.0 }).collect();
        let rev = pages().map(|(page, _)| worth(page) * hub(page)).collect();
        PageWeights { fwd, rev, rho }
    }
}

impl Options<'_> {
    /// The relevance of a page after what people said of it.
    pub(crate) fn worth(&self, graph: &Graph, page: u32) -> f64 {
        let factor = self.factors.map_or(1.0, |factors| harmless(factors[page as usize]));
        graph.relevance(page) * factor
    }
}

fn harmless(factor: f64) -> f64 {
    if factor > 0.0 && factor.is_finite() { factor } else { 0.0 }
}

fn threshold(graph: &Graph, rho: Rho) -> f64 {
    match rho {
        Rho::Share(share) => threshold_of_share(graph, share),
        Rho::Above(rho) => rho.max(0.0),
        Rho::All => 0.0,
    }
}

/// Half way between the least relevant page that is in and the most relevant one that is not, so that rounding
/// elsewhere, in a database say, does not change who is in.
fn threshold_of_share(graph: &Graph, share: f64) -> f64 {
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
