//! What a polite crawl knows of hosts and their robots.txt, for the next run.
//!
//! A row has a slot that follows from its id, and takes the place of an older one there: the tables cannot grow, and what
//! is lost is asked for again.

use crate::sql::{Connection, Row, Transaction, params};
use porthole_types::{SiteId, Timestamp, UrlId};

use crate::{Result, StoredHost, StoredRobots};

/// Slots of `robots` and of `host`.
const SLOTS: u64 = 1 << 16;

pub(super) fn write_robots(tx: &Transaction<'_>, robots: &[StoredRobots]) -> Result<()> {
    let mut write = tx.prepare(
        "insert into robots(slot, oid, sid, until, since, detail, rules) values (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
         on conflict(slot) do update set oid = excluded.oid, sid = excluded.sid, until = excluded.until, \
         since = excluded.since, detail = excluded.detail, rules = excluded.rules",
    )?;
    for row in robots {
        let (oid, sid) = (row.oid.0, row.sid.0.cast_signed());
        let since = row.since.map(|since| since.0);
        write.send(params![
            (oid % SLOTS).cast_signed(),
            oid.cast_signed(),
            sid,
            row.until.0,
            since,
            row.detail,
            row.rules
        ])?;
    }
    Ok(())
}

pub(super) fn write_hosts(tx: &Transaction<'_>, hosts: &[StoredHost]) -> Result<()> {
    let mut write = tx.prepare(
        "insert into host(slot, sid, at, is_quick, trouble, not_before) values (?1, ?2, ?3, ?4, ?5, ?6) \
         on conflict(slot) do update set sid = excluded.sid, at = excluded.at, is_quick = excluded.is_quick, \
         trouble = excluded.trouble, not_before = excluded.not_before",
    )?;
    for row in hosts {
        let sid = row.sid.0;
        write.send(params![
            (sid % SLOTS).cast_signed(),
            sid.cast_signed(),
            row.at.0,
            row.is_quick,
            row.trouble,
            row.not_before.0
        ])?;
    }
    Ok(())
}

/// The robots.txt files that need not be asked for again before `now`.
pub(super) fn read_robots(db: &Connection, now: Timestamp) -> Result<Vec<StoredRobots>> {
    let mut read = db.prepare("select oid, sid, until, since, detail, rules from robots where until > ?1")?;
    let robots = |row: &Row<'_>| {
        Ok(StoredRobots {
            oid: UrlId(row.get::<i64>(0)?.cast_unsigned()),
            sid: SiteId(row.get::<i64>(1)?.cast_unsigned()),
            until: Timestamp(row.get(2)?),
            since: row.get::<Option<i64>>(3)?.map(Timestamp),
            detail: row.get(4)?,
            rules: row.get(5)?,
        })
    };
    read.query_map([now.0], robots)
}

pub(super) fn read_hosts(db: &Connection) -> Result<Vec<StoredHost>> {
    let mut read = db.prepare("select sid, at, is_quick, trouble, not_before from host")?;
    let host = |row: &Row<'_>| {
        Ok(StoredHost {
            sid: SiteId(row.get::<i64>(0)?.cast_unsigned()),
            at: Timestamp(row.get(1)?),
            is_quick: row.get(2)?,
            trouble: row.get(3)?,
            not_before: Timestamp(row.get(4)?),
        })
    };
    read.query_map((), host)
}
