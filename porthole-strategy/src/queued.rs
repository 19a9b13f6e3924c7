//! What is remembered of URLs until they come.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;
use porthole_types::UrlId;

use crate::{Saved, Saver, StateError};

/// Something about each of many URLs, in the order in which they were added; when there are too many, the oldest goes.
#[derive(Debug)]
pub(crate) struct Queued<V> {
    values: HashMap<UrlId, (V, u64), FixedState>,
    /// With the number that tells an entry from an earlier one of the same URL.
    order: VecDeque<(UrlId, u64)>,
    next: u64,
    most: usize,
}

impl<V> Queued<V> {
    /// With room for so many.
    pub(crate) fn new(most: usize) -> Queued<V> {
        Queued { values: HashMap::default(), order: VecDeque::new(), next: 0, most: most.max(1) }
    }

    pub(crate) fn get(&self, url: UrlId) -> Option<&V> {
        self.values.get(&url).map(|(value, _)| value)
    }

    pub(crate) fn get_mut(&mut self, url: UrlId) -> Option<&mut V> {
        self.values.get_mut(&url).map(|(value, _)| value)
    }

    /// What is remembered of a URL, from now on if nothing was.
    pub(crate) fn entry(&mut self, url: UrlId, new: impl FnOnce() -> V) -> &mut V {
        if !self.values.contains_key(&url) {
            self.make_room();
            self.order.push_back((url, self.next));
        }
        let next = self.next;
        self.next += 1;
        &mut self.values.entry(url).or_insert_with(|| (new(), next)).0
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn remove(&mut self, url: UrlId) -> Option<V> {
        self.values.remove(&url).map(|(value, _)| value)
    }

    fn make_room(&mut self) {
        while self.values.len() >= self.most
            && let Some((url, number)) = self.order.pop_front()
        {
            if self.is_current(url, number) {
                self.values.remove(&url);
            }
        }
        // What was removed is still in the order; half of it at most is.
        if self.order.len() > 2 * self.values.len() + 16 {
            let values = &self.values;
            self.order.retain(|(url, number)| values.get(url).is_some_and(|(_, current)| current == number));
        }
    }

    fn is_current(&self, url: UrlId, number: u64) -> bool {
        self.values.get(&url).is_some_and(|(_, current)| *current == number)
    }

    /// All of them, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (UrlId, &V)> {
        self.order.iter().filter_map(|&(url, number)| {
            self.values.get(&url).filter(|(_, current)| *current == number).map(|(value, _)| (url, value))
        })
    }

    pub(crate) fn save(&self, saver: &mut Saver, write: impl Fn(&V, &mut Saver)) {
        saver.length(self.values.len());
        for (url, value) in self.iter() {
            saver.url(url);
            write(value, saver);
        }
    }

    /// As it was saved; each entry is of at least `size` bytes besides its URL.
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
        // 1 comes back as the newest: 2 and 3 go before it.
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
        assert!(queued.order.len() < 40, "{}", queued.order.len());
    }
}
