//! Gzip in a hurry: a crawl packs every page that it keeps. Twice as quick as zlib's fastest level (`cargo bench -p
//! porthole-warc`): one look at one earlier place for each word, and codes that are there already.

mod bits;
mod block;
mod codes;
mod head;
mod matches;
mod ready;
mod tables;
mod window;

use bits::BitWriter;
use block::{ROOM, write_block};
use flate2::Crc;
use matches::{Finder, Sequence};
use window::{BLOCK, Window};

/// Packs into gzip members. What it holds is kept from one to the next.
pub(crate) struct QuickGzip {
    window: Window,
    finder: Finder,
    sequences: Vec<Sequence>,
    /// Where members are made: what is there is written over, so that nothing has to be cleared for them.
    member: Vec<u8>,
}

/// Bytes of a member's room that are kept for the next.
const MOST_KEPT: usize = 1 << 20;

/// No name, no time, packed fast, by whatever system (RFC 1952, 2.3).
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff];

impl QuickGzip {
    pub(crate) fn new() -> Self {
        QuickGzip { window: Window::new(), finder: Finder::new(), sequences: Vec::new(), member: Vec::new() }
    }

    /// Reads a part of the next member before it is known what comes before it. `also` gets its bytes piece by piece: what is
    /// made of them meanwhile costs less than by itself.
    pub(crate) fn read_ahead(&mut self, part: &[u8], also: impl FnMut(&[u8])) {
        self.finder.read_ahead(part, also);
    }

    /// Adds a member that holds the parts in a row, of which one was read ahead if it is said how many bytes come before it. The
    /// same parts make the same member, whatever came before.
    pub(crate) fn pack(&mut self, parts: &[&[u8]], ahead: Option<usize>, out: &mut Vec<u8>) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let room = length + length / 2 + (length / BLOCK + 1) * ROOM;
        let mut member = std::mem::take(&mut self.member);
        member.resize(member.len().max(room), 0);
        let mut writer = BitWriter::new(&mut member, 0);
        let mut crc = Crc::new();
        self.finder.clear();
        self.window.clear();
        // Only of what is in the first block.
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
        let end = self.write_block(writer, ahead, true).align();
        out.reserve(HEAD.len() + end + 8);
        out.extend_from_slice(&HEAD);
        out.extend_from_slice(&member[..end]);
        out.extend_from_slice(&crc.sum().to_le_bytes());
        out.extend_from_slice(&(length as u32).to_le_bytes());
        member.truncate(MOST_KEPT);
        member.shrink_to(MOST_KEPT);
        self.member = member;
    }

    fn write_block<'a>(
        &mut self,
        writer: BitWriter<'a>,
        ahead: Option<usize>,
        is_last: bool,
    ) -> BitWriter<'a> {
        self.sequences.clear();
        self.finder.cut(&self.window, ahead, &mut self.sequences);
        write_block(writer, &self.window, &self.sequences, is_last)
    }
}

#[cfg(test)]
mod tests;
