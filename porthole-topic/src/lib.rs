//! Topics and the critic: the tree of topics with its examples, and a model trained on them that judges how
//! probable it is that a page is about each.
//!
//! Pure: bytes and plain data in, plain data out. No file, no clock, no random number without a seed.

mod background;
mod broaden;
mod bytes;
mod calibration;
mod critic;
mod explain;
mod grow;
pub mod import;
mod judge;
pub mod logistic;
mod model;
mod naive_bayes;
mod pretrained;
mod problem;
pub mod prune;
mod statistics;
mod taxonomy;
mod train;
mod tune;

pub use background::{BACKGROUND, IRRELEVANT, Sample, add_background, background};
pub use broaden::{Broadening, Census, Found, broaden};
pub use bytes::FormatError;
pub use calibration::Calibration;
pub use critic::Critic;
pub use explain::{Proposal, Step};
pub use grow::{Grower, HeldOut, Specialty, specialty_sites};
pub use judge::{Judge, JudgeError};
pub use model::{ClassModel, Decision, Feature, Kind, Model};
pub use naive_bayes::{Counting, Tuning};
pub use pretrained::Pretrained;
pub use problem::{Class, Problem, Shape, problems};
pub use statistics::{Counts, Example, Seen, Statistics, TopicStatistics};
pub use taxonomy::{DEEPEST, MOST_TOPICS, OTHER, Taxonomy, TaxonomyError};
pub use train::{Options, Tunings, retrain, train, tune_all};
pub use tune::{FEATURES, SMOOTHINGS, Trial, Tuned, fingerprint};
