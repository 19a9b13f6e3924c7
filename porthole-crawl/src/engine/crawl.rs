//! A crawl: what it is made of, and how it is run.

use std::collections::HashSet;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use porthole_store::{Store, StoreCounts, WorkspaceWriter};
use porthole_strategy::StateError;
use porthole_topic::JudgeError;
use porthole_types::{CanonicalUrl, Clock, ManualClock, NewUrl, PageResult, SegmentSpan, Timestamp};

use super::admission::Admission;
use super::durability::Syncing;
use super::manners::Manners;
use super::memory::Memory;
use super::network::Network;
use super::worth::Idle;
use super::writer::{Run, StoreRef, Upkeep, Writer};
use super::{simulated, single};
use crate::Fetch;
use crate::archive::ArchiveError;
use crate::backlinks::{self, BacklinkSettings, Backlinks};
use crate::distill::{DISTILLED, DistillError, DistillSettings, Distiller};
use crate::host::Politeness;
use crate::recovery::LostPages;
use crate::result::{Focus, Scorer};
use crate::scope::Scope;
use crate::upkeep::UpkeepSettings;

/// When a crawl ends at the latest, and how it goes about it.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Fetches, whatever becomes of them.
    pub fetches: u64,
    /// Pages that are fetched. Redirects, refusals and failures do not count.
    pub pages: u64,
    /// Bytes of answers.
    pub bytes: u64,
    /// Fetches that may be under way at once.
    pub workers: usize,
    /// What a free worker does while the sites with good links rest.
    pub idle: Idle,
    /// Pages that are wanted, and the time that there is for them: for [`Idle`], and no limit.
    pub wanted_pages: Option<u64>,
    /// See `wanted_pages`.
    pub wanted_time: Option<Duration>,
}

impl Limits {
    /// One fetch at a time, without an end.
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
    /// The number of pages or fetches that was asked for has been reached.
    Limit,
    /// As many bytes came as were asked for.
    Bytes,
    /// Every known URL has been dealt with.
    Exhausted,
    /// What is left failed before, and waits for another try until then.
    Waiting(Timestamp),
    /// Somebody asked for it.
    Asked,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Limit => "the limit of pages is reached",
            Stop::Bytes => "the limit of bytes is reached",
            Stop::Exhausted => "no URL is left",
            Stop::Waiting(_) => "all URLs that are left wait for another try",
            Stop::Asked => "stopped on request",
        })
    }
}

/// What an observer is told of each fetch, after it was committed.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The URL.
    pub url: &'a CanonicalUrl,
    /// What became of it.
    pub result: &'a PageResult,
    /// How long the fetch took.
    pub took: Duration,
    /// Current row counts.
    pub counts: StoreCounts,
}

