//! Observes a crawl: counts the results, shows progress, and checks the conditions that end it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use porthole_crawl::{Observer, Seen};
use porthole_topic::Taxonomy;
use porthole_types::{AlarmKind, AlarmNotice, Event, Judgment, Outcome, TopicId};
use tokio::runtime::Builder;

use super::broadening::Broadener;
use super::events::{Events, STOPPED, StoppedEvent, outcome};
use super::metrics::{Board, CrawlFigures};
use super::webhook::WebhookReport;
use crate::output::{self, Progress};

/// Why the observer ends a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndReason {
    Interrupted,
    Time,
    /// The workspace has reached its size limit.
    Disk,
    /// No good page for `--patience` pages.
    Stagnated,
}

/// The conditions that end a crawl from outside.
pub(super) struct EndConditions {
    interrupted: Arc<AtomicBool>,
    until: Option<Instant>,
    disk: Option<Disk>,
    /// Maximum number of pages in a row without a good one.
    patience: Option<u64>,
}

/// Size limit of the workspace, and when its size was last measured.
struct Disk {
    size: Box<dyn Fn() -> u64 + Send>,
    limit: u64,
    checked: Option<Instant>,
}

impl EndConditions {
    /// Listens for Ctrl-C and SIGTERM on a thread of its own, so that they are noticed whatever the crawl is doing.
    pub(super) fn listen(time: Option<Duration>) -> io::Result<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        let flag = interrupted.clone();
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let mut signals = {
            let _within = runtime.enter();
            Signals::listen()?
        };
        let listen = move || {
            if runtime.block_on(signals.next()).is_ok() {
                flag.store(true, Ordering::Relaxed);
                output::say("stopping: storing the fetched pages");
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(listen)?;
        let until = time.map(|time| Instant::now() + time);
        Ok(EndConditions { interrupted, until, disk: None, patience: None })
    }

    /// Also ends the crawl when the workspace has reached a size.
    pub(super) fn at_size(mut self, bytes: Option<u64>, size: impl Fn() -> u64 + Send + 'static) -> Self {
        self.disk = bytes.map(|limit| Disk { size: Box::new(size), limit, checked: None });
        self
    }

    /// Also ends the crawl after this many pages in a row that are not good.
    pub(super) fn when_stagnant(mut self, pages: Option<u64>) -> Self {
        self.patience = pages;
        self
    }

    /// Whether the crawl is to end before it has begun.
    pub(super) fn is_over(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) || self.until.is_some_and(|until| Instant::now() >= until)
    }

    fn now(&mut self, since_good: u64) -> Option<EndReason> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Some(EndReason::Interrupted);
        }
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Some(EndReason::Time);
        }
        if self.patience.is_some_and(|patience| since_good >= patience) {
            return Some(EndReason::Stagnated);
        }
        self.is_disk_used_up().then_some(EndReason::Disk)
    }

    fn is_disk_used_up(&mut self) -> bool {
        const CHECK_INTERVAL: Duration = Duration::from_secs(1);
        let Some(Disk { size, limit, checked }) = &mut self.disk else { return false };
        if checked.is_some_and(|checked| checked.elapsed() < CHECK_INTERVAL) {
            return false;
        }
        *checked = Some(Instant::now());
        size() >= *limit
    }
}

/// The signals that end a crawl: Ctrl-C, and SIGTERM where there is one.
struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Signals {
            #[cfg(unix)]
            terminate: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?,
        })
    }

    #[cfg(unix)]
    async fn next(&mut self) -> io::Result<()> {
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted,
            _ = self.terminate.recv() => Ok(()),
        }
    }

    #[cfg(not(unix))]
    async fn next(&mut self) -> io::Result<()> {
        tokio::signal::ctrl_c().await
    }
}

