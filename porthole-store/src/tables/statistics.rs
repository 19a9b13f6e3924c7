//! Fills TAXONOMY, STAT, BLOB and DOCUMENT (V Fig. 1).

use std::collections::BTreeMap;

use crate::sql::{Connection, Transaction, Value, params};
use porthole_types::{TopicId, UrlId};

use super::topics::read_topics;
use crate::statistics::{DocumentRow, NodeRow, StatRow};
use crate::{Error, Result};

/// Size of a record in BLOB, in bytes.
pub(crate) const RECORD: usize = 2 + 8;
/// Rows of DOCUMENT that are written at a time.
const PORTION: usize = 10_000;

/// Replaces the statistics in one transaction.
pub(super) fn write(
    db: &Connection,
    nodes: &[NodeRow],
    stats: &mut dyn Iterator<Item = StatRow>,
) -> Result<()> {
    let tx = db.write_transaction()?;
    let parents = read_topics(&tx)?.into_iter().filter(|row| row.id != TopicId::ROOT);
    let parents: BTreeMap<_, _> = parents.map(|row| (row.id, row.parent)).collect();
    write_nodes(&tx, nodes)?;
    let mut stats: Vec<StatRow> = stats.collect();
    if let Some(strange) = stats.iter().find(|row| parents.get(&row.topic) != Some(&row.parent)) {
        return Err(Error::UnknownTopic(strange.topic));
    }
    // Sorted like the tables, so that rows are appended.
    stats.sort_unstable_by_key(|row| (row.parent, row.term, row.topic));
    write_stat(&tx, &stats)?;
    write_blob(&tx, &stats)?;
    tx.commit()?;
    analyze(db, "taxonomy, stat, blob")
}

/// Replaces the documents in one transaction.
pub(super) fn write_documents(
    db: &Connection,
    documents: &mut dyn Iterator<Item = DocumentRow>,
) -> Result<()> {
    let tx = db.write_transaction()?;
    tx.execute("delete from document", ())?;
    // Some at a time, since all may be many.
    let mut rows = documents.flat_map(|document| {
        let did = did(document.did);
        document.terms.into_iter().map(move |(term, freq)| {
            [Value::Integer(did), Value::Integer(term.0.into()), Value::Integer(freq.into())]
        })
    });
    loop {
        let some: Vec<_> = rows.by_ref().take(PORTION).collect();
        if some.is_empty() {
            break;
        }
        tx.append("document", ["did", "tid", "freq"], None, some.into_iter())?;
    }
    tx.commit()?;
    analyze(db, "document")
}

/// Tells PostgreSQL how tables have changed. It would find out later, and never for temporary tables, but they are joined at
/// once.
pub(super) fn analyze(db: &Connection, tables: &str) -> Result<()> {
    match db {
        Connection::Sqlite(_) => Ok(()),
        Connection::Postgres(_) => db.execute_batch(&format!("analyze {tables}")),
    }
}

/// The stored form of a document's id.
pub(crate) fn did(document: UrlId) -> i64 {
    document.0.cast_signed()
}

fn write_nodes(tx: &Transaction<'_>, nodes: &[NodeRow]) -> Result<()> {
    tx.execute("update taxonomy set logprior = null, logdenom = null", ())?;
    let mut update = tx.prepare("update taxonomy set logprior = ?2, logdenom = ?3 where kcid = ?1")?;
    for node in nodes {
        if update.execute(params![node.topic.0, node.logprior, node.logdenom])? == 0 {
            return Err(Error::UnknownTopic(node.topic));
        }
    }
    Ok(())
}

fn write_stat(tx: &Transaction<'_>, stats: &[StatRow]) -> Result<()> {
    tx.execute("delete from stat", ())?;
    let rows = stats.iter().map(|row| {
        let [parent, topic] = [row.parent.0, row.topic.0].map(|topic| Value::Integer(topic.into()));
        [parent, topic, Value::Integer(row.term.0.into()), Value::Real(row.logtheta)]
    });
    tx.append("stat", ["pcid", "kcid", "tid", "logtheta"], None, rows)
}

fn write_blob(tx: &Transaction<'_>, stats: &[StatRow]) -> Result<()> {
    tx.execute("delete from blob", ())?;
    let mut insert = tx.prepare("insert into blob(pcid, tid, records) values (?1, ?2, ?3)")?;
    let mut records = Vec::new();
    for rows in stats.chunk_by(|one, other| (one.parent, one.term) == (other.parent, other.term)) {
        records.clear();
        for row in rows {
            records.extend(row.topic.0.to_le_bytes());
            records.extend(row.logtheta.to_le_bytes());
        }
        insert.send(params![rows[0].parent.0, rows[0].term.0, records])?;
    }
    Ok(())
}
