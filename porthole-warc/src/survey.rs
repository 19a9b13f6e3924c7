//! Scans of whole files: finds the end of the last complete record, or counts the contents.

use std::io::Read;

use crate::{WarcError, WarcReader, WarcRecord};

/// Result of [`last_whole`].
#[derive(Debug)]
#[non_exhaustive]
pub struct LastWhole {
    /// Offset after the last complete record, where the file is to be truncated and continued.
    pub end: u64,
    /// Number of complete records, from the start of the scan.
    pub records: u64,
    /// Problem of the data after it, if there is any.
    pub damage: Option<WarcError>,
}

/// Finds the end of the last complete record of a segment whose writer may have crashed. `reader` is positioned at
/// `offset`, the start of a record or the end of the file, so that records known to be complete are not read again.
/// Fails only if the reader does.
pub fn last_whole(reader: impl Read, offset: u64) -> Result<LastWhole, WarcError> {
    let mut reader = WarcReader::new(reader).with_offset(offset).with_block_limit(0);
    let mut found = LastWhole { end: offset, records: 0, damage: None };
    let mut record = WarcRecord::default();
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

/// Counts of a file's contents.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct WarcSurvey {
    /// Number of records of all kinds.
    pub records: u64,
    /// Total bytes of their blocks.
    pub block_bytes: u64,
    /// Number of records with a readable HTTP response.
    pub responses: u64,
    /// Total bytes of those responses' decoded bodies.
    pub body_bytes: u64,
    /// Number of records whose HTTP response could not be read.
    pub unreadable: u64,
    /// Damage that ended the scan before the end of the file.
    pub damage: Option<WarcError>,
}

/// Reads a whole file: each record, and the HTTP response in those that have one. Blocks and bodies are limited to
/// `limit` bytes, one at a time.
pub fn survey(reader: impl Read, limit: u64) -> WarcSurvey {
    let mut reader = WarcReader::new(reader).with_block_limit(limit);
    let mut survey = WarcSurvey::default();
    let mut record = WarcRecord::default();
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

impl WarcSurvey {
    fn count(&mut self, record: &WarcRecord, limit: u64) {
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
