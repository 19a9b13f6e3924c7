//! Takes what is believed over from `raised` into `crawl`.

use rusqlite::{Connection, TransactionBehavior, params};

use super::load::Window;
use super::write::{estimate, rowid};
use crate::Result;
use crate::frontier::{Frontier, State};

/// A sweep is due when half of the URLs may have changed: then every page of the table holds several of
/// them, and the cost a change stays the same however large the table is.
const SHARE: usize = 2;
/// Too few to be worth a sweep.
const FEW: usize = 20_000;
/// Rows a transaction, so that the log stays small. A sweep that is cut short is repeated: `raised` is
/// emptied at the end.
const ROWS: usize = 5_000;

/// Sweeps if it is due.
pub(super) fn sweep_if_due(db: &mut Connection, window: &mut Window) -> Result<()> {
    if window.pending > FEW.max(window.frontier.len() / SHARE) { sweep(db, window) } else { Ok(()) }
}

/// Brings `crawl` up to date, in the order of its rows.
pub(super) fn sweep(db: &mut Connection, window: &mut Window) -> Result<()> {
    for rows in changed(db, &window.frontier)?.chunks(ROWS) {
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut update = tx.prepare_cached(
            "update crawl set relevance = coalesce(?2, relevance), priority = ?3 where rowid = ?1",
        )?;
        for &row in rows {
            let belief = window.frontier.belief(row);
            let relevance = estimate(&window.frontier, row, belief);
            update.execute(params![rowid(row), relevance, belief.priority])?;
        }
        drop(update);
        tx.commit()?;
    }
    db.execute("delete from raised", [])?;
    window.pending = 0;
    Ok(())
}

/// The rows to write; a URL that is done has taken its last belief along.
fn changed(db: &Connection, frontier: &Frontier) -> Result<Vec<u32>> {
    let mut statement = db.prepare("select row - 1 from raised")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    let mut rows = rows.collect::<rusqlite::Result<Vec<u32>>>()?;
    rows.retain(|&row| frontier.state(row) == State::Queued);
    rows.sort_unstable();
    rows.dedup();
    Ok(rows)
}
