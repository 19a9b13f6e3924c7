//! State of a running crawl, for other processes: the setting [`LiveCrawl::SETTING`] and the events of the kinds
//! [`AlarmNotice::EVENT`] and [`FrontierSample::EVENT`].

use serde::{Deserialize, Serialize};

use crate::Event;

/// The state of a running crawl at a moment. Stored as JSON in a setting, about once a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveCrawl {
    /// When this was true, in milliseconds since 1970.
    pub at: i64,
    /// Whether a crawl is running. A crawl that was killed cannot clear it: check also that a store is open.
    pub is_running: bool,
    /// Whether it was paused.
    pub is_paused: bool,
    /// Name of the strategy.
    pub strategy: String,
    /// Pages fetched in this run.
    pub pages: u64,
    /// Page limit of this run.
    pub budget_pages: Option<u64>,
    /// Maximum number of requests in flight.
    pub workers: usize,
    /// Workers that are idle by choice, because they wait for `sites_awaited` resting sites with good links.
    pub workers_idle: usize,
    /// Resting sites with good links that idle workers wait for.
    pub sites_awaited: usize,
    /// Sites with queued URLs that may be requested now.
    pub ready: usize,
    /// Sites with queued URLs that must not be requested yet, by politeness.
    pub resting: usize,
    /// Sites with a request or an address lookup in flight.
    pub busy: usize,
    /// Sites that failed so often that they rest for long or are no longer requested.
    pub given_up: usize,
    /// Why the crawl is held up: an outage, or a judge that does not answer.
    pub held_up: Option<String>,
    /// The alarms that have begun and not ended.
    pub alarms: Vec<ActiveAlarm>,
}

impl LiveCrawl {
    /// Name of the setting.
    pub const SETTING: &'static str = "crawl.live";

    /// Name of the setting of one worker, if several can share a crawl.
    pub fn setting_of(worker: u32) -> String {
        format!("{}.{worker}", LiveCrawl::SETTING)
    }

    /// Adds the state of another worker of the same crawl.
    pub fn add(&mut self, other: LiveCrawl) {
        self.at = self.at.max(other.at);
        if !self.is_running {
            *self = LiveCrawl { at: self.at, ..other };
            return;
        }
        self.is_paused |= other.is_paused;
        self.pages += other.pages;
        self.budget_pages = self.budget_pages.zip(other.budget_pages).map(|(one, two)| one + two);
        self.workers += other.workers;
        self.workers_idle += other.workers_idle;
        self.sites_awaited += other.sites_awaited;
        self.ready += other.ready;
        self.resting += other.resting;
        self.busy += other.busy;
        self.given_up += other.given_up;
        self.held_up = self.held_up.take().or(other.held_up);
        self.alarms.extend(other.alarms);
    }
}

/// Size of the frontier at a time, as the detail of a row of the table `event`, for charts of its growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontierSample {
    /// URLs that are queued.
    pub queued: u64,
    /// URLs that are known.
    pub known: u64,
}

impl FrontierSample {
    /// Kind of the events.
    pub const EVENT: &'static str = "frontier";

    /// The detail of the event, which [`FrontierSample::parse`] understands.
    pub fn detail(&self) -> String {
        format!("{} queued, {} known", self.queued, self.known)
    }

    /// Reads the detail of an event.
    pub fn parse(detail: &str) -> Option<FrontierSample> {
        let (queued, known) = detail.split_once(" queued, ")?;
        let known = known.strip_suffix(" known")?;
        Some(FrontierSample { queued: queued.parse().ok()?, known: known.parse().ok()? })
    }
}

/// An alarm that has begun and not ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActiveAlarm {
    /// Its kind.
    pub kind: AlarmKind,
    /// When it began, in milliseconds since 1970.
    pub since: i64,
    /// What has happened, and what to do next.
    pub detail: String,
}

/// What an alarm is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AlarmKind {
    /// Most fetches fail.
    Failures,
    /// The mean relevance has fallen and does not recover.
    Relevance,
    /// Fewer relevant pages are fetched in the same time.
    Acquisition,
    /// The disk is nearly full.
    Disk,
}

impl AlarmKind {
    /// All kinds.
    pub const ALL: [AlarmKind; 4] =
        [AlarmKind::Failures, AlarmKind::Relevance, AlarmKind::Acquisition, AlarmKind::Disk];

    /// Name in metrics and the API.
    pub fn name(self) -> &'static str {
        match self {
            AlarmKind::Failures => "failures",
            AlarmKind::Relevance => "relevance",
            AlarmKind::Acquisition => "acquisition",
            AlarmKind::Disk => "disk",
        }
    }

    /// What is wrong, in a few words. Messages begin with it.
    pub fn title(self) -> &'static str {
        match self {
            AlarmKind::Failures => "everything fails",
            AlarmKind::Relevance => "relevance falls",
            AlarmKind::Acquisition => "acquisition falls",
            AlarmKind::Disk => "disk nearly full",
        }
    }
}

