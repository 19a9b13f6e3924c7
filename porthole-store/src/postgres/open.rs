//! Opens a database: creates or checks the tables, keeps other crawls out.

use std::path::PathBuf;
use std::time::Duration;

use porthole_types::{CANON_COMPATIBLE, CANON_VERSION};

use super::connection::{PgConnection, shown};
use super::schema::{self, FIRST, VERSION};
use crate::sql::{Connection, Optional};
use crate::{Error, Result};

/// Key of the advisory lock that a store holds; `write_transaction` uses another second number.
pub(super) const STORE_LOCK: &str = "1886351988, 1";
/// How often to ask for the lock, and how long to wait in between: a connection that was just closed may still have it.
const LOCK_TRIES: u32 = 20;
const LOCK_RETRY: Duration = Duration::from_millis(50);

/// Setting: version of the tables.
const VERSION_SETTING: &str = "schema_version";
/// Setting: version of the rules for canonical URLs.
const CANON_SETTING: &str = "canon_version";

/// Opens a database for a crawl, creating or migrating the tables if necessary. The process must hold the [`lock`].
pub(crate) fn writer(url: &str) -> Result<Connection> {
    let db = connect(url)?;
    bring_up(&db, url)?;
    // Changes of this connection are not news to it. Commits do not wait for the disk; `sync` does.
    db.execute_batch("listen porthole; set porthole.store = 'on'; set synchronous_commit = off")?;
    Ok(db)
}

/// Opens a database for writes, creating the tables if there are none. Tables of an older version are migrated first,
/// which is possible only while no crawl runs.
pub(crate) fn workspace_writer(url: &str) -> Result<Connection> {
    let db = connect(url)?;
    let is_older = version(&db, url)?.is_some_and(|version| version < VERSION);
    let _lock = if is_older { Some(lock(url)?) } else { None };
    bring_up(&db, url)?;
    Ok(db)
}

/// Opens a database for reading: transactions cannot write.
pub(crate) fn reader(url: &str) -> Result<Connection> {
    let db = calculator(url)?;
    db.execute_batch("set default_transaction_read_only = on")?;
    Ok(db)
}

/// Opens a database for reading, with temporary tables for intermediate results.
pub(crate) fn calculator(url: &str) -> Result<Connection> {
    let db = connect(url)?;
    let reason = match version(&db, url)? {
        Some(VERSION) => return Ok(db),
        None => "it has no tables yet".to_owned(),
        Some(older) => {
            format!("its schema version is {older}; any command that writes migrates it to {VERSION}")
        }
    };
    Err(Error::Connect { database: shown(url), reason })
}

pub(super) fn connect(url: &str) -> Result<Connection> {
    let db = PgConnection::connect(url)?;
    // Rows are found by their numbers: compiling queries or starting workers costs more than it saves.
    db.execute_batch("set client_min_messages = warning; set jit = off; set bytea_output = hex")?;
    Ok(Connection::Postgres(db))
}

pub(super) fn path(url: &str) -> PathBuf {
    PathBuf::from(shown(url))
}

/// The version of the tables; `None` if there are none.
fn version(db: &Connection, url: &str) -> Result<Option<i64>> {
    let count = |sql: &str| db.query_row(sql, (), |row| row.get::<i64>(0));
    if count("select count(*) from pg_class where oid = to_regclass('setting')")? == 0 {
        let others = "select count(*) from pg_class where oid in (to_regclass('crawl'), to_regclass('page'), \
                      to_regclass('site'), to_regclass('link'))";
        return if count(others)? == 0 { Ok(None) } else { Err(Error::Foreign(path(url))) };
    }
    let found: Option<String> = setting(db, VERSION_SETTING)?;
    match found.and_then(|found| found.parse().ok()) {
        None => Err(Error::Foreign(path(url))),
        Some(found @ FIRST..=VERSION) => Ok(Some(found)),
        Some(found) if found > VERSION => Err(Error::Newer { path: path(url), found, known: VERSION }),
        Some(found) => Err(Error::Connect {
            database: shown(url),
            reason: format!(
                "its schema version is {found}, and {FIRST} was the first on PostgreSQL: use the program that \
                 created it"
            ),
        }),
    }
}

/// Creates the tables and brings them to the current version, unless another process has done so meanwhile. Each step and
/// its number are written in one transaction, so that a kill in between leaves tables that the next open continues to
/// migrate.
fn bring_up(db: &Connection, url: &str) -> Result<()> {
    while version(db, url)? != Some(VERSION) {
        let tx = db.write_transaction()?;
        let (step, number) = match version(&tx, url)? {
            None => (schema::TABLES, FIRST),
            Some(VERSION) => break,
            Some(older) => {
                (schema::MIGRATIONS[usize::try_from(older - FIRST).unwrap_or_default()], older + 1)
            }
        };
        tx.execute_batch(step)?;
        set_setting(&tx, VERSION_SETTING, &number.to_string())?;
        tx.commit()?;
    }
    check_rules(db, url)
}

/// Stores the version of the URL rules in new tables or ones with older rules whose URLs still hold, and rejects any
/// other version.
fn check_rules(db: &Connection, url: &str) -> Result<()> {
    let Some(found) = setting(db, CANON_SETTING)? else { return set_rules(db) };
    match found.parse() {
        Ok(CANON_VERSION) => Ok(()),
        Ok(CANON_COMPATIBLE..CANON_VERSION) => set_rules(db),
        _ => Err(Error::OtherRules { path: path(url), found, expected: CANON_VERSION }),
    }
}

fn set_rules(db: &Connection) -> Result<()> {
    set_setting(db, CANON_SETTING, &CANON_VERSION.to_string())
}

fn set_setting(db: &Connection, name: &str, value: &str) -> Result<()> {
    let sql = "insert into setting(name, value) values (?1, ?2) on conflict (name) do update set value = excluded.value";
    db.execute(sql, [name, value]).map(drop)
}

fn setting(db: &Connection, name: &str) -> Result<Option<String>> {
    db.query_row("select value from setting where name = ?1", [name], |row| row.get(0)).optional()
}

/// Held while a store is open, on a connection of its own: the server releases it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct StoreLock(Connection);

impl Drop for StoreLock {
    fn drop(&mut self) {
        // Closing the connection releases it, too, but some time later.
        let _ = self.0.execute_batch(&format!("select pg_advisory_unlock({STORE_LOCK})"));
    }
}

/// Takes the lock of a database.
pub(crate) fn lock(url: &str) -> Result<StoreLock> {
    let db = connect(url)?;
    for _ in 0..LOCK_TRIES {
        let sql = format!("select pg_try_advisory_lock({STORE_LOCK})");
        if db.query_row(&sql, (), |row| row.get(0))? {
            return Ok(StoreLock(db));
        }
        std::thread::sleep(LOCK_RETRY);
    }
    Err(Error::InUse(path(url)))
}

/// Whether a store has the lock.
pub(crate) fn is_crawled(db: &Connection) -> Result<bool> {
    let sql = "select count(*) > 0 from pg_locks where locktype = 'advisory' and classid = 1886351988 and objid = 1 \
               and granted and database = (select oid from pg_database where datname = current_database())";
    db.query_row(sql, (), |row| row.get(0))
}

/// Waits until everything that was committed is on the server's disk: a commit that waits for the disk waits for all
/// before it.
pub(crate) fn sync(db: &Connection) -> Result<()> {
    db.execute_batch(
        "begin read write; set local synchronous_commit = on; \
         select pg_logical_emit_message(true, 'porthole', ''); commit",
    )
}
