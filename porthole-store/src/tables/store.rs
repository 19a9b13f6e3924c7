//! The store: the memory of the frontier, and the tables behind it.

use std::path::Path;
use std::time::Duration;

use porthole_types::{CanonicalUrl, ChangeHistory, NewUrl, Rank, SiteId, Timestamp, UrlId, Work};

use super::load::FrontierState;
use super::location::{CrawlLock, DatabaseLocation};
use super::plan::WritePlan;
use super::sharing::Sharing;
use super::{counts, load, revisit, sweep, upkeep, write};
use crate::frontier::{Belief, Needs, Tries};
use crate::sql::{Connection, Row, params};
use crate::{
    Batch, Committed, DuePages, Error, Learn, Policy, QueuedSites, Result, Store, StoreCounts, WorkerLease,
    WorkspaceWriter,
};

/// A crawl in a database.
#[derive(Debug)]
pub struct TableStore {
    pub(super) location: DatabaseLocation,
    pub(super) db: Connection,
    pub(super) memory: FrontierState,
    /// After a failed write, the rowids that were in flight before it: the memory is ahead of the tables and must be
    /// rebuilt before anything else.
    stale: Option<Vec<i64>>,
    /// The connection's `data_version` at the last check for changes of other writers.
    looked: i64,
    /// Keeps other stores out. Behind the database, so that it is released after that is closed.
    _lock: Option<CrawlLock>,
    /// With it the store is one of several workers. The last field, for the same reason.
    pub(super) sharing: Option<Sharing>,
}

impl Drop for TableStore {
    fn drop(&mut self) {
        self.leave();
    }
}

