//! A topic to search for, with everything that is the same in every crawl for it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use porthole_page::Page;
use porthole_strategy::CrawlGoal;
use porthole_topic::{Critic, JudgeError, RelevanceJudge, Taxonomy};
use porthole_types::{CanonicalUrl, Judgment, Mark, UrlId};
use rayon::prelude::*;

use super::labelled::{LabelledWeb, share};
use super::neighbours::InLinks;
use super::plan::Half;
use super::{Experiment, ExperimentError};

pub(super) struct CrawlTarget {
    pub(super) topic: String,
    /// Tree in which the topic is marked good.
    pub(super) tree: Taxonomy,
    pub(super) marks: Vec<Mark>,
    /// The pages about it.
    pub(super) pages: HashSet<UrlId>,
    /// Pages about the topic that no critic was trained on, in the order in which start pages are drawn.
    free: Vec<CanonicalUrl>,
    critic: Critic,
    judgments: Arc<HashMap<UrlId, Judgment>>,
    /// R by the independent critic, of pages that it was not trained on.
    pub(super) independent: HashMap<UrlId, f64>,
    seed: u64,
    start: usize,
}

impl CrawlTarget {
    pub(super) fn new(
        experiment: &Experiment,
        web: &LabelledWeb,
        topic: &str,
    ) -> Result<Self, ExperimentError> {
        let mut tree = web.tree.clone();
        let id = tree.find(topic)?;
        tree.mark(id)?;
        let pages = web.pages(id);
        let is_free = |url: &&CanonicalUrl| {
            !web.trained_on.contains(&url.id()) && !web.independent_of.contains(&url.id())
        };
        let mut free: Vec<CanonicalUrl> = pages.iter().copied().filter(is_free).cloned().collect();
        free.sort_unstable();
        let needed = if experiment.samples > 1 { 2 * experiment.start } else { experiment.start };
        if free.len() < needed {
            let (topic, pages) = (topic.to_owned(), free.len());
            return Err(ExperimentError::TooFewStarts { topic, pages, needed });
        }
        let (critic, judgments) = judged(web, &tree, &web.guide(&tree), &|_| true);
        let (_, independent) = judged(web, &tree, &web.independent, &|id| !web.independent_of.contains(id));
        Ok(CrawlTarget {
            topic: topic.to_owned(),
            marks: tree.marks(),
            tree,
            pages: pages.iter().map(|url| url.id()).collect(),
            free,
            critic,
            judgments: Arc::new(judgments),
            independent: independent.into_iter().map(|(id, judgment)| (id, judgment.relevance)).collect(),
            seed: experiment.seed,
            start: experiment.start,
        })
    }

    /// The start pages of a sample: about the topic, not trained on. Samples 0 and 1 have none in common, nor have 2
    /// and 3, and so on.
    pub(super) fn starts(&self, sample: u32, half: Option<Half>) -> Vec<&CanonicalUrl> {
        let seed = self.seed_of(sample);
        let is_there = |url: &&CanonicalUrl| half.is_none_or(|half| half.has(url));
        let mut drawn: Vec<&CanonicalUrl> = self.free.iter().filter(is_there).collect();
        drawn.sort_by(|a, b| share(a, seed).total_cmp(&share(b, seed)));
        let from = if sample.is_multiple_of(2) { 0 } else { self.start };
        // Half of the hosts may have fewer pages.
        drawn.into_iter().skip(from).take(self.start).collect()
    }

    /// Start pages of a sample's crawls that start from neighbours.
    pub(super) fn neighbours(&self, around: &InLinks, sample: u32) -> Vec<CanonicalUrl> {
        around.around(&self.starts(sample, None), self.seed_of(sample) ^ u64::from(sample))
    }

    fn seed_of(&self, sample: u32) -> u64 {
        self.seed ^ (u64::from(sample / 2) + 1) << 32
    }

    /// The goal given to strategies: the tree with its mark, and the critic.
    pub(super) fn goal(&self, seed: u64) -> CrawlGoal {
        CrawlGoal::new(&self.tree, Some(self.critic.clone()), seed)
    }

    /// R of a page of the web, fetched or not; `None` if there is no such page.
    pub(super) fn relevance(&self, url: UrlId) -> Option<f64> {
        self.judgments.get(&url).map(|judgment| judgment.relevance)
    }

    /// Judgments of all pages of the web by the guiding critic.
    pub(super) fn judgments(&self) -> Arc<HashMap<UrlId, Judgment>> {
        self.judgments.clone()
    }

    /// The guiding critic, with cached judgments of all pages of the web.
    pub(super) fn judge(&self) -> Box<dyn RelevanceJudge> {
        Box::new(CachedJudge { judgments: self.judgments.clone(), critic: self.critic.clone() })
    }
}

fn judged(
    web: &LabelledWeb,
    tree: &Taxonomy,
    model: &porthole_topic::CriticModel,
    is_wanted: &(dyn Fn(&UrlId) -> bool + Sync),
) -> (Critic, HashMap<UrlId, Judgment>) {
    let critic = Critic::new(model.clone(), tree);
    let pages = web.counts.par_iter().filter(|(id, _)| is_wanted(id));
    let judge = |critic: &mut Critic, (id, counts): (&UrlId, &super::labelled::PageTerms)| {
        (*id, critic.judge(counts))
    };
    let judgments = pages.map_init(|| critic.clone(), judge).collect();
    (critic, judgments)
}

/// A critic with cached judgments of known pages, which judges all others.
struct CachedJudge {
    judgments: Arc<HashMap<UrlId, Judgment>>,
    critic: Critic,
}

impl RelevanceJudge for CachedJudge {
    fn judge_page(&mut self, url: &CanonicalUrl, page: &Page) -> Result<Judgment, JudgeError> {
        match self.judgments.get(&url.id()) {
            Some(judgment) => Ok(*judgment),
            None => self.critic.judge_page(url, page),
        }
    }
}
