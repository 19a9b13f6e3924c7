//! The distiller compared with a dense reference implementation on random graphs.

use porthole_distill::{
    DistillNode, DistillOptions, HitsDistiller, HitsScores, PageRankOptions, Rho, page_rank,
};
use proptest::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::web::{Web, assert_close};

type Matrix = Vec<Vec<f64>>;

/// Both weights of every pair of pages, from their definitions (W 3.2, V 2.2).
fn matrices(web: &Web, options: &DistillOptions<'_>, rho: f64) -> (Matrix, Matrix) {
    let count = web.nodes.len();
    let site = |page: usize| web.nodes[page].site;
    let mut links = vec![vec![false; count]; count];
    web.links.iter().for_each(|(u, v)| links[*u as usize][*v as usize] = true);
    let linked = |u: usize, v: usize| site(u) != site(v) && links[u][v];
    let relevance = |page: usize| if web.nodes[page].fetched { web.nodes[page].relevance } else { 0.0 };
    let factor = |page: usize| options.factors.map_or(1.0, |factors| factors[page]);
    let hub_factor = |page: usize| factor(page) * options.hub_factors.map_or(1.0, |factors| factors[page]);
    let (mut fwd, mut rev) = (vec![vec![0.0; count]; count], vec![vec![0.0; count]; count]);
    for u in 0..count {
        for v in (0..count).filter(|v| linked(u, *v) && relevance(*v) > rho) {
            let k = (0..count).filter(|other| site(*other) == site(u) && linked(*other, v)).count();
            let l = (0..count).filter(|other| site(*other) == site(v) && linked(u, *other)).count();
            let (k, l) = if options.correct_inflation { (k, l) } else { (1, 1) };
            fwd[u][v] = relevance(v) * factor(v) / k as f64;
            rev[u][v] = relevance(u) * hub_factor(u) / l as f64;
        }
    }
    (fwd, rev)
}

/// The given number of iterations with dense matrices.
fn twin(web: &Web, options: &DistillOptions<'_>, rho: f64) -> (Vec<f64>, Vec<f64>) {
    let (fwd, rev) = matrices(web, options, rho);
    let count = web.nodes.len();
    let each = |value: &dyn Fn(usize) -> f64| unit((0..count).map(value).collect());
    let useful = |u: usize| (0..count).any(|v| rev[u][v] > 0.0 && fwd[u][v] > 0.0);
    let mut hubs = each(&|u| f64::from(u8::from(useful(u))));
    let mut authorities = vec![0.0; count];
    for _ in 0..options.max_iterations {
        authorities = each(&|v| (0..count).map(|u| fwd[u][v] * hubs[u]).sum());
        hubs = each(&|u| (0..count).map(|v| rev[u][v] * authorities[v]).sum());
    }
    (hubs, authorities)
}

fn unit(values: Vec<f64>) -> Vec<f64> {
    let sum: f64 = values.iter().sum();
    if sum > 0.0 { values.iter().map(|value| value / sum).collect() } else { values }
}

fn node() -> impl Strategy<Value = DistillNode> {
    let relevance = prop_oneof![Just(0.0), Just(0.5), Just(1.0), 0.01..1.0];
    (0_u64..6, relevance, prop::bool::weighted(0.8)).prop_map(|(site, relevance, fetched)| DistillNode {
        site: site * 0x1234_5678_9ABC,
        relevance,
        fetched,
    })
}

fn webs() -> impl Strategy<Value = Web> {
    prop::collection::vec(node(), 1..16).prop_flat_map(|nodes| {
        let count = nodes.len() as u32;
        let links = prop::collection::vec((0..count, 0..count), 0..80);
        links.prop_map(move |links| Web { nodes: nodes.clone(), links })
    })
}

fn rhos() -> impl Strategy<Value = Rho> {
    prop_oneof![Just(Rho::All), (0.0..1.0).prop_map(Rho::Above), (0.05..1.0).prop_map(Rho::Share)]
}

