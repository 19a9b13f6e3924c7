//! What an apprentice can learn from a crawl: how well links foretell what they lead to, and from where (A 3.4, 3.5).

use porthole_crawl::{Fetch, Request};
use porthole_page::{Extractor, Page};
use porthole_strategy::apprentice::{Accuracy, Encoding, Lessons, Study, Terms};
use porthole_strategy::{Source, named};
use porthole_types::{CanonicalUrl, Judgment, Mark};
use serde::Serialize;

use super::plan::StrategyName;
use super::run::Lab;
use super::target::Target;
use super::trace::Step;
use super::{ExperimentError, Plan};

/// Parts of a cross-validation.
const FOLDS: u64 = 5;

/// What can be learnt from one crawl.
#[derive(Clone, Debug, Serialize)]
pub struct Apprenticeship {
    /// The topic.
    pub topic: String,
    /// Pages that were fetched.
    pub pages: usize,
    /// Links between them.
    pub instances: usize,
    /// Where high relevance begins.
    pub cut: f64,
    /// By how far around a link is looked (A Figs. 6 and 7).
    pub reach: Vec<AtReach>,
    /// By DOM offset (A Figs. 8 and 9).
    pub offsets: Vec<AtDistance>,
}

/// How often it is right when it looks so far around a link.
#[derive(Clone, Debug, Serialize)]
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

/// What stands at one DOM offset.
#[derive(Clone, Debug, Serialize)]
pub struct AtDistance {
    /// The offset.
    pub offset: i32,
    /// Mean information gain of the terms there, in bits.
    pub information_gain: f64,
    /// Sum of theta over the terms there.
    pub theta: f64,
    /// Share of the leaves there that have no words.
    pub without_words: f64,
    /// Share of the leaves there that are inside another link.
    pub in_links: f64,
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
        let target = self.targets.iter().find(|target| target.topic == plan.topic);
        let target = target.expect("a topic of the experiment");
        let name: StrategyName = plan.strategy.parse().expect("the experiment was checked");
        let steps = self.crawl(plan, target, &name, None)?.tally.steps;
        let pages = self.pages(target, &steps);
        let mut study = Study::default();
        for Found { url, page, judgment } in &pages {
            study.add(url.id(), page, judgment.relevance, &target.tree.path(judgment.best));
        }
        let accuracy = |terms, d_max| -> Accuracy {
            study.accuracy(&Encoding::of_terms(terms, d_max), FOLDS).unwrap_or_default()
        };
        let at_reach = |d_max| {
            let Accuracy { positive, negative, average } = accuracy(Terms::Offset, d_max);
            AtReach { d_max, positive, negative, average, window: accuracy(Terms::Window, d_max).average }
        };
        let offsets = study.by_offset(farthest).into_iter().map(|at| AtDistance {
            offset: at.offset,
            information_gain: at.information_gain,
            theta: at.theta,
            without_words: at.without_words,
            in_links: at.in_links,
        });
        Ok(Apprenticeship {
            topic: plan.topic.clone(),
            pages: pages.len(),
            instances: study.instances(),
            cut: study.cut(),
            reach: (0..=farthest).map(at_reach).collect(),
            offsets: offsets.collect(),
        })
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
