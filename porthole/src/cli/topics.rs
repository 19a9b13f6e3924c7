//! What a person types about topics, examples and the critic.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use crate::settings::{CountingWord, CriticWord, RawTrain, ShapeWord};

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Folder to make the workspace in
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Topics to start with: `general`, or a file: a list of `url<TAB>topic`, bookmarks, a folder of folders, the
    /// Open Directory's structure or content, or a taxonomy that was trained elsewhere
    #[arg(long, value_name = "general|FILE")]
    pub(crate) taxonomy: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Topics {
    /// Show the tree: marks, and the number of examples
    Tree(Tree),
    /// Make a topic, together with those above it that are missing
    Add(Path),
    /// Put a topic, with all that is below it, below another one
    Move {
        /// Path of the topic
        path: String,
        /// Path of the topic that it goes below
        parent: String,
    },
    /// Give a topic another name
    Rename {
        /// Path of the topic
        path: String,
        /// Its name from now on, without the topics above it
        name: String,
    },
    /// Take a topic out, with all that is below it
    Remove(Remove),
    /// Mark topics good: pages about them are what the crawl is after
    Mark(Paths),
    /// Take the mark from good topics
    Unmark(Paths),
    /// Say which topics examples fit best, and the words that decide
    Propose(Propose),
    /// Steer toward topics besides the good ones: links on pages about them are followed as if they were good
    Toward(Toward),
    /// Say which topics commingle with good ones in the crawl, and so might be good, too
    Broaden(Broaden),
    /// Take pages of specialty sites of the crawl as examples, as far as the critic gets no worse
    Grow(Grow),
}

#[derive(Debug, Args)]
pub(crate) struct Tree {
    /// Only this topic and what is below it
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Print the topics as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Path {
    /// Path of the topic, as /Science/Biology
    pub(crate) path: String,
}

#[derive(Debug, Args)]
pub(crate) struct Paths {
    /// Paths of the topics
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Toward {
    /// Paths of the topics, in place of those that there are; without any, show them
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Steer toward the good topics alone
    #[arg(long, conflicts_with = "paths")]
    pub(crate) none: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// Path of the topic
    pub(crate) path: String,
    /// Remove the examples, too
    #[arg(long, conflicts_with = "move_examples")]
    pub(crate) with_examples: bool,
    /// Give the examples to this topic
    #[arg(long, value_name = "TOPIC")]
    pub(crate) move_examples: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Propose {
    /// Files, `-`, or URLs of examples; without any, the examples that have no topic yet
    #[arg(value_name = "FILE|URL")]
    pub(crate) names: Vec<String>,
    /// Take the examples of this topic and of those below it
    #[arg(long, value_name = "PATH", conflicts_with = "names")]
    pub(crate) topic: Option<String>,
    /// Topics to show
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub(crate) most: usize,
    /// Print the proposals as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Broaden {
    /// Print the topics as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Grow {
    /// Path of the topic, which is good or below a good one
    pub(crate) topic: String,
    /// Sites to take pages from, at most
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = at_least_one)]
    pub(crate) sites: usize,
    /// Pages to take from a site, at most
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = at_least_one)]
    pub(crate) pages: usize,
    /// Pages to take in all, at most
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = at_least_one)]
    pub(crate) accept: usize,
    /// Print what was taken as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Examples {
    /// Show files and pages of the web for a topic
    Add(AddExamples),
    /// Take what a list page links to as examples
    From(FromPage),
    /// Find more examples near those that a topic has
    Explore(Explore),
    /// Fetch the pages of examples that have none yet
    Fetch(FetchExamples),
    /// Take examples from bookmarks, a list of `url<TAB>topic`, a folder of folders, or the Open Directory
    Import(Import),
    /// List examples
    List(ListExamples),
    /// Take examples away from a topic
    Remove(RemoveExamples),
    /// Give examples to another topic
    Move(MoveExamples),
}

