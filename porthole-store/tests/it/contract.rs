//! The contract of every store, whatever the implementation. A backend is added by one line at the end.

use porthole_store::{
    Batch, Committed, DistilledScores, Error, Estimate, GraphEdge, PageFilter, PageListing, PageOrder,
    QueryLimits, Rejudged, SqlValue, Store, StoreCounts, StoreReader, StoredHost, StoredRobots, UrlState,
    WorkspaceWriter,
};
use porthole_types::{
    CANON_VERSION, Event, FailureKind, Judgment, LinkRow, Outcome, PageResult, SiteId, TermId, Timestamp,
    TopicId, UrlId, pack_terms,
};

use crate::frontier::*;
use crate::postgres::PgPlace;
use crate::topics::*;
use crate::web::{Place, commit, failure, link, new_url, oid, oids_of, page, retry, take, url, with_outcome};

/// A location where a store can be opened repeatedly.
pub(crate) trait Backend {
    fn open(&self) -> Box<dyn Store>;
}

impl Backend for Place {
    fn open(&self) -> Box<dyn Store> {
        Box::new(Place::open(self))
    }
}

impl Backend for PgPlace {
    fn open(&self) -> Box<dyn Store> {
        Box::new(PgPlace::open(self))
    }
}

fn the_best_comes_first_and_ties_in_the_order_of_discovery(backend: &dyn Backend) {
    let mut store = backend.open();
    let added = store.add(&[new_url(1, 0.1, 0.1), new_url(2, 0.9, 0.9), new_url(3, 0.5, 0.5)]).unwrap();
    assert_eq!(added, 3);
    assert_eq!(store.add(&[new_url(4, 0.5, 0.5), new_url(1, 0.0, 0.0)]).unwrap(), 1);
    let work = store.take(2, Timestamp(0)).unwrap();
    assert_eq!((&work[0].url, work[0].sid, work[0].numtries), (&url(2), url(2).site(), 0));
    assert_eq!((work[1].oid, work[1].relevance, work[1].priority), (oid(3), 0.5, 0.5));
    assert_eq!(take(&mut *store, 10, 0), oids_of(&[4, 1]));
    assert_eq!(take(&mut *store, 10, 0), []);
}

fn work_in_flight_is_queued_again_when_given_back_or_lost(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&[new_url(1, 0.1, 0.1), new_url(2, 0.2, 0.2), new_url(3, 0.3, 0.3)]).unwrap();
    assert_eq!(take(&mut *store, 2, 0), oids_of(&[3, 2]));
    assert_eq!((store.counts().queued, store.counts().in_flight), (3, 2));
    store.give_back(&[oid(3)]).unwrap();
    assert_eq!(take(&mut *store, 9, 0), oids_of(&[3, 1]));
    drop(store);
    let mut store = backend.open();
    assert_eq!(store.counts().in_flight, 0);
    assert_eq!(take(&mut *store, 9, 0), oids_of(&[3, 2, 1]));
}

fn a_better_parent_raises_a_queued_url(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&[new_url(1, 0.9, 0.9), new_url(2, 0.2, 0.2), new_url(3, 0.3, 0.3)]).unwrap();
    assert_eq!(take(&mut *store, 1, 0), oids_of(&[1]));
    // 2 is raised, 3 is not, 4 is new and raised within the batch, 1 is finished.
    let links = vec![link(2, 0.9, 0.8), link(3, 0.1, 0.1), link(4, 0.1, 0.1), link(4, 0.4, 0.4)];
    let done = commit(&mut *store, &[page(1, 0.9, links)]);
    assert_eq!((done.new_urls, done.believed), (1, 2));
    drop(store);
    let mut store = backend.open();
    let work = store.take(9, Timestamp(0)).unwrap();
    let seen: Vec<_> = work.iter().map(|work| (work.oid, work.relevance, work.priority)).collect();
    assert_eq!(seen, [(oid(2), 0.9, 0.8), (oid(4), 0.4, 0.4), (oid(3), 0.3, 0.3)]);
    // Also in flight: it is queued in the tables, and the estimate survives.
    let links = vec![link(3, 0.95, 0.1)];
    store.add(&[new_url(5, 0.5, 0.5)]).unwrap();
    commit(&mut *store, &[page(5, 0.9, links)]);
    store.give_back(&[oid(3)]).unwrap();
    let work = store.take(9, Timestamp(0)).unwrap();
    assert_eq!((work[0].relevance, work[0].priority), (0.95, 0.3));
}

