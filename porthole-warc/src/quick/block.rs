//! Writes sequences as a deflate block: with the preset codes, with codes computed for the block, with the fixed
//! codes of deflate, or stored.

use std::sync::LazyLock;

use super::bits::{BitWriter, Bits};
use super::codes::{code_lengths, codes};
use super::head::Head;
use super::matches::Sequence;
use super::preset::PRESET;
use super::tables::{
    DISTANCES, END, FIXED_DISTANCES, FIXED_LITERALS, LENGTHS, LITERALS, Lengths, distance_extra,
};
use super::window::{BLOCK, Window};

/// Longer codes save hardly any bits; without them, at least four codes fit between two flushes.
const LIMIT: usize = 11;

/// Space that a block needs while it is written, in addition to 1.5 bytes for each byte of its contents, which is
/// the length of the longest preset code: the head, and space for the last flush.
pub(crate) const SLACK: usize = 512 + 16;

/// Blocks up to this size get the fixed codes or are stored. The heads of records are such blocks: codes computed for
/// them would save 7% of their size, half a percent of a page's records, and cost 4% of a crawl's CPU time.
const SMALL: usize = 1024;

/// The fixed codes (RFC 1951, 3.2.6).
static FIXED: LazyLock<SymbolCodes> =
    LazyLock::new(|| SymbolCodes::of(&Lengths { literals: FIXED_LITERALS, distances: FIXED_DISTANCES }));

/// Codes by what they encode.
pub(crate) struct SymbolCodes {
    pub(crate) bytes: [Bits; 256],
    /// By match length, including the extra bits.
    pub(crate) lengths: [Bits; 512],
    pub(crate) distances: [Bits; 32],
    pub(crate) end: Bits,
}

/// How often each symbol occurs.
struct Counts {
    literals: [u32; LITERALS],
    distances: [u32; DISTANCES],
}

/// Writes the block in the window, which `sequences` describe.
pub(crate) fn write_block<'a>(
    mut out: BitWriter<'a>,
    window: &Window,
    sequences: &[Sequence],
    is_last: bool,
) -> BitWriter<'a> {
    let before = out.mark();
    if window.block().len() <= SMALL {
        return write_small_block(out, window, sequences, is_last);
    }
    let (written, is_fit) = PRESET.write(out, window, sequences, is_last);
    if is_fit {
        return written;
    }
    out = written;
    out.rewind(&before);
    let counts = Counts::of(window, sequences);
    let mut made = Lengths { literals: [0; LITERALS + 2], distances: [0; DISTANCES] };
    code_lengths(&counts.literals, LIMIT, &mut made.literals[..LITERALS]);
    code_lengths(&counts.distances, LIMIT, &mut made.distances);
    let head = Head::of(&made);
    let fixed = Lengths { literals: FIXED_LITERALS, distances: FIXED_DISTANCES };

    let extra = counts.extra_bits();
    let with_made = head.bits() + counts.bits(&made) + extra;
    let with_fixed = counts.bits(&fixed) + extra;
    if stored_bits(window) < with_made.min(with_fixed) {
        write_stored(out, window.block(), is_last)
    } else if with_fixed <= with_made {
        write_fixed(out, window, sequences, is_last)
    } else {
        out.write(Bits::new(2 << 1 | u32::from(is_last), 3));
        head.write(&mut out);
        write_sequences(out, window, sequences, &SymbolCodes::of(&made))
    }
}

/// Writes a block with the fixed codes, or stored if that is smaller.
fn write_small_block<'a>(
    out: BitWriter<'a>,
    window: &Window,
    sequences: &[Sequence],
    is_last: bool,
) -> BitWriter<'a> {
    let (before, begin) = (out.mark(), out.position());
    let mut out = write_fixed(out, window, sequences, is_last);
    if out.position() - begin <= stored_bits(window) {
        return out;
    }
    out.rewind(&before);
    write_stored(out, window.block(), is_last)
}

fn write_fixed<'a>(
    mut out: BitWriter<'a>,
    window: &Window,
    sequences: &[Sequence],
    is_last: bool,
) -> BitWriter<'a> {
    out.write(Bits::new(1 << 1 | u32::from(is_last), 3));
    write_sequences(out, window, sequences, &FIXED)
}

/// Number of bits of the window's block if it is stored.
fn stored_bits(window: &Window) -> u64 {
    8 * (window.block().len() as u64 + 5)
}

/// Writes bytes as stored blocks. The length field is one too small for a full block of the window, which becomes two.
pub(crate) fn write_stored<'a>(mut out: BitWriter<'a>, mut bytes: &[u8], is_last: bool) -> BitWriter<'a> {
    loop {
        let (piece, rest) = bytes.split_at(bytes.len().min(BLOCK - 1));
        out.write(Bits::new(u32::from(is_last && rest.is_empty()), 3));
        out.align();
        let length = piece.len() as u16;
        out.bytes(&length.to_le_bytes());
        out.bytes(&(!length).to_le_bytes());
        out.bytes(piece);
        if rest.is_empty() {
            return out;
        }
        bytes = rest;
    }
}

