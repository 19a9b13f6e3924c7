//! The full-text index by `tsvector`, beside the tables of the crawl.
//!
//! PostgreSQL finds the pages with the words by a GIN index. Which words a text has is decided by FTS5 of a database in
//! memory, and so is which part of a text is shown, so that both engines find the same pages. The score is the BM25 of
//! FTS5: `ts_rank_cd` of a word or phrase is the number of its occurrences, each with its weight. A word has at most 255
//! places in a `tsvector`, and none behind the 16,383rd word of a page: there it is found, and phrases are not.

use rusqlite::Connection as SqliteConnection;

use crate::Result;
use crate::sql::{Connection, Optional, Statement, Transaction, Value, params};
use crate::sqlite::{BEGINNING, marked};
use crate::tables::full_text::{
    FullText, IndexTable, IndexedText, SearchFilter, SearchQuery, TITLE, TOKENIZE,
};
use crate::tables::{change_number, number};

/// Pages among which the common words are found.
const SAMPLE: f64 = 5_000.0;
/// Lexemes of PostgreSQL are not longer.
const LONGEST_WORD: usize = 2_046;
/// Places of PostgreSQL end here.
const LAST_PLACE: i64 = 16_383;

/// Rows of `text_count`: number of rows and of words of each table.
fn count_names(table: IndexTable) -> [&'static str; 2] {
    match table {
        IndexTable::Page => ["texts", "text_words"],
        IndexTable::Anchors => ["anchors", "anchor_words"],
    }
}

/// Whether anything was indexed.
pub(crate) fn has_text_index(db: &Connection) -> Result<bool> {
    db.query_row("select count(*) > 0 from text_cursor", (), |row| row.get(0))
}

/// The index in the tables of a database.
#[derive(Debug)]
pub(crate) struct TsVectorIndex {
    /// FTS5 in memory, for one text at a time: `page_text`, and `vocabulary` with the places of its words.
    memory: SqliteConnection,
}

/// A text in the form of PostgreSQL.
struct TextTerms {
    /// Number of its words.
    words: i64,
    /// The text form of a `tsvector`. Words of the title have weight A.
    vector: String,
}

impl TsVectorIndex {
    pub(crate) fn new() -> Result<TsVectorIndex> {
        let memory = SqliteConnection::open_in_memory()?;
        memory.execute_batch(&format!(
            "create virtual table page_text using fts5(title, body, {TOKENIZE});
             create virtual table vocabulary using fts5vocab(page_text, instance);"
        ))?;
        Ok(TsVectorIndex { memory })
    }

    /// Makes a text the one in memory.
    fn read(&self, title: &str, body: &str) -> Result<()> {
        self.memory.prepare_cached("delete from page_text")?.execute([])?;
        let sql = "insert into page_text(rowid, title, body) values (1, ?1, ?2)";
        self.memory.prepare_cached(sql)?.execute([title, body])?;
        Ok(())
    }

    fn terms(&self, title: &str, body: &str) -> Result<TextTerms> {
        self.read(title, body)?;
        let title_words: i64 = self
            .memory
            .prepare_cached("select count(*) from vocabulary where col = 'title'")?
            .query_row([], |row| row.get(0))?;
        let mut read = self.memory.prepare_cached("select term, col, \"offset\" from vocabulary")?;
        let mut rows = read.query([])?;
        let (mut words, mut vector) = (0, String::new());
        let mut last = String::new();
        while let Some(row) = rows.next()? {
            words += 1;
            let term = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
            if term.len() > LONGEST_WORD {
                continue;
            }
            let is_title = row.get_ref(1)?.as_str().is_ok_and(|column| column == "title");
            // A place stays free between title and text, so that no phrase spans both.
            let before = if is_title { 1 } else { title_words + 2 };
            let place = (row.get::<_, i64>(2)? + before).min(LAST_PLACE);
            if term == last {
                vector.push(',');
            } else {
                vector.push_str(&format!(" {}:", lexeme(term)));
                term.clone_into(&mut last);
            }
            vector.push_str(&format!("{place}{}", if is_title { "A" } else { "" }));
        }
        Ok(TextTerms { words, vector })
    }

