//! Arguments of commands that look for examples by words.

use std::path::PathBuf;

use clap::Args;

/// Where candidates come from.
#[derive(Debug, Default, Args)]
pub(crate) struct CandidateSources {
    /// What the pages should be about, in some sentences. The candidates are
    /// ranked by it, too; neither critic nor crawl see it
    #[arg(long, value_name = "TEXT", requires = "words")]
    pub(crate) description: Option<String>,
    /// Search endpoint instead of that of [search] in porthole.toml; {words}
    /// stands for the words. It answers in JSON, like SearXNG
    #[arg(long, value_name = "URL", requires = "words")]
    pub(crate) search_url: Option<String>,
    /// Also search the pages of this workspace
    #[arg(long, value_name = "DIR", requires = "words")]
    pub(crate) search_in: Vec<PathBuf>,
    /// Take at most N pages of each search as candidates
    #[arg(long, default_value_t = 30, value_name = "N", value_parser = super::topics::at_least_one)]
    pub(crate) candidates: usize,
}
