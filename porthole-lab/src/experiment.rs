//! Experiments: the same topics and start pages for every strategy, on a web that is known, judged by its true labels.
//!
//! A strategy sees a page only after it has fetched it. Pages that the critic was trained on count neither as
//! harvested nor as missed, and start pages do not count either.

mod apprentice;
mod facts;
mod fields;
mod folder;
mod knowledge;
mod labelled;
mod learners;
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

use std::io;
use std::path::PathBuf;

use porthole_topic::TaxonomyError;
use porthole_topic::import::ImportError;
use serde::{Deserialize, Serialize};

use porthole_webs::RecordedError;
use porthole_webs::synth::{SynthError, SynthParams};

pub use apprentice::{Apprenticeship, AtDistance, AtReach, Queue, WithFeatures};
pub use facts::{Beside, TopicFacts, WebFacts};
pub use fields::{Fields, WebField};
pub use folder::{Folder, Results};
pub use learners::{CriticTraining, Learners, Learnt, Pass, Training, Tried};
pub use pace::{LatencyField, Pace};
pub use plan::{Plan, Task, listed};
pub use ranks::{Quality, Ranked, RankedCrawl};
pub use run::Lab;
pub use trace::{Authority, Label, Outcome, Step, Trace};

/// What is compared on what, checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// The web.
    pub web: Web,
    /// The topics that are searched for; a node stands for everything below it.
    pub topics: Vec<String>,
    /// The strategies to compare.
    pub strategies: Vec<String>,
    /// Draws of starts. Two that follow each other, from an even number on, have no start page in common.
    pub samples: u32,
    /// Start pages a draw, from the topic.
    pub start: usize,
    /// Share of the labelled pages that the critic is trained on.
    pub train: f64,
    /// What is drawn, is drawn from it.
    pub seed: u64,
    /// Fetches after which to measure.
    pub at: Vec<u64>,
    /// Whether hosts mean something on this web.
    pub servers: bool,
    /// Whether the critic begins with the general taxonomy that comes with the program.
    pub general: bool,
    /// How the critic that guides tells topics apart: the name of a [`Shape`](porthole_topic::Shape).
    #[serde(default = "fields::usual_shape")]
    pub shape: String,
    /// What is measured beside the crawls.
    #[serde(default)]
    pub studies: Vec<String>,
    /// How crawls behave in simulated time; without it, one fetch at a time without pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
}

/// The web of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Web {
    /// One that was recorded, with labels by others.
    Recorded {
        /// WARC files.
        pages: PathBuf,
        /// Lines of a URL and a topic path; a page may have several, and their paths are the taxonomy.
        labels: PathBuf,
    },
    /// One that is made up, which knows its labels.
    Synthetic(Box<SynthParams>),
}

impl Experiment {
    /// The strategy that others are compared with: soft focus, or else the first.
    pub fn baseline(&self) -> &str {
        let is_soft = |name: &&String| *name == "soft";
        self.strategies.iter().find(is_soft).unwrap_or(&self.strategies[0])
    }

    /// Fetches that count of every crawl.
    pub fn budget(&self) -> u64 {
        self.at.iter().copied().max().unwrap_or(0)
    }
}

/// Why an experiment cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What is asked for is no experiment.
    #[error("{from}: {what}")]
    Wrong {
        /// Who asked: a file, or the command line.
        from: String,
        /// What is wrong with it.
        what: String,
    },
    /// The labels cannot be read.
    #[error("{}: {source}", path.display())]
    Labels {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: ImportError,
    },
    /// The labels' topics are no tree.
    #[error(transparent)]
    Topics(#[from] TaxonomyError),
    /// A topic that is searched for is not there.
    #[error("there is no topic {topic} in {web}; {hint}")]
    NoTopic {
        /// The topic.
        topic: String,
        /// What has no such topic.
        web: String,
        /// What there is instead.
        hint: String,
    },
    /// The web cannot be opened.
    #[error(transparent)]
    Web(#[from] RecordedError),
    /// There is no such web.
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
        /// Its pages.
        pages: usize,
        /// What is asked for.
        needed: usize,
    },
    /// Nothing links to what links to the start pages of a draw.
    #[error(
        "{topic}, sample {sample}: no page links to one that links to a start page, so that no crawl can start from \
         neighbours: leave out the strategies with +neighbours, or give a larger start"
    )]
    NoNeighbours {
        /// The topic.
        topic: String,
        /// The number of the draw of starts.
        sample: u32,
    },
    /// A model that comes with the program was trained on the pages that it would be tried on.
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
        /// Which one.
        plan: String,
        /// What happened.
        source: porthole_crawl::CrawlError,
    },
    /// A study failed.
    #[error("{name}: {source}")]
    Study {
        /// Which one.
        name: &'static str,
        /// What happened.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// There is no room for a crawl's database.
    #[error("no room for a crawl's database: {0}")]
    Scratch(io::Error),
    /// The folder holds something else.
    #[error("{}: {what}", path.display())]
    Folder {
        /// The folder, or a file in it.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}
