//! Results of fetches for charts, and what a reader needs to follow a crawl: everything here is in the order of a key,
//! so that a poll costs only its new rows.

use crate::sql::{Connection, Optional, Row, params};
use porthole_types::{Judgment, Timestamp, TopicId};

use crate::frontier::RowState;
use crate::{FetchOutcome, FetchPoint, FetchedUrl, Result};

const COLUMNS: &str = "\"fetch\".seq, lastvisited, relevance, kcid, state, copy_of, failure";

pub(super) fn read(db: &Connection, after: Option<u64>, limit: usize) -> Result<Vec<FetchPoint>> {
    // As in `tried::read`, `<=` stands for `=`.
    let mut read = db.prepare(&format!(
        "select {COLUMNS} from \"fetch\" cross join crawl \
         where \"fetch\".seq > ?1 and crawl.rowid = \"fetch\".row and crawl.seq <= \"fetch\".seq \
         order by \"fetch\".seq limit ?2"
    ))?;
    let after = after.map_or(-1, |after| i64::try_from(after).unwrap_or(i64::MAX));
    let found = read.query_map(params![after, i64::try_from(limit).unwrap_or(i64::MAX)], point)?;
    Ok(found)
}

/// The URL of a fetch.
pub(super) fn url(db: &Connection, seq: u64) -> Result<Option<FetchedUrl>> {
    let Ok(seq) = i64::try_from(seq) else { return Ok(None) };
    let mut read = db.prepare(&format!(
        "select {COLUMNS}, url, title from \"fetch\" cross join crawl \
         where \"fetch\".seq = ?1 and crawl.rowid = \"fetch\".row"
    ))?;
    let found = read.query_row([seq], |row| {
        let title: Option<String> = row.get(8)?;
        Ok(FetchedUrl {
            point: point(row)?,
            url: row.get(7)?,
            title: title.unwrap_or_default(),
            failure: row.get(6)?,
        })
    });
    found.optional()
}

fn point(row: &Row<'_>) -> Result<FetchPoint> {
    let relevance = row.get(2)?;
    let judgment = row.get::<Option<u16>>(3)?.map(|best| Judgment { relevance, best: TopicId(best) });
    let is_failure = row.text(6)?.is_some();
    let outcome = match RowState::from_code(row.get(4)?) {
        Some(RowState::Redirected) => FetchOutcome::Redirect,
        Some(RowState::Dead) => FetchOutcome::Dead,
        Some(RowState::Skipped) => FetchOutcome::Skipped,
        Some(RowState::Fetched) if row.get::<Option<i64>>(5)?.is_some() => FetchOutcome::Copy,
        Some(RowState::Fetched) => FetchOutcome::Page,
        // Queued for another visit.
        _ if judgment.is_some() && !is_failure => FetchOutcome::Page,
        _ => FetchOutcome::Retry,
    };
    Ok(FetchPoint {
        seq: row.get::<i64>(0)?.cast_unsigned(),
        at: Timestamp(row.get::<Option<i64>>(1)?.unwrap_or(0)),
        outcome,
        judgment: judgment.filter(|_| matches!(outcome, FetchOutcome::Page | FetchOutcome::Copy)),
    })
}

/// The number of the last event.
pub(super) fn last_event_id(db: &Connection) -> Result<u64> {
    let last: Option<i64> = db.prepare("select max(id) from event")?.query_row((), |row| row.get(0))?;
    Ok(last.unwrap_or(0).cast_unsigned())
}
