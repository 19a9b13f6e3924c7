//! The window on the `crawl` table: which URLs are known, what is believed of them, and which is next.
//!
//! All of it follows from the tables and is rebuilt from them at open. A known URL costs 33 bytes: 13 in
//! the map of ids, 16 for what is believed of it, how often it was tried and where it lies, and 4 in the
//! queue while it waits there. So that it fits, beliefs are kept at single precision. A policy that goes by
//! time or scores costs 4 bytes more a key. A site costs 50 bytes.

mod belief;
mod chunked;
mod columns;
mod heap;
mod key_map;
mod order;
mod queues;
mod rule;
mod sites;
mod waiting;

use porthole_types::{Rank, SiteId, Timestamp, UrlId};

pub(crate) use self::belief::{Belief, probability};
pub(crate) use self::chunked::Chunked;
use self::columns::{Columns, Place};
pub(crate) use self::columns::{Facts, Tries};
pub(crate) use self::key_map::KeyMap;
pub(crate) use self::order::Needs;
use self::order::Order;
use self::queues::Queues;
pub(crate) use self::sites::Sites;
use self::waiting::Waiting;
use crate::Policy;

/// What the table says of a URL's state; the numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Queued = 0,
    Fetched = 1,
    Redirected = 2,
    Dead = 3,
    Skipped = 4,
    /// Was queued, and had to make room for better ones.
    Evicted = 5,
    /// Known from links that the strategy does not want followed.
    Rejected = 6,
}

impl State {
    pub(crate) const ALL: [State; 7] = [
        State::Queued,
        State::Fetched,
        State::Redirected,
        State::Dead,
        State::Skipped,
        State::Evicted,
        State::Rejected,
    ];

    pub(crate) fn from_code(code: i64) -> Option<State> {
        usize::try_from(code).ok().and_then(|code| State::ALL.get(code).copied())
    }

    /// Whether a result has settled it.
    pub(crate) fn is_done(self) -> bool {
        !matches!(self, State::Queued | State::Evicted | State::Rejected)
    }

    /// Whether the URL led to a page or elsewhere.
    pub(crate) fn came(self) -> bool {
        matches!(self, State::Fetched | State::Redirected)
    }
}

/// What the frontier made of a link's target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Seen {
    /// Not known before; it has this row now.
    New(u32),
    /// Queued, and better than was believed: its row in the table must change.
    Raised(u32),
    /// It was evicted, or rejected, and is queued now; what was believed of it when it was evicted.
    Back(u32, Option<Belief>),
    /// Nothing changes.
    Known(u32),
}

/// A row as it is read back from the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Restored {
    pub(crate) oid: UrlId,
    pub(crate) belief: Belief,
    pub(crate) tries: Tries,
    pub(crate) state: State,
    pub(crate) not_before: Option<Timestamp>,
    pub(crate) facts: Facts,
}

/// Known URLs and the queue. Row numbers are rowids less one.
#[derive(Debug)]
pub(crate) struct Frontier {
    known: KeyMap,
    columns: Columns,
    queues: Queues,
    waiting: Waiting,
    /// At most so many wait in the queue.
    bound: Option<usize>,
    tally: Tally,
}

/// How many URLs are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// By [`State`], as the table has it.
    pub(crate) states: [usize; State::ALL.len()],
    pub(crate) taken: usize,
    /// Queued, on sites that are disabled.
    pub(crate) parked: usize,
}

impl Frontier {
    /// More URLs than this cannot be held.
    pub(crate) const CAPACITY: usize = Place::FIRST_MARK as usize;

    /// An empty one, with the sites that are known.
    pub(crate) fn new(policy: &Policy, bound: Option<usize>, sites: Sites) -> Self {
        Frontier {
            known: KeyMap::default(),
            columns: Columns::new(Order::new(policy), sites),
            queues: Queues::default(),
            waiting: Waiting::default(),
            bound,
            tally: Tally::default(),
        }
    }