fn estimates_are_set_up_and_down(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&[new_url(1, 0.1, 0.1), new_url(2, 0.2, 0.2), new_url(3, 0.3, 0.3)]).unwrap();
    let set = |number, value| Estimate { oid: oid(number), relevance: value, priority: value };
    fn believe(store: &mut dyn Store, estimates: &[Estimate]) -> porthole_store::Result<Committed> {
        store.commit(&Batch { estimates, ..Batch::default() })
    }
    believe(&mut *store, &[set(3, 0.0), set(1, 0.5)]).unwrap();
    drop(store);
    let mut store = backend.open();
    assert_eq!(take(&mut *store, 9, 0), oids_of(&[1, 2, 3]));
    commit(&mut *store, &[page(1, 0.7, Vec::new())]);
    assert_eq!(believe(&mut *store, &[set(1, 0.1)]).unwrap().believed, 0);
    assert!(matches!(believe(&mut *store, &[set(9, 0.1)]), Err(Error::UnknownUrl(_))));
}

fn priorities_go_up_and_down_and_estimates_stay(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&[new_url(1, 0.9, 0.9), new_url(2, 0.2, 0.2), new_url(3, 0.3, 0.3)]).unwrap();
    assert_eq!(take(&mut *store, 1, 0), oids_of(&[1]));
    // Of 4, which the page links to, and of 2 twice; 1 is finished, and 9 is unknown.
    let results = [page(1, 0.7, vec![link(4, 0.7, 0.7)])];
    let priorities = [(oid(4), 0.1), (oid(2), 0.0), (oid(2), 0.8), (oid(1), 0.5), (oid(9), 0.5)];
    let batch = Batch { results: &results, priorities: &priorities, ..Batch::default() };
    assert_eq!(store.commit(&batch).unwrap().believed, 2);
    drop(store);
    let work = backend.open().take(9, Timestamp(0)).unwrap();
    let believed: Vec<_> = work.iter().map(|work| (work.oid, work.relevance, work.priority)).collect();
    assert_eq!(believed, [(oid(2), 0.2, 0.8), (oid(3), 0.3, 0.3), (oid(4), 0.7, 0.1)]);
}

fn what_is_not_a_number_does_no_harm(backend: &dyn Backend) {
    let mut store = backend.open();
    let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.5, -0.0, 0.0];
    for (number, value) in (0..).zip(values) {
        store.add(&[new_url(number, value, value)]).unwrap();
    }
    let order = oids_of(&[1, 3, 4, 5, 0, 2]);
    assert_eq!(take(&mut *store, 9, 0), order);
    drop(store);
    assert_eq!(take(&mut *backend.open(), 9, 0), order);
}

fn a_retry_waits_and_then_comes_after_the_untried(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&[new_url(1, 0.9, 0.9), new_url(2, 0.2, 0.2)]).unwrap();
    assert_eq!(take(&mut *store, 1, 0), oids_of(&[1]));
    commit(&mut *store, &[retry(1, 500)]);
    assert_eq!(store.next_due(), Some(Timestamp(500)));
    drop(store);
    let mut store = backend.open();
    assert_eq!(take(&mut *store, 9, 499), oids_of(&[2]));
    store.give_back(&[oid(2)]).unwrap();
    let work = store.take(9, Timestamp(500)).unwrap();
    assert_eq!((work[0].oid, work[1].oid, work[1].numtries), (oid(2), oid(1), 1));
    assert_eq!(store.next_due(), None);
}

