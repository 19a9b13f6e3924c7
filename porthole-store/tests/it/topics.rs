//! The part of the contract about topics, examples, words and models.

use std::collections::HashMap;

use porthole_store::{
    Error, ExampleChange, ExampleId, ExampleState, NewExample, QueryLimits, SqlValue, Store, StoredExample,
    StoredModel, TermWord, TopicChange,
};
use porthole_types::{Mark, TermId, Timestamp, TopicId, TopicRow};

use crate::contract::Backend;

const ROOT: TopicId = TopicId::ROOT;
const SCIENCE: TopicId = TopicId(1);
const BIRDS: TopicId = TopicId(2);
const SPORT: TopicId = TopicId(5);

pub(crate) fn topic(id: TopicId, parent: TopicId, name: &str, mark: Mark) -> TopicRow {
    TopicRow { id, parent, name: name.into(), mark }
}

/// `/Science/Birds` is good; `/Sport` exists, too.
fn tree() -> Vec<TopicRow> {
    vec![
        topic(ROOT, ROOT, "", Mark::Path),
        topic(SCIENCE, ROOT, "Science", Mark::Path),
        topic(BIRDS, SCIENCE, "Birds", Mark::Good),
        topic(SPORT, ROOT, "Sport", Mark::Null),
    ]
}

fn example(topic: TopicId, url: &str, terms: &[(u32, u32)]) -> NewExample {
    NewExample {
        topic,
        url: url.into(),
        title: format!("all about {url}"),
        source: "bookmarks.html".into(),
        language: "en".into(),
        state: ExampleState::Ok,
        terms: terms.iter().map(|&(term, freq)| (TermId(term), freq)).collect(),
    }
}

fn with_examples(backend: &dyn Backend, examples: &[NewExample]) -> Box<dyn Store> {
    let mut store = backend.open();
    store.set_topics(&tree()).unwrap();
    store.add_examples(examples).unwrap();
    store
}

/// The examples as `topic url`.
fn listed(store: &dyn Store) -> Vec<String> {
    let examples = store.reader().examples(None).unwrap();
    examples.iter().map(|example| format!("{} {}", example.topic.0, example.url)).collect()
}

fn id_of(store: &dyn Store, url: &str) -> ExampleId {
    let examples = store.reader().examples(None).unwrap();
    examples.iter().find(|example| example.url == url).unwrap().id
}

pub(crate) fn a_tree_comes_back_and_is_replaced_as_a_whole(backend: &dyn Backend) {
    let mut store = backend.open();
    let root = topic(ROOT, ROOT, "", Mark::Null);
    assert_eq!(store.topics().unwrap(), [root]);
    store.set_topics(&tree()).unwrap();
    assert_eq!(store.topics().unwrap(), tree());
    drop(store);
    let mut store = backend.open();
    assert_eq!(store.reader().topics().unwrap(), tree());
    // The papers' query for children works at the root, too.
    let sql = "select name from taxonomy where pcid = 0 order by kcid";
    let children = store.reader().sql(sql, &QueryLimits::default()).unwrap();
    assert_eq!(children.rows, [[SqlValue::Text("Science".into())], [SqlValue::Text("Sport".into())]]);
    let mut other = tree();
    other.remove(1);
    other[1] = topic(BIRDS, SPORT, "Falconry", Mark::Good);
    store.set_topics(&other).unwrap();
    assert_eq!(store.topics().unwrap(), other);
    store.set_topics(&[]).unwrap();
    assert_eq!(store.topics().unwrap(), [topic(ROOT, ROOT, "", Mark::Path)]);
}

pub(crate) fn what_is_no_tree_is_refused(backend: &dyn Backend) {
    let mut store = backend.open();
    store.set_topics(&tree()).unwrap();
    for (broken, word) in [
        (topic(SPORT, ROOT, "Sports", Mark::Null), "\"Sports\" occurs twice"),
        (topic(TopicId(9), TopicId(8), "Lost", Mark::Null), "\"Lost\" is below 8, which is missing"),
    ] {
        let rows: Vec<_> = tree().into_iter().chain([broken]).collect();
        let error = store.set_topics(&rows).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
        assert_eq!(store.topics().unwrap(), tree());
    }
}