impl TableStore {
    /// Opens the SQLite database at a path, creating it if necessary.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        TableStore::open_at(&path.as_ref().into())
    }

    /// Opens a database, creating its tables if necessary.
    pub fn open_at(location: &DatabaseLocation) -> Result<Self> {
        let lock = location.lock()?;
        let db = location.writer()?;
        let looked = db.data_version()?;
        let memory = load::load(&db, None)?;
        counts::correct(&db, &memory.counts())?;
        Ok(TableStore::with_parts(location.clone(), db, memory, looked, Some(lock), None))
    }

    pub(super) fn with_parts(
        location: DatabaseLocation,
        db: Connection,
        memory: FrontierState,
        looked: i64,
        lock: Option<CrawlLock>,
        sharing: Option<Sharing>,
    ) -> Self {
        TableStore { location, db, memory, stale: None, looked, _lock: lock, sharing }
    }

    /// Applies a change to the memory and writes it. The transaction begins first: until then, other writers may add
    /// sites.
    pub(super) fn write<'a>(
        &mut self,
        batch: &Batch<'a>,
        plan: impl FnOnce(&mut FrontierState) -> Result<WritePlan<'a>>,
    ) -> Result<Committed> {
        self.refresh()?;
        sweep::sweep_if_overdue(&self.db, &mut self.memory)?;
        let tx = self.db.write_transaction()?;
        load::new_sites(&tx, self.memory.frontier.sites_mut())?;
        let next_seq = begin_shared(&tx, &mut self.memory, batch)?;
        let mut before = self.memory.counts();
        before.parked = self.memory.shared.map_or(before.parked, |shared| shared.parked);
        // A plan that fails has not changed the memory.
        let plan = plan(&mut self.memory)?;
        let written = write::write(&tx, &plan, batch, &self.memory, &before);
        let numbered = match (next_seq, batch.numbered_by) {
            (Some(next), Some(name)) => write::write_settings(&tx, &[(name, &next.to_string())]),
            _ => Ok(()),
        };
        let written = numbered.and(written);
        match written.and_then(|added| tx.commit().map(|()| added)) {
            Ok(added) => {
                self.memory.links += added.links;
                self.memory.copies = self.memory.copies.saturating_add_signed(added.copies);
                self.memory.sweep.mark(&plan.believed);
                if let (Some(shared), Some(all)) = (&mut self.memory.shared, added.all) {
                    (shared.counts, shared.parked) = (all, self.memory.frontier.parked());
                }
                self.note_sent(batch.results.len(), plan.letters.len());
                Ok(Committed {
                    new_urls: plan.new_urls.len(),
                    believed: plan.believed.len(),
                    evicted: plan.evicted,
                    told: plan.letters.len(),
                    next_seq,
                })
            }
            Err(error) => {
                self.invalidate(&plan.left_flight);
                self.refresh()?;
                Err(error)
            }
        }
    }

    /// Marks the memory as invalid; these rows are in flight besides those that it has as such.
    pub(super) fn invalidate(&mut self, left_flight: &[u32]) {
        let frontier = &self.memory.frontier;
        let taken = frontier.taken();
        let in_flight = taken.iter().chain(left_flight).map(|&row| frontier.rowid(row));
        self.stale = Some(in_flight.collect());
    }

    /// Follows the disabled flags of the sites.
    fn follow_sites(&mut self) -> Result<()> {
        load::new_sites(&self.db, self.memory.frontier.sites_mut())?;
        let disabled = load::disabled(&self.db)?;
        if disabled == *self.memory.frontier.sites().disabled() {
            return Ok(());
        }
        let missing = self.memory.frontier.set_disabled(disabled);
        self.reorder(missing)?;
        // Reenabled sites may exceed the bound.
        self.write(&Batch::default(), |memory| Ok(WritePlan::for_bound(memory))).map(drop)
    }

    /// Follows the stored policy.
    fn follow_policy(&mut self) -> Result<()> {
        let policy = load::policy(&self.db)?;
        if policy == *self.memory.frontier.policy() {
            return Ok(());
        }
        let missing = self.memory.frontier.set_policy(&policy);
        self.reorder(missing)
    }

    fn reorder(&mut self, missing: Needs) -> Result<()> {
        load::fill(&self.db, &mut self.memory, missing).inspect_err(|_| self.invalidate(&[]))
    }

    /// Rebuilds the memory after a failed write. Rows in flight stay so, since their holders are still working.
    pub(super) fn refresh(&mut self) -> Result<()> {
        if let Some(in_flight) = &self.stale {
            let mut memory = load::load(&self.db, self.memory.shared)?;
            for &rowid in in_flight {
                if let Some(row) = memory.frontier.row_of(rowid) {
                    memory.frontier.take_again(row);
                }
            }
            memory.frontier.keep_site_states(&self.memory.frontier);
            if !self.leaving_shards().is_empty() {
                memory.frontier.freeze(self.leaving_shards());
            }
            self.memory = memory;
            self.stale = None;
        }
        Ok(())
    }

    fn read_work(&self, rows: &[u32]) -> Result<Vec<Work>> {
        // Without this, every row would be a transaction of its own.
        let _together = (rows.len() > 1).then(|| self.db.read_transaction()).transpose()?;
        let mut read = self.db.prepare("select oid, sid, url, depth from crawl where rowid = ?1")?;
        let frontier = &self.memory.frontier;
        let mut work = |row| {
            let (belief, tries) = (frontier.belief(row), frontier.tries(row));
            let mut work = read.query_row([frontier.rowid(row)], |found| work(found, belief, tries))?;
            work.pages_of_site = frontier.sites().load_of(work.sid);
            work.rank = frontier.rank(row);
            if tries.is_revisit() {
                work.copy = Some(Box::new(upkeep::copy(&self.db, frontier.rowid(row))?));
            }
            Ok(work)
        };
        rows.iter().map(|&row| work(row)).collect()
    }

    /// Reads the work of rows that were just taken; on failure they are given back.
    fn hand_out(&mut self, rows: &[u32]) -> Result<Vec<Work>> {
        self.read_work(rows).inspect_err(|_| {
            for &row in rows {
                self.memory.frontier.give_back(row);
            }
        })
    }

    /// Follows new scores, if the policy uses them.
    pub(super) fn follow_scores(&mut self) -> Result<()> {
        self.refresh()?;
        if self.memory.frontier.uses_scores() != [false; 3] {
            let read = load::scores(&self.db, &mut self.memory.frontier);
            read.inspect_err(|_| self.invalidate(&[]))?;
            self.memory.frontier.rebuild();
        }
        Ok(())
    }
}

impl Store for TableStore {
    fn add(&mut self, urls: &[NewUrl]) -> Result<usize> {
        Ok(self.write(&Batch::default(), |memory| WritePlan::for_urls(memory, urls))?.new_urls)
    }

