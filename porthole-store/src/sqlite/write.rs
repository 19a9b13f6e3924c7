//! Writes a plan: one transaction, prepared statements, rows in ascending order.

use porthole_types::{Event, Failure, Outcome, PageResult};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::plan::{NewRow, Plan, judgment, verdict};
use crate::frontier::{Frontier, probability};
use crate::{Batch, Error, Result, Scores};

/// Writes everything, or nothing. The frontier is as it will be after it.
pub(super) fn write(
    db: &mut Connection,
    plan: &Plan<'_>,
    batch: &Batch<'_>,
    frontier: &Frontier,
) -> Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    insert_sites(&tx, plan)?;
    insert_urls(&tx, &plan.new_urls, frontier.len())?;
    insert_beliefs(&tx, &plan.believed, frontier)?;
    update_pages(&tx, &plan.pages, frontier)?;
    insert_links(&tx, batch.results)?;
    update_loads(&tx, &plan.loads)?;
    insert_events(&tx, batch.events)?;
    write_settings(&tx, batch.settings)?;
    tx.commit()?;
    Ok(())
}

/// Writes scores in place of those that are there.
pub(super) fn write_scores(db: &mut Connection, scores: &Scores<'_>) -> Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (table, list) in [("hubs", scores.hubs), ("auth", scores.auth)] {
        tx.execute(&format!("delete from {table}"), [])?;
        // Ascending ids are appended to the table; in any other order they would be strewn over it.
        let mut sorted: Vec<_> = list.iter().map(|&(oid, score)| (oid.0.cast_signed(), score)).collect();
        sorted.sort_unstable_by_key(|&(oid, _)| oid);
        let mut insert = tx.prepare(&format!("insert into {table}(oid, score) values (?1, ?2)"))?;
        for (oid, score) in sorted {
            insert.execute(params![oid, score])?;
        }
    }
    tx.commit()?;
    Ok(())
}

fn insert_sites(tx: &Transaction<'_>, plan: &Plan<'_>) -> Result<()> {
    let mut insert = tx.prepare_cached("insert into site(sid, host, serverload) values (?1, ?2, 0)")?;
    for (sid, host) in &plan.new_sites {
        insert.execute(params![sid.0.cast_signed(), host])?;
    }
    Ok(())
}

fn insert_urls(tx: &Transaction<'_>, rows: &[NewRow<'_>], expected: usize) -> Result<()> {
    let mut insert = tx.prepare_cached(
        "insert into crawl(oid, url, sid, relevance, priority, numtries, state) \
         values (?1, ?2, ?3, ?4, ?5, 0, 0)",
    )?;
    for row in rows {
        insert.execute(params![
            row.oid.0.cast_signed(),
            row.url.as_str(),
            row.sid.0.cast_signed(),
            row.belief.relevance,
            row.belief.priority,
        ])?;
    }
    // The memory has counted the rows; the table must have given them the same numbers.
    if !rows.is_empty() && usize::try_from(tx.last_insert_rowid()) != Ok(expected) {
        return Err(Error::Damaged("another program has written to crawl".into()));
    }
    Ok(())
}

fn insert_beliefs(tx: &Transaction<'_>, rows: &[u32], frontier: &Frontier) -> Result<()> {
    let mut insert = tx.prepare_cached("insert into raised(row, relevance, priority) values (?1, ?2, ?3)")?;
    for &row in rows {
        let belief = frontier.belief(row);
        insert.execute(params![rowid(row), belief.relevance, belief.priority])?;
    }
    Ok(())
}

fn update_pages(tx: &Transaction<'_>, pages: &[(u32, &PageResult)], frontier: &Frontier) -> Result<()> {
    let mut update = tx.prepare_cached(
        "update crawl set relevance = ?2, kcid = coalesce(?3, kcid), priority = ?18, \
         numtries = numtries + 1, lastvisited = ?4, state = ?5, not_before = ?6, seq = ?7, status = ?8, \
         failure = ?9, detail = ?10, title = ?11, language = ?12, bytes = ?13, simhash = ?14, \
         segment = ?15, \"offset\" = ?16, length = ?17 where rowid = ?1",
    )?;
    for &(row, page) in pages {
        let (state, not_before) = verdict(&page.outcome);
        let judgment = judgment(page);
        let belief = frontier.belief(row);
        let failure = failure(&page.outcome);
        let span = page.span;
        update.execute(params![
            rowid(row),
            judgment.map_or(belief.relevance, |judgment| probability(judgment.relevance)),
            judgment.map(|judgment| judgment.best.0),
            page.at.0,
            state as u8,
            not_before.map(|at| at.0),
            page.seq.cast_signed(),
            page.status,
            failure.map(|failure| failure.kind.name()),
            failure.map(|failure| failure.detail.as_str()),
            some_text(&page.title),
            some_text(&page.language),
            page.bytes.cast_signed(),
            page.simhash.cast_signed(),
            span.map(|span| span.segment),
            span.map(|span| span.offset.cast_signed()),
            span.map(|span| span.length),
            belief.priority,
        ])?;
    }
    Ok(())
}

fn insert_links(tx: &Transaction<'_>, results: &[PageResult]) -> Result<()> {
    let mut insert = tx.prepare_cached(
        "insert into link(oid_src, sid_src, oid_dst, sid_dst, wgt_fwd, wgt_rev, discovered) \
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for page in results {
        insert.raw_bind_parameter(1, page.oid.0.cast_signed())?;
        insert.raw_bind_parameter(2, page.sid.0.cast_signed())?;
        insert.raw_bind_parameter(7, page.at.0)?;
        for link in &page.links {
            insert.raw_bind_parameter(3, link.oid.0.cast_signed())?;
            insert.raw_bind_parameter(4, link.sid.0.cast_signed())?;
            insert.raw_bind_parameter(5, link.wgt_fwd)?;
            insert.raw_bind_parameter(6, link.wgt_rev)?;
            insert.raw_execute()?;
        }
    }
    Ok(())
}

fn update_loads(tx: &Transaction<'_>, loads: &[(u32, u32)]) -> Result<()> {
    let mut update = tx.prepare_cached("update site set serverload = ?2 where rowid = ?1")?;
    for &(row, load) in loads {
        update.execute(params![rowid(row), load])?;
    }
    Ok(())
}

/// Writes events behind those that are there.
pub(super) fn insert_events(tx: &Transaction<'_>, events: &[Event]) -> Result<()> {
    let mut insert = tx.prepare_cached("insert into event(at, kind, detail) values (?1, ?2, ?3)")?;
    for event in events {
        insert.execute(params![event.at.0, event.kind, event.detail])?;
    }
    Ok(())
}

/// Writes settings.
pub(super) fn write_settings(tx: &Transaction<'_>, settings: &[(&str, &str)]) -> Result<()> {
    let mut write = tx.prepare_cached(
        "insert into setting(name, value) values (?1, ?2) on conflict(name) do update set value = excluded.value",
    )?;
    for (name, value) in settings {
        write.execute(params![name, value])?;
    }
    Ok(())
}

/// Row numbers in memory start at 0, rowids at 1.
pub(super) fn rowid(row: u32) -> i64 {
    i64::from(row) + 1
}

fn failure(outcome: &Outcome) -> Option<&Failure> {
    match outcome {
        Outcome::Fetched | Outcome::Redirected => None,
        Outcome::Retry { failure, .. } | Outcome::Dead(failure) | Outcome::Skipped(failure) => Some(failure),
    }
}

fn some_text(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