pub(crate) fn examples_come_back_with_and_without_their_terms(backend: &dyn Backend) {
    let mut missing = example(SPORT, "http://gone.test/", &[]);
    missing.state = ExampleState::Missing("404 not found".into());
    let mut empty = example(ROOT, "blank.html", &[]);
    empty.state = ExampleState::Empty("no words".into());
    let terms = [(u32::MAX, 1), (7, u32::MAX), (8, 3)];
    let store = with_examples(
        backend,
        &[example(BIRDS, "http://owls.test/", &terms), missing.clone(), empty.clone()],
    );
    drop(store);
    let reader = backend.open().reader();
    let all = reader.examples(None).unwrap();
    assert_eq!(listed(&*backend.open()), ["2 http://owls.test/", "5 http://gone.test/", "0 blank.html"]);
    assert_eq!((&all[1].state, &all[2].state), (&missing.state, &empty.state));
    let owls = StoredExample {
        id: all[0].id,
        topic: BIRDS,
        url: "http://owls.test/".into(),
        title: "all about http://owls.test/".into(),
        source: "bookmarks.html".into(),
        language: "en".into(),
        state: ExampleState::Ok,
    };
    assert_eq!(reader.examples(Some(BIRDS)).unwrap(), [owls]);
    assert_eq!(reader.examples(Some(SCIENCE)).unwrap(), []);
    let mut seen = Vec::new();
    reader.visit_examples(&mut |example, terms| seen.push((example.clone(), terms.to_vec()))).unwrap();
    assert_eq!(seen.iter().map(|(example, _)| example.clone()).collect::<Vec<_>>(), all);
    assert_eq!(seen[0].1, [(TermId(7), u32::MAX), (TermId(8), 3), (TermId(u32::MAX), 1)]);
    assert_eq!(seen[1].1, []);
}

pub(crate) fn the_same_url_again_takes_the_place_of_the_first(backend: &dyn Backend) {
    let first = [example(BIRDS, "http://a.test/", &[(1, 1)]), example(SPORT, "http://a.test/", &[(2, 2)])];
    let mut store = with_examples(backend, &first);
    let id = store.reader().examples(Some(BIRDS)).unwrap()[0].id;
    let again = NewExample { title: "new".into(), ..example(BIRDS, "http://a.test/", &[(3, 3)]) };
    store.add_examples(&[again]).unwrap();
    assert_eq!(listed(&*store), ["2 http://a.test/", "5 http://a.test/"]);
    let mut seen = Vec::new();
    let reader = store.reader();
    reader
        .visit_examples(&mut |example, terms| seen.push((example.id, terms[0].0, example.title.clone())))
        .unwrap();
    assert_eq!(seen[0], (id, TermId(3), "new".to_owned()));
    assert_eq!(seen[1].1, TermId(2));
}

pub(crate) fn examples_move_and_go(backend: &dyn Backend) {
    let urls = [(BIRDS, "a"), (BIRDS, "b"), (SPORT, "a"), (SPORT, "c"), (ROOT, "d")];
    let mut store = with_examples(backend, &urls.map(|(topic, url)| example(topic, url, &[(1, 1)])));
    let (b, c) = (id_of(&*store, "b"), id_of(&*store, "c"));
    store.change_examples(&[ExampleChange::Move(b, SCIENCE), ExampleChange::Remove(c)]).unwrap();
    assert_eq!(listed(&*store), ["2 a", "1 b", "5 a", "0 d"]);
    // If the topic already has the URL, the moved example replaces it.
    store.change_examples(&[ExampleChange::MoveAll(BIRDS, SPORT), ExampleChange::RemoveAll(ROOT)]).unwrap();
    assert_eq!(listed(&*store), ["5 a", "1 b"]);
    let gone = store.change_examples(&[ExampleChange::Remove(b), ExampleChange::Remove(b)]).unwrap_err();
    assert!(matches!(gone, Error::UnknownExample(id) if id == b), "{gone}");
    let nowhere = store.change_examples(&[ExampleChange::Move(b, TopicId(77))]).unwrap_err();
    assert_eq!(nowhere.to_string(), "no topic with id 77");
    assert_eq!(listed(&*store), ["5 a", "1 b"]);
}

pub(crate) fn a_topic_with_examples_goes_only_with_them(backend: &dyn Backend) {
    let mut store = with_examples(backend, &[example(BIRDS, "a", &[]), example(BIRDS, "b", &[])]);
    let without: Vec<_> = tree().into_iter().filter(|row| row.id != BIRDS).collect();
    let refused = store.set_topics(&without).unwrap_err().to_string();
    assert_eq!(refused, "/Science/Birds has 2 examples; move or remove them as well");
    assert_eq!(store.topics().unwrap(), tree());
    let moves = [ExampleChange::MoveAll(BIRDS, SCIENCE)];
    let change = TopicChange { topics: Some(&without), examples: &moves, ..TopicChange::default() };
    store.change_topics(&change).unwrap();
    assert_eq!(store.topics().unwrap(), without);
    assert_eq!(listed(&*store), ["1 a", "1 b"]);
    store.set_topics(&tree()).unwrap();
    assert_eq!(listed(&*store), ["1 a", "1 b"]);
}

