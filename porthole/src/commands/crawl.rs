//! `porthole crawl`: from the examples of the good topics outwards, best first.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use porthole_crawl::{
    Archive, Crawl, CrawlError, ExternalCritic, Fetch, Focus, Guest, HttpFetch, Keep, Limits, Observer,
    Politeness, Scope, ScopeSettings, Seen, Stop, SystemClock,
};
use porthole_lab::RecordedWeb;
use porthole_store::{Counts, Desk, Store, StoreReader, Value};
use porthole_topic::{Judge, Taxonomy};
use porthole_types::{CanonicalUrl, Clock, Outcome, TopicId};
use serde::Serialize;

use crate::cli;
use crate::output::{self, Progress, misuse};
use crate::workspace::{self, Workspace};

/// Exit codes (requirement 114); 0 is a crawl that did what it was asked to.
const INTERRUPTED: u8 = 11;
const SIZE_LIMIT: u8 = 14;
const TIME_LIMIT: u8 = 15;
const DISK_FULL: u8 = 16;
const STAGNATED: u8 = 60;

pub(crate) async fn run(root: &Path, arguments: &cli::Crawl) -> anyhow::Result<ExitCode> {
    let ends = Ends::listen(arguments.time);
    let workspace = Workspace::open(root)?;
    let mut store = workspace.store()?;
    let tree = workspace::tree(&*store.reader())?;
    if tree.good().next().is_none() {
        return Err(misuse(
            "nothing is marked good: `porthole topics mark PATH` says what the crawl is after",
        ));
    }
    let judge = judge(&*store.reader(), &tree, arguments.judge.as_deref())?;
    let strategy =
        porthole_strategy::named(&arguments.strategy, arguments.seed).expect("clap knows the names");
    let starts = starts(&*store.reader(), &tree, &arguments.start)?;
    let World { web, guest, workers } = World::of(&workspace, arguments)?;
    let clock = SystemClock;
    if starts.is_empty() && store.counts().known == 0 {
        return Err(misuse(
            "there is nowhere to start: no good topic has an example with a URL; give --start URL",
        ));
    }
    let mut watch = Watch { tally: Tally::new(&tree, arguments.pages), ends };
    // What fails from here on may be for want of room, and is told from other failures below.
    let stop: Result<Stop, CrawlError> = async {
        let focus = Focus { judge, strategy, marks: tree.marks() };
        let mut crawl = Crawl::new(&*web, &mut store, &clock)?.focused(focus).as_guest(guest);
        if !arguments.no_archive {
            crawl = crawl.archived(Archive::open(&workspace.pages(), clock.now())?, Keep::All);
        }
        crawl.start(&starts)?;
        let limits = Limits { fetches: arguments.pages.unwrap_or(u64::MAX), workers, ..Limits::default() };
        crawl.run(limits, &mut watch).await
    }
    .await;
    let (ending, code) = ending(stop, arguments, &watch.ends)?;
    if code != DISK_FULL {
        store.tidy()?;
    }
    let summary = watch.tally.summary(arguments, ending, store.counts());
    if arguments.json {
        output::print_json(&summary)?;
    } else {
        summary.print();
        if code == STAGNATED {
            explain_stagnation(&*store.reader(), &tree)?;
        }
    }
    Ok(code.into())
}

/// What is crawled, and how one behaves there.
struct World {
    web: Box<dyn Fetch>,
    guest: Guest,
    workers: usize,
}

/// Fetches under way at once on the open web.
const WORKERS: u16 = 64;

impl World {
    fn of(workspace: &Workspace, arguments: &cli::Crawl) -> anyhow::Result<World> {
        let scope = Scope::new(&ScopeSettings {
            include: arguments.include.clone(),
            exclude: arguments.exclude.clone(),
            domains: arguments.domain.clone(),
            ..ScopeSettings::default()
        });
        let scope = scope.map_err(|error| misuse(error.to_string()))?;
        if arguments.web.is_empty() {
            let fetch = &workspace.settings.fetch;
            let settings = if arguments.polite { fetch.ready() } else { fetch.ready_for_loopback() };
            let web = HttpFetch::new(settings?).map_err(|error| misuse(error.to_string()))?;
            let guest =
                if arguments.polite { Guest::polite(Politeness::default(), AGENT) } else { Guest::alone() };
            let guest = guest.within(scope);
            return Ok(World {
                web: Box::new(web),
                guest,
                workers: arguments.workers.unwrap_or(WORKERS).into(),
            });
        }
        let web = Box::new(RecordedWeb::open(&arguments.web)?);
        Ok(World { web, guest: Guest::alone().within(scope), workers: arguments.workers.unwrap_or(1).into() })
    }
}

