//! A store as one of several workers: it has the shards of its worker in memory, reads letters of the others, and takes and
//! gives up shards as workers come and go.

use std::collections::HashMap;
use std::time::Duration;

use porthole_types::SiteId;

use super::inbox::{self, Letter};
use super::load::SharedPart;
use super::plan::WritePlan;
use super::publication::{self, Announced, OthersQueues, SentResults};
use super::store::TableStore;
use super::{DatabaseLocation, budget, counts, load};
use crate::fleet::{FleetSettings, WorkerLease, boot_millis};
use crate::frontier::{ShardSet, shard_of};
use crate::postgres::{self, FleetView, GivenShard, OwnShards, WorkerSession};
use crate::sql::{Connection, params};
use crate::{Batch, Error, Learn, Result, StoreCounts};

/// Letters that are applied in one transaction.
const LETTERS: i64 = 2_000;
/// Transactions with letters, one after the other, before anything else is done.
const BATCHES: usize = 8;
/// Letters that nobody has read yet, at which a worker takes no more work.
const MOST_UNREAD: i64 = 200_000;
/// Time between two looks at the other workers.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// How far, and for how long, the cursor in the table may be behind.
const CURSOR_BEHIND: i64 = 1_000;
const CURSOR_INTERVAL: Duration = Duration::from_secs(5);
/// How often the best queued URLs are published if nothing is committed, and how long those of others count.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(500);
const PUBLISHED_FOR: Duration = Duration::from_secs(2);
/// How long the best URLs in shards that are being given up count.
const LEAVING_FOR: Duration = Duration::from_secs(5);

/// What a worker knows of itself.
#[derive(Debug)]
pub(super) struct Sharing {
    settings: FleetSettings,
    /// The last letter that was read, in memory and in the table.
    cursor: i64,
    stored_cursor: i64,
    cursor_stored_at: u64,
    /// Shards whose letters were read up to another number by their last owners.
    behind: Vec<(u8, i64)>,
    /// Shards that are being given up, and since when.
    leaving: ShardSet,
    leaving_since: u64,
    /// Whether the others know that the worker can take shards.
    is_ready: bool,
    /// When a site of each shard was last held or released.
    used_at: [u64; crate::frontier::SHARDS],
    looked_at: u64,
    is_congested: bool,
    /// Number of queued URLs that cannot be fetched now, as it is in the table.
    stored_idle: Option<i64>,
    /// How often others had told something at the last look.
    heard: i64,
    /// How many URLs the worker takes at a time, what others have published, and when that was read and the own
    /// publication written.
    slots: usize,
    others: OthersQueues,
    others_read_at: u64,
    published_at: u64,
    /// Whether letters of others were read since.
    has_read_more: bool,
    /// The last results, as far as others have not read of them, and the number of own letters behind the cursor.
    sent: SentResults,
    own_letters: i64,
    session: WorkerSession,
}

impl Sharing {
    /// Whether what others have published was read too long ago.
    fn is_outdated(&self) -> bool {
        boot_millis().saturating_sub(self.others_read_at) > millis(PUBLISHED_FOR)
    }

    /// How long a shard rests before another worker may request its sites: not at all if none was requested lately.
    fn rest_of(&self, shard: u8) -> Duration {
        let rest = self.settings.rest;
        match self.used_at[usize::from(shard)] {
            0 => Duration::ZERO,
            used_at => rest.saturating_sub(Duration::from_millis(boot_millis().saturating_sub(used_at))),
        }
    }
}

