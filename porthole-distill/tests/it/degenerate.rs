//! Invalid and degenerate input.

use porthole_distill::{
    DistillGraph, DistillNode, DistillOptions, Error, HitsDistiller, PageRankOptions, Rho, page_rank, top,
};

use crate::web::{Web, all};

#[test]
fn an_empty_graph_has_no_scores() {
    Web::plain(0, &[]).check(all(), &[], &[]);
    Web::plain(1, &[]).check(all(), &[0.0], &[0.0]);
    Web::plain(3, &[]).check(DistillOptions::default(), &[0.0; 3], &[0.0; 3]);
    let ranks = page_rank(&Web::plain(0, &[]).graph(), &PageRankOptions::default()).unwrap();
    assert!(ranks.ranks.is_empty() && ranks.converged);
}

#[test]
fn a_web_without_relevance_has_neither_hubs_nor_authorities() {
    let web = Web::new(&[0.0; 3], &[(0, 1), (1, 2)]);
    for rho in [Rho::All, Rho::Share(0.15), Rho::Above(0.0)] {
        web.check(DistillOptions { rho, ..DistillOptions::default() }, &[0.0; 3], &[0.0; 3]);
    }
}

#[test]
fn relevance_is_clamped() {
    let links = [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)];
    let odd = Web::new(&[f64::INFINITY, f64::NAN, -1.0, 7.0, 0.5, f64::NEG_INFINITY], &links);
    let (hubs, authorities) = ([1.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0 / 3.0, 1.0 / 3.0, 0.0]);
    odd.check(all(), &hubs, &authorities);
}

#[test]
fn self_links_and_duplicates_do_not_count() {
    let links = [(0, 2), (0, 3), (1, 3)];
    let plain = Web::plain(4, &links).scores(all());
    let more = [(3, 3), (0, 3), (0, 2), (1, 3), (0, 3), (1, 1), (0, 3), (0, 0)];
    let web = Web::plain(4, &more);
    assert_eq!(web.graph().links(), 3);
    assert_eq!(web.scores(all()), plain);
    web.check(DistillOptions { correct_inflation: false, ..all() }, &plain.hubs, &plain.authorities);
    let ranks = |web: &Web| page_rank(&web.graph(), &PageRankOptions::default()).unwrap();
    assert_eq!(ranks(&web), ranks(&Web::plain(4, &links)));
}

#[test]
fn extreme_weights_give_finite_scores() {
    let web = Web::new(&[1e-300, 1e-300, 1e-300, 1.0], &[(0, 1), (1, 2), (3, 0), (0, 3)]);
    for factors in
        [[1.0; 4], [1e-300; 4], [1e300; 4], [f64::NAN, 1.0, 1.0, 1.0], [1.0, -1.0, f64::INFINITY, 1.0]]
    {
        let scores = web.scores(DistillOptions { factors: Some(&factors), ..all() });
        assert!(scores.hubs.iter().chain(&scores.authorities).all(|score| score.is_finite()), "{scores:?}");
    }
}

#[test]
fn links_to_unknown_pages_are_rejected() {
    let nodes = [DistillNode { site: 0, relevance: 1.0, fetched: true }; 3];
    let error = DistillGraph::new(&nodes, &[(0, 1), (1, 3), (4, 0)], |link| *link).unwrap_err();
    assert_eq!(error, Error::UnknownPage { link: 1, page: 3, pages: 3 });
    assert_eq!(error.to_string(), "link 1 names page 3, but there are only 3: pass all pages of the links");
}

#[test]
fn vectors_of_the_wrong_length_are_rejected() {
    let graph = Web::plain(3, &[(0, 1)]).graph();
    let options = DistillOptions { factors: Some(&[1.0]), ..all() };
    let wrong = |what| Some(Error::WrongLength { what, found: 1, pages: 3 });
    assert_eq!(HitsDistiller::new(&graph, options).err(), wrong("factors"));
    let options = PageRankOptions { restart: Some(&[1.0]), ..PageRankOptions::default() };
    assert_eq!(page_rank(&graph, &options).err(), wrong("restart"));
}

#[test]
fn an_empty_graph_has_no_best_pages() {
    assert!(top(&[], 3).is_empty());
    assert!(top(&[0.0, 0.0], 3).is_empty());
    assert!(top(&[0.5, 0.5], 0).is_empty());
}
