//! Finds matches: probes one earlier position at the start of each word. Most repetitions start at a word, and
//! words are few compared with bytes.

use wide::{bytemuck, i8x16};

use super::tables::{MAX_MATCH, distance_symbol};
use super::window::{BLOCK, CHUNK, Window};

/// Literal bytes, followed by a copy of earlier bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sequence {
    /// Number of literal bytes.
    pub(crate) literals: u16,
    /// Length of the copy; 0 for none.
    pub(crate) length: u16,
    /// Distance of the copy, minus 1.
    pub(crate) distance: u16,
    /// The symbol of that distance.
    pub(crate) symbol: u16,
}

const HASH_BITS: u32 = 13;
/// The shortest match. Time grows with the number of matches, and shorter ones save little compared with coded
/// literals.
const MIN_MATCH: usize = 8;
/// Starts are stored in batches of this size, with unused entries at the end: most chunks need one batch, so the
/// loop is predictable.
const BATCH: usize = 12;

/// A hash table of earlier positions. There are three passes, each without long dependency chains and with few
/// unpredictable branches: find the positions to probe, probe them, and select the copies.
pub(crate) struct MatchFinder {
    /// By hash, the low 16 bits of the last position. May be stale or collide, so bytes are always compared.
    last: Box<[u16; 1 << HASH_BITS]>,
    /// Positions in the block to probe, and those with a match, with its distance.
    starts: Box<Starts>,
    found: Box<[(u16, u16); BLOCK]>,
    /// Positions to probe in the part that was read ahead, relative to its start, and their number.
    ahead: Box<Starts>,
    ahead_count: usize,
}

type Starts = [u16; BLOCK + BATCH];

impl MatchFinder {
    pub(crate) fn new() -> Self {
        let starts = || vec![0; BLOCK + BATCH].into_boxed_slice().try_into().expect("the length matches");
        let found = vec![(0, 0); BLOCK].into_boxed_slice();
        MatchFinder {
            last: Box::new([0; 1 << HASH_BITS]),
            starts: starts(),
            found: found.try_into().expect("the length matches"),
            ahead: starts(),
            ahead_count: 0,
        }
    }

    /// Forgets all positions, so that the output depends only on the input.
    pub(crate) fn clear(&mut self) {
        self.last.fill(0);
    }

    /// Finds the positions to probe in the first block of a part, before its offset is known. `also` receives every
    /// chunk and the rest: a computation that is one long dependency chain, such as a digest, runs in parallel with
    /// the scan.
    pub(crate) fn read_ahead(&mut self, part: &[u8], mut also: impl FnMut(&[u8])) {
        let (first, rest) = part.split_at(part.len().min(BLOCK));
        let (chunks, last) = first.as_chunks::<CHUNK>();
        let (mut count, mut before) = (0, 0);
        for (number, chunk) in chunks.iter().enumerate() {
            also(chunk);
            let (starts, letters) = starts(chunk, before);
            count = append_starts(&mut self.ahead, count, CHUNK * number, starts);
            before = letters;
        }
        also(last);
        also(rest);
        let mut filled = [0; CHUNK];
        filled[..last.len()].copy_from_slice(last);
        let starts = starts(&filled, before).0 & ((1 << last.len()) - 1);
        self.ahead_count = append_starts(&mut self.ahead, count, first.len() - last.len(), starts);
    }

    /// Splits the block into sequences, which may copy from any earlier position in the window. If `ahead` is
    /// given, the part that was read ahead starts there, and its positions are used.
    pub(crate) fn split_block(
        &mut self,
        window: &Window,
        ahead: Option<usize>,
        sequences: &mut Vec<Sequence>,
    ) {
        let length = window.end() - BLOCK;
        let starts = self.find_starts(window, ahead.unwrap_or(length));
        let MatchFinder { last, starts: all, found: places, ahead: all_ahead, .. } = self;
        let mut found = find_matches(window, last, &all[..starts], 0, places, 0);
        if let Some(before) = ahead {
            let all = &all_ahead[..self.ahead_count];
            let inside = all.partition_point(|&place| usize::from(place) + before < length);
            found = find_matches(window, last, &all[..inside], before as u16, places, found);
        }
        let (start, end) = (window.start(), window.end());
        let mut done = BLOCK;
        for &(place, distance) in &self.found[..found] {
            let (at, distance) = (BLOCK + usize::from(place), usize::from(distance));
            if at < done {
                continue;
            }
            let length = match_length(window, at, distance).min(end - at);
            if length < MIN_MATCH {
                break;
            }
            let back = match_length_before(window, at, distance).min(at - done).min(at - distance - start);
            let at = at - back;
            let length = (length + back).min(MAX_MATCH);
            sequences.push(Sequence {
                literals: (at - done) as u16,
                length: length as u16,
                distance: (distance - 1) as u16,
                symbol: distance_symbol(distance - 1) as u16,
            });
            done = at + length;
        }
        // Two sequences: the length of a full block does not fit into 16 bits.
        let left = end - done;
        for literals in [left / 2, left - left / 2] {
            sequences.push(Sequence { literals: literals as u16, ..Sequence::default() });
        }
    }

    /// Stores the positions to probe in the first `length` bytes of the block in `starts` and returns their number.
    fn find_starts(&mut self, window: &Window, length: usize) -> usize {
        let (mut count, mut before) = (0, 0);
        for base in (BLOCK..BLOCK + length).step_by(CHUNK) {
            let (starts, letters) = starts(window.chunk(base), before);
            let inside = u64::MAX >> (CHUNK - (BLOCK + length - base).min(CHUNK));
            count = append_starts(&mut self.starts, count, base, starts & inside);
            before = letters;
        }
        count
    }
}

