//! What an apprentice can learn from a crawl: how well links foretell what they lead to, and from where (A 3.4, 3.5, 3.8),
//! and what it makes of what still waits (A 3.7).

use std::collections::BTreeMap;

use porthole_crawl::{Fetch, Request};
use porthole_page::{Extractor, Page};
use porthole_strategy::apprentice::{Accuracy, Encoding, InQueue, Lessons, PageTopics, Study, Terms, Topics};
use porthole_strategy::{Source, named};
use porthole_types::{CanonicalUrl, Judgment, Mark, UrlId};
use serde::{Deserialize, Serialize};

use super::folder::Results;
use super::plan::StrategyName;
use super::run::Lab;
use super::studies::Findings;
use super::target::Target;
use super::trace::{Step, rounded};
use super::{ExperimentError, Plan};
use crate::measures;
use porthole_report::summary::{self, mean};

/// Parts of a cross-validation.
pub(super) const FOLDS: u64 = 5;

/// The reach of the paper, at which other features and learners are tried (A 3.8, 2.3).
pub(super) const REACH: u32 = 5;

/// The word for the study in experiments.
pub(super) const NAME: &str = "apprentice";

/// The farthest DOM offset that it looks at.
const FARTHEST: u32 = 8;

/// Parts of the estimates of what waits.
const PARTS: usize = 20;

/// What can be learnt from one crawl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Apprenticeship {
    /// The topic.
    pub topic: String,
    /// The number of the draw of starts.
    pub sample: u32,
    /// Pages that were fetched.
    pub pages: usize,
    /// Links between them.
    pub instances: usize,
    /// Where high relevance begins.
    pub cut: f64,
    /// By how far around a link is looked (A Figs. 6 and 7).
    pub reach: Vec<AtReach>,
    /// With more features than terms and their offsets (A 3.8).
    pub features: Vec<WithFeatures>,
    /// By DOM offset (A Figs. 8 and 9).
    pub offsets: Vec<AtDistance>,
    /// What waits when the crawl ends (A Fig. 13 a); nothing if there was too little to learn from.
    pub queue: Option<Queue>,
}

/// How often it is right when it looks so far around a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtReach {
    /// d_max.
    pub d_max: u32,
    /// Share of the links to relevant pages that it calls so, with DOM offsets.
    pub positive: f64,
    /// Share of the others that it calls irrelevant.
    pub negative: f64,
    /// Share of all that it is right about.
    pub average: f64,
    /// The same without offsets, as a plain window of text.
    pub window: f64,
}

/// How often it is right with some more features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WithFeatures {
    /// Which.
    pub features: String,
    /// Share of the links to relevant pages that it calls so.
    pub positive: f64,
    /// Share of the others that it calls irrelevant.
    pub negative: f64,
    /// Share of all that it is right about.
    pub average: f64,
}

/// What stands at one DOM offset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtDistance {
    /// The offset.
    pub offset: i32,
    /// Mean information gain of the terms there, in bits.
    pub information_gain: f64,
    /// Sum of theta over the terms there.
    pub theta: f64,
    /// Leaves there a link, by the element that they are or stand in.
    pub tags: BTreeMap<String, f64>,
    /// Share of the leaves there that have no words.
    pub without_words: f64,
    /// Share of the leaves there that are inside another link.
    pub in_links: f64,
}

/// What is expected of the URLs that wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// How many there are that can be fetched.
    pub waiting: usize,
    /// How many soft focus expects so much of, from 0 to 1 in equal parts.
    pub before: Vec<u64>,
    /// How many the apprentice does.
    pub after: Vec<u64>,
    /// What soft focus expects, in the mean.
    pub mean_before: f64,
    /// What the apprentice expects.
    pub mean_after: f64,
    /// What it would be.
    pub mean_truth: f64,
    /// How alike both orders are: 1 if they are the same, 0 if they have nothing to do with each other.
    pub rank_correlation: f64,
}

/// What there is to learn from the baseline's crawls (A 3.4, 3.7 and 3.8).
pub(super) fn study(
    lab: &Lab,
    results: &Results,
    tell: &mut dyn FnMut(&str),
) -> Result<Findings, ExperimentError> {
    let learnt = |plan: &Plan, steps: &[Step]| lab.learnt_from(plan, steps, FARTHEST);
    Findings::of_numbers(NAME, &lab.of_baseline(results, "what links foretell", tell, learnt)?)
}

/// A page as a crawl found it.
pub(super) struct Found {
    url: CanonicalUrl,
    page: Page,
    judgment: Judgment,
}

impl Lab {
    /// Makes a crawl with the strategy of a plan, and says what can be learnt from it, looking up to `farthest` leaves
    /// around a link.
    pub fn apprenticeship(&self, plan: &Plan, farthest: u32) -> Result<Apprenticeship, ExperimentError> {
        let target = self.target(&plan.topic);
        let name: StrategyName = plan.strategy.parse().expect("the experiment was checked");
        let steps = self.crawl(plan, target, &name, None)?.tally.steps;
        Ok(self.learnt_from(plan, &steps, farthest))
    }

