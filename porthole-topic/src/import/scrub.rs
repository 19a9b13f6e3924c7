//! A reader between a file and an XML parser: it replaces bytes that the parser would reject, reports the changes,
//! counts lines, and fails when a record is too long.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};

use porthole_page::steps;

use super::ImportProblem;

/// Maximum length of a record. The longest in the Open Directory have some hundred kilobytes.
pub(super) const LONGEST_RECORD: u64 = 16 << 20;

/// Number of bytes that are processed at a time.
const CHUNK: usize = 1 << 16;

/// Produces clean UTF-8 without control characters from any bytes.
pub(super) struct Scrub<R> {
    reader: R,
    /// Clean bytes, consumed up to `at`.
    clean: Vec<u8>,
    at: usize,
    /// Start of a character whose rest was not read yet.
    carry: Vec<u8>,
    /// Line of the next bytes to process, and of the next bytes to return.
    scrubbed_line: u64,
    line: u64,
    /// Changes that were not reported yet.
    changes: VecDeque<ImportProblem>,
    /// Number of bytes returned since the record began.
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

    /// Line of the last byte returned.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Marks the start of a record.
    pub(super) fn start_record(&mut self) {
        self.used = 0;
    }

    /// Whether reading failed because a record is too long.
    pub(super) fn is_too_long(&self) -> bool {
        self.used > LONGEST_RECORD
    }

    /// The next change in the bytes returned so far.
    pub(super) fn next_change(&mut self) -> Option<ImportProblem> {
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
            // A character at the end of the chunk may continue in the next.
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

    /// Records a change, once per line.
    fn change(&mut self, what: &str) {
        if self.changes.back().is_none_or(|last| last.line != Some(self.scrubbed_line)) {
            self.changes.push_back(ImportProblem::new(self.scrubbed_line, what));
        }
    }
}

/// Not allowed in XML. Those above 127 are allowed.
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
            // At the end of the input: nothing was read, and nothing is carried.
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
