//! Training: from a tree, counts and examples to a model.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;
use porthole_types::TopicId;
use rayon::prelude::*;

use crate::model::{Decision, Kind, Model};
use crate::naive_bayes::{self, Counting, Tuning};
use crate::problem::{Problem, Shape, Table, problems};
use crate::statistics::{Example, Statistics};
use crate::taxonomy::Taxonomy;
use crate::tune::{Choice, Labelled, SMOOTHINGS, Tuned, fingerprint, tune};

/// How to train.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How topics are told apart.
    pub shape: Shape,
    /// What is counted; chosen by cross-validation if not given.
    pub counting: Option<Counting>,
    /// Added to every count; chosen by cross-validation if not given.
    pub smoothing: Option<f64>,
    /// Terms at each decision; chosen by cross-validation if not given.
    pub features: Option<usize>,
    /// Whether decisions are tempered.
    pub calibrate: bool,
    /// Parts of a cross-validation.
    pub folds: usize,
    /// Version of the rules that made the terms.
    pub term_version: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            shape: Shape::Tree,
            counting: None,
            smoothing: None,
            features: None,
            calibrate: true,
            folds: 5,
            term_version: porthole_page::TERM_VERSION,
        }
    }
}

/// The choices at the nodes, by node.
pub type Tunings = BTreeMap<TopicId, Tuning>;

/// A decision with fewer examples than this in a class is not tuned on it: what the papers have is taken.
const FEWEST_TO_TUNE: u32 = 5;

/// Chooses smoothing, features and calibration at every node whose classes all have enough examples at hand,
/// by cross-validation on them.
pub fn tune_all(
    tree: &Taxonomy,
    statistics: &Statistics,
    examples: &[Example<'_>],
    options: &Options,
) -> BTreeMap<TopicId, Tuned> {
    let choice = Choice {
        counting: options.counting,
        smoothings: options.smoothing.map_or_else(|| SMOOTHINGS.to_vec(), |smoothing| vec![smoothing]),
        features: options.features,
        calibrate: options.calibrate,
        folds: options.folds.max(2),
    };
    let tuned = problems(tree, statistics, options.shape).into_par_iter().filter_map(|problem| {
        let labelled = labelled(&problem, examples);
        let mut counts = vec![0; problem.classes.len()];
        labelled
            .iter()
            .flat_map(|example| &example.classes)
            .for_each(|class| counts[usize::from(*class)] += 1);
        let enough = counts.len() > 1 && counts.iter().all(|&count| count >= FEWEST_TO_TUNE);
        enough.then(|| (problem.node, tune(&Table::new(&problem, statistics), &labelled, &choice)))
    });
    tuned.collect()
}

/// The examples of a decision.
pub(crate) fn labelled<'a>(problem: &Problem, examples: &[Example<'a>]) -> Vec<Labelled<'a>> {
    let classes: BTreeMap<TopicId, u16> = problem
        .classes
        .iter()
        .enumerate()
        .flat_map(|(number, class)| class.members.iter().map(move |&member| (member, number as u16)))
        .collect();
    let mut labelled: Vec<Labelled<'a>> = Vec::new();
    let mut places: HashMap<u64, usize, FixedState> = HashMap::default();
    for example in examples {
        let Some(&class) = classes.get(&example.topic) else { continue };
        let place = *places.entry(fingerprint(example.counts, 0)).or_insert(labelled.len());
        if place == labelled.len() {
            labelled.push(Labelled { classes: vec![class], counts: example.counts });
        } else if !labelled[place].classes.contains(&class) {
            labelled[place].classes.push(class);
        }
    }
    labelled
}

/// The naive Bayes model of a tree: a function of counts and choices alone. Nodes without a choice have
/// `otherwise`.
pub fn train(
    tree: &Taxonomy,
    statistics: &Statistics,
    tunings: &Tunings,
    otherwise: &Tuning,
    options: &Options,
) -> Model {
    let problems = problems(tree, statistics, options.shape);
    let decisions: Vec<_> =
        problems.par_iter().map(|problem| fit(problem, statistics, tunings, otherwise)).collect();
    Model::assemble(Kind::NaiveBayes, options.shape, options.term_version, &decisions)
}

/// The same, where only some topics changed: only the decisions above them are fitted anew. A topic has changed
/// if its examples have; one that moved or went away has changed the topic that it was below, too.
pub fn retrain(
    model: &Model,
    tree: &Taxonomy,
    statistics: &Statistics,
    tunings: &Tunings,
    otherwise: &Tuning,
    changed: &[TopicId],
) -> Model {
    let old: BTreeMap<TopicId, Decision> =
        model.decisions().into_iter().map(|decision| (decision.node, decision)).collect();
    let problems = problems(tree, statistics, model.shape());
    let decisions: Vec<_> = problems
        .par_iter()
        .map(|problem| match old.get(&problem.node) {
            Some(decision) if !touches(tree, problem, decision, changed) => decision.clone(),
            _ => fit(problem, statistics, tunings, otherwise),
        })
        .collect();
    Model::assemble(Kind::NaiveBayes, model.shape(), model.term_version(), &decisions)
}

/// Whether a decision has to be fitted anew: something below its node changed, or the classes are others now.
fn touches(tree: &Taxonomy, problem: &Problem, decision: &Decision, changed: &[TopicId]) -> bool {
    let topics = problem.classes.iter().map(|class| class.topic);
    let is_below =
        |id: &TopicId| *id == problem.node || tree.ancestors(*id).any(|above| above == problem.node);
    !topics.eq(decision.classes.iter().map(|class| class.topic)) || changed.iter().any(is_below)
}

fn fit(problem: &Problem, statistics: &Statistics, tunings: &Tunings, otherwise: &Tuning) -> Decision {
    let tuning = tunings.get(&problem.node).unwrap_or(otherwise);
    naive_bayes::fit(problem, &Table::new(problem, statistics), tuning)
}
