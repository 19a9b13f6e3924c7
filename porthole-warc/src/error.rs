//! Errors with the offset at which they occurred.

use std::io;

/// Errors of reading and writing WARC files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WarcError {
    /// The reader failed.
    #[error("cannot read at offset {offset}: {source}")]
    Read {
        /// Offset that was reached.
        offset: u64,
        /// The I/O error.
        source: io::Error,
    },
    /// The writer failed. Everything after `offset` is an incomplete record and has to be truncated.
    #[error("cannot write the record at offset {offset}: {source}")]
    Write {
        /// Start of the failed record.
        offset: u64,
        /// The I/O error.
        source: io::Error,
    },
    /// The file ends inside a record.
    #[error("the record at offset {offset} is incomplete: the file ends at byte {end}")]
    Truncated {
        /// Start of the record or of its compressed member.
        offset: u64,
        /// The length of the file.
        end: u64,
    },
    /// The data is not a WARC record.
    #[error("the record at offset {offset} is damaged: {what}")]
    Damaged {
        /// Start of the record or of its compressed member.
        offset: u64,
        /// Description of the problem.
        what: String,
    },
    /// A valid file that uses an unsupported feature.
    #[error("the record at offset {offset} cannot be read: {what} is not supported")]
    Unsupported {
        /// Start of the record or of its compressed member.
        offset: u64,
        /// The unsupported feature.
        what: String,
    },
    /// The record is complete, but its HTTP message is invalid.
    #[error("the record at offset {offset} has no HTTP response: {what}")]
    Http {
        /// Start of the record.
        offset: u64,
        /// Description of the problem.
        what: String,
    },
}

impl WarcError {
    /// Offset of the error.
    pub fn offset(&self) -> u64 {
        match self {
            WarcError::Read { offset, .. }
            | WarcError::Write { offset, .. }
            | WarcError::Truncated { offset, .. }
            | WarcError::Damaged { offset, .. }
            | WarcError::Unsupported { offset, .. }
            | WarcError::Http { offset, .. } => *offset,
        }
    }

    /// Whether the file is damaged, as opposed to an I/O error.
    pub fn is_damage(&self) -> bool {
        matches!(self, WarcError::Truncated { .. } | WarcError::Damaged { .. })
    }

    pub(crate) fn damaged(offset: u64, what: impl Into<String>) -> Self {
        WarcError::Damaged { offset, what: what.into() }
    }
}

/// The first bytes, formatted for a message.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const LENGTH: usize = 40;
    let line = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
    bytes_as_text(&line[..line.len().min(LENGTH)])
}

fn bytes_as_text(bytes: &[u8]) -> String {
    format!("`{}`", bytes.trim_ascii_end().escape_ascii())
}
