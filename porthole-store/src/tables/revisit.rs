//! Revisits of finished URLs: the state before the revisit, and which links are already known.

use std::collections::{HashMap, HashSet};

use crate::sql::{Optional, Transaction, params};
use porthole_types::{Failure, Outcome};

use super::plan::{Visit, WritePlan, is_unknown, verdict};
use super::write::failure;
use crate::Result;
use crate::frontier::{Frontier, RowState};

/// Queues finished rows again, given with their states.
pub(super) fn queue(tx: &Transaction<'_>, rows: &[(u32, RowState)], frontier: &Frontier) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    make_index(tx)?;
    let mut update = tx.prepare("update crawl set state = 0, not_before = null where rowid = ?1")?;
    for &(row, state) in rows {
        remember(tx, frontier.rowid(row), state)?;
        update.send([frontier.rowid(row)])?;
    }
    Ok(())
}

/// Stores the number of tries before a revisit, and whether the URL led to a page or redirect.
pub(super) fn remember(tx: &Transaction<'_>, rowid: i64, state: RowState) -> Result<()> {
    // A page takes precedence over a redirect, and a success over a failure.
    let mut insert = tx.prepare(
        "insert into revisit(row, numtries, came, state) select rowid, numtries, ?2, ?3 from crawl where rowid = ?1 \
         on conflict(row) do update set numtries = excluded.numtries, state = excluded.state, \
         came = case when excluded.came = 1 or revisit.came = 0 then excluded.came else revisit.came end",
    )?;
    let came = if state.has_response() { state as u8 } else { 0 };
    insert.send(params![rowid, came, state as u8])?;
    Ok(())
}

/// The state of a row before it was queued again, if that is known.
pub(super) fn state_before(tx: &Transaction<'_>, rowid: i64) -> Result<Option<RowState>> {
    let mut read = tx.prepare("select state from revisit where row = ?1")?;
    let code: Option<Option<i64>> = read.query_row([rowid], |row| row.get(0)).optional()?;
    Ok(code.flatten().and_then(RowState::from_code).filter(|state| state.is_done()))
}

/// Writes the result of a revisit that brought no page. The data of the page stays; if the page has not changed, so do
/// its status and the number of the fetch that brought it.
pub(super) fn keep_page(tx: &Transaction<'_>, visit: &Visit<'_>, frontier: &Frontier) -> Result<()> {
    let mut update = tx.prepare(
        "update crawl set priority = ?2, numtries = numtries + 1, lastvisited = ?3, state = ?4, \
         not_before = ?5, seq = coalesce(?6, seq), status = coalesce(?7, status), failure = ?8, detail = ?9 where rowid = ?1",
    )?;
    let (state, not_before) = verdict(visit.result);
    let failure = failure(&visit.result.outcome);
    let status = match visit.result.outcome {
        // After a page that was gone, the server may still know its version.
        Outcome::NotModified => Some(200),
        Outcome::Retry { .. } => None,
        Outcome::Dead(_) | Outcome::Skipped(_) if is_unknown(visit.result) => None,
        _ => Some(visit.result.status),
    };
    update.send(params![
        frontier.rowid(visit.row),
        frontier.belief(visit.row).priority,
        visit.result.at.0,
        state as u8,
        not_before.map(|at| at.0),
        (visit.result.outcome != Outcome::NotModified).then_some(visit.seq.cast_signed()),
        status,
        failure.map(|failure| failure.kind.name()),
        failure.map(Failure::detail),
    ])?;
    Ok(())
}

/// Deletes the terms of a page before a revisit is written. Returns whether it was a duplicate.
pub(super) fn forget_page(tx: &Transaction<'_>, rowid: i64) -> Result<bool> {
    let mut delete =
        tx.prepare("delete from page_terms where seq = (select terms from crawl where rowid = ?1)")?;
    delete.send([rowid])?;
    let mut read = tx.prepare("select copy_of is not null from crawl where rowid = ?1")?;
    read.query_row([rowid], |row| row.get(0))
}

/// The known link targets of every revisited page of a plan, all by rowid.
pub(super) fn known_links(tx: &Transaction<'_>, plan: &WritePlan<'_>) -> Result<HashMap<i64, HashSet<i64>>> {
    let mut known = HashMap::new();
    if plan.revisited.is_empty() {
        return Ok(known);
    }
    make_index(tx)?;
    let mut read = tx.prepare("select dst from edge where src = ?1")?;
    for &rowid in &plan.revisited {
        let targets = read.query_map([rowid], |row| row.get(0))?;
        known.insert(rowid, targets.into_iter().collect());
    }
    Ok(known)
}

/// Created on demand: a crawl without revisits does not pay for this index.
fn make_index(tx: &Transaction<'_>) -> Result<()> {
    tx.execute_batch("create index if not exists edge_revisit on edge(src)")
}
