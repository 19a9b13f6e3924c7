//! Pages under maintenance: what is due, what a visit leaves behind.

use std::time::Duration;

use porthole_store::{Batch, DuePages, QueryLimits, SqliteStore, Store, WorkspaceWriter};
use porthole_types::{
    ChangeHistory, Failure, FailureKind, NextVisit, Outcome, PageChange, PageResult, Timestamp, Validators,
    fingerprint_of_terms, pack_terms,
};
use porthole_types::{SegmentSpan, TermId};
use rusqlite::Connection;

use crate::web::{Place, commit, failure, link, new_url, oid, oids_of, page, retry, take, url, with_outcome};

const DAY: Duration = Duration::from_secs(86_400);

/// Two pages and a URL that was not fetched.
fn filled(place: &Place) -> SqliteStore {
    let mut store = place.open();
    store.add(&[new_url(1, 0.5, 0.5)]).unwrap();
    let terms = pack_terms(&[(TermId(7), 2)]);
    let span = Some(SegmentSpan { segment: 3, offset: 4, length: 5 });
    let validators = Validators { etag: Some("\"a\"".into()), modified: None };
    let first = PageResult {
        seq: 0,
        terms,
        span,
        validators: Some(Box::new(validators)),
        ..page(1, 0.9, vec![link(2, 0.5, 0.6), link(3, 0.5, 0.5)])
    };
    commit(&mut store, &[first]);
    commit(&mut store, &[PageResult { seq: 1, ..page(2, 0.8, Vec::new()) }]);
    store
}

const ALL: DuePages = DuePages { until: None, visited_before: None, most: 100 };

fn next(change: PageChange, due: Option<i64>, history: ChangeHistory) -> Option<NextVisit> {
    Some(NextVisit { change, seen: Timestamp(5_000), history, due: due.map(Timestamp) })
}

#[test]
fn fetched_pages_are_put_under_maintenance_and_taken_with_their_copies() {
    let place = Place::new();
    let mut store = filled(&place);
    assert_eq!(store.due_pages(ALL).unwrap(), []);
    assert_eq!((store.maintain_pages(DAY).unwrap(), store.maintain_pages(DAY).unwrap()), (2, 2));
    assert_eq!(
        store.due_pages(ALL).unwrap(),
        oids_of(&[1, 2]),
        "the one that was fetched first is due first"
    );
    let first = store.next_visit().unwrap().unwrap();
    let until = |at: i64| store.due_pages(DuePages { until: Some(Timestamp(at)), ..ALL }).unwrap();
    assert_eq!(until(first.0 - 1), []);
    assert_eq!(until(first.0)[0], oid(1));
    assert_eq!(store.due_pages(DuePages { most: 1, ..ALL }).unwrap(), [oid(1)]);
    assert_eq!(store.due_pages(DuePages { visited_before: Some(Timestamp(0)), ..ALL }).unwrap(), []);

    let settings = [("k", "v")];
    store.commit(&Batch { again: &[oid(1)], settings: &settings, ..Batch::default() }).unwrap();
    assert_eq!((store.queued_revisits(), store.due_pages(ALL).unwrap()), (1, vec![oid(2)]));
    assert_eq!(store.setting("k").unwrap().as_deref(), Some("v"));
    drop(store);
    let mut store = place.open();
    assert_eq!(store.queued_revisits(), 1, "it is queued also after a kill");
    assert_eq!(store.waiting_visits().unwrap(), [oid(1)]);
    let works = store.take(10, Timestamp(0)).unwrap();
    let copy = works.iter().find(|work| work.oid == oid(1)).unwrap().copy.as_deref().unwrap();
    assert_eq!(copy.validators.as_ref().unwrap().etag.as_deref(), Some("\"a\""));
    assert_eq!(copy.fingerprint, fingerprint_of_terms(&pack_terms(&[(TermId(7), 2)])));
    assert_eq!(copy.span, Some(SegmentSpan { segment: 3, offset: 4, length: 5 }));
    assert!(works.iter().all(|work| work.oid == oid(1) || work.copy.is_none()), "the others are new");
}

