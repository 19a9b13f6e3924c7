//! A crawl as it went: the result of every fetch in columns, and the events that matter for its state. Read once and
//! extended by the new rows, so that a poll costs what is new and a chart of any resolution needs no scan of the tables.

use std::collections::HashSet;
use std::time::{SystemTime, UNIX_EPOCH};

use porthole_store::{FetchOutcome, FetchPoint, Result, StoreReader};
use porthole_types::{AlarmNotice, FrontierSample, Judgment, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Rows that are read in one transaction.
const CHUNK: usize = 20_000;

/// Alarms that are remembered.
const MOST_ALARMS: usize = 20;

/// The current time.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Results of fetches, in columns.
#[derive(Debug, Default)]
pub(crate) struct CrawlTrace {
    /// Sequence numbers of the fetches, ascending.
    seq: Vec<u64>,
    /// When they were made, in milliseconds since 1970.
    at: Vec<i64>,
    /// R; NaN if the page was not judged.
    relevance: Vec<f32>,
    /// Best topic; `NO_TOPIC` if the page was not judged.
    topic: Vec<u16>,
    /// Codes of outcomes.
    outcome: Vec<u8>,
    /// Rows of the URLs.
    row: Vec<u32>,
    /// What the URL's page counts, 0 for a duplicate; NaN if it has none, or a later fetch counts.
    credit: Vec<f64>,
    /// Number of the last event that was read.
    last_event: u64,
    /// How often the columns were read again from the beginning, because pages were judged again.
    pub(crate) generation: u64,
    /// When the last run began, and its settings in words.
    pub(crate) started: Option<(i64, String)>,
    /// Beginnings and ends of alarms, oldest first.
    pub(crate) alarms: Vec<AlarmRow>,
    /// Sizes of the frontier: when, and URLs that were queued then.
    frontier: Vec<(i64, u64)>,
}

const NO_TOPIC: u16 = u16::MAX;

/// An alarm of the crawl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct AlarmRow {
    /// Number of the event.
    pub(crate) id: u64,
    /// When it began.
    pub(crate) at: i64,
    /// What it is about: `everything fails`, `relevance falls`, `acquisition falls`, `disk nearly full`.
    pub(crate) kind: String,
    /// What has happened, and what to do next.
    pub(crate) detail: String,
    /// Whether it has not ended.
    pub(crate) is_active: bool,
}

/// Results of fetches for the scatter, in columns of equal length.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub(crate) struct Dots {
    /// Sequence numbers of the fetches.
    pub(crate) seq: Vec<u64>,
    /// When they were made, in milliseconds since 1970.
    pub(crate) at: Vec<i64>,
    /// R of the page; null if there is no judged page.
    pub(crate) relevance: Vec<Option<f64>>,
    /// Id of the best topic of the page.
    pub(crate) topic: Vec<Option<u16>>,
    /// 1 page, 2 redirect, 3 dead, 4 skipped, 7 copy of another page, 8 failed and tried again later.
    pub(crate) outcome: Vec<u8>,
    /// The last sequence number: `after` of the next request.
    pub(crate) last: u64,
    /// Whether there are more now.
    pub(crate) more: bool,
}

/// Figures of a crawl in buckets of equal length, in columns.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub(crate) struct CrawlSeries {
    /// Length of a bucket in milliseconds; longer than asked for if there would be too many.
    pub(crate) bucket: i64,
    /// Start of the bucket, in milliseconds since 1970.
    pub(crate) at: Vec<i64>,
    /// Pages, with duplicates.
    pub(crate) pages: Vec<u64>,
    /// Relevant pages: with an R of at least 0.5, without duplicates.
    pub(crate) relevant: Vec<u64>,
    /// Mean R; duplicates count as 0; null without pages.
    pub(crate) mean_relevance: Vec<Option<f64>>,
    /// Failures, permanent or not.
    pub(crate) failures: Vec<u64>,
    /// URLs that were queued at the end of the bucket; null before the first minute of the crawl is over.
    pub(crate) frontier: Vec<Option<u64>>,
}

/// Figures of a whole crawl.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TraceTotals {
    /// Mean R of all pages; duplicates count as 0.
    pub(crate) harvest: Option<f64>,
    /// The same of the last hundred pages.
    pub(crate) harvest_recent: Option<f64>,
    /// Relevant pages, by their present R.
    pub(crate) relevant: u64,
    pub(crate) first_at: Option<i64>,
    pub(crate) last_at: Option<i64>,
}

