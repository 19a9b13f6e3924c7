//! The writer half of a crawl: chooses URLs, handles pages that were read, scores their links, and commits everything
//! to the store.
//!
//! ```text
//! frontier ─► admission ─► offers ─► (network half) ─► readers ─► strategy ─► archive ─► commit ─► observers
//! ```
//! This is a state machine over the store. A driver passes in messages, calls [`Writer::turn`] after them, and
//! forwards the messages in [`Writer::outbox`]. It never waits for the network. With one worker a page is committed
//! before the next URL is chosen, so the order of fetches is the same in every run, also across a kill and a resume.

mod fleet;
mod offers;
mod rescope;
mod upkeep;

use std::collections::{HashMap, HashSet};
use std::iter::repeat;
use std::net::IpAddr;
use std::ops::{ControlFlow, Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use porthole_store::{Batch, DistilledScores, FetchOutcome, Store, StoredHost, StoredRobots};
use porthole_strategy::{Discipline, PriorityMerge};
use porthole_topic::RelevanceJudge;
use porthole_types::{
    Clock, Event, FailureKind, Judgment, NewUrl, Outcome, PageResult, SegmentSpan, SiteId, Timestamp, UrlId,
    Work,
};

pub(crate) use self::fleet::SharedBudget;
use self::offers::Offers;
pub(crate) use self::upkeep::Upkeep;
use super::admission::Admission;
use super::batch::CurrentBatch;
use super::crash_guard::CrashGuard;
use super::crawl::{CrawlError, LAST_ARCHIVED, Limits, NEXT_SEQ, Observer, Seen, Stop, own_name};
use super::deferred::DeferredWork;
use super::durability::{Durability, Syncing};
use super::manners::Manners;
use super::memory::Memory;
use super::messages::{ToNetwork, ToWriter};
use super::outage::OutageNews;
use super::rejudge::Rejudging;
use super::vitals::{AlarmWatch, Vitals};
use super::worth::{LAST_PAGES, Worth};
use crate::archive::{Archive, Keep};
use crate::backlinks::{self, Backlinks};
use crate::distill::{DISTILLED, DISTILLED_BY, Distilled, Distiller};
use crate::reading::{NotRead, Read, Reader, Readers, WasRead};
use crate::recovery::LostPages;
use crate::result::{Scorer, empty_result, link_rows};
use crate::scope::truncations;

/// A store that is owned or borrowed.
pub enum StoreRef<'a> {
    /// For a crawl on its own threads.
    Owned(Box<dyn Store>),
    /// For a crawl that the caller drives.
    Borrowed(&'a mut (dyn Store + 'static)),
}

impl<'a, S: Store + 'static> From<&'a mut S> for StoreRef<'a> {
    fn from(store: &'a mut S) -> Self {
        StoreRef::Borrowed(store)
    }
}

impl From<Box<dyn Store>> for StoreRef<'_> {
    fn from(store: Box<dyn Store>) -> Self {
        StoreRef::Owned(store)
    }
}

impl Deref for StoreRef<'_> {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        match self {
            StoreRef::Owned(store) => &**store,
            StoreRef::Borrowed(store) => &**store,
        }
    }
}

impl DerefMut for StoreRef<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            StoreRef::Owned(store) => &mut **store,
            StoreRef::Borrowed(store) => &mut **store,
        }
    }
}

/// The writer half. See the module documentation.
pub(crate) struct Writer<'a> {
    pub(crate) store: StoreRef<'a>,
    pub(crate) clock: Arc<dyn Clock + 'a>,
    pub(crate) judge: Option<Box<dyn RelevanceJudge>>,
    /// `None` if links are followed in the order in which they were found.
    pub(crate) scorer: Option<Scorer>,
    pub(crate) memory: Memory,
    pub(crate) archive: Option<(Archive, Keep)>,
    pub(crate) lost_pages: LostPages,
    pub(crate) syncing: Syncing,
    pub(crate) admission: Admission,
    pub(crate) truncates: bool,
    pub(crate) distiller: Option<Distiller>,
    pub(crate) backlinks: Option<Backlinks>,
    /// With it the crawl raises alarms, if it is driven by [`live`](super::live).
    pub(crate) alarms: Option<AlarmWatch>,
    /// With it fetched pages are visited again.
    pub(crate) upkeep: Option<Upkeep>,
    /// Start pages. They keep their priority whatever the strategy says about links to them.
    pub(crate) starts: HashSet<UrlId, foldhash::fast::FixedState>,
    pub(crate) next_seq: u64,
    /// Read pages in the writer's task instead of on threads.
    pub(crate) reads_in_place: bool,
    pub(crate) run: RunState,
    /// Messages to the network half.
    pub(crate) outbox: Vec<ToNetwork>,
}

