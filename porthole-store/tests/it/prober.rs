//! The classifier inside the database: its three variants agree with each other and with the formulas.

use std::collections::{BTreeMap, BTreeSet};

use porthole_store::{
    DocumentRow, Error, NodeRow, ProbeTable, Prober, StatRow, Store, TableStore, WorkspaceWriter,
};
use porthole_types::{Mark, TermId, TopicId, TopicRow, UrlId};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use crate::postgres::PgPlace;
use crate::topics::topic;
use crate::web::Place;

const ROOT: TopicId = TopicId::ROOT;

/// A tree with statistics, and documents.
#[derive(Clone, Debug)]
struct World {
    topics: Vec<TopicRow>,
    nodes: Vec<NodeRow>,
    stats: Vec<StatRow>,
    documents: Vec<DocumentRow>,
}

impl World {
    fn store(&self, place: &Place) {
        self.write(&mut place.open());
    }

    fn write(&self, store: &mut TableStore) {
        store.set_topics(&self.topics).unwrap();
        store.set_statistics(&self.nodes, &mut self.stats.iter().copied()).unwrap();
        store.set_documents(&mut self.documents.iter().cloned()).unwrap();
    }

    fn children(&self, c0: TopicId) -> Vec<TopicId> {
        let below = self.topics.iter().filter(|row| row.parent == c0 && row.id != ROOT);
        below.map(|row| row.id).collect()
    }

    fn internal(&self) -> Vec<TopicId> {
        let ids = self.topics.iter().map(|row| row.id);
        ids.filter(|&id| !self.children(id).is_empty()).collect()
    }

    /// V eq. 2 with theta written out for every child and term: no shared sums, no logs until the end.
    fn by_the_book(&self, c0: TopicId, terms: &[(TermId, u32)]) -> Vec<(TopicId, f64)> {
        let theta: BTreeMap<_, _> = self
            .stats
            .iter()
            .filter(|row| row.parent == c0)
            .map(|row| ((row.topic, row.term), row.logtheta))
            .collect();
        let features: BTreeSet<_> = theta.keys().map(|&(_, term)| term).collect();
        let weight = |child: TopicId| {
            let node = self.nodes.iter().find(|node| node.topic == child).unwrap();
            let terms = terms.iter().filter(|(term, _)| features.contains(term));
            let each = terms.map(|&(term, freq)| {
                f64::from(freq) * theta.get(&(child, term)).copied().unwrap_or(-node.logdenom)
            });
            node.logprior + each.sum::<f64>()
        };
        let weights: Vec<_> = self.children(c0).into_iter().map(|child| (child, weight(child))).collect();
        // One over the sum of odds, for each child separately.
        let odds = |one: f64| weights.iter().map(|&(_, other)| (other - one).exp()).sum::<f64>();
        weights.iter().map(|&(child, one)| (child, -odds(one).ln())).collect()
    }

    /// V eq. 3 by the probability of every node.
    fn relevance(&self, terms: &[(TermId, u32)]) -> f64 {
        let mut probability = BTreeMap::from([(ROOT, 1.0)]);
        // Parents have smaller ids here.
        for c0 in self.internal() {
            for (child, log) in self.by_the_book(c0, terms) {
                probability.insert(child, probability[&c0] * log.exp());
            }
        }
        let good = self.topics.iter().filter(|row| row.mark == Mark::Good);
        good.map(|row| probability[&row.id]).sum()
    }
}

