//! Trains the critic of a workspace from the tree, the examples and the pretrained statistics, and stores it. Retrains
//! only the changed nodes where possible.

pub(crate) mod answers;
pub(crate) mod background;
mod check;
pub(crate) mod growing;
pub(crate) mod pages;
pub(crate) mod preview;
mod report;
mod untrained;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use porthole_store::{
    ExampleChange, ExampleState, NodeRow, StatRow, StoreReader, TopicChange, WorkspaceWriter,
};
use porthole_topic::logistic::train_logistic;
use porthole_topic::{
    ClassifierShape, CriticModel, DecisionProblem, ModelKind, Statistics, Taxonomy, TopicExample,
    TrainingOptions, Tuned, Tuning, Tunings, choose_topical, fingerprint, problems, retrain, train, tune_all,
};
use porthole_types::{TermId, TopicId};
use serde::{Deserialize, Serialize};

use self::answers::Answers;
pub(crate) use self::check::{ExampleCheck, MisjudgedExample, Remedy};
pub(crate) use self::report::{ChosenBy, NodeFigures, TrainedScope, TrainingReport};
pub(crate) use self::untrained::{can_be_fetched, refuse_untrained};
use crate::languages;
use crate::output::misuse;
use crate::settings::TrainSettings;
use crate::upgrade;
use crate::workspace::{self, CRITIC};

/// Name of the model that records what the critic was trained on.
const BASIS: &str = "critic-basis";

/// A node is retuned when more than this share of its examples has changed since it was tuned.
const RETUNE_SHARE: f64 = 0.1;

/// Trains and stores the critic. `afresh` retunes everything, even if nothing has changed. A critic that does not
/// recognise the examples of a good topic is not stored.
pub(crate) fn train_workspace(
    store: &mut dyn WorkspaceWriter,
    settings: &TrainSettings,
    afresh: bool,
) -> anyhow::Result<TrainingReport> {
    let began = std::time::Instant::now();
    upgrade::update_terms(store)?;
    let material = TrainingPages::load(store, settings)?;
    material.check(settings)?;
    let before = if afresh { None } else { Before::load(store, settings, &material)? };
    let made = match before {
        Some(before) => material.update(before, &settings.options),
        None => material.train(settings)?,
    };
    let (made, check) = check::remedied(&material, made, settings)?;
    if made.scope != TrainedScope::Nothing {
        check.refuse_lost()?;
        workspace::keep(store, CRITIC, made.model.to_bytes())?;
        let basis = Basis::of(&material, settings, &made, check.remedy);
        workspace::keep(store, BASIS, serde_json::to_vec(&basis)?)?;
    }
    let report = TrainingReport::of(store, &material, made, settings, began.elapsed())?;
    Ok(TrainingReport { check, ..report })
}

/// Number of pages that the critic was trained on, by topic, including those of the taxonomy; empty without a critic.
pub(crate) fn learnt_from(reader: &dyn StoreReader) -> anyhow::Result<BTreeMap<TopicId, u32>> {
    let basis = reader.model(BASIS)?.and_then(|basis| serde_json::from_slice::<Basis>(&basis.bytes).ok());
    let topics = basis.map(|basis| basis.topics).unwrap_or_default();
    Ok(topics.into_iter().map(|(id, topic)| (TopicId(id), topic.documents)).collect())
}

/// Fills TAXONOMY, STAT and BLOB from the stored critic.
pub(crate) fn write_tables(store: &mut dyn WorkspaceWriter) -> anyhow::Result<()> {
    let stored = store.reader().model(CRITIC)?.context("there is no critic")?;
    let decisions = CriticModel::from_bytes(&stored.bytes)?.decisions();
    let classes = decisions.iter().flat_map(|decision| &decision.classes);
    let nodes: Vec<NodeRow> = classes
        .map(|class| NodeRow { topic: class.topic, logprior: class.logprior, logdenom: class.logdenom })
        .collect();
    let mut stats = decisions.iter().flat_map(|decision| {
        let terms = decision.features.iter();
        let terms = terms.flat_map(|feature| std::iter::repeat_n(feature.term, feature.postings as usize));
        terms.zip(&decision.postings).map(|(term, &(class, gain))| {
            let class = &decision.classes[usize::from(class)];
            StatRow {
                parent: decision.node,
                topic: class.topic,
                term,
                logtheta: f64::from(gain) - class.logdenom,
            }
        })
    });
    Ok(store.set_statistics(&nodes, &mut stats)?)
}

