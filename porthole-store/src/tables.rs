//! The crawl in the tables of a database, whichever engine it has: the store, the writers beside it, the readers.
//!
//! Life of a URL: it is appended to `crawl` when it is first seen; taken, which is recorded in memory only; and updated
//! in place, by rowid, when its result is committed. Estimates in between are appended to `estimate_log` and moved to
//! `crawl` in sweeps. The memory ([`load::FrontierState`]) is changed first and then written; if the write fails, it is
//! rebuilt from the tables.
//!
//! The statements are the same on SQLite and PostgreSQL ([`crate::sql`]).

mod about;
mod commands;
mod counts;
mod graph;
mod hosts;
mod kept;
mod link_story;
mod links;
mod listing;
mod load;
mod location;
mod lookup;
mod plan;
mod points;
mod reader;
mod reader_pool;
mod revisit;
mod rows;
mod statistics;
mod store;
mod sweep;
mod topics;
mod tried;
mod upkeep;
mod workspace_writer;
mod write;

pub use self::location::DatabaseLocation;
pub use self::reader::TableReader;
pub(crate) use self::rows::{SITES_BELOW, names_below};
pub(crate) use self::statistics::{RECORD, did};
pub use self::store::TableStore;
pub(crate) use self::topics::read_topics;
pub use self::workspace_writer::TableWriter;
