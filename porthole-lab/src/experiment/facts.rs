//! Facts about a web and its topics that do not depend on any crawl.

use std::collections::{BTreeMap, HashMap, HashSet};

use porthole_types::UrlId;
use serde::{Deserialize, Serialize};

use super::labelled::LabelledWeb;
use super::target::CrawlTarget;

/// Facts about a web.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebFacts {
    /// Number of readable pages.
    pub pages: usize,
    /// Number of servers.
    pub hosts: usize,
    /// Number of links between different pages.
    pub links: usize,
    /// Number of labelled pages.
    pub labelled: usize,
    /// Number of pages that the guiding critic is trained on.
    pub trained: usize,
    /// By topic.
    pub topics: BTreeMap<String, TopicFacts>,
}

/// Maximum length of random walks from a topic's pages.
const WALKS: usize = 4;

/// Minimum number of links of a topic's pages to another topic that is reported as cited.
const ENOUGH: usize = 20;

/// Facts about a topic on a web.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopicFacts {
    /// Number of names in its path: longer paths are more specific topics.
    pub depth: usize,
    /// Number of its pages.
    pub pages: usize,
    /// Share of all pages that are about it: the expected harvest of a random order.
    pub base_rate: f64,
    /// Share of the links of its pages that lead to its pages (V 2, radius-1 rule).
    pub cited_by_own: f64,
    /// The same share for the links of all other pages.
    pub cited_by_others: f64,
    /// Share of all pages that link to one of its pages (V 2, radius-2 rule).
    pub links_once: f64,
    /// Share of those pages that link to another one of them.
    pub links_again: f64,
    /// Share of the random walks of one, two, … links from its pages that end at one of them (W 3).
    #[serde(default)]
    pub walks: Vec<f64>,
    /// The topic in another part of the tree that its pages cite most, relative to all pages (W 6, V 1).
    #[serde(default)]
    pub beside: Option<CitedTopic>,
}

/// A topic that the pages of another one cite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CitedTopic {
    /// Its path.
    pub topic: String,
    /// Number of links to it.
    pub links: usize,
    /// Ratio of the share of links to it to that of all pages.
    pub times: f64,
}

impl WebFacts {
    pub(super) fn of(web: &LabelledWeb, targets: &[CrawlTarget]) -> Self {
        let of_page = |id: &UrlId| -> Vec<String> {
            let topics = web.topics.get(id).map_or(&[][..], |(_, topics)| topics);
            topics.iter().map(|topic| web.tree.path(*topic)).collect()
        };
        let topics = targets.iter().map(|target| {
            let links = WebLinks::of(web);
            let depth = target.topic.split('/').filter(|name| !name.is_empty()).count();
            let beside = CitedTopic::of(&links, &target.topic, &target.pages, of_page);
            (target.topic.clone(), TopicFacts { depth, beside, ..TopicFacts::of(&links, &target.pages) })
        });
        WebFacts {
            pages: web.counts.len(),
            hosts: web.hosts,
            links: WebLinks::of(web).pages().map(|(_, targets)| targets.count()).sum(),
            labelled: web.topics.len(),
            trained: web.trained_on.len(),
            topics: topics.collect(),
        }
    }
}

/// The links between pages.
pub(super) struct WebLinks<'a> {
    links: &'a BTreeMap<UrlId, Vec<UrlId>>,
    is_page: Box<dyn Fn(&UrlId) -> bool + 'a>,
}

impl<'a> WebLinks<'a> {
    fn of(web: &'a LabelledWeb) -> Self {
        WebLinks { links: &web.links, is_page: Box::new(|id| web.counts.contains_key(id)) }
    }

    /// All links, including those to URLs without a page.
    #[cfg(test)]
    pub(super) fn all(links: &'a BTreeMap<UrlId, Vec<UrlId>>) -> Self {
        WebLinks { links, is_page: Box::new(|_| true) }
    }