    /// A phrase in the text form of a `tsquery`; `None` if it has no words. `quoted` has quotes, as in the syntax of FTS5.
    fn phrase(&self, quoted: &str) -> Result<Option<String>> {
        let words = self.words(quoted)?;
        let lexemes: Vec<String> = words.iter().map(|word| lexeme(word)).collect();
        Ok((!lexemes.is_empty()).then(|| format!("({})", lexemes.join(" <-> "))))
    }

    fn words(&self, quoted: &str) -> Result<Vec<String>> {
        self.read("", &quoted.trim_matches('"').replace("\"\"", "\""))?;
        let mut read = self.memory.prepare_cached("select term from vocabulary order by \"offset\"")?;
        let words = read.query_map([], |row| row.get(0))?;
        Ok(words.collect::<rusqlite::Result<_>>()?)
    }

    /// A query in the text form of a `tsquery`, with its phrases; `None` if nothing can have them.
    fn query(&self, query: &SearchQuery<'_>) -> Result<Option<(String, Vec<String>)>> {
        let phrases = query.phrases.iter().map(|phrase| self.phrase(phrase)).collect::<Result<Vec<_>>>()?;
        let is_impossible = !query.is_any && phrases.iter().any(Option::is_none);
        let phrases: Vec<String> = phrases.into_iter().flatten().collect();
        if is_impossible || phrases.is_empty() {
            return Ok(None);
        }
        Ok(Some((phrases.join(if query.is_any { " | " } else { " & " }), phrases)))
    }
}

/// A word as a constant of a `tsvector` or `tsquery`.
fn lexeme(word: &str) -> String {
    format!("'{}'", word.replace('\\', "\\\\").replace('\'', "''"))
}

