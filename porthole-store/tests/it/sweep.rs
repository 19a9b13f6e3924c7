//! The table follows the queue in slices, and a kill in between loses nothing.

use porthole_store::{Batch, QueryLimits, Store};
use porthole_types::{Timestamp, UrlId};

use crate::web::{Place, new_url, oid};

const URLS: u64 = 30_000;
/// Number of URLs with a changed priority, and how often each changes: enough for a sweep to be due.
const CHANGED: u64 = 25_000;
const CHANGES: u64 = 3;

/// The priority of a number after all were changed, and of some that change again during the sweep.
fn priority(number: u64, again: bool) -> f64 {
    match number {
        n if again && n % 1_000 == 7 => 2.0 + n as f64,
        n if n < CHANGED => 1.0 + (n * 7_919 % CHANGED) as f64 / CHANGED as f64,
        _ => 0.5,
    }
}

fn change(store: &mut dyn Store, numbers: impl Iterator<Item = u64>, again: bool) {
    let priorities: Vec<(UrlId, f64)> = numbers.map(|n| (oid(n), priority(n, again))).collect();
    store.commit(&Batch { priorities: &priorities, ..Batch::default() }).unwrap();
}

/// Numbers of rows of the table with an outdated priority, and of changes in the log.
fn behind(store: &dyn Store) -> (usize, usize) {
    let limits = QueryLimits { rows: usize::MAX, ..QueryLimits::default() };
    let answer = store.reader().sql("select priority from crawl order by rowid", &limits).unwrap();
    let shown = answer.rows.iter().map(|row| crate::contract::shown(&row[0]).parse::<f32>().unwrap());
    let other = (0..URLS).zip(shown).filter(|&(n, shown)| shown != priority(n, true) as f32).count();
    let raised = store.reader().sql("select count(*) from estimate_log", &limits).unwrap();
    (other, crate::contract::shown(&raised.rows[0][0]).parse().unwrap())
}

fn in_order() -> Vec<UrlId> {
    let mut numbers: Vec<u64> = (0..URLS).collect();
    numbers
        .sort_by(|&a, &b| (priority(b, true) as f32).total_cmp(&(priority(a, true) as f32)).then(a.cmp(&b)));
    numbers.into_iter().map(oid).collect()
}

#[test]
fn a_sweep_that_is_cut_short_is_made_up_for() {
    let (expected, changed) = (in_order(), Place::new());
    let mut store = changed.open();
    store.add(&(0..URLS).map(|n| new_url(n, 0.5, 0.5)).collect::<Vec<_>>()).unwrap();
    assert!(!store.catch_up().unwrap(), "nothing has changed");
    for earlier in 1..CHANGES {
        let priorities: Vec<(UrlId, f64)> = (0..CHANGED).map(|n| (oid(n), (n + earlier) as f64)).collect();
        store.commit(&Batch { priorities: &priorities, ..Batch::default() }).unwrap();
        assert!(!store.catch_up().unwrap(), "a sweep is not due yet");
    }
    change(&mut store, 0..CHANGED, false);
    drop(store);
    for pieces in [1, 6, 14, 40] {
        let place = Place::new();
        std::fs::copy(changed.path(), place.path()).unwrap();
        let mut store = place.open();
        assert!((0..pieces.min(5)).all(|_| store.catch_up().unwrap()));
        // Some of them on either side of the current position of the sweep.
        change(&mut store, (0..URLS).filter(|n| n % 1_000 == 7), true);
        let rest = (5..pieces).take_while(|_| store.catch_up().unwrap()).count();
        let (other, raised) = behind(&store);
        match pieces {
            // Only changes behind the sweep are left, and are in the log.
            40 => assert!(rest < 20 && other > 0 && other < 30 && raised == 30, "{rest}, {other}, {raised}"),
            14 => assert!(
                other < 30 && (30..=CHANGES as usize * 25_000 - 20_000 + 30).contains(&raised),
                "{other}, {raised}"
            ),
            _ => assert!(
                other > 5_000 && raised as u64 == CHANGES * CHANGED + 30,
                "{pieces}: {other}, {raised}"
            ),
        }
        drop(store);
        let mut store = place.open();
        let work = store.take(usize::MAX, Timestamp(0)).unwrap();
        assert!(work.iter().map(|work| work.oid).eq(expected.iter().copied()), "after {pieces} pieces");
        store.tidy().unwrap();
        assert_eq!(behind(&store), (0, 0), "after {pieces} pieces");
    }
}
