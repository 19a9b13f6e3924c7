//! One level of the queue: a heap of row numbers, ordered by what the rows hold.

use super::chunked::Chunked;
use super::columns::{Columns, Place};

/// Children a node. Four halve the way up of a new best URL, which is what a focused crawl inserts.
const ARITY: usize = 4;

/// Rows of one level, the best first. Each row knows its place, so that a raise need not search.
#[derive(Debug, Default)]
pub(super) struct Heap(Chunked<u32>);

impl Heap {
    pub(super) fn push(&mut self, row: u32, columns: &mut Columns) {
        let at = self.0.len();
        self.0.push(row);
        self.up(at, row, columns);
    }

    /// The row at a place.
    pub(super) fn get(&self, at: usize) -> Option<u32> {
        (at < self.0.len()).then(|| self.0[at])
    }

    /// The places that are next in order below a place.
    pub(super) fn below(at: usize) -> std::ops::Range<usize> {
        at * ARITY + 1..(at + 1) * ARITY + 1
    }

    /// Takes out any row.
    pub(super) fn drain(&mut self) -> Option<u32> {
        self.0.pop()
    }

    /// All rows, in no order.
    pub(super) fn rows(&self) -> impl Iterator<Item = u32> {
        (0..self.0.len()).map(|at| self.0[at])
    }

    /// Takes out the row at a place; its own place is the caller's to write.
    pub(super) fn remove(&mut self, at: usize, columns: &mut Columns) {
        let last = self.0.pop().expect("a row that has a place is in the heap");
        if at < self.0.len() {
            self.settle(at, last, columns);
        }
    }

    /// The row at a place has become better or worse.
    pub(super) fn moved(&mut self, at: usize, columns: &mut Columns) {
        let row = self.0[at];
        self.settle(at, row, columns);
    }

    fn settle(&mut self, at: usize, row: u32, columns: &mut Columns) {
        if at > 0 && columns.before(row, self.0[(at - 1) / ARITY]) {
            self.up(at, row, columns);
        } else {
            self.down(at, row, columns);
        }
    }

    fn up(&mut self, mut at: usize, row: u32, columns: &mut Columns) {
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if !columns.before(row, self.0[parent]) {
                break;
            }
            self.put(at, self.0[parent], columns);
            at = parent;
        }
        self.put(at, row, columns);
    }

    fn down(&mut self, mut at: usize, row: u32, columns: &mut Columns) {
        while let Some(child) = self.best_child(at, columns) {
            if !columns.before(self.0[child], row) {
                break;
            }
            self.put(at, self.0[child], columns);
            at = child;
        }
        self.put(at, row, columns);
    }

    fn best_child(&self, at: usize, columns: &Columns) -> Option<usize> {
        let first = at * ARITY + 1;
        let end = (first + ARITY).min(self.0.len());
        (first..end)
            .reduce(|best, child| if columns.before(self.0[child], self.0[best]) { child } else { best })
    }

    fn put(&mut self, at: usize, row: u32, columns: &mut Columns) {
        self.0[at] = row;
        columns.rows[row as usize].place = Place::at(at);
    }
}
