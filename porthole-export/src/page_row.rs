//! Fetched pages as rows of named values, for JSONL and CSV.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::path::Path;

use porthole_store::{PageFilter, RowTable, SqlValue, StoreReader, StoredPage};
use porthole_topic::Taxonomy;
use porthole_types::{Timestamp, TopicId};

use crate::archive::ArchivedPages;
use crate::table::{JsonObject, csv_line, csv_row};
use crate::{ExportSource, Result, RowWriter};

/// The fetched pages of a workspace.
pub struct ExportPages<'a> {
    reader: &'a dyn StoreReader,
    filter: PageFilter,
    /// Tells workspaces apart.
    workspace: String,
}

impl<'a> ExportPages<'a> {
    /// The pages of a workspace that a filter wants. `workspace` tells it from others.
    pub fn new(reader: &'a dyn StoreReader, filter: PageFilter, workspace: &Path) -> Self {
        ExportPages { reader, filter, workspace: workspace.display().to_string() }
    }
}

impl ExportSource for ExportPages<'_> {
    type Row = StoredPage;

    fn last_row(&self) -> Result<u64> {
        Ok(self.reader.last_row(RowTable::Crawl)?)
    }

    fn rows(&self, range: RangeInclusive<u64>) -> Result<Vec<StoredPage>> {
        Ok(self.reader.pages(range, &self.filter)?)
    }

    fn description(&self) -> String {
        format!("pages of {} with {:?}", self.workspace, self.filter)
    }
}

/// The columns of a page, in their order.
pub const PAGE_COLUMNS: [&str; 18] = [
    "url",
    "status",
    "mime",
    "title",
    "language",
    "fetched",
    "relevance",
    "topic",
    "hub",
    "authority",
    "distance",
    "copy_of",
    "digest",
    "bytes",
    "segment",
    "offset",
    "length",
    "oid",
];

/// Turns pages into values.
pub(crate) struct PageValues<'a> {
    tree: &'a Taxonomy,
    archive: RefCell<ArchivedPages>,
}

impl<'a> PageValues<'a> {
    pub(crate) fn new(tree: &'a Taxonomy, archive: &Path) -> Self {
        PageValues { tree, archive: RefCell::new(ArchivedPages::new(archive)) }
    }

    fn row(&self, page: &StoredPage) -> [SqlValue; PAGE_COLUMNS.len()] {
        let facts = page.span.and_then(|span| self.archive.borrow_mut().facts(&page.url, span));
        let facts = facts.unwrap_or_default();
        let span = page.span;
        [
            SqlValue::Text(page.url.clone()),
            SqlValue::Integer(page.status.into()),
            text(facts.mime),
            text(some(&page.title)),
            text(some(&page.language)),
            SqlValue::Text(rfc3339(page.at)),
            real(page.relevance),
            text(page.best.and_then(|best| topic_path(self.tree, best))),
            real(page.hub),
            real(page.authority),
            SqlValue::Integer(page.depth.into()),
            page.copy_of.map_or(SqlValue::Null, |original| SqlValue::Integer(original.0.cast_signed())),
            text(facts.digest),
            SqlValue::Integer(page.bytes.cast_signed()),
            text(span.map(|span| self.archive.borrow_mut().file_name(span))),
            span.map_or(SqlValue::Null, |span| SqlValue::Integer(span.offset.cast_signed())),
            span.map_or(SqlValue::Null, |span| SqlValue::Integer(span.length.into())),
            SqlValue::Integer(page.oid.0.cast_signed()),
        ]
    }
}

/// The path of a topic; `None` if it was removed from the tree.
pub(crate) fn topic_path(tree: &Taxonomy, topic: TopicId) -> Option<String> {
    tree.contains(topic).then(|| tree.path(topic))
}

/// A time as RFC 3339, in UTC.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn text(value: Option<String>) -> SqlValue {
    value.map_or(SqlValue::Null, SqlValue::Text)
}

fn real(value: Option<f64>) -> SqlValue {
    value.map_or(SqlValue::Null, SqlValue::Real)
}

/// Pages as lines of JSON.
pub struct JsonPages<'a>(PageValues<'a>);

impl<'a> JsonPages<'a> {
    /// Topics are named after a tree; media types and digests come from the archive.
    pub fn new(tree: &'a Taxonomy, archive: &Path) -> Self {
        JsonPages(PageValues::new(tree, archive))
    }
}

impl RowWriter<StoredPage> for JsonPages<'_> {
    fn name(&self) -> &'static str {
        "jsonl"
    }

    fn row(&mut self, page: &StoredPage, out: &mut Vec<u8>) -> Result<Option<String>> {
        let row = self.0.row(page);
        let line = JsonObject { columns: &PAGE_COLUMNS, row: &row };
        serde_json::to_writer(&mut *out, &line).expect("values are JSON");
        out.push(b'\n');
        Ok(None)
    }
}

/// Pages as CSV, with a line of column names.
pub struct CsvPages<'a>(PageValues<'a>);

impl<'a> CsvPages<'a> {
    /// Topics are named after a tree; media types and digests come from the archive.
    pub fn new(tree: &'a Taxonomy, archive: &Path) -> Self {
        CsvPages(PageValues::new(tree, archive))
    }
}

impl RowWriter<StoredPage> for CsvPages<'_> {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn head(&mut self, _: &str, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(csv_line(PAGE_COLUMNS.iter().map(|&name| name.to_owned())).as_bytes());
        out.push(b'\n');
        Ok(())
    }

    fn row(&mut self, page: &StoredPage, out: &mut Vec<u8>) -> Result<Option<String>> {
        out.extend_from_slice(csv_row(&self.0.row(page)).as_bytes());
        out.push(b'\n');
        Ok(None)
    }
}
