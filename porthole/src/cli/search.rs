//! Arguments of `porthole search`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// Words to find; phrases in quotes: '"snowy owl" habitat'
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// Only pages about this topic and the topics below it
    #[arg(long, value_name = "PATH")]
    pub(crate) topic: Option<String>,
    /// Only pages with at least this relevance, between 0 and 1
    #[arg(long, value_name = "R", default_value_t = 0.0, hide_default_value = true)]
    pub(crate) min_relevance: f64,
    /// Only pages of this host and of hosts below it
    #[arg(long, value_name = "HOST")]
    pub(crate) site: Option<String>,
    /// Only pages in this language, such as en or de
    #[arg(long, value_name = "CODE")]
    pub(crate) language: Option<String>,
    /// Number of pages
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    /// Answer from the index as it is, without adding new pages first
    #[arg(long)]
    pub(crate) no_update: bool,
    /// Print the pages as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
