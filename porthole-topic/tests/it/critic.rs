//! Judging, compared with hand-computed results and with a dense reference implementation of the formulas.

use std::collections::BTreeMap;

use porthole_topic::{
    ClassifierShape, Critic, CriticModel, Statistics, Taxonomy, TermCounting, TermFrequencies, TopicExample,
    TrainingOptions, Tuning, Tunings, train,
};
use porthole_types::{TermId, TopicId};
use proptest::prelude::*;

type Document = (TopicId, Vec<(TermId, u32)>);

fn counts(terms: &[(u32, u32)]) -> Vec<(TermId, u32)> {
    terms.iter().map(|&(term, count)| (TermId(term), count)).collect()
}

fn statistics(documents: &[Document]) -> Statistics {
    Statistics::of(documents.iter().map(|(topic, counts)| TopicExample { topic: *topic, counts }))
}

fn plain(tree: &Taxonomy, documents: &[Document], tuning: &Tuning, shape: ClassifierShape) -> CriticModel {
    let options = TrainingOptions { shape, ..TrainingOptions::default() };
    train(tree, &statistics(documents), &Tunings::new(), tuning, &options)
}

fn critic(tree: &Taxonomy, documents: &[Document]) -> Critic {
    Critic::new(plain(tree, documents, &Tuning::default(), ClassifierShape::Tree), tree)
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-6, "{a} is not {b}");
}

/// x, y, z are terms 1, 2, 3. /A has x x y, /B has y z; /B/C has z z z, /B/D has y y.
fn by_hand() -> (Taxonomy, Vec<Document>, [TopicId; 4]) {
    let mut tree = Taxonomy::new();
    let [a, c, d] = ["/A", "/B/C", "/B/D"].map(|path| tree.add_path(path).unwrap());
    let b = tree.find("/B").unwrap();
    let documents = vec![(a, counts(&[(1, 2), (2, 1)])), (c, counts(&[(3, 3)])), (d, counts(&[(2, 2)]))];
    (tree, documents, [a, b, c, d])
}

#[test]
fn golden_values() {
    let (tree, documents, [a, b, c, d]) = by_hand();
    let mut critic = critic(&tree, &documents);
    // At the root: three terms; A has 3 words and 1 of 3 documents, B has 5 words and 2 of 3.
    // theta(A): x 3/6, y 2/6, z 1/6; theta(B): x 1/8, y 3/8, z 4/8 (V eq. 1).
    // d = x z: A 1/3 * 3/6 * 1/6 = 1/36, B 2/3 * 1/8 * 4/8 = 1/24.
    let page = counts(&[(1, 1), (3, 1)]);
    let root = critic.children(TopicId::ROOT, &page);
    close(root[0].1.exp(), 0.4);
    close(root[1].1.exp(), 0.6);
    // At B: two terms; x is not one of them. theta(C): y 1/5, z 4/5; theta(D): y 3/4, z 1/4; priors equal.
    let below = critic.children(b, &page);
    close(below[0].1.exp(), (4.0 / 5.0) / (4.0 / 5.0 + 1.0 / 4.0));
    let all: BTreeMap<_, _> = critic.all(&page).into_iter().collect();
    close(all[&c], 0.6 * 16.0 / 21.0);
    close(all[&d], 0.6 * 5.0 / 21.0);
    close(all[&a], 0.4);
    assert_eq!(critic.best(&page).0, c);
}

#[test]
fn relevance_is_the_sum_over_good_topics() {
    let (mut tree, documents, [a, b, c, d]) = by_hand();
    let page = counts(&[(1, 1), (3, 1)]);
    let relevance = |good: &[TopicId], tree: &mut Taxonomy| {
        good.iter().for_each(|&id| tree.mark(id).unwrap());
        let mut critic = critic(tree, &documents);
        let judgment = critic.judge(&page);
        assert_eq!(judgment.best, c);
        close(judgment.relevance, critic.relevance(&page));
        let decided = critic.decided();
        good.iter().for_each(|&id| tree.unmark(id).unwrap());
        (judgment.relevance, decided)
    };
    close(relevance(&[a], &mut tree).0, 0.4);
    close(relevance(&[b], &mut tree).0, 0.6);
    close(relevance(&[a, d], &mut tree).0, 0.4 + 0.6 * 5.0 / 21.0);
    close(relevance(&[a, c, d], &mut tree).0, 1.0);
    close(relevance(&[TopicId::ROOT], &mut tree).0, 1.0);
    close(relevance(&[], &mut tree).0, 0.0);
    // Only decisions on the paths to good topics are evaluated.
    assert_eq!(relevance(&[a], &mut tree).1, 1);
    assert_eq!(relevance(&[c], &mut tree).1, 2);
}