/// An example: topic and term counts.
type ExampleTerms = (TopicId, Vec<(TermId, u32)>);

/// An example of the workspace with its words.
#[derive(Clone)]
struct TrainingPage {
    topic: TopicId,
    counts: Vec<(TermId, u32)>,
    name: String,
    /// Whether it was drawn from the crawl as an example of the background.
    is_drawn: bool,
    /// Whether it is a page that was marked.
    is_answer: bool,
}

/// All training data.
#[derive(Clone)]
pub(crate) struct TrainingPages {
    tree: Taxonomy,
    statistics: Statistics,
    examples: Vec<TrainingPage>,
    /// Tunings that came with the taxonomy.
    inherited: Tunings,
    basis: BTreeMap<u16, TopicBasis>,
    /// Examples without a topic.
    unplaced: usize,
    /// Examples without words.
    lacking: usize,
    /// Those of them that have a URL and were not fetched yet.
    to_fetch: usize,
    /// Topics whose own examples were moved to a leaf `Other`.
    to_other: Vec<TopicId>,
    /// The background, if it has the counts of the general taxonomy.
    general_background: Option<TopicId>,
    answers: Answers,
}

/// State of a topic at the last training, to detect changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct TopicBasis {
    parent: u16,
    documents: u32,
    /// Sum of the fingerprints of its examples, independent of their order.
    sum: u64,
}

impl TrainingPages {
    fn load(store: &mut dyn WorkspaceWriter, settings: &TrainSettings) -> anyhow::Result<TrainingPages> {
        // Where pages in the examples' own language can be compared with, English ones only compete with them.
        let is_silent = languages::is_pretrained_silent(&*store.reader())?;
        let pretrained = if is_silent { None } else { workspace::pretrained(store)? };
        let is_own_tree = pretrained.is_none() && !is_silent;
        let (mut statistics, inherited) =
            pretrained.map(|pretrained| (pretrained.statistics, pretrained.tunings)).unwrap_or_default();
        let (mut tree, to_other) = add_others(store, &mut statistics)?;
        let (mut examples, mut unplaced, mut lacking, mut to_fetch) = (Vec::new(), 0, 0, 0);
        store.reader().visit_examples(&mut |example, terms| match example.state {
            ExampleState::Ok if example.topic == TopicId::ROOT => unplaced += 1,
            ExampleState::Ok => examples.push(TrainingPage {
                topic: example.topic,
                counts: terms.to_vec(),
                name: example.url.clone(),
                is_drawn: example.source == background::SOURCE,
                is_answer: example.source == answers::SOURCE,
            }),
            _ => {
                lacking += 1;
                to_fetch += usize::from(can_be_fetched(example));
            }
        })?;
        let answers = Answers::take_from(&mut examples, &tree, settings);
        examples.iter().for_each(|example| statistics.add(example.example()));
        let mut basis = basis(&tree, &statistics, &examples);
        let is_wanted = is_own_tree && settings.has_general_background() && !examples.is_empty();
        let mut general_background = None;
        if is_wanted {
            general_background = background::add_general(store, &mut tree, &mut statistics)?;
        }
        basis.retain(|&id, _| Some(TopicId(id)) != general_background);
        Ok(TrainingPages {
            tree,
            statistics,
            examples,
            inherited,
            basis,
            unplaced,
            lacking,
            to_fetch,
            to_other,
            general_background,
            answers,
        })
    }

    fn check(&self, settings: &TrainSettings) -> anyhow::Result<()> {
        if self.basis.is_empty() {
            let why = match (self.unplaced, self.to_fetch, self.lacking) {
                (0, 0, 0) => {
                    "add some with `porthole examples add TOPIC FILE…` or `porthole examples import`"
                }
                (0, 1.., _) => "the examples have no pages yet; fetch them with `porthole examples fetch`",
                (0, ..) => "no example has a page with words; see `porthole examples list`",
                _ => "the examples have no topic yet; assign one with `porthole examples move NAME… TOPIC`",
            };
            return Err(misuse(format!("no examples to train on: {why}")));
        }
        if settings.options.shape == ClassifierShape::TwoClass && self.tree.good().next().is_none() {
            return Err(misuse(
                "a two-class critic needs a good topic, and no topic is marked good: run `porthole topics mark PATH`",
            ));
        }
        Ok(())
    }

