//! PageRank of the known graph.

use crate::product::{each_row, normalise};
use crate::{DistillGraph, Error, check_length};

/// Options of PageRank.
#[derive(Clone, Copy, Debug)]
pub struct PageRankOptions<'a> {
    /// Probability of following a link rather than restarting.
    pub damping: f64,
    /// Restart distribution, one weight per page; uniform if it is absent or all 0.
    pub restart: Option<&'a [f64]>,
    /// Stop when the ranks changed by no more than this in an iteration, as a sum of absolute changes.
    pub tolerance: f64,
    /// Maximum number of iterations.
    pub max_iterations: usize,
}

impl Default for PageRankOptions<'_> {
    fn default() -> Self {
        PageRankOptions { damping: 0.85, restart: None, tolerance: 1e-9, max_iterations: 200 }
    }
}

/// Result of PageRank.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PageRank {
    /// The ranks of all pages, by number; they sum to 1.
    pub ranks: Vec<f64>,
    /// Number of iterations.
    pub iterations: usize,
    /// Sum of the absolute changes in the last iteration.
    pub change: f64,
    /// Whether the change was within the tolerance.
    pub converged: bool,
}

/// Ranks all pages by all links, including those within sites. Pages without links restart.
///
/// # Errors
/// If the restart vector does not have one value per page.
pub fn page_rank(graph: &DistillGraph, options: &PageRankOptions<'_>) -> Result<PageRank, Error> {
    let restart = restart(graph.pages(), options.restart)?;
    // Multiplied once per link, instead of a division. The value of pages without links is never used.
    let shares: Vec<f64> =
        (0..graph.pages()).map(|page| (graph.out().row(page).len() as f64).recip()).collect();
    let (mut ranks, mut next, mut given) =
        (restart.clone(), vec![0.0; graph.pages()], vec![0.0; graph.pages()]);
    let (mut iterations, mut change) = (0, if ranks.is_empty() { 0.0 } else { f64::INFINITY });
    while change > options.tolerance && iterations < options.max_iterations {
        let give = |page: usize| if shares[page].is_finite() { ranks[page] * shares[page] } else { 0.0 };
        each_row(&mut given, give);
        let moved = each_row(&mut next, |page| options.damping * sum(graph.back().row(page), &given));
        // Rank that links do not carry, including that of pages without links, is restarted.
        let back = 1.0 - moved;
        let total = each_row(&mut given, |page| next[page] + back * restart[page]);
        std::mem::swap(&mut next, &mut given);
        change = normalise(&mut next, total, &ranks);
        std::mem::swap(&mut ranks, &mut next);
        iterations += 1;
    }
    Ok(PageRank { ranks, iterations, change, converged: change <= options.tolerance })
}

/// The restart distribution, normalised.
fn restart(pages: usize, wanted: Option<&[f64]>) -> Result<Vec<f64>, Error> {
    let even = || vec![1.0 / pages as f64; pages];
    let Some(wanted) = wanted else { return Ok(even()) };
    check_length("restart", wanted, pages)?;
    let sanitize_factor = |weight: f64| if weight > 0.0 && weight.is_finite() { weight } else { 0.0 };
    let sum: f64 = wanted.iter().copied().map(sanitize_factor).sum();
    if !sum.is_normal() {
        return Ok(even());
    }
    Ok(wanted.iter().copied().map(|weight| sanitize_factor(weight) / sum).collect())
}

/// Four partial sums, so that additions do not wait for each other.
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
