//! The store in one SQLite file.
//!
//! Life of a URL: it is appended to `crawl` when it is first seen; taken, which only the memory knows;
//! updated in place, by its rowid, when its result comes. What is believed of it meanwhile is appended to
//! `estimate_log` and taken over in sweeps. What is in memory ([`FrontierState`]) is changed first and then written; if
//! the write fails, it is rebuilt from the tables.

mod about;
mod commands;
mod counts;
mod distill;
mod graph;
mod links;
mod load;
mod lookup;
mod many;
mod migrations;
mod open;
mod plan;
mod prober;
mod reader;
mod revisit;
mod sandbox;
mod statistics;
mod sweep;
mod topics;
mod tried;
mod workspace_writer;
mod write;

use std::path::{Path, PathBuf};

use porthole_types::{CanonicalUrl, NewUrl, Rank, SiteId, Timestamp, UrlId, Work};
use rusqlite::{Connection, Row, Transaction, TransactionBehavior};

pub use self::distill::{SqlDistillation, SqlDistiller, SqlScores};
use self::load::FrontierState;
use self::open::Lock;
use self::plan::Plan;
pub use self::prober::{Judged, Prober, Spent, Table};
pub use self::reader::SqliteReader;
pub use self::workspace_writer::SqliteWorkspaceWriter;
use self::write::rowid;
use crate::frontier::{Belief, Needs, Tries};
use crate::{Batch, Committed, Counts, Error, Policy, Result, Store, WorkspaceWriter};

/// A crawl in a SQLite database.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    db: Connection,
    memory: FrontierState,
    /// After a write that failed, the rows that were in flight before it: the memory has run ahead of the
    /// tables, and nothing else may be done before it is rebuilt.
    stale: Option<Vec<u32>>,
    /// What SQLite calls the data's version, when it was last looked for what others wrote.
    looked: i64,
    /// Keeps other writers out; the last field, so that it is released when the database is closed.
    _lock: Lock,
}

