//! The full-text index of the crawled pages, in the readers' database.
//!
//! `page_text` has titles and main texts, `page_anchor` the anchor texts of the links to a page; the rowids of both are
//! rows of `crawl`. They are filled behind the crawl, in batches: each is one transaction that also moves the cursor, so
//! that a process that is killed loses one batch. Words are folded to lower case without diacritics and to their English
//! stems. Each character of Chinese, Japanese and Korean is a word, see [`spaced`].

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use porthole_types::SegmentSpan;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::lookup::readers_path;
use super::open;
use crate::search::{IndexBatch, IndexState, PageToIndex};
use crate::{Error, Result};

/// Most different anchor texts of a page that are indexed.
const MOST_ANCHORS: i64 = 40;
/// How long to wait for another process that writes the index.
const BUSY: Duration = Duration::from_secs(60);

/// The common words are found again when the number of pages has grown by this share.
const GROWTH: f64 = 0.25;

/// `anchor` has every anchor text once for each target with the number of links; it is what `page_anchor` is made from.
/// `text_page` has the indexed pages. `text_cursor` has the last row of `fetch` (`pages`) and `edge` (`anchors`) that was
/// read, with a value that tells whether it still is that row. `text_count` has the number of `text_page`'s rows, of those
/// without a text, and of the rows when `common_word` was filled: the words that are on more than half of the pages. Its
/// rows are stems, and it is an FTS5 table so that a word is found by its stem.
const SCHEMA: &str = "
    create virtual table if not exists page_text using fts5(title, body, tokenize = 'porter unicode61 remove_diacritics 2');
    create virtual table if not exists page_anchor using fts5(anchors, content = '', contentless_delete = 1,
        tokenize = 'porter unicode61 remove_diacritics 2');
    create table if not exists text_page(row integer primary key, seq integer not null, has_text integer not null);
    create table if not exists anchor(row integer, text text, links integer not null, primary key (row, text)) without rowid;
    create table if not exists text_cursor(name text primary key, position integer not null, mark integer not null);
    create table if not exists text_count(name text primary key, number integer not null);
    create virtual table if not exists common_word using fts5(word, tokenize = 'porter unicode61 remove_diacritics 2');";

/// Fills the full-text index of a crawl.
#[derive(Debug)]
pub struct TextIndex {
    db: Connection,
    index: Connection,
}

impl TextIndex {
    /// Maximum size of the text of a page that is indexed, in bytes.
    pub const MAX_TEXT: usize = 256 << 10;
    /// Maximum number of links whose anchor texts are added at a time.
    pub const LINKS: u64 = 100_000;