    fn refs(&self) -> Vec<TopicExample<'_>> {
        self.examples.iter().map(TrainingPage::example).collect()
    }

    /// Tunes and trains all nodes.
    fn train(&self, settings: &TrainSettings) -> anyhow::Result<TrainingResult> {
        let options = &settings.options;
        if settings.critic == ModelKind::Logistic {
            return self.train_logistic(options);
        }
        let (tree, statistics, examples) = (&self.tree, &self.statistics, &self.refs());
        let tuned = tune_all(tree, statistics, examples, options);
        let otherwise = fixed(tuned.otherwise, options);
        let mut tunings = self.tunings(&tuned.nodes, options);
        let nodes = problems(tree, statistics, options.shape).into_iter().map(|problem| problem.node);
        for node in nodes {
            tunings.entry(node).or_insert(otherwise);
        }
        tunings.extend(choose_topical(tree, statistics, examples, (&tunings, &otherwise), options));
        let model = train(tree, statistics, &tunings, &otherwise, options);
        let model = model.with_confirmations(&self.answers.confirmations);
        let tuned = tuned.nodes;
        let figures = NodeFigures::of(self, &model, &tunings, &tuned);
        Ok(TrainingResult { model, tuned, tuned_on: self.documents(), figures, scope: TrainedScope::All })
    }

    fn train_logistic(&self, options: &TrainingOptions) -> anyhow::Result<TrainingResult> {
        let trained = train_logistic(&self.tree, &self.refs(), &self.statistics, None, options);
        let (model, chosen) = trained.map_err(|error| misuse(error.to_string()))?;
        let figures = NodeFigures::of_logistic(self, &model, &chosen);
        Ok(TrainingResult {
            model,
            tuned: BTreeMap::new(),
            tuned_on: self.documents(),
            figures,
            scope: TrainedScope::All,
        })
    }

    /// Retrains the changed nodes with the tunings chosen before.
    fn update(&self, before: Before, options: &TrainingOptions) -> TrainingResult {
        let Before { model, basis, changed } = before;
        let tunings = basis.tunings(&model);
        let Basis { tuned_on, figures, answers, .. } = basis;
        if changed.is_empty() && answers == self.answers.sum() {
            return TrainingResult {
                model,
                tuned: BTreeMap::new(),
                tuned_on,
                figures,
                scope: TrainedScope::Nothing,
            };
        }
        let old = figures;
        let otherwise = fixed(Tuning::untried(), options);
        let model = retrain(&model, &self.tree, &self.statistics, &tunings, &otherwise, &changed);
        let model = model.with_confirmations(&self.answers.confirmations);
        let mut figures = NodeFigures::of(self, &model, &tunings, &BTreeMap::new());
        figures.iter_mut().for_each(|node| node.take_over(&old));
        TrainingResult { model, tuned: BTreeMap::new(), tuned_on, figures, scope: TrainedScope::Changed }
    }

    fn documents(&self) -> BTreeMap<u16, u32> {
        self.basis.iter().map(|(&id, topic)| (id, topic.documents)).collect()
    }

    /// The tuning of each node: chosen here, or inherited from the taxonomy.
    fn tunings(&self, tuned: &BTreeMap<TopicId, Tuned>, options: &TrainingOptions) -> Tunings {
        let inherited = match options.shape {
            ClassifierShape::Tree => self.inherited.clone(),
            ClassifierShape::Flat | ClassifierShape::TwoClass => Tunings::new(),
        };
        let inherited = inherited.into_iter().map(|(node, tuning)| (node, fixed(tuning, options)));
        inherited.chain(tuned.iter().map(|(&node, tuned)| (node, tuned.tuning))).collect()
    }
}

/// A tuning with the user's settings in place of the chosen values.
fn fixed(tuning: Tuning, options: &TrainingOptions) -> Tuning {
    Tuning {
        counting: options.counting.unwrap_or(tuning.counting),
        smoothing: options.smoothing.unwrap_or(tuning.smoothing),
        features: options.features.unwrap_or(tuning.features),
        calibration: if options.calibrate { tuning.calibration } else { porthole_topic::Calibration::NONE },
        topical: tuning.topical,
    }
}

