//! Writes and queries beside a crawl.

use std::sync::atomic::{AtomicBool, Ordering};

use porthole_store::{
    Batch, Error, Estimate, Feedback, FeedbackKind, QueryLimits, SqlValue, SqliteReader, SqliteStore,
    SqliteWorkspaceWriter, Store, StoreReader, UrlState, WorkspaceWriter,
};
use porthole_types::{Event, FailureKind, Mark, Outcome, Timestamp, TopicId};

use crate::topics::topic;
use crate::web::{Place, commit, failure, link, new_url, oid, page, retry, take, url, with_outcome};

fn birds() -> Vec<porthole_types::TopicRow> {
    vec![
        topic(TopicId::ROOT, TopicId::ROOT, "", Mark::Path),
        topic(TopicId(7), TopicId::ROOT, "Birds", Mark::Good),
    ]
}

#[test]
fn a_writer_writes_while_a_store_is_open() {
    let place = Place::new();
    let mut store = place.open();
    store.add(&[new_url(1, 0.9, 0.9)]).unwrap();
    let mut writer = SqliteWorkspaceWriter::open(place.path()).unwrap();
    writer.set_topics(&birds()).unwrap();
    writer.set_setting("colour", "blue").unwrap();
    writer.append(&[Event { at: Timestamp(1), kind: "said".into(), detail: "a word".into() }]).unwrap();
    // The store sees the change, and continues.
    assert_eq!(store.topics().unwrap(), birds());
    assert_eq!(store.setting("colour").unwrap().as_deref(), Some("blue"));
    assert_eq!(take(&mut store, 9, 0), [oid(1)]);
    commit(&mut store, &[page(1, 0.5, vec![link(2, 0.5, 0.5)])]);
    assert_eq!(writer.reader().events(0, 9).unwrap().len(), 1);
    drop(store);
    assert_eq!(place.open().counts().known, 2);
    assert_eq!(writer.setting("colour").unwrap().as_deref(), Some("blue"));
}

#[test]
fn writers_and_a_store_alternate() {
    let place = Place::new();
    let mut store = place.open();
    let over = AtomicBool::new(false);
    let write = |name: &str| {
        let mut writer = SqliteWorkspaceWriter::open(place.path()).unwrap();
        let mut number = 0;
        while !over.load(Ordering::Relaxed) || number == 0 {
            number += 1;
            writer.set_setting(name, &number.to_string()).unwrap();
        }
        number
    };
    let last = std::thread::scope(|scope| {
        let desks = ["a", "b"].map(|name| scope.spawn(move || write(name)));
        for number in 0..100 {
            store.add(&[new_url(number, 0.5, 0.5)]).unwrap();
            take(&mut store, 1, 0);
            let links = (0..20).map(|to| link(1_000 + number * 20 + to, 0.1, 0.1)).collect();
            commit(&mut store, &[page(number, 0.5, links)]);
        }
        over.store(true, Ordering::Relaxed);
        desks.map(|writer| writer.join().unwrap())
    });
    assert_eq!(store.counts().known, 2_100);
    for (name, last) in ["a", "b"].iter().zip(last) {
        assert_eq!(store.setting(name).unwrap(), Some(last.to_string()));
    }
}

#[test]
fn whether_a_crawl_runs_can_be_seen_and_looking_does_no_harm() {
    let place = Place::new();
    drop(place.open());
    let reader = SqliteReader::open(place.path()).unwrap();
    assert!(!reader.is_crawled().unwrap());
    let writer = SqliteWorkspaceWriter::open(place.path()).unwrap();
    assert!(!reader.is_crawled().unwrap(), "a writer is no crawl");
    let store = place.open();
    assert!(reader.is_crawled().unwrap());
    assert!(matches!(SqliteStore::open(place.path()), Err(Error::InUse(_))));
    drop((store, writer));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                reader.is_crawled().unwrap();
                std::thread::yield_now();
            }
        });
        for _ in 0..20 {
            drop(place.open());
        }
        over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_writer_opens_existing_databases_only() {
    let place = Place::new();
    assert!(matches!(SqliteWorkspaceWriter::open(place.path()), Err(Error::Open { .. })));
    assert!(!place.path().exists());
}

