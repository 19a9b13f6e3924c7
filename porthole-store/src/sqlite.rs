//! The store in one SQLite file.
//!
//! Life of a URL: it is appended to `crawl` when it is first seen; taken, which only the memory knows;
//! updated in place, by its rowid, when its result comes. What is believed of it meanwhile is appended to
//! `raised` and taken over in sweeps. What is in memory ([`Window`]) is changed first and then written; if
//! the write fails, it is rebuilt from the tables.

mod about;
mod commands;
mod counts;
mod desk;
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
mod write;

use std::path::{Path, PathBuf};

use porthole_types::{CanonicalUrl, NewUrl, Rank, SiteId, Timestamp, UrlId, Work};
use rusqlite::{Connection, Row, Transaction, TransactionBehavior};

pub use self::desk::SqliteDesk;
pub use self::distill::{SqlDistillation, SqlDistiller, SqlScores};
use self::load::Window;
use self::open::Lock;
use self::plan::Plan;
pub use self::prober::{Judged, Prober, Spent, Table};
pub use self::reader::SqliteReader;
use self::sweep::Sweep;
use self::write::rowid;
use crate::frontier::{Belief, Needs, Tries};
use crate::{Batch, Committed, Counts, Desk, Error, Policy, Result, Store};

/// A crawl in a SQLite database.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    db: Connection,
    window: Window,
    /// After a write that failed, the rows that were in flight before it: the window has run ahead of the
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
        let window = load::load(&db)?;
        counts::correct(&db, &window.counts())?;
        Ok(SqliteStore { path, db, window, stale: None, looked, _lock: lock })
    }

    /// Works something into the window and writes what follows from it. The transaction comes first: until
    /// it begins, others may add sites.
    fn write<'a>(
        &mut self,
        batch: &Batch<'a>,
        plan: impl FnOnce(&mut Window) -> Result<Plan<'a>>,
    ) -> Result<Committed> {
        self.refresh()?;
        sweep::sweep_if_overdue(&mut self.db, &mut self.window)?;
        let tx = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        load::new_sites(&tx, self.window.frontier.sites_mut())?;
        // A plan that fails has not changed the window.
        let plan = plan(&mut self.window)?;
        let written = write::write(&tx, &plan, batch, &self.window);
        match written.and_then(|links| Ok(tx.commit().map(|()| links)?)) {
            Ok(links) => {
                self.window.links += links;
                self.window.sweep.mark(&plan.believed);
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

    /// The window may be wrong; these rows are in flight besides those that it says are.
    fn distrust(&mut self, landed: Vec<u32>) {
        self.stale = Some(self.window.frontier.taken().into_iter().chain(landed).collect());
    }

    /// Follows the flags of the sites.
    fn follow_sites(&mut self) -> Result<()> {
        load::new_sites(&self.db, self.window.frontier.sites_mut())?;
        let disabled = load::disabled(&self.db)?;
        if disabled == *self.window.frontier.sites().disabled() {
            return Ok(());
        }
        let lacks = self.window.frontier.set_disabled(disabled);
        self.reorder(lacks)?;
        // What comes back may be too much.
        self.write(&Batch::default(), |window| Ok(Plan::for_bound(window))).map(drop)
    }

    /// Follows the policy that is set.
    fn follow_policy(&mut self) -> Result<()> {
        let policy = load::policy(&self.db)?;
        if policy == *self.window.frontier.policy() {
            return Ok(());
        }
        let lacks = self.window.frontier.set_policy(&policy);
        self.reorder(lacks)
    }

    fn reorder(&mut self, lacks: Needs) -> Result<()> {
        load::fill(&self.db, &mut self.window.frontier, lacks).inspect_err(|_| self.distrust(Vec::new()))
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
        // Else every row would be a transaction, with locks to take and to give back.
        let _together = (rows.len() > 1).then(|| self.db.unchecked_transaction()).transpose()?;
        let mut read = self.db.prepare_cached("select oid, sid, url, depth from crawl where rowid = ?1")?;
        let frontier = &self.window.frontier;
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
                self.window.frontier.give_back(row);
            }
        })
    }

    /// Takes scores over that were written, if the order of the queue has to do with them.
    fn follow_scores(&mut self) -> Result<()> {
        self.refresh()?;
        if self.window.frontier.uses_scores() != (false, false) {
            let read = load::scores(&self.db, &mut self.window.frontier);
            read.inspect_err(|_| self.distrust(Vec::new()))?;
            self.window.frontier.rebuild();
        }
        Ok(())
    }
}

