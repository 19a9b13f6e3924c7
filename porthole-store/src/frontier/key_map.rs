//! A map from 64-bit ids to row numbers with about 13 bytes per entry, at any size.
//!
//! Ids are spread over 256 tables by their top bits, which the tables therefore need not store. A table grows by an
//! eighth, and separately, so that growing copies at most a 256th of the map; the tables start at staggered sizes, so
//! that they do not all grow at once. Within a table, keys are almost sorted: each at or after the position that its
//! value maps to, in ascending order, with gaps. A search ends at the first key that is not smaller, which keeps it
//! short at 92% load, hit or miss.

use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;

const TABLES: usize = 256;
const TABLE_BITS: u32 = TABLES.trailing_zeros();
/// Bytes per key in a table.
const WIDTH: usize = 7;
/// Marks a gap. It sorts after every key, which ends a search without a separate check.
const GAP: u64 = u64::MAX >> TABLE_BITS;
/// Extra slots at the end, so that runs need not wrap around.
const TAIL: usize = 32;
/// Initial size of the smallest table.
const SMALLEST: usize = 128;
/// A full table grows by one part in this many.
const GROWTH: usize = 8;

/// A map from ids to row numbers.
#[derive(Debug)]
pub(crate) struct KeyMap {
    tables: Vec<KeyTable>,
    /// An odd random number per process: ids are public hashes, and without it a web site could choose URLs that all
    /// map to one position. Nothing observable depends on it.
    multiplier: u64,
}

impl Default for KeyMap {
    fn default() -> Self {
        let multiplier = RandomState::new().hash_one(TABLES) | 1;
        let table = |number| KeyTable::with_home(staggered(number));
        KeyMap { tables: (0..TABLES).map(table).collect(), multiplier }
    }
}

impl KeyMap {
    /// The row of an id.
    pub(crate) fn get(&self, id: u64) -> Option<u32> {
        let (table, key) = self.key(id);
        self.tables[table].get(key)
    }

    /// Prefetches the memory that a lookup will read, so that many lookups wait for memory at the same time.
    pub(crate) fn touch(&self, id: u64) {
        let (table, key) = self.key(id);
        let table = &self.tables[table];
        let start = place(key, table.home);
        black_box((table.keys.get(start), table.rows[start]));
    }

    /// The row of an id; if it is new, inserts the given row. Returns whether it was new.
    pub(crate) fn get_or_insert(&mut self, id: u64, row: u32) -> (u32, bool) {
        let (table, key) = self.key(id);
        self.tables[table].get_or_insert(key, row)
    }

    /// The table of an id, and its key there. A bijection, except for the one value per table that marks gaps: it is
    /// merged with its neighbour, which affects one id in 2^56.
    fn key(&self, id: u64) -> (usize, u64) {
        let mixed = id.wrapping_mul(self.multiplier);
        ((mixed >> (64 - TABLE_BITS)) as usize, (mixed & GAP).min(GAP - 1))
    }
}

/// Keys, packed, without the byte that all keys of a table share.
#[derive(Debug)]
struct Keys(Box<[u8]>);

impl Keys {
    fn gaps(len: usize) -> Self {
        // One more byte, so that eight can be read at the last key.
        Keys(vec![u8::MAX; len * WIDTH + 1].into())
    }

    fn get(&self, at: usize) -> u64 {
        key_of(&self.0[at * WIDTH..][..WIDTH + 1])
    }

    fn set(&mut self, at: usize, key: u64) {
        self.0[at * WIDTH..][..WIDTH].copy_from_slice(&key.to_le_bytes()[..WIDTH]);
    }

    /// The first position from `start` on whose key is not smaller.
    fn search(&self, start: usize, key: u64) -> Option<usize> {
        let mut keys = self.0[start * WIDTH..].windows(WIDTH + 1).step_by(WIDTH);
        keys.position(|bytes| key_of(bytes) >= key).map(|steps| start + steps)
    }

    /// Moves the keys of a range by one position.
    fn shift(&mut self, range: std::ops::Range<usize>) {
        self.0.copy_within(range.start * WIDTH..range.end * WIDTH, (range.start + 1) * WIDTH);
    }
}

/// The key in the first seven of eight bytes; the last byte belongs to the next key.
fn key_of(bytes: &[u8]) -> u64 {
    let mut eight = [0; WIDTH + 1];
    eight.copy_from_slice(bytes);
    u64::from_le_bytes(eight) & GAP
}

#[derive(Debug)]
struct KeyTable {
    /// Number of positions that keys map to; the tail follows.
    home: usize,
    len: usize,
    keys: Keys,
    rows: Box<[u32]>,
}

