//! The frontier against a twin that keeps a plain list and sorts it: the same work in the same order, also
//! when the store is closed and opened in between.

use std::collections::HashSet;

use porthole_store::{Batch, Estimate, Store};
use porthole_types::Timestamp;
use proptest::prelude::*;

use crate::web::{Place, commit, link, new_url, oid, page, retry, take};

#[derive(Clone, Debug)]
enum Step {
    Add { number: u64, value: f64 },
    Take { n: usize, wait: i64 },
    Fetched { number: u64, links: Vec<(u64, f64)> },
    Retry { number: u64, wait: i64 },
    Set { number: u64, value: f64 },
    GiveBack { number: u64 },
    Tidy,
    Reopen,
}

/// One URL as the twin sees it.
#[derive(Debug)]
struct Known {
    number: u64,
    relevance: f64,
    priority: f64,
    numtries: u32,
    not_before: i64,
    done: bool,
}

#[derive(Debug, Default)]
struct Twin {
    known: Vec<Known>,
    taken: HashSet<u64>,
}

impl Twin {
    fn find(&mut self, number: u64) -> Option<&mut Known> {
        self.known.iter_mut().find(|known| known.number == number)
    }

    fn see(&mut self, number: u64, relevance: f64, priority: f64) {
        match self.find(number) {
            Some(known) if known.done => {}
            Some(known) => {
                known.relevance = known.relevance.max(relevance);
                known.priority = known.priority.max(priority);
            }
            None => {
                let (numtries, not_before, done) = (0, i64::MIN, false);
                self.known.push(Known { number, relevance, priority, numtries, not_before, done });
            }
        }
    }

    fn take(&mut self, n: usize, now: i64) -> Vec<u64> {
        let due = |known: &&Known| !known.done && known.not_before <= now;
        let mut due: Vec<_> =
            self.known.iter().filter(due).filter(|known| !self.taken.contains(&known.number)).collect();
        // Stable, so ties stay in the order of insertion.
        due.sort_by(|a, b| a.numtries.cmp(&b.numtries).then(b.priority.total_cmp(&a.priority)));
        let numbers: Vec<u64> = due.iter().take(n).map(|known| known.number).collect();
        self.taken.extend(&numbers);
        numbers
    }
}

fn run(steps: &[Step]) {
    let place = Place::new();
    let (mut store, mut twin, mut now) = (Some(place.open()), Twin::default(), 0);
    for step in steps {
        if matches!(step, Step::Reopen) {
            drop(store.take());
            twin.taken.clear();
            store = Some(place.open());
        }
        let store = store.as_mut().expect("open between steps");
        apply(step, store, &mut twin, &mut now);
        let queued = twin.known.iter().filter(|known| !known.done).count();
        assert_eq!((store.counts().queued, store.counts().in_flight), (queued, twin.taken.len()));
    }
    let rest = twin.take(usize::MAX, i64::MAX);
    let store = store.as_mut().expect("open between steps");
    assert_eq!(take(store, usize::MAX, i64::MAX), rest.iter().map(|&n| oid(n)).collect::<Vec<_>>());
}

fn apply(step: &Step, store: &mut dyn Store, twin: &mut Twin, now: &mut i64) {
    match step {
        Step::Add { number, value } => {
            twin.see(*number, *value, *value);
            store.add(&[new_url(*number, *value, *value)]).unwrap();
        }
        Step::Take { n, wait } => {
            *now += wait;
            let expected = twin.take(*n, *now);
            let work = store.take(*n, Timestamp(*now)).unwrap();
            let beliefs = expected.iter().map(|&number| {
                let known = twin.known.iter().find(|known| known.number == number).unwrap();
                (oid(number), known.relevance, known.priority, known.numtries)
            });
            let taken = work.iter().map(|work| (work.oid, work.relevance, work.priority, work.numtries));
            assert_eq!(taken.collect::<Vec<_>>(), beliefs.collect::<Vec<_>>());
        }
        Step::Fetched { number, links } => {
            let Some(known) = twin.find(*number) else { return };
            (known.done, known.numtries, known.relevance) = (true, known.numtries + 1, 0.125);
            twin.taken.remove(number);
            for &(target, value) in links {
                twin.see(target, value, 1.0 - value);
            }
            let links = links.iter().map(|&(target, value)| link(target, value, 1.0 - value)).collect();
            commit(store, &[page(*number, 0.125, links)]);
        }
        Step::Retry { number, wait } => {
            let due = *now + wait;
            let Some(known) = twin.find(*number) else { return };
            (known.done, known.numtries, known.not_before) = (false, known.numtries + 1, due);
            twin.taken.remove(number);
            commit(store, &[retry(*number, due)]);
        }
        Step::Set { number, value } => {
            let Some(known) = twin.find(*number).filter(|known| !known.done) else { return };
            (known.relevance, known.priority) = (*value, *value);
            let estimates = [Estimate { oid: oid(*number), relevance: *value, priority: *value }];
            store.commit(&Batch { estimates: &estimates, ..Batch::default() }).unwrap();
        }
        Step::GiveBack { number } => {
            if twin.taken.remove(number) {
                store.give_back(&[oid(*number)]).unwrap();
            }
        }
        Step::Tidy => store.tidy().unwrap(),
        Step::Reopen => {}
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Few numbers and few values, so that URLs meet again and ties are common.
    let number = 0..24_u64;
    let value = (0..=8_u8).prop_map(|eighths| f64::from(eighths) / 8.0);
    let links = proptest::collection::vec((number.clone(), value.clone()), 0..8);
    let step = prop_oneof![
        3 => (number.clone(), value.clone()).prop_map(|(number, value)| Step::Add { number, value }),
        5 => (0..6_usize, 0..20_i64).prop_map(|(n, wait)| Step::Take { n, wait }),
        6 => (number.clone(), links).prop_map(|(number, links)| Step::Fetched { number, links }),
        2 => (number.clone(), 0..40_i64).prop_map(|(number, wait)| Step::Retry { number, wait }),
        2 => (number.clone(), value).prop_map(|(number, value)| Step::Set { number, value }),
        1 => number.prop_map(|number| Step::GiveBack { number }),
        1 => Just(Step::Tidy),
        2 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_and_its_twin_agree(steps in steps()) {
        run(&steps);
    }
}
