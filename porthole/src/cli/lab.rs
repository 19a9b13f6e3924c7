//! What a person types for experiments.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use porthole_lab::classifier_bench::ClassifierSetup;
use porthole_lab::distiller_bench::DistillerSetup;

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

#[derive(Debug, Args)]
pub(crate) struct BenchDistiller {
    /// Pages that are crawled on a synthetic web for the graph
    #[arg(long, default_value_t = DistillerSetup::USUAL.pages, value_parser = clap::value_parser!(u64).range(10..))]
    pub(crate) pages: u64,
    /// How often each variant is run, in turns
    #[arg(long, default_value_t = DistillerSetup::USUAL.rounds, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// Seed of the synthetic web
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write the figures as distiller.svg and distiller.json into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunExperiment {
    /// What to compare on what; every field of it can be given as a flag, too, and the flag counts
    #[arg(value_name = "EXPERIMENT.toml")]
    pub(crate) file: Option<PathBuf>,
    /// Write results.jsonl, a line a crawl, and every fetch into this folder; what it has already is not run again
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// The web: WARC, or the parameters of a synthetic one in a file that ends in .toml
    #[arg(long, value_name = "FILE")]
    pub(crate) web: Option<PathBuf>,
    /// Lines of a URL and a topic path, for a recorded web
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// Topics to look for
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub(crate) topics: Option<Vec<String>>,
    /// Strategies to compare: NAME, NAME:KEY=VALUE,KEY=VALUE, NAME+hubs, NAME+neighbours, NAME:STARTS or NAME@BASELINE
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) strategies: Option<Vec<String>>,
    /// Draws of start pages
    #[arg(long, value_name = "N")]
    pub(crate) samples: Option<u32>,
    /// Start pages a draw
    #[arg(long, value_name = "N")]
    pub(crate) start: Option<usize>,
    /// Share of the labelled pages that the critic is trained on
    #[arg(long, value_name = "SHARE")]
    pub(crate) train: Option<f64>,
    /// What is drawn, is drawn from it
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Fetches after which to measure
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) at: Option<Vec<u64>>,
    /// Whether hosts mean something on this web
    #[arg(long, value_name = "BOOL")]
    pub(crate) servers: Option<bool>,
    /// Let the critic begin with the general taxonomy
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) general: Option<bool>,
    /// How the critic tells topics apart: tree, flat, or two-class for the topic against all others
    #[arg(long, value_name = "SHAPE")]
    pub(crate) shape: Option<String>,
    /// What to measure beside the crawls: classifier, distiller, ranks, apprentice, learners
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) studies: Option<Vec<String>>,
    /// Crawls at a time; as many as there are cores, if not given
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Print all results as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Figures {
    /// The folder that `lab run` wrote to; report.html and figures/ are written there
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// A strategy, or a folder of results
    #[arg(value_name = "A")]
    pub(crate) one: String,
    /// Another one
    #[arg(value_name = "B")]
    pub(crate) other: String,
    /// The folder of the results, to compare two strategies
    #[arg(long = "in", value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// The strategy to look at, to compare two folders
    #[arg(long, value_name = "NAME", default_value = "soft")]
    pub(crate) strategy: String,
    /// Write the comparison as a page of HTML
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
    /// Lines of a URL and a topic path that are true of the pages; the critic says what they are, if not given
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// Print the facts as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
