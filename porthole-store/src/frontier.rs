//! The frontier in memory: which URLs are known, their estimates, and which is next.
//!
//! Everything here is derived from the `crawl` table and rebuilt at open. A known URL costs 33 bytes: 13 in the map of
//! ids, 16 for estimates, tries and position, and 4 in the queue. To fit, estimates have single precision. A policy
//! that uses time or scores costs 4 more bytes per key. A site costs 50 bytes.

mod belief;
mod chunked;
mod columns;
mod eviction;
mod heap;
mod key_map;
mod order;
mod queues;
mod rule;
mod shards;
mod sites;
mod waiting;

use porthole_types::{Rank, SiteId, Timestamp, UrlId};

pub(crate) use self::belief::{Belief, probability};
pub(crate) use self::chunked::Chunked;
use self::columns::{Columns, QueuePlace};
pub(crate) use self::columns::{LinePosition, OptionalValues, Tries};
pub(crate) use self::eviction::EvictionOrder;
pub(crate) use self::key_map::KeyMap;
use self::order::KeyOrder;
pub(crate) use self::order::Needs;
use self::queues::Queues;
pub(crate) use self::shards::{SHARDS, ShardSet, shard_of};
pub(crate) use self::sites::SiteTable;
use self::waiting::RetryQueue;
use crate::{Policy, QueuedSites};

/// State of a URL; the numbers are stored in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowState {
    Queued = 0,
    Fetched = 1,
    Redirected = 2,
    Dead = 3,
    Skipped = 4,
    /// Was queued and had to make room for better URLs.
    Evicted = 5,
    /// Known only from links that the strategy does not follow.
    Rejected = 6,
}

impl RowState {
    pub(crate) const ALL: [RowState; 7] = [
        RowState::Queued,
        RowState::Fetched,
        RowState::Redirected,
        RowState::Dead,
        RowState::Skipped,
        RowState::Evicted,
        RowState::Rejected,
    ];

    pub(crate) fn from_code(code: i64) -> Option<RowState> {
        usize::try_from(code).ok().and_then(|code| RowState::ALL.get(code).copied())
    }

    /// Whether the URL is finished.
    pub(crate) fn is_done(self) -> bool {
        !matches!(self, RowState::Queued | RowState::Evicted | RowState::Rejected)
    }

    /// Whether the URL led to a page or a redirect.
    pub(crate) fn has_response(self) -> bool {
        matches!(self, RowState::Fetched | RowState::Redirected)
    }
}

/// Effect of a link on its target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SeenUrl {
    /// A new URL, with its row.
    New(u32),
    /// A queued URL whose estimate has risen: its row in the table must change.
    Raised(u32),
    /// An evicted or rejected URL that is queued now; with its state and its estimate before.
    Back(u32, RowState, Belief),
    /// Nothing changes.
    Known(u32),
}

/// A row as read from the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Restored {
    pub(crate) rowid: i64,
    pub(crate) oid: UrlId,
    pub(crate) belief: Belief,
    pub(crate) tries: Tries,
    pub(crate) state: RowState,
    pub(crate) not_before: Option<Timestamp>,
    pub(crate) facts: OptionalValues,
}

/// How many of the greatest priorities in frozen shards are remembered.
const FROZEN_BEST: usize = 256;

/// Known URLs and the queue. Row numbers are rowids minus one, unless this is a part of the table.
#[derive(Debug)]
pub(crate) struct Frontier {
    known: KeyMap,
    columns: Columns,
    queues: Queues,
    waiting: RetryQueue,
    /// Maximum number of queued URLs.
    bound: Option<usize>,
    tally: StateCounts,
    /// With it this is a part of the table.
    part: Option<PartNumbers>,
    /// The greatest priorities in the frozen shards when they were frozen, in descending order.
    frozen_best: Vec<(f32, u8)>,
}