impl SqliteStore {
    /// Opens the database at a path, making it if there is none.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let lock = open::lock(&path)?;
        let db = open::writer(&path)?;
        let looked = data_version(&db)?;
        let memory = load::load(&db)?;
        counts::correct(&db, &memory.counts())?;
        Ok(SqliteStore { path, db, memory, stale: None, looked, _lock: lock })
    }

    /// Works something into the memory and writes what follows from it. The transaction comes first: until
    /// it begins, others may add sites.
    fn write<'a>(
        &mut self,
        batch: &Batch<'a>,
        plan: impl FnOnce(&mut FrontierState) -> Result<Plan<'a>>,
    ) -> Result<Committed> {
        self.refresh()?;
        sweep::sweep_if_overdue(&mut self.db, &mut self.memory)?;
        let tx = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        load::new_sites(&tx, self.memory.frontier.sites_mut())?;
        // A plan that fails has not changed the memory.
        let plan = plan(&mut self.memory)?;
        let written = write::write(&tx, &plan, batch, &self.memory);
        match written.and_then(|added| Ok(tx.commit().map(|()| added)?)) {
            Ok(added) => {
                self.memory.links += added.links;
                self.memory.copies = self.memory.copies.saturating_add_signed(added.copies);
                self.memory.sweep.mark(&plan.believed);
                Ok(Committed {
                    new_urls: plan.new_urls.len(),
                    believed: plan.believed.len(),
                    evicted: plan.evicted,
                })
            }
            Err(error) => {
                self.distrust(plan.landed);
                self.refresh()?;
                Err(error)
            }
        }
    }

    /// The memory may be wrong; these rows are in flight besides those that it says are.
    fn distrust(&mut self, landed: Vec<u32>) {
        self.stale = Some(self.memory.frontier.taken().into_iter().chain(landed).collect());
    }

    /// Follows the flags of the sites.
    fn follow_sites(&mut self) -> Result<()> {
        load::new_sites(&self.db, self.memory.frontier.sites_mut())?;
        let disabled = load::disabled(&self.db)?;
        if disabled == *self.memory.frontier.sites().disabled() {
            return Ok(());
        }
        let lacks = self.memory.frontier.set_disabled(disabled);
        self.reorder(lacks)?;
        // What comes back may be too much.
        self.write(&Batch::default(), |memory| Ok(Plan::for_bound(memory))).map(drop)
    }

    /// Follows the policy that is set.
    fn follow_policy(&mut self) -> Result<()> {
        let policy = load::policy(&self.db)?;
        if policy == *self.memory.frontier.policy() {
            return Ok(());
        }
        let lacks = self.memory.frontier.set_policy(&policy);
        self.reorder(lacks)
    }

    fn reorder(&mut self, lacks: Needs) -> Result<()> {
        load::fill(&self.db, &mut self.memory.frontier, lacks).inspect_err(|_| self.distrust(Vec::new()))
    }

    /// Rebuilds the memory after a write that failed. What is in flight stays so: its holders live.
    fn refresh(&mut self) -> Result<()> {
        if let Some(in_flight) = &self.stale {
            let mut memory = load::load(&self.db)?;
            let known = memory.frontier.len();
            for &row in in_flight.iter().filter(|&&row| (row as usize) < known) {
                memory.frontier.take_again(row);
            }
            self.memory = memory;
            self.stale = None;
        }
        Ok(())
    }

    fn read_work(&self, rows: &[u32]) -> Result<Vec<Work>> {
        // Else every row would be a transaction, with locks to take and to give back.
        let _together = (rows.len() > 1).then(|| self.db.unchecked_transaction()).transpose()?;
        let mut read = self.db.prepare_cached("select oid, sid, url, depth from crawl where rowid = ?1")?;
        let frontier = &self.memory.frontier;
        let mut work = |row| {
            let (belief, tries) = (frontier.belief(row), frontier.tries(row));
            let mut work = read.query_row([rowid(row)], |found| Ok(work(found, belief, tries)))??;
            work.pages_of_site = frontier.sites().load_of(work.sid);
            work.rank = frontier.rank(row);
            Ok(work)
        };
        rows.iter().map(|&row| work(row)).collect()
    }

    /// The work of rows that are in flight from now on; they are not if it cannot be read.
    fn hand_out(&mut self, rows: &[u32]) -> Result<Vec<Work>> {
        self.read_work(rows).inspect_err(|_| {
            for &row in rows {
                self.memory.frontier.give_back(row);
            }
        })
    }

    /// Takes scores over that were written, if the order of the queue has to do with them.
    fn follow_scores(&mut self) -> Result<()> {
        self.refresh()?;
        if self.memory.frontier.uses_scores() != (false, false) {
            let read = load::scores(&self.db, &mut self.memory.frontier);
            read.inspect_err(|_| self.distrust(Vec::new()))?;
            self.memory.frontier.rebuild();
        }
        Ok(())
    }
}

impl Store for SqliteStore {
    fn add(&mut self, urls: &[NewUrl]) -> Result<usize> {
        Ok(self.write(&Batch::default(), |memory| Plan::for_urls(memory, urls))?.new_urls)
    }

    fn take(&mut self, n: usize, now: Timestamp) -> Result<Vec<Work>> {
        self.refresh()?;
        let rows = self.memory.frontier.take(n, now);
        self.hand_out(&rows)
    }

    fn take_these(&mut self, oids: &[UrlId], now: Timestamp) -> Result<Vec<Work>> {
        self.refresh()?;
        let frontier = &mut self.memory.frontier;
        let mut take = |oid| frontier.find(oid).filter(|&row| frontier.take_this(row, now));
        let rows: Vec<u32> = oids.iter().filter_map(|&oid| take(oid)).collect();
        self.hand_out(&rows)
    }

    fn hold_sites(&mut self, n: usize, now: Timestamp) -> Result<Vec<SiteId>> {
        self.refresh()?;
        let sites = self.memory.frontier.hold_sites(n, now);
        Ok(sites.into_iter().map(|site| self.memory.frontier.sites().id(site)).collect())
    }

    fn take_of(&mut self, site: SiteId, n: usize, now: Timestamp) -> Result<Vec<Work>> {
        self.refresh()?;
        let Some(site) = self.memory.frontier.sites().find(site) else { return Ok(Vec::new()) };
        let rows = self.memory.frontier.take_of(site, n, now);
        self.hand_out(&rows)
    }

    fn best_of(&self, site: SiteId) -> Option<Rank> {
        self.memory.frontier.best_of(self.memory.frontier.sites().find(site)?)
    }

    fn improved_sites(&mut self) -> Vec<SiteId> {
        let improved = self.memory.frontier.improved_sites();
        improved.into_iter().map(|site| self.memory.frontier.sites().id(site)).collect()
    }

