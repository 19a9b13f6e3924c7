//! V Fig. 8 (d): time of the distiller's variants on the link graph of a crawl, each from the tables in the database to
//! scores.

mod graph;

use std::collections::BTreeMap;
use std::time::Instant;

use porthole_crawl::{CrawlError, DistillError, Engine, Snapshot};
use porthole_store::{DatabaseLocation, SqlDistiller, SqlScores, TableReader};
use porthole_types::UrlId;
use serde::Serialize;

use self::graph::crawl;
use porthole_report::svg::{Axis, Chart, ChartBar, Marks, Scale, page};
use porthole_webs::synth::SynthError;

/// Share of the pages that may be authorities.
const RHO: f64 = 0.15;

/// Convergence criteria, as in the distiller in memory.
const TOLERANCE: f64 = 1e-9;
const MOST_ITERATIONS: usize = 200;

/// Setup of the benchmark.
#[derive(Clone, Copy, Debug)]
pub struct DistillerSetup {
    /// Number of pages to crawl on a synthetic web.
    pub pages: u64,
    /// Number of runs of each variant, interleaved.
    pub rounds: u16,
    /// Seed of the synthetic web.
    pub seed: u64,
}

impl DistillerSetup {
    /// The default setup.
    pub const USUAL: DistillerSetup = DistillerSetup { pages: 5_000, rounds: 5, seed: 1 };

    /// Crawls, and measures every variant, in an empty database or, without one, in a temporary file. `step` is called
    /// with a description of each step.
    ///
    /// # Errors
    /// If the database cannot be written or read.
    pub async fn run(
        self,
        database: Option<DatabaseLocation>,
        step: &mut dyn FnMut(&str),
    ) -> Result<DistillerFigures, DistillerBenchError> {
        let folder = tempfile::tempdir()?;
        let database = database.unwrap_or_else(|| DatabaseLocation::File(folder.path().join("crawl.db")));
        step("crawling a synthetic web");
        crawl(&database, self.pages, self.seed).await?;
        run(&database, self.rounds, &mut |round| step(&format!("round {} of {}", round + 1, self.rounds)))
    }
}