impl TrainingPage {
    fn example(&self) -> TopicExample<'_> {
        TopicExample { topic: self.topic, counts: &self.counts }
    }
}

/// Result of training.
struct TrainingResult {
    model: CriticModel,
    tuned: BTreeMap<TopicId, Tuned>,
    /// Number of documents per topic when the nodes were tuned.
    tuned_on: BTreeMap<u16, u32>,
    figures: Vec<NodeFigures>,
    scope: TrainedScope,
}

/// Moves the own examples of inner topics to a leaf `Other` (A 3.1), including the pages of the taxonomy. Examples at
/// the root have no topic yet and stay. Returns the topics whose examples were moved.
fn add_others(
    store: &mut dyn WorkspaceWriter,
    inherited: &mut Statistics,
) -> anyhow::Result<(Taxonomy, Vec<TopicId>)> {
    let mut tree = workspace::tree(&*store.reader())?;
    let own: BTreeSet<TopicId> =
        store.reader().examples(None)?.into_iter().map(|example| example.topic).collect();
    let known = own.iter().copied().chain(inherited.topics().map(|(topic, _)| topic));
    let known: BTreeSet<_> = known.filter(|&topic| topic != TopicId::ROOT && tree.contains(topic)).collect();
    let before = tree.len();
    let others = tree.add_others(&known.into_iter().collect::<Vec<_>>())?;
    others.iter().for_each(|&(from, to)| inherited.move_to(from, to));
    let moved: Vec<_> = others.into_iter().filter(|(from, _)| own.contains(from)).collect();
    if !moved.is_empty() || tree.len() > before {
        let changes: Vec<_> = moved.iter().map(|&(from, to)| ExampleChange::MoveAll(from, to)).collect();
        let rows = tree.rows();
        let change = TopicChange { topics: Some(&rows), examples: &changes, ..TopicChange::default() };
        store.change_topics(&change)?;
    }
    Ok((tree, moved.into_iter().map(|(from, _)| from).collect()))
}

fn basis(tree: &Taxonomy, statistics: &Statistics, examples: &[TrainingPage]) -> BTreeMap<u16, TopicBasis> {
    let known = statistics.topics().filter(|(topic, _)| tree.contains(*topic));
    let mut basis: BTreeMap<u16, TopicBasis> = known
        .map(|(topic, seen)| {
            let parent = tree.parent(topic).0;
            (topic.0, TopicBasis { parent, documents: seen.documents, sum: 0 })
        })
        .collect();
    for example in examples {
        if let Some(topic) = basis.get_mut(&example.topic.0) {
            topic.sum = topic.sum.wrapping_add(fingerprint(&example.counts, 0));
        }
    }
    basis
}

/// What a critic was trained on, and with which settings.
#[derive(Debug, Serialize, Deserialize)]
struct Basis {
    /// If the settings differ, everything is retrained.
    settings: String,
    topics: BTreeMap<u16, TopicBasis>,
    /// Number of documents per topic when the nodes were tuned.
    tuned_on: BTreeMap<u16, u32>,
    figures: Vec<NodeFigures>,
    /// What was changed so that the critic recognises its examples.
    remedy: Remedy,
    /// Identifies what the confirmations depend on besides the examples: [`Answers::sum`].
    #[serde(default)]
    answers: u64,
}

impl Basis {
    fn of(
        material: &TrainingPages,
        settings: &TrainSettings,
        made: &TrainingResult,
        remedy: Remedy,
    ) -> Basis {
        Basis {
            remedy,
            settings: fingerprint_of(settings, material),
            topics: material.basis.clone(),
            tuned_on: made.tuned_on.clone(),
            figures: made.figures.clone(),
            answers: material.answers.sum(),
        }
    }

