//! Answers searches from the full-text index.
//!
//! The score of a page is `(T + A) (1 + R + S)`: T is the BM25 of its title and text, where a word in the title counts
//! [`TITLE`] times, A [`ANCHORS`] times that of the anchor texts of the links to it, R [`RELEVANCE`] times its relevance,
//! and S [`AUTHORITY`] times the square root of its authority score as a share of the highest one.
//!
//! BM25 gives no weight to a word that is on more than half of the pages, but FTS5 reads its whole list to find that out.
//! Titles and texts are therefore searched without such words; then those that are shown are checked for them.

use std::collections::BTreeMap;

use porthole_types::TopicId;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params_from_iter};

use super::text_index::{self, SEPARATOR, spaced};
use crate::Result;
use crate::search::{FoundPage, MARK_END, MARK_START, SearchAnswer, SearchRequest};
use crate::tables::{SITES_BELOW, names_below};

/// Weight of a word in the title; one in the text has 1.
const TITLE: f64 = 10.0;
/// Weights, see above.
const ANCHORS: f64 = 1.0;
const RELEVANCE: f64 = 0.3;
const AUTHORITY: f64 = 0.3;
/// Candidates by text and by anchor texts, of which the best by score are shown.
const CANDIDATES: usize = 100;
/// Words of a snippet.
const SNIPPET_WORDS: i64 = 32;

/// The answer to a search on a connection with the readers' database attached as `readers`.
pub(crate) fn answer(db: &Connection, request: &SearchRequest) -> Result<SearchAnswer> {
    let index = text_index::state(db, db, "readers.")?;
    let phrases: Vec<String> = request.words.iter().filter_map(|word| quoted(word)).collect();
    if phrases.is_empty() {
        return Ok(SearchAnswer { index, ..SearchAnswer::default() });
    }
    let query = SearchQuery::of(db, &phrases)?;
    let pages = found(db, request, &query)?;
    if !pages.is_empty() || phrases.len() == 1 {
        return Ok(SearchAnswer { pages, has_some_words_only: false, index });
    }
    let pages = found(db, request, &SearchQuery::plain(phrases.join(" OR ")))?;
    Ok(SearchAnswer { has_some_words_only: !pages.is_empty(), pages, index })
}

/// A query in the syntax of FTS5.
struct SearchQuery {
    all: String,
    /// The query without common words, and these words, which have to be in a text as well. `None` if there are none.
    split: Option<(String, String)>,
}

impl SearchQuery {
    fn plain(all: String) -> SearchQuery {
        SearchQuery { all, split: None }
    }

    /// All of the phrases. Words that are on more than half of the pages are common, unless all are.
    fn of(db: &Connection, phrases: &[String]) -> Result<SearchQuery> {
        let (mut common, mut others) = (Vec::new(), Vec::new());
        for phrase in phrases {
            let is_common = text_index::is_common(db, "readers.", phrase)?;
            if is_common { &mut common } else { &mut others }.push(phrase.as_str());
        }
        let is_split = !common.is_empty() && !others.is_empty();
        let split = is_split.then(|| (others.join(" AND "), common.join(" AND ")));
        Ok(SearchQuery { all: phrases.join(" AND "), split })
    }
}

/// A word or phrase in the syntax of FTS5, in which everything between quotes is text; `None` if there is nothing to find.
fn quoted(word: &str) -> Option<String> {
    let word: String = word.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let has_text = word.contains(char::is_alphanumeric);
    has_text.then(|| format!("\"{}\"", spaced(&word).replace('"', "\"\"")))
}