/// Appends the positions of a chunk. Returns the new number of positions.
#[inline(always)]
fn append_starts(places: &mut Starts, count: usize, base: usize, mut starts: u64) -> usize {
    let (mut at, end) = (count, count + starts.count_ones() as usize);
    while at < end {
        for place in &mut places[at..at + BATCH] {
            *place = (base as u16).wrapping_add(starts.trailing_zeros() as u16);
            starts &= starts.wrapping_sub(1);
        }
        at += BATCH;
    }
    end
}

/// Probes the positions `starts`, each plus `offset`. Positions where an earlier one has the same eight bytes are
/// stored in `found` from `count` on, with the distance. Returns the new count.
fn find_matches(
    window: &Window,
    last: &mut [u16; 1 << HASH_BITS],
    starts: &[u16],
    offset: u16,
    found: &mut [(u16, u16); BLOCK],
    mut count: usize,
) -> usize {
    for &start in starts {
        let place = start.wrapping_add(offset);
        let at = BLOCK + usize::from(place);
        let word = window.word(at);
        let before = std::mem::replace(&mut last[hash(word)], place);
        // A stored position cannot be before the start of the input. 0, the start of the block, also means none.
        let distance = place.wrapping_sub(before);
        let is_same = word == window.word(at - usize::from(distance));
        // A distance from 1 to 1 << 15: all others become negative once 1 is subtracted.
        let is_near = distance.wrapping_sub(1).cast_signed() >= 0;
        found[count & (BLOCK - 1)] = (place, distance);
        count += usize::from(is_same & is_near);
    }
    count
}

/// The positions to probe in a chunk, one bit a byte, and its letters, which are needed for the next chunk.
///
/// Positions are starts of words of at least five letters, starts of words that do not follow another word after a
/// single separator (such as names of tags), and characters of scripts without spaces between words. If there is
/// none, the first byte of the chunk.
#[inline(always)]
fn starts(bytes: &[u8; CHUNK], before: u64) -> (u64, u64) {
    let Masks { letters, leads } = Masks::of(bytes);
    // The bytes after the chunk are assumed to be letters.
    let followed = |by: u32| letters >> by | !(u64::MAX >> by);
    let long = followed(1) & followed(2) & followed(3) & followed(4);
    let starts = letters & !(letters << 1 | before >> 63);
    let apart = !(letters << 2 | before >> 62);
    let starts = starts & (long | apart) | leads;
    (if starts == 0 { 1 } else { starts }, letters)
}

/// Classes of the bytes of a chunk, one bit a byte.
struct Masks {
    /// Letters, some punctuation, and all bytes beyond ASCII.
    letters: u64,
    /// First bytes of UTF-8 characters of at least three bytes.
    leads: u64,
}

impl Masks {
    #[inline(always)]
    fn of(bytes: &[u8; CHUNK]) -> Masks {
        let mut masks = Masks { letters: 0, leads: 0 };
        for (index, sixteen) in bytes.as_chunks::<16>().0.iter().enumerate() {
            let highest: i8x16 = bytemuck::cast(*sixteen);
            // Doubling shifts the next lower bit to the top of each byte.
            let second = highest + highest;
            let third = second + second;
            masks.letters |= u64::from((highest | second).to_bitmask()) << (16 * index);
            masks.leads |= u64::from((highest & second & third).to_bitmask()) << (16 * index);
        }
        masks
    }
}

#[inline(always)]
fn hash(word: u64) -> usize {
    const ODD: u64 = 0x9e37_79b1_85eb_ca87;
    (word.wrapping_mul(ODD) >> (64 - HASH_BITS)) as usize
}

/// How many of the eight bytes before `at` equal those `distance` earlier, counted backwards.
#[inline(always)]
fn match_length_before(window: &Window, at: usize, distance: usize) -> usize {
    let differs = window.word(at - 8) ^ window.word((at - 8).wrapping_sub(distance));
    differs.leading_zeros() as usize / 8
}

/// Length of the match at `at` with the bytes `distance` earlier. The first eight bytes are known to be equal; in
/// most cases one more comparison suffices.
#[inline(always)]
fn match_length(window: &Window, at: usize, distance: usize) -> usize {
    let mut length = 8;
    loop {
        let differs = window.word(at + length) ^ window.word(at + length - distance);
        if differs != 0 || length >= MAX_MATCH {
            return (length + differs.trailing_zeros() as usize / 8).min(MAX_MATCH);
        }
        length += 8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<usize> {
        let mut bytes = [b' '; CHUNK];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        let (starts, _) = starts(&bytes, 0);
        (0..CHUNK).filter(|place| starts >> place & 1 == 1).collect()
    }

    #[test]
    fn probes_the_starts_of_words_and_tags() {
        for (text, expected) in [
            ("", vec![0]),
            ("a boat and another boat", vec![0, 11]),
            ("</a><td>a</td>", vec![2, 5, 11]),
            ("1234 56", vec![0]),
            ("\u{6771}\u{4eac}, caf\u{e9}s", vec![0, 3, 8]),
        ] {
            assert_eq!(places(text), expected, "{text}");
        }
        let (_, letters) = starts(&[b'x'; CHUNK], 0);
        assert_eq!(starts(&[b'x'; CHUNK], letters).0, 1, "inside a word only the first byte is probed");
        assert_eq!(starts(&[b'x'; CHUNK], 0).0, 1);
    }
}
