//! Reads a file record by record.

use std::io::Read;

use memchr::memchr;

use crate::error::shown;
use crate::fields::{first_line, parse_fields};
use crate::stream::MemberStream;
use crate::{RecordKind, RecordPlace, WarcError, WarcRecord};

/// Default limit: larger blocks are skipped.
pub const BLOCK_LIMIT: u64 = 64 * 1024 * 1024;

/// Maximum number of bytes and of lines of a record's head.
const HEAD_LIMIT: usize = 64 * 1024;
const LINE_LIMIT: usize = 512;

/// Reads the records of a `.warc`, `.warc.gz` or `.warc.zst`, which are recognised by their first bytes.
///
/// Records are returned in file order. After the first error, nothing more is returned: records before the damage are
/// valid, everything after it is ignored. [`find_record`](crate::find_record) says where to go on.
pub struct WarcReader<R> {
    stream: MemberStream<R>,
    head: Vec<u8>,
    limit: u64,
    /// Whether the end was reached or an error was returned.
    over: bool,
    /// Whether the last record was followed by its trailing line ends.
    closed: bool,
}

/// Reads one record, from a reader positioned at its offset.
pub fn read_record(reader: impl Read, place: RecordPlace, limit: u64) -> Result<WarcRecord, WarcError> {
    let mut reader = WarcReader::new(reader).with_offset(place.offset).with_block_limit(limit);
    reader.skip_bytes(place.inside)?;
    let found = reader.next_record()?;
    found.ok_or_else(|| WarcError::Truncated { offset: place.offset, end: reader.stream.position() })
}

/// Reads the head of a record and at most `most` bytes of its block, from a reader positioned at its offset: enough for
/// the headers of a response, at a small part of the cost of the whole record. What follows is not checked.
pub fn read_start(reader: impl Read, offset: u64, most: u64) -> Result<WarcRecord, WarcError> {
    let mut reader = WarcReader::new(reader).with_offset(offset);
    let mut record = WarcRecord::default();
    if !reader.find_record(&mut record)? {
        return Err(WarcError::Truncated { offset, end: reader.stream.position() });
    }
    let whole = record.block_length;
    record.block_length = whole.min(most);
    reader.read_block(&mut record)?;
    record.block_length = whole;
    Ok(record)
}

impl<R: Read> WarcReader<R> {
    /// Reads from the start of a file.
    pub fn new(reader: R) -> Self {
        WarcReader {
            stream: MemberStream::new(reader),
            head: Vec::new(),
            limit: BLOCK_LIMIT,
            over: false,
            closed: false,
        }
    }

    /// Sets the file offset of the reader's position, which must be the start of a record.
    pub fn with_offset(mut self, offset: u64) -> Self {
        self.stream.start_at(offset);
        self
    }