    fn pages(&self) -> impl Iterator<Item = (&UrlId, impl Iterator<Item = &UrlId>)> {
        let own = self.links.iter().filter(|(id, _)| (self.is_page)(id));
        own.map(|(id, targets)| (id, targets.iter().filter(|target| (self.is_page)(target))))
    }
}

impl WebLinks<'_> {
    /// Share of the random walks from these pages that end at one of them, by number of links. A walk that reaches a
    /// page without links does not count.
    fn walks(&self, from: &HashSet<UrlId>) -> Vec<f64> {
        let targets = |id: &UrlId| {
            let all = self.links.get(id).into_iter().flatten();
            all.filter(|target| (self.is_page)(target)).copied().collect::<Vec<UrlId>>()
        };
        // In the order of ids, so that sums are the same in every run.
        let mut at: BTreeMap<UrlId, f64> = from.iter().map(|id| (*id, 1.0)).collect();
        let walk = |_| {
            let mut next: BTreeMap<UrlId, f64> = BTreeMap::new();
            for (id, weight) in &at {
                let targets = targets(id);
                for target in &targets {
                    *next.entry(*target).or_default() += weight / targets.len() as f64;
                }
            }
            at = next;
            let there: f64 = at.iter().filter(|(id, _)| from.contains(id)).map(|(_, weight)| weight).sum();
            there / at.values().sum::<f64>().max(f64::MIN_POSITIVE)
        };
        (0..WALKS).map(walk).collect()
    }
}

impl CitedTopic {
    /// The topic with another top level name that is cited most, relative to all pages.
    pub(super) fn of(
        links: &WebLinks<'_>,
        topic: &str,
        pages: &HashSet<UrlId>,
        of_page: impl Fn(&UrlId) -> Vec<String>,
    ) -> Option<CitedTopic> {
        let top = |path: &str| path.split('/').nth(1).map(str::to_owned);
        let mut known: HashMap<UrlId, Vec<String>> = HashMap::new();
        let (mut own, mut all) = (0_usize, 0_usize);
        let mut cited: BTreeMap<String, [usize; 2]> = BTreeMap::new();
        for (id, targets) in links.pages() {
            let is_own = pages.contains(id);
            for target in targets {
                all += 1;
                own += usize::from(is_own);
                for topic in known.entry(*target).or_insert_with(|| of_page(target)) {
                    let [by_own, by_all] = cited.entry(topic.clone()).or_default();
                    *by_own += usize::from(is_own);
                    *by_all += 1;
                }
            }
        }
        let is_far =
            |(path, [by_own, _]): &(String, [usize; 2])| *by_own >= ENOUGH && top(path) != top(topic);
        let beside = cited.into_iter().filter(is_far).map(|(topic, [by_own, by_all])| {
            let times = (by_own as f64 / own as f64) / (by_all as f64 / all as f64);
            CitedTopic { topic, links: by_own, times }
        });
        beside.max_by(|a, b| a.times.total_cmp(&b.times))
    }
}

impl TopicFacts {
    /// Computed from the distinct links between pages.
    pub(super) fn of(links: &WebLinks<'_>, topic: &HashSet<UrlId>) -> Self {
        let (mut pages, mut own, mut others) = (0_usize, [0_usize; 2], [0_usize; 2]);
        let (mut once, mut again) = (0_usize, 0_usize);
        for (id, targets) in links.pages() {
            pages += 1;
            let (mut all, mut about) = (0, 0);
            for target in targets {
                all += 1;
                about += usize::from(topic.contains(target));
            }
            let of = if topic.contains(id) { &mut own } else { &mut others };
            of[0] += about;
            of[1] += all;
            once += usize::from(about > 0);
            again += usize::from(about > 1);
        }
        let share = |part: usize, all: usize| part as f64 / all.max(1) as f64;
        TopicFacts {
            depth: 0,
            beside: None,
            walks: links.walks(topic),
            pages: topic.len(),
            base_rate: share(topic.len(), pages),
            cited_by_own: share(own[0], own[1]),
            cited_by_others: share(others[0], others[1]),
            links_once: share(once, pages),
            links_again: share(again, once),
        }
    }
}
