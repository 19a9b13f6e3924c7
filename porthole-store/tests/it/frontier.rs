//! The queue of every store beyond the basics: policies, revisits, bounds, disabled sites.

use porthole_store::{
    Batch, DistilledScores, Error, NeighbourEvidence, Policy, QueryLimits, QueuedSites, Refreshed, Rejudged,
    Store,
};
use porthole_types::{FailureKind, Judgment, Outcome, SegmentSpan, Timestamp, TopicId, Work};

use crate::contract::{Backend, shown};
use crate::web::{commit, failure, link, new_url, oid, oids_of, page, retry, take, url, with_outcome};

/// The rows of a result, one line each.
fn lines(store: &dyn Store, sql: &str) -> Vec<String> {
    let answer = store.reader().sql(sql, &QueryLimits::default()).unwrap();
    answer.rows.iter().map(|row| row.iter().map(shown).collect::<Vec<_>>().join(" ")).collect()
}

/// A store in which 1, with links to 2 and 3, was fetched.
fn visited(backend: &dyn Backend) -> Box<dyn Store> {
    let mut store = backend.open();
    store.add(&[new_url(1, 0.9, 0.9)]).unwrap();
    let mut first = page(1, 0.75, vec![link(2, 0.5, 0.5), link(3, 0.25, 0.25)]);
    first.at = Timestamp(5_000);
    commit(&mut *store, &[first]);
    store
}

pub(crate) fn a_page_is_visited_again_and_only_its_new_links_are_added(backend: &dyn Backend) {
    let mut store = visited(backend);
    assert_eq!(store.queue_again(&oids_of(&[1, 2, 1])).unwrap(), 1);
    assert!(matches!(store.queue_again(&oids_of(&[1, 99])), Err(Error::UnknownUrl(_))));
    assert_eq!((store.counts().queued, store.counts().fetched), (3, 0));
    drop(store);
    let mut store = backend.open();
    let sql = "select state, numtries, lastvisited, relevance, title from page where url like '%/1'";
    assert_eq!(lines(&*store, sql), ["queued 1 5000 0.75 page 1"]);
    assert!(store.reader().graph().unwrap().nodes[0].fetched);
    // It is not starved by untried URLs: its priority decides, as the first time.
    let work = store.take(3, Timestamp(0)).unwrap();
    assert_eq!((work[0].oid, work[0].numtries, work[0].relevance), (oid(1), 0, 0.75));
    commit(&mut *store, &[page(1, 0.5, vec![link(3, 0.5, 0.5), link(4, 0.5, 0.5)])]);
    assert_eq!((store.counts().links, store.counts().fetched), (3, 1));
    assert_eq!(lines(&*store, "select serverload from site"), ["1"]);
    assert_eq!(
        lines(&*store, "select state, numtries, relevance from page where url like '%/1'"),
        ["fetched 2 0.5"]
    );
}

pub(crate) fn a_page_that_is_lost_is_queued_again_and_is_nowhere(backend: &dyn Backend) {
    let mut store = visited(backend);
    let mut second = page(2, 0.5, Vec::new());
    second.span = Some(SegmentSpan { segment: 1, offset: 2, length: 3 });
    commit(&mut *store, &[second]);
    assert!(matches!(store.lose_pages(&oids_of(&[2, 99])), Err(Error::UnknownUrl(_))));
    let spans = "select count(segment), count(\"offset\"), count(length) from crawl";
    assert_eq!(lines(&*store, spans), ["1 1 1"]);
    store.lose_pages(&oids_of(&[2, 3])).unwrap();
    store.reader().sync().unwrap();
    assert_eq!((store.counts().queued, store.counts().fetched), (2, 1));
    drop(store);
    let mut store = backend.open();
    assert_eq!(lines(&*store, spans), ["0 0 0"]);
    assert_eq!(lines(&*store, "select state, relevance from page where url like '%/2'"), ["queued 0.5"]);
    assert_eq!(take(&mut *store, 9, 0).len(), 2);
}

pub(crate) fn a_revisit_that_fails_keeps_what_there_is(backend: &dyn Backend) {
    let mut store = visited(backend);
    store.queue_again(&[oid(1)]).unwrap();
    take(&mut *store, 1, 0);
    commit(&mut *store, &[retry(1, 500)]);
    // The relevance of a fetched page does not change with estimates.
    commit(&mut *store, &[page(2, 0.5, vec![link(1, 1.0, 1.0)])]);
    store.tidy().unwrap();
    drop(store);
    let mut store = backend.open();
    let work = store.take(9, Timestamp(500)).unwrap();
    let seen: Vec<_> = work.iter().map(|work| (work.oid, work.numtries, work.relevance)).collect();
    assert_eq!(seen, [(oid(3), 0, 0.25), (oid(1), 1, 0.75)]);
    commit(&mut *store, &[with_outcome(1, Outcome::Dead(failure(FailureKind::Status)))]);
    let sql = "select state, numtries, relevance, title, bytes, failure from page where url like '%/1'";
    assert_eq!(lines(&*store, sql), ["dead 3 0.75 page 1 1234 status"]);
}