    fn take(&mut self, n: usize, now: Timestamp) -> Result<Vec<Work>> {
        self.refresh()?;
        if self.is_congested() {
            return Ok(Vec::new());
        }
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
        if self.is_congested() {
            return Ok(Vec::new());
        }
        let sites = self.memory.frontier.hold_sites(n, now);
        let sites: Vec<_> = sites.into_iter().map(|site| self.memory.frontier.sites().id(site)).collect();
        self.note_used(&sites);
        Ok(sites)
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

    fn greatest_priorities(&self, n: usize, per_site: usize) -> Vec<f32> {
        self.memory.frontier.greatest_priorities(n, per_site)
    }

    fn improved_sites(&mut self) -> Vec<SiteId> {
        let improved = self.memory.frontier.improved_sites();
        improved.into_iter().map(|site| self.memory.frontier.sites().id(site)).collect()
    }

    fn queued_sites(&self) -> QueuedSites {
        self.memory.frontier.queued_sites()
    }

    fn release_site(&mut self, site: SiteId, until: Option<Timestamp>) {
        self.note_used(&[site]);
        if let Some(site) = self.memory.frontier.sites().find(site) {
            self.memory.frontier.release_site(site, until);
        }
    }

    fn give_back(&mut self, oids: &[UrlId]) -> Result<()> {
        self.refresh()?;
        for &oid in oids {
            match self.memory.frontier.find(oid) {
                Some(row) => self.memory.frontier.give_back(row),
                // Another worker has it now.
                None if self.memory.is_incomplete() => {}
                None => return Err(Error::UnknownUrl(oid)),
            }
        }
        Ok(())
    }

    fn commit(&mut self, batch: &Batch<'_>) -> Result<Committed> {
        self.write(batch, |memory| WritePlan::for_batch(memory, batch))
    }

    fn queue_again(&mut self, oids: &[UrlId]) -> Result<usize> {
        let mut queued = 0;
        self.write(&Batch::default(), |memory| {
            let plan = WritePlan::for_revisits(memory, oids)?;
            queued = plan.again.len();
            Ok(plan)
        })?;
        Ok(queued)
    }

    fn lose_pages(&mut self, oids: &[UrlId]) -> Result<()> {
        self.write(&Batch::default(), |memory| WritePlan::for_lost_pages(memory, oids)).map(drop)
    }

    fn maintain_pages(&mut self, first: Duration) -> Result<usize> {
        let tx = self.db.write_transaction()?;
        let pages = upkeep::maintain(&tx, first)?;
        tx.commit()?;
        Ok(pages)
    }

    fn waiting_visits(&self) -> Result<Vec<UrlId>> {
        upkeep::waiting(&self.db)
    }

    fn cancel_revisits(&mut self, oids: &[UrlId], settings: &[(&str, &str)]) -> Result<()> {
        self.refresh()?;
        let tx = self.db.write_transaction()?;
        let frontier = &mut self.memory.frontier;
        let mut cancel = || -> Result<()> {
            let mut update = tx.prepare("update crawl set state = ?2 where rowid = ?1")?;
            for row in oids.iter().filter_map(|&oid| frontier.find(oid)).collect::<Vec<_>>() {
                if let Some(state) = revisit::state_before(&tx, frontier.rowid(row))?
                    && frontier.cancel_revisit(row, state)
                {
                    update.execute(params![frontier.rowid(row), state as u8])?;
                }
            }
            write::write_settings(&tx, settings)
        };
        let written = cancel();
        let written = written.and_then(|()| counts::write(&tx, &self.memory.counts()));
        let written = written.and_then(|()| tx.commit());
        written.inspect_err(|_| self.invalidate(&[]))
    }

    fn reschedule(
        &mut self,
        due: &mut dyn FnMut(&ChangeHistory, f64, Timestamp) -> Timestamp,
        settings: &[(&str, &str)],
    ) -> Result<()> {
        let tx = self.db.write_transaction()?;
        upkeep::reschedule(&tx, due)?;
        write::write_settings(&tx, settings)?;
        tx.commit()
    }

    fn due_pages(&self, due: DuePages) -> Result<Vec<UrlId>> {
        upkeep::due(&self.db, due)
    }

    fn next_visit(&self) -> Result<Option<Timestamp>> {
        upkeep::next(&self.db)
    }

    fn is_idle(&self) -> bool {
        self.memory.frontier.is_idle()
    }

    fn queued_revisits(&self) -> usize {
        self.memory.frontier.queued_revisits()
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
            Ok(WritePlan::for_bound(memory))
        };
        self.write(&Batch { settings: &settings, ..Batch::default() }, plan).map(drop)
    }

    fn switch_sites(&mut self, hosts: &[(&str, bool)]) -> Result<()> {
        self.refresh()?;
        let tx = self.db.write_transaction()?;
        load::new_sites(&tx, self.memory.frontier.sites_mut())?;
        let written = write::switch_sites(&tx, hosts, self.memory.frontier.sites_mut());
        let counts = self.memory.counts();
        let written = written.and_then(|()| match self.memory.shared {
            None => counts::write(&tx, &counts),
            Some(_) => counts::add(&tx, &counts, &counts).map(drop),
        });
        let written = written.and_then(|()| tx.commit());
        written.inspect_err(|_| self.invalidate(&[]))?;
        self.follow_sites()
    }

