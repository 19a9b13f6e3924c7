//! URLs that wait for a retry.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use porthole_types::Timestamp;

/// Rows by due time. There are few at a time.
#[derive(Debug, Default)]
pub(super) struct RetryQueue {
    due: HashMap<u32, Timestamp>,
    /// May contain stale entries; `due` is authoritative.
    queue: BinaryHeap<Reverse<(Timestamp, u32)>>,
}

impl RetryQueue {
    pub(super) fn push(&mut self, row: u32, due: Timestamp) {
        self.due.insert(row, due);
        self.queue.push(Reverse((due, row)));
    }

    pub(super) fn remove(&mut self, row: u32) {
        self.due.remove(&row);
        self.drop_stale();
    }

    /// The next row that is due by `now`.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<u32> {
        let &Reverse((due, row)) = self.queue.peek()?;
        if due > now {
            return None;
        }
        self.due.remove(&row);
        self.drop_stale();
        Some(row)
    }

    pub(super) fn is_due(&self, row: u32, now: Timestamp) -> bool {
        self.due.get(&row).is_some_and(|&due| due <= now)
    }

    pub(super) fn len(&self) -> usize {
        self.due.len()
    }

    /// All rows, unordered.
    pub(super) fn rows(&self) -> impl Iterator<Item = u32> {
        self.due.keys().copied()
    }

    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.queue.peek().map(|Reverse((due, _))| *due)
    }

    /// Removes stale entries from the head of the queue.
    fn drop_stale(&mut self) {
        while let Some(Reverse((due, row))) = self.queue.peek()
            && self.due.get(row) != Some(due)
        {
            self.queue.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_returned_when_they_are_due() {
        let mut waiting = RetryQueue::default();
        for (row, due) in [(1, 30), (2, 10), (3, 20), (4, 10)] {
            waiting.push(row, Timestamp(due));
        }
        waiting.remove(2);
        waiting.push(2, Timestamp(25));
        assert_eq!(waiting.next_due(), Some(Timestamp(10)));
        let mut due = Vec::new();
        while let Some(row) = waiting.pop_due(Timestamp(25)) {
            due.push(row);
        }
        assert_eq!((due, waiting.next_due()), (vec![4, 3, 2], Some(Timestamp(30))));
    }
}
