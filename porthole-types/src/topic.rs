//! A node of the topic tree, as it is passed between crates.

use std::fmt;

use crate::TopicId;

/// Role of a topic in the crawl (V 1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mark {
    /// None: neither good nor related to a good topic.
    #[default]
    Null,
    /// The crawl looks for pages about it.
    Good,
    /// An ancestor of a good topic.
    Path,
    /// A descendant of a good topic.
    Subsumed,
}

/// A topic as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicRow {
    /// The topic; 0 is the root.
    pub id: TopicId,
    /// Its parent; the root's is the root.
    pub parent: TopicId,
    /// Its name among its siblings; empty for the root.
    pub name: String,
    /// Its role in the crawl.
    pub mark: Mark,
}

impl Mark {
    /// All marks.
    pub const ALL: [Mark; 4] = [Mark::Null, Mark::Good, Mark::Path, Mark::Subsumed];

    /// Name in tables, commands and the API.
    pub fn name(self) -> &'static str {
        match self {
            Mark::Null => "null",
            Mark::Good => "good",
            Mark::Path => "path",
            Mark::Subsumed => "subsumed",
        }
    }

    /// The mark with this name.
    pub fn of_name(name: &str) -> Option<Mark> {
        Mark::ALL.into_iter().find(|mark| mark.name() == name)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
