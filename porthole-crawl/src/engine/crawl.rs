//! A crawl: its parts, its limits, and how it is run.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;
use std::time::Duration;

use porthole_store::{Store, StoreCounts};
use porthole_strategy::StateError;
use porthole_topic::JudgeError;
use porthole_types::{CanonicalUrl, Clock, Event, ManualClock, NewUrl, PageResult, SegmentSpan, Timestamp};

use super::admission::Admission;
use super::durability::Syncing;
use super::manners::Manners;
use super::memory::Memory;
use super::network::Network;
use super::vitals::AlarmWatch;
use super::worth::Idle;
use super::writer::{RunState, StoreRef, Upkeep, Writer};
use super::{simulated, single};
use crate::Fetch;
use crate::alarms::{AlarmSettings, DiskSpace};
use crate::archive::ArchiveError;
use crate::backlinks::{self, BacklinkSettings, Backlinks};
use crate::distill::{DISTILLED, DistillError, DistillSettings, Distiller};
use crate::host::Politeness;
use crate::recovery::LostPages;
use crate::result::{Focus, Scorer};
use crate::scope::Scope;
use crate::upkeep::UpkeepSettings;

/// The limits of a run, and its workers.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of fetches, whatever their outcome.
    pub fetches: u64,
    /// Maximum number of pages. Redirects, refusals and failures do not count.
    pub pages: u64,
    /// Maximum number of bytes received.
    pub bytes: u64,
    /// Maximum number of fetches in flight.
    pub workers: usize,
    /// What a free worker does while the sites with good links are resting.
    pub idle: Idle,
    /// Target number of pages, used by [`Idle`]. Not a limit.
    pub wanted_pages: Option<u64>,
    /// Target duration, used by [`Idle`]. Not a limit.
    pub wanted_time: Option<Duration>,
}

impl Limits {
    /// One fetch at a time, without limits.
    pub const NONE: Limits = Limits {
        fetches: u64::MAX,
        pages: u64::MAX,
        bytes: u64::MAX,
        workers: 1,
        idle: Idle::Fill,
        wanted_pages: None,
        wanted_time: None,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Limits::NONE
    }
}

/// Why a crawl ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The limit on pages or fetches is reached.
    Limit,
    /// The limit on bytes is reached.
    Bytes,
    /// No URL is left.
    Exhausted,
    /// The remaining URLs wait for a retry, the first of them until this time.
    Waiting(Timestamp),
    /// The crawl was stopped on request.
    Asked,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Limit => "the page limit is reached",
            Stop::Bytes => "the byte limit is reached",
            Stop::Exhausted => "no URL is left",
            Stop::Waiting(_) => "all remaining URLs wait for a retry",
            Stop::Asked => "stopped on request",
        })
    }
}

/// A committed fetch, as passed to an observer.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The URL.
    pub url: &'a CanonicalUrl,
    /// Its result.
    pub result: &'a PageResult,
    /// How long the fetch took.
    pub took: Duration,
    /// Current row counts.
    pub counts: StoreCounts,
}

