//! A map of bounded weight that evicts entries not used recently.

use std::collections::{HashMap, VecDeque};

/// Values by id, each with a weight. If the total weight is too large, the oldest entries are evicted unless they
/// were used since their last turn ("second chance"). The order depends only on the calls, so a replay evicts the
/// same entries.
pub(crate) struct Recent<V> {
    values: HashMap<u64, Entry<V>, foldhash::fast::FixedState>,
    /// Every id in `values` once, the next to evict first.
    order: VecDeque<u64>,
    weight: usize,
    max_weight: usize,
}

struct Entry<V> {
    value: V,
    weight: usize,
    asked: bool,
}

impl<V> Recent<V> {
    pub(crate) fn new(max_weight: usize) -> Self {
        Recent { values: HashMap::default(), order: VecDeque::new(), weight: 0, max_weight }
    }

    pub(crate) fn get(&mut self, id: u64) -> Option<&mut V> {
        let entry = self.values.get_mut(&id)?;
        entry.asked = true;
        Some(&mut entry.value)
    }

    /// Inserts or replaces a value. A new value is the last to be evicted.
    pub(crate) fn put(&mut self, id: u64, value: V, weight: usize) {
        match self.values.insert(id, Entry { value, weight, asked: true }) {
            Some(old) => self.weight -= old.weight,
            None => self.order.push_back(id),
        }
        self.weight += weight;
        self.forget();
    }

    pub(crate) fn weight(&self) -> usize {
        self.weight
    }

    fn forget(&mut self) {
        while self.weight > self.max_weight && self.order.len() > 1 {
            let Some(id) = self.order.pop_front() else { return };
            let Some(entry) = self.values.get_mut(&id) else { continue };
            if std::mem::take(&mut entry.asked) {
                self.order.push_back(id);
            } else {
                self.weight -= entry.weight;
                self.values.remove(&id);
            }
        }
    }
}

impl<V: Default> Recent<V> {
    /// The value of an id, created if missing, with weight 1.
    pub(crate) fn get_or_default(&mut self, id: u64) -> &mut V {
        if !self.values.contains_key(&id) {
            self.put(id, V::default(), 1);
        }
        self.get(id).expect("just put in")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_entries_stay() {
        let mut recent = Recent::new(30);
        for id in 0..3 {
            recent.put(id, id, 10);
        }
        recent.put(3, 3, 10);
        assert!(recent.get(0).is_none(), "all were new, the oldest went");
        recent.get(1);
        recent.put(4, 4, 10);
        assert!(recent.get(1).is_some() && recent.get(2).is_none());
        recent.put(1, 9, 25);
        assert!(recent.weight() <= 30 && recent.get(1) == Some(&mut 9));
    }

    #[test]
    fn an_oversized_value_evicts_all_others() {
        let mut recent = Recent::new(10);
        recent.put(1, 'a', 5);
        recent.put(2, 'b', 99);
        assert!(recent.get(1).is_none() && recent.get(2).is_some());
        for id in 0..1_000 {
            recent.put(id, 'c', 3);
        }
        assert!(recent.weight() <= 10);
    }
}
