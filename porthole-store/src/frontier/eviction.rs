//! Evictions from a bounded queue, one at a time (P Fig. 1).

use super::columns::QueuePlace;
use super::{Belief, Frontier, RowState};

/// The rows that can be evicted, best first, so that the worst is found again and again without a search.
#[derive(Debug)]
pub(crate) struct EvictionOrder(Vec<u32>);

impl Frontier {
    /// The order of eviction now. Rows that are queued or raised later have to be added with
    /// [`update_eviction`](Frontier::update_eviction).
    pub(crate) fn eviction_order(&self) -> EvictionOrder {
        let mut rows = self.evictable_rows();
        rows.sort_unstable_by(|&a, &b| self.columns.compare_all_keys(a, b));
        EvictionOrder(rows)
    }

    /// Whether the queue may be full, by the counts alone.
    pub(crate) fn may_be_full(&self) -> bool {
        self.bound.is_some_and(|bound| self.may_exceed(bound.saturating_sub(1)))
    }

    /// Evicts the worst row if the queue is full. Returns it, and its estimate.
    pub(crate) fn make_room(&mut self, order: &mut EvictionOrder) -> Option<(u32, Belief)> {
        let is_full = self.bound.is_some_and(|bound| order.0.len() >= bound);
        let row = order.0.pop_if(|_| is_full)?;
        let belief = self.belief(row);
        self.evict(row);
        Some((row, belief))
    }

    /// Updates the place of a row that was queued or raised.
    pub(crate) fn update_eviction(&self, row: u32, order: &mut EvictionOrder) {
        if let Some(at) = order.0.iter().rposition(|&other| other == row) {
            order.0.remove(at);
        }
        if self.is_evictable(row) {
            let at = order.0.partition_point(|&other| self.columns.compare_all_keys(other, row).is_lt());
            order.0.insert(at, row);
        }
    }

    /// Whether a bound may be exceeded, by the counts alone.
    pub(super) fn may_exceed(&self, bound: usize) -> bool {
        let counts = self.tally;
        bound < counts.states[RowState::Queued as usize] - counts.taken - counts.parked
    }

    /// The queued rows that count against the bound, unordered: not in flight, not taken out with a disabled site, and not pages that
    /// are queued for a visit.
    pub(super) fn evictable_rows(&self) -> Vec<u32> {
        let rows = self.queues.rows().chain(self.waiting.rows());
        rows.filter(|&row| self.is_evictable(row)).collect()
    }

    fn is_evictable(&self, row: u32) -> bool {
        self.state(row) == RowState::Queued
            && !self.is_taken(row)
            && (self.columns.rows[row as usize].place == QueuePlace::WAITING
                || !self.columns.is_disabled(row))
            && !self.tries(row).has_response()
    }

    pub(super) fn evict(&mut self, row: u32) {
        self.withdraw(row);
        self.change_state(row, RowState::Evicted);
        self.columns.rows[row as usize].place = QueuePlace::done(RowState::Evicted);
    }
}
