//! Training counts: for every topic, its documents, and the occurrences of each term in them.
//!
//! All counts are integers, so that adding and removing examples one by one gives exactly the result of counting all of
//! them again.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;
use porthole_types::{TermId, TopicId};

/// Number of occurrences of each term in a document, ordered by term.
pub type TermFrequencies = [(TermId, u32)];

/// An example document of a topic.
#[derive(Clone, Copy, Debug)]
pub struct TopicExample<'a> {
    /// Topic of the document.
    pub topic: TopicId,
    /// Term counts of the document.
    pub counts: &'a TermFrequencies,
}

/// The counts of every topic's own examples, without those of its descendants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    topics: BTreeMap<TopicId, TopicStatistics>,
}

/// The counts of one topic's own examples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicStatistics {
    /// Number of examples.
    pub documents: u32,
    pub(crate) terms: HashMap<TermId, TermSeen, FixedState>,
}

/// Occurrences of a term in the examples of a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TermSeen {
    /// Number of occurrences.
    pub count: u32,
    /// Number of documents with the term.
    pub documents: u32,
    /// Sum of the term's shares of the documents' words, in units of 1/`WHOLE`.
    pub share: u64,
}

/// The unit of shares: integers, so that sums do not depend on their order.
pub(crate) const WHOLE: u64 = 1 << 24;

impl TermSeen {
    /// Counts of a term in one document of `words` words.
    fn in_document(count: u32, words: u64) -> TermSeen {
        TermSeen { count, documents: 1, share: u64::from(count) * WHOLE / words.max(1) }
    }

    pub(crate) fn add(&mut self, more: TermSeen) {
        self.count = self.count.saturating_add(more.count);
        self.documents += more.documents;
        self.share += more.share;
    }

    pub(crate) fn subtract(&mut self, less: TermSeen) {
        self.count = self.count.saturating_sub(less.count);
        self.documents = self.documents.saturating_sub(less.documents);
        self.share = self.share.saturating_sub(less.share);
    }
}

/// Contribution of a document to the counts of its class.
pub(crate) fn seen_in(counts: &TermFrequencies) -> impl Iterator<Item = (TermId, TermSeen)> + '_ {
    let words = counts.iter().map(|(_, count)| u64::from(*count)).sum();
    counts.iter().map(move |&(term, count)| (term, TermSeen::in_document(count, words)))
}

impl Statistics {
    /// The counts of these examples.
    pub fn of<'a>(examples: impl IntoIterator<Item = TopicExample<'a>>) -> Self {
        let mut statistics = Statistics::default();
        examples.into_iter().for_each(|example| statistics.add(example));
        statistics
    }

    /// Adds an example.
    pub fn add(&mut self, example: TopicExample<'_>) {
        let topic = self.topics.entry(example.topic).or_default();
        topic.documents += 1;
        for (term, seen) in seen_in(example.counts) {
            topic.terms.entry(term).or_default().add(seen);
        }
    }

    /// Removes an example that was added.
    pub fn remove(&mut self, example: TopicExample<'_>) {
        let Some(topic) = self.topics.get_mut(&example.topic) else { return };
        topic.documents = topic.documents.saturating_sub(1);
        for (term, less) in seen_in(example.counts) {
            if let Some(seen) = topic.terms.get_mut(&term) {
                seen.subtract(less);
                if seen.documents == 0 {
                    topic.terms.remove(&term);
                }
            }
        }
        if topic.documents == 0 {
            self.topics.remove(&example.topic);
        }
    }

    /// Adds the counts of other statistics.
    pub fn merge(&mut self, other: &Statistics) {
        for (&id, theirs) in &other.topics {
            let ours = self.topics.entry(id).or_default();
            ours.documents += theirs.documents;
            for (&term, &seen) in &theirs.terms {
                ours.terms.entry(term).or_default().add(seen);
            }
        }
    }

    /// Removes the examples of a topic.
    pub fn forget(&mut self, topic: TopicId) {
        self.topics.remove(&topic);
    }

    /// Moves the examples of one topic to another.
    pub fn move_to(&mut self, from: TopicId, to: TopicId) {
        if let Some(moved) = self.topics.remove(&from) {
            self.merge(&Statistics { topics: BTreeMap::from([(to, moved)]) });
        }
    }

    /// The counts of all topics as those of one.
    pub fn into_one(self, topic: TopicId) -> Statistics {
        let mut all = Statistics::default();
        self.topics.into_values().for_each(|one| all.merge(&Statistics { topics: [(topic, one)].into() }));
        all
    }

    /// Removes all terms but those kept. Document counts do not change.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&TermId) -> bool) {
        self.topics.values_mut().for_each(|topic| topic.terms.retain(|term, _| is_kept(term)));
    }

    /// Sets the counts of a topic.
    pub(crate) fn insert(&mut self, topic: TopicId, statistics: TopicStatistics) {
        self.topics.insert(topic, statistics);
    }

    /// The counts of a topic's own examples, if it has any.
    pub fn topic(&self, id: TopicId) -> Option<&TopicStatistics> {
        self.topics.get(&id)
    }

    /// The topics that have examples of their own, by id.
    pub fn topics(&self) -> impl Iterator<Item = (TopicId, &TopicStatistics)> {
        self.topics.iter().map(|(&id, topic)| (id, topic))
    }

    /// Number of examples of all topics.
    pub fn documents(&self) -> u64 {
        self.topics.values().map(|topic| u64::from(topic.documents)).sum()
    }
}

impl TopicStatistics {
    /// The terms with their counts, in no particular order.
    pub fn terms(&self) -> impl Iterator<Item = (TermId, TermSeen)> + '_ {
        self.terms.iter().map(|(&term, &seen)| (term, seen))
    }
}