impl TableStore {
    /// Opens a PostgreSQL database as one of several workers. Its shards are those that it had before, if nobody has taken
    /// them since, and others that nobody has.
    pub fn join(location: &DatabaseLocation, settings: &FleetSettings) -> Result<TableStore> {
        let DatabaseLocation::Postgres(url) = location else {
            return Err(Error::Unsupported("a crawl without workers on other machines"));
        };
        // Creates the tables, or refuses them.
        drop(location.workspace_writer()?);
        let session = WorkerSession::begin(url, settings)?;
        let db = location.writer()?;
        postgres::prepare_writer(&db, settings)?;
        let cursor = postgres::enter(&db, settings)?;
        let looked = db.data_version()?;
        let shared = SharedPart {
            worker: settings.worker,
            shards: ShardSet::default(),
            counts: counts::read(&db)?,
            parked: 0,
            last_letter: 0,
            inbox: 0,
            seq_shift: 0,
            announced: None,
        };
        let memory = load::load(&db, Some(shared))?;
        let sharing = Sharing {
            settings: settings.clone(),
            cursor,
            stored_cursor: cursor,
            cursor_stored_at: boot_millis(),
            behind: Vec::new(),
            leaving: ShardSet::default(),
            leaving_since: 0,
            is_ready: false,
            used_at: [0; crate::frontier::SHARDS],
            looked_at: 0,
            is_congested: false,
            stored_idle: Some(0),
            heard: -1,
            slots: 0,
            others: OthersQueues::default(),
            others_read_at: 0,
            published_at: 0,
            has_read_more: false,
            sent: SentResults::default(),
            own_letters: 0,
            session,
        };
        let mut store = TableStore::with_parts(location.clone(), db, memory, looked, None, Some(sharing));
        store.adopt_shards()?;
        store.note_all_used();
        // What was shown meanwhile is not learnt: there is no strategy yet.
        store.share_now(&[], &mut |_| Vec::new())?;
        if store.is_whole() {
            counts::correct(&store.db, &store.memory.counts())?;
            store.set_all_counts(store.memory.counts());
        }
        Ok(store)
    }

    /// Adds a worker to a database. Returns its number.
    pub fn register_worker(location: &DatabaseLocation, name: &str) -> Result<u32> {
        match location {
            DatabaseLocation::File(_) => Err(Error::Unsupported("a worker on a SQLite file")),
            DatabaseLocation::Postgres(_) => postgres::register(&location.workspace_writer()?, name),
        }
    }

    pub(super) fn worker_number(&self) -> Option<u32> {
        self.sharing.as_ref().map(|sharing| sharing.settings.worker)
    }

    pub(super) fn worker_lease(&self) -> Option<WorkerLease> {
        self.sharing.as_ref().map(|sharing| sharing.session.lease().clone())
    }

    /// Whether too many letters are unread, so that no work is taken.
    pub(super) fn is_congested(&self) -> bool {
        self.sharing.as_ref().is_some_and(|sharing| sharing.is_congested)
    }

    /// Reserves pages of those that all workers may fetch.
    pub(super) fn reserve(&mut self, whole: u64, most: u64) -> Result<u64> {
        if self.sharing.is_none() {
            return Ok(most);
        }
        let tx = self.db.write_transaction()?;
        let reserved = budget::reserve(&tx, self.worker(), whole, most)?;
        tx.commit()?;
        Ok(reserved)
    }

    /// Remembers that these sites may have been requested until now.
    pub(super) fn note_used(&mut self, sites: &[SiteId]) {
        if let Some(sharing) = &mut self.sharing {
            let now = boot_millis();
            sites.iter().for_each(|&site| sharing.used_at[usize::from(shard_of(site))] = now);
        }
    }

    /// Remembers that an earlier process may have requested the sites that this worker has.
    fn note_all_used(&mut self) {
        let own = self.own_shards();
        if let Some(sharing) = &mut self.sharing {
            own.iter().for_each(|shard| sharing.used_at[usize::from(shard)] = boot_millis());
        }
    }

    /// The shards that are being given up.
    pub(super) fn leaving_shards(&self) -> ShardSet {
        self.sharing.as_ref().map(|sharing| sharing.leaving).unwrap_or_default()
    }

    fn worker(&self) -> u32 {
        self.worker_number().unwrap_or(0)
    }

