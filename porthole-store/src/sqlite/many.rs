//! Multi-row inserts, for the tables that grow fastest.

use std::iter::repeat_n;

use rusqlite::{Statement, Transaction};

use crate::Result;

/// Rows per statement; the rest is written row by row.
const ROWS: usize = 32;

/// Inserts rows into the given columns of a table; `bind` binds the values of a row, from a position on.
pub(super) fn insert<T>(
    tx: &Transaction<'_>,
    table: &str,
    columns: &[&str],
    rows: &[T],
    bind: impl Fn(&mut Statement<'_>, usize, &T) -> rusqlite::Result<()>,
) -> Result<()> {
    let (many, few) = rows.as_chunks::<ROWS>();
    insert_some(tx, table, columns, many.iter().map(|rows| &rows[..]), &bind)?;
    insert_some(tx, table, columns, few.chunks(1), &bind)
}

/// The same, for chunks of equal length.
fn insert_some<'a, T: 'a>(
    tx: &Transaction<'_>,
    table: &str,
    columns: &[&str],
    pieces: impl Iterator<Item = &'a [T]>,
    bind: &impl Fn(&mut Statement<'_>, usize, &T) -> rusqlite::Result<()>,
) -> Result<()> {
    let mut pieces = pieces.peekable();
    let Some(first) = pieces.peek() else { return Ok(()) };
    let row = format!("({})", vec!["?"; columns.len()].join(", "));
    let values: Vec<&str> = repeat_n(row.as_str(), first.len()).collect();
    let sql = format!("insert into {table}({}) values {}", columns.join(", "), values.join(", "));
    let mut insert = tx.prepare_cached(&sql)?;
    for rows in pieces {
        for (place, row) in (1..).step_by(columns.len()).zip(rows) {
            bind(&mut insert, place, row)?;
        }
        insert.raw_execute()?;
    }
    Ok(())
}