/// In-memory state of a run. It can be lost at any time.
#[derive(Default)]
pub(crate) struct RunState {
    pub(crate) limits: Limits,
    pub(crate) is_polite: bool,
    /// Whether pages are read, and hubs computed, on other threads.
    pub(crate) is_threaded: bool,
    pub(crate) discipline: Discipline,
    pub(crate) readers: Option<Readers>,
    /// Readers with an earlier judge or scope, until they have finished their queues.
    pub(crate) old_readers: Vec<Readers>,
    pub(crate) rejudging: Option<Rejudging>,
    /// URLs taken from the frontier whose results are not committed.
    pub(crate) taken: HashSet<UrlId, foldhash::fast::FixedState>,
    offers: Offers,
    /// Sites that the network half holds.
    held: HashSet<SiteId, foldhash::fast::FixedState>,
    /// Number of taken URLs per site.
    taken_of: HashMap<SiteId, u64, foldhash::fast::FixedState>,
    /// Sites or URLs that the network half has room for.
    wanted: usize,
    pub(crate) batch: CurrentBatch,
    pub(crate) deferred: DeferredWork,
    pub(crate) crash_guard: CrashGuard,
    pub(crate) durability: Durability,
    pub(crate) pending: Pending,
    /// The fitted value of priorities, and the minimum priority last sent to the network half.
    worth: Worth,
    min_priority: f64,
    /// See [`ToNetwork::MinPriority`].
    is_strict: bool,
    min_priority_at: Option<Timestamp>,
    /// Pages fetched, and fetches that yielded no page.
    pub(crate) pages: u64,
    pub(crate) no_pages: u64,
    /// The pages that all workers may fetch; the limit is then what this one has reserved of them.
    shared_budget: Option<SharedBudget>,
    /// Fetch limit and workers as last sent to the network half.
    pub(crate) sent_limits: Option<(u64, usize)>,
    /// Fetches started, and bytes received.
    started_fetches: u64,
    bytes: u64,
    /// Messages sent to the network half, and how many it had handled when it last became idle.
    sent: u64,
    idle_after: Option<u64>,
    pub(crate) is_paused: bool,
    /// When the store was last asked whether other workers have anything left.
    asked_if_over: Option<Duration>,
    /// Since when URLs wait for better ones of other workers.
    pub(crate) held_back_since: Option<Duration>,
    /// Since when other workers are asked for what they have learnt.
    pub(crate) asks_since: Option<Duration>,
    /// The last command that was executed, if several workers share the crawl.
    pub(crate) last_command: u64,
    /// Whether the crawl may pause itself, because someone can resume it.
    pub(crate) may_pause: bool,
    /// Waiting workers and the sites they wait for, until the observer has been told.
    waiting: Option<(usize, usize)>,
    /// Events that were recorded, until the observer has been told.
    pub(crate) recorded: Vec<Event>,
    /// Reasons for being held up (`None`: resumed), until the observer has been told.
    pub(crate) held_up: Vec<Option<String>>,
    /// What those who watch the crawl from outside are told.
    pub(crate) vitals: Vitals,
    /// Answers for pages that were read, those of them that are committed, and as last sent to the network half.
    answers_read: u64,
    answers_committed: u64,
    answers_reported: u64,
    /// Number of answers not read yet, as counted by a live network half.
    pub(crate) unread: Arc<AtomicUsize>,
}

/// Data for the next commit.
#[derive(Default)]
pub(crate) struct Pending {
    pub(crate) results: Vec<PendingResult>,
    /// New URLs from other sources than links.
    urls: Vec<NewUrl>,
    /// Resolved addresses of sites.
    addresses: Vec<(SiteId, IpAddr)>,
    /// New robots.txt files and host states.
    robots: Vec<StoredRobots>,
    hosts: Vec<StoredHost>,
    /// The last record that was appended to the archive.
    archived: Option<SegmentSpan>,
    /// What the strategies of other workers are to see.
    shown: Vec<Vec<u8>>,
    /// Time of the last commit.
    since: Timestamp,
}

impl RunState {
    /// Whether as many pages were fetched as the limit allows.
    fn has_all_pages(&self) -> bool {
        self.pages >= self.limits.pages && self.shared_budget.is_none_or(|budget| budget.is_spent)
    }

