//! The report of a training run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Context;
use porthole_store::WorkspaceWriter;
use porthole_topic::{
    ClassifierShape, CriticModel, DecisionProblem, Pretrained, Taxonomy, TopicDecision, Tuned, Tunings,
    background, logistic, problems,
};
use porthole_types::TopicId;
use serde::{Deserialize, Serialize};

use super::background::Background;
use super::check::ExampleCheck;
use super::{TrainingPages, TrainingResult};
use crate::settings::{TrainSettings, counting_name};

/// Result of training.
#[derive(Debug, Serialize)]
pub(crate) struct TrainingReport {
    pub(crate) critic: &'static str,
    pub(crate) shape: &'static str,
    /// Which nodes were trained.
    pub(crate) trained: TrainedScope,
    /// Number of training examples, including those of the taxonomy.
    pub(crate) examples: u64,
    pub(crate) nodes: Vec<NodeFigures>,
    /// The most frequent confusions of the cross-validation, over all nodes; empty if nothing was tuned.
    pub(crate) confusions: Vec<Confusion>,
    /// Good topics.
    pub(crate) good: Vec<String>,
    /// Topics without examples.
    pub(crate) without_examples: Vec<String>,
    /// Nodes with only one class.
    pub(crate) undecided: Vec<String>,
    /// Examples without a topic, which are not used.
    pub(crate) unplaced: usize,
    /// Examples whose pages are missing or have no words.
    pub(crate) lacking: usize,
    /// Those of them whose pages were not fetched yet.
    pub(crate) to_fetch: usize,
    /// Topics whose own examples were moved to a leaf `Other`.
    pub(crate) to_other: Vec<String>,
    /// Result of the refresh of the background examples.
    pub(crate) background: Background,
    /// Whether the counts of the general taxonomy are the background, because there are no pages of a crawl.
    pub(crate) has_general_background: bool,
    /// How the examples are judged.
    pub(crate) check: ExampleCheck,
    /// Stems that share a term, because their hashes collide.
    pub(crate) collisions: Vec<Vec<String>>,
    pub(crate) seconds: f64,
}

/// Which nodes were trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TrainedScope {
    All,
    /// The nodes above changed topics, with the tunings chosen before.
    Changed,
    /// None: no example has changed.
    Nothing,
}

/// Figures of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NodeFigures {
    pub(crate) id: u16,
    pub(crate) node: String,
    pub(crate) examples: u64,
    pub(crate) classes: usize,
    pub(crate) chosen_by: ChosenBy,
    /// Of naive Bayes.
    pub(crate) counting: Option<String>,
    /// Of naive Bayes.
    pub(crate) smoothing: Option<f64>,
    /// Of logistic regression.
    pub(crate) strength: Option<f64>,
    pub(crate) features: usize,
    /// Whether all terms are used, however many there are.
    pub(crate) all_terms: bool,
    /// Share of a page's words that depends on its topic; only where there is a background.
    pub(crate) topical: Option<f64>,
    /// Cross-validation results; only if the node was tuned here.
    pub(crate) validation: Option<Validation>,
}

/// Origin of a node's tuning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ChosenBy {
    /// Cross-validation on the examples.
    Validation,
    /// The pretrained taxonomy.
    Taxonomy,
    /// Too few examples for cross-validation: what the other nodes of the tree have chosen, or most nodes of the
    /// general taxonomy.
    Others,
}

/// Cross-validation results of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Validation {
    pub(crate) accuracy: f64,
    /// Of naive Bayes with add-one smoothing and all terms.
    pub(crate) plain_accuracy: Option<f64>,
    pub(crate) log_loss: f64,
    /// Of naive Bayes; logistic regression is not calibrated.
    pub(crate) calibrated_log_loss: Option<f64>,
    /// Best accuracy of naive Bayes by number of terms.
    pub(crate) by_features: Vec<FeatureTrial>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct FeatureTrial {
    pub(crate) features: usize,
    pub(crate) accuracy: f64,
}

