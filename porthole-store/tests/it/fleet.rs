//! Several workers on one PostgreSQL: nothing is fetched twice, nothing is lost, and who was not heard of writes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use porthole_store::{Batch, Error, FleetSettings, Store, StoreReader, TableStore};
use porthole_types::{LinkRow, SiteId, Timestamp, UrlId, Work};

use crate::contract::Backend;
use crate::postgres::PgPlace;
use crate::web::{Place, link, new_url, page, url};

/// Pages of the web that is crawled.
const PAGES: u64 = 600;

/// The links of a page: some on its site, some anywhere. Every page can be reached from the first one.
fn links(number: u64) -> Vec<LinkRow> {
    let targets = [number + 1, number * 2 + 1, number * 7 + 3, number / 3, (number * 31 + 11) % PAGES];
    let mut seen = BTreeSet::new();
    let targets =
        targets.into_iter().filter(|&target| target < PAGES && target != number && seen.insert(target));
    targets.map(|target| link(target, 0.5, (target % 17) as f64)).collect()
}

fn number(work: &Work) -> u64 {
    work.url.as_str().rsplit('/').next().unwrap().parse().unwrap()
}

fn settings(worker: u32) -> FleetSettings {
    let session = Duration::from_secs(8);
    FleetSettings { session, takeover: Duration::from_millis(500), ..FleetSettings::of(worker, "test") }
}

fn join(place: &PgPlace, worker: u32) -> TableStore {
    TableStore::join(&place.location(), &settings(worker)).unwrap()
}

/// Fetches up to `most` URLs and commits their pages.
fn fetch(store: &mut TableStore, most: usize, fetched: &mut Vec<u64>) -> usize {
    let works = store.take(most, Timestamp(1)).unwrap();
    let pages: Vec<_> = works.iter().map(|work| page(number(work), 0.5, links(number(work)))).collect();
    // Numbers that every worker counts by itself.
    let pages: Vec<_> =
        pages.into_iter().zip(0..).map(|(page, seq)| porthole_types::PageResult { seq, ..page }).collect();
    if !pages.is_empty() {
        let done =
            store.commit(&Batch { results: &pages, numbered_by: Some("next"), ..Batch::default() }).unwrap();
        assert!(done.next_seq.is_none_or(|next| next >= pages.len() as u64));
        fetched.extend(works.iter().map(number));
    }
    works.len()
}