#[test]
fn flat_and_two_class_shapes() {
    let (mut tree, documents, [a, _, c, d]) = by_hand();
    tree.mark(tree.find("/B").unwrap()).unwrap();
    let page = counts(&[(3, 2)]);
    let tuning = Tuning::default();
    let mut flat = Critic::new(plain(&tree, &documents, &tuning, ClassifierShape::Flat), &tree);
    // theta(A) 1/6, theta(C) 4/6, theta(D) 1/5, priors equal, z twice.
    let (pa, pc, pd) = (1.0 / 36.0, 16.0 / 36.0, 1.0 / 25.0);
    close(flat.judge(&page).relevance, (pc + pd) / (pa + pc + pd));
    assert_eq!(flat.judge(&page).best, c);
    let all: BTreeMap<_, _> = flat.all(&page).into_iter().collect();
    close(all[&a] + all[&c] + all[&d], 1.0);
    let mut two = Critic::new(plain(&tree, &documents, &tuning, ClassifierShape::TwoClass), &tree);
    let (good, rest) = (2.0 / 3.0 * 16.0 / 64.0, 1.0 / 3.0 / 36.0);
    close(two.judge(&page).relevance, good / (good + rest));
    assert_eq!(two.judge(&counts(&[(1, 3)])).best, TopicId::ROOT);
}

#[test]
fn unknown_terms_and_topics() {
    let (tree, documents, [_, b, ..]) = by_hand();
    let mut critic = critic(&tree, &documents);
    // Unknown words are no evidence: the prior remains.
    let page = counts(&[(77, 5)]);
    close(critic.children(TopicId::ROOT, &page)[1].1.exp(), 2.0 / 3.0);
    assert_eq!(critic.children(b, &[]).len(), 2);
    let mut empty = Critic::new(plain(&tree, &[], &Tuning::default(), ClassifierShape::Tree), &tree);
    assert_eq!(empty.judge(&page).relevance, 0.0);
    assert_eq!(empty.judge(&page).best, TopicId::ROOT);
    assert!(empty.all(&page).is_empty());
}

#[test]
fn ties_do_not_depend_on_the_marks() {
    let mut tree = Taxonomy::new();
    let [a, c, _] = ["/A", "/B/C", "/D"].map(|path| tree.add_path(path).unwrap());
    let documents: Vec<Document> =
        [a, c, tree.find("/D").unwrap()].map(|topic| (topic, counts(&[(1, 1)]))).to_vec();
    let page = counts(&[(7, 1)]);
    let unmarked = critic(&tree, &documents).judge(&page).best;
    for good in [a, c] {
        tree.mark(good).unwrap();
        let mut critic = critic(&tree, &documents);
        assert_eq!((critic.judge(&page).best, critic.best(&page).0), (unmarked, unmarked));
        tree.unmark(good).unwrap();
    }
}

#[test]
fn decisive_words_are_the_planted_ones() {
    let (tree, documents, [_, b, c, _]) = by_hand();
    let mut critic = critic(&tree, &documents);
    let page = counts(&[(1, 1), (3, 2)]);
    let steps = critic.explain_topic(c, &page, 5);
    assert_eq!(steps.iter().map(|step| step.topic).collect::<Vec<_>>(), [b, c]);
    // ln(theta(B,z)/theta(A,z)) = ln 3, twice; x supports A: ln(theta(B,x)/theta(A,x)) = ln(1/4).
    assert_eq!(steps[0].words_for[0].0, TermId(3));
    close(steps[0].words_for[0].1, 2.0 * 3.0_f64.ln());
    assert_eq!(steps[0].words_against[0].0, TermId(1));
    close(steps[0].words_against[0].1, 0.25_f64.ln());
    close(steps[1].probability, critic.all(&page).iter().find(|(topic, _)| *topic == c).unwrap().1);
    assert_eq!(critic.propose(&tree, &[&counts(&[(3, 4)])], 3)[0].topic, c);
}

/// Every probability from the formulas, without the program's optimisations: logs of theta for all terms and all
/// classes, the chain rule by recursion.
fn dense(
    tree: &Taxonomy,
    documents: &[Document],
    page: &TermFrequencies,
    counting: TermCounting,
    s: f64,
) -> BTreeMap<TopicId, f64> {
    let mut all = BTreeMap::new();
    descend(tree, documents, page, (counting, s), TopicId::ROOT, 1.0, &mut all);
    all
}

