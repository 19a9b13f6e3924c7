//! Finding what was there before: one look at one earlier place for the start of each word. What comes again mostly starts with
//! a word, and there are few of them.

use wide::{bytemuck, i8x16};

use super::tables::{LONGEST, distance_symbol};
use super::window::{BLOCK, STRETCH, Window};

/// Some bytes as they are, and then a copy of earlier ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sequence {
    /// Bytes that are not copied.
    pub(crate) literals: u16,
    /// Bytes that are; 0 if none.
    pub(crate) length: u16,
    /// How far back they are, less one.
    pub(crate) distance: u16,
    /// The symbol for that distance.
    pub(crate) symbol: u16,
}

const HASH_BITS: u32 = 13;
/// The shortest match. Time goes by the number of matches; beside literals with codes, shorter ones save little.
const SHORTEST: usize = 8;
/// Starts that are written down at a time, wanted or not: of most stretches all of them, and nothing has to be guessed.
const BATCH: usize = 12;

/// Where bytes with the same hash were last seen. Three passes, none of which has to wait for its own results or guess often:
/// where to look, what is found there, and what of it is copied.
pub(crate) struct Finder {
    /// The low bits of places in the window. What they say is not trusted: bytes are compared.
    last: Box<[u16; 1 << HASH_BITS]>,
    /// The places in the block to look at, and how far back the same bytes are from some of them.
    starts: Box<Starts>,
    found: Box<[(u16, u16); BLOCK]>,
    /// The places in a part that was read ahead, from its own start on, and how many there are.
    ahead: Box<Starts>,
    ahead_count: usize,
}

type Starts = [u16; BLOCK + BATCH];

impl Finder {
    pub(crate) fn new() -> Self {
        let starts = || vec![0; BLOCK + BATCH].into_boxed_slice().try_into().expect("as long as it was made");
        let found = vec![(0, 0); BLOCK].into_boxed_slice();
        Finder {
            last: Box::new([0; 1 << HASH_BITS]),
            starts: starts(),
            found: found.try_into().expect("as long as it was made"),
            ahead: starts(),
            ahead_count: 0,
        }
    }

    /// Forgets all places: the same input is to give the same output, whatever came before.
    pub(crate) fn clear(&mut self) {
        self.last.fill(0);
    }

    /// Finds where to look in the first bytes of a part, before it is known what comes before it. `also` is told of every
    /// stretch and of the rest: what has to wait for its own results, as a digest does, has somebody to wait with.
    pub(crate) fn read_ahead(&mut self, part: &[u8], mut also: impl FnMut(&[u8])) {
        let (first, rest) = part.split_at(part.len().min(BLOCK));
        let (stretches, last) = first.as_chunks::<STRETCH>();
        let (mut count, mut before) = (0, 0);
        for (number, stretch) in stretches.iter().enumerate() {
            also(stretch);
            let (starts, letters) = starts(stretch, before);
            count = write_down(&mut self.ahead, count, STRETCH * number, starts);
            before = letters;
        }
        also(last);
        also(rest);
        let mut filled = [0; STRETCH];
        filled[..last.len()].copy_from_slice(last);
        let starts = starts(&filled, before).0 & ((1 << last.len()) - 1);
        self.ahead_count = write_down(&mut self.ahead, count, first.len() - last.len(), starts);
    }

    /// Cuts the block into sequences that may copy from anything before. Where to look is known from `ahead` on, if the block
    /// has a part from there on that was read ahead.
    pub(crate) fn cut(&mut self, window: &Window, ahead: Option<usize>, sequences: &mut Vec<Sequence>) {
        let length = window.end() - BLOCK;
        let starts = self.find_starts(window, ahead.unwrap_or(length));
        let Finder { last, starts: all, found: places, ahead: all_ahead, .. } = self;
        let mut found = look(window, last, &all[..starts], 0, places, 0);
        if let Some(before) = ahead {
            let all = &all_ahead[..self.ahead_count];
            let inside = all.partition_point(|&place| usize::from(place) + before < length);
            found = look(window, last, &all[..inside], before as u16, places, found);
        }
        let (start, end) = (window.start(), window.end());
        let mut done = BLOCK;
        for &(place, distance) in &self.found[..found] {
            let (at, distance) = (BLOCK + usize::from(place), usize::from(distance));
            if at < done {
                continue;
            }
            let length = common(window, at, distance).min(end - at);
            if length < SHORTEST {
                break;
            }
            let back = common_before(window, at, distance).min(at - done).min(at - distance - start);
            let at = at - back;
            let length = (length + back).min(LONGEST);
            sequences.push(Sequence {
                literals: (at - done) as u16,
                length: length as u16,
                distance: (distance - 1) as u16,
                symbol: distance_symbol(distance - 1) as u16,
            });
            done = at + length;
        }
        // In two halves: a whole block would be one too many to be counted.
        let left = end - done;
        for literals in [left / 2, left - left / 2] {
            sequences.push(Sequence { literals: literals as u16, ..Sequence::default() });
        }
    }