/// The best pages for a query.
fn found(db: &Connection, request: &SearchRequest, query: &SearchQuery) -> Result<Vec<FoundPage>> {
    let (telling, common) = match &query.split {
        Some((others, common)) => (others, Some(common.as_str())),
        None => (&query.all, None),
    };
    let text = format!("bm25(page_text, {TITLE:.1}, 1.0)");
    let by_text = candidates(db, request, telling, ("page_text", &text))?;
    let has_more = by_text.len() >= CANDIDATES.max(request.limit);
    let mut words: BTreeMap<i64, WordMatch> = BTreeMap::new();
    for (row, score) in by_text {
        words.entry(row).or_default().text = score;
    }
    for (row, score) in candidates(db, request, &query.all, ("page_anchor", "bm25(page_anchor)"))? {
        words.entry(row).or_default().anchors = ANCHORS * score;
    }
    let mut pages = best(db, words, common, request.limit)?;
    if common.is_some() && pages.len() < request.limit && has_more {
        // Too many pages have the other words without the common ones.
        return found(db, request, &SearchQuery::plain(query.all.clone()));
    }
    for (row, page) in &mut pages {
        // The words that tell most, not those that are everywhere.
        page.snippet = snippet(db, *row, telling)?;
    }
    Ok(pages.into_iter().map(|(_, page)| page).collect())
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

/// The pages with the best scores. They are read in the order of the scores of their words, until no other can be among
/// them even with the highest relevance and authority. A text without the common words does not match.
fn best(
    db: &Connection,
    words: BTreeMap<i64, WordMatch>,
    common: Option<&str>,
    limit: usize,
) -> Result<Vec<(i64, FoundPage)>> {
    const MOST: f64 = 1.0 + RELEVANCE + AUTHORITY;
    let highest: f64 =
        db.query_row("select max(score) from auth", [], |row| row.get::<_, Option<f64>>(0))?.unwrap_or(0.0);
    let mut has_common =
        db.prepare_cached("select 1 from readers.page_text where page_text match ?1 and rowid = ?2")?;
    let mut ordered: Vec<(i64, WordMatch)> = words.into_iter().collect();
    ordered.sort_by(|a, b| b.1.score().total_cmp(&a.1.score()).then(a.0.cmp(&b.0)));
    let mut pages: Vec<(i64, FoundPage)> = Vec::new();
    for (row, mut matched) in ordered {
        let last = if pages.len() == limit { pages.last().map(|(_, last)| last.score) } else { None };
        let is_beaten = |score: f64| last.is_some_and(|last| score < last);
        if is_beaten(matched.score() * MOST) {
            break;
        }
        let Some(mut page) = page(db, row, matched.score(), highest)? else { continue };
        if is_beaten(page.score) {
            continue;
        }
        if let Some(common) = common.filter(|_| matched.text > 0.0)
            && !has_common.exists(rusqlite::params![common, row])?
        {
            page.score *= matched.anchors / matched.score();
            matched.text = 0.0;
        }
        if matched.score() <= 0.0 {
            continue;
        }
        let order = |other: &(i64, FoundPage)| page.score.total_cmp(&other.1.score).then(other.0.cmp(&row));
        let place = pages.partition_point(|other| order(other).is_lt());
        pages.insert(place, (row, page));
        pages.truncate(limit);
    }
    Ok(pages)
}

/// The best rows of one table of the index that the filters let through, with positive scores.
fn candidates(
    db: &Connection,
    request: &SearchRequest,
    query: &str,
    (table, rank): (&str, &str),
) -> Result<Vec<(i64, f64)>> {
    let mut values = vec![Value::Text(query.to_owned())];
    let mut filters = String::new();
    let mut filter = |sql: &str, more: Vec<Value>| {
        filters.push_str(" and ");
        filters.push_str(sql);
        values.extend(more);
    };
    if request.min_relevance > 0.0 {
        filter("crawl.kcid is not null and crawl.relevance >= ?", vec![request.min_relevance.into()]);
    }
    if !request.topics.is_empty() {
        let marks = vec!["?"; request.topics.len()].join(", ");
        let topics = request.topics.iter().map(|topic| i64::from(topic.0).into()).collect();
        filter(&format!("crawl.kcid in ({marks})"), topics);
    }
    if let Some(site) = &request.site {
        let mut read = db.prepare_cached(SITES_BELOW)?;
        let names = names_below(&site.to_ascii_lowercase());
        let sites = read.query_map(names, |row| row.get::<_, i64>(0).map(|site| site.to_string()))?;
        let sites = sites.collect::<rusqlite::Result<Vec<String>>>()?;
        // One parameter: there may be more sites than parameters.
        let list = format!("[{}]", sites.join(","));
        filter("crawl.sid in (select value from json_each(?))", vec![list.into()]);
    }
    if let Some(language) = &request.language {
        filter("crawl.language = ?", vec![language.to_ascii_lowercase().into()]);
    }
    let join = if filters.is_empty() { "" } else { "cross join crawl on crawl.rowid = found.rowid" };
    let limit = CANDIDATES.max(request.limit);
    let sql = format!(
        "select found.rowid, -found.score from
             (select rowid, {rank} as score from readers.{table} where {table} match ?) as found {join}
         where 1{filters} order by found.score limit {limit}"
    );
    let mut read = db.prepare(&sql)?;
    let rows = read.query_map(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A page by its row, with the score of its words.
fn page(db: &Connection, row: i64, words: f64, highest: f64) -> Result<Option<FoundPage>> {
    let mut read = db.prepare_cached(
        "select url, title, relevance, kcid, language,
                coalesce((select score from auth where auth.oid = crawl.oid), 0.0)
         from crawl where rowid = ?1",
    )?;
    let found = read.query_row([row], |row| {
        let topic: Option<u16> = row.get(3)?;
        let relevance = if topic.is_some() { row.get::<_, f64>(2)? } else { 0.0 };
        let authority: f64 = if highest > 0.0 { row.get::<_, f64>(5)? / highest } else { 0.0 };
        let score = words * (1.0 + RELEVANCE * relevance + AUTHORITY * authority.max(0.0).sqrt());
        Ok(FoundPage {
            url: row.get(0)?,
            title: row.get::<_, Option<String>>(1)?.unwrap_or_default(),
            snippet: String::new(),
            score,
            relevance,
            topic: topic.map(TopicId),
            authority,
            language: row.get::<_, Option<String>>(4)?.unwrap_or_default(),
        })
    });
    Ok(found.optional()?)
}

/// The part of a page's text with most words of a query; its beginning if the words are only in anchor texts.
fn snippet(db: &Connection, row: i64, query: &str) -> Result<String> {
    let mut read = db.prepare_cached(
        "select snippet(page_text, 1, ?3, ?4, '…', ?5) from readers.page_text where page_text match ?1 and rowid = ?2",
    )?;
    let marks = (MARK_START.to_string(), MARK_END.to_string());
    let found: Option<String> = read
        .query_row(rusqlite::params![query, row, marks.0, marks.1, SNIPPET_WORDS], |row| row.get(0))
        .optional()?;
    let text = match found {
        Some(found) => found,
        None => {
            let sql = "select substr(body, 1, 240) from readers.page_text where rowid = ?1";
            db.query_row(sql, [row], |row| row.get(0)).optional()?.unwrap_or_default()
        }
    };
    Ok(text.chars().filter(|&c| c != SEPARATOR).collect())
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
