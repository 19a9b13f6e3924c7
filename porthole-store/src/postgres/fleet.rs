//! Workers that share a database: who there is, and which shards are whose.
//!
//! A worker has a session of its own, which holds an advisory lock with the worker's number. While the lock is held the
//! worker is alive; the server ends a session that is silent too long. `shard` has the owner of every shard and an epoch,
//! which grows with every change; every transaction of a worker checks that its shards still have the epochs that it knows.

use std::collections::HashMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::open::{connect, path};
use crate::fleet::{FleetSettings, WorkerLease, WorkerRow, boot_millis};
use crate::sql::{Connection, Row, params};
use crate::{Error, Result};

/// First number of the advisory locks of workers; the second one is the worker's.
const WORKER_LOCK: u32 = 1_886_351_989;
/// How often to ask for a lock, and how long to wait in between: a connection that was just closed may still have it.
const LOCK_TRIES: u32 = 20;
const LOCK_RETRY: Duration = Duration::from_millis(50);

/// Creates the tables of a fleet, unless they are there.
pub(crate) fn create(db: &Connection) -> Result<()> {
    let is_there = "select to_regclass('shard') is not null";
    if db.query_row(is_there, (), |row| row.get(0))? {
        return Ok(());
    }
    let tx = db.write_transaction()?;
    if !tx.query_row(is_there, (), |row| row.get::<bool>(0))? {
        tx.execute_batch(TABLES)?;
    }
    tx.commit()
}

/// Whether the database has the tables of a fleet.
fn has_tables(db: &Connection) -> Result<bool> {
    db.query_row("select to_regclass('shard') is not null", (), |row| row.get(0))
}

const TABLES: &str = r#"
    create table worker(
        id bigint primary key,
        name text collate "C" not null,
        cursor bigint not null default 0,
        idle bigint not null default 0,
        best bytea,
        has_read bigint not null default 0,
        published timestamptz,
        session bigint,
        pages bigint not null default 0,
        reserved bigint not null default 0,
        ready bigint not null default 0,
        asks bigint not null default 0
    ) with (fillfactor = 20);
    create table shard(
        id bigint primary key,
        epoch bigint not null default 0,
        owner bigint,
        cursor bigint,
        free_from timestamptz,
        best bytea
    ) with (fillfactor = 50);
    insert into shard(id, cursor) select number, 0 from generate_series(0, 255) as number;
    create table inbox(current bigint not null, last bigint not null) with (fillfactor = 10);
    insert into inbox(current, last) values (0, 0);
    create table inbox_0(
        rowid bigint primary key,
        shard bigint not null,
        kind bigint not null,
        oid bigint not null,
        url text collate "C",
        relevance double precision not null,
        priority double precision not null,
        depth bigint not null,
        src bigint not null,
        discovered bigint not null,
        anchor text collate "C",
        flags bigint not null,
        page bytea
    );
    create table inbox_1(like inbox_0 including all);
    create function porthole_fence(worker bigint, shards bigint, epochs bigint) returns void language plpgsql as $$
        begin
            if (select count(*) from shard where owner = worker) <> shards
               or (select coalesce(sum(epoch), 0) from shard where owner = worker) <> epochs then
                raise exception using errcode = 'PH001', message = 'the shards of this worker belong to another one';
            end if;
        end
    $$;
    insert into counts select 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 where not exists (select 1 from counts);
"#;

/// Adds a worker. Returns its number; that of the workspace that created the database is 0.
pub(crate) fn register(db: &Connection, name: &str) -> Result<u32> {
    create(db)?;
    let tx = db.write_transaction()?;
    let sql = "insert into worker(id, name) select coalesce(max(id), 0) + 1, ?1 from worker returning id";
    let id = tx.query_row(sql, [name], |row| row.get(0))?;
    tx.commit()?;
    Ok(id)
}

/// The workers, by number; none if the database was never shared.
pub(crate) fn workers(db: &Connection) -> Result<Vec<WorkerRow>> {
    if !has_tables(db)? {
        return Ok(Vec::new());
    }
    let sql = format!(
        "select id, name, id in ({ALIVE}), (select count(*) from shard where owner = worker.id) from worker order by id"
    );
    db.prepare(&sql)?.query_map((), |row| {
        let shards = usize::try_from(row.get::<i64>(3)?).unwrap_or(0);
        Ok(WorkerRow { id: row.get(0)?, name: row.get(1)?, is_alive: row.get(2)?, shards })
    })
}

