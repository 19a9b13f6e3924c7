//! The full-text index: filled behind the crawl, searched, and part of SQL.

use porthole_store::{
    DatabaseLocation, DistilledScores, FoundPage, QueryLimits, SearchRequest, SqlValue, SqliteReader, Store,
    StoreReader, TableReader, TableStore, TextIndex, WorkspaceWriter,
};
use porthole_types::{LinkRow, Outcome, PageResult, TopicId};

use crate::postgres::PgPlace;
use crate::web::{Place, commit, failure, link, new_url, oid, page, url, with_outcome};

/// A database whose pages are searched.
trait SearchPlace {
    fn location(&self) -> DatabaseLocation;

    fn open(&self) -> TableStore {
        TableStore::open_at(&self.location()).unwrap()
    }

    fn reader(&self) -> TableReader {
        TableReader::open_at(&self.location()).unwrap()
    }
}

impl SearchPlace for Place {
    fn location(&self) -> DatabaseLocation {
        DatabaseLocation::File(self.path())
    }
}

impl SearchPlace for PgPlace {
    fn location(&self) -> DatabaseLocation {
        PgPlace::location(self)
    }
}

/// Tests SQLite, and PostgreSQL if there is one.
fn on_both(test: fn(&dyn SearchPlace)) {
    test(&Place::new());
    if let Some(place) = PgPlace::new() {
        test(&place);
    }
}

/// Adds everything that is new, with texts by the numbers of the pages.
fn fill(place: &dyn SearchPlace, texts: &[(u64, &str)]) {
    let mut index = TextIndex::open_at(&place.location()).unwrap();
    while index.add_anchors().unwrap() > 0 {}
    while let Some(batch) = index.next_pages(2).unwrap() {
        let text = |of: &str| {
            texts.iter().find(|(number, _)| url(*number).as_str() == of).map(|(_, text)| text.to_string())
        };
        let texts: Vec<Option<String>> = batch.pages.iter().map(|page| text(&page.url)).collect();
        index.add_pages(&batch, &texts).unwrap();
    }
    index.find_common_words().unwrap();
}

fn titled(number: u64, title: &str, relevance: f64, links: Vec<LinkRow>) -> PageResult {
    PageResult { title: title.into(), ..page(number, relevance, links) }
}

fn anchored(number: u64, anchor: &str) -> LinkRow {
    LinkRow { anchor: Some(anchor.into()), ..link(number, 0.5, 0.5) }
}

/// Three pages: owls, larks, and one that says nothing of itself but is linked as "birds of prey".
fn birds(place: &dyn SearchPlace) -> TableStore {
    let mut store = place.open();
    store.add(&[1, 2, 3, 4].map(|number| new_url(number, 0.5, 0.5))).unwrap();
    let results = [
        titled(1, "Snowy owl", 0.9, vec![anchored(3, "birds of prey"), anchored(2, "the lark")]),
        titled(2, "Larks", 0.2, vec![anchored(3, "birds of prey"), anchored(1, "white owls")]),
        titled(3, "Page", 0.5, Vec::new()),
        with_outcome(4, Outcome::Dead(failure(porthole_types::FailureKind::Dns))),
    ];
    commit(&mut store, &results);
    store
}

const TEXTS: &[(u64, &str)] = &[
    (1, "The snowy owl lives in the tundra.\nIt hunts lemmings by day and by night."),
    (2, "A lark sings in flight. An owl hunts larks."),
    (3, "Nothing here."),
];

fn request(words: &[&str]) -> SearchRequest {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    SearchRequest { words, limit: 10, ..SearchRequest::default() }
}

fn found(place: &dyn SearchPlace, request: &SearchRequest) -> Vec<FoundPage> {
    place.reader().search(request).unwrap().expect("an index").pages
}

