//! What crawls are worth by the ranks of P 4, for all crawls with the same task from the same starts.
//!
//! The description of a topic is the text of its pages that the independent critic was trained on: the one that guides has
//! not seen them, no start page is among them, and no strategy is handed more than an `Aim`, which does not have them. They
//! are not ranked themselves, since what is like them would be.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use porthole_distill::{Graph, Node, PageRankOptions, page_rank};
use porthole_types::{CanonicalUrl, TermId, UrlId};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::folder::Results;
use super::labelled::{Counts, LabelledWeb};
use super::plan::{StrategyName, Task};
use super::run::Lab;
use super::studies::Findings;
use super::target::Target;
use super::trace::{Label, Outcome, rounded};
use super::{ExperimentError, Plan};
use crate::measures::moments;
use crate::measures::ranks::{self, contained, covered, mean_rank, similarities};

/// The word for it in experiments.
pub(super) const NAME: &str = "ranks";

/// How many of the best pages are looked for.
const TOP: [u32; 6] = [5, 10, 20, 50, 100, 200];

/// What crawls are worth by ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ranked {
    /// How many of the best pages are looked for in the static scheme.
    pub top: Vec<u32>,
    /// After how many fetches ranks are averaged in the dynamic one.
    pub moments: Vec<u64>,
    /// The crawls.
    pub crawls: Vec<RankedCrawl>,
}

/// What a crawl is worth by ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankedCrawl {
    /// The topic.
    pub topic: String,
    /// The strategy.
    pub strategy: String,
    /// The number of the draw of starts.
    pub sample: u32,
    /// Where it started.
    pub task: Task,
    /// Pages that were ranked: all that count of all crawls with this task from the same starts.
    pub pages: u32,
    /// By rank_SMART.
    pub lexical: Quality,
    /// By rank_KW,PR.
    pub linkage: Quality,
    /// Share of the examples that it has, moment by moment.
    pub examples: Vec<f64>,
}

/// What a crawl is worth by one rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Share of the best so many pages that it has in the end, size by size.
    pub coverage: Vec<f64>,
    /// The mean rank of what it has, moment by moment, until it ends.
    pub mean_rank: Vec<f64>,
}

/// Ranks what the crawls of an experiment brought.
pub(super) fn study(
    lab: &Lab,
    results: &Results,
    tell: &mut dyn FnMut(&str),
) -> Result<Findings, ExperimentError> {
    tell("reading the crawls");
    let crawls = results.outcomes.iter().map(|outcome| Fetched::read(results, outcome));
    let crawls = crawls.collect::<Result<Vec<Fetched>, _>>()?;
    tell("ranking the pages");
    let ranked = ranked(lab, &crawls)?;
    let failed = |error: serde_json::Error| ExperimentError::Study { name: NAME, source: error.into() };
    Ok(Findings { numbers: serde_json::to_string(&ranked).map_err(failed)?, drawing: None })
}

fn ranked(lab: &Lab, crawls: &[Fetched]) -> Result<Ranked, ExperimentError> {
    let all = crawls.iter().flat_map(|crawl| crawl.pages.iter().map(|(id, _)| *id));
    let importance = importance(&lab.web, &all.collect())?;
    let mut pools: BTreeMap<(&str, Task, u32), Vec<&Fetched>> = BTreeMap::new();
    for crawl in crawls {
        let name: StrategyName = crawl.plan.strategy.parse().expect("the experiment was checked");
        if let Some(task) = name.task() {
            pools.entry((&crawl.plan.topic, task, crawl.plan.sample)).or_default().push(crawl);
        }
    }
    let moments = moments(lab.experiment().budget());
    let pools: Vec<_> = pools.into_iter().collect();
    let each = pools.par_iter().map(|((topic, task, _), crawls)| {
        let target =
            lab.targets.iter().find(|target| target.topic == *topic).expect("a topic of the experiment");
        let pool = Pool::of(&lab.web, target, crawls, &importance);
        crawls.iter().map(|crawl| pool.worth(crawl, *task, &moments)).collect::<Vec<_>>()
    });
    let crawls = each.collect::<Vec<_>>().concat();
    Ok(Ranked { top: TOP.to_vec(), moments, crawls })
}

/// What a crawl fetched.
struct Fetched {
    plan: Plan,
    /// The pages, in their order, and whether they count.
    pages: Vec<(UrlId, bool)>,
}

impl Fetched {
    fn read(results: &Results, outcome: &Outcome) -> Result<Self, ExperimentError> {
        let Outcome { topic, strategy, sample, .. } = outcome;
        let trace = results.trace(topic, strategy, *sample)?;
        let came = trace.steps.iter().filter(|step| step.label != Label::None);
        let page =
            |step: &super::Step| Some((CanonicalUrl::parse(&step.url).ok()?.id(), step.label.counts()));
        let plan = Plan { topic: topic.clone(), strategy: strategy.clone(), sample: *sample };
        Ok(Fetched { plan, pages: came.filter_map(page).collect() })
    }