    fn follow_changes(&mut self) -> Result<bool> {
        self.refresh()?;
        let version = self.db.data_version()?;
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

    fn counts(&self) -> StoreCounts {
        self.memory.all_counts()
    }

    fn worker(&self) -> Option<u32> {
        self.worker_number()
    }

    fn owns(&self, site: SiteId) -> bool {
        !self.memory.is_foreign(site)
    }

    fn is_leader(&self) -> bool {
        self.sharing.is_none() || self.own_shards().has(0)
    }

    fn has_others(&self) -> bool {
        self.has_company()
    }

    fn lease(&self) -> Option<WorkerLease> {
        self.worker_lease()
    }

    fn share(&mut self, busy: &[SiteId], learn: &mut Learn<'_>) -> Result<Vec<SiteId>> {
        self.become_ready()?;
        self.share_now(busy, learn)
    }

    fn has_news(&self) -> bool {
        self.is_told()
    }

    fn shows_pages(&self) -> bool {
        self.shows_pages_now()
    }

    fn ask_for_memory(&mut self, asks: bool) -> Result<()> {
        self.set_asking(asks)
    }

    fn memory_asked_by(&self) -> Vec<u32> {
        self.asking_workers()
    }

    fn send_memory(&mut self, to: u32, memory: Option<&[u8]>) -> Result<()> {
        self.answer(to, memory)
    }

    fn announce(&mut self, slots: usize) {
        self.announce_slots(slots);
    }

    fn in_turn(&self, n: usize) -> usize {
        self.urls_in_turn(n)
    }

    fn best_of_others(&self) -> &[f32] {
        self.others_best()
    }

    fn reserve_pages(&mut self, whole: u64, most: u64) -> Result<u64> {
        self.reserve(whole, most)
    }

    fn is_over(&mut self) -> Result<bool> {
        self.is_over_for_all()
    }

    fn catch_up(&mut self) -> Result<bool> {
        self.refresh()?;
        sweep::sweep_some(&self.db, &mut self.memory)
    }

    fn tidy(&mut self) -> Result<()> {
        self.refresh()?;
        sweep::sweep(&self.db, &mut self.memory)?;
        // Readers may keep a part of the log alive; that is not an error.
        if let Some(db) = self.db.sqlite() {
            db.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))?;
        }
        Ok(())
    }
}

/// Reads what a transaction of a worker needs: which numbers new rows and fetches get. Returns the number of the next fetch
/// after the batch.
fn begin_shared(tx: &Connection, memory: &mut FrontierState, batch: &Batch<'_>) -> Result<Option<u64>> {
    let Some(shared) = &mut memory.shared else { return Ok(None) };
    let sql = "select coalesce((select max(rowid) from crawl), 0), coalesce((select max(rowid) from edge), 0), \
               last, current, (select value from setting where name = ?1) from inbox";
    let numbers = |row: &Row<'_>| {
        let next: Option<String> = row.get(4)?;
        let next = next.and_then(|next| next.parse::<u64>().ok()).unwrap_or(0);
        Ok((row.get(0)?, row.get::<i64>(1)?, row.get(2)?, row.get(3)?, next))
    };
    let (rows, links, last, current, next) =
        tx.query_row(sql, [batch.numbered_by.unwrap_or_default()], numbers)?;
    memory.frontier.number_after(rows);
    memory.links = usize::try_from(links).unwrap_or(0);
    (shared.last_letter, shared.inbox) = (last, current);
    let first = batch.results.first().filter(|_| batch.numbered_by.is_some());
    shared.seq_shift = first.map_or(0, |first| next.wrapping_sub(first.seq));
    Ok(first.map(|_| next + batch.results.len() as u64))
}

fn work(row: &Row<'_>, belief: Belief, tries: Tries) -> Result<Work> {
    let oid = UrlId(row.get::<i64>(0)?.cast_unsigned());
    let url = row.text(2)?.unwrap_or_default();
    let other = || Error::Damaged(format!("crawl has {url} with the id of another URL"));
    Ok(Work {
        oid,
        sid: SiteId(row.get::<i64>(1)?.cast_unsigned()),
        url: CanonicalUrl::with_id(url, oid).ok_or_else(other)?,
        numtries: tries.count().into(),
        relevance: belief.relevance,
        priority: belief.priority,
        depth: row.get(3)?,
        pages_of_site: 0,
        rank: Rank::default(),
        copy: None,
    })
}
