//! A tree of regressions: the second critic, in the same model as the first.

use std::collections::BTreeMap;

use porthole_types::TopicId;
use rayon::prelude::*;

use super::{Rows, STRENGTHS, Samples, Settings, Trial, Vocabulary, Weights, best, cross_validate, fit};
use crate::calibration::Calibration;
use crate::model::{ClassModel, Decision, Feature, Kind, Model};
use crate::naive_bayes::Counting;
use crate::problem::{Problem, problems};
use crate::statistics::{Example, Statistics};
use crate::taxonomy::Taxonomy;
use crate::train::{Options, labelled};
use crate::tune::{Labelled, folds};

/// Why there is no regression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogisticError {
    /// Counts alone are not enough.
    #[error(
        "{0} is known by its counts only, and logistic regression learns from pages: add examples, or train naive Bayes"
    )]
    NoPages(String),
}

/// Terms on fewer pages than this say nothing about others.
const FEWEST_PAGES: u32 = 2;

/// Weights below this part of the largest are left out: half of them, and it does not show in the accuracy.
const SMALLEST_WEIGHT: f32 = 0.002;

/// Trains a logistic regression at every node, of a strength that is given or chosen by cross-validation on the
/// node's own examples. Returns what was chosen where, too.
pub fn train_logistic(
    tree: &Taxonomy,
    examples: &[Example<'_>],
    counted: &Statistics,
    strength: Option<f64>,
    options: &Options,
) -> Result<(Model, BTreeMap<TopicId, Trial>), LogisticError> {
    let pages = Statistics::of(examples.iter().copied());
    if let Some((topic, _)) = counted.topics().find(|(topic, _)| pages.topic(*topic).is_none()) {
        return Err(LogisticError::NoPages(tree.path(topic)));
    }
    let problems = problems(tree, &pages, options.shape);
    let trained: Vec<(Decision, Option<Trial>)> =
        problems.par_iter().map(|problem| decide(problem, examples, strength, options)).collect();
    let chosen = trained.iter().filter_map(|(decision, trial)| Some((decision.node, (*trial)?))).collect();
    let decisions: Vec<Decision> = trained.into_iter().map(|(decision, _)| decision).collect();
    Ok((Model::assemble(Kind::Logistic, options.shape, options.term_version, &decisions), chosen))
}

fn decide(
    problem: &Problem,
    examples: &[Example<'_>],
    strength: Option<f64>,
    options: &Options,
) -> (Decision, Option<Trial>) {
    let labelled = labelled(problem, examples);
    let vocabulary = Vocabulary::of(labelled.iter().map(|example| example.counts), FEWEST_PAGES);
    let classes = problem.classes.len();
    let (mut rows, mut labels, mut parts) = (Rows::new(), Vec::new(), Vec::new());
    for (example, part) in labelled.iter().zip(folds(&labelled, classes, options.folds.max(2))) {
        for &class in &example.classes {
            rows.push(vocabulary.row(example.counts));
            labels.push(class);
            parts.push(part as u8);
        }
    }
    let samples =
        Samples { rows: &rows, labels: &labels, weights: None, classes, features: vocabulary.len() };
    let settings = Settings::default();
    let chosen = match strength {
        None if classes > 1 => best(&cross_validate(&samples, &parts, &STRENGTHS, &settings)),
        _ => None,
    };
    let strength = strength.or(chosen.map(|trial| trial.strength)).unwrap_or(settings.strength);
    let weights = fit(&samples, &Settings { strength, ..settings });
    (decision(problem, &vocabulary, &weights, &labelled), chosen)
}

fn decision(
    problem: &Problem,
    vocabulary: &Vocabulary,
    weights: &Weights,
    examples: &[Labelled<'_>],
) -> Decision {
    let of = |feature: usize| weights.of(feature as u32);
    let largest = (0..vocabulary.len()).flat_map(of).fold(0.0, |most: f32, weight| most.max(weight.abs()));
    let (mut features, mut postings) = (Vec::new(), Vec::new());
    for (feature, (&term, &scale)) in vocabulary.terms().iter().zip(vocabulary.scales()).enumerate() {
        let before = postings.len();
        let kept = of(feature).iter().zip(0..).filter(|(weight, _)| weight.abs() > largest * SMALLEST_WEIGHT);
        postings.extend(kept.map(|(&weight, class)| (class, weight)));
        // A term without any weight still makes the page longer, so it stays.
        features.push(Feature { term, scale, postings: (postings.len() - before) as u32 });
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
    Decision {
        node: problem.node,
        classes: classes.collect(),
        features,
        postings,
        calibration: Calibration::NONE,
        counting: Counting::Each,
        smoothing: 0.0,
    }
}
