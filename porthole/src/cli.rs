//! The command line, as a person types it.

mod control;
mod crawl;
mod distill;
mod facts;
mod feedback;
mod lab;
mod query;
mod start;
mod topics;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use porthole_lab::classifier_bench::Setup as ClassifierSetup;

pub(crate) use self::control::{Set, SetScope};
pub(crate) use self::crawl::Crawl;
pub(crate) use self::distill::{BenchDistiller, Distill, EngineWord};
pub(crate) use self::facts::{Explain, Status, Top, TopWhat};
pub(crate) use self::feedback::{ListSites, Mark, Sites, SwitchSites, Verdict};
pub(crate) use self::lab::{Compare, CrawlReport, Figures, Record, RunExperiment};
pub(crate) use self::query::Query;
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

#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    /// Make a synthetic web: print its figures, one of its pages, or serve it over HTTP
    Synth(Synth),
    /// Print the figures of a recorded web: pages, hosts, links, charsets, problems
    WebStats(WebStats),
    /// Compare strategies on a recorded or synthetic web, by its true labels
    Run(RunExperiment),
    /// Say what an apprentice can learn from a crawl: how well links foretell what they lead to, and from where
    Apprentice(LabApprentice),
    /// Make a report of what `lab run` found: the papers' figures, and the numbers behind them
    Figures(Figures),
    /// Make a web for experiments from what a workspace has crawled
    Record(Record),
    /// Compare two strategies, or two folders of results: a verdict, with its interval
    Compare(Compare),
    /// Measure how good the critics are on the labelled collections
    Critics(Critics),
    /// Make the general taxonomy that comes with the program
    General(General),
    /// Measure the parts
    #[command(subcommand)]
    Bench(Bench),
}

#[derive(Debug, Args)]
pub(crate) struct LabApprentice {
    /// The web: WARC, or the parameters of a synthetic one in a file that ends in .toml
    #[arg(long, value_name = "FILE")]
    pub(crate) web: PathBuf,
    /// Lines of a URL and a topic path, for a recorded web
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// Topics to look for
    #[arg(long, value_name = "PATH", required = true)]
    pub(crate) topic: Vec<String>,
    /// Who makes the crawl to learn from
    #[arg(long, value_name = "NAME", default_value = "soft")]
    pub(crate) strategy: String,
    /// Fetches of the crawl that count
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) pages: u64,
    /// The farthest DOM offset to look at
    #[arg(long, value_name = "D", default_value_t = 8, value_parser = clap::value_parser!(u32).range(..=64))]
    pub(crate) reach: u32,
    /// What is drawn, is drawn from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print all of it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Critics {
    /// The folder of the collections
    #[arg(long, value_name = "DIR", default_value = "../shared/corpora")]
    pub(crate) corpora: PathBuf,
    /// Write how probabilities and truth agree as critics.svg into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct General {
    /// The folder of the collections
    #[arg(long, value_name = "DIR", default_value = "../shared/corpora")]
    pub(crate) corpora: PathBuf,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Time and page misses of the classifier inside the database, as V Fig. 8 (a) to (c)
    Classifier(BenchClassifier),
    /// Documents a second of CPU that the native critic trains on and judges, from raw text
    Critic(BenchCritic),
    /// Time of the distiller's variants on the link graph of a crawl, as V Fig. 8 (d)
    Distiller(BenchDistiller),
    /// What a link costs under each strategy, with few and with many links waiting
    Strategies(BenchStrategies),
}

#[derive(Debug, Args)]
pub(crate) struct BenchStrategies {
    /// Strategies to measure, if not all
    #[arg(long, value_name = "NAME", value_delimiter = ';', value_parser = porthole_strategy::checked)]
    pub(crate) strategy: Vec<String>,
    /// Links that wait in the end
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) links: usize,
    /// What is drawn, is drawn from it
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchCritic {
    /// The folder of the collections
    #[arg(long, value_name = "DIR", default_value = "../shared/corpora")]
    pub(crate) corpora: PathBuf,
    /// How often
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchClassifier {
    /// Topics of the made-up taxonomy
    #[arg(long, default_value_t = ClassifierSetup::USUAL.nodes, value_parser = clap::value_parser!(u16).range(30..))]
    pub(crate) nodes: u16,
    /// Documents that are judged together
    #[arg(long, default_value_t = ClassifierSetup::USUAL.documents, value_parser = clap::value_parser!(u32).range(8..))]
    pub(crate) documents: u32,
    /// Terms of the made-up language
    #[arg(long, default_value_t = ClassifierSetup::USUAL.vocabulary, value_parser = clap::value_parser!(u32).range(1_000..))]
    pub(crate) vocabulary: u32,
    /// Seed of the made-up statistics and documents
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write the figures as classifier.svg and classifier.json into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Synth {
    /// Number of pages
    #[arg(long, default_value_t = 20_000)]
    pub(crate) pages: u32,
    /// Seed: the same seed gives the same bytes on every machine
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Bytes of HTML of a content page, on average
    #[arg(long)]
    pub(crate) page_bytes: Option<u32>,
    /// Walk over all links and print the figures
    #[arg(long)]
    pub(crate) stats: bool,
    /// Print the page at this URL
    #[arg(long, value_name = "URL")]
    pub(crate) get: Option<String>,
    /// Serve it over HTTP until Ctrl-C, for normal and for proxy requests
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) serve: Option<SocketAddr>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WebStats {
    /// The recorded web
    #[arg(required = true, value_name = "FILE.warc.gz")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
