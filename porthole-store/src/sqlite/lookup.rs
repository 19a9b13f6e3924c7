//! Finds rows of `crawl` and `edge` by id, for readers.
//!
//! The crawl keeps no index on these tables, because it would slow down every link. Reading a table completely takes
//! seconds for 20 million rows. For larger tables readers keep indexes in a separate database beside the crawl's,
//! `porthole-readers.db`. Both tables only grow, so an index is updated with the rows after its last one. The file can
//! be deleted at any time; rows that are not indexed are read from the tables.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior, params};

use crate::{Error, Result};

/// Number of rows from which a table is indexed.
pub(crate) const LARGE: i64 = 20_000_000;
/// How long to wait for another process that writes the full-text index.
const BUSY: Duration = Duration::from_secs(60);
/// Number of new rows from which the user is told about the update.
const MANY: i64 = 200_000;

/// The tables of the readers' database. `indexed` has the last indexed row of a table and its content; if the content
/// differs, the index belongs to another crawl.
const SCHEMA: &str = "
    create table if not exists indexed(name text primary key, rows integer not null, last integer not null);
    create table if not exists crawl_oid(key integer, row integer, primary key (key, row)) without rowid;
    create table if not exists edge_src(key integer, row integer, primary key (key, row)) without rowid;
    create table if not exists edge_dst(key integer, row integer, primary key (key, row)) without rowid;";

/// A table that is searched by some of its columns.
#[derive(Clone, Copy)]
struct Searched {
    table: &'static str,
    columns: &'static [&'static str],
    /// Column that identifies the crawl.
    mark: &'static str,
}

const SEARCHED: [Searched; 2] = [
    Searched { table: "crawl", columns: &["oid"], mark: "oid" },
    Searched { table: "edge", columns: &["src", "dst"], mark: "discovered" },
];

/// Updates the indexes on tables with more than `large` rows, and attaches them to a reader's connection. Errors are
/// ignored: readers work without indexes.
pub(crate) fn attach(db: &Connection, path: &Path, large: i64, tell: fn(&str)) -> Result<()> {
    let readers_path = readers_path(path);
    for searched in SEARCHED {
        if rows(db, searched.table)? > large {
            // Another process may be updating the index, or the folder may be read-only.
            let _ = update_index(db, &readers_path, searched, tell);
        }
    }
    attach_existing(db, path);
    Ok(())
}

/// The last indexed rows of `crawl` and `edge` in the attached indexes, 0 without any.
pub(crate) fn indexed_rows(db: &Connection) -> [i64; 2] {
    SEARCHED.map(|searched| {
        let cursor = cursor(db, "readers.", searched).ok().flatten();
        let valid = cursor.filter(|&cursor| belongs(db, searched, cursor).unwrap_or(false));
        valid.map_or(0, |(rows, _)| rows)
    })
}

/// Attaches the readers' database to a connection as `readers`, if it exists and can be read.
pub(crate) fn attach_existing(db: &Connection, path: &Path) -> bool {
    let path = readers_path(path);
    path.exists() && db.execute("attach database ?1 as readers", [path.to_string_lossy()]).is_ok()
}

/// Opens the readers' database of a crawl to fill the full-text index in it.
pub(crate) fn text_index_writer(database: &Path) -> Result<Connection> {
    let path = readers_path(database);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let index = Connection::open_with_flags(&path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| Error::at_open(&path, &error))?;
    index.busy_timeout(BUSY)?;
    index.pragma_update(None, "journal_mode", "wal")?;
    index.pragma_update(None, "synchronous", "normal")?;
    index.pragma_update(None, "cache_size", -32_000)?;
    Ok(index)
}

/// Path of the readers' database.
fn readers_path(path: &Path) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push("-readers.db");
    path.with_file_name(name)
}

fn rows(db: &Connection, table: &str) -> Result<i64> {
    let last: Option<i64> = db.query_row(&format!("select max(rowid) from {table}"), [], |row| row.get(0))?;
    Ok(last.unwrap_or(0))
}

/// The last indexed row of a table, and its content.
fn cursor(index: &Connection, schema: &str, searched: Searched) -> Result<Option<(i64, i64)>> {
    let sql = format!("select rows, last from {schema}indexed where name = ?1");
    Ok(index.query_row(&sql, [searched.table], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

/// Whether a cursor belongs to this crawl.
fn belongs(db: &Connection, searched: Searched, (row, last): (i64, i64)) -> Result<bool> {
    Ok(mark(db, searched, row)? == Some(last))
}

/// The identifying content of a row.
fn mark(db: &Connection, searched: Searched, row: i64) -> Result<Option<i64>> {
    let sql = format!("select {} from {} where rowid = ?1", searched.mark, searched.table);
    Ok(db.query_row(&sql, [row], |row| row.get(0)).optional()?)
}

fn update_index(db: &Connection, readers_path: &Path, searched: Searched, tell: fn(&str)) -> Result<()> {
    let Searched { table, columns, .. } = searched;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut index = Connection::open_with_flags(readers_path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    index.pragma_update(None, "journal_mode", "wal")?;
    index.pragma_update(None, "synchronous", "normal")?;
    let tx = index.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(SCHEMA)?;
    let mut from = 0;
    if let Some(cursor) = cursor(&tx, "", searched)? {
        if belongs(db, searched, cursor)? {
            from = cursor.0;
        } else {
            for column in columns {
                tx.execute_batch(&format!("delete from {table}_{column}"))?;
            }
        }
    }
    let to = rows(db, table)?;
    if to == from {
        return Ok(());
    }
    if to - from > MANY {
        tell(&format!("indexing {} new rows of `{table}` in {}", to - from, readers_path.display()));
    }
    for column in columns {
        // Ascending keys are appended to a new index, and are close together in a large one.
        let sql = format!(
            "select {column}, rowid from {table} where rowid > ?1 and rowid <= ?2 order by {column}, rowid"
        );
        let mut read = db.prepare(&sql)?;
        let mut found = read.query([from, to])?;
        let mut insert = tx.prepare(&format!("insert into {table}_{column}(key, row) values (?1, ?2)"))?;
        while let Some(row) = found.next()? {
            insert.execute([row.get::<_, i64>(0)?, row.get(1)?])?;
        }
    }
    tx.execute(
        "insert into indexed(name, rows, last) values (?1, ?2, ?3)
         on conflict(name) do update set rows = excluded.rows, last = excluded.last",
        params![table, to, mark(db, searched, to)?],
    )?;
    Ok(tx.commit()?)
}
