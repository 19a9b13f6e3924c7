//! Reads everything that the tables have on a URL.
//!
//! Without indexes ([`lookup`](super::lookup)) this reads `edge` once and `crawl` twice: one second of CPU for a
//! million URLs and five million links.

use std::collections::HashMap;

use crate::sql::{Connection, Optional, Row, params};
use porthole_types::{CanonicalUrl, SegmentSpan, SiteId, Timestamp, TopicId};

use super::graph;
use super::lookup::Lookup;
use super::workspace_writer::read_setting;
use crate::about::{About, Feedback, FeedbackKind, LinkingPage, SiteFacts, UrlState};
use crate::{Error, Result};

/// Maximum number of linking pages returned.
const PARENTS: usize = 10;

/// Reads in one transaction, for a consistent state.
pub(super) fn read(db: &Connection, url: &CanonicalUrl) -> Result<Option<About>> {
    let tx = db.read_transaction()?;
    let oid = url.id().0.cast_signed();
    let Some((rowid, mut about)) = read_row(&tx, url)? else { return Ok(None) };
    if about.state == UrlState::Queued && is_discovery(&tx)? {
        about.rank = Some(rank(&tx, rowid, &about)?);
    }
    links(&tx, rowid, &mut about)?;
    for (table, score) in [("hubs", &mut about.hub), ("auth", &mut about.auth)] {
        let sql = format!("select score from {table} where oid = ?1");
        *score = tx.query_row(&sql, [oid], |row| row.get(0)).optional()?;
    }
    about.neighbourhood = graph::neighbourhood_of(&tx, oid)?;
    about.feedback = read_feedback(&tx, &[url.as_str(), url.authority()])?;
    Ok(Some(about))
}

/// The data in the rows of the URL and its site, with the row number of the URL.
pub(super) fn read_row(db: &Connection, url: &CanonicalUrl) -> Result<Option<(i64, About)>> {
    let oid = url.id().0.cast_signed();
    let Some(rowid) = Lookup::new(db).url(oid)? else { return Ok(None) };
    let sql = "select rowid, state, relevance, priority, numtries, lastvisited, seq, kcid, status, failure, \
               detail, not_before, title, language, bytes, segment, \"offset\", length \
               from crawl where rowid = ?1";
    let found = db.query_row(sql, [rowid], |row| Ok((row.get(0)?, about(row, url)))).optional()?;
    let Some((rowid, about)) = found else { return Ok(None) };
    let mut about = about?;
    if about.state == UrlState::Queued {
        believe(db, rowid, &mut about)?;
    }
    if let Some(site) = read_site(db, url.authority())? {
        about.site = site;
    }
    Ok(Some((rowid, about)))
}

/// The data of a site.
pub(super) fn read_site(db: &Connection, host: &str) -> Result<Option<SiteFacts>> {
    let mut read = db.prepare("select sid, serverload, disabled from site where host = ?1")?;
    let site = read.query_row([host], |row| {
        Ok(SiteFacts {
            sid: SiteId(row.get::<i64>(0)?.cast_unsigned()),
            host: host.to_owned(),
            serverload: row.get::<i64>(1)?.cast_unsigned(),
            disabled: row.get(2)?,
        })
    });
    site.optional()
}

/// The latest feedback on these names, or on all if none are given.
pub(super) fn read_feedback(db: &Connection, names: &[&str]) -> Result<Vec<Feedback>> {
    let sql = "select url, kind, useful, at from feedback \
               where id in (select max(id) from feedback group by url, kind) order by id";
    let mut read = db.prepare(sql)?;
    let mut rows = read.query(())?;
    let mut feedback = Vec::new();
    while let Some(row) = rows.next()? {
        let (name, kind): (String, String) = (row.get(0)?, row.get(1)?);
        if !names.is_empty() && !names.contains(&name.as_str()) {
            continue;
        }
        let kind = FeedbackKind::of_name(&kind)
            .ok_or_else(|| Error::Damaged(format!("feedback has the unknown kind {kind}")))?;
        feedback.push(Feedback { name, kind, useful: row.get(2)?, at: Timestamp(row.get(3)?) });
    }
    Ok(feedback)
}