/// The numbers of the workers whose sessions hold their locks.
pub(crate) const ALIVE: &str = "select objid::bigint from pg_locks where locktype = 'advisory' and classid = 1886351989 \
                     and granted and database = (select oid from pg_database where datname = current_database())";

/// The workers with the processes of their sessions.
const SESSIONS: &str = "select objid::bigint as id, pid::bigint as pid from pg_locks where locktype = 'advisory' \
                        and classid = 1886351989 and granted \
                        and database = (select oid from pg_database where datname = current_database())";

/// The name under which the server lists a worker's connections.
fn application_name(worker: u32) -> String {
    format!("porthole worker {worker}")
}

/// Prepares a connection on which a worker writes.
pub(crate) fn prepare_writer(db: &Connection, settings: &FleetSettings) -> Result<()> {
    let name = application_name(settings.worker);
    let silent = settings.session.as_millis();
    db.execute_batch(&format!(
        "set application_name = '{name}'; set idle_in_transaction_session_timeout = {silent}"
    ))?;
    if let Connection::Postgres(db) = db { db.listen_to_workers() } else { Ok(()) }
}

/// How often other workers have told something.
pub(crate) fn told(db: &Connection) -> i64 {
    if let Connection::Postgres(db) = db { db.told() } else { 0 }
}

/// What a worker's session last saw of the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct FleetView {
    /// Numbers of the workers that are alive, ascending.
    pub(crate) alive: Vec<u32>,
    /// Workers that own shards and are not alive, and since when that is known, as [`boot_millis`].
    pub(crate) gone: HashMap<u32, u64>,
    /// Those that are alive and ask for what others have learnt, ascending.
    pub(crate) asking: Vec<u32>,
    /// Those that are alive, can take shards at once, and do not ask.
    pub(crate) ready: Vec<u32>,
}

/// The session of a worker. It ends with this value, and its locks with it.
#[derive(Debug)]
pub(crate) struct WorkerSession {
    lease: WorkerLease,
    view: Arc<Mutex<FleetView>>,
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl WorkerSession {
    /// Begins the session of a worker: takes its lock, and a share of the lock that a crawl without workers would take.
    pub(crate) fn begin(url: &str, settings: &FleetSettings) -> Result<WorkerSession> {
        let db = connect(url)?;
        let (name, worker) = (application_name(settings.worker), settings.worker);
        db.execute_batch(&format!("set application_name = '{name}'"))?;
        refuse_pooler(&db, url)?;
        take_lock(&db, &format!("pg_try_advisory_lock_shared({})", super::open::STORE_LOCK), url)?;
        take_lock(&db, &format!("pg_try_advisory_lock({WORKER_LOCK}, {worker})"), url)?;
        create(&db)?;
        let silent = settings.session.as_millis();
        db.execute_batch(&format!(
            "set idle_session_timeout = {silent}; set tcp_user_timeout = {silent}; \
             set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3"
        ))?;
        let lease = WorkerLease::new(settings.lease());
        let view = Arc::new(Mutex::new(FleetView::default()));
        beat(&db, &lease, &view, worker)?;
        let (stop, stopped) = channel();
        let (its_lease, its_view) = (lease.clone(), Arc::clone(&view));
        let pause = (settings.session / 10).min(Duration::from_secs(1));
        let run = move || {
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                if beat(&db, &its_lease, &its_view, worker).is_err() {
                    its_lease.lose();
                    return;
                }
            }
            // Closing the connection releases them, too, but some time later.
            let _ = db.execute_batch("select pg_advisory_unlock_all()");
        };
        let thread = std::thread::Builder::new().name("session".to_owned()).spawn(run);
        let thread = thread.map_err(|error| Error::Database(Box::new(error)))?;
        Ok(WorkerSession { lease, view, stop: Some(stop), thread: Some(thread) })
    }

    pub(crate) fn lease(&self) -> &WorkerLease {
        &self.lease
    }

    pub(crate) fn view(&self) -> FleetView {
        self.view.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that a worker does not ask any more, before the session sees it.
    pub(crate) fn note_answered(&self, worker: u32) {
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        view.asking.retain(|asking| *asking != worker);
        if !view.ready.contains(&worker) {
            view.ready.push(worker);
        }
    }
}

impl Drop for WorkerSession {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take().filter(|_| self.lease.is_fresh()) {
            let _ = thread.join();
        }
    }
}

