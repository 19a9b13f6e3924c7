use porthole_store::{Batch, Desk, Feedback, FeedbackKind, SqliteStore, Store};
use porthole_types::{
    CanonicalUrl, Failure, FailureKind, Judgment, LinkRow, NewUrl, Outcome, PageResult, Timestamp, TopicId,
};
use tempfile::TempDir;

use super::*;
use crate::result::empty_result;

fn settings() -> DistillSettings {
    DistillSettings { every: 100, growth: 0.5, least: 10, rho: 1.0, rest: 2, ..DistillSettings::default() }
}

fn url(name: &str) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://{name}/")).unwrap()
}

fn oid(name: &str) -> UrlId {
    UrlId::of(url(name).as_str())
}

fn new(name: &str) -> NewUrl {
    NewUrl { url: url(name), relevance: 0.1, priority: 0.1, depth: 0 }
}

/// Pages that were fetched, each with its R and its links, in this order; other targets were not.
fn store(pages: &[(&str, f64, &[&str])]) -> (TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path().join("db")).unwrap();
    for (seq, (name, relevance, targets)) in pages.iter().enumerate() {
        store.add(&[new(name)]).unwrap();
        let work = store.take_these(&[oid(name)], Timestamp(0)).unwrap().remove(0);
        let link = |name: &&str| {
            let target = new(name);
            LinkRow { oid: target.url.id(), sid: target.url.site(), target, wgt_fwd: 0.0, wgt_rev: 0.0 }
        };
        let result = PageResult {
            seq: seq as u64,
            outcome: Outcome::Fetched,
            judgment: Some(Judgment { relevance: *relevance, best: TopicId::ROOT }),
            links: targets.iter().map(link).collect(),
            ..empty_result(&work, Timestamp(1))
        };
        store.commit(&Batch { results: &[result], ..Batch::default() }).unwrap();
    }
    (folder, store)
}

/// `hub.test` links to two good pages and to one that nobody has fetched.
const WEB: [(&str, f64, &[&str]); 4] = [
    ("hub.test", 0.9, &["one.test", "two.test", "missed.test", "sub.hub.test"]),
    ("one.test", 0.9, &["two.test"]),
    ("two.test", 0.8, &[]),
    ("poor.test", 0.01, &["one.test", "elsewhere.test"]),
];

#[test]
fn what_a_great_hub_links_to_and_nobody_fetched_is_raised() {
    let (_folder, store) = store(&WEB);
    let found = Distiller::new(settings(), None).now(&*store.reader(), 4, 8).unwrap();
    assert_eq!(found.hubs[0].0, oid("hub.test"));
    assert_eq!(found.auth[0].0, oid("two.test"), "the two best link to it");
    let raised: Vec<UrlId> = found.raised.iter().map(|estimate| estimate.oid).collect();
    assert_eq!(raised, [oid("missed.test"), oid("sub.hub.test")], "nothing of the poor hub");
    assert!(found.raised.iter().all(|estimate| estimate.priority > 0.999 && estimate.relevance <= 1.0));
    assert!(found.raised[0].priority > found.raised[1].priority, "in their order");
    assert_eq!(found.revisit, [oid("hub.test")], "it was fetched before the last two");
}

#[test]
fn what_was_raised_or_tried_before_has_had_its_turn() {
    let (_folder, mut store) = store(&WEB);
    let found = Distiller::new(settings(), None).now(&*store.reader(), 4, 8).unwrap();
    store.commit(&Batch { raised: &found.raised[..1], ..Batch::default() }).unwrap();
    let found = Distiller::new(settings(), None).now(&*store.reader(), 4, 8).unwrap();
    assert_eq!(found.raised.iter().map(|estimate| estimate.oid).collect::<Vec<_>>(), [oid("sub.hub.test")]);
    let work = store.take_these(&[oid("sub.hub.test")], Timestamp(0)).unwrap().remove(0);
    let failure = Failure { kind: FailureKind::Status, detail: "gone".to_owned() };
    let dead = PageResult { seq: 4, outcome: Outcome::Dead(failure), ..empty_result(&work, Timestamp(1)) };
    store.commit(&Batch { results: &[dead], ..Batch::default() }).unwrap();
    assert_eq!(Distiller::new(settings(), None).now(&*store.reader(), 5, 8).unwrap().raised, []);
}