fn every_outcome_is_counted_and_kept(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&(1..=6).map(|number| new_url(number, 0.5, 0.5)).collect::<Vec<_>>()).unwrap();
    let results = [
        page(1, 0.75, vec![link(11, 0.75, 0.75), link(2, 0.1, 0.1)]),
        with_outcome(2, Outcome::Redirected),
        with_outcome(3, Outcome::Dead(failure(FailureKind::Dns))),
        with_outcome(4, Outcome::Skipped(failure(FailureKind::Robots))),
        retry(5, 100),
    ];
    commit(&mut *store, &results);
    let counts = StoreCounts {
        known: 7,
        queued: 3,
        in_flight: 0,
        fetched: 1,
        redirected: 1,
        dead: 1,
        skipped: 1,
        evicted: 0,
        rejected: 0,
        parked: 0,
        links: 2,
        sites: 2,
        copies: 0,
    };
    assert_eq!(store.counts(), counts);
    drop(store);
    let store = backend.open();
    assert_eq!(store.counts(), counts);
    let sql = "select url, state, relevance, kcid, numtries, failure, title, serverload from page \
               where state <> 'queued' order by url";
    let answer = store.reader().sql(sql, &QueryLimits::default()).unwrap();
    let words: Vec<String> = answer.rows.iter().map(|row| format!("{row:?}")).collect();
    assert!(words[0].contains("fetched") && words[0].contains("0.75") && words[0].contains("Integer(7)"));
    assert!(words[1].contains("redirected") && words[1].contains("Integer(2)]"), "{}", words[1]);
    assert!(words[2].contains("dead") && words[2].contains("dns"));
    assert!(words[3].contains("skipped") && words[3].contains("robots"));
}

fn the_words_of_a_page_are_kept_and_copies_are_counted(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&[new_url(1, 0.5, 0.5), new_url(2, 0.5, 0.5), new_url(3, 0.5, 0.5)]).unwrap();
    let owls = vec![(TermId(7), 2), (TermId(9), 1)];
    let with_words = |number, terms: &[(TermId, u32)], copy_of| PageResult {
        terms: pack_terms(terms),
        copy_of,
        ..page(number, 0.9, Vec::new())
    };
    commit(
        &mut *store,
        &[with_words(1, &owls, None), with_words(2, &owls, Some(oid(1))), with_words(3, &[], None)],
    );
    let terms_of = |store: &dyn Store, seq: u64| {
        let reader = store.reader();
        let tried = reader.tried(seq.checked_sub(1), 1).unwrap().remove(0);
        let terms = tried.terms.map(|number| reader.page_terms(&[number]).unwrap().remove(0));
        (terms, tried.copy_of)
    };
    assert_eq!(terms_of(&*store, 1), (Some(owls.clone()), None));
    assert_eq!(terms_of(&*store, 2), (Some(owls.clone()), Some(oid(1))));
    assert_eq!(terms_of(&*store, 3), (None, None));
    assert_eq!(store.reader().page_terms(&[99]).unwrap(), [Vec::new()]);
    assert_eq!((store.counts().fetched, store.counts().copies), (3, 1));
    // A duplicate counts as 0: two pages with R 0.9 and one with 0.
    let progress = store.reader().query("progress", &[], &QueryLimits::default()).unwrap();
    assert!((progress.rows[0][2].real().unwrap() - 0.6).abs() < 1e-6, "{progress:?}");
    let top = store.reader().query("top-pages", &[], &QueryLimits::default()).unwrap();
    assert_eq!(top.rows.len(), 2, "{top:?}");

    // When it is fetched again it has changed; when the fetch fails, its data stays.
    let changed = vec![(TermId(11), 5)];
    store.queue_again(&[oid(1), oid(2)]).unwrap();
    let again = PageResult { seq: 4, ..with_words(2, &changed, None) };
    let lost = PageResult { seq: 5, ..with_outcome(1, Outcome::Dead(failure(FailureKind::Status))) };
    commit(&mut *store, &[again, lost]);
    assert_eq!(terms_of(&*store, 4), (Some(changed), None));
    assert_eq!(terms_of(&*store, 5), (Some(owls), None));
    assert_eq!(store.counts().copies, 0);
    let kept =
        store.reader().sql("select seq from page_terms order by seq", &QueryLimits::default()).unwrap();
    assert_eq!(kept.rows, [[SqlValue::Integer(1)], [SqlValue::Integer(4)]]);
    drop(store);
    assert_eq!(backend.open().counts().copies, 0);
}