fn numbers(place: &dyn SearchPlace, request: &SearchRequest) -> Vec<u64> {
    let number = |page: &FoundPage| (0..30).find(|&number| url(number).as_str() == page.url).unwrap();
    found(place, request).iter().map(number).collect()
}

#[test]
fn words_phrases_and_anchor_texts_find_pages() {
    on_both(|place| {
        let _store = birds(place);
        fill(place, TEXTS);
        for (words, expected) in [
            (&["owl"][..], &[1, 2][..]),
            (&["OWLS"], &[1, 2]),
            (&["owl", "lark"], &[2]),
            (&["lives in the tundra"], &[1]),
            (&["tundra the in"], &[]),
            (&["birds of prey"], &[3]),
            (&["white"], &[1]),
            (&["hunting"], &[2, 1]),
            (&["penguin"], &[]),
            // No page has both, so that those with one of them are shown.
            (&["tundra", "penguin"], &[1]),
        ] {
            assert_eq!(numbers(place, &request(words)), expected, "for {words:?}");
        }
    });
}

#[test]
fn anything_can_be_typed() {
    on_both(|place| {
        let _store = birds(place);
        fill(place, TEXTS);
        for odd in [
            "\"",
            "'",
            "owl\"",
            "owl*",
            "title:owl",
            "NEAR(owl",
            "owl AND",
            "(",
            "-owl",
            "^owl",
            "{a b}:c",
            "\0",
            "%",
            "AND",
        ] {
            found(place, &request(&[odd]));
            found(place, &request(&["owl", odd]));
        }
        assert_eq!(numbers(place, &request(&["title:owl"])), [0; 0], "columns cannot be named");
    });
}

#[test]
fn filters_and_snippets() {
    on_both(|place| {
        let _store = birds(place);
        fill(place, TEXTS);
        let owl = request(&["owl"]);
        for (filtered, expected) in [
            (SearchRequest { min_relevance: 0.5, ..owl.clone() }, &[1][..]),
            (SearchRequest { topics: vec![TopicId(7)], ..owl.clone() }, &[1, 2]),
            (SearchRequest { topics: vec![TopicId(8)], ..owl.clone() }, &[]),
            (SearchRequest { site: Some("site0.test".into()), ..owl.clone() }, &[1, 2]),
            (SearchRequest { site: Some("TEST".into()), ..owl.clone() }, &[1, 2]),
            (SearchRequest { site: Some("ite0.test".into()), ..owl.clone() }, &[]),
            (SearchRequest { language: Some("en".into()), ..owl.clone() }, &[1, 2]),
            (SearchRequest { language: Some("de".into()), ..owl.clone() }, &[]),
            (SearchRequest { limit: 1, ..owl.clone() }, &[1]),
        ] {
            assert_eq!(numbers(place, &filtered), expected, "for {filtered:?}");
        }
        let pages = found(place, &owl);
        assert_eq!(
            pages[0].snippet,
            "The snowy \u{2}owl\u{3} lives in the tundra. It hunts lemmings by day and by night."
        );
        assert_eq!((pages[0].relevance, pages[0].topic), (0.9, Some(TopicId(7))));
        assert_eq!(found(place, &request(&["prey"]))[0].snippet, "Nothing here.");
    });
}

#[test]
fn relevance_and_authority_decide_between_equal_texts() {
    on_both(|place| {
        let mut store = place.open();
        store.add(&[1, 2, 3].map(|number| new_url(number, 0.5, 0.5))).unwrap();
        commit(&mut store, &[1, 2, 3].map(|number| titled(number, "Owl", 0.1 * number as f64, Vec::new())));
        let same = [1, 2, 3].map(|number| (number, "all about owls"));
        fill(place, &same);
        assert_eq!(numbers(place, &request(&["owl"])), [3, 2, 1]);
        store
            .set_scores(&DistilledScores {
                auth: &[(oid(1), 0.5), (oid(3), 0.01)],
                ..DistilledScores::default()
            })
            .unwrap();
        assert_eq!(numbers(place, &request(&["owl"])), [1, 3, 2]);
        // (T + A) (1 + 0.3 R + 0.3 sqrt(S)), where only the words are the same.
        let pages = found(place, &request(&["owl"]));
        let words =
            |page: &FoundPage| page.score / (1.0 + 0.3 * page.relevance + 0.3 * page.authority.sqrt());
        assert!((words(&pages[0]) - words(&pages[1])).abs() < 1e-9);
        assert!((pages[1].authority - 0.02).abs() < 1e-9);
    });
}