fn descend(
    tree: &Taxonomy,
    documents: &[Document],
    page: &TermFrequencies,
    (counting, s): (TermCounting, f64),
    node: TopicId,
    probability: f64,
    all: &mut BTreeMap<TopicId, f64>,
) {
    let of_child = |child: TopicId| -> Vec<&Document> {
        let below = tree.below(child);
        documents.iter().filter(|(topic, _)| below.contains(topic)).collect()
    };
    let children: Vec<_> = tree
        .children(node)
        .iter()
        .map(|&child| (child, of_child(child)))
        .filter(|(_, own)| !own.is_empty())
        .collect();
    let total: usize = children.iter().map(|(_, own)| own.len()).sum();
    let vocabulary: std::collections::BTreeSet<TermId> = children
        .iter()
        .flat_map(|(_, own)| own.iter().flat_map(|(_, counts)| counts.iter().map(|(t, _)| *t)))
        .collect();
    let weight = |counts: &TermFrequencies, term: TermId| {
        let count = counts.iter().find(|(t, _)| *t == term).map_or(0, |(_, count)| *count);
        let words: u32 = counts.iter().map(|(_, count)| count).sum();
        match counting {
            TermCounting::Each => f64::from(count),
            TermCounting::Once => f64::from(count.min(1)),
            TermCounting::Share => 100.0 * f64::from(count) / f64::from(words),
        }
    };
    let mut joint = Vec::new();
    for (_, own) in &children {
        let sum = |term: TermId| own.iter().map(|(_, counts)| weight(counts, term)).sum::<f64>();
        let words: f64 = vocabulary.iter().map(|&term| sum(term)).sum();
        let mut log = (own.len() as f64 / total as f64).ln();
        for &(term, count) in page.iter().filter(|(term, _)| vocabulary.contains(term)) {
            let theta = (s + sum(term)) / (s * vocabulary.len() as f64 + words);
            log += (if counting == TermCounting::Once { 1.0 } else { f64::from(count) }) * theta.ln();
        }
        joint.push(log);
    }
    let top = joint.iter().copied().fold(f64::MIN, f64::max);
    let sum: f64 = joint.iter().map(|log| (log - top).exp()).sum();
    for ((child, _), log) in children.iter().zip(&joint) {
        let here = probability * (log - top).exp() / sum;
        all.insert(*child, here);
        descend(tree, documents, page, (counting, s), *child, here, all);
    }
}

#[test]
fn a_term_may_be_a_feature_of_any_number_of_decisions() {
    let mut tree = Taxonomy::new();
    let mut documents: Vec<Document> = Vec::new();
    for branch in 0..90 {
        for leaf in 0..2 {
            let topic = tree.add_path(&format!("/b{branch}/l{leaf}")).unwrap();
            documents.push((topic, counts(&[(1 + leaf, 3), (3 + branch % 3, 1), (100 + branch, 2)])));
        }
    }
    let page = counts(&[(1, 2), (2, 1), (4, 4), (170, 1), (185, 1)]);
    let found = critic(&tree, &documents).all(&page);
    let expected = dense(&tree, &documents, &page, TermCounting::Each, 1.0);
    assert_eq!(found.len(), 270);
    found.iter().for_each(|(topic, probability)| close(*probability, expected[topic]));
}

fn bag() -> impl Strategy<Value = Vec<(TermId, u32)>> {
    prop::collection::btree_map(0..12_u32, 1..6_u32, 1..6)
        .prop_map(|terms| terms.into_iter().map(|(term, count)| (TermId(term), count)).collect())
}

/// A random tree, given by each topic's parent among those before it, with examples in its leaves.
fn world() -> impl Strategy<Value = (Taxonomy, Vec<Document>)> {
    let parents = prop::collection::vec(0..100_usize, 1..9);
    (parents, prop::collection::vec((0..100_usize, bag()), 1..20)).prop_map(|(parents, documents)| {
        let mut tree = Taxonomy::new();
        for (number, parent) in parents.into_iter().enumerate() {
            let ids: Vec<_> = tree.ids().collect();
            tree.add(ids[parent % ids.len()], &format!("t{number}")).unwrap();
        }
        let leaves: Vec<_> = tree.ids().filter(|&id| tree.is_leaf(id)).collect();
        let documents =
            documents.into_iter().map(|(leaf, counts)| (leaves[leaf % leaves.len()], counts)).collect();
        (tree, documents)
    })
}

