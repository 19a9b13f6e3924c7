//! Lessons: the counts of a crawl, from which another crawl can start (A 2.2, 3.5).

use std::sync::Arc;

use super::counts::FeatureCounts;
use super::settings::{ApprenticeSettings, LearnerKind};
use crate::{NameError, StateError};

/// Counts of naive Bayes, which can be added to those of other crawls.
#[derive(Clone, Debug)]
pub struct Lessons {
    /// Code of the encoding; lessons with different encodings cannot be combined.
    encoding: u32,
    counts: Arc<FeatureCounts>,
}

/// Error: lessons with different encodings cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these lessons were learnt with other features of links")]
pub struct OtherFeatures;

impl Lessons {
    /// Lessons from an apprentice's saved state; `None` if its learner has no counts.
    pub fn of_memory(saved: &[u8]) -> Result<Option<Lessons>, StateError> {
        super::saving::lessons(saved)
    }

    pub(super) fn new(encoding: u32, counts: FeatureCounts) -> Lessons {
        Lessons { encoding, counts: Arc::new(counts) }
    }

    /// Adds the counts of another worker.
    pub fn merge(&mut self, other: &Lessons) -> Result<(), OtherFeatures> {
        if self.encoding != other.encoding {
            return Err(OtherFeatures);
        }
        Arc::make_mut(&mut self.counts).merge(&other.counts);
        Ok(())
    }

    /// Maximum offset with which the lessons were learnt.
    pub(super) fn d_max(&self) -> u32 {
        self.encoding >> 8
    }

    /// Number of instances.
    pub fn instances(&self) -> u64 {
        self.counts.instances()
    }

    pub(super) fn counts(&self) -> &FeatureCounts {
        &self.counts
    }

    /// Checks that an apprentice with these settings can start from the lessons.
    pub(super) fn check(&self, settings: &ApprenticeSettings, strategy: &str) -> Result<(), NameError> {
        let refused = |key: &str, wanted: &str| NameError::Value {
            strategy: strategy.to_owned(),
            key: key.to_owned(),
            value: "as given".to_owned(),
            wanted: wanted.to_owned(),
        };
        if settings.learner != LearnerKind::Bayes {
            return Err(refused("learner", "bayes for a crawl that starts from lessons"));
        }
        if settings.encoding.code() != self.encoding {
            return Err(refused(
                "features",
                "the value with which the lessons were learnt, and so are d and the other features",
            ));
        }
        Ok(())
    }
}
