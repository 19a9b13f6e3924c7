//! Lists of fetched pages, and the links among some pages.

use std::collections::HashMap;
use std::fmt::Display;

use crate::sql::{Connection, Optional, Row, params};
use porthole_types::{Timestamp, TopicId, UrlId};

use super::lookup::Lookup;
use crate::{ListedPage, PageListing, PageOrder, Result};

/// Reads the list in one transaction. It looks at every fetched page once, in the order of the fetches.
pub(super) fn pages(db: &Connection, wanted: &PageListing) -> Result<Vec<ListedPage>> {
    let tx = db.read_transaction()?;
    let mut conditions = String::new();
    if let Some(topics) = &wanted.topics {
        conditions += &format!(" and kcid in ({})", list(topics.iter().map(|topic| topic.0)));
    }
    if let Some(sites) = &wanted.sites {
        conditions += &format!(" and sid in ({})", list(sites.iter().map(|site| site.0.cast_signed())));
    }
    let order = match wanted.order {
        PageOrder::Relevance => "relevance desc, seq",
        PageOrder::Recent => "seq desc",
        PageOrder::Uncertain => {
            conditions += " and url not in (select url from feedback where kind = 'page')";
            "abs(relevance - 0.5), seq"
        }
    };
    let sql = format!(
        "select seq, url, title, sid, relevance, kcid, lastvisited, language, oid, row from tried
         where state = 1 and copy_of is null and kcid is not null and relevance between ?1 and ?2{conditions}
         order by {order} limit ?3 offset ?4"
    );
    let size = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let mut read = tx.prepare(&sql)?;
    let mut rows = read.query(params![wanted.least, wanted.most, size(wanted.limit), size(wanted.offset)])?;
    let mut pages = Vec::new();
    while let Some(row) = rows.next()? {
        pages.push(page(&tx, &row)?);
    }
    Ok(pages)
}

fn page(db: &Connection, row: &Row<'_>) -> Result<ListedPage> {
    let (url, site, oid): (String, i64, i64) = (row.get(1)?, row.get(3)?, row.get(8)?);
    let score = |table: &str| {
        let sql = format!("select score from {table} where oid = ?1");
        db.prepare(&sql)?.query_row([oid], |row| row.get(0)).optional()
    };
    let mut host = db.prepare("select host from site where sid = ?1")?;
    let host: Option<String> = host.query_row([site], |row| row.get(0)).optional()?;
    let mut terms = db.prepare("select terms from crawl where rowid = ?1")?;
    let terms: Option<i64> = terms.query_row([row.get::<i64>(9)?], |row| row.get(0))?;
    let feedback = "select useful from feedback where url = ?1 and kind = 'page' order by id desc limit 1";
    let (title, language): (Option<String>, Option<String>) = (row.get(2)?, row.get(7)?);
    Ok(ListedPage {
        seq: row.get::<i64>(0)?.cast_unsigned(),
        title: title.unwrap_or_default(),
        host: host.unwrap_or_default(),
        relevance: row.get(4)?,
        best: TopicId(row.get(5)?),
        at: Timestamp(row.get::<Option<i64>>(6)?.unwrap_or(0)),
        language: language.unwrap_or_default(),
        hub: score("hubs")?,
        authority: score("auth")?,
        terms: terms.map(i64::cast_unsigned),
        useful: db.prepare(feedback)?.query_row([&url], |row| row.get(0)).optional()?,
        url,
    })
}

/// The links among some URLs, each once, as pairs of source and target.
pub(super) fn links_among(db: &Connection, oids: &[UrlId]) -> Result<Vec<(UrlId, UrlId)>> {
    let tx = db.read_transaction()?;
    let wanted = oids.iter().map(|oid| oid.0.cast_signed());
    let mut read = tx.prepare(&format!("select rowid, oid from crawl where oid in ({})", list(wanted)))?;
    let rows = read.query_map((), |row| Ok((row.get(0)?, UrlId(row.get::<i64>(1)?.cast_unsigned()))))?;
    let rows: HashMap<i64, UrlId> = rows.into_iter().collect();
    let mut links = Lookup::new(&tx).links_among(&list(rows.keys()))?;
    links.sort_unstable();
    links.dedup();
    Ok(links.iter().map(|(src, dst)| (rows[src], rows[dst])).collect())
}

/// Numbers as a list in SQL.
fn list(numbers: impl Iterator<Item = impl Display>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(",")
}