    /// Opens the index beside the database of a crawl, creating it if necessary. The crawl may be running.
    pub fn open(database: impl AsRef<Path>) -> Result<TextIndex> {
        let db = open::reader(database.as_ref())?;
        let path = readers_path(database.as_ref());
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut index = Connection::open_with_flags(&path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(|error| Error::at_open(&path, &error))?;
        index.busy_timeout(BUSY)?;
        index.pragma_update(None, "journal_mode", "wal")?;
        index.pragma_update(None, "synchronous", "normal")?;
        index.pragma_update(None, "cache_size", -32_000)?;
        let tx = index.transaction_with_behavior(TransactionBehavior::Immediate)?;
        tx.execute_batch(SCHEMA)?;
        if !belongs(&db, &tx)? {
            tx.execute_batch(
                "delete from page_text; insert into page_anchor(page_anchor) values ('delete-all');
                 delete from text_page; delete from anchor; delete from text_cursor;
                 delete from text_count; delete from common_word;",
            )?;
        }
        if number(&tx, "", PAGES)?.is_none() {
            count_pages(&tx)?;
        }
        tx.commit()?;
        Ok(TextIndex { db, index })
    }

    /// How far the index is.
    pub fn state(&self) -> Result<IndexState> {
        state(&self.db, &self.index, "")
    }

    /// The next pages that are to be indexed; at most `limit` fetches are looked at. `None` at the end.
    pub fn next_pages(&self, limit: usize) -> Result<Option<IndexBatch>> {
        let after = cursor(&self.index, "", "pages")?.map_or(-1, |(position, _)| position);
        let mut read = self.db.prepare_cached(
            "select fetch.seq, crawl.rowid, url, title, segment, \"offset\", length,
                    -- Later visits that brought no page have other numbers and may have failed.
                    crawl.terms = fetch.seq or (crawl.terms is null and crawl.seq = fetch.seq
                                                and failure is null and status between 200 and 299),
                    state <= 1 and copy_of is null,
                    crawl.terms < fetch.seq and state = 1
             from fetch cross join crawl on crawl.rowid = fetch.row
             where fetch.seq > ?1 order by fetch.seq limit ?2",
        )?;
        let mut rows = read.query(params![after, i64::try_from(limit).unwrap_or(i64::MAX)])?;
        let mut batch = IndexBatch { after: after.cast_unsigned(), ..IndexBatch::default() };
        let mut is_indexed = self.index.prepare_cached("select 1 from text_page where row = ?1")?;
        let mut is_empty = true;
        while let Some(row) = rows.next()? {
            is_empty = false;
            batch.until = row.get::<_, i64>(0)?.cast_unsigned();
            let is = |column| -> Result<bool> { Ok(row.get::<_, Option<bool>>(column)?.unwrap_or(false)) };
            let number: i64 = row.get(1)?;
            if !is(8)? {
                batch.removed.push(number);
            // A page that was gone, and is there again unchanged, has been removed from the index.
            } else if is(7)? || (is(9)? && !is_indexed.exists([number])?) {
                batch.pages.push(page_to_index(row)?);
            }
        }
        Ok((!is_empty).then_some(batch))
    }

    /// Adds the pages of a batch with their main texts, in the same order; `None` for a page that is not in the archive.
    /// Does nothing if another process was faster.
    pub fn add_pages(&mut self, batch: &IndexBatch, texts: &[Option<String>]) -> Result<()> {
        let until = batch.until.cast_signed();
        let mark = fetch_mark(&self.db, until)?.unwrap_or(0);
        let tx = self.index.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let after = cursor(&tx, "", "pages")?.map_or(-1, |(position, _)| position);
        if after != batch.after.cast_signed() {
            return Ok(());
        }
        for row in &batch.removed {
            remove_page(&tx, *row)?;
        }
        for (page, text) in batch.pages.iter().zip(texts) {
            add_page(&tx, page, text.as_deref())?;
            add_anchors_of(&tx, page.row)?;
        }
        set_cursor(&tx, "pages", until, mark)?;
        Ok(tx.commit()?)
    }

    /// Finds the words that are on more than half of the pages, if there are many more pages than at the last time. To be
    /// called after pages were added.
    pub fn find_common_words(&mut self) -> Result<()> {
        let pages = number(&self.index, "", PAGES)?.unwrap_or(0);
        let before = number(&self.index, "", COMMON_OF)?.unwrap_or(0);
        if pages as f64 <= before as f64 * (1.0 + GROWTH) {
            return Ok(());
        }
        let sql =
            "create virtual table if not exists temp.vocabulary using fts5vocab('main', 'page_text', 'row')";
        self.index.execute_batch(sql)?;
        let tx = self.index.transaction_with_behavior(TransactionBehavior::Immediate)?;
        tx.execute("delete from common_word", [])?;
        tx.execute(
            "insert into common_word(word) select term from temp.vocabulary where doc > ?1 / 2",
            [pages],
        )?;
        set_number(&tx, COMMON_OF, pages)?;
        Ok(tx.commit()?)
    }

    /// Adds the anchor texts of the next links. Returns the number of links that were read: 0 at the end.
    pub fn add_anchors(&mut self) -> Result<u64> {
        let after = cursor(&self.index, "", "anchors")?.map_or(0, |(position, _)| position);
        let last: Option<i64> = self.db.query_row("select max(rowid) from edge", [], |row| row.get(0))?;
        let until = last.unwrap_or(0).min(after + TextIndex::LINKS.cast_signed());
        if until <= after {
            return Ok(0);
        }
        let mark = edge_mark(&self.db, until)?.unwrap_or(0);
        let mut read = self.db.prepare_cached(
            "select dst, anchor, count(*) from edge
             where rowid > ?1 and rowid <= ?2 and anchor is not null and dst <> src group by dst, anchor",
        )?;
        let mut rows = read.query([after, until])?;
        let tx = self.index.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if cursor(&tx, "", "anchors")?.map_or(0, |(position, _)| position) != after {
            return Ok(1);
        }
        let mut targets = BTreeSet::new();
        {
            let mut insert = tx.prepare_cached(
                "insert into anchor(row, text, links) values (?1, ?2, ?3)
                 on conflict(row, text) do update set links = links + excluded.links",
            )?;
            while let Some(row) = rows.next()? {
                let target: i64 = row.get(0)?;
                insert.execute(params![target, row.get::<_, String>(1)?.trim(), row.get::<_, i64>(2)?])?;
                targets.insert(target);
            }
        }
        let mut is_indexed = tx.prepare_cached("select 1 from text_page where row = ?1")?;
        for target in targets {
            if is_indexed.exists([target])? {
                add_anchors_of(&tx, target)?;
            }
        }
        drop(is_indexed);
        set_cursor(&tx, "anchors", until, mark)?;
        tx.commit()?;
        Ok((until - after).cast_unsigned())
    }
}

/// How far the index in a schema is.
pub(crate) fn state(db: &Connection, index: &Connection, schema: &str) -> Result<IndexState> {
    let single = |db: &Connection, sql: &str| -> Result<u64> {
        Ok(db.query_row(sql, [], |row| row.get::<_, i64>(0))?.cast_unsigned())
    };
    // An index that an earlier version made has no counts until it is filled again.
    let counted = |name: &str, filter: &str| -> Result<u64> {
        match has_counts(index, schema)?.then(|| number(index, schema, name)).transpose()?.flatten() {
            Some(number) => Ok(number.cast_unsigned()),
            None => single(index, &format!("select count(*) from {schema}text_page{filter}")),
        }
    };
    let position =
        |name: &str| -> Result<Option<i64>> { Ok(cursor(index, schema, name)?.map(|found| found.0)) };
    let (pages, links) = (position("pages")?.unwrap_or(-1), position("anchors")?.unwrap_or(0));
    Ok(IndexState {
        indexed: counted(PAGES, "")?,
        without_text: counted(WITHOUT_TEXT, " where not has_text")?,
        behind: single(db, &format!("select count(*) from fetch where seq > {pages}"))?,
        links_behind: single(db, &format!("select coalesce(max(rowid), 0) - {links} from edge"))?,
    })
}

/// Whether a word is on more than half of the pages, or was when these words were found last.
pub(crate) fn is_common(index: &Connection, schema: &str, phrase: &str) -> Result<bool> {
    let sql = format!("select 1 from {schema}common_word where common_word match ?1");
    Ok(has_counts(index, schema)? && index.prepare_cached(&sql)?.exists([phrase])?)
}

/// Rows of `text_count`.
const PAGES: &str = "pages";
const WITHOUT_TEXT: &str = "without_text";
const COMMON_OF: &str = "common_of";

/// Whether the index has the tables with counts and common words.
fn has_counts(index: &Connection, schema: &str) -> Result<bool> {
    let sql = format!("select 1 from {schema}sqlite_schema where name = 'common_word'");
    Ok(index.prepare_cached(&sql)?.exists([])?)
}

fn number(index: &Connection, schema: &str, name: &str) -> Result<Option<i64>> {
    let sql = format!("select number from {schema}text_count where name = ?1");
    Ok(index.prepare_cached(&sql)?.query_row([name], |row| row.get(0)).optional()?)
}

fn set_number(tx: &Transaction<'_>, name: &str, number: i64) -> Result<()> {
    let sql = "insert or replace into text_count(name, number) values (?1, ?2)";
    tx.prepare_cached(sql)?.execute(params![name, number])?;
    Ok(())
}

fn count_pages(tx: &Transaction<'_>) -> Result<()> {
    for (name, filter) in [(PAGES, ""), (WITHOUT_TEXT, " where not has_text")] {
        let sql = format!("select count(*) from text_page{filter}");
        set_number(tx, name, tx.query_row(&sql, [], |row| row.get(0))?)?;
    }
    Ok(())
}

fn change_number(tx: &Transaction<'_>, name: &str, by: i64) -> Result<()> {
    if by != 0 {
        let sql = "update text_count set number = number + ?2 where name = ?1";
        tx.prepare_cached(sql)?.execute(params![name, by])?;
    }
    Ok(())
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

fn page_to_index(row: &Row<'_>) -> rusqlite::Result<PageToIndex> {
    let span = match (row.get(4)?, row.get::<_, Option<i64>>(5)?, row.get(6)?) {
        (Some(segment), Some(offset), Some(length)) => {
            Some(SegmentSpan { segment, offset: offset.cast_unsigned(), length })
        }
        _ => None,
    };
    Ok(PageToIndex {
        seq: row.get::<_, i64>(0)?.cast_unsigned(),
        row: row.get(1)?,
        url: row.get(2)?,
        title: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
        span,
    })
}

fn add_page(tx: &Transaction<'_>, page: &PageToIndex, text: Option<&str>) -> Result<()> {
    let title: String = page.title.chars().filter(|c| !c.is_control()).collect();
    let body = text.unwrap_or_default();
    // In one line, as rows of tables show it.
    let body = body[..body.floor_char_boundary(TextIndex::MAX_TEXT)].replace('\n', " ");
    tx.prepare_cached("delete from page_text where rowid = ?1")?.execute([page.row])?;
    tx.prepare_cached("insert into page_text(rowid, title, body) values (?1, ?2, ?3)")?.execute(params![
        page.row,
        spaced(&title),
        spaced(&body)
    ])?;
    let had_text: Option<bool> = tx
        .prepare_cached("select has_text from text_page where row = ?1")?
        .query_row([page.row], |row| row.get(0))
        .optional()?;
    tx.prepare_cached("insert or replace into text_page(row, seq, has_text) values (?1, ?2, ?3)")?
        .execute(params![page.row, page.seq.cast_signed(), text.is_some()])?;
    change_number(tx, PAGES, i64::from(had_text.is_none()))?;
    change_number(tx, WITHOUT_TEXT, i64::from(text.is_none()) - i64::from(had_text == Some(false)))
}

/// Removes a page, if it is there. The anchor texts of links to it stay in `anchor`.
fn remove_page(tx: &Transaction<'_>, row: i64) -> Result<()> {
    let had_text: Option<bool> = tx
        .prepare_cached("delete from text_page where row = ?1 returning has_text")?
        .query_row([row], |row| row.get(0))
        .optional()?;
    let Some(had_text) = had_text else { return Ok(()) };
    tx.prepare_cached("delete from page_text where rowid = ?1")?.execute([row])?;
    tx.prepare_cached("delete from page_anchor where rowid = ?1")?.execute([row])?;
    change_number(tx, PAGES, -1)?;
    change_number(tx, WITHOUT_TEXT, -i64::from(!had_text))
}

/// Indexes the anchor texts of the links to a page, the frequent ones several times.
fn add_anchors_of(tx: &Transaction<'_>, target: i64) -> Result<()> {
    let mut read =
        tx.prepare_cached("select text, links from anchor where row = ?1 order by links desc limit ?2")?;
    let mut rows = read.query([target, MOST_ANCHORS])?;
    let mut anchors = String::new();
    while let Some(row) = rows.next()? {
        let (text, links) = (row.get::<_, String>(0)?, row.get::<_, i64>(1)?);
        for _ in 0..=links.max(1).ilog2().min(5) {
            // The full stop keeps phrases from spanning two anchor texts only for readers; a word in between would count.
            anchors.push_str(&spaced(&text));
            anchors.push_str(" . ");
        }
    }
    tx.prepare_cached("delete from page_anchor where rowid = ?1")?.execute([target])?;
    if !anchors.is_empty() {
        tx.prepare_cached("insert into page_anchor(rowid, anchors) values (?1, ?2)")?
            .execute(params![target, anchors])?;
    }
    Ok(())
}

/// A cursor's position and mark.
fn cursor(index: &Connection, schema: &str, name: &str) -> Result<Option<(i64, i64)>> {
    let sql = format!("select position, mark from {schema}text_cursor where name = ?1");
    Ok(index.query_row(&sql, [name], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

fn set_cursor(tx: &Transaction<'_>, name: &str, position: i64, mark: i64) -> Result<()> {
    tx.execute(
        "insert or replace into text_cursor(name, position, mark) values (?1, ?2, ?3)",
        params![name, position, mark],
    )?;
    Ok(())
}

/// Whether the index is of this crawl: the rows at its cursors still have their marks.
fn belongs(db: &Connection, index: &Connection) -> Result<bool> {
    let pages = cursor(index, "", "pages")?;
    let anchors = cursor(index, "", "anchors")?;
    Ok(match pages {
        Some((seq, mark)) => fetch_mark(db, seq)? == Some(mark),
        None => true,
    } && match anchors {
        Some((row, mark)) => edge_mark(db, row)? == Some(mark),
        None => true,
    })
}

fn fetch_mark(db: &Connection, seq: i64) -> Result<Option<i64>> {
    let sql = "select crawl.oid from fetch join crawl on crawl.rowid = fetch.row where fetch.seq = ?1";
    Ok(db.query_row(sql, [seq], |row| row.get(0)).optional()?)
}

fn edge_mark(db: &Connection, row: i64) -> Result<Option<i64>> {
    Ok(db.query_row("select discovered from edge where rowid = ?1", [row], |row| row.get(0)).optional()?)
}
