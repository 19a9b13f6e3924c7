//! Gzip in a hurry. A crawl packs every page that it keeps, so this takes a third of the time of zlib's fastest level and
//! makes less of the bytes: one look at one earlier place for each position, and codes made for each block.

mod bits;
mod block;
mod codes;
mod matches;
mod tables;

use bits::BitWriter;
use block::{BLOCK, ROOM, write_block};
use flate2::Crc;
use matches::{Finder, PADDING, Sequence};

/// Packs into gzip members. What it holds is kept from one to the next.
pub(crate) struct QuickGzip {
    finder: Finder,
    /// What is packed, in one piece.
    input: Vec<u8>,
    sequences: Vec<Sequence>,
}

/// No name, no time, packed fast, by whatever system (RFC 1952, 2.3).
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff];

impl QuickGzip {
    pub(crate) fn new() -> Self {
        QuickGzip { finder: Finder::new(), input: Vec::new(), sequences: Vec::new() }
    }

    /// Adds a member that holds the parts in a row. The same parts make the same member, whatever came before.
    pub(crate) fn pack(&mut self, parts: &[&[u8]], out: &mut Vec<u8>) {
        self.input.clear();
        for part in parts {
            self.input.extend_from_slice(part);
        }
        let length = self.input.len();
        let mut crc = Crc::new();
        crc.update(&self.input);
        self.input.extend_from_slice(&[0; PADDING]);

        let start = out.len();
        out.extend_from_slice(&HEAD);
        out.resize(start + HEAD.len() + length + (length / BLOCK + 1) * ROOM, 0);
        let mut writer = BitWriter::new(out, start + HEAD.len());
        self.write_blocks(length, &mut writer);
        let end = writer.align();
        out.truncate(end);
        out.extend_from_slice(&crc.sum().to_le_bytes());
        out.extend_from_slice(&(length as u32).to_le_bytes());
    }

    fn write_blocks(&mut self, length: usize, writer: &mut BitWriter<'_>) {
        self.finder.reset();
        let mut from = 0;
        loop {
            let to = length.min(from + BLOCK);
            self.sequences.clear();
            self.finder.cut(&self.input, from, to, &mut self.sequences);
            write_block(writer, &self.input[from..], to - from, &self.sequences, to == length);
            if to == length {
                return;
            }
            from = to;
        }
    }
}

#[cfg(test)]
mod tests;
