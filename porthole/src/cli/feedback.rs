//! What a person types to say what is useful and what is not.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Mark {
    /// URL of a page; of any page of a site, with --site
    pub(crate) url: String,
    /// Whether it is useful
    #[arg(value_enum)]
    pub(crate) verdict: Verdict,
    /// It is the whole site that is useful or not
    #[arg(long, conflicts_with_all = ["hub", "topic"])]
    pub(crate) site: bool,
    /// It is for its links that the page is useful or not
    #[arg(long, conflicts_with = "topic")]
    pub(crate) hub: bool,
    /// What the page is about, if you know; otherwise the critic chooses the topic that learns from it
    #[arg(long, value_name = "PATH")]
    pub(crate) topic: Option<String>,
    /// Print what was done as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Verdict {
    /// More like this: the page becomes an example of a good topic
    Useful,
    /// Less like this: the page becomes an example of a topic that is not good
    Useless,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sites {
    /// List sites: pages, mean R, what is queued, what failed
    List(ListSites),
    /// Fetch nothing more from sites
    Disable(SwitchSites),
    /// Fetch from sites again
    Enable(SwitchSites),
}

#[derive(Debug, Args)]
pub(crate) struct ListSites {
    /// Only those that are disabled
    #[arg(long)]
    pub(crate) disabled: bool,
    /// How many to show
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rows: u32,
    /// Print them as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SwitchSites {
    /// Hosts, as `porthole sites list` shows them, or URLs
    #[arg(required = true, value_name = "HOST")]
    pub(crate) hosts: Vec<String>,
    /// Print what was changed as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
