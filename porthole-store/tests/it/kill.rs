//! A writer that is killed at any time leaves complete batches and nothing else.
//!
//! The test runs its own binary as the writer, which commits numbered batches with known contents until it is killed.

use std::process::{Command, Stdio};
use std::time::Duration;

use porthole_store::{Batch, DatabaseLocation, Store, StoreReader, TableReader, TableStore};
use porthole_types::{PageResult, Timestamp};

use crate::postgres::PgPlace;
use crate::web::{link, new_url, oid, page};

const WRITER: &str = "PORTHOLE_STORE_WRITER";
const KILLS: u64 = 20;
const KILLS_ON_POSTGRES: u64 = 8;
/// Number of batches after which a new database is started, since checking a large one takes long.
const KILLS_A_DATABASE: u64 = 4;
/// Pages per batch, and links per page, each to a new URL except one, which raises a known URL.
const PAGES: u64 = 20;
const LINKS: u64 = 6;
/// URLs before the first batch.
const STARTS: u64 = PAGES;

/// Runs the writer; without the environment variable it is an empty test.
#[test]
fn writer() {
    let Ok(database) = std::env::var(WRITER) else { return };
    let mut store = TableStore::open_at(&location(&database)).unwrap();
    if store.counts().known == 0 {
        store
            .add(&(0..STARTS).map(|number| new_url(number, 0.0, -(number as f64))).collect::<Vec<_>>())
            .unwrap();
    }
    for batch in committed(&store).. {
        let mut pages = results(batch);
        pages.extend(batch.checked_sub(1).map(revisited));
        let done = (batch + 1).to_string();
        let settings = [("batches", done.as_str())];
        store.commit(&Batch { results: &pages, settings: &settings, ..Batch::default() }).unwrap();
        store.queue_again(&[revisited(batch).oid]).unwrap();
        if batch % 16 == 15 {
            store.tidy().unwrap();
        }
    }
}

#[test]
fn a_kill_at_any_moment_leaves_whole_batches() {
    let mut batches = 0;
    for database in 0..KILLS / KILLS_A_DATABASE {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("porthole.db");
        let mut before = 0;
        for kill in 0..KILLS_A_DATABASE {
            // Times spread over opening, writing, sweeps and checkpoints.
            run_writer_for(&path, Duration::from_millis(30 + (database * 61 + kill * 37) % 190));
            let now = check(&DatabaseLocation::File(path.clone()));
            assert!(now >= before, "{now} batches after {before}");
            before = now;
        }
        batches += before;
    }
    assert!(batches > KILLS, "only {batches} batches were written");
}

/// The same on PostgreSQL: the server ends what the writer had begun. Opening takes longer there.
#[test]
fn a_kill_at_any_moment_leaves_whole_batches_on_postgresql() {
    let Some(place) = PgPlace::new() else { return };
    drop(place.open());
    let mut before = 0;
    for kill in 0..KILLS_ON_POSTGRES {
        run_writer_for(place.url(), Duration::from_millis(150 + kill * 61 % 400));
        let now = check(&place.location());
        assert!(now >= before, "{now} batches after {before}");
        before = now;
    }
    assert!(before > KILLS_ON_POSTGRES, "only {before} batches were written");
}

fn location(text: &str) -> DatabaseLocation {
    match DatabaseLocation::is_url(text) {
        true => DatabaseLocation::Postgres(text.to_owned()),
        false => DatabaseLocation::File(text.into()),
    }
}

fn run_writer_for(database: impl AsRef<std::ffi::OsStr>, time: Duration) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::writer", "--test-threads=1"])
        .env(WRITER, database)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(time);
    assert!(child.try_wait().unwrap().is_none(), "the writer ended by itself");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Opens the database, and compares memory, tables and the expected contents. Returns the number of batches.
