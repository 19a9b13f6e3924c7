//! What a running crawl says of itself to those who watch it from outside: its state, as the setting
//! [`LiveCrawl::SETTING`], and its alarms and the size of its frontier, as events.

use std::time::Duration;

use porthole_types::{ActiveAlarm, AlarmNotice, Event, FrontierSample, LiveCrawl, PageResult, Timestamp};

use super::commands::Command;
use super::crawl::CrawlError;
use super::network::SiteStates;
use super::writer::Writer;
use crate::alarms::{AlarmSettings, Alarms, CrawlState, DiskSpace};

/// What is known of the crawl's state besides what the writer half keeps anyway.
#[derive(Default)]
pub(crate) struct Vitals {
    pub(crate) sites: SiteStates,
    /// Workers that wait by choice, the sites they wait for, and when that was reported.
    pub(crate) waiting: Option<(usize, usize, Timestamp)>,
    pub(crate) held_up: Option<String>,
    /// What was stored last.
    stored: LiveCrawl,
    /// When the size of the frontier was last recorded; at first, when the run began.
    sampled: Option<Timestamp>,
}

/// Measures the disk of the workspace.
pub(crate) type MeasureDisk = Box<dyn Fn() -> Option<DiskSpace> + Send>;

/// The alarms of a crawl, and when they were last checked.
pub(crate) struct AlarmWatch {
    alarms: Alarms,
    measure_disk: MeasureDisk,
    checked: Option<Timestamp>,
    measured: Option<Timestamp>,
}

impl AlarmWatch {
    pub(crate) fn new(settings: AlarmSettings, measure_disk: MeasureDisk) -> Self {
        AlarmWatch { alarms: Alarms::new(settings), measure_disk, checked: None, measured: None }
    }

    pub(crate) fn fetched(&mut self, result: &PageResult, tries: u32) {
        self.alarms.fetched(result, tries);
    }

    fn active(&self) -> impl Iterator<Item = &ActiveAlarm> {
        self.alarms.active()
    }

    /// Checks what depends on time.
    fn check(&mut self, now: Timestamp, state: CrawlState) {
        let is_due = |at: Option<Timestamp>, interval| at.is_none_or(|at| now.since(at) >= interval);
        if is_due(self.checked, CHECK_INTERVAL) {
            self.checked = Some(now);
            self.alarms.passed(now, state);
        }
        if is_due(self.measured, DISK_INTERVAL) {
            self.measured = Some(now);
            if let Some(space) = (self.measure_disk)() {
                self.alarms.measured_disk(space, now, state);
            }
        }
    }
}

/// Time between two checks of the alarms, and between two measurements of the disk.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
const DISK_INTERVAL: Duration = Duration::from_secs(10);

/// Time between two writes.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// Time between two records of the size of the frontier. The first is written after this time, so that short runs have none.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(60);

/// A report of waiting workers is valid for this long. It is repeated every second.
const WAITING_VALID: Duration = Duration::from_secs(3);

