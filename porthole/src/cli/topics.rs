//! Arguments of `porthole init`, `topics`, `examples`, `train`, `documents` and `classify`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use crate::settings::{CountingWord, CriticWord, RawTrain, ShapeWord};

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Folder of the new workspace
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Initial topics: `general`, or a file: lines of url<TAB>topic or JSON,
    /// bookmarks, a folder of folders, Open Directory RDF, or a trained taxonomy
    #[arg(long, value_name = "general|FILE")]
    pub(crate) taxonomy: Option<PathBuf>,
    /// Address at which server operators can reach you; stored in porthole.toml
    #[arg(long, value_name = "MAIL|URL")]
    pub(crate) contact: Option<String>,
    /// Keep the tables in this PostgreSQL database, which must be empty, instead
    /// of porthole.db
    #[arg(long, value_name = "postgres://…")]
    pub(crate) db: Option<String>,
    /// Join the crawl of another workspace on this database, as one more worker:
    /// topics, critic and tables are shared, archived pages are in this folder
    #[arg(long, requires = "db", conflicts_with = "taxonomy")]
    pub(crate) join: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Topics {
    /// Show the tree with marks and numbers of examples
    Tree(Tree),
    /// Add a topic and its missing ancestors
    Add(PathArgument),
    /// Move a topic and its subtree below another topic
    Move {
        /// Path of the topic
        path: String,
        /// Path of the new parent
        parent: String,
    },
    /// Rename a topic
    Rename {
        /// Path of the topic
        path: String,
        /// New name, without the path
        name: String,
    },
    /// Remove a topic and its subtree
    Remove(Remove),
    /// Mark topics as good: the crawl looks for pages about them
    Mark(PathArguments),
    /// Unmark good topics
    Unmark(PathArguments),
    /// Show the topics that fit examples best, and the words that decide
    Propose(Propose),
    /// Also follow links on pages about other topics, as on pages about good ones
    Toward(Toward),
    /// List topics that occur together with the good ones in the crawl
    Broaden(Broaden),
    /// Add examples from specialised sites of the crawl if accuracy does not drop
    Grow(Grow),
}

#[derive(Debug, Args)]
pub(crate) struct Tree {
    /// Only this topic and the topics below it
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Print the topics as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PathArgument {
    /// Path of the topic, such as /Science/Biology
    pub(crate) path: String,
}

#[derive(Debug, Args)]
pub(crate) struct PathArguments {
    /// Paths of the topics
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Toward {
    /// Paths that replace the current ones; without any, show them
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Follow the good topics only
    #[arg(long, conflicts_with = "paths")]
    pub(crate) none: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// Path of the topic
    pub(crate) path: String,
    /// Also remove the examples
    #[arg(long, conflicts_with = "move_examples")]
    pub(crate) with_examples: bool,
    /// Move the examples to this topic
    #[arg(long, value_name = "TOPIC")]
    pub(crate) move_examples: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Propose {
    /// Files, `-`, or URLs of examples and crawled pages
    /// [default: examples without a topic]
    #[arg(value_name = "FILE|URL")]
    pub(crate) names: Vec<String>,
    /// Use the examples of this topic and of the topics below it
    #[arg(long, value_name = "PATH", conflicts_with = "names")]
    pub(crate) topic: Option<String>,
    /// Number of topics to show
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
    /// Path of the topic; it must be good or below a good topic
    pub(crate) topic: String,
    /// Maximum number of sites to take pages from
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = at_least_one)]
    pub(crate) sites: usize,
    /// Maximum number of pages per site
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = at_least_one)]
    pub(crate) pages: usize,
    /// Maximum number of pages in total
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = at_least_one)]
    pub(crate) accept: usize,
    /// Print the accepted pages as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Examples {
    /// Add files and web pages as examples of a topic
    Add(AddExamples),
    /// Add the pages that a list page links to
    From(FromPage),
    /// Find more examples near the examples of a topic
    Explore(Explore),
    /// Find more examples by words: with a search endpoint or in crawled pages
    Search(SearchExamples),
    /// Fetch the pages of examples that have none yet
    Fetch(FetchExamples),
    /// Import bookmarks, lines of url<TAB>topic, folders, or the Open Directory
    Import(Import),
    /// List examples
    List(ListExamples),
    /// Remove examples from a topic
    Remove(RemoveExamples),
    /// Move examples to another topic
    Move(MoveExamples),
}

