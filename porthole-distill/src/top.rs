//! The best pages by score, and unfetched pages that they link to.

use std::cmp::Ordering;

use crate::{DistillGraph, HitsScores};

/// The best `k` pages with a positive score, best first; ties by page number.
pub fn top(scores: &[f64], k: usize) -> Vec<(u32, f64)> {
    let scored = scores.iter().enumerate().filter(|(_, score)| **score > 0.0);
    best(scored.map(|(page, score)| (page as u32, *score)).collect(), k)
}

/// Sorts the best `k`.
pub(crate) fn best(mut all: Vec<(u32, f64)>, k: usize) -> Vec<(u32, f64)> {
    let order = |a: &(u32, f64), b: &(u32, f64)| -> Ordering { b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)) };
    if k < all.len() {
        all.select_nth_unstable_by(k, order);
        all.truncate(k);
    }
    all.sort_unstable_by(order);
    all
}

/// An unfetched page that great hubs on other sites link to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Missed {
    /// The page.
    pub page: u32,
    /// The best of these hubs.
    pub hub: u32,
    /// Sum of their scores.
    pub score: f64,
}

/// Unfetched pages that great hubs link to (V 3.7), highest sum of hub scores first. A hub is great if its score
/// exceeds `psi`.
pub fn missed(graph: &DistillGraph, scores: &HitsScores, psi: f64) -> Vec<Missed> {
    let pages = 0..graph.pages() as u32;
    let mut missed: Vec<Missed> = pages
        .filter(|page| !graph.fetched(*page))
        .filter_map(|page| missed_page(graph, scores, psi, page))
        .collect();
    missed.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.page.cmp(&b.page)));
    missed
}

fn missed_page(graph: &DistillGraph, scores: &HitsScores, psi: f64, page: u32) -> Option<Missed> {
    let score = |hub: u32| scores.hubs[hub as usize];
    let great = |hub: &&u32| score(**hub) > psi && !graph.same_site(**hub, page);
    let hubs = || graph.sources(page).iter().filter(great).copied();
    // On ties the first hub: `max_by` would take the last.
    let hub = hubs().reduce(|best, hub| if score(hub) > score(best) { hub } else { best })?;
    Some(Missed { page, hub, score: hubs().map(score).sum() })
}
