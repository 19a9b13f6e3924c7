//! A fast gzip compressor, because a crawl compresses every page that it archives. Twice as fast as zlib at its
//! fastest level (`cargo bench -p porthole-warc`): it probes one earlier position for each word, and uses preset
//! Huffman codes where they fit.

mod bits;
mod block;
mod codes;
mod head;
mod matches;
mod preset;
mod tables;
mod window;

use bits::BitWriter;
use block::{SLACK, write_block, write_stored};
use flate2::Crc;
use matches::{MatchFinder, Sequence};
use window::{BLOCK, Window};

/// Compresses into gzip members. Its buffers and tables are reused.
pub(crate) struct QuickGzip {
    window: Window,
    finder: MatchFinder,
    sequences: Vec<Sequence>,
    /// Output buffer. It is overwritten, not cleared, for each member.
    member: Vec<u8>,
}

/// Maximum size of the output buffer between members.
const MAX_RETAINED: usize = 1 << 20;

/// The header: no name, no time, fastest compression, unknown system (RFC 1952, 2.3).
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff];

impl QuickGzip {
    pub(crate) fn new() -> Self {
        QuickGzip {
            window: Window::new(),
            finder: MatchFinder::new(),
            sequences: Vec::new(),
            member: Vec::new(),
        }
    }

    /// Scans a part of the next member before the parts in front of it are known. `also` receives its bytes piece
    /// by piece: processing them here is cheaper than a second pass.
    pub(crate) fn read_ahead(&mut self, part: &[u8], also: impl FnMut(&[u8])) {
        self.finder.read_ahead(part, also);
    }

    /// Appends a member with the concatenated parts. If a part was passed to `read_ahead`, `ahead` is the number of
    /// bytes in front of it. The output depends only on the parts, not on earlier members.
    pub(crate) fn pack(&mut self, parts: &[&[u8]], ahead: Option<usize>, out: &mut Vec<u8>) {
        self.write_member(parts, ahead, &[], out);
    }

    /// As `pack`, and stores parts behind those: they are compressed already.
    pub(crate) fn pack_and_store(&mut self, parts: &[&[u8]], stored: &[&[u8]], out: &mut Vec<u8>) {
        self.write_member(parts, None, stored, out);
    }

    fn write_member(&mut self, parts: &[&[u8]], ahead: Option<usize>, stored: &[&[u8]], out: &mut Vec<u8>) {
        let sum = |parts: &[&[u8]]| parts.iter().map(|part| part.len()).sum::<usize>();
        let (packed, kept) = (sum(parts), sum(stored));
        let blocks = packed / BLOCK + 1 + kept / BLOCK + stored.len();
        let room = packed + packed / 2 + kept + blocks * SLACK;
        let mut member = std::mem::take(&mut self.member);
        member.resize(member.len().max(room), 0);
        let mut writer = BitWriter::new(&mut member, 0);
        let mut crc = Crc::new();
        self.finder.clear();
        self.window.clear();
        // The scan is used in the first block only.
        let mut ahead = ahead.filter(|before| *before < BLOCK);
        for part in parts {
            crc.update(part);
            let mut taken = 0;
            while taken < part.len() {
                if self.window.is_full() {
                    writer = self.write_block(writer, ahead.take(), false);
                    self.window.slide();
                }
                taken += self.window.take(&part[taken..]);
            }
        }
        writer = self.write_block(writer, ahead, stored.is_empty());
        for (index, part) in stored.iter().enumerate() {
            crc.update(part);
            writer = write_stored(writer, part, index + 1 == stored.len());
        }
        let end = writer.align();
        out.reserve(HEADER.len() + end + 8);
        out.extend_from_slice(&HEADER);
        out.extend_from_slice(&member[..end]);
        out.extend_from_slice(&crc.sum().to_le_bytes());
        out.extend_from_slice(&((packed + kept) as u32).to_le_bytes());
        member.truncate(MAX_RETAINED);
        member.shrink_to(MAX_RETAINED);
        self.member = member;
    }

    fn write_block<'a>(
        &mut self,
        writer: BitWriter<'a>,
        ahead: Option<usize>,
        is_last: bool,
    ) -> BitWriter<'a> {
        self.sequences.clear();
        self.finder.split_block(&self.window, ahead, &mut self.sequences);
        write_block(writer, &self.window, &self.sequences, is_last)
    }
}

#[cfg(test)]
mod tests;
