use porthole_store::{
    Batch, DistilledScores, Feedback, FeedbackKind, Rejudged, SqliteReader, SqliteStore, Store,
    WorkspaceWriter,
};
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

/// A store with fetched pages, each with its R and links, in this order. Other targets are not fetched.
fn store(pages: &[(&str, f64, &[&str])]) -> (TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path().join("db")).unwrap();
    for (seq, page) in pages.iter().enumerate() {
        add_page(&mut store, seq as u64, *page);
    }
    (folder, store)
}

fn add_page(store: &mut SqliteStore, seq: u64, (name, relevance, targets): (&str, f64, &[&str])) {
    store.add(&[new(name)]).unwrap();
    let work = store.take_these(&[oid(name)], Timestamp(0)).unwrap().remove(0);
    let link = |name: &&str| {
        let target = NewUrl { depth: 1, ..new(name) };
        LinkRow::to(target)
    };
    let result = PageResult {
        seq,
        outcome: Outcome::Fetched,
        judgment: Some(Judgment { relevance, best: TopicId::ROOT }),
        links: targets.iter().map(link).collect(),
        ..empty_result(&work, Timestamp(1))
    };
    store.commit(&Batch { results: &[result], ..Batch::default() }).unwrap();
}

/// `hub.test` links to two good pages and to one that is not fetched.
const WEB: [(&str, f64, &[&str]); 4] = [
    ("hub.test", 0.9, &["one.test", "two.test", "missed.test", "sub.hub.test"]),
    ("one.test", 0.9, &["two.test"]),
    ("two.test", 0.8, &[]),
    ("poor.test", 0.01, &["one.test", "elsewhere.test"]),
];

#[test]
fn unfetched_links_of_great_hubs_are_raised() {
    let (_folder, store) = store(&WEB);
    let found = Distiller::new(settings(), None).now(&*store.reader(), 4, 8).unwrap();
    assert_eq!(found.hubs[0].0, oid("hub.test"));
    assert_eq!(found.auth[0].0, oid("two.test"), "the two best link to it");
    let raised: Vec<UrlId> = found.raised.iter().map(|estimate| estimate.oid).collect();
    assert_eq!(raised, [oid("missed.test"), oid("sub.hub.test")], "no links of the poor hub");
    assert!(found.raised.iter().all(|estimate| estimate.priority > RAISED && estimate.relevance <= 1.0));
    assert!(found.raised[0].priority > found.raised[1].priority, "in their order");
    assert_eq!(found.revisit, [oid("hub.test")], "it was fetched before the last two");
}

#[test]
fn urls_are_raised_only_once() {
    let (_folder, mut store) = store(&WEB);
    let found = Distiller::new(settings(), None).now(&*store.reader(), 4, 8).unwrap();
    store.commit(&Batch { raised: &found.raised[..1], ..Batch::default() }).unwrap();
    let found = Distiller::new(settings(), None).now(&*store.reader(), 4, 8).unwrap();
    assert_eq!(found.raised.iter().map(|estimate| estimate.oid).collect::<Vec<_>>(), [oid("sub.hub.test")]);
    let work = store.take_these(&[oid("sub.hub.test")], Timestamp(0)).unwrap().remove(0);
    let failure = Failure::new(FailureKind::Status, "gone".to_owned());
    let dead = PageResult { seq: 4, outcome: Outcome::Dead(failure), ..empty_result(&work, Timestamp(1)) };
    store.commit(&Batch { results: &[dead], ..Batch::default() }).unwrap();
    assert_eq!(Distiller::new(settings(), None).now(&*store.reader(), 5, 8).unwrap().raised, []);
}

#[test]
fn recent_hubs_are_not_revisited() {
    let (_folder, store) = store(&WEB);
    for (rest, expected) in [(4, 0), (3, 1), (0, 1)] {
        let settings = DistillSettings { rest, ..settings() };
        let found = Distiller::new(settings, None).now(&*store.reader(), 4, 8).unwrap();
        assert_eq!(found.revisit.len(), expected, "rest {rest}");
    }
}

#[test]
fn marks_change_the_scores() {
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
    assert_eq!(found.hubs[0].0, oid("hub.test"), "the last mark counts");
}

#[test]
fn a_distillation_is_due_by_fetches_and_links() {
    let mut distiller = Distiller::new(settings(), Some("200 1000"));
    assert!(!distiller.due(299, 1_400) && distiller.due(300, 1_000));
    assert!(!distiller.due(209, 1_500), "too soon");
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
    let late = Distiller::new(settings(), Some("9000 1000000"));
    assert!(!late.due(9_900, 1_000_000) && late.due(10_000, 1_000_000), "a tenth of all fetches");
    let small = Distiller::new(DistillSettings { links: 999, ..settings() }, None);
    assert!(small.due(100, 999) && !small.due(100, 1_000), "not with more links than allowed");
}

