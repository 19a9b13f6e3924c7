//! The crawl in a relational database: the frontier, the link graph, what became of every URL, and answers
//! to questions about it while the crawl runs.
//!
//! [`Store`] is what the rest of Porthole sees: a batch of results in, a batch of work out. [`SqliteStore`]
//! is the default behind it. [`WorkspaceWriter`] is for what people write beside a crawl. Appending is the hot path: `crawl` and `link` have no index that the crawl
//! would pay for; which URLs are known and which is next is kept in memory and rebuilt at open.
//!
//! What a crawl is about is kept beside it: the tree of topics, the examples of each, the words behind the
//! terms, and the trained critic.
//!
//! This is the only room that contains SQL, and no row type of a database leaves it.

mod about;
mod answer;
mod error;
mod frontier;
mod policy;
mod queries;
mod sqlite;
mod statistics;
mod store;
mod topics;
mod workspace_writer;

pub use about::{About, Feedback, FeedbackKind, Parent, SiteFacts, UrlState};
pub use answer::{Answer, Limits, Value};
pub use error::{Error, Result};
pub use policy::{Direction, Key, Policy, PolicyError};
pub use queries::{Kind, NamedQuery, Parameter, QUERIES};
pub use sqlite::{
    Judged, Prober, Spent, SqlDistillation, SqlDistiller, SqlScores, SqliteReader, SqliteStore,
    SqliteWorkspaceWriter, Table,
};
pub use statistics::{Document, NodeRow, StatRow};
pub use store::{
    Batch, Committed, Counts, Edge, Estimate, Graph, Neighbourhood, Node, RAISED, Refreshed, Rejudged,
    Scores, Site, Store, StoreReader, Tried,
};
pub use topics::{
    Collision, Example, ExampleChange, ExampleId, ExampleState, Model, NewExample, TermWord, Terms,
    TopicChange,
};
pub use workspace_writer::{CommandAnswer, CommandRow, WorkspaceWriter};
