//! Arguments of `porthole lab`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use porthole_lab::classifier_bench::ClassifierSetup;
use porthole_lab::distiller_bench::DistillerSetup;
use porthole_store::DatabaseLocation;

#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    /// Generate a synthetic web: print its figures or a page, or serve it over HTTP
    Synth(Synth),
    /// Print figures of a recorded web: pages, hosts, links, charsets, problems
    WebStats(WebStats),
    /// Compare strategies on a recorded or synthetic web, by its true labels
    Run(RunExperiment),
    /// Measure how well link features predict the relevance of the target page
    Apprentice(LabApprentice),
    /// Write a report of the results of `lab run`, with the papers' figures
    Figures(Figures),
    /// Make a recorded web for experiments from a workspace's crawl
    Record(Record),
    /// Compare two strategies, or two result folders, with confidence intervals
    Compare(Compare),
    /// Measure the critics on the labelled collections
    Critics(Critics),
    /// Measure how fresh a maintained crawl of a changing synthetic web stays
    Upkeep(LabUpkeep),
    /// Train the general taxonomy that comes with the program
    General(General),
    /// Benchmark single parts
    #[command(subcommand)]
    Bench(Bench),
}

#[derive(Debug, Args)]
pub(crate) struct LabUpkeep {
    /// Number of pages of each web
    #[arg(long, default_value_t = 1_000)]
    pub(crate) pages: u32,
    /// Days to simulate
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u32).range(2..=3_650))]
    pub(crate) days: u32,
    /// Mean interval between two visits of a page, in days
    #[arg(long, value_name = "DAYS", default_value_t = 7.0)]
    pub(crate) every: f64,
    /// Number of webs, each with another seed
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) webs: u32,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LabApprentice {
    /// The web: WARC, or a .toml file with the parameters of a synthetic web
    #[arg(long, value_name = "FILE")]
    pub(crate) web: PathBuf,
    /// Labels of a recorded web: lines of url<TAB>topic
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// Topics to crawl for
    #[arg(long, value_name = "PATH", required = true)]
    pub(crate) topic: Vec<String>,
    /// Strategy of the crawl that produces the training data
    #[arg(long, value_name = "NAME", default_value = "soft")]
    pub(crate) strategy: String,
    /// Number of fetches to use
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) pages: u64,
    /// Largest DOM offset between a term and the link
    #[arg(long, value_name = "D", default_value_t = 8, value_parser = clap::value_parser!(u32).range(..=64))]
    pub(crate) reach: u32,
    /// Random seed. Two runs with the same seed make the same choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the results as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Critics {
    /// Folder of the labelled collections
    #[arg(long, value_name = "DIR", default_value = "../shared/corpora")]
    pub(crate) corpora: PathBuf,
    /// Write the calibration plot as critics.svg into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct General {
    /// Folder of the labelled collections
    #[arg(long, value_name = "DIR", default_value = "../shared/corpora")]
    pub(crate) corpora: PathBuf,
    /// File to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Time and page misses of the in-database classifier
    Classifier(BenchClassifier),
    /// Documents per CPU second that the critic trains on and classifies
    Critic(BenchCritic),
    /// Time of each distiller implementation on the link graph of a crawl
    Distiller(BenchDistiller),
    /// Time per link of each strategy, with few and with many queued links
    Strategies(BenchStrategies),
}

