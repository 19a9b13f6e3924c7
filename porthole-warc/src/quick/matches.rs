//! Finding what was there before: one look at one earlier place for each position.

use super::tables::{LONGEST, distance_symbol};

/// Some bytes as they are, and then a copy of earlier ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sequence {
    /// Bytes that are not copied; a block has no more than fit.
    pub(crate) literals: u16,
    /// Bytes that are; 0 at the end of a block.
    pub(crate) length: u16,
    /// How far back they are, less one.
    pub(crate) distance: u16,
    /// The symbol for that distance.
    pub(crate) symbol: u16,
}

/// Bytes that must stand behind what is looked at, whatever they are: words are read at the last position too.
pub(crate) const PADDING: usize = 8;

const WINDOW: usize = 1 << 15;
const HASH_BITS: u32 = 13;

/// Where bytes with the same hash were last seen.
pub(crate) struct Finder {
    /// Positions without their high bits. What they say is never trusted: bytes are compared.
    last: Box<[u16; 1 << HASH_BITS]>,
}

impl Finder {
    pub(crate) fn new() -> Self {
        Finder { last: Box::new([0; 1 << HASH_BITS]) }
    }

    /// Forgets all positions: the same input is to give the same output, whatever came before.
    pub(crate) fn reset(&mut self) {
        self.last.fill(0);
    }

    /// Cuts `input[from..to]` into sequences that may copy from anything before; [`PADDING`] bytes are behind it.
    pub(crate) fn cut(&mut self, input: &[u8], from: usize, to: usize, sequences: &mut Vec<Sequence>) {
        let input = &input[..to + PADDING];
        let (mut at, mut done) = (from, from);
        while at < to {
            let word = word(input, at);
            let before = std::mem::replace(&mut self.last[hash(word)], at as u16);
            let distance = usize::from((at as u16).wrapping_sub(before));
            if distance.wrapping_sub(1) < at.min(WINDOW) {
                let differs = word ^ self::word(input, at - distance);
                if differs & COMPARED == 0 {
                    let length = if differs != 0 {
                        differs.trailing_zeros() as usize / 8
                    } else {
                        common(input, at, distance)
                    };
                    let length = length.min(to - at);
                    if length < SHORTEST {
                        break;
                    }
                    sequences.push(Sequence {
                        literals: (at - done) as u16,
                        length: length as u16,
                        distance: (distance - 1) as u16,
                        symbol: distance_symbol(distance - 1) as u16,
                    });
                    at += length;
                    done = at;
                    self.last[hash(self::word(input, at - 2))] = (at - 2) as u16;
                    continue;
                }
            }
            at += 1 + ((at - done) >> SKIP);
        }
        sequences.push(Sequence { literals: (to - done) as u16, ..Sequence::default() });
    }
}

/// The shortest match that is taken; shorter ones hardly pay beside literals with codes of their own.
const SHORTEST: usize = 6;
const COMPARED: u64 = u64::MAX >> (64 - 8 * SHORTEST);
/// Looks get rarer by one for so many bytes without a match, as a power of two.
const SKIP: u32 = 6;

#[inline(always)]
fn hash(word: u64) -> usize {
    const ODD: u64 = 0x9e37_79b1_85eb_ca87;
    ((word << (64 - 8 * SHORTEST)).wrapping_mul(ODD) >> (64 - HASH_BITS)) as usize
}

#[inline(always)]
fn word(input: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(input[at..][..8].try_into().expect("eight bytes"))
}

/// How many bytes are the same as those `distance` before, after the first eight, which are.
#[inline(always)]
fn common(input: &[u8], at: usize, distance: usize) -> usize {
    let here = input[at + 8..].chunks_exact(8);
    let there = input[at + 8 - distance..].chunks_exact(8);
    let mut length = 8;
    for (here, there) in here.zip(there) {
        let differs = word(here, 0) ^ word(there, 0);
        if differs != 0 {
            length += differs.trailing_zeros() as usize / 8;
            break;
        }
        length += 8;
        if length >= LONGEST {
            break;
        }
    }
    length.min(LONGEST)
}