/// Counts the results of a crawl and shows its progress.
pub(super) struct Watch {
    tree: Taxonomy,
    pub(super) strategy: String,
    began: Instant,
    progress: Progress,
    events: Vec<Events>,
    /// The end of the run: told last, with the figures.
    stopped: Option<Event>,
    /// What became of the events of a webhook, at the end.
    pub(super) webhook: Option<WebhookReport>,
    board: Option<Board>,
    ends: EndConditions,
    pub(super) ended: Option<EndReason>,
    /// URLs that were requested, whatever became of them.
    pub(super) fetches: u64,
    /// Fetched pages, which `--pages` limits: fetches without redirects, refusals and failures.
    pub(super) fetched: u64,
    pub(super) redirects: u64,
    /// Pages that were judged.
    pub(super) pages: u64,
    /// Pages that are duplicates of others.
    pub(super) copies: u64,
    on_topic: u64,
    relevance: f64,
    pub(super) bytes: u64,
    last: VecDeque<f64>,
    since_good: u64,
    /// Failures, URLs that were fetched and skipped, and those that were refused before, all by kind.
    failures: BTreeMap<&'static str, u64>,
    skipped: BTreeMap<&'static str, u64>,
    refused: BTreeMap<&'static str, u64>,
    /// Alarms that have begun and not ended.
    alarms: BTreeSet<AlarmKind>,
    /// In a maintained crawl: visits by what they have shown.
    visits: BTreeMap<&'static str, u64>,
    shown: Instant,
    /// Broadens the topic, if that is allowed and has not failed.
    broadener: Option<Broadener>,
    /// Whether it was asked to do so and has not answered.
    is_broadening: bool,
    /// Workers that wait for good sites, these, and when that was said.
    waits_for: Option<(usize, usize, Instant)>,
}

/// A watch that the crawl's thread and the command share.
#[derive(Clone)]
pub(super) struct SharedWatch(Arc<Mutex<Watch>>);

