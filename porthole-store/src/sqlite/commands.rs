//! Commands to a running crawl: the table `command`.

use porthole_types::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{CommandAnswer, CommandRow, Result};

const COLUMNS: &str = "select id, at, what, parameters, answered, failed, outcome from command";

pub(super) fn append(db: &Connection, what: &str, parameters: &str, at: Timestamp) -> Result<u64> {
    let sql = "insert into command(at, what, parameters) values (?1, ?2, ?3)";
    db.prepare_cached(sql)?.execute(params![at.0, what, parameters])?;
    Ok(db.last_insert_rowid().cast_unsigned())
}

/// The unanswered commands.
pub(super) fn open(db: &Connection) -> Result<Vec<CommandRow>> {
    let mut read = db.prepare_cached(&format!("{COLUMNS} where answered is null order by id"))?;
    let rows = read.query_map([], row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn read(db: &Connection, id: u64) -> Result<Option<CommandRow>> {
    let mut read = db.prepare_cached(&format!("{COLUMNS} where id = ?1"))?;
    Ok(read.query_row([id.cast_signed()], row).optional()?)
}

/// The last commands, the newest first.
pub(super) fn last(db: &Connection, limit: usize) -> Result<Vec<CommandRow>> {
    let mut read = db.prepare_cached(&format!("{COLUMNS} order by id desc limit ?1"))?;
    let rows = read.query_map([i64::try_from(limit).unwrap_or(i64::MAX)], row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn answer(db: &Connection, id: u64, answer: &CommandAnswer) -> Result<()> {
    let sql = "update command set answered = ?2, failed = ?3, outcome = ?4 where id = ?1";
    db.prepare_cached(sql)?.execute(params![id.cast_signed(), answer.at.0, answer.failed, answer.outcome])?;
    Ok(())
}

fn row(row: &Row<'_>) -> rusqlite::Result<CommandRow> {
    let answer = match row.get::<_, Option<i64>>(4)? {
        Some(at) => Some(CommandAnswer { at: Timestamp(at), failed: row.get(5)?, outcome: row.get(6)? }),
        None => None,
    };
    Ok(CommandRow {
        id: row.get::<_, i64>(0)?.cast_unsigned(),
        at: Timestamp(row.get(1)?),
        what: row.get(2)?,
        parameters: row.get(3)?,
        answer,
    })
}
