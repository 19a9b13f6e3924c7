//! Writes links.

use super::plan::{PlannedLink, WritePlan};
use super::revisit;
use crate::Result;
use crate::frontier::Frontier;
use crate::sql::{Transaction, Value};

/// Writes the links of pages that are not known yet, behind the `before` links that there are. Returns their number.
pub(super) fn insert(
    tx: &Transaction<'_>,
    plan: &WritePlan<'_>,
    before: usize,
    frontier: &Frontier,
) -> Result<usize> {
    if plan.revisited.is_empty() {
        return insert_all(tx, &plan.links, before, frontier);
    }
    let mut known = revisit::known_links(tx, plan)?;
    let mut is_new = |link: &&PlannedLink<'_>| {
        known.get_mut(&link.src).is_none_or(|known| known.insert(frontier.rowid(link.dst)))
    };
    let new: Vec<PlannedLink<'_>> = plan.links.iter().filter(&mut is_new).copied().collect();
    insert_all(tx, &new, before, frontier)
}

fn insert_all(
    tx: &Transaction<'_>,
    links: &[PlannedLink<'_>],
    before: usize,
    frontier: &Frontier,
) -> Result<usize> {
    let first = i64::try_from(before).unwrap_or(i64::MAX).saturating_add(1);
    let values = links.iter().map(|link| {
        [
            Value::Integer(link.src),
            Value::Integer(frontier.rowid(link.dst)),
            Value::Integer(link.discovered.0),
            link.anchor.map_or(Value::Null, |anchor| Value::Text(anchor.into())),
        ]
    });
    tx.append("edge", ["src", "dst", "discovered", "anchor"], Some(first), values)?;
    Ok(links.len())
}
