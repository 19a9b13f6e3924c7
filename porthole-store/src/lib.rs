//! The crawl in a relational database: the frontier, the link graph, the state of every URL, and queries on them while
//! the crawl runs.
//!
//! [`Store`] is the interface of a crawl: it takes batches of work and commits batches of results. [`TableStore`] is
//! the implementation, on SQLite and on PostgreSQL. [`WorkspaceWriter`] is for writes beside a crawl. Appending is the hot path: `crawl` and
//! `link` have no index that the crawl would have to maintain. The known URLs and the queue are kept in memory and
//! rebuilt at open.
//!
//! The database also holds the topic tree, the examples of each topic, the words behind the terms, and the trained
//! critic.
//!
//! This is the only crate that contains SQL; no row type of a database leaves it.

mod about;
mod answer;
mod error;
mod fleet;
mod frontier;
mod listing;
mod policy;
mod postgres;
mod queries;
mod rows;
mod search;
mod sql;
mod sqlite;
mod statistics;
mod store;
mod tables;
mod topics;
mod workspace_writer;

pub use about::{About, Feedback, FeedbackKind, LinkingPage, SiteFacts, UrlState};
pub use answer::{KeptQuery, QueryAnswer, QueryLimits, SeenRows, SqlValue};
pub use error::{Error, Result};
pub use fleet::{FleetSettings, WorkerLease, WorkerRow};
pub use listing::{ListedPage, PageListing, PageOrder};
pub use policy::{Direction, Policy, PolicyError, PolicyKey};
pub use queries::{NamedQuery, Parameter, ParameterKind, QUERIES};
pub use rows::{KnownUrl, PageFilter, RowTable, SkippedUrl, StoredLink, StoredPage};
pub use search::{
    FoundPage, IndexBatch, IndexState, MARK_END, MARK_START, PageToIndex, SearchAnswer, SearchRequest,
};
pub use statistics::{DocumentRow, NodeRow, StatRow};
pub use store::{
    Batch, Committed, CrawlProgress, DistilledScores, DuePages, Estimate, FetchOutcome, FetchPoint,
    FetchedUrl, GraphEdge, GraphNode, Learn, LinkGraph, LinkStory, NeighbourEvidence, QueuedSites, RAISED,
    Refreshed, Rejudged, SiteAddress, Store, StoreCounts, StoreReader, StoredHost, StoredRobots, StoryPage,
    TriedUrl,
};
pub use tables::{
    BATCH_TABLES, BatchTable, BulkJudgment, ColumnType, DatabaseLocation, ProbeTable, Prober, Spent,
    SqlDistillation, SqlDistiller, SqlScores, TablePortion, TableReader, TableStore, TableWriter, TextIndex,
    batch_statements,
};
pub use topics::{
    Collision, ExampleChange, ExampleId, ExampleState, NewExample, StoredExample, StoredModel, TermCounts,
    TermWord, TopicChange,
};
pub use workspace_writer::{CommandAnswer, CommandRow, WorkspaceWriter};

/// A [`TableStore`], for those that open SQLite files only.
pub type SqliteStore = TableStore;
/// A [`TableReader`], for those that open SQLite files only.
pub type SqliteReader = TableReader;
/// A [`TableWriter`], for those that open SQLite files only.
pub type SqliteWorkspaceWriter = TableWriter;
