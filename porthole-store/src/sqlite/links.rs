//! Writes links.

use rusqlite::{Statement, Transaction};

use super::plan::{PlannedLink, WritePlan};
use super::write::rowid;
use super::{many, revisit};
use crate::Result;

/// Writes the links of pages that are not known yet. Returns their number.
pub(super) fn insert(tx: &Transaction<'_>, plan: &WritePlan<'_>) -> Result<usize> {
    let mut known = revisit::known_links(tx, plan)?;
    let mut is_new =
        |link: &&PlannedLink<'_>| known.get_mut(&link.src).is_none_or(|known| known.insert(link.dst));
    if plan.visits.iter().any(|visit| visit.again) {
        let new: Vec<PlannedLink<'_>> = plan.links.iter().filter(&mut is_new).copied().collect();
        insert_all(tx, &new)
    } else {
        insert_all(tx, &plan.links)
    }
}

fn insert_all(tx: &Transaction<'_>, links: &[PlannedLink<'_>]) -> Result<usize> {
    many::insert(tx, "edge", &["src", "dst", "discovered", "anchor"], links, bind)?;
    Ok(links.len())
}

fn bind(insert: &mut Statement<'_>, place: usize, link: &PlannedLink<'_>) -> rusqlite::Result<()> {
    insert.raw_bind_parameter(place, rowid(link.src))?;
    insert.raw_bind_parameter(place + 1, rowid(link.dst))?;
    insert.raw_bind_parameter(place + 2, link.discovered.0)?;
    insert.raw_bind_parameter(place + 3, link.anchor)
}
