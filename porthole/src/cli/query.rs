//! What a person types to ask the database.

use std::time::Duration;

use clap::Args;

use super::crawl::duration;

#[derive(Debug, Args)]
pub(crate) struct Query {
    /// A named query, or a statement in SQL, which may read and nothing else
    #[arg(required_unless_present = "list", value_name = "NAME|SQL")]
    pub(crate) question: Option<String>,
    /// What a named query is asked for, as in topic=/Recreation/Cycling
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Name the queries and what they can be asked for; with NAME, show that one's SQL, too
    #[arg(long)]
    pub(crate) list: bool,
    /// Ask again and again until Ctrl-C: new rows are printed
    #[arg(long, conflicts_with = "list")]
    pub(crate) watch: bool,
    /// How long to wait between two answers: 5s, 10m, 1h
    #[arg(long, default_value = "5s", requires = "watch", value_parser = duration)]
    pub(crate) every: Duration,
    /// Stop watching after so many answers
    #[arg(long, value_name = "N", requires = "watch", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) times: Option<u64>,
    /// Show at most so many rows
    #[arg(long, default_value_t = 1_000, value_name = "N")]
    pub(crate) rows: usize,
    /// Stop a question that takes longer: 60s, 10m
    #[arg(long, default_value = "60s", value_parser = duration)]
    pub(crate) time: Duration,
    /// Print the answer as CSV
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Print the answer as JSON; with --watch, a line a row
    #[arg(long)]
    pub(crate) json: bool,
}
