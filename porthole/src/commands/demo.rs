//! `porthole demo`: a focused and an unfocused crawl of the same synthetic web, compared by the true topic of every
//! page.

mod lesson;
mod living;
mod report;
mod tally;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use porthole_crawl::{Crawl, Focus, Limits, Seen, Stop};
use porthole_store::{Store, WorkspaceWriter};
use porthole_strategy::CrawlGoal;
use porthole_topic::Critic;
use porthole_types::{ManualClock, TopicId};
use porthole_webs::synth::{SynthParams, SyntheticWeb};

use self::lesson::DemoCritic;
use self::report::DemoReport;
use self::tally::{DemoCounter, DemoResult};
use crate::cli;
use crate::commands::crawl::{LAST_STOP, SEED, STRATEGY};
use crate::output::{self, Progress, grouped, misuse};
use crate::workspace::Workspace;

/// Number of pages of the web, large enough for the focused crawl not to run out of its topic. Pages are generated
/// when they are fetched.
const WEB_PAGES: u32 = 200_000;

pub(crate) async fn run(arguments: cli::Demo) -> anyhow::Result<()> {
    let web = web(arguments.seed, Arc::default())?;
    let topic = topic_named(&web, &arguments.topic)?;
    let scratch = tempfile::tempdir().context("cannot create a folder for the demo's workspaces")?;
    let folder = arguments.keep.as_deref().unwrap_or(scratch.path());
    let folders = ["focused", "unfocused"].map(|name| folder.join(name));
    for folder in &folders {
        Workspace::check_new(folder)?;
    }

    output::say(&format!(
        "a synthetic web of {} pages, generated on demand",
        grouped(&WEB_PAGES.to_string())
    ));
    let lesson = DemoCritic::learn(&web, topic, arguments.seed).await?;
    output::say(&lesson.in_words());
    if arguments.serve.is_some() || (!arguments.json && living::is_possible()) {
        return living::run(web, &lesson, arguments.serve.flatten(), folder, &folders).await;
    }
    let focused = crawl(&lesson, &arguments, "focused", "porthole", &folders[0]).await?;
    let unfocused = crawl(&lesson, &arguments, "unfocused", "unfocused", &folders[1]).await?;

    output::say("");
    let report = DemoReport::new(&arguments, &lesson, focused, unfocused);
    if arguments.json {
        return output::print_json(&report);
    }
    report.print();
    if arguments.keep.is_some() {
        let focused = output::quoted(&folders[0].display().to_string());
        output::print(&format!(
            "\nboth crawls are kept as workspaces; look at one with\n  porthole -C {focused} status\n  \
             porthole -C {focused} top pages"
        ));
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

/// Runs one of the two crawls in a workspace of its own, on a fresh copy of the web, since the web changes with time.
async fn crawl(
    lesson: &DemoCritic,
    arguments: &cli::Demo,
    name: &'static str,
    strategy: &str,
    folder: &Path,
) -> anyhow::Result<DemoResult> {
    let clock = Arc::new(ManualClock::default());
    let web = web(arguments.seed, clock.clone())?;
    let mut store = Workspace::create(folder)?.store()?;
    lesson.keep(&mut store)?;
    let critic = Critic::new(lesson.model.clone(), &lesson.tree);
    let aim = CrawlGoal::new(&lesson.tree, Some(critic.clone()), arguments.seed);
    let judge = Box::new(critic);
    let strategy = porthole_strategy::named(strategy, &aim)?;
    let followed = strategy.name().to_owned();
    let mut tally = DemoCounter::new(&web, lesson, arguments.pages);
    let mut progress = Progress::new(name, arguments.pages);
    let stop = {
        let focus = Focus { judge, strategy, marks: lesson.tree.marks() };
        // The clock is simulated, and a demo need not survive a power cut: synced only at its end.
        let mut crawl =
            Crawl::new(&web, &mut store, &*clock)?.focused(focus).syncing_after(std::time::Duration::MAX);
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
    let seed = arguments.seed.to_string();
    store.set_settings(&[(LAST_STOP, stop), (STRATEGY, &followed), (SEED, &seed)])?;
    let figures = tally.figures(followed, stop, store.counts());
    let fetches = grouped(&figures.fetches.to_string());
    output::say(&format!("crawled {name}: {fetches} fetches in {:.1} s", figures.seconds));
    Ok(figures)
}
