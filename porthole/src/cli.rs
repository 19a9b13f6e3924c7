//! The command line, as a person types it.

mod control;
mod crawl;
mod distill;
mod facts;
mod feedback;
#[cfg(feature = "lab")]
mod lab;
mod query;
mod report;
mod start;
mod topics;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use self::control::{Set, SetScope};
pub(crate) use self::crawl::Crawl;
pub(crate) use self::distill::{Distill, EngineWord};
pub(crate) use self::facts::{Explain, Status, Top, TopWhat};
pub(crate) use self::feedback::{ListSites, Mark, Sites, SwitchSites, Verdict};
#[cfg(feature = "lab")]
pub(crate) use self::lab::{
    Bench, BenchClassifier, BenchCritic, BenchDistiller, BenchStrategies, Compare, Critics, Figures, General,
    Lab, LabApprentice, Record, RunExperiment, Synth, WebStats,
};
pub(crate) use self::query::Query;
pub(crate) use self::report::CrawlReport;
pub(crate) use self::start::Start;
pub(crate) use self::topics::{
    AddExamples, Broaden, Classify, Documents, Examples, Explore, FetchExamples, FormatWord, FromPage, Grow,
    Import, Init, ListExamples, MoveExamples, Propose, Remove, RemoveExamples, Topics, Toward, Train, Tree,
};

/// Porthole finds the part of the web that is about what you care about.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
pub(crate) struct Cli {
    /// The workspace, if it is not the current folder
    #[arg(short = 'C', value_name = "DIR", global = true, default_value = ".", hide_default_value = true)]
    pub(crate) workspace: PathBuf,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// From a few pages, or bookmarks, to a running crawl: init, propose, mark, train, crawl in one command
    Start(Start),
    /// Make a workspace: settings, database, pages
    Init(Init),
    /// The tree of topics: what there is, and what the crawl is after
    #[command(subcommand)]
    Topics(Topics),
    /// The pages that show what topics are about
    #[command(subcommand)]
    Examples(Examples),
    /// Train the critic on the examples
    Train(Train),
    /// Fill the papers' table DOCUMENT with the terms of the pages that were fetched, for SQL; it is large
    Documents(Documents),
    /// Judge pages, and say why
    Classify(Classify),
    /// Crawl outwards from the examples of the good topics
    Crawl(Crawl),
    /// Pause the crawl that runs on the workspace: no new requests until it is resumed
    Pause,
    /// Resume a paused crawl
    Resume,
    /// Stop the crawl that runs on the workspace; `porthole crawl` goes on from there
    Stop,
    /// Change how the crawl that runs on the workspace works, while it runs
    #[command(subcommand)]
    Set(Set),
    /// Say how a workspace and its crawl are doing
    Status(Status),
    /// Write what was found as a page to look at: harvest, best pages, hubs, sites, communities, what to do next
    Report(CrawlReport),
    /// Say why a URL was queued, fetched or skipped, and what it is worth
    Explain(Explain),
    /// Find hubs and authorities in the link graph
    Distill(Distill),
    /// Show the best that was found
    Top(Top),
    /// Ask a named query, or a question in SQL, also while the crawl runs
    Query(Query),
    /// Say whether something that was found is useful, and let the critic learn from it
    Mark(Mark),
    /// The sites that were met
    #[command(subcommand)]
    Sites(Sites),
    /// Crawl a built-in synthetic web, focused and unfocused; nothing to install, no network
    Demo(Demo),
    /// Recorded and synthetic webs to try crawls on
    #[cfg(feature = "lab")]
    #[command(subcommand)]
    Lab(Lab),
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Fetches of each crawl
    #[arg(long, default_value_t = 3_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pages: u64,
    /// Topic to look for
    #[arg(long, default_value = "/Recreation/Cycling")]
    pub(crate) topic: String,
    /// Seed of the synthetic web
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Keep the crawls' databases in this folder instead of throwing them away
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
