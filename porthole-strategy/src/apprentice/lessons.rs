//! What an apprentice has learnt, to begin another crawl with (A 2.2, 3.5).

use std::sync::Arc;

use super::counts::Counts;
use super::settings::{Kind, Settings};
use crate::{NameError, StateError};

/// What naive Bayes has learnt: sums, which can be added to those of others.
#[derive(Clone, Debug)]
pub struct Lessons {
    /// Of what features; others mean nothing.
    encoding: u32,
    counts: Arc<Counts>,
}

/// Lessons of apprentices that describe links in different ways cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these lessons are about other features of links")]
pub struct OtherFeatures;

impl Lessons {
    /// The lessons in what an apprentice saved; none if its learner's cannot be added.
    pub fn of_memory(saved: &[u8]) -> Result<Option<Lessons>, StateError> {
        super::saving::lessons(saved)
    }

    pub(super) fn new(encoding: u32, counts: Counts) -> Lessons {
        Lessons { encoding, counts: Arc::new(counts) }
    }

    /// Adds what another worker has learnt.
    pub fn merge(&mut self, other: &Lessons) -> Result<(), OtherFeatures> {
        if self.encoding != other.encoding {
            return Err(OtherFeatures);
        }
        Arc::make_mut(&mut self.counts).merge(&other.counts);
        Ok(())
    }

    /// How far around links was looked.
    pub(super) fn d_max(&self) -> u32 {
        self.encoding >> 8
    }

    /// How many instances they come from.
    pub fn instances(&self) -> u64 {
        self.counts.instances()
    }

    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Whether an apprentice can begin with them.
    pub(super) fn check(&self, settings: &Settings, strategy: &str) -> Result<(), NameError> {
        let refused = |key: &str, wanted: &str| NameError::Value {
            strategy: strategy.to_owned(),
            key: key.to_owned(),
            value: "as given".to_owned(),
            wanted: wanted.to_owned(),
        };
        if settings.learner != Kind::Bayes {
            return Err(refused("learner", "bayes where it begins with the lessons of an earlier crawl"));
        }
        if settings.encoding.code() != self.encoding {
            return Err(refused(
                "features",
                "what it was, with d and the others, when the lessons were learnt",
            ));
        }
        Ok(())
    }
}