    pub(super) fn own_shards(&self) -> ShardSet {
        self.memory.shared.map(|shared| shared.shards).unwrap_or_default()
    }

    /// Whether all shards are this worker's.
    fn is_whole(&self) -> bool {
        self.own_shards().len() == crate::frontier::SHARDS
    }

    fn set_all_counts(&mut self, counts: StoreCounts) {
        if let Some(shared) = &mut self.memory.shared {
            shared.counts = counts;
        }
    }

    /// Whether others have told something since the last look.
    pub(super) fn is_told(&self) -> bool {
        self.sharing.as_ref().is_some_and(|sharing| sharing.heard != postgres::told(&self.db))
    }

    pub(super) fn shows_pages_now(&self) -> bool {
        self.has_company() && self.sharing.as_ref().is_some_and(|sharing| sharing.settings.shows_pages)
    }

    /// See [`Store::ask_for_memory`](crate::Store::ask_for_memory).
    pub(super) fn set_asking(&mut self, asks: bool) -> Result<()> {
        let Some(sharing) = self.sharing.as_ref().filter(|sharing| sharing.settings.shows_pages) else {
            return Ok(());
        };
        let asks = asks && self.has_company();
        self.db
            .execute("update worker set asks = ?2 where id = ?1", params![sharing.settings.worker, asks])
            .map(drop)
    }

    /// See [`Store::memory_asked_by`](crate::Store::memory_asked_by). The first worker that does not ask itself answers, or
    /// the first one if all of them ask.
    pub(super) fn asking_workers(&self) -> Vec<u32> {
        let Some(sharing) = self.sharing.as_ref().filter(|sharing| sharing.settings.shows_pages) else {
            return Vec::new();
        };
        let (view, worker) = (sharing.session.view(), sharing.settings.worker);
        let answers = view.alive.iter().find(|id| !view.asking.contains(id)).or(view.alive.first());
        let mut asking = view.asking;
        asking.retain(|id| answers == Some(&worker) && *id != worker);
        asking
    }

    /// See [`Store::send_memory`](crate::Store::send_memory).
    pub(super) fn answer(&mut self, to: u32, memory: Option<&[u8]>) -> Result<()> {
        if let Some(memory) = memory {
            let letter = Letter::with_memory(memory, to);
            self.write(&Batch::default(), |state| {
                let mut plan = WritePlan::for_letters(state, &[], &[])?;
                plan.letters.push(letter);
                Ok(plan)
            })?;
        }
        self.db.execute("update worker set asks = 0 where id = ?1", [to])?;
        if let Some(sharing) = &mut self.sharing {
            sharing.session.note_answered(to);
            // What waited for the answer can be done now.
            sharing.looked_at = 0;
        }
        Ok(())
    }

    pub(super) fn announce_slots(&mut self, slots: usize) {
        if let Some(sharing) = &mut self.sharing
            && sharing.slots != slots
        {
            (sharing.slots, sharing.published_at) = (slots, 0);
        }
    }

    /// See [`Store::in_turn`](crate::Store::in_turn).
    pub(super) fn urls_in_turn(&self, n: usize) -> usize {
        let Some(sharing) = self.sharing.as_ref().filter(|sharing| sharing.settings.keeps_order) else {
            return n;
        };
        let frontier = &self.memory.frontier;
        let leaving = frontier.frozen_best();
        let unread = if sharing.is_outdated() { 0 } else { sharing.sent.unread() };
        if self.others_best().is_empty() && leaving.is_empty() && unread == 0 || !frontier.is_by_priority() {
            return n;
        }
        let own = frontier.greatest_priorities(n, n);
        if own.is_empty() { n } else { sharing.others.in_turn(&own, leaving, sharing.slots, unread) }
    }

