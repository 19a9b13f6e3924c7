//! Sites in memory: known sites, numbers of fetched URLs, and disabled sites.

use std::collections::{HashMap, HashSet};

use porthole_types::SiteId;

use super::{Chunked, KeyMap, ShardSet};

/// The `site` table in memory. Row numbers are rowids minus one.
#[derive(Debug, Default)]
pub(crate) struct SiteTable {
    known: KeyMap,
    loads: Chunked<u32>,
    ids: Chunked<SiteId>,
    /// Few, if any.
    disabled: HashSet<u32>,
    /// Shards whose sites are treated as disabled, since they are about to go to another worker.
    frozen: ShardSet,
}

impl SiteTable {
    pub(crate) fn len(&self) -> usize {
        self.loads.len()
    }

    /// The row of a site, which is added if it is new. Returns whether it was new.
    pub(crate) fn see(&mut self, sid: SiteId, serverload: u32) -> (u32, bool) {
        let next = u32::try_from(self.loads.len()).expect("fewer sites than URLs");
        let (row, new) = self.known.get_or_insert(sid.0, next);
        if new {
            self.loads.push(serverload);
            self.ids.push(sid);
        }
        (row, new)
    }

    /// The id of the site in a row.
    pub(crate) fn id(&self, row: u32) -> SiteId {
        self.ids[row as usize]
    }

    /// The row of a known site.
    pub(crate) fn find(&self, sid: SiteId) -> Option<u32> {
        self.known.get(sid.0)
    }

    /// Counts a URL fetched from a site. Returns the site's row.
    pub(crate) fn count(&mut self, sid: SiteId) -> Option<u32> {
        let row = self.find(sid)?;
        self.loads[row as usize] += 1;
        Some(row)
    }

    pub(crate) fn load(&self, row: u32) -> u32 {
        self.loads[row as usize]
    }

    /// The load of a site; 0 if it is unknown.
    pub(crate) fn load_of(&self, sid: SiteId) -> u32 {
        self.find(sid).map_or(0, |row| self.load(row))
    }

    /// The rows of disabled sites.
    pub(crate) fn disabled(&self) -> &HashSet<u32> {
        &self.disabled
    }

    pub(crate) fn set_disabled(&mut self, rows: HashSet<u32>) {
        self.disabled = rows;
    }

    pub(super) fn freeze(&mut self, shards: ShardSet) {
        self.frozen = shards;
    }

    pub(crate) fn is_disabled(&self, row: u32) -> bool {
        !self.disabled.is_empty() && self.disabled.contains(&row)
            || !self.frozen.is_empty() && self.frozen.has_site(self.id(row))
    }

    /// The rows of the sites whose URLs are not taken.
    pub(super) fn out_of_use(&self) -> Vec<u32> {
        if self.frozen.is_empty() {
            return self.disabled.iter().copied().collect();
        }
        let rows = 0..u32::try_from(self.len()).unwrap_or(u32::MAX);
        rows.filter(|&row| self.is_disabled(row)).collect()
    }
}

/// The site of every row, in three bytes. Rows of sites after the first 16 million cost more.
#[derive(Debug, Default)]
pub(super) struct SiteColumn {
    near: Chunked<[u8; 3]>,
    far: HashMap<u32, u32>,
}

impl SiteColumn {
    /// Marks rows whose site is in `far`.
    const FAR: u32 = 0xff_ffff;

    pub(super) fn push(&mut self, site: u32) {
        let [a, b, c, _] = site.min(SiteColumn::FAR).to_le_bytes();
        if site >= SiteColumn::FAR {
            let row = u32::try_from(self.near.len()).expect("fewer rows than row numbers");
            self.far.insert(row, site);
        }
        self.near.push([a, b, c]);
    }

    pub(super) fn get(&self, row: u32) -> u32 {
        let [a, b, c] = self.near[row as usize];
        let near = u32::from_le_bytes([a, b, c, 0]);
        if near == SiteColumn::FAR { self.far[&row] } else { near }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn site_numbers_survive_at_any_size() {
        let sites = [0, 1, 255, 256, 65_536, 0xff_fffe, 0xff_ffff, 0x0100_0000, u32::MAX];
        let mut column = SiteColumn::default();
        sites.iter().for_each(|&site| column.push(site));
        let found: Vec<u32> = (0..).take(sites.len()).map(|row| column.get(row)).collect();
        assert_eq!((found.as_slice(), column.far.len()), (sites.as_slice(), 3));
    }
}