/// The rowids of a part of the table.
#[derive(Debug, Default)]
struct PartNumbers {
    /// Rowids minus one, ascending, by row.
    numbers: Chunked<u32>,
    /// The number of the next new row.
    next: u32,
}

/// Numbers of URLs by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateCounts {
    /// By [`RowState`], as in the table.
    pub(crate) states: [usize; RowState::ALL.len()],
    pub(crate) taken: usize,
    /// Queued URLs on disabled sites.
    pub(crate) parked: usize,
    /// Queued pages that were fetched before.
    pub(crate) revisits: usize,
}

impl Frontier {
    /// Maximum number of URLs.
    pub(crate) const CAPACITY: usize = QueuePlace::FIRST_MARK as usize;

    /// An empty frontier with the known sites.
    pub(crate) fn new(policy: &Policy, bound: Option<usize>, sites: SiteTable) -> Self {
        Frontier {
            known: KeyMap::default(),
            columns: Columns::new(KeyOrder::new(policy), sites),
            queues: Queues::default(),
            waiting: RetryQueue::default(),
            bound,
            tally: StateCounts::default(),
            part: None,
            frozen_best: Vec::new(),
        }
    }

    /// An empty frontier of a part of the table, with all known sites.
    pub(crate) fn of_part(policy: &Policy, bound: Option<usize>, sites: SiteTable) -> Self {
        Frontier { part: Some(PartNumbers::default()), ..Frontier::new(policy, bound, sites) }
    }

    /// Whether this is a part of the table.
    pub(crate) fn is_part(&self) -> bool {
        self.part.is_some()
    }

    /// Gives new rows the numbers behind `rowid`, which is the last one of the table.
    pub(crate) fn number_after(&mut self, rowid: i64) {
        if let Some(part) = &mut self.part {
            part.next = u32::try_from(rowid).unwrap_or(u32::MAX);
        }
    }

    /// The rowid of a row.
    pub(crate) fn rowid(&self, row: u32) -> i64 {
        let number = self.part.as_ref().map_or(row, |part| part.numbers[row as usize]);
        i64::from(number) + 1
    }

    /// The row with a rowid; `None` if it is in another part, or unknown.
    pub(crate) fn row_of(&self, rowid: i64) -> Option<u32> {
        let number = u32::try_from(rowid.checked_sub(1)?).ok()?;
        let row = match &self.part {
            None => number,
            Some(part) => {
                let row = part.rows_below(number.checked_add(1)?).checked_sub(1)?;
                (part.numbers[row as usize] == number).then_some(row)?
            }
        };
        ((row as usize) < self.len()).then_some(row)
    }

    /// The last row whose rowid is not above this one; the first row if there is none.
    pub(crate) fn last_row_up_to(&self, rowid: i64) -> u32 {
        let number = u32::try_from(rowid).unwrap_or(u32::MAX);
        match &self.part {
            None => number.saturating_sub(1),
            Some(part) => part.rows_below(number).saturating_sub(1),
        }
    }

    /// Notes the rowid of the next row, if this is a part.
    fn number(&mut self, rowid: Option<i64>) {
        if let Some(part) = &mut self.part {
            let number = rowid.and_then(|rowid| u32::try_from(rowid - 1).ok()).unwrap_or(part.next);
            part.numbers.push(number);
            part.next = number + 1;
        }
    }

    /// Takes over which sites are held or resting, after the frontier was read again.
    pub(crate) fn keep_site_states(&mut self, before: &Frontier) {
        self.queues.keep_states(&before.queues, &self.columns);
    }

    /// Takes these shards out of the queue: their URLs stay queued, and are not taken.
    pub(crate) fn freeze(&mut self, shards: ShardSet) {
        self.frozen_best = self.greatest_of_shards(shards, FROZEN_BEST);
        self.columns.sites.freeze(shards);
        self.rebuild();
    }

    /// The greatest priorities in the frozen shards when they were frozen, in descending order, each with its shard.
    pub(crate) fn frozen_best(&self) -> &[(f32, u8)] {
        &self.frozen_best
    }

