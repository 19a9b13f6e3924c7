//! Chooses what is next without touching the queue: by the order of the heaps, and among ties by the load
//! of the sites, looking at no more than [`LOOK`] of them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::columns::Columns;
use super::heap::Heap;

/// How many URLs that tie on the keys before `serverload` are compared by it. It is part of what
/// [`Key::Serverload`](crate::Key::Serverload) means.
const LOOK: usize = 64;

/// The best `n` rows, in the order of the policy.
pub(super) fn best(levels: &[Heap], columns: &Columns, n: usize) -> Vec<u32> {
    let mut best = Vec::new();
    for heap in levels {
        if best.len() == n {
            break;
        }
        choose(Walk::new(heap, columns), columns, n, &mut best);
    }
    best
}

/// Appends the best rows of one heap until there are `n`.
fn choose(mut walk: Walk<'_>, columns: &Columns, n: usize, best: &mut Vec<u32>) {
    let look = if columns.order.load.is_some() { LOOK } else { 1 };
    let mut seen: Vec<(u32, u32)> = Vec::with_capacity(look);
    while best.len() < n {
        while seen.len() < look
            && let Some(row) =
                walk.peek().filter(|&row| seen.first().is_none_or(|first| columns.tie(first.1, row)))
        {
            seen.push((if look > 1 { columns.load(row) } else { 0 }, row));
            walk.advance();
        }
        let of_all = (0..seen.len()).min_by(|&a, &b| compare(columns, seen[a], seen[b]));
        let Some(at) = of_all else { return };
        best.push(seen.swap_remove(at).1);
    }
}

fn compare(columns: &Columns, a: (u32, u32), b: (u32, u32)) -> Ordering {
    a.0.cmp(&b.0).then_with(|| columns.compare_rest(a.1, b.1))
}

/// Goes through a heap in order without changing it. What is below a place comes later than the place, so
/// only what is right below those already passed can be next.
struct Walk<'a> {
    heap: &'a Heap,
    columns: &'a Columns,
    next: BinaryHeap<Candidate<'a>>,
}

impl<'a> Walk<'a> {
    fn new(heap: &'a Heap, columns: &'a Columns) -> Self {
        let mut walk = Walk { heap, columns, next: BinaryHeap::new() };
        walk.offer(0);
        walk
    }

    fn peek(&self) -> Option<u32> {
        self.next.peek().map(|candidate| candidate.row)
    }

    fn advance(&mut self) {
        if let Some(Candidate { at, .. }) = self.next.pop() {
            Heap::below(at as usize).for_each(|at| self.offer(at));
        }
    }

    fn offer(&mut self, at: usize) {
        if let Some(row) = self.heap.get(at) {
            #[allow(clippy::cast_possible_truncation)]
            self.next.push(Candidate { row, at: at as u32, columns: self.columns });
        }
    }
}

struct Candidate<'a> {
    row: u32,
    at: u32,
    columns: &'a Columns,
}

impl Ord for Candidate<'_> {
    /// The best is the greatest, as the queue of candidates has it.
    fn cmp(&self, other: &Self) -> Ordering {
        if self.row == other.row {
            Ordering::Equal
        } else if self.columns.before(self.row, other.row) {
            Ordering::Greater
        } else {
            Ordering::Less
        }
    }
}

impl PartialOrd for Candidate<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.row == other.row
    }
}

impl Eq for Candidate<'_> {}
