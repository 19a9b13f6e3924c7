//! The window on the `crawl` table: which URLs are known, what is believed of them, and which is next.
//!
//! All of it follows from the table and is rebuilt from it at open. A known URL costs 31 bytes: 14 in the
//! map of ids, 13 for what is believed of it, and 4 in the queue while it waits there. So that it fits,
//! beliefs are kept at single precision.

mod chunked;
mod heap;
mod key_map;
mod policy;
mod waiting;

use porthole_types::{Timestamp, UrlId};

pub(crate) use self::chunked::Chunked;
use self::heap::Heap;
pub(crate) use self::key_map::KeyMap;
use self::policy::Policy;
use self::waiting::Waiting;

/// What the table says of a URL's state; the numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Queued = 0,
    Fetched = 1,
    Redirected = 2,
    Dead = 3,
    Skipped = 4,
}

impl State {
    pub(crate) const ALL: [State; 5] =
        [State::Queued, State::Fetched, State::Redirected, State::Dead, State::Skipped];

    pub(crate) fn from_code(code: i64) -> Option<State> {
        usize::try_from(code).ok().and_then(|code| State::ALL.get(code).copied())
    }
}

/// What is believed of a URL before it is fetched, cleaned: finite, and relevance within 0..=1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Belief {
    pub(crate) relevance: f64,
    pub(crate) priority: f64,
}

impl Belief {
    pub(crate) fn new(relevance: f64, priority: f64) -> Self {
        let (lowest, highest) = (f64::from(f32::MIN), f64::from(f32::MAX));
        // Adding zero makes one zero of two: the table does not tell them apart.
        let priority = if priority.is_nan() { lowest } else { priority.clamp(lowest, highest) + 0.0 };
        Belief { relevance: probability(relevance), priority }
    }

    #[allow(clippy::cast_possible_truncation)]
    fn narrow(self) -> (f32, f32) {
        (self.relevance as f32, self.priority as f32)
    }
}

/// A relevance as it is stored: what is not a number says nothing, and nothing is 0.
pub(crate) fn probability(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) + 0.0 }
}

/// What the frontier made of a link's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Not known before; it has this row now.
    New(u32),
    /// Queued, and better than was believed: its row in the table must change.
    Raised(u32),
    /// Nothing changes.
    Known,
}

/// A row as it is read back from the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Restored {
    pub(crate) oid: UrlId,
    pub(crate) belief: Belief,
    pub(crate) numtries: u32,
    pub(crate) state: State,
    pub(crate) not_before: Option<Timestamp>,
}

/// Known URLs and the queue. Row numbers are rowids less one.
#[derive(Debug, Default)]
pub(crate) struct Frontier {
    policy: Policy,
    known: KeyMap,
    rows: Chunked<Row>,
    numtries: Chunked<u8>,
    /// One heap a level; the first that is not empty has the next URL.
    levels: Vec<Heap>,
    waiting: Waiting,
    tally: Tally,
}

/// How many URLs are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// By [`State`], as the table has it.
    pub(crate) states: [usize; State::ALL.len()],
    pub(crate) taken: usize,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    relevance: f32,
    priority: f32,
    place: Place,
}

/// Where a URL is: in a heap at some place, or one of the marks at the end of the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place(u32);

impl Place {
    const FIRST_MARK: u32 = u32::MAX - 7;
    const WAITING: Place = Place(Place::FIRST_MARK);
    const TAKEN: Place = Place(Place::FIRST_MARK + 1);

    #[allow(clippy::cast_possible_truncation)]
    fn at(at: usize) -> Place {
        Place(at as u32)
    }

    fn done(state: State) -> Place {
        Place(Place::TAKEN.0 + state as u32)
    }

    fn in_heap(self) -> Option<usize> {
        (self.0 < Place::FIRST_MARK).then_some(self.0 as usize)
    }

    fn state(self) -> State {
        State::ALL[self.0.saturating_sub(Place::TAKEN.0) as usize]
    }
}

impl Frontier {
    /// More URLs than this cannot be held.
    pub(crate) const CAPACITY: usize = Place::FIRST_MARK as usize;

