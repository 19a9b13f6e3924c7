//! How fresh a maintained crawl stays: a synthetic web that changes and grows is crawled and visited again in simulated
//! time, with visits by how often pages change and with equal intervals for all, at the same number of visits.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use porthole_crawl::{Crawl, CrawlError, Limits, Politeness, Seen, UpkeepSettings, VisitTiming};
use porthole_store::{Policy, SqliteStore, Store};
use porthole_types::{CanonicalUrl, Clock, ManualClock, Outcome, PageChange, Timestamp, TopicId};
use porthole_webs::synth::{SynthError, SynthParams, SyntheticWeb};
use serde::Serialize;

use crate::statistics::{Difference, bootstrap};

/// Parameters of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct UpkeepSetup {
    /// Pages of each web.
    pub pages: u32,
    /// Days that are simulated.
    pub days: u32,
    /// Mean interval between two visits of a page, in days.
    pub every: f64,
    /// Webs, each with another seed.
    pub webs: u32,
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum UpkeepError {
    /// The web cannot be made.
    #[error(transparent)]
    Web(#[from] SynthError),
    /// The crawl failed.
    #[error(transparent)]
    Crawl(#[from] CrawlError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] porthole_store::Error),
    /// There is no folder for the database.
    #[error("no temporary folder: {0}")]
    Folder(#[from] std::io::Error),
}

/// The result of one crawl.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct UpkeepRun {
    /// Visits of known pages.
    pub visits: u64,
    /// Those of them that found a change.
    pub changed: u64,
    /// Pages that were fetched for the first time.
    pub pages: u64,
    /// Mean share of the stored copies that were as the page was at that time, from the first quarter of the time on.
    pub freshness: f64,
    /// Share of the pages that appeared in that time and were found.
    pub found: f64,
}

/// The results of all webs.
#[derive(Clone, Debug, Serialize)]
pub struct UpkeepFigures {
    /// Visits by how often pages change.
    pub adaptive: Vec<UpkeepRun>,
    /// Visits at equal intervals.
    pub uniform: Vec<UpkeepRun>,
    /// Mean freshness of the first minus that of the second, over webs.
    pub difference: Difference,
    /// The same for the share of the new pages that were found.
    pub found: Difference,
}

/// Measures both orders on the same webs. `step` is called after each crawl.
///
/// # Errors
/// If a web cannot be made or crawled.
pub fn measure(setup: &UpkeepSetup, mut step: impl FnMut()) -> Result<UpkeepFigures, UpkeepError> {
    let every = Duration::from_secs_f64(setup.every.max(0.01) * 86_400.0);
    let limits = UpkeepSettings { every, timing: VisitTiming::Schedule, ..UpkeepSettings::default() };
    let adaptive =
        UpkeepSettings { shortest: limits.shortest.min(every), longest: limits.longest.max(every), ..limits };
    let uniform = |every| UpkeepSettings { every, shortest: every, longest: every, ..limits };
    let (mut ours, mut equal) = (Vec::new(), Vec::new());
    for seed in 1..=u64::from(setup.webs) {
        let adaptive = run(setup, seed, adaptive)?;
        step();
        // Pages appear and fail, so the real intervals differ from the setting: uniform intervals are scaled so that they
        // cost as many visits.
        let first = run(setup, seed, uniform(every))?;
        step();
        let scale = first.visits as f64 / adaptive.visits.max(1) as f64;
        equal.push(run(setup, seed, uniform(every.mul_f64(scale.clamp(0.2, 5.0))))?);
        ours.push(adaptive);
        step();
    }
    let (adaptive, uniform) = (ours, equal);
    let paired = |value: fn(&UpkeepRun) -> f64| {
        let differences = adaptive.iter().zip(&uniform).map(|(one, other)| vec![value(one) - value(other)]);
        bootstrap(&differences.collect::<Vec<_>>(), 1)
    };
    let (difference, found) = (paired(|run| run.freshness), paired(|run| run.found));
    Ok(UpkeepFigures { adaptive, uniform, difference, found })
}

/// Crawls a web and maintains it until the time is over.
fn run(setup: &UpkeepSetup, seed: u64, settings: UpkeepSettings) -> Result<UpkeepRun, UpkeepError> {
    let params = SynthParams {
        seed,
        pages: setup.pages,
        growing: 0.2,
        growth_days: setup.days,
        changing: 0.6,
        traps: 0.0,
        slow_hosts: 0.0,
        flaky_hosts: 0.0,
        stalling_hosts: 0.0,
        refusing_hosts: 0.0,
        page_bytes: 3_000,
        ..SynthParams::default()
    };
    let began = Timestamp(params.epoch_ms);
    let clock = Arc::new(ManualClock::at(began));
    let web = SyntheticWeb::new(params, clock.clone())?;
    let end = began.after(Duration::from_secs(u64::from(setup.days) * 86_400));
    let folder = tempfile::tempdir()?;
    let mut store = SqliteStore::open(folder.path().join("crawl.db"))?;
    store.set_policy(&Policy::parse("upkeep").map_err(porthole_store::Error::from)?)?;
    let mut visits = Visits::default();
    let mut crawl = Crawl::new(&web, &mut store, &*clock)?.maintaining(settings);
    crawl = crawl.polite(Politeness::default(), "porthole");
    crawl.start(&web.examples(TopicId::ROOT, 20, seed))?;
    let mut observe = |seen: Seen<'_>| {
        visits.add(&seen);
        if clock.now() < end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    crawl.run_simulated(Limits { workers: 32, ..Limits::default() }, &clock, &mut observe)?;
    drop(crawl);
    Ok(visits.figures(&web, began, end))
}

/// The visits that found a page, by URL.
#[derive(Default)]
struct Visits {
    found: HashMap<CanonicalUrl, Vec<Timestamp>>,
    visits: u64,
    changed: u64,
}

impl Visits {
    fn add(&mut self, seen: &Seen<'_>) {
        if !matches!(seen.result.outcome, Outcome::Fetched | Outcome::NotModified) {
            return;
        }
        let change = seen.result.next_visit.map(|next| next.change);
        self.visits += u64::from(change.is_some_and(|change| change != PageChange::New));
        self.changed += u64::from(change == Some(PageChange::Changed));
        self.found.entry(seen.url.clone()).or_default().push(seen.result.at);
    }

    fn figures(&self, web: &SyntheticWeb, began: Timestamp, end: Timestamp) -> UpkeepRun {
        const SAMPLES: u32 = 200;
        let time = end.since(began);
        let mut shares = Vec::new();
        for sample in SAMPLES / 4..=SAMPLES {
            let at = began.after(time * sample / SAMPLES);
            let (mut known, mut fresh) = (0u64, 0u64);
            for (url, visits) in &self.found {
                let before = visits.partition_point(|visit| *visit <= at);
                let Some(last) = before.checked_sub(1).map(|last| visits[last]) else { continue };
                known += 1;
                fresh += u64::from(web.version(url, last) == web.version(url, at));
            }
            shares.push(fresh as f64 / known.max(1) as f64);
        }
        let appeared =
            web.pages().filter(|(_, truth)| truth.appears.is_some_and(|at| at > began && at <= end));
        let (mut new, mut found) = (0u64, 0u64);
        for (url, _) in appeared {
            new += 1;
            found += u64::from(self.found.contains_key(&url));
        }
        UpkeepRun {
            visits: self.visits,
            changed: self.changed,
            pages: self.found.len() as u64,
            freshness: porthole_report::summary::mean(shares),
            found: found as f64 / new.max(1) as f64,
        }
    }
}
