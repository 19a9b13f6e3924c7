//! Training: builds a model from a tree, counts and examples.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;
use porthole_types::TopicId;
use rayon::prelude::*;

use crate::calibration::ScoredDocument;
use crate::model::{CriticModel, ModelKind, TopicDecision};
use crate::naive_bayes::{self, TermCounting, Tuning};
use crate::pool::TuningPool;
use crate::problem::{ClassTermTable, ClassifierShape, DecisionProblem, problems};
use crate::statistics::{Statistics, TopicExample};
use crate::taxonomy::Taxonomy;
use crate::tune::{
    Choice, FoldTables, Labelled, SMOOTHINGS, Tuned, TuningTrial, fingerprint, scored, try_all, tune,
    tune_with_pool,
};

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
    /// Whether answers about pages of the crawl confirm good topics ([`confirmation`](crate::confirmation)).
    pub confirm: bool,
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
            confirm: true,
            folds: 5,
            term_version: porthole_page::TERM_VERSION,
        }
    }
}

/// Hyperparameters by node.
pub type Tunings = BTreeMap<TopicId, Tuning>;

/// A decision with fewer examples than this in a class is not tuned by its own examples alone.
const FEWEST_TO_TUNE: usize = 5;

/// Result of tuning a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct TunedTree {
    /// The decisions with examples that could be held out.
    pub nodes: BTreeMap<TopicId, Tuned>,
    /// For all other decisions: the choice by the examples of the whole tree, or [`Tuning::untried`].
    pub otherwise: Tuning,
}

impl TunedTree {
    /// The hyperparameters of the tuned decisions.
    pub fn tunings(&self) -> Tunings {
        self.nodes.iter().map(|(&node, tuned)| (node, tuned.tuning)).collect()
    }
}

/// Chooses smoothing, features and calibration by cross-validation at every node whose classes all have examples. Where
/// a class has few, the results of the other nodes count, too.
pub fn tune_all(
    tree: &Taxonomy,
    statistics: &Statistics,
    examples: &[TopicExample<'_>],
    options: &TrainingOptions,
) -> TunedTree {
    let choice = Choice {
        counting: options.counting,
        smoothings: options.smoothing.map_or_else(|| SMOOTHINGS.to_vec(), |smoothing| vec![smoothing]),
        features: options.features,
        calibrate: options.calibrate,
        folds: options.folds.max(2),
    };
    let problems = problems(tree, statistics, options.shape).into_iter();
    let problems: Vec<_> = problems.filter(|problem| problem.classes.len() > 1).collect();
    let decisions = problems.len();
    let problems: Vec<TuningProblem<'_>> = problems
        .into_iter()
        .filter_map(|problem| TuningProblem::new(problem, statistics, examples))
        .collect();
    let (many, few): (Vec<_>, Vec<_>) = problems.into_iter().partition(|problem| problem.has_enough);
    let mut nodes: BTreeMap<TopicId, Tuned> = many
        .par_iter()
        .map(|own| (own.problem.node, tune(&own.table(statistics), &own.examples, &choice)))
        .collect();
    if nodes.len() == decisions {
        return TunedTree { nodes, otherwise: Tuning::untried() };
    }
    let tried: Vec<Vec<TuningTrial>> = few
        .par_iter()
        .map(|own| {
            let table = own.table(statistics);
            let folded = FoldTables::new(&table, &own.examples, choice.folds);
            try_all(&table, &own.examples, &folded, &choice)
        })
        .collect();
    let of_many = many.iter().map(|own| (own.examples.len(), nodes[&own.problem.node].trials.as_slice()));
    let of_few = few.iter().zip(&tried).map(|(own, trials)| (own.examples.len(), trials.as_slice()));
    let Some(mut pool) = TuningPool::new(of_many.chain(of_few), &choice) else {
        return TunedTree { nodes, otherwise: Tuning::untried() };
    };
    // Scores of both kinds of decisions, each with its own choice.
    let chosen: Vec<TuningTrial> = few
        .iter()
        .zip(&tried)
        .map(|(own, trials)| pool.choose(own.examples.len(), trials, &choice))
        .collect();
    let scores = |own: &TuningProblem<'_>, trial: &TuningTrial| {
        scored(&own.examples, &FoldTables::new(&own.table(statistics), &own.examples, choice.folds), trial)
    };
    let of_few: Vec<Vec<ScoredDocument>> =
        few.par_iter().zip(&chosen).map(|(own, trial)| scores(own, trial)).collect();
    let of_many: Vec<Vec<ScoredDocument>> =
        many.par_iter().map(|own| scores(own, &nodes[&own.problem.node].chosen)).collect();
    of_many.iter().chain(&of_few).for_each(|scored| pool.add_scored(scored));
    let tuned = few.par_iter().zip(tried).zip(chosen.par_iter().zip(&of_few));
    nodes.par_extend(tuned.map(|((own, trials), (&chosen, scored))| {
        let table = own.table(statistics);
        (own.problem.node, tune_with_pool(&table, trials, (chosen, scored), &pool, &choice))
    }));
    let otherwise = pool.tuning(&choice);
    TunedTree { nodes, otherwise }
}

/// A decision and the examples that can be held out.
struct TuningProblem<'a> {
    problem: DecisionProblem,
    examples: Vec<Labelled<'a>>,
    /// Whether every class has enough examples to choose by them alone.
    has_enough: bool,
}

impl<'a> TuningProblem<'a> {
    /// `None` if a class other than the background has no examples (only counts), or none can be held out.
    fn new(
        problem: DecisionProblem,
        statistics: &Statistics,
        examples: &[TopicExample<'a>],
    ) -> Option<TuningProblem<'a>> {
        let mut examples = balanced(labelled(&problem, examples), problem.background);
        let mut counts = class_sizes(&examples, problem.classes.len());
        // The background may have no pages of its own, only the counts of the general taxonomy.
        if let Some(background) = problem.background.map(usize::from).filter(|&place| counts[place] == 0) {
            counts.remove(background);
        }
        if counts.is_empty() || counts.contains(&0) {
            return None;
        }
        // Without its only example a class would not exist.
        let documents: Vec<u32> = problem.classes.iter().map(|class| class.documents(statistics)).collect();
        examples.retain(|example| example.classes.iter().all(|&class| documents[usize::from(class)] > 1));
        let has_enough = counts.iter().all(|&count| count >= FEWEST_TO_TUNE);
        (!examples.is_empty()).then_some(TuningProblem { problem, examples, has_enough })
    }

    fn table(&self, statistics: &Statistics) -> ClassTermTable {
        ClassTermTable::new(&self.problem, statistics)
    }
}

/// Number of examples of each class.
fn class_sizes(examples: &[Labelled<'_>], classes: usize) -> Vec<usize> {
    let mut sizes = vec![0; classes];
    examples.iter().flat_map(|example| &example.classes).for_each(|class| sizes[usize::from(*class)] += 1);
    sizes
}

/// Limits the examples of the background to the number of all other examples, evenly spaced: the choice must not
/// depend on how many pages of the crawl were sampled.
fn balanced(mut examples: Vec<Labelled<'_>>, background: Option<u16>) -> Vec<Labelled<'_>> {
    let Some(background) = background else { return examples };
    let is_background = |example: &Labelled<'_>| example.classes == [background];
    let all = examples.iter().filter(|example| is_background(example)).count();
    let most = (examples.len() - all).min(all);
    let mut number = 0;
    examples.retain(|example| {
        if !is_background(example) {
            return true;
        }
        number += 1;
        number * most / all > (number - 1) * most / all
    });
    examples
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
