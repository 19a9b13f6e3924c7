//! Waiting links with the pages that they are on, and the relevance of fetched pages.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use porthole_types::UrlId;
use serde::{Deserialize, Serialize};

use super::context::{LinkPosition, Outcomes, PageContext};
use super::settings::Parents;

/// The apprentice's memory of links. When more links wait than it may hold, the oldest page is dropped with its
/// links: these stay in the queue with their last priority, and are not learnt from when they are fetched.
#[derive(Clone, Debug)]
pub(super) struct LinkMemory {
    /// Pages in the order in which they were fetched.
    pub(super) contexts: VecDeque<PageContext>,
    /// Number of the first context.
    pub(super) first: u32,
    /// URLs with waiting links.
    pub(super) waiting: HashMap<UrlId, AwaitedUrl, foldhash::fast::FixedState>,
    pub(super) outcomes: Outcomes,
    rescoring: Rescoring,
    /// Number of waiting links.
    links: usize,
    most: usize,
}

/// Target of a link that no longer waits.
const GONE: UrlId = UrlId(0);

/// A URL with waiting links.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct AwaitedUrl {
    /// Context number and link index of the newest link to it.
    pub(super) newest: (u32, u32),
    /// Priority that was last reported.
    pub(super) priority: f64,
}

/// Progress of rescoring. Not saved: after a restart, the caller asks for all URLs again.
#[derive(Clone, Debug, Default)]
struct Rescoring {
    /// Contexts whose links are not rescored yet.
    contexts: Range<u32>,
    /// URLs that are due on these contexts, and to which newer links were found since.
    late: HashMap<UrlId, LateLink, foldhash::fast::FixedState>,
}

#[derive(Clone, Copy, Debug)]
struct LateLink {
    /// The newest link that existed when rescoring started; the URL is due there.
    turn: (u32, u32),
    /// Merged priority of the links found since.
    worth: f64,
}

impl Rescoring {
    /// Notes a link that was found during rescoring; `before` is the previous newest link to the URL.
    fn link_found_late(&mut self, url: UrlId, before: (u32, u32), worth: f64, parents: Parents) {
        if self.contexts.contains(&before.0) {
            self.late.insert(url, LateLink { turn: before, worth });
        } else if let Some(late) = self.late.get_mut(&url) {
            late.worth = parents.merge_worth(late.worth, worth);
        }
    }
}

impl LinkMemory {
    pub(super) fn new(most: usize) -> LinkMemory {
        LinkMemory {
            contexts: VecDeque::new(),
            first: 0,
            waiting: HashMap::default(),
            outcomes: Outcomes::default(),
            rescoring: Rescoring::default(),
            links: 0,
            most,
        }
    }

    /// Adds a fetched page, whose links are scored next.
    pub(super) fn open(&mut self, context: PageContext) {
        while self.contexts.front().is_some_and(|context| context.open == 0) {
            self.drop_first();
        }
        if let Some(before) = self.contexts.back_mut() {
            before.links.shrink_to_fit();
        }
        self.contexts.push_back(context);
    }

    pub(super) fn newest(&self) -> Option<&PageContext> {
        self.contexts.back()
    }

    /// Number of the newest context, 0 if there is none.
    pub(super) fn newest_number(&self) -> u32 {
        (self.first + self.contexts.len() as u32).saturating_sub(1)
    }

    pub(super) fn outcomes(&self) -> &Outcomes {
        &self.outcomes
    }

    /// Relevance of a fetched URL.
    pub(super) fn outcome(&self, url: UrlId) -> Option<f32> {
        self.outcomes.get(&url).copied()
    }

    pub(super) fn set_outcome(&mut self, url: UrlId, relevance: f32) {
        self.outcomes.insert(url, relevance);
    }

    /// Adds a link of the newest page. Returns the target's priority, merged with that of earlier links to it.
    pub(super) fn wait(&mut self, mut link: LinkPosition, worth: f64, parents: Parents) -> f64 {
        let number = self.newest_number();
        let Some(context) = self.contexts.back_mut() else { return worth };
        let newest = (number, context.links.len() as u32);
        let known = self.waiting.get(&link.target).copied();
        link.before = known.map(|known| known.newest);
        if let Some(known) = known.filter(|_| number >= self.rescoring.contexts.end) {
            self.rescoring.link_found_late(link.target, known.newest, worth, parents);
        }
        let priority = known.map_or(worth, |known| parents.merge_worth(known.priority, worth));
        self.waiting.insert(link.target, AwaitedUrl { newest, priority });
        context.links.push(link);
        context.open += 1;
        self.links += 1;
        while self.links > self.most && self.contexts.len() > 1 {
            self.drop_first();
        }
        priority
    }

