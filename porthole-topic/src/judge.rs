//! What may stand in the critic's place.

use porthole_page::Page;
use porthole_types::{CanonicalUrl, Judgment, TermId};

use crate::critic::Critic;

/// Says of a page how relevant it is: a trained model, or anything else (V 2.1.3; A 1.1).
pub trait Judge: Send {
    /// The judgment of one page.
    fn judge_page(&mut self, url: &CanonicalUrl, page: &Page) -> Result<Judgment, JudgeError>;

    /// The judgment of a page of which nothing is known but how often each term occurs; `None` if the judge needs more than that.
    fn judge_counts(&mut self, _counts: &[(TermId, u32)]) -> Option<Judgment> {
        None
    }

    /// Whether the crawl steers by something else than what is relevant (W 2.2).
    fn is_steering(&self) -> bool {
        false
    }

    /// What the page that was judged last is worth to the links on it, if that is something else.
    fn link_value(&mut self) -> Option<Judgment> {
        None
    }

    /// One like it for another thread, which judges every page the same; `None` if there can be only this one.
    fn try_clone(&self) -> Option<Box<dyn Judge>> {
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

    fn judge_counts(&mut self, counts: &[(TermId, u32)]) -> Option<Judgment> {
        Some(self.judge(counts))
    }

    fn is_steering(&self) -> bool {
        self.is_toward_more()
    }

    fn link_value(&mut self) -> Option<Judgment> {
        self.steering()
    }

    fn try_clone(&self) -> Option<Box<dyn Judge>> {
        Some(Box::new(self.clone()))
    }
}
