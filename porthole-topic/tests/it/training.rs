//! Training: exact under any order of changes, and good choices of hyperparameters.

use std::collections::BTreeMap;

use porthole_page::Extractor;
use porthole_topic::logistic::{
    LogisticError, Samples, SolverSettings, SparseRows, Vocabulary, fit, train_logistic,
};
use porthole_topic::{
    Calibration, ClassifierShape, Critic, CriticModel, FormatError, Pretrained, Statistics, Taxonomy,
    TermCounting, TopicExample, TrainingOptions, Tuning, Tunings, retrain, train, tune_all,
};
use porthole_types::{CanonicalUrl, Headers, TermId, TopicId};
use proptest::prelude::*;

type Document = (TopicId, Vec<(TermId, u32)>);

fn example((topic, counts): &Document) -> TopicExample<'_> {
    TopicExample { topic: *topic, counts }
}

/// Documents of three topics in two branches: common words for all, a few significant ones, noise. Uses its own random
/// generator, so that the test is the same everywhere.
fn documents(tree: &Taxonomy, each: u32) -> Vec<Document> {
    let mut state = 42_u64;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % below
    };
    let leaves: Vec<_> = tree.ids().filter(|&id| tree.is_leaf(id)).collect();
    let mut documents = Vec::new();
    for _ in 0..each {
        for (number, &leaf) in leaves.iter().enumerate() {
            let mut counts = BTreeMap::new();
            for _ in 0..40 {
                let term = match random(4) {
                    0 => 1_000 + number as u32 * 10 + random(5),
                    1 => 500 + random(300),
                    _ => random(50),
                };
                *counts.entry(TermId(term)).or_insert(0) += 1;
            }
            documents.push((leaf, counts.into_iter().collect()));
        }
    }
    documents
}

fn tree() -> Taxonomy {
    let mut tree = Taxonomy::new();
    ["/A/x", "/A/y", "/B"].iter().for_each(|path| drop(tree.add_path(path)));
    tree
}

#[test]
fn planted_terms_are_selected() {
    let tree = tree();
    let documents = documents(&tree, 30);
    let statistics = Statistics::of(documents.iter().map(example));
    let tuning = Tuning { features: 10, ..Tuning::default() };
    let model = train(&tree, &statistics, &Tunings::new(), &tuning, &TrainingOptions::default());
    let at_a =
        model.decisions().into_iter().find(|decision| decision.node == tree.find("/A").unwrap()).unwrap();
    let terms: Vec<u32> = at_a.features.iter().map(|feature| feature.term.0).collect();
    assert_eq!(terms, [1000, 1001, 1002, 1003, 1004, 1010, 1011, 1012, 1013, 1014]);
}

#[test]
fn cross_validation_finds_the_planted_settings() {
    let tree = tree();
    let documents = documents(&tree, 40);
    let examples: Vec<_> = documents.iter().map(example).collect();
    let statistics = Statistics::of(examples.iter().copied());
    let options = TrainingOptions::default();
    let tuned = tune_all(&tree, &statistics, &examples, &options).nodes;
    assert_eq!(tuned.len(), 2);
    let root = &tuned[&TopicId::ROOT];
    assert!(root.chosen.accuracy >= 0.95 && root.chosen.accuracy >= root.plain.accuracy, "{:?}", root.chosen);
    assert!(root.calibrated_log_loss <= root.chosen.log_loss + 1e-9);
    assert_eq!(root.confusion.iter().flatten().sum::<u32>(), 120);
    // Given values are not chosen.
    let given = TrainingOptions {
        smoothing: Some(0.5),
        features: Some(20),
        counting: Some(TermCounting::Each),
        ..options
    };
    let root = tune_all(&tree, &statistics, &examples, &given).nodes[&TopicId::ROOT].tuning;
    assert_eq!((root.smoothing, root.features, root.counting), (0.5, 20, TermCounting::Each));
}