/// Numbers of relevant pages by everything that counts them: the figures of the crawl, the sites, the points of charts, the
/// selection of exports and the list of pages.
fn relevant_pages(reader: &dyn StoreReader) -> [usize; 5] {
    let sites = reader.query("top-sites", &[], &QueryLimits::default()).unwrap();
    let filter = PageFilter { min_relevance: Some(Judgment::RELEVANT), ..PageFilter::default() };
    let listing = PageListing {
        order: PageOrder::Relevance,
        topics: None,
        sites: None,
        least: Judgment::RELEVANT,
        most: 1.0,
        limit: 100,
        offset: 0,
    };
    let credits = reader.fetch_points(None, 100).unwrap().into_iter().filter_map(|point| point.credit);
    [
        reader.progress().unwrap().relevant,
        sites.rows.iter().map(|row| usize::try_from(row[1].integer().unwrap()).unwrap()).sum(),
        credits.filter(|&credit| credit >= Judgment::RELEVANT).count(),
        reader.pages(1..=100, &filter).unwrap().len(),
        reader.list_pages(&listing).unwrap().len(),
    ]
}

fn a_relevant_page_is_the_same_everywhere(backend: &dyn Backend) {
    let mut store = backend.open();
    for number in 1..=7 {
        store.add(&[new_url(number, 0.9, 0.9)]).unwrap();
    }
    let results = [
        page(1, 0.9, Vec::new()),
        page(2, 0.5, Vec::new()),
        page(3, 0.49, Vec::new()),
        PageResult { copy_of: Some(oid(1)), ..page(4, 0.9, Vec::new()) },
        with_outcome(5, Outcome::Dead(failure(FailureKind::Status))),
        with_outcome(6, Outcome::Skipped(failure(FailureKind::Scope))),
    ];
    commit(&mut *store, &results);
    assert_eq!(relevant_pages(&*store.reader()), [2; 5]);
    // By their present R.
    let judgment = Judgment { relevance: 0.6, best: TopicId(7) };
    let rejudged = [Rejudged { oid: oid(3), judgment }];
    store.commit(&Batch { judgments: &rejudged, ..Batch::default() }).unwrap();
    assert_eq!(relevant_pages(&*store.reader()), [3; 5]);
    // One that is queued again, was found unchanged, or could not be visited now is a page; one that is gone is not.
    store.queue_again(&oids_of(&[1, 2, 3])).unwrap();
    assert_eq!(relevant_pages(&*store.reader()), [3; 5]);
    let unchanged = PageResult { seq: 8, status: 304, ..with_outcome(1, Outcome::NotModified) };
    commit(&mut *store, &[unchanged, PageResult { seq: 9, ..retry(2, 9_000) }]);
    assert_eq!(relevant_pages(&*store.reader()), [3; 5]);
    assert_eq!(store.reader().tried(None, 100).unwrap().len(), 6, "each URL once");
    let gone = with_outcome(3, Outcome::Dead(failure(FailureKind::Status)));
    commit(&mut *store, &[PageResult { seq: 10, status: 404, ..gone }]);
    assert_eq!(relevant_pages(&*store.reader()), [2; 5]);
}

fn skipped_urls_are_no_failures(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&[new_url(1, 0.5, 0.5), new_url(2, 0.5, 0.5), new_url(3, 0.5, 0.5)]).unwrap();
    let typed = with_outcome(3, Outcome::Skipped(failure(FailureKind::Type)));
    let results = [
        with_outcome(1, Outcome::Dead(failure(FailureKind::Dns))),
        with_outcome(2, Outcome::Skipped(failure(FailureKind::Scope))),
        PageResult { status: 200, ..typed },
    ];
    commit(&mut *store, &results);
    let reader = store.reader();
    let kinds = |query: &str| {
        let answer = reader.query(query, &[], &QueryLimits::default()).unwrap();
        let kind = |row: &Vec<SqlValue>| (row[0].text().to_owned(), row[2].integer().unwrap());
        answer.rows.iter().map(kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds("failures"), [("dns".to_owned(), 1)]);
    assert_eq!(kinds("skipped"), [("scope".to_owned(), 1), ("type".to_owned(), 0)], "only one was requested");
    let sites = reader.query("site-list", &[], &QueryLimits::default()).unwrap();
    assert_eq!(sites.rows[0][4].integer(), Some(1), "{sites:?}");
}

