//! The classifier inside the database, in three variants (V 2.1.3): one probe of STAT per term, one probe of BLOB per
//! term, and one join per node for all documents.

mod bulk;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use porthole_types::{Mark, TermId, TopicId, UrlId};
use rusqlite::config::DbConfig;

pub use self::bulk::BulkJudgment;
pub(super) use self::bulk::bulk_statement;
use super::DatabaseLocation;
use super::statistics::{RECORD, did};
use super::topics::read_topics;
use crate::sql::{Connection, Optional, params};
use crate::topics::TermCounts;
use crate::{Error, Result};

/// Classifies with the statistics in the tables; on SQLite with those of the moment at which it was opened.
///
/// To be dropped after a batch of documents: while it exists, SQLite's log cannot be truncated.
#[derive(Debug)]
pub struct Prober {
    db: Connection,
    /// TAXONOMY, which is small: the children of every inner node, by id.
    families: BTreeMap<TopicId, Vec<Child>>,
    marks: BTreeMap<TopicId, Mark>,
    /// Size of the page cache in bytes; sorts use as much again. On PostgreSQL it is that of the server, where sorts use
    /// `work_mem`.
    cache: u64,
    spent: Cell<Spent>,
}

/// The table that SingleProbe uses (V Fig. 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeTable {
    /// One row per term and child.
    Stat,
    /// One row per term, with the packed values of all children.
    Blob,
}

/// Time by activity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Reading statistics: the probes of SingleProbe, the whole join of BulkProbe.
    pub probe: Duration,
    /// Reading documents one by one.
    pub scan: Duration,
    /// Arithmetic outside the database.
    pub compute: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Child {
    topic: TopicId,
    logprior: f64,
    logdenom: f64,
}

/// The result of a probe for one term: its frequency in the document, and the range of its records.
#[derive(Clone, Copy, Debug)]
struct ProbedTerm {
    freq: f64,
    from: usize,
    to: usize,
}

impl Prober {
    /// Opens a SQLite database with a cache of `cache_pages` pages; `None` is SQLite's default.
    pub fn open(path: impl AsRef<Path>, cache_pages: Option<u32>) -> Result<Self> {
        Prober::open_at(&path.as_ref().into(), cache_pages)
    }

    /// Opens a database. The size of the cache is for SQLite; PostgreSQL has `shared_buffers`.
    pub fn open_at(location: &DatabaseLocation, cache_pages: Option<u32>) -> Result<Self> {
        let db = location.calculator()?;
        if let Some(sqlite) = db.sqlite() {
            // Every page that is not in the cache is then read by one system call, which the system counts.
            sqlite.pragma_update(None, "mmap_size", 0)?;
            // Otherwise SQLite compiles the probe again for every term, in case the value suggests another plan.
            sqlite.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            if let Some(pages) = cache_pages {
                sqlite.pragma_update(None, "cache_size", pages)?;
            }
            db.execute_batch("begin")?;
        }
        let marks = read_topics(&db)?.iter().map(|row| (row.id, row.mark)).collect();
        let (families, cache) = (families(&db)?, cache_bytes(&db)?);
        Ok(Prober { db, families, marks, cache, spent: Cell::default() })
    }

    /// SingleProbe(c0, d) (V Fig. 2): log Pr\[ci | c0, d\] for each child ci of c0, by id. The prior is part of the
    /// normalisation, so that the children of a node sum to its probability.
    pub fn single_probe(
        &self,
        table: ProbeTable,
        c0: TopicId,
        terms: &TermCounts,
    ) -> Result<Vec<(TopicId, f64)>> {
        let children = self.children(c0)?;
        let started = Instant::now();
        let (mut found, mut records) = (Vec::with_capacity(terms.len()), Vec::new());
        for &(term, freq) in terms {
            let from = records.len();
            match table {
                ProbeTable::Stat => self.probe_stat(c0, term, &mut records)?,
                ProbeTable::Blob => self.probe_blob(c0, term, &mut records)?,
            }
            found.push(ProbedTerm { freq: f64::from(freq), from, to: records.len() });
        }
        let probed = Instant::now();
        let judged = judge(children, &found, &records);
        self.spend(Spent { probe: probed - started, compute: probed.elapsed(), ..Spent::default() });
        Ok(judged)
    }

