//! Answers searches from the full-text index.
//!
//! The score of a page is `(T + A) (1 + R + S)`: T is the BM25 of its title and text, where a word in the title counts
//! [`TITLE`](super::full_text::TITLE) times, A [`ANCHORS`] times that of the anchor texts of the links to it, R
//! [`RELEVANCE`] times its relevance, and S [`AUTHORITY`] times the square root of its authority score as a share of the
//! highest one.
//!
//! BM25 gives no weight to a word that is on more than half of the pages, but its whole list has to be read to find that
//! out. Titles and texts are therefore searched without such words; then those that are shown are checked for them.

use std::collections::BTreeMap;

use porthole_types::TopicId;

use super::full_text::{FullText, IndexTable, SEPARATOR, SearchFilter, SearchQuery, spaced};
use super::text_index;
use crate::Result;
use crate::search::{FoundPage, SearchAnswer, SearchRequest};
use crate::sql::{Connection, Row};

/// Weights, see above.
const ANCHORS: f64 = 1.0;
const RELEVANCE: f64 = 0.3;
const AUTHORITY: f64 = 0.3;
/// Candidates by text and by anchor texts, of which the best by score are shown.
const CANDIDATES: usize = 100;
/// Rows of `crawl` that are read at a time.
const PORTION: usize = 50;

/// The answer to a search.
pub(super) fn answer(db: &Connection, index: &dyn FullText, request: &SearchRequest) -> Result<SearchAnswer> {
    let state = text_index::state(db, db, index)?;
    let phrases: Vec<String> = request.words.iter().filter_map(|word| quoted(word)).collect();
    let phrases: Vec<&str> = phrases.iter().map(String::as_str).collect();
    if phrases.is_empty() {
        return Ok(SearchAnswer { index: state, ..SearchAnswer::default() });
    }
    let search = IndexSearch { db, index, request, filter: SearchFilter::of(request, 2) };
    let pages = search.found(&WordsToFind::of(db, index, &phrases)?)?;
    if !pages.is_empty() || phrases.len() == 1 {
        return Ok(SearchAnswer { pages, has_some_words_only: false, index: state });
    }
    let pages = search.found(&WordsToFind::plain(SearchQuery { phrases, is_any: true }))?;
    Ok(SearchAnswer { has_some_words_only: !pages.is_empty(), pages, index: state })
}

/// A query, and the same without the words that are on most pages.
struct WordsToFind<'p> {
    all: SearchQuery<'p>,
    /// The query without common words, and these words, which have to be in a text as well. `None` if there are none.
    split: Option<(SearchQuery<'p>, Vec<&'p str>)>,
}

impl<'p> WordsToFind<'p> {
    fn plain(all: SearchQuery<'p>) -> Self {
        WordsToFind { all, split: None }
    }

    /// All of the phrases. Words that are on more than half of the pages are common, unless all are.
    fn of(db: &Connection, index: &dyn FullText, phrases: &[&'p str]) -> Result<Self> {
        let (mut common, mut others) = (Vec::new(), Vec::new());
        let has_counts = index.has_counts(db)?;
        for &phrase in phrases {
            let is_common = has_counts && index.is_common(db, phrase)?;
            if is_common { &mut common } else { &mut others }.push(phrase);
        }
        let all = SearchQuery { phrases: phrases.to_vec(), is_any: false };
        let is_split = !common.is_empty() && !others.is_empty();
        let split = is_split.then_some((SearchQuery { phrases: others, is_any: false }, common));
        Ok(WordsToFind { all, split })
    }
}

/// A word or phrase in the syntax of FTS5, in which everything between quotes is text; `None` if there is nothing to find.
fn quoted(word: &str) -> Option<String> {
    let word: String = word.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let has_text = word.contains(char::is_alphanumeric);
    has_text.then(|| format!("\"{}\"", spaced(&word).replace('"', "\"\"")))
}

/// Scores of the words in title and text, and in anchor texts; 0 if these do not match.
#[derive(Clone, Copy, Default)]
struct WordMatch {
    text: f64,
    anchors: f64,
}

impl WordMatch {
    fn score(self) -> f64 {
        self.text + self.anchors
    }
}

struct IndexSearch<'s> {
    db: &'s Connection,
    index: &'s dyn FullText,
    request: &'s SearchRequest,
    filter: SearchFilter,
}

