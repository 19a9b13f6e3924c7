//! A tree of logistic regressions: the alternative critic, in the same model format as naive Bayes.

use std::collections::BTreeMap;

use porthole_types::TopicId;
use rayon::prelude::*;

use super::{
    LogisticWeights, STRENGTHS, Samples, SolverSettings, SparseRows, StrengthTrial, Vocabulary, best,
    cross_validate, fit,
};
use crate::calibration::Calibration;
use crate::model::{ClassModel, CriticModel, DecisionTerm, ModelKind, TopicDecision};
use crate::naive_bayes::TermCounting;
use crate::problem::{DecisionProblem, problems};
use crate::statistics::{Statistics, TopicExample};
use crate::taxonomy::Taxonomy;
use crate::train::{TrainingOptions, labelled};
use crate::tune::{Labelled, folds};

/// Errors of training a logistic regression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogisticError {
    /// A topic has counts but no pages.
    #[error(
        "{0} is known by its counts only, and logistic regression learns from pages: add examples, or train naive Bayes"
    )]
    NoPages(String),
}

/// Terms on fewer pages are ignored.
const FEWEST_PAGES: u32 = 2;

/// Weights below this share of the largest are dropped: half of all weights, without a measurable loss of accuracy.
const SMALLEST_WEIGHT: f32 = 0.002;

/// Trains a logistic regression at every node, with a given strength or one chosen by cross-validation on the node's
/// examples. Also returns the choices.
pub fn train_logistic(
    tree: &Taxonomy,
    examples: &[TopicExample<'_>],
    counted: &Statistics,
    strength: Option<f64>,
    options: &TrainingOptions,
) -> Result<(CriticModel, BTreeMap<TopicId, StrengthTrial>), LogisticError> {
    let pages = Statistics::of(examples.iter().copied());
    if let Some((topic, _)) = counted.topics().find(|(topic, _)| pages.topic(*topic).is_none()) {
        return Err(LogisticError::NoPages(tree.path(topic)));
    }
    let problems = problems(tree, &pages, options.shape);
    let trained: Vec<(TopicDecision, Option<StrengthTrial>)> =
        problems.par_iter().map(|problem| decide(problem, examples, strength, options)).collect();
    let chosen = trained.iter().filter_map(|(decision, trial)| Some((decision.node, (*trial)?))).collect();
    let decisions: Vec<TopicDecision> = trained.into_iter().map(|(decision, _)| decision).collect();
    Ok((CriticModel::assemble(ModelKind::Logistic, options.shape, options.term_version, &decisions), chosen))
}

fn decide(
    problem: &DecisionProblem,
    examples: &[TopicExample<'_>],
    strength: Option<f64>,
    options: &TrainingOptions,
) -> (TopicDecision, Option<StrengthTrial>) {
    let labelled = labelled(problem, examples);
    let vocabulary = Vocabulary::of(labelled.iter().map(|example| example.counts), FEWEST_PAGES);
    let classes = problem.classes.len();
    let (mut rows, mut labels, mut parts) = (SparseRows::new(), Vec::new(), Vec::new());
    for (example, part) in labelled.iter().zip(folds(&labelled, classes, options.folds.max(2))) {
        for &class in &example.classes {
            rows.push(vocabulary.row(example.counts));
            labels.push(class);
            parts.push(part as u8);
        }
    }
    let samples =
        Samples { rows: &rows, labels: &labels, weights: None, classes, features: vocabulary.len() };
    let settings = SolverSettings::default();
    let chosen = match strength {
        None if classes > 1 => best(&cross_validate(&samples, &parts, &STRENGTHS, &settings)),
        _ => None,
    };
    let strength = strength.or(chosen.map(|trial| trial.strength)).unwrap_or(settings.strength);
    let weights = fit(&samples, &SolverSettings { strength, ..settings });
    (decision(problem, &vocabulary, &weights, &labelled), chosen)
}

fn decision(
    problem: &DecisionProblem,
    vocabulary: &Vocabulary,
    weights: &LogisticWeights,
    examples: &[Labelled<'_>],
) -> TopicDecision {
    let of = |feature: usize| weights.of(feature as u32);
    let largest = (0..vocabulary.len()).flat_map(of).fold(0.0, |most: f32, weight| most.max(weight.abs()));
    let (mut features, mut postings) = (Vec::new(), Vec::new());
    for (feature, (&term, &scale)) in vocabulary.terms().iter().zip(vocabulary.scales()).enumerate() {
        let before = postings.len();
        let kept = of(feature).iter().zip(0..).filter(|(weight, _)| weight.abs() > largest * SMALLEST_WEIGHT);
        postings.extend(kept.map(|(&weight, class)| (class, weight)));
        // A term without weights still contributes to the page's length, so it is kept.
        features.push(DecisionTerm { term, scale, postings: (postings.len() - before) as u32 });
    }
    let documents =
        |class: u16| examples.iter().filter(|example| example.classes.contains(&class)).count() as u32;
    let classes = problem.classes.iter().zip(weights.bias()).zip(0..);
    let classes = classes.map(|((class, &bias), number)| ClassModel {
        topic: class.topic,
        logprior: bias.into(),
        logdenom: 0.0,
        documents: documents(number),
    });
    TopicDecision {
        node: problem.node,
        classes: classes.collect(),
        features,
        postings,
        calibration: Calibration::NONE,
        counting: TermCounting::Each,
        smoothing: 0.0,
    }
}
