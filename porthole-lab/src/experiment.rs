//! Experiments: all strategies crawl for the same topics from the same start pages, on a known web, and are evaluated
//! by its true labels.
//!
//! A strategy sees a page only after fetching it. Pages that the critic was trained on, and start pages, count neither
//! as harvested nor as missed.

mod apprentice;
mod facts;
mod fields;
mod folder;
mod hypertext;
mod informed;
mod knowledge;
mod labelled;
mod learners;
mod mixing;
mod neighbours;
mod oracle;
mod pace;
mod plan;
mod ranks;
mod run;
mod studies;
mod tally;
mod target;
#[cfg(test)]
mod tests;
mod trace;
mod web;
mod wrapped;

use std::io;
use std::path::PathBuf;

use porthole_topic::TaxonomyError;
use porthole_topic::import::ImportError;
use serde::{Deserialize, Serialize};

use porthole_webs::RecordedError;
use porthole_webs::synth::{SynthError, SynthParams};

pub use apprentice::{Apprenticeship, AtDistance, AtReach, QueueEstimates, WithFeatures};
pub use facts::{CitedTopic, TopicFacts, WebFacts};
pub use fields::{Fields, WebField};
pub use folder::{Folder, Results};
pub use hypertext::{HypertextRow, HypertextStudy};
pub use learners::{CriticTraining, LearnerPasses, Learners, Learnt, Pass, Training};
pub use mixing::TopicMixing;
pub use pace::{LatencyField, Pace};
pub use plan::{CrawlPlan, Task, listed};
pub use ranks::{Quality, RankStudy, RankedCrawl};
pub use run::PreparedExperiment;
pub use trace::{Authority, CrawlSummary, FetchLabel, FetchStep, SITE_CAPS, Trace};

/// A validated experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// The web.
    pub web: ExperimentWeb,
    /// Topics to search for; a topic includes its descendants.
    pub topics: Vec<String>,
    /// The strategies to compare.
    pub strategies: Vec<String>,
    /// Number of samples of start pages. Samples 0 and 1 have no start page in common, nor have 2 and 3, and so on.
    pub samples: u32,
    /// Number of start pages per sample, chosen at random from the topic.
    pub start: usize,
    /// Share of the labelled pages that the critic is trained on.
    pub train: f64,
    /// Random seed. Two runs with the same seed make the same choices.
    pub seed: u64,
    /// Numbers of fetches after which to measure.
    pub at: Vec<u64>,
    /// Whether servers are meaningful on this web.
    pub servers: bool,
    /// Whether the critic starts from the general taxonomy that comes with the program.
    pub general: bool,
    /// How the guiding critic distinguishes topics: the name of a
    /// [`ClassifierShape`](porthole_topic::ClassifierShape).
    #[serde(default = "fields::default_shape")]
    pub shape: String,
    /// Measurements besides the crawls.
    #[serde(default)]
    pub studies: Vec<String>,
    /// Timing of crawls in simulated time; without it, one fetch at a time without delays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
}

/// The web of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExperimentWeb {
    /// A recorded web, with labels by others.
    Recorded {
        /// WARC files.
        pages: PathBuf,
        /// Lines of URL and topic path; a page may have several, and their paths are the taxonomy.
        labels: PathBuf,
    },
    /// A synthetic web, which has its own labels.
    Synthetic(Box<SynthParams>),
}

impl Experiment {
    /// The strategy that others are compared with: soft focus, or else the first.
    pub fn baseline(&self) -> &str {
        let is_soft = |name: &&String| *name == "soft";
        self.strategies.iter().find(is_soft).unwrap_or(&self.strategies[0])
    }

    /// Number of counted fetches of every crawl.
    pub fn budget(&self) -> u64 {
        self.at.iter().copied().max().unwrap_or(0)
    }
}

/// Errors of experiments.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The definition is not a valid experiment.
    #[error("{from}: {what}")]
    Wrong {
        /// Source of the definition: a file, or the command line.
        from: String,
        /// The problem.
        what: String,
    },
    /// The labels cannot be read.
    #[error("{}: {source}", path.display())]
    Labels {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: ImportError,
    },
    /// The labels' topics are not a valid tree.
    #[error(transparent)]
    Topics(#[from] TaxonomyError),
    /// A topic to search for does not exist.
    #[error("there is no topic {topic} in {web}; {hint}")]
    NoTopic {
        /// The topic.
        topic: String,
        /// Name of the web without the topic.
        web: String,
        /// Existing topics.
        hint: String,
    },
    /// The web cannot be opened.
    #[error(transparent)]
    Web(#[from] RecordedError),
    /// The parameters of a synthetic web are invalid.
    #[error(transparent)]
    Synthetic(#[from] SynthError),
    /// A topic has too few pages to start from.
    #[error(
        "{topic} has {pages} pages that are not trained on, and {needed} are needed to start from: \
         give a smaller start, or a smaller train"
    )]
    TooFewStarts {
        /// The topic.
        topic: String,
        /// Number of available pages.
        pages: usize,
        /// Number of pages needed.
        needed: usize,
    },
    /// No page links to a page that links to the start pages of a sample.
    #[error(
        "{topic}, sample {sample}: no page links to one that links to a start page, so that no crawl can start from \
         neighbours: leave out the strategies with +neighbours, or give a larger start"
    )]
    NoNeighbours {
        /// The topic.
        topic: String,
        /// Number of the sample.
        sample: u32,
    },
    /// The general taxonomy was trained on the pages of the experiment.
    #[error(
        "{web} is a web that the general taxonomy was trained on ({shared} of its {topics} topics are from there): \
         leave out general = true"
    )]
    TrainedOn {
        /// The labels.
        web: String,
        /// Topics in common.
        shared: usize,
        /// Topics of the general taxonomy.
        topics: usize,
    },
    /// A crawl failed.
    #[error("{plan}: {source}")]
    Crawl {
        /// The crawl.
        plan: String,
        /// The error.
        source: porthole_crawl::CrawlError,
    },
    /// A study failed.
    #[error("{name}: {source}")]
    Study {
        /// The study.
        name: &'static str,
        /// The error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A crawl's temporary database could not be created.
    #[error("cannot create the temporary database of a crawl: {0}")]
    Scratch(io::Error),
    /// The results folder cannot be used.
    #[error("{}: {what}", path.display())]
    Folder {
        /// The folder, or a file in it.
        path: PathBuf,
        /// The problem.
        what: String,
    },
}
