//! Distillation during a crawl (W 2.1, 3.3, 4.7; V 2.2.3, 3.2): hubs and authorities are computed periodically on the
//! committed link graph. Great hubs are revisited, and their links that have not been fetched are raised.
//!
//! When it is due depends only on the numbers of fetches and links, and the result only on committed data. With one
//! fetch at a time it runs synchronously, so the crawl is the same in every run. With several it runs on its own
//! thread.

mod refresh;
mod sites;
mod snapshot;

use std::collections::HashSet;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use porthole_distill::{HitsScores, missed, top};
use porthole_store::{Estimate, GraphEdge, NeighbourEvidence, RAISED, Refreshed, StoreReader};
use porthole_types::UrlId;

pub use self::refresh::neighbourhoods;
pub use self::sites::SiteBy;
pub use self::snapshot::{Engine, Snapshot, SqlInputs};

/// Why a distillation failed.
#[derive(Debug, thiserror::Error)]
pub enum DistillError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] porthole_store::Error),
    /// The graph cannot be distilled.
    #[error("cannot distil the link graph: {0}")]
    Graph(#[from] porthole_distill::Error),
    /// The thread ended without a result.
    #[error("the distillation ended without a result")]
    Gone,
}

impl DistillError {
    /// Whether the connection to the database was lost.
    pub(crate) fn is_connection_lost(&self) -> bool {
        matches!(self, DistillError::Store(error) if error.is_connection_lost())
    }
}

/// When a crawl distils, and with which parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistillSettings {
    /// Number of fetches between two distillations, or a tenth of all fetches if that is more, because the cost grows
    /// with the graph.
    pub every: u64,
    /// Also distil when the number of links has grown by this share,
    pub growth: f64,
    /// if at least this many fetches were made since the last time.
    pub least: u64,
    /// Maximum number of links. This bounds memory, at about 50 bytes per link.
    pub links: u64,
    /// The share of the most relevant pages that may be authorities (W 3.2).
    pub rho: f64,
    /// Hubs above this quantile of the scores are great (V 3.7).
    pub psi: f64,
    /// Maximum number of neighbours of great hubs raised at a time.
    pub raised: usize,
    /// Maximum number of great hubs revisited at a time.
    pub revisits: usize,
    /// A hub is not revisited within this many fetches.
    pub rest: u64,
    /// What counts as one site.
    pub site: SiteBy,
}

impl Default for DistillSettings {
    fn default() -> Self {
        DistillSettings {
            every: 10_000,
            growth: 0.5,
            least: 2_000,
            links: 3_000_000,
            rho: 0.15,
            psi: 0.9,
            raised: 20,
            revisits: 10,
            rest: 5_000,
            site: SiteBy::Host,
        }
    }
}

/// The result of a distillation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distilled {
    /// Hub scores above 0, best first.
    pub hubs: Vec<(UrlId, f64)>,
    /// Authority scores above 0, best first.
    pub auth: Vec<(UrlId, f64)>,
    /// Untried links of great hubs to other sites, best first, with their new minimum estimates.
    pub raised: Vec<Estimate>,
    /// Queued pages whose estimates have changed, because those of the pages that link to them have.
    pub refreshed: Vec<Refreshed>,
    /// Judged pages whose neighbourhoods have changed much.
    pub neighbourhoods: Vec<NeighbourEvidence>,
    /// Great hubs to revisit, best first.
    pub revisit: Vec<UrlId>,
    /// What counted as one site.
    pub site: SiteBy,
    /// The value of the setting [`DISTILLED`] for this distillation.
    pub mark: String,
    /// Number of iterations.
    pub iterations: usize,
}

/// Setting with the sequence number of the last distillation. Committed with its result, so that a resumed crawl
/// distils at the same points.
pub const DISTILLED: &str = "crawl.distilled";

/// Setting that says what counted as one site for the stored scores.
pub const DISTILLED_BY: &str = "distilled.site";

/// Distils periodically.
#[derive(Debug)]
pub struct Distiller {
    settings: DistillSettings,
    /// Numbers of fetches and links when the last distillation started.
    last: (u64, u64),
    running: Option<Receiver<DistilledLinks>>,
    /// The links that the last distillation read, so that the next reads only newer ones. Empty while one is running.
    links: Vec<GraphEdge>,
}

/// The result of a distillation, and the links that it read.
type DistilledLinks = (Result<Distilled, DistillError>, Vec<GraphEdge>);

impl Distiller {
    /// Creates a distiller that continues from `mark`, the value of [`DISTILLED`].
    pub fn new(settings: DistillSettings, mark: Option<&str>) -> Self {
        let numbers = mark.and_then(|mark| mark.split_once(' '));
        let last = numbers.and_then(|(seq, links)| Some((seq.parse().ok()?, links.parse().ok()?)));
        Distiller { settings, last: last.unwrap_or_default(), running: None, links: Vec::new() }
    }

    /// Whether a distillation is due after `seq` fetches with this many links. Never while one is running.
    pub fn due(&self, seq: u64, links: u64) -> bool {
        let DistillSettings { every, growth, least, links: most, .. } = self.settings;
        let (fetches, before) = (seq.saturating_sub(self.last.0), self.last.1);
        let has_grown = links > before && links as f64 >= before as f64 * (1.0 + growth);
        let is_time = fetches >= every.max(seq / 10).max(1) || (has_grown && fetches >= least.max(1));
        self.running.is_none() && links <= most && is_time
    }