#[test]
fn words_that_are_on_most_pages_are_still_required() {
    on_both(|place| {
        const PAGES: u64 = 300;
        let mut store = place.open();
        let urls: Vec<_> = (0..PAGES).map(|number| new_url(number, 0.5, 0.5)).collect();
        store.add(&urls).unwrap();
        let pages: Vec<PageResult> =
            (0..PAGES).map(|number| titled(number, "Page", 0.5, Vec::new())).collect();
        commit(&mut store, &pages);
        // Every page has one of: owls in a short text; owls and the common word in a long one; the common word.
        let text = |number: u64| match number {
            0..140 => "owl".to_owned(),
            140..145 => format!("owl common {}", "filler ".repeat(200)),
            _ => format!("common nests {number}"),
        };
        let texts: Vec<String> = (0..PAGES).map(text).collect();
        let texts: Vec<(u64, &str)> =
            texts.iter().enumerate().map(|(number, text)| (number as u64, text.as_str())).collect();
        fill(place, &texts);
        let urls_of = |words: &[&str]| {
            let mut urls: Vec<String> =
                found(place, &request(words)).into_iter().map(|page| page.url).collect();
            urls.sort_unstable();
            urls
        };
        let expected = |numbers: &[u64]| {
            let mut urls: Vec<String> =
                numbers.iter().map(|&number| url(number).as_str().to_owned()).collect();
            urls.sort_unstable();
            urls
        };
        // A hundred pages with owls and without the common word have higher scores.
        assert_eq!(urls_of(&["owl", "common"]), expected(&[140, 141, 142, 143, 144]));
        assert_eq!(urls_of(&["common", "200"]), expected(&[200]));
        let snippet = &found(place, &request(&["common", "200"]))[0].snippet;
        assert_eq!(snippet, "common nests \u{2}200\u{3}", "the words that tell most are marked");
        assert_eq!(urls_of(&["common"]).len(), 10, "a common word alone is searched for");
    });
}

#[test]
fn an_index_of_an_earlier_version_has_neither_counts_nor_common_words() {
    let place = Place::new();
    let _store = birds(&place);
    fill(&place, TEXTS);
    let index = rusqlite::Connection::open(place.folder.path().join("porthole-readers.db")).unwrap();
    index.execute_batch("drop table common_word; drop table text_count").unwrap();
    assert_eq!(numbers(&place, &request(&["owl", "lark"])), [2]);
    let state = place.reader().index_state().unwrap().unwrap();
    assert_eq!((state.indexed, state.without_text), (3, 0));
    fill(&place, TEXTS);
    assert_eq!(place.reader().index_state().unwrap().unwrap().indexed, 3);
}

#[test]
fn text_in_chinese_is_found_by_any_part_of_it() {
    on_both(|place| {
        let mut store = place.open();
        store.add(&[new_url(1, 0.5, 0.5), new_url(2, 0.5, 0.5)]).unwrap();
        commit(&mut store, &[page(1, 0.5, Vec::new()), page(2, 0.5, Vec::new())]);
        fill(place, &[(1, "我住在東京都。Tokyo"), (2, "京都很美")]);
        assert_eq!(numbers(place, &request(&["東京"])), [1]);
        assert_eq!(numbers(place, &request(&["tokyo"])), [1]);
        let mut both = numbers(place, &request(&["京都"]));
        both.sort_unstable();
        assert_eq!(both, [1, 2]);
        assert_eq!(found(place, &request(&["東京"]))[0].snippet, "我住在\u{2}東京\u{3}都。Tokyo");
    });
}