    fn release_site(&mut self, site: SiteId, until: Option<Timestamp>) {
        if let Some(site) = self.memory.frontier.sites().find(site) {
            self.memory.frontier.release_site(site, until);
        }
    }

    fn give_back(&mut self, oids: &[UrlId]) -> Result<()> {
        self.refresh()?;
        for &oid in oids {
            let row = self.memory.frontier.find(oid).ok_or(Error::UnknownUrl(oid))?;
            self.memory.frontier.give_back(row);
        }
        Ok(())
    }

    fn commit(&mut self, batch: &Batch<'_>) -> Result<Committed> {
        self.write(batch, |memory| Plan::for_batch(memory, batch))
    }

    fn queue_again(&mut self, oids: &[UrlId]) -> Result<usize> {
        let mut queued = 0;
        self.write(&Batch::default(), |memory| {
            let plan = Plan::for_revisits(memory, oids)?;
            queued = plan.again.len();
            Ok(plan)
        })?;
        Ok(queued)
    }

    fn lose_pages(&mut self, oids: &[UrlId]) -> Result<()> {
        self.write(&Batch::default(), |memory| Plan::for_lost_pages(memory, oids)).map(drop)
    }

    fn policy(&self) -> &Policy {
        self.memory.frontier.policy()
    }

    fn set_policy(&mut self, policy: &Policy) -> Result<()> {
        self.refresh()?;
        self.set_setting(Policy::SETTING, &policy.to_string())?;
        self.follow_policy()
    }

    fn bound(&mut self, most: Option<usize>) -> Result<()> {
        let text = most.map_or_else(String::new, |most| most.to_string());
        let settings = [(load::BOUND_SETTING, text.as_str())];
        let plan = |memory: &mut FrontierState| {
            memory.frontier.set_bound(most);
            Ok(Plan::for_bound(memory))
        };
        self.write(&Batch { settings: &settings, ..Batch::default() }, plan).map(drop)
    }

    fn switch_sites(&mut self, hosts: &[(&str, bool)]) -> Result<()> {
        self.refresh()?;
        let tx = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        load::new_sites(&tx, self.memory.frontier.sites_mut())?;
        let written = write::switch_sites(&tx, hosts, self.memory.frontier.sites_mut());
        let written = written.and_then(|()| counts::write(&tx, &self.memory.counts()));
        let written = written.and_then(|()| Ok(tx.commit()?));
        written.inspect_err(|_| self.distrust(Vec::new()))?;
        self.follow_sites()
    }

    fn look_again(&mut self) -> Result<bool> {
        self.refresh()?;
        let version = data_version(&self.db)?;
        let others_wrote = std::mem::replace(&mut self.looked, version) != version;
        self.follow_sites()?;
        self.follow_policy()?;
        if others_wrote {
            self.follow_scores()?;
        }
        Ok(others_wrote)
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.memory.frontier.next_due()
    }

    fn counts(&self) -> Counts {
        self.memory.counts()
    }

    fn catch_up(&mut self) -> Result<bool> {
        self.refresh()?;
        sweep::sweep_some(&mut self.db, &mut self.memory)
    }

    fn tidy(&mut self) -> Result<()> {
        self.refresh()?;
        sweep::sweep(&mut self.db, &mut self.memory)?;
        // What readers keep in the log stays there; that is no error.
        self.db.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))?;
        Ok(())
    }
}

/// Changes whenever another connection has written, and only then.
fn data_version(db: &Connection) -> Result<i64> {
    Ok(db.prepare_cached("pragma data_version")?.query_row([], |row| row.get(0))?)
}

fn work(row: &Row<'_>, belief: Belief, tries: Tries) -> Result<Work> {
    let oid = UrlId(row.get::<_, i64>(0)?.cast_unsigned());
    let url = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
    let other = || Error::Damaged(format!("crawl has {url} under the id of another URL"));
    Ok(Work {
        oid,
        sid: SiteId(row.get::<_, i64>(1)?.cast_unsigned()),
        url: CanonicalUrl::with_id(url, oid).ok_or_else(other)?,
        numtries: tries.count().into(),
        relevance: belief.relevance,
        priority: belief.priority,
        depth: row.get(3)?,
        pages_of_site: 0,
        rank: Rank::default(),
    })
}
