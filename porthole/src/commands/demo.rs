//! `porthole demo`: a focused and an unfocused crawl of the same synthetic web, compared by the true topic of every
//! page.

mod lesson;
mod report;
mod tally;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use porthole_crawl::{Crawl, Focus, Limits, Seen, Stop};
use porthole_store::{SqliteStore, Store, WorkspaceWriter};
use porthole_strategy::CrawlGoal;
use porthole_topic::Critic;
use porthole_types::{ManualClock, TopicId};
use porthole_webs::synth::{SynthParams, SyntheticWeb};

use self::lesson::DemoCritic;
use self::report::DemoReport;
use self::tally::{DemoCounter, DemoResult};
use crate::cli;
use crate::output::{self, Progress, grouped, misuse};

/// Number of pages of the web, large enough for the focused crawl not to run out of its topic. Pages are generated
/// when they are fetched.
const WEB_PAGES: u32 = 200_000;

pub(crate) async fn run(arguments: cli::Demo) -> anyhow::Result<()> {
    let web = web(arguments.seed, Arc::default())?;
    let topic = topic_named(&web, &arguments.topic)?;
    let scratch = tempfile::tempdir().context("cannot create a folder for the demo's databases")?;
    let folder = arguments.keep.as_deref().unwrap_or(scratch.path());
    let [focused_db, unfocused_db] = databases(folder)?;

    output::say(&format!(
        "a synthetic web of {} pages, generated on demand",
        grouped(&WEB_PAGES.to_string())
    ));
    let lesson = DemoCritic::learn(&web, topic, arguments.seed).await?;
    output::say(&lesson.in_words());
    let focused = crawl(&lesson, &arguments, "focused", "porthole", &focused_db).await?;
    let unfocused = crawl(&lesson, &arguments, "unfocused", "unfocused", &unfocused_db).await?;

    output::say("");
    let report = DemoReport::new(&arguments, &lesson, focused, unfocused);
    if arguments.json {
        return output::print_json(&report);
    }
    report.print();
    if arguments.keep.is_some() {
        output::print(&format!("\nthe databases are kept; open one with: sqlite3 {}", focused_db.display()));
    }
    Ok(())
}

/// The demo's web; its pages change with the clock's time.
fn web(seed: u64, clock: Arc<ManualClock>) -> anyhow::Result<SyntheticWeb> {
    Ok(SyntheticWeb::new(SynthParams { seed, pages: WEB_PAGES, ..SynthParams::default() }, clock)?)
}

fn topic_named(web: &SyntheticWeb, path: &str) -> anyhow::Result<TopicId> {
    // The root matches every page.
    match web.topic(path) {
        Some(topic) if topic != TopicId::ROOT => Ok(topic),
        _ => {
            let known: Vec<&str> = web.topics()[1..].iter().map(|topic| topic.path.as_str()).collect();
            Err(misuse(format!("no topic {path}; the demo has\n  {}", known.join("\n  "))))
        }
    }
}

/// Paths of the two databases; existing files are an error.
fn databases(folder: &Path) -> anyhow::Result<[PathBuf; 2]> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let paths = ["focused.db", "unfocused.db"].map(|name| folder.join(name));
    if let Some(path) = paths.iter().find(|path| path.exists()) {
        bail!("{} already exists; choose another folder with --keep", path.display());
    }
    Ok(paths)
}

/// Runs one of the two crawls, on a fresh copy of the web, since the web changes with time.
async fn crawl(
    lesson: &DemoCritic,
    arguments: &cli::Demo,
    name: &'static str,
    strategy: &str,
    database: &Path,
) -> anyhow::Result<DemoResult> {
    let clock = Arc::new(ManualClock::default());
    let web = web(arguments.seed, clock.clone())?;
    let mut store = SqliteStore::open(database)?;
    // Topic names, for queries on a database that is kept.
    store.set_topics(&lesson.tree.rows())?;
    let critic = Critic::new(lesson.model.clone(), &lesson.tree);
    let aim = CrawlGoal::new(&lesson.tree, Some(critic.clone()), arguments.seed);
    let judge = Box::new(critic);
    let strategy = porthole_strategy::named(strategy, &aim)?;
    let followed = strategy.name().to_owned();
    let mut tally = DemoCounter::new(&web, lesson, arguments.pages);
    let mut progress = Progress::new(name, arguments.pages);
    let stop = {
        let focus = Focus { judge, strategy, marks: lesson.tree.marks() };
        let mut crawl = Crawl::new(&web, &mut store, &*clock)?.focused(focus);
        crawl.start(&lesson.starts)?;
        let mut observe = |seen: Seen<'_>| {
            clock.advance(seen.took);
            if tally.add(&seen) {
                progress.step(|| format!("{:.1}% about {}", 100.0 * tally.harvest(), arguments.topic));
            }
            // Not a limit of the crawl, since fetches of examples do not count.
            if tally.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        crawl.run(Limits::default(), &mut observe).await?
    };
    store.tidy()?;
    progress.finish();
    let stop = match stop {
        Stop::Asked | Stop::Limit | Stop::Bytes => "limit",
        Stop::Exhausted => "exhausted",
        Stop::Waiting(_) => "waiting",
    };
    let figures = tally.figures(followed, stop, store.counts());
    let fetches = grouped(&figures.fetches.to_string());
    output::say(&format!("crawled {name}: {fetches} fetches in {:.1} s", figures.seconds));
    Ok(figures)
}