#[test]
fn the_index_follows_the_crawl() {
    on_both(|place| {
        let mut store = birds(place);
        let reader = place.reader();
        assert_eq!(reader.index_state().unwrap(), None);
        fill(place, TEXTS);
        let state = reader.index_state().unwrap().unwrap();
        assert_eq!((state.indexed, state.without_text, state.behind, state.links_behind), (3, 0, 0, 0));

        store.add(&[new_url(5, 0.5, 0.5)]).unwrap();
        commit(&mut store, &[titled(5, "Eagles", 0.5, vec![anchored(2, "songbirds")])]);
        let state = reader.index_state().unwrap().unwrap();
        assert_eq!((state.indexed, state.behind, state.links_behind), (3, 1, 1));
        assert_eq!(numbers(place, &request(&["songbirds"])), [0; 0]);
        // Not in the archive: found by its title.
        fill(place, &[]);
        assert_eq!(numbers(place, &request(&["songbirds"])), [2], "a link to a page that was indexed before");
        assert_eq!(numbers(place, &request(&["eagle"])), [5]);
        assert_eq!(reader.index_state().unwrap().unwrap().without_text, 1);

        // A page that is fetched again is indexed again, and found once.
        store.queue_again(&[oid(1)]).unwrap();
        commit(&mut store, &[PageResult { seq: 20, ..titled(1, "Barn owl", 0.9, Vec::new()) }]);
        fill(place, &[(1, "The barn owl lives in barns.")]);
        assert_eq!(numbers(place, &request(&["snowy"])), [0; 0]);
        assert_eq!(numbers(place, &request(&["barn owl"])), [1]);
        assert_eq!(numbers(place, &request(&["white"])), [1], "anchor texts stay");
    });
}

#[test]
fn the_index_of_another_crawl_is_rebuilt() {
    let place = Place::new();
    drop(birds(&place));
    fill(&place, TEXTS);
    for name in ["porthole.db", "porthole.db-wal", "porthole.db-shm"] {
        let _ = std::fs::remove_file(place.folder.path().join(name));
    }
    let mut store = place.open();
    store.add(&[new_url(7, 0.5, 0.5)]).unwrap();
    commit(&mut store, &[PageResult { seq: 4, ..titled(7, "Cats", 0.5, Vec::new()) }]);
    fill(&place, &[(7, "all about cats")]);
    assert_eq!(numbers(&place, &request(&["owl"])), [0; 0]);
    assert_eq!(numbers(&place, &request(&["cat"])), [7]);
}

#[test]
fn sql_joins_words_with_topics_scores_and_links() {
    let place = Place::new();
    let _store = birds(&place);
    let reader = SqliteReader::open(place.path()).unwrap();
    fill(&place, TEXTS);
    let answer = |sql: &str| {
        reader.sql(sql, &QueryLimits::default()).unwrap_or_else(|error| panic!("{sql}: {error}")).rows
    };
    let rows = answer(
        "select crawl.title, snippet(page_text, 1, '<', '>', '…', 5), -bm25(page_text) > 0,
                (select count(*) from edge where edge.dst = crawl.rowid)
         from page_text join crawl on crawl.rowid = page_text.rowid where page_text match 'tundra'",
    );
    let text = |text: &str| SqlValue::Text(text.into());
    assert_eq!(
        rows,
        [[
            text("Snowy owl"),
            text("…in the <tundra>. It hunts…"),
            SqlValue::Integer(1),
            SqlValue::Integer(1)
        ]]
    );
    let rows = answer("select rowid from page_anchor where page_anchor match '\"birds of prey\"'");
    assert_eq!(rows.len(), 1);
    for sql in [
        "insert into page_text(page_text) values ('optimize')",
        "delete from page_text",
        "insert into page_text(title) values ('x')",
        "create virtual table temp.v using fts5vocab(page_text, row)",
        "drop table page_text",
        "attach database 'x' as y",
    ] {
        assert!(reader.sql(sql, &QueryLimits::default()).is_err(), "{sql}");
    }
    assert_eq!(numbers(&place, &request(&["owl"])), [1, 2], "nothing was changed");
}