/// Crawls with these workers until nothing is left for any of them. Returns what was fetched.
fn crawl(workers: &mut [TableStore]) -> Vec<u64> {
    let mut fetched = Vec::new();
    let began = Instant::now();
    loop {
        let mut is_idle = true;
        for (store, most) in workers.iter_mut().zip([3, 5, 1, 2]) {
            store.share(&[], &mut |_| Vec::new()).unwrap();
            is_idle &= fetch(store, most, &mut fetched) == 0;
        }
        if is_idle && workers.iter_mut().all(|store| store.is_over().unwrap()) {
            return fetched;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{} of {PAGES} fetched", fetched.len());
    }
}

/// Waits until every worker has its share of the shards.
fn settle(workers: &mut [TableStore], place: &PgPlace) {
    let began = Instant::now();
    let wanted = 256 / workers.len();
    loop {
        for store in workers.iter_mut() {
            store.share(&[], &mut |_| Vec::new()).unwrap();
        }
        let shards: Vec<usize> = place
            .reader()
            .workers()
            .unwrap()
            .iter()
            .filter(|row| row.is_alive)
            .map(|row| row.shards)
            .collect();
        if shards.len() == workers.len() && shards.iter().all(|shards| shards.abs_diff(wanted) <= 1) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{shards:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// How often URLs were fetched, and how often they are finished.
type FetchedTimes = BTreeMap<String, (u64, u64)>;

/// What the tables say of every URL, and of every link, without the order in which they came.
fn tables(reader: &dyn StoreReader) -> (FetchedTimes, Vec<(String, String)>) {
    let tried = reader.tried(None, usize::MAX).unwrap();
    let mut pages = BTreeMap::new();
    for tried in &tried {
        let entry = pages.entry(tried.url.clone()).or_insert((0, 0));
        entry.0 += 1;
        entry.1 += u64::from(tried.is_done);
    }
    let last = reader.last_row(porthole_store::RowTable::Edge).unwrap();
    let links = reader.links(1..=last).unwrap();
    assert_eq!(links.len() as u64, last, "edges have no gaps");
    let mut links: Vec<_> = links.into_iter().map(|link| (link.source, link.target)).collect();
    links.sort();
    (pages, links)
}

#[test]
fn any_number_of_workers_fetches_what_one_does_and_nothing_twice() {
    let alone = Place::new();
    let mut store = alone.open();
    store.add(&[new_url(0, 1.0, 1.0)]).unwrap();
    let mut expected = Vec::new();
    let mut seq = 0;
    loop {
        let works = store.take(4, Timestamp(1)).unwrap();
        let pages: Vec<_> = works
            .iter()
            .map(|work| {
                seq += 1;
                porthole_types::PageResult { seq: seq - 1, ..page(number(work), 0.5, links(number(work))) }
            })
            .collect();
        expected.extend(works.iter().map(number));
        if works.is_empty() {
            break;
        }
        store.commit(&Batch { results: &pages, ..Batch::default() }).unwrap();
    }
    expected.sort_unstable();
    assert_eq!(expected.len() as u64, PAGES);
    let whole = tables(&*porthole_store::WorkspaceWriter::reader(&store));
    for count in [1, 2, 4] {
        let Some(place) = PgPlace::new() else { return };
        let mut workers: Vec<TableStore> = (0..count).map(|worker| join(&place, worker)).collect();
        settle(&mut workers, &place);
        // Anybody may be given the first URL.
        workers[count as usize - 1].add(&[new_url(0, 1.0, 1.0)]).unwrap();
        let mut fetched = crawl(&mut workers);
        fetched.sort_unstable();
        assert_eq!(fetched, expected, "{count} workers");
        let reader = place.reader();
        assert_eq!(tables(&reader), whole, "{count} workers");
        let counts = reader.counts().unwrap();
        assert_eq!((counts.known, counts.fetched, counts.queued), (600, 600, 0));
        assert_eq!(counts.links, whole.1.len());
        assert_eq!(place.sql("select count(*), max(rowid) from crawl"), "600|600");
        assert_eq!(place.sql("select count(*), min(seq), max(seq) from \"fetch\""), "600|0|599");
        assert_eq!(place.sql("select count(*) = count(distinct oid) from crawl"), "t");
        let graph = reader.graph().unwrap();
        assert_eq!((graph.nodes.len(), graph.edges.len()), (600, whole.1.len()));
        drop(workers);
        // A store that is alone finds everything in order.
        assert_eq!(place.open().counts().fetched, 600);
    }
}

#[test]
fn workers_come_and_go_and_nothing_is_lost() {
    let Some(place) = PgPlace::new() else { return };
    let mut workers = vec![join(&place, 0)];
    workers[0].add(&[new_url(0, 1.0, 1.0)]).unwrap();
    let mut fetched = Vec::new();
    let mut rounds = 0;
    let began = Instant::now();
    while fetched.len() < PAGES as usize {
        for (at, store) in workers.iter_mut().enumerate() {
            store.share(&[], &mut |_| Vec::new()).unwrap();
            fetch(store, 1 + at, &mut fetched);
        }
        rounds += 1;
        match rounds {
            20 => workers.push(join(&place, 1)),
            60 => workers.push(join(&place, 2)),
            90 => drop(workers.remove(0)),
            120 => workers.push(join(&place, 0)),
            _ => {}
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{} of {PAGES} fetched", fetched.len());
    }
    let all: BTreeSet<u64> = fetched.iter().copied().collect();
    assert_eq!((all.len(), fetched.len()), (PAGES as usize, PAGES as usize));
    assert!(crawl(&mut workers).is_empty());
    assert_eq!(place.sql("select known, fetched, queued from counts"), "600|600|0");
}

#[test]
fn a_site_whose_urls_are_in_flight_is_given_up_last() {
    let Some(place) = PgPlace::new() else { return };
    let mut first = join(&place, 0);
    // Sites in all shards.
    let site = |number: u32| {
        let url = porthole_types::CanonicalUrl::parse(&format!("http://host{number}.test/")).unwrap();
        porthole_types::NewUrl { url, relevance: 1.0, priority: 1.0, depth: 0 }
    };
    let starts: Vec<_> = (0..3_000).map(site).collect();
    first.add(&starts).unwrap();
    let works = first.take(starts.len(), Timestamp(1)).unwrap();
    assert_eq!(works.len(), starts.len());
    let mut second = join(&place, 1);
    let busy: Vec<SiteId> = works.iter().map(|work| work.sid).collect();
    let leaving = eventually(|| {
        let leaving = first.share(&busy, &mut |_| Vec::new()).unwrap();
        second.share(&[], &mut |_| Vec::new()).unwrap();
        (!leaving.is_empty()).then_some(leaving)
    });
    let leaving: BTreeSet<u64> = leaving.into_iter().map(|site| site.0).collect();
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(600));
        first.share(&busy, &mut |_| Vec::new()).unwrap();
        second.share(&[], &mut |_| Vec::new()).unwrap();
        assert!(second.take(1, Timestamp(1)).unwrap().is_empty(), "a URL in flight was taken");
    }
    // Those that are given up are not taken again by the first.
    let (gone, stay): (Vec<_>, Vec<_>) = works.iter().partition(|work| leaving.contains(&work.sid.0));
    first.give_back(&works.iter().map(|work| work.oid).collect::<Vec<_>>()).unwrap();
    assert!(first.take_these(&[gone[0].oid], Timestamp(1)).unwrap().is_empty());
    assert_eq!(first.take_these(&[stay[0].oid], Timestamp(1)).unwrap().len(), 1);
    let taken = eventually(|| {
        first.share(&[stay[0].sid], &mut |_| Vec::new()).unwrap();
        second.share(&[], &mut |_| Vec::new()).unwrap();
        let taken = second.take(10, Timestamp(1)).unwrap();
        (!taken.is_empty()).then_some(taken)
    });
    assert!(taken.iter().all(|work| leaving.contains(&work.sid.0)));
    assert!(taken.iter().all(|work| second.owns(work.sid) && !first.owns(work.sid)));
}

#[test]
fn the_shards_of_a_worker_that_is_gone_are_taken_over_and_it_can_write_nothing() {
    let Some(place) = PgPlace::new() else { return };
    let mut workers = vec![join(&place, 0), join(&place, 1)];
    workers[0].add(&[new_url(0, 1.0, 1.0)]).unwrap();
    settle(&mut workers, &place);
    let mut fetched = Vec::new();
    for _ in 0..20 {
        for store in &mut workers {
            store.share(&[], &mut |_| Vec::new()).unwrap();
            fetch(store, 2, &mut fetched);
        }
    }
    let mut second = workers.pop().unwrap();
    let lease = second.lease().unwrap();
    assert!(lease.is_fresh());
    let works = second.take(3, Timestamp(1)).unwrap();
    // As if it had been stopped for too long: the server ends its session.
    place.sql(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity \
         where application_name = 'porthole worker 1' and datname = current_database()",
    );
    eventually(|| (!lease.is_fresh()).then_some(()));
    fetched.extend(crawl(&mut workers));
    fetched.sort_unstable();
    assert_eq!(fetched, (0..PAGES).collect::<Vec<_>>(), "what was in flight was fetched by the other worker");
    let before = place.sql("select sum(numtries) from crawl");
    let pages: Vec<_> = works.iter().map(|work| page(number(work), 0.5, Vec::new())).collect();
    let late = second.commit(&Batch { results: &pages, numbered_by: Some("next"), ..Batch::default() });
    assert!(late.unwrap_err().is_connection_lost());
    assert!(second.share(&[], &mut |_| Vec::new()).unwrap_err().is_connection_lost());
    assert_eq!(place.sql("select sum(numtries) from crawl"), before);
    drop(second);
    assert_eq!(place.sql("select count(*) from shard where owner = 0"), "256");
}

#[test]
fn a_transaction_checks_the_epochs_of_its_shards() {
    let Some(place) = PgPlace::new() else { return };
    let mut store = join(&place, 0);
    store.add(&[new_url(0, 1.0, 1.0)]).unwrap();
    let work = store.take(1, Timestamp(1)).unwrap().remove(0);
    // Another worker has had one of its shards for a moment.
    place.sql("update shard set epoch = epoch + 1 where id = 9");
    let results = [page(number(&work), 0.5, links(0))];
    let late = store.commit(&Batch { results: &results, numbered_by: Some("next"), ..Batch::default() });
    assert!(matches!(late, Err(Error::Fenced)), "{late:?}");
    assert!(matches!(porthole_store::WorkspaceWriter::set_setting(&mut store, "a", "b"), Err(Error::Fenced)));
    assert_eq!(place.sql("select count(*) from crawl where state <> 0"), "0");
    drop(store);
    // The same worker can come back.
    let mut store = join(&place, 0);
    assert_eq!(fetch(&mut store, 1, &mut Vec::new()), 1);
}

#[test]
fn a_crawl_that_is_alone_and_workers_keep_each_other_out() {
    let Some(place) = PgPlace::new() else { return };
    let alone = place.open();
    let joined = TableStore::join(&place.location(), &settings(0));
    assert!(matches!(joined, Err(Error::InUse(_))), "{joined:?}");
    drop(alone);
    let first = join(&place, 0);
    assert!(matches!(TableStore::join(&place.location(), &settings(0)), Err(Error::InUse(_))));
    assert!(matches!(TableStore::open_at(&place.location()), Err(Error::InUse(_))));
    let (one, two) = (
        TableStore::register_worker(&place.location(), "one").unwrap(),
        TableStore::register_worker(&place.location(), "two").unwrap(),
    );
    assert_eq!((one, two), (1, 2));
    let second = join(&place, two);
    let workers = place.reader().workers().unwrap();
    let alive: Vec<(u32, bool)> = workers.iter().map(|row| (row.id, row.is_alive)).collect();
    assert_eq!(alive, [(0, true), (1, false), (2, true)]);
    assert!(first.has_others() || second.has_others());
}

#[test]
fn letters_change_urls_of_other_workers() {
    use porthole_store::{Estimate, Rejudged};
    use porthole_types::{Judgment, TopicId};
    let Some(place) = PgPlace::new() else { return };
    let mut workers = vec![join(&place, 0), join(&place, 1)];
    settle(&mut workers, &place);
    let starts: Vec<_> = (0..200).map(|number| new_url(number, 0.5, 0.5)).collect();
    workers[0].add(&starts).unwrap();
    workers[1].share(&[], &mut |_| Vec::new()).unwrap();
    let foreign = (0..200).find(|&number| !workers[0].owns(url(number).site())).unwrap();
    let oid = url(foreign).id();
    let estimate = [Estimate { oid, relevance: 1.0, priority: 9.0 }];
    let told = workers[0].commit(&Batch { raised: &estimate, ..Batch::default() }).unwrap();
    assert_eq!((told.told, told.believed), (1, 0));
    workers[1].share(&[], &mut |_| Vec::new()).unwrap();
    let best = workers[1].take(1, Timestamp(1)).unwrap().remove(0);
    assert_eq!((best.oid, best.priority), (oid, 9.0));
    let results = [page(foreign, 0.5, Vec::new())];
    workers[1].commit(&Batch { results: &results, numbered_by: Some("next"), ..Batch::default() }).unwrap();
    let judgment = Judgment { relevance: 0.25, best: TopicId(3) };
    let judgments = [Rejudged { oid, judgment }];
    workers[0].commit(&Batch { judgments: &judgments, ..Batch::default() }).unwrap();
    workers[0].queue_again(&[oid]).unwrap();
    workers[1].share(&[], &mut |_| Vec::new()).unwrap();
    let row =
        place.sql(&format!("select relevance, kcid, state from crawl where oid = {}", oid.0.cast_signed()));
    assert_eq!(row, "0.25|3|0");
}

#[test]
fn urls_wait_while_others_have_better_ones() {
    let Some(place) = PgPlace::new() else { return };
    let mut workers = vec![join(&place, 0), join(&place, 1)];
    settle(&mut workers, &place);
    let starts: Vec<_> = (0..200)
        .map(|number| new_url(number, 0.5, if workers[0].owns(url(number).site()) { 9.0 } else { 1.0 }))
        .collect();
    let share = |workers: &mut [TableStore]| {
        for store in workers {
            store.share(&[], &mut |_| Vec::new()).unwrap();
        }
    };
    for store in &mut workers {
        store.announce(2);
    }
    share(&mut workers);
    workers[0].add(&starts).unwrap();
    // The first publishes with its commits, the second when it has read the letters.
    share(&mut workers);
    share(&mut workers);
    assert!(workers[1].counts().queued > 20, "{:?}", workers[1].counts());
    assert_eq!((workers[0].in_turn(1), workers[1].in_turn(1)), (1, 0));
    assert_eq!(workers[0].in_turn(9), 4, "as many as all workers take at a time");
    assert_eq!(workers[1].best_of_others()[..2], [9.0, 9.0]);
    // What nobody has repeated for a while counts no more.
    place.sql("update worker set published = published - interval '3 seconds' where id = 0");
    workers[1].share(&[], &mut |_| Vec::new()).unwrap();
    assert_eq!((workers[1].in_turn(1), workers[1].best_of_others().len()), (1, 0));
    eventually(|| {
        share(&mut workers);
        (workers[1].in_turn(1) == 0).then_some(())
    });
    // A worker that takes none keeps nobody waiting.
    workers[0].announce(0);
    eventually(|| {
        share(&mut workers);
        (workers[1].in_turn(1) == 1).then_some(())
    });
}

#[test]
fn urls_wait_until_others_have_read_the_last_results() {
    let Some(place) = PgPlace::new() else { return };
    let mut workers = vec![join(&place, 0), join(&place, 1)];
    settle(&mut workers, &place);
    let share = |store: &mut TableStore| {
        store.share(&[], &mut |_| Vec::new()).unwrap();
        store.in_turn(1)
    };
    // The second one has no URLs, but those that the first one finds.
    let starts = (0..PAGES).filter(|&number| workers[0].owns(url(number).site()));
    let starts: Vec<_> = starts.map(|number| new_url(number, 0.5, 1.0)).collect();
    for store in &mut workers {
        store.announce(1);
        share(store);
    }
    workers[0].add(&starts).unwrap();
    share(&mut workers[1]);
    let fetch_one = |store: &mut TableStore| {
        fetch_linking_to_others(store);
        store.in_turn(1)
    };
    // Two URLs are taken at a time: one result may be unknown to the other worker when the next URL is taken.
    assert_eq!(share(&mut workers[0]), 1);
    assert_eq!([fetch_one(&mut workers[0]), fetch_one(&mut workers[0])], [1, 0]);
    assert_eq!(share(&mut workers[0]), 0, "nobody has read anything");
    share(&mut workers[1]);
    eventually(|| workers[0].has_news().then_some(()));
    assert_eq!(share(&mut workers[0]), 1);
    // A worker that has not been heard of for a while is not waited for.
    assert_eq!([fetch_one(&mut workers[0]), fetch_one(&mut workers[0])], [1, 0]);
    place.sql("update worker set published = published - interval '3 seconds' where id = 1");
    assert_eq!(share(&mut workers[0]), 1);
    // Nor is one that takes no URLs.
    share(&mut workers[1]);
    workers[0].share(&[], &mut |_| Vec::new()).unwrap();
    assert_eq!([fetch_one(&mut workers[0]), fetch_one(&mut workers[0])], [1, 0]);
    workers[1].announce(0);
    place.sql(
        "update worker set best = '\\x00000000', has_read = 0, published = clock_timestamp() where id = 1",
    );
    assert_eq!(share(&mut workers[0]), 1);
}

/// Fetches a URL whose page has bad links to all sites of other workers.
fn fetch_linking_to_others(store: &mut TableStore) {
    let work = store.take(1, Timestamp(1)).unwrap().remove(0);
    let targets = (0..PAGES).filter(|&number| !store.owns(url(number).site()));
    let links = targets.map(|target| link(target, 0.5, 0.25)).collect();
    let found = porthole_types::PageResult { oid: work.oid, sid: work.sid, ..page(0, 0.5, links) };
    store.commit(&Batch { results: &[found], numbered_by: Some("next"), ..Batch::default() }).unwrap();
}

#[test]
fn letters_to_shards_that_change_hands_are_waited_for() {
    let Some(place) = PgPlace::new() else { return };
    let (mut first, mut second) = (join(&place, 0), join(&place, 1));
    first.add(&(0..PAGES).map(|number| new_url(number, 0.5, 0.5)).collect::<Vec<_>>()).unwrap();
    let share = |store: &mut TableStore| {
        store.announce(1);
        store.share(&[], &mut |_| Vec::new()).unwrap();
        store.in_turn(1)
    };
    share(&mut second);
    let free = || place.sql("select count(*) from shard where owner is null");
    eventually(|| {
        share(&mut first);
        (free() == "128").then_some(())
    });
    // Nothing good is in them.
    place.sql("update shard set best = null, free_from = clock_timestamp() where owner is null");
    assert_eq!(share(&mut first), 1);
    fetch_linking_to_others(&mut first);
    assert_eq!(share(&mut first), 0, "nobody has read what it found");
    share(&mut second);
    assert_eq!((free().as_str(), share(&mut first)), ("0", 1));
}

#[test]
fn shards_are_taken_by_workers_that_have_begun() {
    let Some(place) = PgPlace::new() else { return };
    let first = join(&place, 0);
    let mut second = join(&place, 1);
    drop(first);
    let mut third = join(&place, 2);
    let owners = |which: &str| place.sql(&format!("select count(*) from shard where owner {which}"));
    assert_eq!(owners("is null"), "256", "nobody has begun");
    third.share(&[], &mut |_| Vec::new()).unwrap();
    assert_eq!(owners("= 2"), "256");
    eventually(|| {
        second.share(&[], &mut |_| Vec::new()).unwrap();
        third.share(&[], &mut |_| Vec::new()).unwrap();
        (owners("= 1") == "128" && owners("= 2") == "128").then_some(())
    });
}

#[test]
fn urls_of_shards_that_change_hands_stay_in_the_order() {
    let Some(place) = PgPlace::new() else { return };
    let mut first = join(&place, 0);
    first.announce(1);
    // A worker gives up its last shards first: those with the better URLs.
    let site = |number: u32| {
        let url = porthole_types::CanonicalUrl::parse(&format!("http://host{number}.test/")).unwrap();
        let priority = if url.site().0 >> 56 >= 128 { 9.0 } else { 1.0 };
        porthole_types::NewUrl { url, relevance: 0.5, priority, depth: 0 }
    };
    let starts: Vec<_> = (0..3_000).map(site).collect();
    first.add(&starts).unwrap();
    assert_eq!(first.in_turn(1), 1);
    let best = first.take(1, Timestamp(1)).unwrap().remove(0);
    assert_eq!(best.priority, 9.0);
    let mut second = join(&place, 1);
    second.announce(1);
    second.share(&[], &mut |_| Vec::new()).unwrap();
    // While its sites are busy, the first one keeps its shards.
    let leaving = eventually(|| {
        let busy: Vec<SiteId> = starts.iter().map(|start| start.url.site()).collect();
        Some(first.share(&busy, &mut |_| Vec::new()).unwrap()).filter(|leaving| !leaving.is_empty())
    });
    assert!(leaving.iter().all(|site| site.0 >> 56 >= 128));
    let is_told = |store: &TableStore| store.best_of_others().first() == Some(&9.0);
    assert_eq!(first.in_turn(1), 0, "it does not take worse ones meanwhile");
    first.give_back(&[best.oid]).unwrap();
    // Nobody has them now. Not so long ago, even if the test was interrupted.
    let owners = |which: &str| place.sql(&format!("select count(*) from shard where owner {which}"));
    first.share(&[], &mut |_| Vec::new()).unwrap();
    assert_eq!((owners("= 0"), owners("is null"), owners("= 1")), ("128".into(), "128".into(), "0".into()));
    place.sql("update shard set free_from = clock_timestamp() where owner is null");
    first.share(&[], &mut |_| Vec::new()).unwrap();
    assert_eq!(first.in_turn(1), 0, "URLs of shards without an owner are in nobody's order");
    // They are not waited for without end.
    let age = |seconds: u32| {
        place.sql(&format!(
            "update shard set free_from = clock_timestamp() - {seconds} * interval '1 second' \
             where owner is null or best is not null"
        ));
    };
    age(6);
    first.share(&[], &mut |_| Vec::new()).unwrap();
    assert_eq!((first.in_turn(1), first.best_of_others().len()), (1, 0));
    // Nor are letters to them, which nobody has read.
    fetch_linking_to_others(&mut first);
    assert_eq!(first.in_turn(1), 0);
    first.share(&[], &mut |_| Vec::new()).unwrap();
    assert_eq!(first.in_turn(1), 1);
    age(0);
    // As soon as the second one has them, it tells of them.
    second.share(&[], &mut |_| Vec::new()).unwrap();
    assert_eq!((owners("= 1"), owners("= 1 and best is not null")), ("128".into(), "0".into()));
    first.share(&[], &mut |_| Vec::new()).unwrap();
    assert!(is_told(&first) && !is_told(&second));
    assert_eq!((first.in_turn(1), second.in_turn(1)), (0, 1));
    assert_eq!(second.take(1, Timestamp(1)).unwrap()[0].priority, 9.0);
    // One that ends leaves its URLs in the order, too.
    drop(second);
    age(0);
    first.share(&[], &mut |_| Vec::new()).unwrap();
    assert!(owners("is null") == "0" || first.in_turn(1) == 0);
}

#[test]
fn who_comes_is_sent_what_others_have_learnt_before_it_gets_sites() {
    let Some(place) = PgPlace::new() else { return };
    let mut first = join(&place, 0);
    assert!(first.memory_asked_by().is_empty());
    let mut second = join(&place, 1);
    second.ask_for_memory(true).unwrap();
    second.share(&[], &mut |_| Vec::new()).unwrap();
    let asking = eventually(|| {
        first.share(&[], &mut |_| Vec::new()).unwrap();
        Some(first.memory_asked_by()).filter(|asking| !asking.is_empty())
    });
    assert_eq!((asking, second.memory_asked_by()), (vec![1], vec![]));
    let owners = || place.sql("select count(*) from shard where owner = 0");
    assert_eq!(owners(), "256", "it was given sites before the answer");
    first.send_memory(1, Some(b"owls")).unwrap();
    assert!(first.memory_asked_by().is_empty());
    first.share(&[], &mut |_| panic!("it is for the second one")).unwrap();
    assert_eq!(owners(), "128");
    let mut shown = Vec::new();
    second
        .share(&[], &mut |memory| {
            shown.push(memory.to_vec());
            Vec::new()
        })
        .unwrap();
    assert_eq!(shown, [b"owls"]);
    second.share(&[], &mut |_| panic!("it was shown already")).unwrap();
    // Nothing to send is an answer as well.
    second.ask_for_memory(true).unwrap();
    eventually(|| (first.memory_asked_by() == [1]).then_some(()));
    first.send_memory(1, None).unwrap();
    assert_eq!(place.sql("select count(*) from worker where asks <> 0"), "0");
}

#[test]
fn pages_are_shown_to_other_workers_once_and_in_order() {
    let Some(place) = PgPlace::new() else { return };
    let mut workers = vec![join(&place, 0), join(&place, 1)];
    settle(&mut workers, &place);
    assert!(workers[0].shows_pages());
    let starts: Vec<_> = (0..50).map(|number| new_url(number, 0.5, 0.5)).collect();
    workers[0].add(&starts).unwrap();
    workers[1].share(&[], &mut |_| Vec::new()).unwrap();
    let last = (0..50).rev().find(|&number| workers[1].owns(url(number).site())).unwrap();
    let shown = [b"one".to_vec(), b"two".to_vec()];
    assert_eq!(workers[0].commit(&Batch { shown: &shown, ..Batch::default() }).unwrap().told, 2);
    eventually(|| workers[1].has_news().then_some(()));
    let none: &[Vec<u8>] = &[];
    for (worker, expected) in [(1, &shown[..]), (1, none), (0, none)] {
        let mut seen = Vec::new();
        let mut learn = |page: &[u8]| {
            seen.push(page.to_vec());
            // One that is not this worker's is ignored.
            vec![(url(last).id(), 7.0), (UrlId(1), 8.0)]
        };
        workers[worker].share(&[], &mut learn).unwrap();
        assert_eq!(seen, expected, "worker {worker}");
    }
    assert!(!workers[1].has_news());
    let best = workers[1].take(1, Timestamp(1)).unwrap().remove(0);
    assert_eq!((best.oid, best.priority), (url(last).id(), 7.0));
}

/// A database that is opened as the only worker of a fleet.
pub(crate) struct OneWorker(pub(crate) PgPlace);

impl Backend for OneWorker {
    fn open(&self) -> Box<dyn Store> {
        Box::new(join(&self.0, 0))
    }
}

fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "it did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn workers_share_the_number_of_pages() {
    let Some(place) = PgPlace::new() else { return };
    let mut workers = vec![join(&place, 0), join(&place, 1)];
    settle(&mut workers, &place);
    workers[0].add(&[new_url(0, 1.0, 1.0)]).unwrap();
    // A quarter of what is left for each of two.
    assert_eq!(workers[0].reserve_pages(100, 64).unwrap(), 25);
    assert_eq!(workers[1].reserve_pages(100, 8).unwrap(), 8);
    let used = || place.sql("select sum(pages), sum(reserved) from worker");
    assert_eq!(used(), "0|33");
    let mut fetched = Vec::new();
    while fetched.len() < 20 {
        for store in &mut workers {
            store.share(&[], &mut |_| Vec::new()).unwrap();
            fetch(store, 1, &mut fetched);
        }
    }
    assert_eq!(place.sql("select sum(pages) from worker"), fetched.len().to_string());
    let mut last = 0;
    while let more @ 1.. = workers[0].reserve_pages(100, 64).unwrap() {
        last = more;
    }
    assert_eq!(last, 1, "the last parts are small");
    assert_eq!(place.sql("select sum(pages + reserved) >= 100 from worker"), "t");
    assert_eq!(workers[1].reserve_pages(100, 64).unwrap(), 0);
    // What a worker that is gone had reserved is free again, and what it fetched counts.
    drop(workers.remove(0));
    let second = &mut workers[0];
    let left = eventually(|| Some(second.reserve_pages(100, 64).unwrap()).filter(|&more| more > 0));
    assert!(left < 100 - fetched.len() as u64, "{left}");
    // It joins the same run again. A run without workers starts with a new budget.
    let again = join(&place, 0);
    assert_eq!(place.sql("select sum(pages) from worker"), fetched.len().to_string());
    drop(again);
    workers.clear();
    let comes_back = FleetSettings { comes_back: true, ..settings(0) };
    drop(TableStore::join(&place.location(), &comes_back).unwrap());
    assert_eq!(place.sql("select sum(pages) from worker"), fetched.len().to_string());
    drop(join(&place, 1));
    assert_eq!(used(), "0|0");
}

#[test]
fn sites_that_were_not_requested_change_hands_without_a_rest() {
    let Some(place) = PgPlace::new() else { return };
    let rests = |worker| FleetSettings { rest: Duration::from_secs(3_600), ..settings(worker) };
    let mut first = TableStore::join(&place.location(), &rests(0)).unwrap();
    let starts: Vec<_> = (0..2_000).map(|number| new_url(number, 0.5, 0.5)).collect();
    first.add(&starts).unwrap();
    let used = first.hold_sites(3, Timestamp(1)).unwrap();
    used.iter().for_each(|&site| first.release_site(site, None));
    let mut second = TableStore::join(&place.location(), &rests(1)).unwrap();
    let shards = || place.sql("select count(*) from shard where owner = 1");
    eventually(|| {
        first.share(&[], &mut |_| Vec::new()).unwrap();
        second.share(&[], &mut |_| Vec::new()).unwrap();
        (shards() == "128").then_some(())
    });
    assert!(used.iter().all(|&site| !second.owns(site)), "a site that was requested has not rested");
    drop(first);
    // Now all are free except for the shards of the three sites.
    let resting: BTreeSet<u64> = used.iter().map(|site| site.0 >> 56).collect();
    let wanted = (256 - resting.len()).to_string();
    eventually(|| {
        second.share(&[], &mut |_| Vec::new()).unwrap();
        (shards() == wanted).then_some(())
    });
    assert!(used.iter().all(|&site| !second.owns(site)));
}
