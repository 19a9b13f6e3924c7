//! Reads the link graph.

use crate::sql::{Connection, Optional, Row, Transaction, params};
use porthole_types::{SiteId, UrlId};

use crate::frontier::RowState;
use crate::{Error, GraphEdge, GraphNode, LinkGraph, NeighbourEvidence, RAISED, Result, SiteAddress};

/// Reads the graph in one transaction, for a consistent state. `edges` are those of an earlier call.
pub(super) fn read(db: &Connection, mut edges: Vec<GraphEdge>) -> Result<LinkGraph> {
    let tx = db.read_transaction()?;
    let mut nodes = nodes(&tx)?;
    believe(&tx, &mut nodes)?;
    add_edges(&tx, nodes.len(), &mut edges)?;
    Ok(LinkGraph { nodes, edges })
}

#[allow(clippy::cast_possible_truncation)]
fn nodes(db: &Connection) -> Result<Vec<GraphNode>> {
    let count = db.query_row("select max(rowid) from crawl", (), |row| row.get::<Option<u32>>(0))?;
    let mut nodes = Vec::with_capacity(count.unwrap_or(0) as usize);
    // A page that is queued for a revisit has been fetched nonetheless.
    let sql = "select oid, sid, relevance, state = ?1 or (state = 0 and exists (
                   select 1 from revisit where row = crawl.rowid and came = ?1)),
                   numtries > 0 or state not in (?2, ?3, ?5), state in (?2, ?3) and depth > 0 and priority <= ?4
               from crawl order by rowid";
    let mut statement = db.prepare(sql)?;
    let [fetched, queued, evicted, rejected] =
        [RowState::Fetched, RowState::Queued, RowState::Evicted, RowState::Rejected]
            .map(|state| state as i64);
    let mut rows = statement.stream(params![fetched, queued, evicted, RAISED, rejected])?;
    while let Some(row) = rows.next()? {
        let oid = UrlId(row.get::<i64>(0)?.cast_unsigned());
        let sid = SiteId(row.get::<i64>(1)?.cast_unsigned());
        let relevance: f64 = row.get(2)?;
        let (fetched, tried): (bool, bool) = (row.get(3)?, row.get(4)?);
        let follows = !fetched && row.get::<bool>(5)?;
        nodes.push(GraphNode { oid, sid, relevance: relevance as f32, fetched, tried, follows });
    }
    Ok(nodes)
}

/// Applies the estimates in `estimate_log`.
#[allow(clippy::cast_possible_truncation)]
fn believe(db: &Connection, nodes: &mut [GraphNode]) -> Result<()> {
    let mut statement = db.prepare("select row - 1, relevance, priority from estimate_log order by rowid")?;
    let mut rows = statement.stream(())?;
    while let Some(row) = rows.next()? {
        let relevance: f64 = row.get(1)?;
        if let Some(node) = nodes.get_mut(row.get::<u32>(0)? as usize)
            && !node.fetched
        {
            node.relevance = relevance as f32;
            node.follows &= row.get::<f64>(2)? <= RAISED;
        }
    }
    Ok(())
}

/// Appends the edges behind the known ones. Row ids are consecutive, because no edge is ever deleted.
fn add_edges(db: &Connection, nodes: usize, edges: &mut Vec<GraphEdge>) -> Result<()> {
    let count = db.query_row("select max(rowid) from edge", (), |row| row.get::<Option<u32>>(0))?;
    let known = edges.len();
    edges.reserve_exact((count.unwrap_or(0) as usize).saturating_sub(known));
    let mut statement = db.prepare("select src - 1, dst - 1 from edge where rowid > ?1 order by rowid")?;
    let mut rows = statement.stream([known as i64])?;
    while let Some(row) = rows.next()? {
        let edge = GraphEdge { src: row.get(0)?, dst: row.get(1)? };
        if edge.src.max(edge.dst) as usize >= nodes {
            return Err(Error::Damaged(format!("edge has the unknown row {}", edge.src.max(edge.dst) + 1)));
        }
        edges.push(edge);
    }
    Ok(())
}

/// All sites with their addresses.
pub(super) fn sites(db: &Connection) -> Result<Vec<SiteAddress>> {
    let mut read = db.prepare("select sid, host, address from site order by rowid")?;
    let site = |row: &Row<'_>| {
        let address: Option<String> = row.get(2)?;
        Ok(SiteAddress {
            sid: SiteId(row.get::<i64>(0)?.cast_unsigned()),
            host: row.get(1)?,
            address: address.and_then(|address| address.parse().ok()),
        })
    };
    read.query_map((), site)
}

pub(super) fn neighbourhoods(db: &Connection) -> Result<Vec<NeighbourEvidence>> {
    let mut read = db.prepare(&format!("{NEIGHBOURHOOD} order by oid"))?;
    let rows = read.query_map((), neighbourhood)?;
    Ok(rows)
}

pub(super) fn neighbourhood_of(db: &Connection, oid: i64) -> Result<Option<NeighbourEvidence>> {
    db.query_row(&format!("{NEIGHBOURHOOD} where oid = ?1"), [oid], neighbourhood).optional()
}

const NEIGHBOURHOOD: &str = "select oid, relevance, own, sites, evidence from neighbourhood";

fn neighbourhood(row: &Row<'_>) -> Result<NeighbourEvidence> {
    Ok(NeighbourEvidence {
        oid: UrlId(row.get::<i64>(0)?.cast_unsigned()),
        relevance: row.get(1)?,
        own: row.get(2)?,
        sites: row.get(3)?,
        evidence: row.get(4)?,
    })
}

/// Writes neighbourhoods, replacing those of the same pages.
pub(super) fn write_neighbourhoods(tx: &Transaction<'_>, rows: &[NeighbourEvidence]) -> Result<()> {
    let mut insert = tx.prepare(
        "insert into neighbourhood(oid, relevance, own, sites, evidence) values (?1, ?2, ?3, ?4, ?5)
         on conflict(oid) do update set relevance = excluded.relevance, own = excluded.own,
                                        sites = excluded.sites, evidence = excluded.evidence",
    )?;
    let mut sorted: Vec<_> = rows.iter().map(|row| (row.oid.0.cast_signed(), row)).collect();
    sorted.sort_unstable_by_key(|&(oid, _)| oid);
    for (oid, row) in sorted {
        insert.send(params![oid, row.relevance, row.own, row.sites, row.evidence])?;
    }
    Ok(())
}
