//! What can go wrong, and at which offset.

use std::io;

/// Why a WARC file cannot be read on or written.
#[derive(Debug, thiserror::Error)]
pub enum WarcError {
    /// The reader handed in failed.
    #[error("cannot read at offset {offset}: {source}")]
    Read {
        /// How far reading came.
        offset: u64,
        /// What the reader said.
        source: io::Error,
    },
    /// The writer handed in failed. Whatever comes behind `offset` is not a whole record and has to be cut.
    #[error("cannot write the record at offset {offset}: {source}")]
    Write {
        /// Where the record would have started.
        offset: u64,
        /// What the writer said.
        source: io::Error,
    },
    /// The file ends inside a record.
    #[error("the record at offset {offset} is not whole: the file ends at byte {end}")]
    Truncated {
        /// Where the record, or its compressed member, starts.
        offset: u64,
        /// The length of the file.
        end: u64,
    },
    /// What is there is not a WARC record.
    #[error("the record at offset {offset} is damaged: {what}")]
    Damaged {
        /// Where the record, or its compressed member, starts.
        offset: u64,
        /// What is wrong, in words.
        what: String,
    },
    /// A correct file that is not read here.
    #[error("the record at offset {offset} cannot be read: {what} is not supported")]
    Unsupported {
        /// Where the record, or its compressed member, starts.
        offset: u64,
        /// What it would take.
        what: String,
    },
    /// The record is whole, but the HTTP message in it is none.
    #[error("the record at offset {offset} holds no HTTP response: {what}")]
    Http {
        /// Where the record starts.
        offset: u64,
        /// What is wrong, in words.
        what: String,
    },
}

impl WarcError {
    /// The offset that the error is about.
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

    /// Whether the file, not the machine that it lies on, is at fault.
    pub fn is_damage(&self) -> bool {
        matches!(self, WarcError::Truncated { .. } | WarcError::Damaged { .. })
    }

    pub(crate) fn damaged(offset: u64, what: impl Into<String>) -> Self {
        WarcError::Damaged { offset, what: what.into() }
    }
}

/// The first bytes of something, fit for a message.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const LENGTH: usize = 40;
    let line = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
    bytes_as_text(&line[..line.len().min(LENGTH)])
}

fn bytes_as_text(bytes: &[u8]) -> String {
    format!("`{}`", bytes.trim_ascii_end().escape_ascii())
}
