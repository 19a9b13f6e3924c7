//! Going through a whole file: to find where its last whole record ends, or what is in it.

use std::io::Read;

use crate::{Record, WarcError, WarcReader};

/// How far a file is good.
#[derive(Debug)]
pub struct LastWhole {
    /// Offset behind the last whole record: where the file is to be cut, and written on.
    pub end: u64,
    /// Number of whole records, from where reading started.
    pub records: u64,
    /// What is wrong with what follows, if something does.
    pub damage: Option<WarcError>,
}

/// Finds the end of the last whole record of a segment whose writer may have crashed. `reader` stands at
/// `offset`, the start of a record or the end of the file: whoever knows records that are whole need not
/// read them again. Fails only if the reader does.
pub fn last_whole(reader: impl Read, offset: u64) -> Result<LastWhole, WarcError> {
    let mut reader = WarcReader::new(reader).with_offset(offset).with_block_limit(0);
    let mut found = LastWhole { end: offset, records: 0, damage: None };
    let mut record = Record::default();
    let mut seen = 0;
    loop {
        match reader.read_into(&mut record) {
            Ok(true) => {
                seen += 1;
                if let Some(end) = reader.end_of_whole(&record) {
                    (found.end, found.records) = (end, seen);
                }
            }
            Ok(false) => {
                if seen > found.records {
                    let offset = record.place.offset;
                    found.damage = Some(WarcError::Truncated { offset, end: offset + record.place.length });
                }
                return Ok(found);
            }
            Err(error @ WarcError::Read { .. }) => return Err(error),
            Err(error) => {
                found.damage = Some(error);
                return Ok(found);
            }
        }
    }
}

/// What is in a file.
#[derive(Debug, Default)]
pub struct Survey {
    /// Records of all kinds.
    pub records: u64,
    /// Bytes of their blocks.
    pub block_bytes: u64,
    /// Records with an HTTP response that could be read.
    pub responses: u64,
    /// Bytes of those responses' bodies, decoded.
    pub body_bytes: u64,
    /// Records whose HTTP response could not be read.
    pub unreadable: u64,
    /// What ended it before the end of the file.
    pub damage: Option<WarcError>,
}

/// Reads everything there is in a file: each record, and the HTTP response in those that have one. Blocks
/// and bodies are held up to `limit` bytes, one at a time.
pub fn survey(reader: impl Read, limit: u64) -> Survey {
    let mut reader = WarcReader::new(reader).with_block_limit(limit);
    let mut survey = Survey::default();
    let mut record = Record::default();
    loop {
        match reader.read_into(&mut record) {
            Ok(true) => survey.count(&record, limit),
            Ok(false) => return survey,
            Err(error) => {
                survey.damage = Some(error);
                return survey;
            }
        }
    }
}

impl Survey {
    fn count(&mut self, record: &Record, limit: u64) {
        self.records += 1;
        self.block_bytes += record.block_length;
        if !record.is_http_response() {
            return;
        }
        match record.http(limit) {
            Ok(response) => {
                self.responses += 1;
                self.body_bytes += response.body.len() as u64;
            }
            Err(_) => self.unreadable += 1,
        }
    }
}