/// Examples of one class that were assigned to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Confusion {
    pub(crate) topic: String,
    pub(crate) taken_for: String,
    pub(crate) examples: u32,
    pub(crate) of: u32,
}

/// Maximum number of reported confusions.
const CONFUSIONS: usize = 10;

impl TrainingReport {
    pub(super) fn of(
        store: &dyn WorkspaceWriter,
        material: &TrainingPages,
        made: TrainingResult,
        settings: &TrainSettings,
        took: Duration,
    ) -> anyhow::Result<TrainingReport> {
        let tree = &material.tree;
        let problems = problems(tree, &material.statistics, settings.options.shape);
        let collisions = store.reader().collisions()?;
        let paths = |ids: Vec<TopicId>| ids.into_iter().map(|id| tree.path(id)).collect();
        Ok(TrainingReport {
            critic: made.model.kind().name(),
            shape: made.model.shape().name(),
            trained: made.scope,
            examples: material.basis.values().map(|topic| u64::from(topic.documents)).sum(),
            nodes: made.figures,
            confusions: confusions(tree, &problems, &made.tuned),
            good: paths(tree.good().collect()),
            without_examples: paths(without_examples(material)?),
            undecided: paths(problems.iter().filter(|p| p.classes.len() == 1).map(|p| p.node).collect()),
            unplaced: material.unplaced,
            lacking: material.lacking,
            to_fetch: material.to_fetch,
            to_other: paths(material.to_other.clone()),
            background: Background::default(),
            has_general_background: material.general_background.is_some(),
            check: ExampleCheck::default(),
            collisions: collisions.into_iter().map(|collision| collision.stems).collect(),
            seconds: took.as_secs_f64(),
        })
    }
}

/// The topics without examples in their subtree; of nested ones, the topmost. Those that only have pages about no good
/// topic are not meant to be assigned any. Those of the general taxonomy that have none count only if they are good.
fn without_examples(material: &TrainingPages) -> anyhow::Result<Vec<TopicId>> {
    let tree = &material.tree;
    let with_above = |topic| std::iter::once(topic).chain(tree.ancestors(topic));
    let counted = material.statistics.topics().map(|(topic, _)| topic);
    let refused = material.answers.refused.iter().map(|page| page.topic);
    let known: BTreeSet<TopicId> = counted.chain(refused).flat_map(with_above).collect();
    let mut without: Vec<TopicId> =
        tree.ids().filter(|id| !known.contains(id) && known.contains(&tree.parent(*id))).collect();
    if !without.is_empty() && !material.inherited.is_empty() {
        let built_in = Pretrained::general().context("cannot load the built-in general taxonomy")?.tree;
        without.retain(|topic| tree.is_good(*topic) || built_in.find(&tree.path(*topic)).is_err());
    }
    Ok(without)
}

fn confusions(
    tree: &Taxonomy,
    problems: &[DecisionProblem],
    tuned: &BTreeMap<TopicId, Tuned>,
) -> Vec<Confusion> {
    let mut all = Vec::new();
    for problem in problems {
        let Some(tuned) = tuned.get(&problem.node) else { continue };
        let name = |class: usize| class_name(tree, problem.classes[class].topic);
        for (class, row) in tuned.confusion.iter().enumerate() {
            let of = row.iter().sum();
            let wrong = row.iter().enumerate().filter(|&(taken, &examples)| taken != class && examples > 0);
            all.extend(wrong.map(|(taken, &examples)| Confusion {
                topic: name(class),
                taken_for: name(taken),
                examples,
                of,
            }));
        }
    }
    all.sort_by(|a, b| b.examples.cmp(&a.examples).then_with(|| a.topic.cmp(&b.topic)));
    all.truncate(CONFUSIONS);
    all
}

/// Name of a class; the root's id is the class of all topics that are not good.
pub(crate) fn class_name(tree: &Taxonomy, topic: TopicId) -> String {
    if topic == TopicId::ROOT { "all others".to_owned() } else { tree.path(topic) }
}