    /// Says what can be learnt from a crawl.
    pub(super) fn learnt_from(&self, plan: &Plan, steps: &[Step], farthest: u32) -> Apprenticeship {
        let target = self.target(&plan.topic);
        let pages = self.pages(target, steps);
        let study = studied(target, &pages);
        let accuracy = |encoding: Encoding| study.accuracy(&encoding, FOLDS).unwrap_or_default();
        let at_reach = |d_max| {
            let Accuracy { positive, negative, average } = accuracy(Encoding::of_terms(Terms::Offset, d_max));
            let window = rounded(accuracy(Encoding::of_terms(Terms::Window, d_max)).average);
            let [positive, negative, average] = [positive, negative, average].map(rounded);
            AtReach { d_max, positive, negative, average, window }
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
        let queue = study.queue(&Encoding::of_terms(Terms::Offset, REACH));
        Apprenticeship {
            topic: plan.topic.clone(),
            sample: plan.sample,
            pages: pages.len(),
            instances: study.instances(),
            cut: study.cut(),
            reach: (0..=farthest).map(at_reach).collect(),
            features: encodings().into_iter().map(with).collect(),
            offsets: offsets.collect(),
            queue: queue.map(|queue| Queue::of(&queue, |url| target.relevance(url))),
        }
    }

    /// Reads again what was fetched.
    pub(super) fn pages(&self, target: &Target, steps: &[Step]) -> Vec<Found> {
        let (mut extractor, mut judge) = (Extractor::default(), target.judge());
        let mut found = Vec::new();
        for step in steps.iter().filter(|step| step.relevance.is_some()) {
            let Ok(url) = CanonicalUrl::parse(&step.url) else { continue };
            let request = Request::get(url.clone());
            let Ok(response) = pollster::block_on(self.web.web.fetch(&request)) else { continue };
            let page = extractor.extract(&url, &response.headers, &response.body);
            if let Ok(judgment) = judge.judge_page(&url, &page) {
                found.push(Found { url, page, judgment });
            }
        }
        found
    }
}

/// What links can be described by, beside the terms around them (A 3.8, 2.2.3 and 4); all the terms of the page, as d =
/// infinity, are left out, because trying them takes longer than all the others.
fn encodings() -> Vec<(&'static str, Encoding)> {
    let of = |terms| Encoding::of_terms(terms, REACH);
    let plain = of(Terms::Offset);
    vec![
        ("terms and offsets alone", plain),
        ("and the topic of the source page", Encoding { topics: Topics::Name, ..plain }),
        ("and all prefixes of its name", Encoding { topics: Topics::Prefixes, ..plain }),
        ("and the probabilities of its topics", Encoding { classes: true, ..plain }),
        ("and what links nearby led to", Encoding { cocitation: true, ..plain }),
        ("with the way through the tree", of(Terms::Way)),
        ("with the depth of the common ancestor", of(Terms::Ancestor)),
    ]
}

/// The links between pages of a crawl.
pub(super) fn studied(target: &Target, pages: &[Found]) -> Study {
    let mut critic = target.aim(0).critic;
    let mut study = Study::default();
    for Found { url, page, judgment } in pages {
        let classes = critic.as_mut().map(|critic| critic.all(&page.term_counts())).unwrap_or_default();
        let topics = PageTopics {
            best: target.tree.path(judgment.best),
            classes: classes.into_iter().map(|(topic, pr)| (target.tree.path(topic), pr)).collect(),
        };
        study.add(url.id(), page, judgment.relevance, &topics);
    }
    study
}

impl Queue {
    /// What is expected of what waits, where the truth is known.
    fn of(queue: &[InQueue], truth: impl Fn(UrlId) -> Option<f64>) -> Queue {
        let known: Vec<(f64, f64, f64)> = queue
            .iter()
            .filter_map(|waiting| Some((waiting.before, waiting.after, truth(waiting.url)?)))
            .collect();
        let of = |value: fn(&(f64, f64, f64)) -> f64| known.iter().map(value).collect::<Vec<f64>>();
        let (before, after, truth) = (of(|one| one.0), of(|one| one.1), of(|one| one.2));
        Queue {
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

/// What an apprentice learns from pages that somebody else chose.
pub(super) fn taught(apprentice: &str, target: &Target, pages: &[Found]) -> Option<Lessons> {
    let mut strategy = named(apprentice, &target.aim(0)).ok()?;
    for Found { url, page, judgment } in pages {
        let mark = target.marks.get(usize::from(judgment.best.0)).copied().unwrap_or_default();
        let on_topic = matches!(mark, Mark::Good | Mark::Subsumed);
        let source = Source { url, page, judgment: *judgment, on_topic, depth: 0 };
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
    fn a_queue_by_hand() {
        let waiting = |url, before, after| InQueue { url: UrlId(url), before, after };
        let queue = [waiting(1, 0.9, 0.1), waiting(2, 0.5, 0.2), waiting(3, 0.1, 0.3), waiting(4, 1.0, 1.0)];
        // The fourth cannot be fetched.
        let truth = |url: UrlId| [0.0, 0.3, 0.6].get(url.0 as usize - 1).copied();
        let queue = Queue::of(&queue, truth);
        assert_eq!(
            (queue.waiting, queue.mean_before, queue.mean_after, queue.mean_truth),
            (3, 0.5, 0.2, 0.3)
        );
        assert_eq!(queue.rank_correlation, -1.0);
        assert_eq!((queue.before.iter().sum::<u64>(), queue.before[18], queue.after[18]), (3, 1, 0));
    }
}
