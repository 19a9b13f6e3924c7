//! Multi-row inserts, for the tables that grow fastest.

use rusqlite::Connection;

use crate::Result;
use crate::sql::Value;

/// Rows per statement; the rest is written row by row.
const ROWS: usize = 32;

/// Inserts rows into the given columns of a table. After an error, some of them may be inserted: the transaction has to be
/// rolled back. Otherwise SQLite would copy every page of the table before it changes it, to undo a part of a statement.
pub(crate) fn insert_many<'r, const N: usize>(
    db: &Connection,
    table: &str,
    columns: [&str; N],
    mut rows: impl ExactSizeIterator<Item = [Value<'r>; N]>,
) -> Result<()> {
    for size in [ROWS, 1] {
        if rows.len() < size {
            continue;
        }
        let row = format!("({})", ["?"; N].join(", "));
        let values = vec![row.as_str(); size].join(", ");
        let sql = format!("insert or fail into {table}({}) values {values}", columns.join(", "));
        let mut insert = db.prepare_cached(&sql)?;
        while rows.len() >= size {
            for (place, value) in (1..).zip(rows.by_ref().take(size).flatten()) {
                insert.raw_bind_parameter(place, value)?;
            }
            insert.raw_execute()?;
        }
    }
    Ok(())
}
