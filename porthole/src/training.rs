//! Training in a workspace: the tree, the examples and what came with the taxonomy go in, a critic comes out and is
//! kept. Trains only what changed where that is enough.

pub(crate) mod background;
pub(crate) mod growing;
pub(crate) mod pages;
mod report;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use porthole_store::{
    ExampleChange, ExampleState, NodeRow, StatRow, StoreReader, TopicChange, WorkspaceWriter,
};
use porthole_topic::logistic::train_logistic;
use porthole_topic::{
    ClassifierShape, CriticModel, DecisionProblem, ModelKind, Statistics, Taxonomy, TopicExample,
    TrainingOptions, Tuned, Tuning, Tunings, fingerprint, problems, retrain, train, tune_all,
};
use porthole_types::{TermId, TopicId};
use serde::{Deserialize, Serialize};

pub(crate) use self::report::{ChosenBy, NodeFigures, Report, Scope};
use crate::output::misuse;
use crate::settings::TrainSettings;
use crate::workspace::{self, CRITIC};

/// The name under which it is kept what the critic was trained on.
const BASIS: &str = "critic-basis";

/// A node is tuned anew when so large a part of its examples is not what it was tuned on.
const MUCH: f64 = 0.1;

/// Trains and keeps the critic. `afresh` tunes anew, whether or not anything changed.
pub(crate) fn train_workspace(
    store: &mut dyn WorkspaceWriter,
    settings: &TrainSettings,
    afresh: bool,
) -> anyhow::Result<Report> {
    let began = std::time::Instant::now();
    let material = TrainingPages::load(store)?;
    material.check(settings)?;
    let before = if afresh { None } else { Before::load(store, settings, &material)? };
    let made = match before {
        Some(before) => material.update(before, &settings.options),
        None => material.train(settings)?,
    };
    if made.scope != Scope::Nothing {
        workspace::keep(store, CRITIC, made.model.to_bytes())?;
        let basis = Basis::of(&material, settings, &made);
        workspace::keep(store, BASIS, serde_json::to_vec(&basis)?)?;
    }
    Report::of(store, &material, made, settings, began.elapsed())
}

/// How many pages the critic has learnt each topic from, those that came with the taxonomy included; empty if there
/// is no critic.
pub(crate) fn learnt_from(reader: &dyn StoreReader) -> anyhow::Result<BTreeMap<TopicId, u32>> {
    let basis = reader.model(BASIS)?.and_then(|basis| serde_json::from_slice::<Basis>(&basis.bytes).ok());
    let topics = basis.map(|basis| basis.topics).unwrap_or_default();
    Ok(topics.into_iter().map(|(id, topic)| (TopicId(id), topic.documents)).collect())
}

/// Fills TAXONOMY, STAT and BLOB from the critic that is kept.
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

/// An example: its topic, and its terms.
type Placed = (TopicId, Vec<(TermId, u32)>);

/// Everything that training needs.
pub(crate) struct TrainingPages {
    tree: Taxonomy,
    statistics: Statistics,
    examples: Vec<Placed>,
    /// What was chosen where the taxonomy comes from.
    inherited: Tunings,
    basis: BTreeMap<u16, TopicBasis>,
    /// Examples that have no topic yet.
    unplaced: usize,
    /// Examples that there is nothing to learn from.
    lacking: usize,
    /// Topics whose own examples went to a leaf `Other`.
    to_other: Vec<TopicId>,
}

/// What is remembered of a topic to see whether it has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct TopicBasis {
    parent: u16,
    documents: u32,
    /// Of the fingerprints of its examples: their order says nothing.
    sum: u64,
}