fn take_lock(db: &Connection, function: &str, url: &str) -> Result<()> {
    for _ in 0..LOCK_TRIES {
        if db.query_row(&format!("select {function}"), (), |row| row.get(0))? {
            return Ok(());
        }
        std::thread::sleep(LOCK_RETRY);
    }
    Err(Error::InUse(path(url)))
}

/// Refuses a connection that leads to another backend while a second connection has a transaction open: a pooler, which
/// would give the worker's locks to others.
fn refuse_pooler(db: &Connection, url: &str) -> Result<()> {
    let backend = |db: &Connection| db.query_row("select pg_backend_pid()", (), |row| row.get::<i64>(0));
    let before = backend(db)?;
    let other = connect(url)?;
    other.execute_batch("begin")?;
    let between = backend(&other)?;
    let after = backend(db)?;
    other.execute_batch("rollback")?;
    if before == after && between != before {
        return Ok(());
    }
    Err(Error::Connect {
        database: super::connection::shown(url),
        reason: "it is reached through a pooler that changes sessions; give the server's own address"
            .to_owned(),
    })
}

/// A worker, as a session sees it.
struct SeenWorker {
    id: u32,
    is_alive: bool,
    owns: bool,
    is_ready: bool,
    asks: bool,
}

/// Tells the server that the worker is alive, and looks for others that are not: their connections are ended, so that none
/// of them keeps others waiting.
fn beat(db: &Connection, lease: &WorkerLease, view: &Mutex<FleetView>, worker: u32) -> Result<()> {
    let sent = boot_millis();
    let sql = format!(
        "select id, id in ({ALIVE}), exists (select 1 from shard where owner = worker.id), ready <> 0, asks <> 0 \
         from worker order by id"
    );
    let found = db.prepare(&sql)?.query_map((), |row| {
        let [is_alive, owns, is_ready, asks] = [row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
        Ok(SeenWorker { id: row.get(0)?, is_alive, owns, is_ready, asks })
    })?;
    let which = |is_one: fn(&SeenWorker) -> bool| -> Vec<u32> {
        found.iter().filter(|seen| is_one(seen)).map(|seen| seen.id).collect()
    };
    let mut alive = which(|seen| seen.is_alive);
    let asking = which(|seen| seen.is_alive && seen.asks);
    let ready = which(|seen| seen.is_alive && seen.is_ready && !seen.asks);
    let gone = which(|seen| !seen.is_alive && seen.owns);
    if !alive.contains(&worker) {
        alive.push(worker);
        alive.sort_unstable();
    }
    lease.renew(sent);
    {
        let mut view = view.lock().unwrap_or_else(PoisonError::into_inner);
        let since = |id: &u32| (*id, view.gone.get(id).copied().unwrap_or(sent));
        let gone = gone.iter().filter(|id| **id != worker).map(since).collect();
        *view = FleetView { alive, gone, asking, ready };
    }
    for id in gone.into_iter().filter(|id| *id != worker) {
        // Of another role, perhaps: then the server ends them in time.
        let sql = "select pg_terminate_backend(pid) from pg_stat_activity \
                   where datname = current_database() and application_name = ?1";
        let _ = db.prepare(sql)?.query_map([application_name(id)], |_| Ok(()));
    }
    Ok(())
}

/// The shards of a worker.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnShards {
    /// Shards, with the last letter that was read of those that are not read from the worker's cursor on.
    pub(crate) shards: Vec<(u8, Option<i64>)>,
    /// Sum of their epochs.
    epochs: i64,
}

/// Reads the shards of a worker.
pub(crate) fn own_shards(db: &Connection, worker: u32) -> Result<OwnShards> {
    let mut own = OwnShards::default();
    let mut read = db.prepare("select id, epoch, cursor from shard where owner = ?1 order by id")?;
    for (shard, epoch, cursor) in
        read.query_map([worker], |row| Ok((row.get(0)?, row.get::<i64>(1)?, row.get(2)?)))?
    {
        own.shards.push((shard, cursor));
        own.epochs += epoch;
    }
    Ok(own)
}

