//! Arguments of `porthole mark`, `porthole teach` and `porthole sites`.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Mark {
    /// URL of a page; with --site, of any page of the site
    pub(crate) url: String,
    /// Whether the page is useful
    #[arg(value_enum)]
    pub(crate) verdict: Usefulness,
    /// Mark the whole site
    #[arg(long, conflicts_with_all = ["hub", "topic"])]
    pub(crate) site: bool,
    /// Mark the page as a hub: judge its links, not its content
    #[arg(long, conflicts_with = "topic")]
    pub(crate) hub: bool,
    /// Topic of the page [default: the critic chooses]
    #[arg(long, value_name = "PATH")]
    pub(crate) topic: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Usefulness {
    /// The page becomes an example of a good topic
    Useful,
    /// The page becomes an example of a topic that is not good
    Useless,
}

#[derive(Debug, Args)]
pub(crate) struct Teach {
    /// Maximum number of questions
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) limit: u32,
    /// Print the pages to ask about as JSON, and ask nothing
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sites {
    /// List sites: pages, mean relevance, queued URLs, failures
    List(ListSites),
    /// Stop fetching from sites
    Disable(SwitchSites),
    /// Fetch from disabled sites again
    Enable(SwitchSites),
}

#[derive(Debug, Args)]
pub(crate) struct ListSites {
    /// Only disabled sites
    #[arg(long)]
    pub(crate) disabled: bool,
    /// Number of rows
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rows: u32,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SwitchSites {
    /// Hosts, as `porthole sites list` shows them, or URLs
    #[arg(required = true, value_name = "HOST")]
    pub(crate) hosts: Vec<String>,
    /// Print the changes as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
