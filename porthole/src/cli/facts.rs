//! Arguments of `porthole status`, `explain` and `top`.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Print the state as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// URL to explain
    pub(crate) url: String,
    /// Also show the path from a start URL, the links of the page, and its text
    /// as the critic saw it
    #[arg(long)]
    pub(crate) story: bool,
    /// Print the explanation as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Top {
    /// What to list
    #[arg(value_enum)]
    pub(crate) what: TopWhat,
    /// Only pages about this topic and the topics below it
    #[arg(long, value_name = "PATH")]
    pub(crate) topic: Option<String>,
    /// Only pages with at least this relevance; sites by their mean
    #[arg(long, value_name = "R", value_parser = super::export::share)]
    pub(crate) min_relevance: Option<f64>,
    /// Number of rows [default: 20; all with --csv]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rows: Option<u32>,
    /// For hubs and authorities: show the links that contribute most
    #[arg(long)]
    pub(crate) why: bool,
    /// Print the list as CSV
    #[arg(long, conflicts_with_all = ["json", "why"])]
    pub(crate) csv: bool,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TopWhat {
    /// Pages by relevance, without those marked useless
    Pages,
    /// Sites by relevant pages, without those disabled or marked useless
    Sites,
    /// Pages with the best links to relevant pages, by the last distillation
    Hubs,
    /// Relevant pages that the best hubs link to, by the last distillation
    Authorities,
}
