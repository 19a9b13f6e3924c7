//! What a full-text index must be able to do. FTS5 of SQLite and `tsvector` of PostgreSQL can; what is searched for, what
//! is indexed and how pages are ranked ([`super::search`], [`super::text_index`]) is the same on both.

use std::borrow::Cow;

use super::rows::{SITES_BELOW, names_below};
use crate::search::SearchRequest;
use crate::sql::{Connection, Transaction, Value};
use crate::{Result, postgres, sqlite};

/// Weight of a word in the title; one in the text has 1.
pub(crate) const TITLE: f64 = 10.0;

/// Tokenizer of FTS5. PostgreSQL's index has the same words: they are found by FTS5 in memory.
pub(crate) const TOKENIZE: &str = "tokenize = 'porter unicode61 remove_diacritics 2'";

/// A full-text index.
pub(crate) trait FullText: std::fmt::Debug + Send {
    /// What stands before the name of a table of the index: the schema of an attached database, or nothing.
    fn schema(&self) -> &'static str;

    /// Creates the tables that are missing.
    fn create(&self, tx: &Transaction<'_>) -> Result<()>;

    /// Removes all pages and anchor texts.
    fn clear(&self, tx: &Transaction<'_>) -> Result<()>;

    /// Whether there are counts and common words: an index that an earlier version made has none.
    fn has_counts(&self, index: &Connection) -> Result<bool>;

    /// Removes the pages in some rows and adds others.
    fn replace_pages(&self, tx: &Transaction<'_>, removed: &[i64], pages: &[IndexedText]) -> Result<()>;

    /// Removes the anchor texts of the links to the pages in some rows and adds others.
    fn replace_anchors(&self, tx: &Transaction<'_>, removed: &[i64], anchors: &[(i64, String)])
    -> Result<()>;

    /// Finds the words that are on more than half of the pages.
    fn find_common_words(&self, index: &Connection, pages: i64) -> Result<()>;

    /// Whether a word was on more than half of the pages when they were found.
    fn is_common(&self, index: &Connection, phrase: &str) -> Result<bool>;

    /// The best rows that the filters let through, with positive scores.
    fn candidates(
        &self,
        index: &Connection,
        table: IndexTable,
        query: &SearchQuery<'_>,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<(i64, f64)>>;

    /// Whether a page has all phrases in its title or text.
    fn has_all(&self, index: &Connection, row: i64, phrases: &[&str]) -> Result<bool>;

    /// The part of a page's text with most words of a query; its beginning if there are none.
    fn snippet(&self, index: &Connection, row: i64, query: &SearchQuery<'_>) -> Result<String>;
}

/// The index in the database of a connection that reads; in SQLite the readers' database is attached to it.
pub(crate) fn of_reader(db: &Connection) -> Result<Box<dyn FullText>> {
    Ok(match db {
        Connection::Sqlite(_) => Box::new(sqlite::Fts5 { schema: "readers." }),
        Connection::Postgres(_) => Box::new(postgres::TsVectorIndex::new()?),
    })
}

/// The index in the database of a connection that fills it.
pub(crate) fn of_writer(index: &Connection) -> Result<Box<dyn FullText>> {
    Ok(match index {
        Connection::Sqlite(_) => Box::new(sqlite::Fts5 { schema: "" }),
        Connection::Postgres(_) => Box::new(postgres::TsVectorIndex::new()?),
    })
}

/// One of the two texts of a page that are indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexTable {
    /// Its title and text.
    Page,
    /// The anchor texts of the links to it.
    Anchors,
}

impl IndexTable {
    pub(crate) fn name(self) -> &'static str {
        match self {
            IndexTable::Page => "page_text",
            IndexTable::Anchors => "page_anchor",
        }
    }
}

/// A page for the index.
#[derive(Debug)]
pub(crate) struct IndexedText {
    pub(crate) row: i64,
    pub(crate) title: String,
    pub(crate) body: String,
}

/// Words and phrases that a page should have, all or any of them. Each is text in quotes, as in the syntax of FTS5.
#[derive(Clone, Debug)]
pub(crate) struct SearchQuery<'p> {
    pub(crate) phrases: Vec<&'p str>,
    /// Whether one of them is enough.
    pub(crate) is_any: bool,
}

impl SearchQuery<'_> {
    /// The query in the syntax of FTS5.
    pub(crate) fn fts5(&self) -> String {
        self.phrases.join(if self.is_any { " OR " } else { " AND " })
    }
}

/// Conditions on rows of `crawl`.
#[derive(Debug, Default)]
pub(crate) struct SearchFilter {
    /// Beginning with `and`; empty if every page is wanted.
    pub(crate) sql: String,
    pub(crate) values: Vec<Value<'static>>,
}

impl SearchFilter {
    /// The conditions of a request. Their parameters are numbered from `first` on.
    pub(crate) fn of(request: &SearchRequest, first: usize) -> SearchFilter {
        let mut filter = SearchFilter::default();
        if request.min_relevance > 0.0 {
            let sql = "crawl.kcid is not null and crawl.relevance >= ?1";
            filter.require(first, sql, [Value::Real(request.min_relevance)]);
        }
        if !request.topics.is_empty() {
            let topics: Vec<String> = request.topics.iter().map(|topic| topic.0.to_string()).collect();
            filter.require(first, &format!("crawl.kcid in ({})", topics.join(", ")), []);
        }
        if let Some(site) = &request.site {
            let names = names_below(&site.to_ascii_lowercase()).map(|name| Value::Text(Cow::Owned(name)));
            filter.require(first, &format!("crawl.sid in ({SITES_BELOW})"), names);
        }
        if let Some(language) = &request.language {
            let language = Value::Text(Cow::Owned(language.to_ascii_lowercase()));
            filter.require(first, "crawl.language = ?1", [language]);
        }
        filter
    }

    /// Adds a condition whose parameters are numbered from 1 to at most 9.
    fn require<const N: usize>(&mut self, first: usize, sql: &str, values: [Value<'static>; N]) {
        let before = first + self.values.len() - 1;
        let mut parts = sql.split('?');
        self.sql += " and ";
        self.sql += parts.next().unwrap_or_default();
        for part in parts {
            let (number, rest) = part.split_at(1);
            self.sql += &format!("?{}{rest}", before + number.parse::<usize>().unwrap_or(1));
        }
        self.values.extend(values);
    }
}

/// A text in which the characters of Chinese, Japanese and Korean are words of their own: separated by spaces without
/// width, which end a word and are not seen. A phrase of them then finds any text that contains it.
pub(crate) fn spaced(text: &str) -> Cow<'_, str> {
    if !text.contains(is_ideograph) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() * 2);
    let mut was_ideograph = false;
    for c in text.chars() {
        let is_ideograph = is_ideograph(c);
        if (is_ideograph || was_ideograph) && !out.is_empty() {
            out.push(SEPARATOR);
        }
        out.push(c);
        was_ideograph = is_ideograph;
    }
    Cow::Owned(out)
}

/// A space without width.
pub(crate) const SEPARATOR: char = '\u{200b}';

/// Hiragana, katakana, ideographs and hangul.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_conditions_are_numbered_one_after_the_other() {
        let request = SearchRequest {
            min_relevance: 0.5,
            site: Some("Test".into()),
            language: Some("EN".into()),
            ..SearchRequest::default()
        };
        let filter = SearchFilter::of(&request, 7);
        assert_eq!(filter.values.len(), 6);
        for number in 7..13 {
            assert!(filter.sql.contains(&format!("?{number}")), "{}", filter.sql);
        }
        assert!(!filter.sql.contains("?1 "), "{}", filter.sql);
        assert_eq!(filter.values[5], Value::Text("en".into()));
    }
}
