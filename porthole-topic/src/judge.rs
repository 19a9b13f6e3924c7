//! The interface of judges, which can replace the critic.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use porthole_page::Page;
use porthole_types::{CanonicalUrl, Judgment, TermId};

use crate::critic::Critic;

/// Rates the relevance of pages: a trained model, or any other judge (V 2.1.3; A 1.1).
pub trait RelevanceJudge: Send {
    /// The judgment of one page.
    fn judge_page(&mut self, url: &CanonicalUrl, page: &Page) -> Result<Judgment, JudgeError>;

    /// Judges a page by its term counts alone; `None` if the judge needs more.
    fn judge_counts(&mut self, _counts: &[(TermId, u32)]) -> Option<Judgment> {
        None
    }

    /// Whether links are rated by something other than relevance (W 2.2).
    fn is_steering(&self) -> bool {
        false
    }

    /// Judgment of the last page for the links on it, if it differs from its relevance.
    fn link_value(&mut self) -> Option<Judgment> {
        None
    }

    /// A flag that, once set, makes a judgment under way fail soon; for judges that may take long.
    fn canceller(&self) -> Option<Arc<AtomicBool>> {
        None
    }

    /// An equivalent judge for another thread; `None` if there can be only one.
    fn try_clone(&self) -> Option<Box<dyn RelevanceJudge>> {
        None
    }
}

/// Error of a judge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{who}: {what}")]
pub struct JudgeError {
    /// Name of the judge.
    pub who: String,
    /// What happened.
    pub what: String,
}

impl RelevanceJudge for Critic {
    fn judge_page(&mut self, _: &CanonicalUrl, page: &Page) -> Result<Judgment, JudgeError> {
        Ok(self.judge_terms(page.judged_terms()))
    }

    fn judge_counts(&mut self, counts: &[(TermId, u32)]) -> Option<Judgment> {
        Some(self.judge(counts))
    }

    fn is_steering(&self) -> bool {
        self.has_steering_marks()
    }

    fn link_value(&mut self) -> Option<Judgment> {
        self.steering()
    }

    fn try_clone(&self) -> Option<Box<dyn RelevanceJudge>> {
        Some(Box::new(self.clone()))
    }
}