impl CrawlTrace {
    /// Reads what is new.
    pub(crate) fn update(&mut self, reader: &dyn StoreReader) -> Result<()> {
        self.read_events(reader)?;
        loop {
            let points = reader.fetch_points(self.seq.last().copied(), CHUNK)?;
            let again = points.iter().filter(|point| point.is_revisit).map(row_of).collect();
            self.discount(&again);
            for point in &points {
                self.seq.push(point.seq);
                self.at.push(point.at.0);
                self.relevance.push(point.judgment.map_or(f32::NAN, |judgment| judgment.relevance as f32));
                self.topic.push(point.judgment.map_or(NO_TOPIC, |judgment| judgment.best.0));
                self.outcome.push(code(point.outcome));
                self.row.push(row_of(point));
                self.credit.push(point.credit.unwrap_or(f64::NAN));
            }
            if points.len() < CHUNK {
                return Ok(());
            }
        }
    }

    /// Earlier fetches of URLs that were visited again do not count any more.
    fn discount(&mut self, rows: &HashSet<u32>) {
        if rows.is_empty() {
            return;
        }
        for (row, credit) in self.row.iter().zip(&mut self.credit) {
            if rows.contains(row) {
                *credit = f64::NAN;
            }
        }
    }

    fn read_events(&mut self, reader: &dyn StoreReader) -> Result<()> {
        let mut is_stale = false;
        loop {
            let events = reader.events(self.last_event, CHUNK)?;
            for (id, event) in &events {
                self.last_event = *id;
                match event.kind.as_str() {
                    "rejudged" => is_stale = true,
                    "started" => {
                        // A crawl may judge its pages again before it starts.
                        is_stale = true;
                        self.started = Some((event.at.0, event.detail.clone()));
                        self.alarms.iter_mut().for_each(|alarm| alarm.is_active = false);
                    }
                    "stopped" => self.alarms.iter_mut().for_each(|alarm| alarm.is_active = false),
                    "alarm" => self.note_alarm(*id, event.at.0, &event.detail),
                    FrontierSample::EVENT => {
                        let sample = FrontierSample::parse(&event.detail);
                        self.frontier.extend(sample.map(|sample| (event.at.0, sample.queued)));
                    }
                    _ => {}
                }
            }
            if events.len() < CHUNK {
                break;
            }
        }
        if is_stale && !self.seq.is_empty() {
            (self.seq, self.at, self.relevance) = Default::default();
            (self.topic, self.outcome, self.row, self.credit) = Default::default();
            self.generation += 1;
        }
        Ok(())
    }

    /// Notes the beginning or the end of an alarm.
    fn note_alarm(&mut self, id: u64, at: i64, detail: &str) {
        let Some(AlarmNotice { kind, begins, text }) = AlarmNotice::parse(detail) else { return };
        let same = self.alarms.iter_mut().filter(|alarm| alarm.kind == kind.title());
        same.for_each(|alarm| alarm.is_active = false);
        if !begins {
            return;
        }
        let kind = kind.title().to_owned();
        self.alarms.push(AlarmRow { id, at, kind, detail: text, is_active: true });
        let surplus = self.alarms.len().saturating_sub(MOST_ALARMS);
        self.alarms.drain(..surplus);
    }

    /// The last sequence number; 0 if there is none.
    pub(crate) fn last(&self) -> u64 {
        self.seq.last().copied().unwrap_or(0)
    }

    /// Number of fetches after a sequence number.
    pub(crate) fn count_after(&self, after: Option<u64>) -> usize {
        self.seq.len() - self.place_after(after)
    }

    /// The fetches after a sequence number, at most `limit`.
    pub(crate) fn dots(&self, after: Option<u64>, limit: usize) -> Dots {
        let from = self.place_after(after);
        let to = from.saturating_add(limit).min(self.seq.len());
        let rounded = |r: &f32| (!r.is_nan()).then(|| (f64::from(*r) * 1e4).round() / 1e4);
        let known = |topic: &u16| (*topic != NO_TOPIC).then_some(*topic);
        Dots {
            seq: self.seq[from..to].to_vec(),
            at: self.at[from..to].to_vec(),
            relevance: self.relevance[from..to].iter().map(rounded).collect(),
            topic: self.topic[from..to].iter().map(known).collect(),
            outcome: self.outcome[from..to].to_vec(),
            last: self.seq[..to].last().copied().unwrap_or_else(|| after.unwrap_or(0)),
            more: to < self.seq.len(),
        }
    }

