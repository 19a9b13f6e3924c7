//! Fills the full-text index of the crawled pages: in SQLite in the readers' database, in PostgreSQL beside the tables of
//! the crawl.
//!
//! `page_text` has titles and main texts, `page_anchor` the anchor texts of the links to a page; the rowids of both are
//! rows of `crawl`. They are filled behind the crawl, in batches: each is one transaction that also moves the cursor, so
//! that a process that is killed loses one batch. Words are folded to lower case without diacritics and to their English
//! stems. Each character of Chinese, Japanese and Korean is a word, see [`spaced`].
//!
//! `anchor` has every anchor text once for each target with the number of links; it is what `page_anchor` is made from.
//! `text_page` has the indexed pages. `text_cursor` has the last row of `fetch` (`pages`) and `edge` (`anchors`) that was
//! read, with a value that tells whether it still is that row. `text_count` has the number of `text_page`'s rows, of those
//! without a text, and of the rows when `common_word` was filled: the words that are on more than half of the pages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use porthole_types::SegmentSpan;

use super::DatabaseLocation;
use super::full_text::{self, FullText, IndexedText, spaced};
use crate::search::{IndexBatch, IndexState, PageToIndex};
use crate::sql::{Connection, Optional, Row, Transaction, params};
use crate::{Result, postgres, sqlite};

/// Most different anchor texts of a page that are indexed.
const MOST_ANCHORS: usize = 40;
/// Rows that are asked for at a time.
const PORTION: usize = 1_000;

/// The common words are found again when the number of pages has grown by this share.
const GROWTH: f64 = 0.25;

/// Fills the full-text index of a crawl.
#[derive(Debug)]
pub struct TextIndex {
    db: Connection,
    index: Connection,
    full_text: Box<dyn FullText>,
}

impl TextIndex {
    /// Maximum size of the text of a page that is indexed, in bytes.
    pub const MAX_TEXT: usize = 256 << 10;
    /// Maximum number of links whose anchor texts are added at a time.
    pub const LINKS: u64 = 100_000;

    /// Opens the index of a SQLite database, creating it if necessary. The crawl may be running.
    pub fn open(database: impl AsRef<Path>) -> Result<TextIndex> {
        TextIndex::open_at(&database.as_ref().into())
    }

    /// Opens the index of a crawl, creating it if necessary. The crawl may be running.
    pub fn open_at(database: &DatabaseLocation) -> Result<TextIndex> {
        let db = database.reader()?;
        let index = match database {
            DatabaseLocation::File(path) => sqlite::text_index_writer(path).map(Connection::Sqlite)?,
            DatabaseLocation::Postgres(url) => postgres::workspace_writer(url)?,
        };
        let full_text = full_text::of_writer(&index)?;
        let tx = index.index_transaction()?;
        full_text.create(&tx)?;
        if !belongs(&db, &tx)? {
            full_text.clear(&tx)?;
            for table in ["text_page", "anchor", "text_cursor", "text_count"] {
                tx.execute(&format!("delete from {table}"), ())?;
            }
        }
        if number(&tx, "", PAGES)?.is_none() {
            count_pages(&tx)?;
        }
        tx.commit()?;
        Ok(TextIndex { db, index, full_text })
    }

    /// How far the index is.
    pub fn state(&self) -> Result<IndexState> {
        state(&self.db, &self.index, &*self.full_text)
    }

