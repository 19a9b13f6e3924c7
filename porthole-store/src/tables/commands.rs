//! Commands to a running crawl: the table `command`.

use crate::sql::{Connection, Optional, Row, params};
use porthole_types::Timestamp;

use crate::{CommandAnswer, CommandRow, Result};

const COLUMNS: &str = "select id, at, what, parameters, answered, failed, outcome from command";

pub(super) fn append(db: &Connection, what: &str, parameters: &str, at: Timestamp) -> Result<u64> {
    let tx = db.write_transaction()?;
    let sql = "insert into command(at, what, parameters) values (?1, ?2, ?3) returning id";
    let id: i64 = tx.query_row(sql, params![at.0, what, parameters], |row| row.get(0))?;
    tx.commit()?;
    Ok(id.cast_unsigned())
}

/// The unanswered commands.
pub(super) fn open(db: &Connection) -> Result<Vec<CommandRow>> {
    let mut read = db.prepare(&format!("{COLUMNS} where answered is null order by id"))?;
    let rows = read.query_map((), row)?;
    Ok(rows)
}

pub(super) fn read(db: &Connection, id: u64) -> Result<Option<CommandRow>> {
    let mut read = db.prepare(&format!("{COLUMNS} where id = ?1"))?;
    read.query_row([id.cast_signed()], row).optional()
}

/// The last commands, the newest first.
pub(super) fn last(db: &Connection, limit: usize) -> Result<Vec<CommandRow>> {
    let mut read = db.prepare(&format!("{COLUMNS} order by id desc limit ?1"))?;
    let rows = read.query_map([i64::try_from(limit).unwrap_or(i64::MAX)], row)?;
    Ok(rows)
}

pub(super) fn answer(db: &Connection, id: u64, answer: &CommandAnswer) -> Result<()> {
    let sql = "update command set answered = ?2, failed = ?3, outcome = ?4 where id = ?1";
    let tx = db.write_transaction()?;
    tx.execute(sql, params![id.cast_signed(), answer.at.0, answer.failed, answer.outcome])?;
    tx.commit()
}

/// The commands after one, in their order.
pub(super) fn after(db: &Connection, id: u64) -> Result<Vec<CommandRow>> {
    let mut read = db.prepare(&format!("{COLUMNS} where id > ?1 order by id"))?;
    read.query_map([id.cast_signed()], row)
}

fn row(row: &Row<'_>) -> Result<CommandRow> {
    let answer = match row.get::<Option<i64>>(4)? {
        Some(at) => Some(CommandAnswer { at: Timestamp(at), failed: row.get(5)?, outcome: row.get(6)? }),
        None => None,
    };
    Ok(CommandRow {
        id: row.get::<i64>(0)?.cast_unsigned(),
        at: Timestamp(row.get(1)?),
        what: row.get(2)?,
        parameters: row.get(3)?,
        answer,
    })
}