impl NodeFigures {
    /// The figures of all nodes of a model.
    pub(super) fn of(
        material: &TrainingPages,
        model: &CriticModel,
        tunings: &Tunings,
        tuned: &BTreeMap<TopicId, Tuned>,
    ) -> Vec<NodeFigures> {
        let is_inherited =
            |node: &TopicId| model.shape() == ClassifierShape::Tree && material.inherited.contains_key(node);
        let background = background(&material.tree);
        let own = |decision: &TopicDecision| {
            let classes = decision.classes.clone().into_iter();
            classes.filter(|class| Some(class.topic) != material.general_background)
        };
        let figures = |decision: &TopicDecision| {
            let has_background = decision.classes.iter().any(|class| Some(class.topic) == background);
            let tuning = tunings.get(&decision.node);
            NodeFigures {
                id: decision.node.0,
                node: material.tree.path(decision.node),
                examples: own(decision).map(|class| u64::from(class.documents)).sum(),
                classes: decision.classes.len(),
                chosen_by: match tuned.contains_key(&decision.node) {
                    true => ChosenBy::Validation,
                    false if is_inherited(&decision.node) => ChosenBy::Taxonomy,
                    false => ChosenBy::Others,
                },
                counting: Some(counting_name(decision.counting).to_owned()),
                smoothing: Some(decision.smoothing),
                strength: None,
                features: decision.features.len(),
                all_terms: tuning.is_none_or(|tuning| tuning.features == usize::MAX),
                topical: tuning.filter(|_| has_background).map(|tuning| tuning.topical),
                validation: tuned.get(&decision.node).map(Validation::of),
            }
        };
        model.decisions().iter().map(figures).collect()
    }

    /// The figures of all nodes of a logistic model.
    pub(super) fn of_logistic(
        material: &TrainingPages,
        model: &CriticModel,
        chosen: &BTreeMap<TopicId, logistic::StrengthTrial>,
    ) -> Vec<NodeFigures> {
        let mut all = NodeFigures::of(material, model, &Tunings::new(), &BTreeMap::new());
        for node in &mut all {
            (node.counting, node.smoothing) = (None, None);
            if let Some(trial) = chosen.get(&TopicId(node.id)) {
                node.chosen_by = ChosenBy::Validation;
                node.strength = Some(trial.strength);
                node.validation = Some(Validation {
                    accuracy: trial.accuracy,
                    plain_accuracy: None,
                    log_loss: trial.log_loss,
                    calibrated_log_loss: None,
                    by_features: Vec::new(),
                });
            }
        }
        all
    }

    /// Keeps the results of the last tuning.
    pub(super) fn take_over(&mut self, old: &[NodeFigures]) {
        if let Some(old) = old.iter().find(|old| old.id == self.id) {
            (self.chosen_by, self.validation) = (old.chosen_by, old.validation.clone());
        }
    }

    /// Updates the topic's path.
    pub(super) fn name(&mut self, tree: &Taxonomy) {
        self.node = tree.path(TopicId(self.id));
    }
}

impl Validation {
    fn of(tuned: &Tuned) -> Validation {
        let chosen = &tuned.chosen;
        // The chosen trial may have been calibrated for the comparison; report its log loss before calibration.
        let untempered = tuned.trials.iter().find(|trial| {
            trial.saturation == f64::INFINITY
                && (trial.counting, trial.features) == (chosen.counting, chosen.features)
                && trial.smoothing == chosen.smoothing
        });
        Validation {
            accuracy: chosen.accuracy,
            plain_accuracy: Some(tuned.plain.accuracy),
            log_loss: untempered.unwrap_or(chosen).log_loss,
            calibrated_log_loss: Some(tuned.calibrated_log_loss),
            by_features: by_features(tuned),
        }
    }
}

fn by_features(tuned: &Tuned) -> Vec<FeatureTrial> {
    let mut best: BTreeMap<usize, f64> = BTreeMap::new();
    for trial in &tuned.trials {
        let accuracy = best.entry(trial.features).or_default();
        *accuracy = accuracy.max(trial.accuracy);
    }
    best.into_iter().map(|(features, accuracy)| FeatureTrial { features, accuracy }).collect()
}
