//! Writes links. No table grows faster, so many rows are written by one statement.

use std::iter::repeat_n;

use porthole_types::{LinkRow, PageResult};
use rusqlite::{Statement, Transaction};

use super::plan::Plan;
use super::revisit;
use crate::Result;

/// Rows a statement; what is left over is written row by row.
const ROWS: usize = 32;

/// Writes the links of pages that are not known yet; how many there were.
pub(super) fn insert(tx: &Transaction<'_>, plan: &Plan<'_>, results: &[PageResult]) -> Result<usize> {
    let mut known = revisit::known_links(tx, plan)?;
    let mut new: Vec<(&PageResult, &LinkRow)> = Vec::new();
    for page in results {
        let mut known = known.get_mut(&page.oid);
        let mut is_new = |link: &&LinkRow| known.as_mut().is_none_or(|known| known.insert(link.oid));
        new.extend(page.links.iter().filter(&mut is_new).map(|link| (page, link)));
    }
    let (many, few) = new.as_chunks::<ROWS>();
    insert_rows(tx, ROWS, many.iter().map(|rows| &rows[..]))?;
    insert_rows(tx, 1, few.chunks(1))?;
    Ok(new.len())
}

fn insert_rows<'a>(
    tx: &Transaction<'_>,
    rows: usize,
    links: impl Iterator<Item = &'a [(&'a PageResult, &'a LinkRow)]>,
) -> Result<()> {
    let values: Vec<&str> = repeat_n("(?, ?, ?, ?, ?, ?, ?)", rows).collect();
    let mut insert = tx.prepare_cached(&format!(
        "insert into link(oid_src, sid_src, oid_dst, sid_dst, wgt_fwd, wgt_rev, discovered) values {}",
        values.join(", ")
    ))?;
    for links in links {
        for (place, (page, link)) in (1..).step_by(7).zip(links) {
            bind(&mut insert, place, page, link)?;
        }
        insert.raw_execute()?;
    }
    Ok(())
}

fn bind(insert: &mut Statement<'_>, place: usize, page: &PageResult, link: &LinkRow) -> rusqlite::Result<()> {
    insert.raw_bind_parameter(place, page.oid.0.cast_signed())?;
    insert.raw_bind_parameter(place + 1, page.sid.0.cast_signed())?;
    insert.raw_bind_parameter(place + 2, link.oid.0.cast_signed())?;
    insert.raw_bind_parameter(place + 3, link.sid.0.cast_signed())?;
    insert.raw_bind_parameter(place + 4, link.wgt_fwd)?;
    insert.raw_bind_parameter(place + 5, link.wgt_rev)?;
    insert.raw_bind_parameter(place + 6, page.at.0)
}
