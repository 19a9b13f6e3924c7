//! Errors of exports.

use std::io;
use std::path::{Path, PathBuf};

use porthole_warc::WarcError;

/// Result of an export.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Error of an export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's message.
        source: io::Error,
    },
    /// The output stream cannot be written.
    #[error("cannot write the export: {0}")]
    Stream(io::Error),
    /// The output exists and would be replaced.
    #[error("{} exists; choose another name, or remove it", .0.display())]
    Exists(PathBuf),
    /// Another process writes the same output.
    #[error("{} is being written by another export", .0.display())]
    InUse(PathBuf),
    /// The database cannot be read.
    #[error(transparent)]
    Store(#[from] porthole_store::Error),
    /// A WARC record cannot be read or written.
    #[error("{}: {source}", path.display())]
    Warc {
        /// The WARC file.
        path: PathBuf,
        /// What is wrong, and at which offset.
        source: WarcError,
    },
    /// The record in the archive is of another page.
    #[error("{}: the record at offset {offset} is not {url}", path.display())]
    OtherPage {
        /// The WARC file.
        path: PathBuf,
        /// Offset of the record.
        offset: u64,
        /// The page that should be there.
        url: String,
    },
}

impl Error {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
        move |source| Error::Io { path: path.to_owned(), source }
    }

    /// Whether the reader of the output stream has closed it.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::Stream(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}