    /// Forgets them: nobody waits for these URLs any more.
    pub(crate) fn forget_frozen_best(&mut self) {
        self.frozen_best.clear();
    }

    /// The greatest `n` priorities of queued URLs in these shards, in descending order, each with its shard. Those of
    /// disabled sites do not count.
    pub(crate) fn greatest_of_shards(&self, shards: ShardSet, n: usize) -> Vec<(f32, u8)> {
        let sites = self.sites();
        let rows = 0..if shards.is_empty() { 0 } else { u32::try_from(sites.len()).unwrap_or(u32::MAX) };
        let rows = rows.filter(|row| shards.has_site(sites.id(*row)) && !sites.disabled().contains(row));
        let greatest = self.queues.greatest_of(rows, n, &self.columns);
        greatest.into_iter().map(|(priority, site)| (priority, shard_of(sites.id(site)))).collect()
    }

    /// Number of queued URLs of sites that are disabled in the table.
    pub(crate) fn parked(&self) -> usize {
        self.sites().disabled().iter().map(|&site| self.queues.len_of(site)).sum()
    }

    /// Number of known URLs, which is the next row number.
    pub(crate) fn len(&self) -> usize {
        self.columns.rows.len()
    }

    pub(crate) fn tally(&self) -> StateCounts {
        self.tally
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.columns.order.policy
    }

    pub(crate) fn sites(&self) -> &SiteTable {
        &self.columns.sites
    }

    pub(crate) fn sites_mut(&mut self) -> &mut SiteTable {
        &mut self.columns.sites
    }

    /// Whether no queued URL could be taken now: all are in flight, wait for a retry, or are on disabled sites.
    pub(crate) fn is_idle(&self) -> bool {
        let StateCounts { states, taken, parked, .. } = self.tally;
        states[RowState::Queued as usize] <= taken + parked + self.waiting.len()
    }

    /// Number of queued pages that were fetched before, without those that wait for a retry.
    pub(crate) fn queued_revisits(&self) -> usize {
        let waiting = self.waiting.rows().filter(|&row| self.tries(row).is_revisit()).count();
        self.tally.revisits - waiting
    }

    /// The row of a known URL.
    pub(crate) fn find(&self, oid: UrlId) -> Option<u32> {
        self.known.get(oid.0)
    }

    /// Prefetches memory for URLs that will be looked up next. Lookups mostly wait for memory, and independent waits
    /// overlap.
    pub(crate) fn touch(&self, oids: impl Iterator<Item = UrlId> + Clone) {
        oids.clone().for_each(|oid| self.known.touch(oid.0));
        for row in oids.filter_map(|oid| self.find(oid)) {
            std::hint::black_box(self.columns.rows[row as usize].place);
        }
    }

    /// The state of a row, as in the table.
    pub(crate) fn state(&self, row: u32) -> RowState {
        self.columns.rows[row as usize].place.state()
    }

    /// The tries of a row.
    pub(crate) fn tries(&self, row: u32) -> Tries {
        self.columns.tries[row as usize]
    }

    /// The estimate of a row, at the stored precision.
    pub(crate) fn belief(&self, row: u32) -> Belief {
        let row_data = self.columns.rows[row as usize];
        Belief::wide(row_data.relevance, row_data.priority)
    }

    /// Records a link to a URL: adds the URL, or raises its estimate.
    pub(crate) fn see(&mut self, oid: UrlId, sid: SiteId, belief: Belief) -> SeenUrl {
        let (row, new) = self.known.get_or_insert(oid.0, QueuePlace::at(self.len()).0);
        if !new {
            return self.raise(row, belief);
        }
        let (site, _) = self.columns.sites.see(sid, 0);
        self.number(None);
        self.columns.push(belief, Tries::default(), OptionalValues { site, ..OptionalValues::default() });
        self.tally.states[RowState::Queued as usize] += 1;
        self.enqueue(row);
        SeenUrl::New(row)
    }

