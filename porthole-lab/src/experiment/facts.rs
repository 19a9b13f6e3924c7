//! Facts about a web and its topics that do not depend on any crawl.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use porthole_types::UrlId;
use rayon::prelude::*;
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
        let links = WebLinks::of(web);
        let cited = CitedTopics::of(&links, of_page);
        let facts = |target: &CrawlTarget| {
            let depth = target.topic.split('/').filter(|name| !name.is_empty()).count();
            let beside = CitedTopic::of(&links, &cited, &target.topic, &target.pages);
            (target.topic.clone(), TopicFacts { depth, beside, ..TopicFacts::of(&links, &target.pages) })
        };
        WebFacts {
            pages: web.counts.len(),
            hosts: web.hosts,
            links: cited.links,
            labelled: web.topics.len(),
            trained: web.trained_on.len(),
            topics: targets.par_iter().map(facts).collect(),
        }
    }
}

/// The links between pages. Pages are known by their place in the order of their ids, so that sums are the same in every
/// run and need no map.
pub(super) struct WebLinks {
    ids: Vec<UrlId>,
    /// Whether it is a page whose links are known.
    is_read: Vec<bool>,
    /// Places of the pages that each links to.
    targets: Vec<Vec<u32>>,
}

impl WebLinks {
    fn of(web: &LabelledWeb) -> Self {
        WebLinks::new(&web.links, |id| web.counts.contains_key(id))
    }

    /// All links, including those to URLs without a page.
    #[cfg(test)]
    pub(super) fn all(links: &BTreeMap<UrlId, Vec<UrlId>>) -> Self {
        WebLinks::new(links, |_| true)
    }

    fn new(links: &BTreeMap<UrlId, Vec<UrlId>>, is_page: impl Fn(&UrlId) -> bool) -> Self {
        let mut known: HashSet<UrlId> = links.keys().copied().collect();
        known.extend(links.values().flatten().filter(|id| is_page(id)));
        let mut ids: Vec<UrlId> = known.into_iter().collect();
        ids.sort_unstable();
        let places: HashMap<UrlId, u32> = ids.iter().copied().zip(0..).collect();
        let targets_of = |id: &UrlId| {
            let all = links.get(id).into_iter().flatten();
            all.filter(|target| is_page(target)).map(|target| places[target]).collect()
        };
        WebLinks {
            is_read: ids.iter().map(|id| links.contains_key(id) && is_page(id)).collect(),
            targets: ids.iter().map(targets_of).collect(),
            ids,
        }
    }

    /// Pages whose links are known, with the places that they link to.
    fn pages(&self) -> impl Iterator<Item = (usize, &[u32])> {
        let all = self.targets.iter().enumerate().filter(|(place, _)| self.is_read[*place]);
        all.map(|(place, targets)| (place, targets.as_slice()))
    }

    /// Whether each is one of these pages.
    fn are_in(&self, pages: &HashSet<UrlId>) -> Vec<bool> {
        self.ids.iter().map(|id| pages.contains(id)).collect()
    }

    /// Share of the random walks from these pages that end at one of them, by number of links. A walk that reaches a
    /// page without links does not count.
    fn walks(&self, from: &[bool]) -> Vec<f64> {
        let mut at: Vec<f64> = from.iter().map(|is_from| f64::from(u8::from(*is_from))).collect();
        let walk = |_| {
            let mut next = vec![0.0; at.len()];
            for (weight, targets) in at.iter().zip(&self.targets).filter(|(weight, _)| **weight > 0.0) {
                for target in targets {
                    next[*target as usize] += weight / targets.len() as f64;
                }
            }
            at = next;
            let there: f64 =
                at.iter().zip(from).filter(|(_, is_from)| **is_from).map(|(weight, _)| weight).sum();
            there / at.iter().sum::<f64>().max(f64::MIN_POSITIVE)
        };
        (0..WALKS).map(walk).collect()
    }
}

