//! Opens a database: checks owner and version, locks it against other crawls, and configures SQLite.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use porthole_types::{CANON_COMPATIBLE, CANON_VERSION};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::checkpoints;
use super::migrations::{self, VERSION};
use crate::{Error, Result};

/// Marks a database as Porthole's: "port" in ASCII.
const APPLICATION_ID: i64 = 0x706f_7274;
/// Setting: version of the rules for canonical URLs.
const CANON_SETTING: &str = "canon_version";
/// How long a writer waits for another. A batch takes milliseconds; statistics or scores of a large crawl take minutes.
const BUSY: Duration = Duration::from_secs(600);

/// Opens a database for writing, creating or migrating it if necessary.
pub(crate) fn writer(path: &Path) -> Result<Connection> {
    let mut db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    db.busy_timeout(BUSY)?;
    let version = version(&db, path)?;
    if version < VERSION {
        if version == 0 {
            db.pragma_update(None, "page_size", PAGE_SIZE)?;
            db.pragma_update(None, "application_id", APPLICATION_ID)?;
        }
        set_up_writer(&db)?;
        migrations::migrate(&mut db, version)?;
    } else {
        set_up_writer(&db)?;
    }
    check_rules(&db, path)?;
    db.set_prepared_statement_cache_capacity(32);
    checkpoints::on_a_thread(&mut db, path)?;
    Ok(db)
}

/// Opens a writer's database once more, for its checkpoints.
pub(super) fn checkpointer(path: &Path) -> Result<Connection> {
    let db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    db.pragma_update(None, "synchronous", "normal")?;
    Ok(db)
}

/// Opens an existing database for writing beside a crawl. An older version is migrated first, which is possible only
/// while no crawl runs.
pub(crate) fn workspace_writer(path: &Path) -> Result<Connection> {
    let db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    db.busy_timeout(BUSY)?;
    if version(&db, path)? < VERSION {
        drop(db);
        let _lock = lock(path)?;
        return writer(path);
    }
    set_up_writer(&db)?;
    check_rules(&db, path)?;
    Ok(db)
}

/// Opens a database read-only: the connection cannot write, not even to temporary tables.
pub(crate) fn reader(path: &Path) -> Result<Connection> {
    let db = calculator(path)?;
    db.pragma_update(None, "query_only", true)?;
    Ok(db)
}

/// Opens a database for reading, with temporary tables for intermediate results.
pub(crate) fn calculator(path: &Path) -> Result<Connection> {
    Ok(current(path)?.0)
}

/// Attaches a database to a connection for reading. The connection must know URIs.
pub(crate) fn attach(db: &Connection, name: &str, path: &Path) -> Result<()> {
    let (_, access) = current(path)?;
    let attach = format!("attach ?1 as \"{}\"", name.replace('"', "\"\""));
    let as_uri =
        |options: &str| db.execute(&attach, [format!("{}?{options}", uri(path)?)]).map_err(Error::from);
    match access {
        ReadAccess::Shared => as_uri("mode=ro")?,
        ReadAccess::Immutable => as_uri("immutable=1")?,
        ReadAccess::Alone => {
            // A database inherits the mode when it is attached, and keeps it: its index of the log is in memory.
            db.pragma_update(None, "locking_mode", "exclusive")?;
            let attached = as_uri("mode=ro&vfs=unix-none");
            db.pragma_update(None, "locking_mode", "normal")?;
            db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            attached?
        }
    };
    Ok(())
}

/// How a database can be read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ReadAccess {
    /// While others write.
    Shared,
    /// With an index of the log of its own: nobody writes, and no file can be created.
    Alone,
    /// As a file that does not change: nobody writes, and there is no log.
    Immutable,
}

/// A connection to a database of the current version.
fn current(path: &Path) -> Result<(Connection, ReadAccess)> {
    let reason = match connect_to_read(path)? {
        (db, VERSION, access) => return Ok((db, access)),
        (_, 0, _) => "it has no tables yet".to_owned(),
        (_, older, _) => {
            format!("its schema version is {older}; any command that writes migrates it to {VERSION}")
        }
    };
    Err(Error::Open { path: path.to_owned(), reason })
}