#[derive(Debug, Args)]
pub(crate) struct AddExamples {
    /// Path of the topic; it is made if there is none
    pub(crate) topic: String,
    /// Text, HTML or PDF; URLs are fetched, as politely as a crawl does it
    #[arg(required = true, value_name = "FILE|URL")]
    pub(crate) names: Vec<PathBuf>,
    /// Take the pages of URLs from this recorded web
    #[arg(long, value_name = "FILE.warc.gz")]
    pub(crate) web: Vec<PathBuf>,
    /// Print what was added as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FromPage {
    /// The page with the list
    pub(crate) url: String,
    /// Path of the topic; it is made if there is none
    pub(crate) topic: String,
    /// Also links to the page's own site
    #[arg(long)]
    pub(crate) same_site: bool,
    /// Only the first so many links
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = at_least_one)]
    pub(crate) pages: usize,
    /// List the links, and add nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take the pages from this recorded web
    #[arg(long, value_name = "FILE.warc.gz")]
    pub(crate) web: Vec<PathBuf>,
    /// Print the links and what was added as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Explore {
    /// Path of the topic: its examples and those of the topics below it are explored from
    pub(crate) topic: String,
    /// Fetch at most so many pages
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = at_least_one)]
    pub(crate) pages: usize,
    /// Fetch for at most so long: 90s, 15m
    #[arg(long, default_value = "2m", value_parser = super::crawl::duration)]
    pub(crate) time: Duration,
    /// Show at most so many
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = at_least_one)]
    pub(crate) most: usize,
    /// Take the best so many as examples
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) accept: Option<usize>,
    /// Take all that are shown as examples
    #[arg(long, conflicts_with = "accept")]
    pub(crate) accept_all: bool,
    /// Take the pages from this recorded web
    #[arg(long, value_name = "FILE.warc.gz")]
    pub(crate) web: Vec<PathBuf>,
    /// Print what was found as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FetchExamples {
    /// Only those of this topic and of what is below it
    #[arg(value_name = "TOPIC")]
    pub(crate) topic: Option<String>,
    /// Take the pages from this recorded web
    #[arg(long, value_name = "FILE.warc.gz")]
    pub(crate) web: Vec<PathBuf>,
    /// Print what was fetched as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// What to import
    #[arg(value_name = "FILE|DIR")]
    pub(crate) source: PathBuf,
    /// What it is, if it cannot be told from its content
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatWord>,
    /// Put all its topics below this one
    #[arg(long, value_name = "PATH")]
    pub(crate) topic: Option<String>,
    /// Take the pages from this recorded web
    #[arg(long, value_name = "FILE.warc.gz")]
    pub(crate) web: Vec<PathBuf>,
    /// Prune to topics of K examples each: smaller ones go into the one above, of larger ones a sample is taken
    #[arg(long, value_name = "K", num_args = 0..=1, default_missing_value = "300", value_parser = at_least_one)]
    pub(crate) prune: Option<usize>,
    /// Seed of the samples
    #[arg(long, default_value_t = 0, requires = "prune")]
    pub(crate) seed: u64,
    /// Print what was imported as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The formats that examples come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatWord {
    /// A browser's bookmarks.html
    Bookmarks,
    /// Lines of url<TAB>topic
    Tsv,
    /// Folders as topics, files in them as examples
    Folder,
    /// The Open Directory's content.rdf.u8
    Dmoz,
    /// The Open Directory's structure.rdf.u8: topics without examples
    DmozStructure,
}

#[derive(Debug, Args)]
pub(crate) struct ListExamples {
    /// Only those of this topic and of what is below it
    #[arg(value_name = "TOPIC")]
    pub(crate) topic: Option<String>,
    /// Print the examples as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveExamples {
    /// Path of the topic
    pub(crate) topic: String,
    /// URLs or files, or numbers, as `porthole examples list` shows them
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct MoveExamples {
    /// URLs or files, or numbers, as `porthole examples list` shows them; the topic that they go to comes last
    #[arg(required = true, num_args = 2.., value_names = ["NAME", "TOPIC"])]
    pub(crate) names_and_topic: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Train {
    /// Choose everything anew and print the cross-validation: accuracy by number of terms, the largest confusions
    #[arg(long)]
    pub(crate) cv: bool,
    /// How topics are told apart
    #[arg(long, value_enum)]
    pub(crate) shape: Option<ShapeWord>,
    /// What is trained
    #[arg(long, value_enum)]
    pub(crate) critic: Option<CriticWord>,
    /// What is added to every count (1: as the papers have it), instead of what cross-validation chooses
    #[arg(long, value_name = "X")]
    pub(crate) smoothing: Option<f64>,
    /// Terms that take part at each node, instead of what cross-validation chooses
    #[arg(long, value_name = "N")]
    pub(crate) features: Option<usize>,
    /// What an occurrence of a term counts, instead of what cross-validation chooses
    #[arg(long, value_enum)]
    pub(crate) counting: Option<CountingWord>,
    /// Believe decisions as they are
    #[arg(long)]
    pub(crate) no_calibration: bool,
    /// Pages of the crawl that stand for what is about no topic, at most; 0 for none
    #[arg(long, value_name = "N")]
    pub(crate) background: Option<usize>,
    /// Also fill the papers' tables TAXONOMY, STAT and BLOB, for SQL; they are large
    #[arg(long)]
    pub(crate) tables: bool,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Documents {
    /// Print how many there are as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Classify {
    /// Text or HTML; `-` for standard input
    #[arg(required = true, value_name = "FILE|-")]
    pub(crate) names: Vec<String>,
    /// Print the probability of every topic
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the judgments as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Train {
    /// What was asked for here, in the words of porthole.toml.
    pub(crate) fn settings(&self) -> RawTrain {
        RawTrain {
            critic: self.critic,
            shape: self.shape,
            counting: self.counting,
            smoothing: self.smoothing,
            features: self.features,
            calibrate: self.no_calibration.then_some(false),
            folds: None,
            background: self.background,
        }
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&k| k > 0).ok_or_else(|| "a number, at least 1".to_owned())
}