/// How often a crawl with the defaults distils, with 20 links per page, and when it first revisits hubs.
#[test]
fn the_default_schedule_is_neither_late_nor_frequent() {
    let settings = DistillSettings::default();
    let times = |pages: u64| {
        let mut distiller = Distiller::new(settings, None);
        let mut at = Vec::new();
        for seq in 0..pages {
            if distiller.due(seq, 20 * seq) {
                distiller.begin(seq, 20 * seq);
                at.push(seq);
            }
        }
        at
    };
    assert_eq!(times(9_001), [2_000, 4_000, 6_000, 9_000]);
    let long = times(140_000);
    assert!(long.len() < 20, "{long:?}");
    assert!(long.iter().find(|&&seq| seq > settings.rest).is_some_and(|&first| first <= 6_000), "{long:?}");
}

#[test]
fn a_thread_finds_the_same() {
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
    assert!(distiller.poll().is_none() && distiller.due(1_000, 8), "then the next one is due");
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

/// Commits the result of a distillation.
fn apply_distillation(store: &mut SqliteStore, found: &Distilled) {
    let Distilled { hubs, auth, neighbourhoods, refreshed, raised, .. } = found;
    store.set_scores(&DistilledScores { hubs, auth, neighbourhoods }).unwrap();
    store.commit(&Batch { refreshed, raised, ..Batch::default() }).unwrap();
}

/// Estimate and priority of a URL.
fn estimate_of(store: &SqliteStore, name: &str) -> (f64, f64) {
    let about = store.reader().about_briefly(&url(name)).unwrap().unwrap();
    (about.relevance, about.priority)
}

fn rejudge(store: &mut SqliteStore, name: &str, relevance: f64) {
    let judgment = Judgment { relevance, best: TopicId::ROOT };
    store.commit(&Batch { judgments: &[Rejudged { oid: oid(name), judgment }], ..Batch::default() }).unwrap();
}

#[test]
fn queued_pages_follow_their_parents() {
    let (_folder, mut store) =
        store(&[("one.test", 0.1, &["queued.test", "other.test"]), ("two.test", 0.1, &["queued.test"])]);
    let mut distiller = Distiller::new(DistillSettings { raised: 0, ..settings() }, None);
    let mut distil = |store: &mut SqliteStore| {
        let found = distiller.now(&*store.reader(), 2, 3).unwrap();
        apply_distillation(store, &found);
        found.refreshed.len()
    };
    assert_eq!(distil(&mut store), 0, "nothing differs from its parents");
    rejudge(&mut store, "two.test", 0.8);
    assert_eq!(distil(&mut store), 1);
    assert_eq!(estimate_of(&store, "queued.test"), (0.8, 0.8), "a parent has become better");
    rejudge(&mut store, "two.test", 0.05);
    assert_eq!(distil(&mut store), 1);
    assert_eq!(estimate_of(&store, "queued.test"), (0.1, 0.1), "it falls to what the other one says");
    assert_eq!(estimate_of(&store, "other.test"), (0.1, 0.1));
    rejudge(&mut store, "one.test", 0.105);
    assert_eq!(distil(&mut store), 0, "the change is too small");
}

#[test]
fn starts_and_raised_urls_do_not_fall() {
    let (_folder, mut store) = store(&WEB);
    let start = NewUrl { relevance: 1.0, priority: 1.0, ..new("two.test") };
    store.add(&[start, NewUrl { relevance: 1.0, priority: 1.0, ..new("start.test") }]).unwrap();
    let mut distiller = Distiller::new(settings(), None);
    for _ in 0..2 {
        let found = distiller.now(&*store.reader(), 4, 8).unwrap();
        apply_distillation(&mut store, &found);
    }
    assert_eq!(estimate_of(&store, "start.test"), (1.0, 1.0));
    assert!(estimate_of(&store, "missed.test").1 > RAISED, "the second distillation does not change it");
}

#[test]
fn a_new_good_link_changes_the_neighbourhood() {
    let (_folder, mut store) = store(&[
        ("page.test", 0.3, &["poor.test"]),
        ("poor.test", 0.1, &[]),
        ("elsewhere.test", 0.5, &["poor.test"]),
    ]);
    let stored = |store: &SqliteStore| {
        store.reader().about(&url("page.test")).unwrap().unwrap().neighbourhood.map(|found| {
            assert!((found.own - 0.3).abs() < 1e-6, "R stays beside it");
            (found.sites, found.evidence, found.relevance)
        })
    };
    let distil = |store: &mut SqliteStore| {
        let found = Distiller::new(settings(), None).now(&*store.reader(), 3, 2).unwrap();
        apply_distillation(store, &found);
        found.neighbourhoods.len()
    };
    assert_eq!(stored(&store), None);
    assert_eq!(distil(&mut store), 3, "each has a neighbour");
    let (sites, evidence, before) = stored(&store).unwrap();
    assert!(sites == 1 && (evidence - 0.1).abs() < 1e-6 && before < 0.3, "{sites} {evidence} {before}");
    assert_eq!(distil(&mut store), 0, "nothing has changed");
    add_page(&mut store, 3, ("good.test", 0.9, &["page.test"]));
    assert_eq!(distil(&mut store), 2, "the page and the one that links to it");
    let (sites, evidence, after) = stored(&store).unwrap();
    // The four pages have R 0.45 on average: odds 9/11. Among the neighbours (2 * 0.5 + 2 * 0.45) / 4 = 0.475: odds 19/21.
    // 3/7 * sqrt(19/21 * 11/9) = 0.450676 are the odds of 0.310666.
    assert!(sites == 2 && (evidence - 0.5).abs() < 1e-6, "{sites} {evidence}");
    assert!((after - 0.310_666).abs() < 1e-5 && after > before, "{after}");
}

/// Two hosts of a domain recommend each other and another page, and so does a host elsewhere.
const FAMILY: [(&str, f64, &[&str]); 4] = [
    ("one.kin.co.uk", 0.9, &["two.kin.co.uk", "other.test"]),
    ("two.kin.co.uk", 0.9, &["one.kin.co.uk"]),
    ("other.test", 0.9, &[]),
    ("far.co.uk", 0.9, &["other.test", "two.kin.co.uk"]),
];

/// The authorities under a definition of sites, checked to be equal for all engines.
fn authorities(folder: &TempDir, by: SiteBy) -> Vec<UrlId> {
    let reader = SqliteReader::open(folder.path().join("db")).unwrap();
    let snapshot = Snapshot::read_by(&reader, by).unwrap();
    let [native, walk] = [Engine::Native, Engine::Walk].map(|engine| snapshot.scores(1.0, engine).unwrap());
    let sql = snapshot.scores_by_sql(&reader, 1.0).unwrap();
    for (at, (native, walk)) in native.authorities.iter().zip(&walk.authorities).enumerate() {
        let oid = snapshot.node(at as u32).oid;
        let joined = sql.authorities.iter().find(|(found, _)| *found == oid).map_or(0.0, |found| found.1);
        assert!((native - walk).abs() < 1e-9 && (native - joined).abs() < 1e-9, "{native} {walk} {joined}");
    }
    let mut found: Vec<UrlId> =
        snapshot.stored(&native.authorities).into_iter().map(|(oid, _)| oid).collect();
    found.sort_unstable();
    found
}

fn sorted(names: &[&str]) -> Vec<UrlId> {
    let mut oids: Vec<UrlId> = names.iter().map(|name| oid(name)).collect();
    oids.sort_unstable();
    oids
}

#[test]
fn links_within_a_site_do_not_count() {
    let (folder, mut store) = store(&FAMILY);
    let all = sorted(&["one.kin.co.uk", "two.kin.co.uk", "other.test"]);
    assert_eq!(authorities(&folder, SiteBy::Host), all);
    assert_eq!(authorities(&folder, SiteBy::Domain), sorted(&["two.kin.co.uk", "other.test"]));
    assert_eq!(authorities(&folder, SiteBy::Address), all, "no address is known");
    let at = |name: &str, last: u8| (url(name).site(), std::net::IpAddr::from([192, 0, 2, last]));
    let addresses = [at("one.kin.co.uk", 1), at("two.kin.co.uk", 2), at("other.test", 2), at("far.co.uk", 2)];
    store.commit(&Batch { addresses: &addresses, ..Batch::default() }).unwrap();
    assert_eq!(authorities(&folder, SiteBy::Address), all, "from elsewhere, each of them is linked to");
    store.commit(&Batch { addresses: &[at("one.kin.co.uk", 2)], ..Batch::default() }).unwrap();
    assert_eq!(authorities(&folder, SiteBy::Address), [], "all are on one machine by now");
}
