//! `porthole demo`: a breadth-first crawl of a synthetic web, with the truth about what it found.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use porthole_crawl::{Crawl, Limits, Seen, Stop};
use porthole_lab::synth::{SynthParams, SyntheticWeb};
use porthole_store::{Counts, SqliteStore, Store};
use porthole_types::{ManualClock, Outcome, TopicId};
use serde::Serialize;

use crate::cli;
use crate::output::{self, Progress};

/// Pages to start with.
const STARTS: usize = 10;

pub(crate) async fn run(arguments: cli::Demo) -> anyhow::Result<()> {
    let params = SynthParams { seed: arguments.seed, ..SynthParams::default() };
    let clock = Arc::new(ManualClock::default());
    let web = SyntheticWeb::new(params, clock.clone())?;
    let topic = topic_named(&web, &arguments.topic)?;
    let scratch = tempfile::tempdir().context("cannot make a folder for the demo's database")?;
    let path = database(arguments.keep.as_deref(), scratch.path())?;
    let mut store = SqliteStore::open(&path)?;

    let mut tally = Tally::new(&web, topic);
    let mut progress = Progress::new("crawling", arguments.pages);
    let began = Instant::now();
    let stop = {
        let mut crawl = Crawl::new(&web, &mut store, &*clock)?;
        crawl.start(&web.examples(topic, STARTS, arguments.seed))?;
        let mut observe = |seen: Seen<'_>| {
            clock.advance(seen.took);
            tally.add(&seen);
            progress.step(|| format!("{:.1}% about {}", 100.0 * tally.harvest(), arguments.topic));
            ControlFlow::Continue(())
        };
        crawl.run(Limits { fetches: arguments.pages, ..Limits::default() }, &mut observe).await?
    };
    store.tidy()?;
    progress.finish();
    let summary = tally.summary(&arguments.topic, stop, store.counts(), began);
    if arguments.json {
        output::print_json(&summary)?;
    } else {
        summary.print();
        if arguments.keep.is_some() {
            output::print(&format!("\nthe database is {0}; look into it with: sqlite3 {0}", path.display()));
        }
    }
    Ok(())
}

fn topic_named(web: &SyntheticWeb, path: &str) -> anyhow::Result<TopicId> {
    if let Some(topic) = web.topic(path) {
        return Ok(topic);
    }
    let known: Vec<&str> = web.topics().iter().map(|topic| topic.path.as_str()).collect();
    bail!("there is no topic {path}; the demo has\n  {}", known.join("\n  "))
}

fn database(keep: Option<&Path>, scratch: &Path) -> anyhow::Result<PathBuf> {
    let folder = keep.unwrap_or(scratch);
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let path = folder.join("porthole.db");
    if path.exists() {
        bail!("{} is there already; give --keep another folder", path.display());
    }
    Ok(path)
}

/// Counts what a crawl brings, by the truth about each page.
struct Tally<'a> {
    web: &'a SyntheticWeb,
    topic: TopicId,
    fetches: u64,
    pages: u64,
    about_topic: u64,
    bytes: u64,
    hosts: std::collections::HashSet<u64>,
    failures: BTreeMap<&'static str, u64>,
    kinds: BTreeMap<&'static str, u64>,
    harvest_at: Vec<(u64, f64)>,
}

impl<'a> Tally<'a> {
    fn new(web: &'a SyntheticWeb, topic: TopicId) -> Self {
        Tally {
            web,
            topic,
            fetches: 0,
            pages: 0,
            about_topic: 0,
            bytes: 0,
            hosts: Default::default(),
            failures: BTreeMap::new(),
            kinds: BTreeMap::new(),
            harvest_at: Vec::new(),
        }
    }

    fn add(&mut self, seen: &Seen<'_>) {
        const MARKS: [u64; 9] = [50, 100, 200, 500, 1_000, 2_000, 3_000, 5_000, 10_000];
        self.fetches += 1;
        match &seen.result.outcome {
            Outcome::Fetched => self.add_page(seen),
            Outcome::Redirected => {}
            Outcome::Retry { failure, .. } | Outcome::Dead(failure) | Outcome::Skipped(failure) => {
                *self.failures.entry(failure.kind.name()).or_default() += 1;
            }
        }
        if MARKS.contains(&self.fetches) {
            self.harvest_at.push((self.fetches, self.harvest()));
        }
    }

