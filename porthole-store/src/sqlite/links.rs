//! Writes links.

use porthole_types::{LinkRow, PageResult};
use rusqlite::{Statement, Transaction};

use super::plan::Plan;
use super::{many, revisit};
use crate::Result;

/// Writes the links of pages that are not known yet; how many there were.
pub(super) fn insert(tx: &Transaction<'_>, plan: &Plan<'_>, results: &[PageResult]) -> Result<usize> {
    let mut known = revisit::known_links(tx, plan)?;
    let mut new: Vec<(&PageResult, &LinkRow)> = Vec::new();
    for page in results {
        let mut known = known.get_mut(&page.oid);
        let mut is_new = |link: &&LinkRow| known.as_mut().is_none_or(|known| known.insert(link.oid));
        new.extend(page.links.iter().filter(&mut is_new).map(|link| (page, link)));
    }
    many::insert(tx, "link", &COLUMNS, &new, bind)?;
    Ok(new.len())
}

const COLUMNS: [&str; 7] = ["oid_src", "sid_src", "oid_dst", "sid_dst", "wgt_fwd", "wgt_rev", "discovered"];

fn bind(
    insert: &mut Statement<'_>,
    place: usize,
    (page, link): &(&PageResult, &LinkRow),
) -> rusqlite::Result<()> {
    insert.raw_bind_parameter(place, page.oid.0.cast_signed())?;
    insert.raw_bind_parameter(place + 1, page.sid.0.cast_signed())?;
    insert.raw_bind_parameter(place + 2, link.oid.0.cast_signed())?;
    insert.raw_bind_parameter(place + 3, link.sid.0.cast_signed())?;
    insert.raw_bind_parameter(place + 4, link.wgt_fwd)?;
    insert.raw_bind_parameter(place + 5, link.wgt_rev)?;
    insert.raw_bind_parameter(place + 6, page.at.0)
}