impl Writer<'_> {
    /// Stores the state of the crawl, at most once a second and only if it has changed.
    pub(crate) fn store_vitals(&mut self, now: Timestamp) -> Result<(), CrawlError> {
        let at = Timestamp(self.run.vitals.stored.at);
        if now.since(at) < WRITE_INTERVAL && at <= now {
            return Ok(());
        }
        let live = LiveCrawl { at: self.run.vitals.stored.at, ..self.live_state(now) };
        if live == self.run.vitals.stored {
            return Ok(());
        }
        self.store_live(LiveCrawl { at: now.0, ..live })
    }

    /// Stores the state of the crawl now: whoever has changed it sees it at once.
    pub(super) fn store_vitals_now(&mut self) -> Result<(), CrawlError> {
        let live = self.live_state(self.clock.now());
        self.store_live(live)
    }

    /// Records the size of the frontier, once a minute.
    pub(crate) fn sample_frontier(&mut self, now: Timestamp) -> Result<(), CrawlError> {
        let last = *self.run.vitals.sampled.get_or_insert(now);
        if now.since(last) < SAMPLE_INTERVAL {
            return Ok(());
        }
        self.run.vitals.sampled = Some(now);
        if !self.store.is_leader() {
            return Ok(());
        }
        let counts = self.store.counts();
        let sample = FrontierSample { queued: counts.queued as u64, known: counts.known as u64 };
        self.record_event(FrontierSample::EVENT, &sample.detail())
    }

    /// Checks the alarms, and records those that have begun or ended.
    pub(crate) fn check_alarms(&mut self, now: Timestamp) -> Result<(), CrawlError> {
        let run = &self.run;
        let state = CrawlState {
            ready: run.vitals.stored.ready,
            resting: run.vitals.stored.resting,
            is_halted: run.is_paused || run.vitals.held_up.is_some(),
            pages: run.pages,
            pages_left: Some(run.whole_budget())
                .filter(|pages| *pages < u64::MAX)
                .map(|pages| pages.saturating_sub(run.pages)),
        };
        if let Some(watch) = &mut self.alarms {
            watch.check(now, state);
        }
        self.record_alarms(now)
    }

    /// Tells the alarms of a command: pages fetched before and after it cannot be compared if it changes what is fetched.
    pub(crate) fn restart_alarms_at(&mut self, command: &Command) {
        let changes_pages = match command {
            Command::Policy(_)
            | Command::Strategy(_)
            | Command::Refocus
            | Command::Workers(_)
            | Command::Scope(_) => true,
            Command::Pause
            | Command::Resume
            | Command::Stop
            | Command::Budget(_)
            | Command::Start(_)
            | Command::Site { .. }
            | Command::Raise(_)
            | Command::Lower(_)
            | Command::Distil => false,
        };
        let now = self.clock.now();
        if let Some(watch) = self.alarms.as_mut().filter(|_| changes_pages) {
            watch.alarms.restart(now);
        }
    }

    /// Ends all alarms, at the end of a run.
    pub(crate) fn end_alarms(&mut self) -> Result<(), CrawlError> {
        let now = self.clock.now();
        if let Some(watch) = &mut self.alarms {
            watch.alarms.finish(now);
        }
        self.record_alarms(now)
    }

    fn record_alarms(&mut self, at: Timestamp) -> Result<(), CrawlError> {
        let notices = self.alarms.as_mut().map(|watch| watch.alarms.take_notices()).unwrap_or_default();
        if notices.is_empty() {
            return Ok(());
        }
        let event =
            |notice: AlarmNotice| Event { at, kind: AlarmNotice::EVENT.to_owned(), detail: notice.detail() };
        self.record_events(notices.into_iter().map(event).collect())
    }

    /// Stores that no crawl is running.
    pub(crate) fn store_no_vitals(&mut self) -> Result<(), CrawlError> {
        self.store_live(LiveCrawl { at: self.clock.now().0, ..LiveCrawl::default() })
    }

    fn store_live(&mut self, live: LiveCrawl) -> Result<(), CrawlError> {
        let json = |live: &LiveCrawl| serde_json::to_string(live).unwrap_or_default();
        let mut settings = vec![(LiveCrawl::SETTING.to_owned(), json(&live))];
        if let Some(worker) = self.store.worker() {
            settings[0].0 = LiveCrawl::setting_of(worker);
            if self.store.is_leader() {
                let all = self.with_others(worker, live.clone())?;
                settings.push((LiveCrawl::SETTING.to_owned(), json(&all)));
            }
        }
        let settings: Vec<_> = settings.iter().map(|(name, json)| (name.as_str(), json.as_str())).collect();
        self.store.set_settings(&settings)?;
        self.run.vitals.stored = live;
        Ok(())
    }

    /// The state of all workers, given that of this one.
    fn with_others(&self, worker: u32, own: LiveCrawl) -> Result<LiveCrawl, CrawlError> {
        let (mut all, reader) = (own, self.store.reader());
        for other in reader.workers()?.into_iter().filter(|other| other.is_alive && other.id != worker) {
            let text = reader.setting(&LiveCrawl::setting_of(other.id))?.unwrap_or_default();
            let live = serde_json::from_str::<LiveCrawl>(&text).ok();
            if let Some(live) = live.filter(|live| live.is_running) {
                all.add(live);
            }
        }
        Ok(all)
    }

    fn live_state(&self, now: Timestamp) -> LiveCrawl {
        let (run, queued) = (&self.run, self.store.queued_sites());
        let SiteStates { ready, resting, busy, given_up, failing } = &run.vitals.sites;
        // In a replay no site is held, so that the frontier knows of all of them.
        let ready = if run.is_polite { ready + queued.available } else { queued.available };
        let failing = failing.iter().filter(|site| self.store.best_of(**site).is_some()).count();
        let waiting = run.vitals.waiting.filter(|(.., at)| now.since(*at) < WAITING_VALID);
        LiveCrawl {
            at: now.0,
            is_running: true,
            is_paused: run.is_paused,
            strategy: self.scorer.as_ref().map_or("none", |scorer| scorer.strategy.name()).to_owned(),
            pages: run.pages,
            budget_pages: Some(run.whole_budget()).filter(|pages| *pages < u64::MAX),
            workers: run.limits.workers,
            workers_idle: waiting.map_or(0, |(workers, ..)| workers),
            sites_awaited: waiting.map_or(0, |(_, sites, _)| sites),
            ready,
            resting: (resting + queued.resting).saturating_sub(failing),
            busy: *busy,
            given_up: *given_up,
            held_up: run.vitals.held_up.clone(),
            alarms: self.alarms.iter().flat_map(AlarmWatch::active).cloned().collect(),
        }
    }
}