    /// Removes a fetched URL. Returns the result of `describe` for each link to it, with the relevance of the link's
    /// page.
    pub(super) fn resolve<T>(
        &mut self,
        url: UrlId,
        describe: impl Fn(&PageContext, &LinkPosition, &Outcomes) -> T,
    ) -> Vec<(T, f32)> {
        let places = self.links_to(url);
        let of_place = |(context, link): &(u32, u32)| {
            let context = &self.contexts[(*context - self.first) as usize];
            (describe(context, &context.links[*link as usize], &self.outcomes), context.relevance)
        };
        // Oldest first, in the order found.
        let found = places.iter().rev().map(of_place).collect();
        self.forget(url);
        found
    }

    /// Removes a URL and its waiting links.
    pub(super) fn forget(&mut self, url: UrlId) {
        for (context, link) in self.links_to(url) {
            let context = &mut self.contexts[(context - self.first) as usize];
            context.links[link as usize].target = GONE;
            context.open -= 1;
            self.links -= 1;
            if context.open == 0 {
                context.close();
            }
        }
        self.waiting.remove(&url);
        self.rescoring.late.remove(&url);
    }

    /// All remembered waiting links to a URL, newest first.
    fn links_to(&self, url: UrlId) -> Vec<(u32, u32)> {
        let mut next = self.waiting.get(&url).map(|waiting| waiting.newest);
        let mut places = Vec::new();
        while let Some(place) = next.filter(|(context, _)| *context >= self.first) {
            places.push(place);
            next = self.contexts[(place.0 - self.first) as usize].links[place.1 as usize].before;
        }
        places
    }

    fn drop_first(&mut self) {
        let Some(context) = self.contexts.pop_front() else { return };
        let number = self.first;
        self.first += 1;
        if context.open == 0 {
            return;
        }
        self.links -= context.open as usize;
        for link in &context.links {
            if self.waiting.get(&link.target).is_some_and(|waiting| waiting.newest.0 == number) {
                self.waiting.remove(&link.target);
            }
        }
    }

    /// Starts rescoring all waiting links.
    pub(super) fn start_rescoring(&mut self) {
        self.rescoring = Rescoring {
            contexts: self.first..self.first + self.contexts.len() as u32,
            late: HashMap::default(),
        };
    }

    /// Whether rescoring is not finished.
    pub(super) fn is_rescoring(&self) -> bool {
        !(self.rescoring.contexts.is_empty() && self.rescoring.late.is_empty())
    }

    /// Rescores about `most` waiting URLs. Links are scored in the order found, each once; a URL is reported at the
    /// newest link that existed when rescoring started.
    pub(super) fn rescore_chunk(
        &mut self,
        most: usize,
        parents: Parents,
        mut score: impl FnMut(u32, &PageContext, &LinkPosition, &Outcomes) -> f64,
    ) -> Vec<(UrlId, f64)> {
        let (mut rescored, first, Rescoring { contexts: numbers, late }) =
            (Vec::new(), self.first, &mut self.rescoring);
        numbers.start = numbers.start.max(first);
        let contexts = self.contexts.iter().skip((numbers.start - first) as usize);
        for (number, context) in numbers.clone().zip(contexts) {
            if rescored.len() >= most {
                return rescored;
            }
            numbers.start = number + 1;
            for (at, link) in (0..).zip(&context.links) {
                let Some(waiting) = self.waiting.get_mut(&link.target) else { continue };
                let is_oldest = link.before.is_none_or(|(context, _)| context < first);
                let is_newest = waiting.newest == (number, at);
                let counts = match parents {
                    Parents::Highest => true,
                    Parents::First => is_oldest,
                    Parents::Last => is_newest,
                };
                if counts {
                    let worth = score(number, context, link, &self.outcomes);
                    waiting.priority =
                        if is_oldest { worth } else { parents.merge_worth(waiting.priority, worth) };
                }
                let is_late = waiting.newest.0 >= numbers.end
                    && late.get(&link.target).is_some_and(|late| late.turn == (number, at));
                if let Some(late) = is_late.then(|| late.remove(&link.target)).flatten() {
                    waiting.priority = parents.merge_worth(waiting.priority, late.worth);
                }
                if is_newest || is_late {
                    rescored.push((link.target, waiting.priority));
                }
            }
        }
        // The remaining URLs were due on a context that was dropped.
        for (url, late) in std::mem::take(late) {
            if let Some(waiting) = self.waiting.get_mut(&url) {
                waiting.priority = late.worth;
                rescored.push((url, late.worth));
            }
        }
        rescored
    }

    /// Recounts the waiting links after a restore.
    pub(super) fn count_links(&mut self) {
        self.links = self.contexts.iter().map(|context| context.open as usize).sum();
    }
}
