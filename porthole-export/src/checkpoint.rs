//! How far an export has come, written beside its output.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// How far an export has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    /// What is exported: format, filters and workspace. Another export starts from the beginning.
    pub(crate) request: String,
    /// The last row that was read.
    pub(crate) after: u64,
    /// The last row to read, so that an export of a running crawl has an end.
    pub(crate) until: u64,
    /// Rows written.
    pub(crate) rows: u64,
    /// Rows left out because they cannot be exported.
    pub(crate) left_out: u64,
    /// Number of the current file, from 0.
    pub(crate) file: u32,
    /// Bytes in the current file.
    pub(crate) bytes: u64,
}

impl Checkpoint {
    /// The checkpoint in a file; `None` if there is none, or none that can be read.
    pub(crate) fn read(path: &Path) -> Option<Checkpoint> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Replaces the checkpoint in one step. What it counts must be on disk.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let new = path.with_added_extension("new");
        let text = serde_json::to_vec(self).expect("plain data");
        let mut file = File::create(&new).map_err(Error::io(&new))?;
        file.write_all(&text).and_then(|()| file.sync_data()).map_err(Error::io(&new))?;
        fs::rename(&new, path).map_err(Error::io(path))
    }
}