    /// The next pages that are to be indexed; at most `limit` fetches are looked at. `None` at the end.
    pub fn next_pages(&self, limit: usize) -> Result<Option<IndexBatch>> {
        let after = position(&self.index, "", "pages")?.unwrap_or(-1);
        let mut read = self.db.prepare(
            "select \"fetch\".seq, crawl.rowid, url, title, segment, \"offset\", length,
                    -- Later visits that brought no page have other numbers and may have failed.
                    crawl.terms = \"fetch\".seq or (crawl.terms is null and crawl.seq = \"fetch\".seq
                                                and failure is null and status between 200 and 299),
                    state <= 1 and copy_of is null,
                    crawl.terms < \"fetch\".seq and state = 1
             from \"fetch\" cross join crawl
             where crawl.rowid = \"fetch\".row and \"fetch\".seq > ?1 order by \"fetch\".seq limit ?2",
        )?;
        let mut rows = read.query(params![after, i64::try_from(limit).unwrap_or(i64::MAX)])?;
        let mut batch = IndexBatch { after: after.cast_unsigned(), ..IndexBatch::default() };
        let mut is_indexed = self.index.prepare("select 1 from text_page where row = ?1")?;
        let mut is_empty = true;
        let mut taken = BTreeSet::new();
        while let Some(row) = rows.next()? {
            is_empty = false;
            batch.until = row.get::<i64>(0)?.cast_unsigned();
            let is = |column| -> Result<bool> { Ok(row.get::<Option<bool>>(column)?.unwrap_or(false)) };
            let number: i64 = row.get(1)?;
            if !is(8)? {
                batch.removed.push(number);
            // A page that was gone, and is there again unchanged, has been removed from the index.
            } else if (is(7)? || (is(9)? && !is_indexed.exists([number])?)) && taken.insert(number) {
                batch.pages.push(page_to_index(&row)?);
            }
        }
        Ok((!is_empty).then_some(batch))
    }

    /// Adds the pages of a batch with their main texts, in the same order; `None` for a page that is not in the archive.
    /// Does nothing if another process was faster.
    pub fn add_pages(&mut self, batch: &IndexBatch, texts: &[Option<String>]) -> Result<()> {
        let until = batch.until.cast_signed();
        let mark = fetch_mark(&self.db, until)?.unwrap_or(0);
        let tx = self.index.index_transaction()?;
        if position(&tx, "", "pages")?.unwrap_or(-1) != batch.after.cast_signed() {
            return Ok(());
        }
        let added: Vec<i64> = batch.pages.iter().map(|page| page.row).collect();
        let gone = [&batch.removed[..], &added].concat();
        // What is indexed of them: their rows, and whether these have a text.
        let known = in_portions(&tx, &gone, "select row, has_text from text_page where row in", |row| {
            Ok((row.get::<i64>(0)?, row.get::<bool>(1)?))
        })?;
        let known: BTreeMap<i64, bool> = known.into_iter().collect();
        let indexed: Vec<i64> = known.keys().copied().collect();
        let pages: Vec<IndexedText> =
            batch.pages.iter().zip(texts).map(|(page, text)| indexed_text(page, text.as_deref())).collect();
        self.full_text.replace_pages(&tx, &indexed, &pages)?;
        self.full_text.replace_anchors(&tx, &indexed, &anchors_of(&tx, &added)?)?;
        write_pages(&tx, &indexed, &batch.pages, texts)?;
        let without_text = |has_text: &&bool| !**has_text;
        let missing = texts.iter().filter(|text| text.is_none()).count();
        change_number(&tx, PAGES, pages.len() as i64 - known.len() as i64)?;
        let change = missing as i64 - known.values().filter(without_text).count() as i64;
        change_number(&tx, WITHOUT_TEXT, change)?;
        set_cursor(&tx, "pages", until, mark)?;
        tx.commit()
    }

    /// Finds the words that are on more than half of the pages, if there are many more pages than at the last time. To be
    /// called after pages were added.
    pub fn find_common_words(&mut self) -> Result<()> {
        let pages = number(&self.index, "", PAGES)?.unwrap_or(0);
        let before = number(&self.index, "", COMMON_OF)?.unwrap_or(0);
        if pages as f64 <= before as f64 * (1.0 + GROWTH) {
            return Ok(());
        }
        self.full_text.find_common_words(&self.index, pages)?;
        let tx = self.index.index_transaction()?;
        set_number(&tx, COMMON_OF, pages)?;
        tx.commit()
    }

    /// Adds the anchor texts of the next links. Returns the number of links that were read: 0 at the end.
    pub fn add_anchors(&mut self) -> Result<u64> {
        let after = position(&self.index, "", "anchors")?.unwrap_or(0);
        let last: Option<i64> = self.db.query_row("select max(rowid) from edge", (), |row| row.get(0))?;
        let until = last.unwrap_or(0).min(after + TextIndex::LINKS.cast_signed());
        if until <= after {
            return Ok(0);
        }
        let mark = edge_mark(&self.db, until)?.unwrap_or(0);
        let mut read = self.db.prepare(
            "select dst, anchor, count(*) from edge
             where rowid > ?1 and rowid <= ?2 and anchor is not null and dst <> src group by dst, anchor",
        )?;
        let mut rows = read.query([after, until])?;
        let tx = self.index.index_transaction()?;
        if position(&tx, "", "anchors")?.unwrap_or(0) != after {
            return Ok(1);
        }
        let mut targets = BTreeSet::new();
        let mut insert = tx.prepare(
            "insert into anchor(row, text, links) values (?1, ?2, ?3)
             on conflict(row, text) do update set links = anchor.links + excluded.links",
        )?;
        while let Some(row) = rows.next()? {
            let target: i64 = row.get(0)?;
            insert.send(params![target, row.get::<String>(1)?.trim(), row.get::<i64>(2)?])?;
            targets.insert(target);
        }
        drop(insert);
        let targets: Vec<i64> = targets.into_iter().collect();
        let indexed =
            in_portions(&tx, &targets, "select row from text_page where row in", |row| row.get::<i64>(0))?;
        self.full_text.replace_anchors(&tx, &indexed, &anchors_of(&tx, &indexed)?)?;
        set_cursor(&tx, "anchors", until, mark)?;
        tx.commit()?;
        Ok((until - after).cast_unsigned())
    }
}

