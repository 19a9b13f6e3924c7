//! Speed of the native critic from raw text, for comparison with another program.

use std::path::Path;

use porthole_page::Extractor;
use porthole_topic::{
    ClassifierShape, Critic, Statistics, Taxonomy, TermCounting, TopicExample, TrainingOptions, Tuning,
    Tunings, train,
};
use porthole_types::{CanonicalUrl, Headers, TermId, TopicId};
use serde::Serialize;

use crate::classifier_bench::SyntheticModel;
use crate::collections::{Collection, CollectionError, KeepText, LabelledDocument};

/// Measurements of one round.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Speed {
    /// Number of training articles.
    pub trained: usize,
    /// Seconds of CPU from their bytes to a model.
    pub train_cpu_seconds: f64,
    /// Number of judged articles.
    pub judged: usize,
    /// Seconds of CPU from their bytes to their groups.
    pub judge_cpu_seconds: f64,
    /// Share of the judged articles that were assigned to their group.
    pub accuracy: f64,
}

/// The result of cross-validation on the training articles; see `porthole lab critics`.
const CHOSEN: Tuning = Tuning {
    counting: TermCounting::Share,
    smoothing: 0.1,
    features: usize::MAX,
    calibration: porthole_topic::Calibration::NONE,
    topical: 1.0,
};

/// Trains on and judges 20 Newsgroups, flat, on one core, `rounds` times.
pub fn measure(corpora: &Path, rounds: usize) -> Result<Vec<Speed>, CollectionError> {
    let collection = Collection::newsgroups20(corpora, KeepText::Text)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
    Ok(pool.install(|| (0..rounds).map(|_| round(&collection)).collect()))
}

fn round(collection: &Collection) -> Speed {
    let (tree, topics) = super::tree(collection);
    let (training, judged): (Vec<_>, Vec<_>) =
        collection.documents.iter().partition(|document| document.group == "train");
    let topic = |document: &LabelledDocument| topics[document.topics[0] as usize];
    let started = cpu_seconds();
    let mut critic = trained(&tree, training.iter().map(|document| (topic(document), bytes(document))));
    let train_cpu_seconds = cpu_seconds() - started;
    let started = cpu_seconds();
    let mut reader = ArticleReader::new();
    let right =
        judged.iter().filter(|document| critic.best(&reader.counts(bytes(document))).0 == topic(document));
    let right = right.count();
    let judge_cpu_seconds = cpu_seconds() - started;
    Speed {
        trained: training.len(),
        train_cpu_seconds,
        judged: judged.len(),
        judge_cpu_seconds,
        accuracy: right as f64 / judged.len().max(1) as f64,
    }
}

fn trained<'a>(tree: &Taxonomy, articles: impl Iterator<Item = (TopicId, &'a [u8])>) -> Critic {
    let mut reader = ArticleReader::new();
    let mut statistics = Statistics::default();
    for (topic, bytes) in articles {
        statistics.add(TopicExample { topic, counts: &reader.counts(bytes) });
    }
    let options = TrainingOptions { shape: ClassifierShape::Flat, ..TrainingOptions::default() };
    Critic::new(train(tree, &statistics, &Tunings::new(), &CHOSEN, &options), tree)
}

fn bytes(document: &LabelledDocument) -> &[u8] {
    document.text.as_deref().unwrap_or_default()
}

/// Reads articles with one extractor.
struct ArticleReader {
    extractor: Extractor,
    anywhere: CanonicalUrl,
    headers: Headers,
}

impl ArticleReader {
    fn new() -> Self {
        ArticleReader {
            extractor: Extractor::default(),
            anywhere: CanonicalUrl::parse("http://localhost/").expect("a URL"),
            headers: [("Content-Type", "text/plain")].into_iter().collect(),
        }
    }

    fn counts(&mut self, bytes: &[u8]) -> Vec<(TermId, u32)> {
        self.extractor.extract(&self.anywhere, &self.headers, bytes).term_counts()
    }
}

/// CPU time of this process in seconds; 0 if the system does not provide it.
fn cpu_seconds() -> f64 {
    // After the name, which may contain anything, the 12th and 13th fields are the ticks in user and system mode.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind = stat.rfind(')').map_or("", |at| &stat[at + 1..]);
    let ticks: f64 =
        behind.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / 100.0
}

/// Cost of judging in a tree.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Scaling {
    /// Topics of the tree.
    pub topics: usize,
    /// Number of good topics.
    pub good: usize,
    /// Mean number of decisions evaluated for a page.
    pub decisions: f64,
    /// Microseconds for R(d) and the best leaf of a page.
    pub micros: f64,
}

/// Judges the same synthetic documents in trees of several sizes, with few and many good topics: the time depends on
/// the number of evaluated decisions, not on the size of the tree.
pub fn scaling() -> Vec<Scaling> {
    let cases = [(125, 1), (500, 1), (2_000, 1), (2_000, 4), (2_000, 12)];
    cases.into_iter().map(|(topics, good)| judged(topics, good)).collect()
}

fn judged(topics: usize, good: usize) -> Scaling {
    let made = SyntheticModel::new(topics, 100_000, 1);
    let mut tree = Taxonomy::from_rows(made.topics()).expect("a tree");
    let marked: Vec<TopicId> = tree.good().skip(good).collect();
    marked.into_iter().for_each(|id| tree.unmark(id).expect("it is good"));
    let mut critic = Critic::new(made.model(), &tree);
    let documents = made.documents(500);
    let mut decisions = 0;
    let started = std::time::Instant::now();
    for document in &documents {
        critic.judge(&document.terms);
        decisions += critic.decided();
    }
    let pages = documents.len() as f64;
    let micros = started.elapsed().as_secs_f64() * 1e6 / pages;
    Scaling { topics, good: tree.good().count(), decisions: decisions as f64 / pages, micros }
}
