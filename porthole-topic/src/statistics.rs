//! What training counts: of every topic, its documents, and how often each term occurs in them.
//!
//! Only whole numbers, so that adding and removing examples one by one gives exactly what counting all of
//! them anew would.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;
use porthole_types::{TermId, TopicId};

/// How often each term occurs in a document, ordered by term.
pub type Counts = [(TermId, u32)];

/// A document that was shown for a topic.
#[derive(Clone, Copy, Debug)]
pub struct Example<'a> {
    /// What it is about.
    pub topic: TopicId,
    /// Its terms.
    pub counts: &'a Counts,
}

/// The counts of every topic's own examples; what is below a topic is not in its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    topics: BTreeMap<TopicId, TopicStatistics>,
}

/// The counts of one topic's own examples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicStatistics {
    /// Examples.
    pub documents: u32,
    pub(crate) terms: HashMap<TermId, Seen, FixedState>,
}

/// How often a term was seen in the examples of a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Occurrences.
    pub count: u32,
    /// Documents it occurs in.
    pub documents: u32,
    /// Its shares of the documents' words, summed, in units of 1/`WHOLE`.
    pub share: u64,
}

/// The unit of shares: whole numbers, so that sums do not depend on their order.
pub(crate) const WHOLE: u64 = 1 << 24;

impl Seen {
    /// Once in a document of so many words.
    fn in_document(count: u32, words: u64) -> Seen {
        Seen { count, documents: 1, share: u64::from(count) * WHOLE / words.max(1) }
    }

    pub(crate) fn add(&mut self, more: Seen) {
        self.count = self.count.saturating_add(more.count);
        self.documents += more.documents;
        self.share += more.share;
    }

    pub(crate) fn subtract(&mut self, less: Seen) {
        self.count = self.count.saturating_sub(less.count);
        self.documents = self.documents.saturating_sub(less.documents);
        self.share = self.share.saturating_sub(less.share);
    }
}

/// What a document adds to the counts of its class.
pub(crate) fn seen_in(counts: &Counts) -> impl Iterator<Item = (TermId, Seen)> + '_ {
    let words = counts.iter().map(|(_, count)| u64::from(*count)).sum();
    counts.iter().map(move |&(term, count)| (term, Seen::in_document(count, words)))
}

impl Statistics {
    /// The counts of these examples.
    pub fn of<'a>(examples: impl IntoIterator<Item = Example<'a>>) -> Self {
        let mut statistics = Statistics::default();
        examples.into_iter().for_each(|example| statistics.add(example));
        statistics
    }

    /// Counts one more example.
    pub fn add(&mut self, example: Example<'_>) {
        let topic = self.topics.entry(example.topic).or_default();
        topic.documents += 1;
        for (term, seen) in seen_in(example.counts) {
            topic.terms.entry(term).or_default().add(seen);
        }
    }

    /// Takes back an example that was added.
    pub fn remove(&mut self, example: Example<'_>) {
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

    /// Counts what other statistics counted, too.
    pub fn merge(&mut self, other: &Statistics) {
        for (&id, theirs) in &other.topics {
            let ours = self.topics.entry(id).or_default();
            ours.documents += theirs.documents;
            for (&term, &seen) in &theirs.terms {
                ours.terms.entry(term).or_default().add(seen);
            }
        }
    }

    /// Forgets the examples of a topic.
    pub fn forget(&mut self, topic: TopicId) {
        self.topics.remove(&topic);
    }

    /// Counts the examples of one topic for another from now on.
    pub fn move_to(&mut self, from: TopicId, to: TopicId) {
        if let Some(moved) = self.topics.remove(&from) {
            self.merge(&Statistics { topics: BTreeMap::from([(to, moved)]) });
        }
    }

    /// Forgets all other terms. Documents are still counted as they were.
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

    /// Examples of all topics.
    pub fn documents(&self) -> u64 {
        self.topics.values().map(|topic| u64::from(topic.documents)).sum()
    }
}

impl TopicStatistics {
    /// The terms that were seen, in no particular order.
    pub fn terms(&self) -> impl Iterator<Item = (TermId, Seen)> + '_ {
        self.terms.iter().map(|(&term, &seen)| (term, seen))
    }
}