/// How far an index is.
pub(super) fn state(db: &Connection, index: &Connection, full_text: &dyn FullText) -> Result<IndexState> {
    let schema = full_text.schema();
    let single = |db: &Connection, sql: &str| -> Result<u64> {
        Ok(db.query_row(sql, (), |row| row.get::<i64>(0))?.cast_unsigned())
    };
    // An index that an earlier version made has no counts until it is filled again.
    let has_counts = full_text.has_counts(index)?;
    let counted = |name: &str, filter: &str| -> Result<u64> {
        match has_counts.then(|| number(index, schema, name)).transpose()?.flatten() {
            Some(number) => Ok(number.cast_unsigned()),
            None => single(index, &format!("select count(*) from {schema}text_page{filter}")),
        }
    };
    let pages = position(index, schema, "pages")?.unwrap_or(-1);
    let links = position(index, schema, "anchors")?.unwrap_or(0);
    Ok(IndexState {
        indexed: counted(PAGES, "")?,
        without_text: counted(WITHOUT_TEXT, WHERE_WITHOUT_TEXT)?,
        behind: single(db, &format!("select count(*) from \"fetch\" where seq > {pages}"))?,
        links_behind: single(db, &format!("select coalesce(max(rowid), 0) - {links} from edge"))?,
    })
}

/// Rows of `text_count`.
const PAGES: &str = "pages";
const WITHOUT_TEXT: &str = "without_text";
const COMMON_OF: &str = "common_of";

const WHERE_WITHOUT_TEXT: &str = " where has_text = 0";

pub(crate) fn number(index: &Connection, schema: &str, name: &str) -> Result<Option<i64>> {
    let sql = format!("select number from {schema}text_count where name = ?1");
    index.query_row(&sql, [name], |row| row.get(0)).optional()
}

fn set_number(tx: &Transaction<'_>, name: &str, number: i64) -> Result<()> {
    let sql = "insert into text_count(name, number) values (?1, ?2) \
               on conflict(name) do update set number = excluded.number";
    tx.execute(sql, params![name, number]).map(drop)
}

fn count_pages(tx: &Transaction<'_>) -> Result<()> {
    for (name, filter) in [(PAGES, ""), (WITHOUT_TEXT, WHERE_WITHOUT_TEXT)] {
        let sql = format!("select count(*) from text_page{filter}");
        set_number(tx, name, tx.query_row(&sql, (), |row| row.get(0))?)?;
    }
    Ok(())
}

pub(crate) fn change_number(tx: &Transaction<'_>, name: &str, by: i64) -> Result<()> {
    let sql = "insert into text_count(name, number) values (?1, ?2) \
               on conflict(name) do update set number = text_count.number + excluded.number";
    if by == 0 { Ok(()) } else { tx.execute(sql, params![name, by]).map(drop) }
}

fn page_to_index(row: &Row<'_>) -> Result<PageToIndex> {
    let span = match (row.get(4)?, row.get::<Option<i64>>(5)?, row.get(6)?) {
        (Some(segment), Some(offset), Some(length)) => {
            Some(SegmentSpan { segment, offset: offset.cast_unsigned(), length })
        }
        _ => None,
    };
    Ok(PageToIndex {
        seq: row.get::<i64>(0)?.cast_unsigned(),
        row: row.get(1)?,
        url: row.get(2)?,
        title: row.get::<Option<String>>(3)?.unwrap_or_default(),
        span,
    })
}

