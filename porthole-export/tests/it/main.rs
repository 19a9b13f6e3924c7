//! Exports of made-up crawls: every row once, whatever is cut where.

mod archives;
mod crawl;
mod cut;
mod graph;
#[cfg(feature = "parquet")]
mod parquet;
mod rows;