pub(crate) fn pages_are_judged_again_in_place(backend: &dyn Backend) {
    let mut store = visited(backend);
    let judgment = Judgment { relevance: 0.1, best: TopicId(3) };
    let judge = |store: &mut dyn Store, number| {
        store.commit(&Batch { judgments: &[Rejudged { oid: oid(number), judgment }], ..Batch::default() })
    };
    judge(&mut *store, 1).unwrap();
    // Without a page there is nothing to judge.
    judge(&mut *store, 2).unwrap();
    assert!(matches!(judge(&mut *store, 99), Err(Error::UnknownUrl(_))));
    let sql = "select relevance, kcid, state from page order by url";
    assert_eq!(lines(&*store, sql), ["0.1 3 fetched", "0.5 null queued", "0.25 null queued"]);
    store.queue_again(&[oid(1)]).unwrap();
    judge(&mut *store, 1).unwrap();
    assert_eq!(store.take(1, Timestamp(0)).unwrap()[0].relevance, 0.1);
}

pub(crate) fn what_parents_say_by_now_counts_up_and_down(backend: &dyn Backend) {
    let mut store = visited(backend);
    store.add(&[new_url(4, 0.4, 0.9)]).unwrap();
    let say = |number, before, relevance| Refreshed { oid: oid(number), before, relevance };
    let mut refresh =
        |refreshed: &[Refreshed]| store.commit(&Batch { refreshed, ..Batch::default() }).unwrap().believed;
    assert_eq!(refresh(&[say(2, 0.5, 0.1), say(3, 0.25, 0.8), say(4, 0.4, 0.3)]), 3);
    assert_eq!(refresh(&[say(2, 0.5, 0.9)]), 0, "something else is believed of it since");
    assert_eq!(refresh(&[say(1, 0.75, 0.9)]), 0, "it was judged");
    drop(store);
    let work = backend.open().take(9, Timestamp(0)).unwrap();
    let seen: Vec<_> = work.iter().map(|work| (work.oid, work.relevance, work.priority)).collect();
    // The priority of 4 differed from its estimate.
    assert_eq!(seen, [(oid(4), 0.3, 0.9), (oid(3), 0.8, 0.8), (oid(2), 0.1, 0.1)]);
}

pub(crate) fn neighbourhoods_are_kept_until_they_change(backend: &dyn Backend) {
    let mut store = visited(backend);
    let row = |number, relevance| NeighbourEvidence {
        oid: oid(number),
        relevance,
        own: 0.75,
        sites: 2,
        evidence: 0.5,
    };
    let mut write = |rows: &[NeighbourEvidence]| {
        store.set_scores(&DistilledScores { neighbourhoods: rows, ..DistilledScores::default() }).unwrap();
        lines(
            &*store,
            "select url, n.relevance, n.sites from page join neighbourhood n using (oid) order by url",
        )
    };
    write(&[row(1, 0.7), row(2, 0.2)]);
    let one = format!("{} 0.8 2", url(1).as_str());
    assert_eq!(write(&[row(1, 0.8)]), [one, format!("{} 0.2 2", url(2).as_str())]);
    let reader = store.reader();
    assert_eq!(reader.about(&url(1)).unwrap().unwrap().neighbourhood, Some(row(1, 0.8)));
    assert_eq!(reader.about(&url(3)).unwrap().unwrap().neighbourhood, None);
    assert_eq!(reader.neighbourhoods().unwrap().len(), 2);
}

