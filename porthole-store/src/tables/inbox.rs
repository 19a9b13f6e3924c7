//! Letters between workers: links to URLs of other workers' sites, and changes of URLs that are not in memory.
//!
//! A letter is a row of one of two tables. The writer's transaction appends it, under the lock that all writers take, so
//! that letters are numbered in the order of their commits; the owner of the shard reads them from a cursor on, and writes
//! the cursor in the transaction that applies them. A table that everybody has read is truncated, and takes the letters
//! that follow.

use crate::sql::{Connection, Row, Transaction, Value, params};
use porthole_types::{CanonicalUrl, NewUrl, Timestamp, UrlId};

use super::load::SharedPart;
use super::plan::WritePlan;
use crate::frontier::shard_of;
use crate::{Error, Result};

/// What a letter says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LetterKind {
    /// A page links to the URL.
    Link = 0,
    /// The URL was found in another way.
    Found = 1,
    /// A new estimate, up or down.
    Estimate = 2,
    /// An estimate recomputed from the linking pages; the priority is the estimate before.
    Refreshed = 3,
    /// A lower bound of the estimate.
    Raised = 4,
    /// Queue the finished URL again.
    Again = 5,
    /// A new judgment of the page; the depth is the best topic.
    Judgment = 6,
    /// The archived page is lost.
    Lost = 7,
    /// A page that was fetched, for the strategies of the others; the source is the worker.
    Shown = 8,
    /// What a strategy has learnt, for one worker; the source is that worker.
    Memory = 9,
}

impl LetterKind {
    const ALL: [LetterKind; 10] = [
        LetterKind::Link,
        LetterKind::Found,
        LetterKind::Estimate,
        LetterKind::Refreshed,
        LetterKind::Raised,
        LetterKind::Again,
        LetterKind::Judgment,
        LetterKind::Lost,
        LetterKind::Shown,
        LetterKind::Memory,
    ];

    /// Whether it is for a strategy, and changes nothing in the tables.
    pub(super) fn is_for_strategy(self) -> bool {
        matches!(self, LetterKind::Shown | LetterKind::Memory)
    }
}

/// Flags of a link.
pub(super) const REJECTED: i64 = 1;
/// The linking page was visited again: the link may be known.
pub(super) const REVISITED: i64 = 2;
/// The priority replaces the one of the URL, up or down.
pub(super) const LATEST: i64 = 4;

/// A letter to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Letter<'a> {
    pub(super) kind: LetterKind,
    pub(super) oid: UrlId,
    /// Without it the letter goes to all workers, of whom one knows the URL.
    pub(super) url: Option<&'a CanonicalUrl>,
    pub(super) relevance: f64,
    pub(super) priority: f64,
    pub(super) depth: u32,
    /// Rowid of the linking page.
    pub(super) src: i64,
    pub(super) discovered: Timestamp,
    pub(super) anchor: Option<&'a str>,
    pub(super) flags: i64,
    pub(super) page: Option<&'a [u8]>,
}

impl<'a> Letter<'a> {
    /// A letter about a URL that only its worker knows.
    pub(super) fn about(kind: LetterKind, oid: UrlId, relevance: f64, priority: f64) -> Self {
        Letter {
            kind,
            oid,
            url: None,
            relevance,
            priority,
            depth: 0,
            src: 0,
            discovered: Timestamp(0),
            anchor: None,
            flags: 0,
            page: None,
        }
    }

    /// A letter with a page that this worker has fetched.
    pub(super) fn showing(page: &'a [u8], worker: u32) -> Self {
        let about = Letter::about(LetterKind::Shown, UrlId(0), 0.0, 0.0);
        Letter { src: worker.into(), page: Some(page), ..about }
    }

    /// A letter with what a strategy has learnt, for one worker.
    pub(super) fn with_memory(memory: &'a [u8], to: u32) -> Self {
        let about = Letter::about(LetterKind::Memory, UrlId(0), 0.0, 0.0);
        Letter { src: to.into(), page: Some(memory), ..about }
    }

    /// A letter that a URL was found.
    pub(super) fn found(new: &'a NewUrl) -> Self {
        let about = Letter::about(LetterKind::Found, new.url.id(), new.relevance, new.priority);
        Letter { url: Some(&new.url), depth: new.depth, ..about }
    }
}

/// A letter as it arrived.
#[derive(Clone, Debug)]
pub(super) struct ReceivedLetter {
    pub(super) number: i64,
    pub(super) kind: LetterKind,
    pub(super) oid: UrlId,
    /// The URL of a link or of what was found.
    pub(super) new: Option<NewUrl>,
    pub(super) relevance: f64,
    pub(super) priority: f64,
    pub(super) depth: u32,
    pub(super) src: i64,
    pub(super) discovered: Timestamp,
    pub(super) anchor: Option<String>,
    pub(super) flags: i64,
    pub(super) page: Option<Vec<u8>>,
}