#[test]
fn the_crawl_does_not_notice_the_index() {
    on_both(|place| {
        let mut store = birds(place);
        assert!(!store.follow_changes().unwrap());
        fill(place, TEXTS);
        found(place, &request(&["owl"]));
        assert!(!store.follow_changes().unwrap());
    });
}

#[test]
fn a_page_that_was_visited_again_before_it_was_indexed_is_found() {
    on_both(|place| {
        let mut store = place.open();
        store.add(&[1, 2].map(|number| new_url(number, 0.5, 0.5))).unwrap();
        let terms = porthole_types::pack_terms(&[(porthole_types::TermId(7), 2)]);
        let pages = [1, 2].map(|number| PageResult { terms: terms.clone(), ..page(number, 0.5, Vec::new()) });
        commit(&mut store, &pages);
        store.queue_again(&[oid(1), oid(2)]).unwrap();
        let same = PageResult { seq: 5, status: 304, ..with_outcome(1, Outcome::NotModified) };
        let slow = PageResult { seq: 6, ..crate::web::retry(2, 9_000) };
        commit(&mut store, &[same, slow]);
        fill(place, &[(1, "owls"), (2, "owls")]);
        assert_eq!(numbers(place, &request(&["owls"])), [1, 2]);
    });
}

#[test]
fn pages_that_ask_not_to_be_indexed_are_gone_or_became_copies_are_not_found() {
    on_both(|place| {
        let mut store = birds(place);
        store.queue_again(&[oid(1)]).unwrap();
        let terms = porthole_types::pack_terms(&[(porthole_types::TermId(7), 2)]);
        commit(&mut store, &[PageResult { seq: 19, terms, ..titled(1, "Snowy owl", 0.9, Vec::new()) }]);
        fill(place, TEXTS);
        let before = numbers(place, &request(&["owl"]));
        assert!(before.contains(&1) && before.contains(&2), "{before:?}");
        store.queue_again(&[oid(1), oid(2)]).unwrap();
        let noindex = Outcome::Skipped(failure(porthole_types::FailureKind::NoIndex));
        let asks = PageResult { seq: 20, status: 200, ..with_outcome(1, noindex) };
        let copy = PageResult { seq: 21, copy_of: Some(oid(3)), ..titled(2, "Another owl", 0.9, Vec::new()) };
        commit(&mut store, &[asks, copy]);
        fill(place, TEXTS);
        assert_eq!(numbers(place, &request(&["owl"])), [0; 0]);
        assert_eq!(numbers(place, &request(&["white"])), [0; 0], "nor by anchor texts");
        let reader = place.reader();
        let state = reader.index_state().unwrap().unwrap();
        assert_eq!((state.indexed, state.without_text), (1, 0));
        // It is there again, and has not changed.
        store.queue_again(&[oid(1)]).unwrap();
        commit(&mut store, &[PageResult { seq: 22, status: 304, ..with_outcome(1, Outcome::NotModified) }]);
        fill(place, TEXTS);
        assert_eq!(numbers(place, &request(&["owl"])), [1]);
        assert_eq!(numbers(place, &request(&["white"])), [1], "anchor texts, too");
    });
}