#[test]
fn calibration_reduces_the_certainty_of_long_pages_only() {
    let tree = tree();
    let documents = documents(&tree, 30);
    let statistics = Statistics::of(documents.iter().map(example));
    let calibration = Calibration { saturation: 5.0, power: 1.0 };
    let tuning = Tuning { calibration, ..Tuning::default() };
    let model = train(&tree, &statistics, &Tunings::new(), &tuning, &TrainingOptions::default());
    let mut sure = Critic::new(model.clone(), &tree).uncalibrated();
    let mut tempered = Critic::new(model, &tree);
    let long: Vec<_> = [(1000, 5), (1010, 2), (1020, 2)].map(|(term, count)| (TermId(term), count)).to_vec();
    assert!(tempered.best(&long).1 < sure.best(&long).1);
    assert_eq!(tempered.best(&[]).1, sure.best(&[]).1);
    let sum: f64 = tempered.children(TopicId::ROOT, &long).iter().map(|(_, log)| log.exp()).sum();
    assert!((sum - 1.0).abs() < 1e-12);
}

#[test]
fn a_model_survives_serialisation() {
    let tree = tree();
    let documents = documents(&tree, 20);
    let model = trained(&tree, &documents);
    let bytes = model.to_bytes();
    assert_eq!(CriticModel::from_bytes(&bytes).unwrap(), model);
    assert_eq!(
        CriticModel::assemble(model.kind(), model.shape(), model.term_version(), &model.decisions()),
        model
    );
}

fn trained(tree: &Taxonomy, documents: &[Document]) -> CriticModel {
    let statistics = Statistics::of(documents.iter().map(example));
    train(tree, &statistics, &Tunings::new(), &Tuning::default(), &TrainingOptions::default())
}

#[test]
fn invalid_models_are_rejected_with_a_reason() {
    let tree = tree();
    let bytes = trained(&tree, &documents(&tree, 10)).to_bytes();
    let refused = |bytes: &[u8], words: &str| {
        let message = CriticModel::from_bytes(bytes).unwrap_err().to_string();
        assert!(message.contains(words), "{message:?} does not say {words:?}");
    };
    refused(b"", "this is not a model");
    refused(b"GIF89a, with more behind it", "this is not a model");
    let mut other = bytes.clone();
    other[8] = 9;
    refused(&other, "has format 9");
    let mut flipped = bytes.clone();
    let middle = bytes.len() / 2;
    flipped[middle] ^= 1;
    refused(&flipped, "damaged");
    for cut in [12, 20, bytes.len() / 2, bytes.len() - 1] {
        refused(&bytes[..cut], "damaged");
    }
}

#[test]
fn models_with_another_term_version_are_rejected() {
    let tree = tree();
    let statistics = Statistics::of(documents(&tree, 10).iter().map(example));
    let options = TrainingOptions { term_version: 999, ..TrainingOptions::default() };
    let model = train(&tree, &statistics, &Tunings::new(), &Tuning::default(), &options);
    let refused = CriticModel::from_bytes(&model.to_bytes());
    assert!(matches!(refused, Err(FormatError::Terms { found: 999, .. })));
}

#[test]
fn pretrained_counts_train_to_the_same_model() {
    let tree = tree();
    let documents = documents(&tree, 20);
    let statistics = Statistics::of(documents.iter().map(example));
    let tuning = Tuning {
        counting: TermCounting::Once,
        smoothing: 0.1,
        features: 100,
        // It belongs to a background, which a taxonomy does not have.
        topical: Tuning::untried().topical,
        ..Tuning::default()
    };
    let tunings: Tunings = [(TopicId::ROOT, tuning)].into();
    let words = [(TermId(3), "three".to_owned())].into();
    let learnt = Pretrained { source: "a test".to_owned(), tree, statistics, tunings, words };
    let read = Pretrained::from_bytes(&learnt.to_bytes()).unwrap();
    assert_eq!((&read.tree, &read.tunings, &read.words), (&learnt.tree, &learnt.tunings, &learnt.words));
    let model = |from: &Pretrained| {
        train(&from.tree, &from.statistics, &from.tunings, &Tuning::default(), &TrainingOptions::default())
    };
    assert_eq!(model(&read), model(&learnt));
    let mut bytes = learnt.to_bytes();
    let last = bytes.len() - 10;
    bytes[last] ^= 0xff;
    assert!(Pretrained::from_bytes(&bytes).is_err());
    assert!(Pretrained::from_bytes(&bytes[..40]).is_err());
    assert!(Pretrained::from_bytes(b"PHTAXON\n\xff\xff\xff\xff").is_err());
}