    /// Puts the places to look at in the first bytes of the block into `starts`, and says how many there are.
    fn find_starts(&mut self, window: &Window, length: usize) -> usize {
        let (mut count, mut before) = (0, 0);
        for base in (BLOCK..BLOCK + length).step_by(STRETCH) {
            let (starts, letters) = starts(window.stretch(base), before);
            let inside = u64::MAX >> (STRETCH - (BLOCK + length - base).min(STRETCH));
            count = write_down(&mut self.starts, count, base, starts & inside);
            before = letters;
        }
        count
    }
}

/// Writes down the places of a stretch behind those that are there, and says how many there are then.
#[inline(always)]
fn write_down(places: &mut Starts, count: usize, base: usize, mut starts: u64) -> usize {
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

/// Looks at places, each so far behind the start of the block as it says and `behind` bytes more. Those that have the same bytes
/// at one before go into `found` behind the first `count`, with how far back it is; how many there are then.
fn look(
    window: &Window,
    last: &mut [u16; 1 << HASH_BITS],
    starts: &[u16],
    behind: u16,
    found: &mut [(u16, u16); BLOCK],
    mut count: usize,
) -> usize {
    for &start in starts {
        let place = start.wrapping_add(behind);
        let at = BLOCK + usize::from(place);
        let word = window.word(at);
        let before = std::mem::replace(&mut last[hash(word)], place);
        // As places are kept, none can be before the start of the input; that of the block stands for none at all.
        let distance = place.wrapping_sub(before);
        let is_same = word == window.word(at - usize::from(distance));
        // From 1 to 1 << 15: the others are negative, once one is taken away.
        let is_near = distance.wrapping_sub(1).cast_signed() >= 0;
        found[count & (BLOCK - 1)] = (place, distance);
        count += usize::from(is_same & is_near);
    }
    count
}

/// Where in a stretch to look, a bit a byte, and what its letters are, which the next stretch has to be told.
///
/// Words of five letters and more, and whatever does not stand a single sign behind another word, as names of tags do; and the
/// characters of scripts that put no spaces between words. Of anything else, the start.
#[inline(always)]
fn starts(bytes: &[u8; STRETCH], before: u64) -> (u64, u64) {
    let Masks { letters, leads } = Masks::of(bytes);
    // What comes behind the stretch may be letters.
    let followed = |by: u32| letters >> by | !(u64::MAX >> by);
    let long = followed(1) & followed(2) & followed(3) & followed(4);
    let starts = letters & !(letters << 1 | before >> 63);
    let apart = !(letters << 2 | before >> 62);
    let starts = starts & (long | apart) | leads;
    (if starts == 0 { 1 } else { starts }, letters)
}

/// What the bytes of a stretch are, a bit a byte.
struct Masks {
    /// Letters, a few signs, and whatever is beyond ASCII.
    letters: u64,
    /// First bytes of characters of three bytes and more.
    leads: u64,
}

impl Masks {
    #[inline(always)]
    fn of(bytes: &[u8; STRETCH]) -> Masks {
        let mut masks = Masks { letters: 0, leads: 0 };
        for (index, sixteen) in bytes.as_chunks::<16>().0.iter().enumerate() {
            let highest: i8x16 = bytemuck::cast(*sixteen);
            // Added to themselves, bytes have the next lower bit on top.
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

/// How many of the eight bytes in front are the same as those `distance` before, from the last one on.
#[inline(always)]
fn common_before(window: &Window, at: usize, distance: usize) -> usize {
    let differs = window.word(at - 8) ^ window.word((at - 8).wrapping_sub(distance));
    differs.leading_zeros() as usize / 8
}

/// How many bytes are the same as those `distance` before; the first eight are. Eight more tell in most cases.
#[inline(always)]
fn common(window: &Window, at: usize, distance: usize) -> usize {
    let mut length = 8;
    loop {
        let differs = window.word(at + length) ^ window.word(at + length - distance);
        if differs != 0 || length >= LONGEST {
            return (length + differs.trailing_zeros() as usize / 8).min(LONGEST);
        }
        length += 8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<usize> {
        let mut bytes = [b' '; STRETCH];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        let (starts, _) = starts(&bytes, 0);
        (0..STRETCH).filter(|place| starts >> place & 1 == 1).collect()
    }

    #[test]
    fn looks_at_the_starts_of_words_and_tags() {
        for (text, expected) in [
            ("", vec![0]),
            ("a boat and another boat", vec![0, 11]),
            ("</a><td>a</td>", vec![2, 5, 11]),
            ("1234 56", vec![0]),
            ("\u{6771}\u{4eac}, caf\u{e9}s", vec![0, 3, 8]),
        ] {
            assert_eq!(places(text), expected, "{text}");
        }
        let (_, letters) = starts(&[b'x'; STRETCH], 0);
        assert_eq!(
            starts(&[b'x'; STRETCH], letters).0,
            1,
            "in the middle of a word there is nothing but the start"
        );
        assert_eq!(starts(&[b'x'; STRETCH], 0).0, 1);
    }
}
