//! The head of a block with dynamic codes (RFC 1951, 3.2.7).

use super::bits::{BitWriter, Bits};
use super::codes::{code_lengths, codes};
use super::tables::{DISTANCES, END, LITERALS, Lengths, ORDER};

/// The lengths of the codes of a block, themselves run-length and Huffman coded.
pub(crate) struct Head {
    literals: usize,
    distances: usize,
    /// Symbols and their extra bits.
    runs: Vec<(u8, u8)>,
    lengths: [u8; 19],
    written: usize,
}

impl Head {
    /// The head for codes of these lengths.
    pub(crate) fn of(made: &Lengths) -> Head {
        let used = |lengths: &[u8]| lengths.iter().rposition(|length| *length > 0).map_or(0, |at| at + 1);
        let literals = used(&made.literals[..LITERALS]).max(END + 1);
        let distances = used(&made.distances).max(1);
        let mut all = [0; LITERALS + DISTANCES];
        all[..literals].copy_from_slice(&made.literals[..literals]);
        all[literals..][..distances].copy_from_slice(&made.distances[..distances]);
        let runs = runs(&all[..literals + distances]);
        let mut counts = [0; 19];
        for (symbol, _) in &runs {
            counts[usize::from(*symbol)] += 1;
        }
        let mut lengths = [0; 19];
        code_lengths(&counts, 7, &mut lengths);
        let written = ORDER.iter().rposition(|symbol| lengths[*symbol] > 0).map_or(4, |at| (at + 1).max(4));
        Head { literals, distances, runs, lengths, written }
    }

    pub(crate) fn bits(&self) -> u64 {
        let of_run = |(symbol, _): &(u8, u8)| {
            u64::from(self.lengths[usize::from(*symbol)]) + u64::from(extra_bits(*symbol))
        };
        14 + 3 * self.written as u64 + self.runs.iter().map(of_run).sum::<u64>()
    }

    pub(crate) fn write(&self, out: &mut BitWriter<'_>) {
        out.write(Bits::new((self.literals - 257) as u32, 5));
        out.write(Bits::new((self.distances - 1) as u32, 5));
        out.write(Bits::new((self.written - 4) as u32, 4));
        for symbol in &ORDER[..self.written] {
            out.write(Bits::new(self.lengths[*symbol].into(), 3));
        }
        let mut symbols = [Bits::default(); 19];
        codes(&self.lengths, &mut symbols);
        for (symbol, bits) in &self.runs {
            out.write(symbols[usize::from(*symbol)].and((*bits).into(), extra_bits(*symbol)));
        }
    }
}

/// Number of extra bits of a code length symbol.
fn extra_bits(symbol: u8) -> u32 {
    match symbol {
        16 => 2,
        17 => 3,
        18 => 7,
        _ => 0,
    }
}

/// Run-length encodes the code lengths.
fn runs(mut lengths: &[u8]) -> Vec<(u8, u8)> {
    let mut runs = Vec::with_capacity(lengths.len());
    while let Some(first) = lengths.first() {
        let mut same = lengths.iter().take_while(|length| *length == first).count();
        lengths = &lengths[same..];
        if *first > 0 {
            runs.push((*first, 0));
            same -= 1;
        }
        while same > 0 {
            let (run, taken) = match (*first, same) {
                (0, 11..) => ((18, same.min(138) as u8 - 11), same.min(138)),
                (0, 3..) => ((17, same as u8 - 3), same),
                (1.., 3..) => ((16, same.min(6) as u8 - 3), same.min(6)),
                _ => ((*first, 0), 1),
            };
            runs.push(run);
            same -= taken;
        }
    }
    runs
}