    fn place_after(&self, after: Option<u64>) -> usize {
        after.map_or(0, |after| self.seq.partition_point(|&seq| seq <= after))
    }

    /// Figures in buckets of this many milliseconds, from the first fetch to the last.
    pub(crate) fn series(&self, bucket: i64) -> CrawlSeries {
        /// More buckets than a chart has pixels.
        const MOST_BUCKETS: i64 = 5_000;
        let (Some(&first), Some(&last)) = (self.at.iter().min(), self.at.iter().max()) else {
            return CrawlSeries { bucket, ..CrawlSeries::default() };
        };
        let mut bucket = bucket.max(1);
        while (last - first) / bucket >= MOST_BUCKETS {
            bucket *= 2;
        }
        let start = first - first.rem_euclid(bucket);
        let length = usize::try_from((last - start) / bucket + 1).unwrap_or(1);
        let mut series = CrawlSeries {
            bucket,
            at: (0..).map(|number| start + number * bucket).take(length).collect(),
            pages: vec![0; length],
            relevant: vec![0; length],
            mean_relevance: vec![None; length],
            failures: vec![0; length],
            frontier: vec![None; length],
        };
        let mut sums = vec![0.0; length];
        for number in 0..self.seq.len() {
            let place = usize::try_from((self.at[number] - start) / bucket).unwrap_or(0);
            match self.outcome[number] {
                PAGE | COPY => {
                    series.pages[place] += 1;
                    let credit = self.credit_of_fetch(number);
                    sums[place] += credit;
                    series.relevant[place] += u64::from(credit >= Judgment::RELEVANT);
                }
                DEAD | RETRY => series.failures[place] += 1,
                _ => {}
            }
        }
        for ((mean, sum), &pages) in series.mean_relevance.iter_mut().zip(sums).zip(&series.pages) {
            *mean = (pages > 0).then(|| sum / pages as f64);
        }
        self.fill_frontier(&mut series);
        series
    }

    /// Sets the last known size of the frontier in every bucket: it does not change while nothing is crawled.
    fn fill_frontier(&self, series: &mut CrawlSeries) {
        let mut samples = self.frontier.iter().peekable();
        let mut last = None;
        for (size, start) in series.frontier.iter_mut().zip(&series.at) {
            while let Some((_, queued)) = samples.next_if(|(at, _)| *at < start + series.bucket) {
                last = Some(*queued);
            }
            *size = last;
        }
    }

    /// Figures of the whole crawl: every page counts once.
    pub(crate) fn totals(&self) -> TraceTotals {
        const RECENT: usize = 100;
        let pages = || self.credit.iter().copied().filter(|credit| !credit.is_nan());
        let mean = |credits: &mut dyn Iterator<Item = f64>| {
            let (sum, count) = credits.fold((0.0, 0_u64), |(sum, count), credit| (sum + credit, count + 1));
            (count > 0).then(|| sum / count as f64)
        };
        TraceTotals {
            harvest: mean(&mut pages()),
            harvest_recent: mean(&mut pages().rev().take(RECENT)),
            relevant: pages().filter(|&credit| credit >= Judgment::RELEVANT).count() as u64,
            first_at: self.at.first().copied(),
            last_at: self.at.last().copied(),
        }
    }

    /// R of the page that a fetch brought, or 0 for a duplicate.
    fn credit_of_fetch(&self, number: usize) -> f64 {
        let relevance = self.relevance[number];
        if self.outcome[number] == COPY || relevance.is_nan() { 0.0 } else { f64::from(relevance) }
    }
}

fn row_of(point: &FetchPoint) -> u32 {
    u32::try_from(point.row).unwrap_or(u32::MAX)
}

const PAGE: u8 = 1;
const REDIRECT: u8 = 2;
const DEAD: u8 = 3;
const SKIPPED: u8 = 4;
const COPY: u8 = 7;
const RETRY: u8 = 8;

