//! Alarms of a crawl: everything fails, the mean relevance falls and does not recover, fewer relevant pages come in the
//! same time, the disk is nearly full (W 2.1, 4.2).
//!
//! [`Alarms`] is told of every committed fetch, and of the time that has passed; it says when an alarm begins and when it
//! is over. It does no I/O and reads no clock. Rules, with the defaults of [`AlarmSettings`]:
//! - *everything fails*: 80% of the last 50 first tries failed; over at 50%. A missing page (404, 410) counts neither way.
//! - *relevance falls*: see [`fall`]; windows of 100, 200 and 400 pages. Also if the mean of 400 pages is below 15% of the
//!   best one of the run: the topic is used up.
//! - *acquisition falls*: the same for relevant pages a minute, in windows of 1 to 64 minutes. Time in which the crawl is
//!   paused or held up does not count. Not while another alarm names the cause.
//! - *disk nearly full*: less than 3% is free, or less than the next hour needs, or less than the rest of the budget does.

mod fall;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use porthole_types::{
    ActiveAlarm, AlarmKind, AlarmNotice, FailureKind, Judgment, Outcome, PageResult, Timestamp,
};

use self::fall::{Fall, FallDetector, MOST_PAST, ValueKind};
use crate::clock::duration_in_words;

/// When alarms begin.
#[derive(Clone, Debug, PartialEq)]
pub struct AlarmSettings {
    /// Whether relevance and acquisition are watched: not where pages are visited again, or links followed blindly.
    pub watches_relevance: bool,
    /// Number of pages in the shortest window of relevance.
    pub pages: usize,
    /// The shortest window of acquisition.
    pub window: Duration,
    /// Share by which relevance or acquisition must fall.
    pub fall: f64,
    /// Number of fetches whose failures are counted.
    pub fetches: usize,
    /// Share of them that must fail.
    pub failing: f64,
    /// Share of the disk that must be free.
    pub disk_free: f64,
    /// The disk must have room for as much as comes in this time.
    pub disk_time: Duration,
}

impl Default for AlarmSettings {
    fn default() -> Self {
        AlarmSettings {
            watches_relevance: true,
            pages: 100,
            window: Duration::from_secs(60),
            fall: 0.6,
            fetches: 50,
            failing: 0.8,
            disk_free: 0.03,
            disk_time: Duration::from_secs(3600),
        }
    }
}

/// Free space on the disk of a workspace, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// Free for this user.
    pub free: u64,
    /// Size of the disk.
    pub total: u64,
    /// Size of the workspace.
    pub used: u64,
}

/// What is known of the crawl's state when alarms are checked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CrawlState {
    /// Sites that may be requested, and sites that rest.
    pub(crate) ready: usize,
    pub(crate) resting: usize,
    /// Whether it is paused or held up, so that no page can come.
    pub(crate) is_halted: bool,
    /// Pages of this run, and how many more may come.
    pub(crate) pages: u64,
    pub(crate) pages_left: Option<u64>,
}

/// See the module documentation.
pub(crate) struct Alarms {
    settings: AlarmSettings,
    failures: VecDeque<Option<FailureKind>>,
    relevance: FallDetector,
    acquisition: FallDetector,
    /// Pages, relevant or not, by unit of time.
    speed: FallDetector,
    bucket: Bucket,
    /// The first measurement of the disk, with the pages at that time.
    first_disk: Option<(DiskSpace, u64, Timestamp)>,
    active: BTreeMap<AlarmKind, ActiveAlarm>,
    notices: Vec<AlarmNotice>,
}

/// Relevant pages of the current unit of time.
#[derive(Debug, Default)]
struct Bucket {
    relevant: u32,
    pages: u32,
    passed: Duration,
    checked: Option<Timestamp>,
}

/// Units of time in the shortest window of acquisition.
const BUCKETS: u32 = 10;

/// Number of times by which the longest window exceeds the shortest.
const LONGEST_OF_PAGES: usize = 4;
const LONGEST_OF_TIME: usize = 64;

impl Alarms {
    pub(crate) fn new(settings: AlarmSettings) -> Self {
        let relevance = FallDetector::new(ValueKind::Shares, settings.pages, LONGEST_OF_PAGES, settings.fall);
        let acquisition =
            FallDetector::new(ValueKind::Counts, BUCKETS as usize, LONGEST_OF_TIME, settings.fall);
        let speed = FallDetector::new(ValueKind::Counts, BUCKETS as usize, LONGEST_OF_TIME, 1.0);
        Alarms {
            settings,
            failures: VecDeque::new(),
            relevance,
            acquisition,
            speed,
            bucket: Bucket::default(),
            first_disk: None,
            active: BTreeMap::new(),
            notices: Vec::new(),
        }
    }

    /// The alarms that have begun and not ended.
    pub(crate) fn active(&self) -> impl Iterator<Item = &ActiveAlarm> {
        self.active.values()
    }

    /// Takes the alarms that have begun or ended since the last call.
    pub(crate) fn take_notices(&mut self) -> Vec<AlarmNotice> {
        std::mem::take(&mut self.notices)
    }