pub(crate) fn a_policy_orders_the_queue_at_once_and_is_remembered(backend: &dyn Backend) {
    let mut store = backend.open();
    assert_eq!(store.policy(), &Policy::default());
    store.add(&[new_url(1, 0.1, 0.9), new_url(2, 0.9, 0.1), new_url(3, 0.5, 0.5)]).unwrap();
    let mut follow = |policy: &str, expected: &[u64]| {
        store.set_policy(&Policy::parse(policy).unwrap()).unwrap();
        assert_eq!(take(&mut *store, 9, 0), oids_of(expected), "{policy}");
        store.give_back(&oids_of(expected)).unwrap();
    };
    follow("relevance", &[2, 3, 1]);
    follow("discovery", &[1, 3, 2]);
    follow("hard", &[1, 2, 3]);
    follow("discovered desc", &[3, 2, 1]);
    follow("neighbourhood desc", &[2, 3, 1]);
    follow("hub desc, relevance desc", &[2, 3, 1]);
    // Scores are used as soon as they are set.
    store
        .set_scores(&DistilledScores {
            hubs: &[(oid(3), 0.5)],
            auth: &[(oid(1), 1.0)],
            neighbourhoods: &[NeighbourEvidence {
                oid: oid(1),
                relevance: 0.75,
                own: 0.5,
                sites: 2,
                evidence: 0.9,
            }],
        })
        .unwrap();
    assert_eq!(take(&mut *store, 1, 0), oids_of(&[3]));
    drop(store);
    let mut store = backend.open();
    assert_eq!(store.policy().to_string(), "hub desc, relevance desc");
    assert_eq!(take(&mut *store, 9, 0), oids_of(&[3, 2, 1]));
    store.give_back(&oids_of(&[1, 2, 3])).unwrap();
    store.set_policy(&Policy::parse("repair").unwrap()).unwrap();
    assert_eq!(take(&mut *store, 9, 0), oids_of(&[1, 2, 3]));
    store.give_back(&oids_of(&[1, 2, 3])).unwrap();
    store.set_policy(&Policy::parse("neighbourhood desc").unwrap()).unwrap();
    assert_eq!(
        take(&mut *store, 9, 0),
        oids_of(&[2, 1, 3]),
        "its neighbours raise the first page from 0.1 to 0.75"
    );
}

pub(crate) fn a_maintenance_order_goes_by_visits(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&(1..=4).map(|number| new_url(number, 0.5, 0.5)).collect::<Vec<_>>()).unwrap();
    for (number, at) in [(1, 9_000), (2, 3_000), (3, 6_000), (3, 7_000)] {
        let mut result = page(number, 0.5, Vec::new());
        result.at = Timestamp(at);
        commit(&mut *store, &[result]);
    }
    store.queue_again(&oids_of(&[1, 2, 3])).unwrap();
    store.set_policy(&Policy::parse("refresh").unwrap()).unwrap();
    // New URLs come after visits.
    assert_eq!(take(&mut *store, 9, 0), oids_of(&[2, 3, 1, 4]));
    store.give_back(&oids_of(&[1, 2, 3, 4])).unwrap();
    store.set_policy(&Policy::parse("repair").unwrap()).unwrap();
    assert_eq!(take(&mut *store, 9, 0), oids_of(&[3, 1, 2, 4]));
}

pub(crate) fn ties_go_to_the_sites_with_less_load(backend: &dyn Backend) {
    let mut store = backend.open();
    store.set_policy(&Policy::parse("spread").unwrap()).unwrap();
    store.add(&(0..90).map(|number| new_url(number, 0.5, 0.5)).collect::<Vec<_>>()).unwrap();
    assert_eq!(take(&mut *store, 1, 0), oids_of(&[0]));
    commit(&mut *store, &[page(0, 0.5, Vec::new())]);
    assert_eq!(take(&mut *store, 2, 0), oids_of(&[10, 11]), "a site of which nothing was fetched");
    store.give_back(&oids_of(&[10, 11])).unwrap();
    for number in (10..80).step_by(10) {
        commit(&mut *store, &[page(number, 0.5, Vec::new())]);
    }
    // Nothing was fetched from the last site.
    assert_eq!(take(&mut *store, 11, 0), oids_of(&[80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 1]));
}

