//! The full-text index by FTS5, in the readers' database.

use rusqlite::{Connection as SqliteConnection, OptionalExtension, params, params_from_iter};

use crate::Result;
use crate::search::{MARK_END, MARK_START};
use crate::sql::{Connection, Transaction, Value};
use crate::tables::full_text::{
    FullText, IndexTable, IndexedText, SearchFilter, SearchQuery, TITLE, TOKENIZE,
};

/// Words of a snippet.
const SNIPPET_WORDS: i64 = 32;
/// Characters of a text without words of the query that are shown.
pub(crate) const BEGINNING: usize = 240;

/// The tables of an index in a schema, with its dot, or in the main one.
#[derive(Debug)]
pub(crate) struct Fts5 {
    pub(crate) schema: &'static str,
}

/// `common_word` is an FTS5 table so that a word is found by its stem.
fn tables() -> String {
    format!(
        "create virtual table if not exists page_text using fts5(title, body, {TOKENIZE});
         create virtual table if not exists page_anchor using fts5(anchors, content = '', contentless_delete = 1, {TOKENIZE});
         create table if not exists text_page(row integer primary key, seq integer not null, has_text integer not null);
         create table if not exists anchor(row integer, text text, links integer not null, primary key (row, text)) without rowid;
         create table if not exists text_cursor(name text primary key, position integer not null, mark integer not null);
         create table if not exists text_count(name text primary key, number integer not null);
         create virtual table if not exists common_word using fts5(word, {TOKENIZE});"
    )
}

impl FullText for Fts5 {
    fn schema(&self) -> &'static str {
        self.schema
    }

    fn create(&self, tx: &Transaction<'_>) -> Result<()> {
        tx.execute_batch(&tables())
    }

    fn clear(&self, tx: &Transaction<'_>) -> Result<()> {
        tx.execute_batch(
            "delete from page_text; insert into page_anchor(page_anchor) values ('delete-all');
             delete from common_word;",
        )
    }

    fn has_counts(&self, index: &Connection) -> Result<bool> {
        let sql = format!("select 1 from {}sqlite_schema where name = 'common_word'", self.schema);
        index.prepare(&sql)?.exists(())
    }

    fn replace_pages(&self, tx: &Transaction<'_>, removed: &[i64], pages: &[IndexedText]) -> Result<()> {
        let mut remove = tx.prepare("delete from page_text where rowid = ?1")?;
        for row in removed {
            remove.execute([*row])?;
        }
        let mut insert = tx.prepare("insert into page_text(rowid, title, body) values (?1, ?2, ?3)")?;
        for page in pages {
            insert.execute(crate::sql::params![page.row, page.title, page.body])?;
        }
        Ok(())
    }

    fn replace_anchors(
        &self,
        tx: &Transaction<'_>,
        removed: &[i64],
        anchors: &[(i64, String)],
    ) -> Result<()> {
        let mut remove = tx.prepare("delete from page_anchor where rowid = ?1")?;
        for row in removed {
            remove.execute([*row])?;
        }
        let mut insert = tx.prepare("insert into page_anchor(rowid, anchors) values (?1, ?2)")?;
        for (row, texts) in anchors {
            insert.execute(crate::sql::params![*row, texts])?;
        }
        Ok(())
    }

    fn find_common_words(&self, index: &Connection, pages: i64) -> Result<()> {
        index.execute_batch(
            "create virtual table if not exists temp.vocabulary using fts5vocab('main', 'page_text', 'row')",
        )?;
        let tx = index.index_transaction()?;
        tx.execute("delete from common_word", ())?;
        tx.execute(
            "insert into common_word(word) select term from temp.vocabulary where doc > ?1 / 2",
            [pages],
        )?;
        tx.commit()
    }

    fn is_common(&self, index: &Connection, phrase: &str) -> Result<bool> {
        let sql = format!("select 1 from {}common_word where common_word match ?1", self.schema);
        index.prepare(&sql)?.exists([phrase])
    }

    fn candidates(
        &self,
        index: &Connection,
        table: IndexTable,
        query: &SearchQuery<'_>,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<(i64, f64)>> {
        let rank = match table {
            IndexTable::Page => format!("bm25(page_text, {TITLE:.1}, 1.0)"),
            IndexTable::Anchors => "bm25(page_anchor)".to_owned(),
        };
        let join = if filter.sql.is_empty() { "" } else { "cross join crawl on crawl.rowid = found.rowid" };
        let sql = format!(
            "select found.rowid, -found.score from
                 (select rowid, {rank} as score from {schema}{table} where {table} match ?1) as found {join}
             where 1{filter} order by found.score limit {limit}",
            schema = self.schema,
            table = table.name(),
            filter = filter.sql,
        );
        let Some(db) = index.sqlite() else { return Ok(Vec::new()) };
        let query = Value::Text(query.fts5().into());
        let values = std::iter::once(&query).chain(&filter.values);
        // Not in the cache: there are many different ones.
        let mut read = db.prepare(&sql)?;
        let rows = read.query_map(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn has_all(&self, index: &Connection, row: i64, phrases: &[&str]) -> Result<bool> {
        let sql = format!("select 1 from {}page_text where page_text match ?1 and rowid = ?2", self.schema);
        index.prepare(&sql)?.exists(crate::sql::params![phrases.join(" AND "), row])
    }

    fn snippet(&self, index: &Connection, row: i64, query: &SearchQuery<'_>) -> Result<String> {
        let Some(db) = index.sqlite() else { return Ok(String::new()) };
        if let Some(found) = marked(db, self.schema, row, query)? {
            return Ok(found);
        }
        let sql =
            format!("select substr(body, 1, {BEGINNING}) from {}page_text where rowid = ?1", self.schema);
        Ok(db.prepare_cached(&sql)?.query_row([row], |row| row.get(0)).optional()?.unwrap_or_default())
    }
}

/// The part of a page's text with most words of a query; `None` if it does not match.
pub(crate) fn marked(
    db: &SqliteConnection,
    schema: &str,
    row: i64,
    query: &SearchQuery<'_>,
) -> Result<Option<String>> {
    let mut read = db.prepare_cached(&format!(
        "select snippet(page_text, 1, ?3, ?4, '…', ?5) from {schema}page_text where page_text match ?1 and rowid = ?2"
    ))?;
    let marks = (MARK_START.to_string(), MARK_END.to_string());
    let values = params![query.fts5(), row, marks.0, marks.1, SNIPPET_WORDS];
    Ok(read.query_row(values, |row| row.get(0)).optional()?)
}
