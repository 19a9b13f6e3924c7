//! Scores by walking along the link table, as before joins were used (V 3.8, Fig. 8d): the reference that faster
//! implementations are compared with.

use rayon::prelude::*;

use crate::{HitsDistiller, HitsScores};

/// Weights of a row of LINK in the two steps (V 2.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkWeights {
    /// E_F\[u,v\] in the authority step: R(v), over k.
    pub fwd: f64,
    /// E_B\[u,v\] in the hub step: R(u), over l.
    pub rev: f64,
}

/// Weights of all links in table order, for the walk and for SQL. Both are 0 within a site, and for a duplicate of an
/// earlier link; rho is not applied, as in V Fig. 4.
pub fn link_weights<L: Sync>(
    distiller: &HitsDistiller<'_>,
    links: &[L],
    ends: impl Fn(&L) -> (u32, u32) + Sync,
) -> Vec<LinkWeights> {
    let graph = distiller.graph;
    let across = (0..links.len() as u32).filter(|at| {
        let (src, dst) = ends(&links[*at as usize]);
        !graph.same_site(src, dst)
    });
    let counted = first_of_each(across, |at| ends(&links[at as usize]));
    let mut weights = vec![LinkWeights::default(); links.len()];
    for at in &counted {
        let (src, dst) = ends(&links[*at as usize]);
        let fwd = distiller.options.worth(graph, dst);
        weights[*at as usize] = LinkWeights { fwd, rev: distiller.weights.rev[src as usize] };
    }
    if distiller.options.correct_inflation {
        let from_site = |at: u32| (graph.site(ends(&links[at as usize]).0), ends(&links[at as usize]).1);
        each_with_count(&counted, from_site, |at, k| weights[at as usize].fwd /= k);
        let to_site = |at: u32| (ends(&links[at as usize]).0, graph.site(ends(&links[at as usize]).1));
        each_with_count(&counted, to_site, |at, l| weights[at as usize].rev /= l);
    }
    weights
}

/// Computes hubs and authorities link by link. The weights must be those of [`link_weights`] for the same links.
pub fn walk<L>(
    distiller: &HitsDistiller<'_>,
    links: &[L],
    weights: &[LinkWeights],
    ends: impl Fn(&L) -> (u32, u32),
) -> HitsScores {
    let (pages, options) = (distiller.graph.pages(), &distiller.options);
    let candidate = |page: u32| distiller.weights.fwd[page as usize] > 0.0;
    let rows = || links.iter().map(&ends).zip(weights).filter(|((_, dst), _)| candidate(*dst));
    let mut hubs = vec![0.0; pages];
    rows().filter(|(_, w)| w.rev > 0.0).for_each(|((src, _), _)| hubs[src as usize] = 1.0);
    let nothing_counts = normalised(&mut hubs, &vec![0.0; pages]).is_none();
    let mut authorities = vec![0.0; pages];
    let (mut iterations, mut change) = (0, if nothing_counts { 0.0 } else { f64::INFINITY });
    while change > options.tolerance && iterations < options.max_iterations {
        let mut next = vec![0.0; pages];
        rows().for_each(|((src, dst), w)| next[dst as usize] += hubs[src as usize] * w.fwd);
        change = replace(&mut authorities, next);
        let mut next = vec![0.0; pages];
        rows().for_each(|((src, dst), w)| next[src as usize] += authorities[dst as usize] * w.rev);
        change = change.max(replace(&mut hubs, next));
        iterations += 1;
    }
    HitsScores { hubs, authorities, iterations, change, converged: change <= options.tolerance }
}

/// Replaces the scores, unless the new ones are all 0, and returns their difference.
fn replace(scores: &mut Vec<f64>, mut next: Vec<f64>) -> f64 {
    let Some(change) = normalised(&mut next, scores) else { return 0.0 };
    *scores = next;
    change
}

fn normalised(scores: &mut [f64], old: &[f64]) -> Option<f64> {
    let sum: f64 = scores.iter().sum();
    if !sum.is_normal() {
        return None;
    }
    scores.iter_mut().for_each(|score| *score /= sum);
    Some(scores.iter().zip(old).map(|(new, old)| (new - old).abs()).sum())
}

/// The first link of each key, in table order.
fn first_of_each(links: impl Iterator<Item = u32>, key: impl Fn(u32) -> (u32, u32)) -> Vec<u32> {
    let sorted = sorted(links, key);
    let mut first: Vec<u32> = sorted.chunk_by(same_key).map(|run| run[0].1).collect();
    first.par_sort_unstable();
    first
}

/// Calls `with` for every link with the number of links of its key.
fn each_with_count(links: &[u32], key: impl Fn(u32) -> (u32, u32), mut with: impl FnMut(u32, f64)) {
    for run in sorted(links.iter().copied(), key).chunk_by(same_key) {
        run.iter().for_each(|(_, link)| with(*link, run.len() as f64));
    }
}

type Keyed = ((u32, u32), u32);

fn sorted(links: impl Iterator<Item = u32>, key: impl Fn(u32) -> (u32, u32)) -> Vec<Keyed> {
    let mut keyed: Vec<Keyed> = links.map(|link| (key(link), link)).collect();
    keyed.par_sort_unstable();
    keyed
}

fn same_key(a: &Keyed, b: &Keyed) -> bool {
    a.0 == b.0
}