fn a_batch_with_an_unknown_url_changes_nothing(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&[new_url(1, 0.5, 0.5)]).unwrap();
    let before = store.counts();
    let results = [page(1, 0.5, vec![link(2, 0.5, 0.5)]), page(99, 0.5, Vec::new())];
    let error = store.commit(&Batch { results: &results, ..Batch::default() }).unwrap_err();
    assert!(matches!(error, Error::UnknownUrl(UrlId(unknown)) if unknown == oid(99).0), "{error}");
    assert!(store.give_back(&[oid(99)]).is_err());
    assert_eq!(store.counts(), before);
    drop(store);
    assert_eq!(backend.open().counts(), before);
}

fn a_fetch_number_is_used_once(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&[new_url(1, 0.5, 0.5), new_url(2, 0.5, 0.5)]).unwrap();
    commit(&mut *store, &[page(1, 0.5, Vec::new())]);
    let before = store.counts();
    let results = [PageResult { seq: 1, ..page(2, 0.5, Vec::new()) }];
    let error = store.commit(&Batch { results: &results, ..Batch::default() }).unwrap_err();
    assert!(matches!(error, Error::UsedNumber(1)), "{error}");
    assert_eq!(store.counts(), before);
}

fn settings_and_events(backend: &dyn Backend) {
    let mut store = backend.open();
    assert_eq!(store.setting("canon_version").unwrap(), Some(CANON_VERSION.to_string()));
    assert_eq!(store.setting("seed").unwrap(), None);
    store.set_setting("seed", "1").unwrap();
    store.set_setting("seed", "2").unwrap();
    let event = |at| Event { at: Timestamp(at), kind: "started".into(), detail: format!("at {at}") };
    store.append(&[event(1), event(2)]).unwrap();
    store.append(&[event(3)]).unwrap();
    drop(store);
    let store = backend.open();
    assert_eq!(store.setting("seed").unwrap().as_deref(), Some("2"));
    let reader = store.reader();
    let all = reader.events(0, 10).unwrap();
    assert_eq!(all.iter().map(|(_, event)| event.at.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(all[2].1, event(3));
    assert_eq!(reader.try_clone().events(all[0].0, 1).unwrap(), all[1..2]);
    assert_eq!(reader.last_events(&["started", "alarm"], 2).unwrap(), [all[2].clone(), all[1].clone()]);
    assert_eq!(reader.last_events(&["alarm"], 2).unwrap(), []);
}

fn the_graph_has_nodes_edges_and_current_estimates(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&[new_url(1, 0.5, 0.5), new_url(2, 0.1, 0.1)]).unwrap();
    commit(&mut *store, &[page(1, 0.75, vec![link(2, 0.75, 0.75), link(31, 0.25, 0.25)])]);
    let graph = store.reader().graph().unwrap();
    let nodes: Vec<_> = graph.nodes.iter().map(|n| (n.oid, n.relevance, n.fetched)).collect();
    assert_eq!(nodes, [(oid(1), 0.75, true), (oid(2), 0.75, false), (oid(31), 0.25, false)]);
    assert_eq!(graph.nodes[2].sid, url(31).site());
    assert_eq!(graph.edges, [GraphEdge { src: 0, dst: 1 }, GraphEdge { src: 0, dst: 2 }]);
    // Later links are appended to those that are known.
    commit(&mut *store, &[page(2, 0.5, vec![link(31, 0.5, 0.5), link(32, 0.5, 0.5)])]);
    let whole = store.reader().graph().unwrap();
    assert_eq!(whole.edges.len(), 4);
    assert_eq!(store.reader().graph_after(graph.edges).unwrap(), whole);
    assert_eq!(store.reader().graph_after(whole.edges.clone()).unwrap(), whole);
}

fn named_queries_answer(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&(1..=5).map(|number| new_url(number, 0.5, 0.5)).collect::<Vec<_>>()).unwrap();
    let mut late = page(2, 0.5, Vec::new());
    late.at = Timestamp(61_000);
    // 1 is a top hub; 12 and 13 are its neighbours on another site, 3 is one on its own.
    let hub = page(1, 0.75, vec![link(12, 0.75, 0.75), link(13, 0.25, 0.25), link(3, 0.75, 0.75)]);
    let dead = with_outcome(4, Outcome::Dead(failure(FailureKind::Dns)));
    commit(&mut *store, &[hub, late, dead, retry(5, 9)]);
    store
        .set_scores(&DistilledScores { hubs: &[(oid(3), 9.0)], auth: &[], ..DistilledScores::default() })
        .unwrap();
    store
        .set_scores(&DistilledScores {
            hubs: &[(oid(2), 0.1), (oid(1), 0.9)],
            auth: &[(oid(3), 1.0)],
            ..DistilledScores::default()
        })
        .unwrap();
    let reader = store.reader();
    let rows = |name: &str, parameters: &[(&str, &str)]| {
        let answer = reader.query(name, parameters, &QueryLimits::default()).unwrap();
        answer.rows.iter().map(|row| row.iter().map(shown).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    let (url12, url13) = (url(12).to_string(), url(13).to_string());
    assert_eq!(rows("harvest", &[]), ["0 1 0.75", "1 1 0.5"]);
    assert_eq!(rows("harvest", &[("hours", "0.01")]), ["1 1 0.5"]);
    assert_eq!(rows("missed", &[]), [format!("{url12} 0.75"), format!("{url13} 0.25")]);
    assert_eq!(rows("missed", &[("rows", "1")]), [format!("{url12} 0.75")]);
    assert_eq!(
        rows("failures", &[]),
        [
            "dns 1 1 dns failed http://site0.test/page/4",
            "timeout 1 0 timeout failed http://site0.test/page/5"
        ]
    );
    assert_eq!(rows("sites", &[]), ["site0.test 2"]);
    assert_eq!(rows("frontier", &[]), ["queued 0 3", "queued 1 1", "fetched 1 2", "dead 1 1"]);
    commit(&mut *store, &[page(3, 0.5, Vec::new())]);
    assert_eq!(rows("harvest", &[]), ["0 2 0.625", "1 1 0.5"]);
    assert!(matches!(reader.query("nonsense", &[], &QueryLimits::default()), Err(Error::UnknownQuery(_))));
    let unknown = reader.query("sites", &[("row", "1")], &QueryLimits::default());
    assert!(matches!(unknown, Err(Error::UnknownParameter { .. })));
    assert!(reader.queries().iter().all(|query| !query.description.is_empty()));
}

fn a_rejected_link_is_kept_and_its_target_waits_for_a_better_one(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&[new_url(1, 0.5, 0.5), new_url(2, 0.5, 0.5)]).unwrap();
    take(&mut *store, 9, 0);
    let text = |row: LinkRow, text: &str| LinkRow { anchor: Some(text.into()), ..row };
    let rejected = |number| LinkRow { rejected: true, ..link(number, 0.25, 0.0) };
    let links =
        vec![text(rejected(11), "eleven"), rejected(12), text(link(3, 0.25, 0.25), "three"), rejected(2)];
    assert_eq!(commit(&mut *store, &[page(1, 0.25, links)]).new_urls, 3);
    let counts = StoreCounts { in_flight: 0, ..store.counts() };
    assert_eq!((counts.known, counts.queued, counts.rejected, counts.links), (5, 2, 2, 4));
    assert_eq!(take(&mut *store, 9, 0), oids_of(&[3]));
    drop(store);
    let mut store = backend.open();
    assert_eq!(store.counts(), counts);
    let reader = store.reader();
    assert_eq!(reader.counts().unwrap(), counts);
    assert_eq!(reader.about(&url(11)).unwrap().unwrap().state, UrlState::Rejected);
    let sql = "select url, anchor, crosses_sites from link join page on page.oid = oid_dst order by link.discovered, url";
    let row = |row: &Vec<SqlValue>| row.iter().map(shown).collect::<Vec<_>>().join(" ");
    let rows: Vec<String> = reader.sql(sql, &QueryLimits::default()).unwrap().rows.iter().map(row).collect();
    let expected = [(11, "eleven 1"), (12, "null 1"), (2, "null 0"), (3, "three 0")];
    let mut expected = expected.map(|(number, rest)| format!("{} {rest}", url(number)));
    expected.sort();
    assert_eq!(rows, expected);
    let states = reader.query("frontier", &[], &QueryLimits::default()).unwrap().rows;
    assert_eq!(states.iter().map(row).collect::<Vec<_>>(), ["queued 0 2", "fetched 1 1", "rejected 0 2"]);
    // A better page gives it a priority, however low; another rejection changes nothing.
    commit(&mut *store, &[page(3, 0.75, vec![link(11, 0.75, -3.0), rejected(12), rejected(11)])]);
    assert_eq!((store.counts().queued, store.counts().rejected), (2, 1));
    let work = store.take(9, Timestamp(0)).unwrap();
    assert_eq!((work[1].oid, work[1].relevance, work[1].priority), (oid(11), 0.75, -3.0));
    drop(store);
    assert_eq!(take(&mut *backend.open(), 9, 0), oids_of(&[2, 11]));
}

fn readers_see_whole_batches_while_one_is_written(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&[new_url(0, 0.5, 0.5)]).unwrap();
    let reader = store.reader();
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            for number in 0..40 {
                let links = (1..=20).map(|at| link(number * 20 + at, 0.5, 0.5)).collect();
                commit(&mut *store, &[page(number, 0.5, links)]);
            }
        });
        let mut seen = 0;
        while seen < 40 {
            let graph = reader.graph().unwrap();
            let fetched = graph.nodes.iter().filter(|node| node.fetched).count();
            assert_eq!((graph.nodes.len(), graph.edges.len()), (fetched * 20 + 1, fetched * 20));
            assert!(fetched >= seen);
            seen = fetched;
        }
        writer.join().unwrap();
    });
}

