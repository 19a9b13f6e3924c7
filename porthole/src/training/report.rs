//! What training found, as facts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use porthole_store::WorkspaceWriter;
use porthole_topic::{
    CriticModel, DecisionProblem, Taxonomy, TopicDecision, Tuned, Tunings, logistic, problems,
};
use porthole_types::TopicId;
use serde::{Deserialize, Serialize};

use super::background::Background;
use super::{Made, TrainingPages};
use crate::settings::{TrainSettings, counting_name};

/// What training did and found.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) critic: &'static str,
    pub(crate) shape: &'static str,
    /// What was trained.
    pub(crate) trained: Scope,
    /// Examples that were learnt from, those that came with the taxonomy included.
    pub(crate) examples: u64,
    pub(crate) nodes: Vec<NodeFigures>,
    /// The largest confusions of the cross-validation, over all nodes; none where nothing was chosen anew.
    pub(crate) confusions: Vec<Confusion>,
    /// Topics that are marked good.
    pub(crate) good: Vec<String>,
    /// Topics that nothing can be learnt about.
    pub(crate) without_examples: Vec<String>,
    /// Nodes with only one class: nothing is decided there.
    pub(crate) undecided: Vec<String>,
    /// Examples that have no topic yet, and so were not learnt from.
    pub(crate) unplaced: usize,
    /// Examples whose pages are missing or have no words.
    pub(crate) lacking: usize,
    /// Topics whose own examples went to a leaf `Other`.
    pub(crate) to_other: Vec<String>,
    /// What has become of the pages of the crawl that stand for what is about no topic.
    pub(crate) background: Background,
    /// Different stems that are one term.
    pub(crate) collisions: Vec<Vec<String>>,
    pub(crate) seconds: f64,
}

/// How much was trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scope {
    All,
    /// Only the nodes above the topics that had changed, with what was chosen before.
    Changed,
    /// Nothing has changed since.
    Nothing,
}

/// What is decided at a node, and how well.
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
    /// Of a regression.
    pub(crate) strength: Option<f64>,
    pub(crate) features: usize,
    /// Whether all terms take part, however many they become.
    pub(crate) all_terms: bool,
    /// On examples that were not learnt from; only where the choice was made here.
    pub(crate) validation: Option<Validation>,
}

/// Who chose what is counted, smoothed and selected at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ChosenBy {
    /// Cross-validation on the examples at hand.
    Validation,
    /// Whoever made the taxonomy.
    Taxonomy,
    /// Nobody: there are too few examples, so it is as in the papers.
    Papers,
}

/// How a node did on examples that were not learnt from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Validation {
    pub(crate) accuracy: f64,
    /// Of naive Bayes with add-one and all terms.
    pub(crate) plain_accuracy: Option<f64>,
    pub(crate) log_loss: f64,
    /// Of naive Bayes: a regression is not tempered.
    pub(crate) calibrated_log_loss: Option<f64>,
    /// The best that naive Bayes reached with so many terms.
    pub(crate) by_features: Vec<Trial>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Trial {
    pub(crate) features: usize,
    pub(crate) accuracy: f64,
}

/// Examples of one class that were taken for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Confusion {
    pub(crate) topic: String,
    pub(crate) taken_for: String,
    pub(crate) examples: u32,
    pub(crate) of: u32,
}

/// Confusions that are told.
const CONFUSIONS: usize = 10;

impl Report {
    pub(super) fn of(
        store: &dyn WorkspaceWriter,
        material: &TrainingPages,
        made: Made,
        settings: &TrainSettings,
        took: Duration,
    ) -> anyhow::Result<Report> {
        let tree = &material.tree;
        let problems = problems(tree, &material.statistics, settings.options.shape);
        let collisions = store.reader().collisions()?;
        let paths = |ids: Vec<TopicId>| ids.into_iter().map(|id| tree.path(id)).collect();
        Ok(Report {
            critic: made.model.kind().name(),
            shape: made.model.shape().name(),
            trained: made.scope,
            examples: material.basis.values().map(|topic| u64::from(topic.documents)).sum(),
            nodes: made.figures,
            confusions: confusions(tree, &problems, &made.tuned),
            good: paths(tree.good().collect()),
            without_examples: paths(without_examples(material)),
            undecided: paths(problems.iter().filter(|p| p.classes.len() == 1).map(|p| p.node).collect()),
            unplaced: material.unplaced,
            lacking: material.lacking,
            to_other: paths(material.to_other.clone()),
            background: Background::default(),
            collisions: collisions.into_iter().map(|collision| collision.stems).collect(),
            seconds: took.as_secs_f64(),
        })
    }
}

/// The topics with nothing to learn from, in themselves or below them; of those that are below each other the
/// topmost.
fn without_examples(material: &TrainingPages) -> Vec<TopicId> {
    let tree = &material.tree;
    let with_above = |(topic, _)| std::iter::once(topic).chain(tree.ancestors(topic));
    let known: BTreeSet<TopicId> = material.statistics.topics().flat_map(with_above).collect();
    tree.ids().filter(|id| !known.contains(id) && known.contains(&tree.parent(*id))).collect()
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

/// The root's id as a class stands for all that is not good.
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
        let figures = |decision: &TopicDecision| {
            let tuning = tunings.get(&decision.node);
            NodeFigures {
                id: decision.node.0,
                node: material.tree.path(decision.node),
                examples: decision.classes.iter().map(|class| u64::from(class.documents)).sum(),
                classes: decision.classes.len(),
                chosen_by: match (tuned.contains_key(&decision.node), tuning) {
                    (true, _) => ChosenBy::Validation,
                    (false, Some(_)) => ChosenBy::Taxonomy,
                    (false, None) => ChosenBy::Papers,
                },
                counting: Some(counting_name(decision.counting).to_owned()),
                smoothing: Some(decision.smoothing),
                strength: None,
                features: decision.features.len(),
                all_terms: tuning.is_none_or(|tuning| tuning.features == usize::MAX),
                validation: tuned.get(&decision.node).map(Validation::of),
            }
        };
        model.decisions().iter().map(figures).collect()
    }

    /// The figures of all nodes of a tree of regressions.
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

    /// Keeps what was found when the node was tuned.
    pub(super) fn take_over(&mut self, old: &[NodeFigures]) {
        if let Some(old) = old.iter().find(|old| old.id == self.id) {
            (self.chosen_by, self.validation) = (old.chosen_by, old.validation.clone());
        }
    }

    /// Takes the topic's path as it is now.
    pub(super) fn name(&mut self, tree: &Taxonomy) {
        self.node = tree.path(TopicId(self.id));
    }
}

impl Validation {
    fn of(tuned: &Tuned) -> Validation {
        let chosen = &tuned.chosen;
        // The chosen trial may have been tempered for comparison; before calibration it is not.
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

fn by_features(tuned: &Tuned) -> Vec<Trial> {
    let mut best: BTreeMap<usize, f64> = BTreeMap::new();
    for trial in &tuned.trials {
        let accuracy = best.entry(trial.features).or_default();
        *accuracy = accuracy.max(trial.accuracy);
    }
    best.into_iter().map(|(features, accuracy)| Trial { features, accuracy }).collect()
}
