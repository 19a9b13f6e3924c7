//! Reads pages, skipped URLs and links in ranges of rows. A call reads a bounded number of rows in one short transaction.

use std::ops::RangeInclusive;

use crate::sql::{Connection, Row, Value, params};
use porthole_types::{SegmentSpan, SiteId, Timestamp, TopicId, UrlId};

use crate::frontier::RowState;
use crate::{KnownUrl, PageFilter, Result, RowTable, SkippedUrl, StoredLink, StoredPage, UrlState};

/// The last row of a table; 0 if it is empty.
pub(super) fn last(db: &Connection, table: RowTable) -> Result<u64> {
    let sql = match table {
        RowTable::Crawl => "select coalesce(max(rowid), 0) from crawl",
        RowTable::Edge => "select coalesce(max(rowid), 0) from edge",
    };
    Ok(db.query_row(sql, (), |row| row.get::<i64>(0))?.cast_unsigned())
}

/// Sites of a host and of the names below it.
pub(super) fn sites_below(db: &Connection, host: &str) -> Result<Vec<SiteId>> {
    db.prepare(SITES_BELOW)?
        .query_map(names_below(host), |row| Ok(SiteId(row.get::<i64>(0)?.cast_unsigned())))
}

/// The sites of a host and of the names below it, with [`names_below`] as its parameters.
pub(super) const SITES_BELOW: &str = "select sid from site where host = ?1 or host like ?2 escape '\\' \
                                      or host like ?3 escape '\\' or host like ?4 escape '\\'";

/// A host, and patterns for it with a port and for the names below it.
pub(super) fn names_below(host: &str) -> [String; 4] {
    let name = host.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    [host.to_owned(), format!("%.{name}"), format!("{name}:%"), format!("%.{name}:%")]
}

/// The condition that a URL has led to a page: one that is queued for a revisit has been fetched nonetheless.
pub(super) const IS_PAGE: &str = "(crawl.state = 1 or (crawl.state = 0 and exists (
    select 1 from revisit where revisit.row = crawl.rowid and coalesce(revisit.state, revisit.came) = 1)))";

pub(super) fn pages(
    db: &Connection,
    rows: RangeInclusive<u64>,
    filter: &PageFilter,
) -> Result<Vec<StoredPage>> {
    let mut conditions = String::new();
    let mut wants = |condition: String| conditions += &format!(" and {condition}");
    if let Some(topics) = &filter.topics {
        wants(format!("kcid in ({})", list(topics.iter().map(|topic| topic.0.to_string()))));
    }
    if let Some(sites) = &filter.sites {
        wants(format!("sid in ({})", list(sites.iter().map(|site| site.0.cast_signed().to_string()))));
    }
    if let Some(languages) = &filter.languages {
        wants(format!("language in ({})", list(languages.iter().map(|language| quoted(language)))));
    }
    if let Some(at) = filter.since {
        wants(format!("lastvisited >= {}", at.0));
    }
    if let Some(at) = filter.until {
        wants(format!("lastvisited < {}", at.0));
    }
    if filter.min_relevance.is_some() {
        // A duplicate counts as 0.
        wants("kcid is not null and case when copy_of is null then relevance else 0.0 end >= ?3".to_owned());
    }
    let redirects = if filter.redirects { " or (crawl.state = 2 and segment is not null)" } else { "" };
    let mut read = db.prepare(&format!(
        "select crawl.rowid, crawl.oid, url, lastvisited, status, title, language, bytes, \
         relevance, kcid, hubs.score, auth.score, depth, copy_of, segment, \"offset\", length, crawl.state = 2 \
         from crawl left join hubs on hubs.oid = crawl.oid left join auth on auth.oid = crawl.oid \
         where crawl.rowid between ?1 and ?2 and ({IS_PAGE}{redirects}){conditions} order by crawl.rowid"
    ))?;
    let mut values = vec![Value::Integer(bound(*rows.start())), Value::Integer(bound(*rows.end()))];
    values.extend(filter.min_relevance.map(Value::Real));
    read.query_map(&values[..], page)
}

