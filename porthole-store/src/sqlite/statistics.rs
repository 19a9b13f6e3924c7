//! Fills TAXONOMY, STAT, BLOB and DOCUMENT (V Fig. 1).

use std::collections::BTreeMap;

use porthole_types::{TopicId, UrlId};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::topics::read_topics;
use crate::statistics::{DocumentRow, NodeRow, StatRow};
use crate::{Error, Result};

/// Size of a record in BLOB, in bytes.
pub(super) const RECORD: usize = 2 + 8;

/// Replaces the statistics in one transaction.
pub(super) fn write(
    db: &mut Connection,
    nodes: &[NodeRow],
    stats: &mut dyn Iterator<Item = StatRow>,
) -> Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
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
    Ok(())
}

/// Replaces the documents in one transaction.
pub(super) fn write_documents(
    db: &mut Connection,
    documents: &mut dyn Iterator<Item = DocumentRow>,
) -> Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute("delete from document", [])?;
    let mut insert = tx.prepare("insert into document(did, tid, freq) values (?1, ?2, ?3)")?;
    for document in documents {
        for &(term, freq) in &document.terms {
            insert.execute(params![did(document.did), term.0, freq])?;
        }
    }
    drop(insert);
    tx.commit()?;
    Ok(())
}

/// The stored form of a document's id.
pub(super) fn did(document: UrlId) -> i64 {
    document.0.cast_signed()
}

fn write_nodes(tx: &Transaction<'_>, nodes: &[NodeRow]) -> Result<()> {
    tx.execute("update taxonomy set logprior = null, logdenom = null", [])?;
    let mut update = tx.prepare("update taxonomy set logprior = ?2, logdenom = ?3 where kcid = ?1")?;
    for node in nodes {
        if update.execute(params![node.topic.0, node.logprior, node.logdenom])? == 0 {
            return Err(Error::UnknownTopic(node.topic));
        }
    }
    Ok(())
}

fn write_stat(tx: &Transaction<'_>, stats: &[StatRow]) -> Result<()> {
    tx.execute("delete from stat", [])?;
    let mut insert = tx.prepare("insert into stat(pcid, kcid, tid, logtheta) values (?1, ?2, ?3, ?4)")?;
    for row in stats {
        insert.execute(params![row.parent.0, row.topic.0, row.term.0, row.logtheta])?;
    }
    Ok(())
}

fn write_blob(tx: &Transaction<'_>, stats: &[StatRow]) -> Result<()> {
    tx.execute("delete from blob", [])?;
    let mut insert = tx.prepare("insert into blob(pcid, tid, records) values (?1, ?2, ?3)")?;
    let mut records = Vec::new();
    for rows in stats.chunk_by(|one, other| (one.parent, one.term) == (other.parent, other.term)) {
        records.clear();
        for row in rows {
            records.extend(row.topic.0.to_le_bytes());
            records.extend(row.logtheta.to_le_bytes());
        }
        insert.execute(params![rows[0].parent.0, rows[0].term.0, records])?;
    }
    Ok(())
}