/// Code of an outcome in the API: that of the state in the tables, where there is one.
pub(crate) fn code(outcome: FetchOutcome) -> u8 {
    match outcome {
        FetchOutcome::Page => PAGE,
        FetchOutcome::Redirect => REDIRECT,
        FetchOutcome::Dead => DEAD,
        FetchOutcome::Skipped => SKIPPED,
        FetchOutcome::Copy => COPY,
        FetchOutcome::Retry => RETRY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fetches a second apart: outcome, R and topic of each.
    fn trace(fetches: &[(u8, f32, u16)]) -> CrawlTrace {
        let mut trace = CrawlTrace::default();
        for (number, &(outcome, relevance, topic)) in fetches.iter().enumerate() {
            trace.seq.push(number as u64 * 2);
            trace.at.push(10_500 + number as i64 * 1_000);
            trace.relevance.push(relevance);
            trace.topic.push(topic);
            trace.outcome.push(outcome);
            trace.row.push(number as u32);
            let credit = if outcome == COPY { 0.0 } else { f64::from(relevance) };
            trace.credit.push(credit);
        }
        trace
    }

    #[test]
    fn dots_continue_after_a_sequence_number() {
        let trace = trace(&[(PAGE, 0.123_456, 3), (DEAD, f32::NAN, NO_TOPIC), (PAGE, 1.0, 4)]);
        let dots = trace.dots(None, 2);
        assert_eq!((dots.seq.as_slice(), dots.last, dots.more), (&[0, 2][..], 2, true));
        assert_eq!(dots.relevance, [Some(0.1235), None]);
        assert_eq!(dots.topic, [Some(3), None]);
        let rest = trace.dots(Some(dots.last), 10);
        assert_eq!((rest.seq.as_slice(), rest.last, rest.more), (&[4][..], 4, false));
        let none = trace.dots(Some(4), 10);
        assert_eq!((none.seq.len(), none.last, trace.count_after(Some(1))), (0, 4, 2));
    }

    #[test]
    fn buckets_sum_up_and_duplicates_count_as_nothing() {
        let trace =
            trace(&[(PAGE, 0.8, 3), (COPY, 0.8, 3), (DEAD, f32::NAN, NO_TOPIC), (RETRY, f32::NAN, NO_TOPIC)]);
        let series = trace.series(2_000);
        assert_eq!(series.at, [10_000, 12_000]);
        assert_eq!((series.pages, series.relevant, series.failures), (vec![2, 0], vec![1, 0], vec![0, 2]));
        let mean = series.mean_relevance[0].unwrap();
        assert!((mean - 0.4).abs() < 1e-6 && series.mean_relevance[1].is_none());
        let totals = trace.totals();
        assert!((totals.harvest.unwrap() - 0.4).abs() < 1e-6);
        assert_eq!((totals.relevant, totals.first_at, totals.last_at), (1, Some(10_500), Some(13_500)));
    }

    #[test]
    fn a_page_that_is_visited_again_counts_once() {
        let mut trace = trace(&[(PAGE, 0.8, 3), (PAGE, 0.8, 3)]);
        assert_eq!(trace.totals().relevant, 2);
        trace.discount(&HashSet::from([0]));
        assert_eq!((trace.totals().relevant, trace.dots(None, 9).seq.len()), (1, 2));
    }

    #[test]
    fn buckets_have_the_last_known_size_of_the_frontier() {
        let mut trace = trace(&[(PAGE, 0.8, 3); 8]);
        trace.frontier = vec![(12_100, 50), (12_900, 60), (15_000, 40)];
        let series = trace.series(1_000);
        assert_eq!(series.at[0], 10_000);
        let sixty = Some(60);
        assert_eq!(series.frontier, [None, None, sixty, sixty, sixty, Some(40), Some(40), Some(40)]);
    }

    #[test]
    fn a_long_crawl_has_longer_buckets() {
        let mut long = trace(&[(PAGE, 0.5, 3), (PAGE, 0.5, 3)]);
        long.at[1] = long.at[0] + 86_400_000;
        let series = long.series(1_000);
        assert!(series.at.len() <= 5_000 && series.pages.iter().sum::<u64>() == 2, "{}", series.bucket);
    }

    #[test]
    fn alarms_begin_and_end() {
        let mut trace = CrawlTrace::default();
        trace.note_alarm(1, 10, "relevance falls: from 0.6 to 0.1; look");
        trace.note_alarm(2, 20, "disk nearly full: 1% is free");
        trace.note_alarm(3, 30, "relevance falls: over; it is 0.6 again");
        let states: Vec<_> =
            trace.alarms.iter().map(|alarm| (alarm.kind.as_str(), alarm.is_active)).collect();
        assert_eq!(states, [("relevance falls", false), ("disk nearly full", true)]);
    }
}