    /// Remembers results that were committed, with letters behind the last one.
    pub(super) fn note_sent(&mut self, results: usize, letters: usize) {
        if let (Some(sharing), Some(shared)) = (&mut self.sharing, &self.memory.shared)
            && shared.announced.is_some()
        {
            let letters = i64::try_from(letters).unwrap_or(i64::MAX);
            sharing.own_letters = sharing.own_letters.saturating_add(letters);
            if results > 0 && letters > 0 {
                sharing.sent.add(shared.last_letter.saturating_add(letters), results);
            }
        }
    }

    /// The priorities of the best URLs of the other workers, unless they are outdated.
    pub(super) fn others_best(&self) -> &[f32] {
        match &self.sharing {
            Some(sharing) if !sharing.is_outdated() => &sharing.others.best,
            _ => &[],
        }
    }

    /// Reads what others have published, and publishes if it was not done for a while, or if the worker has other shards or has
    /// read letters since.
    fn exchange_best(&mut self, has_other_shards: bool) -> Result<()> {
        let (worker, has_company) = (self.worker(), self.has_company());
        let Some(sharing) = &mut self.sharing else { return Ok(()) };
        let exchanges = has_company && sharing.settings.keeps_order;
        if let Some(shared) = &mut self.memory.shared {
            let most = sharing.others.told_of(sharing.slots);
            let announced = Announced { slots: sharing.slots, most, read: sharing.cursor };
            shared.announced = exchanges.then_some(announced);
        }
        if !exchanges {
            (sharing.others, sharing.sent) = (OthersQueues::default(), SentResults::default());
            return match self.memory.shared.filter(|_| has_other_shards) {
                Some(shared) => publication::publish(&self.db, &shared, &self.memory.frontier, true),
                None => Ok(()),
            };
        }
        sharing.others = publication::read(&self.db, worker)?;
        sharing.sent.forget_read(sharing.others.read);
        let now = boot_millis();
        sharing.others_read_at = now;
        let is_late = now.saturating_sub(sharing.published_at) >= millis(PUBLISH_INTERVAL);
        let is_news = has_other_shards || sharing.has_read_more;
        if let Some(shared) = self.memory.shared.filter(|_| is_late || is_news) {
            (sharing.published_at, sharing.has_read_more) = (now, false);
            publication::publish(&self.db, &shared, &self.memory.frontier, is_news)?;
        }
        Ok(())
    }

    /// Tells the others that the worker has begun: they give it shards.
    pub(super) fn become_ready(&mut self) -> Result<()> {
        let worker = self.worker();
        if let Some(sharing) = self.sharing.as_mut().filter(|sharing| !sharing.is_ready) {
            self.db.execute("update worker set ready = 1 where id = ?1", [worker])?;
            sharing.is_ready = true;
        }
        Ok(())
    }

    /// See [`Store::share`](crate::Store::share).
    pub(super) fn share_now(&mut self, busy: &[SiteId], learn: &mut Learn<'_>) -> Result<Vec<SiteId>> {
        self.refresh()?;
        let told = postgres::told(&self.db);
        let Some(sharing) = &mut self.sharing else { return Ok(Vec::new()) };
        if sharing.session.lease().is_lost() {
            return Err(Error::SessionLost);
        }
        let now = boot_millis();
        let is_time = now.saturating_sub(sharing.looked_at) >= millis(LOOK_INTERVAL);
        if is_time {
            sharing.looked_at = now;
        }
        sharing.heard = told;
        self.read_letters(learn)?;
        self.read_older_letters()?;
        if is_time {
            self.free_shards(now)?;
            self.look_at_inbox()?;
        }
        let shards = self.own_shards();
        self.rebalance(busy, is_time, now)?;
        let has_other_shards = self.own_shards() != shards;
        if has_other_shards {
            // What the worker publishes of them, and takes next, depends on the letters to them.
            self.read_letters(learn)?;
            self.read_older_letters()?;
        }
        self.exchange_best(has_other_shards)?;
        let leaving = self.leaving_shards();
        Ok(busy.iter().copied().filter(|&site| leaving.has_site(site)).collect())
    }