    /// Starts distilling what is committed after `seq` fetches, on its own thread.
    pub fn start(&mut self, reader: Box<dyn StoreReader>, seq: u64, links: u64) {
        let (settings, known) = self.begin(seq, links);
        let (sender, receiver) = sync_channel(1);
        // If the receiver is gone, the result is dropped.
        std::thread::spawn(move || drop(sender.send(distil(&*reader, known, &settings, seq, links))));
        self.running = Some(receiver);
    }

    /// The result of the running distillation, once it is finished.
    pub fn poll(&mut self) -> Option<Result<Distilled, DistillError>> {
        let (found, links) = match self.running.as_ref()?.try_recv() {
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => (Err(DistillError::Gone), Vec::new()),
            Ok(found) => found,
        };
        (self.running, self.links) = (None, links);
        Some(found)
    }

    /// Distils what is committed after `seq` fetches, synchronously.
    ///
    /// # Errors
    /// If the graph cannot be read or distilled.
    pub fn now(&mut self, reader: &dyn StoreReader, seq: u64, links: u64) -> Result<Distilled, DistillError> {
        let (settings, known) = self.begin(seq, links);
        let (distilled, links) = distil(reader, known, &settings, seq, links);
        self.links = links;
        distilled
    }

    fn begin(&mut self, seq: u64, links: u64) -> (DistillSettings, Vec<GraphEdge>) {
        self.last = (seq, links);
        (self.settings, std::mem::take(&mut self.links))
    }
}

/// The queued URLs whose estimates differ from those of the pages that link to them.
pub(crate) fn current_estimates(reader: &dyn StoreReader) -> Result<Vec<Refreshed>, DistillError> {
    Ok(refresh::estimates(&Snapshot::read(reader)?))
}

/// Computes scores, and what follows from them. `known` are the links that an earlier distillation read.
fn distil(
    reader: &dyn StoreReader,
    known: Vec<GraphEdge>,
    settings: &DistillSettings,
    seq: u64,
    links: u64,
) -> DistilledLinks {
    let snapshot = match Snapshot::read_after(reader, settings.site, known) {
        Ok(snapshot) => snapshot,
        Err(error) => return (Err(error), Vec::new()),
    };
    (distil_snapshot(&snapshot, reader, settings, seq, links), snapshot.into_links())
}

fn distil_snapshot(
    snapshot: &Snapshot,
    reader: &dyn StoreReader,
    settings: &DistillSettings,
    seq: u64,
    links: u64,
) -> Result<Distilled, DistillError> {
    let scores = snapshot.scores(settings.rho, Engine::Native)?;
    let recent = RecentFetches::read(reader, settings, seq)?;
    let psi = great(&scores.hubs, settings.psi);
    Ok(Distilled {
        hubs: snapshot.stored(&scores.hubs),
        auth: snapshot.stored(&scores.authorities),
        raised: raised(snapshot, &scores, psi, settings.raised),
        refreshed: refresh::estimates(snapshot),
        neighbourhoods: neighbourhoods(snapshot, reader)?,
        revisit: revisits(snapshot, &scores, psi, settings.revisits, &recent),
        site: settings.site,
        mark: format!("{seq} {links}"),
        iterations: scores.iterations,
    })
}

/// The URLs fetched recently.
enum RecentFetches {
    Everything,
    These(HashSet<UrlId>),
}

impl RecentFetches {
    fn read(
        reader: &dyn StoreReader,
        settings: &DistillSettings,
        seq: u64,
    ) -> Result<RecentFetches, DistillError> {
        // The last fetch that is not recent. Sequence numbers start at 0.
        let Some(after) = seq.checked_sub(settings.rest.saturating_add(1)) else {
            return Ok(RecentFetches::Everything);
        };
        if settings.revisits == 0 {
            return Ok(RecentFetches::Everything);
        }
        let tried = reader.tried(Some(after), usize::MAX)?;
        Ok(RecentFetches::These(tried.into_iter().map(|tried| tried.oid).collect()))
    }

    fn has(&self, oid: UrlId) -> bool {
        match self {
            RecentFetches::Everything => true,
            RecentFetches::These(oids) => oids.contains(&oid),
        }
    }
}

/// The score above which hubs are great. The best hub always is.
fn great(hubs: &[f64], psi: f64) -> f64 {
    let count = hubs.iter().filter(|score| **score > 0.0).count();
    let wanted = (count as f64 * (1.0 - psi.clamp(0.0, 1.0))).ceil() as usize;
    top(hubs, wanted.max(1)).last().map_or(0.0, |(_, score)| score.next_down())
}

/// Neighbours of great hubs get the highest priority (W 4.7), those of the best hubs slightly more.
fn raised(snapshot: &Snapshot, scores: &HitsScores, psi: f64, most: usize) -> Vec<Estimate> {
    let missed = missed(snapshot.graph(), scores, psi);
    let open = missed.iter().filter(|missed| {
        let node = snapshot.node(missed.page);
        // A URL that was raised before and is not fetched yet is not raised again.
        !node.tried && node.follows && snapshot.is_welcome(missed.page)
    });
    let estimate =
        |(at, oid): (usize, UrlId)| Estimate { oid, relevance: 1.0, priority: RAISED + (most - at) as f64 };
    open.take(most).map(|missed| snapshot.node(missed.page).oid).enumerate().map(estimate).collect()
}

fn revisits(
    snapshot: &Snapshot,
    scores: &HitsScores,
    psi: f64,
    most: usize,
    recent: &RecentFetches,
) -> Vec<UrlId> {
    let great = top(&scores.hubs, scores.hubs.len()).into_iter().take_while(|(_, score)| *score > psi);
    let oids = great.map(|(page, _)| snapshot.node(page).oid);
    oids.filter(|oid| !recent.has(*oid)).take(most).collect()
}

#[cfg(test)]
mod tests;
