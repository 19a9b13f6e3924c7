//! In how many documents a term occurs.

use std::collections::HashMap;

use porthole_topic::{Pretrained, Statistics};
use porthole_types::{TermId, TopicId};

/// Number of documents, and the number that contain each term.
#[derive(Default)]
pub(crate) struct DocumentCounts {
    pub(crate) documents: u32,
    pub(crate) with: HashMap<TermId, u32>,
}

impl DocumentCounts {
    /// The counts of the general taxonomy.
    pub(crate) fn general() -> anyhow::Result<DocumentCounts> {
        Ok(DocumentCounts::split(&Pretrained::general()?.statistics, &[]).1)
    }

    /// The counts of some topics together, and of all others.
    pub(crate) fn split(statistics: &Statistics, topics: &[TopicId]) -> (DocumentCounts, DocumentCounts) {
        let (mut own, mut others) = (DocumentCounts::default(), DocumentCounts::default());
        for (id, topic) in statistics.topics() {
            let side = if topics.contains(&id) { &mut own } else { &mut others };
            side.documents += topic.documents;
            for (term, seen) in topic.terms() {
                *side.with.entry(term).or_default() += seen.documents;
            }
        }
        (own, others)
    }

    pub(crate) fn of(&self, term: TermId) -> u32 {
        self.with.get(&term).copied().unwrap_or(0)
    }

    /// Inverse document frequency, as in BM25: the rarer, the higher; never 0.
    pub(crate) fn idf(&self, term: TermId) -> f64 {
        let (all, with) = (f64::from(self.documents), f64::from(self.of(term)));
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }
}