    /// Records a committed fetch. `tries` is the number of tries before it.
    pub(crate) fn fetched(&mut self, result: &PageResult, tries: u32) {
        self.count_failure(result, tries);
        let (Outcome::Fetched, Some(judgment)) = (&result.outcome, result.judgment) else { return };
        if !self.settings.watches_relevance {
            return;
        }
        // A copy is nothing new.
        let relevance = if result.copy_of.is_some() { 0.0 } else { judgment.relevance };
        self.bucket.pages += 1;
        self.bucket.relevant += u32::from(Judgment { relevance, ..judgment }.is_relevant());
        if let Some(fall) = self.relevance.add(relevance, result.at) {
            self.begin(AlarmKind::Relevance, result.at, relevance_text(&fall));
        }
        if let Some((from, now)) = self.relevance.recovered() {
            self.end(
                AlarmKind::Relevance,
                result.at,
                &format!("mean relevance is {now:.2} again, of {from:.2}"),
            );
        }
    }

    /// Tells that time has passed. To be called every few seconds, also when nothing was fetched.
    pub(crate) fn passed(&mut self, now: Timestamp, state: CrawlState) {
        let before = self.bucket.checked.replace(now);
        if state.is_halted || !self.settings.watches_relevance {
            return;
        }
        self.bucket.passed += before.map_or(Duration::ZERO, |before| now.since(before));
        let unit = self.settings.window / BUCKETS;
        while self.bucket.passed >= unit && !unit.is_zero() {
            self.bucket.passed -= unit;
            let relevant = std::mem::take(&mut self.bucket.relevant);
            let pages = std::mem::take(&mut self.bucket.pages);
            let fall = self.acquisition.add(f64::from(relevant), now);
            self.speed.add(f64::from(pages), now);
            let rate = |mean: f64| mean * 60.0 / unit.as_secs_f64();
            let is_explained = |kind| self.active.contains_key(&kind);
            match fall {
                Some(_) if is_explained(AlarmKind::Relevance) || is_explained(AlarmKind::Failures) => {
                    self.acquisition.restart();
                }
                Some(fall) => {
                    let is_slower = self.is_slower(&fall);
                    let text = acquisition_text(rate(fall.from), rate(fall.to), fall.since, is_slower, state);
                    self.begin(AlarmKind::Acquisition, now, text);
                }
                None => {}
            }
            if let Some((from, to)) = self.acquisition.recovered() {
                let (from, to) = (rate(from), rate(to));
                let text = format!("{to:.1} relevant pages a minute come again, of {from:.1}");
                self.end(AlarmKind::Acquisition, now, &text);
            }
        }
    }

    /// Whether fewer pages come at all, rather than fewer relevant ones among as many.
    fn is_slower(&self, fall: &Fall) -> bool {
        let past = self.speed.mean(fall.values, MOST_PAST * fall.values);
        self.speed.mean(0, fall.values) < past * (1.0 - self.settings.fall / 2.0)
    }

    /// Records a measurement of the disk.
    pub(crate) fn measured_disk(&mut self, space: DiskSpace, now: Timestamp, state: CrawlState) {
        let (first, pages, at) = *self.first_disk.get_or_insert((space, state.pages, now));
        let grown = space.used.saturating_sub(first.used) as f64;
        let (seconds, pages) = (now.since(at).as_secs_f64(), state.pages.saturating_sub(pages));
        let mut needs = self.settings.disk_free * space.total as f64;
        let mut why = format!("less than {:.0}% of the disk", 100.0 * self.settings.disk_free);
        // The first pages say little of those to come.
        if seconds >= 60.0 && pages >= 100 {
            let of_time = grown / seconds * self.settings.disk_time.as_secs_f64();
            if of_time > needs {
                let minutes = space.free as f64 / (grown / seconds) / 60.0;
                (needs, why) = (of_time, format!("at the present rate it is full in {minutes:.0} minutes"));
            }
            let of_budget = state.pages_left.map_or(0.0, |left| grown / pages as f64 * left as f64);
            if of_budget > needs {
                why = format!("the rest of the page limit needs about {}", size(of_budget));
                needs = of_budget;
            }
        }
        /// Free space beyond the need at which the alarm is over.
        const ENOUGH: f64 = 1.25;
        let free = space.free as f64;
        if free < needs {
            let text = format!(
                "{} are free of {}: {why}; free some space, or limit the crawl with `--disk`",
                size(free),
                size(space.total as f64)
            );
            self.begin(AlarmKind::Disk, now, text);
        } else if free >= ENOUGH * needs {
            self.end(AlarmKind::Disk, now, &format!("{} are free", size(free)));
        }
    }

    /// Forgets the past, because a command has changed what is fetched. Alarms about it are over.
    pub(crate) fn restart(&mut self, now: Timestamp) {
        for kind in [AlarmKind::Relevance, AlarmKind::Acquisition] {
            self.end(kind, now, "a command has changed the crawl");
        }
        self.relevance.restart();
        self.acquisition.restart();
        self.speed.restart();
        self.bucket = Bucket::default();
    }

