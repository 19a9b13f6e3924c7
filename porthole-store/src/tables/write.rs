//! Writes a plan: one transaction, prepared statements, rows in ascending order.

use std::net::IpAddr;

use crate::sql::{Connection, Transaction, Value, params};
use porthole_types::{Event, Failure, Outcome, SiteId};

use super::load::FrontierState;
use super::plan::{NewRow, Visit, WritePlan, judgment, verdict};
use super::{budget, counts, graph, hosts, inbox, links, publication, revisit, upkeep};
use crate::frontier::{Belief, Frontier, RowState, SiteTable, probability};
use crate::{Batch, DistilledScores, Error, Result, StoreCounts};

/// Effects of a plan that is written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlanEffects {
    pub(super) links: usize,
    /// Change of the number of duplicates.
    pub(super) copies: isize,
    /// The counts of the whole crawl, if it is shared.
    pub(super) all: Option<StoreCounts>,
}

/// Writes a plan. The memory is already in the state after it, except for the numbers of links and duplicates; `before` are
/// the counts before it.
pub(super) fn write(
    tx: &Transaction<'_>,
    plan: &WritePlan<'_>,
    batch: &Batch<'_>,
    memory: &FrontierState,
    before: &StoreCounts,
) -> Result<PlanEffects> {
    let frontier = &memory.frontier;
    insert_sites(tx, plan, frontier.sites().len())?;
    insert_urls(tx, &plan.new_urls, frontier)?;
    revisit::queue(tx, &plan.again, frontier)?;
    clear_spans(tx, &plan.lost, frontier)?;
    insert_beliefs(tx, &plan.believed, frontier)?;
    let copies = update_pages(tx, &plan.visits, frontier)?;
    update_judgments(tx, plan, frontier)?;
    update_states(tx, &plan.moved, frontier)?;
    update_line(tx, &plan.lined_up, frontier)?;
    let links = links::insert(tx, plan, memory.links, frontier)?;
    update_loads(tx, &plan.loads)?;
    update_addresses(tx, batch.addresses, frontier)?;
    hosts::write_robots(tx, batch.robots)?;
    hosts::write_hosts(tx, batch.hosts)?;
    write_settings(tx, batch.settings)?;
    let now = memory.counts();
    let copies_now = now.copies.saturating_add_signed(copies);
    let now = StoreCounts { links: memory.links + links, copies: copies_now, ..now };
    let all = match &memory.shared {
        None => {
            counts::write(tx, &now)?;
            None
        }
        Some(shared) => {
            inbox::write(tx, plan, shared)?;
            budget::count(tx, shared, batch.results)?;
            publication::write(tx, shared, frontier, !plan.letters.is_empty(), plan.cursor)?;
            Some(counts::add(tx, before, &now)?)
        }
    };
    Ok(PlanEffects { links, copies, all })
}

/// Replaces the scores, and writes the changed neighbourhoods.
pub(super) fn write_scores(db: &Connection, scores: &DistilledScores<'_>) -> Result<()> {
    let tx = db.write_transaction()?;
    for (table, list) in [("hubs", scores.hubs), ("auth", scores.auth)] {
        tx.execute(&format!("delete from {table}"), ())?;
        // Ascending ids are appended to the table; any other order would touch pages all over it.
        let mut sorted: Vec<_> = list.iter().map(|&(oid, score)| (oid.0.cast_signed(), score)).collect();
        sorted.sort_unstable_by_key(|&(oid, _)| oid);
        tx.append(
            table,
            ["oid", "score"],
            None,
            sorted.into_iter().map(|(oid, score)| [Value::Integer(oid), Value::Real(score)]),
        )?;
    }
    graph::write_neighbourhoods(&tx, scores.neighbourhoods)?;
    tx.commit()?;
    Ok(())
}

/// Disables and enables sites, adding unknown ones.
pub(super) fn switch_sites(
    tx: &Transaction<'_>,
    hosts: &[(&str, bool)],
    sites: &mut SiteTable,
) -> Result<()> {
    let mut update = tx.prepare("update site set disabled = ?2 where rowid = ?1")?;
    for &(host, disabled) in hosts {
        let sid = SiteId::of(host);
        let (row, new) = sites.see(sid, 0);
        if new {
            append_sites(tx, &[(sid, host)], sites.len())?;
        }
        update.send(params![rowid(row), disabled])?;
    }
    Ok(())
}

fn insert_sites(tx: &Transaction<'_>, plan: &WritePlan<'_>, expected: usize) -> Result<()> {
    if plan.new_sites.is_empty() { Ok(()) } else { append_sites(tx, &plan.new_sites, expected) }
}

/// Appends sites; there are `expected` with them.
fn append_sites(tx: &Transaction<'_>, new: &[(SiteId, &str)], expected: usize) -> Result<()> {
    let rows = new.iter().map(|&(sid, host)| {
        [Value::Integer(sid.0.cast_signed()), Value::Text(host.into()), Value::Integer(0)]
    });
    tx.append("site", ["sid", "host", "serverload"], Some(first_of(new.len(), expected)), rows)?;
    counted("site", tx, expected)
}

