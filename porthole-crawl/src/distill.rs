//! Distillation beside a crawl (W 2.1, 3.3, 4.7; V 2.2.3, 3.2): every so often hubs and authorities are found in the
//! link graph as it is committed, great hubs are visited again, and what they link to and nobody has fetched is raised.
//!
//! When it is due follows from the numbers of fetches and links alone, and what comes of it from what is committed:
//! with one fetch at a time it is run on the spot, and the crawl goes the same way in every run. With several it runs
//! on a thread of its own.

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
pub use self::snapshot::{Engine, Snapshot};

/// Why there are no scores.
#[derive(Debug, thiserror::Error)]
pub enum DistillError {
    /// The database refused.
    #[error(transparent)]
    Store(#[from] porthole_store::Error),
    /// The graph cannot be distilled.
    #[error("cannot distil the link graph: {0}")]
    Graph(#[from] porthole_distill::Error),
    /// The thread is gone.
    #[error("the distillation ended without a result")]
    Gone,
}

/// When a crawl distils, and what it does then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistillSettings {
    /// After so many fetches, or a tenth of all fetches if that is more: the work grows with the graph.
    pub every: u64,
    /// Or once there are more links by this share of those of the last time,
    pub growth: f64,
    /// if so many fetches have been made since.
    pub least: u64,
    /// Not while there are more links than this, which bounds the memory: some 50 bytes a link.
    pub links: u64,
    /// The most relevant share of the pages, which may be authorities (W 3.2).
    pub rho: f64,
    /// Hubs above this quantile of the scores are great (V 3.7).
    pub psi: f64,
    /// Neighbours of great hubs that are raised at a time, at most.
    pub raised: usize,
    /// Great hubs that are visited again at a time, at most.
    pub revisits: usize,
    /// A hub that was fetched within so many fetches is not visited again yet.
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

/// What a distillation found, and what is to be done about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distilled {
    /// Hub scores above 0, best first.
    pub hubs: Vec<(UrlId, f64)>,
    /// Authority scores above 0, best first.
    pub auth: Vec<(UrlId, f64)>,
    /// What great hubs link to on other sites and nobody has tried, best first, with what is to be believed of it at
    /// least.
    pub raised: Vec<Estimate>,
    /// Queued pages of which the pages that link to them say something else by now.
    pub refreshed: Vec<Refreshed>,
    /// What neighbours say of judged pages by now, where it has changed much.
    pub neighbourhoods: Vec<NeighbourEvidence>,
    /// Great hubs to be visited again, best first.
    pub revisit: Vec<UrlId>,
    /// What counted as one site.
    pub site: SiteBy,
    /// The value of the setting [`DISTILLED`] that goes with all this.
    pub mark: String,
    /// How many iterations it took.
    pub iterations: usize,
}

/// The setting that says at which fetch the last distillation was; committed with what came of it, so that a crawl
/// that goes on distils where it would have.
pub const DISTILLED: &str = "crawl.distilled";

/// The setting that says what counted as one site when the scores that are stored were found.
pub const DISTILLED_BY: &str = "distilled.site";

/// Distils now and then.
#[derive(Debug)]
pub struct Distiller {
    settings: DistillSettings,
    /// Fetches and links at the last distillation that was begun.
    last: (u64, u64),
    running: Option<Receiver<DistilledLinks>>,
    /// The links that the last distillation read, so that the next reads only newer ones. Empty while one is running.
    links: Vec<GraphEdge>,
}

/// The result of a distillation, and the links that it read.
type DistilledLinks = (Result<Distilled, DistillError>, Vec<GraphEdge>);

impl Distiller {
    /// A distiller that goes on where the last one was; `mark` is what [`DISTILLED`] says.
    pub fn new(settings: DistillSettings, mark: Option<&str>) -> Self {
        let numbers = mark.and_then(|mark| mark.split_once(' '));
        let last = numbers.and_then(|(seq, links)| Some((seq.parse().ok()?, links.parse().ok()?)));
        Distiller { settings, last: last.unwrap_or_default(), running: None, links: Vec::new() }
    }

    /// Whether it is time, after `seq` fetches that brought so many links. Not while one is under way.
    pub fn due(&self, seq: u64, links: u64) -> bool {
        let DistillSettings { every, growth, least, links: most, .. } = self.settings;
        let (fetches, before) = (seq.saturating_sub(self.last.0), self.last.1);
        let has_grown = links > before && links as f64 >= before as f64 * (1.0 + growth);
        let is_time = fetches >= every.max(seq / 10).max(1) || (has_grown && fetches >= least.max(1));
        self.running.is_none() && links <= most && is_time
    }

    /// Begins to distil what is committed after `seq` fetches, on a thread of its own.
    pub fn start(&mut self, reader: Box<dyn StoreReader>, seq: u64, links: u64) {
        let (settings, known) = self.begin(seq, links);
        let (sender, receiver) = sync_channel(1);
        // The send fails if nobody waits for the result any more.
        std::thread::spawn(move || drop(sender.send(distil(&*reader, known, &settings, seq, links))));
        self.running = Some(receiver);
    }

    /// What came of the distillation that was started, once.
    pub fn poll(&mut self) -> Option<Result<Distilled, DistillError>> {
        let (found, links) = match self.running.as_ref()?.try_recv() {
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => (Err(DistillError::Gone), Vec::new()),
            Ok(found) => found,
        };
        (self.running, self.links) = (None, links);
        Some(found)
    }

    /// Distils what is committed after `seq` fetches, on the spot.
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

/// The queued URLs whose estimate is not what the pages that link to them are worth by now.
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

/// What has been fetched of late.
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
        // The fetch before the first that is recent: numbers begin with 0.
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

/// The score above which hubs are great. However few hubs there are, the best is.
fn great(hubs: &[f64], psi: f64) -> f64 {
    let count = hubs.iter().filter(|score| **score > 0.0).count();
    let wanted = (count as f64 * (1.0 - psi.clamp(0.0, 1.0))).ceil() as usize;
    top(hubs, wanted.max(1)).last().map_or(0.0, |(_, score)| score.next_down())
}

/// Neighbours of great hubs get the highest priority there is (W 4.7), those with the best hubs a little more of it.
fn raised(snapshot: &Snapshot, scores: &HitsScores, psi: f64, most: usize) -> Vec<Estimate> {
    let missed = missed(snapshot.graph(), scores, psi);
    let open = missed.iter().filter(|missed| {
        let node = snapshot.node(missed.page);
        // One that was raised before and not yet fetched has had its turn.
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
