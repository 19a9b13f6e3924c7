//! Preset Huffman codes. Nothing has to be counted, and two bytes can be written at once. They fit pages in western
//! European languages; whether they fit a block is known once it is written with them.

use std::sync::LazyLock;

use super::bits::{BitWriter, Bits};
use super::block::SymbolCodes;
use super::head::Head;
use super::matches::Sequence;
use super::tables::{DISTANCES, END, LITERALS, Lengths, distance_extra};
use super::window::{BLOCK, Window};

/// Computed once, shared by all compressors.
pub(crate) static PRESET: LazyLock<PresetCodes> = LazyLock::new(PresetCodes::new);

/// The preset codes, by what they encode.
pub(crate) struct PresetCodes {
    head: Head,
    /// Codes of two bytes, the first one in the low bits of the index.
    pairs: Box<[Bits; 1 << 16]>,
    codes: SymbolCodes,
}

/// Lengths of the codes for bytes. They follow the frequencies of literals in pages of the recorded webs and of the
/// synthetic web.
const BYTES: &[(u8, &[u8])] = &[
    (3, b" "),
    (4, b"aet"),
    (5, b"hilnors"),
    (6, b"\n./<>cdfgmpuy"),
    (7, b"\"-01ATbw"),
    (8, b",234569:CDIRSWkv"),
    (9, b"\r!78;=BEFGHLMNOPUx"),
    (10, b"\t&()JKVY_jq"),
    (11, b"#QXZz"),
];
/// Length of the codes of all other bytes. Two pairs of these fit between two flushes.
const MAX_CODE: u8 = 12;
/// Lengths of the codes for the end of a block and for match lengths.
const END_AND_LENGTHS: [u8; LITERALS - END] = [
    12, 12, 12, 12, 12, 12, 8, 7, 7, 7, 8, 8, 8, 9, 10, 10, 11, 10, 10, 11, 12, 12, 12, 12, 12, 12, 12, 12,
    12, 12,
];
const DISTANCE_LENGTHS: [u8; DISTANCES] =
    [9, 9, 9, 9, 9, 9, 8, 7, 6, 6, 5, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 4, 5, 4, 5, 5, 5, 5, 7];

/// The preset codes fit a block if its literals and copies take at most this many bits on average. Pages in the
/// languages that they were made for take about five bits a byte.
const BITS_PER_BYTE: u64 = 6;
const BITS_PER_COPY: u64 = 24;

/// Masks by the number of remaining bytes, 0 to 3: whether a pair is written, and whether a single byte is.
static PAIR: [u32; 4] = [0, 0, !0, !0];
static SINGLE: [u32; 4] = [0, !0, 0, !0];

impl PresetCodes {
    fn new() -> PresetCodes {
        let lengths = lengths();
        let codes = SymbolCodes::of(&lengths);
        let pair = |pair: u16| {
            let [first, second] = pair.to_le_bytes().map(|byte| codes.bytes[usize::from(byte)]);
            first.and_then(second)
        };
        let pairs: Box<[Bits]> = (0..=u16::MAX).map(pair).collect();
        PresetCodes {
            head: Head::of(&lengths),
            pairs: pairs.try_into().expect("one code for each pair"),
            codes,
        }
    }

    /// Writes the block in the window, which `sequences` describe. Returns whether the codes fit it.
    pub(crate) fn write<'a>(
        &self,
        mut out: BitWriter<'a>,
        window: &Window,
        sequences: &[Sequence],
        is_last: bool,
    ) -> (BitWriter<'a>, bool) {
        let begin = out.position();
        out.write(Bits::new(2 << 1 | u32::from(is_last), 3));
        self.head.write(&mut out);
        let mut out = out.own();
        let (mut at, mut copied) = (BLOCK, 0);
        for sequence in sequences {
            let mut left = usize::from(sequence.literals);
            while left >= 4 {
                let [first, second, third, fourth] = window.four(at);
                out.push_two(self.pair(first, second), self.pair(third, fourth));
                out.flush();
                (at, left) = (at + 4, left - 4);
            }
            let [first, second, ..] = window.four(at);
            let last = self.codes.bytes[usize::from(window.byte(at + (left & 2)))];
            out.push_two(self.pair(first, second).masked(PAIR[left & 3]), last.masked(SINGLE[left & 3]));
            // A length of 0 has no bits.
            out.push(self.codes.lengths[usize::from(sequence.length) & 511]);
            out.flush();
            if sequence.length > 0 {
                let extra = distance_extra(sequence.symbol.into());
                let rest = Bits::new(u32::from(sequence.distance) & ((1 << extra) - 1), extra);
                out.push_two(self.codes.distances[usize::from(sequence.symbol) & 31], rest);
                out.flush();
            }
            at += left + usize::from(sequence.length);
            copied += usize::from(sequence.length);
        }
        out.write(self.codes.end);
        let bytes = (at - BLOCK - copied) as u64;
        let most = BITS_PER_BYTE * bytes + BITS_PER_COPY * sequences.len() as u64;
        let is_fit = out.position() - begin <= most;
        (out, is_fit)
    }

    #[inline(always)]
    fn pair(&self, first: u8, second: u8) -> Bits {
        self.pairs[usize::from(u16::from_le_bytes([first, second]))]
    }
}

fn lengths() -> Lengths {
    let mut literals = [0; LITERALS + 2];
    literals[..END].fill(MAX_CODE);
    for (length, bytes) in BYTES {
        bytes.iter().for_each(|byte| literals[usize::from(*byte)] = *length);
    }
    literals[END..LITERALS].copy_from_slice(&END_AND_LENGTHS);
    Lengths { literals, distances: DISTANCE_LENGTHS }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_complete_and_fit_between_flushes() {
        let Lengths { literals, distances } = lengths();
        for lengths in [&literals[..LITERALS], &distances] {
            let taken: f64 = lengths.iter().map(|length| 0.5f64.powi(i32::from(*length))).sum();
            assert_eq!(taken, 1.0);
        }
        assert!(literals.iter().all(|length| *length <= MAX_CODE));
        // Seven bits may remain from the last flush. Then: two pairs; or three bytes and a length; or a distance.
        let [literal, distance] = [MAX_CODE, *distances.iter().max().unwrap()].map(u32::from);
        for bits in [4 * literal, 3 * literal + literal + 5, distance + 13] {
            assert!(7 + bits <= 64, "{bits}");
        }
    }
}
