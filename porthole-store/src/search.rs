//! Full-text search: what is asked, what is found, and what the index is filled with.

use porthole_types::{SegmentSpan, TopicId};

/// A search.
#[derive(Clone, Debug, Default)]
pub struct SearchRequest {
    /// The words to find, each of which may be a phrase of several.
    pub words: Vec<String>,
    /// Only pages about these topics; empty for all.
    pub topics: Vec<TopicId>,
    /// Only pages with at least this relevance.
    pub min_relevance: f64,
    /// Only pages of this host and of hosts below it.
    pub site: Option<String>,
    /// Only pages in this language (ISO 639-1).
    pub language: Option<String>,
    /// Maximum number of pages.
    pub limit: usize,
}

impl SearchRequest {
    /// The words of a text, and its phrases in quotes; a quote that is not closed ends with the text. What has no letter
    /// or digit is dropped.
    pub fn phrases(text: &str) -> Vec<String> {
        let text = text.replace(['\u{201c}', '\u{201d}', '\u{201e}'], "\"");
        let mut phrases = Vec::new();
        for (index, part) in text.split('"').enumerate() {
            if index % 2 == 1 {
                phrases.push(part.trim().to_owned());
            } else {
                phrases.extend(part.split_whitespace().map(str::to_owned));
            }
        }
        phrases.retain(|phrase| phrase.contains(char::is_alphanumeric));
        phrases
    }
}

/// A page that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundPage {
    /// Its URL.
    pub url: String,
    /// Its title.
    pub title: String,
    /// The part of its text with most of the words; those between [`MARK_START`] and [`MARK_END`].
    pub snippet: String,
    /// Its rank: higher is better.
    pub score: f64,
    /// R(d).
    pub relevance: f64,
    /// Its best topic, if it was judged.
    pub topic: Option<TopicId>,
    /// Its authority score, as a share of the highest one; 0 without a distillation.
    pub authority: f64,
    /// ISO 639-1 code of its language; empty if unknown.
    pub language: String,
}

/// Before and after a word of the search in a snippet. No text in the index contains them.
pub const MARK_START: char = '\u{2}';
/// See [`MARK_START`].
pub const MARK_END: char = '\u{3}';

/// The answer to a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchAnswer {
    /// The pages, best first.
    pub pages: Vec<FoundPage>,
    /// Whether no page has all words, so that these have some of them.
    pub has_some_words_only: bool,
    /// How far the index is.
    pub index: IndexState,
}

/// How far the index is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexState {
    /// Number of pages in the index.
    pub indexed: u64,
    /// Number of them of which only the title and the anchor texts are known, because they are not in the archive.
    pub without_text: u64,
    /// Number of fetches that are not in the index yet.
    pub behind: u64,
    /// Number of links whose anchor texts are not in the index yet.
    pub links_behind: u64,
}

/// A page that is to be indexed.
#[derive(Clone, Debug, PartialEq)]
pub struct PageToIndex {
    /// Number of its fetch.
    pub seq: u64,
    /// Row of its URL.
    pub row: i64,
    /// The URL.
    pub url: String,
    /// The title; empty if there is none.
    pub title: String,
    /// Location of the page in the archive.
    pub span: Option<SegmentSpan>,
}

/// The next part of the crawl that is to be indexed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexBatch {
    /// The pages, in the order of their fetches.
    pub pages: Vec<PageToIndex>,
    /// Rows that are no pages any more, or copies: they are removed.
    pub removed: Vec<i64>,
    /// Number of the last fetch that was looked at before this part and in it.
    pub after: u64,
    /// See `after`.
    pub until: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_phrases() {
        for (text, expected) in [
            ("snowy owl", &["snowy", "owl"][..]),
            ("\"snowy owl\" habitat", &["snowy owl", "habitat"]),
            ("an \"open quote", &["an", "open quote"]),
            ("\u{201c}snowy owl\u{201d}", &["snowy owl"]),
            ("\"\" - !!! '; drop", &["drop"]),
            ("", &[]),
        ] {
            assert_eq!(SearchRequest::phrases(text), expected, "for {text}");
        }
    }
}