    /// R(d) (V eq. 3) by SingleProbe at the path nodes.
    pub fn single_relevance(&self, table: ProbeTable, terms: &TermCounts) -> Result<f64> {
        let mut relevance = 0.0;
        let mut open = vec![(TopicId::ROOT, 0.0f64)];
        while let Some((topic, log_probability)) = open.pop() {
            match self.mark(topic) {
                Mark::Good => relevance += log_probability.exp(),
                Mark::Path => {
                    let below = self.single_probe(table, topic, terms)?;
                    open.extend(below.into_iter().map(|(child, share)| (child, log_probability + share)));
                }
                Mark::Null | Mark::Subsumed => {}
            }
        }
        Ok(relevance)
    }

    /// The terms of a document, by id.
    pub fn document(&self, document: UrlId) -> Result<Vec<(TermId, u32)>> {
        let started = Instant::now();
        let mut read = self.db.prepare("select tid, freq from document where did = ?1 order by tid")?;
        let terms = read.query_map([did(document)], |row| Ok((TermId(row.get(0)?), row.get(1)?)))?;
        self.spend(Spent { scan: started.elapsed(), ..Spent::default() });
        Ok(terms)
    }

    /// Number of pages of a table.
    pub fn pages(&self, table: ProbeTable) -> Result<u64> {
        let name = match table {
            ProbeTable::Stat => "stat",
            ProbeTable::Blob => "blob",
        };
        let sql = match self.db {
            Connection::Sqlite(_) => "select pageno from dbstat where name = ?1 and aggregate = true",
            Connection::Postgres(_) => {
                "select pg_total_relation_size(to_regclass(?1)) / current_setting('block_size')::bigint"
            }
        };
        let pages: Option<i64> = self.db.query_row(sql, [name], |row| row.get(0)).optional()?;
        Ok(pages.unwrap_or(0).cast_unsigned())
    }

    /// Page size in bytes.
    pub fn page_bytes(&self) -> Result<u64> {
        Ok(page_bytes(&self.db)?.cast_unsigned())
    }

    /// Size of the page cache in bytes.
    pub fn cache_bytes(&self) -> u64 {
        self.cache
    }

    /// Time by activity since it was opened.
    pub fn spent(&self) -> Spent {
        self.spent.get()
    }

    /// Runs `work` and counts the pages that were read because they were not in the cache, including temporary files;
    /// `None` if the system does not count reads. `work` must not read anything else.
    pub fn count_reads<T>(&self, work: impl FnOnce() -> T) -> (T, Option<u64>) {
        let is_server = self.db.sqlite().is_none();
        let count = || if is_server { self.blocks_read().ok() } else { reading_calls() };
        let before = count();
        let done = work();
        // In SQLite, reading the counter is a read itself.
        let own = u64::from(!is_server);
        let reads = before.zip(count()).map(|(before, after)| after.saturating_sub(before + own));
        (done, reads)
    }

    /// Number of blocks of the tables that the server had to read, and of temporary files that it wrote.
    fn blocks_read(&self) -> Result<u64> {
        self.db.execute_batch("select pg_stat_force_next_flush()")?;
        let sql = "select (sum(heap_blks_read + coalesce(idx_blks_read, 0)) + (select temp_bytes
                           / current_setting('block_size')::bigint from pg_stat_database
                           where datname = current_database()))::bigint
                   from pg_statio_user_tables where relname in ('stat', 'blob', 'document', 'taxonomy')";
        Ok(self.db.query_row(sql, (), |row| row.get::<i64>(0))?.cast_unsigned())
    }

    fn children(&self, c0: TopicId) -> Result<&[Child]> {
        self.families.get(&c0).map(Vec::as_slice).ok_or(Error::Untrained(c0))
    }

    fn mark(&self, topic: TopicId) -> Mark {
        self.marks.get(&topic).copied().unwrap_or_default()
    }

    fn spend(&self, more: Spent) {
        let spent = self.spent.get();
        self.spent.set(Spent {
            probe: spent.probe + more.probe,
            scan: spent.scan + more.scan,
            compute: spent.compute + more.compute,
        });
    }

    fn probe_stat(&self, c0: TopicId, term: TermId, records: &mut Vec<(TopicId, f64)>) -> Result<()> {
        let sql = "select kcid, logtheta from stat where pcid = ?1 and tid = ?2 order by kcid";
        let mut probe = self.db.prepare(sql)?;
        let mut rows = probe.query(params![c0.0, term.0])?;
        while let Some(row) = rows.next()? {
            records.push((TopicId(row.get(0)?), row.get(1)?));
        }
        Ok(())
    }

    fn probe_blob(&self, c0: TopicId, term: TermId, records: &mut Vec<(TopicId, f64)>) -> Result<()> {
        let mut probe = self.db.prepare("select records from blob where pcid = ?1 and tid = ?2")?;
        let mut rows = probe.query(params![c0.0, term.0])?;
        if let Some(row) = rows.next()? {
            let bytes = row.blob(0)?.ok_or_else(|| damaged(c0, term))?;
            let (whole, []) = bytes.as_chunks::<RECORD>() else { return Err(damaged(c0, term)) };
            records.extend(whole.iter().map(record));
        }
        Ok(())
    }
}

