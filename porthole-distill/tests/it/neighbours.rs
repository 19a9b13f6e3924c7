//! Relevance by neighbours, with hand-computed values.

use porthole_distill::{DistillGraph, DistillNode, JudgedNeighbours, Neighbourhoods};

fn page(site: u64, relevance: f64) -> DistillNode {
    DistillNode { site, relevance, fetched: true }
}

/// Page 0 has R 0.2. Two pages of one site (0.9 and 0.7) and one of another (1.0) link to it; it links to a page of its
/// own site (0.2), to one that links back, and to an unfetched one.
fn graph() -> DistillGraph {
    let unknown = DistillNode { fetched: false, ..page(4, 0.9) };
    let nodes = [page(1, 0.2), page(2, 0.9), page(2, 0.7), page(3, 1.0), page(1, 0.2), unknown, page(5, 0.0)];
    let links = [(1, 0), (2, 0), (3, 0), (0, 4), (0, 3), (0, 5)];
    DistillGraph::new(&nodes, &links, |link| *link).unwrap()
}

#[test]
fn sites_and_pages_count_once() {
    let graph = graph();
    let mut all = Neighbourhoods::new(&graph);
    // Sites 1, 2 and 3 have 0.2, 0.8 and 1.0.
    let found = all.of(0).unwrap();
    assert_eq!(found.sites, 3);
    assert!((found.evidence - 2.0 / 3.0).abs() < 1e-12, "{found:?}");
    assert_eq!(all.of(4), Some(JudgedNeighbours { sites: 1, evidence: 0.2 }));
    assert_eq!(all.of(6), None, "no page links to it");
}

#[test]
fn good_neighbours_raise_a_page_and_poor_ones_lower_it() {
    let graph = graph();
    let all = Neighbourhoods::new(&graph);
    // The six pages that were fetched have R 0.5 on average, whose log-odds are 0. Among the neighbours it is
    // (3 * 2/3 + 2 * 0.5) / (3 + 2) = 0.6, odds 1.5; own odds 0.2 / 0.8 = 0.25. Together 0.25 * sqrt(1.5) = 0.30619.
    let three = JudgedNeighbours { sites: 3, evidence: 2.0 / 3.0 };
    assert!((all.relevance(0.2, &three) - 0.234_412).abs() < 1e-6, "{}", all.relevance(0.2, &three));
    // (1 * 0.2 + 2 * 0.5) / 3 = 0.4, odds 2/3: 0.25 * sqrt(2/3) = 0.20412.
    let one = JudgedNeighbours { sites: 1, evidence: 0.2 };
    assert!((all.relevance(0.2, &one) - 0.169_521).abs() < 1e-6, "{}", all.relevance(0.2, &one));
    // Neighbours of average relevance change nothing.
    assert!((all.relevance(0.2, &JudgedNeighbours { sites: 9, evidence: 0.5 }) - 0.2).abs() < 1e-12);
    // Even a certain critic can be overruled.
    let none = JudgedNeighbours { sites: 98, evidence: 0.0 };
    assert!(all.relevance(1.0, &none) < 0.995);
}

#[test]
fn many_neighbours_are_stronger_evidence_than_one() {
    let graph = graph();
    let all = Neighbourhoods::new(&graph);
    let by = |sites| all.relevance(0.2, &JudgedNeighbours { sites, evidence: 0.9 });
    assert!(0.2 < by(1) && by(1) < by(4) && by(4) < by(40));
}
