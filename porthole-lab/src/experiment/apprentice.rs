//! What an apprentice can learn from a crawl: how well links predict the relevance of their targets, and from which
//! offsets (A 3.4, 3.5, 3.8), and how it reorders the queue (A 3.7).

use std::collections::BTreeMap;

use porthole_crawl::{Fetch, Request};
use porthole_page::{Extractor, Page};
use porthole_strategy::apprentice::{
    Accuracy, CrawlTranscript, Encoding, Lessons, PageTopics, QueuedEstimate, TermEncoding, TopicEncoding,
};
use porthole_strategy::{SourcePage, named};
use porthole_types::{CanonicalUrl, Judgment, Mark, UrlId};
use serde::{Deserialize, Serialize};

use super::folder::Results;
use super::plan::StrategyName;
use super::run::PreparedExperiment;
use super::studies::Findings;
use super::target::CrawlTarget;
use super::trace::{FetchStep, rounded};
use super::{CrawlPlan, ExperimentError};
use crate::measures;
use porthole_report::summary::{self, mean};

/// Number of folds of a cross-validation.
pub(super) const FOLDS: u64 = 5;

/// The maximum offset of the paper, with which other features and learners are tried (A 3.8, 2.3).
pub(super) const REACH: u32 = 5;

/// Name of the study in experiments.
pub(super) const NAME: &str = "apprentice";

/// The largest maximum offset that is tried.
const FARTHEST: u32 = 8;

/// Number of bins of the queue's estimates.
const PARTS: usize = 20;

/// Results from one crawl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Apprenticeship {
    /// The topic.
    pub topic: String,
    /// Number of the sample.
    pub sample: u32,
    /// Number of fetched pages.
    pub pages: usize,
    /// Number of links between them.
    pub instances: usize,
    /// Relevance at which high begins.
    pub cut: f64,
    /// Accuracy by maximum offset (A Figs. 6 and 7).
    pub reach: Vec<AtReach>,
    /// Accuracy with more features than terms and offsets (A 3.8).
    pub features: Vec<WithFeatures>,
    /// Statistics by DOM offset (A Figs. 8 and 9).
    pub offsets: Vec<AtDistance>,
    /// The queue at the end of the crawl (A Fig. 13 a); `None` if there was too little to learn from.
    pub queue: Option<QueueEstimates>,
}

/// Accuracy at one maximum offset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtReach {
    /// d_max.
    pub d_max: u32,
    /// Share of the links to relevant pages that are predicted as such, with DOM offsets.
    pub positive: f64,
    /// Share of the links to irrelevant pages that are predicted as such.
    pub negative: f64,
    /// Share of all links that are predicted correctly.
    pub average: f64,
    /// Balanced accuracy, the mean of `positive` and `negative`, without offsets, as a plain window of text.
    pub window_balanced: f64,
}

impl AtReach {
    /// Balanced accuracy: the mean of both classes' shares. Where nearly all links lead to irrelevant pages, the share of
    /// all links says only that.
    pub fn balanced(&self) -> f64 {
        (self.positive + self.negative) / 2.0
    }
}

/// Accuracy with additional features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WithFeatures {
    /// Description of the features.
    pub features: String,
    /// Share of the links to relevant pages that are predicted as such.
    pub positive: f64,
    /// Share of the links to irrelevant pages that are predicted as such.
    pub negative: f64,
    /// Share of all links that are predicted correctly.
    pub average: f64,
}

impl WithFeatures {
    /// Balanced accuracy: the mean of both classes' shares.
    pub fn balanced(&self) -> f64 {
        (self.positive + self.negative) / 2.0
    }
}

/// Statistics at one DOM offset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtDistance {
    /// The offset.
    pub offset: i32,
    /// Mean information gain of the terms there, in bits.
    pub information_gain: f64,
    /// Sum of theta over the terms there.
    pub theta: f64,
    /// Mean number of leaves there, by the element that they are or are in.
    pub tags: BTreeMap<String, f64>,
    /// Share of the leaves there without words.
    pub without_words: f64,
    /// Share of the leaves there that are inside another link.
    pub in_links: f64,
}

