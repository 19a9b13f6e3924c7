//! Topic mixing against link distance (W 4.8): how soon random links lead to random topics, and how far a topic reaches.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use porthole_types::{TopicId, UrlId};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::ExperimentError;
use super::folder::Results;
use super::labelled::LabelledWeb;
use super::run::PreparedExperiment;
use super::studies::Findings;

/// Name of the study.
pub(super) const NAME: &str = "mixing";

/// Longest random walk, in links.
const FARTHEST: usize = 8;

/// How the links around a topic's pages mix topics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopicMixing {
    /// The topic.
    pub topic: String,
    /// Number of its pages.
    pub pages: usize,
    /// Share of all labelled pages that are about it.
    pub base_rate: f64,
    /// After 0, 1, 2, … random links from one of its pages: the share of walks that are at one of them. Walks that
    /// reach a page without links, or without a label, end there and do not count.
    pub own: Vec<f64>,
    /// The distance of the topics at the end of such walks from those of the same number of links from any page: half the
    /// sum of the differences of shares, over the topics below the root. 0 if nothing is left of where a walk began.
    pub apart: Vec<f64>,
    /// Greatest distance in links between two of its pages on a shortest path that visits only its pages, from a page in
    /// its largest such part.
    pub reach: usize,
    /// Share of its pages that such paths reach from there.
    pub connected: f64,
}

pub(super) fn study(
    lab: &PreparedExperiment,
    _: &Results,
    tell: &mut dyn FnMut(&str),
) -> Result<Findings, ExperimentError> {
    tell(&format!("walks of up to {FARTHEST} links from {} topics", lab.targets.len()));
    Findings::of_numbers(NAME, &lab.mixing())
}

impl PreparedExperiment {
    /// Topic mixing around each topic of the experiment.
    pub fn mixing(&self) -> Vec<TopicMixing> {
        let graph = TopicGraph::of(&self.web);
        let everywhere = graph.walk(&(0..graph.links.len()).collect::<Vec<_>>());
        let one = |target: &super::target::CrawlTarget| {
            graph.mixing(&target.topic, &|id| target.pages.contains(id), &everywhere)
        };
        self.targets.par_iter().map(one).collect()
    }
}

/// Labelled pages with the links between them.
struct TopicGraph {
    ids: Vec<UrlId>,
    links: Vec<Vec<usize>>,
    /// The topic below the root of each page.
    tops: Vec<TopicId>,
}

/// Where walks are, by number of links: a share of each page.
type Walk = Vec<Vec<f64>>;

impl TopicGraph {
    fn of(web: &LabelledWeb) -> Self {
        let top = |topic: TopicId| {
            let path = web.tree.path(topic);
            let name = path.split('/').nth(1).map(|name| format!("/{name}"));
            name.and_then(|path| web.tree.find(&path).ok()).unwrap_or(topic)
        };
        let labelled = web.topics.iter().filter_map(|(id, (_, topics))| Some((*id, top(*topics.first()?))));
        let links =
            |id: &UrlId| web.links.get(id).into_iter().flatten().map(|target| web.end(*target)).collect();
        TopicGraph::new(labelled.collect(), links)
    }

    fn new(labelled: BTreeMap<UrlId, TopicId>, links_of: impl Fn(&UrlId) -> BTreeSet<UrlId>) -> Self {
        let ids: Vec<UrlId> = labelled.keys().copied().collect();
        let known = |id: &UrlId| ids.binary_search(id).ok();
        let links = ids.iter().map(|id| {
            let targets = links_of(id);
            targets.iter().filter(|target| *target != id).filter_map(known).collect()
        });
        TopicGraph { links: links.collect(), tops: labelled.into_values().collect(), ids }
    }

    /// Random walks from these pages.
    fn walk(&self, from: &[usize]) -> Walk {
        let mut at = vec![0.0; self.links.len()];
        from.iter().for_each(|page| at[*page] = 1.0 / from.len().max(1) as f64);
        let mut walk = vec![at];
        for _ in 0..FARTHEST {
            let mut next = vec![0.0; self.links.len()];
            for (page, share) in walk[walk.len() - 1].iter().enumerate().filter(|(_, share)| **share > 0.0) {
                let targets = &self.links[page];
                targets.iter().for_each(|target| next[*target] += share / targets.len() as f64);
            }
            let all: f64 = next.iter().sum();
            next.iter_mut().for_each(|share| *share /= all.max(f64::MIN_POSITIVE));
            walk.push(next);
        }
        walk
    }

