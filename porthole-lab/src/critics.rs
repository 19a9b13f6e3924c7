//! Quality of critics: accuracy and calibration on the labelled collections, always on held-out documents.

pub mod speed;

use std::path::Path;
use std::time::Instant;

use porthole_topic::logistic::train_logistic;
use porthole_topic::{
    ClassifierShape, Critic, Statistics, Taxonomy, TermCounting, TermFrequencies, TopicExample,
    TrainingOptions, Tuning, Tunings, fingerprint, train, tune_all,
};
use porthole_types::{TermId, TopicId};
use serde::Serialize;

use crate::collections::{
    Collection, CollectionError, KeepText, LabelledDocument, WEBKB_CLASSES, WEBKB_UNIVERSITIES,
};
use porthole_report::svg::{self, Axis, Chart, Marks, Scale, Series};

/// Results of all critics.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CriticsReport {
    /// One row an experiment and critic.
    pub rows: Vec<CriticRow>,
    /// Accuracy of topic proposals for held-out pages.
    pub proposals: Option<Proposals>,
}

/// Accuracy of topic proposals.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Proposals {
    /// Number of topics with enough held-out pages.
    pub topics: usize,
    /// Number of pages that were given together.
    pub pages: usize,
    /// Share of the topics that were proposed first.
    pub first: f64,
    /// Share of the topics that were among the first three proposals.
    pub among_three: f64,
}

/// Results of one critic in one experiment.
#[derive(Clone, Debug, Serialize)]
pub struct CriticRow {
    /// Name of the collection.
    pub collection: &'static str,
    /// How the collection is split.
    pub protocol: &'static str,
    /// The critic.
    pub critic: &'static str,
    /// Number of judged documents.
    pub documents: usize,
    /// Share of them that were assigned to a right class.
    pub accuracy: f64,
    /// Mean of -ln Pr[right class].
    pub log_loss: f64,
    /// Hyperparameters chosen at the root, by split.
    pub chosen: Vec<String>,
    /// Seconds of training on all cores.
    pub train_seconds: f64,
    /// Accuracy of the best class, binned by its probability.
    pub reliability: Vec<Bin>,
    /// Mean distance of probability and accuracy.
    pub calibration_error: f64,
}

/// Judgments with similar probabilities.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Bin {
    /// Number of judgments.
    pub documents: usize,
    /// Mean probability of the best class.
    pub said: f64,
    /// Share that were right.
    pub right: f64,
}

/// A split of a collection: training documents, test documents.
type TrainTestSplit<'a> = (Vec<&'a LabelledDocument>, Vec<&'a LabelledDocument>);

/// Runs all experiments; `done` is called with each row.
pub fn measure(corpora: &Path, mut done: impl FnMut(&CriticRow)) -> Result<CriticsReport, CollectionError> {
    let mut report = CriticsReport::default();
    let mut add = |row: CriticRow| {
        done(&row);
        report.rows.push(row);
    };
    let newsgroups = Collection::newsgroups20(corpora, KeepText::Counts)?;
    let split = [by_date(&newsgroups)];
    for (protocol, shape) in
        [("by date, flat", ClassifierShape::Flat), ("by date, tree", ClassifierShape::Tree)]
    {
        experiment(&newsgroups, protocol, shape, &split, &mut add);
    }
    let webkb = Collection::webkb(corpora, KeepText::Counts)?.only(&WEBKB_CLASSES);
    experiment(
        &webkb,
        "a university left out, of four",
        ClassifierShape::Flat,
        &by_university(&webkb),
        &mut add,
    );
    let leaves = Collection::schools(corpora, KeepText::Counts)?;
    let proposals = proposals(&leaves, &five_fold(&leaves)[0]);
    let schools = leaves.top();
    experiment(&schools, "5-fold, 15 topics", ClassifierShape::Flat, &five_fold(&schools), &mut add);
    report.proposals = Some(proposals);
    Ok(report)
}

/// Reliability diagrams, one an experiment: accuracy of the best class against its probability. A calibrated critic is
/// on the diagonal.
pub fn reliability_svg(report: &CriticsReport) -> String {
    let experiments = report.rows.chunk_by(|a, b| (a.collection, a.protocol) == (b.collection, b.protocol));
    let chart = |rows: &[CriticRow]| {
        let of_critic = |row: &CriticRow| {
            // Too few documents give no reliable share.
            let bins = row.reliability.iter().filter(|bin| bin.documents >= 10);
            Series::line(row.critic, bins.map(|bin| (bin.said, bin.right)).collect())
        };
        let mut series: Vec<Series> = rows.iter().map(of_critic).collect();
        series.push(Series::line("what it should be", vec![(0.0, 0.0), (1.0, 1.0)]));
        let axis = |label: &str| Axis { label: label.to_owned(), scale: Scale::Linear };
        Chart {
            title: format!("{}, {}", rows[0].collection, rows[0].protocol),
            x: axis("probability of the best class"),
            y: axis("share that were right"),
            marks: Marks::Points(series),
        }
    };
    svg::page(&experiments.map(chart).collect::<Vec<_>>())
}

