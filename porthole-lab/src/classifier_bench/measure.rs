//! Runs the variants and measures their time and misses.

use std::hint::black_box;
use std::time::Instant;

use porthole_store::{
    DatabaseLocation, DocumentRow, ProbeTable, Prober, Result, Spent, Store, TableStore, WorkspaceWriter,
};
use porthole_topic::Critic;
use porthole_types::{Mark, TopicId, TopicRow};

use super::figures::{
    BenchSize, CacheSweepPoint, ClassifierFigures, ClassifierVariant, DocumentCost, LineFit, OutputPoint,
};
use super::rows::table_rows;

/// A benchmark with its database.
pub struct ClassifierBench<'a> {
    database: DatabaseLocation,
    topics: &'a [TopicRow],
    /// The native critic, for comparison.
    critic: &'a mut Critic,
    documents: &'a [DocumentRow],
}

/// Cache size in (a), as a share of STAT.
const CACHE: f64 = 0.05;
/// Cache sizes in (b).
const SWEEP: [f64; 8] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 1.0];
/// Number of documents that SingleProbe is measured on: it is slow, and its cost per document is constant.
const SINGLE: usize = 100;
/// The same in (b), where there are many points.
const SINGLE_IN_SWEEP: usize = 40;
/// Number of nodes in (c), and the divisors of the number of documents.
const OUTPUT_NODES: usize = 6;
const OUTPUT_SHARES: [usize; 4] = [4, 3, 2, 1];
/// Nodes and documents on which the variants are compared with each other.
const COMPARED: usize = 5;
/// Number of repetitions in (c); the shortest time counts.
const TAKES: usize = 3;

impl<'a> ClassifierBench<'a> {
    /// Fills an empty database with a critic's model. The critic should be uncalibrated, for a tree of these topics.
    pub fn new(
        database: DatabaseLocation,
        topics: &'a [TopicRow],
        critic: &'a mut Critic,
        documents: &'a [DocumentRow],
    ) -> Result<Self> {
        let mut store = TableStore::open_at(&database)?;
        store.set_topics(topics)?;
        let (nodes, stats) = table_rows(critic.model());
        store.set_statistics(&nodes, &mut stats.into_iter())?;
        drop(store);
        let bench = ClassifierBench { database, topics, critic, documents };
        bench.set_documents(documents)?;
        Ok(bench)
    }

    /// Runs all measurements. `step` is called with a description of each step.
    pub fn run(&mut self, step: &mut dyn FnMut(&str)) -> Result<ClassifierFigures> {
        let size = self.size()?;
        step("the variants, with a small cache");
        let mut variants = self.variants()?;
        let disagreement = self.disagreement()?;
        variants.push(self.native());
        let mut sweep = Vec::new();
        // The cache of a server is that of its configuration.
        let caches = match self.database {
            DatabaseLocation::File(_) => SWEEP.to_vec(),
            DatabaseLocation::Postgres(_) => vec![size.cache_bytes as f64 / size.stat_bytes as f64],
        };
        for cache in caches {
            step(&format!("a cache of {:.0}% of STAT", cache * 100.0));
            sweep.push(self.sweep_point(cache)?);
        }
        step("output sizes");
        let output = self.output()?;
        let points: Vec<_> = output.iter().map(|point| (point.output() as f64 / 1e3, point.millis)).collect();
        Ok(ClassifierFigures { size, variants, sweep, output, fit: LineFit::of(&points), disagreement })
    }

    fn set_documents(&self, documents: &[DocumentRow]) -> Result<()> {
        let mut store = TableStore::open_at(&self.database)?;
        store.set_documents(&mut documents.iter().cloned())?;
        // Checkpoint into the database file: pages in the log are read differently.
        store.tidy()
    }

    fn size(&self) -> Result<BenchSize> {
        let prober = self.prober(CACHE)?;
        let page = prober.page_bytes()?;
        let stat = prober.pages(ProbeTable::Stat)?;
        let terms: usize = self.documents.iter().map(|document| document.terms.len()).sum();
        Ok(BenchSize {
            nodes: self.topics.len(),
            path_nodes: self.topics.iter().filter(|row| row.mark == Mark::Path).count(),
            stat_bytes: stat * page,
            blob_bytes: prober.pages(ProbeTable::Blob)? * page,
            cache_bytes: prober.cache_bytes(),
            documents: self.documents.len(),
            terms: terms as f64 / self.documents.len() as f64,
        })
    }

    /// A prober with an empty cache of a share of STAT.
    fn prober(&self, cache: f64) -> Result<Prober> {
        let pages = Prober::open_at(&self.database, None)?.pages(ProbeTable::Stat)?;
        Prober::open_at(&self.database, Some(share(pages, cache)))
    }

    /// (a).
    fn variants(&self) -> Result<Vec<ClassifierVariant>> {
        let stat = self.single(ProbeTable::Stat, CACHE, SINGLE)?;
        let blob = self.single(ProbeTable::Blob, CACHE, SINGLE)?;
        let prober = self.prober(CACHE)?;
        let bulk = measured("BulkProbe", &prober, || prober.bulk_relevance())?;
        Ok(vec![stat, blob, bulk])
    }