/// The name that robots.txt files know us by.
const AGENT: &str = "porthole";

/// How long a program may take for a judgment.
const PATIENCE: Duration = Duration::from_secs(30);

/// The trained critic, or a program in its place.
fn judge(reader: &dyn StoreReader, tree: &Taxonomy, program: Option<&str>) -> anyhow::Result<Box<dyn Judge>> {
    match program {
        None => Ok(Box::new(workspace::critic(reader)?.0)),
        Some(program) => {
            let command = ["sh", "-c", program].map(str::to_owned);
            Ok(Box::new(ExternalCritic::start(&command, tree.clone(), PATIENCE)?))
        }
    }
}

/// Counts what comes, and knows when to end.
struct Watch<'a> {
    tally: Tally<'a>,
    ends: Ends,
}

impl Observer for Watch<'_> {
    fn seen(&mut self, seen: Seen<'_>) -> ControlFlow<()> {
        self.tally.add(&seen);
        self.waiting()
    }

    fn waiting(&mut self) -> ControlFlow<()> {
        if self.ends.now() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The examples of the good topics (V 1.1), and what was asked for.
fn starts(reader: &dyn StoreReader, tree: &Taxonomy, more: &[String]) -> anyhow::Result<Vec<CanonicalUrl>> {
    let mut starts = Vec::new();
    for text in more {
        let url = CanonicalUrl::parse(text).map_err(|error| misuse(format!("--start {text}: {error}")))?;
        starts.push(url);
    }
    for topic in tree.good().flat_map(|good| tree.below(good)) {
        let examples = reader.examples(Some(topic))?;
        starts.extend(examples.iter().filter_map(|example| CanonicalUrl::parse(&example.url).ok()));
    }
    Ok(starts)
}

/// What ends a crawl from outside: Ctrl-C, and the time.
struct Ends {
    interrupted: Arc<AtomicBool>,
    until: Option<Instant>,
}

impl Ends {
    fn listen(time: Option<Duration>) -> Self {
        let interrupted = Arc::new(AtomicBool::new(false));
        let flag = interrupted.clone();
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                flag.store(true, Ordering::Relaxed);
                output::say("stopping: what has come is being stored");
            }
        });
        Ends { interrupted, until: time.map(|time| Instant::now() + time) }
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn now(&self) -> bool {
        self.is_interrupted() || self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// Why a crawl ended, in a word, and the exit code.
fn ending(
    stop: Result<Stop, CrawlError>,
    arguments: &cli::Crawl,
    ends: &Ends,
) -> anyhow::Result<(&'static str, u8)> {
    match stop {
        Ok(Stop::Limit) => Ok(("limit", 0)),
        Ok(Stop::Bytes) => Ok(("size", SIZE_LIMIT)),
        Ok(Stop::Exhausted) if arguments.strategy == "hard" => Ok(("stagnated", STAGNATED)),
        Ok(Stop::Exhausted) => Ok(("exhausted", 0)),
        Ok(Stop::Waiting(_)) => Ok(("waiting", 0)),
        Ok(Stop::Asked) if ends.is_interrupted() => Ok(("interrupted", INTERRUPTED)),
        Ok(Stop::Asked) => Ok(("time", TIME_LIMIT)),
        Err(error) if error.is_disk_full() => {
            output::say(&format!("error: {error}"));
            Ok(("disk full", DISK_FULL))
        }
        Err(error) => Err(error.into()),
    }
}

/// Counts what a crawl brings.
struct Tally<'a> {
    tree: &'a Taxonomy,
    began: Instant,
    progress: Progress,
    fetches: u64,
    pages: u64,
    failures: u64,
    relevance: f64,
    on_topic: u64,
    last: VecDeque<f64>,
}

/// Pages over which the harvest of the moment is taken.
const WINDOW: usize = 100;

impl<'a> Tally<'a> {
    fn new(tree: &'a Taxonomy, pages: Option<u64>) -> Self {
        Tally {
            tree,
            began: Instant::now(),
            progress: Progress::new("crawling", pages.unwrap_or(0)),
            fetches: 0,
            pages: 0,
            failures: 0,
            relevance: 0.0,
            on_topic: 0,
            last: VecDeque::with_capacity(WINDOW),
        }
    }