/// Why a crawl could not go on.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// The database refused.
    #[error(transparent)]
    Store(#[from] porthole_store::Error),
    /// The critic failed.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// Pages cannot be kept.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Hubs and authorities cannot be found.
    #[error(transparent)]
    Distill(#[from] DistillError),
    /// The strategy cannot go on from what it remembered.
    #[error(transparent)]
    Memory(#[from] StateError),
    /// What was committed cannot be synced.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

impl CrawlError {
    /// Whether there is no room left on the disk.
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

/// Watches a crawl, and may end it.
pub trait Observer {
    /// A fetch was committed.
    fn committed(&mut self, seen: Seen<'_>) -> ControlFlow<()>;

    /// So many workers are idle by choice: they wait for so many sites with good links, which rest. Told once a second
    /// while that is so.
    fn waiting_for(&mut self, workers: usize, sites: usize) {
        let _ = (workers, sites);
    }

    /// The crawl is held up for this reason, or goes on: an outage, or a judge that does not answer.
    fn held_up(&mut self, why: Option<&str>) {
        let _ = why;
    }

    /// Nothing came for a moment.
    fn waiting(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
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
    /// `None` for a web without pauses and robots.txt: recorded, synthetic, or on this machine.
    pub(crate) manners: Option<Manners>,
    pub(crate) writer: Writer<'a>,
}

impl<'a> Crawl<'a> {
    /// A crawl that goes on where the store is.
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
            upkeep: None,
            starts: HashSet::default(),
            next_seq,
            reads_in_place: false,
            run: Run::default(),
            outbox: Vec::new(),
        };
        Ok(Crawl { web: Arc::new(web), manners: None, writer })
    }

    /// Judges pages and follows links by what they are worth.
    pub fn focused(mut self, focus: Focus) -> Self {
        self.refocus(focus);
        self
    }

    /// Judges and follows links otherwise from now on; see [`Crawl::judged_by`] for what was judged before.
    pub fn refocus(&mut self, focus: Focus) {
        let Focus { judge, strategy, marks } = focus;
        self.writer.judge = Some(judge);
        self.writer.scorer = Some(Scorer { strategy, marks });
        self.writer.memory = Memory::default();
    }

    /// Asks for robots.txt in the name of `agent`, leaves pauses between requests, and looks out for traps. Needs a
    /// runtime with timers.
    pub fn polite(mut self, politeness: Politeness, agent: &str) -> Self {
        self.manners = Some(Manners::new(politeness, agent));
        self.avoiding_traps()
    }

    /// Reads pages in the task that runs the crawl, not on threads: on simulated time reading must take no time, or the
    /// clock would run away from the readers.
    pub fn reading_in_place(mut self) -> Self {
        self.writer.reads_in_place = true;
        self
    }

    /// Looks out for traps: for webs without an end.
    pub fn avoiding_traps(mut self) -> Self {
        self.writer.admission.watch_for_traps();
        self
    }

    /// Stays within a scope.
    pub fn within(mut self, scope: Scope) -> Self {
        self.writer.admission.scope = Arc::new(scope);
        self
    }

    /// Tries the folders above good pages, too: `/a/b/c` leads to `/a/b/`, `/a/` and `/` (V 3.2).
    pub fn truncating(mut self, truncates: bool) -> Self {
        self.writer.truncates = truncates;
        self
    }

    /// Finds hubs and authorities meanwhile, and has what great hubs link to fetched sooner (W 3.2, V 2.2).
    pub fn distilling(mut self, settings: DistillSettings) -> Result<Self, CrawlError> {
        let mark = self.writer.store.setting(DISTILLED)?;
        self.writer.distiller = Some(Distiller::new(settings, mark.as_deref()));
        Ok(self)
    }

    /// Asks who links to good pages, and tries those, too (V 3.2).
    pub fn asking_backlinks(mut self, settings: BacklinkSettings) -> Result<Self, CrawlError> {
        let asked = self.writer.store.setting(backlinks::ASKED)?;
        self.writer.backlinks = Some(Backlinks::new(settings, asked.as_deref()));
        Ok(self)
    }

    /// Visits pages again that were fetched before, whether by this run or by earlier ones (V 3.2).
    pub fn maintaining(mut self, settings: UpkeepSettings) -> Self {
        self.writer.upkeep = Some(Upkeep::new(settings));
        self
    }

    /// Adds URLs to begin with. How many of them were new.
    pub fn start(&mut self, urls: &[CanonicalUrl]) -> Result<usize, CrawlError> {
        self.writer.add_starts(urls)
    }

    /// The store, while the crawl does not run.
    pub fn store(&mut self) -> &mut (dyn Store + 'static) {
        &mut *self.writer.store
    }

    /// Crawls until a limit is reached, nothing is left, or the observer, who sees every fetch, asks to stop: both halves
    /// in one task. What is under way then is fetched again when the crawl goes on.
    pub async fn run(&mut self, limits: Limits, observer: &mut dyn Observer) -> Result<Stop, CrawlError> {
        self.writer.begin(limits, self.manners.is_some(), limits.workers > 1)?;
        self.recall_hosts()?;
        let mut network = Network::new(self.manners.take());
        let stop = single::drive(&mut network, &mut self.writer, &*self.web, observer).await;
        self.manners = network.into_manners();
        self.end(stop)
    }

    /// Takes what an earlier run knew of hosts.
    pub(super) fn recall_hosts(&mut self) -> Result<(), CrawlError> {
        let now = self.writer.clock.now();
        if let Some(manners) = &mut self.manners {
            manners.recall(&*self.writer.store.reader(), now)?;
        }
        Ok(())
    }

    /// Ends a run, with what the next one has to know of hosts.
    pub(super) fn end(&mut self, stop: Result<Stop, CrawlError>) -> Result<Stop, CrawlError> {
        let kept = if stop.is_ok() { self.writer.keep_hosts(self.manners.as_mut()) } else { Ok(()) };
        self.writer.end(stop.and_then(|stop| kept.map(|()| stop)))
    }

    /// The same in simulated time, on one thread: a request takes as long as its answer says, and `clock`, which has to be
    /// that of the crawl, is advanced to the next event whenever nothing can be done. The web has to answer at once.
    pub fn run_simulated(
        &mut self,
        limits: Limits,
        clock: &ManualClock,
        observer: &mut dyn Observer,
    ) -> Result<Stop, CrawlError> {
        self.writer.begin(limits, self.manners.is_some(), false)?;
        self.recall_hosts()?;
        let mut network = Network::new(self.manners.take());
        let stop = simulated::drive(&mut network, &mut self.writer, &*self.web, clock, observer);
        self.manners = network.into_manners();
        self.end(stop)
    }
}

impl Writer<'_> {
    /// Adds URLs to begin with; how many of them were new.
    pub(crate) fn add_starts(&mut self, urls: &[CanonicalUrl]) -> Result<usize, CrawlError> {
        self.starts.extend(urls.iter().map(CanonicalUrl::id));
        let start = |url: &CanonicalUrl| NewUrl { url: url.clone(), relevance: 1.0, priority: 1.0, depth: 0 };
        Ok(self.store.add(&urls.iter().map(start).collect::<Vec<_>>())?)
    }
}

/// Where the last page is that a crawl has committed, to open its archive behind.
pub(crate) fn last_archived(
    store: &dyn WorkspaceWriter,
) -> Result<Option<SegmentSpan>, porthole_store::Error> {
    let Some(words) = store.setting(LAST_ARCHIVED)? else { return Ok(None) };
    let mut numbers = words.split(' ').map(str::parse::<u64>);
    let mut next = || numbers.next().and_then(Result::ok);
    Ok((|| {
        let segment = u32::try_from(next()?).ok()?;
        Some(SegmentSpan { segment, offset: next()?, length: u32::try_from(next()?).ok()? })
    })())
}

/// The setting that says where the last page is kept; committed with it.
pub(crate) const LAST_ARCHIVED: &str = "crawl.last_archived";

/// The setting that numbers the next fetch; committed with the fetches before it.
pub(crate) const NEXT_SEQ: &str = "crawl.next_seq";