    /// Skips blocks of more than `limit` bytes. With 0 only heads are kept, to build an index.
    pub fn with_block_limit(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    /// The next record, or `None` at the end.
    pub fn next_record(&mut self) -> Result<Option<WarcRecord>, WarcError> {
        let mut record = WarcRecord::default();
        Ok(self.read_into(&mut record)?.then_some(record))
    }

    /// Reads the next record into an existing one, reusing its memory. Returns false at the end.
    pub fn read_into(&mut self, record: &mut WarcRecord) -> Result<bool, WarcError> {
        if self.over {
            return Ok(false);
        }
        let found = self.read_next(record);
        self.over = !matches!(found, Ok(true));
        found
    }

    /// Offset in the file up to which was read.
    pub fn position(&self) -> u64 {
        self.stream.position()
    }

    /// Offset after the last complete record, if the member that it is in is also complete.
    pub(crate) fn end_of_whole(&self, record: &WarcRecord) -> Option<u64> {
        self.closed.then_some(record.place.offset + record.place.length)
    }

    fn read_next(&mut self, record: &mut WarcRecord) -> Result<bool, WarcError> {
        if !self.find_record(record)? {
            return Ok(false);
        }
        self.read_block(record)?;
        self.read_end(record)?;
        Ok(true)
    }

    /// Reads up to the block of the next record. Returns false at the end.
    fn find_record(&mut self, record: &mut WarcRecord) -> Result<bool, WarcError> {
        self.skip_line_ends()?;
        while self.stream.fill()?.is_empty() {
            if !self.stream.next_member()? {
                return Ok(false);
            }
            self.skip_line_ends()?;
        }
        record.place = self.stream.place();
        let offset = record.place.offset;
        self.read_head(offset)?;
        self.parse_head(record)?;
        Ok(true)
    }

    /// Reads the head including its empty line.
    fn read_head(&mut self, offset: u64) -> Result<(), WarcError> {
        self.head.clear();
        let mut lines = 0;
        loop {
            let line_start = self.head.len();
            self.read_line(offset)?;
            if line_start == 0 {
                check_version(&self.head, offset)?;
            }
            if matches!(self.head[line_start..], [b'\n'] | [b'\r', b'\n']) {
                return Ok(());
            }
            lines += 1;
            if lines > LINE_LIMIT {
                let what = format!("its head has more than {LINE_LIMIT} lines");
                return Err(WarcError::damaged(offset, what));
            }
        }
    }

    fn read_line(&mut self, offset: u64) -> Result<(), WarcError> {
        loop {
            let plain = self.stream.fill()?;
            if plain.is_empty() {
                return Err(self.broken_off(offset, "in its head"));
            }
            let end = memchr(b'\n', plain);
            let taken = end.map_or(plain.len(), |at| at + 1);
            // The first piece shows whether this is a record at all; garbage is not buffered.
            if self.head.is_empty() && !is_start(&plain[..taken.min(5)]) {
                let what = format!("it starts with {}, not with `WARC/`", shown(plain));
                return Err(WarcError::damaged(offset, what));
            }
            if self.head.len() + taken > HEAD_LIMIT {
                let what = format!("its head has more than {HEAD_LIMIT} bytes");
                return Err(WarcError::damaged(offset, what));
            }
            self.head.extend_from_slice(&plain[..taken]);
            self.stream.consume(taken);
            if end.is_some() {
                return Ok(());
            }
        }
    }

    fn parse_head(&self, record: &mut WarcRecord) -> Result<(), WarcError> {
        let offset = record.place.offset;
        let (_, length) = first_line(&self.head);
        let (headers, stray) = parse_fields(&self.head[length..]);
        if let Some(line) = stray {
            let what = format!("the line {} in its head is no field", shown(line));
            return Err(WarcError::damaged(offset, what));
        }
        let length = headers.get("Content-Length");
        let length = length.ok_or_else(|| WarcError::damaged(offset, "it has no Content-Length"))?;
        record.block_length = whole_number(length).ok_or_else(|| {
            WarcError::damaged(offset, format!("its Content-Length is {}", shown(length.as_bytes())))
        })?;
        record.kind = RecordKind::of(headers.get("WARC-Type").unwrap_or_default());
        record.headers = headers;
        Ok(())
    }

    fn read_block(&mut self, record: &mut WarcRecord) -> Result<(), WarcError> {
        /// Initial allocation limit for a declared block length; more memory is allocated as bytes arrive.
        const MAX_PREALLOCATED: u64 = 1024 * 1024;
        record.skipped = record.block_length > self.limit;
        record.block.clear();
        if !record.skipped {
            record.block.reserve(usize::try_from(record.block_length.min(MAX_PREALLOCATED)).unwrap_or(0));
        }
        let mut missing = record.block_length;
        while missing > 0 {
            let plain = self.stream.fill()?;
            if plain.is_empty() {
                let what = format!("in its block, {missing} bytes before the declared end");
                return Err(self.broken_off(record.place.offset, &what));
            }
            let taken = plain.len().min(usize::try_from(missing).unwrap_or(usize::MAX));
            if !record.skipped {
                record.block.extend_from_slice(&plain[..taken]);
            }
            self.stream.consume(taken);
            missing -= taken as u64;
        }
        Ok(())
    }

    /// Reads the end of a record: two line ends and, if it was the last one, the end of the member with its checksum. A
    /// block not followed by a line end has a wrong length.
    fn read_end(&mut self, record: &mut WarcRecord) -> Result<(), WarcError> {
        let offset = record.place.offset;
        let line_ends = self.skip_line_ends()?;
        let over = self.stream.fill()?.is_empty();
        if line_ends == 0 && !over {
            let what = "no empty line follows its block, its Content-Length must be wrong";
            return Err(WarcError::damaged(offset, what));
        }
        self.closed = if self.stream.is_compressed() { over } else { line_ends >= 4 };
        record.place.length = self.stream.position() - offset;
        Ok(())
    }

    fn skip_line_ends(&mut self) -> Result<usize, WarcError> {
        let mut passed = 0;
        loop {
            let plain = self.stream.fill()?;
            let length = plain.len();
            let line_ends = plain.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
            self.stream.consume(line_ends);
            passed += line_ends;
            if line_ends < length || length == 0 {
                return Ok(passed);
            }
        }
    }

    fn skip_bytes(&mut self, mut count: u64) -> Result<(), WarcError> {
        while count > 0 {
            let plain = self.stream.fill()?;
            if plain.is_empty() {
                if !self.stream.next_member()? {
                    return Ok(());
                }
                continue;
            }
            let taken = plain.len().min(usize::try_from(count).unwrap_or(usize::MAX));
            self.stream.consume(taken);
            count -= taken as u64;
        }
        Ok(())
    }

    fn broken_off(&self, offset: u64, place: &str) -> WarcError {
        if self.stream.is_compressed() {
            WarcError::damaged(offset, format!("its compressed member ends {place}"))
        } else {
            WarcError::Truncated { offset, end: self.stream.position() }
        }
    }
}

impl<R: Read> Iterator for WarcReader<R> {
    type Item = Result<WarcRecord, WarcError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}

/// Decompresses a single record: from its head to the empty lines behind its block. `packed` is the compressed record and
/// nothing else, `offset` its position for errors.
pub fn unpack_record(packed: &[u8], offset: u64) -> Result<Vec<u8>, WarcError> {
    let mut stream = MemberStream::new(packed);
    stream.start_at(offset);
    let mut plain = Vec::new();
    while stream.next_member()? {
        loop {
            let piece = stream.fill()?;
            let length = piece.len();
            if length == 0 {
                break;
            }
            plain.extend_from_slice(piece);
            stream.consume(length);
        }
    }
    Ok(plain)
}

fn check_version(head: &[u8], offset: u64) -> Result<(), WarcError> {
    const KNOWN: [&[u8]; 4] = [b"WARC/1.1", b"WARC/1.0", b"WARC/0.18", b"WARC/0.17"];
    let (line, _) = first_line(head);
    if KNOWN.iter().any(|known| known.eq_ignore_ascii_case(line.trim_ascii_end())) {
        Ok(())
    } else {
        Err(WarcError::Unsupported { offset, what: format!("the version {}", shown(line)) })
    }
}

/// Whether bytes are the start of a record, or of a start. Some tools write it in lower case.
fn is_start(bytes: &[u8]) -> bool {
    b"WARC/".get(..bytes.len()).is_some_and(|start| start.eq_ignore_ascii_case(bytes))
}

/// Digits only: `u64::from_str` would accept a `+`, too.
fn whole_number(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}
