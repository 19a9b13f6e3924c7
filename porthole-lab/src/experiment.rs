//! Experiments: the same topics and start pages for every strategy, on a recorded web, judged by its true labels.
//!
//! A strategy sees a page only after it has fetched it. Pages that the critic was trained on count neither as
//! harvested nor as missed, and start pages do not count either.

mod labelled;
mod run;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use porthole_topic::TaxonomyError;
use porthole_topic::import::ImportError;
use serde::{Deserialize, Serialize};

use crate::recorded::RecordedError;

pub use run::run;

/// What is compared on what, as an experiment file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The recorded web.
    pub web: PathBuf,
    /// Lines of a URL and a topic path; a page may have several, and their paths are the taxonomy.
    pub labels: PathBuf,
    /// The topics that are searched for; a node stands for everything below it.
    pub topics: Vec<String>,
    /// The strategies to compare.
    pub strategies: Vec<String>,
    /// Draws of starts.
    pub samples: u32,
    /// Start pages a draw, from the topic.
    pub start: usize,
    /// Share of the labelled pages that the critic is trained on.
    pub train: f64,
    /// What is drawn, is drawn from it.
    pub seed: u64,
    /// Fetches after which to measure.
    pub at: Vec<u64>,
}

/// What one crawl brought.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The topic.
    pub topic: String,
    /// The strategy.
    pub strategy: String,
    /// The number of the draw of starts.
    pub sample: u32,
    /// Fetches that counted.
    pub fetched: u64,
    /// Share of the fetches up to there that brought a page of the topic.
    pub harvest: BTreeMap<u64, f64>,
    /// Share of the topic's pages that can be reached which were found up to there.
    pub recall: BTreeMap<u64, f64>,
    /// Milliseconds of CPU.
    pub cpu_ms: f64,
    /// Why it ended: `limit` or `exhausted`.
    pub stop: &'static str,
}

/// Why an experiment cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no experiment.
    #[error("{}: {what}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
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
    /// The labels' topics are no tree, or one that is searched for is not among them.
    #[error(transparent)]
    Topics(#[from] TaxonomyError),
    /// The web cannot be opened.
    #[error(transparent)]
    Web(#[from] RecordedError),
    /// A topic has too few pages to start from.
    #[error("{topic} has {pages} pages that are not trained on, and {start} are needed to start from")]
    TooFewStarts {
        /// The topic.
        topic: String,
        /// Its pages.
        pages: usize,
        /// What is asked for.
        start: usize,
    },
    /// A crawl failed.
    #[error(transparent)]
    Crawl(#[from] porthole_crawl::CrawlError),
    /// There is no room for a crawl's database.
    #[error("no room for a crawl's database: {0}")]
    Scratch(io::Error),
}

impl Experiment {
    /// Reads an experiment file. Files that it names are looked for beside it.
    pub fn read(path: &Path) -> Result<Self, ExperimentError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ExperimentError::Read { path: path.to_owned(), source })?;
        let wrong = |what: String| ExperimentError::Wrong { path: path.to_owned(), what };
        let mut experiment: Experiment = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        experiment.check().map_err(wrong)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        experiment.web = folder.join(&experiment.web);
        experiment.labels = folder.join(&experiment.labels);
        Ok(experiment)
    }

    fn check(&self) -> Result<(), String> {
        for name in &self.strategies {
            porthole_strategy::checked(run::with_hubs(name).0).map_err(|error| error.to_string())?;
        }
        if !(self.train > 0.0 && self.train < 1.0) {
            return Err(format!("train = {} is no share: give a number between 0 and 1", self.train));
        }
        for (what, is_empty) in [
            ("topics", self.topics.is_empty()),
            ("strategies", self.strategies.is_empty()),
            ("at", self.at.is_empty()),
            ("samples", self.samples == 0),
            ("start", self.start == 0),
        ] {
            if is_empty {
                return Err(format!("{what} asks for nothing"));
            }
        }
        Ok(())
    }
}