impl IndexSearch<'_> {
    /// The best pages for a query.
    fn found(&self, words: &WordsToFind<'_>) -> Result<Vec<FoundPage>> {
        let (telling, common) = match &words.split {
            Some((others, common)) => (others, Some(&common[..])),
            None => (&words.all, None),
        };
        let by_text = self.candidates(IndexTable::Page, telling)?;
        let has_more = by_text.len() >= CANDIDATES.max(self.request.limit);
        let mut matches: BTreeMap<i64, WordMatch> = BTreeMap::new();
        for (row, score) in by_text {
            matches.entry(row).or_default().text = score;
        }
        for (row, score) in self.candidates(IndexTable::Anchors, &words.all)? {
            matches.entry(row).or_default().anchors = ANCHORS * score;
        }
        let mut pages = self.best(matches, common)?;
        if common.is_some() && pages.len() < self.request.limit && has_more {
            // Too many pages have the other words without the common ones.
            return self.found(&WordsToFind::plain(words.all.clone()));
        }
        for (row, page) in &mut pages {
            // The words that tell most, not those that are everywhere.
            let text = self.index.snippet(self.db, *row, telling)?;
            page.snippet = text.chars().filter(|&c| c != SEPARATOR).collect();
        }
        Ok(pages.into_iter().map(|(_, page)| page).collect())
    }

    fn candidates(&self, table: IndexTable, query: &SearchQuery<'_>) -> Result<Vec<(i64, f64)>> {
        let limit = CANDIDATES.max(self.request.limit);
        self.index.candidates(self.db, table, query, &self.filter, limit)
    }

    /// The pages with the best scores. They are read in the order of the scores of their words, until no other can be
    /// among them even with the highest relevance and authority. A text without the common words does not match.
    fn best(
        &self,
        matches: BTreeMap<i64, WordMatch>,
        common: Option<&[&str]>,
    ) -> Result<Vec<(i64, FoundPage)>> {
        const MOST: f64 = 1.0 + RELEVANCE + AUTHORITY;
        let highest: Option<f64> = self.db.query_row("select max(score) from auth", (), |row| row.get(0))?;
        let limit = self.request.limit;
        let mut ordered: Vec<(i64, WordMatch)> = matches.into_iter().collect();
        ordered.sort_by(|a, b| b.1.score().total_cmp(&a.1.score()).then(a.0.cmp(&b.0)));
        let mut pages: Vec<(i64, FoundPage)> = Vec::new();
        for portion in ordered.chunks(PORTION) {
            let last = |pages: &[(i64, FoundPage)]| {
                (pages.len() == limit).then(|| pages.last().map(|(_, last)| last.score)).flatten()
            };
            if last(&pages).is_some_and(|last| portion[0].1.score() * MOST < last) {
                break;
            }
            let mut facts = facts(self.db, portion, highest.unwrap_or(0.0))?;
            for &(row, mut matched) in portion {
                let Some(mut page) = facts.remove(&row) else { continue };
                if last(&pages).is_some_and(|last| page.score < last) {
                    continue;
                }
                if let Some(common) = common.filter(|_| matched.text > 0.0)
                    && !self.index.has_all(self.db, row, common)?
                {
                    page.score *= matched.anchors / matched.score();
                    matched.text = 0.0;
                }
                if matched.score() <= 0.0 {
                    continue;
                }
                let order =
                    |other: &(i64, FoundPage)| page.score.total_cmp(&other.1.score).then(other.0.cmp(&row));
                let place = pages.partition_point(|other| order(other).is_lt());
                pages.insert(place, (row, page));
                pages.truncate(limit);
            }
        }
        Ok(pages)
    }
}

/// Pages by their rows, with their scores.
fn facts(db: &Connection, matches: &[(i64, WordMatch)], highest: f64) -> Result<BTreeMap<i64, FoundPage>> {
    let words: BTreeMap<i64, f64> = matches.iter().map(|(row, matched)| (*row, matched.score())).collect();
    let rows: Vec<String> = words.keys().map(i64::to_string).collect();
    let sql = format!(
        "select crawl.rowid, url, title, relevance, kcid, language,
                coalesce((select score from auth where auth.oid = crawl.oid), 0.0)
         from crawl where crawl.rowid in ({})",
        rows.join(", ")
    );
    let read = |row: &Row<'_>| {
        let number: i64 = row.get(0)?;
        let topic: Option<u16> = row.get(4)?;
        let relevance = if topic.is_some() { row.get(3)? } else { 0.0 };
        let authority = if highest > 0.0 { row.get::<f64>(6)? / highest } else { 0.0 };
        let words = words.get(&number).copied().unwrap_or(0.0);
        let page = FoundPage {
            url: row.get(1)?,
            title: row.get::<Option<String>>(2)?.unwrap_or_default(),
            snippet: String::new(),
            score: words * (1.0 + RELEVANCE * relevance + AUTHORITY * authority.max(0.0).sqrt()),
            relevance,
            topic: topic.map(TopicId),
            authority,
            language: row.get::<Option<String>>(5)?.unwrap_or_default(),
        };
        Ok((number, page))
    };
    Ok(db.prepare(&sql)?.query_map((), read)?.into_iter().collect())
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_text_and_never_syntax() {
        for (word, expected) in [
            ("owl", Some("\"owl\"")),
            ("say \"hi\"", Some("\"say \"\"hi\"\"\"")),
            ("a* OR b:c NEAR(", Some("\"a* OR b:c NEAR(\"")),
            ("x\0y", Some("\"x y\"")),
            ("!!!", None),
            ("", None),
            ("\u{6771}\u{4eac}", Some("\"\u{6771}\u{200b}\u{4eac}\"")),
        ] {
            assert_eq!(quoted(word).as_deref(), expected, "for {word:?}");
        }
    }
}
