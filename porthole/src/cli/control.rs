//! Arguments of the commands that control a running crawl.

use clap::{Args, Subcommand};
use porthole_store::Policy;

use super::crawl::{MAX_WORKERS, language};

/// Settings of the running crawl. Requests in flight finish under the old setting
#[derive(Debug, Subcommand)]
pub(crate) enum Set {
    /// Change the order in which URLs are taken from the frontier
    Policy {
        /// Name of a policy (discovery, refresh, …) or a list of sort keys
        policy: Policy,
    },
    /// Change the strategy that scores links; archived pages are rescored
    Strategy {
        /// Name of the strategy, with parameters: NAME:KEY=VALUE,…
        name: String,
    },
    /// Change the number of concurrent requests
    Workers {
        /// Number of concurrent requests
        #[arg(value_parser = clap::value_parser!(u16).range(1..=MAX_WORKERS))]
        workers: u16,
    },
    /// Change the fetch limit of this run
    Budget {
        /// Limit, including the URLs that this run has already fetched
        pages: u64,
    },
    /// Replace the scope: the rules that decide which URLs belong to the crawl
    Scope(SetScope),
}

/// Rules that decide which URLs belong to the crawl
#[derive(Args, Debug)]
pub(crate) struct SetScope {
    /// Fetch only URLs that match one of these patterns
    #[arg(long, value_name = "PATTERN")]
    pub(crate) include: Vec<String>,
    /// Skip URLs that match one of these patterns
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,
    /// Fetch only from these domains and their subdomains
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) domain: Vec<String>,
    /// Use only pages in these languages
    #[arg(long, value_name = "CODE", value_parser = language)]
    pub(crate) language: Vec<String>,
    /// Fetch only URLs at most N links away from a start URL
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,
    /// Fetch at most N pages from each site
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) site_pages: Option<u64>,
    /// Show how many queued URLs and fetched pages the rules match, and
    /// change nothing; needs no running crawl
    #[arg(long)]
    pub(crate) preview: bool,
    /// Print the preview as JSON
    #[arg(long, requires = "preview")]
    pub(crate) json: bool,
}
