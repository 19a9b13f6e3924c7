//! Buffered input with file offsets.

use std::io::{self, Read};

use crate::WarcError;

const BUFFER: usize = 32 * 1024;

/// A reader with a refillable buffer: members are distinguished by their first four bytes, which a plain `BufRead` may
/// return one by one.
pub(crate) struct WarcInput<R> {
    reader: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Offset in the file of `buffer[start]`.
    position: u64,
}

impl<R: Read> WarcInput<R> {
    pub(crate) fn new(reader: R) -> Self {
        WarcInput { reader, buffer: vec![0; BUFFER].into(), start: 0, end: 0, position: 0 }
    }

    /// Sets the file offset of the reader's position.
    pub(crate) fn start_at(&mut self, offset: u64) {
        self.position = offset;
    }

    /// Offset of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// At least `wanted` bytes, or all bytes before the end of the file. Empty at the end.
    pub(crate) fn fill(&mut self, wanted: usize) -> Result<&[u8], WarcError> {
        debug_assert!(wanted <= BUFFER);
        while self.end - self.start < wanted {
            self.make_room();
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(WarcError::Read { offset: self.position, source }),
            }
        }
        Ok(&self.buffer[self.start..self.end])
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        self.position += count as u64;
        debug_assert!(self.start <= self.end);
    }

    fn make_room(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
    }
}
