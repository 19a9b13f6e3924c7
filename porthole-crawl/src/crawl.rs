//! One crawl from start to stop: take work, fetch, read, judge, commit, again.
//!
//! With one fetch at a time, what is fetched next always follows from all that was fetched before, and the order is
//! the same in every run, also across a stop and a resume. With several, answers are dealt with as they come.

use std::collections::HashSet;
use std::future::poll_fn;
use std::iter::repeat;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use porthole_store::{Batch, Counts, Desk, Scores, Store};
use porthole_strategy::{Discipline, Selection, StateError, Word};
use porthole_topic::{Judge, JudgeError};
use porthole_types::{
    CanonicalUrl, Clock, Judgment, NewUrl, Outcome, PageResult, SegmentSpan, SiteId, Timestamp, UrlId, Work,
};

use self::crash_guard::CrashGuard;
use self::durability::{Durability, Syncing};
use crate::archive::{Archive, ArchiveError, Keep};
use crate::backlinks::{self, BacklinkSettings, Backlinks};
use crate::distill::{DISTILLED, DISTILLED_BY, DistillError, DistillSettings, Distilled, Distiller};
use crate::memory::Memory;
use crate::reading::{Read, Reader, Readers, Unread};
use crate::recovery::LostPages;
use crate::result::{Focus, Scorer, empty_result, link_rows};
use crate::scope::truncations;
use crate::window::{Finished, Guest, Job, Next, What, Window};
use crate::{Fetch, FetchError, Request, Response};

/// When a crawl ends at the latest, and how it goes about it.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Fetches, whatever becomes of them.
    pub fetches: u64,
    /// Bytes of pages; what is under way when they are reached comes on top.
    pub bytes: u64,
    /// Fetches that may be under way at once.
    pub workers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { fetches: u64::MAX, bytes: u64::MAX, workers: 1 }
    }
}

/// Why a crawl ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The number of fetches that was asked for has been made.
    Limit,
    /// As many bytes came as were asked for.
    Bytes,
    /// Every known URL has been dealt with.
    Exhausted,
    /// What is left failed before, and waits for another try until then.
    Waiting(Timestamp),
    /// The observer asked for it.
    Asked,
    /// Somebody has written to the database beside the crawl: topics, examples or a critic may have changed. What was
    /// under way has been dealt with; run on when all is as it should be.
    Changed,
}