pub(crate) fn a_held_site_is_for_its_holder_until_it_is_released(backend: &dyn Backend) {
    let mut store = backend.open();
    // Sites have ten numbers each: 1 and 2 are on one, 11 and 12 on the next.
    let urls = [(1, 0.3), (2, 0.6), (11, 0.5), (12, 0.4), (21, 0.1)];
    store.add(&urls.map(|(number, priority)| new_url(number, 0.5, priority))).unwrap();
    let site = |number| url(number).site();
    let now = Timestamp(0);
    let work = |work: Vec<Work>| work.into_iter().map(|work| work.oid).collect::<Vec<_>>();
    assert_eq!(store.hold_sites(2, now).unwrap(), [site(2), site(11)], "by their best URLs");
    assert_eq!(take(&mut *store, 9, 0), oids_of(&[21]), "what is held is not taken otherwise");
    assert_eq!(work(store.take_of(site(1), 1, now).unwrap()), oids_of(&[2]));
    assert!(store.best_of(site(1)) > store.best_of(site(11)));
    assert_eq!(store.improved_sites(), []);
    // Each site gets a better URL; on the other one, the best URL improves further.
    commit(&mut *store, &[page(2, 0.9, vec![link(3, 0.7, 0.7), link(11, 0.9, 0.9), link(12, 0.45, 0.45)])]);
    assert_eq!(store.improved_sites(), [site(1), site(11)]);
    assert_eq!(store.improved_sites(), [], "said once");
    assert_eq!(work(store.take_of(site(1), 9, now).unwrap()), oids_of(&[3, 1]));
    store.give_back(&oids_of(&[1])).unwrap();
    store.release_site(site(1), None);
    store.release_site(site(11), Some(Timestamp(50)));
    assert_eq!(store.next_due(), Some(Timestamp(50)));
    assert_eq!(store.queued_sites(), QueuedSites { available: 1, resting: 1 });
    assert_eq!(take(&mut *store, 9, 49), oids_of(&[1]));
    assert_eq!(take(&mut *store, 9, 50), oids_of(&[11, 12]));
    assert_eq!(store.queued_sites(), QueuedSites::default());
}

pub(crate) fn the_best_priorities_are_found_among_many_sites(backend: &dyn Backend) {
    let mut store = backend.open();
    let site = |number| url(number).site();
    let mut urls: Vec<_> = (0..3_000).map(|site| new_url(10 * site, 0.1, 0.1)).collect();
    urls.extend([new_url(15_551, 0.9, 0.875), new_url(15_552, 0.9, 0.75), new_url(23_331, 0.9, 0.625)]);
    store.add(&urls).unwrap();
    assert_eq!(store.greatest_priorities(4, 8), [0.875, 0.75, 0.625, 0.1]);
    assert_eq!(store.greatest_priorities(3, 1), [0.875, 0.625, 0.1]);
    assert_eq!(store.greatest_priorities(0, 8), []);
    // A held site counts, a resting one does not.
    store.hold_sites(1, Timestamp(0)).unwrap();
    assert_eq!(store.greatest_priorities(3, 8), [0.875, 0.75, 0.625]);
    store.release_site(site(15_551), Some(Timestamp(50)));
    assert_eq!(store.greatest_priorities(2, 8), [0.625, 0.1]);
    // By another order the first sites are others.
    store.set_policy(&Policy::parse("discovered asc").unwrap()).unwrap();
    assert_eq!(store.greatest_priorities(2, 8), [0.1, 0.1]);
    store.set_policy(&Policy::parse("discovered desc").unwrap()).unwrap();
    assert_eq!(store.greatest_priorities(2, 8), [0.625, 0.1]);
}

pub(crate) fn a_bounded_queue_lets_the_worst_go(backend: &dyn Backend) {
    let mut store = backend.open();
    store.bound(Some(2)).unwrap();
    store.add(&[new_url(1, 0.9, 0.9), new_url(2, 0.2, 0.2), new_url(3, 0.3, 0.3)]).unwrap();
    assert_eq!((store.counts().queued, store.counts().evicted), (2, 1));
    assert_eq!(take(&mut *store, 1, 0), oids_of(&[1]));
    // URLs in flight do not count: there is room for one more, and 2 comes back, but 4 and 5 are better.
    let links = vec![link(2, 0.1, 0.1), link(4, 0.4, 0.4), link(5, 0.5, 0.5)];
    let done = commit(&mut *store, &[page(1, 0.9, links)]);
    assert_eq!((done.new_urls, done.evicted), (2, 2));
    drop(store);
    let mut store = backend.open();
    let sql = "select url, state from page where state = 'evicted' order by url";
    assert_eq!(lines(&*store, sql), [format!("{} evicted", url(2)), format!("{} evicted", url(3))]);
    assert_eq!(take(&mut *store, 9, 0), oids_of(&[5, 4]));
    // Now there is room. What it was worth before is forgotten.
    commit(&mut *store, &[page(5, 0.9, vec![link(2, 0.1, 0.1)])]);
    let work = store.take(9, Timestamp(0)).unwrap();
    assert_eq!((work.len(), work[0].oid, work[0].relevance, work[0].priority), (1, oid(2), 0.1, 0.1));
    // So is its place in the line: it is behind those that were found in the meantime, also after a restart.
    store.bound(None).unwrap();
    store.add(&[new_url(6, 0.1, 0.1), new_url(3, 0.1, 0.1), new_url(7, 0.1, 0.1)]).unwrap();
    drop(store);
    let mut store = backend.open();
    assert_eq!(take(&mut *store, 9, 0), oids_of(&[4, 2, 6, 3, 7]));
}

