//! BulkProbe: one join per node for all documents (V Fig. 3).

use std::time::Instant;

use porthole_types::{Mark, TopicId, UrlId};

use super::{Prober, Spent, log_sum};
use crate::Result;
use crate::sql::{Connection, params};

/// The result of BulkProbe for one document and one child.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BulkJudgment {
    /// The document.
    pub did: UrlId,
    /// The child ci of the node c0.
    pub topic: TopicId,
    /// log Pr[ci | c0, d].
    pub log_probability: f64,
}

impl Prober {
    /// BulkProbe(c0) (V Fig. 3): the same for all rows of DOCUMENT at once, by document and child.
    pub fn bulk_probe(&self, c0: TopicId) -> Result<Vec<BulkJudgment>> {
        self.bulk_probe_over(c0, &self.document_rows()?)
    }

    /// R(d) (V eq. 3) of every document by BulkProbe at the path nodes, parents first.
    pub fn bulk_relevance(&self) -> Result<Vec<(UrlId, f64)>> {
        let documents = self.document_rows()?;
        let mut relevance: Vec<_> =
            documents.iter().map(|&(did, _)| (UrlId(did.cast_unsigned()), 0.0)).collect();
        let mut open = vec![(TopicId::ROOT, vec![0.0f64; relevance.len()])];
        while let Some((topic, log_probabilities)) = open.pop() {
            match self.mark(topic) {
                Mark::Good => {
                    for ((_, sum), log_probability) in relevance.iter_mut().zip(log_probabilities) {
                        *sum += log_probability.exp();
                    }
                }
                Mark::Path => open.extend(self.bulk_below(topic, &documents, &log_probabilities)?),
                Mark::Null | Mark::Subsumed => {}
            }
        }
        Ok(relevance)
    }

    /// BulkProbe(c0) over documents in the order of the table.
    fn bulk_probe_over(&self, c0: TopicId, documents: &[DocumentRows]) -> Result<Vec<BulkJudgment>> {
        let children = self.children(c0)?;
        let started = Instant::now();
        let walk = self.walk(c0)?;
        let mut probe = self.db.prepare(&bulk_probe_sql(walk))?;
        let mut judged = Vec::with_capacity(documents.len() * children.len());
        for (first, last) in self.batches(documents, walk, children.len()) {
            let mut rows = probe.stream(params![c0.0, first, last])?;
            while let Some(row) = rows.next()? {
                let did = UrlId(row.get::<i64>(0)?.cast_unsigned());
                judged.push(BulkJudgment { did, topic: TopicId(row.get(1)?), log_probability: row.get(2)? });
            }
        }
        let probed = Instant::now();
        for document in judged.chunks_mut(children.len()) {
            let total = log_sum(document.iter().map(|judged| judged.log_probability));
            document.iter_mut().for_each(|judged| judged.log_probability -= total);
        }
        self.spend(Spent { probe: probed - started, compute: probed.elapsed(), ..Spent::default() });
        Ok(judged)
    }

    fn document_rows(&self) -> Result<Vec<DocumentRows>> {
        let sql = "select did, count(*) from document group by did order by did";
        let mut read = self.db.prepare(sql)?;
        read.query_map((), |row| Ok((row.get(0)?, row.get::<i64>(1)?.cast_unsigned())))
    }

    /// Chooses the join order for a node. Counting its statistics also loads them into the cache, in order.
    fn walk(&self, c0: TopicId) -> Result<Walk> {
        if let Connection::Postgres(_) = self.db {
            return Ok(Walk::Planned);
        }
        let rows: i64 =
            self.db.query_row("select count(*) from stat where pcid = ?1", [c0.0], |row| row.get(0))?;
        let fits = rows.cast_unsigned() * STAT_BYTES <= self.cache / 4 * 3;
        Ok(if fits { Walk::ByDocument } else { Walk::ByTerm })
    }