    fn counted(&self) -> impl Iterator<Item = UrlId> {
        self.pages.iter().filter(|(_, counts)| *counts).map(|(id, _)| *id)
    }
}

/// The PageRank of all pages that were fetched by anybody for any topic, by the links between them (P 4.2).
pub(super) fn importance(
    web: &LabelledWeb,
    pages: &BTreeSet<UrlId>,
) -> Result<HashMap<UrlId, f64>, ExperimentError> {
    let numbers: HashMap<UrlId, u32> = pages.iter().copied().zip(0..).collect();
    let mut links = Vec::new();
    for (page, from) in &numbers {
        let targets = web.links.get(page).into_iter().flatten();
        links.extend(targets.filter_map(|target| Some((*from, *numbers.get(&web.end(*target))?))));
    }
    let nodes = vec![Node { site: 0, relevance: 0.0, fetched: true }; pages.len()];
    let failed = |error: porthole_distill::Error| ExperimentError::Study { name: NAME, source: error.into() };
    let graph = Graph::new(&nodes, &links, |link| *link).map_err(failed)?;
    let ranks = page_rank(&graph, &PageRankOptions::default()).map_err(failed)?.ranks;
    Ok(pages.iter().copied().zip(ranks).collect())
}

/// The pages of all crawls with one task from the same starts, ranked.
struct Pool<'a> {
    lexical: HashMap<UrlId, u32>,
    linkage: HashMap<UrlId, u32>,
    target: &'a Target,
}

impl<'a> Pool<'a> {
    fn of(
        web: &LabelledWeb,
        target: &'a Target,
        crawls: &[&Fetched],
        importance: &HashMap<UrlId, f64>,
    ) -> Self {
        let described: HashSet<UrlId> = described(web, target).collect();
        let ids: BTreeSet<UrlId> = crawls.iter().flat_map(|crawl| crawl.counted()).collect();
        let read = ids.into_iter().filter(|id| !described.contains(id));
        let (ids, texts): (Vec<UrlId>, Vec<&ranks::Counts>) =
            read.filter_map(|id| Some((id, web.counts.get(&id)?.as_slice()))).unzip();
        let keywords = target.aim(0).keywords;
        let linkage = ids.iter().zip(&texts).map(|(id, text)| (contained(&keywords, text), importance[id]));
        let place = |ranks: Vec<u32>| ids.iter().copied().zip(ranks).collect();
        Pool {
            lexical: place(ranks::ranks(&similarities(&description(web, target), &texts))),
            linkage: place(ranks::ranks(&linkage.collect::<Vec<_>>())),
            target,
        }
    }

    fn worth(&self, crawl: &Fetched, task: Task, moments: &[u64]) -> RankedCrawl {
        let counted: Vec<UrlId> = crawl.counted().collect();
        let pages = self.lexical.len() as u32;
        let quality = |ranks: &HashMap<UrlId, u32>| {
            let fetches: Vec<Option<u32>> = counted.iter().map(|id| ranks.get(id).copied()).collect();
            let own: Vec<u32> = fetches.iter().copied().flatten().collect();
            let until = moments.iter().take_while(|moment| **moment <= counted.len() as u64);
            Quality {
                coverage: TOP.iter().map(|n| rounded(covered(&own, *n, pages))).collect(),
                mean_rank: until.map(|n| rounded(mean_rank(&fetches, *n).unwrap_or(0.0))).collect(),
            }
        };
        let examples = self.target.starts(crawl.plan.sample, None);
        let examples: HashSet<UrlId> = examples.into_iter().map(CanonicalUrl::id).collect();
        let has = |n: u64| {
            let first = counted.iter().take(usize::try_from(n).unwrap_or(usize::MAX));
            first.filter(|id| examples.contains(id)).count() as f64 / examples.len().max(1) as f64
        };
        let Plan { topic, strategy, sample } = crawl.plan.clone();
        RankedCrawl {
            topic,
            strategy,
            sample,
            task,
            pages,
            lexical: quality(&self.lexical),
            linkage: quality(&self.linkage),
            examples: moments.iter().map(|n| rounded(has(*n))).collect(),
        }
    }
}

/// The pages of the topic that are its description.
pub(super) fn described<'a>(web: &'a LabelledWeb, target: &'a Target) -> impl Iterator<Item = UrlId> + 'a {
    target.pages.iter().copied().filter(|id| web.independent_of.contains(id) && !web.trained_on.contains(id))
}

/// The description of a topic (P 2.1), for evaluation only.
pub(super) fn description(web: &LabelledWeb, target: &Target) -> Counts {
    let mut counts: BTreeMap<TermId, u32> = BTreeMap::new();
    for (term, count) in described(web, target).filter_map(|id| web.counts.get(&id)).flatten() {
        *counts.entry(*term).or_default() += count;
    }
    counts.into_iter().collect()
}