    /// Ends all alarms, at the end of a run.
    pub(crate) fn finish(&mut self, now: Timestamp) {
        for kind in AlarmKind::ALL {
            self.end(kind, now, "the crawl has ended");
        }
    }

    fn count_failure(&mut self, result: &PageResult, tries: u32) {
        let failed = match &result.outcome {
            Outcome::Fetched | Outcome::NotModified | Outcome::Redirected => None,
            // What failed before fails again: at the end of a crawl nothing else is left.
            Outcome::Retry { failure, .. } | Outcome::Dead(failure)
                if tries == 0 && says_something(failure.kind, result.status) =>
            {
                Some(failure.kind)
            }
            _ => return,
        };
        self.failures.push_back(failed);
        if self.failures.len() > self.settings.fetches {
            self.failures.pop_front();
        }
        if self.failures.len() < self.settings.fetches {
            return;
        }
        let failures: Vec<FailureKind> = self.failures.iter().flatten().copied().collect();
        let share = failures.len() as f64 / self.failures.len() as f64;
        if share >= self.settings.failing {
            let text = failures_text(&failures, self.failures.len());
            self.begin(AlarmKind::Failures, result.at, text);
        } else if share <= self.settings.failing / 1.6 {
            let text = format!("{} of the last {} fetches failed", failures.len(), self.failures.len());
            self.end(AlarmKind::Failures, result.at, &text);
        }
    }

    fn begin(&mut self, kind: AlarmKind, now: Timestamp, text: String) {
        if self.active.contains_key(&kind) {
            return;
        }
        self.active.insert(kind, ActiveAlarm { kind, since: now.0, detail: text.clone() });
        self.notices.push(AlarmNotice { kind, begins: true, text });
    }

    fn end(&mut self, kind: AlarmKind, now: Timestamp, text: &str) {
        let Some(alarm) = self.active.remove(&kind) else { return };
        let lasted = duration_in_words(now.since(Timestamp(alarm.since)));
        let text = format!("{text} (after {lasted})");
        self.notices.push(AlarmNotice { kind, begins: false, text });
    }
}

/// Whether a failure says that the crawl has a problem, rather than that a page is missing or of no use.
fn says_something(kind: FailureKind, status: u16) -> bool {
    match kind {
        FailureKind::Status => !matches!(status, 404 | 410),
        FailureKind::Dns
        | FailureKind::Connect
        | FailureKind::Tls
        | FailureKind::Timeout
        | FailureKind::Protocol
        | FailureKind::Crash => true,
        _ => false,
    }
}

fn failures_text(failures: &[FailureKind], fetches: usize) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    failures.iter().for_each(|kind| *kinds.entry(kind.name()).or_default() += 1);
    let mut kinds: Vec<(&str, usize)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let kinds: Vec<String> = kinds.iter().map(|(name, count)| format!("{name} {count}")).collect();
    format!(
        "{} of the last {fetches} fetches failed ({}); see `porthole query failures`, check network and proxy, \
         and `porthole pause` until it works",
        failures.len(),
        kinds.join(", ")
    )
}

/// What it means that relevant pages become rare.
const USED_UP: &str = "most of the topic that links lead to seems to be found";

/// What can be done then.
const NEXT: &str = "go on with other start pages (`porthole set start URL`) or a wider topic (`porthole topics broaden`), \
                    or end the crawl with `porthole stop`";

fn relevance_text(fall: &Fall) -> String {
    let Fall { from, to, values, since, is_used_up } = fall;
    if *is_used_up {
        return format!(
            "mean relevance has declined from {from:.2} at best to {to:.2} in the last {values} pages: {USED_UP}; {NEXT}"
        );
    }
    format!(
        "mean relevance fell from {from:.2} to {to:.2} in the last {values} pages, since {}, and has not recovered: the \
         topic is used up here, or the crawl has left it; {NEXT}",
        moment(*since)
    )
}

fn acquisition_text(from: f64, to: f64, since: Timestamp, is_slower: bool, state: CrawlState) -> String {
    let CrawlState { ready, resting, .. } = state;
    let why = match (ready, resting) {
        _ if !is_slower => {
            format!("as many pages come as before, but fewer are relevant: {USED_UP}; {NEXT}")
        }
        (0, 0) => "no site is left to fetch from; add start pages with `porthole set start URL`".to_owned(),
        (0, _) => format!(
            "no site may be requested now, {resting} rest; the crawl goes on when they may, or add start pages on other \
             sites with `porthole set start URL`"
        ),
        _ => format!(
            "{ready} sites are ready and {resting} rest; look for slow or failing sites in `porthole status`"
        ),
    };
    format!("relevant pages a minute fell from {from:.1} to {to:.1} since {}; {why}", moment(since))
}

/// A time of the day, UTC.
fn moment(at: Timestamp) -> String {
    let time = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    time.strftime("%H:%M:%S UTC").to_string()
}

fn size(bytes: f64) -> String {
    match bytes {
        bytes if bytes >= 1e9 => format!("{:.1} GB", bytes / 1e9),
        bytes => format!("{:.0} MB", bytes / 1e6),
    }
}
