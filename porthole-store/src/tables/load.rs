//! Rebuilds the memory from the tables.

use std::collections::HashSet;

use crate::sql::{Connection, Optional, Row, Rows};
use porthole_types::{SiteId, Timestamp, UrlId};

use super::sweep::Sweep;
use super::workspace_writer::read_setting;
use crate::frontier::{
    Belief, Frontier, LinePosition, Needs, OptionalValues, Restored, RowState, SiteTable, Tries,
};
use crate::{Error, Policy, Result, StoreCounts};

/// Setting: maximum number of queued URLs.
pub(super) const BOUND_SETTING: &str = "bound";

/// The part of the tables that a store keeps in memory.
#[derive(Debug)]
pub(super) struct FrontierState {
    pub(super) frontier: Frontier,
    pub(super) links: usize,
    pub(super) copies: usize,
    pub(super) sweep: Sweep,
}

impl FrontierState {
    /// The current counts.
    pub(super) fn counts(&self) -> StoreCounts {
        let tally = self.frontier.tally();
        let of = |state: RowState| tally.states[state as usize];
        StoreCounts {
            known: self.frontier.len(),
            queued: of(RowState::Queued),
            in_flight: tally.taken,
            fetched: of(RowState::Fetched),
            redirected: of(RowState::Redirected),
            dead: of(RowState::Dead),
            skipped: of(RowState::Skipped),
            evicted: of(RowState::Evicted),
            rejected: of(RowState::Rejected),
            parked: tally.parked,
            links: self.links,
            sites: self.frontier.sites().len(),
            copies: self.copies,
        }
    }
}

/// Reads the tables once, in row order.
pub(super) fn load(db: &Connection) -> Result<FrontierState> {
    let mut sites = SiteTable::default();
    new_sites(db, &mut sites)?;
    sites.set_disabled(disabled(db)?);
    let mut frontier = Frontier::new(&policy(db)?, bound(db)?, sites);
    line(db, &mut frontier)?;
    rows(db, &mut frontier)?;
    let sweep = beliefs(db, &mut frontier)?;
    if frontier.uses_scores() != (false, false) {
        scores(db, &mut frontier)?;
        frontier.rebuild();
    }
    Ok(FrontierState { frontier, links: links(db)?, copies: copies(db)?, sweep })
}

/// The stored policy.
pub(super) fn policy(db: &Connection) -> Result<Policy> {
    let text = read_setting(db, Policy::SETTING)?;
    Ok(text.map_or_else(|| Ok(Policy::default()), |text| Policy::parse(&text))?)
}

/// The maximum number of queued URLs.
fn bound(db: &Connection) -> Result<Option<usize>> {
    let text = read_setting(db, BOUND_SETTING)?.filter(|text| !text.is_empty());
    let parse = |text: String| {
        text.parse().map_err(|_| Error::Damaged(format!("the setting `{BOUND_SETTING}` is `{text}`")))
    };
    text.map(parse).transpose()
}

/// Reads the sites that are not in memory yet; they come after the others.
pub(super) fn new_sites(db: &Connection, sites: &mut SiteTable) -> Result<()> {
    let sql = "select rowid, sid, serverload from site where rowid > ?1 order by rowid";
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.query([i64::try_from(sites.len()).unwrap_or(i64::MAX)])?;
    while let Some(row) = rows.next()? {
        in_sequence("site", row.get(0)?, sites.len())?;
        let sid = site_id(&row, 1)?;
        if !sites.see(sid, row.get(2)?).1 {
            return Err(Error::Damaged(format!("site has {sid} twice")));
        }
    }
    Ok(())
}

/// The rows of disabled sites. A small index makes this cheap.
pub(super) fn disabled(db: &Connection) -> Result<HashSet<u32>> {
    let mut statement = db.prepare("select rowid - 1 from site where disabled <> 0")?;
    let rows = statement.query_map((), |row| row.get(0))?;
    Ok(rows.into_iter().collect())
}

/// Reads the columns that the frontier now needs, and rebuilds the queue.
pub(super) fn fill(db: &Connection, frontier: &mut Frontier, missing: Needs) -> Result<()> {
    if missing.visits || missing.lastvisited {
        let mut statement = db.prepare("select numtries, lastvisited from crawl order by rowid")?;
        let mut rows = statement.query(())?;
        let mut number = 0;
        while let Some(row) = rows.next()? {
            let facts = OptionalValues {
                visits: row.get(0)?,
                lastvisited: row.get::<Option<i64>>(1)?.map(Timestamp),
                ..OptionalValues::default()
            };
            frontier.fill(number, facts);
            number += 1;
        }
    }
    if missing.hubs || missing.auth {
        scores(db, frontier)?;
    }
    frontier.rebuild();
    Ok(())
}

/// Reads the scores that the policy uses.
pub(super) fn scores(db: &Connection, frontier: &mut Frontier) -> Result<()> {
    let (hubs, auth) = frontier.uses_scores();
    frontier.clear_scores();
    let tables = [
        ("hubs", hubs, Frontier::set_hub as fn(&mut Frontier, u32, f64)),
        ("auth", auth, Frontier::set_auth),
    ];
    for (table, used, set) in tables {
        if used {
            let mut statement = db.prepare(&format!("select oid, score from {table}"))?;
            let mut rows = statement.query(())?;
            while let Some(row) = rows.next()? {
                if let Some(known) = frontier.find(UrlId(row.get::<i64>(0)?.cast_unsigned())) {
                    set(frontier, known, row.get(1)?);
                }
            }
        }
    }
    Ok(())
}