/// Estimates for the URLs in the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueEstimates {
    /// Number of queued URLs that can be fetched.
    pub waiting: usize,
    /// Histogram of soft focus' estimates, from 0 to 1 in equal bins.
    pub before: Vec<u64>,
    /// Histogram of the apprentice's estimates.
    pub after: Vec<u64>,
    /// Mean estimate of soft focus.
    pub mean_before: f64,
    /// Mean estimate of the apprentice.
    pub mean_after: f64,
    /// Mean true relevance.
    pub mean_truth: f64,
    /// Rank correlation of both orders: 1 if they are equal, 0 if they are unrelated.
    pub rank_correlation: f64,
}

/// Runs the study on the baseline's crawls (A 3.4, 3.7 and 3.8).
pub(super) fn study(
    lab: &PreparedExperiment,
    results: &Results,
    tell: &mut dyn FnMut(&str),
) -> Result<Findings, ExperimentError> {
    let learnt = |plan: &CrawlPlan, steps: &[FetchStep]| lab.learnt_from(plan, steps, FARTHEST);
    Findings::of_numbers(NAME, &lab.of_baseline(results, "what links foretell", tell, learnt)?)
}

/// A page of a crawl.
pub(super) struct CrawledPage {
    url: CanonicalUrl,
    page: Page,
    judgment: Judgment,
}

impl PreparedExperiment {
    /// Crawls with the strategy of a plan, and evaluates what can be learnt from it with maximum offsets up to
    /// `farthest`.
    pub fn apprenticeship(&self, plan: &CrawlPlan, farthest: u32) -> Result<Apprenticeship, ExperimentError> {
        let target = self.target(&plan.topic);
        let name: StrategyName = plan.strategy.parse().expect("the experiment was checked");
        let steps = self.crawl(plan, target, &name, None)?.tally.steps;
        Ok(self.learnt_from(plan, &steps, farthest))
    }

    /// Evaluates how well the links of a crawl predict the relevance of their targets.
    pub(super) fn learnt_from(&self, plan: &CrawlPlan, steps: &[FetchStep], farthest: u32) -> Apprenticeship {
        let target = self.target(&plan.topic);
        let pages = self.pages(target, steps);
        let study = studied(target, &pages);
        let accuracy = |encoding: Encoding| study.accuracy(&encoding, FOLDS).unwrap_or_default();
        let at_reach = |d_max| {
            let Accuracy { positive, negative, average } =
                accuracy(Encoding::of_terms(TermEncoding::Offset, d_max));
            let window = accuracy(Encoding::of_terms(TermEncoding::Window, d_max));
            let window_balanced = rounded(window.balanced());
            let [positive, negative, average] = [positive, negative, average].map(rounded);
            AtReach { d_max, positive, negative, average, window_balanced }
        };
        let with = |(name, encoding): (&str, Encoding)| {
            let Accuracy { positive, negative, average } = accuracy(encoding);
            let [positive, negative, average] = [positive, negative, average].map(rounded);
            WithFeatures { features: name.to_owned(), positive, negative, average }
        };
        let offsets = study.by_offset(farthest).into_iter().map(|at| AtDistance {
            offset: at.offset,
            information_gain: at.information_gain,
            theta: rounded(at.theta),
            tags: at.tags.into_iter().map(|(tag, share)| (tag.to_owned(), rounded(share))).collect(),
            without_words: rounded(at.without_words),
            in_links: rounded(at.in_links),
        });
        let queue = study.queue(&Encoding::of_terms(TermEncoding::Offset, REACH));
        Apprenticeship {
            topic: plan.topic.clone(),
            sample: plan.sample,
            pages: pages.len(),
            instances: study.instances(),
            cut: study.cut(),
            reach: (0..=farthest).map(at_reach).collect(),
            features: encodings().into_iter().map(with).collect(),
            offsets: offsets.collect(),
            queue: queue.map(|queue| QueueEstimates::of(&queue, |url| target.relevance(url))),
        }
    }

    /// Reads the fetched pages again.
    pub(super) fn pages(&self, target: &CrawlTarget, steps: &[FetchStep]) -> Vec<CrawledPage> {
        let (mut extractor, mut judge) = (Extractor::default(), target.judge());
        let mut found = Vec::new();
        for step in steps.iter().filter(|step| step.relevance.is_some()) {
            let Ok(url) = CanonicalUrl::parse(&step.url) else { continue };
            let request = Request::get(url.clone());
            let Ok(response) = pollster::block_on(self.web.web.fetch(&request)) else { continue };
            let page = extractor.extract(&url, &response.headers, &response.body);
            if let Ok(judgment) = judge.judge_page(&url, &page) {
                found.push(CrawledPage { url, page, judgment });
            }
        }
        found
    }
}

