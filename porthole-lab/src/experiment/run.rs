//! The crawls of an experiment.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use porthole_crawl::{Crawl, CrawlError, DistillSettings, Engine, Focus, Limits, Seen, SiteBy, Snapshot};
use porthole_store::{SqliteStore, WorkspaceWriter};
use porthole_strategy::apprentice::Lessons;
use porthole_types::{CanonicalUrl, ManualClock, UrlId};
use rayon::prelude::*;

use super::apprentice;
use super::facts::WebFacts;
use super::folder::Folder;
use super::informed::{Informant, Informed};
use super::knowledge::{self, Knowledge, Restriction};
use super::labelled::LabelledWeb;
use super::neighbours::InLinks;
use super::pace::PacedWeb;
use super::plan::StrategyName;
use super::tally::FetchTally;
use super::target::CrawlTarget;
use super::trace::{CrawlSummary, Trace, rounded};
use super::{CrawlPlan, Experiment, ExperimentError};

/// An experiment ready to run: the web is read, the critics are trained, every page is judged.
pub struct PreparedExperiment {
    experiment: Experiment,
    pub(super) web: LabelledWeb,
    pub(super) targets: Vec<CrawlTarget>,
    /// Only if a strategy starts from neighbours.
    neighbourhood: Option<InLinks>,
}

impl PreparedExperiment {
    /// Prepares an experiment.
    pub fn new(experiment: Experiment) -> Result<Self, ExperimentError> {
        let web = LabelledWeb::open(&experiment)?;
        let targets = experiment.topics.iter().map(|topic| CrawlTarget::new(&experiment, &web, topic));
        let targets = targets.collect::<Result<_, _>>()?;
        let names = experiment.strategies.iter().filter_map(|name| name.parse::<StrategyName>().ok());
        let neighbourhood = names.into_iter().any(|name| name.neighbours).then(|| InLinks::of(&web));
        let lab = PreparedExperiment { experiment, web, targets, neighbourhood };
        lab.check_neighbours()?;
        Ok(lab)
    }

    fn check_neighbours(&self) -> Result<(), ExperimentError> {
        let Some(around) = &self.neighbourhood else { return Ok(()) };
        for target in &self.targets {
            if let Some(sample) =
                (0..self.experiment.samples).find(|sample| target.neighbours(around, *sample).is_empty())
            {
                return Err(ExperimentError::NoNeighbours { topic: target.topic.clone(), sample });
            }
        }
        Ok(())
    }

    /// Start pages of a crawl.
    fn starts(&self, target: &CrawlTarget, sample: u32, name: &StrategyName) -> Vec<CanonicalUrl> {
        let mut starts = match &self.neighbourhood {
            Some(around) if name.neighbours => target.neighbours(around, sample),
            _ => target.starts(sample, name.half).into_iter().cloned().collect(),
        };
        if name.neighbours
            && let Some(half) = name.half
        {
            starts.retain(|url| half.has(url));
        }
        starts
    }

    pub(super) fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    pub(super) fn target(&self, topic: &str) -> &CrawlTarget {
        let target = self.targets.iter().find(|target| target.topic == topic);
        target.expect("a topic of the experiment")
    }

    /// Facts about the web and its topics.
    pub fn facts(&self) -> WebFacts {
        WebFacts::of(&self.web, &self.targets)
    }

    /// Runs all crawls that the folder does not have yet, several at a time; `done` is called with each summary. The
    /// result is in the order of the experiment's plans.
    pub fn run(
        &self,
        folder: Option<&Folder>,
        threads: usize,
        done: &(dyn Fn(&CrawlSummary) + Sync),
    ) -> Result<Vec<CrawlSummary>, ExperimentError> {
        let plans = self.experiment.plans();
        let outcomes = in_parallel(&plans, threads, |plan| {
            let known = folder.and_then(|folder| folder.outcome(plan));
            let outcome = match known {
                Some(outcome) => outcome,
                None => {
                    let trace = self.trace(plan)?;
                    if let Some(folder) = folder {
                        folder.keep(&trace)?;
                    }
                    trace.outcome
                }
            };
            done(&outcome);
            Ok(outcome)
        })?;
        if let Some(folder) = folder {
            folder.finish(&outcomes, &self.facts())?;
        }
        Ok(outcomes)
    }

    /// Runs one crawl.
    pub fn trace(&self, plan: &CrawlPlan) -> Result<Trace, ExperimentError> {
        let target = self.target(&plan.topic);
        let name: StrategyName = plan.strategy.parse().expect("the experiment was checked");
        let within = match &name.within {
            // Deterministic: repeating the baseline's crawl gives the same result.
            Some(baseline) => Some(self.crawl(plan, target, baseline, None)?.tally.urls()),
            None => None,
        };
        let crawled = self.crawl(plan, target, &name, within)?;
        let starts = self.starts(target, plan.sample, &name);
        let mut wanted = target.pages.clone();
        let reachable = self.web.reachable(&starts);
        let is_start = |id: &UrlId| starts.iter().any(|url| url.id() == *id);
        wanted.retain(|id| reachable.contains(id) && !self.web.trained_on.contains(id) && !is_start(id));
        if let Some(half) = name.half {
            wanted.retain(|id| self.web.topics.get(id).is_some_and(|(url, _)| half.has(url)));
        }
        let steps = crawled.tally.steps;
        let outcome = CrawlSummary::of(&self.experiment, plan, &steps, wanted.len() as u64);
        let outcome = CrawlSummary { cpu_ms: rounded(crawled.cpu_ms), ..outcome };
        Ok(Trace { outcome, steps, authorities: crawled.authorities })
    }