/// The start or the end of an alarm, as the detail of a row of the table `event`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlarmNotice {
    /// What the alarm is about.
    pub kind: AlarmKind,
    /// Whether the alarm begins; otherwise it is over.
    pub begins: bool,
    /// What has happened, and what to do next.
    pub text: String,
}

impl AlarmNotice {
    /// Kind of the events.
    pub const EVENT: &'static str = "alarm";

    /// The detail of the event: a sentence that [`AlarmNotice::parse`] understands.
    pub fn detail(&self) -> String {
        let over = if self.begins { "" } else { OVER };
        format!("{}: {over}{}", self.kind.title(), self.text)
    }

    /// Reads the detail of an event.
    pub fn parse(detail: &str) -> Option<AlarmNotice> {
        AlarmKind::ALL.into_iter().find_map(|kind| {
            let text = detail.strip_prefix(kind.title())?.strip_prefix(": ")?;
            let end = text.strip_prefix(OVER);
            Some(AlarmNotice { kind, begins: end.is_none(), text: end.unwrap_or(text).to_owned() })
        })
    }
}

/// An alarm, from its rows in the table `event`: its start, and its end if it has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AlarmRecord {
    /// Number of the event with which it began.
    pub id: u64,
    /// When it began, in milliseconds since 1970.
    pub at: i64,
    /// What it is about.
    pub kind: AlarmKind,
    /// What has happened, and what to do next.
    pub detail: String,
    /// When it was over, in milliseconds since 1970; `None` also if the crawl was killed.
    pub ended: Option<i64>,
    /// Whether it is still active.
    pub is_active: bool,
}

impl AlarmRecord {
    /// Kinds of the events from which the list is made.
    pub const EVENTS: [&'static str; 2] = [AlarmNotice::EVENT, "started"];

    /// The alarms in a list of events, both newest first. No alarm outlives its run.
    pub fn list(events: &[(u64, Event)], is_running: bool) -> Vec<AlarmRecord> {
        let mut records = Vec::new();
        let mut ends: Vec<(AlarmKind, i64)> = Vec::new();
        let mut is_this_run = is_running;
        for (id, event) in events {
            let Some(notice) = AlarmNotice::parse(&event.detail).filter(|_| event.kind == AlarmNotice::EVENT)
            else {
                is_this_run &= event.kind != "started";
                ends.clear();
                continue;
            };
            let end = ends.iter().position(|(kind, _)| *kind == notice.kind);
            match notice.begins {
                false => ends.push((notice.kind, event.at.0)),
                true => {
                    let ended = end.map(|at| ends.swap_remove(at).1);
                    let is_active = is_this_run && ended.is_none();
                    let (at, kind, detail) = (event.at.0, notice.kind, event.detail.clone());
                    records.push(AlarmRecord { id: *id, at, kind, detail, ended, is_active });
                }
            }
        }
        records
    }
}

/// Prefix of the text of an alarm that has ended.
const OVER: &str = "over; ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_survive_a_round_trip_through_an_event() {
        for kind in AlarmKind::ALL {
            for begins in [true, false] {
                let notice = AlarmNotice { kind, begins, text: "from 0.6 to 0.1: look".to_owned() };
                assert_eq!(AlarmNotice::parse(&notice.detail()), Some(notice));
            }
        }
        assert_eq!(AlarmNotice::parse("something else"), None);
    }

    #[test]
    fn samples_of_the_frontier_survive_a_round_trip_through_an_event() {
        let sample = FrontierSample { queued: 12, known: 3_456 };
        assert_eq!(FrontierSample::parse(&sample.detail()), Some(sample));
        for detail in ["", "12 queued", "x queued, 3 known", "1 queued, 2 known, 3"] {
            assert_eq!(FrontierSample::parse(detail), None, "{detail}");
        }
    }

    #[test]
    fn the_list_pairs_beginnings_and_ends_within_a_run() {
        let event = |id: u64, kind: &str, detail: &str| {
            let at = crate::Timestamp(id.cast_signed() * 10);
            (id, Event { at, kind: kind.to_owned(), detail: detail.to_owned() })
        };
        let mut events = vec![
            event(1, "started", "strategy soft"),
            event(2, "alarm", "disk nearly full: 1 GB"),
            // Killed.
            event(3, "started", "strategy soft"),
            event(4, "alarm", "relevance falls: from 0.6 to 0.1"),
            event(5, "alarm", "everything fails: 40 of 50"),
            event(6, "alarm", "relevance falls: over; 0.6"),
        ];
        events.reverse();
        let list = |is_running| {
            let records = AlarmRecord::list(&events, is_running);
            records.iter().map(|record| (record.id, record.ended, record.is_active)).collect::<Vec<_>>()
        };
        assert_eq!(list(true), [(5, None, true), (4, Some(60), false), (2, None, false)]);
        assert_eq!(list(false)[0], (5, None, false));
    }
}