/// Encodings with other features besides the terms around a link (A 3.8, 2.2.3 and 4). All terms of the page, as d =
/// infinity, are omitted, because they take longer than all the others together.
fn encodings() -> Vec<(&'static str, Encoding)> {
    let of = |terms| Encoding::of_terms(terms, REACH);
    let plain = of(TermEncoding::Offset);
    vec![
        ("terms and offsets alone", plain),
        ("and the topic of the source page", Encoding { topics: TopicEncoding::Name, ..plain }),
        ("and all prefixes of its name", Encoding { topics: TopicEncoding::Prefixes, ..plain }),
        ("and the probabilities of its topics", Encoding { classes: true, ..plain }),
        ("and what links nearby led to", Encoding { cocitation: true, ..plain }),
        ("with the way through the tree", of(TermEncoding::Way)),
        ("with the depth of the common ancestor", of(TermEncoding::Ancestor)),
    ]
}

/// The pages of a crawl and the links between them.
pub(super) fn studied(target: &CrawlTarget, pages: &[CrawledPage]) -> CrawlTranscript {
    let mut critic = target.goal(0).critic;
    let mut study = CrawlTranscript::default();
    for CrawledPage { url, page, judgment } in pages {
        let classes = critic.as_mut().map(|critic| critic.all(&page.term_counts())).unwrap_or_default();
        let topics = PageTopics {
            best: target.tree.path(judgment.best),
            classes: classes.into_iter().map(|(topic, pr)| (target.tree.path(topic), pr)).collect(),
        };
        study.add(url.id(), page, judgment.relevance, &topics);
    }
    study
}

impl QueueEstimates {
    /// Estimates for the queued URLs whose true relevance is known.
    fn of(queue: &[QueuedEstimate], truth: impl Fn(UrlId) -> Option<f64>) -> QueueEstimates {
        let known: Vec<(f64, f64, f64)> = queue
            .iter()
            .filter_map(|waiting| Some((waiting.before, waiting.after, truth(waiting.url)?)))
            .collect();
        let of = |value: fn(&(f64, f64, f64)) -> f64| known.iter().map(value).collect::<Vec<f64>>();
        let (before, after, truth) = (of(|one| one.0), of(|one| one.1), of(|one| one.2));
        QueueEstimates {
            waiting: known.len(),
            before: summary::histogram(before.iter().copied(), PARTS),
            after: summary::histogram(after.iter().copied(), PARTS),
            rank_correlation: rounded(measures::rank_correlation(&before, &after)),
            mean_before: rounded(mean(before)),
            mean_after: rounded(mean(after)),
            mean_truth: rounded(mean(truth)),
        }
    }
}

/// Lessons that an apprentice learns from given pages.
pub(super) fn taught(apprentice: &str, target: &CrawlTarget, pages: &[CrawledPage]) -> Option<Lessons> {
    let mut strategy = named(apprentice, &target.goal(0)).ok()?;
    for CrawledPage { url, page, judgment } in pages {
        let mark = target.marks.get(usize::from(judgment.best.0)).copied().unwrap_or_default();
        let on_topic = matches!(mark, Mark::Good | Mark::Subsumed);
        let source = SourcePage { url, page, judgment: *judgment, on_topic, depth: 0 };
        strategy.arrived(&source);
        for link in page.links.iter().filter(|_| !page.robots.nofollow) {
            strategy.priority(&source, link);
        }
    }
    Lessons::of_memory(&strategy.save()?).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_computed_queue_estimates() {
        let waiting = |url, before, after| QueuedEstimate { url: UrlId(url), before, after };
        let queue = [waiting(1, 0.9, 0.1), waiting(2, 0.5, 0.2), waiting(3, 0.1, 0.3), waiting(4, 1.0, 1.0)];
        // The fourth cannot be fetched.
        let truth = |url: UrlId| [0.0, 0.3, 0.6].get(url.0 as usize - 1).copied();
        let queue = QueueEstimates::of(&queue, truth);
        assert_eq!(
            (queue.waiting, queue.mean_before, queue.mean_after, queue.mean_truth),
            (3, 0.5, 0.2, 0.3)
        );
        assert_eq!(queue.rank_correlation, -1.0);
        assert_eq!((queue.before.iter().sum::<u64>(), queue.before[18], queue.after[18]), (3, 1, 0));
    }
}