    /// Number of known URLs, which is the next row number.
    pub(crate) fn len(&self) -> usize {
        self.columns.rows.len()
    }

    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.columns.order.policy
    }

    pub(crate) fn sites(&self) -> &Sites {
        &self.columns.sites
    }

    pub(crate) fn sites_mut(&mut self) -> &mut Sites {
        &mut self.columns.sites
    }

    /// The row of a known URL.
    pub(crate) fn find(&self, oid: UrlId) -> Option<u32> {
        self.known.get(oid.0)
    }

    /// Has the memory ready for URLs that will be seen next. Searching them takes most of its time waiting
    /// for memory, and waits that do not depend on each other overlap.
    pub(crate) fn touch(&self, oids: impl Iterator<Item = UrlId> + Clone) {
        oids.clone().for_each(|oid| self.known.touch(oid.0));
        for row in oids.filter_map(|oid| self.find(oid)) {
            std::hint::black_box(self.columns.rows[row as usize].place);
        }
    }

    /// The state of a row, as the table has it.
    pub(crate) fn state(&self, row: u32) -> State {
        self.columns.rows[row as usize].place.state()
    }

    /// What is known of a row's tries.
    pub(crate) fn tries(&self, row: u32) -> Tries {
        self.columns.tries[row as usize]
    }

    /// What is believed of a row, at the precision that is kept.
    pub(crate) fn belief(&self, row: u32) -> Belief {
        let held = self.columns.rows[row as usize];
        Belief::wide(held.relevance, held.priority)
    }

    /// A URL was seen: it becomes known, or what is believed of it rises, or nothing happens.
    pub(crate) fn see(&mut self, oid: UrlId, sid: SiteId, belief: Belief) -> Seen {
        let (row, new) = self.known.get_or_insert(oid.0, Place::at(self.len()).0);
        if !new {
            return self.raise(row, belief);
        }
        let (site, _) = self.columns.sites.see(sid, 0);
        self.columns.push(belief, Tries::default(), Facts { site, ..Facts::default() });
        self.tally.states[State::Queued as usize] += 1;
        self.enqueue(row);
        Seen::New(row)
    }

    /// A URL was seen that is not to be queued: it becomes known, or nothing happens.
    pub(crate) fn reject(&mut self, oid: UrlId, sid: SiteId, belief: Belief) -> Seen {
        let (row, new) = self.known.get_or_insert(oid.0, Place::at(self.len()).0);
        if !new {
            return Seen::Known(row);
        }
        let (site, _) = self.columns.sites.see(sid, 0);
        self.columns.push(belief, Tries::default(), Facts { site, ..Facts::default() });
        self.tally.states[State::Rejected as usize] += 1;
        self.place(row, State::Rejected, None);
        Seen::New(row)
    }

    /// What is believed of a URL rises, or nothing happens. One that was evicted or rejected is queued.
    pub(crate) fn raise(&mut self, row: u32, belief: Belief) -> Seen {
        let held = self.columns.rows[row as usize];
        let (relevance, priority) = belief.narrow();
        let better = relevance > held.relevance || priority > held.priority;
        let state = held.place.state();
        if state.is_done() || (state == State::Queued && !better) {
            return Seen::Known(row);
        }
        let before = (state == State::Evicted).then(|| self.belief(row));
        // Nobody has given a rejected URL a priority yet.
        let lowest = if state == State::Rejected { priority } else { held.priority };
        self.believe(row, relevance.max(held.relevance), priority.max(lowest));
        if state == State::Queued {
            return Seen::Raised(row);
        }
        self.change_state(row, State::Queued);
        self.enqueue(row);
        Seen::Back(row, before)
    }

    /// Sets what is believed of a URL, up or down; whether it is queued, so that this matters.
    pub(crate) fn set(&mut self, row: u32, belief: Belief) -> bool {
        let queued = self.state(row) == State::Queued;
        if queued {
            let (relevance, priority) = belief.narrow();
            self.believe(row, relevance, priority);
        }
        queued
    }

    /// Sets the priority of a URL, up or down, and leaves what its relevance is estimated at; whether it is queued and had
    /// another one.
    pub(crate) fn set_priority(&mut self, row: u32, priority: f64) -> bool {
        let held = self.columns.rows[row as usize];
        let (_, priority) = Belief::new(0.0, priority).narrow();
        let changes = held.place.state() == State::Queued && priority != held.priority;
        if changes {
            self.believe(row, held.relevance, priority);
        }
        changes
    }

    /// The best `n` rows that are due, in the order of the policy; they are in flight from now on.
    pub(crate) fn take(&mut self, n: usize, now: Timestamp) -> Vec<u32> {
        self.wake(now);
        let mut best = Vec::new();
        while best.len() < n
            && let Some(row) = self.queues.best()
        {
            self.check_out(row);
            best.push(row);
        }
        best
    }

    /// Holds the best `n` sites: what is queued of them is taken by [`take_of`](Frontier::take_of) and not by
    /// [`take`](Frontier::take). Their rows.
    pub(crate) fn hold_sites(&mut self, n: usize, now: Timestamp) -> Vec<u32> {
        self.wake(now);
        (0..n).map_while(|_| self.queues.hold_best(&self.columns)).collect()
    }

    /// The best `n` rows of a site; they are in flight from now on.
    pub(crate) fn take_of(&mut self, site: u32, n: usize, now: Timestamp) -> Vec<u32> {
        self.wake(now);
        let mut best = Vec::new();
        while best.len() < n
            && let Some(row) = self.queues.best_of(site).filter(|_| !self.sites().is_disabled(site))
        {
            self.check_out(row);
            best.push(row);
        }
        best
    }

    /// The rank of the best row of a site.
    pub(crate) fn best_of(&self, site: u32) -> Option<Rank> {
        self.queues.best_of(site).map(|row| self.rank(row))
    }

    /// Gives a held site back; it is not chosen before `until`.
    pub(crate) fn release_site(&mut self, site: u32, until: Option<Timestamp>) {
        self.queues.release(site, until, &self.columns);
    }

    /// The held sites that have a better row than when this was last asked.
    pub(crate) fn improved_sites(&mut self) -> Vec<u32> {
        self.queues.take_improved()
    }

    /// Where a row stands in the order of the policy.
    pub(crate) fn rank(&self, row: u32) -> Rank {
        self.columns.rank(row)
    }

    /// Counts one more URL that was fetched from a site; the site's row.
    pub(crate) fn count_fetched(&mut self, sid: SiteId) -> Option<u32> {
        let site = self.columns.sites.count(sid)?;
        self.queues.load_changed(site, &self.columns);
        Some(site)
    }

    /// Queues what is due by now.
    fn wake(&mut self, now: Timestamp) {
        while let Some(row) = self.waiting.pop_due(now) {
            self.enqueue(row);
        }
        self.queues.wake(now, &self.columns);
    }

    /// Takes a row if it is queued and due; whether it is in flight now and was not before.
    pub(crate) fn take_this(&mut self, row: u32, now: Timestamp) -> bool {
        let place = self.columns.rows[row as usize].place;
        let due = place.in_heap().is_some() || place == Place::WAITING && self.waiting.is_due(row, now);
        let takes = due && !self.columns.is_disabled(row);
        if takes {
            self.check_out(row);
        }
        takes
    }

    /// Puts a row that is in flight back into the queue, to its old place in the order.
    pub(crate) fn give_back(&mut self, row: u32) {
        if self.is_taken(row) {
            self.tally.taken -= 1;
            self.enqueue(row);
        }
    }

    /// Marks a queued row as in flight, as it was before the window was rebuilt.
    pub(crate) fn take_again(&mut self, row: u32) {
        if self.state(row) == State::Queued && !self.is_taken(row) {
            self.check_out(row);
        }
    }

    /// Whether a row is in flight.
    pub(crate) fn is_taken(&self, row: u32) -> bool {
        self.columns.rows[row as usize].place == Place::TAKEN
    }

    /// The rows that are in flight.
    pub(crate) fn taken(&self) -> Vec<u32> {
        self.rows_at(Place::TAKEN)
    }

    /// A URL was tried: it is done, or queued again until `not_before`.
    pub(crate) fn tried(&mut self, row: u32, state: State, not_before: Option<Timestamp>, at: Timestamp) {
        self.withdraw(row);
        self.change_state(row, state);
        self.columns.tried(row, state.came(), at);
        self.place(row, state, not_before);
    }

    /// Queues a URL that is done once more, as if it had not been tried.
    pub(crate) fn queue_again(&mut self, row: u32) {
        self.change_state(row, State::Queued);
        self.columns.tries[row as usize] = self.columns.tries[row as usize].afresh();
        self.enqueue(row);
    }

    /// A page was judged: that is what the table has as its relevance from now on.
    pub(crate) fn judged(&mut self, row: u32, relevance: f64) {
        #[allow(clippy::cast_possible_truncation)]
        let relevance = probability(relevance) as f32;
        self.columns.rows[row as usize].relevance = relevance;
        self.moved(row);
    }

    /// When the next waiting URL is due, or the next site has rested.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.waiting.next_due().into_iter().chain(self.queues.next_wake()).min()
    }

    /// Appends a row as the table has it; false if its URL is known already, which a whole table rules out.
    #[must_use]
    pub(crate) fn restore(&mut self, row: Restored) -> bool {
        let (number, new) = self.known.get_or_insert(row.oid.0, Place::at(self.len()).0);
        if new {
            self.columns.push(row.belief, row.tries, row.facts);
            self.tally.states[row.state as usize] += 1;
            self.place(number, row.state, row.not_before);
        }
        new
    }

    fn place(&mut self, row: u32, state: State, not_before: Option<Timestamp>) {
        match (state, not_before) {
            (State::Queued, Some(due)) => {
                self.columns.rows[row as usize].place = Place::WAITING;
                self.waiting.push(row, due);
            }
            (State::Queued, None) => self.enqueue(row),
            _ => self.columns.rows[row as usize].place = Place::done(state),
        }
    }

    /// What a page that came is worth is known, and no belief changes that.
    fn believe(&mut self, row: u32, relevance: f32, priority: f32) {
        let came = self.columns.tries[row as usize].has_come();
        let held = &mut self.columns.rows[row as usize];
        let relevance = if came { held.relevance } else { relevance };
        let moves = priority != held.priority || (relevance != held.relevance && !self.columns.order.plain);
        (held.relevance, held.priority) = (relevance, priority);
        if moves {
            self.moved(row);
        }
    }

    /// What a row is ordered by has changed.
    fn moved(&mut self, row: u32) {
        if let Some(at) = self.columns.rows[row as usize].place.in_heap() {
            self.queues.moved(row, at, &mut self.columns);
        }
    }

    fn enqueue(&mut self, row: u32) {
        self.tally.parked += usize::from(self.columns.is_disabled(row));
        self.queues.push(row, &mut self.columns);
    }

    /// Takes a row out of the queue, until its result comes or it is given back.
    fn check_out(&mut self, row: u32) {
        self.withdraw(row);
        self.columns.rows[row as usize].place = Place::TAKEN;
        self.tally.taken += 1;
    }

    /// Takes a row out of wherever it waits.
    fn withdraw(&mut self, row: u32) {
        let place = self.columns.rows[row as usize].place;
        if let Some(at) = place.in_heap() {
            self.tally.parked -= usize::from(self.columns.is_disabled(row));
            self.queues.remove(row, at, &mut self.columns);
        } else if place == Place::WAITING {
            self.waiting.remove(row);
        } else if place == Place::TAKEN {
            self.tally.taken -= 1;
        }
    }

    fn change_state(&mut self, row: u32, state: State) {
        self.tally.states[self.state(row) as usize] -= 1;
        self.tally.states[state as usize] += 1;
    }

    fn rows_at(&self, place: Place) -> Vec<u32> {
        let rows = (0..self.len()).filter(|&row| self.columns.rows[row].place == place);
        rows.map(|row| Place::at(row).0).collect()
    }
}