    /// The first and last documents of each batch.
    fn batches(&self, documents: &[DocumentRows], walk: Walk, children: usize) -> Vec<(i64, i64)> {
        let most = match walk {
            Walk::ByDocument => self.cache / (SORTED_BYTES * children as u64),
            Walk::ByTerm | Walk::Planned => u64::MAX,
        };
        let (mut batches, mut size) = (Vec::<(i64, i64)>::new(), 0);
        for &(did, rows) in documents {
            size += rows;
            match batches.last_mut().filter(|_| size <= most) {
                Some((_, last)) => *last = did,
                None => {
                    batches.push((did, did));
                    size = rows;
                }
            }
        }
        batches
    }

    /// The children of a node with log Pr\[ci | d\] for all documents, from the node's own.
    fn bulk_below(
        &self,
        c0: TopicId,
        documents: &[DocumentRows],
        log_probabilities: &[f64],
    ) -> Result<Vec<(TopicId, Vec<f64>)>> {
        let mut below: Vec<_> = self
            .children(c0)?
            .iter()
            .map(|child| (child.topic, Vec::with_capacity(log_probabilities.len())))
            .collect();
        let judged = self.bulk_probe_over(c0, documents)?;
        for (document, above) in judged.chunks(below.len()).zip(log_probabilities) {
            for (judged, (_, child)) in document.iter().zip(&mut below) {
                child.push(above + judged.log_probability);
            }
        }
        Ok(below)
    }
}

/// A document in the table: its id and number of rows.
type DocumentRows = (i64, u64);

/// Upper estimates of the size of a row of STAT in its page, and of a joined row while it is sorted.
const STAT_BYTES: u64 = 28;
const SORTED_BYTES: u64 = 48;

/// The order in which BulkProbe joins the rows of STAT and DOCUMENT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    /// By document, for a node whose statistics fit into the cache: no page is read twice, and the rows to sort come in
    /// batches that fit as well.
    ByDocument,
    /// By term, for a larger node. SQLite has no sort-merge join, but this is equivalent to one: both tables are read
    /// in the order of tid, and only the sort for the sums goes to disk.
    ByTerm,
    /// As PostgreSQL chooses.
    Planned,
}

/// BulkProbe with the join order left to the engine.
pub(in crate::tables) fn bulk_statement() -> String {
    bulk_probe_sql(Walk::Planned)
}

/// BulkProbe(c0) (V Fig. 3) over the documents from ?2 to ?3, with the prior added, and including documents without a
/// term of F(c0), for which only the prior counts. The caller normalises: not every database has exponentials.
///
/// `cross join` fixes the join order in SQLite; other databases may choose their own.
fn bulk_probe_sql(walk: Walk) -> String {
    let (tables, is_feature) = match walk {
        Walk::ByDocument => (
            "document cross join stat",
            "exists (select * from stat where stat.pcid = ?1 and stat.tid = document.tid)",
        ),
        Walk::ByTerm | Walk::Planned => {
            ("stat cross join document", "tid in (select tid from stat where pcid = ?1)")
        }
    };
    format!(
        "with
          partial(did, kcid, seen, lpr1) as (
            select did, kcid, sum(freq), sum(freq * logtheta)
            from {tables}
            where pcid = ?1 and did between ?2 and ?3 and stat.tid = document.tid
            group by did, kcid),
          doclen(did, len) as (
            select did, sum(case when {is_feature} then freq else 0 end)
            from document
            where did between ?2 and ?3
            group by did),
          complete(did, kcid, len, logprior, logdenom) as (
            select did, kcid, len, logprior, logdenom
            from doclen cross join taxonomy
            where pcid = ?1)
        select complete.did, complete.kcid,
               logprior + coalesce(lpr1, 0) - (len - coalesce(seen, 0)) * logdenom
        from complete left join partial on partial.did = complete.did and partial.kcid = complete.kcid
        order by complete.did, complete.kcid"
    )
}