pub(crate) fn a_change_that_fails_in_one_part_changes_nothing(backend: &dyn Backend) {
    let mut store = with_examples(backend, &[example(BIRDS, "a", &[])]);
    let more: Vec<_> = tree().into_iter().chain([topic(TopicId(9), SPORT, "Chess", Mark::Null)]).collect();
    let change = TopicChange {
        topics: Some(&more),
        examples: &[ExampleChange::MoveAll(BIRDS, SPORT)],
        added: &[example(TopicId(9), "good", &[]), example(TopicId(8), "bad", &[])],
        terms: &[TermWord { stem: "chess".into(), word: "chess".into() }],
    };
    assert!(matches!(store.change_topics(&change), Err(Error::UnknownTopic(TopicId(8)))));
    assert_eq!(store.topics().unwrap(), tree());
    assert_eq!(listed(&*store), ["2 a"]);
    assert_eq!(store.reader().words(&[TermId::of(b"chess")]).unwrap(), [None]);
    store.change_topics(&TopicChange { added: &change.added[..1], ..change }).unwrap();
    assert_eq!(store.topics().unwrap(), more);
    assert_eq!(listed(&*store), ["5 a", "9 good"]);
    assert_eq!(store.reader().words(&[TermId::of(b"chess")]).unwrap(), [Some("chess".into())]);
}

pub(crate) fn words_for_terms_and_their_collisions(backend: &dyn Backend) {
    let mut store = backend.open();
    let word = |stem: &str, word: &str| TermWord { stem: stem.into(), word: word.into() };
    let (one, other) = collision();
    store.add_terms(&[word("bicycl", "bicycle"), word(&one, &one), word("bicycl", "bicycling")]).unwrap();
    assert_eq!(store.reader().collisions().unwrap(), []);
    store.add_terms(&[word(&other, &other)]).unwrap();
    let reader = store.reader();
    let (bicycle, both) = (TermId::of(b"bicycl"), TermId::of(one.as_bytes()));
    let words = reader.words(&[TermId::of(b"unheard"), bicycle, both]).unwrap();
    assert_eq!(words, [None, Some("bicycling".into()), Some(format!("{one}/{other}"))]);
    let collisions = reader.collisions().unwrap();
    assert_eq!(collisions.len(), 1);
    assert_eq!((collisions[0].term, &collisions[0].stems), (both, &vec![one, other]));
}

/// Two stems with the same term; among a few hundred thousand there are some.
fn collision() -> (String, String) {
    let mut seen = HashMap::new();
    for number in 0.. {
        let stem = format!("s{number}");
        if let Some(other) = seen.insert(TermId::of(stem.as_bytes()), stem.clone()) {
            return if other < stem { (other, stem) } else { (stem, other) };
        }
    }
    unreachable!("there are only so many hashes")
}

pub(crate) fn a_model_is_kept_under_its_name(backend: &dyn Backend) {
    let mut store = backend.open();
    let model =
        |byte: u8, length: usize| StoredModel { bytes: vec![byte; length], made: Timestamp(i64::from(byte)) };
    assert_eq!(store.reader().model("critic").unwrap(), None);
    store.set_model("critic", &model(1, 3_000_000)).unwrap();
    store.set_model("other", &model(2, 0)).unwrap();
    store.set_model("critic", &model(3, 2_000_000)).unwrap();
    // A model stored in parts is read and replaced as a whole.
    let large: Vec<u8> = (0..20_000_000_u32).map(|at| (at / 1_000) as u8).collect();
    let large = StoredModel { bytes: large, made: Timestamp(4) };
    store.set_model("large", &large).unwrap();
    assert!(store.reader().model("large").unwrap() == Some(large.clone()));
    store.set_model("small", &large).unwrap();
    store.set_model("small", &model(5, 9_000_000)).unwrap();
    assert!(store.reader().model("small").unwrap() == Some(model(5, 9_000_000)));
    assert!(store.reader().model("large").unwrap() == Some(large));
    drop(store);
    let reader = backend.open().reader();
    assert_eq!(reader.model("critic").unwrap(), Some(model(3, 2_000_000)));
    assert_eq!(reader.model("other").unwrap(), Some(model(2, 0)));
}