/// Number of pages given together for a proposal.
const SHOWN: usize = 5;

/// Proposals for held-out pages of each topic, by a critic that was trained on the others.
fn proposals(collection: &Collection, (training, held_out): &TrainTestSplit<'_>) -> Proposals {
    let (tree, topics) = tree(collection);
    let (mut critic, _) = naive_bayes(&tree, &examples(training, &topics), &TrainingOptions::default());
    let mut found = Proposals { topics: 0, pages: SHOWN, first: 0.0, among_three: 0.0 };
    for (number, &topic) in topics.iter().enumerate() {
        let of_topic = held_out.iter().filter(|document| document.topics.contains(&(number as u32)));
        let shown: Vec<&TermFrequencies> =
            of_topic.map(|document| document.counts.as_slice()).take(SHOWN).collect();
        if shown.len() == SHOWN && tree.is_leaf(topic) {
            let place = critic.propose(&tree, &shown, 3).iter().position(|proposal| proposal.topic == topic);
            found.topics += 1;
            found.first += f64::from(u8::from(place == Some(0)));
            found.among_three += f64::from(u8::from(place.is_some()));
        }
    }
    found.first /= found.topics.max(1) as f64;
    found.among_three /= found.topics.max(1) as f64;
    found
}

fn by_date(collection: &Collection) -> TrainTestSplit<'_> {
    collection.documents.iter().partition(|document| document.group == "train")
}

fn by_university(collection: &Collection) -> Vec<TrainTestSplit<'_>> {
    let left_out = |university: &&str| {
        collection.documents.iter().partition::<Vec<_>, _>(|document| document.group != *university)
    };
    WEBKB_UNIVERSITIES.iter().map(left_out).collect()
}

fn five_fold(collection: &Collection) -> Vec<TrainTestSplit<'_>> {
    let fold = |document: &LabelledDocument| fingerprint(&document.counts, 5) % 5;
    (0..5).map(|number| collection.documents.iter().partition(|document| fold(document) != number)).collect()
}

