//! Quality of crawls by the ranks of P 4, for all crawls with the same task from the same starts.
//!
//! The description of a topic is the text of its pages that the independent critic was trained on: the guiding critic
//! has not seen them, no start page is among them, and strategies only get a `CrawlGoal`, which does not contain them.
//! They are not ranked themselves, because they would rank first.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use porthole_distill::{DistillGraph, DistillNode, PageRankOptions, page_rank};
use porthole_types::{CanonicalUrl, TermId, UrlId};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::folder::Results;
use super::labelled::{LabelledWeb, PageTerms};
use super::plan::{StrategyName, Task};
use super::run::PreparedExperiment;
use super::studies::Findings;
use super::target::CrawlTarget;
use super::trace::{CrawlSummary, FetchLabel, rounded};
use super::{CrawlPlan, ExperimentError};
use crate::measures::moments;
use crate::measures::ranks::{self, contained, covered, mean_rank, similarities};

/// Name of the study in experiments.
pub(super) const NAME: &str = "ranks";

/// Numbers of best pages in the static scheme.
const TOP: [u32; 6] = [5, 10, 20, 50, 100, 200];

/// Results of the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankStudy {
    /// Numbers of best pages in the static scheme.
    pub top: Vec<u32>,
    /// Numbers of fetches at which ranks are averaged in the dynamic scheme.
    pub moments: Vec<u64>,
    /// The crawls.
    pub crawls: Vec<RankedCrawl>,
}

/// Quality of a crawl by ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankedCrawl {
    /// The topic.
    pub topic: String,
    /// The strategy.
    pub strategy: String,
    /// Number of the sample.
    pub sample: u32,
    /// Task of the crawl.
    pub task: Task,
    /// Number of ranked pages: all counted pages of all crawls with this task from the same starts.
    pub pages: u32,
    /// By rank_SMART.
    pub lexical: Quality,
    /// By rank_KW,PR.
    pub linkage: Quality,
    /// Share of the examples that were fetched, by moment.
    pub examples: Vec<f64>,
}

/// Quality of a crawl by one rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Share of the best pages that it fetched in total, by number of best pages.
    pub coverage: Vec<f64>,
    /// Mean rank of the fetched pages, by moment, until the crawl ends.
    pub mean_rank: Vec<f64>,
}

/// Ranks the pages of an experiment's crawls.
pub(super) fn study(
    lab: &PreparedExperiment,
    results: &Results,
    tell: &mut dyn FnMut(&str),
) -> Result<Findings, ExperimentError> {
    tell("reading the crawls");
    let crawls = results.outcomes.iter().map(|outcome| FetchedPages::read(results, outcome));
    let crawls = crawls.collect::<Result<Vec<FetchedPages>, _>>()?;
    tell("ranking the pages");
    let ranked = ranked(lab, &crawls)?;
    let failed = |error: serde_json::Error| ExperimentError::Study { name: NAME, source: error.into() };
    Ok(Findings { numbers: serde_json::to_string(&ranked).map_err(failed)?, drawing: None })
}

fn ranked(lab: &PreparedExperiment, crawls: &[FetchedPages]) -> Result<RankStudy, ExperimentError> {
    let all = crawls.iter().flat_map(|crawl| crawl.pages.iter().map(|(id, _)| *id));
    let importance = importance(&lab.web, &all.collect())?;
    let mut pools: BTreeMap<(&str, Task, u32), Vec<&FetchedPages>> = BTreeMap::new();
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
        let pool = RankedPool::of(&lab.web, target, crawls, &importance);
        crawls.iter().map(|crawl| pool.worth(crawl, *task, &moments)).collect::<Vec<_>>()
    });
    let crawls = each.collect::<Vec<_>>().concat();
    Ok(RankStudy { top: TOP.to_vec(), moments, crawls })
}

