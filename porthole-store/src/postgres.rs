//! PostgreSQL below the tables: connections, the schema, and questions of users.
//!
//! A connection is driven by a thread that all connections share; a call waits for it, also within another runtime.
//! Statements that are sent go out at once and their results are collected later, so that a batch costs a few round
//! trips, however many rows it changes.

mod connection;
mod fleet;
mod full_text;
mod open;
mod sandbox;
mod schema;
mod tls;
mod values;

pub(crate) use self::connection::{PgConnection, PgStatement, PgStream, shown};
pub(crate) use self::fleet::{
    ALIVE, FleetView, GivenShard, OwnShards, WorkerSession, enter, free, give_up, own_shards, prepare_writer,
    register, set_fence, shard_counts, take, told, workers,
};
pub(crate) use self::full_text::{TsVectorIndex, has_text_index};
pub(crate) use self::open::{
    StoreLock, calculator, is_crawled, lock, reader, sync, workspace_writer, writer,
};
pub(crate) use self::sandbox::{answer, answer_named};
pub(crate) use self::schema::views;
pub(crate) use self::values::{PgError, blob, integer, is_null, real, text};