proptest! {
    #[test]
    fn sparse_equals_dense(
        (tree, documents) in world(),
        page in bag(),
        counting in prop::sample::select(&TermCounting::ALL[..]),
        smoothing in prop::sample::select(&[1.0, 0.1][..]),
    ) {
        let tuning = Tuning { counting, smoothing, ..Tuning::default() };
        let mut critic = Critic::new(plain(&tree, &documents, &tuning, ClassifierShape::Tree), &tree);
        let expected = dense(&tree, &documents, &page, counting, smoothing);
        let found: BTreeMap<_, _> = critic.all(&page).into_iter().collect();
        prop_assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for (topic, probability) in &found {
            prop_assert!((probability - expected[topic]).abs() < 1e-4, "{topic:?}: {probability} {}", expected[topic]);
        }
    }

    #[test]
    fn probabilities_sum_to_one_and_the_best_leaf_is_the_most_probable(
        (mut tree, documents) in world(),
        page in bag(),
        good in 0..100_usize,
        steered in 0..100_usize,
    ) {
        let ids: Vec<_> = tree.ids().collect();
        let good = ids[good % ids.len()];
        tree.mark(good).unwrap();
        let mut critic = critic(&tree, &documents);
        let all: BTreeMap<_, _> = critic.all(&page).into_iter().collect();
        for &id in &ids {
            let here = if id == TopicId::ROOT { Some(1.0) } else { all.get(&id).copied() };
            let below: Vec<f64> = tree.children(id).iter().filter_map(|child| all.get(child)).copied().collect();
            if let Some(here) = here.filter(|_| !below.is_empty()) {
                prop_assert!((below.iter().sum::<f64>() - here).abs() < 1e-9);
            }
        }
        let leaves = all.iter().filter(|(id, _)| !tree.children(**id).iter().any(|child| all.contains_key(child)));
        let most = leaves.map(|(_, probability)| *probability).fold(0.0, f64::max);
        let (best, probability) = critic.best(&page);
        prop_assert!((probability - most).abs() < 1e-9 && (all[&best] - most).abs() < 1e-9);
        let relevance = critic.relevance(&page);
        let expected = if good == TopicId::ROOT { 1.0 } else { all.get(&good).copied().unwrap_or(0.0) };
        prop_assert!((relevance - expected).abs() < 1e-9, "{relevance} {expected}");
        let judgment = critic.judge(&page);
        prop_assert_eq!(judgment.best, best);
        // The terms in any order, with repetitions, give the same result to the last bit.
        let mut terms: Vec<TermId> =
            page.iter().rev().flat_map(|&(term, count)| vec![term; count as usize]).collect();
        let half = terms.len() / 2;
        terms.rotate_left(half);
        prop_assert_eq!(critic.judge_terms(&terms), judgment);
        prop_assert_eq!(critic.judge_terms(&terms), judgment);
        // Also with many unknown terms: long pages are read by other code than short ones.
        let unknown = (0..100).map(|number| TermId(u32::MAX - number));
        let long: Vec<TermId> = terms.iter().copied().chain(unknown).collect();
        prop_assert_eq!(critic.judge_terms(&long), judgment);
        // Dropping the decisions that R does not need does not change R.
        let mut relevance_only = critic.relevance_only();
        prop_assert_eq!(relevance_only.relevance_of_terms(&terms), judgment.relevance);
        // With a threshold, R is exact only above it.
        for least in [0.0, 0.02, 0.3, judgment.relevance, 1.0] {
            let found = relevance_only.relevance_beyond(&terms, least);
            let is_less = found <= least + 1e-12 && judgment.relevance <= least + 1e-12;
            prop_assert!(found == judgment.relevance || is_less, "{found} {} {least}", judgment.relevance);
        }
        prop_assert!(relevance_only.model().decision_count() <= critic.model().decision_count());
        // With other marks for steering, it gives the result of a critic with those marks, and R does not change.
        prop_assert_eq!(critic.steering(), None);
        tree.unmark(good).unwrap();
        let other = ids[steered % ids.len()];
        tree.mark(other).unwrap();
        let mut other = critic.clone();
        other.update_marks(&tree);
        let mut steered = critic.toward(tree.marks());
        for _ in 0..2 {
            prop_assert_eq!(steered.judge_terms(&terms), judgment);
            prop_assert_eq!(steered.steering(), Some(other.judge_terms(&terms)));
        }
    }
}
