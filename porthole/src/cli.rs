//! The command line: arguments of all commands.

mod candidates;
mod control;
mod crawl;
mod distill;
mod export;
mod facts;
mod feedback;
#[cfg(feature = "lab")]
mod lab;
mod query;
mod report;
mod search;
mod serve;
mod start;
mod topics;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use self::candidates::CandidateSources;
pub(crate) use self::control::{Set, SetScope};
pub(crate) use self::crawl::{Crawl, duration};
pub(crate) use self::distill::{Distill, EngineWord};
pub(crate) use self::export::{
    Export, ExportDocuments, ExportGraph, ExportSkippedUrls, ExportTaxonomy, ExportTo, ExportWacz,
    ExportWarc, PageSelection,
};
#[cfg(feature = "parquet")]
pub(crate) use self::export::{ExportParquet, ExportTables};
pub(crate) use self::facts::{Explain, Status, Top, TopWhat};
pub(crate) use self::feedback::{ListSites, Mark, Sites, SwitchSites, Teach, Usefulness};
#[cfg(feature = "lab")]
pub(crate) use self::lab::{
    Bench, BenchClassifier, BenchCritic, BenchDistiller, BenchStrategies, Compare, Critics, Figures, General,
    Lab, LabApprentice, LabUpkeep, Record, RunExperiment, Synth, WebStats,
};
pub(crate) use self::query::{KeepArguments, KeepQuery, Query};
pub(crate) use self::report::CrawlReport;
pub(crate) use self::search::Search;
pub(crate) use self::serve::Serve;
pub(crate) use self::start::Start;
pub(crate) use self::topics::{
    AddExamples, Broaden, Classify, Documents, Examples, Explore, FetchExamples, FormatWord, FromPage, Grow,
    Import, Init, ListExamples, MoveExamples, PathArguments, Propose, Remove, RemoveExamples, SearchExamples,
    Topics, Toward, Train, Tree,
};

/// A focused crawler: finds web pages about your topics, starting from examples
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
pub(crate) struct Cli {
    /// Workspace folder [default: the current folder]
    #[arg(short = 'C', value_name = "DIR", global = true, default_value = ".", hide_default_value = true)]
    pub(crate) workspace: PathBuf,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Set up and start a first crawl from example pages or bookmarks
    Start(Box<Start>),
    /// Create a workspace
    Init(Init),
    /// Edit the topic tree and mark the good topics
    #[command(subcommand)]
    Topics(Topics),
    /// Add, find, list and move example pages
    #[command(subcommand)]
    Examples(Examples),
    /// Train the critic on the examples
    Train(Train),
    /// Fill the table DOCUMENT with the terms of fetched pages, for SQL
    Documents(Documents),
    /// Classify pages and show the terms that decide
    Classify(Classify),
    /// Crawl from the examples of the good topics
    Crawl(Box<Crawl>),
    /// Pause the running crawl: no new requests until `porthole resume`
    Pause,
    /// Resume a paused crawl
    Resume,
    /// Stop the running crawl; run `porthole crawl` to resume it
    Stop,
    /// Change settings of the running crawl
    #[command(subcommand)]
    Set(Set),
    /// Show the state of the workspace and its crawl
    Status(Status),
    /// Write an HTML report: harvest rate, pages, hubs, sites, communities
    Report(CrawlReport),
    /// Explain why a URL was queued, fetched or skipped, and its score
    Explain(Explain),
    /// Compute hub and authority scores on the link graph
    Distill(Distill),
    /// List the best pages, sites, hubs or authorities
    Top(Top),
    /// Search the text of the pages, also during a crawl
    Search(Search),
    /// Run a named query or a SQL statement, also during a crawl
    Query(Query),
    /// Export pages, archives, links or topics for other programs
    #[command(subcommand)]
    Export(Export),
    /// Answer questions about pages that the critic takes for relevant
    Teach(Teach),
    /// Mark a page or site as useful or useless; pages become examples
    Mark(Mark),
    /// List, disable and enable sites
    #[command(subcommand)]
    Sites(Sites),
    /// Serve the dashboard: administer, watch and explore crawls in a browser
    Serve(Serve),
    /// Compare a focused and an unfocused crawl on a synthetic web, offline
    Demo(Demo),
    /// Print completions for a shell: bash, elvish, fish, powershell, zsh
    Completions(Completions),
    /// Write manual pages, one for each command
    Man(ManPages),
    /// Experiments on recorded and synthetic webs
    #[cfg(feature = "lab")]
    #[command(subcommand)]
    Lab(Lab),
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManPages {
    /// Folder to write them to; it is created
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Number of fetches of each crawl
    #[arg(long, default_value_t = 3_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pages: u64,
    /// Topic to crawl for
    #[arg(long, default_value = "/Recreation/Cycling")]
    pub(crate) topic: String,
    /// Random seed of the synthetic web
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Keep the crawls in this folder, as the workspaces focused and unfocused
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Serve the dashboard with both crawls at work, until Ctrl-C. On a terminal
    /// this is the default
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, require_equals = true, conflicts_with = "json")]
    pub(crate) serve: Option<Option<SocketAddr>>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