fn tidying_changes_nothing_but_what_readers_see(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&[new_url(1, 0.9, 0.9), new_url(2, 0.1, 0.1), new_url(3, 0.3, 0.3)]).unwrap();
    commit(&mut *store, &[page(1, 0.9, vec![link(2, 0.5, 0.5)])]);
    store.tidy().unwrap();
    let sql = format!("select relevance from crawl where oid = {}", oid(2).0.cast_signed());
    let answer = store.reader().sql(&sql, &QueryLimits::default()).unwrap();
    assert_eq!(answer.rows, [[SqlValue::Real(0.5)]]);
    assert_eq!(take(&mut *store, 9, 0), oids_of(&[2, 3]));
    drop(store);
    assert_eq!(take(&mut *backend.open(), 9, 0), oids_of(&[2, 3]));
}

pub(crate) fn shown(value: &SqlValue) -> String {
    match value {
        SqlValue::Null => "null".into(),
        SqlValue::Integer(number) => number.to_string(),
        SqlValue::Real(number) => number.to_string(),
        SqlValue::Text(text) => text.clone(),
        SqlValue::Blob(bytes) => format!("{bytes:?}"),
    }
}

/// Runs the whole contract on a backend.
macro_rules! contract {
    ($backend:ident, $make:expr; $($test:ident)*) => {
        mod $backend {
            $(
                #[test]
                fn $test() {
                    if let Some(backend) = $make {
                        super::$test(&backend);
                    }
                }
            )*
        }
    };
    ($backend:ident, $make:expr) => {
        contract! {
            $backend, $make;
            the_best_comes_first_and_ties_in_the_order_of_discovery
            work_in_flight_is_queued_again_when_given_back_or_lost
            a_better_parent_raises_a_queued_url
            estimates_are_set_up_and_down
            priorities_go_up_and_down_and_estimates_stay
            what_is_not_a_number_does_no_harm
            a_retry_waits_and_then_comes_after_the_untried
            every_outcome_is_counted_and_kept
            the_words_of_a_page_are_kept_and_copies_are_counted
            a_relevant_page_is_the_same_everywhere
            skipped_urls_are_no_failures
            a_batch_with_an_unknown_url_changes_nothing
            a_fetch_number_is_used_once
            settings_and_events
            the_graph_has_nodes_edges_and_current_estimates
            named_queries_answer
            a_rejected_link_is_kept_and_its_target_waits_for_a_better_one
            readers_see_whole_batches_while_one_is_written
            tidying_changes_nothing_but_what_readers_see
            a_tree_comes_back_and_is_replaced_as_a_whole
            what_is_no_tree_is_refused
            examples_come_back_with_and_without_their_terms
            the_same_url_again_takes_the_place_of_the_first
            examples_move_and_go
            a_topic_with_examples_goes_only_with_them
            a_change_that_fails_in_one_part_changes_nothing
            words_for_terms_and_their_collisions
            a_model_is_kept_under_its_name
            a_page_is_visited_again_and_only_its_new_links_are_added
            a_page_that_is_lost_is_queued_again_and_is_nowhere
            a_revisit_that_fails_keeps_what_there_is
            pages_are_judged_again_in_place
            what_parents_say_by_now_counts_up_and_down
            neighbourhoods_are_kept_until_they_change
            a_policy_orders_the_queue_at_once_and_is_remembered
            a_maintenance_order_goes_by_visits
            a_held_site_is_for_its_holder_until_it_is_released
            the_best_priorities_are_found_among_many_sites
            ties_go_to_the_sites_with_less_load
            a_bounded_queue_lets_the_worst_go
            a_full_queue_can_make_room_first
            a_url_that_is_found_again_does_not_jump_the_line
            these_are_taken_and_no_others
            nothing_is_taken_from_a_disabled_site
        }
    };
}