/// Reads the places in the line of URLs that came back, before the rows are queued.
fn line(db: &Connection, frontier: &mut Frontier) -> Result<()> {
    let mut statement = db.prepare("select row, behind, serial from requeued")?;
    let mut rows = statement.stream(())?;
    while let Some(row) = rows.next()? {
        let number = |rowid: i64| {
            u32::try_from(rowid - 1)
                .map_err(|_| Error::Damaged(format!("requeued has the unknown row {rowid}")))
        };
        let position = LinePosition { after: number(row.get(1)?)?, serial: row.get(2)? };
        frontier.restore_line_position(number(row.get(0)?)?, position);
    }
    Ok(())
}

fn rows(db: &Connection, frontier: &mut Frontier) -> Result<()> {
    let mut revisits = db.prepare("select row, numtries, came from revisit order by row")?;
    let mut revisits = Revisits::new(revisits.query(())?)?;
    let sql = "select rowid, oid, sid, relevance, priority, numtries, lastvisited, state, not_before \
               from crawl order by rowid";
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.stream(())?;
    while let Some(row) = rows.next()? {
        // Rows are never deleted, so a rowid is a row number.
        in_sequence("crawl", row.get(0)?, frontier.len())?;
        if frontier.len() == Frontier::CAPACITY {
            return Err(Error::Full);
        }
        let restored = restored(&row, frontier.sites(), revisits.at(row.get(0)?)?)?;
        if !frontier.restore(restored) {
            return Err(Error::Damaged(format!("crawl has the URL {} twice", restored.oid)));
        }
    }
    Ok(())
}

fn restored(row: &Row<'_>, sites: &SiteTable, revisit: Option<RevisitRow>) -> Result<Restored> {
    let code = row.get(7)?;
    let state = RowState::from_code(code)
        .ok_or_else(|| Error::Damaged(format!("crawl has the unknown state {code}")))?;
    let visits: u32 = row.get(5)?;
    let tries = match revisit {
        None => Tries::new(visits).with_response(state.has_response()),
        Some(before) => Tries::new(visits.saturating_sub(before.numtries))
            .as_revisit()
            .with_response(before.came || state.has_response()),
    };
    Ok(Restored {
        oid: UrlId(row.get::<i64>(1)?.cast_unsigned()),
        belief: Belief::new(row.get(3)?, row.get(4)?),
        tries,
        state,
        not_before: row.get::<Option<i64>>(8)?.map(Timestamp),
        facts: OptionalValues {
            site: site(sites, site_id(row, 2)?)?,
            visits,
            lastvisited: row.get::<Option<i64>>(6)?.map(Timestamp),
        },
    })
}

/// The state of a URL before it was queued again.
#[derive(Clone, Copy, Debug)]
struct RevisitRow {
    row: i64,
    numtries: u32,
    came: bool,
}

/// The table `revisit`, read in step with `crawl`.
struct Revisits<'a> {
    rows: Rows<'a>,
    next: Option<RevisitRow>,
}

impl<'a> Revisits<'a> {
    fn new(rows: Rows<'a>) -> Result<Self> {
        let mut revisits = Revisits { rows, next: None };
        revisits.advance()?;
        Ok(revisits)
    }

    /// The entry of a row; rows must be requested in ascending order.
    fn at(&mut self, row: i64) -> Result<Option<RevisitRow>> {
        let found = self.next.filter(|next| next.row == row);
        if found.is_some() {
            self.advance()?;
        }
        Ok(found)
    }

    fn advance(&mut self) -> Result<()> {
        self.next = match self.rows.next()? {
            None => None,
            Some(row) => {
                Some(RevisitRow { row: row.get(0)?, numtries: row.get(1)?, came: row.get::<i64>(2)? != 0 })
            }
        };
        Ok(())
    }
}

/// Applies the estimates since the last sweep, oldest first. Returns what is left to sweep.
fn beliefs(db: &Connection, frontier: &mut Frontier) -> Result<Sweep> {
    let mut statement = db.prepare("select row, relevance, priority from estimate_log order by rowid")?;
    let mut rows = statement.stream(())?;
    let mut sweep = Sweep::default();
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        let known = u32::try_from(number - 1).ok().filter(|&row| (row as usize) < frontier.len());
        let known =
            known.ok_or_else(|| Error::Damaged(format!("estimate_log has the unknown row {number}")))?;
        frontier.set(known, Belief::new(row.get(1)?, row.get(2)?));
        sweep.mark(&[known]);
    }
    Ok(sweep)
}

/// Links are only appended, so the number of the last row is their count.
fn links(db: &Connection) -> Result<usize> {
    let last: Option<i64> = db.query_row("select max(rowid) from edge", (), |row| row.get(0))?;
    Ok(usize::try_from(last.unwrap_or(0)).unwrap_or(0))
}

/// Duplicates are counted with every commit; a new database has none.
fn copies(db: &Connection) -> Result<usize> {
    let count: Option<i64> = db.query_row("select copies from counts", (), |row| row.get(0)).optional()?;
    Ok(usize::try_from(count.unwrap_or(0)).unwrap_or(0))
}

fn site(sites: &SiteTable, sid: SiteId) -> Result<u32> {
    sites.find(sid).ok_or_else(|| Error::Damaged(format!("crawl has the unknown site {sid}")))
}

fn site_id(row: &Row<'_>, column: usize) -> Result<SiteId> {
    Ok(SiteId(row.get::<i64>(column)?.cast_unsigned()))
}

fn in_sequence(table: &str, rowid: i64, before: usize) -> Result<()> {
    if usize::try_from(rowid) == Ok(before + 1) {
        return Ok(());
    }
    Err(Error::Damaged(format!("{table} missing the row {}; rows must not be deleted", before + 1)))
}
