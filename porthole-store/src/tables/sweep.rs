//! Moves estimates from `estimate_log` to `crawl`, one slice at a time.

use crate::sql::{Connection, params};

use super::load::FrontierState;
use super::write::estimate;
use crate::Result;
use crate::frontier::{Frontier, RowState};

/// A sweep is due when the log has as many changes as there are URLs: a URL that changed several times is written once,
/// and the cost per change does not depend on the size of the table.
const CHANGES_PER_URL: usize = 1;
/// Minimum number of changes for a sweep. A small table would be swept all the time otherwise.
const MIN_CHANGES: usize = 50_000;
/// If this many times as many have changed, nobody calls for slices, and a commit sweeps everything.
const OVERDUE: usize = 4;
/// Rows per transaction, so that it takes milliseconds and the log stays small.
const ROWS: usize = 2_000;
/// Rows of `estimate_log` deleted per transaction.
const DELETED: i64 = 20_000;

/// Changes that are not yet in `crawl`.
///
/// A slice writes the current estimates. A row of `estimate_log` is deleted when all URLs that were in the log at the
/// start of the sweep are written: an interrupted sweep starts again after the next open.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// A bit for every row of `crawl` whose estimate is outdated.
    marks: Vec<u64>,
    /// Number of rows of `estimate_log`.
    pending: usize,
    under_way: Option<UnderWay>,
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    /// The next row to check.
    row: usize,
    /// The rows of `estimate_log` to delete when all of `crawl` is written.
    first: i64,
    last: i64,
}

impl Sweep {
    /// Records that the estimates of these rows differ from the table, and are in `estimate_log`.
    pub(super) fn mark(&mut self, rows: &[u32]) {
        self.pending += rows.len();
        for &row in rows {
            let (word, bit) = place(row as usize);
            if self.marks.len() <= word {
                self.marks.resize(word + 1, 0);
            }
            self.marks[word] |= bit;
        }
    }

    fn unmark(&mut self, rows: &[u32]) {
        for &row in rows {
            let (word, bit) = place(row as usize);
            self.marks[word] &= !bit;
        }
    }

    /// Marked rows from `from` on, at most `most`.
    fn marked(&self, from: usize, most: usize) -> Vec<u32> {
        let (first, bit) = place(from);
        let words = self.marks.iter().enumerate().skip(first);
        let words =
            words.map(|(word, &marks)| (word, if word == first { marks & !(bit - 1) } else { marks }));
        let rows = words.filter(|&(_, marks)| marks != 0).flat_map(|(word, marks)| {
            let is_marked = move |at: &usize| marks >> at & 1 == 1;
            (0..64).filter(is_marked).map(move |at| (word * 64 + at) as u32)
        });
        rows.take(most).collect()
    }

    fn is_due(&self, frontier: &Frontier, times: usize) -> bool {
        self.pending > times * MIN_CHANGES.max(frontier.len() * CHANGES_PER_URL)
    }
}

/// Index of the word and bit of a row.
fn place(row: usize) -> (usize, u64) {
    (row / 64, 1 << (row % 64))
}

/// Sweeps everything if it is overdue.
pub(super) fn sweep_if_overdue(db: &Connection, memory: &mut FrontierState) -> Result<()> {
    if memory.sweep.is_due(&memory.frontier, OVERDUE) { sweep(db, memory) } else { Ok(()) }
}

/// Does one slice of the current or due sweep. Returns whether there is more.
pub(super) fn sweep_some(db: &Connection, memory: &mut FrontierState) -> Result<bool> {
    let under_way = match memory.sweep.under_way {
        Some(under_way) => under_way,
        None if memory.sweep.is_due(&memory.frontier, 1) => begun(db)?,
        None => return Ok(false),
    };
    let next = match write_some(db, memory, under_way.row)? {
        Some(row) => Some(UnderWay { row, ..under_way }),
        None => delete_some(db, memory, under_way)?,
    };
    memory.sweep.under_way = next;
    Ok(next.is_some())
}

/// Updates all of `crawl`, in the order of its rows.
pub(super) fn sweep(db: &Connection, memory: &mut FrontierState) -> Result<()> {
    let mut next = Some(0);
    while let Some(row) = next {
        next = write_some(db, memory, row)?;
    }
    match own_rows(memory) {
        None => drop(db.execute("delete from estimate_log", ())?),
        Some(own) => {
            let tx = db.write_transaction()?;
            tx.execute(&format!("delete from estimate_log {own}"), ())?;
            tx.commit()?;
        }
    }
    memory.sweep = Sweep::default();
    Ok(())
}

/// What restricts a deletion to the rows of this worker, if there are others. Only PostgreSQL has workers.
fn own_rows(memory: &FrontierState) -> Option<String> {
    let shared = memory.shared?;
    Some(format!("using crawl where crawl.rowid = estimate_log.row and {}", shared.condition()))
}

fn begun(db: &Connection) -> Result<UnderWay> {
    let sql = "select coalesce(min(rowid), 1), coalesce(max(rowid), 0) from estimate_log";
    db.query_row(sql, (), |row| Ok(UnderWay { row: 0, first: row.get(0)?, last: row.get(1)? }))
}

/// Writes some of the marked rows from `from` on. Returns the row to continue with, if there is one.
fn write_some(db: &Connection, memory: &mut FrontierState, from: usize) -> Result<Option<usize>> {
    let rows = memory.sweep.marked(from, ROWS);
    let Some(last) = rows.last() else { return Ok(None) };
    let next = *last as usize + 1;
    let tx = db.write_transaction()?;
    let mut update =
        tx.prepare("update crawl set relevance = coalesce(?2, relevance), priority = ?3 where rowid = ?1")?;
    // The last estimate of a finished URL was written with its result.
    for &row in rows.iter().filter(|&&row| memory.frontier.state(row) == RowState::Queued) {
        let belief = memory.frontier.belief(row);
        let relevance = estimate(&memory.frontier, row, belief);
        update.send(params![memory.frontier.rowid(row), relevance, belief.priority])?;
    }
    drop(update);
    tx.commit()?;
    memory.sweep.unmark(&rows);
    Ok(Some(next))
}

/// Deletes some of the swept rows of `estimate_log`, oldest first: the others still hold the latest estimates.
fn delete_some(db: &Connection, memory: &mut FrontierState, under_way: UnderWay) -> Result<Option<UnderWay>> {
    let end = under_way.first.saturating_add(DELETED);
    let range = "estimate_log.rowid >= ?1 and estimate_log.rowid < ?2 and estimate_log.rowid <= ?3";
    let range_of = [under_way.first, end, under_way.last];
    let deleted = match own_rows(memory) {
        None => db.execute(&format!("delete from estimate_log where {range}"), range_of)?,
        Some(own) => {
            let tx = db.write_transaction()?;
            let deleted = tx.execute(&format!("delete from estimate_log {own} and {range}"), range_of)?;
            tx.commit()?;
            deleted
        }
    };
    memory.sweep.pending = memory.sweep.pending.saturating_sub(deleted);
    Ok((end <= under_way.last).then_some(UnderWay { first: end, ..under_way }))
}