impl TrainingPages {
    fn load(store: &mut dyn WorkspaceWriter) -> anyhow::Result<TrainingPages> {
        let (mut statistics, inherited) = workspace::pretrained(store)?
            .map(|pretrained| (pretrained.statistics, pretrained.tunings))
            .unwrap_or_default();
        let (tree, to_other) = add_others(store, &mut statistics)?;
        let (mut examples, mut unplaced, mut lacking) = (Vec::new(), 0, 0);
        store.reader().visit_examples(&mut |example, terms| match example.state {
            ExampleState::Ok if example.topic == TopicId::ROOT => unplaced += 1,
            ExampleState::Ok => examples.push((example.topic, terms.to_vec())),
            _ => lacking += 1,
        })?;
        examples.iter().for_each(|(topic, counts)| statistics.add(TopicExample { topic: *topic, counts }));
        let basis = basis(&tree, &statistics, &examples);
        Ok(TrainingPages { tree, statistics, examples, inherited, basis, unplaced, lacking, to_other })
    }

    fn check(&self, settings: &TrainSettings) -> anyhow::Result<()> {
        if self.basis.is_empty() {
            let why = match (self.unplaced, self.lacking) {
                (0, 0) => {
                    "show it some with `porthole examples add TOPIC FILE…` or `porthole examples import`"
                }
                (0, _) => "none of those there are has a page with words (`porthole examples list`)",
                _ => "those there are have no topic yet; `porthole examples move NAME… TOPIC` gives them one",
            };
            return Err(misuse(format!("there are no examples to train on: {why}")));
        }
        if settings.options.shape == ClassifierShape::TwoClass && self.tree.good().next().is_none() {
            return Err(misuse(
                "two classes are the good topics and all others, and no topic is marked good: \
                 `porthole topics mark PATH`",
            ));
        }
        Ok(())
    }

    fn refs(&self) -> Vec<TopicExample<'_>> {
        self.examples.iter().map(|(topic, counts)| TopicExample { topic: *topic, counts }).collect()
    }

    /// Chooses and trains everything.
    fn train(&self, settings: &TrainSettings) -> anyhow::Result<Made> {
        let options = &settings.options;
        if settings.critic == ModelKind::Logistic {
            return self.train_logistic(options);
        }
        let tuned = tune_all(&self.tree, &self.statistics, &self.refs(), options);
        let tunings = self.tunings(&tuned, options);
        let otherwise = fixed(Tuning::untried(), options);
        let model = train(&self.tree, &self.statistics, &tunings, &otherwise, options);
        let figures = NodeFigures::of(self, &model, &tunings, &tuned);
        Ok(Made { model, tuned, tuned_on: self.documents(), figures, scope: Scope::All })
    }

    fn train_logistic(&self, options: &TrainingOptions) -> anyhow::Result<Made> {
        let trained = train_logistic(&self.tree, &self.refs(), &self.statistics, None, options);
        let (model, chosen) = trained.map_err(|error| misuse(error.to_string()))?;
        let figures = NodeFigures::of_logistic(self, &model, &chosen);
        Ok(Made { model, tuned: BTreeMap::new(), tuned_on: self.documents(), figures, scope: Scope::All })
    }

    /// Trains again where something has changed, with what was chosen before.
    fn update(&self, before: Before, options: &TrainingOptions) -> Made {
        let Before { model, basis, changed } = before;
        let tunings = basis.tunings(&model);
        let Basis { tuned_on, figures, .. } = basis;
        if changed.is_empty() {
            return Made { model, tuned: BTreeMap::new(), tuned_on, figures, scope: Scope::Nothing };
        }
        let old = figures;
        let otherwise = fixed(Tuning::untried(), options);
        let model = retrain(&model, &self.tree, &self.statistics, &tunings, &otherwise, &changed);
        let mut figures = NodeFigures::of(self, &model, &tunings, &BTreeMap::new());
        figures.iter_mut().for_each(|node| node.take_over(&old));
        Made { model, tuned: BTreeMap::new(), tuned_on, figures, scope: Scope::Changed }
    }

    fn documents(&self) -> BTreeMap<u16, u32> {
        self.basis.iter().map(|(&id, topic)| (id, topic.documents)).collect()
    }

    /// What is chosen at each node: here, or where the taxonomy comes from.
    fn tunings(&self, tuned: &BTreeMap<TopicId, Tuned>, options: &TrainingOptions) -> Tunings {
        let inherited = match options.shape {
            ClassifierShape::Tree => self.inherited.clone(),
            ClassifierShape::Flat | ClassifierShape::TwoClass => Tunings::new(),
        };
        let inherited = inherited.into_iter().map(|(node, tuning)| (node, fixed(tuning, options)));
        inherited.chain(tuned.iter().map(|(&node, tuned)| (node, tuned.tuning))).collect()
    }
}