    /// Number of known URLs, which is the next row number.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn tally(&self) -> Tally {
        self.tally
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
            std::hint::black_box(self.rows[row as usize].place);
        }
    }

    /// The state of a row, as the table has it.
    pub(crate) fn state(&self, row: u32) -> State {
        self.rows[row as usize].place.state()
    }

    /// What is believed of a row, at the precision that is kept.
    pub(crate) fn belief(&self, row: u32) -> Belief {
        let held = self.rows[row as usize];
        Belief { relevance: widen(held.relevance), priority: widen(held.priority) }
    }

    /// A URL was seen: it becomes known, or what is believed of it rises, or nothing happens.
    pub(crate) fn see(&mut self, oid: UrlId, belief: Belief) -> Seen {
        let (row, new) = self.known.get_or_insert(oid.0, Place::at(self.rows.len()).0);
        if new {
            self.append(belief, 0);
            self.enqueue(row);
            return Seen::New(row);
        }
        let held = self.rows[row as usize];
        let (relevance, priority) = belief.narrow();
        let better = relevance > held.relevance || priority > held.priority;
        if !better || held.place.state() != State::Queued {
            return Seen::Known;
        }
        self.believe(row, relevance.max(held.relevance), priority.max(held.priority));
        Seen::Raised(row)
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

    /// The best `n` rows that are due, in the order of the policy; they are in flight from now on.
    pub(crate) fn take(&mut self, n: usize, now: Timestamp) -> Vec<u32> {
        while let Some(row) = self.waiting.pop_due(now) {
            self.enqueue(row);
        }
        let mut taken = Vec::with_capacity(n.min(self.tally.states[State::Queued as usize]));
        for heap in &mut self.levels {
            while taken.len() < n
                && let Some(row) = heap.pop(&mut self.rows)
            {
                self.rows[row as usize].place = Place::TAKEN;
                taken.push(row);
            }
        }
        self.tally.taken += taken.len();
        taken
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
            self.withdraw(row);
            self.rows[row as usize].place = Place::TAKEN;
            self.tally.taken += 1;
        }
    }

    /// Whether a row is in flight.
    pub(crate) fn is_taken(&self, row: u32) -> bool {
        self.rows[row as usize].place == Place::TAKEN
    }

    /// The rows that are in flight.
    pub(crate) fn taken(&self) -> Vec<u32> {
        let rows = (0..self.rows.len()).filter(|&row| self.rows[row].place == Place::TAKEN);
        rows.map(|row| Place::at(row).0).collect()
    }

    /// A URL was tried: it is done, or queued again until `not_before`.
    pub(crate) fn tried(&mut self, row: u32, state: State, not_before: Option<Timestamp>) {
        let old = self.state(row);
        self.tally.states[old as usize] -= 1;
        self.tally.states[state as usize] += 1;
        self.withdraw(row);
        let tries = &mut self.numtries[row as usize];
        *tries = tries.saturating_add(1);
        self.place(row, state, not_before);
    }

    /// A page was judged: that is what the table has as its relevance from now on.
    pub(crate) fn judged(&mut self, row: u32, relevance: f64) {
        #[allow(clippy::cast_possible_truncation)]
        let relevance = probability(relevance) as f32;
        self.rows[row as usize].relevance = relevance;
    }

    /// When the next waiting URL is due.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.waiting.next_due()
    }

    /// Appends a row as the table has it; false if its URL is known already, which a whole table rules out.
    #[must_use]
    pub(crate) fn restore(&mut self, row: Restored) -> bool {
        let (number, new) = self.known.get_or_insert(row.oid.0, Place::at(self.rows.len()).0);
        if !new {
            return false;
        }
        self.append(row.belief, u8::try_from(row.numtries).unwrap_or(u8::MAX));
        self.tally.states[State::Queued as usize] -= 1;
        self.tally.states[row.state as usize] += 1;
        self.place(number, row.state, row.not_before);
        true
    }

    fn append(&mut self, belief: Belief, numtries: u8) {
        let (relevance, priority) = belief.narrow();
        self.rows.push(Row { relevance, priority, place: Place::WAITING });
        self.numtries.push(numtries);
        self.tally.states[State::Queued as usize] += 1;
    }

    fn place(&mut self, row: u32, state: State, not_before: Option<Timestamp>) {
        match (state, not_before) {
            (State::Queued, Some(due)) => {
                self.rows[row as usize].place = Place::WAITING;
                self.waiting.push(row, due);
            }
            (State::Queued, None) => self.enqueue(row),
            _ => self.rows[row as usize].place = Place::done(state),
        }
    }

    fn believe(&mut self, row: u32, relevance: f32, priority: f32) {
        let held = &mut self.rows[row as usize];
        let moves = priority != held.priority;
        (held.relevance, held.priority) = (relevance, priority);
        if let Some(at) = held.place.in_heap()
            && moves
        {
            let level = self.level(row);
            self.levels[level].moved(at, &mut self.rows);
        }
    }

    fn enqueue(&mut self, row: u32) {
        let level = self.level(row);
        while self.levels.len() <= level {
            self.levels.push(Heap::default());
        }
        self.levels[level].push(row, &mut self.rows);
    }

    /// Takes a row out of wherever it waits.
    fn withdraw(&mut self, row: u32) {
        let place = self.rows[row as usize].place;
        if let Some(at) = place.in_heap() {
            let level = self.level(row);
            self.levels[level].remove(at, &mut self.rows);
        } else if place == Place::WAITING {
            self.waiting.remove(row);
        } else if place == Place::TAKEN {
            self.tally.taken -= 1;
        }
    }

    fn level(&self, row: u32) -> usize {
        self.policy.level(self.numtries[row as usize])
    }
}

/// The number that reads the same: 0.9 for 0.9, not 0.8999999761581421. Narrowed, it is the old one again.
fn widen(narrow: f32) -> f64 {
    let wide = narrow.to_string().parse().unwrap_or(f64::from(narrow));
    #[allow(clippy::cast_possible_truncation)]
    let same = wide as f32 == narrow;
    if same { wide } else { f64::from(narrow) }
}