proptest! {
    #[test]
    fn scores_equal_those_of_the_reference_implementation(
        web in webs(),
        rho in rhos(),
        correct_inflation: bool,
        factors in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.5..3.0], 16),
        hub_factors in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.5..3.0], 16),
        marked: bool,
        hubs_marked: bool,
        max_iterations in 1_usize..60,
    ) {
        let factors = marked.then_some(&factors[..web.nodes.len()]);
        let hub_factors = hubs_marked.then_some(&hub_factors[..web.nodes.len()]);
        // Without tolerance, so that both stop at the same iteration.
        let options = DistillOptions { rho, correct_inflation, factors, hub_factors, tolerance: 0.0, max_iterations };
        let graph = web.graph();
        let distiller = HitsDistiller::new(&graph, options).unwrap();
        let (hubs, authorities) = twin(&web, &options, distiller.rho());
        for (name, scores) in [("in memory", distiller.scores()), ("walk", web.walked(options))] {
            assert_close(&scores.hubs, &hubs, &format!("hubs, {name}"));
            assert_close(&scores.authorities, &authorities, &format!("authorities, {name}"));
        }
    }

    #[test]
    fn scores_are_an_eigenvector(web in webs(), correct_inflation: bool) {
        let options = DistillOptions { rho: Rho::All, correct_inflation, tolerance: 1e-12, max_iterations: 300, ..DistillOptions::default() };
        let scores = web.scores(options);
        prop_assume!(scores.converged);
        let (fwd, rev) = matrices(&web, &options, 0.0);
        let count = web.nodes.len();
        let authorities = |v: usize| (0..count).map(|u| fwd[u][v] * scores.hubs[u]).sum::<f64>();
        let authorities: Vec<f64> = (0..count).map(authorities).collect();
        let hubs = |u: usize| (0..count).map(|v| rev[u][v] * authorities[v]).sum::<f64>();
        assert_close(&unit((0..count).map(hubs).collect()), &scores.hubs, "hubs");
        assert_close(&unit(authorities), &scores.authorities, "authorities");
    }

    #[test]
    fn the_order_of_links_does_not_matter(web in webs(), seed: u64) {
        let mut shuffled = Web { nodes: web.nodes.clone(), links: web.links.clone() };
        shuffled.links.sort_by_key(|(u, v)| (u64::from(*u) << 32 | u64::from(*v)).wrapping_mul(seed | 1));
        let options = DistillOptions { rho: Rho::All, ..DistillOptions::default() };
        prop_assert_eq!(web.scores(options), shuffled.scores(options));
    }
}

/// Large enough for several chunks and many parts: 5,000 pages, 150,000 links, some pages with very many.
fn large() -> Web {
    let mut state = 1_u64;
    let mut draw = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let unit = (state >> 33) as f64 / (1_u64 << 31) as f64;
        (unit * unit * unit * below as f64) as u64
    };
    let node = |draw: &mut dyn FnMut(u64) -> u64| DistillNode {
        site: draw(1000),
        relevance: draw(1000) as f64 / 1000.0,
        fetched: draw(10) < 8,
    };
    let nodes = (0..5_000).map(|_| node(&mut draw)).collect();
    let links =
        (0..150_000).map(|at| (draw(5_000) as u32, (draw(5_000) as u32 * 7 + at % 3) % 5_000)).collect();
    Web { nodes, links }
}

#[test]
fn the_number_of_cores_does_not_matter() {
    let web = large();
    let scores = |threads: usize| -> (HitsScores, Vec<f64>) {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let ranks = page_rank(
                &web.graph(),
                &PageRankOptions { max_iterations: 10, ..PageRankOptions::default() },
            );
            (
                web.scores(DistillOptions { rho: Rho::All, max_iterations: 20, ..DistillOptions::default() }),
                ranks.unwrap().ranks,
            )
        })
    };
    let alone = scores(1);
    assert!(alone.0.hubs.iter().filter(|score| **score > 0.0).count() > 1000);
    assert!([2, 3, 8].into_iter().all(|threads| scores(threads) == alone));
}

#[test]
fn walk_and_memory_agree_on_a_large_web() {
    let web = large();
    for rho in [Rho::All, Rho::Share(0.15)] {
        let options = DistillOptions { rho, max_iterations: 20, ..DistillOptions::default() };
        let (scores, walked) = (web.scores(options), web.walked(options));
        assert_close(&scores.hubs, &walked.hubs, "hubs");
        assert_close(&scores.authorities, &walked.authorities, "authorities");
        assert_eq!(scores.iterations, walked.iterations);
    }
}