impl SharedWatch {
    pub(super) fn new(watch: Watch) -> Self {
        SharedWatch(Arc::new(Mutex::new(watch)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Watch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for SharedWatch {
    fn committed(&mut self, seen: Seen<'_>) -> ControlFlow<()> {
        self.lock().committed(seen)
    }

    fn waiting_for(&mut self, workers: usize, sites: usize) {
        self.lock().waiting_for(workers, sites);
    }

    fn held_up(&mut self, why: Option<&str>) {
        self.lock().held_up(why);
    }

    fn recorded(&mut self, event: &Event) {
        self.lock().recorded(event);
    }

    fn waiting(&mut self) -> ControlFlow<()> {
        self.lock().waiting()
    }

    fn stop_reason(&self) -> Option<&'static str> {
        self.lock().stop_reason()
    }
}

/// Number of pages of the current harvest rate.
const WINDOW: usize = 100;

impl Watch {
    pub(super) fn new(
        tree: Taxonomy,
        strategy: &str,
        pages: Option<u64>,
        ends: EndConditions,
        events: Vec<Events>,
        board: Option<Board>,
    ) -> Self {
        Watch {
            tree,
            strategy: strategy.to_owned(),
            began: Instant::now(),
            progress: Progress::new("crawling", pages.unwrap_or(0)),
            events,
            stopped: None,
            webhook: None,
            board,
            ends,
            ended: None,
            fetches: 0,
            fetched: 0,
            redirects: 0,
            pages: 0,
            copies: 0,
            on_topic: 0,
            relevance: 0.0,
            bytes: 0,
            last: VecDeque::with_capacity(WINDOW),
            since_good: 0,
            failures: BTreeMap::new(),
            skipped: BTreeMap::new(),
            refused: BTreeMap::new(),
            alarms: BTreeSet::new(),
            visits: BTreeMap::new(),
            shown: Instant::now(),
            broadener: None,
            is_broadening: false,
            waits_for: None,
        }
    }

    /// The tree that decides which pages are on topic.
    pub(super) fn tree(&self) -> &Taxonomy {
        &self.tree
    }

    /// Switches to another tree and strategy.
    pub(super) fn follow(&mut self, tree: Taxonomy, strategy: String) {
        self.tree = tree;
        self.strategy = strategy;
        self.since_good = 0;
    }

    /// Mean relevance over the last pages.
    fn current_harvest(&self) -> f64 {
        // The sum of no numbers is -0.
        self.last.iter().fold(0.0, |sum, relevance| sum + relevance) / self.last.len().max(1) as f64
    }

    /// Mean relevance over all pages of this run.
    pub(super) fn harvest(&self) -> f64 {
        self.relevance / self.pages.max(1) as f64
    }

    pub(super) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Failures by kind, the most frequent first.
    pub(super) fn failures(&self) -> Vec<(&'static str, u64)> {
        most_first(&self.failures)
    }

    /// URLs that were fetched and are no results on purpose, by reason, the most frequent first.
    pub(super) fn skipped(&self) -> Vec<(&'static str, u64)> {
        most_first(&self.skipped)
    }

    /// URLs that were not requested on purpose, by reason, the most frequent first.
    pub(super) fn refused(&self) -> Vec<(&'static str, u64)> {
        most_first(&self.refused)
    }

    /// Visits of a maintained crawl, by what they have shown.
    pub(super) fn visits(&self) -> &BTreeMap<&'static str, u64> {
        &self.visits
    }

    /// Ends the progress bar and the events.
    pub(super) fn finish(&mut self, stop: &str) {
        self.broadener = None;
        self.progress.finish();
        let last = StoppedEvent::new(self.stopped.as_ref(), stop, self.fetches, self.pages);
        for events in self.events.drain(..) {
            self.webhook = events.ended(&last).or(self.webhook.take());
        }
    }

    fn count(&mut self, seen: &Seen<'_>) {
        let is_refusal = seen.result.is_refusal();
        self.fetches += u64::from(!is_refusal);
        self.fetched += u64::from(matches!(seen.result.outcome, Outcome::Fetched | Outcome::NotModified));
        self.redirects += u64::from(matches!(seen.result.outcome, Outcome::Redirected));
        self.bytes += seen.result.bytes;
        if let Some(failure) = outcome(&seen.result.outcome).1 {
            let counts = match &seen.result.outcome {
                _ if is_refusal => &mut self.refused,
                Outcome::Skipped(_) => &mut self.skipped,
                _ => &mut self.failures,
            };
            *counts.entry(failure.kind.name()).or_default() += 1;
        }
        if let Some(next) = seen.result.next_visit {
            *self.visits.entry(next.change.name()).or_default() += 1;
        }
        if let (Outcome::Fetched, Some(judgment)) = (&seen.result.outcome, seen.result.judgment) {
            // A duplicate counts as a page with relevance 0.
            let is_copy = seen.result.copy_of.is_some();
            let on_topic = !is_copy && is_on_topic(&self.tree, judgment);
            let relevance = if is_copy { 0.0 } else { judgment.relevance };
            self.pages += 1;
            self.copies += u64::from(is_copy);
            self.relevance += relevance;
            self.on_topic += u64::from(on_topic);
            self.since_good = if on_topic { 0 } else { self.since_good + 1 };
            if self.last.len() == WINDOW {
                self.last.pop_front();
            }
            self.last.push_back(relevance);
        }
    }

    fn show(&mut self, seen: &Seen<'_>) {
        /// Limits the cost of adding up the figures.
        const UPDATE_INTERVAL: Duration = Duration::from_millis(100);
        let (now, overall, counts) = (self.current_harvest(), self.harvest(), seen.counts);
        let failed: u64 = self.failures.values().sum();
        let waits = match self.waits_for {
            Some((workers, sites, at)) if at.elapsed() < Duration::from_secs(3) => {
                let (workers, sites) = (output::count(workers, "worker"), output::count(sites, "good site"));
                format!("; {workers} idle by choice, {sites} resting")
            }
            _ => String::new(),
        };
        self.progress.update(self.fetched, || {
            format!(
                "harvest {now:.2} now, {overall:.2} overall; {} queued, {} sites, {} failed{waits}",
                output::grouped(&counts.queued.to_string()),
                output::grouped(&counts.sites.to_string()),
                output::grouped(&failed.to_string()),
            )
        });
        if self.shown.elapsed() < UPDATE_INTERVAL {
            return;
        }
        self.shown = Instant::now();
        let figures = CrawlFigures {
            fetches: self.fetches,
            pages: self.pages,
            on_topic: self.on_topic,
            bytes: self.bytes,
            harvest_now: now,
            harvest: overall,
            seconds: self.seconds(),
            known: counts.known,
            queued: counts.queued,
            sites: counts.sites,
            links: counts.links,
            failures: self.failures(),
            skipped: self.skipped(),
            refused: self.refused(),
            alarms: self.alarms.clone(),
        };
        if let Some(mut board) = self.board.as_ref().and_then(|board| board.lock().ok()) {
            *board = figures;
        }
    }
}

impl Watch {
    /// Lets the crawl broaden its topic.
    pub(super) fn broaden_by(&mut self, broadener: Broadener) {
        self.broadener = Some(broadener);
    }

    /// Asks for the topic to be broadened. Returns whether there is hope.
    fn broaden(&mut self) -> bool {
        let Some(broadener) = &self.broadener else { return false };
        self.is_broadening = self.is_broadening || broadener.request();
        self.is_broadening
    }

    /// The answer: an event, or `None` if no topic is proposed.
    pub(super) fn broadened(&mut self, event: Option<&Event>) {
        self.is_broadening = false;
        match event {
            Some(event) => {
                self.since_good = 0;
                self.progress.println(&event.detail);
                self.recorded(event);
            }
            // A crawl that has stagnated would ask again and again.
            None if self.ends.now(self.since_good) == Some(EndReason::Stagnated) => self.broadener = None,
            None => {}
        }
    }

    /// Shows the beginning or the end of an alarm. No page may come after it that would update the figures.
    fn alarm(&mut self, notice: &AlarmNotice) {
        match notice.begins {
            true => self.alarms.insert(notice.kind),
            false => self.alarms.remove(&notice.kind),
        };
        self.progress.println(&format!("alarm: {}", notice.detail()));
        if notice.begins && notice.kind == AlarmKind::Relevance {
            self.broaden();
        }
        if let Some(mut board) = self.board.as_ref().and_then(|board| board.lock().ok()) {
            board.alarms.clone_from(&self.alarms);
        }
    }
}

impl Observer for Watch {
    fn committed(&mut self, seen: Seen<'_>) -> ControlFlow<()> {
        self.count(&seen);
        for events in &mut self.events {
            events.fetched(&seen, &self.tree);
        }
        self.show(&seen);
        self.waiting()
    }

    fn waiting_for(&mut self, workers: usize, sites: usize) {
        self.waits_for = Some((workers, sites, Instant::now()));
    }

    fn held_up(&mut self, why: Option<&str>) {
        let message = match why {
            Some(why) => why.to_owned(),
            None => "the crawl continues".to_owned(),
        };
        self.progress.println(&message);
        for events in &mut self.events {
            events.held_up(why);
        }
    }

    fn recorded(&mut self, event: &Event) {
        // A crawl that has lost its database stops, and starts again.
        let before = self.stopped.take();
        if event.kind == STOPPED {
            self.stopped = Some(event.clone());
        }
        let now = (event.kind != STOPPED).then_some(event);
        for told in before.iter().chain(now) {
            self.events.iter_mut().for_each(|events| events.recorded(told));
        }
        let notice = AlarmNotice::parse(&event.detail).filter(|_| event.kind == AlarmNotice::EVENT);
        if let Some(notice) = notice {
            self.alarm(&notice);
        }
    }

    fn waiting(&mut self) -> ControlFlow<()> {
        let end = self.ended.or_else(|| self.ends.now(self.since_good));
        let is_broadened = end == Some(EndReason::Stagnated) && self.broaden();
        self.ended = end.filter(|_| !is_broadened);
        if self.ended.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn stop_reason(&self) -> Option<&'static str> {
        match self.ended? {
            EndReason::Interrupted => Some("interrupted"),
            EndReason::Time => Some("the time limit is reached"),
            EndReason::Disk => Some("the size limit of the workspace is reached"),
            EndReason::Stagnated => Some("no good page for a long time"),
        }
    }
}

/// Counts by kind, the highest first.
fn most_first(counts: &BTreeMap<&'static str, u64>) -> Vec<(&'static str, u64)> {
    let mut counts: Vec<_> = counts.iter().map(|(kind, count)| (*kind, *count)).collect();
    counts.sort_by_key(|&(kind, count)| (std::cmp::Reverse(count), kind));
    counts
}

/// Whether a page's topic is good or below a good one; by its relevance, if the judge names no topic.
fn is_on_topic(tree: &Taxonomy, judgment: Judgment) -> bool {
    let topic = judgment.best;
    match topic {
        TopicId::ROOT => judgment.is_relevant(),
        _ => tree.is_good(topic) || tree.ancestors(topic).any(|above| tree.is_good(above)),
    }
}
