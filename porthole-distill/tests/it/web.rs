//! Small graphs for tests.

use porthole_distill::{Distiller, Graph, Node, Options, Rho, Scores, link_weights, walk};

pub(crate) type Link = (u32, u32);

/// A graph with its links as they are in the table.
#[derive(Debug)]
pub(crate) struct Web {
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<Link>,
}

impl Web {
    /// Fetched pages of these relevances, each on a site of its own.
    pub(crate) fn new(relevance: &[f64], links: &[Link]) -> Web {
        let sites: Vec<u64> = (0..relevance.len() as u64).collect();
        Web::with_sites(relevance, &sites, links)
    }

    pub(crate) fn with_sites(relevance: &[f64], sites: &[u64], links: &[Link]) -> Web {
        let node =
            |(relevance, site): (&f64, &u64)| Node { site: *site, relevance: *relevance, fetched: true };
        Web { nodes: relevance.iter().zip(sites).map(node).collect(), links: links.to_vec() }
    }

    /// `count` relevant pages, each on a site of its own.
    pub(crate) fn plain(count: usize, links: &[Link]) -> Web {
        Web::new(&vec![1.0; count], links)
    }

    pub(crate) fn graph(&self) -> Graph {
        Graph::new(&self.nodes, &self.links, |link| *link).unwrap()
    }

    pub(crate) fn scores(&self, options: Options<'_>) -> Scores {
        Distiller::new(&self.graph(), options).unwrap().scores()
    }

    pub(crate) fn walked(&self, options: Options<'_>) -> Scores {
        let graph = self.graph();
        let distiller = Distiller::new(&graph, options).unwrap();
        let weights = link_weights(&distiller, &self.links, |link| *link);
        walk(&distiller, &self.links, &weights, |link| *link)
    }

    /// Distils in memory and by walking, to the end; both must find these scores.
    pub(crate) fn check(&self, options: Options<'_>, hubs: &[f64], authorities: &[f64]) {
        let options = Options { tolerance: 1e-14, max_iterations: 10_000, ..options };
        for (name, scores) in [("in memory", self.scores(options)), ("walk", self.walked(options))] {
            assert!(scores.converged, "{name}: {} after {} iterations", scores.change, scores.iterations);
            assert_close(&scores.hubs, hubs, &format!("hubs, {name}"));
            assert_close(&scores.authorities, authorities, &format!("authorities, {name}"));
        }
    }
}

/// All pages may be authorities.
pub(crate) fn all() -> Options<'static> {
    Options { rho: Rho::All, ..Options::default() }
}

pub(crate) fn assert_close(found: &[f64], wanted: &[f64], what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (page, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert!((found - wanted).abs() < 1e-9, "{what}: page {page} has {found} instead of {wanted}");
    }
}