/// How often each topic is cited by all pages.
pub(super) struct CitedTopics {
    /// Paths, in order.
    paths: Vec<String>,
    /// Numbers of the topics of each page.
    of_page: Vec<Vec<u32>>,
    /// Links to pages of each topic.
    by_all: Vec<usize>,
    /// All links.
    links: usize,
}

impl CitedTopics {
    pub(super) fn of(links: &WebLinks, of_page: impl Fn(&UrlId) -> Vec<String>) -> Self {
        let paths_of_page: Vec<Vec<String>> = links.ids.iter().map(of_page).collect();
        let paths: BTreeSet<&str> = paths_of_page.iter().flatten().map(String::as_str).collect();
        let numbers: HashMap<&str, u32> = paths.iter().copied().zip(0..).collect();
        let of_page: Vec<Vec<u32>> = paths_of_page
            .iter()
            .map(|paths| paths.iter().map(|path| numbers[path.as_str()]).collect())
            .collect();
        let mut cited = CitedTopics {
            by_all: vec![0; paths.len()],
            paths: paths.into_iter().map(str::to_owned).collect(),
            of_page,
            links: 0,
        };
        (cited.by_all, cited.links) = cited.count(links.pages());
        cited
    }

    /// Links of some pages to each topic, and all their links.
    fn count<'a>(&self, pages: impl Iterator<Item = (usize, &'a [u32])>) -> (Vec<usize>, usize) {
        let (mut by_topic, mut all) = (vec![0; self.paths.len()], 0);
        for target in pages.flat_map(|(_, targets)| targets) {
            all += 1;
            self.of_page[*target as usize].iter().for_each(|topic| by_topic[*topic as usize] += 1);
        }
        (by_topic, all)
    }
}

impl CitedTopic {
    /// The topic with another top level name that is cited most, relative to all pages.
    pub(super) fn of(
        links: &WebLinks,
        cited: &CitedTopics,
        topic: &str,
        pages: &HashSet<UrlId>,
    ) -> Option<CitedTopic> {
        let top = |path: &str| path.split('/').nth(1).map(str::to_owned);
        let is_own = links.are_in(pages);
        let (by_own, own) = cited.count(links.pages().filter(|(page, _)| is_own[*page]));
        let all = cited.links;
        let counts = by_own.iter().zip(&cited.by_all);
        let far = cited.paths.iter().zip(counts).filter(|(path, _)| top(path) != top(topic));
        let beside = far.filter(|(_, (by_own, _))| **by_own >= ENOUGH).map(|(path, (by_own, by_all))| {
            let times = (*by_own as f64 / own as f64) / (*by_all as f64 / all as f64);
            CitedTopic { topic: path.clone(), links: *by_own, times }
        });
        beside.max_by(|a, b| a.times.total_cmp(&b.times))
    }
}

impl TopicFacts {
    /// Computed from the distinct links between pages.
    pub(super) fn of(links: &WebLinks, topic: &HashSet<UrlId>) -> Self {
        let is_own = links.are_in(topic);
        let (mut pages, mut own, mut others) = (0_usize, [0_usize; 2], [0_usize; 2]);
        let (mut once, mut again) = (0_usize, 0_usize);
        for (page, targets) in links.pages() {
            pages += 1;
            let about = targets.iter().filter(|target| is_own[**target as usize]).count();
            let of = if is_own[page] { &mut own } else { &mut others };
            of[0] += about;
            of[1] += targets.len();
            once += usize::from(about > 0);
            again += usize::from(about > 1);
        }
        let share = |part: usize, all: usize| part as f64 / all.max(1) as f64;
        TopicFacts {
            depth: 0,
            beside: None,
            walks: links.walks(&is_own),
            pages: topic.len(),
            base_rate: share(topic.len(), pages),
            cited_by_own: share(own[0], own[1]),
            cited_by_others: share(others[0], others[1]),
            links_once: share(once, pages),
            links_again: share(again, once),
        }
    }
}
