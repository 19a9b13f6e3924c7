//! Rebuilds the memory from the tables.

use std::collections::HashSet;

use crate::sql::{Connection, Optional, Row, Rows};
use porthole_types::{SiteId, Timestamp, UrlId};

use super::publication::Announced;
use super::sweep::Sweep;
use super::workspace_writer::read_setting;
use crate::frontier::{
    Belief, Frontier, LinePosition, Needs, OptionalValues, Restored, RowState, SHARDS, ShardSet, SiteTable,
    Tries,
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
    /// With it the frontier is the part of a worker.
    pub(super) shared: Option<SharedPart>,
}

/// The part of the tables that a worker has in memory, and what it last saw of the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedPart {
    /// The worker's number.
    pub(super) worker: u32,
    /// Its shards.
    pub(super) shards: ShardSet,
    /// The counts of the whole crawl, and how many of its URLs on disabled sites are this worker's.
    pub(super) counts: StoreCounts,
    pub(super) parked: usize,
    /// The number of the last letter, and which of the two tables takes the next one.
    pub(super) last_letter: i64,
    pub(super) inbox: i64,
    /// What is added to the numbers of fetches in the current batch.
    pub(super) seq_shift: u64,
    /// What the worker tells others; nothing if it is alone.
    pub(super) announced: Option<Announced>,
}

impl SharedPart {
    /// The condition that a row of `crawl` is in the part.
    pub(super) fn condition(&self) -> String {
        format!("(crawl.sid >> 56) & 255 in (select id from shard where owner = {})", self.worker)
    }
}

impl FrontierState {
    /// Whether a site belongs to another worker.
    pub(super) fn is_foreign(&self, site: SiteId) -> bool {
        self.shared.is_some_and(|shared| !shared.shards.has_site(site))
    }

    /// Whether other workers may know URLs that are not in memory.
    pub(super) fn is_incomplete(&self) -> bool {
        self.shared.is_some_and(|shared| shared.shards.len() < SHARDS)
    }

    /// The counts of the whole crawl.
    pub(super) fn all_counts(&self) -> StoreCounts {
        let own = self.counts();
        self.shared.map_or(own, |shared| StoreCounts { in_flight: own.in_flight, ..shared.counts })
    }

    /// The current counts of what is in memory.
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
            parked: if self.shared.is_some() { self.frontier.parked() } else { tally.parked },
            links: self.links,
            sites: self.frontier.sites().len(),
            copies: self.copies,
        }
    }
}

/// Reads the tables once, in row order.
pub(super) fn load(db: &Connection, shared: Option<SharedPart>) -> Result<FrontierState> {
    let mut sites = SiteTable::default();
    new_sites(db, &mut sites)?;
    sites.set_disabled(disabled(db)?);
    let (policy, bound) = (policy(db)?, bound(db)?);
    let mut frontier = match shared {
        None => Frontier::new(&policy, bound, sites),
        Some(_) => Frontier::of_part(&policy, bound, sites),
    };
    if shared.is_none() {
        line(db, &mut frontier)?;
    }
    rows(db, &mut frontier, shared.as_ref())?;
    if shared.is_some() && line(db, &mut frontier)? {
        frontier.rebuild();
    }
    let sweep = beliefs(db, &mut frontier)?;
    if frontier.uses_scores() != [false; 3] {
        scores(db, &mut frontier)?;
        frontier.rebuild();
    }
    let shared = shared.map(|shared| SharedPart { parked: frontier.parked(), ..shared });
    Ok(FrontierState { frontier, links: links(db)?, copies: copies(db)?, sweep, shared })
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
pub(super) fn fill(db: &Connection, memory: &mut FrontierState, missing: Needs) -> Result<()> {
    let part = where_part(memory.shared.as_ref());
    let frontier = &mut memory.frontier;
    if missing.visits || missing.lastvisited {
        let mut statement =
            db.prepare(&format!("select numtries, lastvisited from crawl{part} order by rowid"))?;
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
    if missing.hubs || missing.auth || missing.neighbourhoods {
        scores(db, frontier)?;
    }
    frontier.rebuild();
    Ok(())
}

/// Reads the scores that the policy uses.
pub(super) fn scores(db: &Connection, frontier: &mut Frontier) -> Result<()> {
    let uses = frontier.uses_scores();
    frontier.clear_scores();
    let columns = [
        ("hubs", "score", Frontier::set_hub as fn(&mut Frontier, u32, f64)),
        ("auth", "score", Frontier::set_auth),
        ("neighbourhood", "relevance", Frontier::set_neighbourhood),
    ];
    for ((table, column, set), is_used) in columns.into_iter().zip(uses) {
        if is_used {
            let mut statement = db.prepare(&format!("select oid, {column} from {table}"))?;
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

/// Reads the places in the line of URLs that came back: before the rows are queued, or, of a part, when its rows are known.
/// Returns whether there are any.
fn line(db: &Connection, frontier: &mut Frontier) -> Result<bool> {
    let is_part = frontier.is_part();
    let mut has_any = false;
    let mut statement = db.prepare("select row, behind, serial from requeued")?;
    let mut rows = statement.stream(())?;
    while let Some(row) = rows.next()? {
        let number = |rowid: i64| {
            u32::try_from(rowid - 1)
                .map_err(|_| Error::Damaged(format!("requeued has the unknown row {rowid}")))
        };
        let (known, after) = match is_part {
            false => (Some(number(row.get(0)?)?), number(row.get(1)?)?),
            true => (frontier.row_of(row.get(0)?), frontier.last_row_up_to(row.get(1)?)),
        };
        if let Some(known) = known {
            frontier.restore_line_position(known, LinePosition { after, serial: row.get(2)? });
            has_any = true;
        }
    }
    Ok(has_any)
}

/// The condition that rows of `crawl` are in the part of a worker.
fn where_part(shared: Option<&SharedPart>) -> String {
    shared.map_or_else(String::new, |shared| format!(" where {}", shared.condition()))
}

fn rows(db: &Connection, frontier: &mut Frontier, shared: Option<&SharedPart>) -> Result<()> {
    let mut revisits = db.prepare("select row, numtries, came from revisit order by row")?;
    let mut revisits = Revisits::new(revisits.query(())?)?;
    let sql = format!(
        "select rowid, oid, sid, relevance, priority, numtries, lastvisited, state, not_before \
         from crawl{} order by rowid",
        where_part(shared)
    );
    let mut statement = db.prepare(&sql)?;
    let mut rows = statement.stream(())?;
    while let Some(row) = rows.next()? {
        // Rows are never deleted, so a rowid is a row number.
        if shared.is_none() {
            in_sequence("crawl", row.get(0)?, frontier.len())?;
        }
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
            .as_again()
            .with_response(before.came || state.has_response()),
    };
    Ok(Restored {
        rowid: row.get(0)?,
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
        // Rows of other workers.
        while self.next.is_some_and(|next| next.row < row) {
            self.advance()?;
        }
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
        let known = match frontier.row_of(number) {
            Some(known) => known,
            // Of another worker.
            None if frontier.is_part() => continue,
            None => return Err(Error::Damaged(format!("estimate_log has the unknown row {number}"))),
        };
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
