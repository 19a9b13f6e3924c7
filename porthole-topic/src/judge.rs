//! What may stand in the critic's place.

use porthole_page::Page;
use porthole_types::{CanonicalUrl, Judgment};

use crate::critic::Critic;

/// Says of a page how relevant it is: a trained model, or anything else (V 2.1.3; A 1.1).
pub trait Judge: Send {
    /// The judgment of one page.
    fn judge_page(&mut self, url: &CanonicalUrl, page: &Page) -> Result<Judgment, JudgeError>;

    /// One like it for another thread, which judges every page the same; `None` if there can be only this one.
    fn another(&self) -> Option<Box<dyn Judge>> {
        None
    }
}

/// Why a page could not be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{who}: {what}")]
pub struct JudgeError {
    /// The judge.
    pub who: String,
    /// What happened.
    pub what: String,
}

impl Judge for Critic {
    fn judge_page(&mut self, _: &CanonicalUrl, page: &Page) -> Result<Judgment, JudgeError> {
        Ok(self.judge_terms(page.terms()))
    }

    fn another(&self) -> Option<Box<dyn Judge>> {
        Some(Box::new(self.clone()))
    }
}
