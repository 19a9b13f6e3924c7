//! A bounded map of values by URL, for state that strategies keep until a URL is fetched.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;
use porthole_types::UrlId;

use crate::{Saved, Saver, StateError};

/// A value for each of many URLs, in insertion order. When it is full, the oldest entry is evicted.
#[derive(Debug)]
pub(crate) struct Queued<V> {
    /// Oldest first, contiguous because all entries are scanned often; `None` where an entry was removed.
    entries: VecDeque<Option<(UrlId, V)>>,
    /// Number of each entry, counted from the first one ever added.
    numbers: HashMap<UrlId, u64, FixedState>,
    /// The number of the first entry.
    first: u64,
    most: usize,
}

impl<V> Queued<V> {
    /// A map of at most `most` entries.
    pub(crate) fn new(most: usize) -> Queued<V> {
        Queued { entries: VecDeque::new(), numbers: HashMap::default(), first: 0, most: most.max(1) }
    }

    pub(crate) fn get(&self, url: UrlId) -> Option<&V> {
        let at = self.place(*self.numbers.get(&url)?);
        self.entries.get(at)?.as_ref().map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, url: UrlId) -> Option<&mut V> {
        let at = self.place(*self.numbers.get(&url)?);
        self.entries.get_mut(at)?.as_mut().map(|(_, value)| value)
    }

    /// The value of a URL; `new` is inserted if there is none.
    pub(crate) fn entry(&mut self, url: UrlId, new: impl FnOnce() -> V) -> &mut V {
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

    pub(crate) fn remove(&mut self, url: UrlId) -> Option<V> {
        let number = self.numbers.remove(&url)?;
        let at = self.place(number);
        self.entries.get_mut(at)?.take().map(|(_, value)| value)
    }

    /// All entries, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (UrlId, &V)> {
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
        // A third of the entries may be gaps.
        if self.entries.len() > self.numbers.len() / 2 * 3 + 16 {
            self.entries.retain(Option::is_some);
            let urls = self.entries.iter().flatten().map(|(url, _)| *url);
            self.numbers.extend(urls.zip(self.first..));
        }
    }

    pub(crate) fn save(&self, saver: &mut Saver, write: impl Fn(&V, &mut Saver)) {
        saver.length(self.len());
        for (url, value) in self.iter() {
            saver.url(url);
            write(value, saver);
        }
    }

    /// Restores saved entries; each has at least `size` bytes besides its URL.
    pub(crate) fn restore<'a>(
        &mut self,
        saved: &mut Saved<'a>,
        size: usize,
        read: impl Fn(&mut Saved<'a>) -> Result<V, StateError>,
    ) -> Result<(), StateError> {
        *self = Queued::new(self.most);
        for _ in 0..saved.length(8 + size)? {
            let url = saved.url()?;
            let value = read(saved)?;
            self.entry(url, || value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_and_what_was_removed_is_gone() {
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
        let mut saver = Saver::new(1);
        queued.save(&mut saver, |value, saver| saver.u64(*value));
        let (bytes, mut restored) = (saver.finish(), Queued::new(3));
        restored.restore(&mut Saved::new(&bytes, 1).unwrap(), 8, Saved::u64).unwrap();
        assert_eq!(all(&restored), all(&queued));
        for number in 0..1000 {
            queued.entry(UrlId(number), || number);
            queued.remove(UrlId(number));
        }
        assert!(queued.entries.len() < 40, "{}", queued.entries.len());
    }
}