/// Why a crawl failed.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] porthole_store::Error),
    /// The critic failed.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// The archive failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The distillation failed.
    #[error(transparent)]
    Distill(#[from] DistillError),
    /// The strategy's saved state is unusable.
    #[error(transparent)]
    Memory(#[from] StateError),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

impl CrawlError {
    /// Whether the crawl can go on as after a crash, once the database is there again.
    pub fn is_connection_lost(&self) -> bool {
        match self {
            CrawlError::Store(error) => error.is_connection_lost(),
            CrawlError::Distill(error) => error.is_connection_lost(),
            _ => false,
        }
    }

    /// Whether the disk is full.
    pub fn is_disk_full(&self) -> bool {
        match self {
            CrawlError::Store(error) => error.is_disk_full(),
            CrawlError::Archive(error) => error.is_disk_full(),
            CrawlError::Judge(_) | CrawlError::Distill(_) | CrawlError::Memory(_) | CrawlError::Thread(_) => {
                false
            }
        }
    }
}

/// Observes a crawl, and may end it.
pub trait Observer {
    /// Called after a fetch was committed.
    fn committed(&mut self, seen: Seen<'_>) -> ControlFlow<()>;

    /// Called about once a second while `workers` are idle by choice, because they wait for `sites` resting sites
    /// with good links.
    fn waiting_for(&mut self, workers: usize, sites: usize) {
        let _ = (workers, sites);
    }

    /// Called when the crawl is held up, with the reason (an outage, a pause, or a judge that does not answer), and with
    /// `None` when it continues.
    fn held_up(&mut self, why: Option<&str>) {
        let _ = why;
    }

    /// Called for every new row of the table `event`, after its commit: commands, distillations, answers of kept queries.
    fn recorded(&mut self, event: &Event) {
        let _ = event;
    }

    /// Called when nothing happened for a short time.
    fn waiting(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Why the observer has stopped the crawl, for the event `stopped`; `None` if it has not, or on request.
    fn stop_reason(&self) -> Option<&'static str> {
        None
    }
}

impl<F: FnMut(Seen<'_>) -> ControlFlow<()>> Observer for F {
    fn committed(&mut self, seen: Seen<'_>) -> ControlFlow<()> {
        self(seen)
    }
}

/// A crawl over a web and a store.
pub struct Crawl<'a> {
    pub(crate) web: Arc<dyn Fetch + 'a>,
    /// `None` for webs without politeness: recorded, synthetic, or on this machine.
    pub(crate) manners: Option<Manners>,
    pub(crate) writer: Writer<'a>,
}

impl<'a> Crawl<'a> {
    /// Creates a crawl that continues from the state of the store.
    pub fn new(
        web: impl Fetch + 'a,
        store: impl Into<StoreRef<'a>>,
        clock: impl Clock + 'a,
    ) -> Result<Self, CrawlError> {
        let store = store.into();
        let next_seq = store.setting(NEXT_SEQ)?.and_then(|seq| seq.parse().ok()).unwrap_or(0);
        let writer = Writer {
            store,
            clock: Arc::new(clock),
            judge: None,
            scorer: None,
            memory: Memory::default(),
            archive: None,
            lost_pages: LostPages::default(),
            syncing: Syncing::default(),
            admission: Admission::default(),
            truncates: false,
            distiller: None,
            backlinks: None,
            alarms: None,
            upkeep: None,
            starts: HashSet::default(),
            next_seq,
            reads_in_place: false,
            run: RunState::default(),
            outbox: Vec::new(),
        };
        Ok(Crawl { web: Arc::new(web), manners: None, writer })
    }

    /// Judges pages, and follows links by a strategy.
    pub fn focused(mut self, focus: Focus) -> Self {
        self.refocus(focus);
        self
    }

    /// Replaces the judge and the strategy. See [`Crawl::rejudge_if_changed`] for pages judged before.
    pub fn refocus(&mut self, focus: Focus) {
        let Focus { judge, strategy, marks } = focus;
        self.writer.judge = Some(judge);
        self.writer.scorer = Some(Scorer { strategy, marks });
        self.writer.memory = Memory::default();
    }

    /// Makes the crawl polite: it fetches robots.txt as `agent`, pauses between requests, and avoids traps. Needs a
    /// runtime with timers.
    pub fn polite(mut self, politeness: Politeness, agent: &str) -> Self {
        self.manners = Some(Manners::new(politeness, agent));
        self.avoiding_traps()
    }

    /// Reads pages in the task that runs the crawl instead of on threads. In simulated time reading must take no
    /// time, or the clock would run ahead of the readers.
    pub fn reading_in_place(mut self) -> Self {
        self.writer.reads_in_place = true;
        self
    }

    /// Avoids traps. Needed for webs without an end.
    pub fn avoiding_traps(mut self) -> Self {
        self.writer.admission.watch_for_traps();
        self
    }

    /// Stays within a scope.
    pub fn within(mut self, scope: Scope) -> Self {
        self.writer.admission.scope = Arc::new(scope);
        self
    }

    /// Also tries the folders above good pages: for `/a/b/c`, `/a/b/`, `/a/` and `/` (V 3.2).
    pub fn truncating(mut self, truncates: bool) -> Self {
        self.writer.truncates = truncates;
        self
    }

    /// Computes hubs and authorities during the crawl, and raises what the best hubs link to (W 3.2, V 2.2).
    pub fn distilling(mut self, settings: DistillSettings) -> Result<Self, CrawlError> {
        let mark = self.writer.store.setting(DISTILLED)?;
        self.writer.distiller = Some(Distiller::new(settings, mark.as_deref()));
        Ok(self)
    }

    /// Asks an endpoint for the pages that link to good pages, and tries those too (V 3.2).
    pub fn asking_backlinks(mut self, settings: BacklinkSettings) -> Result<Self, CrawlError> {
        let asked = self.writer.own_setting(backlinks::ASKED)?;
        self.writer.backlinks = Some(Backlinks::new(settings, asked.as_deref()));
        Ok(self)
    }

    /// Raises alarms. `disk` measures the disk of the workspace, if it can. Only a crawl that is
    /// [spawned](Crawl::spawn) does so.
    pub fn watched(
        mut self,
        settings: AlarmSettings,
        disk: impl Fn() -> Option<DiskSpace> + Send + 'static,
    ) -> Self {
        self.writer.alarms = Some(AlarmWatch::new(settings, Box::new(disk)));
        self
    }

    /// Visits pages again that were fetched before, by this run or by earlier ones (V 3.2).
    pub fn maintaining(mut self, settings: UpkeepSettings) -> Self {
        self.writer.upkeep = Some(Upkeep::new(settings));
        self
    }

    /// Adds start URLs. Returns how many of them were new.
    pub fn start(&mut self, urls: &[CanonicalUrl]) -> Result<usize, CrawlError> {
        self.writer.add_starts(urls)
    }

    /// The store, while the crawl is not running.
    pub fn store(&mut self) -> &mut (dyn Store + 'static) {
        &mut *self.writer.store
    }

    /// Crawls until a limit is reached, nothing is left, or the observer asks to stop. Both halves run in one task.
    /// Requests in flight at the end are made again when the crawl is resumed.
    pub async fn run(&mut self, limits: Limits, observer: &mut dyn Observer) -> Result<Stop, CrawlError> {
        self.writer.begin(limits, self.manners.is_some(), limits.workers > 1)?;
        self.load_hosts()?;
        let mut network = Network::new(self.manners.take());
        let stop = single::drive(&mut network, &mut self.writer, &*self.web, observer).await;
        self.manners = network.into_manners();
        self.end(stop)
    }

    /// Loads the host states of an earlier run.
    pub(super) fn load_hosts(&mut self) -> Result<(), CrawlError> {
        let now = self.writer.clock.now();
        if let Some(manners) = &mut self.manners {
            manners.recall(&*self.writer.store.reader(), now)?;
        }
        Ok(())
    }

    /// Ends a run, and stores the host states for the next one.
    pub(super) fn end(&mut self, stop: Result<Stop, CrawlError>) -> Result<Stop, CrawlError> {
        let kept = if stop.is_ok() { self.writer.save_hosts(self.manners.as_mut()) } else { Ok(()) };
        self.writer.end(stop.and_then(|stop| kept.map(|()| stop)))
    }

    /// Runs in simulated time, on one thread. A request takes as long as its answer says, and `clock`, which must be
    /// the crawl's clock, is advanced to the next event whenever nothing can be done. The web must answer at once. Commits are synced only at
    /// the end of the run.
    pub fn run_simulated(
        &mut self,
        limits: Limits,
        clock: &ManualClock,
        observer: &mut dyn Observer,
    ) -> Result<Stop, CrawlError> {
        // Simulated seconds pass too fast for a sync after each of them.
        self.writer.syncing.pause = Duration::MAX;
        self.writer.begin(limits, self.manners.is_some(), false)?;
        self.load_hosts()?;
        let mut network = Network::new(self.manners.take());
        let stop = simulated::drive(&mut network, &mut self.writer, &*self.web, clock, observer);
        self.manners = network.into_manners();
        self.end(stop)
    }
}

impl Writer<'_> {
    /// The value of a setting that every worker has for itself.
    pub(crate) fn own_setting(&self, name: &str) -> Result<Option<String>, CrawlError> {
        Ok(self.store.setting(&own_name(&*self.store, name))?)
    }

    /// Writes a setting that every worker has for itself.
    pub(crate) fn set_own_setting(&mut self, name: &str, value: &str) -> Result<(), CrawlError> {
        let name = own_name(&*self.store, name);
        Ok(self.store.set_setting(&name, value)?)
    }

    /// Whether a page is in a segment of this worker.
    pub(crate) fn is_own_segment(&self, span: SegmentSpan) -> bool {
        self.store.worker().is_none_or(|worker| segments_of(worker).contains(&span.segment))
    }

    /// Adds start URLs. Returns how many of them were new.
    pub(crate) fn add_starts(&mut self, urls: &[CanonicalUrl]) -> Result<usize, CrawlError> {
        self.starts.extend(urls.iter().map(CanonicalUrl::id));
        let start = |url: &CanonicalUrl| NewUrl { url: url.clone(), relevance: 1.0, priority: 1.0, depth: 0 };
        Ok(self.store.add(&urls.iter().map(start).collect::<Vec<_>>())?)
    }
}

/// The name of a setting, or of a model, that every worker has for itself.
pub(crate) fn own_name<'n>(store: &dyn Store, name: &'n str) -> Cow<'n, str> {
    match store.worker().filter(|worker| *worker > 0) {
        None => Cow::Borrowed(name),
        Some(worker) => Cow::Owned(format!("{name}.{worker}")),
    }
}

