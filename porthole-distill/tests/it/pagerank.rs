//! PageRank against a direct solution of its equations.

use porthole_distill::{PageRankOptions, page_rank};
use proptest::prelude::*;

use crate::web::{Link, Web, assert_close};

fn ranks(pages: usize, links: &[Link], options: PageRankOptions<'_>) -> Vec<f64> {
    let options = PageRankOptions { tolerance: 1e-14, max_iterations: 5000, ..options };
    let found = page_rank(&Web::plain(pages, links).graph(), &options).unwrap();
    assert!(found.converged, "{} after {} iterations", found.change, found.iterations);
    found.ranks
}

#[test]
fn hand_computed_ring_and_pair() {
    assert_close(&ranks(3, &[(0, 1), (1, 2), (2, 0)], PageRankOptions::default()), &[1.0 / 3.0; 3], "ring");
    // x0 = 0.075 + 0.85 x1 / 2 and x1 = 1 - x0: page 1 has no links.
    let first = (0.075 + 0.425) / 1.425;
    assert_close(&ranks(2, &[(0, 1)], PageRankOptions::default()), &[first, 1.0 - first], "pair");
}

#[test]
fn restart_at_one_page_ranks_only_reachable_pages() {
    let options = PageRankOptions { restart: Some(&[1.0, 0.0, 0.0]), ..PageRankOptions::default() };
    let found = ranks(3, &[(0, 1), (2, 0)], options);
    assert_close(&found, &[1.0 / 1.85, 0.85 / 1.85, 0.0], "restart at 0");
}

#[test]
fn a_zero_restart_vector_is_uniform() {
    let even = ranks(3, &[(0, 1)], PageRankOptions::default());
    for restart in [[0.0; 3], [f64::NAN; 3], [-1.0; 3], [f64::INFINITY; 3]] {
        let options = PageRankOptions { restart: Some(&restart), ..PageRankOptions::default() };
        assert_close(&ranks(3, &[(0, 1)], options), &even, "restart");
    }
}

/// Solves x = d (P^T + restart dangling^T) x + (1 - d) restart by elimination.
fn solved(pages: usize, links: &[Link], damping: f64, restart: &[f64]) -> Vec<f64> {
    let sum: f64 = restart.iter().sum();
    let linked = |from: usize, to: usize| from != to && links.contains(&(from as u32, to as u32));
    let mut rows = vec![vec![0.0; pages + 1]; pages];
    for from in 0..pages {
        let degree = (0..pages).filter(|to| linked(from, *to)).count();
        for to in 0..pages {
            let moved = match degree {
                0 => restart[to] / sum,
                _ => f64::from(u8::from(linked(from, to))) / degree as f64,
            };
            rows[to][from] = f64::from(u8::from(from == to)) - damping * moved;
        }
        rows[from][pages] = (1.0 - damping) * restart[from] / sum;
    }
    eliminate(rows)
}

fn eliminate(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    let n = rows.len();
    for at in 0..n {
        let pivot = (at..n).max_by(|a, b| rows[*a][at].abs().total_cmp(&rows[*b][at].abs())).unwrap();
        rows.swap(at, pivot);
        let row = rows[at].clone();
        for (_, other) in rows.iter_mut().enumerate().filter(|(number, _)| *number != at) {
            let times = other[at] / row[at];
            other.iter_mut().zip(&row).for_each(|(value, above)| *value -= times * above);
        }
    }
    (0..n).map(|at| rows[at][n] / rows[at][at]).collect()
}

proptest! {
    #[test]
    fn ranks_solve_the_equations(
        (pages, links) in (1_u32..12).prop_flat_map(|n| (Just(n), prop::collection::vec((0..n, 0..n), 0..40))),
        damping in 0.0..0.95,
        weights in prop::collection::vec(0.01..1.0, 12),
        personal: bool,
    ) {
        let pages = pages as usize;
        let restart = if personal { weights[..pages].to_vec() } else { vec![1.0; pages] };
        let options = PageRankOptions { damping, restart: personal.then_some(&restart[..]), ..PageRankOptions::default() };
        let wanted = solved(pages, &links, damping, &restart);
        assert_close(&ranks(pages, &links, options), &wanted, "ranks");
    }
}
