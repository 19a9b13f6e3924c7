//! The crawl in the tables of a database, whichever engine it has: the store, the writers beside it, the readers.
//!
//! Life of a URL: it is appended to `crawl` when it is first seen; taken, which is recorded in memory only; and updated
//! in place, by rowid, when its result is committed. Estimates in between are appended to `estimate_log` and moved to
//! `crawl` in sweeps. The memory ([`load::FrontierState`]) is changed first and then written; if the write fails, it is
//! rebuilt from the tables.
//!
//! The statements are the same on SQLite and PostgreSQL ([`crate::sql`]).

mod about;
mod batch;
mod budget;
mod commands;
mod counts;
mod distill;
pub(crate) mod full_text;
mod graph;
mod hosts;
mod inbox;
mod kept;
mod link_story;
mod links;
mod listing;
mod load;
mod location;
mod lookup;
mod plan;
mod points;
mod prober;
mod publication;
mod reader;
mod reader_pool;
mod revisit;
mod rows;
mod search;
mod sharing;
mod statistics;
mod store;
mod sweep;
mod text_index;
mod topics;
mod tried;
mod upkeep;
mod workspace_writer;
mod write;

pub use self::batch::{BATCH_TABLES, BatchTable, ColumnType, TablePortion, batch_statements};
pub use self::distill::{SqlDistillation, SqlDistiller, SqlScores};
pub use self::location::DatabaseLocation;
pub use self::prober::{BulkJudgment, ProbeTable, Prober, Spent};
pub use self::reader::TableReader;
pub use self::store::TableStore;
pub use self::text_index::TextIndex;
pub(crate) use self::text_index::{change_number, number};
pub use self::workspace_writer::TableWriter;