#[test]
fn the_general_taxonomy_classifies_owls_and_locomotives() {
    let general = Pretrained::general().unwrap();
    assert!(general.tree.len() > 100 && general.source.contains("Wikipedia"));
    let model = train(
        &general.tree,
        &general.statistics,
        &general.tunings,
        &Tuning::default(),
        &TrainingOptions::default(),
    );
    let mut critic = Critic::new(model, &general.tree);
    let mut extractor = Extractor::default();
    for (text, topic) in [
        (
            "The owl nests in hollow trees. It hunts voles and mice at night with silent wings, its feathers are \
             brown and white, and the female lays three to five eggs, which she broods for a month.",
            "/Science/Biology/Birds",
        ),
        (
            "The steam locomotive hauled express trains on the main line until the railway was electrified. Its \
             boiler and driving wheels were built at the company's works, and goods wagons followed.",
            "/Design_and_Technology/Railway_transport",
        ),
    ] {
        let url = CanonicalUrl::parse("http://a.test/").unwrap();
        let page = extractor.extract(&url, &Headers::new(), text.as_bytes());
        let counts = page.term_counts();
        let topic = general.tree.find(topic).unwrap();
        assert_eq!(critic.best(&counts).0, topic);
        assert!(critic.propose(&general.tree, &[&counts], 3).iter().any(|proposal| proposal.topic == topic));
        let words: Vec<_> =
            critic.explain(&counts, 5).iter().flat_map(|step| step.words_for.clone()).collect();
        assert!(words.iter().all(|(term, _)| general.words.contains_key(term)));
    }
}

/// A change to the examples or the tree of a user.
#[derive(Clone, Debug)]
enum Change {
    Add(usize, Vec<(TermId, u32)>),
    Remove(usize),
    MoveTopic(usize, usize),
    RemoveTopic(usize),
}

fn bag() -> impl Strategy<Value = Vec<(TermId, u32)>> {
    prop::collection::btree_map(0..20_u32, 1..9_u32, 1..8)
        .prop_map(|terms| terms.into_iter().map(|(term, count)| (TermId(term), count)).collect())
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (0..100_usize, bag()).prop_map(|(topic, counts)| Change::Add(topic, counts)),
        2 => (0..100_usize).prop_map(Change::Remove),
        1 => (0..100_usize, 0..100_usize).prop_map(|(topic, parent)| Change::MoveTopic(topic, parent)),
        1 => (0..100_usize).prop_map(Change::RemoveTopic),
    ]
}

