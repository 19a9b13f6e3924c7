//! The link graph of a store as input to the distiller, with people's marks (W 2.1).

use std::collections::HashMap;

use porthole_distill::{
    DistillGraph, DistillOptions, HitsDistiller, HitsScores, Rho, link_weights, top, walk,
};
use porthole_store::{
    Feedback, FeedbackKind, GraphEdge, GraphNode, LinkGraph, SqlDistillation, SqlDistiller, SqlScores,
    SqliteReader, StoreReader,
};
use porthole_types::{SiteId, UrlId};

use super::{DistillError, SiteBy};

/// Weight of pages and sites marked as useful.
const USEFUL: f64 = 2.0;

/// The implementation that computes scores. All give the same results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Sparse products in memory.
    Native,
    /// Link by link along the table (V 3.8).
    Walk,
}

/// A link graph at one point in time.
pub struct Snapshot {
    stored: LinkGraph,
    graph: DistillGraph,
    /// Sites that count as another one.
    aliases: HashMap<SiteId, SiteId>,
    /// Factors from marks of pages and sites, and of hubs, if there are any.
    factors: Option<Vec<f64>>,
    hub_factors: Option<Vec<f64>>,
}

/// What a distillation by SQL needs besides the tables.
#[derive(Clone, Debug, PartialEq)]
pub struct SqlInputs {
    /// Minimum relevance of authorities (exclusive).
    pub rho: f64,
    /// Factors from marks of pages and sites.
    pub factors: Vec<(UrlId, f64)>,
    /// Factors from marks of hubs.
    pub hub_factors: Vec<(UrlId, f64)>,
    /// Sites that count as another one.
    pub sites: Vec<(SiteId, SiteId)>,
    /// Change of the scores at which the iteration ends.
    pub tolerance: f64,
    /// Maximum number of iterations.
    pub max_iterations: usize,
}

impl Snapshot {
    /// Reads the committed graph.
    ///
    /// # Errors
    /// If it cannot be read, or is too large.
    pub fn read(reader: &dyn StoreReader) -> Result<Snapshot, DistillError> {
        Snapshot::read_by(reader, SiteBy::Host)
    }

    /// Reads the committed graph, with another definition of a site.
    ///
    /// # Errors
    /// If it cannot be read, or is too large.
    pub fn read_by(reader: &dyn StoreReader, by: SiteBy) -> Result<Snapshot, DistillError> {
        Snapshot::read_after(reader, by, Vec::new())
    }

    /// As `read_by`; `known` are the links of an earlier snapshot of the same store
    /// ([`into_links`](Self::into_links)), which are not read again.
    pub(super) fn read_after(
        reader: &dyn StoreReader,
        by: SiteBy,
        known: Vec<GraphEdge>,
    ) -> Result<Snapshot, DistillError> {
        let stored = reader.graph_after(known)?;
        let aliases = if by == SiteBy::Host { HashMap::new() } else { by.aliases(&reader.sites()?) };
        Snapshot::new(stored, &reader.feedback()?, aliases)
    }

    /// Builds a graph from its parts.
    fn new(
        stored: LinkGraph,
        feedback: &[Feedback],
        aliases: HashMap<SiteId, SiteId>,
    ) -> Result<Snapshot, DistillError> {
        let node = |node: &GraphNode| porthole_distill::DistillNode {
            site: aliases.get(&node.sid).unwrap_or(&node.sid).0,
            relevance: node.relevance.into(),
            fetched: node.fetched,
        };
        let nodes: Vec<porthole_distill::DistillNode> = stored.nodes.iter().map(node).collect();
        let graph = DistillGraph::new(&nodes, &stored.edges, ends)?;
        let said = FeedbackFactors::new(feedback);
        let all = |factor: &dyn Fn(&GraphNode) -> f64| stored.nodes.iter().map(factor).collect::<Vec<_>>();
        let factors = said.is_of_pages().then(|| all(&|node| said.of_page(node)));
        let hub_factors = (!said.hubs.is_empty()).then(|| all(&|node| said.of_hub(node)));
        Ok(Snapshot { stored, graph, aliases, factors, hub_factors })
    }

    /// The graph. Pages are node numbers.
    pub fn graph(&self) -> &DistillGraph {
        &self.graph
    }

    /// The store's data about a page.
    pub fn node(&self, page: u32) -> &GraphNode {
        &self.stored.nodes[page as usize]
    }

    /// The links in table order, including duplicates.
    pub fn links(&self) -> &[GraphEdge] {
        &self.stored.edges
    }

    /// The links, for a later snapshot.
    pub(super) fn into_links(self) -> Vec<GraphEdge> {
        self.stored.edges
    }

