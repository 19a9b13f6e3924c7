//! The link graph, read in one go.

use porthole_types::{SiteId, UrlId};
use rusqlite::Connection;

use crate::frontier::{KeyMap, State};
use crate::{Edge, Error, Graph, Node, Result};

/// Reads the graph in one transaction: one state of the tables, whatever is written meanwhile.
pub(super) fn read(db: &mut Connection) -> Result<Graph> {
    let tx = db.transaction()?;
    let (mut nodes, numbers) = nodes(&tx)?;
    believe(&tx, &mut nodes)?;
    let edges = edges(&tx, &numbers)?;
    Ok(Graph { nodes, edges })
}

#[allow(clippy::cast_possible_truncation)]
fn nodes(db: &Connection) -> Result<(Vec<Node>, KeyMap)> {
    let count = db.query_row("select max(rowid) from crawl", [], |row| row.get::<_, Option<u32>>(0))?;
    let (mut nodes, mut numbers) = (Vec::with_capacity(count.unwrap_or(0) as usize), KeyMap::default());
    // A page that is to be visited again has been fetched nonetheless.
    let sql = "select oid, sid, relevance, state = ?1 or (state = 0 and exists (
                   select 1 from revisit where row = crawl.rowid and came = ?1)),
                   numtries > 0 or state not in (?2, ?3)
               from crawl order by rowid";
    let mut statement = db.prepare(sql)?;
    let mut rows =
        statement.query([State::Fetched, State::Queued, State::Evicted].map(|state| state as i64))?;
    while let Some(row) = rows.next()? {
        let oid = UrlId(row.get::<_, i64>(0)?.cast_unsigned());
        let sid = SiteId(row.get::<_, i64>(1)?.cast_unsigned());
        let relevance: f64 = row.get(2)?;
        let (fetched, tried) = (row.get(3)?, row.get(4)?);
        numbers.get_or_insert(oid.0, u32::try_from(nodes.len()).map_err(|_| Error::Full)?);
        nodes.push(Node { oid, sid, relevance: relevance as f32, fetched, tried });
    }
    Ok((nodes, numbers))
}

/// Works in the estimates that `crawl` has not taken over yet.
#[allow(clippy::cast_possible_truncation)]
fn believe(db: &Connection, nodes: &mut [Node]) -> Result<()> {
    let mut statement = db.prepare("select row - 1, relevance from raised order by rowid")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let relevance: f64 = row.get(1)?;
        if let Some(node) = nodes.get_mut(row.get::<_, u32>(0)? as usize)
            && !node.fetched
        {
            node.relevance = relevance as f32;
        }
    }
    Ok(())
}

#[allow(clippy::cast_possible_truncation)]
fn edges(db: &Connection, numbers: &KeyMap) -> Result<Vec<Edge>> {
    let count = db.query_row("select max(rowid) from link", [], |row| row.get::<_, Option<u32>>(0))?;
    let mut edges = Vec::with_capacity(count.unwrap_or(0) as usize);
    let number = |oid: i64| {
        let oid = oid.cast_unsigned();
        numbers.get(oid).ok_or_else(|| Error::Damaged(format!("link has the unknown URL {}", UrlId(oid))))
    };
    let mut statement = db.prepare("select oid_src, oid_dst, wgt_fwd, wgt_rev from link order by rowid")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (src, dst) = (number(row.get(0)?)?, number(row.get(1)?)?);
        let (fwd, rev): (f64, f64) = (row.get(2)?, row.get(3)?);
        edges.push(Edge { src, dst, wgt_fwd: fwd as f32, wgt_rev: rev as f32 });
    }
    Ok(edges)
}