/// A connection that cannot write to the file, with its schema version.
fn connect_to_read(path: &Path) -> Result<(Connection, i64, ReadAccess)> {
    let connect = |name: &Path, flags, access| -> Result<(Connection, i64, ReadAccess)> {
        let db = connect(name, OpenFlags::SQLITE_OPEN_READ_ONLY | flags)?;
        db.busy_timeout(Duration::from_secs(10))?;
        let version = version(&db, path)?;
        Ok((db, version, access))
    };
    connect(path, OpenFlags::empty(), ReadAccess::Shared).or_else(|error| {
        // In a read-only folder or on a full disk SQLite cannot create the files that readers and writers share. They
        // are not needed while nobody writes.
        if !matches!(error, Error::Open { .. }) || !path.exists() || is_locked(path)? {
            return Err(error);
        }
        let alone = if has_log(path) {
            connect_alone(path).map(|(db, version)| (db, version, ReadAccess::Alone))
        } else {
            connect(&immutable(path)?, OpenFlags::SQLITE_OPEN_URI, ReadAccess::Immutable)
        };
        alone.map_err(|_| error)
    })
}

/// A connection to a database with a log that nobody writes to: its index of the log is in memory.
fn connect_alone(path: &Path) -> Result<(Connection, i64)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // Without locks: an exclusive one cannot be taken on a file that is open for reading.
    let db = Connection::open_with_flags_and_vfs(path, flags, c"unix-none")
        .map_err(|error| Error::at_open(path, &error))?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    db.pragma_update(None, "locking_mode", "exclusive")?;
    let version = version(&db, path)?;
    Ok((db, version))
}

/// Whether there are commits that are not in the database file yet.
fn has_log(path: &Path) -> bool {
    std::fs::metadata(with_suffix(path, "-wal")).is_ok_and(|log| log.len() > 0)
}

/// The URI of a database that nobody writes to.
fn immutable(path: &Path) -> Result<PathBuf> {
    Ok(PathBuf::from(format!("{}?immutable=1", uri(path)?)))
}

/// The URI of a file, without parameters.
pub(crate) fn uri(path: &Path) -> Result<String> {
    let fail = |error: std::io::Error| Error::Open { path: path.to_owned(), reason: error.to_string() };
    let whole = std::path::absolute(path).map_err(fail)?;
    let encoded = whole.as_os_str().as_encoded_bytes().iter().fold(String::new(), |mut uri, &byte| {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
        uri
    });
    Ok(format!("file:{encoded}"))
}

/// Held while a store is open: its memory would not see rows of another store. The system releases it when the process
/// ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough while a child process that is being started still shares it.
        let _ = self.0.unlock();
    }
}

/// Takes the lock of a database.
pub(crate) fn lock(path: &Path) -> Result<Lock> {
    let name = lock_name(path);
    let fail = |error: std::io::Error| Error::Open { path: name.clone(), reason: error.to_string() };
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&name).map_err(fail)?;
    // A process that checks the lock holds it for a moment, so retry.
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY),
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
    }
    Err(Error::InUse(path.to_owned()))
}

const LOCK_TRIES: u32 = 5;
const LOCK_RETRY: Duration = Duration::from_millis(10);

/// Whether another process or store has the lock.
pub(crate) fn is_locked(path: &Path) -> Result<bool> {
    let name = lock_name(path);
    let fail = |error: std::io::Error| Error::Open { path: name.clone(), reason: error.to_string() };
    let file = match File::open(&name) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        file => file.map_err(fail)?,
    };
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| false).map_err(fail),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(fail(error)),
    }
}

fn lock_name(path: &Path) -> PathBuf {
    with_suffix(path, "-lock")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Syncs the log to disk. SQLite syncs the log when it starts it and before a checkpoint, and the database after that:
/// every commit is in the log, or already synced.
pub(crate) fn sync_log(path: &Path) -> Result<()> {
    let fail = |error: std::io::Error| Error::Database(Box::new(error));
    match OpenOptions::new().write(true).open(with_suffix(path, "-wal")) {
        // The last connection to close the database checkpoints the log and removes it.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        log => log.and_then(|log| log.sync_data()).map_err(fail),
    }
}

/// Page size of the database in bytes. A crawl mostly appends, and the log takes two writes a page whatever its size: with
/// 4,096 bytes a crawled page costs some 5% more CPU time.
pub(super) const PAGE_SIZE: i64 = 8192;

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection> {
    Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| Error::at_open(path, &error))
}

fn set_up_writer(db: &Connection) -> Result<()> {
    // In WAL mode, NORMAL loses no commit when the process is killed; a power cut loses at most the commits since the
    // last checkpoint or `sync_log`.
    db.pragma_update(None, "journal_mode", "wal")?;
    db.pragma_update(None, "synchronous", "normal")?;
    db.pragma_update(None, "cache_size", -8_000)?;
    db.pragma_update(None, "wal_autocheckpoint", checkpoints::FULL)?;
    db.pragma_update(None, "journal_size_limit", 256 << 20)?;
    Ok(())
}

