//! What a person types to see what a crawl has done.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Print the facts as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The URL
    pub(crate) url: String,
    /// Print the facts as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Top {
    /// Pages by R(d), sites by their relevant pages, hubs and authorities by the scores of the last distillation
    #[arg(value_enum)]
    pub(crate) what: TopWhat,
    /// Only pages about this topic and what is below it
    #[arg(long, value_name = "PATH")]
    pub(crate) topic: Option<String>,
    /// How many to show
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rows: u32,
    /// Of hubs and authorities: say which links carry the score
    #[arg(long)]
    pub(crate) why: bool,
    /// Print them as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TopWhat {
    /// The most relevant pages, without those that were marked useless
    Pages,
    /// The sites with the most relevant pages, without those that are disabled or were marked useless
    Sites,
    /// The pages with the best links to relevant pages, without those that were marked useless
    Hubs,
    /// The relevant pages that the best hubs link to, without those that were marked useless
    Authorities,
}