    /// Records a link to a URL that must not be queued: adds the URL if it is new.
    pub(crate) fn reject(&mut self, oid: UrlId, sid: SiteId, belief: Belief) -> SeenUrl {
        let (row, new) = self.known.get_or_insert(oid.0, QueuePlace::at(self.len()).0);
        if !new {
            return SeenUrl::Known(row);
        }
        let (site, _) = self.columns.sites.see(sid, 0);
        self.number(None);
        self.columns.push(belief, Tries::default(), OptionalValues { site, ..OptionalValues::default() });
        self.tally.states[RowState::Rejected as usize] += 1;
        self.place(row, RowState::Rejected, None);
        SeenUrl::New(row)
    }

    /// Raises the estimate of a URL. An evicted or rejected URL is queued again. What an evicted URL was worth before is
    /// forgotten, and its place in the line is that of a new URL (P Fig. 1).
    pub(crate) fn raise(&mut self, row: u32, belief: Belief) -> SeenUrl {
        let row_data = self.columns.rows[row as usize];
        let (relevance, priority) = belief.narrow();
        let better = relevance > row_data.relevance || priority > row_data.priority;
        let state = row_data.place.state();
        if state.is_done() || (state == RowState::Queued && !better) {
            return SeenUrl::Known(row);
        }
        let before = self.belief(row);
        match state {
            RowState::Evicted => {
                self.believe(row, relevance, priority);
                self.columns.line_up(row);
            }
            // A rejected URL has no priority yet.
            RowState::Rejected => self.believe(row, relevance.max(row_data.relevance), priority),
            _ => {
                self.believe(row, relevance.max(row_data.relevance), priority.max(row_data.priority));
                return SeenUrl::Raised(row);
            }
        }
        self.change_state(row, RowState::Queued);
        self.enqueue(row);
        SeenUrl::Back(row, state, before)
    }

    /// The place in the line of a URL that was evicted and came back; others have that of their row.
    pub(crate) fn line_position(&self, row: u32) -> Option<LinePosition> {
        self.columns.line.get(row)
    }

    /// Sets the place in the line of a row, as it was stored.
    pub(crate) fn restore_line_position(&mut self, row: u32, position: LinePosition) {
        self.columns.line.restore(row, position);
    }

    /// Sets the estimate of a URL, up or down. Returns whether the URL is queued, so that this has an effect.
    pub(crate) fn set(&mut self, row: u32, belief: Belief) -> bool {
        let queued = self.state(row) == RowState::Queued;
        if queued {
            let (relevance, priority) = belief.narrow();
            self.believe(row, relevance, priority);
        }
        queued
    }

    /// Sets the priority of a URL, up or down, and keeps its estimated relevance. Returns whether the URL is queued and
    /// its priority changed.
    pub(crate) fn set_priority(&mut self, row: u32, priority: f64) -> bool {
        let row_data = self.columns.rows[row as usize];
        let (_, priority) = Belief::new(0.0, priority).narrow();
        let changes = row_data.place.state() == RowState::Queued && priority != row_data.priority;
        if changes {
            self.believe(row, row_data.relevance, priority);
        }
        changes
    }

    /// Takes the best `n` rows that are due, in the order of the policy; they are in flight then.
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

    /// Holds the best `n` sites and returns their rows: their URLs are taken by [`take_of`](Frontier::take_of) and not
    /// by [`take`](Frontier::take).
    pub(crate) fn hold_sites(&mut self, n: usize, now: Timestamp) -> Vec<u32> {
        self.wake(now);
        (0..n).map_while(|_| self.queues.hold_best(&self.columns)).collect()
    }

    /// Takes the best `n` rows of a site; they are in flight then.
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

    /// Releases a held site; it is not chosen before `until`.
    pub(crate) fn release_site(&mut self, site: u32, until: Option<Timestamp>) {
        self.queues.release(site, until, &self.columns);
    }

