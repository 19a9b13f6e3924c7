//! URLs that were done and are visited again: what is remembered of the time before, and which of their links
//! are known.

use std::collections::{HashMap, HashSet};

use porthole_types::Failure;
use rusqlite::{Transaction, params};

use super::plan::{Plan, Visit, verdict};
use super::write::{failure, rowid};
use crate::Result;
use crate::frontier::{Frontier, State};

/// Queues rows again that are done, given with the state they had.
pub(super) fn queue(tx: &Transaction<'_>, rows: &[(u32, State)]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    make_index(tx)?;
    let mut update = tx.prepare_cached("update crawl set state = 0, not_before = null where rowid = ?1")?;
    for &(row, state) in rows {
        remember(tx, row, state)?;
        update.execute([rowid(row)])?;
    }
    Ok(())
}

/// Remembers how often a row was tried before it is visited again, and whether it came.
pub(super) fn remember(tx: &Transaction<'_>, row: u32, state: State) -> Result<()> {
    // A page counts for more than a redirect, and what came once has come.
    let mut insert = tx.prepare_cached(
        "insert into revisit(row, numtries, came) select rowid, numtries, ?2 from crawl where rowid = ?1 \
         on conflict(row) do update set numtries = excluded.numtries, \
         came = case when excluded.came = 1 or revisit.came = 0 then excluded.came else revisit.came end",
    )?;
    let came = if state.came() { state as u8 } else { 0 };
    insert.execute(params![rowid(row), came])?;
    Ok(())
}

/// Writes the result of a page that came before and not now. What is kept of it stays.
pub(super) fn lose(tx: &Transaction<'_>, visit: &Visit<'_>, frontier: &Frontier) -> Result<()> {
    let mut update = tx.prepare_cached(
        "update crawl set priority = ?2, numtries = numtries + 1, lastvisited = ?3, state = ?4, \
         not_before = ?5, seq = ?6, status = ?7, failure = ?8, detail = ?9 where rowid = ?1",
    )?;
    let (state, not_before) = verdict(&visit.result.outcome);
    let failure = failure(&visit.result.outcome);
    update.execute(params![
        rowid(visit.row),
        frontier.belief(visit.row).priority,
        visit.result.at.0,
        state as u8,
        not_before.map(|at| at.0),
        visit.result.seq.cast_signed(),
        visit.result.status,
        failure.map(|failure| failure.kind.name()),
        failure.map(Failure::detail),
    ])?;
    Ok(())
}

/// Forgets the words of a page that comes again; whether it was a copy.
pub(super) fn forget_page(tx: &Transaction<'_>, row: u32) -> Result<bool> {
    let mut delete =
        tx.prepare_cached("delete from page_terms where seq = (select terms from crawl where rowid = ?1)")?;
    delete.execute([rowid(row)])?;
    let mut read = tx.prepare_cached("select copy_of is not null from crawl where rowid = ?1")?;
    Ok(read.query_row([rowid(row)], |row| row.get(0))?)
}

/// The targets that links are known to, of every page of a plan that was done before; by row.
pub(super) fn known_links(tx: &Transaction<'_>, plan: &Plan<'_>) -> Result<HashMap<u32, HashSet<u32>>> {
    let mut known = HashMap::new();
    let mut again = plan.visits.iter().filter(|visit| visit.again).peekable();
    if again.peek().is_none() {
        return Ok(known);
    }
    make_index(tx)?;
    let mut read = tx.prepare_cached("select dst - 1 from edge where src = ?1")?;
    for visit in again {
        let targets = read.query_map([rowid(visit.row)], |row| row.get(0))?;
        known.insert(visit.row, targets.collect::<rusqlite::Result<_>>()?);
    }
    Ok(known)
}

/// A crawl that never looks back does not pay for this index.
fn make_index(tx: &Transaction<'_>) -> Result<()> {
    Ok(tx.execute_batch("create index if not exists edge_revisit on edge(src)")?)
}
