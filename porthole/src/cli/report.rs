//! What a person types for a report.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct CrawlReport {
    /// Write the report here instead of report.html in the workspace
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