#[test]
fn recent_hubs_rest() {
    let (_folder, store) = store(&WEB);
    for (rest, expected) in [(4, 0), (3, 1), (0, 1)] {
        let settings = DistillSettings { rest, ..settings() };
        let found = Distiller::new(settings, None).now(&*store.reader(), 4, 8).unwrap();
        assert_eq!(found.revisit.len(), expected, "rest {rest}");
    }
}

#[test]
fn what_people_say_weighs_in() {
    let (_folder, mut store) = store(&WEB);
    let mut say = |name: &str, kind, useful| {
        let name = if kind == FeedbackKind::Site { name.to_owned() } else { url(name).as_str().to_owned() };
        store.add_feedback(&[Feedback { name, kind, useful, at: Timestamp(1) }]).unwrap();
        Distiller::new(settings(), None).now(&*store.reader(), 4, 8).unwrap()
    };
    let found = say("missed.test", FeedbackKind::Site, false);
    assert_eq!(found.raised.iter().map(|estimate| estimate.oid).collect::<Vec<_>>(), [oid("sub.hub.test")]);
    let found = say("two.test", FeedbackKind::Page, false);
    assert!(found.auth.iter().all(|(page, _)| *page != oid("two.test")));
    let found = say("hub.test", FeedbackKind::Hub, false);
    assert_eq!(found.hubs[0].0, oid("poor.test"));
    let found = say("hub.test", FeedbackKind::Hub, true);
    assert_eq!(found.hubs[0].0, oid("hub.test"), "the last word counts");
}

#[test]
fn it_is_due_by_fetches_and_by_links() {
    let mut distiller = Distiller::new(settings(), Some("200 1000"));
    assert!(!distiller.due(299, 1_400) && distiller.due(300, 1_000));
    assert!(!distiller.due(209, 1_500), "not so soon");
    assert!(!distiller.due(210, 1_499) && distiller.due(210, 1_500));
    let (_folder, store) = store(&WEB);
    let found = distiller.now(&*store.reader(), 300, 1_200).unwrap();
    assert_eq!(found.mark, "300 1200");
    let resumed = Distiller::new(settings(), Some(&found.mark));
    for (seq, links) in [(301, 1_200), (399, 1_799), (400, 1_200), (310, 1_800)] {
        assert_eq!(resumed.due(seq, links), distiller.due(seq, links), "{seq} {links}");
    }
    let none = Distiller::new(settings(), Some("no mark"));
    assert!(none.due(100, 0) && !none.due(9, 1) && !none.due(99, 0));
}

#[test]
fn on_a_thread_it_finds_the_same() {
    let (_folder, store) = store(&WEB);
    let mut distiller = Distiller::new(settings(), None);
    let expected = distiller.now(&*store.reader(), 4, 8).unwrap();
    assert!(distiller.poll().is_none(), "nothing was started");
    distiller.start(store.reader(), 4, 8);
    assert!(!distiller.due(1_000_000, 1_000_000), "one at a time");
    let found = std::iter::repeat_with(|| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        distiller.poll()
    });
    assert_eq!(found.flatten().next().unwrap().unwrap(), expected);
    assert!(distiller.poll().is_none() && distiller.due(1_000, 8), "and then the next");
}

#[test]
fn both_engines_agree() {
    let (_folder, store) = store(&WEB);
    let snapshot = Snapshot::read(&*store.reader()).unwrap();
    let [native, walk] = [Engine::Native, Engine::Walk].map(|engine| snapshot.scores(1.0, engine).unwrap());
    for (one, other) in
        native.hubs.iter().zip(&walk.hubs).chain(native.authorities.iter().zip(&walk.authorities))
    {
        assert!((one - other).abs() < 1e-9, "{one} {other}");
    }
}

#[test]
fn an_empty_store_has_no_hubs() {
    let (_folder, store) = store(&[]);
    let found = Distiller::new(settings(), None).now(&*store.reader(), 0, 0).unwrap();
    assert_eq!((found.hubs, found.auth, found.raised, found.revisit), (vec![], vec![], vec![], vec![]));
}
