//! `porthole status`: the state of a workspace and its crawl.

use std::path::Path;

use porthole_store::{QueryLimits, SqlValue, StoreCounts, StoreReader, WorkerRow};
use porthole_topic::Taxonomy;
use porthole_types::{AlarmRecord, CanonicalUrl, LiveCrawl, Timestamp};
use serde::Serialize;

use crate::cli;
use crate::commands::crawl::{ABORTED, LAST_STOP};
use crate::commands::units::{clock_time, moment_and_age, size};
use crate::output::{self, Paint, bar_of, count, grouped, plain};
use crate::workspace::{self, CRITIC, Workspace};

/// Number of minutes of the harvest table.
const MINUTES: usize = 10;
/// Number of events from which the last alarms are listed.
const ALARM_EVENTS: usize = 40;
/// Number of sites to show.
const SITES: &str = "5";

pub(crate) fn run(root: &Path, arguments: &cli::Status) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    let status = WorkspaceStatus::of(&workspace)?;
    if arguments.json {
        return output::print_json(&status);
    }
    status.print();
    Ok(())
}

/// The state of a workspace; times are in milliseconds since 1970.
#[derive(Serialize)]
struct WorkspaceStatus {
    /// Whether a crawl is running.
    crawling: bool,
    /// What the running crawl says of itself.
    live: Option<LiveCrawl>,
    /// The workers that share the crawl, if there are several.
    workers: Vec<WorkerStatus>,
    /// The last alarms, newest first.
    alarms: Vec<AlarmRecord>,
    /// Why the last crawl ended; `None` while one runs.
    last_stop: Option<String>,
    good: Vec<String>,
    /// When the critic was trained.
    trained: Option<i64>,
    pages: usize,
    /// Pages that are no duplicates and have an R of at least one half.
    relevant: usize,
    copies: usize,
    /// Mean relevance of all pages.
    harvest: Option<f64>,
    /// Mean relevance of the last hundred pages.
    recent_harvest: Option<f64>,
    last_page: Option<i64>,
    known: usize,
    queued: usize,
    redirected: usize,
    dead: usize,
    skipped: usize,
    /// Removed from a bounded queue.
    evicted: usize,
    /// Reached only by links that the strategy does not follow.
    rejected: usize,
    sites: usize,
    links: usize,
    database_bytes: u64,
    pages_bytes: u64,
    /// The last minutes in which pages were fetched.
    minutes: Vec<Minute>,
    busiest_sites: Vec<BusySite>,
    failures: Vec<Failures>,
    /// URLs that were skipped on purpose, by reason.
    skipped_by_kind: Vec<SkippedUrls>,
    warnings: Vec<String>,
}

/// One of several workers.
#[derive(Serialize)]
struct WorkerStatus {
    id: u32,
    /// Machine and folder.
    name: String,
    is_alive: bool,
    /// Number of its shards, of 256.
    shards: usize,
    /// Pages fetched in its run.
    pages: u64,
}

#[derive(Serialize)]
struct Minute {
    began: i64,
    pages: i64,
    harvest: f64,
}

#[derive(Serialize)]
struct BusySite {
    host: String,
    fetched: i64,
}

/// URLs with the same kind of failure.
#[derive(Serialize)]
struct Failures {
    kind: String,
    urls: i64,
    dead: i64,
    example: String,
}

/// URLs that were skipped for the same reason.
#[derive(Serialize)]
struct SkippedUrls {
    kind: String,
    urls: i64,
    /// Those that were not requested.
    refused: i64,
    example: String,
}

impl WorkspaceStatus {
    fn of(workspace: &Workspace) -> anyhow::Result<WorkspaceStatus> {
        let reader = workspace.reader()?;
        let tree = workspace::tree(&reader)?;
        let ask = |query: &str, parameters: &[(&str, &str)]| {
            reader.query(query, parameters, &QueryLimits::default())
        };
        let counts = reader.counts()?;
        let progress = reader.progress()?;
        let mut minutes: Vec<Minute> = ask("harvest", &[])?.rows.iter().map(|row| minute(row)).collect();
        minutes.drain(..minutes.len().saturating_sub(MINUTES));
        let trained = reader.model(CRITIC)?.map(|critic| critic.made.0);
        let (database_bytes, pages_bytes) = workspace.disk_use();
        let crawling = reader.is_crawled()?;
        let alarms = AlarmRecord::list(&reader.last_events(&AlarmRecord::EVENTS, ALARM_EVENTS)?, crawling);
        Ok(WorkspaceStatus {
            crawling,
            live: if crawling { live(&reader)? } else { None },
            workers: workers(&reader)?,
            alarms,
            last_stop: reader.setting(LAST_STOP)?.filter(|_| !crawling),
            good: tree.good().map(|id| tree.path(id)).collect(),
            trained,
            pages: counts.fetched,
            relevant: progress.relevant,
            copies: counts.copies,
            harvest: progress.harvest,
            recent_harvest: progress.recent_harvest,
            last_page: progress.last_page.map(|at| at.0),
            known: counts.known,
            queued: counts.queued,
            redirected: counts.redirected,
            dead: counts.dead,
            skipped: counts.skipped,
            evicted: counts.evicted,
            rejected: counts.rejected,
            sites: counts.sites,
            links: counts.links,
            database_bytes,
            pages_bytes,
            minutes,
            busiest_sites: ask("sites", &[("rows", SITES)])?.rows.iter().map(|row| site(row)).collect(),
            failures: ask("failures", &[])?.rows.iter().map(|row| failures(row)).collect(),
            skipped_by_kind: ask("skipped", &[])?.rows.iter().map(|row| skipped(row)).collect(),
            warnings: warnings(&reader, &tree, counts, trained.is_some())?,
        })
    }

