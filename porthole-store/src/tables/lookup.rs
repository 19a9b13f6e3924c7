//! Finds rows of `crawl` and `edge` by id, for readers: by the readers' indexes if there are any, which only SQLite has.

use crate::sql::{Connection, Optional, Row, Value, params};
use crate::{Result, sqlite};

/// Finds rows by the indexes, and by reading the tables for rows that are not indexed.
pub(crate) struct Lookup<'a> {
    db: &'a Connection,
    /// The last indexed rows.
    urls: i64,
    links: i64,
}

/// A link by the rows of its ends, and when it was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkEnds {
    pub(crate) src: i64,
    pub(crate) dst: i64,
    pub(crate) discovered: i64,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(db: &'a Connection) -> Lookup<'a> {
        let [urls, links] = db.sqlite().map_or([0, 0], sqlite::indexed_rows);
        Lookup { db, urls, links }
    }

    /// The row of a URL.
    pub(crate) fn url(&self, oid: i64) -> Result<Option<i64>> {
        let mut found = None;
        if self.urls > 0 {
            let sql = "select row from readers.crawl_oid where key = ?1";
            found = self.db.query_row(sql, [oid], |row| row.get(0)).optional()?;
        }
        if found.is_none() {
            let sql = "select rowid from crawl where rowid > ?2 and oid = ?1 limit 1";
            found = self.db.query_row(sql, [oid, self.urls], |row| row.get(0)).optional()?;
        }
        Ok(found)
    }

    /// The links from and to a row, in the order of discovery.
    pub(crate) fn links(&self, row: i64) -> Result<Vec<LinkEnds>> {
        let mut links = Vec::new();
        let mut add = |sql: &str| -> Result<()> {
            let link =
                |row: &Row<'_>| Ok(LinkEnds { src: row.get(0)?, dst: row.get(1)?, discovered: row.get(2)? });
            let mut read = self.db.prepare(sql)?;
            let found = read.query_map(params![row, self.links], link)?;
            links.extend(found);
            Ok(())
        };
        if self.links > 0 {
            add("select src, dst, discovered from edge
                 where rowid in (select row from readers.edge_src where key = ?1
                                 union
                                 select row from readers.edge_dst where key = ?1) and rowid <= ?2
                 order by rowid")?;
        }
        add(
            "select src, dst, discovered from edge where rowid > ?2 and (src = ?1 or dst = ?1) order by rowid",
        )?;
        Ok(links)
    }

    /// The first link to a row that was found on another page: the row of that page, and the anchor text.
    pub(crate) fn first_link_to(&self, row: i64) -> Result<Option<(i64, String)>> {
        let indexed = "select src, anchor from edge
                       where rowid in (select row from readers.edge_dst where key = ?1) and rowid <= ?2
                         and src <> ?1 order by rowid limit 1";
        let others =
            "select src, anchor from edge where rowid > ?2 and dst = ?1 and src <> ?1 order by rowid limit 1";
        Ok(self.link_ends(indexed, others, row, 1)?.pop())
    }

    /// The first `limit` links of a row's page: the rows of the targets, and the anchor texts.
    pub(crate) fn links_from(&self, row: i64, limit: usize) -> Result<Vec<(i64, String)>> {
        let indexed = "select dst, anchor from edge
                       where rowid in (select row from readers.edge_src where key = ?1) and rowid <= ?2
                       order by rowid limit ?3";
        let others = "select dst, anchor from edge where rowid > ?2 and src = ?1 order by rowid limit ?3";
        self.link_ends(indexed, others, row, limit)
    }

    /// The links among rows, given as a list in SQL, as pairs of source and target.
    pub(crate) fn links_among(&self, rows: &str) -> Result<Vec<(i64, i64)>> {
        let ends = format!("select src, dst from edge where src in ({rows}) and dst in ({rows})");
        let mut parts = vec![format!("{ends} and rowid > ?1")];
        if self.links > 0 {
            parts.push(format!(
                "{ends} and rowid <= ?1 and rowid in (select row from readers.edge_src where key in ({rows}))"
            ));
        }
        let mut links = Vec::new();
        for sql in parts {
            let mut read = self.db.prepare(&sql)?;
            let found = read.query_map([self.links], |row| Ok((row.get(0)?, row.get(1)?)))?;
            links.extend(found);
        }
        Ok(links)
    }

    /// Ends of links with their anchor texts: those of the indexed rows, then the others, at most `limit`.
    fn link_ends(&self, indexed: &str, others: &str, row: i64, limit: usize) -> Result<Vec<(i64, String)>> {
        let mut ends = Vec::new();
        for (sql, is_indexed) in [(indexed, true), (others, false)] {
            let parameters = if sql.contains("?3") { 3 } else { 2 };
            if (is_indexed && self.links == 0) || ends.len() >= limit {
                continue;
            }
            let mut read = self.db.prepare(sql)?;
            let values = [row, self.links, i64::try_from(limit - ends.len()).unwrap_or(i64::MAX)];
            let values: Vec<Value<'_>> = values[..parameters].iter().copied().map(Value::Integer).collect();
            let found = read.query_map(&values[..], |row| {
                let anchor: Option<String> = row.get(1)?;
                Ok((row.get(0)?, anchor.unwrap_or_default()))
            })?;
            ends.extend(found);
        }
        Ok(ends)
    }
}
