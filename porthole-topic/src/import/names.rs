//! Names of folders and directories, made into paths that a taxonomy accepts.

use std::borrow::Cow;

use porthole_page::steps;

use super::tidy;
use crate::DEEPEST;
use crate::taxonomy::LONGEST_NAME;

/// Bytes of a path: far above any directory. Nested folders must not make much of little input.
const LONGEST_PATH: usize = 1000;

/// What a folder without a name is called.
const UNNAMED: &str = "Unnamed";

/// A path that grows and shrinks by a name.
#[derive(Default)]
pub(super) struct TopicPath {
    text: String,
    /// How long the text was before each name.
    starts: Vec<usize>,
}

impl TopicPath {
    /// The path of these names, each made legal; none if it is too long.
    pub(super) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut path = TopicPath::default();
        names.into_iter().all(|name| path.push(&legal(name))).then_some(path)
    }

    /// Goes down by a legal name; false, and nothing is changed, if that is too far.
    pub(super) fn push(&mut self, name: &str) -> bool {
        let fits = self.starts.len() < DEEPEST && self.text.len() + 1 + name.len() <= LONGEST_PATH;
        if fits {
            self.starts.push(self.text.len());
            self.text.push('/');
            self.text.push_str(name);
        }
        fits
    }

    /// Goes back up.
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

/// The name, changed as little as makes it one of a topic.
pub(super) fn legal(name: &str) -> Cow<'_, str> {
    steps::add(1 + name.len());
    if is_legal(name) {
        return Cow::Borrowed(name);
    }
    let mut name = tidy(name).replace('/', "-");
    name.truncate(name.floor_char_boundary(LONGEST_NAME));
    name.truncate(name.trim_end().len());
    if name.is_empty() { Cow::Borrowed(UNNAMED) } else { Cow::Owned(name) }
}

/// Whether a taxonomy accepts the name as it is.
pub(super) fn is_legal(name: &str) -> bool {
    let bad = |c: char| c == '/' || c.is_control();
    !name.is_empty() && name.len() <= LONGEST_NAME && name.trim().len() == name.len() && !name.contains(bad)
}

/// Says that a path is too long.
pub(super) fn too_deep(topic: &str) -> String {
    let topic = super::shown(topic);
    format!("topic {topic} is too deep: a path has at most {DEEPEST} names and {LONGEST_PATH} bytes")
}
