//! The reference model: a plain list of URLs that is sorted whenever something is taken or evicted.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use porthole_store::{Direction, Policy, PolicyKey};

use super::site;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Queued,
    Fetched,
    Dead,
    Evicted,
    Rejected,
}

/// A URL in the model.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) number: u64,
    pub(super) relevance: f64,
    pub(super) priority: f64,
    pub(super) state: State,
    /// Tries since it was queued.
    pub(super) tries: u32,
    visits: u32,
    came: bool,
    /// Was finished and queued again.
    again: bool,
    lastvisited: i64,
    not_before: Option<i64>,
    /// Not due yet, or not taken since it became due.
    waits: bool,
}

impl Known {
    fn new(number: u64, relevance: f64, priority: f64) -> Self {
        Known {
            number,
            relevance,
            priority,
            state: State::Queued,
            tries: 0,
            visits: 0,
            came: false,
            again: false,
            lastvisited: 0,
            not_before: None,
            waits: false,
        }
    }

    fn is_done(&self) -> bool {
        matches!(self.state, State::Fetched | State::Dead)
    }

    /// R(d) of a page is not an estimate.
    fn believe(&mut self, relevance: f64, priority: f64) {
        self.priority = priority;
        if !self.came {
            self.relevance = relevance;
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Twin {
    pub(super) known: Vec<Known>,
    pub(super) taken: HashSet<u64>,
    pub(super) links: HashSet<(u64, u64)>,
    pub(super) policy: Policy,
    pub(super) bound: Option<usize>,
    pub(super) disabled: HashSet<u64>,
    pub(super) hubs: HashMap<u64, f64>,
    pub(super) auth: HashMap<u64, f64>,
    pub(super) neighbourhoods: HashMap<u64, f64>,
    loads: HashMap<u64, u32>,
}

impl Twin {
    pub(super) fn find(&mut self, number: u64) -> Option<&mut Known> {
        self.known.iter_mut().find(|known| known.number == number)
    }

    pub(super) fn count(&self, state: State) -> usize {
        self.known.iter().filter(|known| known.state == state).count()
    }

    pub(super) fn parked(&self) -> usize {
        self.known.iter().filter(|known| self.is_parked(known)).count()
    }

    pub(super) fn reopen(&mut self) {
        self.taken.clear();
        for known in &mut self.known {
            known.waits = known.not_before.is_some();
        }
    }

    pub(super) fn see(&mut self, number: u64, relevance: f64, priority: f64) {
        match self.find(number) {
            Some(known) if known.is_done() => {}
            Some(known) if known.state == State::Evicted => {
                known.believe(relevance, priority);
                known.state = State::Queued;
                // Its place in the line is the last.
                let at = self.known.iter().position(|known| known.number == number).unwrap();
                let known = self.known.remove(at);
                self.known.push(known);
            }
            Some(known) => {
                let lowest = if known.state == State::Rejected { priority } else { known.priority };
                known.believe(known.relevance.max(relevance), lowest.max(priority));
                known.state = State::Queued;
            }
            None => self.known.push(Known::new(number, relevance, priority)),
        }
    }

    pub(super) fn reject(&mut self, number: u64, relevance: f64) {
        if self.find(number).is_none() {
            self.known.push(Known { state: State::Rejected, ..Known::new(number, relevance, 0.0) });
        }
    }

    pub(super) fn set(&mut self, number: u64, value: f64) {
        if let Some(known) = self.find(number).filter(|known| known.state == State::Queued) {
            known.believe(value, value);
        }
    }

    pub(super) fn judge(&mut self, number: u64, value: f64) {
        if let Some(known) = self.find(number)
            && (known.state == State::Fetched || known.state == State::Queued && known.came)
        {
            known.relevance = value;
        }
    }

    /// Applies a result; returns whether its URL is known.
    pub(super) fn tried(&mut self, number: u64, state: State, not_before: Option<i64>, at: i64) -> bool {
        let Some(known) = self.find(number) else { return false };
        if known.is_done() {
            (known.tries, known.again) = (0, true);
        }
        (known.tries, known.visits) = (known.tries + 1, known.visits + 1);
        (known.state, known.not_before, known.waits) = (state, not_before, not_before.is_some());
        known.lastvisited = at;
        if state == State::Fetched && !std::mem::replace(&mut known.came, true) {
            *self.loads.entry(site(number)).or_default() += 1;
        }
        self.taken.remove(&number);
        true
    }

    pub(super) fn queue_again(&mut self, number: u64) -> usize {
        let Some(known) = self.find(number).filter(|known| known.is_done()) else { return 0 };
        (known.state, known.tries, known.not_before, known.waits) = (State::Queued, 0, None, false);
        known.again = true;
        1
    }

    pub(super) fn give_back(&mut self, number: u64) -> bool {
        self.taken.remove(&number)
    }

    pub(super) fn take(&mut self, n: usize, now: i64) -> Vec<u64> {
        self.come_due(now);
        let mut taken = Vec::new();
        while taken.len() < n
            && let Some(number) = self.next()
        {
            self.taken.insert(number);
            taken.push(number);
        }
        taken
    }

    pub(super) fn take_these(&mut self, numbers: &[u64], now: i64) -> Vec<u64> {
        let mut taken = Vec::new();
        for &number in numbers {
            let in_flight = self.taken.contains(&number);
            let disabled = self.disabled.contains(&site(number));
            let Some(known) = self.find(number) else { continue };
            let due = !known.waits || known.not_before.is_none_or(|at| at <= now);
            if known.state == State::Queued && due && !in_flight && !disabled {
                known.waits = false;
                self.taken.insert(number);
                taken.push(number);
            }
        }
        taken
    }

    /// Whether a link to a URL queues it: it is new, or was evicted or rejected.
    pub(super) fn is_added_by_link(&self, number: u64) -> bool {
        let state = self.known.iter().find(|known| known.number == number).map(|known| known.state);
        matches!(state, None | Some(State::Evicted | State::Rejected))
    }

    /// Makes room in a full queue for a link that would be queued (P Fig. 1).
    pub(super) fn make_room(&mut self, number: u64) {
        if self.is_added_by_link(number) && !self.disabled.contains(&site(number)) {
            self.keep_best(self.bound.map(|bound| bound.saturating_sub(1)), None);
        }
    }

    /// Evicts the worst URLs beyond the bound; pages that are queued again are apart, and one URL may be protected.
    pub(super) fn trim_but(&mut self, protected: Option<u64>) {
        self.keep_best(self.bound, protected);
    }

    pub(super) fn trim(&mut self) {
        self.trim_but(None);
    }

    fn keep_best(&mut self, most: Option<usize>, protected: Option<u64>) {
        let waits = |known: &&Known| {
            known.state == State::Queued
                && !known.came
                && !self.taken.contains(&known.number)
                && !self.is_parked(known)
        };
        let mut waiting: Vec<&Known> = self.known.iter().filter(waits).collect();
        let can_go = |known: &Known| Some(known.number) != protected;
        waiting
            .sort_by(|a, b| can_go(a).cmp(&can_go(b)).then_with(|| self.compare(self.policy.keys(), a, b)));
        let too_many = waiting.iter().skip(most.unwrap_or(usize::MAX));
        let evicted: HashSet<u64> = too_many.map(|known| known.number).collect();
        for known in self.known.iter_mut().filter(|known| evicted.contains(&known.number)) {
            (known.state, known.not_before, known.waits) = (State::Evicted, None, false);
        }
    }

    fn come_due(&mut self, now: i64) {
        for known in self.known.iter_mut().filter(|known| known.not_before.is_some_and(|at| at <= now)) {
            known.waits = false;
        }
    }

    /// The best URL by all keys.
    fn next(&self) -> Option<u64> {
        let free = |known: &&Known| {
            known.state == State::Queued
                && !known.waits
                && !self.taken.contains(&known.number)
                && !self.disabled.contains(&site(known.number))
        };
        // Of equal ones, the one discovered first.
        let best = self.known.iter().filter(free).min_by(|a, b| self.compare(self.policy.keys(), a, b));
        best.map(|known| known.number)
    }

    fn is_parked(&self, known: &Known) -> bool {
        known.state == State::Queued
            && !known.waits
            && !self.taken.contains(&known.number)
            && self.disabled.contains(&site(known.number))
    }

    fn compare(&self, keys: &[(PolicyKey, Direction)], a: &Known, b: &Known) -> Ordering {
        let by = |(key, direction): &(PolicyKey, Direction)| {
            let ordering = self.value(*key, a).total_cmp(&self.value(*key, b));
            if *direction == Direction::Asc { ordering } else { ordering.reverse() }
        };
        keys.iter().map(by).find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
    }

    fn value(&self, key: PolicyKey, known: &Known) -> f64 {
        let place = || self.known.iter().position(|other| other.number == known.number).unwrap();
        match key {
            PolicyKey::Numtries => f64::from(known.tries),
            PolicyKey::Visits => f64::from(known.visits),
            PolicyKey::Priority => known.priority,
            PolicyKey::Relevance => known.relevance,
            PolicyKey::Serverload => self.loads.get(&site(known.number)).copied().unwrap_or(0).into(),
            PolicyKey::Lastvisited => known.lastvisited as f64,
            PolicyKey::Hub => self.hubs.get(&known.number).copied().unwrap_or(0.0),
            PolicyKey::Authority => self.auth.get(&known.number).copied().unwrap_or(0.0),
            PolicyKey::Neighbourhood => {
                self.neighbourhoods.get(&known.number).copied().unwrap_or(known.relevance)
            }
            PolicyKey::Discovered => place() as f64,
            PolicyKey::Revisit => f64::from(u8::from(known.again && known.came)),
        }
    }
}