    /// The tunings of the nodes of the model.
    fn tunings(&self, model: &CriticModel) -> Tunings {
        let all_terms: BTreeSet<u16> =
            self.figures.iter().filter(|node| node.all_terms).map(|node| node.id).collect();
        let topical: BTreeMap<u16, f64> =
            self.figures.iter().filter_map(|node| Some((node.id, node.topical?))).collect();
        let tuning = |decision: &porthole_topic::TopicDecision| Tuning {
            counting: decision.counting,
            smoothing: decision.smoothing,
            features: if all_terms.contains(&decision.node.0) { usize::MAX } else { decision.features.len() },
            calibration: decision.calibration,
            topical: topical.get(&decision.node.0).copied().unwrap_or(1.0),
        };
        model.decisions().iter().map(|decision| (decision.node, tuning(decision))).collect()
    }
}

/// The settings as text, to compare them. For a two-class critic the good topics are part of them.
fn fingerprint_of(settings: &TrainSettings, material: &TrainingPages) -> String {
    let good: Vec<u16> = match settings.options.shape {
        ClassifierShape::TwoClass => material.tree.good().map(|id| id.0).collect(),
        ClassifierShape::Tree | ClassifierShape::Flat => Vec::new(),
    };
    format!("{settings:?} {good:?}")
}

/// A stored critic that can be updated.
struct Before {
    model: CriticModel,
    basis: Basis,
    changed: Vec<TopicId>,
}

impl Before {
    /// `None` if everything has to be trained.
    fn load(
        store: &dyn WorkspaceWriter,
        settings: &TrainSettings,
        material: &TrainingPages,
    ) -> anyhow::Result<Option<Before>> {
        let reader = store.reader();
        let (Some(model), Some(basis)) = (reader.model(CRITIC)?, reader.model(BASIS)?) else {
            return Ok(None);
        };
        // A critic that cannot be read is damaged or of another version: train everything.
        let (Ok(model), Ok(mut basis)) =
            (CriticModel::from_bytes(&model.bytes), serde_json::from_slice::<Basis>(&basis.bytes))
        else {
            return Ok(None);
        };
        let parents = |topics: &BTreeMap<u16, TopicBasis>| -> Vec<(u16, u16)> {
            topics.iter().map(|(&id, topic)| (id, topic.parent)).collect()
        };
        if basis.settings != fingerprint_of(settings, material)
            || parents(&basis.topics) != parents(&material.basis)
            || model.kind() != ModelKind::NaiveBayes
            || basis.remedy != Remedy::None
        {
            return Ok(None);
        }
        let changed: Vec<TopicId> = material
            .basis
            .iter()
            .filter(|(id, topic)| basis.topics.get(id) != Some(topic))
            .map(|(&id, _)| TopicId(id))
            .collect();
        let problems = problems(&material.tree, &material.statistics, settings.options.shape);
        if problems.iter().any(|problem| needs_retuning(problem, &changed, &basis.tuned_on, material)) {
            return Ok(None);
        }
        basis.figures.iter_mut().for_each(|node| node.name(&material.tree));
        Ok(Some(Before { model, basis, changed }))
    }
}

/// Whether the examples of a node have changed so much that it has to be retuned.
fn needs_retuning(
    problem: &DecisionProblem,
    changed: &[TopicId],
    tuned_on: &BTreeMap<u16, u32>,
    material: &TrainingPages,
) -> bool {
    let members = problem.classes.iter().flat_map(|class| &class.members);
    let (mut all, mut new) = (0.0, 0.0);
    for topic in members {
        let now = material.basis.get(&topic.0).map_or(0, |topic| topic.documents);
        let then = tuned_on.get(&topic.0).copied().unwrap_or(0);
        all += f64::from(then);
        // Examples may have been replaced by as many others: at least one has changed.
        new += f64::from(now.abs_diff(then).max(u32::from(changed.contains(topic))));
    }
    new > RETUNE_SHARE * all
}

#[cfg(test)]
mod tests {
    use porthole_store::{NewExample, SqliteStore};

    use super::*;
    use crate::settings::RawTrain;

    /// A store with examples of two topics, eight each, none like another.
    fn store(folder: &tempfile::TempDir) -> SqliteStore {
        let mut store = SqliteStore::open(folder.path().join("porthole.db")).unwrap();
        let mut tree = Taxonomy::new();
        let topics = ["/Birds", "/Sport/Cycling"].map(|path| tree.add_path(path).unwrap());
        store.set_topics(&tree.rows()).unwrap();
        let examples = topics.iter().zip(0..).flat_map(|(&topic, place)| {
            (0..8).map(move |number| example(topic, &format!("{place}/{number}"), place * 10, number))
        });
        store.add_examples(&examples.collect::<Vec<_>>()).unwrap();
        store
    }