    /// Applies the letters of other workers.
    fn read_letters(&mut self, learn: &mut Learn<'_>) -> Result<()> {
        for _ in 0..BATCHES {
            let (worker, Some(sharing)) = (self.worker(), &mut self.sharing) else { return Ok(()) };
            // All letters up to the last one are committed, since writers alternate.
            let last = inbox::last(&self.db)?;
            if last <= sharing.cursor {
                return self.store_cursor(false);
            }
            sharing.has_read_more |= last - sharing.cursor > std::mem::take(&mut sharing.own_letters);
            let letters = inbox::read(&self.db, worker, sharing.cursor, last, LETTERS)?;
            let is_all = (letters.len() as i64) < LETTERS;
            let cursor = if is_all { last } else { letters.last().map_or(last, |letter| letter.number) };
            let pages = letters.iter().filter_map(|letter| letter.page.as_deref());
            let priorities: Vec<_> = pages.flat_map(&mut *learn).collect();
            if priorities.is_empty() && letters.iter().all(|letter| letter.kind.is_for_strategy()) {
                sharing.cursor = cursor;
                self.store_cursor(false)?;
            } else {
                self.write(&Batch::default(), |memory| {
                    let plan = WritePlan::for_letters(memory, &letters, &priorities)?;
                    Ok(plan.with_cursor(cursor, Vec::new()))
                })?;
                self.note_cursor(cursor);
            }
            if is_all {
                return Ok(());
            }
        }
        Ok(())
    }

    fn note_cursor(&mut self, cursor: i64) {
        let is_published = self.memory.shared.is_some_and(|shared| shared.announced.is_some());
        if let Some(sharing) = &mut self.sharing {
            (sharing.cursor, sharing.stored_cursor) = (cursor, cursor);
            sharing.has_read_more &= !is_published;
            sharing.cursor_stored_at = boot_millis();
        }
    }

    /// Stores how far letters were read, if the table is far behind, or if it must be exact.
    fn store_cursor(&mut self, must_be_exact: bool) -> Result<()> {
        let Some(sharing) = &self.sharing else { return Ok(()) };
        let (cursor, behind) = (sharing.cursor, sharing.cursor - sharing.stored_cursor);
        let age = boot_millis().saturating_sub(sharing.cursor_stored_at);
        let is_due = must_be_exact || behind >= CURSOR_BEHIND || age >= millis(CURSOR_INTERVAL);
        if behind > 0 && is_due {
            self.write(&Batch::default(), |memory| {
                Ok(WritePlan::for_letters(memory, &[], &[])?.with_cursor(cursor, Vec::new()))
            })?;
            self.note_cursor(cursor);
        }
        Ok(())
    }

    /// Applies the letters to shards that came from other workers, up to the worker's own cursor.
    fn read_older_letters(&mut self) -> Result<()> {
        let Some(sharing) = &self.sharing else { return Ok(()) };
        if sharing.behind.is_empty() {
            return Ok(());
        }
        let cursor = sharing.cursor;
        let (ready, later): (Vec<_>, Vec<_>) =
            sharing.behind.iter().copied().partition(|(_, read)| *read <= cursor);
        if ready.is_empty() {
            return Ok(());
        }
        let mut letters = Vec::new();
        for &(shard, read) in ready.iter().filter(|(_, read)| *read < cursor) {
            letters.extend(inbox::read_shard(&self.db, shard, read, cursor)?);
        }
        letters.sort_by_key(|letter| letter.number);
        letters.dedup_by_key(|letter| letter.number);
        let caught_up: Vec<u8> = ready.iter().map(|(shard, _)| *shard).collect();
        // From now on they are read from the worker's cursor, which must therefore be exact.
        self.write(&Batch::default(), |memory| {
            Ok(WritePlan::for_letters(memory, &letters, &[])?.with_cursor(cursor, caught_up))
        })?;
        self.note_cursor(cursor);
        if let Some(sharing) = &mut self.sharing {
            sharing.behind = later;
        }
        Ok(())
    }