fn experiment(
    collection: &Collection,
    protocol: &'static str,
    shape: ClassifierShape,
    splits: &[TrainTestSplit<'_>],
    add: &mut impl FnMut(CriticRow),
) {
    let (tree, topics) = tree(collection);
    let options = TrainingOptions { shape, ..TrainingOptions::default() };
    let mut sums: [Sum; CRITICS.len()] = Default::default();
    for (training, judged) in splits {
        let examples = examples(training, &topics);
        for (((mut critic, chosen), seconds), sum) in
            trained(&tree, &examples, &options).into_iter().zip(&mut sums)
        {
            sum.seconds += seconds;
            sum.chosen.push(chosen);
            sum.judge(&mut critic, judged, &topics);
        }
    }
    for (critic, sum) in CRITICS.iter().zip(sums) {
        add(sum.row(collection.name, protocol, critic, splits.len()));
    }
}

/// The critics, in the order of the rows.
const CRITICS: [&str; 4] = ["naive Bayes, add-one", "naive Bayes, uncalibrated", "naive Bayes", "logistic"];

/// A critic with a description of its hyperparameters.
type Trained = (Critic, String);

/// All critics, trained on the same examples, with their training times in seconds.
fn trained(
    tree: &Taxonomy,
    examples: &[TopicExample<'_>],
    options: &TrainingOptions,
) -> [(Trained, f64); CRITICS.len()] {
    let timed = |train: &dyn Fn() -> Trained| {
        let started = Instant::now();
        (train(), started.elapsed().as_secs_f64())
    };
    let chosen = timed(&|| naive_bayes(tree, examples, options));
    let ((critic, words), seconds) = chosen.clone();
    let uncalibrated = ((critic.uncalibrated(), words), seconds);
    let add_one = timed(&|| add_one(tree, examples, options));
    [add_one, uncalibrated, chosen, timed(&|| logistic(tree, examples, options))]
}

fn add_one(tree: &Taxonomy, examples: &[TopicExample<'_>], options: &TrainingOptions) -> Trained {
    let statistics = Statistics::of(examples.iter().copied());
    let model = train(tree, &statistics, &Tunings::new(), &Tuning::default(), options);
    (Critic::new(model, tree).uncalibrated(), "each word, add 1, all terms".to_owned())
}

fn naive_bayes(tree: &Taxonomy, examples: &[TopicExample<'_>], options: &TrainingOptions) -> Trained {
    let statistics = Statistics::of(examples.iter().copied());
    let tuned = tune_all(tree, &statistics, examples, options);
    let tunings = tuned.tunings();
    let chosen = tunings.get(&TopicId::ROOT).map_or_else(String::new, tuning_label);
    (Critic::new(train(tree, &statistics, &tunings, &tuned.otherwise, options), tree), chosen)
}

fn logistic(tree: &Taxonomy, examples: &[TopicExample<'_>], options: &TrainingOptions) -> Trained {
    let statistics = Statistics::of(examples.iter().copied());
    let trained = train_logistic(tree, examples, &statistics, None, options);
    let (model, chosen) = trained.expect("all topics have pages");
    let chosen =
        chosen.get(&TopicId::ROOT).map_or_else(String::new, |trial| format!("C = {}", trial.strength));
    (Critic::new(model, tree), chosen)
}

fn tuning_label(tuning: &Tuning) -> String {
    let features = if tuning.features == usize::MAX {
        "all terms".to_owned()
    } else {
        format!("{} terms", tuning.features)
    };
    let counting = match tuning.counting {
        TermCounting::Each => "each word",
        TermCounting::Once => "each term once a page",
        TermCounting::Share => "all pages alike",
    };
    let saturation = tuning.calibration.saturation;
    format!("{counting}, add {}, {features}, tempered from {saturation:.0} words on", tuning.smoothing)
}

/// The tree of a collection's topics, and the id of each.
pub(crate) fn tree(collection: &Collection) -> (Taxonomy, Vec<TopicId>) {
    let mut tree = Taxonomy::new();
    let ids =
        collection.topics.iter().map(|path| tree.add_path(path).expect("a tree of at most 65,536 topics"));
    let ids = ids.collect();
    (tree, ids)
}

/// Examples for each topic of each document.
pub(crate) fn examples<'a>(documents: &[&'a LabelledDocument], topics: &[TopicId]) -> Vec<TopicExample<'a>> {
    let of_document = |document: &&'a LabelledDocument| {
        let counts: &'a [(TermId, u32)] = &document.counts;
        let ids = document.topics.iter().map(|&topic| topics[topic as usize]);
        ids.map(|topic| TopicExample { topic, counts }).collect::<Vec<_>>()
    };
    documents.iter().flat_map(of_document).collect()
}

/// Sums over the splits of an experiment.
#[derive(Default)]
struct Sum {
    documents: usize,
    accuracies: Vec<f64>,
    loss: f64,
    bins: [Bin; 10],
    chosen: Vec<String>,
    seconds: f64,
}

impl Sum {
    fn judge(&mut self, critic: &mut Critic, documents: &[&LabelledDocument], topics: &[TopicId]) {
        let mut right = 0;
        for document in documents {
            let (best, probability) = critic.best(&document.counts);
            let truth: Vec<TopicId> = document.topics.iter().map(|&topic| topics[topic as usize]).collect();
            let is_right = truth.contains(&best);
            right += usize::from(is_right);
            let all = critic.all(&document.counts);
            let of_truth: f64 = all
                .iter()
                .filter(|(topic, _)| truth.contains(topic))
                .map(|(_, probability)| probability)
                .sum();
            // A probability of 0 costs as much as the smallest positive number.
            self.loss -= of_truth.max(f64::MIN_POSITIVE).ln();
            let bin = &mut self.bins[((probability * 10.0) as usize).min(9)];
            bin.documents += 1;
            bin.said += probability;
            bin.right += f64::from(u8::from(is_right));
        }
        self.documents += documents.len();
        self.accuracies.push(right as f64 / documents.len().max(1) as f64);
    }

    fn row(
        self,
        collection: &'static str,
        protocol: &'static str,
        critic: &'static str,
        splits: usize,
    ) -> CriticRow {
        let all = self.documents.max(1) as f64;
        let error: f64 = self.bins.iter().map(|bin| (bin.said - bin.right).abs()).sum();
        let mean = |bin: Bin| {
            let n = bin.documents.max(1) as f64;
            Bin { documents: bin.documents, said: bin.said / n, right: bin.right / n }
        };
        CriticRow {
            collection,
            protocol,
            critic,
            documents: self.documents,
            accuracy: self.accuracies.iter().sum::<f64>() / splits as f64,
            log_loss: self.loss / all,
            chosen: self.chosen,
            train_seconds: self.seconds,
            reliability: self.bins.map(mean).to_vec(),
            calibration_error: error / all,
        }
    }
}
