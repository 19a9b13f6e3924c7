//! Where a database is, and how it is opened.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::sql::Connection;
use crate::{Error, Result, postgres, sqlite};

/// The database of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseLocation {
    /// A SQLite file.
    File(PathBuf),
    /// The URL of a PostgreSQL database.
    Postgres(String),
}

impl DatabaseLocation {
    /// Name of the SQLite file of a workspace.
    pub const FILE: &'static str = "porthole.db";
    /// Name of the file with the URL of the PostgreSQL database of a workspace, if it has one.
    pub const URL_FILE: &'static str = "porthole.url";

    /// The database of the workspace in a folder.
    pub fn of_workspace(folder: &Path) -> Result<DatabaseLocation> {
        let path = folder.join(Self::URL_FILE);
        let url = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(DatabaseLocation::File(folder.join(Self::FILE)));
            }
            text => text.map_err(|error| Error::Open { path: path.clone(), reason: error.to_string() })?,
        };
        if Self::is_url(url.trim()) {
            return Ok(DatabaseLocation::Postgres(url.trim().to_owned()));
        }
        Err(Error::Open { path, reason: "it has no URL such as postgres://user@host/database".to_owned() })
    }

    /// Whether the database of a workspace is there, as far as its folder shows.
    pub fn is_there(&self) -> bool {
        match self {
            DatabaseLocation::File(path) => path.exists(),
            DatabaseLocation::Postgres(_) => true,
        }
    }

    /// Whether a text is the URL of a PostgreSQL database.
    pub fn is_url(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// The file, for what there is only with SQLite.
    pub(crate) fn file(&self, what: &'static str) -> Result<&Path> {
        match self {
            DatabaseLocation::File(path) => Ok(path),
            DatabaseLocation::Postgres(_) => Err(Error::Unsupported(what)),
        }
    }

    pub(super) fn lock(&self) -> Result<CrawlLock> {
        Ok(match self {
            DatabaseLocation::File(path) => CrawlLock::File(sqlite::lock(path)?),
            DatabaseLocation::Postgres(url) => CrawlLock::Postgres(postgres::lock(url)?),
        })
    }

    /// Opens it for a crawl.
    pub(super) fn writer(&self) -> Result<Connection> {
        match self {
            DatabaseLocation::File(path) => sqlite::writer(path).map(Connection::Sqlite),
            DatabaseLocation::Postgres(url) => postgres::writer(url),
        }
    }

    /// Opens it for writes beside a crawl.
    pub(super) fn workspace_writer(&self) -> Result<Connection> {
        match self {
            DatabaseLocation::File(path) => sqlite::workspace_writer(path).map(Connection::Sqlite),
            DatabaseLocation::Postgres(url) => postgres::workspace_writer(url),
        }
    }

    /// Opens it for reading.
    pub(super) fn reader(&self) -> Result<Connection> {
        match self {
            DatabaseLocation::File(path) => sqlite::reader(path).map(Connection::Sqlite),
            DatabaseLocation::Postgres(url) => postgres::reader(url),
        }
    }
}

impl From<&Path> for DatabaseLocation {
    fn from(path: &Path) -> Self {
        DatabaseLocation::File(path.to_owned())
    }
}

/// Without a password.
impl fmt::Display for DatabaseLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DatabaseLocation::File(path) => path.display().fmt(f),
            DatabaseLocation::Postgres(url) => f.write_str(&postgres::shown(url)),
        }
    }
}

/// Keeps other stores out while it is held.
#[derive(Debug)]
pub(super) enum CrawlLock {
    File(#[allow(dead_code, reason = "held, not read")] sqlite::Lock),
    Postgres(#[allow(dead_code, reason = "held, not read")] postgres::StoreLock),
}
