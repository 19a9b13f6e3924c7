//! What was not fetched, and why. Reasons have the names of Browsertrix' list of skipped pages where it has one.

use std::ops::RangeInclusive;
use std::path::Path;

use porthole_store::{RowTable, SkippedUrl, SqlValue, StoreReader, UrlState};

use crate::page_row::rfc3339;
use crate::table::{JsonObject, csv_line, csv_row};
use crate::{ExportSource, Result, RowWriter};

/// The URLs of a workspace that failed, were skipped, evicted or not followed.
pub struct ExportSkipped<'a> {
    reader: &'a dyn StoreReader,
    /// Tells workspaces apart.
    workspace: String,
}

impl<'a> ExportSkipped<'a> {
    /// The skipped URLs of a workspace. `workspace` tells it from others.
    pub fn new(reader: &'a dyn StoreReader, workspace: &Path) -> Self {
        ExportSkipped { reader, workspace: workspace.display().to_string() }
    }
}

impl ExportSource for ExportSkipped<'_> {
    type Row = SkippedUrl;

    fn last_row(&self) -> Result<u64> {
        Ok(self.reader.last_row(RowTable::Crawl)?)
    }

    fn rows(&self, range: RangeInclusive<u64>) -> Result<Vec<SkippedUrl>> {
        Ok(self.reader.skipped(range)?)
    }

    fn description(&self) -> String {
        format!("skipped URLs of {}", self.workspace)
    }
}

/// The columns of a skipped URL, in their order.
pub const SKIPPED_COLUMNS: [&str; 9] =
    ["url", "reason", "state", "failure", "detail", "status", "tried", "distance", "relevance"];

fn values(skipped: &SkippedUrl) -> [SqlValue; SKIPPED_COLUMNS.len()] {
    let text = |value: &Option<String>| value.clone().map_or(SqlValue::Null, SqlValue::Text);
    [
        SqlValue::Text(skipped.url.clone()),
        SqlValue::Text(reason(skipped).to_owned()),
        SqlValue::Text(skipped.state.name().to_owned()),
        text(&skipped.failure),
        text(&skipped.detail),
        skipped.status.map_or(SqlValue::Null, |status| SqlValue::Integer(status.into())),
        skipped.at.map_or(SqlValue::Null, |at| SqlValue::Text(rfc3339(at))),
        SqlValue::Integer(skipped.depth.into()),
        SqlValue::Real(skipped.relevance),
    ]
}

/// Why a URL was not fetched, or is no page of the crawl.
fn reason(skipped: &SkippedUrl) -> &'static str {
    match (skipped.state, skipped.failure.as_deref(), skipped.status) {
        (UrlState::Rejected, ..) => "notFollowed",
        (UrlState::Evicted, ..) => "pageLimit",
        (_, Some("robots"), _) => "robotsTxt",
        (_, Some("scope"), _) => "outOfScope",
        (_, Some("trap"), _) => "trap",
        (_, Some("type"), _) => "contentType",
        (_, Some("noindex"), _) => "noIndex",
        (_, Some("scripts" | "empty"), _) => "noText",
        (_, _, Some(429)) => "rateLimited",
        _ => "failed",
    }
}

/// Skipped URLs as lines of JSON.
#[derive(Debug, Default)]
pub struct JsonSkipped;

impl RowWriter<SkippedUrl> for JsonSkipped {
    fn name(&self) -> &'static str {
        "skipped"
    }

    fn row(&mut self, skipped: &SkippedUrl, out: &mut Vec<u8>) -> Result<Option<String>> {
        let line = JsonObject { columns: &SKIPPED_COLUMNS, row: &values(skipped) };
        serde_json::to_writer(&mut *out, &line).expect("values are JSON");
        out.push(b'\n');
        Ok(None)
    }
}

/// Skipped URLs as CSV.
#[derive(Debug, Default)]
pub struct CsvSkipped;

impl RowWriter<SkippedUrl> for CsvSkipped {
    fn name(&self) -> &'static str {
        "skipped-csv"
    }

    fn head(&mut self, _: &str, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(csv_line(SKIPPED_COLUMNS.iter().map(|&name| name.to_owned())).as_bytes());
        out.push(b'\n');
        Ok(())
    }

    fn row(&mut self, skipped: &SkippedUrl, out: &mut Vec<u8>) -> Result<Option<String>> {
        out.extend_from_slice(csv_row(&values(skipped)).as_bytes());
        out.push(b'\n');
        Ok(None)
    }
}
