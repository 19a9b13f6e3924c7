//! Topics and examples, as the store reads and writes them.

use std::fmt;

use porthole_types::{TermId, Timestamp, TopicId, TopicRow};

/// Term counts, by id.
pub type TermCounts = [(TermId, u32)];

/// A change of topics and examples, in one transaction. Applied in the order of the fields, so that new topics can get
/// examples and removed topics can pass theirs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct TopicChange<'a> {
    /// The whole new tree; `None` keeps the old one. Statistics of a node whose children have changed are deleted.
    pub topics: Option<&'a [TopicRow]>,
    /// Changes of existing examples.
    pub examples: &'a [ExampleChange],
    /// Examples to add.
    pub added: &'a [NewExample],
    /// Words for terms.
    pub terms: &'a [TermWord],
}

/// A change of an example, or of all examples of a topic. An example that is moved to a topic with the same URL
/// replaces the one there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExampleChange {
    /// Move one to another topic.
    Move(ExampleId, TopicId),
    /// Remove one.
    Remove(ExampleId),
    /// Move all of the first topic to the second.
    MoveAll(TopicId, TopicId),
    /// Remove all of a topic.
    RemoveAll(TopicId),
}

/// Permanent number of an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExampleId(pub u64);

/// An example to add, with its terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewExample {
    /// Topic of which it is an example.
    pub topic: TopicId,
    /// URL, or name of the file.
    pub url: String,
    /// Title; may be empty.
    pub title: String,
    /// Where it was imported from.
    pub source: String,
    /// Language; empty if unknown.
    pub language: String,
    /// Whether it has words to train on.
    pub state: ExampleState,
    /// Counts of its distinct terms, in any order.
    pub terms: Vec<(TermId, u32)>,
}

/// A stored example, without its terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredExample {
    /// Its number.
    pub id: ExampleId,
    /// Topic of which it is an example.
    pub topic: TopicId,
    /// URL, or name of the file.
    pub url: String,
    /// Title; may be empty.
    pub title: String,
    /// Where it was imported from.
    pub source: String,
    /// Language; empty if unknown.
    pub language: String,
    /// Whether it has words to train on.
    pub state: ExampleState,
}

/// Whether an example has words to train on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ExampleState {
    /// It has.
    #[default]
    Ok,
    /// Its page could not be fetched or read, with the reason.
    Missing(String),
    /// Its page has no words, with the reason.
    Empty(String),
}

/// A readable word for a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermWord {
    /// The stem; the term's id is its hash.
    pub stem: String,
    /// A word with that stem, as it is spelled.
    pub word: String,
}

/// A term that stands for several stems, because their hashes collide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collision {
    /// The term.
    pub term: TermId,
    /// The stems, in alphabetical order.
    pub stems: Vec<String>,
}

/// A trained model, opaque to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredModel {
    /// The serialised model.
    pub bytes: Vec<u8>,
    /// When it was trained.
    pub made: Timestamp,
}

impl ExampleState {
    /// Name in tables, commands and the API.
    pub fn name(&self) -> &'static str {
        match self {
            ExampleState::Ok => "ok",
            ExampleState::Missing(_) => "missing",
            ExampleState::Empty(_) => "empty",
        }
    }

    /// Why it cannot be used; empty if it can.
    pub fn detail(&self) -> &str {
        match self {
            ExampleState::Ok => "",
            ExampleState::Missing(why) | ExampleState::Empty(why) => why,
        }
    }

    /// The state with this name and detail.
    pub(crate) fn of(name: &str, detail: String) -> Option<Self> {
        match name {
            "ok" => Some(ExampleState::Ok),
            "missing" => Some(ExampleState::Missing(detail)),
            "empty" => Some(ExampleState::Empty(detail)),
            _ => None,
        }
    }
}

impl fmt::Display for ExampleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
