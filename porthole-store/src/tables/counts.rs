//! The current counts, in a table of one row, so that readers need not count.

use crate::sql::{Connection, Row};

use crate::{Result, StoreCounts};

/// Reads the counts. URLs in flight are known only to the store's memory.
pub(super) fn read(db: &Connection) -> Result<StoreCounts> {
    let sql = "select known, queued, fetched, redirected, dead, skipped, evicted, rejected, parked, links, sites, \
               copies from counts";
    db.prepare(sql)?.query_row((), counts)
}

fn counts(row: &Row<'_>) -> Result<StoreCounts> {
    let count = |at| row.get(at).map(|count: i64| usize::try_from(count).unwrap_or(0));
    Ok(StoreCounts {
        known: count(0)?,
        queued: count(1)?,
        in_flight: 0,
        fetched: count(2)?,
        redirected: count(3)?,
        dead: count(4)?,
        skipped: count(5)?,
        evicted: count(6)?,
        rejected: count(7)?,
        parked: count(8)?,
        links: count(9)?,
        sites: count(10)?,
        copies: count(11)?,
    })
}

/// Replaces the counts.
pub(super) fn write(db: &Connection, counts: &StoreCounts) -> Result<()> {
    let mut update = db.prepare(
        "update counts set known = ?1, queued = ?2, fetched = ?3, redirected = ?4, dead = ?5, skipped = ?6, \
         evicted = ?7, rejected = ?8, parked = ?9, links = ?10, sites = ?11, copies = ?12",
    )?;
    let values = [
        counts.known,
        counts.queued,
        counts.fetched,
        counts.redirected,
        counts.dead,
        counts.skipped,
        counts.evicted,
        counts.rejected,
        counts.parked,
        counts.links,
        counts.sites,
        counts.copies,
    ];
    let values = values.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
    if update.execute(values)? == 0 {
        db.execute("insert into counts values (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)", ())?;
        update.execute(values)?;
    }
    Ok(())
}

/// Adds what has changed between two counts of a worker. Links and sites are counted for all. Returns the counts of the
/// whole crawl.
pub(super) fn add(db: &Connection, before: &StoreCounts, now: &StoreCounts) -> Result<StoreCounts> {
    let mut update = db.prepare(
        "update counts set known = known + ?1, queued = queued + ?2, fetched = fetched + ?3, \
         redirected = redirected + ?4, dead = dead + ?5, skipped = skipped + ?6, evicted = evicted + ?7, \
         rejected = rejected + ?8, parked = parked + ?9, copies = copies + ?10, links = ?11, sites = ?12 \
         returning known, queued, fetched, redirected, dead, skipped, evicted, rejected, parked, links, sites, copies",
    )?;
    let change = |before: usize, now: usize| now.cast_signed() as i64 - before.cast_signed() as i64;
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let values = [
        change(before.known, now.known),
        change(before.queued, now.queued),
        change(before.fetched, now.fetched),
        change(before.redirected, now.redirected),
        change(before.dead, now.dead),
        change(before.skipped, now.skipped),
        change(before.evicted, now.evicted),
        change(before.rejected, now.rejected),
        change(before.parked, now.parked),
        change(before.copies, now.copies),
        number(now.links),
        number(now.sites),
    ];
    update.query_row(values, counts)
}

/// Writes the counts if the table has different ones, or none.
pub(super) fn correct(db: &Connection, counts: &StoreCounts) -> Result<()> {
    let is_correct = read(db).is_ok_and(|found| found == StoreCounts { in_flight: 0, ..*counts });
    if is_correct { Ok(()) } else { write(db, counts) }
}