fn check(database: &DatabaseLocation) -> u64 {
    let mut store = TableStore::open_at(database).unwrap();
    let (batches, counts) = (committed(&store), store.counts());
    let whole = |count: u64| usize::try_from(count).unwrap();
    if counts.known == 0 {
        return 0;
    }
    // A page of the last batch may be queued again.
    let again = counts.queued - whole(STARTS + batches * PAGES * (LINKS - 1) - batches * PAGES);
    assert!(again <= 1);
    assert_eq!(counts.fetched + again, whole(batches * PAGES));
    assert_eq!(counts.links, whole(batches * PAGES * LINKS));
    assert_eq!(counts.known, whole(STARTS + batches * PAGES * (LINKS - 1)));
    let reader = TableReader::open_at(database).unwrap();
    let graph = reader.graph().unwrap();
    assert_eq!((graph.nodes.len(), graph.edges.len()), (counts.known, counts.links));
    let known = (0..counts.known as u64).map(oid);
    assert!(graph.nodes.iter().map(|node| node.oid).eq(known), "every URL in the order of discovery");
    check_last_batch(&graph, batches);
    check_order(&mut store, batches);
    batches
}

/// Checks that the last batch is complete.
fn check_last_batch(graph: &porthole_store::LinkGraph, batches: u64) {
    let Some(last) = batches.checked_sub(1) else { return };
    let expected: Vec<_> = results(last)
        .iter()
        .flat_map(|r| r.links.iter().map(|l| (r.oid, l.oid)).collect::<Vec<_>>())
        .collect();
    let edges = graph.edges[graph.edges.len() - expected.len()..].iter();
    let found: Vec<_> =
        edges.map(|e| (graph.nodes[e.src as usize].oid, graph.nodes[e.dst as usize].oid)).collect();
    assert_eq!(found, expected);
}

/// Checks the order of the queue: by priority, which falls with the number, except for raised URLs.
fn check_order(store: &mut TableStore, batches: u64) {
    let fetched = batches * PAGES;
    let known = STARTS + batches * PAGES * (LINKS - 1);
    let mut queued: Vec<(u64, f64)> = (fetched..known).map(|number| (number, -(number as f64))).collect();
    for batch in 0..batches {
        for (number, priority) in raises(batch) {
            if let Some(at) =
                number.checked_sub(fetched).and_then(|at| queued.get_mut(usize::try_from(at).unwrap()))
            {
                at.1 = at.1.max(priority);
            }
        }
    }
    queued.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let work = store.take(usize::MAX, Timestamp(i64::MAX)).unwrap();
    let again = batches.checked_sub(1).map(|last| revisited(last).oid);
    let found = work.iter().filter(|work| Some(work.oid) != again);
    let found: Vec<_> = found.map(|work| (work.oid, work.priority)).collect();
    assert_eq!(found, queued.iter().map(|&(number, priority)| (oid(number), priority)).collect::<Vec<_>>());
}

fn committed(store: &dyn Store) -> u64 {
    store.setting("batches").unwrap().map_or(0, |text| text.parse().unwrap())
}

/// The URLs are fetched in the order of their numbers.
fn results(batch: u64) -> Vec<PageResult> {
    let raises = raises(batch);
    (0..PAGES)
        .zip(raises)
        .map(|(at, (known, priority))| {
            let number = batch * PAGES + at;
            let first = STARTS + number * (LINKS - 1);
            let mut links: Vec<_> =
                (first..first + LINKS - 1).map(|new| link(new, 0.0, -(new as f64))).collect();
            links.push(link(known, 0.0, priority));
            page(number, 0.5, links)
        })
        .collect()
}

/// The page of a batch that is queued again after it, and is fetched again with the next one, without new links.
fn revisited(batch: u64) -> PageResult {
    results(batch).swap_remove(0)
}

/// Known URLs that a batch raises, with their new priorities.
fn raises(batch: u64) -> Vec<(u64, f64)> {
    (0..PAGES)
        .map(|at| {
            let number = batch * PAGES + at;
            (number + 1 + number * 7 % (number * 4 + 1), (number % 97) as f64)
        })
        .collect()
}
