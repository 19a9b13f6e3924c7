//! What people who watch a crawl read: results of fetches by cursor, how a page was found, lists of pages, commands.

use porthole_store::{
    DistilledScores, Feedback, FeedbackKind, FetchOutcome, PageListing, PageOrder, SqliteReader, SqliteStore,
    Store, StoreReader, WorkspaceWriter,
};
use porthole_types::{FailureKind, LinkRow, NewUrl, Outcome, PageResult, Timestamp, TopicId};

use crate::web::{Place, commit, failure, new_url, oid, oids_of, page, retry, url, with_outcome};

/// A link of a page at this depth, with an anchor text.
fn found(number: u64, depth: u32, anchor: &str) -> LinkRow {
    let target = NewUrl { depth, ..new_url(number, 0.5, 0.5) };
    LinkRow { anchor: Some(anchor.into()), ..LinkRow::to(target) }
}

/// 1 is a start URL and links to 2 and 12; 2 links to 3 and back to 1, 12 links to 3, too; 3 links to 4, 5 and 6.
fn crawl(place: &Place) -> SqliteStore {
    let mut store = place.open();
    store.add(&[new_url(1, 0.5, 0.5)]).unwrap();
    commit(&mut store, &[page(1, 0.9, vec![found(2, 1, "two"), found(12, 1, "twelve")])]);
    commit(&mut store, &[page(2, 0.45, vec![found(3, 2, "three"), found(1, 2, "home")])]);
    commit(&mut store, &[page(12, 0.7, vec![found(3, 2, "third")])]);
    let links = [4, 5, 6].map(|number| found(number, 3, "next"));
    let judged = PageResult { seq: 13, ..page(3, 0.1, links.to_vec()) };
    commit(&mut store, &[judged]);
    let results = [
        PageResult { seq: 14, ..with_outcome(4, Outcome::Dead(failure(FailureKind::Dns))) },
        PageResult { seq: 15, ..retry(5, 2_000) },
        PageResult { seq: 16, copy_of: Some(oid(1)), ..page(6, 0.9, Vec::new()) },
    ];
    commit(&mut store, &results);
    store
}

#[test]
fn results_are_read_by_cursor() {
    use FetchOutcome::{Copy, Dead, Page, Retry};
    let place = Place::new();
    let mut store = crawl(&place);
    let reader = SqliteReader::open(place.path()).unwrap();
    let points = reader.fetch_points(None, 100).unwrap();
    let told: Vec<_> = points.iter().map(|point| (point.seq, point.outcome)).collect();
    assert_eq!(told, [(1, Page), (2, Page), (12, Page), (13, Page), (14, Dead), (15, Retry), (16, Copy)]);
    assert_eq!(points[4].judgment, None, "an estimate is no judgment");
    assert_eq!(reader.fetch_points(Some(12), 2).unwrap(), points[3..5]);
    let dot = reader.fetched_url(13).unwrap().unwrap();
    assert_eq!((dot.url.as_str(), dot.title.as_str(), dot.point), (url(3).as_str(), "page 3", points[3]));
    assert_eq!(reader.fetched_url(99).unwrap(), None);
    // Of a URL that was fetched again, the last fetch counts.
    store.queue_again(&[oid(1)]).unwrap();
    commit(&mut store, &[PageResult { seq: 17, ..page(1, 0.8, Vec::new()) }]);
    let seqs: Vec<u64> = reader.fetch_points(None, 100).unwrap().iter().map(|point| point.seq).collect();
    assert_eq!(seqs, [2, 12, 13, 14, 15, 16, 17]);
}

