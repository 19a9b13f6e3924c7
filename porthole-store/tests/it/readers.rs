//! Readers never write to the crawl's database: a crawl must not notice them.

use std::path::Path;

use porthole_store::{
    ParameterKind, QUERIES, QueryLimits, SqlDistillation, SqliteReader, Store, StoreReader,
};
use porthole_types::{FailureKind, Outcome, TermId};
use rusqlite::Connection;

use crate::web::{Place, commit, failure, link, new_url, page, url, with_outcome};

/// A crawl with a few rows in every table.
fn small_crawl(place: &Place) -> impl Store + use<> {
    let mut store = place.open();
    store.add(&[1, 2, 3, 4].map(|number| new_url(number, 0.5, 0.5))).unwrap();
    let results = [
        page(1, 0.75, vec![link(11, 0.75, 0.75), link(2, 0.75, 0.75)]),
        page(2, 0.25, vec![link(1, 0.25, 0.25)]),
        with_outcome(3, Outcome::Dead(failure(FailureKind::Dns))),
        with_outcome(4, Outcome::Redirected),
    ];
    commit(&mut store, &results);
    store
}

type Question = Box<dyn Fn(&SqliteReader)>;

/// Every method of a reader, and every named query.
fn questions() -> Vec<(String, Question)> {
    fn ask(name: &str, question: impl Fn(&SqliteReader) + 'static) -> (String, Question) {
        (name.to_owned(), Box::new(question))
    }
    let limits = QueryLimits::default();
    let mut questions = vec![
        ask("graph", |reader| drop(reader.graph().unwrap())),
        ask("events", |reader| drop(reader.events(0, 9).unwrap())),
        ask("sql", move |reader| drop(reader.sql("select count(*) from link", &limits).unwrap())),
        ask("topics", |reader| drop(reader.topics().unwrap())),
        ask("examples", |reader| drop(reader.examples(None).unwrap())),
        ask("visit_examples", |reader| reader.visit_examples(&mut |_, _| {}).unwrap()),
        ask("words", |reader| drop(reader.words(&[TermId(1)]).unwrap())),
        ask("collisions", |reader| drop(reader.collisions().unwrap())),
        ask("model", |reader| drop(reader.model("critic").unwrap())),
        ask("setting", |reader| drop(reader.setting("policy").unwrap())),
        ask("counts", |reader| assert_eq!(reader.counts().unwrap().known, 5)),
        ask("about", |reader| assert_eq!(reader.about(&url(2)).unwrap().unwrap().links_in, 1)),
        ask("about_briefly", |reader| assert!(reader.about_briefly(&url(2)).unwrap().is_some())),
        ask("site", |reader| assert!(reader.site("site0.test").unwrap().is_some())),
        ask("sites", |reader| drop(reader.sites().unwrap())),
        ask("feedback", |reader| drop(reader.feedback().unwrap())),
        ask("neighbourhoods", |reader| drop(reader.neighbourhoods().unwrap())),
        ask("is_crawled", |reader| assert!(reader.is_crawled().is_ok())),
        ask("tried", |reader| assert_eq!(reader.tried(None, 9).unwrap().len(), 4)),
        ask("distiller", |reader| {
            let how = SqlDistillation {
                rho: 0.1,
                correct_inflation: true,
                factors: &[],
                hub_factors: &[],
                sites: &[],
            };
            drop(reader.distiller(&how).unwrap().run(1e-6, 9).unwrap());
        }),
    ];
    for query in QUERIES {
        questions.push(ask(query.name, move |reader| {
            let needed = query.parameters.iter().filter(|parameter| parameter.default.is_none());
            let given: Vec<(&str, &str)> = needed
                .map(|parameter| {
                    (parameter.name, if parameter.kind == ParameterKind::Topic { "/" } else { "1" })
                })
                .collect();
            reader.query(query.name, &given, &QueryLimits::default()).unwrap();
        }));
    }
    questions
}

#[test]
fn no_question_is_noticed_by_the_crawl() {
    let place = Place::new();
    let mut store = small_crawl(&place);
    let reader = SqliteReader::open(place.path()).unwrap().indexing_from(1);
    assert!(!store.follow_changes().unwrap());
    for (name, ask) in questions() {
        ask(&reader);
        assert!(!store.follow_changes().unwrap(), "{name} wrote to the database");
    }
    // Checks the check: another connection that writes is noticed.
    Connection::open(place.path()).unwrap().execute_batch("create index theirs on crawl(oid)").unwrap();
    assert!(store.follow_changes().unwrap());
}

#[test]
fn indexes_for_look_ups_lie_beside_the_database_and_change_no_answer() {
    let place = Place::new();
    let mut store = small_crawl(&place);
    let plain = SqliteReader::open(place.path()).unwrap();
    let indexed = plain.clone().indexing_from(2);
    let beside = place.folder.path().join("porthole-readers.db");
    let same = || {
        for number in [1, 2, 3, 11, 12, 13, 99] {
            let about = indexed.about(&url(number)).unwrap();
            assert_eq!(about, plain.about(&url(number)).unwrap(), "{number}");
            assert_eq!(about.is_some(), indexed.about_briefly(&url(number)).unwrap().is_some());
        }
    };
    let entries = |table: &str| {
        let db = Connection::open(&beside).unwrap();
        db.query_row(&format!("select count(*) from {table}"), [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert!(plain.about(&url(1)).unwrap().is_some() && !beside.exists(), "small tables are not indexed");
    store.follow_changes().unwrap();
    same();
    assert_eq!(["crawl_oid", "edge_src", "edge_dst"].map(entries), [5, 3, 3]);
    // New rows are indexed at the next lookup; a reader without indexes reads them from the table.
    commit(&mut store, &[page(11, 0.5, vec![link(12, 0.5, 0.5), link(1, 0.5, 0.5)])]);
    assert!(plain.about(&url(12)).unwrap().is_some());
    assert_eq!(entries("crawl_oid"), 5);
    same();
    assert_eq!(["crawl_oid", "edge_src", "edge_dst"].map(entries), [6, 5, 5]);
    assert!(!store.follow_changes().unwrap(), "the crawl's database is left alone");
    // An index of another crawl is not used.
    drop(store);
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", place.path().display()));
    }
    let mut store = place.open();
    store.add(&(10..20).map(|number| new_url(number, 0.5, 0.5)).collect::<Vec<_>>()).unwrap();
    commit(&mut store, &[page(13, 0.5, vec![link(1, 0.5, 0.5), link(2, 0.5, 0.5), link(3, 0.5, 0.5)])]);
    assert_eq!(plain.about(&url(1)).unwrap().unwrap().links_in, 1);
    same();
    assert_eq!(["crawl_oid", "edge_src", "edge_dst"].map(entries), [13, 3, 3]);
    // Nor is a damaged one.
    std::fs::write(&beside, "this is no database").unwrap();
    same();
}

#[test]
fn every_question_is_answered_where_nothing_can_be_written() {
    let place = Place::new();
    drop(small_crawl(&place));
    let reader = SqliteReader::open(place.path()).unwrap();
    let before: Vec<String> = files(place.folder.path());
    let locked = place.folder.path().to_owned();
    set_writable(&locked, false);
    for (_, ask) in questions() {
        ask(&reader);
    }
    set_writable(&locked, true);
    assert_eq!(files(&locked), before, "nothing was left behind");
}

fn files(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| !name.ends_with("-shm") && !name.ends_with("-wal"));
    names.sort();
    names
}

/// Has no effect for root, who may write everywhere.
fn set_writable(folder: &Path, writable: bool) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = if writable { 0o755 } else { 0o555 };
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
}
