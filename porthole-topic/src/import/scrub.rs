//! A reader between a file and an XML parser: it makes the bytes such as the parser can go on with, says what it
//! changed, counts lines, and stops when a record is too long.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};

use porthole_page::steps;

use super::Problem;

/// Bytes of a record. The longest in the Open Directory are some hundred kilobytes.
pub(super) const LONGEST_RECORD: u64 = 16 << 20;

/// Bytes that are scrubbed at a time.
const CHUNK: usize = 1 << 16;

/// Clean UTF-8 without control characters, from bytes that should have been.
pub(super) struct Scrub<R> {
    reader: R,
    /// Clean bytes, read up to `at`.
    clean: Vec<u8>,
    at: usize,
    /// The start of a character whose rest has not come yet.
    carry: Vec<u8>,
    /// The line of the bytes to scrub next, and that of those to hand out next.
    scrubbed_line: u64,
    line: u64,
    /// What was changed in lines not reported yet.
    changes: VecDeque<Problem>,
    /// Bytes handed out since the record began.
    used: u64,
}

impl<R: BufRead> Scrub<R> {
    pub(super) fn new(reader: R) -> Self {
        Scrub {
            reader,
            clean: Vec::new(),
            at: 0,
            carry: Vec::new(),
            scrubbed_line: 1,
            line: 1,
            changes: VecDeque::new(),
            used: 0,
        }
    }

    /// The line that has been read up to.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// From here on the bytes belong to another record.
    pub(super) fn start_record(&mut self) {
        self.used = 0;
    }

    /// Whether reading failed because a record is too long.
    pub(super) fn is_too_long(&self) -> bool {
        self.used > LONGEST_RECORD
    }

    /// What was changed in what has been read up to now.
    pub(super) fn next_change(&mut self) -> Option<Problem> {
        let is_read = self.changes.front().is_some_and(|change| change.line <= Some(self.line));
        if is_read { self.changes.pop_front() } else { None }
    }

    fn refill(&mut self) -> io::Result<()> {
        let available = self.reader.fill_buf()?;
        let size = available.len().min(CHUNK);
        let mut bytes = std::mem::take(&mut self.carry);
        bytes.extend_from_slice(&available[..size]);
        self.reader.consume(size);
        self.clean.clear();
        self.at = 0;
        self.scrub(&bytes, size == 0);
        Ok(())
    }

    fn scrub(&mut self, bytes: &[u8], is_end: bool) {
        steps::add(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.scrub_controls(chunk.valid());
            let invalid = chunk.invalid();
            // A character that is cut by the end of the bytes may go on in the next.
            if chunks.peek().is_none()
                && !is_end
                && str::from_utf8(invalid).is_err_and(|e| e.error_len().is_none())
            {
                self.carry = invalid.to_vec();
            } else if !invalid.is_empty() {
                self.clean.extend_from_slice("\u{FFFD}".as_bytes());
                self.change("bytes that are not UTF-8 were replaced");
            }
        }
    }

    fn scrub_controls(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            let start = self.clean.len();
            self.clean.extend_from_slice(line.as_bytes());
            let mut changed = false;
            for byte in &mut self.clean[start..] {
                let is_bad = is_control(*byte);
                *byte = if is_bad { b' ' } else { *byte };
                changed |= is_bad;
            }
            if changed {
                self.change("control characters were replaced by spaces");
            }
            self.scrubbed_line += u64::from(line.ends_with('\n'));
        }
    }

    /// Notes a change, once a line.
    fn change(&mut self, what: &str) {
        if self.changes.back().is_none_or(|last| last.line != Some(self.scrubbed_line)) {
            self.changes.push_back(Problem::new(self.scrubbed_line, what));
        }
    }
}

/// Not allowed in XML. Those above 127 are, and nobody minds them.
fn is_control(byte: u8) -> bool {
    (byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r')) || byte == 0x7F
}

impl<R: BufRead> BufRead for Scrub<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.is_too_long() {
            return Err(io::Error::other("the record is too long"));
        }
        while self.at == self.clean.len() {
            let before = self.carry.len();
            self.refill()?;
            // At the end nothing came, and nothing is carried any more.
            if self.clean.is_empty() && self.carry.len() <= before {
                break;
            }
        }
        Ok(&self.clean[self.at..])
    }

    fn consume(&mut self, size: usize) {
        let bytes = &self.clean[self.at..self.at + size];
        self.line += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.at += size;
        steps::add(size);
        self.used += size as u64;
    }
}

impl<R: BufRead> Read for Scrub<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = self.fill_buf()?.read(into)?;
        self.consume(size);
        Ok(size)
    }
}