    /// Numbers of available and of resting sites with queued rows.
    pub(crate) fn queued_sites(&self) -> QueuedSites {
        self.queues.queued_sites()
    }

    /// The held sites that have a better row than at the last call.
    pub(crate) fn improved_sites(&mut self) -> Vec<u32> {
        self.queues.take_improved()
    }

    /// Whether the queue is ordered by descending priority, among URLs with as many tries.
    pub(crate) fn is_by_priority(&self) -> bool {
        self.columns.is_by_priority()
    }

    /// See [`Queues::greatest_priorities`].
    pub(crate) fn greatest_priorities(&self, n: usize, per_site: usize) -> Vec<f32> {
        self.queues.greatest_priorities(n, per_site, &self.columns)
    }

    /// The rank of a row in the order of the policy.
    pub(crate) fn rank(&self, row: u32) -> Rank {
        self.columns.rank(row)
    }

    /// Counts a URL fetched from a site. Returns the site's row.
    pub(crate) fn count_fetched(&mut self, sid: SiteId) -> Option<u32> {
        let site = self.columns.sites.count(sid)?;
        self.queues.load_changed(site, &self.columns);
        Some(site)
    }

    /// Queues the rows that are due.
    fn wake(&mut self, now: Timestamp) {
        while let Some(row) = self.waiting.pop_due(now) {
            self.enqueue(row);
        }
        self.queues.wake(now, &self.columns);
    }

    /// Takes a row if it is queued and due. Returns whether it was taken.
    pub(crate) fn take_this(&mut self, row: u32, now: Timestamp) -> bool {
        let place = self.columns.rows[row as usize].place;
        let due = place.in_heap().is_some() || place == QueuePlace::WAITING && self.waiting.is_due(row, now);
        let is_available = due && !self.columns.is_disabled(row);
        if is_available {
            self.check_out(row);
        }
        is_available
    }

    /// Puts a row in flight back into the queue, at its old place in the order.
    pub(crate) fn give_back(&mut self, row: u32) {
        if self.is_taken(row) {
            self.tally.taken -= 1;
            self.enqueue(row);
        }
    }

    /// Marks a queued row as in flight again, after a rebuild.
    pub(crate) fn take_again(&mut self, row: u32) {
        if self.state(row) == RowState::Queued && !self.is_taken(row) {
            self.check_out(row);
        }
    }

    pub(crate) fn is_taken(&self, row: u32) -> bool {
        self.columns.rows[row as usize].place == QueuePlace::TAKEN
    }

    /// The rows in flight.
    pub(crate) fn taken(&self) -> Vec<u32> {
        self.rows_at(QueuePlace::TAKEN)
    }

    /// Records a try: the URL is finished, or queued again until `not_before`.
    pub(crate) fn tried(&mut self, row: u32, state: RowState, not_before: Option<Timestamp>, at: Timestamp) {
        self.withdraw(row);
        self.change_state(row, state);
        self.columns.tried(row, state.has_response(), at);
        self.place(row, state, not_before);
    }

    /// Queues a finished URL again, as if it had not been tried.
    pub(crate) fn queue_again(&mut self, row: u32) {
        self.columns.tries[row as usize] = self.columns.tries[row as usize].reset();
        self.change_state(row, RowState::Queued);
        self.enqueue(row);
    }

    /// Finishes a URL again that was queued again. Returns false if it is not queued, or in flight.
    pub(crate) fn cancel_revisit(&mut self, row: u32, state: RowState) -> bool {
        let is_queued = self.state(row) == RowState::Queued && !self.is_taken(row);
        if is_queued {
            self.withdraw(row);
            self.change_state(row, state);
            self.columns.rows[row as usize].place = QueuePlace::done(state);
        }
        is_queued
    }

    /// Sets the relevance of a judged page.
    pub(crate) fn judged(&mut self, row: u32, relevance: f64) {
        #[allow(clippy::cast_possible_truncation)]
        let relevance = probability(relevance) as f32;
        self.columns.rows[row as usize].relevance = relevance;
        self.moved(row);
    }