#[test]
fn the_first_links_tell_how_a_page_was_found() {
    let place = Place::new();
    let _store = crawl(&place);
    for large in [u32::MAX, 0] {
        let reader = SqliteReader::open(place.path()).unwrap().indexing_from(large);
        let story = reader.link_story(&url(4), 10).unwrap().unwrap();
        let told: Vec<_> = story.found.iter().map(|page| (page.url.as_str(), page.anchor.as_str())).collect();
        let (one, two, three, four) = (url(1), url(2), url(3), url(4));
        let expected =
            [(one.as_str(), ""), (two.as_str(), "two"), (three.as_str(), "three"), (four.as_str(), "next")];
        assert_eq!(told, expected);
        let links = reader.link_story(&url(3), 2).unwrap().unwrap().links;
        let told: Vec<_> = links.iter().map(|page| (page.url.as_str(), page.state.name())).collect();
        assert_eq!(told, [(url(4).as_str(), "dead"), (url(5).as_str(), "queued")]);
        assert_eq!(reader.link_story(&url(1), 9).unwrap().unwrap().found.len(), 1, "a start URL");
        assert_eq!(reader.link_story(&url(99), 9).unwrap(), None);
        let mut among = reader.links_among(&oids_of(&[1, 2, 3])).unwrap();
        among.sort_unstable();
        let mut expected = [(oid(1), oid(2)), (oid(2), oid(3)), (oid(2), oid(1))];
        expected.sort_unstable();
        assert_eq!(among, expected);
    }
}

#[test]
fn pages_are_listed_in_order_and_by_part() {
    let place = Place::new();
    let mut store = crawl(&place);
    store.set_scores(&DistilledScores { hubs: &[(oid(1), 0.25)], ..DistilledScores::default() }).unwrap();
    let reader = SqliteReader::open(place.path()).unwrap();
    let all = PageListing {
        order: PageOrder::Relevance,
        topics: None,
        sites: None,
        least: 0.0,
        most: 1.0,
        limit: 10,
        offset: 0,
    };
    let seqs = |wanted: &PageListing| -> Vec<u64> {
        reader.list_pages(wanted).unwrap().iter().map(|page| page.seq).collect()
    };
    assert_eq!(seqs(&all), [1, 12, 2, 13], "without the copy");
    assert_eq!(seqs(&PageListing { limit: 2, offset: 1, ..all.clone() }), [12, 2]);
    assert_eq!(seqs(&PageListing { least: 0.4, most: 0.8, ..all.clone() }), [12, 2]);
    assert_eq!(seqs(&PageListing { order: PageOrder::Recent, ..all.clone() }), [13, 12, 2, 1]);
    assert_eq!(seqs(&PageListing { sites: Some(vec![url(12).site()]), ..all.clone() }), [12]);
    assert_eq!(seqs(&PageListing { topics: Some(vec![TopicId(8)]), ..all.clone() }), [0_u64; 0]);
    let uncertain = PageListing { order: PageOrder::Uncertain, ..all.clone() };
    assert_eq!(seqs(&uncertain), [2, 12, 1, 13]);
    let word = |useful| Feedback {
        name: url(2).as_str().to_owned(),
        kind: FeedbackKind::Page,
        useful,
        at: Timestamp(5),
    };
    store.add_feedback(&[word(true), word(false)]).unwrap();
    assert_eq!(seqs(&uncertain), [12, 1, 13], "what was answered is not asked again");
    let pages = reader.list_pages(&all).unwrap();
    assert_eq!((pages[0].hub, pages[0].host.as_str()), (Some(0.25), "site0.test"));
    assert_eq!((pages[2].useful, pages[1].useful), (Some(false), None), "the latest word counts");
}

#[test]
fn the_last_commands_are_read() {
    let place = Place::new();
    let mut store = place.open();
    for what in ["pause", "resume", "stop"] {
        store.append_command(what, "", Timestamp(1)).unwrap();
    }
    let reader = SqliteReader::open(place.path()).unwrap();
    let last: Vec<String> = reader.last_commands(2).unwrap().into_iter().map(|row| row.what).collect();
    assert_eq!(last, ["stop", "resume"]);
    assert_eq!((reader.last_event_id().unwrap(), reader.model_made("critic").unwrap()), (0, None));
}
