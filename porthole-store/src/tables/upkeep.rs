//! Pages under maintenance: when the next visit is due, and what earlier ones have shown.

use std::time::Duration;

use crate::sql::{Connection, Optional, Row, Transaction, params};
use porthole_types::{
    ChangeHistory, NextVisit, SegmentSpan, StoredCopy, Timestamp, UrlId, Validators, fingerprint_of_terms,
};

use crate::frontier::RowState;
use crate::{DuePages, Error, Result};

/// Writes what a visit has shown, and when the next one is due.
pub(super) fn write(tx: &Transaction<'_>, rowid: i64, next: &NextVisit) -> Result<()> {
    let mut write = tx.prepare(
        "insert into upkeep(row, due, visits, changes, watched, seen, changed, gone) \
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
         on conflict(row) do update set due = excluded.due, visits = excluded.visits, changes = excluded.changes, \
         watched = excluded.watched, seen = excluded.seen, changed = excluded.changed, gone = excluded.gone",
    )?;
    let ChangeHistory { visits, changes, watched, changed, gone } = next.history;
    let time = |at: Option<Timestamp>| at.map(|at| at.0);
    write.send(params![
        rowid,
        time(next.due),
        visits,
        changes,
        watched,
        next.seen.0,
        time(changed),
        time(gone),
    ])?;
    Ok(())
}

/// Puts the fetched pages that are not there under maintenance. Returns the number of pages under maintenance.
pub(super) fn maintain(tx: &Transaction<'_>, first: Duration) -> Result<usize> {
    let first = i64::try_from(first.as_millis()).unwrap_or(i64::MAX);
    tx.execute(
        "insert into upkeep(row, due, visits, changes, watched, seen) \
         select row, lastvisited + ?1, 0, 0, 0, lastvisited from tried \
         where state = ?2 and lastvisited is not null and row not in (select row from upkeep)",
        params![first, RowState::Fetched as u8],
    )?;
    let pages: i64 = tx.query_row("select count(*) from upkeep", (), |row| row.get(0))?;
    Ok(usize::try_from(pages).unwrap_or(0))
}

/// The pages that are due, the earliest first, without those on disabled sites.
pub(super) fn due(db: &Connection, due: DuePages) -> Result<Vec<UrlId>> {
    let mut read = db.prepare(
        "select crawl.oid from upkeep cross join crawl \
         where crawl.rowid = upkeep.row and upkeep.due <= ?1 and crawl.lastvisited < ?2 and crawl.state not in (0, 5, 6) \
         and crawl.sid not in (select sid from site where disabled <> 0) order by upkeep.due, upkeep.row limit ?3",
    )?;
    let time = |at: Option<Timestamp>| at.map_or(i64::MAX, |at| at.0);
    let most = i64::try_from(due.most).unwrap_or(i64::MAX);
    let found = read.query_map(params![time(due.until), time(due.visited_before), most], |row| {
        Ok(UrlId(row.get::<i64>(0)?.cast_unsigned()))
    })?;
    Ok(found)
}

/// The pages that are queued for a visit. One without a location may be lost, and must be fetched.
pub(super) fn waiting(db: &Connection) -> Result<Vec<UrlId>> {
    let mut read = db.prepare(
        "select crawl.oid from revisit cross join crawl \
         where crawl.rowid = revisit.row and crawl.state = 0 and crawl.segment is not null and revisit.row in (select row from upkeep) \
         order by revisit.row",
    )?;
    let found = read.query_map((), |row| Ok(UrlId(row.get::<i64>(0)?.cast_unsigned())))?;
    Ok(found)
}

