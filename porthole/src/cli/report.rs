//! Arguments of `porthole report`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct CrawlReport {
    /// File to write [default: report.html in the workspace]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