    fn example(topic: TopicId, name: &str, base: u32, number: u32) -> NewExample {
        NewExample {
            topic,
            url: name.to_owned(),
            title: String::new(),
            source: "test".to_owned(),
            language: String::new(),
            state: ExampleState::Ok,
            terms: (0..6).map(|at| (TermId(base + (at + number) % 9), 1 + at % 3)).collect(),
        }
    }

    fn critic(store: &SqliteStore) -> CriticModel {
        CriticModel::from_bytes(&store.reader().model(CRITIC).unwrap().unwrap().bytes).unwrap()
    }

    #[test]
    fn an_update_equals_a_full_training() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = store(&folder);
        let settings = RawTrain::default().ready().unwrap();
        assert_eq!(train_workspace(&mut store, &settings, false).unwrap().trained, TrainedScope::All);
        let birds = workspace::tree(&*store.reader()).unwrap().find("/Birds").unwrap();
        store.add_examples(&[example(birds, "new", 0, 77)]).unwrap();
        let material = TrainingPages::load(&mut store, &settings).unwrap();
        let before = Before::load(&store, &settings, &material).unwrap().unwrap();
        assert_eq!(before.changed, [birds]);
        let tunings = before.basis.tunings(&before.model);
        assert_eq!(train_workspace(&mut store, &settings, false).unwrap().trained, TrainedScope::Changed);
        let full =
            train(&material.tree, &material.statistics, &tunings, &Tuning::untried(), &settings.options);
        assert!(critic(&store) == full);
        assert_eq!(train_workspace(&mut store, &settings, false).unwrap().trained, TrainedScope::Nothing);
        assert_eq!(train_workspace(&mut store, &settings, true).unwrap().trained, TrainedScope::All);
    }

    #[test]
    fn new_settings_trees_or_many_new_examples_retrain_everything() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = store(&folder);
        let check = |store: &mut SqliteStore, raw: RawTrain, scope| {
            let report = train_workspace(store, &raw.ready().unwrap(), false).unwrap();
            assert_eq!(report.trained, scope, "{raw:?}");
        };
        let plain = RawTrain::default();
        let smooth = RawTrain { smoothing: Some(0.5), ..plain };
        check(&mut store, plain, TrainedScope::All);
        check(&mut store, smooth, TrainedScope::All);
        check(&mut store, plain, TrainedScope::All);
        let mut tree = workspace::tree(&*store.reader()).unwrap();
        let (birds, cycling) = (tree.find("/Birds").unwrap(), tree.find("/Sport/Cycling").unwrap());
        tree.move_to(cycling, TopicId::ROOT).unwrap();
        store.set_topics(&tree.rows()).unwrap();
        check(&mut store, plain, TrainedScope::All);
        let many: Vec<_> =
            (0..4).map(|number| example(birds, &format!("new {number}"), 0, 30 + number)).collect();
        store.add_examples(&many).unwrap();
        check(&mut store, plain, TrainedScope::All);
    }

    #[test]
    fn removed_topics_leave_no_statistics_to_a_reused_id() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = store(&folder);
        let mut tree = workspace::tree(&*store.reader()).unwrap();
        let owls = tree.add_path("/Owls").unwrap();
        let terms = [(TermId(40), 3)];
        let statistics = Statistics::of([TopicExample { topic: owls, counts: &terms }]);
        let (words, tunings) = (BTreeMap::new(), Tunings::new());
        let came = porthole_topic::Pretrained {
            source: "test".into(),
            tree: tree.clone(),
            statistics,
            tunings,
            words,
        };
        workspace::keep(&mut store, workspace::TAXONOMY, came.to_bytes()).unwrap();
        store.set_topics(&tree.rows()).unwrap();
        let settings = RawTrain::default().ready().unwrap();
        assert_eq!(TrainingPages::load(&mut store, &settings).unwrap().statistics.documents(), 17);
        tree.remove(owls).unwrap();
        store.set_topics(&tree.rows()).unwrap();
        workspace::note_removed(&mut store, &[owls]).unwrap();
        assert_eq!(TrainingPages::load(&mut store, &settings).unwrap().statistics.documents(), 16);
    }
}
