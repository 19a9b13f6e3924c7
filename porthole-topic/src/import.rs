//! Examples from elsewhere: bookmarks, lists of URLs with topics, folders of files, the Open Directory.
//!
//! Two kinds of trouble are kept apart. One entry that is of no use (a `javascript:` bookmark) is a [`Problem`]:
//! it is told, and the rest goes on. A file that cannot be trusted as a whole (another format, cut in the middle)
//! is an [`ImportError`]: whoever imports should then keep nothing of it. [`Import::gather`] gives one or the other.

mod bookmarks;
mod directory;
mod dmoz;
mod folder;
mod markup;
mod names;
mod scrub;
mod tsv;

use std::fmt;
use std::io;

use porthole_types::CanonicalUrl;

pub use bookmarks::bookmarks;
pub use directory::Directory;
pub use dmoz::{DmozContent, DmozStructure, DmozTopic, dmoz_content, dmoz_structure};
pub use folder::{FoundFile, folder};
pub use tsv::{Tsv, tsv};

/// A page and the topic that it is an example of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where the page is.
    pub url: CanonicalUrl,
    /// A path that a [`crate::Taxonomy`] accepts: `/Science/Biology`; `/` for the root.
    pub topic: String,
    /// What the source calls it; empty if it does not say.
    pub title: String,
}

/// What comes out of a stream: something of use, or word of something that is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry<T> {
    /// An entry to import.
    Found(T),
    /// An entry, or a part of one, that was left out.
    Problem(Problem),
}

/// Something that was left out, while the rest goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Counted from 1; none where there are no lines.
    pub line: Option<u64>,
    /// What is wrong, in words.
    pub what: String,
}

/// Everything that a source holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import<T> {
    /// In the order of the source.
    pub found: Vec<T>,
    /// What was left out, in the order of the source.
    pub problems: Vec<Problem>,
}

/// Why nothing of a file should be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The reader handed in failed.
    #[error("line {line}: cannot read on: {source}")]
    Read {
        /// How far reading came.
        line: u64,
        /// What the reader said.
        source: io::Error,
    },
    /// The file is not what it should be.
    #[error("line {line}: {what}")]
    Broken {
        /// Where it shows.
        line: u64,
        /// What is wrong, in words.
        what: String,
    },
}

impl<T> Import<T> {
    /// All entries of a stream, or the error that says that none of them should be kept.
    pub fn gather(
        entries: impl IntoIterator<Item = Result<Entry<T>, ImportError>>,
    ) -> Result<Self, ImportError> {
        let mut all = Import::default();
        for entry in entries {
            match entry? {
                Entry::Found(found) => all.found.push(found),
                Entry::Problem(problem) => all.problems.push(problem),
            }
        }
        Ok(all)
    }
}

impl<T> Default for Import<T> {
    fn default() -> Self {
        Import { found: Vec::new(), problems: Vec::new() }
    }
}

impl<T> From<Problem> for Entry<T> {
    fn from(problem: Problem) -> Self {
        Entry::Problem(problem)
    }
}

impl Problem {
    fn new(line: u64, what: impl Into<String>) -> Self {
        Problem { line: Some(line), what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl ImportError {
    /// The line that the error is about.
    pub fn line(&self) -> u64 {
        match self {
            ImportError::Read { line, .. } | ImportError::Broken { line, .. } => *line,
        }
    }

    fn broken(line: u64, what: impl Into<String>) -> Self {
        ImportError::Broken { line, what: what.into() }
    }
}

/// A URL as the source writes it, or what is wrong with it.
fn url(written: &str, line: u64) -> Result<CanonicalUrl, Problem> {
    CanonicalUrl::parse(written).map_err(|error| Problem::new(line, format!("{}: {error}", shown(written))))
}

/// Text for a message: quoted, and not longer than a line, because a bookmarklet is a program.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(LONGEST_SHOWN).collect();
    let dots = if start.len() < text.len() { "…" } else { "" };
    format!("`{}{dots}`", start.escape_debug())
}

const LONGEST_SHOWN: usize = 80;

/// Text for a title: white space folded, nothing invisible.
fn tidy(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    words.fold(String::with_capacity(text.len()), |mut all, word| {
        if !all.is_empty() {
            all.push(' ');
        }
        all.push_str(word);
        all
    })
}
