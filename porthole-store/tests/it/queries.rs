//! The standing queries on small crawls, with results computed by hand.

use porthole_store::{Batch, Error, QueryLimits, SqliteStore, Store, WorkspaceWriter};
use porthole_types::{
    CanonicalUrl, Judgment, LinkRow, Mark, NewUrl, Outcome, PageResult, Timestamp, TopicId, TopicRow,
};

use crate::contract::shown;
use crate::web::Place;

const DAY: i64 = 86_400_000;

/// The tree: ids are positions in this list, from 1.
const TOPICS: [(&str, u16); 7] = [
    ("Sport", 0),
    ("Cycling", 1),
    ("Racing", 2),
    ("Health", 0),
    ("First Aid", 4),
    ("Travel", 0),
    ("Hawaii", 6),
];

fn topic(name: &str) -> TopicId {
    let at = TOPICS.iter().position(|(topic, _)| *topic == name).unwrap_or_else(|| panic!("{name}"));
    TopicId(u16::try_from(at).unwrap() + 1)
}

/// A crawl that is written page by page.
struct World {
    place: Place,
    store: SqliteStore,
    seq: u64,
}

impl World {
    fn new() -> World {
        let place = Place::new();
        let mut store = place.open();
        let root =
            TopicRow { id: TopicId::ROOT, parent: TopicId::ROOT, name: String::new(), mark: Mark::Null };
        let rows = TOPICS.iter().map(|(name, parent)| TopicRow {
            id: topic(name),
            parent: TopicId(*parent),
            name: (*name).to_owned(),
            mark: Mark::Null,
        });
        store.set_topics(&std::iter::once(root).chain(rows).collect::<Vec<_>>()).unwrap();
        World { place, store, seq: 0 }
    }

    /// Visits pages, each on a day: host/path, topic, links.
    fn visit(&mut self, day: i64, pages: &[(&str, &str, &[&str])]) {
        let urls: Vec<NewUrl> = pages.iter().map(|(page, ..)| new_url(page)).collect();
        self.store.add(&urls).unwrap();
        let results: Vec<PageResult> = pages
            .iter()
            .map(|(page, about, links)| {
                self.seq += 1;
                let relevance = if *about == "Cycling" { 0.75 } else { 0.25 };
                let links = links.iter().map(|to| link(to)).collect();
                result(self.seq, day, page, Judgment { relevance, best: topic(about) }, links)
            })
            .collect();
        self.store.commit(&Batch { results: &results, ..Batch::default() }).unwrap();
    }

    fn again(&mut self, day: i64, pages: &[(&str, &str, &[&str])]) {
        let oids: Vec<_> = pages.iter().map(|(page, ..)| url(page).id()).collect();
        assert_eq!(self.store.queue_again(&oids).unwrap(), pages.len());
        self.visit(day, pages);
    }

    fn ask(&self, name: &str, parameters: &[(&str, &str)]) -> Result<Vec<String>, Error> {
        let answer = self.store.reader().query(name, parameters, &QueryLimits::default())?;
        let row = |row: &Vec<_>| row.iter().map(shown).collect::<Vec<_>>().join(" | ");
        Ok(answer.rows.iter().map(row).collect())
    }