/// The nodes whose children all have statistics.
fn families(db: &Connection) -> Result<BTreeMap<TopicId, Vec<Child>>> {
    let sql = "select pcid, kcid, logprior, logdenom from taxonomy \
               where pcid is not null \
                 and pcid not in (select pcid from taxonomy where logprior is null and pcid is not null) \
               order by pcid, kcid";
    let mut read = db.prepare(sql)?;
    let mut rows = read.query(())?;
    let mut families = BTreeMap::<_, Vec<_>>::new();
    while let Some(row) = rows.next()? {
        let child = Child { topic: TopicId(row.get(1)?), logprior: row.get(2)?, logdenom: row.get(3)? };
        families.entry(TopicId(row.get(0)?)).or_default().push(child);
    }
    Ok(families)
}

/// The cache size, which SQLite has in pages, or in kibibytes as a negative number.
fn cache_bytes(db: &Connection) -> Result<u64> {
    let sql = match db {
        Connection::Sqlite(_) => "pragma cache_size",
        Connection::Postgres(_) => "select setting::bigint from pg_settings where name = 'shared_buffers'",
    };
    let size: i64 = db.query_row(sql, (), |row| row.get(0))?;
    Ok(if size < 0 {
        size.unsigned_abs() * 1024
    } else {
        size.unsigned_abs() * page_bytes(db)?.unsigned_abs()
    })
}

fn page_bytes(db: &Connection) -> Result<i64> {
    let sql = match db {
        Connection::Sqlite(_) => "pragma page_size",
        Connection::Postgres(_) => "select current_setting('block_size')::bigint",
    };
    db.query_row(sql, (), |row| row.get(0))
}

/// The second half of V Fig. 2: from the probed records to log Pr\[ci | c0, d\].
fn judge(children: &[Child], found: &[ProbedTerm], records: &[(TopicId, f64)]) -> Vec<(TopicId, f64)> {
    let mut judged: Vec<_> = children.iter().map(|child| (child.topic, child.logprior)).collect();
    // A term without a record is not in F(c0).
    for term in found.iter().filter(|term| term.from < term.to) {
        let mut records = records[term.from..term.to].iter().peekable();
        for (child, (_, sum)) in children.iter().zip(&mut judged) {
            // Records are sorted by id, like the children.
            let record = records.next_if(|(topic, _)| *topic == child.topic);
            *sum += term.freq * record.map_or(-child.logdenom, |(_, logtheta)| *logtheta);
        }
    }
    let total = log_sum(judged.iter().map(|(_, log_probability)| *log_probability));
    judged.iter_mut().for_each(|(_, log_probability)| *log_probability -= total);
    judged
}

/// The logarithm of a sum of exponentials.
fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    most + logs.map(|log| (log - most).exp()).sum::<f64>().ln()
}

fn record(bytes: &[u8; RECORD]) -> (TopicId, f64) {
    let [a, b, logtheta @ ..] = *bytes;
    (TopicId(u16::from_le_bytes([a, b])), f64::from_le_bytes(logtheta))
}

/// Number of reads of this thread from any file.
fn reading_calls() -> Option<u64> {
    let mut text = [0; 512];
    let length = File::open("/proc/thread-self/io").ok()?.read(&mut text).ok()?;
    let text = str::from_utf8(&text[..length]).ok()?;
    text.lines().find_map(|line| line.strip_prefix("syscr: "))?.parse().ok()
}

fn damaged(c0: TopicId, term: TermId) -> Error {
    Error::Damaged(format!("blob cannot be read at pcid {}, tid {}", c0.0, term.0))
}
