//! PageRank over what is known of the web: where a reader ends up who follows links at random.

use crate::product::{each_row, normalise};
use crate::{Error, Graph, check_length};

/// How to rank.
#[derive(Clone, Copy, Debug)]
pub struct PageRankOptions<'a> {
    /// How often the reader follows a link rather than starting anew.
    pub damping: f64,
    /// Where the reader starts anew, one weight a page; evenly on all pages if it is not given or is nothing.
    pub restart: Option<&'a [f64]>,
    /// Enough if the ranks changed by no more than this in an iteration, all changes added up.
    pub tolerance: f64,
    /// Enough after so many iterations in any case.
    pub max_iterations: usize,
}

impl Default for PageRankOptions<'_> {
    fn default() -> Self {
        PageRankOptions { damping: 0.85, restart: None, tolerance: 1e-9, max_iterations: 200 }
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct PageRank {
    /// The ranks of all pages, by number; they sum to 1.
    pub ranks: Vec<f64>,
    /// How many iterations it took.
    pub iterations: usize,
    /// By how much the ranks changed in the last one.
    pub change: f64,
    /// Whether that was little enough.
    pub converged: bool,
}

/// Ranks all pages by all links, also those within sites. Who comes to a page without links starts anew.
///
/// # Errors
/// If there is not a restart weight for every page.
pub fn page_rank(graph: &Graph, options: &PageRankOptions<'_>) -> Result<PageRank, Error> {
    let restart = restart(graph.pages(), options.restart)?;
    // Looked up once a link instead of divided by: of pages without links, whatever it is, nothing is looked up.
    let shares: Vec<f64> =
        (0..graph.pages()).map(|page| (graph.out().row(page).len() as f64).recip()).collect();
    let (mut ranks, mut next, mut given) =
        (restart.clone(), vec![0.0; graph.pages()], vec![0.0; graph.pages()]);
    let (mut iterations, mut change) = (0, if ranks.is_empty() { 0.0 } else { f64::INFINITY });
    while change > options.tolerance && iterations < options.max_iterations {
        let give = |page: usize| if shares[page].is_finite() { ranks[page] * shares[page] } else { 0.0 };
        each_row(&mut given, give);
        let moved = each_row(&mut next, |page| options.damping * sum(graph.back().row(page), &given));
        // What the links do not carry, also from pages without any, comes back by the restart.
        let back = 1.0 - moved;
        let total = each_row(&mut given, |page| next[page] + back * restart[page]);
        std::mem::swap(&mut next, &mut given);
        change = normalise(&mut next, total, &ranks);
        std::mem::swap(&mut ranks, &mut next);
        iterations += 1;
    }
    Ok(PageRank { ranks, iterations, change, converged: change <= options.tolerance })
}

/// Where to start anew, with unit sum.
fn restart(pages: usize, wanted: Option<&[f64]>) -> Result<Vec<f64>, Error> {
    let even = || vec![1.0 / pages as f64; pages];
    let Some(wanted) = wanted else { return Ok(even()) };
    check_length("restart", wanted, pages)?;
    let harmless = |weight: f64| if weight > 0.0 && weight.is_finite() { weight } else { 0.0 };
    let sum: f64 = wanted.iter().copied().map(harmless).sum();
    if !sum.is_normal() {
        return Ok(even());
    }
    Ok(wanted.iter().copied().map(|weight| harmless(weight) / sum).collect())
}

/// Four sums at once, so that an addition need not wait for the one before it.
fn sum(pages: &[u32], given: &[f64]) -> f64 {
    let (fours, rest) = pages.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for four in fours {
        for (sum, page) in sums.iter_mut().zip(four) {
            *sum += given[*page as usize];
        }
    }
    let rest: f64 = rest.iter().map(|page| given[*page as usize]).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
