//! Hubs and authorities in memory, by an edge walk, and by joins inside the database give the same scores.

use porthole_distill::{DistillGraph, DistillNode, DistillOptions, HitsDistiller, Rho, link_weights, walk};
use porthole_store::{
    Batch, SqlDistillation, SqlScores, SqliteReader, SqliteStore, Store, StoreReader, WorkspaceWriter,
};
use porthole_types::{
    CanonicalUrl, Judgment, LinkRow, NewUrl, Outcome, PageResult, SiteId, Timestamp, TopicId, UrlId,
};
use tempfile::TempDir;

/// Pages and sites of the synthetic web.
const PAGES: u32 = 400;
const SITES: u32 = 60;

/// Pseudorandom numbers, the same on every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(n)) as u32
    }
}

fn url(page: u32) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://s{}.test/{page}", page % SITES)).unwrap()
}

fn new_url(page: u32) -> NewUrl {
    NewUrl { url: url(page), relevance: 0.5, priority: 0.5, depth: 0 }
}

fn link(page: u32) -> LinkRow {
    let target = new_url(page);
    LinkRow::to(target)
}

/// A crawl of two thirds of the web, with duplicate links, links within sites, and links to pages that were not
/// fetched.
fn crawled(folder: &TempDir) -> SqliteReader {
    let path = folder.path().join("porthole.db");
    let mut store = SqliteStore::open(&path).unwrap();
    let mut numbers = Numbers(7);
    let mut results = Vec::new();
    for page in (0..PAGES).filter(|page| page % 3 != 0) {
        store.add(&[new_url(page)]).unwrap();
        // Half of the links go to a few pages; relevance is exact in 24 bits, the precision of a graph.
        let mut target = || if numbers.below(2) == 0 { numbers.below(30) } else { numbers.below(PAGES) };
        let links = (0..12).map(|_| link(target())).collect();
        let relevance = f64::from(numbers.below(256)) / 256.0;
        results.push(PageResult {
            seq: page.into(),
            oid: url(page).id(),
            sid: url(page).site(),
            at: Timestamp(1_000),
            status: 200,
            outcome: Outcome::Fetched,
            judgment: Some(Judgment { relevance, best: TopicId(1) }),
            title: String::new(),
            language: String::new(),
            bytes: 1,
            simhash: 1,
            terms: Vec::new(),
            copy_of: None,
            validators: None,
            next_visit: None,
            span: None,
            links,
        });
    }
    store.commit(&Batch { results: &results, ..Batch::default() }).unwrap();
    // A page queued for a revisit keeps its data.
    store.queue_again(&[url(1).id(), url(2).id()]).unwrap();
    drop(store);
    SqliteReader::open(path).unwrap()
}

fn assert_same(what: &str, expected: &[f64], found: &[f64]) {
    assert_eq!(expected.len(), found.len());
    for (page, (one, other)) in expected.iter().zip(found).enumerate() {
        assert!((one - other).abs() < 1e-9, "{what} of page {page}: {one} and {other}");
    }
}