impl FullText for TsVectorIndex {
    fn schema(&self) -> &'static str {
        ""
    }

    fn create(&self, _: &Transaction<'_>) -> Result<()> {
        // They are tables of the database.
        Ok(())
    }

    fn clear(&self, tx: &Transaction<'_>) -> Result<()> {
        tx.execute_batch("delete from page_text; delete from page_anchor; delete from common_word")
    }

    fn has_counts(&self, _: &Connection) -> Result<bool> {
        Ok(true)
    }

    fn replace_pages(&self, tx: &Transaction<'_>, removed: &[i64], pages: &[IndexedText]) -> Result<()> {
        let mut change = remove(tx, IndexTable::Page, removed)?;
        let mut insert = tx.prepare(
            "insert into page_text(rowid, title, body, words, terms) values (?1, ?2, ?3, ?4, ?5::text::tsvector)",
        )?;
        for page in pages {
            let TextTerms { words, vector } = self.terms(&page.title, &page.body)?;
            insert.send(params![page.row, page.title, page.body, words, vector])?;
            change.add(words);
        }
        change.write(tx, IndexTable::Page)
    }

    fn replace_anchors(
        &self,
        tx: &Transaction<'_>,
        removed: &[i64],
        anchors: &[(i64, String)],
    ) -> Result<()> {
        let mut change = remove(tx, IndexTable::Anchors, removed)?;
        let mut insert =
            tx.prepare("insert into page_anchor(rowid, words, terms) values (?1, ?2, ?3::text::tsvector)")?;
        for (row, texts) in anchors {
            let TextTerms { words, vector } = self.terms("", texts)?;
            insert.send(params![*row, words, vector])?;
            change.add(words);
        }
        change.write(tx, IndexTable::Anchors)
    }

    /// They are found in a sample of the pages: a word that is on half of them has next to no weight anyway.
    fn find_common_words(&self, index: &Connection, pages: i64) -> Result<()> {
        let share = 100.0 * SAMPLE / (pages as f64).max(1.0);
        let sample = if share < 100.0 {
            format!("page_text tablesample system ({share:?}) repeatable (1)")
        } else {
            "page_text".to_owned()
        };
        let tx = index.index_transaction()?;
        tx.execute("delete from common_word", ())?;
        tx.execute(
            &format!(
                "insert into common_word(word) select word from ts_stat('select terms from {sample}')
                 where ndoc > (select count(*) from {sample}) / 2"
            ),
            (),
        )?;
        tx.commit()
    }

    fn is_common(&self, index: &Connection, phrase: &str) -> Result<bool> {
        let words = self.words(phrase)?;
        let [word] = &words[..] else { return Ok(false) };
        index.prepare("select 1 from common_word where word = ?1")?.exists([word])
    }

    fn candidates(
        &self,
        index: &Connection,
        table: IndexTable,
        query: &SearchQuery<'_>,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<(i64, f64)>> {
        let Some((query, phrases)) = self.query(query)? else { return Ok(Vec::new()) };
        let totals = TextTotals::read(index, table)?;
        let mut values = vec![Value::Text(query.into())];
        values.extend(filter.values.iter().cloned());
        let (mut counts, mut scores) = (Vec::new(), Vec::new());
        for (number, phrase) in phrases.iter().enumerate() {
            values.push(Value::Text(phrase.into()));
            counts.push(format!("{} as f{number}", occurrences(table, values.len())));
            scores.push(totals.score(&format!("f{number}"), totals.weight(index, table, phrase)?));
        }
        let join = if filter.sql.is_empty() { "" } else { "join crawl on crawl.rowid = found.rowid" };
        let sql = format!(
            "select found.rowid, ({scores}) as score from
                 (select rowid, words, {counts} from {table} where terms @@ ?1::text::tsquery offset 0) as found {join}
             where true{filter} order by score desc, found.rowid limit {limit}",
            scores = scores.join(" + "),
            counts = counts.join(", "),
            table = table.name(),
            filter = filter.sql,
        );
        index.prepare(&sql)?.query_map(&values[..], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    fn has_all(&self, index: &Connection, row: i64, phrases: &[&str]) -> Result<bool> {
        let query = SearchQuery { phrases: phrases.to_vec(), is_any: false };
        let Some((query, _)) = self.query(&query)? else { return Ok(false) };
        let sql = "select 1 from page_text where rowid = ?1 and terms @@ ?2::text::tsquery";
        index.prepare(sql)?.exists(params![row, query])
    }

    fn snippet(&self, index: &Connection, row: i64, query: &SearchQuery<'_>) -> Result<String> {
        let sql = "select title, body from page_text where rowid = ?1";
        let read = |row: &crate::sql::Row<'_>| Ok((row.get::<String>(0)?, row.get::<String>(1)?));
        let Some((title, body)) = index.query_row(sql, [row], read).optional()? else {
            return Ok(String::new());
        };
        self.read(&title, &body)?;
        let found = marked(&self.memory, "", 1, query)?;
        Ok(found.unwrap_or_else(|| body.chars().take(BEGINNING).collect()))
    }
}

/// The number of occurrences of a phrase, given as a parameter, in a text; those in a title count [`TITLE`] times.
fn occurrences(table: IndexTable, parameter: usize) -> String {
    let (weights, most) = match table {
        IndexTable::Page => (format!("{{{0:?}, 1, 1, 1}}", 1.0 / TITLE), TITLE),
        IndexTable::Anchors => ("{1, 1, 1, 1}".to_owned(), 1.0),
    };
    format!("round(({most:?}::float8 * ts_rank_cd('{weights}', terms, ?{parameter}::text::tsquery))::float8)")
}

/// What BM25 needs to know of all texts.
struct TextTotals {
    texts: f64,
    mean_words: f64,
}

impl TextTotals {
    fn read(index: &Connection, table: IndexTable) -> Result<TextTotals> {
        let [texts, words] = count_names(table);
        let count = |name| Ok::<f64, crate::Error>(number(index, "", name)?.unwrap_or(0) as f64);
        let (texts, words) = (count(texts)?, count(words)?);
        Ok(TextTotals { texts, mean_words: (words / texts.max(1.0)).max(1.0) })
    }

    /// The inverse document frequency of a phrase, as FTS5 computes it.
    fn weight(&self, index: &Connection, table: IndexTable, phrase: &str) -> Result<f64> {
        let sql = format!("select count(*) from {} where terms @@ ?1::text::tsquery", table.name());
        let found = index.query_row(&sql, [phrase], |row| row.get::<i64>(0))? as f64;
        Ok(((self.texts - found + 0.5) / (found + 0.5)).ln().max(1e-6))
    }

    /// A phrase's part of the BM25 of a text, with the constants of FTS5, in SQL.
    fn score(&self, occurrences: &str, weight: f64) -> String {
        let (k1, b) = (1.2, 0.75);
        format!(
            "{weight:?}::float8 * {occurrences} * {more:?}::float8 / ({occurrences} + {k1:?}::float8 * ({rest:?}::float8 + \
             {b:?}::float8 * words / {mean:?}::float8))",
            more = k1 + 1.0,
            rest = 1.0 - b,
            mean = self.mean_words,
        )
    }
}

/// Change of the number of texts and of their words.
#[derive(Default)]
struct TotalsChange {
    texts: i64,
    words: i64,
}

impl TotalsChange {
    fn add(&mut self, words: i64) {
        self.texts += 1;
        self.words += words;
    }

    fn write(self, tx: &Transaction<'_>, table: IndexTable) -> Result<()> {
        let [texts, words] = count_names(table);
        change_number(tx, texts, self.texts)?;
        change_number(tx, words, self.words)
    }
}

/// Removes texts.
fn remove(tx: &Transaction<'_>, table: IndexTable, rows: &[i64]) -> Result<TotalsChange> {
    let mut change = TotalsChange::default();
    if rows.is_empty() {
        return Ok(change);
    }
    let list: Vec<String> = rows.iter().map(i64::to_string).collect();
    let sql = format!("delete from {} where rowid in ({}) returning words", table.name(), list.join(", "));
    let mut statement: Statement<'_> = tx.prepare(&sql)?;
    for words in statement.query_map((), |row| row.get::<i64>(0))? {
        change.texts -= 1;
        change.words -= words;
    }
    Ok(change)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_phrases_in_the_form_of_postgresql() {
        let index = TsVectorIndex::new().unwrap();
        let terms = index.terms("Snowy owls", "The OWL hunts; hunting, Ärger\u{200b}東\u{200b}京").unwrap();
        assert_eq!(terms.words, 9);
        let vector = " 'arger':8 'hunt':6,7 'owl':2A,5 'snowi':1A 'the':4 '京':10 '東':9";
        assert_eq!(terms.vector, vector);
        assert_eq!(index.phrase("\"snowy owls\"").unwrap().unwrap(), "('snowi' <-> 'owl')");
        assert_eq!(
            index.phrase("\"a \"\"quoted\"\" word\"").unwrap().unwrap(),
            "('a' <-> 'quot' <-> 'word')"
        );
        assert_eq!(index.phrase("\"...\"").unwrap(), None);
        let none = SearchQuery { phrases: vec!["\"owl\"", "\"...\""], is_any: false };
        assert!(index.query(&none).unwrap().is_none());
        let some = SearchQuery { is_any: true, ..none };
        assert_eq!(index.query(&some).unwrap().unwrap().0, "('owl')");
        let long = index.terms("", &format!("{} owl", "x".repeat(3_000))).unwrap();
        assert_eq!((long.words, long.vector.as_str()), (2, " 'owl':3"));
    }
}