    /// Largest relative difference in log Pr[ci | c0, d] between the variants.
    fn disagreement(&mut self) -> Result<f64> {
        let prober = self.prober(1.0)?;
        let path = self.topics.iter().filter(|row| row.mark == Mark::Path).take(COMPARED);
        let mut most = 0.0f64;
        for node in path {
            let bulk = prober.bulk_probe(node.id)?;
            for document in self.documents.iter().take(COMPARED) {
                let bulk = bulk.iter().filter(|judged| judged.did == document.did);
                let stat = prober.single_probe(ProbeTable::Stat, node.id, &document.terms)?;
                let blob = prober.single_probe(ProbeTable::Blob, node.id, &document.terms)?;
                let native = self.critic.children(node.id, &document.terms);
                let others = bulk.zip(stat).zip(blob);
                for ((_, native), ((bulk, (_, stat)), (_, blob))) in native.into_iter().zip(others) {
                    for other in [bulk.log_probability, stat, blob] {
                        most = most.max((other - native).abs() / native.abs().max(1.0));
                    }
                }
            }
        }
        Ok(most)
    }

    /// SingleProbe with a warm cache: after as many documents as are measured.
    fn single(&self, table: ProbeTable, cache: f64, documents: usize) -> Result<ClassifierVariant> {
        let name = match table {
            ProbeTable::Stat => "SingleProbe (STAT)",
            ProbeTable::Blob => "SingleProbe (BLOB)",
        };
        let prober = self.prober(cache)?;
        let judge = |document: &DocumentRow| {
            let terms = prober.document(document.did)?;
            prober.single_relevance(table, &terms)
        };
        let skipped = documents.min(self.documents.len() / 2);
        for document in &self.documents[..skipped] {
            judge(document)?;
        }
        let measured_ones = &self.documents[skipped..(skipped + documents).min(self.documents.len())];
        measured(name, &prober, || measured_ones.iter().map(judge).collect())
    }

    fn native(&mut self) -> ClassifierVariant {
        let started = Instant::now();
        for document in self.documents {
            black_box(self.critic.relevance(&document.terms));
        }
        let micros = started.elapsed().as_secs_f64() * 1e6 / self.documents.len() as f64;
        let cost = DocumentCost { micros, misses: Some(0.0) };
        let documents = self.documents.len();
        ClassifierVariant { name: "native critic", documents, cost, probe: 0.0, scan: 0.0, cpu: micros }
    }

    /// (b) at one size.
    fn sweep_point(&self, cache: f64) -> Result<CacheSweepPoint> {
        let single = self.single(ProbeTable::Blob, cache, SINGLE_IN_SWEEP)?;
        let prober = self.prober(cache)?;
        let bulk = measured("BulkProbe", &prober, || prober.bulk_relevance())?;
        Ok(CacheSweepPoint { cache, single: single.cost, bulk: bulk.cost })
    }

    /// (c), with a cache that holds everything, because only time is measured.
    fn output(&self) -> Result<Vec<OutputPoint>> {
        // In rounds, so that other load on the machine does not affect a single point.
        let mut points = self.output_round()?;
        for _ in 1..TAKES {
            for (point, again) in points.iter_mut().zip(self.output_round()?) {
                point.millis = point.millis.min(again.millis);
            }
        }
        Ok(points)
    }

    fn output_round(&self) -> Result<Vec<OutputPoint>> {
        let mut points = Vec::new();
        for part in OUTPUT_SHARES {
            let documents = &self.documents[..self.documents.len().div_ceil(part)];
            self.set_documents(documents)?;
            let prober = self.prober(1.0)?;
            for (topic, children) in self.output_nodes() {
                let started = Instant::now();
                prober.bulk_probe(topic)?;
                let millis = started.elapsed().as_secs_f64() * 1e3;
                points.push(OutputPoint { topic: topic.0, children, documents: documents.len(), millis });
            }
        }
        Ok(points)
    }

    /// Nodes with few and with many children, evenly spaced.
    fn output_nodes(&self) -> Vec<(TopicId, usize)> {
        let children =
            |id| self.topics.iter().filter(|row| row.parent == id && row.id != TopicId::ROOT).count();
        let mut internal: Vec<_> = self.topics.iter().map(|row| (row.id, children(row.id))).collect();
        internal.retain(|&(_, children)| children > 1);
        internal.sort_by_key(|&(id, children)| (children, id));
        let last = internal.len().saturating_sub(1);
        let steps = OUTPUT_NODES.min(internal.len());
        (0..steps).map(|step| internal[step * last / (steps - 1).max(1)]).collect()
    }
}

/// Judges documents, and measures time and misses.
fn measured<T>(
    name: &'static str,
    prober: &Prober,
    judge: impl FnOnce() -> Result<Vec<T>>,
) -> Result<ClassifierVariant> {
    let (before, started) = (prober.spent(), Instant::now());
    let (judged, misses) = prober.count_reads(judge);
    let (documents, micros) = (judged?.len(), started.elapsed().as_secs_f64() * 1e6);
    let each = |micros: f64| micros / documents as f64;
    let spent =
        |of: fn(Spent) -> std::time::Duration| each((of(prober.spent()) - of(before)).as_secs_f64() * 1e6);
    let (probe, scan) = (spent(|spent| spent.probe), spent(|spent| spent.scan));
    let cost = DocumentCost { micros: each(micros), misses: misses.map(|misses| each(misses as f64)) };
    Ok(ClassifierVariant { name, documents, cost, probe, scan, cpu: cost.micros - probe - scan })
}

/// Number of cache pages for a share of a table.
fn share(pages: u64, share: f64) -> u32 {
    ((pages as f64 * share) as u32).max(10)
}
