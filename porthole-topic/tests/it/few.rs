//! Topics with few examples, together with a background and with topics that have many.

use porthole_topic::{
    Critic, Statistics, Taxonomy, TopicExample, TrainingOptions, Tuning, Tunings, add_background,
    choose_topical, train, tune_all,
};
use porthole_types::{TermId, TopicId};

type Document = (TopicId, Vec<(TermId, u32)>);

/// A separate generator, so that the tests are the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % end
    }

    /// A page of 200 words: one in `topical` is about the topic, the others are those of its source.
    fn page(&mut self, source: u32, topic: u32, topical: u32) -> Vec<(TermId, u32)> {
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..200 {
            let term = match self.below(topical) {
                0 => 10_000 + topic * 100 + self.below(20),
                // Some words are common to all sources.
                _ if self.below(3) == 0 => self.below(100),
                _ => 1_000 * source + self.below(300),
            };
            *counts.entry(TermId(term)).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }
}

/// Where the pages of the tree come from, and those of the crawl.
const LIBRARY: u32 = 1;
const WEB: u32 = 2;

/// A tree of ten topics with a hundred pages each, all from one source.
fn library(random: &mut Random) -> (Taxonomy, Vec<Document>) {
    let mut tree = Taxonomy::new();
    let topics: Vec<TopicId> = (0..10).map(|number| tree.add_path(&format!("/T{number}")).unwrap()).collect();
    let pages = topics.iter().zip(0..).flat_map(|(&topic, number)| {
        (0..100).map(|_| (topic, random.page(LIBRARY, number, 8))).collect::<Vec<_>>()
    });
    let pages = pages.collect();
    (tree, pages)
}

fn refs(documents: &[Document]) -> Vec<TopicExample<'_>> {
    documents.iter().map(|(topic, counts)| TopicExample { topic: *topic, counts }).collect()
}

/// Relevance of the user's own pages, of unseen pages about the topic, and of other pages of the web, after a training
/// with pages of the crawl as background.
fn with_background(examples: usize, topical: Option<f64>) -> [Vec<f64>; 3] {
    let mut random = Random(7);
    let (mut tree, pages) = library(&mut random);
    let good = tree.find("/T3").unwrap();
    tree.mark(good).unwrap();
    let options = TrainingOptions::default();
    let tunings = tune_all(&tree, &Statistics::of(refs(&pages)), &refs(&pages), &options).tunings();
    let background = add_background(&mut tree).unwrap().unwrap();
    let own: Vec<Document> = (0..examples).map(|_| (good, random.page(WEB, 3, 12))).collect();
    // About topics that the tree does not have.
    let drawn = (0..300).map(|number| (background, random.page(WEB, 20 + number % 30, 12)));
    let shown: Vec<Document> = own.iter().cloned().chain(drawn).collect();
    let mut statistics = Statistics::of(refs(&pages));
    refs(&shown).into_iter().for_each(|example| statistics.add(example));
    let chosen = choose_topical(&tree, &statistics, &refs(&shown), (&tunings, &Tuning::untried()), &options);
    let (node, mut tuning) = chosen.expect("there is a background");
    tuning.topical = topical.unwrap_or(tuning.topical);
    let mut all: Tunings = tunings;
    all.insert(node, tuning);
    let model = train(&tree, &statistics, &all, &Tuning::untried(), &options);
    let mut critic = Critic::new(model, &tree);
    let mut judge = |pages: Vec<Vec<(TermId, u32)>>| -> Vec<f64> {
        pages.iter().map(|page| critic.relevance(page)).collect()
    };
    [
        judge(own.into_iter().map(|(_, page)| page).collect()),
        judge((0..50).map(|_| random.page(WEB, 3, 12)).collect()),
        judge((0..50).map(|number| random.page(WEB, 20 + number % 30, 12)).collect()),
    ]
}

fn share_above_half(relevances: &[f64]) -> f64 {
    relevances.iter().filter(|&&relevance| relevance > 0.5).count() as f64 / relevances.len() as f64
}

#[test]
fn a_background_does_not_outweigh_few_examples() {
    for examples in [3, 10, 30] {
        let [own, same, other] = with_background(examples, None);
        assert!(own.iter().all(|&relevance| relevance > 0.5), "{examples}: {own:?}");
        assert!(share_above_half(&same) > 0.9, "{examples}: {same:?}");
        assert!(share_above_half(&other) < 0.1, "{examples}: {other:?}");
    }
    // Without common words by rule, the words of the web alone decide for the background.
    let [own, ..] = with_background(3, Some(1.0));
    assert!(own.iter().all(|&relevance| relevance < 0.5), "{own:?}");
}

/// A tree with many examples at most nodes, and one topic of two examples among the children of `/A`.
fn uneven(random: &mut Random) -> (Taxonomy, Vec<Document>) {
    let mut tree = Taxonomy::new();
    let sizes =
        [("/A/few", 2), ("/A/x", 30), ("/A/y", 30), ("/B/x", 30), ("/B/y", 30), ("/C/one", 1), ("/C/two", 1)];
    let mut pages = Vec::new();
    for (number, (path, size)) in sizes.into_iter().enumerate() {
        let topic = tree.add_path(path).unwrap();
        pages.extend((0..size).map(|_| (topic, random.page(WEB, number as u32, 12))));
    }
    (tree, pages)
}

#[test]
fn nodes_with_few_examples_are_calibrated_by_the_others() {
    let mut random = Random(11);
    let (tree, pages) = uneven(&mut random);
    let options = TrainingOptions::default();
    let statistics = Statistics::of(refs(&pages));
    let tuned = tune_all(&tree, &statistics, &refs(&pages), &options);
    let node = |path: &str| tree.find(path).unwrap();
    assert!(tuned.nodes.contains_key(&node("/A")) && tuned.nodes.contains_key(&node("/B")));
    // No example of /C can be held out, so it uses the choice of the others.
    assert!(!tuned.nodes.contains_key(&node("/C")));
    assert!(tuned.nodes[&node("/A")].tuning.calibration.saturation.is_finite());
    assert!(tuned.otherwise.calibration.saturation.is_finite());
    let model = train(&tree, &statistics, &tuned.tunings(), &tuned.otherwise, &options);
    let mut critic = Critic::new(model, &tree);
    // A page between two topics is judged as such, at every node.
    for (parent, topics) in [("/A", [1, 2]), ("/C", [5, 6])] {
        let mut page = random.page(WEB, topics[0], 12);
        page.extend(random.page(WEB, topics[1], 12));
        page.sort_unstable();
        page.dedup_by(|more, first| {
            more.0 == first.0 && {
                first.1 += more.1;
                true
            }
        });
        let best = critic.children(node(parent), &page).iter().map(|(_, log)| log.exp()).fold(0.0, f64::max);
        assert!(best < 0.99, "{parent}: {best}");
    }
}