    /// The shares of topics at one moment of a walk.
    fn topics(&self, at: &[f64]) -> BTreeMap<TopicId, f64> {
        let mut shares = BTreeMap::new();
        for (top, share) in self.tops.iter().zip(at) {
            *shares.entry(*top).or_default() += share;
        }
        shares
    }

    fn mixing(&self, topic: &str, is_own: &dyn Fn(&UrlId) -> bool, everywhere: &Walk) -> TopicMixing {
        let own: Vec<usize> = (0..self.ids.len()).filter(|page| is_own(&self.ids[*page])).collect();
        let members: HashSet<usize> = own.iter().copied().collect();
        let walk = self.walk(&own);
        let share = |at: &Vec<f64>| own.iter().map(|page| at[*page]).sum::<f64>();
        let apart = |(at, any): (&Vec<f64>, &Vec<f64>)| {
            let (here, any) = (self.topics(at), self.topics(any));
            here.iter().map(|(topic, share)| (share - any[topic]).abs()).sum::<f64>() / 2.0
        };
        let (reach, connected) = self.farthest(&members);
        TopicMixing {
            topic: topic.to_owned(),
            pages: own.len(),
            base_rate: own.len() as f64 / self.ids.len().max(1) as f64,
            own: walk.iter().map(share).map(super::trace::rounded).collect(),
            apart: walk.iter().zip(everywhere).map(apart).map(super::trace::rounded).collect(),
            reach,
            connected: super::trace::rounded(connected as f64 / own.len().max(1) as f64),
        }
    }

    /// The greatest distance within some pages, and the number of pages reached. The search begins at the page that reaches
    /// most, of those that are tried, and then at the page farthest from it.
    fn farthest(&self, members: &HashSet<usize>) -> (usize, usize) {
        const TRIED: usize = 8;
        let mut all: Vec<usize> = members.iter().copied().collect();
        all.sort_unstable();
        let step = all.len().div_ceil(TRIED).max(1);
        let searches = all.iter().step_by(step).map(|page| self.search(*page, members));
        let best = searches.max_by_key(|(reached, ..)| *reached);
        let Some((reached, far, distance)) = best else { return (0, 0) };
        let (again, _, farther) = self.search(far, members);
        (distance.max(farther), reached.max(again))
    }

    /// Breadth first within some pages: the number of pages reached, and the last of them with its distance.
    fn search(&self, from: usize, members: &HashSet<usize>) -> (usize, usize, usize) {
        let mut open = VecDeque::from([(from, 0)]);
        let mut seen = HashSet::from([from]);
        let mut last = (from, 0);
        while let Some((page, distance)) = open.pop_front() {
            last = (page, distance);
            let next = self.links[page].iter().filter(|target| members.contains(target));
            open.extend(next.filter(|target| seen.insert(**target)).map(|target| (*target, distance + 1)));
        }
        (seen.len(), last.0, last.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages 0 to 5 of one topic in a ring, 6 and 7 of another that link to each other; 5 also links to 6.
    fn graph() -> TopicGraph {
        let topic = |page: u64| if page < 6 { TopicId(1) } else { TopicId(2) };
        let labelled = (0..8).map(|page| (UrlId(page), topic(page))).collect();
        TopicGraph::new(labelled, |id| {
            let targets: &[u64] = match id.0 {
                5 => &[0, 6, 5, 99],
                6 => &[7],
                7 => &[6],
                _ => return [UrlId(id.0 + 1)].into(),
            };
            targets.iter().map(|target| UrlId(*target)).collect()
        })
    }

    #[test]
    fn hand_computed_mixing() {
        let graph = graph();
        let everywhere = graph.walk(&(0..8).collect::<Vec<_>>());
        let found = graph.mixing("/a", &|id| id.0 < 6, &everywhere);
        assert_eq!((found.pages, found.base_rate, found.own[0]), (6, 0.75, 1.0));
        // One link: half of the walks from 5, a twelfth of all, leave the topic.
        assert!((found.own[1] - 11.0 / 12.0).abs() < 1e-5, "{:?}", found.own);
        // A walk from any page is at the topic with 6/8 before and 5.5/8 after one link.
        assert!((found.apart[0] - 0.25).abs() < 1e-5, "{:?}", found.apart);
        assert!((found.apart[1] - (11.0 / 12.0 - 5.5 / 8.0)).abs() < 1e-5, "{:?}", found.apart);
        assert!(found.own.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9));
        // Round the ring.
        assert_eq!((found.reach, found.connected), (5, 1.0));
    }
}