/// Writes the letters of a plan, and how far the worker has read its own.
pub(super) fn write(tx: &Transaction<'_>, plan: &WritePlan<'_>, shared: &SharedPart) -> Result<()> {
    if !plan.letters.is_empty() {
        let columns = [
            "shard",
            "kind",
            "oid",
            "url",
            "relevance",
            "priority",
            "depth",
            "src",
            "discovered",
            "anchor",
            "flags",
            "page",
        ];
        let rows = plan.letters.iter().map(|letter| {
            [
                Value::Integer(letter.url.map_or(-1, |url| shard_of(url.site()).into())),
                Value::Integer(letter.kind as i64),
                Value::Integer(letter.oid.0.cast_signed()),
                letter.url.map_or(Value::Null, |url| Value::Text(url.as_str().into())),
                Value::Real(letter.relevance),
                Value::Real(letter.priority),
                Value::Integer(letter.depth.into()),
                Value::Integer(letter.src),
                Value::Integer(letter.discovered.0),
                letter.anchor.map_or(Value::Null, |anchor| Value::Text(anchor.into())),
                Value::Integer(letter.flags),
                letter.page.map_or(Value::Null, |page| Value::Blob(page.into())),
            ]
        });
        tx.append(&format!("inbox_{}", shared.inbox), columns, Some(shared.last_letter + 1), rows)?;
        let last = shared.last_letter.saturating_add_unsigned(plan.letters.len() as u64);
        tx.prepare("update inbox set last = ?1")?.send([last])?;
    }
    if let Some(cursor) = plan.cursor {
        tx.prepare("update worker set cursor = ?2 where id = ?1")?.send(params![shared.worker, cursor])?;
    }
    for &shard in &plan.caught_up {
        tx.prepare("update shard set cursor = null where id = ?1")?.send([i64::from(shard)])?;
    }
    Ok(())
}

/// The number of the last letter.
pub(super) fn last(db: &Connection) -> Result<i64> {
    db.query_row("select last from inbox", (), |row| row.get(0))
}

const COLUMNS: &str =
    "rowid, kind, oid, url, relevance, priority, depth, src, discovered, anchor, flags, page";

/// The letters with numbers above `after` and up to `until` to the shards of a worker that are read from its own cursor on,
/// at most `most`, in order.
pub(super) fn read(
    db: &Connection,
    worker: u32,
    after: i64,
    until: i64,
    most: i64,
) -> Result<Vec<ReceivedLetter>> {
    let mine = "(shard = -1 and (kind < 8 or kind = 8 and src <> ?3 or kind = 9 and src = ?3) \
                 or shard in (select id from shard where owner = ?3 and cursor is null))";
    let sql = select(mine, "limit ?4");
    db.prepare(&sql)?.query_map(params![after, until, worker, most], letter)
}

/// The letters to one shard with numbers above `after` and up to `until`, and those to all but for strategies.
pub(super) fn read_shard(db: &Connection, shard: u8, after: i64, until: i64) -> Result<Vec<ReceivedLetter>> {
    let sql = select("shard in (-1, ?3) and kind < 8", "");
    db.prepare(&sql)?.query_map(params![after, until, i64::from(shard)], letter)
}

fn select(which: &str, limit: &str) -> String {
    let one =
        |table: &str| format!("select {COLUMNS} from {table} where rowid > ?1 and rowid <= ?2 and {which}");
    format!("{} union all {} order by rowid {limit}", one("inbox_0"), one("inbox_1"))
}

fn letter(row: &Row<'_>) -> Result<ReceivedLetter> {
    let (kind, oid): (i64, _) = (row.get(1)?, UrlId(row.get::<i64>(2)?.cast_unsigned()));
    let damaged = || Error::Damaged(format!("the inbox has a letter of the kind {kind}"));
    let kind = usize::try_from(kind).ok().and_then(|kind| LetterKind::ALL.get(kind).copied());
    let kind = kind.ok_or_else(damaged)?;
    let (relevance, priority, depth) = (row.get(4)?, row.get(5)?, row.get(6)?);
    let new = row.text(3)?.and_then(|url| CanonicalUrl::with_id(url, oid));
    let new = new.map(|url| NewUrl { url, relevance, priority, depth });
    if new.is_none() && matches!(kind, LetterKind::Link | LetterKind::Found) {
        return Err(Error::Damaged(format!("the inbox has no URL for {oid}")));
    }
    Ok(ReceivedLetter {
        number: row.get(0)?,
        kind,
        oid,
        new,
        relevance,
        priority,
        depth,
        src: row.get(7)?,
        discovered: Timestamp(row.get(8)?),
        anchor: row.get(9)?,
        flags: row.get(10)?,
        page: row.get(11)?,
    })
}

/// Letters in a table from which on the next ones go to the other one.
const FULL: i64 = 100_000;

/// If one table is full and everybody has read the other one, empties that one and lets the next letters go there. Gives up
/// if somebody reads it.
pub(super) fn rotate(db: &Connection) -> Result<()> {
    let sql = "select current, coalesce((select max(rowid) from inbox_0), 0), \
                      coalesce((select max(rowid) from inbox_1), 0), \
                      coalesce((select min(rowid) from inbox_0), 0), coalesce((select min(rowid) from inbox_1), 0), \
                      (select min(coalesce(shard.cursor, worker.cursor, 0)) \
                       from shard left join worker on worker.id = shard.owner) from inbox";
    let (current, last, first, read) = db.query_row(sql, (), |row| {
        Ok((
            row.get::<i64>(0)?,
            [row.get::<i64>(1)?, row.get::<i64>(2)?],
            [row.get::<i64>(3)?, row.get::<i64>(4)?],
            row.get::<i64>(5)?,
        ))
    })?;
    let (this, other) = (usize::from(current == 1), usize::from(current != 1));
    if last[this] - first[this] < FULL || last[other] > read {
        return Ok(());
    }
    let tx = db.write_transaction()?;
    tx.execute_batch(&format!("set local lock_timeout = '200ms'; truncate inbox_{other}"))?;
    tx.execute("update inbox set current = ?1", [i64::from(current != 1)])?;
    tx.commit()
}