    /// Frees the shards of a worker that is gone long enough.
    fn free_shards(&mut self, now: u64) -> Result<()> {
        let Some(sharing) = &self.sharing else { return Ok(()) };
        let takeover = millis(sharing.settings.takeover);
        let is_time = |since: u64| now.saturating_sub(since) >= takeover;
        let gone = sharing.session.view().gone.into_iter().find(|(_, since)| is_time(*since));
        if let Some((gone, _)) = gone {
            let tx = self.db.write_transaction()?;
            postgres::free(&tx, gone)?;
            tx.commit()?;
        }
        Ok(())
    }

    /// Takes and gives up shards, so that every worker has as many as any other. Which ones to give up is decided if it is
    /// time for that; they are given up, and others taken, as soon as possible, since nobody fetches their URLs in between.
    fn rebalance(&mut self, busy: &[SiteId], is_time: bool, now: u64) -> Result<()> {
        let (worker, Some(sharing)) = (self.worker(), &self.sharing) else { return Ok(()) };
        let view = sharing.session.view();
        let (share, takes) =
            (fair_share(worker, &view.alive), share_of_free(worker, &view, sharing.is_ready));
        let (own, leaving, since) = (self.own_shards(), sharing.leaving, sharing.leaving_since);
        let have = own.len();
        if leaving.is_empty() {
            let most = have.saturating_sub(share);
            if is_time && most > 0 {
                let most = most.min(wanted_shards(&view, worker, &postgres::shard_counts(&self.db)?));
                let used: ShardSet = busy.iter().map(|&site| shard_of(site)).collect();
                let (busy, idle): (Vec<u8>, Vec<u8>) = own.iter().rev().partition(|&shard| used.has(shard));
                self.freeze(idle.into_iter().chain(busy).take(most).collect(), now);
            }
        } else if have <= share {
            self.freeze(ShardSet::default(), now);
        } else if now.saturating_sub(since) >= millis(LEAVING_FOR) {
            self.memory.frontier.forget_frozen_best();
        }
        let leaving = self.leaving_shards();
        if !leaving.is_empty() && !busy.iter().any(|&site| leaving.has_site(site)) {
            self.give_up(leaving)?;
        }
        if have < takes { self.take_shards(takes - have) } else { Ok(()) }
    }

    fn freeze(&mut self, leaving: ShardSet, now: u64) {
        if leaving == self.leaving_shards() {
            return;
        }
        self.memory.frontier.freeze(leaving);
        if let Some(sharing) = &mut self.sharing {
            (sharing.leaving, sharing.leaving_since) = (leaving, now);
        }
    }

    fn take_shards(&mut self, most: usize) -> Result<()> {
        // A look without the lock of all writers: most of the time there is nothing to take.
        let sql = "select count(*) from shard where owner is null and (free_from is null or free_from <= clock_timestamp())";
        if self.db.query_row(sql, (), |row| row.get::<i64>(0))? == 0 {
            return Ok(());
        }
        let worker = self.worker();
        let tx = self.db.write_transaction()?;
        let taken = postgres::take(&tx, worker, most)?;
        tx.commit()?;
        if taken > 0 { self.adopt_shards() } else { Ok(()) }
    }

    /// Gives up shards that nothing is in flight of.
    fn give_up(&mut self, shards: ShardSet) -> Result<()> {
        let Some(sharing) = &self.sharing else { return Ok(()) };
        let cursor = sharing.cursor;
        let given = given_shards(sharing, shards, self.memory.frontier.frozen_best());
        let tx = self.db.write_transaction()?;
        postgres::give_up(&tx, self.worker(), &given, cursor)?;
        tx.commit()?;
        self.adopt_shards()
    }