    fn add(&mut self, seen: &Seen<'_>) {
        self.fetches += 1;
        match (&seen.result.outcome, seen.result.judgment) {
            (Outcome::Fetched, Some(judgment)) => {
                self.pages += 1;
                self.relevance += judgment.relevance;
                let is_good = |id| self.tree.is_good(id);
                let on_topic = is_good(judgment.best) || self.tree.ancestors(judgment.best).any(is_good);
                self.on_topic += u64::from(on_topic);
                if self.last.len() == WINDOW {
                    self.last.pop_front();
                }
                self.last.push_back(judgment.relevance);
            }
            (Outcome::Redirected, _) => {}
            _ => self.failures += 1,
        }
        let (now, overall) = (self.now(), self.harvest());
        let (queued, failures) = (seen.counts.queued, self.failures);
        self.progress.step(|| {
            format!("harvest {now:.2} now, {overall:.2} overall; {queued} queued, {failures} failed")
        });
    }

    /// Mean R over the last pages.
    fn now(&self) -> f64 {
        self.last.iter().sum::<f64>() / self.last.len().max(1) as f64
    }

    /// Mean R over all pages of this run.
    fn harvest(&self) -> f64 {
        self.relevance / self.pages.max(1) as f64
    }

    fn summary(self, arguments: &cli::Crawl, stop: &'static str, counts: Counts) -> Summary {
        let seconds = self.began.elapsed().as_secs_f64();
        let harvest = self.harvest();
        self.progress.finish();
        Summary {
            strategy: arguments.strategy.clone(),
            stop,
            fetches: self.fetches,
            pages: self.pages,
            failures: self.failures,
            harvest,
            on_topic: self.on_topic,
            pages_in_all: counts.fetched,
            known: counts.known,
            queued: counts.queued,
            links: counts.links,
            sites: counts.sites,
            seconds,
        }
    }
}

/// What a crawl says at its end.
#[derive(Serialize)]
struct Summary {
    strategy: String,
    stop: &'static str,
    fetches: u64,
    pages: u64,
    failures: u64,
    harvest: f64,
    on_topic: u64,
    pages_in_all: usize,
    known: usize,
    queued: usize,
    links: usize,
    sites: usize,
    seconds: f64,
}

impl Summary {
    fn print(&self) {
        let rate = self.fetches as f64 / self.seconds.max(1e-9);
        output::print_rows(&[
            (format!("fetches, {}", self.strategy), self.fetches.to_string()),
            ("  pages".to_owned(), self.pages.to_string()),
            ("  failed".to_owned(), self.failures.to_string()),
            ("harvest, mean R of these pages".to_owned(), format!("{:.3}", self.harvest)),
            ("pages whose best topic is good".to_owned(), self.on_topic.to_string()),
            ("pages in all".to_owned(), self.pages_in_all.to_string()),
            ("URLs known".to_owned(), self.known.to_string()),
            ("URLs queued".to_owned(), self.queued.to_string()),
            ("links".to_owned(), self.links.to_string()),
            ("sites".to_owned(), self.sites.to_string()),
            ("fetches a second".to_owned(), format!("{rate:.0}")),
        ]);
        output::print(&format!("\n{}", self.in_words()));
    }

    fn in_words(&self) -> &'static str {
        match self.stop {
            "limit" => "stopped as asked; the same command goes on from here",
            "size" => "as much came as was asked for; the same command goes on from here",
            "exhausted" => "every URL that is known has been dealt with",
            "waiting" => "what is left failed before and waits for another try; the same command goes on",
            "interrupted" => {
                "interrupted; nothing that was fetched is lost, the same command goes on from here"
            }
            "time" => "the time is up; the same command goes on from here",
            "disk full" => "the disk is full; make room, and the same command goes on from here",
            _ => "stagnated: no page that is left to expand has a good best topic",
        }
    }
}

/// What the pages are about that were fetched, so that one sees what to mark (V 3.7).
fn explain_stagnation(reader: &dyn StoreReader, tree: &Taxonomy) -> anyhow::Result<()> {
    output::print("\nthe pages that were fetched are mostly about");
    let census = reader.query("census", &[("rows", "8")], &porthole_store::Limits::default())?;
    for row in &census.rows {
        if let [Value::Integer(kcid), _, Value::Integer(pages), ..] = row[..] {
            let topic = TopicId(u16::try_from(kcid).unwrap_or_default());
            output::print(&format!("  {pages:>6}  {}", tree.path(topic)));
        }
    }
    output::print(
        "\nhard focus does not keep the links that it turns down, so another strategy starts in a new workspace:",
    );
    output::print("  soft focus (`--strategy soft`) follows the best of what there is");
    for parent in tree.good().map(|good| tree.parent(good)).filter(|&parent| parent != TopicId::ROOT) {
        let path = output::quoted(&tree.path(parent));
        output::print(&format!("  a wider topic (`porthole topics mark {path}`) turns less down"));
    }
    Ok(())
}