/// Trees of up to ten nodes; a term is missing from a child with probability one half.
fn world() -> impl Strategy<Value = World> {
    (1usize..10).prop_flat_map(|size| {
        let parents: Vec<_> = (0..size).map(|id| 0..=id).collect();
        let number = -6.0f64..-0.01;
        let term = (1..=size, prop::sample::select(TERMS.to_vec()));
        let terms = prop::collection::btree_map(prop::sample::select(TERMS.to_vec()), 1u32..200, 1..8);
        (
            parents,
            prop::collection::vec((number.clone(), 0.5f64..9.0), size),
            prop::collection::btree_map(term, number, 0..size * TERMS.len() / 2),
            prop::collection::btree_map(any::<u64>(), terms, 1..6),
            prop::collection::vec(any::<bool>(), size + 1),
        )
            .prop_map(|(parents, numbers, thetas, documents, wanted)| {
                let ids: Vec<_> = (0..=parents.len()).map(|id| TopicId(id as u16)).collect();
                let above: Vec<_> = std::iter::once(0).chain(parents).map(|parent| ids[parent]).collect();
                let parent = |id: TopicId| above[usize::from(id.0)];
                let theta = |((child, term), logtheta): ((usize, u32), f64)| StatRow {
                    parent: parent(ids[child]),
                    topic: ids[child],
                    term: TermId(term),
                    logtheta,
                };
                let document = |(did, terms): (u64, BTreeMap<u32, u32>)| DocumentRow {
                    did: UrlId(did),
                    terms: terms.into_iter().map(|(term, freq)| (TermId(term), freq)).collect(),
                };
                let node = |(&topic, (logprior, logdenom)): (&TopicId, (f64, f64))| NodeRow {
                    topic,
                    logprior,
                    logdenom,
                };
                World {
                    topics: marked(&above, &wanted),
                    nodes: ids[1..].iter().zip(numbers).map(node).collect(),
                    stats: thetas.into_iter().map(theta).collect(),
                    documents: documents.into_iter().map(document).collect(),
                }
            })
    })
}

const TERMS: [u32; 12] =
    [0, 1, 2, 3, 100, 70_000, 1 << 31, (1 << 31) + 1, u32::MAX - 2, u32::MAX - 1, u32::MAX, 9];

/// Marks a node good where the marks allow it, with the marks that follow.
fn marked(above: &[TopicId], wanted: &[bool]) -> Vec<TopicRow> {
    let mut marks = vec![Mark::Null; above.len()];
    let parent = |id: usize| usize::from(above[id].0);
    for id in 0..above.len() {
        // Parents come before their children, so the ancestors are already marked.
        let over = marks[parent(id)];
        if id > 0 && matches!(over, Mark::Good | Mark::Subsumed) {
            marks[id] = Mark::Subsumed;
        } else if wanted[id] && (id > 0 || wanted.iter().all(|&wanted| wanted)) {
            marks[id] = Mark::Good;
            let mut at = id;
            while at != 0 {
                at = parent(at);
                marks[at] = Mark::Path;
            }
        }
    }
    let row = |(id, mark): (usize, &Mark)| topic(TopicId(id as u16), above[id], &format!("t{id}"), *mark);
    marks.iter().enumerate().map(row).collect()
}

fn assert_close(found: &[(TopicId, f64)], expected: &[(TopicId, f64)], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (&(topic, found), &(same, expected)) in found.iter().zip(expected) {
        assert_eq!(topic, same, "{what}");
        // Relative for large numbers: the logarithm of a probability is unbounded.
        let near = (found - expected).abs() <= 1e-9 * expected.abs().max(1.0);
        assert!(near, "{what}, topic {topic:?}: {found} instead of {expected}");
    }
}

fn check(world: &World) {
    let place = Place::new();
    world.store(&place);
    // Without a cache, BulkProbe joins by term; with one page by small batches of documents, with ten by large ones.
    for cache in [0, 1, 10] {
        check_with(world, &Prober::open(place.path(), Some(cache)).unwrap());
    }
}