#[test]
fn a_page_that_has_not_changed_keeps_all_and_one_that_is_gone_its_copy() {
    let place = Place::new();
    let mut store = filled(&place);
    store.maintain_pages(DAY).unwrap();
    let state = |sql: &str| -> (i64, i64, i64, Option<i64>, i64) {
        let db = Connection::open(place.path()).unwrap();
        let sql = format!("select state, status, seq, segment, numtries from crawl where {sql}");
        db.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
            .unwrap()
    };
    let visit = |seq, outcome, status, next_visit| {
        let bare = PageResult { links: Vec::new(), judgment: None, ..page(1, 0.0, Vec::new()) };
        PageResult { seq, outcome, status, next_visit, at: Timestamp(5_000), ..bare }
    };
    store.commit(&Batch { again: &[oid(1)], ..Batch::default() }).unwrap();
    take(&mut store, 1, 0);
    let history = ChangeHistory { visits: 1, watched: 4_000, ..ChangeHistory::default() };
    let same = visit(2, Outcome::NotModified, 304, next(PageChange::Unchanged, Some(90_000), history));
    commit(&mut store, &[same]);
    assert_eq!(
        state("rowid = 1"),
        (1, 200, 0, Some(3), 2),
        "the fetch that brought the page stays its number, and its status"
    );
    assert_eq!(store.counts().fetched, 2);
    assert_eq!(store.due_pages(DuePages { until: Some(Timestamp(90_000)), ..ALL }).unwrap(), [oid(1)]);
    let mut known = Vec::new();
    store.reader().visit_histories(&mut |history, hub| known.push((*history, hub))).unwrap();
    assert_eq!(known, [(history, 0.0), (ChangeHistory::default(), 0.0)]);

    store.commit(&Batch { again: &[oid(1)], ..Batch::default() }).unwrap();
    take(&mut store, 1, 0);
    let failure = Failure::new(FailureKind::Status, "status 503");
    let down = next(PageChange::Unknown, Some(95_000), history);
    commit(&mut store, &[visit(4, Outcome::Dead(failure), 503, down)]);
    assert_eq!(state("failure = 'status'"), (1, 200, 4, Some(3), 3), "a page whose server is down is a page");
    assert_eq!(store.counts().fetched, 2);

    store.commit(&Batch { again: &[oid(1)], ..Batch::default() }).unwrap();
    take(&mut store, 1, 0);
    let gone = ChangeHistory { gone: Some(Timestamp(5_000)), ..history };
    let failure = Failure::new(FailureKind::Status, "status 404");
    commit(&mut store, &[visit(5, Outcome::Dead(failure), 404, next(PageChange::Gone, None, gone))]);
    assert_eq!(state("rowid = 1"), (3, 404, 5, Some(3), 4), "the last good copy stays");
    assert_eq!(store.due_pages(ALL).unwrap(), [oid(2)]);
    store.commit(&Batch { again: &[oid(1)], ..Batch::default() }).unwrap();
    take(&mut store, 1, 0);
    let failure = Failure::new(FailureKind::Timeout, "timeout");
    commit(&mut store, &[visit(6, Outcome::Dead(failure), 0, next(PageChange::Unknown, None, gone))]);
    assert_eq!(state("rowid = 1").0, 3, "what is gone stays gone");
    assert_eq!(store.maintain_pages(DAY).unwrap(), 2);
    assert_eq!(store.due_pages(ALL).unwrap(), [oid(2)], "what was given up stays so");
}

#[test]
fn a_visit_by_a_crawl_without_maintenance_does_not_end_it() {
    let place = Place::new();
    let mut store = filled(&place);
    store.maintain_pages(DAY).unwrap();
    store.queue_again(&[oid(2)]).unwrap();
    take(&mut store, 1, 0);
    commit(&mut store, &[PageResult { seq: 2, ..page(2, 0.8, Vec::new()) }]);
    assert_eq!(store.due_pages(ALL).unwrap(), oids_of(&[1, 2]));
}

#[test]
fn pages_that_were_not_visited_are_fetched_pages_again() {
    let place = Place::new();
    let mut store = filled(&place);
    store.maintain_pages(DAY).unwrap();
    let before = store.counts();
    store.set_policy(&porthole_store::Policy::parse("upkeep").unwrap()).unwrap();
    store.commit(&Batch { again: &oids_of(&[1, 2]), ..Batch::default() }).unwrap();
    assert_eq!((store.counts().fetched, store.counts().queued), (0, 3));
    let taken = take(&mut store, 1, 0);
    store.cancel_revisits(&oids_of(&[1, 2, 3]), &[("left", "1")]).unwrap();
    assert_eq!((store.counts().fetched, store.queued_revisits()), (1, 1), "one is in flight");
    store.give_back(&taken).unwrap();
    store.cancel_revisits(&taken, &[]).unwrap();
    assert_eq!((store.counts(), store.queued_revisits()), (before, 0));
    assert_eq!(store.due_pages(ALL).unwrap(), oids_of(&[1, 2]), "they are as due as before");
    assert_eq!(take(&mut store, 10, 0), oids_of(&[3]));
    drop(store);
    let store = place.open();
    assert_eq!((store.counts(), store.queued_revisits()), (before, 0), "the table says the same");
}

#[test]
fn a_page_that_is_lost_is_asked_for_whole() {
    let place = Place::new();
    let mut store = filled(&place);
    store.lose_pages(&[oid(1)]).unwrap();
    let works = store.take(10, Timestamp(0)).unwrap();
    let copy = works.iter().find(|work| work.oid == oid(1)).unwrap().copy.as_deref().unwrap();
    assert_eq!((copy.span, copy.validators.as_ref()), (None, None));
}