/// Pages fetched by a crawl.
struct FetchedPages {
    plan: CrawlPlan,
    /// The pages in order, and whether they count.
    pages: Vec<(UrlId, bool)>,
}

impl FetchedPages {
    fn read(results: &Results, outcome: &CrawlSummary) -> Result<Self, ExperimentError> {
        let CrawlSummary { topic, strategy, sample, .. } = outcome;
        let trace = results.trace(topic, strategy, *sample)?;
        let pages = trace.steps.iter().filter(|step| step.label != FetchLabel::None);
        let page =
            |step: &super::FetchStep| Some((CanonicalUrl::parse(&step.url).ok()?.id(), step.label.counts()));
        let plan = CrawlPlan { topic: topic.clone(), strategy: strategy.clone(), sample: *sample };
        Ok(FetchedPages { plan, pages: pages.filter_map(page).collect() })
    }

    fn counted(&self) -> impl Iterator<Item = UrlId> {
        self.pages.iter().filter(|(_, counts)| *counts).map(|(id, _)| *id)
    }
}

/// PageRank of all pages fetched by any crawl for any topic, by the links between them (P 4.2).
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
    let nodes = vec![DistillNode { site: 0, relevance: 0.0, fetched: true }; pages.len()];
    let failed = |error: porthole_distill::Error| ExperimentError::Study { name: NAME, source: error.into() };
    let graph = DistillGraph::new(&nodes, &links, |link| *link).map_err(failed)?;
    let ranks = page_rank(&graph, &PageRankOptions::default()).map_err(failed)?.ranks;
    Ok(pages.iter().copied().zip(ranks).collect())
}

/// The ranked pages of all crawls with one task from the same starts.
struct RankedPool<'a> {
    lexical: HashMap<UrlId, u32>,
    linkage: HashMap<UrlId, u32>,
    target: &'a CrawlTarget,
}

impl<'a> RankedPool<'a> {
    fn of(
        web: &LabelledWeb,
        target: &'a CrawlTarget,
        crawls: &[&FetchedPages],
        importance: &HashMap<UrlId, f64>,
    ) -> Self {
        let described: HashSet<UrlId> = described(web, target).collect();
        let ids: BTreeSet<UrlId> = crawls.iter().flat_map(|crawl| crawl.counted()).collect();
        let read = ids.into_iter().filter(|id| !described.contains(id));
        let (ids, texts): (Vec<UrlId>, Vec<&ranks::TermCountSlice>) =
            read.filter_map(|id| Some((id, web.counts.get(&id)?.as_slice()))).unzip();
        let keywords = target.goal(0).keywords;
        let linkage = ids.iter().zip(&texts).map(|(id, text)| (contained(&keywords, text), importance[id]));
        let place = |ranks: Vec<u32>| ids.iter().copied().zip(ranks).collect();
        RankedPool {
            lexical: place(ranks::ranks(&similarities(&description(web, target), &texts))),
            linkage: place(ranks::ranks(&linkage.collect::<Vec<_>>())),
            target,
        }
    }

    fn worth(&self, crawl: &FetchedPages, task: Task, moments: &[u64]) -> RankedCrawl {
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
        let CrawlPlan { topic, strategy, sample } = crawl.plan.clone();
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

/// The pages whose text is the description of the topic.
pub(super) fn described<'a>(
    web: &'a LabelledWeb,
    target: &'a CrawlTarget,
) -> impl Iterator<Item = UrlId> + 'a {
    target.pages.iter().copied().filter(|id| web.independent_of.contains(id) && !web.trained_on.contains(id))
}

/// The description of a topic (P 2.1), for evaluation only.
pub(super) fn description(web: &LabelledWeb, target: &CrawlTarget) -> PageTerms {
    let mut counts: BTreeMap<TermId, u32> = BTreeMap::new();
    for (term, count) in described(web, target).filter_map(|id| web.counts.get(&id)).flatten() {
        *counts.entry(*term).or_default() += count;
    }
    counts.into_iter().collect()
}
