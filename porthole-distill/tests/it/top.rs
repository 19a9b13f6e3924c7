//! The best pages, explanations of their scores, and unfetched pages that they link to.

use porthole_distill::{DistillOptions, HitsDistiller, Missed, missed, top};

use crate::web::{Web, all};

#[test]
fn top_is_ordered_by_score_then_by_number() {
    let scores = [0.1, 0.3, 0.0, 0.3, 0.2];
    assert_eq!(top(&scores, 3), [(1, 0.3), (3, 0.3), (4, 0.2)]);
    assert_eq!(top(&scores, 9), [(1, 0.3), (3, 0.3), (4, 0.2), (0, 0.1)]);
    assert_eq!(top(&scores, 1), [(1, 0.3)]);
}

/// Hub 0 links to 2, 3 and 4, of which 3 and 4 share a site, and to 5 on its own site; hub 1 links to 2.
fn web() -> Web {
    let links = [(0, 2), (0, 3), (0, 4), (0, 5), (1, 2)];
    Web::with_sites(&[1.0, 0.5, 1.0, 1.0, 0.5, 1.0], &[0, 1, 2, 3, 3, 0], &links)
}

#[test]
fn a_hub_is_explained_by_its_links() {
    let graph = web().graph();
    let distiller = HitsDistiller::new(&graph, all()).unwrap();
    let scores = distiller.scores();
    let reasons = distiller.why_hub(&scores, 0, 9);
    assert_eq!(reasons.iter().map(|reason| reason.page).collect::<Vec<_>>(), [2, 3, 4]);
    let share: f64 = reasons.iter().map(|reason| reason.share).sum();
    assert!((share - 1.0).abs() < 1e-12);
    let carried = |at: usize, l: f64| scores.authorities[reasons[at].page as usize] / l;
    assert!((reasons[1].share / reasons[0].share - carried(1, 2.0) / carried(0, 1.0)).abs() < 1e-12);
    assert_eq!(reasons[0].score, scores.authorities[2]);
    assert_eq!(distiller.why_hub(&scores, 0, 1), reasons[..1]);
    assert!(distiller.why_hub(&scores, 2, 9).is_empty(), "no hub");
}

#[test]
fn an_authority_is_explained_by_its_hubs() {
    let graph = web().graph();
    let distiller = HitsDistiller::new(&graph, all()).unwrap();
    let scores = distiller.scores();
    let reasons = distiller.why_authority(&scores, 2, 9);
    assert_eq!(reasons.iter().map(|reason| reason.page).collect::<Vec<_>>(), [0, 1]);
    assert!((reasons[0].share - scores.hubs[0] / (scores.hubs[0] + scores.hubs[1])).abs() < 1e-12);
    assert!(distiller.why_authority(&scores, 5, 9).is_empty(), "endorsed by its own site only");
}

#[test]
fn without_the_correction_all_links_count_the_same() {
    let graph = web().graph();
    let distiller = HitsDistiller::new(&graph, DistillOptions { correct_inflation: false, ..all() }).unwrap();
    let scores = distiller.scores();
    let reasons = distiller.why_hub(&scores, 0, 9);
    let wanted = scores.authorities[3] / scores.authorities[2];
    assert!((reasons[1].share / reasons[0].share - wanted).abs() < 1e-12);
}

#[test]
fn unfetched_targets_of_great_hubs_are_missed() {
    // Hub 0 is great, hub 1 less so; 6, 7 and 8 were not fetched, and 7 is on the site of hub 0.
    let mut web = web();
    web.nodes.extend([web.nodes[3], web.nodes[0], web.nodes[1]]);
    (6..9).for_each(|page| web.nodes[page].fetched = false);
    web.nodes[8].site = 77;
    web.links.extend([(0, 6), (1, 6), (0, 7), (1, 8)]);
    let graph = web.graph();
    let scores = HitsDistiller::new(&graph, all()).unwrap().scores();
    let (great, other) = (scores.hubs[0], scores.hubs[1]);
    assert!(great > other && other > 0.0);
    let missed_above = |psi| missed(&graph, &scores, psi);
    assert_eq!(missed_above(other), [Missed { page: 6, hub: 0, score: great }]);
    let all = missed_above(0.0);
    assert_eq!(
        all,
        [Missed { page: 6, hub: 0, score: great + other }, Missed { page: 8, hub: 1, score: other }]
    );
}
