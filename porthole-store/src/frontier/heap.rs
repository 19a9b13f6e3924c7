//! A heap of numbers, ordered by external data.

/// Children per node. Four halve the path of a new best item, the most frequent insertion of a focused crawl.
const ARITY: usize = 4;

/// The order of a heap's items, and the owner of their positions.
pub(super) trait HeapOrder {
    /// Whether `a` comes before `b`. A total order.
    fn before(&self, a: u32, b: u32) -> bool;

    /// Stores the position of an item.
    fn put(&mut self, item: u32, at: u32);
}

/// Items, the best first. [`HeapOrder::put`] stores each item's position, so that a change needs no search.
#[derive(Debug, Default)]
pub(super) struct Heap(Vec<u32>);

impl Heap {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The best item.
    pub(super) fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// All items, unordered.
    pub(super) fn items(&self) -> impl Iterator<Item = u32> {
        self.0.iter().copied()
    }

    /// Some `n` of the best items: the first of the heap, which are not exactly the best.
    pub(super) fn some_best(&self, n: usize) -> &[u32] {
        &self.0[..n.min(self.0.len())]
    }

    /// The best `n` items, in order.
    pub(super) fn best(&self, n: usize, ranked: &impl HeapOrder) -> Vec<u32> {
        // Positions whose parent is among the best.
        let mut next: Vec<usize> = (0..self.0.len().min(1)).collect();
        let mut best = Vec::new();
        while best.len() < n
            && let Some(at) = (0..next.len())
                .reduce(|a, b| if ranked.before(self.0[next[b]], self.0[next[a]]) { b } else { a })
        {
            let parent = next.swap_remove(at);
            best.push(self.0[parent]);
            let first = parent * ARITY + 1;
            next.extend(first..(first + ARITY).min(self.0.len()));
        }
        best
    }

    /// Removes all items, unordered.
    pub(super) fn take_all(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.0)
    }

    pub(super) fn push(&mut self, item: u32, ranked: &mut impl HeapOrder) {
        let at = self.0.len();
        self.0.push(item);
        self.up(at, item, ranked);
    }

    /// Removes the item at a position; the caller updates the item's stored position.
    pub(super) fn remove(&mut self, at: usize, ranked: &mut impl HeapOrder) {
        let last = self.0.pop().expect("an item that has a place is in the heap");
        if at < self.0.len() {
            self.settle(at, last, ranked);
        }
        // Release memory after a large queue has shrunk.
        if self.0.capacity() > 1_024 && self.0.len() < self.0.capacity() / 4 {
            self.0.shrink_to(self.0.len() * 2);
        }
    }

    /// Restores the order after the item at a position has changed.
    pub(super) fn moved(&mut self, at: usize, ranked: &mut impl HeapOrder) {
        let item = self.0[at];
        self.settle(at, item, ranked);
    }

    fn settle(&mut self, at: usize, item: u32, ranked: &mut impl HeapOrder) {
        if at > 0 && ranked.before(item, self.0[(at - 1) / ARITY]) {
            self.up(at, item, ranked);
        } else {
            self.down(at, item, ranked);
        }
    }

    fn up(&mut self, mut at: usize, item: u32, ranked: &mut impl HeapOrder) {
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if !ranked.before(item, self.0[parent]) {
                break;
            }
            self.put(at, self.0[parent], ranked);
            at = parent;
        }
        self.put(at, item, ranked);
    }

    fn down(&mut self, mut at: usize, item: u32, ranked: &mut impl HeapOrder) {
        while let Some(child) = self.best_child(at, ranked) {
            if !ranked.before(self.0[child], item) {
                break;
            }
            self.put(at, self.0[child], ranked);
            at = child;
        }
        self.put(at, item, ranked);
    }

    fn best_child(&self, at: usize, ranked: &impl HeapOrder) -> Option<usize> {
        let first = at * ARITY + 1;
        let end = (first + ARITY).min(self.0.len());
        (first..end)
            .reduce(|best, child| if ranked.before(self.0[child], self.0[best]) { child } else { best })
    }

    #[allow(clippy::cast_possible_truncation)]
    fn put(&mut self, at: usize, item: u32, ranked: &mut impl HeapOrder) {
        self.0[at] = item;
        ranked.put(item, at as u32);
    }
}
