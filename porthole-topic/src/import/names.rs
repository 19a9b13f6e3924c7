//! Conversion of folder and directory names to paths that a taxonomy accepts.

use std::borrow::Cow;

use porthole_page::steps;

use super::tidy;
use crate::DEEPEST;
use crate::taxonomy::LONGEST_NAME;

/// Maximum length of a path in bytes, far above any directory. Prevents nested folders from amplifying small input.
const LONGEST_PATH: usize = 1000;

/// Name of a folder without a name.
const UNNAMED: &str = "Unnamed";

/// A path with push and pop.
#[derive(Default)]
pub(super) struct TopicPath {
    text: String,
    /// Length of the text before each name.
    starts: Vec<usize>,
}

impl TopicPath {
    /// The path of these names, each made valid; `None` if it is too long.
    pub(super) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut path = TopicPath::default();
        names.into_iter().all(|name| path.push(&make_valid(name))).then_some(path)
    }

    /// Appends a valid name; returns false without a change if the path would be too long.
    pub(super) fn push(&mut self, name: &str) -> bool {
        let fits = self.starts.len() < DEEPEST && self.text.len() + 1 + name.len() <= LONGEST_PATH;
        if fits {
            self.starts.push(self.text.len());
            self.text.push('/');
            self.text.push_str(name);
        }
        fits
    }

    /// Removes the last name.
    pub(super) fn pop(&mut self) {
        if let Some(start) = self.starts.pop() {
            self.text.truncate(start);
        }
    }

    /// `/Science/Biology`; `/` for the root.
    pub(super) fn topic(&self) -> String {
        if self.text.is_empty() { "/".to_owned() } else { self.text.clone() }
    }
}

/// The name with the fewest changes that make it a valid topic name.
pub(super) fn make_valid(name: &str) -> Cow<'_, str> {
    steps::add(1 + name.len());
    if is_valid(name) {
        return Cow::Borrowed(name);
    }
    let mut name = tidy(name).replace('/', "-");
    name.truncate(name.floor_char_boundary(LONGEST_NAME));
    name.truncate(name.trim_end().len());
    if name.is_empty() { Cow::Borrowed(UNNAMED) } else { Cow::Owned(name) }
}

/// Whether a taxonomy accepts the name unchanged.
pub(super) fn is_valid(name: &str) -> bool {
    let bad = |c: char| c == '/' || c.is_control();
    !name.is_empty() && name.len() <= LONGEST_NAME && name.trim().len() == name.len() && !name.contains(bad)
}

/// Message for a path that is too long.
pub(super) fn too_deep_message(topic: &str) -> String {
    let topic = super::shown(topic);
    format!("topic {topic} is too deep: a path has at most {DEEPEST} names and {LONGEST_PATH} bytes")
}