    /// Follows a change of the worker's shards: reads them into memory. URLs in flight stay so.
    fn adopt_shards(&mut self) -> Result<()> {
        let own = postgres::own_shards(&self.db, self.worker())?;
        postgres::set_fence(&self.db, self.worker(), &own);
        let OwnShards { shards, .. } = own;
        if let (Some(shared), Some(sharing)) = (&mut self.memory.shared, &mut self.sharing) {
            shared.shards = shards.iter().map(|(shard, _)| *shard).collect();
            sharing.behind = shards.iter().filter_map(|(shard, read)| Some((*shard, (*read)?))).collect();
            sharing.leaving = ShardSet::default();
            sharing.stored_idle = None;
        }
        self.invalidate(&[]);
        self.refresh()
    }

    /// Looks whether too many letters are unread, and whether a table of letters can be emptied.
    fn look_at_inbox(&mut self) -> Result<()> {
        let sql = "select (select last from inbox) - min(coalesce(shard.cursor, worker.cursor, 0)) \
                   from shard left join worker on worker.id = shard.owner";
        let unread: i64 = self.db.query_row(sql, (), |row| row.get(0))?;
        if let Some(sharing) = &mut self.sharing {
            sharing.is_congested = unread > MOST_UNREAD;
        }
        if self.own_shards().has(0) {
            match inbox::rotate(&self.db) {
                Err(error) if error.is_connection_lost() => return Err(error),
                // Somebody reads the table; it can be emptied later.
                _ => {}
            }
        }
        Ok(())
    }

    /// See [`Store::is_over`](crate::Store::is_over).
    pub(super) fn is_over_for_all(&mut self) -> Result<bool> {
        let Some(sharing) = &self.sharing else { return Ok(true) };
        if !sharing.behind.is_empty() || !sharing.leaving.is_empty() {
            return Ok(false);
        }
        let idle = i64::try_from(self.memory.counts().queued).unwrap_or(i64::MAX);
        let is_stored = sharing.stored_idle == Some(idle);
        self.store_cursor(true)?;
        if !is_stored {
            let tx = self.db.write_transaction()?;
            tx.execute("update worker set idle = ?2 where id = ?1", params![self.worker(), idle])?;
            tx.commit()?;
            if let Some(sharing) = &mut self.sharing {
                sharing.stored_idle = Some(idle);
            }
        }
        let sql = "select (select queued from counts) = (select coalesce(sum(idle), 0) from worker) \
                   and not exists (select 1 from shard left join worker on worker.id = shard.owner \
                                   where coalesce(shard.cursor, worker.cursor, 0) < (select last from inbox))";
        self.db.query_row(sql, (), |row| row.get(0))
    }

    /// Whether another worker is alive.
    pub(super) fn has_company(&self) -> bool {
        self.sharing.as_ref().is_some_and(|sharing| sharing.session.view().alive.len() > 1)
    }

    /// Leaves the fleet: others may take the shards at once.
    pub(super) fn leave(&mut self) {
        let is_alive = self.sharing.as_ref().is_some_and(|sharing| sharing.session.lease().is_fresh());
        if !is_alive || self.store_cursor(true).is_err() {
            return;
        }
        let (own, worker) = (self.own_shards(), self.worker());
        let Some(sharing) = &self.sharing else { return };
        let cursor = sharing.cursor;
        let best = self.memory.frontier.greatest_of_shards(own, publication::MOST);
        let given = given_shards(sharing, own, &best);
        let leave = |db: &Connection| {
            let tx = db.write_transaction()?;
            postgres::give_up(&tx, worker, &given, cursor)?;
            tx.execute("update worker set idle = 0, best = null where id = ?1", [worker])?;
            tx.commit()
        };
        // Otherwise others take them when the session has ended.
        let _ = leave(&self.db);
    }
}