#[derive(Debug, Args)]
pub(crate) struct AddExamples {
    /// Path of the topic; created if missing
    pub(crate) topic: String,
    /// Text, HTML or PDF files; URLs are fetched with the crawl's politeness rules
    #[arg(required = true, value_name = "FILE|URL")]
    pub(crate) names: Vec<PathBuf>,
    /// Read the pages of URLs from this recorded web
    #[arg(long, value_name = "FILE.warc.gz")]
    pub(crate) web: Vec<PathBuf>,
    /// Print the added examples as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FromPage {
    /// URL of the list page
    pub(crate) url: String,
    /// Path of the topic; created if missing
    pub(crate) topic: String,
    /// Include links to the site of the list page
    #[arg(long)]
    pub(crate) same_site: bool,
    /// Use only the first N links
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = at_least_one)]
    pub(crate) pages: usize,
    /// List the links and add nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Read the pages from this recorded web
    #[arg(long, value_name = "FILE.warc.gz")]
    pub(crate) web: Vec<PathBuf>,
    /// Print the links and the added examples as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Explore {
    /// Path of the topic; the examples of the topics below it count, too
    pub(crate) topic: String,
    /// Fetch at most N pages
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = at_least_one)]
    pub(crate) pages: usize,
    /// Fetch for at most this long: 90s, 15m
    #[arg(long, default_value = "2m", value_parser = super::crawl::duration)]
    pub(crate) time: Duration,
    /// Show at most N candidates
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = at_least_one)]
    pub(crate) most: usize,
    /// Add the best N candidates as examples
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) accept: Option<usize>,
    /// Add all candidates shown as examples
    #[arg(long, conflicts_with = "accept")]
    pub(crate) accept_all: bool,
    /// Read the pages from this recorded web
    #[arg(long, value_name = "FILE.warc.gz")]
    pub(crate) web: Vec<PathBuf>,
    /// Print the candidates as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SearchExamples {
    /// Path of the topic; created if missing
    pub(crate) topic: String,
    /// Words to look for
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) sources: super::CandidateSources,
    /// Add the best N candidates as examples
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) accept: Option<usize>,
    /// Ask nothing: add the candidates with a score of 50% or more, at most 10
    #[arg(long, short = 'y', conflicts_with = "accept")]
    pub(crate) yes: bool,
    /// Read the pages from this recorded web
    #[arg(long, value_name = "FILE.warc.gz")]
    pub(crate) web: Vec<PathBuf>,
    /// Print the candidates as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FetchExamples {
    /// Only examples of this topic and the topics below it
    #[arg(value_name = "TOPIC")]
    pub(crate) topic: Option<String>,
    /// Read the pages from this recorded web
    #[arg(long, value_name = "FILE.warc.gz")]
    pub(crate) web: Vec<PathBuf>,
    /// Print the fetched examples as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// File or folder to import
    #[arg(value_name = "FILE|DIR")]
    pub(crate) source: PathBuf,
    /// Format of the source [default: detected from its content]
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatWord>,
    /// Put all imported topics below this one, and examples without a topic into it
    #[arg(long, value_name = "PATH")]
    pub(crate) topic: Option<String>,
    /// Read the pages from this recorded web
    #[arg(long, value_name = "FILE.warc.gz")]
    pub(crate) web: Vec<PathBuf>,
    /// Put examples of topics that mean the same as one of the tree into that one
    #[arg(long)]
    pub(crate) merge: bool,
    /// Prune to K examples per topic: merge smaller topics, sample larger ones
    #[arg(long, value_name = "K", num_args = 0..=1, default_missing_value = "300", value_parser = at_least_one)]
    pub(crate) prune: Option<usize>,
    /// Random seed of the samples
    #[arg(long, default_value_t = 0, requires = "prune")]
    pub(crate) seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Formats of example sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatWord {
    /// Bookmarks of a browser (bookmarks.html)
    Bookmarks,
    /// Lines of URLs, or of url<TAB>topic
    Tsv,
    /// Lines of JSON with url and topic, as written by `porthole export jsonl`
    Jsonl,
    /// Folders are topics, their files are examples
    Folder,
    /// Content of the Open Directory (content.rdf.u8)
    Dmoz,
    /// Topics of the Open Directory, without examples (structure.rdf.u8)
    DmozStructure,
}

#[derive(Debug, Args)]
pub(crate) struct ListExamples {
    /// Only examples of this topic and the topics below it
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
    /// URLs, files or numbers, as `porthole examples list` shows them
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct MoveExamples {
    /// URLs, files or numbers of examples, then the path of the new topic
    #[arg(required = true, num_args = 2.., value_names = ["NAME", "TOPIC"])]
    pub(crate) names_and_topic: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Train {
    /// Retune all parameters and print the cross-validation results
    #[arg(long)]
    pub(crate) cv: bool,
    /// Train a critic beside the present one, and show what it would change
    /// in the collection; changes nothing else
    #[arg(long, conflicts_with_all = ["accept", "tables", "cv"])]
    pub(crate) preview: bool,
    /// Take over the critic of the last --preview
    #[arg(long, conflicts_with_all = ["tables", "cv"])]
    pub(crate) accept: bool,
    /// How the critic separates topics
    #[arg(long, value_enum)]
    pub(crate) shape: Option<ShapeWord>,
    /// Kind of critic
    #[arg(long, value_enum)]
    pub(crate) critic: Option<CriticWord>,
    /// Additive smoothing of term counts (1: Laplace) [default: cross-validated]
    #[arg(long, value_name = "X")]
    pub(crate) smoothing: Option<f64>,
    /// Number of terms per node [default: cross-validated]
    #[arg(long, value_name = "N")]
    pub(crate) features: Option<usize>,
    /// Weight of repeated terms [default: cross-validated]
    #[arg(long, value_enum)]
    pub(crate) counting: Option<CountingWord>,
    /// Do not calibrate the probabilities
    #[arg(long)]
    pub(crate) no_calibration: bool,
    /// Use at most N crawled pages as background (no topic); 0: none
    #[arg(long, value_name = "N")]
    pub(crate) background: Option<usize>,
    /// Also fill the tables TAXONOMY, STAT and BLOB, for SQL; they are large
    #[arg(long)]
    pub(crate) tables: bool,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Documents {
    /// Print the number of rows as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Classify {
    /// Files of text or HTML, URLs, or `-` for standard input. A page that
    /// was not crawled is fetched
    #[arg(required = true, value_name = "FILE|URL|-")]
    pub(crate) names: Vec<String>,
    /// Fetch pages from a recorded web
    #[arg(long, value_name = "FILE.warc.gz")]
    pub(crate) web: Vec<PathBuf>,
    /// Print the probability of every topic
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the judgments as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Train {
    /// The settings given on the command line, in the form of porthole.toml.
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

pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&k| k > 0).ok_or_else(|| "a number, at least 1".to_owned())
}