/// Page 1 links to 2, 3 and 4; page 2 links to 3; 5 is dead, 6 was skipped, 7 waits, 8 redirects.
fn small_crawl(place: &Place) -> SqliteStore {
    let mut store = place.open();
    store.add(&[1, 2, 5, 6, 7, 8].map(|number| new_url(number, 0.9, 0.9))).unwrap();
    take(&mut store, 9, 0);
    let first = page(1, 0.8, vec![link(2, 0.8, 0.8), link(3, 0.8, 0.7), link(4, 0.8, 0.6)]);
    let results = [
        first,
        page(2, 0.3, vec![link(3, 0.3, 0.2)]),
        with_outcome(5, Outcome::Dead(failure(FailureKind::Status))),
        with_outcome(6, Outcome::Skipped(failure(FailureKind::Robots))),
        retry(7, 5_000),
        with_outcome(8, Outcome::Redirected),
    ];
    commit(&mut store, &results);
    store
}

#[test]
fn everything_that_is_known_of_a_url() {
    let place = Place::new();
    let mut store = small_crawl(&place);
    let reader = store.reader();
    let about = |number| reader.about(&url(number)).unwrap().unwrap();
    let fetched = about(2);
    assert_eq!((fetched.state, fetched.relevance, fetched.best), (UrlState::Fetched, 0.3, Some(TopicId(7))));
    assert_eq!((fetched.links_in, fetched.links_out, fetched.seq, fetched.rank), (1, 1, Some(2), None));
    assert_eq!(fetched.site.host, "site0.test");
    assert!(fetched.site.serverload > 0);
    let found: Vec<_> = about(3).parents.into_iter().map(|parent| (parent.url, parent.relevance)).collect();
    assert_eq!(found, [(url(1).to_string(), 0.8), (url(2).to_string(), 0.3)]);
    let waiting = about(7);
    assert_eq!((waiting.state, waiting.not_before), (UrlState::Queued, Some(Timestamp(5_000))));
    assert_eq!(waiting.failure.unwrap().0, "timeout");
    for (number, state, kind) in [(5, UrlState::Dead, "status"), (6, UrlState::Skipped, "robots")] {
        assert_eq!((about(number).state, about(number).failure.unwrap().0.as_str()), (state, kind));
    }
    // 3 comes before 4, and both before 7, which was tried; a new estimate changes that at once.
    assert_eq!([3, 4, 7].map(|number| about(number).rank), [Some(0), Some(1), Some(2)]);
    let estimates = [Estimate { oid: oid(4), relevance: 0.95, priority: 0.99 }];
    store.commit(&Batch { estimates: &estimates, ..Batch::default() }).unwrap();
    assert_eq!((about(4).rank, about(4).relevance, about(3).rank), (Some(0), 0.95, Some(1)));
    assert_eq!(reader.about(&url(77)).unwrap(), None);
    let brief = reader.about_briefly(&url(3)).unwrap().unwrap();
    assert_eq!((brief.state, brief.parents.len(), brief.rank), (UrlState::Queued, 0, None));
}

#[test]
fn a_reader_counts_what_the_store_counts() {
    let place = Place::new();
    let mut store = place.open();
    assert_eq!(store.reader().counts().unwrap(), store.counts());
    drop(store);
    store = small_crawl(&place);
    assert_eq!(store.reader().counts().unwrap(), store.counts());
    assert_eq!((store.counts().queued, store.counts().redirected, store.counts().skipped), (3, 1, 1));
    store.switch_sites(&[("site0.test", true), ("new.test", true)]).unwrap();
    assert_eq!(store.reader().counts().unwrap(), store.counts());
    assert_eq!((store.counts().parked, store.counts().sites), (2, 2));
}

