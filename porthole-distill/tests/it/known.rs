//! Graphs whose dominant eigenvectors are known.

use porthole_distill::{DistillOptions, HitsDistiller, Rho};

use crate::web::{Web, all, assert_close};

const THIRD: f64 = 1.0 / 3.0;

#[test]
fn a_star_has_one_hub() {
    let web = Web::plain(4, &[(0, 1), (0, 2), (0, 3)]);
    web.check(all(), &[1.0, 0.0, 0.0, 0.0], &[0.0, THIRD, THIRD, THIRD]);
}

#[test]
fn a_star_that_points_inwards_has_one_authority() {
    let web = Web::plain(4, &[(1, 0), (2, 0), (3, 0)]);
    web.check(all(), &[0.0, THIRD, THIRD, THIRD], &[1.0, 0.0, 0.0, 0.0]);
}

#[test]
fn in_a_complete_bipartite_graph_each_side_is_uniform() {
    let links: Vec<_> = (0..2).flat_map(|hub| (2..5).map(move |authority| (hub, authority))).collect();
    Web::plain(5, &links).check(all(), &[0.5, 0.5, 0.0, 0.0, 0.0], &[0.0, 0.0, THIRD, THIRD, THIRD]);
}

/// E E^T is [[2, 1], [1, 1]], whose dominant eigenvector has the golden ratio; E^T E likewise.
#[test]
fn a_path_has_the_golden_ratio() {
    let golden = 5.0_f64.sqrt().midpoint(1.0);
    let (more, less) = (golden / (golden + 1.0), 1.0 / (golden + 1.0));
    let web = Web::plain(4, &[(0, 2), (0, 3), (1, 3)]);
    web.check(all(), &[more, less, 0.0, 0.0], &[0.0, 0.0, less, more]);
}

#[test]
fn of_two_components_the_denser_one_wins() {
    let links = [(0, 2), (0, 3), (1, 2), (1, 3), (4, 5), (4, 6)];
    let hubs = [0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0];
    Web::plain(7, &links).check(all(), &hubs, &[0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0]);
}

/// Hubs 0 and 1, authorities 2, 3, 4. The hub step after the authority step is
///
/// ```text
/// | 1    0 |   | R2+R3   R3    |   | 1      0.25  |
/// | 0   0.9| x | R3      R3+R4 | = | 0.225  0.675 |
/// ```
///
/// with eigenvalue 1.125 for (2, 1); the authorities are R2*2, R3*(2+1), R4*1 = 1.5, 0.75, 0.5.
#[test]
fn weights_are_not_swapped() {
    let web = Web::new(&[1.0, 0.9, 0.75, 0.25, 0.5], &[(0, 2), (0, 3), (1, 3), (1, 4)]);
    let (hubs, authorities) = ([2.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 6.0, 3.0, 2.0]);
    let scaled = |scores: [f64; 5], by: f64| scores.map(|score| score / by);
    web.check(all(), &scaled(hubs, 3.0), &scaled(authorities, 11.0));
    // With the relevance of the other end, another page would be the best authority.
    let swapped = swapped(&web);
    assert!((swapped.0[0] - 2.0 / 3.0).abs() > 0.02, "{swapped:?}");
    assert!(swapped.1[3] > swapped.1[2] + 0.1, "{swapped:?}");
}

/// The result of the wrong weights E_F = R(u) and E_B = R(v).
fn swapped(web: &Web) -> ([f64; 5], [f64; 5]) {
    let (mut hubs, mut authorities) = ([1.0; 5], [0.0; 5]);
    let relevance = |page: u32| web.nodes[page as usize].relevance;
    for _ in 0..200 {
        authorities = [0.0; 5];
        web.links.iter().for_each(|(u, v)| authorities[*v as usize] += hubs[*u as usize] * relevance(*u));
        authorities = authorities.map(|score| score / authorities.iter().sum::<f64>());
        hubs = [0.0; 5];
        web.links.iter().for_each(|(u, v)| hubs[*u as usize] += authorities[*v as usize] * relevance(*v));
        hubs = hubs.map(|score| score / hubs.iter().sum::<f64>());
    }
    (hubs, authorities)
}

