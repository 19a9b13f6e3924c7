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

    /// Name of the file with a URL of the same database for SQL of users, if they are asked by a role of their own.
    pub const QUERY_URL_FILE: &'static str = "porthole-query.url";

    /// The database of the workspace in a folder.
    pub fn of_workspace(folder: &Path) -> Result<DatabaseLocation> {
        let location = Self::in_file(&folder.join(Self::URL_FILE))?;
        Ok(location.unwrap_or_else(|| DatabaseLocation::File(folder.join(Self::FILE))))
    }

    /// The database of the workspace in a folder as SQL of users sees it; `None` if there is no role for it.
    pub fn for_questions(folder: &Path) -> Result<Option<DatabaseLocation>> {
        Self::in_file(&folder.join(Self::QUERY_URL_FILE))
    }

    /// The database whose URL is in a file; `None` if there is no such file.
    fn in_file(path: &Path) -> Result<Option<DatabaseLocation>> {
        let fail = |reason: String| Error::Open { path: path.to_owned(), reason };
        let url = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| fail(error.to_string()))?,
        };
        match Self::is_url(url.trim()) {
            true => Ok(Some(DatabaseLocation::Postgres(url.trim().to_owned()))),
            false => Err(fail("it has no URL such as postgres://user@host/database".to_owned())),
        }
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

    /// Opens it for reading, with temporary tables for intermediate results.
    pub(super) fn calculator(&self) -> Result<Connection> {
        match self {
            DatabaseLocation::File(path) => sqlite::calculator(path).map(Connection::Sqlite),
            DatabaseLocation::Postgres(url) => postgres::calculator(url),
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