/// The data in the row of the URL.
fn about(row: &Row<'_>, url: &CanonicalUrl) -> Result<About> {
    let failure: Option<String> = row.get(9)?;
    let detail: Option<String> = row.get(10)?;
    let state = state(row.get(1)?)?;
    // The archive keeps redirects, too, but they are no pages.
    let is_redirect = state == UrlState::Redirected;
    let span = match (row.get(15)?, row.get::<Option<i64>>(16)?, row.get(17)?) {
        (Some(segment), Some(offset), Some(length)) if !is_redirect => {
            Some(SegmentSpan { segment, offset: offset.cast_unsigned(), length })
        }
        _ => None,
    };
    Ok(About {
        oid: url.id(),
        state,
        relevance: row.get(2)?,
        priority: row.get(3)?,
        numtries: row.get(4)?,
        last_visited: row.get::<Option<i64>>(5)?.map(Timestamp),
        seq: row.get::<Option<i64>>(6)?.map(i64::cast_unsigned),
        best: row.get::<Option<u16>>(7)?.map(TopicId),
        status: row.get(8)?,
        failure: failure.map(|kind| (kind, detail.unwrap_or_default())),
        not_before: row.get::<Option<i64>>(11)?.map(Timestamp),
        title: row.get::<Option<String>>(12)?.unwrap_or_default(),
        language: row.get::<Option<String>>(13)?.unwrap_or_default(),
        bytes: row.get::<Option<i64>>(14)?.map(i64::cast_unsigned),
        span,
        site: SiteFacts { sid: url.site(), host: url.authority().to_owned(), serverload: 0, disabled: false },
        parents: Vec::new(),
        links_in: 0,
        links_out: 0,
        leads_to: None,
        rank: None,
        hub: None,
        auth: None,
        neighbourhood: None,
        feedback: Vec::new(),
    })
}

pub(super) fn state(code: i64) -> Result<UrlState> {
    use UrlState::{Dead, Evicted, Fetched, Queued, Redirected, Rejected, Skipped};
    let state = usize::try_from(code)
        .ok()
        .and_then(|code| [Queued, Fetched, Redirected, Dead, Skipped, Evicted, Rejected].get(code).copied());
    state.ok_or_else(|| Error::Damaged(format!("crawl has the unknown state {code}")))
}

/// Applies the latest estimate in `estimate_log`.
fn believe(db: &Connection, rowid: i64, about: &mut About) -> Result<()> {
    let sql = "select relevance, priority from estimate_log where row = ?1 order by rowid desc limit 1";
    let belief = db.query_row(sql, [rowid], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    if let Some((relevance, priority)) = belief {
        (about.relevance, about.priority) = (relevance, priority);
    }
    Ok(())
}

/// Whether the policy is the one that [`rank`] assumes.
fn is_discovery(db: &Connection) -> Result<bool> {
    let policy = read_setting(db, "policy")?;
    Ok(policy.is_none_or(|order| order == "discovery" || order.starts_with("numtries asc, priority desc")))
}

/// Number of queued URLs before it: fewer tries first, then the higher priority, then the older row.
fn rank(db: &Connection, rowid: i64, about: &About) -> Result<u64> {
    let sql = "with latest as materialized (
                   select row, priority from estimate_log where rowid in (select max(rowid) from estimate_log group by row)
               )
               select count(*)
               from crawl left join latest on latest.row = crawl.rowid
               where crawl.state = 0
                 and (crawl.numtries, -coalesce(latest.priority, crawl.priority), crawl.rowid) < (?1, ?2, ?3)";
    let before: i64 = db.query_row(sql, params![about.numtries, -about.priority, rowid], |row| row.get(0))?;
    Ok(before.cast_unsigned())
}

/// Counts the links of a page, and finds the pages that link to it.
fn links(db: &Connection, page: i64, about: &mut About) -> Result<()> {
    let (mut found, mut target) = (HashMap::<i64, i64>::new(), None);
    for link in Lookup::new(db).links(page)? {
        let (src, dst) = (link.src, link.dst);
        about.links_out += u64::from(src == page);
        about.links_in += u64::from(dst == page);
        if dst == page && src != page {
            found.entry(src).or_insert(link.discovered);
        }
        if src == page {
            target = Some(dst);
        }
    }
    if let (UrlState::Redirected, Some(target)) = (about.state, target) {
        let sql = "select url from crawl where rowid = ?1";
        about.leads_to = db.query_row(sql, [target], |row| row.get(0)).optional()?;
    }
    about.parents = parents(db, &found)?;
    Ok(())
}

/// The most relevant of the linking pages.
fn parents(db: &Connection, found: &HashMap<i64, i64>) -> Result<Vec<LinkingPage>> {
    let mut read = db.prepare("select url, relevance, seq from crawl where rowid = ?1")?;
    let mut parents = Vec::with_capacity(found.len());
    for (page, &discovered) in found {
        let parent = |row: &Row<'_>| {
            Ok(LinkingPage {
                url: row.get(0)?,
                relevance: row.get(1)?,
                seq: row.get::<Option<i64>>(2)?.map(i64::cast_unsigned),
                discovered: Timestamp(discovered),
            })
        };
        parents.push(read.query_row([page], parent)?);
    }
    parents.sort_by(|a, b| b.relevance.total_cmp(&a.relevance).then(a.seq.cmp(&b.seq)));
    parents.truncate(PARENTS);
    Ok(parents)
}
