//! The crawls of an experiment.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use porthole_crawl::{Crawl, DistillSettings, Focus, Limits, Seen, SiteBy, Stop};
use porthole_store::SqliteStore;
use porthole_strategy::Aim;
use porthole_topic::Critic;
use porthole_types::{CanonicalUrl, ManualClock, Outcome as Fetched, UrlId};
use rayon::prelude::*;

use super::labelled::{LabelledWeb, share};
use super::{Experiment, ExperimentError, Outcome};

/// Makes all crawls of an experiment, on all cores; `done` is told of each as it ends. What comes back is in the order
/// of topics, strategies and samples.
pub fn run(
    experiment: &Experiment,
    done: &(dyn Fn(&Outcome) + Sync),
) -> Result<Vec<Outcome>, ExperimentError> {
    let web = pollster::block_on(LabelledWeb::open(experiment))?;
    let mut crawls = Vec::new();
    for topic in &experiment.topics {
        web.tree.find(topic)?;
        for strategy in &experiment.strategies {
            crawls.extend((0..experiment.samples).map(|sample| (topic, strategy, sample)));
        }
    }
    let one = |&(topic, strategy, sample): &(&String, &String, u32)| {
        let outcome = crawl(experiment, &web, topic, strategy, sample)?;
        done(&outcome);
        Ok(outcome)
    };
    crawls.par_iter().map(one).collect()
}

fn crawl(
    experiment: &Experiment,
    web: &LabelledWeb,
    topic: &str,
    strategy: &str,
    sample: u32,
) -> Result<Outcome, ExperimentError> {
    let mut tree = web.tree.clone();
    let id = tree.find(topic)?;
    tree.mark(id)?;
    let pages = web.pages(id);
    let starts = starts(experiment, web, topic, &pages, sample)?;
    let reachable = web.reachable(&starts);
    let wanted: HashSet<UrlId> = pages.iter().map(|url| url.id()).collect();
    let mut tally = Tally::new(web, &starts, wanted, &reachable, &experiment.at);
    let scratch = tempfile::tempdir().map_err(ExperimentError::Scratch)?;
    let store = SqliteStore::open(scratch.path().join("crawl.db"));
    let mut store = store.map_err(porthole_crawl::CrawlError::from)?;
    let clock = ManualClock::default();
    let critic = Critic::new(web.model.clone(), &tree);
    let seed = experiment.seed.wrapping_add(u64::from(sample));
    let (name, has_hubs) = with_hubs(strategy);
    let aim = Aim::new(&tree, Some(critic.clone()), seed);
    let strategy_now = porthole_strategy::named(name, &aim).expect("the experiment was checked");
    let focus = Focus { judge: Box::new(critic), strategy: strategy_now, marks: tree.marks() };
    let started = cpu_ms();
    let mut crawl = Crawl::new(&web.web, &mut store, &clock)?.focused(focus);
    if has_hubs {
        crawl = crawl.distilling(DISTILLING)?;
    }
    crawl.start(&starts.iter().map(|url| (*url).clone()).collect::<Vec<_>>())?;
    let most = experiment.at.iter().copied().max().unwrap_or(0);
    let mut stop = Stop::Limit;
    // Pages that do not count are fetched on top of those that do.
    while tally.fetched < most && stop == Stop::Limit {
        let limits = Limits { fetches: most - tally.fetched, ..Limits::default() };
        stop = pollster::block_on(crawl.run(limits, &mut |seen: Seen<'_>| {
            tally.add(&seen);
            ControlFlow::Continue(())
        }))?;
    }
    drop(crawl);
    Ok(Outcome {
        topic: topic.to_owned(),
        strategy: strategy.to_owned(),
        sample,
        fetched: tally.fetched,
        harvest: tally.shares(|at, found| found as f64 / at as f64),
        recall: tally.shares(|_, found| found as f64 / tally.wanted.len().max(1) as f64),
        cpu_ms: cpu_ms() - started,
        stop: if stop == Stop::Limit { "limit" } else { "exhausted" },
    })
}

/// On a web of some thousand pages, oftener than on the open one.
const DISTILLING: DistillSettings = DistillSettings {
    every: 100,
    growth: 0.5,
    least: 50,
    rho: 0.15,
    psi: 0.9,
    raised: 20,
    revisits: 0,
    rest: 0,
    site: SiteBy::Host,
};

/// A strategy's name without `+hubs`, and whether it had that: what great hubs link to comes first then.
pub(super) fn with_hubs(strategy: &str) -> (&str, bool) {
    match strategy.strip_suffix("+hubs") {
        Some(name) => (name, true),
        None => (strategy, false),
    }
}

/// Start pages: of the topic, not trained on, drawn by the seed and the number of the sample.
fn starts<'a>(
    experiment: &Experiment,
    web: &LabelledWeb,
    topic: &str,
    pages: &[&'a CanonicalUrl],
    sample: u32,
) -> Result<Vec<&'a CanonicalUrl>, ExperimentError> {
    let mut free: Vec<&CanonicalUrl> =
        pages.iter().copied().filter(|url| !web.trained_on.contains(&url.id())).collect();
    if free.len() < experiment.start {
        let (topic, pages, start) = (topic.to_owned(), free.len(), experiment.start);
        return Err(ExperimentError::TooFewStarts { topic, pages, start });
    }
    let seed = experiment.seed ^ (u64::from(sample) + 1) << 32;
    free.sort_by(|a, b| share(a, seed).total_cmp(&share(b, seed)));
    free.truncate(experiment.start);
    Ok(free)
}

/// Counts what a crawl brings, by the truth.
struct Tally<'a> {
    /// Trained on, or started from.
    uncounted: HashSet<UrlId>,
    /// Pages of the topic that count and can be reached.
    wanted: HashSet<UrlId>,
    at: &'a [u64],
    fetched: u64,
    found: u64,
    /// What had been found after so many fetches.
    found_at: BTreeMap<u64, u64>,
}

impl<'a> Tally<'a> {
    fn new(
        web: &LabelledWeb,
        starts: &[&CanonicalUrl],
        mut wanted: HashSet<UrlId>,
        reachable: &HashSet<UrlId>,
        at: &'a [u64],
    ) -> Self {
        let mut uncounted = web.trained_on.clone();
        uncounted.extend(starts.iter().map(|url| url.id()));
        wanted.retain(|id| reachable.contains(id) && !uncounted.contains(id));
        Tally { uncounted, wanted, at, fetched: 0, found: 0, found_at: BTreeMap::new() }
    }

    fn add(&mut self, seen: &Seen<'_>) {
        // What leads out of the recording would have been a page on the web that was recorded: it tells nothing.
        if self.uncounted.contains(&seen.url.id()) || seen.result.outcome != Fetched::Fetched {
            return;
        }
        self.fetched += 1;
        self.found += u64::from(self.wanted.contains(&seen.url.id()));
        if self.at.contains(&self.fetched) {
            self.found_at.insert(self.fetched, self.found);
        }
    }

    /// At every measure; a crawl that ended before has found what it has found.
    fn shares(&self, share: impl Fn(u64, u64) -> f64) -> BTreeMap<u64, f64> {
        let found = |at: &u64| self.found_at.get(at).copied().unwrap_or(self.found);
        self.at.iter().map(|at| (*at, share(*at, found(at)))).collect()
    }
}

/// CPU that this thread has used, in milliseconds; 0 where the system does not tell.
fn cpu_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) / 1e6
}