contract!(sqlite, Some(crate::web::Place::new()));
contract!(postgres, crate::postgres::PgPlace::new());
contract!(worker, crate::postgres::PgPlace::new().map(crate::fleet::OneWorker));

#[test]
fn what_is_known_of_hosts_is_there_for_the_next_run_and_bounded() {
    let place = Place::new();
    let robots = |oid: u64, rules: Option<&str>| StoredRobots {
        oid: UrlId(oid),
        sid: SiteId(oid.wrapping_add(1)),
        until: Timestamp(1_000),
        since: rules.is_none().then_some(Timestamp(7)),
        detail: rules.is_none().then(|| "no answer".to_owned()),
        rules: rules.map(str::to_owned),
    };
    let host = |sid: u64, trouble| StoredHost {
        sid: SiteId(sid),
        at: Timestamp(5),
        is_quick: trouble == 0,
        trouble,
        not_before: Timestamp(9_000),
    };
    let (first, second) = (robots(u64::MAX, Some("Disallow: /a")), robots(3, None));
    let mut store = place.open();
    let hosts = [host(4, 0), host(u64::MAX, 3)];
    let batch = Batch { robots: &[first.clone(), second.clone()], hosts: &hosts, ..Batch::default() };
    store.commit(&batch).unwrap();
    // The same slots.
    let (third, late) = (robots(3 + (1 << 16), Some("")), host(4 + (1 << 16), 1));
    store
        .commit(&Batch { robots: std::slice::from_ref(&third), hosts: &[late], ..Batch::default() })
        .unwrap();
    drop(store);
    let reader = place.open().reader();
    let mut known = reader.known_robots(Timestamp(999)).unwrap();
    known.sort_by_key(|robots| robots.oid.0);
    assert_eq!(known, [third, first]);
    assert_eq!(reader.known_robots(Timestamp(1_000)).unwrap(), [], "they are to be asked for again");
    let mut known = reader.known_hosts().unwrap();
    known.sort_by_key(|host| host.sid.0);
    assert_eq!(known, [late, hosts[1]]);
}