impl Store for SqliteStore {
    fn add(&mut self, urls: &[NewUrl]) -> Result<usize> {
        Ok(self.write(&Batch::default(), |window| Plan::for_urls(window, urls))?.new_urls)
    }

    fn take(&mut self, n: usize, now: Timestamp) -> Result<Vec<Work>> {
        self.refresh()?;
        let rows = self.window.frontier.take(n, now);
        self.hand_out(&rows)
    }

    fn take_these(&mut self, oids: &[UrlId], now: Timestamp) -> Result<Vec<Work>> {
        self.refresh()?;
        let frontier = &mut self.window.frontier;
        let mut take = |oid| frontier.find(oid).filter(|&row| frontier.take_this(row, now));
        let rows: Vec<u32> = oids.iter().filter_map(|&oid| take(oid)).collect();
        self.hand_out(&rows)
    }

    fn hold_sites(&mut self, n: usize, now: Timestamp) -> Result<Vec<SiteId>> {
        self.refresh()?;
        let sites = self.window.frontier.hold_sites(n, now);
        Ok(sites.into_iter().map(|site| self.window.frontier.sites().id(site)).collect())
    }

    fn take_of(&mut self, site: SiteId, n: usize, now: Timestamp) -> Result<Vec<Work>> {
        self.refresh()?;
        let Some(site) = self.window.frontier.sites().find(site) else { return Ok(Vec::new()) };
        let rows = self.window.frontier.take_of(site, n, now);
        self.hand_out(&rows)
    }

    fn best_of(&self, site: SiteId) -> Option<Rank> {
        self.window.frontier.best_of(self.window.frontier.sites().find(site)?)
    }

    fn improved_sites(&mut self) -> Vec<SiteId> {
        let improved = self.window.frontier.improved_sites();
        improved.into_iter().map(|site| self.window.frontier.sites().id(site)).collect()
    }

    fn release_site(&mut self, site: SiteId, until: Option<Timestamp>) {
        if let Some(site) = self.window.frontier.sites().find(site) {
            self.window.frontier.release_site(site, until);
        }
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
        self.write(batch, |window| Plan::for_batch(window, batch))
    }

    fn queue_again(&mut self, oids: &[UrlId]) -> Result<usize> {
        let mut queued = 0;
        self.write(&Batch::default(), |window| {
            let plan = Plan::for_revisits(window, oids)?;
            queued = plan.again.len();
            Ok(plan)
        })?;
        Ok(queued)
    }

    fn lose_pages(&mut self, oids: &[UrlId]) -> Result<()> {
        self.write(&Batch::default(), |window| Plan::for_lost_pages(window, oids)).map(drop)
    }

    fn forget_estimates(&mut self) -> Result<()> {
        self.refresh()?;
        write::forget_estimates(&mut self.db)?;
        self.window.frontier.forget();
        self.window.sweep = Sweep::default();
        Ok(())
    }

    fn policy(&self) -> &Policy {
        self.window.frontier.policy()
    }

    fn set_policy(&mut self, policy: &Policy) -> Result<()> {
        self.refresh()?;
        self.set_setting(Policy::SETTING, &policy.to_string())?;
        self.follow_policy()
    }

    fn bound(&mut self, most: Option<usize>) -> Result<()> {
        let text = most.map_or_else(String::new, |most| most.to_string());
        let settings = [(load::BOUND_SETTING, text.as_str())];
        let plan = |window: &mut Window| {
            window.frontier.set_bound(most);
            Ok(Plan::for_bound(window))
        };
        self.write(&Batch { settings: &settings, ..Batch::default() }, plan).map(drop)
    }

    fn switch_sites(&mut self, hosts: &[(&str, bool)]) -> Result<()> {
        self.refresh()?;
        let tx = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        load::new_sites(&tx, self.window.frontier.sites_mut())?;
        let written = write::switch_sites(&tx, hosts, self.window.frontier.sites_mut());
        let written = written.and_then(|()| counts::write(&tx, &self.window.counts()));
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
        self.window.frontier.next_due()
    }

    fn counts(&self) -> Counts {
        self.window.counts()
    }

    fn catch_up(&mut self) -> Result<bool> {
        self.refresh()?;
        sweep::sweep_some(&mut self.db, &mut self.window)
    }

    fn tidy(&mut self) -> Result<()> {
        self.refresh()?;
        sweep::sweep(&mut self.db, &mut self.window)?;
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