/// Errors of the benchmark.
#[derive(Debug, thiserror::Error)]
pub enum DistillerBenchError {
    /// The temporary database could not be created.
    #[error("cannot create the temporary database: {0}")]
    Scratch(#[from] std::io::Error),
    /// The synthetic web could not be created.
    #[error(transparent)]
    Web(#[from] SynthError),
    /// The web could not be crawled.
    #[error(transparent)]
    Crawl(#[from] CrawlError),
    /// A database error.
    #[error(transparent)]
    Store(#[from] porthole_store::Error),
    /// A variant failed.
    #[error(transparent)]
    Distill(#[from] DistillError),
}

/// Results of the benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DistillerFigures {
    /// Number of URLs in the graph.
    pub urls: usize,
    /// Number of fetched pages.
    pub pages: usize,
    /// Number of distinct links.
    pub links: usize,
    /// Largest difference between two variants' scores of a page.
    pub disagreement: f64,
    /// The variants: the papers' two, and two in memory.
    pub variants: Vec<DistillerVariant>,
}

/// A variant of the distiller; times are medians.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DistillerVariant {
    /// Its name.
    pub name: &'static str,
    /// Milliseconds to read the graph from the database and compute link weights there.
    pub reading: f64,
    /// Milliseconds to compute the scores.
    pub finding: f64,
    /// Number of iterations until convergence.
    pub iterations: usize,
}

impl DistillerVariant {
    /// Milliseconds in all.
    pub fn total(&self) -> f64 {
        self.reading + self.finding
    }
}

/// Runs every variant `rounds` times, interleaved; `progress` is called with each round.
fn run(
    database: &DatabaseLocation,
    rounds: u16,
    progress: &mut dyn FnMut(u16),
) -> Result<DistillerFigures, DistillerBenchError> {
    let reader = TableReader::open_at(database)?;
    let mut runs: Vec<Vec<VariantRun>> = VARIANTS.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        progress(round);
        for ((_, measure), runs) in VARIANTS.iter().zip(&mut runs) {
            runs.push(measure(&reader)?);
        }
    }
    let snapshot = Snapshot::read(&reader)?;
    let graph = snapshot.graph();
    let last: Vec<&VariantRun> = runs.iter().filter_map(|runs| runs.last()).collect();
    Ok(DistillerFigures {
        urls: graph.pages(),
        pages: (0..graph.pages() as u32).filter(|page| graph.fetched(*page)).count(),
        links: graph.links(),
        disagreement: last.iter().map(|run| difference(&run.hubs, &last[0].hubs)).fold(0.0, f64::max),
        variants: VARIANTS.iter().zip(&mut runs).map(|((name, _), runs)| variant(name, runs)).collect(),
    })
}

/// One run of a variant.
struct VariantRun {
    reading: f64,
    finding: f64,
    iterations: usize,
    hubs: BTreeMap<UrlId, f64>,
}

type Measure = fn(&TableReader) -> Result<VariantRun, DistillerBenchError>;

const WALK: &str = "edge walk in the database";
const JOIN: &str = "joins in the database";

/// All variants.
const VARIANTS: &[(&str, Measure)] = &[
    (WALK, |reader| in_database(reader, SqlDistiller::walk)),
    (JOIN, |reader| in_database(reader, SqlDistiller::run)),
    ("edge walk in memory", |reader| in_memory(reader, Engine::Walk)),
    ("native", |reader| in_memory(reader, Engine::Native)),
];

fn in_memory(reader: &TableReader, engine: Engine) -> Result<VariantRun, DistillerBenchError> {
    let start = Instant::now();
    let snapshot = Snapshot::read(reader)?;
    let reading = millis(start);
    let start = Instant::now();
    let scores = snapshot.scores(RHO, engine)?;
    let finding = millis(start);
    let hubs = snapshot.stored(&scores.hubs).into_iter().collect();
    Ok(VariantRun { reading, finding, iterations: scores.iterations, hubs })
}

/// Computes scores inside the database, to a tolerance or a maximum number of iterations.
type BySql = fn(SqlDistiller, f64, usize) -> porthole_store::Result<SqlScores>;

fn in_database(reader: &TableReader, find: BySql) -> Result<VariantRun, DistillerBenchError> {
    // The candidates for authorities are computed in memory; that is not measured.
    let snapshot = Snapshot::read(reader)?;
    let start = Instant::now();
    let distiller = snapshot.sql_distiller(reader, RHO)?;
    let reading = millis(start);
    let start = Instant::now();
    let scores = find(distiller, TOLERANCE, MOST_ITERATIONS)?;
    let finding = millis(start);
    Ok(VariantRun {
        reading,
        finding,
        iterations: scores.iterations,
        hubs: scores.hubs.into_iter().collect(),
    })
}

fn millis(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn difference(one: &BTreeMap<UrlId, f64>, other: &BTreeMap<UrlId, f64>) -> f64 {
    let of = |scores: &BTreeMap<UrlId, f64>, oid: &UrlId| scores.get(oid).copied().unwrap_or(0.0);
    let all = one.keys().chain(other.keys());
    all.map(|oid| (of(one, oid) - of(other, oid)).abs()).fold(0.0, f64::max)
}

fn variant(name: &'static str, runs: &mut [VariantRun]) -> DistillerVariant {
    let median = |of: &dyn Fn(&VariantRun) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(of).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    DistillerVariant {
        name,
        reading: median(&|run| run.reading),
        finding: median(&|run| run.finding),
        iterations: runs.last().map_or(0, |run| run.iterations),
    }
}

impl DistillerFigures {
    /// Speed ratio of joins to the edge walk, both in the database; the paper reports a factor of three.
    pub fn join_over_walk(&self) -> Option<f64> {
        let finding =
            |name: &str| self.variants.iter().find(|variant| variant.name == name).map(|of| of.finding);
        Some(finding(WALK)? / finding(JOIN)?)
    }

    /// The figure as an SVG.
    pub fn svg(&self) -> String {
        let bar = |variant: &DistillerVariant| ChartBar {
            name: variant.name.to_owned(),
            parts: vec![variant.reading, variant.finding],
            note: format!("{} iterations", variant.iterations),
        };
        page(&[Chart {
            title: format!("(d) distillation of {} pages and {} links", self.pages, self.links),
            x: Axis { label: "variant".into(), scale: Scale::Linear },
            y: Axis { label: "milliseconds".into(), scale: Scale::Linear },
            marks: Marks::Bars {
                parts: ["reading the graph", "finding the scores"].map(str::to_owned).to_vec(),
                bars: self.variants.iter().map(bar).collect(),
            },
        }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variants_agree_on_a_small_crawl() {
        let setup = DistillerSetup { pages: 300, rounds: 2, seed: 1 };
        let figures = pollster::block_on(setup.run(None, &mut |_| ())).unwrap();
        assert!(figures.disagreement < 1e-9, "{figures:?}");
        assert!(figures.pages >= 200 && figures.links > figures.pages, "{figures:?}");
        assert!(figures.variants.iter().all(|variant| variant.iterations > 2), "{figures:?}");
        assert!(figures.join_over_walk().is_some());
        assert!(figures.svg().contains("edge walk in the database"));
    }
}
