//! Errors of a store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use porthole_types::{TopicId, UrlId};

use crate::ExampleId;

/// Result of a call on a store.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Error of a call on a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened or created.
    #[error("cannot open {path}: {reason}")]
    Open {
        /// The database.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// The file is not a SQLite database.
    #[error("{0} is not a SQLite database; choose another file, or move this one away")]
    NotADatabase(PathBuf),
    /// A SQLite database of another program.
    #[error("{0} is a database of another program; choose another file")]
    Foreign(PathBuf),
    /// Created by a later version of Porthole.
    #[error(
        "{path} has schema version {found}, but this program supports versions up to {known}; use a newer porthole, or \
        create a new workspace"
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The latest version known here.
        known: i64,
    },
    /// Created with other rules for canonical URLs, under which a page may have another id.
    #[error(
        "{path} was created with version {found} of the rules for canonical URLs, but this program uses version \
        {expected}; use the porthole that created it, or create a new workspace"
    )]
    OtherRules {
        /// The database.
        path: PathBuf,
        /// The version it was made with.
        found: String,
        /// The version of this program.
        expected: u32,
    },
    /// Another store, in this or another process, has the database open for a crawl.
    #[error("{0} is in use by another crawl; stop it first")]
    InUse(PathBuf),
    /// A fetch number was used twice.
    #[error("fetch number {0} already belongs to another URL")]
    UsedNumber(u64),
    /// The tables are inconsistent.
    #[error("the database is damaged: {0}; restore a backup, or create a new workspace")]
    Damaged(String),
    /// A result or an estimate for a URL that was never added.
    #[error("unknown URL id {0}")]
    UnknownUrl(UrlId),
    /// Unknown site.
    #[error("unknown site {0}: no page of it is known")]
    UnknownSite(String),
    /// Invalid policy.
    #[error(transparent)]
    Policy(#[from] crate::PolicyError),
    /// Too many URLs for the row numbers.
    #[error("the frontier is full (4 billion URLs)")]
    Full,
    /// An inconsistent topic tree.
    #[error("the topics are not a tree: {0}")]
    NoTree(String),
    /// Unknown topic id.
    #[error("no topic with id {id}", id = .0.0)]
    UnknownTopic(TopicId),
    /// A topic with examples would be removed.
    #[error("{topic} has {examples} examples; move or remove them as well")]
    TopicInUse {
        /// Path of the topic.
        topic: String,
        /// Number of its examples.
        examples: u32,
    },
    /// Unknown example.
    #[error("no example {0}")]
    UnknownExample(ExampleId),
    /// A node has no statistics, or its children have changed.
    #[error("no statistics for the topic with id {id}; run `porthole train --tables`", id = .0.0)]
    Untrained(TopicId),
    /// Unknown query.
    #[error("no query `{0}`; `porthole query --list` lists all")]
    UnknownQuery(String),
    /// Unknown parameter.
    #[error("the query `{query}` has no parameter `{parameter}`")]
    UnknownParameter {
        /// Name of the query.
        query: String,
        /// The given parameter.
        parameter: String,
    },
    /// A required parameter is missing.
    #[error("the query `{query}` needs {parameter}=… ({meaning})")]
    MissingParameter {
        /// Name of the query.
        query: String,
        /// The missing parameter.
        parameter: String,
        /// Its description.
        meaning: String,
    },
    /// Invalid value of a parameter.
    #[error("{parameter}={value}: it must be {wanted}")]
    WrongValue {
        /// The parameter.
        parameter: String,
        /// The given value.
        value: String,
        /// Description of valid values.
        wanted: &'static str,
    },
    /// Unknown topic path.
    #[error("no topic {0}; `porthole topics tree` lists all")]
    NoSuchTopic(String),
    /// The statement does more than read.
    #[error("refused: {0}; only reading the tables is allowed")]
    Refused(String),
    /// No statement, or several.
    #[error("one SQL statement is wanted, not {0}")]
    NotOneStatement(&'static str),
    /// SQL error in the statement.
    #[error("SQL: {0}")]
    Sql(String),
    /// The result has too many rows.
    #[error("the result has more than {0} rows; add a limit clause")]
    TooManyRows(usize),
    /// The result, or a value in it, is too large.
    #[error("the result is larger than {0} bytes; select fewer columns or rows")]
    TooLarge(usize),
    /// A value that the query computes is too large.
    #[error("a value has more than {0} bytes; compute smaller ones")]
    LargeValue(usize),
    /// The query needs too much room for intermediate results.
    #[error("the query needs more than {0} bytes of temporary files; select or join less")]
    TooMuchTemporary(u64),
    /// The query exceeded its time limit.
    #[error("the query was stopped after {0:?}; simplify it")]
    TooSlow(Duration),
    /// The database cannot be reached, or has no tables.
    #[error("cannot open {database}: {reason}")]
    Connect {
        /// The database, without a password.
        database: String,
        /// The message of the server or of the system.
        reason: String,
    },
    /// The server of the database is being started or stopped.
    #[error("cannot open {database}: {reason}")]
    NotReady {
        /// The database, without a password.
        database: String,
        /// The message of the server.
        reason: String,
    },
    /// Another worker has taken over what this one crawled.
    #[error("this worker was not heard of for too long: its sites belong to other workers now")]
    Fenced,
    /// The session of a worker has ended.
    #[error("the worker's session with the database has ended")]
    SessionLost,
    /// There is this only with SQLite.
    #[error("{0} is not supported on PostgreSQL yet")]
    Unsupported(&'static str),
    /// Error of the database.
    #[error("database: {0}")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Whether the disk is full.
    pub fn is_disk_full(&self) -> bool {
        let Error::Database(source) = self else { return false };
        let code = source.downcast_ref().and_then(rusqlite::Error::sqlite_error_code);
        let kind = source.downcast_ref().map(std::io::Error::kind);
        let is_server_full = source.downcast_ref().is_some_and(crate::postgres::PgError::is_disk_full);
        is_server_full
            || code == Some(rusqlite::ErrorCode::DiskFull)
            || kind == Some(std::io::ErrorKind::StorageFull)
    }

    /// Whether a worker can go on as after a crash, once the database is there again: its connection or its session has
    /// ended, or others have taken over what it crawled.
    pub fn is_connection_lost(&self) -> bool {
        match self {
            Error::Connect { .. } => true,
            _ => self.is_restarting(),
        }
    }

    /// Whether the server of the database was reached, but is being started or stopped, or has ended the connection.
    pub fn is_restarting(&self) -> bool {
        match self {
            Error::Fenced | Error::SessionLost | Error::NotReady { .. } => true,
            Error::Database(source) => {
                source.downcast_ref().is_some_and(crate::postgres::PgError::is_connection_lost)
            }
            _ => false,
        }
    }

    /// Maps an error at opening to one that names the file.
    pub(crate) fn at_open(path: &Path, error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => Error::NotADatabase(path.to_owned()),
            Some(rusqlite::ErrorCode::DatabaseCorrupt) => Error::Damaged(error.to_string()),
            _ => Error::Open { path: path.to_owned(), reason: error.to_string() },
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                Error::Damaged(error.to_string())
            }
            _ => Error::Database(Box::new(error)),
        }
    }
}
