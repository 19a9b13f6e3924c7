//! Rebuilds what is kept in memory from the tables.

use porthole_types::{SiteId, Timestamp, UrlId};
use rusqlite::{Connection, Row};

use super::sites::Sites;
use crate::frontier::{Belief, Frontier, Restored, State};
use crate::{Error, Result};

/// What a store keeps in memory of its tables.
#[derive(Debug, Default)]
pub(super) struct Window {
    pub(super) frontier: Frontier,
    pub(super) sites: Sites,
    pub(super) links: usize,
    /// Rows of `raised`.
    pub(super) pending: usize,
}

/// Reads the tables once, in the order of their rows.
pub(super) fn load(db: &Connection) -> Result<Window> {
    let mut frontier = frontier(db)?;
    let pending = beliefs(db, &mut frontier)?;
    Ok(Window { frontier, sites: sites(db)?, links: links(db)?, pending })
}

fn frontier(db: &Connection) -> Result<Frontier> {
    let mut frontier = Frontier::default();
    let sql = "select rowid, oid, relevance, priority, numtries, state, not_before from crawl order by rowid";
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        // Rows are never deleted, so a rowid is a row number and the memory needs no second one.
        in_sequence("crawl", row.get(0)?, frontier.len())?;
        if frontier.len() == Frontier::CAPACITY {
            return Err(Error::Full);
        }
        let restored = restored(row)?;
        if !frontier.restore(restored) {
            return Err(Error::Damaged(format!("crawl has the URL {} twice", restored.oid)));
        }
    }
    Ok(frontier)
}

fn restored(row: &Row<'_>) -> Result<Restored> {
    let state = row.get(5)?;
    Ok(Restored {
        oid: UrlId(row.get::<_, i64>(1)?.cast_unsigned()),
        belief: Belief::new(row.get(2)?, row.get(3)?),
        numtries: row.get(4)?,
        state: State::from_code(state)
            .ok_or_else(|| Error::Damaged(format!("crawl has the unknown state {state}")))?,
        not_before: row.get::<_, Option<i64>>(6)?.map(Timestamp),
    })
}

/// Works in what was believed since the last sweep, oldest first; how many rows it was.
fn beliefs(db: &Connection, frontier: &mut Frontier) -> Result<usize> {
    let mut statement = db.prepare("select row, relevance, priority from raised order by rowid")?;
    let mut rows = statement.query([])?;
    let mut pending = 0;
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        let known = u32::try_from(number - 1).ok().filter(|&row| (row as usize) < frontier.len());
        let known = known.ok_or_else(|| Error::Damaged(format!("raised has the unknown row {number}")))?;
        frontier.set(known, Belief::new(row.get(1)?, row.get(2)?));
        pending += 1;
    }
    Ok(pending)
}

fn sites(db: &Connection) -> Result<Sites> {
    let mut sites = Sites::default();
    let mut statement = db.prepare("select rowid, sid, serverload from site order by rowid")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        in_sequence("site", row.get(0)?, sites.len())?;
        let sid = SiteId(row.get::<_, i64>(1)?.cast_unsigned());
        if !sites.see(sid, row.get(2)?) {
            return Err(Error::Damaged(format!("site has {sid} twice")));
        }
    }
    Ok(sites)
}

/// Links are only appended, so the last row's number is their count.
fn links(db: &Connection) -> Result<usize> {
    let last: Option<i64> = db.query_row("select max(rowid) from link", [], |row| row.get(0))?;
    Ok(usize::try_from(last.unwrap_or(0)).unwrap_or(0))
}

fn in_sequence(table: &str, rowid: i64, before: usize) -> Result<()> {
    if usize::try_from(rowid) == Ok(before + 1) {
        return Ok(());
    }
    Err(Error::Damaged(format!("{table} lacks the row {}; rows must not be deleted", before + 1)))
}
