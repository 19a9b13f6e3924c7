//! A bounded map of values by URL, for state that strategies keep until a URL is fetched.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use foldhash::fast::FixedState;
use porthole_types::UrlId;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

/// A value for each of many URLs, or sites, in insertion order. When it is full, the oldest entry is evicted.
#[derive(Debug)]
pub(crate) struct Queued<V, K = UrlId> {
    /// Oldest first, contiguous because all entries are scanned often; `None` where an entry was removed.
    entries: VecDeque<Option<(K, V)>>,
    /// Number of each entry, counted from the first one ever added.
    numbers: HashMap<K, u64, FixedState>,
    /// The number of the first entry.
    first: u64,
    most: usize,
}

impl<V, K: Copy + Eq + Hash> Queued<V, K> {
    /// A map of at most `most` entries.
    pub(crate) fn new(most: usize) -> Queued<V, K> {
        Queued { entries: VecDeque::new(), numbers: HashMap::default(), first: 0, most: most.max(1) }
    }

    pub(crate) fn get(&self, url: K) -> Option<&V> {
        let at = self.place(*self.numbers.get(&url)?);
        self.entries.get(at)?.as_ref().map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, url: K) -> Option<&mut V> {
        let at = self.place(*self.numbers.get(&url)?);
        self.entries.get_mut(at)?.as_mut().map(|(_, value)| value)
    }

    /// The value of a URL; `new` is inserted if there is none.
    pub(crate) fn entry(&mut self, url: K, new: impl FnOnce() -> V) -> &mut V {
        let at = match self.numbers.get(&url) {
            Some(number) => self.place(*number),
            None => {
                self.make_room();
                self.numbers.insert(url, self.first + self.entries.len() as u64);
                self.entries.push_back(None);
                self.entries.len() - 1
            }
        };
        &mut self.entries[at].get_or_insert_with(|| (url, new())).1
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(crate) fn remove(&mut self, url: K) -> Option<V> {
        let number = self.numbers.remove(&url)?;
        let at = self.place(number);
        self.entries.get_mut(at)?.take().map(|(_, value)| value)
    }

    /// All entries, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.entries.iter().flatten().map(|(url, value)| (*url, value))
    }

    fn place(&self, number: u64) -> usize {
        (number - self.first) as usize
    }

    fn make_room(&mut self) {
        while self.numbers.len() >= self.most
            && let Some(oldest) = self.entries.pop_front()
        {
            self.first += 1;
            if let Some((url, _)) = oldest {
                self.numbers.remove(&url);
            }
        }
        if self.entries.len() >= with_gaps(self.numbers.len()) {
            self.entries.retain(Option::is_some);
            let urls = self.entries.iter().flatten().map(|(url, _)| *url);
            self.numbers.extend(urls.zip(self.first..));
        }
        // Grown by a quarter and never beyond the bound: doubled, a large map would waste up to half of its memory.
        if self.entries.len() == self.entries.capacity() {
            let wanted = (self.entries.len() / 4 * 5 + 16).min(with_gaps(self.most));
            self.entries.reserve_exact(wanted.saturating_sub(self.entries.len()).max(1));
        }
    }

    /// Replaces all entries by saved ones.
    pub(crate) fn restore(&mut self, entries: Vec<(K, V)>) {
        *self = Queued::new(self.most);
        for (url, value) in entries {
            self.entry(url, || value);
        }
    }
}

/// Maximum number of entries and gaps for a number of entries.
const fn with_gaps(entries: usize) -> usize {
    entries + entries / 8 + 16
}

/// Serialised as a list of keys and values, oldest first.
impl<V: Serialize, K: Copy + Eq + Hash + Serialize> Serialize for Queued<V, K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.len()))?;
        self.iter().try_for_each(|entry| list.serialize_element(&entry))?;
        list.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state;

    #[test]
    fn the_oldest_entry_is_evicted_and_removed_ones_stay_removed() {
        let mut queued = Queued::new(3);
        for number in [1, 2, 3, 2] {
            *queued.entry(UrlId(number), || 0) += number;
        }
        assert_eq!(*queued.entry(UrlId(2), || 0), 4);
        assert_eq!(queued.remove(UrlId(1)), Some(1));
        // 1 is added again as the newest: 2 and 3 are evicted before it.
        for number in [1, 4, 5] {
            queued.entry(UrlId(number), || number);
        }
        let all =
            |queued: &Queued<u64>| queued.iter().map(|(url, value)| (url.0, *value)).collect::<Vec<_>>();
        assert_eq!(all(&queued), [(1, 1), (4, 4), (5, 5)]);
        let (bytes, mut restored) = (state::save(1, &queued), Queued::new(3));
        restored.restore(state::restore(1, &bytes).unwrap());
        assert_eq!(all(&restored), all(&queued));
        for number in 0..1000 {
            queued.entry(UrlId(number), || number);
            queued.remove(UrlId(number));
        }
        assert!(queued.entries.len() < 40, "{}", queued.entries.len());
    }

    #[test]
    fn a_full_map_has_no_more_memory_than_its_bound_needs() {
        const MOST: usize = 10_000;
        let mut queued = Queued::new(MOST);
        for number in 0..5 * MOST as u64 {
            queued.entry(UrlId(number), || number);
            if number % 3 == 0 {
                queued.remove(UrlId(number / 3 * 2));
            }
            assert!(queued.entries.len() <= with_gaps(queued.len()));
        }
        assert_eq!(queued.len(), queued.iter().count());
        assert!(queued.entries.capacity() <= with_gaps(MOST), "{}", queued.entries.capacity());
    }
}
