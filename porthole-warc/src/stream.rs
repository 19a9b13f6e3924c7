//! The decompressed bytes of a WARC file.
//!
//! A file is a sequence of members: gzip members, zstd frames, or, uncompressed, the whole file as one. A member
//! contains one or more records; a record never spans members.

use std::io::Read;

use crate::codec::Codec;
use crate::error::shown;
use crate::input::WarcInput;
use crate::{RecordPlace, WarcError};

const BUFFER: usize = 32 * 1024;

pub(crate) struct MemberStream<R> {
    input: WarcInput<R>,
    packing: Option<StreamPacking>,
    /// Decoder of the current member; `None` between members and in a plain file.
    codec: Option<Codec>,
    /// Decoder of the member before.
    used: Option<Codec>,
    /// Decoded bytes of the current member that were not consumed are in `plain[start..end]`.
    plain: Box<[u8]>,
    start: usize,
    end: usize,
    /// Offset of the current member.
    member: u64,
    /// Number of decoded bytes of the current member that were consumed.
    inside: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum StreamPacking {
    Plain,
    Gzip,
    Zstd,
}

impl<R: Read> MemberStream<R> {
    pub(crate) fn new(reader: R) -> Self {
        MemberStream {
            input: WarcInput::new(reader),
            packing: None,
            codec: None,
            used: None,
            plain: Box::default(),
            start: 0,
            end: 0,
            member: 0,
            inside: 0,
        }
    }

    pub(crate) fn start_at(&mut self, offset: u64) {
        self.input.start_at(offset);
        self.member = offset;
    }

    /// The next decoded bytes; empty at the end of the member.
    pub(crate) fn fill(&mut self) -> Result<&[u8], WarcError> {
        match self.packing {
            None => Ok(&[]),
            Some(StreamPacking::Plain) => self.input.fill(1),
            Some(_) => {
                if self.start == self.end && self.codec.is_some() {
                    self.decode()?;
                }
                Ok(&self.plain[self.start..self.end])
            }
        }
    }

    pub(crate) fn consume(&mut self, count: usize) {
        if self.packing == Some(StreamPacking::Plain) {
            self.input.consume(count);
        } else {
            self.start += count;
            self.inside += count as u64;
        }
    }

    /// Moves to the next member; returns false at the end of the file. The current one must be consumed.
    pub(crate) fn next_member(&mut self) -> Result<bool, WarcError> {
        let offset = self.input.position();
        let magic = self.input.fill(4)?;
        if magic.is_empty() {
            return Ok(false);
        }
        let (found, codec) = open_member(magic, offset, self.used.take())?;
        if *self.packing.get_or_insert(found) != found {
            let what = format!("{} is no start of a compressed member", shown(magic));
            return Err(WarcError::damaged(offset, what));
        }
        if codec.is_some() && self.plain.is_empty() {
            self.plain = vec![0; BUFFER].into();
        }
        self.codec = codec;
        (self.member, self.inside) = (offset, 0);
        Ok(true)
    }

    /// Position of the next decoded byte, with length 0.
    pub(crate) fn place(&self) -> RecordPlace {
        match self.packing {
            Some(StreamPacking::Gzip | StreamPacking::Zstd) => {
                RecordPlace { offset: self.member, inside: self.inside, length: 0 }
            }
            _ => RecordPlace { offset: self.input.position(), inside: 0, length: 0 },
        }
    }

    /// File offset of the next byte to read.
    pub(crate) fn position(&self) -> u64 {
        self.input.position()
    }

    pub(crate) fn is_compressed(&self) -> bool {
        self.packing != Some(StreamPacking::Plain)
    }

    fn decode(&mut self) -> Result<(), WarcError> {
        let Some(codec) = &mut self.codec else { return Ok(()) };
        loop {
            let input = self.input.fill(1)?;
            let at_end = input.is_empty();
            let step = codec.step(input, &mut self.plain);
            let step = step.map_err(|what| broken(self.member, self.input.position(), &what))?;
            self.input.consume(step.read);
            (self.start, self.end) = (0, step.written);
            if step.done {
                self.used = self.codec.take();
                return Ok(());
            }
            if step.written > 0 {
                return Ok(());
            }
            if at_end {
                return Err(WarcError::Truncated { offset: self.member, end: self.input.position() });
            }
            if step.read == 0 {
                return Err(broken(self.member, self.input.position(), "the decoder is stuck"));
            }
        }
    }
}

fn open_member(
    magic: &[u8],
    offset: u64,
    used: Option<Codec>,
) -> Result<(StreamPacking, Option<Codec>), WarcError> {
    match *magic {
        [0x1f, 0x8b, ..] => Ok((StreamPacking::Gzip, Some(Codec::gzip()))),
        // The skippable frame of a dictionary: https://iipc.github.io/warc-specifications/.
        [0x5d, 0x2a, 0x4d, 0x18, ..] => {
            Err(WarcError::Unsupported { offset, what: "zstd with a dictionary of the file's own".into() })
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            let codec = Codec::zstd_again(used).map_err(|what| broken(offset, offset, &what))?;
            Ok((StreamPacking::Zstd, Some(codec)))
        }
        _ => Ok((StreamPacking::Plain, None)),
    }
}

fn broken(member: u64, position: u64, what: &str) -> WarcError {
    WarcError::damaged(member, format!("its compressed data is broken before byte {position}: {what}"))
}