/// The schema version; 0 for a database without tables.
fn version(db: &Connection, path: &Path) -> Result<i64> {
    let pragma = |name: &str| -> Result<i64> {
        db.pragma_query_value(None, name, |row| row.get(0)).map_err(|error| Error::at_open(path, &error))
    };
    let (version, application, schema) =
        (pragma("user_version")?, pragma("application_id")?, pragma("schema_version")?);
    match (application, version) {
        (0, 0) if schema == 0 => Ok(0),
        (APPLICATION_ID, found) if found > VERSION => {
            Err(Error::Newer { path: path.to_owned(), found, known: VERSION })
        }
        (APPLICATION_ID, found) => Ok(found),
        _ => Err(Error::Foreign(path.to_owned())),
    }
}

/// Stores the version of the URL rules in a new database or one with older rules whose URLs still hold, and rejects a
/// database with any other version.
fn check_rules(db: &Connection, path: &Path) -> Result<()> {
    let found: Option<String> = db
        .query_row("select value from setting where name = ?1", [CANON_SETTING], |row| row.get(0))
        .optional()?;
    let Some(found) = found else { return set_rules(db) };
    match found.parse() {
        Ok(CANON_VERSION) => Ok(()),
        Ok(CANON_COMPATIBLE..CANON_VERSION) => set_rules(db),
        _ => Err(Error::OtherRules { path: path.to_owned(), found, expected: CANON_VERSION }),
    }
}

fn set_rules(db: &Connection) -> Result<()> {
    let sql = "insert or replace into setting(name, value) values (?1, ?2)";
    db.execute(sql, [CANON_SETTING, &CANON_VERSION.to_string()])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::across;
    use super::*;

    #[test]
    fn a_reader_cannot_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("porthole.db");
        drop(writer(&path).unwrap());
        let writes = ["create index theirs on crawl(oid)", "insert into setting values ('a', 'b')"];
        let temporary = "create temporary table mine(a)";
        let (reader, calculator) = (reader(&path).unwrap(), calculator(&path).unwrap());
        for sql in writes {
            assert!(reader.execute(sql, []).is_err() && calculator.execute(sql, []).is_err(), "{sql}");
        }
        assert!(reader.execute(temporary, []).is_err());
        assert!(calculator.execute(temporary, []).is_ok());
    }

    #[test]
    fn a_database_with_a_log_is_read_where_no_file_can_be_created() {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("porthole.db"), folder.path().join("copy.db"));
        let db = writer(&path).unwrap();
        db.execute("insert into setting values ('a', 'b')", []).unwrap();
        for end in ["", "-wal"] {
            std::fs::copy(with_suffix(&path, end), with_suffix(&copy, end)).unwrap();
        }
        // A folder in its place: the file that readers and writers share cannot be created.
        std::fs::create_dir(with_suffix(&copy, "-shm")).unwrap();
        assert!(has_log(&copy));
        let log = std::fs::read(with_suffix(&copy, "-wal")).unwrap();
        let value = |db: &Connection| -> String {
            db.query_row("select value from setting where name = 'a'", [], |row| row.get(0)).unwrap()
        };
        let reader = reader(&copy).unwrap();
        assert_eq!(value(&reader), "b");
        drop(reader);
        assert_eq!(std::fs::read(with_suffix(&copy, "-wal")).unwrap(), log, "the log stays");

        // Together with one that is written to.
        let together = across::open(&[("live", &path), ("kept", &copy)]).unwrap();
        db.execute("insert into setting values ('c', 'd')", []).unwrap();
        let counted: Vec<(String, i64)> = together
            .prepare("select workspace, count(*) from setting where name in ('a', 'c') group by 1 order by 1")
            .unwrap()
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        assert_eq!(counted, [("kept".to_owned(), 1), ("live".to_owned(), 2)]);
        db.execute("insert into setting values ('e', 'f')", []).unwrap();
        drop(together);
        assert_eq!(std::fs::read(with_suffix(&copy, "-wal")).unwrap(), log, "the log stays");
    }

    #[test]
    fn immutable_databases_open_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b?c=1#ü%20.db");
        drop(writer(&path).unwrap());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let db = connect(&immutable(&path).unwrap(), flags).unwrap();
        assert_eq!(version(&db, &path).unwrap(), VERSION);
    }
}
