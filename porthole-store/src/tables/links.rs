//! Writes links.

use super::plan::{PlannedLink, WritePlan};
use super::revisit;
use super::write::rowid;
use crate::Result;
use crate::sql::{Transaction, Value};

/// Writes the links of pages that are not known yet, behind the `before` links that there are. Returns their number.
pub(super) fn insert(tx: &Transaction<'_>, plan: &WritePlan<'_>, before: usize) -> Result<usize> {
    let mut known = revisit::known_links(tx, plan)?;
    let mut is_new =
        |link: &&PlannedLink<'_>| known.get_mut(&link.src).is_none_or(|known| known.insert(link.dst));
    if plan.visits.iter().any(|visit| visit.again) {
        let new: Vec<PlannedLink<'_>> = plan.links.iter().filter(&mut is_new).copied().collect();
        insert_all(tx, &new, before)
    } else {
        insert_all(tx, &plan.links, before)
    }
}

fn insert_all(tx: &Transaction<'_>, links: &[PlannedLink<'_>], before: usize) -> Result<usize> {
    let first = i64::try_from(before).unwrap_or(i64::MAX).saturating_add(1);
    let values = links.iter().map(|link| {
        [
            Value::Integer(rowid(link.src)),
            Value::Integer(rowid(link.dst)),
            Value::Integer(link.discovered.0),
            link.anchor.map_or(Value::Null, |anchor| Value::Text(anchor.into())),
        ]
    });
    tx.append("edge", ["src", "dst", "discovered", "anchor"], Some(first), values)?;
    Ok(links.len())
}