/// Makes every transaction on a connection check that these are the worker's shards.
pub(crate) fn set_fence(db: &Connection, worker: u32, own: &OwnShards) {
    if let Connection::Postgres(db) = db {
        db.set_fence(format!("; select porthole_fence({worker}, {}, {})", own.shards.len(), own.epochs));
    }
}

/// Takes over from an earlier session of the same worker, which can write nothing any more. If no other worker has entered,
/// a new run begins, unless the worker only comes back.
pub(crate) fn enter(db: &Connection, settings: &FleetSettings) -> Result<i64> {
    let tx = db.write_transaction()?;
    if !settings.comes_back {
        let sql = format!(
            "update worker set pages = 0, reserved = 0 where not exists \
             (select 1 from worker as other join ({SESSIONS}) as alive on alive.id = other.id \
              and alive.pid = other.session where other.id <> ?1)"
        );
        tx.execute(&sql, [settings.worker])?;
    }
    let sql = "insert into worker(id, name) values (?1, ?2) \
               on conflict (id) do update set name = excluded.name, idle = 0, ready = 0, asks = 0 \
               returning cursor";
    let cursor = tx.query_row(sql, params![settings.worker, settings.name], |row| row.get(0))?;
    let sql = format!(
        "update worker set reserved = 0, session = (select pid from ({SESSIONS}) as own where own.id = ?1) where id = ?1"
    );
    tx.execute(&sql, [settings.worker])?;
    tx.execute("update shard set epoch = epoch + 1, best = null where owner = ?1", [settings.worker])?;
    tx.commit()?;
    Ok(cursor)
}

/// How many shards each worker has, and how many nobody has.
pub(crate) fn shard_counts(db: &Connection) -> Result<HashMap<Option<u32>, usize>> {
    let sql = "select owner, count(*) from shard group by owner";
    let count = |row: &Row<'_>| Ok((row.get(0)?, usize::try_from(row.get::<i64>(1)?).unwrap_or(0)));
    Ok(db.prepare(sql)?.query_map((), count)?.into_iter().collect())
}

/// Takes up to `most` shards that nobody has. What was told of them counts until this worker tells of them.
pub(crate) fn take(tx: &Connection, worker: u32, most: usize) -> Result<usize> {
    let sql = "update shard set owner = ?1, epoch = epoch + 1 where id in (select id from shard \
               where owner is null and (free_from is null or free_from <= clock_timestamp()) order by id limit ?2)";
    tx.execute(sql, params![worker, i64::try_from(most).unwrap_or(i64::MAX)])
}

/// A shard that is given up.
#[derive(Clone, Debug)]
pub(crate) struct GivenShard {
    pub(crate) shard: u8,
    /// How long it rests before others may take it.
    pub(crate) rest: Duration,
    /// The best queued URLs in it, if they are among the best of the worker.
    pub(crate) best: Option<Vec<u8>>,
}

/// Gives up shards. The letters up to `cursor` were read.
pub(crate) fn give_up(tx: &Connection, worker: u32, shards: &[GivenShard], cursor: i64) -> Result<()> {
    let mut update = tx.prepare(
        "update shard set owner = null, epoch = epoch + 1, cursor = coalesce(cursor, ?3), \
         free_from = clock_timestamp() + ?4 * interval '1 millisecond', best = ?5 where id = ?1 and owner = ?2",
    )?;
    for GivenShard { shard, rest, best } in shards {
        let rest = 1e3 * rest.as_secs_f64();
        update.send(params![i64::from(*shard), worker, cursor, rest, best])?;
    }
    tell(tx)
}

/// Tells the others, when the transaction is committed, that something has changed.
fn tell(tx: &Connection) -> Result<()> {
    tx.prepare("select pg_notify('porthole_letters', '')")?.send(())
}

/// Frees the shards of a worker that is gone, unless it is back.
pub(crate) fn free(tx: &Connection, gone: u32) -> Result<usize> {
    let sql = format!(
        "update shard set owner = null, epoch = epoch + 1, best = null, \
         cursor = coalesce(cursor, (select cursor from worker where id = ?1), 0) \
         where owner = ?1 and ?1 not in ({ALIVE})"
    );
    let freed = tx.execute(&sql, [gone])?;
    if freed > 0 {
        tx.execute("update worker set idle = 0 where id = ?1", [gone])?;
        tell(tx)?;
    }
    Ok(freed)
}