    /// The number of pages that the crawl may fetch, with those of other workers.
    pub(crate) fn whole_budget(&self) -> u64 {
        self.shared_budget.map_or(self.limits.pages, |budget| budget.whole)
    }
}

/// A result that is not committed yet.
pub(crate) struct PendingResult {
    pub(crate) work: Work,
    pub(crate) result: PageResult,
    pub(crate) took: Duration,
}

impl Pending {
    pub(crate) fn is_empty(&self) -> bool {
        self.results.is_empty() && self.urls.is_empty()
    }
}

/// Maximum time a result waits to be committed.
const MAX_WAIT: Duration = Duration::from_millis(50);

/// Maximum number of results in a commit. Small enough that progress displays look immediate.
const MAX_PENDING: usize = 64;

/// Pages with fewer terms are never treated as copies: their fingerprints say too little.
const MIN_COPIED_TERMS: usize = 16;

impl Writer<'_> {
    /// Prepares a run.
    pub(crate) fn begin(
        &mut self,
        limits: Limits,
        is_polite: bool,
        is_threaded: bool,
    ) -> Result<(), CrawlError> {
        self.restore_memory()?;
        let discipline =
            self.scorer.as_ref().map_or_else(Discipline::default, |scorer| scorer.strategy.discipline());
        self.store.bound(discipline.bound)?;
        self.admission.recall(self.next_seq, &*self.store.reader())?;
        self.requeue_admitted()?;
        self.begin_upkeep()?;
        let workers = limits.workers.max(1);
        let is_threaded = is_threaded && !self.reads_in_place;
        let deferred = DeferredWork::new(self, is_threaded)?;
        let readers = Readers::start(self.new_reader(), if is_threaded { workers } else { 1 });
        let crash_guard = CrashGuard::open(&*self.store)?;
        self.run = RunState {
            limits: Limits { workers, ..limits },
            is_polite,
            is_threaded,
            discipline,
            readers: Some(readers),
            deferred,
            crash_guard,
            durability: Durability::new(self),
            ..RunState::default()
        };
        self.run.pending.since = self.clock.now();
        self.run.min_priority = f64::NEG_INFINITY;
        self.recall_worth()?;
        self.run.sent = 0;
        self.share_budget()?;
        self.send_limits();
        self.ask_others()?;
        let now = self.clock.now();
        let crashing = self.run.crash_guard.drop_crashing(&mut *self.store, now)?;
        for PendingResult { work, result, took } in crashing {
            self.push(work, result, took);
        }
        Ok(())
    }

    /// Recalls how relevant the last pages of earlier runs were.
    fn recall_worth(&mut self) -> Result<(), CrawlError> {
        let after = self.next_seq.checked_sub(LAST_PAGES as u64 + 1);
        for point in self.store.reader().fetch_points(after, LAST_PAGES)? {
            if let (FetchOutcome::Page, Some(judgment)) = (point.outcome, point.judgment) {
                self.run.worth.count(judgment.relevance);
            }
        }
        Ok(())
    }

    pub(crate) fn new_reader(&mut self) -> Reader {
        let packer = self.archive.as_ref().map(|(archive, keep)| (archive.packer(), *keep));
        Reader::new(self.judge.take(), packer, self.admission.scope.clone())
    }

    /// Ends a run: returns taken URLs to the frontier, saves the strategy's memory, and syncs everything.
    pub(crate) fn end(&mut self, stop: Result<Stop, CrawlError>) -> Result<Stop, CrawlError> {
        let mut run = std::mem::take(&mut self.run);
        self.outbox.clear();
        self.judge = run.readers.take().and_then(Readers::into_judge);
        let closed = self.close(&mut run, stop.is_ok());
        let synced = run.durability.close(self);
        stop.and_then(|stop| closed.and(synced).map(|()| stop))
    }

    fn close(&mut self, run: &mut RunState, is_ok: bool) -> Result<(), CrawlError> {
        let back: Vec<UrlId> = run.taken.drain().collect();
        self.store.give_back(&back)?;
        for site in run.held.drain() {
            self.store.release_site(site, None);
        }
        self.end_upkeep()?;
        run.crash_guard.close(&mut *self.store)?;
        if is_ok { self.save_memory() } else { Ok(()) }
    }

    /// Stores the host states that the next run needs.
    pub(crate) fn save_hosts(&mut self, manners: Option<&mut Manners>) -> Result<(), CrawlError> {
        let Some(manners) = manners else { return Ok(()) };
        let robots = std::mem::take(&mut self.run.pending.robots);
        let mut hosts = std::mem::take(&mut self.run.pending.hosts);
        hosts.append(&mut manners.troubled(self.clock.now()));
        self.store.commit(&Batch { robots: &robots, hosts: &hosts, ..Batch::default() })?;
        Ok(())
    }

    pub(crate) fn send(&mut self, message: ToNetwork) {
        self.run.sent += 1;
        self.outbox.push(message);
    }

    pub(crate) fn readers(&mut self) -> Option<&mut Readers> {
        self.run.readers.as_mut()
    }

    /// Number of answers being read.
    pub(crate) fn reading(&self) -> usize {
        self.run.readers.iter().chain(&self.run.old_readers).map(Readers::in_progress).sum()
    }

    /// Polls for the next page that was read. `Ready(None)` if nothing is being read.
    pub(crate) fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Option<WasRead>> {
        self.run.old_readers.retain(|readers| readers.in_progress() > 0);
        let mut is_any = false;
        for readers in self.run.old_readers.iter_mut().chain(&mut self.run.readers) {
            if readers.in_progress() == 0 {
                continue;
            }
            is_any = true;
            if let Poll::Ready(read) = readers.poll_next(context) {
                return Poll::Ready(Some(read));
            }
        }
        if is_any { Poll::Pending } else { Poll::Ready(None) }
    }

    /// Whether deferred work can be done now.
    pub(crate) fn has_deferred(&self) -> bool {
        self.run.deferred.has_work() && self.run.deferred.has_time(&*self.clock)
    }

    /// Handles a message from the network half.
    pub(crate) fn handle_message(&mut self, message: ToWriter) -> Result<(), CrawlError> {
        match message {
            ToWriter::Want(n) => self.run.wanted += n,
            ToWriter::WantOf(site, asked) => {
                let works = self.offers_of(site, asked)?;
                self.send(ToNetwork::OfferOf { site, asked, works });
            }
            ToWriter::Release(site, until) => {
                self.run.held.remove(&site);
                self.store.release_site(site, until);
            }
            ToWriter::GaveBack(oids) => {
                for &oid in &oids {
                    if let Some(site) = self.run.offers.remove(oid) {
                        self.forget_taken(oid, site);
                    }
                }
                self.store.give_back(&oids)?;
            }
            ToWriter::Started(oid) => {
                self.run.started_fetches += 1;
                self.run.offers.remove(oid);
                self.run.crash_guard.started(oid);
            }
            ToWriter::Unsent(work) => {
                self.run.started_fetches = self.run.started_fetches.saturating_sub(1);
                self.run.crash_guard.unsent(work.oid);
                self.run.offers.add(&work);
            }
            ToWriter::Answered(unread) => {
                if let Some(readers) = self.readers() {
                    readers.send(*unread);
                }
            }
            ToWriter::Settled(work, outcome) => {
                self.run.offers.remove(work.oid);
                let result = PageResult { outcome, ..empty_result(&work, self.clock.now()) };
                self.push(work, result, Duration::ZERO);
            }
            ToWriter::Listed(urls) => self.run.pending.urls.extend(urls),
            ToWriter::Located(site, address) => self.run.pending.addresses.push((site, address)),
            ToWriter::Robots(robots) => self.run.pending.robots.push(*robots),
            ToWriter::Host(host) => self.run.pending.hosts.push(host),
            ToWriter::Waiting { workers, sites } => self.run.waiting = Some((workers, sites)),
            ToWriter::Sites(sites) => self.run.vitals.sites = sites,
            ToWriter::Outage(news) => self.record_outage(&news)?,
            ToWriter::Idle(heard) => self.run.idle_after = Some(heard),
        }
        Ok(())
    }

    /// Records the beginning or end of an outage.
    fn record_outage(&mut self, news: &OutageNews) -> Result<(), CrawlError> {
        let detail = match news {
            OutageNews::Began(why) => format!("no request gets through: {why}"),
            OutageNews::Over(lasted) => format!("requests get through again, after {} s", lasted.as_secs()),
        };
        self.record_event("outage", &detail)?;
        self.run.held_up.push(match news {
            OutageNews::Began(_) => Some(format!("{detail}; retrying at growing intervals")),
            OutageNews::Over(_) => None,
        });
        Ok(())
    }

    /// Does what is due: commits, distils, offers URLs. Returns `Some` when the crawl is over.
    pub(crate) fn turn(&mut self, observer: &mut dyn Observer) -> Result<Option<Stop>, CrawlError> {
        while let Some(read) = self.readers().and_then(Readers::next) {
            self.on_read(read)?;
        }
        if let Some((workers, sites)) = self.run.waiting.take() {
            self.run.vitals.waiting = Some((workers, sites, self.clock.now()));
            observer.waiting_for(workers, sites);
        }
        for why in std::mem::take(&mut self.run.held_up) {
            observer.held_up(why.as_deref());
            self.run.vitals.held_up = why;
        }
        self.report_events(observer);
        self.rejudge_if_time()?;
        self.sync()?;
        if self.is_commit_due() {
            if self.commit(observer)?.is_break() {
                return Ok(Some(Stop::Asked));
            }
            self.catch_up()?;
        }
        self.reserve_pages()?;
        if let Some(stop) = self.limit_reached() {
            return Ok(Some(stop));
        }
        self.distil()?;
        self.update_min_priority();
        self.queue_visits()?;
        self.follow_others()?;
        self.offer()?;
        self.report_answers();
        self.run.crash_guard.note_first(&mut *self.store)?;
        // URLs may have been refused without a request.
        if self.is_commit_due() || !self.is_quiet() {
            return Ok(None);
        }
        if self.run.deferred.has_work() {
            self.catch_up_chunk()?;
            return Ok(None);
        }
        self.quiet_stop_reason()
    }

    /// Whether the page or byte limit is reached and everything is committed. URLs in flight are then given back
    /// instead of waited for.
    fn limit_reached(&self) -> Option<Stop> {
        let run = &self.run;
        match () {
            () if !run.pending.is_empty() => None,
            () if run.has_all_pages() => Some(Stop::Limit),
            () if run.bytes >= run.limits.bytes => Some(Stop::Bytes),
            () => None,
        }
    }

    /// Whether nothing is in flight, being read or pending, and the network half has handled all messages.
    pub(crate) fn is_quiet(&self) -> bool {
        self.run.idle_after == Some(self.run.sent)
            && self.outbox.is_empty()
            && self.reading() == 0
            && self.run.pending.is_empty()
    }

    /// The reason to stop when the crawl is quiet.
    fn quiet_stop_reason(&mut self) -> Result<Option<Stop>, CrawlError> {
        if self.run.is_paused || self.run.held_back_since.is_some() {
            return Ok(None);
        }
        if self.run.started_fetches >= self.run.limits.fetches {
            return Ok(Some(Stop::Limit));
        }
        // A polite crawl waits for retries, for resting sites, and for pages that are due later.
        let due = self.next_due()?;
        let waits = self.run.is_polite || self.waits_for_visits();
        if let (Some(due), true) = (due, waits) {
            self.say_nothing_is_due(due);
        }
        let stop = match due {
            Some(_) if waits => None,
            Some(due) => Some(Stop::Waiting(due)),
            None => Some(Stop::Exhausted),
        };
        Ok(if stop.is_some() && self.is_over_for_all()? { stop } else { None })
    }

    /// Whether no other worker has anything left, asked not too often.
    fn is_over_for_all(&mut self) -> Result<bool, CrawlError> {
        const BETWEEN_QUESTIONS: Duration = Duration::from_millis(100);
        if self.store.worker().is_none() {
            return Ok(true);
        }
        let now = self.clock.monotonic();
        let is_time = self.run.asked_if_over.is_none_or(|at| now.saturating_sub(at) >= BETWEEN_QUESTIONS);
        if is_time {
            self.run.asked_if_over = Some(now);
        }
        Ok(is_time && self.store.is_over()?)
    }

    /// Whether pending results should be committed now. Later choices depend on earlier pages, so results wait only
    /// briefly: with few workers almost not at all, with many until there are as many as workers.
    pub(crate) fn is_commit_due(&self) -> bool {
        /// Below this number of workers, commit more often.
        const FEW: usize = 16;
        let workers = self.run.limits.workers;
        let enough = if workers < FEW { workers / 2 } else { workers };
        let pending = &self.run.pending;
        let is_idle = self.run.idle_after == Some(self.run.sent) && self.reading() == 0;
        let is_full = self.run.has_all_pages() || self.run.bytes >= self.run.limits.bytes;
        pending.results.len() >= enough.clamp(1, MAX_PENDING)
            || !pending.is_empty() && is_full
            || !pending.is_empty() && (is_idle || self.clock.now().since(pending.since) >= MAX_WAIT)
    }

    /// The time by which pending results must be committed.
    pub(crate) fn commit_due(&self) -> Option<Timestamp> {
        (!self.run.pending.is_empty()).then(|| self.run.pending.since.after(MAX_WAIT))
    }

    /// Handles a failure of the judge. A crawl that someone can resume is paused, and the page is fetched again.
    pub(crate) fn on_not_read(&mut self, not_read: NotRead) -> Result<(), CrawlError> {
        let NotRead { work, error } = not_read;
        let Some(work) = work.filter(|_| self.run.may_pause) else { return Err(error.into()) };
        self.count_answer();
        self.run.no_pages += 1;
        self.send_limits();
        self.run.crash_guard.unsent(work.oid);
        self.forget_taken(work.oid, work.sid);
        self.store.give_back(&[work.oid])?;
        if !self.run.is_paused {
            self.pause(true);
            let detail = format!("paused, because the judge failed: {error}");
            self.run.held_up.push(Some(format!(
                "{detail}; run `porthole resume` to continue or `porthole stop` to end the crawl"
            )));
            self.record_event("judge", &detail)?;
        }
        Ok(())
    }

    /// Counts an answer as read.
    fn count_answer(&mut self) {
        self.run.answers_read += 1;
        let fewer = |unread: usize| Some(unread.saturating_sub(1));
        let _ = self.run.unread.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
    }

    /// Handles a page that was read and judged: scores its links, archives it, and queues it for the next commit.
    pub(crate) fn on_page_read(&mut self, read: Read) -> Result<(), CrawlError> {
        let Read { work, mut result, page, packed, packed_request, is_revisit_record, took } = read;
        self.count_answer();
        if self.run.has_all_pages() || self.run.bytes >= self.run.limits.bytes {
            // It arrived after the limit was reached. `close` gives it back.
            return Ok(());
        }
        self.run.bytes = self.run.bytes.saturating_add(result.bytes);
        if result.outcome == Outcome::Fetched {
            let original = self.admission.page_read(&work.url, result.simhash);
            let has_words = page.as_ref().is_some_and(|(page, _)| page.terms().len() >= MIN_COPIED_TERMS);
            result.copy_of = original.filter(|_| has_words);
        }
        let mut worth = None;
        if work.depth > 0 && work.copy.is_none() {
            let credit = result.judgment.filter(|_| result.copy_of.is_none());
            let credit = credit.map_or(0.0, |judgment| judgment.relevance);
            self.run.worth.add(work.priority, credit);
            worth = Some((work.priority, credit));
        }
        if matches!(result.outcome, Outcome::Fetched | Outcome::NotModified) {
            self.run.pages += 1;
        } else {
            self.run.no_pages += 1;
            self.send_limits();
        }
        if let Some((page, judgment)) = page {
            if self.scorer.is_some() && is_judged(&result.outcome) && result.copy_of.is_none() {
                let shown = self.show_page(&work, &page, judgment, worth);
                self.run.pending.shown.extend(shown);
            }
            result.links = match &mut self.scorer {
                Some(scorer) if is_judged(&result.outcome) && result.copy_of.is_none() => {
                    let own = result.judgment.unwrap_or(judgment).relevance;
                    scorer.links(&work.url, work.depth, page, judgment, own)
                }
                // The links of a copy equal those of its original, or lead to other copies.
                Some(_) if result.copy_of.is_some() => {
                    link_rows(page, work.depth + 1, repeat((judgment.relevance, None)))
                }
                // The page was not judged: its links inherit its own priority.
                Some(_) => link_rows(page, work.depth + 1, repeat((judgment.relevance, Some(work.priority)))),
                None => link_rows(page, work.depth + 1, repeat((0.0, Some(0.0)))),
            };
        }
        if let (Some((archive, _)), Some(packed)) = (&mut self.archive, packed) {
            let span = archive.append(&packed, packed_request.as_deref(), result.at)?;
            self.run.pending.archived = span.or(self.run.pending.archived);
            result.span = span.filter(|_| !is_revisit_record);
        }
        if is_revisit_record {
            result.span = work.copy.as_ref().and_then(|copy| copy.span);
        }
        if result.outcome == Outcome::Fetched && result.copy_of.is_none() {
            self.truncate(&work, result.judgment);
            self.ask_backlinks(&work, result.judgment);
        }
        if let (Outcome::Redirected, Some(to)) = (&result.outcome, result.links.first())
            && let Some(failure) = self.admission.redirected(&work.url, &to.target.url)
        {
            result.outcome = Outcome::Skipped(failure);
            result.links.clear();
        }
        self.push(work, result, took);
        Ok(())
    }

    /// Queues the folders above a good page. Each gets half the value of the one below it.
    fn truncate(&mut self, work: &Work, judgment: Option<Judgment>) {
        let (Some(scorer), Some(judgment)) = (&self.scorer, judgment) else { return };
        if !self.truncates || !scorer.is_on_topic(judgment) {
            return;
        }
        let mut worth = judgment.relevance;
        for url in truncations(&work.url) {
            worth /= 2.0;
            let depth = work.depth + 1;
            self.run.pending.urls.push(NewUrl { url, relevance: worth, priority: worth, depth });
        }
    }

    /// Asks an endpoint for the pages that link to a good page.
    fn ask_backlinks(&mut self, work: &Work, judgment: Option<Judgment>) {
        let (Some(backlinks), Some(judgment)) = (&mut self.backlinks, judgment) else { return };
        if let Some(question) = backlinks.ask(&work.url, judgment.relevance, work.depth) {
            self.send(ToNetwork::Ask(question));
        }
    }

    /// Assigns a sequence number to a result and queues it for the next commit.
    fn push(&mut self, work: Work, mut result: PageResult, took: Duration) {
        // Strategies do not learn from failures and copies, and know a page that has not changed.
        let is_known = matches!(result.outcome, Outcome::Retry { .. } | Outcome::NotModified);
        let is_settled = result.copy_of.is_some() || !is_judged(&result.outcome) && !is_known;
        self.note_visit(&work, &mut result);
        if let (true, Some(scorer)) = (is_settled, &mut self.scorer) {
            scorer.strategy.settled(&work.url);
            let shown = self.show_settled(&work, &result);
            self.run.pending.shown.extend(shown);
        }
        self.run.crash_guard.finished(work.oid);
        self.memory.seen += 1;
        result.seq = self.next_seq;
        self.next_seq += 1;
        self.run.pending.results.push(PendingResult { work, result, took });
    }

    /// Commits pending results and tells the observer.
    pub(crate) fn commit(&mut self, observer: &mut dyn Observer) -> Result<ControlFlow<()>, CrawlError> {
        let mut flow = ControlFlow::Continue(());
        self.run.pending.since = self.clock.now();
        self.run.answers_committed = self.run.answers_read;
        if self.run.pending.is_empty() {
            return Ok(flow);
        }
        let mut pending = std::mem::take(&mut self.run.pending);
        self.run.pending.since = self.clock.now();
        let results = std::mem::take(&mut pending.results);
        let mut committed = Vec::with_capacity(results.len());
        let mut told = Vec::with_capacity(results.len());
        for PendingResult { work, result, took } in results {
            told.push((work.url, took, work.numtries));
            committed.push(result);
        }
        let shift = self.write(&committed, &pending)?;
        for result in &mut committed {
            result.seq = result.seq.wrapping_add(shift);
        }
        self.forget_visits(&committed);
        for result in &committed {
            self.forget_taken(result.oid, result.sid);
        }
        let counts = self.store.counts();
        for (result, (url, took, tries)) in committed.iter().zip(&told) {
            if let Some(alarms) = &mut self.alarms {
                alarms.fetched(result, *tries);
            }
            if observer.committed(Seen { url, result, took: *took, counts }).is_break() {
                flow = ControlFlow::Break(());
            }
        }
        // Deferred work takes precedence, and would be repeated after a kill.
        if !self.run.deferred.is_partly_done() {
            self.save_memory_if_due()?;
        }
        Ok(flow)
    }

    /// Writes results and everything that must be consistent with them in one transaction. Returns what is to be added to
    /// their sequence numbers, which several workers share.
    fn write(&mut self, results: &[PageResult], pending: &Pending) -> Result<u64, CrawlError> {
        let next_seq = self.next_seq.to_string();
        let archived = pending.archived.map(format_span);
        let batch = self.run.batch.unwritten.take();
        let asked = self.backlinks.as_ref().map(Backlinks::asked);
        let priorities = self.new_priorities(results);
        let under_way = self.run.crash_guard.setting();
        let mut durability = std::mem::take(&mut self.run.durability);
        let synced = durability.setting(self);
        self.run.durability = durability;
        let own = |name: &'static str| own_name(&*self.store, name);
        let [last_archived, batch_name, asked_name, rescoring_name] =
            [LAST_ARCHIVED, super::batch::BATCH, backlinks::ASKED, super::deferred::RESCORING].map(own);
        let mut settings = Vec::new();
        if self.store.worker().is_none() {
            settings.push((NEXT_SEQ, next_seq.as_str()));
        }
        settings.extend(synced.as_ref().map(|(name, value)| (&**name, value.as_str())));
        settings.extend(archived.as_deref().map(|archived| (&*last_archived, archived)));
        settings.extend(batch.as_deref().map(|batch| (&*batch_name, batch)));
        settings.extend(asked.as_deref().map(|asked| (&*asked_name, asked)));
        settings.extend(self.run.deferred.setting().map(|(_, value)| (&*rescoring_name, value)));
        settings.extend(under_way.as_ref().map(|(name, value)| (&**name, value.as_str())));
        // No row may refer to bytes that are not written.
        if let Some((archive, _)) = &mut self.archive {
            archive.flush()?;
        }
        let done = self.store.commit(&Batch {
            results,
            numbered_by: Some(NEXT_SEQ),
            urls: &pending.urls,
            addresses: &pending.addresses,
            robots: &pending.robots,
            hosts: &pending.hosts,
            priorities: &priorities,
            settings: &settings,
            protect_newest: self.run.discipline.protect_newest,
            shown: &pending.shown,
            ..Batch::default()
        })?;
        let shift = done.next_seq.map_or(0, |next| next.wrapping_sub(self.next_seq));
        self.next_seq = self.next_seq.wrapping_add(shift);
        self.run.deferred.committed(&*self.clock);
        self.run.durability.committed(self.next_seq, self.clock.monotonic());
        Ok(shift)
    }

    /// Priorities of URLs that the strategy may have scored before.
    fn new_priorities(&mut self, results: &[PageResult]) -> Vec<(UrlId, f64)> {
        let mut priorities = Vec::new();
        if self.run.discipline.merge == PriorityMerge::Latest && self.scorer.is_some() {
            let pages = results.iter().filter(|result| is_judged(&result.outcome));
            let links = pages.flat_map(|result| &result.links).filter(|link| !link.rejected);
            priorities.extend(links.map(|link| (link.oid, link.target.priority)));
            priorities.retain(|(oid, _)| !self.starts.contains(oid));
        }
        // Chunks of a running rescoring are committed separately, after this.
        if !self.run.deferred.is_rescoring() {
            priorities.append(&mut self.rescored());
        }
        priorities
    }

    /// Starts a distillation. Returns whether this crawl distils.
    pub(crate) fn distil_now(&mut self) -> bool {
        let Writer { store, distiller: Some(distiller), next_seq, .. } = self else { return false };
        let links = store.counts().links as u64;
        distiller.start(store.reader(), *next_seq, links);
        true
    }

    /// Distils when due: synchronously if the order of fetches must be reproducible, otherwise on a thread.
    fn distil(&mut self) -> Result<(), CrawlError> {
        let Writer { store, distiller: Some(distiller), next_seq, run, .. } = self else { return Ok(()) };
        if let Some(distilled) = distiller.poll() {
            // A crawl continues without hubs.
            return match distilled {
                Ok(distilled) => self.apply_distillation(&distilled),
                Err(error) => self.record_event("distillation failed", &error.to_string()),
            };
        }
        if !store.is_leader() {
            return Ok(());
        }
        let links = store.counts().links as u64;
        if !run.pending.results.is_empty() || !distiller.due(*next_seq, links) {
            return Ok(());
        }
        if run.is_threaded {
            distiller.start(store.reader(), *next_seq, links);
            return Ok(());
        }
        let distilled = distiller.now(&*store.reader(), *next_seq, links)?;
        self.apply_distillation(&distilled)
    }

    /// Stores the result of a distillation and applies it to the queue.
    fn apply_distillation(&mut self, distilled: &Distilled) -> Result<(), CrawlError> {
        let Distilled { hubs, auth, neighbourhoods, refreshed, raised, revisit, .. } = distilled;
        self.store.set_scores(&DistilledScores { hubs, auth, neighbourhoods })?;
        self.store.queue_again(revisit)?;
        let (links, again) = (raised.len(), revisit.len());
        let detail = format!(
            "{} hubs, {} authorities; {links} links of hubs raised, {again} hubs revisited",
            hubs.len(),
            auth.len()
        );
        self.record_event("distilled", &detail)?;
        // Last, so that a crawl killed in between distils again.
        let settings = [(DISTILLED, distilled.mark.as_str()), (DISTILLED_BY, distilled.site.name())];
        self.store.commit(&Batch { refreshed, raised, settings: &settings, ..Batch::default() })?;
        Ok(())
    }
}

/// Whether the strategy sees the page. A page that asks not to be indexed is not a result, but its links are
/// followed.
fn is_judged(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Fetched => true,
        Outcome::Skipped(failure) => failure.kind == FailureKind::NoIndex,
        _ => false,
    }
}

fn format_span(span: SegmentSpan) -> String {
    format!("{} {} {}", span.segment, span.offset, span.length)
}