/// A choice with what the user wants in place of what was chosen.
fn fixed(tuning: Tuning, options: &TrainingOptions) -> Tuning {
    Tuning {
        counting: options.counting.unwrap_or(tuning.counting),
        smoothing: options.smoothing.unwrap_or(tuning.smoothing),
        features: options.features.unwrap_or(tuning.features),
        calibration: if options.calibrate { tuning.calibration } else { porthole_topic::Calibration::NONE },
    }
}

/// What training made.
struct Made {
    model: CriticModel,
    tuned: BTreeMap<TopicId, Tuned>,
    /// Documents of the topics when the nodes were tuned.
    tuned_on: BTreeMap<u16, u32>,
    figures: Vec<NodeFigures>,
    scope: Scope,
}

/// Gives the own examples of internal topics a leaf of their own (A 3.1), also those that came with the taxonomy.
/// Examples at the root stay there: nobody has said yet what they are about. Returns whose examples went.
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

fn basis(tree: &Taxonomy, statistics: &Statistics, examples: &[Placed]) -> BTreeMap<u16, TopicBasis> {
    let known = statistics.topics().filter(|(topic, _)| tree.contains(*topic));
    let mut basis: BTreeMap<u16, TopicBasis> = known
        .map(|(topic, seen)| {
            let parent = tree.parent(topic).0;
            (topic.0, TopicBasis { parent, documents: seen.documents, sum: 0 })
        })
        .collect();
    for (topic, counts) in examples {
        if let Some(topic) = basis.get_mut(&topic.0) {
            topic.sum = topic.sum.wrapping_add(fingerprint(counts, 0));
        }
    }
    basis
}

/// What a critic was trained on, and with which settings.
#[derive(Debug, Serialize, Deserialize)]
struct Basis {
    /// Another one means that everything is trained anew.
    settings: String,
    topics: BTreeMap<u16, TopicBasis>,
    /// Documents of the topics when the nodes were tuned.
    tuned_on: BTreeMap<u16, u32>,
    figures: Vec<NodeFigures>,
}

impl Basis {
    fn of(material: &TrainingPages, settings: &TrainSettings, made: &Made) -> Basis {
        Basis {
            settings: fingerprint_of(settings, material),
            topics: material.basis.clone(),
            tuned_on: made.tuned_on.clone(),
            figures: made.figures.clone(),
        }
    }

    /// What was chosen at the nodes of its model.
    fn tunings(&self, model: &CriticModel) -> Tunings {
        let all_terms: BTreeSet<u16> =
            self.figures.iter().filter(|node| node.all_terms).map(|node| node.id).collect();
        let tuning = |decision: &porthole_topic::TopicDecision| Tuning {
            counting: decision.counting,
            smoothing: decision.smoothing,
            features: if all_terms.contains(&decision.node.0) { usize::MAX } else { decision.features.len() },
            calibration: decision.calibration,
        };
        model.decisions().iter().map(|decision| (decision.node, tuning(decision))).collect()
    }
}

/// Settings as text: only whether they are the same matters. A critic of two classes is made for its good topics.
fn fingerprint_of(settings: &TrainSettings, material: &TrainingPages) -> String {
    let good: Vec<u16> = match settings.options.shape {
        ClassifierShape::TwoClass => material.tree.good().map(|id| id.0).collect(),
        ClassifierShape::Tree | ClassifierShape::Flat => Vec::new(),
    };
    format!("{settings:?} {good:?}")
}