fn check_with(world: &World, prober: &Prober) {
    let of = |did: UrlId| world.documents.iter().find(|document| document.did == did).unwrap();
    for c0 in world.internal() {
        let bulk = prober.bulk_probe(c0).unwrap();
        let children = world.children(c0).len();
        assert_eq!(bulk.len(), children * world.documents.len());
        for judged in bulk.chunks(children) {
            let document = of(judged[0].did);
            let expected = world.by_the_book(c0, &document.terms);
            let bulk: Vec<_> = judged.iter().map(|judged| (judged.topic, judged.log_probability)).collect();
            assert_close(&bulk, &expected, "bulk");
            for table in [ProbeTable::Stat, ProbeTable::Blob] {
                let single = prober.single_probe(table, c0, &document.terms).unwrap();
                assert_close(&single, &expected, &format!("{table:?}"));
                assert_close(&single, &bulk, "single and bulk");
                let sum: f64 = single.iter().map(|(_, log)| log.exp()).sum();
                assert!((sum - 1.0).abs() < 1e-9, "the children sum to {sum}");
            }
        }
    }
    for (did, relevance) in prober.bulk_relevance().unwrap() {
        let terms = prober.document(did).unwrap();
        let expected = world.relevance(&of(did).terms);
        let blob = prober.single_relevance(ProbeTable::Blob, &terms).unwrap();
        let stat = prober.single_relevance(ProbeTable::Stat, &terms).unwrap();
        for found in [relevance, blob, stat] {
            assert!((found - expected).abs() < 1e-9, "R is {found} instead of {expected}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_three_ways_agree_with_the_book(world in world()) {
        check(&world);
    }
}

#[test]
fn the_three_ways_agree_with_the_book_on_postgresql() {
    let Some(place) = PgPlace::new() else { return };
    let mut store = place.open();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..12 {
        let world = world().new_tree(&mut runner).unwrap().current();
        world.write(&mut store);
        check_with(&world, &Prober::open_at(&place.location(), None).unwrap());
    }
    small().write(&mut store);
    let prober = Prober::open_at(&place.location(), None).unwrap();
    assert!(prober.pages(ProbeTable::Stat).unwrap() > 0 && prober.cache_bytes() >= 128 << 10);
    let (judged, reads) = prober.count_reads(|| prober.bulk_probe(ROOT).unwrap().len());
    assert_eq!(judged, 4);
    assert!(reads.is_some());
}

/// Two children, two terms, each seen in one of them; priors 1/4 and 3/4.
fn small() -> World {
    let stat = |topic, term, theta: f64| StatRow { parent: ROOT, topic, term, logtheta: theta.ln() };
    let node = |topic, prior: f64| NodeRow { topic, logprior: prior.ln(), logdenom: 10f64.ln() };
    let document = |did, terms: &[(TermId, u32)]| DocumentRow { did: UrlId(did), terms: terms.to_vec() };
    let (one, two) = (TopicId(1), TopicId(2));
    World {
        topics: vec![
            topic(ROOT, ROOT, "", Mark::Path),
            topic(one, ROOT, "one", Mark::Good),
            topic(two, ROOT, "two", Mark::Null),
        ],
        nodes: vec![node(one, 0.25), node(two, 0.75)],
        stats: vec![stat(one, TermId(5), 0.5), stat(two, TermId(6), 0.2)],
        documents: vec![
            document(1, &[(TermId(5), 2), (TermId(6), 1), (TermId(7), 9)]),
            document(2, &[(TermId(7), 1)]),
        ],
    }
}

#[test]
fn golden_values_by_hand() {
    let place = Place::new();
    small().store(&place);
    let prober = Prober::open(place.path(), None).unwrap();
    // One: 1/4 * 1/2^2 * 1/10; two: 3/4 * 1/10^2 * 1/5. Term 7 is in no F.
    let (one, two) = (0.25 * 0.25 * 0.1, 0.75 * 0.01 * 0.2);
    let judged = prober.bulk_probe(ROOT).unwrap();
    let found: Vec<_> = judged.iter().map(|judged| (judged.did.0, judged.log_probability.exp())).collect();
    let expected = [(1, one / (one + two)), (1, two / (one + two)), (2, 0.25), (2, 0.75)];
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.0 == expected.0 && (found.1 - expected.1).abs() < 1e-12, "{found:?}, {expected:?}");
    }
    let relevance = prober.bulk_relevance().unwrap();
    assert!((relevance[0].1 - one / (one + two)).abs() < 1e-12);
    // For a document without terms only the prior counts.
    let nothing = prober.single_probe(ProbeTable::Blob, ROOT, &[]).unwrap();
    assert!((nothing[0].1.exp() - 0.25).abs() < 1e-12);
}