/// Shards that are given up, with their rests and what the others are told of them.
fn given_shards(sharing: &Sharing, shards: ShardSet, best: &[(f32, u8)]) -> Vec<GivenShard> {
    let is_told = sharing.settings.keeps_order;
    let given = |shard| GivenShard {
        shard,
        rest: sharing.rest_of(shard),
        best: publication::told_of_shard(shard, best).filter(|_| is_told),
    };
    shards.iter().map(given).collect()
}

/// How many shards others lack that can take them at once, given how many each worker and nobody has. Nobody would fetch the
/// URLs of more.
fn wanted_shards(view: &FleetView, worker: u32, have: &HashMap<Option<u32>, usize>) -> usize {
    let have_of = |who: Option<u32>| have.get(&who).copied().unwrap_or(0);
    let others = view.ready.iter().filter(|id| **id != worker);
    let lacking = others.map(|&id| fair_share(id, &view.alive).saturating_sub(have_of(Some(id))));
    lacking.sum::<usize>().saturating_sub(have_of(None))
}

/// How many shards a worker should have, given those that nobody has. Nobody would fetch the URLs of a worker that has not
/// begun, so it takes none while there are others, and those that have begun share all of them.
fn share_of_free(worker: u32, view: &FleetView, has_begun: bool) -> usize {
    let is_alone = view.alive.iter().all(|&id| id == worker);
    let begun = view.alive.iter().copied().filter(|&id| id == worker || view.ready.contains(&id));
    if has_begun || is_alone { fair_share(worker, &begun.collect::<Vec<_>>()) } else { 0 }
}

/// How many shards a worker should have.
fn fair_share(worker: u32, alive: &[u32]) -> usize {
    let all = crate::frontier::SHARDS;
    let place = alive.iter().position(|&other| other == worker).unwrap_or(0);
    let workers = alive.len().max(1);
    all / workers + usize::from(place < all % workers)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_given_to_workers_that_can_take_them() {
        let view = |ready: &[u32]| FleetView {
            alive: vec![0, 1, 2, 3],
            ready: ready.to_vec(),
            ..FleetView::default()
        };
        let all = HashMap::from([(Some(0), 256)]);
        assert_eq!(wanted_shards(&view(&[0]), 0, &all), 0, "nobody else has begun");
        assert_eq!(wanted_shards(&view(&[0, 2]), 0, &all), 64);
        assert_eq!(wanted_shards(&view(&[0, 1, 2, 3]), 0, &all), 192);
        let some = HashMap::from([(Some(0), 156), (Some(2), 40), (None, 60)]);
        assert_eq!(
            wanted_shards(&view(&[0, 1, 2]), 0, &some),
            28,
            "one takes 64, one 24, of which 60 are free"
        );
    }

    #[test]
    fn shards_that_nobody_has_go_to_workers_that_have_begun() {
        let share = |alive: &[u32], ready: &[u32], has_begun| {
            let view = FleetView { alive: alive.to_vec(), ready: ready.to_vec(), ..FleetView::default() };
            share_of_free(1, &view, has_begun)
        };
        assert_eq!(share(&[1], &[], false), 256, "there is nobody else");
        assert_eq!(share(&[0, 1], &[], false), 0);
        assert_eq!(share(&[0, 1], &[], true), 256, "the other one has not begun");
        assert_eq!(share(&[0, 1, 2], &[0, 1], true), 128);
        assert_eq!(share(&[0, 1], &[0], false), 0);
    }

    #[test]
    fn all_shards_are_shared_out() {
        for alive in [&[0][..], &[0, 3], &[1, 2, 5], &[0, 1, 2, 3, 4, 5, 6]] {
            let shares: Vec<usize> = alive.iter().map(|&worker| fair_share(worker, alive)).collect();
            assert_eq!(shares.iter().sum::<usize>(), 256, "{shares:?}");
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1, "{shares:?}");
        }
    }
}