#[derive(Debug, Args)]
pub(crate) struct BenchStrategies {
    /// Strategies to measure [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ';', value_parser = porthole_strategy::checked)]
    pub(crate) strategy: Vec<String>,
    /// Number of queued links at the end
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) links: usize,
    /// Random seed. Two runs with the same seed make the same choices
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchCritic {
    /// Folder of the labelled collections
    #[arg(long, value_name = "DIR", default_value = "../shared/corpora")]
    pub(crate) corpora: PathBuf,
    /// Number of repetitions
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchClassifier {
    /// Number of topics of the generated taxonomy
    #[arg(long, default_value_t = ClassifierSetup::USUAL.nodes, value_parser = clap::value_parser!(u16).range(30..))]
    pub(crate) nodes: u16,
    /// Number of documents classified in one batch
    #[arg(long, default_value_t = ClassifierSetup::USUAL.documents, value_parser = clap::value_parser!(u32).range(8..))]
    pub(crate) documents: u32,
    /// Number of terms of the generated vocabulary
    #[arg(long, default_value_t = ClassifierSetup::USUAL.vocabulary, value_parser = clap::value_parser!(u32).range(1_000..))]
    pub(crate) vocabulary: u32,
    /// Random seed of the generated statistics and documents
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Measure in this empty PostgreSQL database instead of a temporary SQLite file
    #[arg(long, value_name = "URL", value_parser = database)]
    pub(crate) db: Option<DatabaseLocation>,
    /// Write the figures as classifier.svg and classifier.json into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Synth {
    /// Parameters of the web, as `[web]` of an experiment has them; the flags override them
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) web: Option<PathBuf>,
    /// Number of pages [default: 20000]
    #[arg(long)]
    pub(crate) pages: Option<u32>,
    /// Random seed; the same seed gives the same bytes on every machine [default: 1]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Mean size of a content page in bytes of HTML
    #[arg(long)]
    pub(crate) page_bytes: Option<u32>,
    /// Follow all links and print figures
    #[arg(long)]
    pub(crate) stats: bool,
    /// Print the page at this URL
    #[arg(long, value_name = "URL")]
    pub(crate) get: Option<String>,
    /// Print URL and topic of every page that has one and is not a copy
    #[arg(long)]
    pub(crate) labels: bool,
    /// Serve the web over HTTP until Ctrl-C, also as a proxy
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) serve: Option<SocketAddr>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WebStats {
    /// WARC files of the recorded web
    #[arg(required = true, value_name = "FILE.warc.gz")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchDistiller {
    /// Number of pages to crawl on a synthetic web to obtain the graph
    #[arg(long, default_value_t = DistillerSetup::USUAL.pages, value_parser = clap::value_parser!(u64).range(10..))]
    pub(crate) pages: u64,
    /// Number of repetitions of each implementation, interleaved
    #[arg(long, default_value_t = DistillerSetup::USUAL.rounds, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// Random seed of the synthetic web
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Measure in this empty PostgreSQL database instead of a temporary SQLite file
    #[arg(long, value_name = "URL", value_parser = database)]
    pub(crate) db: Option<DatabaseLocation>,
    /// Write the figures as distiller.svg and distiller.json into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunExperiment {
    /// Experiment to run; flags override the fields of the file
    #[arg(value_name = "EXPERIMENT.toml")]
    pub(crate) file: Option<PathBuf>,
    /// Write results.jsonl and the traces here; finished crawls are not repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// The web: WARC, or a .toml file with the parameters of a synthetic web
    #[arg(long, value_name = "FILE")]
    pub(crate) web: Option<PathBuf>,
    /// Labels of a recorded web: lines of url<TAB>topic
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// Topics to crawl for
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub(crate) topics: Option<Vec<String>>,
    /// Strategies: NAME, NAME:KEY=VALUE,…, NAME+hubs, NAME+neighbours,
    /// NAME:STARTS or NAME@BASELINE
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) strategies: Option<Vec<String>>,
    /// Number of samples of start pages
    #[arg(long, value_name = "N")]
    pub(crate) samples: Option<u32>,
    /// Number of start pages per sample
    #[arg(long, value_name = "N")]
    pub(crate) start: Option<usize>,
    /// Share of the labelled pages that the critic is trained on
    #[arg(long, value_name = "SHARE")]
    pub(crate) train: Option<f64>,
    /// Random seed. Two runs with the same seed make the same choices
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Numbers of fetches at which to measure
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) at: Option<Vec<u64>>,
    /// Whether hosts are meaningful on this web
    #[arg(long, value_name = "BOOL")]
    pub(crate) servers: Option<bool>,
    /// Train the critic on top of the general taxonomy
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) general: Option<bool>,
    /// Shape of the critic: tree, flat, or two-class
    #[arg(long, value_name = "SHAPE")]
    pub(crate) shape: Option<String>,
    /// Extra measurements: classifier, distiller, ranks, apprentice, learners,
    /// mixing, hypertext
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) studies: Option<Vec<String>>,
    /// Concurrent crawls [default: the number of cores]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Print the results as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Figures {
    /// Folder that `lab run` wrote; receives report.html and figures/
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// A strategy, or a result folder
    #[arg(value_name = "A")]
    pub(crate) one: String,
    /// The strategy or folder to compare with
    #[arg(value_name = "B")]
    pub(crate) other: String,
    /// Result folder, to compare two strategies
    #[arg(long = "in", value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Strategy, to compare two folders
    #[arg(long, value_name = "NAME", default_value = "soft")]
    pub(crate) strategy: String,
    /// Write the comparison as an HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print the comparison as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Record {
    /// Write web.warc.gz, labels.tsv and experiment.toml into this folder
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// True labels: lines of url<TAB>topic [default: the critic's judgments]
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The URL of a PostgreSQL database.
fn database(text: &str) -> Result<DatabaseLocation, &'static str> {
    match DatabaseLocation::is_url(text) {
        true => Ok(DatabaseLocation::Postgres(text.to_owned())),
        false => Err("a URL such as postgres://user@host/database is wanted"),
    }
}
