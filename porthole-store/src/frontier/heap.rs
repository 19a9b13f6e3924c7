//! One level of the queue: a heap of row numbers, ordered by what the rows hold.

use super::chunked::Chunked;
use super::{Place, Row};

/// Children a node. Four halve the way up of a new best URL, which is what a focused crawl inserts.
const ARITY: usize = 4;

/// Rows of one level, the best first. Each row knows its place, so that a raise need not search.
#[derive(Debug, Default)]
pub(super) struct Heap(Chunked<u32>);

impl Heap {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, row: u32, rows: &mut Chunked<Row>) {
        let at = self.0.len();
        self.0.push(row);
        self.up(at, row, rows);
    }

    pub(super) fn pop(&mut self, rows: &mut Chunked<Row>) -> Option<u32> {
        let best = (!self.is_empty()).then(|| self.0[0])?;
        self.remove(0, rows);
        Some(best)
    }

    /// Takes out the row at a place; its own place is the caller's to write.
    pub(super) fn remove(&mut self, at: usize, rows: &mut Chunked<Row>) {
        let last = self.0.pop().expect("a row that has a place is in the heap");
        if at < self.0.len() {
            self.settle(at, last, rows);
        }
    }

    /// The row at a place has become better or worse.
    pub(super) fn moved(&mut self, at: usize, rows: &mut Chunked<Row>) {
        let row = self.0[at];
        self.settle(at, row, rows);
    }

    fn settle(&mut self, at: usize, row: u32, rows: &mut Chunked<Row>) {
        if at > 0 && before(row, self.0[(at - 1) / ARITY], rows) {
            self.up(at, row, rows);
        } else {
            self.down(at, row, rows);
        }
    }

    fn up(&mut self, mut at: usize, row: u32, rows: &mut Chunked<Row>) {
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if !before(row, self.0[parent], rows) {
                break;
            }
            self.put(at, self.0[parent], rows);
            at = parent;
        }
        self.put(at, row, rows);
    }

    fn down(&mut self, mut at: usize, row: u32, rows: &mut Chunked<Row>) {
        while let Some(child) = self.best_child(at, rows) {
            if !before(self.0[child], row, rows) {
                break;
            }
            self.put(at, self.0[child], rows);
            at = child;
        }
        self.put(at, row, rows);
    }

    fn best_child(&self, at: usize, rows: &Chunked<Row>) -> Option<usize> {
        let first = at * ARITY + 1;
        let end = (first + ARITY).min(self.0.len());
        (first..end)
            .reduce(|best, child| if before(self.0[child], self.0[best], rows) { child } else { best })
    }

    fn put(&mut self, at: usize, row: u32, rows: &mut Chunked<Row>) {
        self.0[at] = row;
        rows[row as usize].place = Place::at(at);
    }
}

/// Whether row `a` is taken before row `b` of the same level.
fn before(a: u32, b: u32, rows: &Chunked<Row>) -> bool {
    let (first, second) = (rows[a as usize].priority, rows[b as usize].priority);
    first > second || (first == second && a < b)
}