    fn add_page(&mut self, seen: &Seen<'_>) {
        self.pages += 1;
        self.bytes += seen.result.bytes;
        self.hosts.insert(seen.result.sid.0);
        if let Some(truth) = self.web.truth(seen.url) {
            *self.kinds.entry(truth.kind.name()).or_default() += 1;
            self.about_topic += u64::from(truth.topic == self.topic && truth.earns_credit());
        }
    }

    /// Share of the fetches that brought a page about the topic.
    fn harvest(&self) -> f64 {
        self.about_topic as f64 / self.fetches.max(1) as f64
    }

    fn summary(self, topic: &str, stop: Stop, counts: Counts, began: Instant) -> Summary {
        Summary {
            topic: topic.to_owned(),
            strategy: "breadth-first",
            stop: match stop {
                Stop::Limit => "limit",
                Stop::Exhausted => "exhausted",
                Stop::Waiting(_) => "waiting",
                Stop::Asked => "asked",
            },
            fetches: self.fetches,
            pages: self.pages,
            redirects: counts.redirected,
            failures: self.failures,
            hosts: self.hosts.len(),
            bytes: self.bytes,
            known: counts.known,
            queued: counts.queued,
            links: counts.links,
            kinds: self.kinds,
            about_topic: self.about_topic,
            harvest: self.harvest_at.iter().map(|(at, harvest)| (at.to_string(), *harvest)).collect(),
            harvest_at: self.harvest_at,
            seconds: began.elapsed().as_secs_f64(),
        }
    }
}

/// What the demo says at its end.
#[derive(Serialize)]
struct Summary {
    topic: String,
    strategy: &'static str,
    stop: &'static str,
    fetches: u64,
    pages: u64,
    redirects: usize,
    failures: BTreeMap<&'static str, u64>,
    hosts: usize,
    bytes: u64,
    known: usize,
    queued: usize,
    links: usize,
    kinds: BTreeMap<&'static str, u64>,
    about_topic: u64,
    harvest: BTreeMap<String, f64>,
    #[serde(skip)]
    harvest_at: Vec<(u64, f64)>,
    seconds: f64,
}

impl Summary {
    fn print(&self) {
        let rate = self.fetches as f64 / self.seconds.max(1e-9);
        let mut rows = vec![
            (format!("fetches, {} from pages about {}", self.strategy, self.topic), self.fetches.to_string()),
            ("  pages".to_owned(), self.pages.to_string()),
            ("  redirects".to_owned(), self.redirects.to_string()),
        ];
        let failures = self.failures.iter();
        rows.extend(failures.map(|(kind, count)| (format!("  failed: {kind}"), count.to_string())));
        rows.extend([
            ("hosts reached".to_owned(), self.hosts.to_string()),
            ("URLs known".to_owned(), self.known.to_string()),
            ("URLs queued".to_owned(), self.queued.to_string()),
            ("links stored".to_owned(), self.links.to_string()),
            ("megabytes of pages".to_owned(), format!("{:.1}", self.bytes as f64 / 1e6)),
            ("seconds".to_owned(), format!("{:.2}", self.seconds)),
            ("fetches a second, stored".to_owned(), format!("{rate:.0}")),
        ]);
        let kinds = self.kinds.iter();
        rows.extend(kinds.map(|(kind, count)| (format!("pages that truly are: {kind}"), count.to_string())));
        output::print_rows(&rows);
        output::print(&format!("\nShare of the fetches that brought a page about {}:", self.topic));
        for (at, share) in &self.harvest_at {
            output::print(&format!(" after {at:>6} {} {:.1}%", output::bar(*share), 100.0 * share));
        }
        output::print("A crawler without a notion of topic loses its way.");
    }
}
