//! A node of the topic tree as rooms hand it to each other.

use std::fmt;

use crate::TopicId;

/// What a topic means to the crawl (V 1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Nothing: it is neither wanted nor on the way to what is.
    #[default]
    Null,
    /// Pages about it are what the crawl is after.
    Good,
    /// An ancestor of a good topic.
    Path,
    /// A descendant of a good topic.
    Subsumed,
}

/// A topic as it is stored: everything that a person decided about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicRow {
    /// The topic; 0 is the root.
    pub id: TopicId,
    /// The topic above it; the root's is the root.
    pub parent: TopicId,
    /// Its name among its siblings; empty for the root.
    pub name: String,
    /// What it means to the crawl.
    pub mark: Mark,
}

impl Mark {
    /// All marks.
    pub const ALL: [Mark; 4] = [Mark::Null, Mark::Good, Mark::Path, Mark::Subsumed];

    /// The word for it in tables, commands and the API.
    pub fn name(self) -> &'static str {
        match self {
            Mark::Null => "null",
            Mark::Good => "good",
            Mark::Path => "path",
            Mark::Subsumed => "subsumed",
        }
    }

    /// The mark that a word means.
    pub fn of_name(name: &str) -> Option<Mark> {
        Mark::ALL.into_iter().find(|mark| mark.name() == name)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
