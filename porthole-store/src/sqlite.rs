//! The store in one SQLite file.
//!
//! Life of a URL: it is appended to `crawl` when it is first seen; taken, which only the memory knows;
//! updated in place, by its rowid, when its result comes. What is believed of it meanwhile is appended to
//! `raised` and taken over in sweeps. What is in memory ([`Window`]) is changed first and then written; if
//! the write fails, it is rebuilt from the tables.

mod about;
mod desk;
mod graph;
mod load;
mod migrations;
mod open;
mod plan;
mod prober;
mod reader;
mod sandbox;
mod sites;
mod statistics;
mod sweep;
mod topics;
mod write;

use std::path::{Path, PathBuf};

use porthole_types::{CanonicalUrl, NewUrl, SiteId, Timestamp, UrlId, Work};
use rusqlite::{Connection, Row};

pub use self::desk::SqliteDesk;
use self::load::Window;
use self::open::Lock;
use self::plan::Plan;
pub use self::prober::{Judged, Prober, Spent, Table};
pub use self::reader::SqliteReader;
use self::write::rowid;
use crate::frontier::{Belief, State};
use crate::{Batch, Committed, Counts, Error, Result, Scores, Store};

/// A crawl in a SQLite database.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    db: Connection,
    window: Window,
    /// After a write that failed, the rows that were in flight before it: the window has run ahead of the
    /// tables, and nothing else may be done before it is rebuilt.
    stale: Option<Vec<u32>>,
    /// Keeps other writers out; the last field, so that it is released when the database is closed.
    _lock: Lock,
}

impl SqliteStore {
    /// Opens the database at a path, making it if there is none.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let lock = open::lock(&path)?;
        let db = open::writer(&path)?;
        about::drop_indexes(&db)?;
        let window = load::load(&db)?;
        Ok(SqliteStore { path, db, window, stale: None, _lock: lock })
    }

    /// Writes a plan that the window follows already.
    fn write(&mut self, plan: Result<Plan<'_>>, batch: &Batch<'_>) -> Result<Committed> {
        // A plan that fails has not changed the window.
        let plan = plan?;
        match write::write(&mut self.db, &plan, batch, &self.window.frontier) {
            Ok(()) => {
                self.window.pending += plan.believed.len();
                Ok(Committed { new_urls: plan.new_urls.len(), believed: plan.believed.len() })
            }
            Err(error) => {
                let in_flight = self.window.frontier.taken().into_iter().chain(plan.landed);
                self.stale = Some(in_flight.collect());
                self.refresh()?;
                Err(error)
            }
        }
    }

    /// Rebuilds the window after a write that failed. What is in flight stays so: its holders live.
    fn refresh(&mut self) -> Result<()> {
        if let Some(in_flight) = &self.stale {
            let mut window = load::load(&self.db)?;
            let known = window.frontier.len();
            for &row in in_flight.iter().filter(|&&row| (row as usize) < known) {
                window.frontier.take_again(row);
            }
            self.window = window;
            self.stale = None;
        }
        Ok(())
    }

    fn read_work(&self, rows: &[u32]) -> Result<Vec<Work>> {
        let mut read =
            self.db.prepare_cached("select oid, sid, url, numtries from crawl where rowid = ?1")?;
        let belief = |row| self.window.frontier.belief(row);
        let mut work = |row| read.query_row([rowid(row)], |found| Ok(work(found, belief(row))))?;
        rows.iter().map(|&row| work(row)).collect()
    }
}

impl Store for SqliteStore {
    fn add(&mut self, urls: &[NewUrl]) -> Result<usize> {
        self.refresh()?;
        sweep::sweep_if_due(&mut self.db, &mut self.window)?;
        let plan = Plan::for_urls(&mut self.window, urls);
        Ok(self.write(plan, &Batch::default())?.new_urls)
    }

    fn take(&mut self, n: usize, now: Timestamp) -> Result<Vec<Work>> {
        self.refresh()?;
        let rows = self.window.frontier.take(n, now);
        self.read_work(&rows).inspect_err(|_| {
            for &row in &rows {
                self.window.frontier.give_back(row);
            }
        })
    }

    fn give_back(&mut self, oids: &[UrlId]) -> Result<()> {
        self.refresh()?;
        for &oid in oids {
            let row = self.window.frontier.find(oid).ok_or(Error::UnknownUrl(oid))?;
            self.window.frontier.give_back(row);
        }
        Ok(())
    }

    fn commit(&mut self, batch: &Batch<'_>) -> Result<Committed> {
        self.refresh()?;
        sweep::sweep_if_due(&mut self.db, &mut self.window)?;
        let plan = Plan::for_batch(&mut self.window, batch);
        self.write(plan, batch)
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.window.frontier.next_due()
    }

    fn counts(&self) -> Counts {
        let tally = self.window.frontier.tally();
        let of = |state: State| tally.states[state as usize];
        Counts {
            known: self.window.frontier.len(),
            queued: of(State::Queued),
            in_flight: tally.taken,
            fetched: of(State::Fetched),
            redirected: of(State::Redirected),
            dead: of(State::Dead),
            skipped: of(State::Skipped),
            links: self.window.links,
            sites: self.window.sites.len(),
        }
    }

    fn set_scores(&mut self, scores: &Scores<'_>) -> Result<()> {
        write::write_scores(&mut self.db, scores)
    }

    fn tidy(&mut self) -> Result<()> {
        self.refresh()?;
        sweep::sweep(&mut self.db, &mut self.window)?;
        // What readers keep in the log stays there; that is no error.
        self.db.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))?;
        Ok(())
    }
}

fn work(row: &Row<'_>, belief: Belief) -> Result<Work> {
    let url: String = row.get(2)?;
    Ok(Work {
        oid: UrlId(row.get::<_, i64>(0)?.cast_unsigned()),
        sid: SiteId(row.get::<_, i64>(1)?.cast_unsigned()),
        url: CanonicalUrl::parse(&url)
            .map_err(|error| Error::Damaged(format!("crawl has {url}: {error}")))?,
        numtries: row.get(3)?,
        relevance: belief.relevance,
        priority: belief.priority,
    })
}