pub(crate) fn a_full_queue_can_make_room_first(backend: &dyn Backend) {
    let mut store = backend.open();
    store.bound(Some(2)).unwrap();
    store.add(&[new_url(1, 0.9, 0.9), new_url(2, 0.8, 0.8), new_url(3, 0.7, 0.7)]).unwrap();
    assert_eq!(take(&mut *store, 1, 0), oids_of(&[1]));
    // 4 takes the free place; 5 replaces the worst, which is 4; so does 6, although it is the worst itself. Known URLs
    // are not added.
    let links = vec![link(4, 0.4, 0.4), link(5, 0.5, 0.5), link(6, 0.3, 0.3), link(2, 0.1, 0.1)];
    let results = [page(1, 0.9, links)];
    store.commit(&Batch { results: &results, protect_newest: true, ..Batch::default() }).unwrap();
    assert_eq!(take(&mut *store, 9, 0), oids_of(&[2, 6]));
}

pub(crate) fn a_url_that_is_found_again_does_not_jump_the_line(backend: &dyn Backend) {
    let mut store = backend.open();
    store.bound(Some(3)).unwrap();
    store.add(&[new_url(1, 0.5, 0.0)]).unwrap();
    assert_eq!(take(&mut *store, 1, 0), oids_of(&[1]));
    // All links are worth the same. 5 has no room.
    let equal = |numbers: &[u64]| numbers.iter().map(|&number| link(number, 0.5, 0.0)).collect::<Vec<_>>();
    commit(&mut *store, &[page(1, 0.5, equal(&[2, 3, 4, 5]))]);
    assert_eq!(take(&mut *store, 1, 0), oids_of(&[2]));
    // There is room for one: 6. 5 is found again behind it, and 3 keeps its place.
    commit(&mut *store, &[page(2, 0.5, equal(&[6, 5, 3]))]);
    assert_eq!(take(&mut *store, 1, 0), oids_of(&[3]));
    commit(&mut *store, &[page(3, 0.5, equal(&[5, 7]))]);
    drop(store);
    let mut store = backend.open();
    assert_eq!(take(&mut *store, 9, 0), oids_of(&[4, 6, 5]));
}

pub(crate) fn these_are_taken_and_no_others(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&(1..=5).map(|number| new_url(number, 0.5, 0.5)).collect::<Vec<_>>()).unwrap();
    commit(&mut *store, &[page(1, 0.5, Vec::new()), retry(2, 500)]);
    assert_eq!(take(&mut *store, 1, 0), oids_of(&[3]));
    let mut these = |now| {
        let work = store.take_these(&oids_of(&[5, 1, 2, 3, 5, 99]), Timestamp(now)).unwrap();
        work.iter().map(|work| work.oid).collect::<Vec<_>>()
    };
    assert_eq!((these(499), these(500)), (oids_of(&[5]), oids_of(&[2])));
    assert_eq!((store.counts().in_flight, store.next_due()), (3, None));
    assert_eq!(take(&mut *store, 9, 500), oids_of(&[4]));
}

pub(crate) fn nothing_is_taken_from_a_disabled_site(backend: &dyn Backend) {
    let mut store = backend.open();
    store.add(&[new_url(1, 0.9, 0.9), new_url(2, 0.8, 0.8), new_url(11, 0.1, 0.1)]).unwrap();
    assert_eq!(take(&mut *store, 1, 0), oids_of(&[1]));
    let (here, later) = (url(1).authority().to_owned(), url(21).authority().to_owned());
    store.switch_sites(&[(&here, true), (&later, true)]).unwrap();
    // URLs in flight are given back; a site can be disabled before any of its URLs is known.
    commit(&mut *store, &[page(1, 0.9, vec![link(3, 0.9, 0.9), link(21, 0.9, 0.9)])]);
    assert_eq!((store.counts().queued, store.counts().parked), (4, 3));
    assert_eq!(store.take_these(&oids_of(&[2, 21]), Timestamp(0)).unwrap(), []);
    assert_eq!(take(&mut *store, 9, 0), oids_of(&[11]));
    drop(store);
    let mut store = backend.open();
    assert_eq!((take(&mut *store, 9, 0), store.counts().parked), (oids_of(&[11]), 3));
    store.set_policy(&Policy::parse("hard").unwrap()).unwrap();
    store.switch_sites(&[(&here, false)]).unwrap();
    assert_eq!(take(&mut *store, 9, 0), oids_of(&[2, 3]));
    store.switch_sites(&[(&later, false)]).unwrap();
    assert_eq!((take(&mut *store, 9, 0), store.counts().sites), (oids_of(&[21]), 3));
}
