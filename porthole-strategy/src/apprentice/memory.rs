//! The links that wait, with the pages they are on, and what became of the others.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use porthole_types::UrlId;
use serde::{Deserialize, Serialize};

use super::context::{Outcomes, PageContext, Place};
use super::settings::Parents;

/// What is remembered. When more links wait than may be remembered, the oldest page is forgotten with its links: they
/// stay in the queue with the worth that was last said of them, and teach nothing when they come.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// Pages in the order in which they came.
    pub(super) contexts: VecDeque<PageContext>,
    /// The number of the first of them.
    pub(super) first: u32,
    /// What is waited for.
    pub(super) waiting: HashMap<UrlId, Waiting, foldhash::fast::FixedState>,
    pub(super) outcomes: Outcomes,
    turns: Turns,
    /// Links that wait.
    links: usize,
    most: usize,
}

/// The target of a link that nothing waits for any more.
const GONE: UrlId = UrlId(0);

/// A URL that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Waiting {
    /// The context and the place there of the newest link to it.
    pub(super) newest: (u32, u32),
    /// The worth that was last said of it.
    pub(super) said: f64,
}

/// What has yet to be said anew. Not saved: who heard a part of it asks for all.
#[derive(Clone, Debug, Default)]
struct Turns {
    /// The contexts whose links have yet to have their turn.
    contexts: Range<u32>,
    /// What has it there, and to which links were found since.
    late: HashMap<UrlId, Late, foldhash::fast::FixedState>,
}

#[derive(Clone, Copy, Debug)]
struct Late {
    /// The newest link to it that was there before.
    turn: (u32, u32),
    /// What the links since then make it worth.
    worth: f64,
}

impl Turns {
    /// A link was found to a URL, on a context behind these; the one before is the newest of the others to it.
    fn came_late(&mut self, url: UrlId, before: (u32, u32), worth: f64, parents: Parents) {
        if self.contexts.contains(&before.0) {
            self.late.insert(url, Late { turn: before, worth });
        } else if let Some(late) = self.late.get_mut(&url) {
            late.worth = parents.of_both(late.worth, worth);
        }
    }
}

impl Memory {
    pub(super) fn new(most: usize) -> Memory {
        Memory {
            contexts: VecDeque::new(),
            first: 0,
            waiting: HashMap::default(),
            outcomes: Outcomes::default(),
            turns: Turns::default(),
            links: 0,
            most,
        }
    }

    /// A page came, whose links are asked about next.
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

    /// The number of the newest context, if there is one.
    pub(super) fn newest_number(&self) -> u32 {
        (self.first + self.contexts.len() as u32).saturating_sub(1)
    }

    pub(super) fn outcomes(&self) -> &Outcomes {
        &self.outcomes
    }

    /// What a URL turned out to be.
    pub(super) fn outcome(&self, url: UrlId) -> Option<f32> {
        self.outcomes.get(&url).copied()
    }

    pub(super) fn set_outcome(&mut self, url: UrlId, relevance: f32) {
        self.outcomes.insert(url, relevance);
    }

    /// Remembers a link of the newest page; what it is worth, given what other pages' links made its target worth.
    pub(super) fn wait(&mut self, mut link: Place, worth: f64, parents: Parents) -> f64 {
        let number = self.newest_number();
        let Some(context) = self.contexts.back_mut() else { return worth };
        let newest = (number, context.links.len() as u32);
        let known = self.waiting.get(&link.target).copied();
        link.before = known.map(|known| known.newest);
        if let Some(known) = known.filter(|_| number >= self.turns.contexts.end) {
            self.turns.came_late(link.target, known.newest, worth, parents);
        }
        let said = known.map_or(worth, |known| parents.of_both(known.said, worth));
        self.waiting.insert(link.target, Waiting { newest, said });
        context.links.push(link);
        context.open += 1;
        self.links += 1;
        while self.links > self.most && self.contexts.len() > 1 {
            self.drop_first();
        }
        said
    }

    /// A URL came: what is to be said of all links to it, with the relevance of the pages they are on. Nothing waits for it
    /// any more.
    pub(super) fn resolve<T>(
        &mut self,
        url: UrlId,
        describe: impl Fn(&PageContext, &Place, &Outcomes) -> T,
    ) -> Vec<(T, f32)> {
        let places = self.links_to(url);
        let of_place = |(context, link): &(u32, u32)| {
            let context = &self.contexts[(*context - self.first) as usize];
            (describe(context, &context.links[*link as usize], &self.outcomes), context.relevance)
        };
        // Oldest first, as they were found.
        let found = places.iter().rev().map(of_place).collect();
        self.forget(url);
        found
    }

    /// Nothing waits for a URL any more.
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
        self.turns.late.remove(&url);
    }

    /// All waiting links to a URL that are remembered, newest first.
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

    /// All that waits by now is to be said anew, by what was learnt since.
    pub(super) fn begin_anew(&mut self) {
        self.turns =
            Turns { contexts: self.first..self.first + self.contexts.len() as u32, late: HashMap::default() };
    }

    /// Whether some of it has not been said.
    pub(super) fn is_behind(&self) -> bool {
        !(self.turns.contexts.is_empty() && self.turns.late.is_empty())
    }

    /// Says of so many URLs that wait what they are worth now. Links are scored in the order in which they were found, each
    /// once, and a URL has its turn at the newest of those that were there when it began.
    pub(super) fn say_anew(
        &mut self,
        most: usize,
        parents: Parents,
        mut score: impl FnMut(u32, &PageContext, &Place, &Outcomes) -> f64,
    ) -> Vec<(UrlId, f64)> {
        let (mut anew, first, Turns { contexts: numbers, late }) = (Vec::new(), self.first, &mut self.turns);
        numbers.start = numbers.start.max(first);
        let contexts = self.contexts.iter().skip((numbers.start - first) as usize);
        for (number, context) in numbers.clone().zip(contexts) {
            if anew.len() >= most {
                return anew;
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
                    waiting.said = if is_oldest { worth } else { parents.of_both(waiting.said, worth) };
                }
                let is_late = waiting.newest.0 >= numbers.end
                    && late.get(&link.target).is_some_and(|late| late.turn == (number, at));
                if let Some(late) = is_late.then(|| late.remove(&link.target)).flatten() {
                    waiting.said = parents.of_both(waiting.said, late.worth);
                }
                if is_newest || is_late {
                    anew.push((link.target, waiting.said));
                }
            }
        }
        // The turn of the others was on a context that was forgotten.
        for (url, late) in std::mem::take(late) {
            if let Some(waiting) = self.waiting.get_mut(&url) {
                waiting.said = late.worth;
                anew.push((url, late.worth));
            }
        }
        anew
    }

    /// Links that wait are counted again, after everything was restored.
    pub(super) fn count_links(&mut self) {
        self.links = self.contexts.iter().map(|context| context.open as usize).sum();
    }
}