impl Counts {
    fn of(window: &Window, sequences: &[Sequence]) -> Counts {
        // Four tables, so that counting the same byte twice in a row does not wait for the first increment.
        let mut of_bytes = [[0u32; 256]; 4];
        let mut of_lengths = [0u32; 512];
        let mut distances = [0u32; 32];
        let mut at = BLOCK;
        for sequence in sequences {
            let mut left = usize::from(sequence.literals);
            while left >= 4 {
                for (counts, byte) in of_bytes.iter_mut().zip(window.four(at)) {
                    counts[usize::from(byte)] += 1;
                }
                (at, left) = (at + 4, left - 4);
            }
            // Adds 0 for excess bytes: the number of bytes is an unpredictable branch.
            for (place, (counts, byte)) in of_bytes.iter_mut().zip(window.four(at)).enumerate().take(3) {
                counts[usize::from(byte)] += u32::from(place < left);
            }
            of_lengths[usize::from(sequence.length) & 511] += 1;
            distances[usize::from(sequence.symbol) & 31] += 1;
            at += left + usize::from(sequence.length);
        }
        let mut counts = Counts { literals: [0; LITERALS], distances: [0; DISTANCES] };
        for (byte, count) in counts.literals[..256].iter_mut().enumerate() {
            *count = of_bytes.iter().map(|counts| counts[byte]).sum();
        }
        counts.literals[END] = 1;
        for (code, count) in LENGTHS.iter().zip(&of_lengths).skip(3) {
            counts.literals[usize::from(code.symbol)] += count;
        }
        // Sequences without a copy have no distance.
        distances[0] -= of_lengths[0];
        counts.distances.copy_from_slice(&distances[..DISTANCES]);
        counts
    }

    /// Total length of all codes in bits.
    fn bits(&self, lengths: &Lengths) -> u64 {
        let sum = |counts: &[u32], lengths: &[u8]| -> u64 {
            counts.iter().zip(lengths).map(|(count, length)| u64::from(*count) * u64::from(*length)).sum()
        };
        sum(&self.literals, &lengths.literals) + sum(&self.distances, &lengths.distances)
    }

    /// Total number of extra bits after the codes.
    fn extra_bits(&self) -> u64 {
        let of_length =
            |symbol: usize| if symbol < 265 || symbol == 285 { 0 } else { (symbol - 261) as u64 / 4 };
        let of_distance = |symbol: usize| (symbol as u64 / 2).saturating_sub(1);
        let lengths = (257..LITERALS).map(|symbol| u64::from(self.literals[symbol]) * of_length(symbol));
        let distances = self.distances.iter().enumerate();
        lengths.sum::<u64>()
            + distances.map(|(symbol, count)| u64::from(*count) * of_distance(symbol)).sum::<u64>()
    }
}

impl SymbolCodes {
    pub(crate) fn of(lengths: &Lengths) -> SymbolCodes {
        let mut literals = [Bits::default(); LITERALS + 2];
        codes(&lengths.literals, &mut literals);
        let mut distances = [Bits::default(); 32];
        codes(&lengths.distances, &mut distances);
        SymbolCodes {
            bytes: *literals.first_chunk().expect("all bytes have codes"),
            lengths: length_codes(&literals),
            distances,
            end: literals[END],
        }
    }
}

fn write_sequences<'a>(
    out: BitWriter<'a>,
    window: &Window,
    sequences: &[Sequence],
    codes: &SymbolCodes,
) -> BitWriter<'a> {
    let mut out = out.own();
    let mut at = BLOCK;
    for sequence in sequences {
        let mut left = usize::from(sequence.literals);
        while left >= 4 {
            out.push_four(window.four(at).map(|byte| codes.bytes[usize::from(byte)]));
            out.flush();
            (at, left) = (at + 4, left - 4);
        }
        let [first, second, third, _] = window.four(at).map(|byte| codes.bytes[usize::from(byte)]);
        out.push_few([first, second, third], left);
        out.flush();
        if sequence.length > 0 {
            out.push(codes.lengths[usize::from(sequence.length) & 511]);
            out.push(codes.distances[usize::from(sequence.symbol) & 31]);
            let extra = distance_extra(sequence.symbol.into());
            out.push(Bits::new(u32::from(sequence.distance) & ((1 << extra) - 1), extra));
            out.flush();
        }
        at += left + usize::from(sequence.length);
    }
    out.write(codes.end);
    out
}

/// By match length: the code of its symbol and its extra bits.
fn length_codes(literal_codes: &[Bits; LITERALS + 2]) -> [Bits; 512] {
    let mut length_codes = [Bits::default(); 512];
    for (length, (code, bits)) in LENGTHS.iter().zip(&mut length_codes).enumerate().skip(3) {
        let symbol = literal_codes[usize::from(code.symbol)];
        *bits = symbol.and((length - usize::from(code.base)) as u32, code.extra.into());
    }
    length_codes
}