    /// The graph prepared for a distillation in which a share `rho` of the pages may be authorities.
    ///
    /// # Errors
    /// None in practice.
    pub fn distiller(&self, rho: f64) -> Result<HitsDistiller<'_>, DistillError> {
        let options = DistillOptions {
            rho: Rho::Share(rho),
            factors: self.factors.as_deref(),
            hub_factors: self.hub_factors.as_deref(),
            ..DistillOptions::default()
        };
        Ok(HitsDistiller::new(&self.graph, options)?)
    }

    /// Computes hubs and authorities.
    ///
    /// # Errors
    /// None in practice.
    pub fn scores(&self, rho: f64, engine: Engine) -> Result<HitsScores, DistillError> {
        let distiller = self.distiller(rho)?;
        Ok(match engine {
            Engine::Native => distiller.scores(),
            Engine::Walk => {
                let weights = link_weights(&distiller, &self.stored.edges, ends);
                walk(&distiller, &self.stored.edges, &weights, ends)
            }
        })
    }

    /// Computes hubs and authorities inside the database by joins, with the same candidates for authorities.
    ///
    /// # Errors
    /// If the database fails.
    pub fn scores_by_sql(&self, reader: &SqliteReader, rho: f64) -> Result<SqlScores, DistillError> {
        let DistillOptions { tolerance, max_iterations, .. } = DistillOptions::default();
        Ok(self.sql_distiller(reader, rho)?.run(tolerance, max_iterations)?)
    }

    /// Computes the link weights inside the database, for a distillation there.
    ///
    /// # Errors
    /// If the database fails.
    pub fn sql_distiller(&self, reader: &SqliteReader, rho: f64) -> Result<SqlDistiller, DistillError> {
        let inputs = self.sql_inputs(rho)?;
        let how = SqlDistillation {
            rho: inputs.rho,
            correct_inflation: true,
            factors: &inputs.factors,
            hub_factors: &inputs.hub_factors,
            sites: &inputs.sites,
        };
        Ok(reader.distiller(&how)?)
    }

    /// What the statements of the distiller need besides the tables.
    ///
    /// # Errors
    /// None in practice.
    pub fn sql_inputs(&self, rho: f64) -> Result<SqlInputs, DistillError> {
        let DistillOptions { tolerance, max_iterations, .. } = DistillOptions::default();
        let mut sites: Vec<(SiteId, SiteId)> =
            self.aliases.iter().map(|(site, other)| (*site, *other)).collect();
        sites.sort_unstable();
        Ok(SqlInputs {
            rho: self.distiller(rho)?.rho(),
            factors: self.marked(self.factors.as_ref()),
            hub_factors: self.marked(self.hub_factors.as_ref()),
            sites,
            tolerance,
            max_iterations,
        })
    }

    /// The marked pages with their factors.
    fn marked(&self, factors: Option<&Vec<f64>>) -> Vec<(UrlId, f64)> {
        let all = self.stored.nodes.iter().zip(factors.into_iter().flatten());
        all.filter(|(_, factor)| **factor != 1.0).map(|(node, factor)| (node.oid, *factor)).collect()
    }

    /// Scores above 0 in the form that the store takes, best first.
    pub fn stored(&self, scores: &[f64]) -> Vec<(UrlId, f64)> {
        let best = top(scores, scores.len());
        best.into_iter().map(|(page, score)| (self.node(page).oid, score)).collect()
    }

    /// Whether neither the page nor its site is marked as useless.
    pub(super) fn is_welcome(&self, page: u32) -> bool {
        self.factors.as_ref().is_none_or(|factors| factors[page as usize] > 0.0)
    }
}

fn ends(edge: &GraphEdge) -> (u32, u32) {
    (edge.src, edge.dst)
}

/// Marks as factors.
struct FeedbackFactors {
    pages: HashMap<UrlId, f64>,
    sites: HashMap<SiteId, f64>,
    hubs: HashMap<UrlId, f64>,
}

impl FeedbackFactors {
    fn new(feedback: &[Feedback]) -> FeedbackFactors {
        let mut said = FeedbackFactors { pages: HashMap::new(), sites: HashMap::new(), hubs: HashMap::new() };
        for Feedback { name, kind, useful, .. } in feedback {
            let factor = if *useful { USEFUL } else { 0.0 };
            match kind {
                FeedbackKind::Page => said.pages.insert(UrlId::of(name), factor),
                FeedbackKind::Site => said.sites.insert(SiteId::of(name), factor),
                FeedbackKind::Hub => said.hubs.insert(UrlId::of(name), factor),
            };
        }
        said
    }

    fn is_of_pages(&self) -> bool {
        !self.pages.is_empty() || !self.sites.is_empty()
    }

    fn of_page(&self, node: &GraphNode) -> f64 {
        let of = |factor: Option<&f64>| factor.copied().unwrap_or(1.0);
        of(self.pages.get(&node.oid)) * of(self.sites.get(&node.sid))
    }

    fn of_hub(&self, node: &GraphNode) -> f64 {
        self.hubs.get(&node.oid).copied().unwrap_or(1.0)
    }
}