    fn print(&self) {
        self.print_heading();
        self.print_counts();
        self.print_minutes();
        self.print_sites();
        self.print_failures();
        self.print_skipped();
        for warning in &self.warnings {
            output::say(&format!("warning: {warning}"));
        }
    }

    fn print_heading(&self) {
        let doing = match (&self.last_stop, self.last_page) {
            _ if self.crawling => Paint::Good.on("a crawl is running"),
            (Some(stop), _) if stop == ABORTED => {
                "no crawl is running; the last one was killed or has failed: `porthole crawl` resumes it"
                    .to_owned()
            }
            (Some(stop), _) => format!("no crawl is running; the last one ended: {}", plain(stop)),
            (None, Some(_)) => "no crawl is running".to_owned(),
            (None, None) => "nothing has been crawled yet".to_owned(),
        };
        output::print(&doing);
        if let Some(live) = &self.live {
            print_live(live);
        }
        for WorkerStatus { id, name, shards, pages, .. } in
            self.workers.iter().filter(|worker| worker.is_alive)
        {
            let pages = grouped(&pages.to_string());
            output::print(&format!(
                "worker {id:<5} {shards:>3} of 256 shards, {pages:>7} pages  {}",
                plain(name)
            ));
        }
        for alarm in self.alarms.iter().filter(|alarm| alarm.is_active) {
            let since = clock_time(Timestamp(alarm.at));
            output::print(&format!("{}  since {since}: {}", Paint::Bad.on("alarm"), plain(&alarm.detail)));
        }
        if let Some(at) = self.last_page {
            output::print(&format!("last page    {}", moment_and_age(Timestamp(at))));
        }
        if !self.good.is_empty() {
            output::print(&format!("good topics  {}", Paint::Good.on(&self.good.join(", "))));
        }
        if let Some(at) = self.trained {
            output::print(&format!("critic       trained {}", moment_and_age(Timestamp(at))));
        }
        output::print("");
    }

    fn print_counts(&self) {
        let mean = |mean: Option<f64>| mean.map_or_else(|| "–".to_owned(), |mean| format!("{mean:.3}"));
        let mut rows = vec![
            ("pages", self.pages.to_string()),
            ("  relevant", self.relevant.to_string()),
            ("  duplicates", self.copies.to_string()),
            ("  mean relevance", mean(self.harvest)),
            ("  mean relevance, last 100", mean(self.recent_harvest)),
            ("URLs known", self.known.to_string()),
            ("  queued", self.queued.to_string()),
            ("  redirected", self.redirected.to_string()),
            ("  dead", self.dead.to_string()),
            ("  skipped", self.skipped.to_string()),
            ("  evicted", self.evicted.to_string()),
            ("  rejected", self.rejected.to_string()),
            ("sites", self.sites.to_string()),
            ("links", self.links.to_string()),
            ("database on disk", size(self.database_bytes)),
            ("pages on disk", size(self.pages_bytes)),
        ];
        rows.retain(|(label, value)| {
            value != "0" || !["  duplicates", "  evicted", "  rejected"].contains(label)
        });
        let rows: Vec<_> = rows.into_iter().map(|(label, value)| (label.to_owned(), value)).collect();
        output::print_rows(&rows);
    }

    fn print_minutes(&self) {
        if self.minutes.is_empty() {
            return;
        }
        output::print("\nharvest by minute (UTC): pages, mean relevance");
        for minute in &self.minutes {
            output::print(&format!(
                "  {}  {:>7}  {:.3}  {}",
                clock_time(Timestamp(minute.began)),
                grouped(&minute.pages.to_string()),
                minute.harvest,
                bar_of(minute.harvest, 30)
            ));
        }
    }

    fn print_sites(&self) {
        if self.busiest_sites.is_empty() {
            return;
        }
        output::print("\nsites with the most fetches");
        for site in &self.busiest_sites {
            output::print(&format!("  {:>7}  {}", grouped(&site.fetched.to_string()), plain(&site.host)));
        }
    }

    fn print_failures(&self) {
        if self.failures.is_empty() {
            return;
        }
        output::print("\nfailures (number of URLs)");
        for failure in &self.failures {
            let dead = match failure.dead {
                0 => String::new(),
                dead if dead == failure.urls => ", permanent".to_owned(),
                dead => format!(", {} permanent", grouped(&dead.to_string())),
            };
            output::print(&format!(
                "  {:>7}  {}{dead}{}",
                grouped(&failure.urls.to_string()),
                failure.kind,
                example(&failure.example)
            ));
        }
    }