impl KeyTable {
    fn with_home(home: usize) -> Self {
        let slots = home + TAIL;
        KeyTable { home, len: 0, keys: Keys::gaps(slots), rows: vec![0; slots].into() }
    }

    fn get(&self, key: u64) -> Option<u32> {
        let at = self.search(key)?;
        (self.keys.get(at) == key).then(|| self.rows[at])
    }

    fn get_or_insert(&mut self, key: u64, row: u32) -> (u32, bool) {
        loop {
            match self.search(key) {
                Some(at) if self.keys.get(at) == key => return (self.rows[at], false),
                Some(at) if self.has_room() && self.insert_at(at, key, row) => return (row, true),
                _ => self.grow(),
            }
        }
    }

    /// The first slot whose key is not smaller; `None` at the end of the tail.
    fn search(&self, key: u64) -> Option<usize> {
        self.keys.search(place(key, self.home), key)
    }

    fn has_room(&self) -> bool {
        (self.len + 1) * 100 <= self.home * 92
    }

    /// Moves the following keys by one slot, up to the next gap. Returns false if there is none.
    fn insert_at(&mut self, at: usize, key: u64, row: u32) -> bool {
        let Some(gap) = self.keys.search(at, GAP) else { return false };
        self.keys.shift(at..gap);
        self.rows.copy_within(at..gap, at + 1);
        self.keys.set(at, key);
        self.rows[at] = row;
        self.len += 1;
        true
    }

    /// Reinserts the keys in order, each at its position or right after the previous one.
    fn grow(&mut self) {
        let mut home = self.home;
        loop {
            home += home / GROWTH + 1;
            if let Some(larger) = self.moved_to(home) {
                *self = larger;
                return;
            }
        }
    }

    fn moved_to(&self, home: usize) -> Option<KeyTable> {
        let mut larger = KeyTable::with_home(home);
        let mut next = 0;
        for (from, &row) in self.rows.iter().enumerate().filter(|&(from, _)| self.keys.get(from) != GAP) {
            let key = self.keys.get(from);
            let at = place(key, home).max(next);
            *larger.rows.get_mut(at)? = row;
            larger.keys.set(at, key);
            next = at + 1;
        }
        larger.len = self.len;
        Some(larger)
    }
}

/// The position of a key among `home` ones; ascending with the key.
#[allow(clippy::cast_possible_truncation)]
fn place(key: u64, home: usize) -> usize {
    ((u128::from(key << TABLE_BITS) * home as u128) >> 64) as usize
}

/// Initial sizes, spread evenly over one growth step.
fn staggered(number: usize) -> usize {
    SMALLEST + SMALLEST * number / (GROWTH * TABLES)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// A random number generator good enough for spreading keys.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
    }

    fn len(map: &KeyMap) -> usize {
        map.tables.iter().map(|table| table.len).sum()
    }

    fn bytes(map: &KeyMap) -> usize {
        map.tables.iter().map(|table| table.keys.0.len() + table.rows.len() * 4).sum()
    }

    #[test]
    fn agrees_with_a_hash_map() {
        let (mut map, mut twin, mut state) = (KeyMap::default(), HashMap::new(), 1);
        for row in 0..200_000 {
            // Half of the ids occur again.
            let id = random(&mut state) % 100_000 * 0x0001_0000_0001;
            let expected = *twin.entry(id).or_insert(row);
            assert_eq!(map.get_or_insert(id, row), (expected, expected == row));
        }
        assert_eq!(len(&map), twin.len());
        assert!(twin.iter().all(|(&id, &row)| map.get(id) == Some(row)));
        assert_eq!(map.get(1), None);
    }

    #[test]
    fn extreme_and_crowded_ids() {
        let mut map = KeyMap::default();
        // Sequences and multiples of a power of two would cluster under a weak hash.
        let ids: Vec<u64> = (0..50_000).chain((1..50_000).map(|i| i << 32)).chain([u64::MAX]).collect();
        for (&id, row) in ids.iter().zip(0..) {
            assert_eq!(map.get_or_insert(id, row), (row, true), "{id}");
        }
        assert!(ids.iter().zip(0..).all(|(&id, row)| map.get(id) == Some(row)));
    }

    #[test]
    fn costs_at_most_15_bytes_an_id_at_any_size() {
        let (mut map, mut state) = (KeyMap::default(), 2);
        for row in 0..1_000_000_u32 {
            map.get_or_insert(random(&mut state), row);
            if row >= 400_000 && row % 10_000 == 0 {
                #[allow(clippy::cast_precision_loss)]
                let each = bytes(&map) as f64 / len(&map) as f64;
                assert!((12.0..=15.0).contains(&each), "{each} bytes at {row}");
            }
        }
    }
}