    fn rows(&self, name: &str, parameters: &[(&str, &str)]) -> Vec<String> {
        self.ask(name, parameters).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

fn url(page: &str) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://{page}")).unwrap()
}

fn new_url(page: &str) -> NewUrl {
    NewUrl { url: url(page), relevance: 0.5, priority: 0.5, depth: 0 }
}

fn link(page: &str) -> LinkRow {
    let target = new_url(page);
    LinkRow::to(target)
}

fn result(seq: u64, day: i64, page: &str, judgment: Judgment, links: Vec<LinkRow>) -> PageResult {
    PageResult {
        seq,
        oid: url(page).id(),
        sid: url(page).site(),
        at: Timestamp(day * DAY),
        status: 200,
        outcome: Outcome::Fetched,
        judgment: Some(judgment),
        title: format!("about {page}"),
        language: "en".into(),
        bytes: 1,
        simhash: 1,
        terms: Vec::new(),
        copy_of: None,
        validators: None,
        next_visit: None,
        span: None,
        links,
    }
}

#[test]
fn the_neighbourhood_of_a_topic_is_held_against_the_rest() {
    let mut world = World::new();
    world.visit(
        1,
        &[
            // Cycling and First Aid: three links, two of them in one direction; the one from b1's second page counts
            // once.
            ("b1.test/", "Cycling", &["aid.test/1", "hawaii.test/1", "b2.test/", "unknown.test/"]),
            ("b1.test/2", "Racing", &["aid.test/1", "b1.test/"]),
            ("b2.test/", "Cycling", &["aid.test/2"]),
            ("aid.test/1", "First Aid", &["b1.test/", "aid.test/2"]),
            ("aid.test/2", "First Aid", &[]),
            // In the rest, Hawaii is cited by Health and by Travel, First Aid is not cited.
            ("hawaii.test/1", "Hawaii", &[]),
            ("doctor.test/", "Health", &["hawaii.test/1"]),
            ("tours.test/", "Travel", &["hawaii.test/1", "doctor.test/"]),
        ],
    );
    // Near: First Aid 3, Hawaii 1. Rest: Hawaii 2, Health 2, Travel 2 and First Aid 0 of 6; four topics.
    let row = |topic: &str, links: f64, large: f64| {
        format!("{topic} | {links} | {} | {large} | {}", links / 4.0, (links + 5.0) / (4.0 * large + 5.0))
    };
    let (first_aid, hawaii) = (row("/Health/First Aid", 3.0, 0.1), row("/Travel/Hawaii", 1.0, 0.3));
    assert_eq!(
        world.rows("citation-sociology", &[("topic", "/Sport/Cycling"), ("least", "1")]),
        [first_aid.clone(), hawaii]
    );
    let least = [("topic", "/Sport"), ("least", "2")];
    assert_eq!(world.rows("citation-sociology", &least), [first_aid]);
    let nobody = [("topic", "/Sport"), ("least", "9")];
    assert_eq!(world.rows("citation-sociology", &nobody), [""; 0]);
}

#[test]
fn pages_that_several_pages_of_another_topic_cite() {
    let mut world = World::new();
    world.visit(
        1,
        &[
            ("aid.test/1", "First Aid", &[]),
            ("aid.test/2", "First Aid", &[]),
            ("aid.test/3", "First Aid", &[]),
            ("hawaii.test/1", "Hawaii", &["aid.test/1", "aid.test/2"]),
            ("hawaii.test/2", "Hawaii", &["aid.test/1", "aid.test/1"]),
            ("islands.test/", "Travel", &["aid.test/1", "aid.test/3"]),
            ("b1.test/", "Cycling", &["aid.test/2", "aid.test/3"]),
        ],
    );
    let ask = |citing: &str, least: &str| {
        world.rows("spam-filter", &[("topic", "/Health"), ("cited_by", citing), ("least", least)])
    };
    assert_eq!(ask("/Travel", "2"), ["http://aid.test/1 | 3 | 2 | about aid.test/1"]);
    assert_eq!(ask("/Travel/Hawaii", "2"), ["http://aid.test/1 | 2 | 1 | about aid.test/1"]);
    assert_eq!(ask("/Travel", "1").len(), 3);
    assert_eq!(ask("/Travel", "4"), [""; 0]);
}

#[test]
fn chains_of_links_by_topic() {
    let mut world = World::new();
    world.visit(
        1,
        &[
            ("b1.test/", "Cycling", &["aid.test/1", "aid.test/2"]),
            ("b2.test/", "Racing", &["aid.test/1"]),
            ("aid.test/1", "First Aid", &["hawaii.test/", "b1.test/"]),
            ("aid.test/2", "First Aid", &["b2.test/"]),
            ("hawaii.test/", "Hawaii", &[]),
        ],
    );
    let ask = |to: &str| {
        world.rows("typed-link", &[("topic", "/Sport/Cycling"), ("via", "/Health/First Aid"), ("to", to)])
    };
    let over_aid =
        |from: &str, aid: u8, to: &str| format!("http://{from}/ | http://aid.test/{aid} | http://{to}/");
    assert_eq!(
        ask("/Travel"),
        [over_aid("b1.test", 1, "hawaii.test"), over_aid("b2.test", 1, "hawaii.test")]
    );
    // A chain back to its first page does not count.
    assert_eq!(ask("/Sport"), [over_aid("b1.test", 2, "b2.test"), over_aid("b2.test", 1, "b1.test")]);
}

#[test]
fn links_between_topics_over_time() {
    let mut world = World::new();
    world.visit(10, &[("b1.test/", "Cycling", &["aid.test/1"]), ("aid.test/1", "First Aid", &["b1.test/"])]);
    world.visit(
        70,
        &[("b2.test/", "Cycling", &["aid.test/1", "aid.test/2"]), ("aid.test/2", "First Aid", &[])],
    );
    world.again(395, &[("b1.test/", "Cycling", &["aid.test/1", "aid.test/2", "b2.test/"])]);
    let topics = [("topic", "/Sport"), ("to", "/Health")];
    // The first link is more than a year older than the last.
    let (early, late) = (format!("{} | 2 | 1 | 1", 60 * DAY), format!("{} | 1 | 1 | 1", 390 * DAY));
    assert_eq!(world.rows("community-evolution", &topics), [early, late]);
    let steps = [topics[0], topics[1], ("days", "1000"), ("step", "100")];
    let (early, late) = (format!("{} | 3 | 2 | 2", 0), format!("{} | 1 | 1 | 1", 300 * DAY));
    assert_eq!(world.rows("community-evolution", &steps), [early, late]);

    let there = |from: &str, to: u8, day: i64| {
        format!("there | http://{from}/ | http://aid.test/{to} | {}", day * DAY)
    };
    let back = format!("back | http://aid.test/1 | http://b1.test/ | {}", 10 * DAY);
    assert_eq!(
        world.rows("topic-links", &[("topic", "/Sport"), ("other", "/Health/First Aid")]),
        [
            there("b1.test", 1, 10),
            there("b2.test", 1, 70),
            there("b2.test", 2, 70),
            there("b1.test", 2, 395),
            back
        ]
    );
    assert_eq!(world.rows("topic-links", &[("topic", "/Sport"), ("other", "/Travel")]), [""; 0]);
}

#[test]
fn sites_by_the_density_of_a_topic() {
    let mut world = World::new();
    world.visit(
        1,
        &[
            ("b1.test/", "Cycling", &[]),
            ("b1.test/2", "Racing", &[]),
            ("b1.test/3", "Cycling", &[]),
            ("b1.test/4", "Health", &[]),
            ("b2.test/", "Cycling", &[]),
            ("b2.test/2", "Cycling", &[]),
            ("b2.test/3", "Cycling", &[]),
            ("small.test/", "Cycling", &[]),
            ("aid.test/1", "First Aid", &[]),
            ("aid.test/2", "First Aid", &[]),
            ("aid.test/3", "First Aid", &["unknown.test/"]),
        ],
    );
    let (all, some) = ("b2.test | 3 | 3 | 1", "b1.test | 3 | 4 | 0.75");
    assert_eq!(world.rows("specialty-sites", &[("topic", "/Sport/Cycling")]), [all, some]);
    let least = [("topic", "/Sport"), ("least", "1")];
    assert_eq!(world.rows("specialty-sites", &least), [all, some, "small.test | 1 | 1 | 1"]);
    // By relevance, the page about racing does not count.
    assert_eq!(world.rows("specialty-sites", &[]), [all, "b1.test | 2 | 4 | 0.5"]);
    world.store.set_disabled(&["b2.test"], true).unwrap();
    assert_eq!(world.rows("specialty-sites", &[("topic", "/Sport")]), [some]);
}

#[test]
fn a_community_cites_itself_or_not() {
    let mut world = World::new();
    world.visit(
        1,
        &[
            ("b1.test/", "Cycling", &["b2.test/", "b1.test/2"]),
            ("b1.test/2", "Cycling", &["b2.test/"]),
            ("b2.test/", "Racing", &["b1.test/", "aid.test/1"]),
            ("b4.test/", "Cycling", &[]),
        ],
    );
    world.visit(3, &[("b3.test/", "Cycling", &["b2.test/"])]);
    world.again(7, &[("b4.test/", "Cycling", &["b2.test/"])]);
    let ask = |sites: &str| -> Vec<String> {
        let rows = world.rows("community-culture", &[("topic", "/Sport"), ("sites", sites)]);
        rows.iter().map(|row| row.split(" | ").nth(1).unwrap().to_owned()).collect()
    };
    // b1, b3 and b4 cite b2 on days 1, 3 and 7, and b2 cites b1: four pairs, one of them mutual.
    assert_eq!(ask("3"), ["5", "4", "1", "0.5", "0.5", "1", "6"]);
    assert_eq!(ask("2"), ["5", "4", "1", "0.5", "0.5", "1", "2"]);
    assert_eq!(ask("9"), ["5", "4", "1", "0.5", "0.5", "0", "null"]);
    let nothing = world.rows("community-culture", &[("topic", "/Travel")]);
    assert!(nothing[0].ends_with("| 0") && nothing[2].ends_with("| null"), "{nothing:?}");
}

#[test]
fn regions_that_change_fast_and_stable_ones() {
    let mut world = World::new();
    let pages: [(&str, &str, &[&str]); 4] = [
        ("b1.test/", "Cycling", &["x.test/0"]),
        ("b2.test/", "Cycling", &["x.test/0"]),
        ("aid.test/", "First Aid", &["x.test/0"]),
        ("hawaii.test/", "Hawaii", &["x.test/0"]),
    ];
    world.visit(1, &pages);
    world.again(
        5,
        &[("b1.test/", "Cycling", &["x.test/0", "x.test/1"]), ("aid.test/", "First Aid", &["x.test/0"])],
    );
    world.again(
        9,
        &[("b1.test/", "Cycling", &["x.test/2"]), ("b2.test/", "Cycling", &["x.test/0", "x.test/3"])],
    );
    // Two pages were observed for 8 days each and changed three times; one for 4 days, without change.
    let (fast, stable) =
        (format!("/Sport/Cycling | 2 | 2 | 8 | {}", 16.0 / 3.0), "/Health/First Aid | 1 | 0 | 4 | null");
    assert_eq!(world.rows("timescales", &[("least", "1")]), [fast.as_str(), stable]);
    assert_eq!(world.rows("timescales", &[("least", "2")]), [fast.as_str()]);
    assert_eq!(world.rows("timescales", &[("topic", "/Health"), ("least", "1")]), [stable]);
}

#[test]
fn pages_are_counted_up_the_tree() {
    let mut world = World::new();
    world.visit(
        1,
        &[
            ("b1.test/", "Cycling", &[]),
            ("b2.test/", "Racing", &[]),
            ("b3.test/", "Racing", &[]),
            ("aid.test/", "First Aid", &[]),
        ],
    );
    let sport = format!("1 | Sport | 3 | {}", 1.25 / 3.0);
    let cycling = format!("2 | Cycling | 3 | {}", 1.25 / 3.0);
    let rest = ["3 | Racing | 2 | 0.25", "4 | Health | 1 | 0.25", "5 | First Aid | 1 | 0.25"];
    assert_eq!(world.rows("census-up", &[]), [&[sport.as_str(), cycling.as_str()], rest.as_slice()].concat());
    assert_eq!(world.rows("census", &[])[0], rest[0]);
}

#[test]
fn what_is_asked_for_wrongly_is_said() {
    let world = World::new();
    let said = |name: &str, parameters: &[(&str, &str)]| world.ask(name, parameters).unwrap_err().to_string();
    for (parameters, part) in [
        (&[][..], "`citation-sociology` needs topic=… (whose neighbourhood)"),
        (&[("topic", "/Sport/Chess")], "no topic /Sport/Chess"),
        (&[("topic", "Sport")], "topic=Sport: it must be the path of a topic"),
        (&[("topic", "/Sport"), ("rows", "many")], "rows=many: it must be a whole number"),
        (&[("topic", "/Sport"), ("rows", "-1")], "rows=-1: it must be a whole number"),
        (&[("topics", "/Sport")], "no parameter `topics`"),
    ] {
        let said = said("citation-sociology", parameters);
        assert!(said.contains(part), "{parameters:?}: {said}");
    }
    assert!(said("citation", &[]).contains("no query `citation`"));
    assert!(said("harvest", &[("hours", "few")]).contains("it must be a number"));
    assert_eq!(world.rows("census_up", &[]), world.rows("census-up", &[]));
}

#[test]
fn a_page_that_is_queued_again_is_a_page_still_and_counts_once() {
    let mut world = World::new();
    world.visit(1, &[("b1.test/", "Cycling", &["b2.test/"])]);
    world.visit(2, &[("b2.test/", "Cycling", &[]), ("b1.test/2", "Hawaii", &[])]);
    world.again(3, &[("b1.test/", "Cycling", &["b2.test/"])]);
    world.store.queue_again(&[url("b2.test/").id()]).unwrap();
    let rows = world.rows("specialty-sites", &[("least", "1")]);
    assert_eq!(rows, ["b2.test | 1 | 1 | 1", "b1.test | 1 | 2 | 0.5"]);
    let tried: Vec<u64> =
        world.store.reader().tried(None, 9).unwrap().iter().map(|tried| tried.seq).collect();
    assert_eq!(tried, [2, 3, 4], "each URL once, at its last fetch");
    let World { place, store, .. } = world;
    drop(store);
    assert_eq!(place.open().reader().tried(Some(2), 1).unwrap()[0].seq, 3);
}
