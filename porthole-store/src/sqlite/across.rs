//! One connection to several databases: each is attached under its name, and views over all of them have the names of the
//! tables.

use std::path::Path;

use rusqlite::Connection;

use super::open;
use crate::{Error, Result};

/// SQLite attaches no more.
const MOST: usize = 10;

/// Attaches databases, given with their names, for reading.
pub(crate) fn open(databases: &[(&str, &Path)]) -> Result<Connection> {
    if databases.len() > MOST {
        return Err(Error::Sql(format!(
            "SQL can ask at most {MOST} workspaces at once, not {}",
            databases.len()
        )));
    }
    let flags = rusqlite::OpenFlags::default() | rusqlite::OpenFlags::SQLITE_OPEN_URI;
    let db = Connection::open_in_memory_with_flags(flags)?;
    db.busy_timeout(std::time::Duration::from_secs(10))?;
    for (name, path) in databases {
        open::attach(&db, name, path)?;
    }
    let Some((first, _)) = databases.first() else { return Ok(db) };
    let tables: Vec<String> = {
        let sql = format!(
            "select name from {}.sqlite_schema where type in ('table', 'view') and name not like 'sqlite_%'",
            quoted(first)
        );
        let mut read = db.prepare(&sql)?;
        let names = read.query_map([], |row| row.get(0))?;
        names.collect::<rusqlite::Result<_>>()?
    };
    for table in tables {
        let part = |(name, _): &(&str, &Path)| {
            let text = name.replace('\'', "''");
            format!("select '{text}' as workspace, * from {}.{}", quoted(name), quoted(&table))
        };
        let parts: Vec<String> = databases.iter().map(part).collect();
        db.execute_batch(&format!("create temp view {} as {}", quoted(&table), parts.join(" union all ")))?;
    }
    Ok(db)
}

/// A name as an identifier.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
