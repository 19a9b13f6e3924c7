//! What a person types for experiments.

use std::path::PathBuf;

use clap::Args;

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

#[derive(Debug, Args)]
pub(crate) struct CrawlReport {
    /// Write the report here instead of report.html in the workspace
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
