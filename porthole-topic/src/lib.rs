//! Topics and the critic: the topic tree with its examples, and a model trained on them that estimates the probability
//! of each topic for a page.
//!
//! Pure: bytes and plain data in, plain data out. No files, no clock, no random numbers without a seed.

mod background;
mod broaden;
mod bytes;
mod calibration;
mod confirmation;
mod critic;
mod explain;
mod grow;
pub mod import;
mod judge;
pub mod logistic;
mod model;
mod naive_bayes;
mod pool;
mod pretrained;
mod problem;
pub mod prune;
mod same;
mod statistics;
mod taxonomy;
mod topical;
mod train;
mod tune;

pub use background::{BACKGROUND, IRRELEVANT, Sample, add_background, background};
pub use broaden::{Broadening, Census, TopicPages, broaden};
pub use bytes::FormatError;
pub use calibration::Calibration;
pub use confirmation::{AnsweredPages, confirmation};
pub use critic::Critic;
pub use explain::{DescentStep, Proposal};
pub use grow::{Grower, HeldOut, Specialty, specialty_sites};
pub use judge::{JudgeError, RelevanceJudge};
pub use model::{ClassModel, CriticModel, DecisionTerm, ModelKind, TopicDecision};
pub use naive_bayes::{TermCounting, Tuning};
pub use pretrained::Pretrained;
pub use problem::{Class, ClassifierShape, DecisionProblem, problems};
pub use same::{SameTopic, have_equal_names, have_same_name, same_topic};
pub use statistics::{Statistics, TermFrequencies, TermSeen, TopicExample, TopicStatistics};
pub use taxonomy::{DEEPEST, MOST_TOPICS, OTHER, Taxonomy, TaxonomyError};
pub use topical::choose_topical;
pub use train::{TrainingOptions, TunedTree, Tunings, retrain, train, tune_all};
pub use tune::{FEATURES, SMOOTHINGS, Tuned, TuningTrial, fingerprint};