fn insert_urls(tx: &Transaction<'_>, rows: &[NewRow<'_>], frontier: &Frontier) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let columns = ["oid", "url", "sid", "relevance", "priority", "numtries", "state", "depth"];
    let values = rows.iter().map(|row| {
        // Later raises are in `estimate_log`, unless they do not matter there.
        let state = frontier.state(row.row);
        let belief = if state == RowState::Evicted { frontier.belief(row.row) } else { row.belief };
        [
            Value::Integer(row.oid.0.cast_signed()),
            Value::Text(row.url.as_str().into()),
            Value::Integer(row.sid.0.cast_signed()),
            Value::Real(belief.relevance),
            Value::Real(belief.priority),
            Value::Integer(0),
            Value::Integer(state as i64),
            Value::Integer(row.depth.into()),
        ]
    });
    tx.append("crawl", columns, Some(frontier.rowid(rows[0].row)), values)?;
    counted("crawl", tx, frontier.len())
}

/// The number of the first of the last rows of a table.
fn first_of(last: usize, all: usize) -> i64 {
    i64::try_from(all - last).unwrap_or(i64::MAX) + 1
}

/// Checks that SQLite has assigned the row numbers that the memory expects.
fn counted(table: &str, tx: &Transaction<'_>, expected: usize) -> Result<()> {
    let Some(db) = tx.sqlite() else { return Ok(()) };
    let same = usize::try_from(db.last_insert_rowid()) == Ok(expected);
    same.then_some(()).ok_or_else(|| Error::Damaged(format!("another program has written to {table}")))
}

fn insert_beliefs(tx: &Transaction<'_>, rows: &[u32], frontier: &Frontier) -> Result<()> {
    let values = rows.iter().map(|&row| {
        let belief = frontier.belief(row);
        [Value::Integer(frontier.rowid(row)), Value::Real(belief.relevance), Value::Real(belief.priority)]
    });
    tx.append("estimate_log", ["row", "relevance", "priority"], None, values)
}

/// Writes the results of fetches. Returns the change of the number of duplicates.
fn update_pages(tx: &Transaction<'_>, visits: &[Visit<'_>], frontier: &Frontier) -> Result<isize> {
    let mut update = tx.prepare(
        "update crawl set relevance = ?2, kcid = coalesce(?3, kcid), priority = ?18, \
         numtries = numtries + 1, lastvisited = ?4, state = ?5, not_before = ?6, seq = ?7, status = ?8, \
         failure = ?9, detail = ?10, title = ?11, language = ?12, bytes = ?13, simhash = ?14, \
         segment = ?15, \"offset\" = ?16, length = ?17, terms = ?19, copy_of = ?20 where rowid = ?1",
    )?;
    let mut append = tx.prepare(
        "insert into \"fetch\"(seq, row) values (?1, ?2) \
         on conflict(seq) do update set row = excluded.row where \"fetch\".row = excluded.row",
    )?;
    let mut add_terms =
        tx.prepare("insert into page_terms(seq, terms, etag, modified) values (?1, ?2, ?3, ?4)")?;
    let mut copies = 0;
    for visit in visits {
        let (row, page) = (visit.row, visit.result);
        let (number, seq) = (frontier.rowid(row), visit.seq.cast_signed());
        if append.execute(params![seq, number])? == 0 {
            return Err(Error::UsedNumber(visit.seq));
        }
        if let Some(state) = visit.unasked {
            revisit::remember(tx, number, state)?;
        }
        if let Some(next) = &page.next_visit {
            upkeep::write(tx, number, next)?;
        }
        if visit.keeps_page {
            revisit::keep_page(tx, visit, frontier)?;
            continue;
        }
        if visit.again && revisit::forget_page(tx, number)? {
            copies -= 1;
        }
        let terms = (!page.terms.is_empty()).then_some(seq);
        if terms.is_some() {
            let validators = page.validators.as_deref();
            let etag = validators.and_then(|validators| validators.etag.as_deref());
            let modified = validators.and_then(|validators| validators.modified.as_deref());
            add_terms.send(params![seq, page.terms, etag, modified])?;
        }
        copies += isize::from(page.copy_of.is_some());
        let (state, not_before) = verdict(page);
        let judgment = judgment(page);
        let belief = frontier.belief(row);
        let failure = failure(&page.outcome);
        let span = page.span;
        update.send(params![
            number,
            judgment.map_or(belief.relevance, |judgment| probability(judgment.relevance)),
            judgment.map(|judgment| judgment.best.0),
            page.at.0,
            state as u8,
            not_before.map(|at| at.0),
            seq,
            page.status,
            failure.map(|failure| failure.kind.name()),
            failure.map(Failure::detail),
            some_text(&page.title),
            some_text(&page.language),
            page.bytes.cast_signed(),
            page.simhash.cast_signed(),
            span.map(|span| span.segment),
            span.map(|span| span.offset.cast_signed()),
            span.map(|span| span.length),
            belief.priority,
            terms,
            page.copy_of.map(|original| original.0.cast_signed()),
        ])?;
    }
    Ok(copies)
}