/// The location of the last committed page in the archive.
pub(crate) fn last_archived(store: &dyn Store) -> Result<Option<SegmentSpan>, porthole_store::Error> {
    let Some(words) = store.setting(&own_name(store, LAST_ARCHIVED))? else { return Ok(None) };
    let mut numbers = words.split(' ').map(str::parse::<u64>);
    let mut next = || numbers.next().and_then(Result::ok);
    Ok((|| {
        let segment = u32::try_from(next()?).ok()?;
        Some(SegmentSpan { segment, offset: next()?, length: u32::try_from(next()?).ok()? })
    })())
}

/// Segments that a worker can write.
const SEGMENTS_PER_WORKER: u32 = 1 << 20;

/// The numbers of the segments that a worker writes, so that all can be in one folder.
pub(crate) fn segments_of(worker: u32) -> RangeInclusive<u32> {
    let first = worker.saturating_mul(SEGMENTS_PER_WORKER);
    first..=first.saturating_add(SEGMENTS_PER_WORKER - 1)
}

/// Setting with the location of the last archived page. Committed with it.
pub(crate) const LAST_ARCHIVED: &str = "crawl.last_archived";

/// Setting with the sequence number of the next fetch. Committed with the fetches before it.
pub(crate) const NEXT_SEQ: &str = "crawl.next_seq";
