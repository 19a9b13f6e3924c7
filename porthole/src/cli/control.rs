//! Arguments of the commands that talk to a running crawl.

use clap::{Args, Subcommand};
use porthole_store::Policy;

/// What `porthole set` changes. What is under way ends under the old rule; what starts next follows the new one.
#[derive(Debug, Subcommand)]
pub(crate) enum Set {
    /// The order in which URLs are taken from the frontier
    Policy {
        /// A name (discovery, refresh, …) or a list of keys
        policy: Policy,
    },
    /// The strategy that scores links; pages that are kept are judged again
    Strategy {
        /// Its name, with parameters
        name: String,
    },
    /// How many requests may be under way at once
    Workers {
        /// The number
        #[arg(value_parser = clap::value_parser!(u16).range(1..=4096))]
        workers: u16,
    },
    /// How many URLs may be fetched in this run, those that were fetched included
    Budget {
        /// The number
        pages: u64,
    },
    /// Which URLs belong to the crawl, in place of the scope that it has
    Scope(SetScope),
}

/// A scope.
#[derive(Args, Debug)]
pub(crate) struct SetScope {
    /// Only URLs that match one of these patterns
    #[arg(long, value_name = "PATTERN")]
    pub(crate) include: Vec<String>,
    /// No URLs that match one of these patterns
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,
    /// Only hosts of these domains
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) domain: Vec<String>,
    /// Only pages in these languages
    #[arg(long, value_name = "CODE")]
    pub(crate) language: Vec<String>,
    /// At most this many links away from a start
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,
    /// At most this many pages of one site
    #[arg(long, value_name = "N")]
    pub(crate) site_pages: Option<u64>,
}