#[test]
fn three_distillers_give_the_same_scores() {
    let folder = tempfile::tempdir().unwrap();
    let reader = crawled(&folder);
    let stored = reader.graph().unwrap();
    // Every second page has feedback of a user; sites are hosts, or three hosts each.
    let word = |page: usize| [1.0, 0.0, 1.0, 2.5][page % 4];
    let factors: Vec<f64> = (0..stored.nodes.len()).map(word).collect();
    // Every third page has feedback as a hub.
    let hub_word = |page: usize| [0.0, 1.0, 2.0][page % 3];
    let hub_factors: Vec<f64> = (0..stored.nodes.len()).map(hub_word).collect();
    let by_oid = |factors: &[f64]| -> Vec<(UrlId, f64)> {
        stored.nodes.iter().map(|node| node.oid).zip(factors.iter().copied()).collect()
    };
    let (factors_by_oid, hub_factors_by_oid) = (by_oid(&factors), by_oid(&hub_factors));
    let domains: Vec<(SiteId, SiteId)> =
        (0..SITES).map(|site| (url(site).site(), url(site / 3).site())).collect();
    for (rho, correct_inflation, [factored, hub_factored], by_domain) in [
        (Rho::Share(0.15), true, [false, false], false),
        (Rho::Share(0.5), false, [false, false], false),
        (Rho::Share(0.5), true, [false, true], false),
        (Rho::All, true, [true, false], false),
        (Rho::Above(0.3), true, [true, true], true),
        (Rho::Above(1.0), true, [false, false], false),
    ] {
        let site = |sid: SiteId| {
            domains.iter().find(|(host, _)| by_domain && *host == sid).map_or(sid, |found| found.1)
        };
        let nodes: Vec<DistillNode> = stored
            .nodes
            .iter()
            .map(|node| DistillNode {
                site: site(node.sid).0,
                relevance: node.relevance.into(),
                fetched: node.fetched,
            })
            .collect();
        let ends = |edge: &porthole_store::GraphEdge| (edge.src, edge.dst);
        let graph = DistillGraph::new(&nodes, &stored.edges, ends).unwrap();
        let factors = factored.then_some(factors.as_slice());
        let hub_factors = hub_factored.then_some(hub_factors.as_slice());
        let options = DistillOptions {
            rho,
            correct_inflation,
            factors,
            hub_factors,
            tolerance: 1e-12,
            ..DistillOptions::default()
        };
        let distiller = HitsDistiller::new(&graph, options).unwrap();
        let native = distiller.scores();
        let weights = link_weights(&distiller, &stored.edges, ends);
        let walked = walk(&distiller, &stored.edges, &weights, ends);
        let how = SqlDistillation {
            rho: distiller.rho(),
            correct_inflation,
            factors: if factored { &factors_by_oid } else { &[] },
            hub_factors: if hub_factored { &hub_factors_by_oid } else { &[] },
            sites: if by_domain { &domains } else { &[] },
        };
        let joined = reader.distiller(&how).unwrap().run(1e-12, 200).unwrap();
        let SqlScores { hubs, authorities, converged, .. } = &joined;
        let spread = |scores: &[(UrlId, f64)]| -> Vec<f64> {
            let score =
                |oid: UrlId| scores.iter().find(|(found, _)| *found == oid).map_or(0.0, |found| found.1);
            stored.nodes.iter().map(|node| score(node.oid)).collect()
        };
        assert_same("hub score by the walk", &native.hubs, &walked.hubs);
        assert_same("hub score by SQL", &native.hubs, &spread(hubs));
        assert_same("authority score by the walk", &native.authorities, &walked.authorities);
        assert_same("authority score by SQL", &native.authorities, &spread(authorities));
        let is_empty = matches!(rho, Rho::Above(least) if least >= 1.0);
        assert_eq!((hubs.is_empty(), native.converged, *converged), (is_empty, true, true), "{rho:?}");
        assert!(is_empty || authorities.iter().filter(|(_, score)| *score > 1e-3).count() > 5, "{rho:?}");
    }
}

#[test]
fn distilling_by_sql_leaves_the_database_unchanged_during_a_crawl() {
    let folder = tempfile::tempdir().unwrap();
    let reader = crawled(&folder);
    let mut store = SqliteStore::open(folder.path().join("porthole.db")).unwrap();
    let how =
        SqlDistillation { rho: 0.5, correct_inflation: true, factors: &[], hub_factors: &[], sites: &[] };
    let mut distiller = reader.distiller(&how).unwrap();
    let first = distiller.iterate().unwrap();
    store.add(&[new_url(10 * PAGES)]).unwrap();
    store.append(&[]).unwrap();
    assert!(first > 0.5 && distiller.iterate().unwrap() < first);
    let tables =
        reader.sql("select count(*) from sqlite_schema where name = 'weighed'", &Default::default()).unwrap();
    assert_eq!(tables.rows[0][0].integer(), Some(0));
}
