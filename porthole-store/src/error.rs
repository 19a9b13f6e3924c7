//! What can go wrong with a store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use porthole_types::{TopicId, UrlId};

use crate::ExampleId;

/// The result of a call on a store.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call on a store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened or made.
    #[error("cannot open {path}: {reason}")]
    Open {
        /// The database.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The file is something else.
    #[error("{0} is not a SQLite database; name another file, or move this one away")]
    NotADatabase(PathBuf),
    /// A SQLite database that Porthole did not make.
    #[error("{0} is a database of another program; name another file")]
    Foreign(PathBuf),
    /// Made by a later version of Porthole.
    #[error(
        "{path} has tables of version {found}, this program knows up to {known}; use a newer porthole, or \
         start a new workspace"
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The latest version known here.
        known: i64,
    },
    /// Made with other rules for canonical URLs, under which the same page may have another id.
    #[error(
        "{path} was made with version {found} of the rules for canonical URLs, this program has version \
         {expected}; use the porthole that made it, or start a new workspace"
    )]
    OtherRules {
        /// The database.
        path: PathBuf,
        /// The version it was made with.
        found: String,
        /// The version of this program.
        expected: u32,
    },
    /// Another process or another store of this one writes to the database.
    #[error("{0} is in use by another crawl; stop that one first")]
    InUse(PathBuf),
    /// Every fetch has a number of its own.
    #[error("the fetch number {0} is that of another URL")]
    UsedNumber(u64),
    /// The tables contradict themselves.
    #[error("the database is damaged: {0}; restore a copy, or start a new workspace")]
    Damaged(String),
    /// A result or an estimate for a URL that was never added.
    #[error("the URL {0} is not known to the store")]
    UnknownUrl(UrlId),
    /// No such site.
    #[error("no page of {0} is known, so there is no such site here")]
    UnknownSite(String),
    /// A policy that is none.
    #[error(transparent)]
    Policy(#[from] crate::PolicyError),
    /// More URLs than row numbers.
    #[error("the frontier is full: it holds 4 billion URLs")]
    Full,
    /// A tree that contradicts itself.
    #[error("the topics are no tree: {0}")]
    NoTree(String),
    /// No such topic.
    #[error("there is no topic with the id {id}", id = .0.0)]
    UnknownTopic(TopicId),
    /// A topic would vanish from under its examples.
    #[error("{topic} has {examples} examples; move or remove them together with it")]
    TopicInUse {
        /// Path of the topic.
        topic: String,
        /// How many examples it has.
        examples: u32,
    },
    /// No such example.
    #[error("there is no example {0}")]
    UnknownExample(ExampleId),
    /// Nothing was learnt about the children of a node, or they are no longer the same.
    #[error("there are no statistics for the topic with the id {id}; train first", id = .0.0)]
    Untrained(TopicId),
    /// No query of that name.
    #[error("there is no query `{0}`; list the queries to see their names")]
    UnknownQuery(String),
    /// The query has no such parameter.
    #[error("the query `{query}` has no parameter `{parameter}`")]
    UnknownParameter {
        /// Name of the query.
        query: String,
        /// The parameter that was given.
        parameter: String,
    },
    /// The query cannot do without a parameter.
    #[error("the query `{query}` needs {parameter}=… ({meaning})")]
    MissingParameter {
        /// Name of the query.
        query: String,
        /// The parameter that was not given.
        parameter: String,
        /// What it means.
        meaning: String,
    },
    /// A parameter was given what it cannot be.
    #[error("{parameter}={value}: it must be {wanted}")]
    WrongValue {
        /// The parameter.
        parameter: String,
        /// What was given.
        value: String,
        /// What it can be.
        wanted: &'static str,
    },
    /// No topic at a path.
    #[error("there is no topic {0}; `porthole topics tree` shows those that there are")]
    NoSuchTopic(String),
    /// The statement is not plain reading.
    #[error("refused: {0}; only reading the tables is allowed")]
    Refused(String),
    /// No statement, or several.
    #[error("one SQL statement is wanted, not {0}")]
    NotOneStatement(&'static str),
    /// The statement is wrong.
    #[error("SQL: {0}")]
    Sql(String),
    /// The answer has too many rows.
    #[error("the answer has more than {0} rows; add a limit clause")]
    TooManyRows(usize),
    /// The answer, or a value in it, has too many bytes.
    #[error("the answer is larger than {0} bytes; select fewer columns or rows")]
    TooLarge(usize),
    /// The statement takes too long.
    #[error("stopped after {0:?}; narrow the question")]
    TooSlow(Duration),
    /// The database failed.
    #[error("database: {0}")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Whether there is no room left on the disk.
    pub fn is_disk_full(&self) -> bool {
        let Error::Database(source) = self else { return false };
        let code = source.downcast_ref().and_then(rusqlite::Error::sqlite_error_code);
        let kind = source.downcast_ref().map(std::io::Error::kind);
        code == Some(rusqlite::ErrorCode::DiskFull) || kind == Some(std::io::ErrorKind::StorageFull)
    }

    /// An error at opening, in terms of the file.
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
            Some(rusqlite::ErrorCode::DatabaseCorrupt) => Error::Damaged(error.to_string()),
            _ => Error::Database(Box::new(error)),
        }
    }
}
