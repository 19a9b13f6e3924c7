//! Tried URLs, in the order of the fetches.

use crate::sql::{Connection, Optional, Row, params};
use porthole_types::{Judgment, SegmentSpan, TermId, Timestamp, TopicId, UrlId, unpack_terms};

use super::rows::IS_PAGE;
use crate::frontier::RowState;
use crate::{Error, Result, TriedUrl};

/// The condition that a fetch is the last one of its URL; one that found the page unchanged does not count. Inequalities
/// stand for an equation: a planner that has two equations takes the answer for one row, and joins the whole tables for
/// every call.
pub(super) const IS_LAST: &str = "crawl.seq <= \"fetch\".seq and crawl.seq >= \"fetch\".seq";

pub(super) fn read(db: &Connection, after: Option<u64>, limit: usize) -> Result<Vec<TriedUrl>> {
    let mut read = db.prepare(&format!(
        "select oid, url, \"fetch\".seq, lastvisited, depth, relevance, kcid, simhash, failure, segment, \"offset\", \
         length, crawl.state, terms, copy_of, {IS_PAGE} \
         from \"fetch\" cross join crawl \
         where \"fetch\".seq > ?1 and crawl.rowid = \"fetch\".row and {IS_LAST} order by \"fetch\".seq limit ?2",
    ))?;
    let after = after.map_or(-1, |after| i64::try_from(after).unwrap_or(i64::MAX));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = read.query_map(params![after, limit], tried)?;
    Ok(found)
}

fn tried(row: &Row<'_>) -> Result<TriedUrl> {
    let relevance = row.get(5)?;
    let judgment = row.get::<Option<u16>>(6)?.map(|best| Judgment { relevance, best: TopicId(best) });
    let state = RowState::from_code(row.get(12)?);
    // The archive keeps redirects, too, but they are no pages.
    let is_redirect = state == Some(RowState::Redirected);
    let span = match (row.get(9)?, row.get::<Option<i64>>(10)?, row.get(11)?) {
        (Some(segment), Some(offset), Some(length)) if !is_redirect => {
            Some(SegmentSpan { segment, offset: offset.cast_unsigned(), length })
        }
        _ => None,
    };
    Ok(TriedUrl {
        oid: UrlId(row.get::<i64>(0)?.cast_unsigned()),
        url: row.get(1)?,
        seq: row.get::<i64>(2)?.cast_unsigned(),
        at: Timestamp(row.get::<Option<i64>>(3)?.unwrap_or(0)),
        depth: row.get(4)?,
        judgment,
        is_page: row.get(15)?,
        simhash: row.get::<Option<i64>>(7)?.unwrap_or(0).cast_unsigned(),
        is_done: state.is_some_and(RowState::is_done),
        failure: row.get(8)?,
        span,
        terms: row.get::<Option<i64>>(13)?.map(i64::cast_unsigned),
        copy_of: row.get::<Option<i64>>(14)?.map(|original| UrlId(original.cast_unsigned())),
    })
}

/// The terms of pages, by the numbers of their fetches.
pub(super) fn page_terms(db: &Connection, numbers: &[u64]) -> Result<Vec<Vec<(TermId, u32)>>> {
    let mut read = db.prepare("select terms from page_terms where seq = ?1")?;
    let terms = |number: &u64| -> Result<Vec<(TermId, u32)>> {
        let mut terms = Vec::new();
        let packed = |row: &Row<'_>| Ok(row.blob(0)?.and_then(|packed| unpack_terms(packed, &mut terms)));
        match read.query_row([number.cast_signed()], packed).optional()? {
            Some(None) => Err(Error::Damaged(format!("the terms of fetch {number} cannot be read"))),
            Some(Some(())) | None => Ok(terms),
        }
    };
    numbers.iter().map(terms).collect()
}