#[test]
fn statistics_stay_with_marks_and_go_with_children() {
    let place = Place::new();
    let mut world = small();
    world.store(&place);
    let trained = || Prober::open(place.path(), None).unwrap().bulk_probe(ROOT).map(|judged| judged.len());
    world.topics[1].mark = Mark::Null;
    world.topics[2].mark = Mark::Good;
    world.topics[2].name = "zwei".into();
    place.open().set_topics(&world.topics).unwrap();
    assert_eq!(trained().unwrap(), 4);
    world.topics.push(topic(TopicId(3), TopicId(2), "three", Mark::Subsumed));
    place.open().set_topics(&world.topics).unwrap();
    assert_eq!(trained().unwrap(), 4);
    world.topics[3].parent = ROOT;
    place.open().set_topics(&world.topics).unwrap();
    assert!(matches!(trained(), Err(Error::Untrained(ROOT))));
    let prober = Prober::open(place.path(), None).unwrap();
    assert_eq!((prober.pages(ProbeTable::Stat).unwrap(), prober.pages(ProbeTable::Blob).unwrap()), (1, 1));
    let refusal = prober.single_relevance(ProbeTable::Stat, &[]).unwrap_err().to_string();
    assert_eq!(refusal, "no statistics for the topic with id 0; run `porthole train --tables`");
}

#[test]
fn statistics_for_topics_that_are_not_there_change_nothing() {
    let place = Place::new();
    let world = small();
    world.store(&place);
    let mut store = place.open();
    let strange = StatRow { parent: TopicId(2), ..world.stats[0] };
    let written = store.set_statistics(&world.nodes, &mut [strange].into_iter());
    assert!(matches!(written, Err(Error::UnknownTopic(TopicId(1)))), "{written:?}");
    let node = NodeRow { topic: TopicId(9), ..world.nodes[0] };
    assert!(matches!(
        store.set_statistics(&[node], &mut [].into_iter()),
        Err(Error::UnknownTopic(TopicId(9)))
    ));
    assert_eq!(Prober::open(place.path(), None).unwrap().bulk_probe(ROOT).unwrap().len(), 4);
}

#[test]
fn a_page_is_read_once_if_the_cache_holds_it_and_again_if_not() {
    let place = Place::new();
    let mut world = small();
    let terms = 0..20_000;
    let row =
        |term| StatRow { parent: ROOT, topic: TopicId(1), term: TermId(term * 200_000), logtheta: -1.0 };
    world.stats = terms.clone().map(row).collect();
    world.store(&place);
    place.open().tidy().unwrap();
    let all: Vec<_> = terms.map(|term| (TermId(term * 200_000), 1)).collect();
    let prober = Prober::open(place.path(), Some(10_000)).unwrap();
    if prober.count_reads(|| ()).1.is_none() {
        eprintln!("skipped: this system does not count reads");
        return;
    }
    let probe = |prober: &Prober| prober.single_probe(ProbeTable::Stat, ROOT, &all).unwrap();
    let reads = |prober: &Prober| prober.count_reads(|| probe(prober)).1.unwrap();
    let (first, second) = (reads(&prober), reads(&prober));
    let pages = prober.pages(ProbeTable::Stat).unwrap();
    // The first of them may have been read with the schema.
    assert!(pages > 50 && first.abs_diff(pages) <= 2, "{first} reads of {pages} pages");
    assert_eq!(second, 0);
    let small = Prober::open(place.path(), Some(10)).unwrap();
    let (first, second) = (reads(&small), reads(&small));
    assert!(first.abs_diff(pages) <= 8 && second.abs_diff(pages) <= 8, "{first}, {second} reads of {pages}");
}