/// Clears the locations of lost pages, and what a server recognises their versions by: it must send them whole.
fn clear_spans(tx: &Transaction<'_>, rows: &[u32], frontier: &Frontier) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut update =
        tx.prepare("update crawl set segment = null, \"offset\" = null, length = null where rowid = ?1")?;
    let mut forget = tx.prepare(
        "update page_terms set etag = null, modified = null where seq = (select terms from crawl where rowid = ?1)",
    )?;
    for &row in rows {
        update.send([frontier.rowid(row)])?;
        forget.send([frontier.rowid(row)])?;
    }
    Ok(())
}

/// Writes new judgments of pages.
fn update_judgments(tx: &Transaction<'_>, plan: &WritePlan<'_>, frontier: &Frontier) -> Result<()> {
    let mut update = tx.prepare("update crawl set relevance = ?2, kcid = ?3 where rowid = ?1")?;
    for &(row, judgment) in &plan.judgments {
        update.send(params![frontier.rowid(row), probability(judgment.relevance), judgment.best.0])?;
    }
    Ok(())
}

/// Writes the states of queued and evicted rows, with their estimates.
fn update_states(tx: &Transaction<'_>, rows: &[u32], frontier: &Frontier) -> Result<()> {
    let mut update = tx.prepare(
        "update crawl set relevance = coalesce(?2, relevance), priority = ?3, state = ?4, not_before = null \
         where rowid = ?1",
    )?;
    for &row in rows {
        let belief = frontier.belief(row);
        let relevance = estimate(frontier, row, belief);
        update.send(params![frontier.rowid(row), relevance, belief.priority, frontier.state(row) as u8])?;
    }
    Ok(())
}

/// Writes the places in the line of rows that were evicted and came back.
fn update_line(tx: &Transaction<'_>, rows: &[u32], frontier: &Frontier) -> Result<()> {
    let mut write = tx.prepare(
        "insert into requeued(row, behind, serial) values (?1, ?2, ?3) \
         on conflict(row) do update set behind = excluded.behind, serial = excluded.serial",
    )?;
    for &row in rows {
        if let Some(place) = frontier.line_position(row) {
            write.send(params![frontier.rowid(row), frontier.rowid(place.after), place.serial])?;
        }
    }
    Ok(())
}

/// The estimated relevance of a row; `None` for a fetched page, whose relevance is known.
pub(super) fn estimate(frontier: &Frontier, row: u32, belief: Belief) -> Option<f64> {
    (!frontier.tries(row).has_response()).then_some(belief.relevance)
}

fn update_loads(tx: &Transaction<'_>, loads: &[(u32, u32)]) -> Result<()> {
    let mut update = tx.prepare("update site set serverload = ?2 where rowid = ?1")?;
    for &(row, load) in loads {
        update.send(params![rowid(row), load])?;
    }
    Ok(())
}

fn update_addresses(tx: &Transaction<'_>, addresses: &[(SiteId, IpAddr)], frontier: &Frontier) -> Result<()> {
    let mut update =
        tx.prepare("update site set address = ?2 where rowid = ?1 and address is distinct from ?2")?;
    for &(sid, address) in addresses {
        if let Some(row) = frontier.sites().find(sid) {
            update.send(params![rowid(row), address.to_string()])?;
        }
    }
    Ok(())
}

/// Appends events.
pub(super) fn insert_events(tx: &Transaction<'_>, events: &[Event]) -> Result<()> {
    let mut insert = tx.prepare("insert into event(at, kind, detail) values (?1, ?2, ?3)")?;
    for event in events {
        insert.send(params![event.at.0, event.kind, event.detail])?;
    }
    Ok(())
}

pub(super) fn write_settings(tx: &Transaction<'_>, settings: &[(&str, &str)]) -> Result<()> {
    let mut write = tx.prepare(
        "insert into setting(name, value) values (?1, ?2) on conflict(name) do update set value = excluded.value",
    )?;
    for (name, value) in settings {
        write.send(params![name, value])?;
    }
    Ok(())
}

/// Row numbers of sites in memory start at 0, rowids at 1.
pub(super) fn rowid(row: u32) -> i64 {
    i64::from(row) + 1
}

/// The failure of a fetch, if it failed.
pub(super) fn failure(outcome: &Outcome) -> Option<&Failure> {
    match outcome {
        Outcome::Fetched | Outcome::NotModified | Outcome::Redirected => None,
        Outcome::Retry { failure, .. } | Outcome::Dead(failure) | Outcome::Skipped(failure) => Some(failure),
    }
}

fn some_text(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
