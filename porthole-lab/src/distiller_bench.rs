//! V Fig. 8 (d): how long the variants of the distiller take on the link graph of a crawl, each from the tables in the
//! database to scores.

mod graph;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use porthole_crawl::{CrawlError, DistillError, Engine, Snapshot};
use porthole_store::{SqlDistiller, SqlScores, SqliteReader};
use porthole_types::UrlId;
use serde::Serialize;

use self::graph::crawl;
use porthole_report::svg::{Axis, Bar, Chart, Marks, Scale, page};
use porthole_webs::synth::SynthError;

/// The share of the pages that may be authorities.
const RHO: f64 = 0.15;

/// When scores are good enough, as the distiller in memory has it.
const TOLERANCE: f64 = 1e-9;
const MOST_ITERATIONS: usize = 200;

/// What is measured on.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Pages that are crawled on a synthetic web for the graph.
    pub pages: u64,
    /// How often each variant is run, in turns.
    pub rounds: u16,
    /// Seed of the synthetic web.
    pub seed: u64,
}

impl Setup {
    /// What is measured on if nothing else is said.
    pub const USUAL: Setup = Setup { pages: 5_000, rounds: 5, seed: 1 };

    /// Crawls, and measures every variant. `step` hears what is done next.
    ///
    /// # Errors
    /// If the database cannot be written or read.
    pub async fn run(self, step: &mut dyn FnMut(&str)) -> Result<Figures, BenchError> {
        let folder = tempfile::tempdir()?;
        let database = folder.path().join("crawl.db");
        step("crawling a synthetic web");
        crawl(&database, self.pages, self.seed).await?;
        run(&database, self.rounds, &mut |round| step(&format!("round {} of {}", round + 1, self.rounds)))
    }
}

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// There is no room for the database.
    #[error("no room for the database: {0}")]
    Scratch(#[from] std::io::Error),
    /// The web cannot be made.
    #[error(transparent)]
    Web(#[from] SynthError),
    /// The web could not be crawled.
    #[error(transparent)]
    Crawl(#[from] CrawlError),
    /// The database refused.
    #[error(transparent)]
    Store(#[from] porthole_store::Error),
    /// A variant failed.
    #[error(transparent)]
    Distill(#[from] DistillError),
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// URLs of the graph.
    pub urls: usize,
    /// Those of them that were fetched.
    pub pages: usize,
    /// Different links.
    pub links: usize,
    /// The largest difference between two scores of a page.
    pub disagreement: f64,
    /// The variants: the papers' two, and two in memory.
    pub variants: Vec<Variant>,
}

/// A variant of the distiller; times are medians.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variant {
    /// Its name.
    pub name: &'static str,
    /// Milliseconds to get at the graph in the database, and to weigh its links there.
    pub reading: f64,
    /// Milliseconds from there to scores.
    pub finding: f64,
    /// Iterations until the scores hardly changed.
    pub iterations: usize,
}

impl Variant {
    /// Milliseconds in all.
    pub fn total(&self) -> f64 {
        self.reading + self.finding
    }
}

/// Runs every variant so often, in turns; `progress` is told of each round.
fn run(database: &Path, rounds: u16, progress: &mut dyn FnMut(u16)) -> Result<Figures, BenchError> {
    let reader = SqliteReader::open(database)?;
    let mut runs: Vec<Vec<Run>> = VARIANTS.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        progress(round);
        for ((_, measure), runs) in VARIANTS.iter().zip(&mut runs) {
            runs.push(measure(&reader)?);
        }
    }
    let snapshot = Snapshot::read(&reader)?;
    let graph = snapshot.graph();
    let last: Vec<&Run> = runs.iter().filter_map(|runs| runs.last()).collect();
    Ok(Figures {
        urls: graph.pages(),
        pages: (0..graph.pages() as u32).filter(|page| graph.fetched(*page)).count(),
        links: graph.links(),
        disagreement: last.iter().map(|run| difference(&run.hubs, &last[0].hubs)).fold(0.0, f64::max),
        variants: VARIANTS.iter().zip(&mut runs).map(|((name, _), runs)| variant(name, runs)).collect(),
    })
}

/// One run of a variant.
struct Run {
    reading: f64,
    finding: f64,
    iterations: usize,
    hubs: BTreeMap<UrlId, f64>,
}

type Measure = fn(&SqliteReader) -> Result<Run, BenchError>;

const WALK: &str = "edge walk in the database";
const JOIN: &str = "joins in the database";

/// All variants.
const VARIANTS: &[(&str, Measure)] = &[
    (WALK, |reader| in_database(reader, SqlDistiller::walk)),
    (JOIN, |reader| in_database(reader, SqlDistiller::run)),
    ("edge walk in memory", |reader| in_memory(reader, Engine::Walk)),
    ("native", |reader| in_memory(reader, Engine::Native)),
];

fn in_memory(reader: &SqliteReader, engine: Engine) -> Result<Run, BenchError> {
    let start = Instant::now();
    let snapshot = Snapshot::read(reader)?;
    let reading = millis(start);
    let start = Instant::now();
    let scores = snapshot.scores(RHO, engine)?;
    let finding = millis(start);
    let hubs = snapshot.stored(&scores.hubs).into_iter().collect();
    Ok(Run { reading, finding, iterations: scores.iterations, hubs })
}

/// Finds scores inside the database, to a tolerance and in so many iterations.
type BySql = fn(SqlDistiller, f64, usize) -> porthole_store::Result<SqlScores>;

fn in_database(reader: &SqliteReader, find: BySql) -> Result<Run, BenchError> {
    // Who may be an authority is found in memory; that is not what is measured.
    let snapshot = Snapshot::read(reader)?;
    let start = Instant::now();
    let distiller = snapshot.sql_distiller(reader, RHO)?;
    let reading = millis(start);
    let start = Instant::now();
    let scores = find(distiller, TOLERANCE, MOST_ITERATIONS)?;
    let finding = millis(start);
    Ok(Run { reading, finding, iterations: scores.iterations, hubs: scores.hubs.into_iter().collect() })
}

fn millis(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn difference(one: &BTreeMap<UrlId, f64>, other: &BTreeMap<UrlId, f64>) -> f64 {
    let of = |scores: &BTreeMap<UrlId, f64>, oid: &UrlId| scores.get(oid).copied().unwrap_or(0.0);
    let all = one.keys().chain(other.keys());
    all.map(|oid| (of(one, oid) - of(other, oid)).abs()).fold(0.0, f64::max)
}

fn variant(name: &'static str, runs: &mut [Run]) -> Variant {
    let median = |of: &dyn Fn(&Run) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(of).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    Variant {
        name,
        reading: median(&|run| run.reading),
        finding: median(&|run| run.finding),
        iterations: runs.last().map_or(0, |run| run.iterations),
    }
}

impl Figures {
    /// How many times as quick joins are as the edge walk, both in the database; the paper has a factor of three.
    pub fn join_over_walk(&self) -> Option<f64> {
        let finding =
            |name: &str| self.variants.iter().find(|variant| variant.name == name).map(|of| of.finding);
        Some(finding(WALK)? / finding(JOIN)?)
    }

    /// The figure as a drawing.
    pub fn svg(&self) -> String {
        let bar = |variant: &Variant| Bar {
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
        let setup = Setup { pages: 300, rounds: 2, seed: 1 };
        let figures = pollster::block_on(setup.run(&mut |_| ())).unwrap();
        assert!(figures.disagreement < 1e-9, "{figures:?}");
        assert!(figures.pages >= 200 && figures.links > figures.pages, "{figures:?}");
        assert!(figures.variants.iter().all(|variant| variant.iterations > 2), "{figures:?}");
        assert!(figures.join_over_walk().is_some());
        assert!(figures.svg().contains("edge walk in the database"));
    }
}