/// Sets when pages are due.
pub(super) fn reschedule(
    tx: &Transaction<'_>,
    due: &mut dyn FnMut(&ChangeHistory, f64, Timestamp) -> Timestamp,
) -> Result<()> {
    let mut read = tx.prepare(
        "select visits, changes, watched, changed, gone, coalesce(hubs.score, 0.0), \
                case when crawl.lastvisited > seen then crawl.lastvisited else seen end, upkeep.row, upkeep.due \
         from upkeep cross join crawl left join hubs on hubs.oid = crawl.oid \
         where crawl.rowid = upkeep.row and upkeep.due is not null and gone is null order by upkeep.row",
    )?;
    // Not while the rows are read: they would move in the index.
    let mut changed: Vec<(i64, i64)> = Vec::new();
    let mut rows = read.query(())?;
    while let Some(row) = rows.next()? {
        let new = due(&history(&row, 0)?, row.get(5)?, Timestamp(row.get(6)?)).0;
        if new != row.get::<i64>(8)? {
            changed.push((row.get(7)?, new));
        }
    }
    let mut update = tx.prepare("update upkeep set due = ?2 where row = ?1")?;
    for (row, due) in changed {
        update.send(params![row, due])?;
    }
    Ok(())
}

/// When the next page is due that is not queued, and not on a disabled site.
pub(super) fn next(db: &Connection) -> Result<Option<Timestamp>> {
    let mut read = db.prepare(
        "select upkeep.due from upkeep cross join crawl \
         where crawl.rowid = upkeep.row and upkeep.due is not null and crawl.state not in (0, 5, 6) \
         and crawl.sid not in (select sid from site where disabled <> 0) order by upkeep.due limit 1",
    )?;
    let next: Option<i64> = read.query_row((), |row| row.get(0)).optional()?;
    Ok(next.map(Timestamp))
}

/// What is known of the changes of every page under maintenance, and its hub score.
pub(super) fn histories(db: &Connection, visit: &mut dyn FnMut(&ChangeHistory, f64)) -> Result<()> {
    let mut read = db.prepare(
        "select visits, changes, watched, changed, gone, coalesce(hubs.score, 0.0) \
         from upkeep cross join crawl left join hubs on hubs.oid = crawl.oid \
         where crawl.rowid = upkeep.row order by upkeep.row",
    )?;
    let mut rows = read.query(())?;
    while let Some(row) = rows.next()? {
        visit(&history(&row, 0)?, row.get(5)?);
    }
    Ok(())
}

/// The stored copy of a page that is visited again.
pub(super) fn copy(db: &Connection, rowid: i64) -> Result<StoredCopy> {
    let mut read = db.prepare(
        "select upkeep.visits, upkeep.changes, upkeep.watched, upkeep.changed, upkeep.gone, \
                coalesce(upkeep.seen, crawl.lastvisited, 0), crawl.segment, crawl.\"offset\", crawl.length, \
                page_terms.terms, page_terms.etag, page_terms.modified, coalesce(hubs.score, 0.0) \
         from crawl left join upkeep on upkeep.row = crawl.rowid \
                    left join page_terms on page_terms.seq = crawl.terms \
                    left join hubs on hubs.oid = crawl.oid \
         where crawl.rowid = ?1",
    )?;
    read.query_row([rowid], |row| {
        let text = |column| Ok::<_, Error>(row.text(column)?.map(Box::from));
        let validators = Validators { etag: text(10)?, modified: text(11)? };
        let span = match (row.get(6)?, row.get::<Option<i64>>(7)?, row.get(8)?) {
            (Some(segment), Some(offset), Some(length)) => {
                Some(SegmentSpan { segment, offset: offset.cast_unsigned(), length })
            }
            _ => None,
        };
        Ok(StoredCopy {
            validators: (validators != Validators::default()).then_some(validators),
            span,
            fingerprint: row.blob(9)?.and_then(fingerprint_of_terms),
            seen: Timestamp(row.get(5)?),
            history: history(row, 0)?,
            hub: row.get(12)?,
        })
    })
}

/// A history in five columns, which may be null.
fn history(row: &Row<'_>, first: usize) -> Result<ChangeHistory> {
    let time = |column| Ok::<_, Error>(row.get::<Option<i64>>(column)?.map(Timestamp));
    Ok(ChangeHistory {
        visits: row.get::<Option<u32>>(first)?.unwrap_or(0),
        changes: row.get::<Option<u32>>(first + 1)?.unwrap_or(0),
        watched: row.get::<Option<i64>>(first + 2)?.unwrap_or(0),
        changed: time(first + 3)?,
        gone: time(first + 4)?,
    })
}