    /// Lessons that an apprentice learns from the pages that its teacher fetches from the same start pages (A 3.5).
    fn lessons(
        &self,
        plan: &CrawlPlan,
        target: &CrawlTarget,
        apprentice: &str,
        teacher: &StrategyName,
    ) -> Result<Option<Lessons>, ExperimentError> {
        let steps = self.crawl(plan, target, teacher, None)?.tally.steps;
        Ok(apprentice::taught(apprentice, target, &self.pages(target, &steps)))
    }

    pub(super) fn crawl<'a>(
        &'a self,
        plan: &CrawlPlan,
        target: &'a CrawlTarget,
        name: &StrategyName,
        within: Option<HashSet<UrlId>>,
    ) -> Result<Crawled<'a>, ExperimentError> {
        let failed = |source: CrawlError| ExperimentError::Crawl { plan: plan.to_string(), source };
        let starts = self.starts(target, plan.sample, name);
        let mut tally = FetchTally::new(&self.web, target, &starts);
        let scratch = scratch().map_err(ExperimentError::Scratch)?;
        let store = SqliteStore::open(scratch.path().join("crawl.db"));
        let mut store = store.map_err(CrawlError::from).map_err(failed)?;
        let seed = self.experiment.seed.wrapping_add(u64::from(plan.sample));
        let lessons = name.teacher.as_ref().map(|teacher| self.lessons(plan, target, &name.name, teacher));
        let known = Knowledge { seed, web: &self.web, target, lessons: lessons.transpose()?.flatten() };
        let strategy = knowledge::strategy(&name.name, &known).expect("the experiment was checked");
        let strategy = match name.informed == Informed::default() {
            true => strategy,
            false => Informant::of(strategy, name.informed, target),
        };
        let strategy = match within {
            Some(allowed) => Restriction::of(strategy, Box::new(move |url| allowed.contains(&url.id()))),
            None => strategy,
        };
        let strategy = match name.half {
            Some(half) => Restriction::of(strategy, Box::new(move |url| half.has(url))),
            None => strategy,
        };
        let focus = Focus { judge: target.judge(), strategy, marks: target.marks.clone() };
        let clock = ManualClock::default();
        let began = cpu_ms();
        let pace = name.pace.apply(self.experiment.pace.as_ref());
        let paced = pace.as_ref().map(|pace| PacedWeb { web: &self.web.web, pace, seed });
        let crawl = match &paced {
            None => Crawl::new(&self.web.web, &mut store, &clock),
            Some(web) => Crawl::new(web, &mut store, &clock)
                .map(|crawl| crawl.polite(web.pace.politeness(), "porthole")),
        };
        let mut crawl = crawl.map_err(failed)?.focused(focus);
        if name.hubs {
            crawl = crawl.distilling(DISTILLING).map_err(failed)?;
        }
        let first = name.starts.unwrap_or(starts.len()).min(starts.len());
        crawl.start(&starts[..first]).map_err(failed)?;
        // The recall crawler runs until it has fetched everything that its baseline fetched.
        let budget = if name.within.is_some() { u64::MAX } else { self.experiment.budget() };
        // No limit in the crawl itself: pages that do not count are fetched in addition.
        let mut observe = |seen: Seen<'_>| {
            tally.add(&seen);
            if tally.counted < budget { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        match &pace {
            None => pollster::block_on(crawl.run(Limits::default(), &mut observe)).map_err(failed)?,
            Some(pace) => crawl.run_simulated(pace.limits(budget), &clock, &mut observe).map_err(failed)?,
        };
        drop(crawl);
        let cpu_ms = cpu_ms() - began;
        let best = best_authorities(&store).map_err(failed)?;
        let authorities = tally.authorities(&best, AUTHORITIES);
        Ok(Crawled { tally, authorities, cpu_ms })
    }
}

/// Result of a crawl.
pub(super) struct Crawled<'a> {
    pub(super) tally: FetchTally<'a>,
    authorities: Vec<super::Authority>,
    cpu_ms: f64,
}

/// Number of best authorities that are kept (W 4.5).
const AUTHORITIES: usize = 100;

/// More frequent than on the open web, because the web has only some thousand pages.
const DISTILLING: DistillSettings = DistillSettings {
    every: 100,
    growth: 0.5,
    least: 50,
    links: u64::MAX,
    rho: 0.15,
    psi: 0.9,
    raised: 20,
    revisits: 0,
    rest: 0,
    site: SiteBy::Host,
};

fn best_authorities(store: &SqliteStore) -> Result<Vec<(UrlId, f64)>, CrawlError> {
    let snapshot = Snapshot::read(&*store.reader())?;
    let scores = snapshot.scores(DISTILLING.rho, Engine::Native)?;
    Ok(snapshot.stored(&scores.authorities))
}

/// A temporary folder for a crawl's database, in memory if the system has such a folder.
fn scratch() -> std::io::Result<tempfile::TempDir> {
    let memory = PathBuf::from("/dev/shm");
    match tempfile::tempdir_in(memory) {
        Ok(folder) => Ok(folder),
        Err(_) => tempfile::tempdir(),
    }
}

/// Processes all items, several at a time, on dedicated threads: a crawl may use rayon itself. The first error stops
/// everything.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> Result<R, ExperimentError> + Sync,
) -> Result<Vec<R>, ExperimentError> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { return };
                    let result = work(item);
                    failed.fetch_or(result.is_err(), Ordering::Relaxed);
                    results.lock().expect("no thread has panicked").push((at, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no thread has panicked");
    results.par_sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// CPU time of this thread in milliseconds; 0 if the system does not provide it.
pub(super) fn cpu_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) / 1e6
}