/// Numbers that look random.
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    /// Small numbers are frequent.
    fn word(&mut self) -> String {
        const STEMS: [&str; 7] = ["hunting", "owls", "die", "Ärger", "nests", "generously", "x9"];
        let number = self.below(60).min(self.below(60)).min(self.below(60));
        match STEMS.get(number as usize) {
            Some(stem) => (*stem).to_owned(),
            None => format!("word{number}"),
        }
    }

    fn text(&mut self, most: u64) -> String {
        let words: Vec<String> = (0..self.below(most)).map(|_| self.word()).collect();
        words.join(" ")
    }
}

/// Pages with texts of such words, and links between them.
fn random_pages(place: &dyn SearchPlace) -> TableStore {
    const PAGES: u64 = 250;
    let mut draw = Draw(3);
    let mut store = place.open();
    store.add(&(0..PAGES).map(|number| new_url(number, 0.5, 0.5)).collect::<Vec<_>>()).unwrap();
    let pages: Vec<PageResult> = (0..PAGES)
        .map(|number| {
            let links = (0..draw.below(6)).map(|_| anchored(draw.below(PAGES), &draw.text(4))).collect();
            titled(number, &draw.text(5), 0.01 * draw.below(100) as f64, links)
        })
        .collect();
    commit(&mut store, &pages);
    let texts: Vec<String> = (0..PAGES).map(|_| draw.text(120)).collect();
    let texts: Vec<(u64, &str)> = (0..).zip(texts.iter().map(String::as_str)).collect();
    fill(place, &texts);
    store
}

#[test]
fn both_engines_find_the_same_pages_with_the_same_scores() {
    let Some(server) = PgPlace::new() else { return };
    let file = Place::new();
    let (mut on_server, mut in_file) = (random_pages(&server), random_pages(&file));
    let scores: Vec<_> = (0..50).map(|number| (oid(number), 0.001 * number as f64)).collect();
    for store in [&mut on_server, &mut in_file] {
        store.set_scores(&DistilledScores { auth: &scores, ..DistilledScores::default() }).unwrap();
    }
    let mut draw = Draw(8);
    let mut shown = 0;
    for _ in 0..200 {
        let words: Vec<String> = (0..=draw.below(3))
            .map(
                |_| if draw.below(4) == 0 { format!("{} {}", draw.word(), draw.word()) } else { draw.word() },
            )
            .collect();
        let asked = SearchRequest { words, limit: 20, ..SearchRequest::default() };
        let [one, other] =
            [&server as &dyn SearchPlace, &file].map(|place| place.reader().search(&asked).unwrap().unwrap());
        assert_eq!(
            (one.has_some_words_only, one.index),
            (other.has_some_words_only, other.index),
            "{asked:?}"
        );
        assert_eq!(one.pages.len(), other.pages.len(), "{asked:?}");
        for (one, other) in one.pages.iter().zip(&other.pages) {
            assert_eq!((&one.url, &one.snippet), (&other.url, &other.snippet), "{asked:?}");
            assert!((one.score - other.score).abs() < 1e-6, "{asked:?}: {one:?} {other:?}");
        }
        shown += one.pages.len();
    }
    assert!(shown > 1_000, "only {shown} pages were found");
}

#[test]
fn sql_on_postgresql_joins_words_with_pages() {
    let Some(place) = PgPlace::new() else { return };
    let _store = birds(&place);
    fill(&place, TEXTS);
    let sql = "select crawl.title, (select count(*) from edge where edge.dst = crawl.rowid) from page_text \
               join crawl using (rowid) where page_text.terms @@ $$'tundra' & 'hunt' <-> 'lem'$$";
    let answer = |sql: &str| place.reader().sql(sql, &QueryLimits::default());
    let rows = answer(sql).unwrap().rows;
    assert_eq!(rows, [[SqlValue::Text("Snowy owl".into()), SqlValue::Integer(1)]]);
    assert!(answer(&sql.replace("'lem'", "'night'")).unwrap().rows.is_empty());
    for refused in ["delete from page_text", "select * from ts_stat('select terms from page_text')"] {
        assert!(answer(refused).is_err(), "{refused}");
    }
}
