//! Results of fetches for charts, and what a reader needs to follow a crawl: everything here is in the order of a key,
//! so that a poll costs only its new rows.

use crate::sql::{Connection, Optional, Row, params};
use porthole_types::{Judgment, Timestamp, TopicId};

use super::rows::IS_PAGE;
use super::tried::IS_LAST;
use crate::frontier::RowState;
use crate::{FetchOutcome, FetchPoint, FetchedUrl, Result};

/// The columns of a point; the URL's state before it was queued again is null if it never was.
fn columns() -> String {
    format!(
        "\"fetch\".seq, lastvisited, relevance, kcid, crawl.state, copy_of, failure, \"fetch\".row, {IS_PAGE}, \
         exists (select 1 from revisit where revisit.row = crawl.rowid)"
    )
}

pub(super) fn read(db: &Connection, after: Option<u64>, limit: usize) -> Result<Vec<FetchPoint>> {
    let mut read = db.prepare(&format!(
        "select {} from \"fetch\" cross join crawl \
         where \"fetch\".seq > ?1 and crawl.rowid = \"fetch\".row and {IS_LAST} order by \"fetch\".seq limit ?2",
        columns()
    ))?;
    let after = after.map_or(-1, |after| i64::try_from(after).unwrap_or(i64::MAX));
    let found = read.query_map(params![after, i64::try_from(limit).unwrap_or(i64::MAX)], point)?;
    Ok(found)
}

/// The URL of a fetch.
pub(super) fn url(db: &Connection, seq: u64) -> Result<Option<FetchedUrl>> {
    let Ok(seq) = i64::try_from(seq) else { return Ok(None) };
    let mut read = db.prepare(&format!(
        "select {}, url, title from \"fetch\" cross join crawl \
         where \"fetch\".seq = ?1 and crawl.rowid = \"fetch\".row",
        columns()
    ))?;
    let found = read.query_row([seq], |row| {
        let title: Option<String> = row.get(11)?;
        Ok(FetchedUrl {
            point: point(row)?,
            url: row.get(10)?,
            title: title.unwrap_or_default(),
            failure: row.get(6)?,
        })
    });
    found.optional()
}

fn point(row: &Row<'_>) -> Result<FetchPoint> {
    let relevance = row.get(2)?;
    let judgment = row.get::<Option<u16>>(3)?.map(|best| Judgment { relevance, best: TopicId(best) });
    let (is_failure, is_copy) = (row.text(6)?.is_some(), row.get::<Option<i64>>(5)?.is_some());
    let is_page: bool = row.get(8)?;
    let outcome = match RowState::from_code(row.get(4)?) {
        Some(RowState::Redirected) => FetchOutcome::Redirect,
        Some(RowState::Dead) => FetchOutcome::Dead,
        Some(RowState::Skipped) => FetchOutcome::Skipped,
        Some(RowState::Fetched) if is_copy => FetchOutcome::Copy,
        Some(RowState::Fetched) => FetchOutcome::Page,
        // Queued for another visit.
        _ if judgment.is_some() && !is_failure && is_copy => FetchOutcome::Copy,
        _ if judgment.is_some() && !is_failure => FetchOutcome::Page,
        _ => FetchOutcome::Retry,
    };
    Ok(FetchPoint {
        seq: row.get::<i64>(0)?.cast_unsigned(),
        row: row.get::<i64>(7)?.cast_unsigned(),
        is_revisit: row.get(9)?,
        at: Timestamp(row.get::<Option<i64>>(1)?.unwrap_or(0)),
        outcome,
        judgment: judgment.filter(|_| matches!(outcome, FetchOutcome::Page | FetchOutcome::Copy)),
        credit: judgment.filter(|_| is_page).map(|judgment| if is_copy { 0.0 } else { judgment.relevance }),
    })
}

/// The number of the last event.
pub(super) fn last_event_id(db: &Connection) -> Result<u64> {
    let last: Option<i64> = db.prepare("select max(id) from event")?.query_row((), |row| row.get(0))?;
    Ok(last.unwrap_or(0).cast_unsigned())
}
