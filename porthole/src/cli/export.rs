//! Arguments of `porthole export`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use porthole_types::Timestamp;

#[derive(Debug, Subcommand)]
pub(crate) enum Export {
    /// JSON lines, one per page; `crawl --start` and `examples import` read them
    Jsonl(ExportRows),
    /// CSV, one line per page
    Csv(ExportRows),
    /// WARC files: the archived records of the pages, with topic and relevance
    Warc(ExportWarc),
    /// A sorted index of the workspace's own WARC files, for replay
    Cdxj(ExportRows),
    /// WARC files, index and page list in one file, for replay
    Wacz(ExportWacz),
    /// Parquet files with the columns of Common Crawl's index, and more
    #[cfg(feature = "parquet")]
    Parquet(ExportParquet),
    /// The tables as Parquet files with the statements of the batch work, for Spark
    #[cfg(feature = "parquet")]
    Tables(ExportTables),
    /// The main content of the pages as Markdown, without menus and footers
    Markdown(ExportDocuments),
    /// The same as plain text
    Text(ExportDocuments),
    /// The links between the pages, as GraphML or as a list of edges
    Graph(ExportGraph),
    /// What was not fetched, and why
    Skipped(ExportSkippedUrls),
    /// The topics with marks and counts, for `init --taxonomy FILE`
    Taxonomy(ExportTaxonomy),
}

/// An export with a row per fetched page
#[derive(Debug, Args)]
pub(crate) struct ExportRows {
    #[command(flatten)]
    pub(crate) selection: PageSelection,
    #[command(flatten)]
    pub(crate) to: ExportTo,
}

/// An export of WARC files
#[derive(Debug, Args)]
pub(crate) struct ExportWarc {
    #[command(flatten)]
    pub(crate) selection: PageSelection,
    /// Write one file, if the name ends in .warc.gz, otherwise a folder of files
    /// [default: standard output]. The same command resumes an interrupted export
    #[arg(short, long, value_name = "DIR|FILE.warc.gz")]
    pub(crate) output: Option<PathBuf>,
    /// Begin a new file at this size [default: 1GB]; for a folder only
    #[arg(long, value_name = "SIZE", value_parser = super::crawl::bytes)]
    pub(crate) size: Option<u64>,
    /// Print the summary as JSON
    #[arg(long, requires = "output")]
    pub(crate) json: bool,
}

/// An export of one WACZ file
#[derive(Debug, Args)]
pub(crate) struct ExportWacz {
    #[command(flatten)]
    pub(crate) selection: PageSelection,
    /// Write to this file. The same command resumes an interrupted export
    #[arg(short, long, value_name = "FILE.wacz")]
    pub(crate) output: PathBuf,
    /// Begin a new WARC file in it at this size
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = super::crawl::bytes)]
    pub(crate) size: u64,
    /// Title of the collection [default: the good topics]
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// An export of the main content of pages
#[derive(Debug, Args)]
pub(crate) struct ExportDocuments {
    #[command(flatten)]
    pub(crate) selection: PageSelection,
    /// Write a folder with a file for each page; it must not exist
    /// [default: standard output, one page after the other]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long, requires = "output")]
    pub(crate) json: bool,
}

/// An export of Parquet files
#[cfg(feature = "parquet")]
#[derive(Debug, Args)]
pub(crate) struct ExportParquet {
    #[command(flatten)]
    pub(crate) selection: PageSelection,
    /// Write one file, if the name ends in .parquet, otherwise a folder of files, which must not exist
    #[arg(short, long, value_name = "DIR|FILE.parquet")]
    pub(crate) output: PathBuf,
    /// Begin a new file at this size [default: 256MB]; for a folder only
    #[arg(long, value_name = "SIZE", value_parser = super::crawl::bytes)]
    pub(crate) size: Option<u64>,
    /// Add a column with the main text of the pages
    #[arg(long)]
    pub(crate) text: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// An export of the tables
#[cfg(feature = "parquet")]
#[derive(Debug, Args)]
pub(crate) struct ExportTables {
    /// Write a folder, which must not exist
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// An export of the link graph
#[derive(Debug, Args)]
pub(crate) struct ExportGraph {
    #[command(flatten)]
    pub(crate) selection: PageSelection,
    /// Write lines of source, target and anchor text, separated by tabs; also with `-o FILE.tsv`
    #[arg(long)]
    pub(crate) edges: bool,
    #[command(flatten)]
    pub(crate) to: ExportTo,
}

/// An export of what was not fetched
#[derive(Debug, Args)]
pub(crate) struct ExportSkippedUrls {
    /// Write CSV instead of JSON lines; also with `-o FILE.csv`
    #[arg(long)]
    pub(crate) csv: bool,
    /// Stop after N URLs [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    #[command(flatten)]
    pub(crate) to: ExportTo,
}

/// An export of the topic tree
#[derive(Debug, Args)]
pub(crate) struct ExportTaxonomy {
    /// Write to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which fetched pages are exported
#[derive(Debug, Args)]
pub(crate) struct PageSelection {
    /// Only pages about this topic and the topics below it
    #[arg(long, value_name = "PATH")]
    pub(crate) topic: Vec<String>,
    /// Only pages with at least this relevance; duplicates count as 0
    #[arg(long, value_name = "R", value_parser = share)]
    pub(crate) min_relevance: Option<f64>,
    /// Only pages of this host and the names below it
    #[arg(long, value_name = "HOST")]
    pub(crate) site: Vec<String>,
    /// Only pages in this language, such as en
    #[arg(long, value_name = "CODE")]
    pub(crate) language: Vec<String>,
    /// Only pages fetched at this time or later: 2026-11-17, 2026-11-17T08:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) since: Option<Timestamp>,
    /// Only pages fetched before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) until: Option<Timestamp>,
    /// Stop after N pages [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
}

/// Where an export goes
#[derive(Debug, Args)]
pub(crate) struct ExportTo {
    /// Write to this file [default: standard output]. An interrupted export
    /// leaves FILE.part; the same command resumes it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long, requires = "output")]
    pub(crate) json: bool,
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "expected a number between 0 and 1".to_owned())
}

fn time(text: &str) -> Result<Timestamp, String> {
    let day = || {
        let day: jiff::civil::Date = text.parse().ok()?;
        Some(day.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    };
    let time = text.parse().ok().or_else(day);
    let time = time.map(|time: jiff::Timestamp| Timestamp(time.as_millisecond()));
    time.ok_or_else(|| "expected a day (2026-11-17) or a time (2026-11-17T08:00:00Z), in UTC".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_days_or_moments() {
        for (text, millis) in [
            ("1970-01-02", Some(86_400_000)),
            ("1970-01-01T00:00:01Z", Some(1_000)),
            ("1970-01-01T01:00:00+01:00", Some(0)),
            ("yesterday", None),
            ("1970-02-30", None),
        ] {
            assert_eq!(time(text).ok(), millis.map(Timestamp), "{text}");
        }
        assert_eq!((share("0.5"), share("1.5").is_err(), share("NaN").is_err()), (Ok(0.5), true, true));
    }
}