/// A critic that can be brought up to date.
struct Before {
    model: CriticModel,
    basis: Basis,
    changed: Vec<TopicId>,
}

impl Before {
    /// None if there is nothing to go on from: everything has to be trained then.
    fn load(
        store: &dyn WorkspaceWriter,
        settings: &TrainSettings,
        material: &TrainingPages,
    ) -> anyhow::Result<Option<Before>> {
        let reader = store.reader();
        let (Some(model), Some(basis)) = (reader.model(CRITIC)?, reader.model(BASIS)?) else {
            return Ok(None);
        };
        // What cannot be read is of another version, or damaged: it is trained anew.
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
        if problems.iter().any(|problem| is_much(problem, &changed, &basis.tuned_on, material)) {
            return Ok(None);
        }
        basis.figures.iter_mut().for_each(|node| node.name(&material.tree));
        Ok(Some(Before { model, basis, changed }))
    }
}

/// Whether so much has changed at a node that what was chosen there may no longer be right.
fn is_much(
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
        // A topic may have others in place of as many: at least one of them changed.
        new += f64::from(now.abs_diff(then).max(u32::from(changed.contains(topic))));
    }
    new > MUCH * all
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
    fn what_is_updated_equals_what_is_trained_anew() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = store(&folder);
        let settings = RawTrain::default().ready().unwrap();
        assert_eq!(train_workspace(&mut store, &settings, false).unwrap().trained, Scope::All);
        let birds = workspace::tree(&*store.reader()).unwrap().find("/Birds").unwrap();
        store.add_examples(&[example(birds, "new", 0, 77)]).unwrap();
        let material = TrainingPages::load(&mut store).unwrap();
        let before = Before::load(&store, &settings, &material).unwrap().unwrap();
        assert_eq!(before.changed, [birds]);
        let tunings = before.basis.tunings(&before.model);
        assert_eq!(train_workspace(&mut store, &settings, false).unwrap().trained, Scope::Changed);
        let anew =
            train(&material.tree, &material.statistics, &tunings, &Tuning::untried(), &settings.options);
        assert!(critic(&store) == anew);
        assert_eq!(train_workspace(&mut store, &settings, false).unwrap().trained, Scope::Nothing);
        assert_eq!(train_workspace(&mut store, &settings, true).unwrap().trained, Scope::All);
    }

    #[test]
    fn other_settings_another_tree_or_much_that_is_new_train_everything() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = store(&folder);
        let check = |store: &mut SqliteStore, raw: RawTrain, scope| {
            let report = train_workspace(store, &raw.ready().unwrap(), false).unwrap();
            assert_eq!(report.trained, scope, "{raw:?}");
        };
        let plain = RawTrain::default();
        let smooth = RawTrain { smoothing: Some(0.5), ..plain };
        check(&mut store, plain, Scope::All);
        check(&mut store, smooth, Scope::All);
        check(&mut store, plain, Scope::All);
        let mut tree = workspace::tree(&*store.reader()).unwrap();
        let (birds, cycling) = (tree.find("/Birds").unwrap(), tree.find("/Sport/Cycling").unwrap());
        tree.move_to(cycling, TopicId::ROOT).unwrap();
        store.set_topics(&tree.rows()).unwrap();
        check(&mut store, plain, Scope::All);
        let many: Vec<_> =
            (0..4).map(|number| example(birds, &format!("new {number}"), 0, 30 + number)).collect();
        store.add_examples(&many).unwrap();
        check(&mut store, plain, Scope::All);
    }

    #[test]
    fn a_topic_that_came_and_went_leaves_nothing_to_whoever_gets_its_id() {
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
        assert_eq!(TrainingPages::load(&mut store).unwrap().statistics.documents(), 17);
        tree.remove(owls).unwrap();
        store.set_topics(&tree.rows()).unwrap();
        workspace::note_removed(&mut store, &[owls]).unwrap();
        assert_eq!(TrainingPages::load(&mut store).unwrap().statistics.documents(), 16);
    }
}
