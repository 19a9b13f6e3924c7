//! What is true of a web and its topics before anybody crawls it.

use std::collections::{BTreeMap, HashSet};

use porthole_types::UrlId;
use serde::{Deserialize, Serialize};

use super::labelled::LabelledWeb;
use super::target::Target;

/// Facts of a web.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebFacts {
    /// Pages that can be read.
    pub pages: usize,
    /// Servers.
    pub hosts: usize,
    /// Links between different pages.
    pub links: usize,
    /// Pages with a label.
    pub labelled: usize,
    /// Pages that the guiding critic is trained on.
    pub trained: usize,
    /// By topic.
    pub topics: BTreeMap<String, TopicFacts>,
}

/// Facts of a topic on a web.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopicFacts {
    /// Names in its path: the more, the more special it is.
    pub depth: usize,
    /// Its pages.
    pub pages: usize,
    /// Share of all pages that are about it: what an order that knows nothing harvests.
    pub base_rate: f64,
    /// Share of the links of its pages that lead to its pages (V 2, radius-1 rule),
    pub cited_by_own: f64,
    /// and of the links of all other pages.
    pub cited_by_others: f64,
    /// Share of all pages that link to one of its pages (V 2, radius-2 rule),
    pub links_once: f64,
    /// and share of those that link to another one of them.
    pub links_again: f64,
}

impl WebFacts {
    pub(super) fn of(web: &LabelledWeb, targets: &[Target]) -> Self {
        let topics = targets.iter().map(|target| {
            let depth = target.topic.split('/').filter(|name| !name.is_empty()).count();
            (target.topic.clone(), TopicFacts { depth, ..TopicFacts::of(&Links::of(web), &target.pages) })
        });
        WebFacts {
            pages: web.counts.len(),
            hosts: web.hosts,
            links: Links::of(web).pages().map(|(_, targets)| targets.count()).sum(),
            labelled: web.topics.len(),
            trained: web.trained_on.len(),
            topics: topics.collect(),
        }
    }
}

/// The links between pages.
pub(super) struct Links<'a> {
    links: &'a BTreeMap<UrlId, Vec<UrlId>>,
    is_page: Box<dyn Fn(&UrlId) -> bool + 'a>,
}

impl<'a> Links<'a> {
    fn of(web: &'a LabelledWeb) -> Self {
        Links { links: &web.links, is_page: Box::new(|id| web.counts.contains_key(id)) }
    }

    /// All links, whatever is at their ends.
    #[cfg(test)]
    pub(super) fn all(links: &'a BTreeMap<UrlId, Vec<UrlId>>) -> Self {
        Links { links, is_page: Box::new(|_| true) }
    }

    fn pages(&self) -> impl Iterator<Item = (&UrlId, impl Iterator<Item = &UrlId>)> {
        let own = self.links.iter().filter(|(id, _)| (self.is_page)(id));
        own.map(|(id, targets)| (id, targets.iter().filter(|target| (self.is_page)(target))))
    }
}

impl TopicFacts {
    /// By the links between pages, each of which occurs once.
    pub(super) fn of(links: &Links<'_>, topic: &HashSet<UrlId>) -> Self {
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
            pages: topic.len(),
            base_rate: share(topic.len(), pages),
            cited_by_own: share(own[0], own[1]),
            cited_by_others: share(others[0], others[1]),
            links_once: share(once, pages),
            links_again: share(again, once),
        }
    }
}