    fn print_skipped(&self) {
        if self.skipped_by_kind.is_empty() {
            return;
        }
        output::print("\nskipped on purpose (number of URLs)");
        for skipped in &self.skipped_by_kind {
            let refused = match skipped.refused {
                refused if refused == skipped.urls => ", not fetched".to_owned(),
                0 => ", fetched".to_owned(),
                refused => format!(", {} not fetched", grouped(&refused.to_string())),
            };
            output::print(&format!(
                "  {:>7}  {}{refused}{}",
                grouped(&skipped.urls.to_string()),
                skipped.kind,
                example(&skipped.example)
            ));
        }
    }
}

/// What the running crawl says of itself; `None` if it has not said anything yet.
fn live(reader: &dyn StoreReader) -> anyhow::Result<Option<LiveCrawl>> {
    let live = reader.setting(LiveCrawl::SETTING)?.and_then(|json| serde_json::from_str(&json).ok());
    Ok(live.filter(|live: &LiveCrawl| live.is_running))
}

/// The workers, if there is more than one.
fn workers(reader: &dyn StoreReader) -> anyhow::Result<Vec<WorkerStatus>> {
    let rows = reader.workers()?;
    if rows.len() < 2 {
        return Ok(Vec::new());
    }
    let status = |row: WorkerRow| {
        let live = reader.setting(&LiveCrawl::setting_of(row.id))?;
        let live = live.and_then(|json| serde_json::from_str::<LiveCrawl>(&json).ok());
        let pages = live.filter(|_| row.is_alive).map_or(0, |live| live.pages);
        let WorkerRow { id, name, is_alive, shards } = row;
        Ok(WorkerStatus { id, name, is_alive, shards, pages })
    };
    rows.into_iter().map(status).collect()
}

fn print_live(live: &LiveCrawl) {
    let LiveCrawl { ready, resting, busy, given_up, workers_idle, .. } = live;
    let idle = match workers_idle {
        0 => String::new(),
        idle => format!(
            "; {} idle by choice, waiting for {}",
            count(*idle, "worker"),
            count(live.sites_awaited, "resting good site")
        ),
    };
    output::print(&format!(
        "{} ready, {resting} resting, {busy} busy, {given_up} given up{idle}",
        count(*ready, "site")
    ));
    match &live.held_up {
        Some(why) => output::print(&format!("held up: {}", plain(why))),
        None if live.is_paused => output::print("it is paused; `porthole resume` continues it"),
        None => {}
    }
}

/// An example behind a number, if there is one.
fn example(text: &str) -> String {
    if text.is_empty() { String::new() } else { Paint::Faint.on(&format!("  e.g. {}", plain(text))) }
}

fn minute(row: &[SqlValue]) -> Minute {
    Minute {
        began: row[0].integer().unwrap_or_default() * 60_000,
        pages: row[1].integer().unwrap_or_default(),
        harvest: row[2].real().unwrap_or_default(),
    }
}

fn site(row: &[SqlValue]) -> BusySite {
    BusySite { host: row[0].text().to_owned(), fetched: row[1].integer().unwrap_or_default() }
}

fn failures(row: &[SqlValue]) -> Failures {
    Failures {
        kind: row[0].text().to_owned(),
        urls: row[1].integer().unwrap_or_default(),
        dead: row[2].integer().unwrap_or_default(),
        example: row[3].text().to_owned(),
    }
}

fn skipped(row: &[SqlValue]) -> SkippedUrls {
    SkippedUrls {
        kind: row[0].text().to_owned(),
        urls: row[1].integer().unwrap_or_default(),
        refused: row[2].integer().unwrap_or_default(),
        example: row[3].text().to_owned(),
    }
}

/// Warns about what prevents a crawl from finding anything.
fn warnings(
    reader: &dyn StoreReader,
    tree: &Taxonomy,
    counts: StoreCounts,
    is_trained: bool,
) -> anyhow::Result<Vec<String>> {
    let mut warnings = Vec::new();
    let mut good = tree.good().peekable();
    if good.peek().is_none() {
        warnings.push("no topic is marked good: mark one with `porthole topics mark PATH`".to_owned());
    } else if counts.known == 0 && !has_start(reader, tree)? {
        warnings.push(
            "no start URL: no good topic has an example with a URL; add one with `porthole examples add TOPIC URL`, or \
             crawl with `--start URL`"
                .to_owned(),
        );
    }
    if !is_trained {
        warnings.push(workspace::no_critic(reader)?);
    }
    let unplaced = reader.examples(Some(porthole_types::TopicId::ROOT))?.len();
    if unplaced > 0 {
        warnings.push(format!(
            "{} without a topic: `porthole topics propose` shows topics that fit",
            count(unplaced, "example")
        ));
    }
    Ok(warnings)
}

fn has_start(reader: &dyn StoreReader, tree: &Taxonomy) -> anyhow::Result<bool> {
    for topic in tree.good().flat_map(|good| tree.below(good)) {
        if reader.examples(Some(topic))?.iter().any(|example| CanonicalUrl::parse(&example.url).is_ok()) {
            return Ok(true);
        }
    }
    Ok(false)
}
