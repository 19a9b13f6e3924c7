//! Sites in memory: which are known, and how many URLs were fetched from each.

use porthole_types::SiteId;

use crate::frontier::{Chunked, KeyMap};

/// The window on the `site` table. Row numbers are rowids less one.
#[derive(Debug, Default)]
pub(super) struct Sites {
    known: KeyMap,
    loads: Chunked<u32>,
}

impl Sites {
    pub(super) fn len(&self) -> usize {
        self.loads.len()
    }

    /// Makes a site known; whether it was new.
    pub(super) fn see(&mut self, sid: SiteId, serverload: u32) -> bool {
        let next = u32::try_from(self.loads.len()).expect("fewer sites than URLs");
        let (_, new) = self.known.get_or_insert(sid.0, next);
        if new {
            self.loads.push(serverload);
        }
        new
    }

    /// Counts one more URL that was fetched from a site; the site's row.
    pub(super) fn count(&mut self, sid: SiteId) -> Option<u32> {
        let row = self.known.get(sid.0)?;
        self.loads[row as usize] += 1;
        Some(row)
    }

    pub(super) fn load(&self, row: u32) -> u32 {
        self.loads[row as usize]
    }
}
