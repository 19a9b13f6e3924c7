//! Topics and their examples as the store hands them out and takes them in.

use std::fmt;

use porthole_types::{TermId, Timestamp, TopicId, TopicRow};

/// Terms with how often each occurs, by id.
pub type Terms = [(TermId, u32)];

/// What changes together about topics. Applied in the order of the fields: topics that are new can get
/// examples at once, and topics that go can hand theirs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct TopicChange<'a> {
    /// The whole tree as it is from now on; `None` leaves it. What was learnt about a node whose children
    /// are no longer the same is forgotten.
    pub topics: Option<&'a [TopicRow]>,
    /// What becomes of examples that are there.
    pub examples: &'a [ExampleChange],
    /// Examples to add.
    pub added: &'a [NewExample],
    /// Words for terms.
    pub terms: &'a [TermWord],
}

/// What becomes of an example, or of all examples of a topic. An example that comes to a topic which has one
/// with the same URL replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExampleChange {
    /// One goes to another topic.
    Move(ExampleId, TopicId),
    /// One goes away.
    Remove(ExampleId),
    /// All of the first topic go to the second.
    MoveAll(TopicId, TopicId),
    /// All of a topic go away.
    RemoveAll(TopicId),
}

/// A number that an example has for life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExampleId(pub u64);

/// A page that was shown for a topic, with its terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewExample {
    /// The topic that it is to stand for.
    pub topic: TopicId,
    /// Its URL, or the name of the file that it came from.
    pub url: String,
    /// Its title; may be empty.
    pub title: String,
    /// What it was imported from.
    pub source: String,
    /// Its language; empty if that is not known.
    pub language: String,
    /// Whether there is anything to learn from it.
    pub state: ExampleState,
    /// Its terms with how often each occurs, each once, in any order.
    pub terms: Vec<(TermId, u32)>,
}

/// What is known of an example besides its terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Its number.
    pub id: ExampleId,
    /// The topic that it stands for.
    pub topic: TopicId,
    /// Its URL, or the name of the file that it came from.
    pub url: String,
    /// Its title; may be empty.
    pub title: String,
    /// What it was imported from.
    pub source: String,
    /// Its language; empty if that is not known.
    pub language: String,
    /// Whether there is anything to learn from it.
    pub state: ExampleState,
}

/// Whether there is anything to learn from an example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ExampleState {
    /// There is.
    #[default]
    Ok,
    /// Its page could not be had; why.
    Missing(String),
    /// Its page has no words; why.
    Empty(String),
}

/// A readable word for a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermWord {
    /// What the term was made from; its id follows from it.
    pub stem: String,
    /// A word with that stem, as people write it.
    pub word: String,
}

/// A term that stands for several stems, because their hashes are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collision {
    /// The term.
    pub term: TermId,
    /// The stems, in alphabetical order.
    pub stems: Vec<String>,
}

/// A trained critic, which only the room of topics can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The critic.
    pub bytes: Vec<u8>,
    /// When it was trained.
    pub made: Timestamp,
}

impl ExampleState {
    /// The word for it in tables, commands and the API.
    pub fn name(&self) -> &'static str {
        match self {
            ExampleState::Ok => "ok",
            ExampleState::Missing(_) => "missing",
            ExampleState::Empty(_) => "empty",
        }
    }

    /// Why there is nothing to learn from it; empty if there is.
    pub fn detail(&self) -> &str {
        match self {
            ExampleState::Ok => "",
            ExampleState::Missing(why) | ExampleState::Empty(why) => why,
        }
    }

    /// The state of a word and its detail.
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