#[test]
fn queries_count_pages_that_are_queued_for_a_visit() {
    let place = Place::new();
    let mut store = filled(&place);
    let ask = |store: &SqliteStore, name: &str| {
        let answer = store.reader().query(name, &[], &QueryLimits::default()).unwrap();
        format!("{:?}", answer.rows)
    };
    let queries = ["top-pages", "top-sites", "harvest", "progress"];
    let before = queries.map(|name| ask(&store, name));
    let sites = ask(&store, "site-list");
    store.queue_again(&oids_of(&[1, 2])).unwrap();
    assert_eq!(queries.map(|name| ask(&store, name)), before);
    assert_eq!(
        ask(&store, "site-list").replace("Integer(3)", "Integer(1)"),
        sites,
        "three are queued, not one"
    );
}

#[test]
fn a_visit_that_failed_counts_for_the_next() {
    let place = Place::new();
    let mut store = filled(&place);
    store.maintain_pages(DAY).unwrap();
    store.queue_again(&[oid(1)]).unwrap();
    take(&mut store, 1, 0);
    let failed = with_outcome(1, Outcome::Dead(failure(FailureKind::Timeout)));
    let next_visit = next(PageChange::Unknown, Some(9_000), ChangeHistory::default());
    let next_visit = next_visit.map(|next| NextVisit { seen: Timestamp(1_000), ..next });
    commit(&mut store, &[PageResult { seq: 2, at: Timestamp(8_000), next_visit, ..failed }]);
    store.reschedule(&mut |_, _, last| Timestamp(last.0 + 1_000), &[]).unwrap();
    assert_eq!(store.due_pages(DuePages { until: Some(Timestamp(8_999)), ..ALL }).unwrap(), [oid(2)]);
    assert_eq!(store.due_pages(DuePages { until: Some(Timestamp(9_000)), ..ALL }).unwrap(), oids_of(&[2, 1]));
}

#[test]
fn a_refused_visit_leaves_the_page_and_its_copy() {
    let refused = |kind, status| PageResult { status, ..with_outcome(1, Outcome::Skipped(failure(kind))) };
    for (visit, stays) in [
        (refused(FailureKind::Robots, 0), true),
        (refused(FailureKind::Scope, 0), true),
        // The page itself says that it is none.
        (refused(FailureKind::NoIndex, 200), false),
        (refused(FailureKind::Type, 200), false),
    ] {
        let place = Place::new();
        let mut store = filled(&place);
        store.maintain_pages(DAY).unwrap();
        store.queue_again(&[oid(1)]).unwrap();
        take(&mut store, 1, 0);
        let next_visit = next(PageChange::Unknown, Some(9_000), ChangeHistory::default());
        let what = format!("{:?}", visit.outcome);
        commit(&mut store, &[PageResult { seq: 2, next_visit, ..visit }]);
        let sql = "select state, status, segment, terms is not null, failure from crawl where oid = ?1";
        let row = Connection::open(place.path()).unwrap().query_row(sql, [oid(1).0.cast_signed()], |row| {
            let failure: String = row.get(4)?;
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, !failure.is_empty()))
        });
        let expected = if stays { (1, 200, 3, true, true) } else { (4, 200, 3, true, true) };
        assert_eq!(row.unwrap(), expected, "{what}");
        assert!(store.due_pages(ALL).unwrap().contains(&oid(1)), "it is looked at again: {what}");
    }
}

#[test]
fn neither_disabled_sites_nor_retries_hold_up_visits() {
    let place = Place::new();
    let mut store = filled(&place);
    store.maintain_pages(DAY).unwrap();
    store.queue_again(&[oid(1)]).unwrap();
    take(&mut store, 1, 0);
    assert_eq!(store.queued_revisits(), 1);
    commit(&mut store, &[PageResult { seq: 2, ..retry(1, 9_000) }]);
    assert_eq!((store.queued_revisits(), store.due_pages(ALL).unwrap()), (0, vec![oid(2)]));
    let host = url(2).authority().to_owned();
    store.switch_sites(&[(&host, true)]).unwrap();
    assert_eq!((store.due_pages(ALL).unwrap(), store.next_visit().unwrap()), (Vec::new(), None));
    store.switch_sites(&[(&host, false)]).unwrap();
    assert_eq!(store.due_pages(ALL).unwrap(), [oid(2)]);
}

#[test]
fn a_bounded_queue_keeps_pages_that_are_to_be_visited() {
    let place = Place::new();
    let mut store = filled(&place);
    store.bound(Some(1)).unwrap();
    store.queue_again(&oids_of(&[1, 2])).unwrap();
    assert_eq!((store.counts().queued, store.counts().evicted), (3, 0));
    store.add(&[new_url(4, 0.9, 0.9)]).unwrap();
    assert_eq!((store.counts().queued, store.counts().evicted), (3, 1), "of the new ones, one goes");
}
