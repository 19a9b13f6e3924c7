//! Finding what was there before: one look at one earlier place for each position.

use super::tables::{LONGEST, distance_symbol};
use super::window::{BLOCK, Window};

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

const FARTHEST: usize = 1 << 15;
const HASH_BITS: u32 = 13;
/// The shortest match that is looked for. Time goes by the number of matches; beside literals with codes of their own, short
/// ones save little.
const SHORTEST: usize = 8;
/// Looks get rarer behind a match, up to every fourth place; what they miss at first is found from behind.
const RARER: u32 = 1;
const RAREST: usize = 3;
/// Where nothing is found for long, they get rarer and rarer.
const HOPELESS: u32 = 8;

/// Where bytes with the same hash were last seen.
pub(crate) struct Finder {
    /// The low bits of places in the window. What they say is not trusted: bytes are compared.
    last: Box<[u16; 1 << HASH_BITS]>,
}

impl Finder {
    pub(crate) fn new() -> Self {
        Finder { last: Box::new([0; 1 << HASH_BITS]) }
    }

    /// Forgets all places: the same input is to give the same output, whatever came before.
    pub(crate) fn clear(&mut self) {
        self.last.fill(0);
    }

    /// Cuts the block into sequences that may copy from anything before.
    pub(crate) fn cut(&mut self, window: &Window, sequences: &mut Vec<Sequence>) {
        let (start, end) = (window.start(), window.end());
        let (mut at, mut done) = (BLOCK, BLOCK);
        while at < end {
            let word = window.word(at);
            let before = std::mem::replace(&mut self.last[hash(word)], at as u16);
            let distance = usize::from((at as u16).wrapping_sub(before));
            let differs = word ^ window.word(at.wrapping_sub(distance));
            if differs << (64 - 8 * SHORTEST) != 0 || !(1..=FARTHEST.min(at - start)).contains(&distance) {
                let without = at - done;
                at += 1 + (without >> RARER).min(RAREST) + (without >> HOPELESS);
                continue;
            }
            let length = common(window, at, distance, differs).min(end - at);
            if length < SHORTEST {
                break;
            }
            // Looks that were left out may have been in the middle of a match.
            let back = common_before(window, at, distance).min(at - done).min(at - distance - start);
            at -= back;
            let length = (length + back).min(LONGEST);
            sequences.push(Sequence {
                literals: (at - done) as u16,
                length: length as u16,
                distance: (distance - 1) as u16,
                symbol: distance_symbol(distance - 1) as u16,
            });
            at += length;
            done = at;
            self.last[hash(window.word(at - 2))] = (at - 2) as u16;
        }
        // In two halves: a whole block would be one too many to be counted.
        let left = end - done;
        for literals in [left / 2, left - left / 2] {
            sequences.push(Sequence { literals: literals as u16, ..Sequence::default() });
        }
    }
}

#[inline(always)]
fn hash(word: u64) -> usize {
    const ODD: u64 = 0x9e37_79b1_85eb_ca87;
    ((word << (64 - 8 * SHORTEST)).wrapping_mul(ODD) >> (64 - HASH_BITS)) as usize
}

/// How many of the eight bytes in front are the same as those `distance` before, from the last one on.
#[inline(always)]
fn common_before(window: &Window, at: usize, distance: usize) -> usize {
    let differs = window.word(at - 8) ^ window.word((at - 8).wrapping_sub(distance));
    differs.leading_zeros() as usize / 8
}

/// How many bytes are the same as those `distance` before; `differs` says where the first eight are not.
#[inline(always)]
fn common(window: &Window, at: usize, distance: usize, mut differs: u64) -> usize {
    let mut length = 0;
    while differs == 0 && length < LONGEST {
        length += 8;
        differs = window.word(at + length) ^ window.word(at + length - distance);
    }
    // Eight equal bytes give 64 zeros.
    (length + differs.trailing_zeros() as usize / 8).min(LONGEST)
}