fn indexed_text(page: &PageToIndex, text: Option<&str>) -> IndexedText {
    let title: String = page.title.chars().filter(|c| !c.is_control()).collect();
    let body = text.unwrap_or_default();
    // In one line, as rows of tables show it.
    let body = body[..body.floor_char_boundary(TextIndex::MAX_TEXT)].replace('\n', " ");
    IndexedText { row: page.row, title: spaced(&title).into_owned(), body: spaced(&body).into_owned() }
}

/// Removes rows of `text_page` and adds those of pages. The anchor texts of links to pages that are gone stay in `anchor`.
fn write_pages(
    tx: &Transaction<'_>,
    removed: &[i64],
    pages: &[PageToIndex],
    texts: &[Option<String>],
) -> Result<()> {
    let mut remove = tx.prepare("delete from text_page where row = ?1")?;
    for row in removed {
        remove.send([*row])?;
    }
    let mut insert = tx.prepare("insert into text_page(row, seq, has_text) values (?1, ?2, ?3)")?;
    for (page, text) in pages.iter().zip(texts) {
        insert.send(params![page.row, page.seq.cast_signed(), text.is_some()])?;
    }
    Ok(())
}

/// The anchor texts of the links to pages, the frequent ones several times.
fn anchors_of(tx: &Transaction<'_>, targets: &[i64]) -> Result<Vec<(i64, String)>> {
    let read = |row: &Row<'_>| Ok((row.get::<i64>(0)?, row.get::<String>(1)?, row.get::<i64>(2)?));
    let mut anchors = in_portions(tx, targets, "select row, text, links from anchor where row in", read)?;
    anchors.sort_unstable_by(|a, b| (a.0, -a.2, &a.1).cmp(&(b.0, -b.2, &b.1)));
    let of_target = |anchors: &[(i64, String, i64)]| {
        let mut all = String::new();
        for (_, text, links) in anchors.iter().take(MOST_ANCHORS) {
            for _ in 0..=(*links).max(1).ilog2().min(5) {
                // The full stop keeps phrases from spanning two anchor texts only for readers; a word in between would
                // count.
                all.push_str(&spaced(text));
                all.push_str(" . ");
            }
        }
        (anchors[0].0, all)
    };
    Ok(anchors.chunk_by(|a, b| a.0 == b.0).map(of_target).collect())
}

/// Reads rows whose numbers are in a list, which ends the statement.
fn in_portions<T>(
    db: &Connection,
    rows: &[i64],
    sql: &str,
    mut read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut found = Vec::new();
    for portion in rows.chunks(PORTION) {
        let list: Vec<String> = portion.iter().map(i64::to_string).collect();
        let some = db.prepare(&format!("{sql} ({})", list.join(", ")))?.query_map((), &mut read)?;
        found.extend(some);
    }
    Ok(found)
}

/// A cursor's position and mark.
fn cursor(index: &Connection, schema: &str, name: &str) -> Result<Option<(i64, i64)>> {
    let sql = format!("select position, mark from {schema}text_cursor where name = ?1");
    index.query_row(&sql, [name], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

fn position(index: &Connection, schema: &str, name: &str) -> Result<Option<i64>> {
    Ok(cursor(index, schema, name)?.map(|(position, _)| position))
}

fn set_cursor(tx: &Transaction<'_>, name: &str, position: i64, mark: i64) -> Result<()> {
    let sql = "insert into text_cursor(name, position, mark) values (?1, ?2, ?3) \
               on conflict(name) do update set position = excluded.position, mark = excluded.mark";
    tx.execute(sql, params![name, position, mark]).map(drop)
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
    let sql =
        "select crawl.oid from \"fetch\" join crawl on crawl.rowid = \"fetch\".row where \"fetch\".seq = ?1";
    db.query_row(sql, [seq], |row| row.get(0)).optional()
}

fn edge_mark(db: &Connection, row: i64) -> Result<Option<i64>> {
    db.query_row("select discovered from edge where rowid = ?1", [row], |row| row.get(0)).optional()
}