    /// When the next waiting URL is due, or the next resting site is available.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.waiting.next_due().into_iter().chain(self.queues.next_wake()).min()
    }

    /// Appends a row from the table; false if its URL is already known, which means that the table is damaged.
    #[must_use]
    pub(crate) fn restore(&mut self, row: Restored) -> bool {
        let (number, new) = self.known.get_or_insert(row.oid.0, QueuePlace::at(self.len()).0);
        if new {
            self.number(Some(row.rowid));
            self.columns.push(row.belief, row.tries, row.facts);
            self.tally.states[row.state as usize] += 1;
            self.tally.revisits += usize::from(row.state == RowState::Queued && row.tries.is_revisit());
            self.place(number, row.state, row.not_before);
        }
        new
    }

    fn place(&mut self, row: u32, state: RowState, not_before: Option<Timestamp>) {
        match (state, not_before) {
            (RowState::Queued, Some(due)) => {
                self.columns.rows[row as usize].place = QueuePlace::WAITING;
                self.waiting.push(row, due);
            }
            (RowState::Queued, None) => self.enqueue(row),
            _ => self.columns.rows[row as usize].place = QueuePlace::done(state),
        }
    }

    /// Sets an estimate. The relevance of a fetched page is known and does not change.
    fn believe(&mut self, row: u32, relevance: f32, priority: f32) {
        let came = self.columns.tries[row as usize].has_response();
        let row_data = &mut self.columns.rows[row as usize];
        let relevance = if came { row_data.relevance } else { relevance };
        let moves =
            priority != row_data.priority || (relevance != row_data.relevance && !self.columns.order.plain);
        (row_data.relevance, row_data.priority) = (relevance, priority);
        if moves {
            self.moved(row);
        }
    }

    /// Updates the queue after a sort key of a row has changed.
    fn moved(&mut self, row: u32) {
        if let Some(at) = self.columns.rows[row as usize].place.in_heap() {
            self.queues.moved(row, at, &mut self.columns);
        }
    }

    fn enqueue(&mut self, row: u32) {
        self.tally.parked += usize::from(self.columns.is_disabled(row));
        self.queues.push(row, &mut self.columns);
    }

    /// Takes a row out of the queue, until its result is committed or it is given back.
    fn check_out(&mut self, row: u32) {
        self.withdraw(row);
        self.columns.rows[row as usize].place = QueuePlace::TAKEN;
        self.tally.taken += 1;
    }

    /// Removes a row from the queue, from the waiting rows, or from those in flight.
    fn withdraw(&mut self, row: u32) {
        let place = self.columns.rows[row as usize].place;
        if let Some(at) = place.in_heap() {
            self.tally.parked -= usize::from(self.columns.is_disabled(row));
            self.queues.remove(row, at, &mut self.columns);
        } else if place == QueuePlace::WAITING {
            self.waiting.remove(row);
        } else if place == QueuePlace::TAKEN {
            self.tally.taken -= 1;
        }
    }

    fn change_state(&mut self, row: u32, state: RowState) {
        let before = self.state(row);
        self.tally.states[before as usize] -= 1;
        self.tally.states[state as usize] += 1;
        if self.tries(row).is_revisit() {
            self.tally.revisits += usize::from(state == RowState::Queued);
            self.tally.revisits -= usize::from(before == RowState::Queued);
        }
    }

    fn rows_at(&self, place: QueuePlace) -> Vec<u32> {
        let rows = (0..self.len()).filter(|&row| self.columns.rows[row].place == place);
        rows.map(|row| QueuePlace::at(row).0).collect()
    }
}

impl PartNumbers {
    /// How many rows have a number below this one.
    fn rows_below(&self, number: u32) -> u32 {
        let (mut low, mut high) = (0, self.numbers.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.numbers[middle] < number {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        QueuePlace::at(low).0
    }
}
