//! Training: builds a model from a tree, counts and examples.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;
use porthole_types::TopicId;
use rayon::prelude::*;

use crate::model::{CriticModel, ModelKind, TopicDecision};
use crate::naive_bayes::{self, TermCounting, Tuning};
use crate::problem::{ClassTermTable, ClassifierShape, DecisionProblem, problems};
use crate::statistics::{Statistics, TopicExample};
use crate::taxonomy::Taxonomy;
use crate::tune::{Choice, Labelled, SMOOTHINGS, Tuned, fingerprint, tune};

/// Options of training.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingOptions {
    /// Shape of the classifier.
    pub shape: ClassifierShape,
    /// How terms are counted; chosen by cross-validation if `None`.
    pub counting: Option<TermCounting>,
    /// Smoothing added to every count; chosen by cross-validation if `None`.
    pub smoothing: Option<f64>,
    /// Number of features at each decision; chosen by cross-validation if `None`.
    pub features: Option<usize>,
    /// Whether decisions are calibrated.
    pub calibrate: bool,
    /// Number of folds of a cross-validation.
    pub folds: usize,
    /// Version of the rules that made the terms.
    pub term_version: u32,
}

impl Default for TrainingOptions {
    fn default() -> Self {
        TrainingOptions {
            shape: ClassifierShape::Tree,
            counting: None,
            smoothing: None,
            features: None,
            calibrate: true,
            folds: 5,
            term_version: porthole_page::TERM_VERSION,
        }
    }
}

/// Hyperparameters by node.
pub type Tunings = BTreeMap<TopicId, Tuning>;

/// A decision with fewer examples than this in a class is not tuned; it uses the values of the papers.
const FEWEST_TO_TUNE: u32 = 5;

/// Chooses smoothing, features and calibration by cross-validation at every node whose classes all have enough
/// examples.
pub fn tune_all(
    tree: &Taxonomy,
    statistics: &Statistics,
    examples: &[TopicExample<'_>],
    options: &TrainingOptions,
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
        enough.then(|| (problem.node, tune(&ClassTermTable::new(&problem, statistics), &labelled, &choice)))
    });
    tuned.collect()
}

/// The examples of a decision with their classes.
pub(crate) fn labelled<'a>(problem: &DecisionProblem, examples: &[TopicExample<'a>]) -> Vec<Labelled<'a>> {
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

/// Trains the naive Bayes model of a tree; a pure function of counts and hyperparameters. Nodes without a tuning use
/// `otherwise`.
pub fn train(
    tree: &Taxonomy,
    statistics: &Statistics,
    tunings: &Tunings,
    otherwise: &Tuning,
    options: &TrainingOptions,
) -> CriticModel {
    let problems = problems(tree, statistics, options.shape);
    let decisions: Vec<_> =
        problems.par_iter().map(|problem| fit(problem, statistics, tunings, otherwise)).collect();
    CriticModel::assemble(ModelKind::NaiveBayes, options.shape, options.term_version, &decisions)
}

/// As `train`, when only some topics changed: refits only the decisions above them. A topic has changed if its examples
/// have; if a topic was moved or removed, its old parent has changed, too.
pub fn retrain(
    model: &CriticModel,
    tree: &Taxonomy,
    statistics: &Statistics,
    tunings: &Tunings,
    otherwise: &Tuning,
    changed: &[TopicId],
) -> CriticModel {
    let old: BTreeMap<TopicId, TopicDecision> =
        model.decisions().into_iter().map(|decision| (decision.node, decision)).collect();
    let problems = problems(tree, statistics, model.shape());
    let decisions: Vec<_> = problems
        .par_iter()
        .map(|problem| match old.get(&problem.node) {
            Some(decision) if !is_affected(tree, problem, decision, changed) => decision.clone(),
            _ => fit(problem, statistics, tunings, otherwise),
        })
        .collect();
    CriticModel::assemble(ModelKind::NaiveBayes, model.shape(), model.term_version(), &decisions)
}

/// Whether a decision must be refitted: a descendant of its node changed, or its classes did.
fn is_affected(
    tree: &Taxonomy,
    problem: &DecisionProblem,
    decision: &TopicDecision,
    changed: &[TopicId],
) -> bool {
    let topics = problem.classes.iter().map(|class| class.topic);
    let is_below =
        |id: &TopicId| *id == problem.node || tree.ancestors(*id).any(|above| above == problem.node);
    !topics.eq(decision.classes.iter().map(|class| class.topic)) || changed.iter().any(is_below)
}

fn fit(
    problem: &DecisionProblem,
    statistics: &Statistics,
    tunings: &Tunings,
    otherwise: &Tuning,
) -> TopicDecision {
    let tuning = tunings.get(&problem.node).unwrap_or(otherwise);
    naive_bayes::fit(problem, &ClassTermTable::new(problem, statistics), tuning)
}
