//! Exports of a crawl for other programs.
//!
//! An export reads rows in ranges ([`ExportSource`]), turns each into bytes ([`RowWriter`]) and writes them to a file, a
//! folder or a stream ([`ExportOutput`]). Each range is read in a short transaction, so that a running crawl is not held
//! up, and memory does not depend on the number of rows. A file is written under another name and renamed at the end;
//! an export that was cut continues after its last checkpoint, without a missing or doubled row.
//!
//! A new format is a new [`RowWriter`].

mod archive;
mod cdxj;
mod checkpoint;
mod document;
mod error;
mod graph;
mod output;
mod page_row;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_table;
mod run;
mod skipped;
mod sorted_lines;
mod surt;
mod table;
mod wacz;
mod warc;

pub use archive::{ArchivedPages, RecordFacts};
pub use cdxj::CdxPages;
pub use document::{DocumentFormat, DocumentPages};
pub use error::{Error, Result};
pub use graph::{ExportedGraph, GraphFormat, export_graph};
pub use output::ExportOutput;
pub use page_row::{CsvPages, ExportPages, JsonPages, PAGE_COLUMNS};
#[cfg(feature = "parquet")]
pub use parquet::ParquetPages;
#[cfg(feature = "parquet")]
pub use parquet_table::{export_rows, export_table};
pub use run::{ExportSource, Exported, RowWriter, export};
pub use skipped::{CsvSkipped, ExportSkipped, JsonSkipped, SKIPPED_COLUMNS};
pub use surt::surt;
pub use table::{JsonObject, csv_line, csv_row, harmless_cell, value_text};
pub use wacz::{WaczDescription, export_wacz};
pub use warc::{WarcDescription, WarcPages};