proptest! {
    #[test]
    fn incremental_training_equals_training_from_scratch(
        changes in prop::collection::vec(change(), 1..25),
        shape in prop::sample::select(&ClassifierShape::ALL[..]),
        features in prop::sample::select(&[5, usize::MAX][..]),
        counting in prop::sample::select(&TermCounting::ALL[..]),
    ) {
        let mut tree = Taxonomy::new();
        ["/A/x", "/A/y", "/B/u", "/B/v", "/C"].iter().for_each(|path| drop(tree.add_path(path)));
        let tuning = Tuning { features, counting, ..Tuning::default() };
        let options = TrainingOptions { shape, ..TrainingOptions::default() };
        let mut documents: Vec<Document> = Vec::new();
        let mut statistics = Statistics::default();
        let mut model = train(&tree, &statistics, &Tunings::new(), &tuning, &options);
        for change in changes {
            let ids: Vec<_> = tree.ids().collect();
            let mut changed = Vec::new();
            match change {
                Change::Add(topic, counts) => {
                    let topic = ids[topic % ids.len()];
                    statistics.add(TopicExample { topic, counts: &counts });
                    documents.push((topic, counts));
                    changed.push(topic);
                }
                Change::Remove(number) if !documents.is_empty() => {
                    let gone = documents.swap_remove(number % documents.len());
                    statistics.remove(example(&gone));
                    changed.push(gone.0);
                }
                Change::MoveTopic(topic, parent) => {
                    let (topic, parent) = (ids[topic % ids.len()], ids[parent % ids.len()]);
                    changed.extend([topic, tree.parent(topic)]);
                    let _ = tree.move_to(topic, parent);
                }
                Change::RemoveTopic(topic) => {
                    let topic = ids[topic % ids.len()];
                    changed.push(tree.parent(topic));
                    for gone in tree.remove(topic).unwrap_or_default() {
                        let (out, kept) = documents.into_iter().partition(|(topic, _)| *topic == gone);
                        documents = kept;
                        let out: Vec<Document> = out;
                        out.iter().for_each(|document| statistics.remove(example(document)));
                    }
                }
                Change::Remove(_) => {}
            }
            model = retrain(&model, &tree, &statistics, &Tunings::new(), &tuning, &changed);
            let counted = Statistics::of(documents.iter().map(example));
            prop_assert_eq!(&statistics, &counted);
            let anew = train(&tree, &counted, &Tunings::new(), &tuning, &options);
            prop_assert_eq!(&model, &anew);
        }
    }
}

#[test]
fn a_tree_of_regressions_applies_its_weights() {
    let tree = tree();
    let documents = documents(&tree, 30);
    let examples: Vec<_> = documents.iter().map(example).collect();
    let counted = Statistics::of(examples.iter().copied());
    let options = TrainingOptions::default();
    let (model, _) = train_logistic(&tree, &examples, &counted, Some(10.0), &options).unwrap();
    assert_eq!(CriticModel::from_bytes(&model.to_bytes()).unwrap(), model);
    let mut critic = Critic::new(model, &tree);
    // The same regression at /A computed directly: the vocabulary of its pages, rows, weights, softmax.
    let at_a: Vec<&Document> =
        documents.iter().filter(|(topic, _)| tree.parent(*topic) != TopicId::ROOT).collect();
    let vocabulary = Vocabulary::of(at_a.iter().map(|(_, counts)| counts.as_slice()), 2);
    let mut rows = SparseRows::new();
    at_a.iter().for_each(|(_, counts)| rows.push(vocabulary.row(counts)));
    let a = tree.find("/A").unwrap();
    let labels: Vec<u16> = at_a.iter().map(|(topic, _)| u16::from(tree.children(a)[1] == *topic)).collect();
    let samples =
        Samples { rows: &rows, labels: &labels, weights: None, classes: 2, features: vocabulary.len() };
    let weights = fit(&samples, &SolverSettings { strength: 10.0, ..SolverSettings::default() });
    for (_, counts) in at_a.iter().take(20) {
        let expected = weights.probabilities(vocabulary.row(counts));
        let found = critic.children(a, counts);
        // Small weights were dropped.
        assert!((found[0].1.exp() - expected[0]).abs() < 0.01, "{} {}", found[0].1.exp(), expected[0]);
    }
    let right = documents.iter().filter(|(topic, counts)| critic.best(counts).0 == *topic).count();
    assert!(right >= 85, "{right} of 90");
    let mut more = counted.clone();
    more.add(TopicExample { topic: TopicId(9), counts: &[] });
    assert!(matches!(
        train_logistic(&tree, &examples, &more, Some(1.0), &options),
        Err(LogisticError::NoPages(_))
    ));
}