fn page(row: &Row<'_>) -> Result<StoredPage> {
    let best = row.get::<Option<u16>>(9)?.map(TopicId);
    let span = match (row.get(14)?, row.get::<Option<i64>>(15)?, row.get(16)?) {
        (Some(segment), Some(offset), Some(length)) => {
            Some(SegmentSpan { segment, offset: offset.cast_unsigned(), length })
        }
        _ => None,
    };
    Ok(StoredPage {
        row: row.get::<i64>(0)?.cast_unsigned(),
        oid: UrlId(row.get::<i64>(1)?.cast_unsigned()),
        url: row.get(2)?,
        at: Timestamp(row.get::<Option<i64>>(3)?.unwrap_or(0)),
        status: row.get::<Option<u16>>(4)?.unwrap_or(0),
        title: row.get::<Option<String>>(5)?.unwrap_or_default(),
        language: row.get::<Option<String>>(6)?.unwrap_or_default(),
        bytes: row.get::<Option<i64>>(7)?.unwrap_or(0).cast_unsigned(),
        relevance: if best.is_some() { Some(row.get(8)?) } else { None },
        best,
        hub: row.get(10)?,
        authority: row.get(11)?,
        depth: row.get(12)?,
        copy_of: row.get::<Option<i64>>(13)?.map(|original| UrlId(original.cast_unsigned())),
        span,
        is_redirect: row.get(17)?,
    })
}

pub(super) fn urls(db: &Connection, rows: RangeInclusive<u64>) -> Result<Vec<KnownUrl>> {
    let mut read = db.prepare(
        "select url, state = 0, depth from crawl where rowid between ?1 and ?2 and state in (0, 1) order by rowid",
    )?;
    let found = read.query_map(params![bound(*rows.start()), bound(*rows.end())], |row| {
        Ok(KnownUrl { url: row.get(0)?, is_queued: row.get(1)?, depth: row.get(2)? })
    })?;
    Ok(found)
}

pub(super) fn skipped(db: &Connection, rows: RangeInclusive<u64>) -> Result<Vec<SkippedUrl>> {
    let mut read = db.prepare(
        "select rowid, url, state, status, failure, detail, lastvisited, depth, relevance from crawl \
         where rowid between ?1 and ?2 and state in (3, 4, 5, 6) order by rowid",
    )?;
    let found = read.query_map(params![bound(*rows.start()), bound(*rows.end())], |row| {
        let state = match RowState::from_code(row.get(2)?) {
            Some(RowState::Dead) => UrlState::Dead,
            Some(RowState::Evicted) => UrlState::Evicted,
            Some(RowState::Rejected) => UrlState::Rejected,
            _ => UrlState::Skipped,
        };
        Ok(SkippedUrl {
            row: row.get::<i64>(0)?.cast_unsigned(),
            url: row.get(1)?,
            state,
            status: row.get(3)?,
            failure: row.get(4)?,
            detail: row.get(5)?,
            at: row.get::<Option<i64>>(6)?.map(Timestamp),
            depth: row.get(7)?,
            relevance: row.get(8)?,
        })
    })?;
    Ok(found)
}

pub(super) fn links(db: &Connection, rows: RangeInclusive<u64>) -> Result<Vec<StoredLink>> {
    let mut read = db.prepare(
        "select edge.rowid, src, dst, source.url, target.url, discovered, anchor from edge \
         cross join crawl as source \
         cross join crawl as target \
         where source.rowid = edge.src and target.rowid = edge.dst \
         and edge.rowid between ?1 and ?2 order by edge.rowid",
    )?;
    let found = read.query_map(params![bound(*rows.start()), bound(*rows.end())], |row| {
        Ok(StoredLink {
            row: row.get::<i64>(0)?.cast_unsigned(),
            source_row: row.get::<i64>(1)?.cast_unsigned(),
            target_row: row.get::<i64>(2)?.cast_unsigned(),
            source: row.get(3)?,
            target: row.get(4)?,
            discovered: Timestamp(row.get(5)?),
            anchor: row.get::<Option<String>>(6)?.unwrap_or_default(),
        })
    })?;
    Ok(found)
}

fn bound(row: u64) -> i64 {
    i64::try_from(row).unwrap_or(i64::MAX)
}

/// Values as a list in SQL. An empty one matches nothing.
fn list(values: impl Iterator<Item = String>) -> String {
    let values: Vec<String> = values.collect();
    if values.is_empty() { "null".to_owned() } else { values.join(", ") }
}

/// A language code as a string in SQL; what is no letter or digit is in no code.
fn quoted(language: &str) -> String {
    format!("'{}'", language.chars().filter(|c| c.is_alphanumeric() || *c == '-').collect::<String>())
}