/// Pages 0 and 1 are hubs, of which 1 is hardly relevant; 2 and 3 are relevant, 4 is not.
fn mixed() -> Web {
    Web::new(&[0.6, 0.1, 0.9, 0.8, 0.2], &[(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)])
}

#[test]
fn rho_keeps_an_irrelevant_hub_and_no_irrelevant_authority() {
    let authorities = [0.0, 0.0, 9.0 / 17.0, 8.0 / 17.0, 0.0];
    let hubs = [6.0 / 7.0, 1.0 / 7.0, 0.0, 0.0, 0.0];
    for rho in [Rho::Above(0.2), Rho::Above(0.5), Rho::Share(0.4), Rho::Share(0.3), Rho::Share(0.6)] {
        mixed().check(DistillOptions { rho, ..DistillOptions::default() }, &hubs, &authorities);
    }
    let scores = mixed().scores(all());
    assert!(scores.authorities[4] > 0.0, "without rho it is one");
}

#[test]
fn rho_by_share_includes_ties() {
    let web = Web::new(&[0.5, 0.9, 0.9, 0.9, 0.1], &[(0, 1), (0, 2), (0, 3), (0, 4)]);
    let graph = web.graph();
    let rho = |share| {
        let options = DistillOptions { rho: Rho::Share(share), ..DistillOptions::default() };
        HitsDistiller::new(&graph, options).unwrap().rho()
    };
    assert!((rho(0.2) - 0.7).abs() < 1e-12, "half way to the next");
    assert!((rho(0.8) - 0.3).abs() < 1e-12);
    assert!((rho(1.0) - 0.05).abs() < 1e-12, "half way to nothing");
    assert!(rho(0.0).is_infinite(), "a share of nothing is nothing");
}

#[test]
fn only_judged_pages_count() {
    let mut web = mixed();
    web.nodes[2].fetched = false;
    let hubs = [6.0 / 7.0, 1.0 / 7.0, 0.0, 0.0, 0.0];
    let authorities = [0.0, 0.0, 0.0, 1.0, 0.0];
    // The most relevant fifth of the four that are judged is page 3.
    let rho = Rho::Share(0.2);
    web.check(DistillOptions { rho, ..DistillOptions::default() }, &hubs, &authorities);
}

#[test]
fn user_feedback_changes_scores() {
    let web = Web::plain(5, &[(0, 2), (0, 3), (1, 3), (1, 4)]);
    let even = web.scores(all());
    assert_close(&even.hubs, &[0.5, 0.5, 0.0, 0.0, 0.0], "without marks");
    let useless = [0.0, 1.0, 1.0, 1.0, 1.0];
    let marked = DistillOptions { factors: Some(&useless), ..all() };
    web.check(marked, &[0.0, 1.0, 0.0, 0.0, 0.0], &[0.0, 0.0, 0.0, 0.5, 0.5]);
    let useful = [2.0, 1.0, 1.0, 1.0, 1.0];
    let marked = web.scores(DistillOptions { factors: Some(&useful), ..all() });
    assert!(marked.hubs[0] > 0.7 && marked.authorities[2] > marked.authorities[4], "{marked:?}");
}

#[test]
fn a_useless_hub_may_be_an_authority() {
    let web = Web::plain(4, &[(0, 1), (1, 2), (1, 3), (0, 2)]);
    let useless = [1.0, 0.0, 1.0, 1.0];
    let marked = DistillOptions { hub_factors: Some(&useless), ..all() };
    web.check(marked, &[1.0, 0.0, 0.0, 0.0], &[0.0, 0.5, 0.5, 0.0]);
}

#[test]
fn too_few_iterations_are_reported_as_not_converged() {
    let web = Web::plain(4, &[(0, 2), (0, 3), (1, 3)]);
    let scores = web.scores(DistillOptions { max_iterations: 2, ..all() });
    assert_eq!((scores.iterations, scores.converged), (2, false));
    assert!(scores.change > 1e-9);
}
