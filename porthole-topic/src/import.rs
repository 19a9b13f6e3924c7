//! Import of examples: bookmarks, lists of URLs with topics, folders of files, the Open Directory.
//!
//! Two kinds of errors are separate. An [`ImportProblem`] is about one entry that cannot be used (a `javascript:`
//! bookmark): it is reported, and the import continues. An [`ImportError`] means that the file as a whole cannot be
//! trusted (another format, truncated): nothing of it should be kept. [`ImportedTaxonomy::gather`] returns one or the
//! other.

mod bookmarks;
mod directory;
mod dmoz;
mod folder;
mod lines;
mod markup;
mod names;
mod scrub;

use std::fmt;
use std::io;

use porthole_types::CanonicalUrl;

pub use bookmarks::bookmarks;
pub use directory::Directory;
pub use dmoz::{DmozContent, DmozStructure, DmozTopic, dmoz_content, dmoz_structure};
pub use folder::{FoundFile, folder};
pub use lines::{ExampleLines, is_url_alone, jsonl, tsv};

/// An example page and its topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedExample {
    /// URL of the page.
    pub url: CanonicalUrl,
    /// A path that a [`crate::Taxonomy`] accepts: `/Science/Biology`; `/` for the root.
    pub topic: String,
    /// Title given by the source; empty if it has none.
    pub title: String,
}

/// An item of an import stream: an entry, or a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportEntry<T> {
    /// An entry to import.
    Found(T),
    /// An entry, or a part of one, that was skipped.
    Problem(ImportProblem),
}

/// A skipped entry or part of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportProblem {
    /// Line number from 1; `None` if the source has no lines.
    pub line: Option<u64>,
    /// Description of the problem.
    pub what: String,
}

/// All entries of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedTaxonomy<T> {
    /// Entries in the order of the source.
    pub found: Vec<T>,
    /// Problems in the order of the source.
    pub problems: Vec<ImportProblem>,
}

/// Errors that make a file unusable.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The reader failed.
    #[error("line {line}: cannot read: {source}")]
    Read {
        /// Line at which reading failed.
        line: u64,
        /// Error of the reader.
        source: io::Error,
    },
    /// The file has the wrong format.
    #[error("line {line}: {what}")]
    Broken {
        /// Line of the error.
        line: u64,
        /// Description of the error.
        what: String,
    },
}

impl<T> ImportedTaxonomy<T> {
    /// Collects all entries of a stream, or returns the error that makes it unusable.
    pub fn gather(
        entries: impl IntoIterator<Item = Result<ImportEntry<T>, ImportError>>,
    ) -> Result<Self, ImportError> {
        let mut all = ImportedTaxonomy::default();
        for entry in entries {
            match entry? {
                ImportEntry::Found(found) => all.found.push(found),
                ImportEntry::Problem(problem) => all.problems.push(problem),
            }
        }
        Ok(all)
    }
}

impl<T> Default for ImportedTaxonomy<T> {
    fn default() -> Self {
        ImportedTaxonomy { found: Vec::new(), problems: Vec::new() }
    }
}

impl<T> From<ImportProblem> for ImportEntry<T> {
    fn from(problem: ImportProblem) -> Self {
        ImportEntry::Problem(problem)
    }
}

impl ImportProblem {
    fn new(line: u64, what: impl Into<String>) -> Self {
        ImportProblem { line: Some(line), what: what.into() }
    }
}

impl fmt::Display for ImportProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl ImportError {
    /// Line of the error.
    pub fn line(&self) -> u64 {
        match self {
            ImportError::Read { line, .. } | ImportError::Broken { line, .. } => *line,
        }
    }

    fn broken(line: u64, what: impl Into<String>) -> Self {
        ImportError::Broken { line, what: what.into() }
    }
}

/// Parses a URL of the source.
fn url(written: &str, line: u64) -> Result<CanonicalUrl, ImportProblem> {
    CanonicalUrl::parse(written)
        .map_err(|error| ImportProblem::new(line, format!("{}: {error}", shown(written))))
}

/// Text for a message: quoted and truncated to a line, because a bookmarklet can be a whole program.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(LONGEST_SHOWN).collect();
    let dots = if start.len() < text.len() { "…" } else { "" };
    format!("`{}{dots}`", start.escape_debug())
}

const LONGEST_SHOWN: usize = 80;

/// Text for a title: white space collapsed, invisible characters removed.
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