/// What an observer is told of each fetch, before it is committed.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The URL.
    pub url: &'a CanonicalUrl,
    /// What became of it.
    pub result: &'a PageResult,
    /// How long the fetch took.
    pub took: Duration,
    /// The store's counts as of the last commit.
    pub counts: Counts,
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
    /// A fetch is done, and will be committed.
    fn seen(&mut self, seen: Seen<'_>) -> ControlFlow<()>;

    /// Nothing came for a moment.
    fn waiting(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<F: FnMut(Seen<'_>) -> ControlFlow<()>> Observer for F {
    fn seen(&mut self, seen: Seen<'_>) -> ControlFlow<()> {
        self(seen)
    }
}

/// How long a crawl waits before it looks round again, and how long what came waits to be committed.
const MOMENT: Duration = Duration::from_millis(50);

/// A crawl over a web and a store.
pub struct Crawl<'a> {
    web: &'a dyn Fetch,
    pub(crate) store: &'a mut dyn Store,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) judge: Option<Box<dyn Judge>>,
    /// Without one links are followed as they were found.
    pub(crate) scorer: Option<Scorer>,
    pub(crate) archive: Option<(Archive, Keep)>,
    pub(crate) guest: Guest,
    truncates: bool,
    distiller: Option<Distiller>,
    backlinks: Option<Backlinks>,
    pub(crate) memory: Memory,
    pub(crate) lost_pages: LostPages,
    pub(crate) syncing: Syncing,
    /// They come first, whatever the strategy makes of links to them.
    starts: HashSet<UrlId, foldhash::fast::FixedState>,
    pub(crate) next_seq: u64,
}

impl<'a> Crawl<'a> {
    /// A crawl that goes on where the store is.
    pub fn new(
        web: &'a dyn Fetch,
        store: &'a mut dyn Store,
        clock: &'a dyn Clock,
    ) -> Result<Self, CrawlError> {
        let next_seq = store.setting(NEXT_SEQ)?.and_then(|seq| seq.parse().ok()).unwrap_or(0);
        let guest = Guest::alone();
        Ok(Crawl {
            web,
            store,
            clock,
            judge: None,
            scorer: None,
            archive: None,
            guest,
            truncates: false,
            distiller: None,
            backlinks: None,
            memory: Memory::default(),
            lost_pages: LostPages::default(),
            syncing: Syncing::default(),
            starts: HashSet::default(),
            next_seq,
        })
    }

    /// Judges pages and follows links by what they are worth.
    pub fn focused(mut self, focus: Focus) -> Self {
        self.refocus(focus);
        self
    }

    /// Judges and follows links otherwise from now on; see [`Crawl::judged_by`] for what was judged before.
    pub fn refocus(&mut self, focus: Focus) {
        let Focus { judge, strategy, marks } = focus;
        self.judge = Some(judge);
        self.scorer = Some(Scorer { strategy, marks });
        self.memory = Memory::default();
    }

    /// Minds robots.txt and pauses. Needs a runtime with timers.
    pub fn as_guest(mut self, guest: Guest) -> Self {
        self.guest = guest;
        self
    }

    /// Tries the folders above good pages, too: `/a/b/c` leads to `/a/b/`, `/a/` and `/` (V 3.2).
    pub fn truncating(mut self, truncates: bool) -> Self {
        self.truncates = truncates;
        self
    }

    /// Finds hubs and authorities meanwhile, and has what great hubs link to fetched sooner (W 3.2, V 2.2).
    pub fn distilling(mut self, settings: DistillSettings) -> Result<Self, CrawlError> {
        let mark = self.store.setting(DISTILLED)?;
        self.distiller = Some(Distiller::new(settings, mark.as_deref()));
        Ok(self)
    }

    /// Asks who links to good pages, and tries those, too (V 3.2).
    pub fn asking_backlinks(mut self, settings: BacklinkSettings) -> Result<Self, CrawlError> {
        let asked = self.store.setting(backlinks::ASKED)?;
        self.backlinks = Some(Backlinks::new(settings, asked.as_deref()));
        Ok(self)
    }

    /// Adds URLs to begin with. How many of them were new.
    pub fn start(&mut self, urls: &[CanonicalUrl]) -> Result<usize, CrawlError> {
        self.starts.extend(urls.iter().map(CanonicalUrl::id));
        let start = |url: &CanonicalUrl| NewUrl { url: url.clone(), relevance: 1.0, priority: 1.0, depth: 0 };
        Ok(self.store.add(&urls.iter().map(start).collect::<Vec<_>>())?)
    }

    /// Crawls until a limit is reached, nothing is left, or the observer, who sees every fetch, asks to stop. What is
    /// under way then is fetched again when the crawl goes on.
    pub async fn run(&mut self, limits: Limits, observer: &mut dyn Observer) -> Result<Stop, CrawlError> {
        self.recall()?;
        // Apart from the crawl while it runs, so that both can be worked with.
        let mut guest = std::mem::replace(&mut self.guest, Guest::alone());
        let discipline =
            self.scorer.as_ref().map_or_else(Discipline::default, |scorer| scorer.strategy.discipline());
        self.store.bound(discipline.bound)?;
        guest.remember(self.next_seq, &*self.store.reader())?;
        let packer = self.archive.as_ref().map(|(archive, keep)| (archive.packer(), *keep));
        let behind = behind::Behind::new(self, limits.workers)?;
        let mut crash_guard = CrashGuard::open(&*self.store)?;
        let deadly = crash_guard.drop_deadly(&mut *self.store, self.clock.now())?;
        let reader = Reader::new(self.judge.take(), packer, guest.scope());
        let durability = Durability::new(self);
        let mut run = Run {
            is_polite: guest.is_polite(),
            workers: limits.workers.max(1),
            fetches: limits.fetches,
            bytes: limits.bytes,
            discipline,
            changed: false,
            looked: Instant::now(),
            committed: Instant::now(),
            window: Window::new(&mut guest),
            readers: Readers::start(reader, limits.workers.max(1)),
            under_way: UnderWay::new(),
            taken: HashSet::default(),
            batch: batch::InWork::default(),
            behind,
            pending: Vec::new(),
            urls: Vec::new(),
            addresses: Vec::new(),
            crash_guard,
            durability,
            observer,
            crawl: self,
        };
        for Pending { work, result, took } in deadly {
            run.push(work, result, took);
        }
        let stop = run.until_it_ends().await;
        let given_back = run.give_all_back();
        let (readers, durability) = (run.readers, run.durability);
        self.judge = readers.into_judge();
        self.guest = guest;
        given_back?;
        if stop.is_ok() {
            self.remember()?;
        }
        let synced = durability.close(self);
        stop.and_then(|stop| synced.map(|()| stop))
    }
}

/// Requests that were made and not yet answered.
type UnderWay<'a> = FuturesUnordered<Pin<Box<dyn Future<Output = Came> + 'a>>>;

/// A crawl while it runs.
///
/// What is taken from the frontier goes to the window, from there to the network, from there to the readers, and comes
/// back as results, which are committed a few at a time.
struct Run<'c, 'a> {
    is_polite: bool,
    workers: usize,
    /// How many fetches may still be started, and how many bytes may still come.
    fetches: u64,
    bytes: u64,
    discipline: Discipline,
    /// Somebody has written beside us: what is under way is dealt with, and nothing else is begun.
    changed: bool,
    looked: Instant,
    committed: Instant,
    window: Window<'c>,
    readers: Readers,
    under_way: UnderWay<'a>,
    /// Work whose result has not been committed.
    taken: HashSet<UrlId, foldhash::fast::FixedState>,
    batch: batch::InWork,
    behind: behind::Behind,
    pending: Vec<Pending>,
    crash_guard: CrashGuard,
    durability: Durability,
    /// URLs that were met otherwise than as links, to be committed with them.
    urls: Vec<NewUrl>,
    /// Where sites were found to be, to be committed with them.
    addresses: Vec<(SiteId, IpAddr)>,
    observer: &'c mut dyn Observer,
    crawl: &'c mut Crawl<'a>,
}

/// A result that is to be committed.
struct Pending {
    work: Work,
    result: PageResult,
    took: Duration,
}

/// Something that was waited for.
#[expect(clippy::large_enum_variant, reason = "it lives for a moment, and most are answers")]
enum Came {
    Answer(Job, Result<Response, FetchError>),
    Address(SiteId, Option<IpAddr>),
    Read(Result<Box<Read>, JudgeError>),
}

/// Committed together, at most: a person who watches sees them at once.
const MOST_PENDING: usize = 64;

impl Run<'_, '_> {
    async fn until_it_ends(&mut self) -> Result<Stop, CrawlError> {
        loop {
            self.look_round()?;
            self.sync()?;
            self.distil()?;
            self.fill()?;
            if self.is_due() {
                if self.commit()?.is_break() {
                    return Ok(Stop::Asked);
                }
                self.catch_up()?;
                // A replay never waits, and others may share our thread.
                tokio::task::yield_now().await;
                continue;
            }
            if self.is_idle() && self.is_closing() && !self.behind.is_any() {
                return Ok(match (self.fetches, self.bytes) {
                    (0, _) => Stop::Limit,
                    (_, 0) => Stop::Bytes,
                    _ => Stop::Changed,
                });
            }
            match self.wait().await {
                Some(came) => {
                    self.take_in(came)?;
                    // All others that are there by now.
                    while self.pending.len() < MOST_PENDING
                        && let Some(came) = self.came().now_or_never()
                    {
                        self.take_in(came)?;
                    }
                }
                None => {
                    if self.commit()?.is_break() {
                        return Ok(Stop::Asked);
                    }
                    if self.behind.is_any() {
                        self.catch_up_some()?;
                        if self.observer.waiting().is_break() {
                            return Ok(Stop::Asked);
                        }
                        continue;
                    }
                    if let Some(stop) = self.nothing_came() {
                        return Ok(stop);
                    }
                }
            }
        }
    }

    /// Whether what is pending is to be committed. Later pages follow from earlier ones: with few workers next to nothing
    /// waits, and with many no more than is under way, nor longer than a moment.
    fn is_due(&self) -> bool {
        /// So many workers are few.
        const FEW: usize = 16;
        let enough = if self.workers < FEW { self.workers / 2 } else { self.workers };
        let is_any = !(self.pending.is_empty() && self.urls.is_empty());
        self.pending.len() >= enough.clamp(1, MOST_PENDING)
            || is_any && (self.is_idle() || self.committed.elapsed() >= MOMENT)
    }

    /// Looks whether somebody has written beside us, now and then.
    fn look_round(&mut self) -> Result<(), CrawlError> {
        const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
        if self.looked.elapsed() >= BETWEEN_LOOKS {
            self.looked = Instant::now();
            self.changed |= self.crawl.store.look_again()?;
        }
        Ok(())
    }

    /// Distils when it is time: on the spot where every fetch follows from those before it, else beside the crawl.
    fn distil(&mut self) -> Result<(), CrawlError> {
        let Crawl { store, distiller: Some(distiller), next_seq, .. } = &mut *self.crawl else {
            return Ok(());
        };
        if let Some(distilled) = distiller.poll() {
            return take_over(&mut **store, &distilled?);
        }
        let links = store.counts().links as u64;
        if !self.pending.is_empty() || !distiller.due(*next_seq, links) {
            return Ok(());
        }
        if self.workers > 1 {
            distiller.start(store.reader(), *next_seq, links);
            return Ok(());
        }
        let distilled = distiller.now(&*store.reader(), *next_seq, links)?;
        take_over(&mut **store, &distilled)
    }

    /// Whether nothing else is to be begun.
    fn is_closing(&self) -> bool {
        self.changed || self.fetches == 0 || self.bytes == 0
    }

    /// Whether nothing is awaited, from the network or from the readers.
    fn is_idle(&self) -> bool {
        self.under_way.is_empty() && self.readers.in_progress() == 0
    }

    /// Starts as many requests as may be started.
    fn fill(&mut self) -> Result<(), CrawlError> {
        while self.under_way.len() < self.workers
            && !self.is_closing()
            && self.readers.keeps_up()
            && self.pending.len() < MOST_SETTLED
        {
            let now = self.crawl.clock.now();
            match self.window.next(now) {
                Next::Fetch(job) => {
                    if let What::Page(work) = &job.what {
                        self.fetches -= 1;
                        self.crash_guard.started(work.oid);
                    }
                    self.under_way.push(Box::pin(fetch(self.crawl.web, job)));
                }
                Next::Locate(site, url) => self.under_way.push(Box::pin(locate(self.crawl.web, site, url))),
                Next::Settled(work, outcome) => {
                    let result = PageResult { outcome, ..empty_result(&work, now) };
                    self.push(work, result, Duration::ZERO);
                }
                // Every look into the store has its price: several are taken at a time.
                Next::Nothing if self.workers - self.under_way.len() < self.workers / 8 => break,
                Next::Nothing if self.pending.is_empty() || self.workers > 1 => {
                    self.give_back()?;
                    if !self.take(now)? {
                        break;
                    }
                }
                // One fetch at a time follows from all that came before it, so that is committed first.
                Next::Nothing => break,
            }
        }
        // No request is sent before the futures are polled.
        self.crash_guard.note_first(&mut *self.crawl.store)?;
        Ok(())
    }

    /// Takes work from the frontier; whether there was any.
    fn take(&mut self, now: Timestamp) -> Result<bool, CrawlError> {
        let free = self.workers - self.under_way.len();
        let free = self.window.room(free.min(usize::try_from(self.fetches).unwrap_or(usize::MAX)));
        let work = match self.discipline.selection {
            Selection::Batch(_) => self.take_of_batch(free, now)?,
            Selection::Own => self.take_chosen(free, now)?,
            Selection::Best => self.crawl.store.take(free, now)?,
        };
        let is_any = !work.is_empty();
        for work in work {
            self.taken.insert(work.oid);
            self.window.add(work);
        }
        Ok(is_any)
    }

    fn give_back(&mut self) -> Result<(), CrawlError> {
        let back = self.window.gives_back();
        for oid in &back {
            self.taken.remove(oid);
        }
        Ok(self.crawl.store.give_back(&back)?)
    }

    fn give_all_back(&mut self) -> Result<(), CrawlError> {
        let back: Vec<UrlId> = self.taken.drain().collect();
        self.crawl.store.give_back(&back)?;
        Ok(self.crash_guard.close(&mut *self.crawl.store)?)
    }

    /// What comes next, if it comes within a moment; without a guest's clock, however long it takes.
    async fn wait(&mut self) -> Option<Came> {
        // Whoever has something else to do does not wait long for more.
        let is_behind = self.behind.is_any();
        let moment = if is_behind { MOMENT / 10 } else { MOMENT };
        match (self.is_idle(), self.is_polite) {
            (true, true) if !is_behind => {
                tokio::time::sleep(MOMENT).await;
                None
            }
            (true, _) => None,
            (false, true) => tokio::time::timeout(moment, self.came()).await.ok(),
            (false, false) => Some(self.came().await),
        }
    }

    async fn came(&mut self) -> Came {
        poll_fn(|context| {
            if let Some(read) = self.readers.next() {
                return Poll::Ready(Came::Read(read));
            }
            if let Poll::Ready(Some(came)) = self.under_way.poll_next_unpin(context) {
                return Poll::Ready(came);
            }
            self.readers.poll_next(context).map(Came::Read)
        })
        .await
    }

    fn take_in(&mut self, came: Came) -> Result<(), CrawlError> {
        match came {
            Came::Answer(job, answer) => {
                let at = self.crawl.clock.now();
                match self.window.finished(job, answer, at) {
                    Finished::Page(work, answer) => self.readers.send(Unread { work, answer, at }),
                    Finished::Listed(urls) => self.urls.extend(urls),
                    Finished::Errand => {}
                }
            }
            Came::Address(site, ip) => {
                self.addresses.extend(ip.map(|ip| (site, ip)));
                self.window.found(site, ip);
            }
            Came::Read(read) => self.take_in_read(*read?)?,
        }
        Ok(())
    }

    fn take_in_read(&mut self, read: Read) -> Result<(), CrawlError> {
        let Read { work, mut result, page, packed, took } = read;
        self.bytes = self.bytes.saturating_sub(result.bytes);
        if let Some((page, judgment)) = page {
            result.links = match &mut self.crawl.scorer {
                Some(scorer) if result.outcome == Outcome::Fetched => {
                    let own = result.judgment.unwrap_or(judgment).relevance;
                    scorer.links(&work.url, work.depth, page, judgment, own)
                }
                // Nobody knows what the page says: its links are worth what was believed of it.
                Some(_) => link_rows(page, work.depth + 1, repeat((judgment.relevance, Some(work.priority)))),
                None => link_rows(page, work.depth + 1, repeat((0.0, Some(0.0)))),
            };
        }
        if let (Some((archive, _)), Some(packed)) = (&mut self.crawl.archive, packed) {
            result.span = archive.append(&packed, result.at)?;
        }
        if result.outcome == Outcome::Fetched {
            self.window.read(&work.url, result.simhash);
            self.truncate(&work, result.judgment);
            self.ask_backlinks(&work, result.judgment);
        }
        if let (Outcome::Redirected, Some(to)) = (&result.outcome, result.links.first())
            && let Some(failure) = self.window.redirected(&work.url, &to.target.url)
        {
            result.outcome = Outcome::Skipped(failure);
            result.links.clear();
        }
        self.push(work, result, took);
        Ok(())
    }

    /// Has the folders above a good page tried: the nearest for half of what a link of the page would be worth, and so on.
    fn truncate(&mut self, work: &Work, judgment: Option<Judgment>) {
        let (Some(scorer), Some(judgment)) = (&self.crawl.scorer, judgment) else { return };
        if !self.crawl.truncates || !scorer.is_on_topic(judgment) {
            return;
        }
        let mut worth = judgment.relevance;
        for url in truncations(&work.url) {
            worth /= 2.0;
            self.urls.push(NewUrl { url, relevance: worth, priority: worth, depth: work.depth + 1 });
        }
    }

    /// Has somebody asked who links to a good page.
    fn ask_backlinks(&mut self, work: &Work, judgment: Option<Judgment>) {
        let (Some(backlinks), Some(judgment)) = (&mut self.crawl.backlinks, judgment) else { return };
        if let Some(question) = backlinks.ask(&work.url, judgment.relevance, work.depth) {
            self.window.ask(question);
        }
    }

    /// Numbers a result and has it committed with the next ones.
    fn push(&mut self, work: Work, mut result: PageResult, took: Duration) {
        let comes_not = !matches!(result.outcome, Outcome::Fetched | Outcome::Retry { .. });
        if let (true, Some(scorer)) = (comes_not, &mut self.crawl.scorer) {
            scorer.strategy.settled(&work.url);
        }
        self.crash_guard.finished(work.oid);
        result.seq = self.crawl.next_seq;
        self.crawl.next_seq += 1;
        self.pending.push(Pending { work, result, took });
    }

    /// Shows results to the observer and commits them.
    fn commit(&mut self) -> Result<ControlFlow<()>, CrawlError> {
        let mut flow = ControlFlow::Continue(());
        if self.pending.is_empty() && self.urls.is_empty() {
            return Ok(flow);
        }
        let counts = self.crawl.store.counts();
        for Pending { work, result, took } in &self.pending {
            if self.observer.seen(Seen { url: &work.url, result, took: *took, counts }).is_break() {
                flow = ControlFlow::Break(());
            }
        }
        let results: Vec<PageResult> = self.pending.drain(..).map(|pending| pending.result).collect();
        let next_seq = self.crawl.next_seq.to_string();
        let archived = results.iter().rev().find_map(|result| result.span).map(span_in_words);
        let batch_in_work = self.batch.unwritten.take();
        let mut settings = vec![(NEXT_SEQ, next_seq.as_str())];
        settings.extend(archived.as_deref().map(|archived| (LAST_ARCHIVED, archived)));
        settings.extend(batch_in_work.as_deref().map(|batch| (batch::BATCH, batch)));
        let asked = self.crawl.backlinks.as_ref().map(Backlinks::asked);
        settings.extend(asked.as_deref().map(|asked| (backlinks::ASKED, asked)));
        let priorities = self.new_priorities(&results);
        settings.extend(self.behind.note());
        let under_way = self.crash_guard.setting();
        settings.extend(under_way.as_ref().map(|(name, value)| (*name, value.as_str())));
        let synced = self.durability.setting(self.crawl);
        settings.extend(synced.as_ref().map(|(name, value)| (*name, value.as_str())));
        let batch = Batch {
            results: &results,
            urls: &self.urls,
            addresses: &self.addresses,
            priorities: &priorities,
            settings: &settings,
            newest_stays: self.discipline.newest_stays,
            ..Batch::default()
        };
        // No row may point at what is not there.
        if let Some((archive, _)) = &mut self.crawl.archive {
            archive.flush()?;
        }
        self.crawl.store.commit(&batch)?;
        self.committed = Instant::now();
        self.behind.committed();
        self.durability.committed(self.crawl.next_seq);
        self.urls.clear();
        self.addresses.clear();
        for result in &results {
            self.taken.remove(&result.oid);
        }
        // What is put off needs the time now, and would be begun anew after a kill.
        if !self.behind.is_midway() {
            self.crawl.remember_if_due()?;
        }
        Ok(flow)
    }

    /// What the strategy says anew of URLs that it may have spoken of before.
    fn new_priorities(&mut self, results: &[PageResult]) -> Vec<(UrlId, f64)> {
        let mut priorities = Vec::new();
        if self.discipline.word == Word::Last && self.crawl.scorer.is_some() {
            let pages = results.iter().filter(|result| result.outcome == Outcome::Fetched);
            let links = pages.flat_map(|result| &result.links);
            priorities.extend(links.map(|link| (link.oid, link.target.priority)));
            priorities.retain(|(oid, _)| !self.crawl.starts.contains(oid));
        }
        // The pieces of a scoring that is under way come after this.
        if !self.behind.is_scoring() {
            priorities.append(&mut self.rescored());
        }
        priorities
    }

    /// Why to stop when nothing came for a moment, or when nothing is awaited.
    fn nothing_came(&mut self) -> Option<Stop> {
        if self.observer.waiting().is_break() {
            return Some(Stop::Asked);
        }
        match self.crawl.store.next_due() {
            // A guest waits: for answers, for sites that rest, for failures that may have passed.
            _ if self.is_polite && !(self.is_idle() && self.window.is_empty()) => None,
            Some(_) if self.is_polite => None,
            Some(due) => Some(Stop::Waiting(due)),
            None => Some(Stop::Exhausted),
        }
    }
}

/// Stores what a distillation found, and has done what follows from it.
fn take_over(store: &mut dyn Store, distilled: &Distilled) -> Result<(), CrawlError> {
    let Distilled { hubs, auth, neighbourhoods, refreshed, raised, .. } = distilled;
    store.set_scores(&Scores { hubs, auth, neighbourhoods })?;
    store.queue_again(&distilled.revisit)?;
    // Last, so that a crawl that is killed meanwhile distils again.
    let settings = [(DISTILLED, distilled.mark.as_str()), (DISTILLED_BY, distilled.site.name())];
    store.commit(&Batch { refreshed, raised, settings: &settings, ..Batch::default() })?;
    Ok(())
}

/// Decided without a request and committed together, at most.
const MOST_SETTLED: usize = 1_000;

async fn fetch(web: &dyn Fetch, job: Job) -> Came {
    let answer = web.fetch(&Request::get(job.url().clone())).await;
    Came::Answer(job, answer)
}

async fn locate(web: &dyn Fetch, site: SiteId, url: CanonicalUrl) -> Came {
    Came::Address(site, web.address(&url).await)
}

/// Where the last page is that a crawl has committed, to open its archive behind.
pub(crate) fn last_archived(store: &dyn Desk) -> Result<Option<SegmentSpan>, porthole_store::Error> {
    let Some(words) = store.setting(LAST_ARCHIVED)? else { return Ok(None) };
    let mut numbers = words.split(' ').map(str::parse::<u64>);
    let mut next = || numbers.next().and_then(Result::ok);
    Ok((|| {
        let segment = u32::try_from(next()?).ok()?;
        Some(SegmentSpan { segment, offset: next()?, length: u32::try_from(next()?).ok()? })
    })())
}

fn span_in_words(span: SegmentSpan) -> String {
    format!("{} {} {}", span.segment, span.offset, span.length)
}

/// The setting that says where the last page is kept; committed with it.
const LAST_ARCHIVED: &str = "crawl.last_archived";

/// The setting that numbers the next fetch; committed with the fetches before it.
const NEXT_SEQ: &str = "crawl.next_seq";

mod batch;
mod behind;
mod crash_guard;
pub(crate) mod durability;
#[cfg(test)]
mod kill_tests;
#[cfg(test)]
mod power_tests;
#[cfg(test)]
mod switch_tests;
#[cfg(test)]
mod tests;
