//! Small graphs for tests.

use porthole_distill::{
    DistillGraph, DistillNode, DistillOptions, HitsDistiller, HitsScores, Rho, link_weights, walk,
};

pub(crate) type Link = (u32, u32);

/// A graph with its links in table order.
#[derive(Debug)]
pub(crate) struct Web {
    pub(crate) nodes: Vec<DistillNode>,
    pub(crate) links: Vec<Link>,
}

impl Web {
    /// Fetched pages of these relevances, each on a separate site.
    pub(crate) fn new(relevance: &[f64], links: &[Link]) -> Web {
        let sites: Vec<u64> = (0..relevance.len() as u64).collect();
        Web::with_sites(relevance, &sites, links)
    }

    pub(crate) fn with_sites(relevance: &[f64], sites: &[u64], links: &[Link]) -> Web {
        let node = |(relevance, site): (&f64, &u64)| DistillNode {
            site: *site,
            relevance: *relevance,
            fetched: true,
        };
        Web { nodes: relevance.iter().zip(sites).map(node).collect(), links: links.to_vec() }
    }

    /// `count` relevant pages, each on a separate site.
    pub(crate) fn plain(count: usize, links: &[Link]) -> Web {
        Web::new(&vec![1.0; count], links)
    }

    pub(crate) fn graph(&self) -> DistillGraph {
        DistillGraph::new(&self.nodes, &self.links, |link| *link).unwrap()
    }

    pub(crate) fn scores(&self, options: DistillOptions<'_>) -> HitsScores {
        HitsDistiller::new(&self.graph(), options).unwrap().scores()
    }

    pub(crate) fn walked(&self, options: DistillOptions<'_>) -> HitsScores {
        let graph = self.graph();
        let distiller = HitsDistiller::new(&graph, options).unwrap();
        let weights = link_weights(&distiller, &self.links, |link| *link);
        walk(&distiller, &self.links, &weights, |link| *link)
    }

    /// Distils in memory and by walking until convergence; both must give these scores.
    pub(crate) fn check(&self, options: DistillOptions<'_>, hubs: &[f64], authorities: &[f64]) {
        let options = DistillOptions { tolerance: 1e-14, max_iterations: 10_000, ..options };
        for (name, scores) in [("in memory", self.scores(options)), ("walk", self.walked(options))] {
            assert!(scores.converged, "{name}: {} after {} iterations", scores.change, scores.iterations);
            assert_close(&scores.hubs, hubs, &format!("hubs, {name}"));
            assert_close(&scores.authorities, authorities, &format!("authorities, {name}"));
        }
    }
}

/// All pages may be authorities.
pub(crate) fn all() -> DistillOptions<'static> {
    DistillOptions { rho: Rho::All, ..DistillOptions::default() }
}

pub(crate) fn assert_close(found: &[f64], wanted: &[f64], what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (page, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert!((found - wanted).abs() < 1e-9, "{what}: page {page} has {found} instead of {wanted}");
    }
}
