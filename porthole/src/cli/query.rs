//! Arguments of `porthole query`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Subcommand};

use super::crawl::{bytes, duration};

/// Kept queries
#[derive(Debug, Subcommand)]
pub(crate) enum KeepQuery {
    /// Keep a query with the workspace: during crawls its new rows are events
    Keep(KeepArguments),
    /// List the kept queries
    Kept {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Drop a kept query
    Drop {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct KeepArguments {
    /// Name to keep it under
    pub(crate) name: String,
    /// A named query, or one SQL statement that only reads
    #[arg(value_name = "NAME|SQL")]
    pub(crate) question: String,
    /// Parameters of a named query, such as topic=/Science/Biology/Birds
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// A topic that the query is about
    #[arg(long, value_name = "PATH")]
    pub(crate) topic: Vec<String>,
    /// Crawl for these topics: mark them good
    #[arg(long, requires = "topic")]
    pub(crate) drive: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Query {
    #[command(subcommand)]
    pub(crate) kept: Option<KeepQuery>,
    /// A named query, or one SQL statement that only reads
    #[arg(required_unless_present = "list", value_name = "NAME|SQL")]
    pub(crate) question: Option<String>,
    /// Parameters of a named query, such as topic=/Science/Biology/Birds
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// List the named queries; with NAME, show its parameters and SQL
    #[arg(long)]
    pub(crate) list: bool,
    /// Ask these workspaces, too; answers say in the column `workspace` whose
    /// row it is, and SQL sees the tables of all of them
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with_all = ["list", "watch"])]
    pub(crate) with: Vec<PathBuf>,
    /// Repeat the query until Ctrl-C and print new rows
    #[arg(long, conflicts_with = "list")]
    pub(crate) watch: bool,
    /// Time between two runs: 5s, 10m, 1h
    #[arg(long, default_value = "5s", requires = "watch", value_parser = duration)]
    pub(crate) every: Duration,
    /// Stop after N runs
    #[arg(long, value_name = "N", requires = "watch", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) times: Option<u64>,
    /// Show at most N rows [default: 1000; all with --csv and --json]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) rows: Option<usize>,
    /// Abort a query that takes longer: 60s, 10m
    #[arg(long, default_value = "60s", value_parser = duration)]
    pub(crate) time: Duration,
    /// Abort a query that needs more temporary files: 500MB, 20GB
    #[arg(long, default_value = "1GB", value_name = "SIZE", value_parser = bytes)]
    pub(crate) temp: u64,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Print JSON; with --watch, one line per row
    #[arg(long)]
    pub(crate) json: bool,
}