#[test]
fn the_last_word_counts() {
    let place = Place::new();
    let store = small_crawl(&place);
    let mut writer = SqliteWorkspaceWriter::open(place.path()).unwrap();
    let say = |name: &str, kind, useful, at| Feedback { name: name.into(), kind, useful, at: Timestamp(at) };
    let page = url(1).to_string();
    let words = [
        say(&page, FeedbackKind::Page, true, 1),
        say(&page, FeedbackKind::Hub, true, 2),
        say("site0.test", FeedbackKind::Site, false, 3),
        say(&page, FeedbackKind::Page, false, 4),
    ];
    writer.add_feedback(&words).unwrap();
    let reader = writer.reader();
    assert_eq!(reader.feedback().unwrap(), words[1..]);
    assert_eq!(reader.about(&url(1)).unwrap().unwrap().feedback, words[1..]);
    let best = |query| reader.query(query, &[], &QueryLimits::default()).unwrap().rows;
    assert_eq!(best("top_pages").len(), 1, "page 1 is useless");
    assert_eq!(best("top_sites").len(), 0, "the site is useless");
    writer.add_feedback(&[say("site0.test", FeedbackKind::Site, true, 5)]).unwrap();
    assert_eq!(best("top_sites").len(), 1);
    drop(store);
}

#[test]
fn sites_are_disabled_by_name_all_or_none() {
    let place = Place::new();
    drop(small_crawl(&place));
    let mut writer = SqliteWorkspaceWriter::open(place.path()).unwrap();
    let is_disabled = || desk_reader(&place).site("site0.test").unwrap().unwrap().disabled;
    let error = writer.set_disabled(&["site0.test", "nowhere.test"], true).unwrap_err();
    assert!(matches!(&error, Error::UnknownSite(host) if host == "nowhere.test"), "{error}");
    assert!(!is_disabled());
    writer.set_disabled(&["site0.test"], true).unwrap();
    assert!(is_disabled());
    let rows = |disabled| {
        let list =
            writer.reader().query("site_list", &[("disabled", disabled)], &QueryLimits::default()).unwrap();
        list.rows.into_iter().map(|row| (row[0].clone(), row[6].clone())).collect::<Vec<_>>()
    };
    assert_eq!(rows("1"), [(SqlValue::Text("site0.test".into()), SqlValue::Integer(1))]);
    drop(place.open());
    assert!(is_disabled(), "a crawl keeps it");
}

fn desk_reader(place: &Place) -> SqliteReader {
    SqliteReader::open(place.path()).unwrap()
}

#[test]
fn a_census_goes_up_the_tree() {
    let place = Place::new();
    let mut store = place.open();
    let rows = vec![
        topic(TopicId::ROOT, TopicId::ROOT, "", Mark::Null),
        topic(TopicId(1), TopicId::ROOT, "Science", Mark::Null),
        topic(TopicId(2), TopicId(1), "Birds", Mark::Null),
        topic(TopicId(3), TopicId(1), "Bees", Mark::Null),
        topic(TopicId(7), TopicId::ROOT, "Sport", Mark::Null),
    ];
    store.set_topics(&rows).unwrap();
    store.add(&[1, 2, 3, 4, 5].map(|number| new_url(number, 0.9, 0.9))).unwrap();
    take(&mut store, 9, 0);
    let about = |number, topic| {
        let mut page = page(number, 0.5, Vec::new());
        page.judgment.as_mut().unwrap().best = TopicId(topic);
        page
    };
    // Sport has the most pages of any leaf, Science the most of all.
    commit(&mut store, &[about(1, 2), about(2, 3), about(3, 2), about(4, 7), about(5, 7)]);
    let census = store.reader().query("census_up", &[], &QueryLimits::default()).unwrap();
    let seen: Vec<_> = census.rows.iter().map(|row| (row[1].text(), row[2].integer().unwrap())).collect();
    assert_eq!(seen, [("Science", 3), ("Birds", 2), ("Sport", 2), ("Bees", 1)]);
    let of_science = store.reader().query("top_pages", &[("topic", "1")], &QueryLimits::default()).unwrap();
    assert_eq!(of_science.rows.len(), 3);
}
