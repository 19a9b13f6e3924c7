//! The frontier compared with a reference model that sorts a plain list: the same work in the same order under every
//! policy, also when the store is closed and opened in between.

mod model;

use std::collections::{HashMap, HashSet};

use porthole_store::{
    Batch, DistilledScores, Estimate, NeighbourEvidence, Policy, Rejudged, Store, StoreCounts,
};
use porthole_types::{FailureKind, Judgment, LinkRow, Outcome, PageResult, Timestamp, TopicId, UrlId, Work};
use proptest::prelude::*;

use self::model::{State, Twin};
use crate::web::{Place, failure, link, new_url, oid, page, retry, take, url, with_outcome};

#[derive(Clone, Debug)]
enum Step {
    Add {
        number: u64,
        value: f64,
    },
    /// Many URLs with equal keys.
    Flood {
        value: f64,
    },
    Take {
        n: usize,
        wait: i64,
    },
    TakeThese {
        numbers: Vec<u64>,
        wait: i64,
    },
    Fetched {
        number: u64,
        links: Vec<(u64, f64)>,
        /// Whether a full queue makes room before each link.
        makes_room: bool,
    },
    Dead {
        number: u64,
    },
    Retry {
        number: u64,
        wait: i64,
    },
    QueueAgain {
        number: u64,
    },
    Set {
        number: u64,
        value: f64,
    },
    Raise {
        number: u64,
        value: f64,
    },
    Judge {
        number: u64,
        value: f64,
    },
    GiveBack {
        number: u64,
    },
    Score {
        scores: Vec<(u64, f64)>,
    },
    Follow {
        policy: &'static str,
    },
    Bound {
        most: Option<usize>,
    },
    Switch {
        number: u64,
        disabled: bool,
    },
    Tidy,
    Reopen,
}

/// A link with this value must not be followed.
const REJECTED: f64 = 0.0;

/// Numbers that come one by one; a bulk step adds those from here on.
const FEW: u64 = 24;
const MANY: u64 = FEW + 90;

const POLICIES: &[&str] = &[
    "revisit desc, numtries asc, priority desc",
    "discovery",
    "spread",
    "relevance",
    "hard",
    "refresh",
    "repair",
    "serverload asc, relevance desc, discovered desc",
    "priority desc, serverload desc, numtries asc, hub desc",
    "numtries desc, visits asc, lastvisited desc",
    "discovered desc",
    "neighbourhood desc, priority desc",
    "serverload asc, neighbourhood asc",
];

/// The site of a number's URL.
fn site(number: u64) -> u64 {
    number / 10
}

fn run(steps: &[Step]) {
    let place = Place::new();
    let (mut store, mut twin, mut now) = (Some(place.open()), Twin::default(), 0);
    for step in steps {
        if matches!(step, Step::Reopen) {
            drop(store.take());
            twin.reopen();
            store = Some(place.open());
        }
        let store = store.as_mut().expect("open between steps");
        apply(step, store, &mut twin, &mut now);
        check(store, &twin);
    }
    let rest = twin.take(usize::MAX, i64::MAX);
    let store = store.as_mut().expect("open between steps");
    assert_eq!(take(store, usize::MAX, i64::MAX), rest.iter().map(|&n| oid(n)).collect::<Vec<_>>());
}

fn check(store: &dyn Store, twin: &Twin) {
    let counts = store.counts();
    let states = [State::Queued, State::Fetched, State::Dead, State::Evicted, State::Rejected];
    assert_eq!(
        [counts.queued, counts.fetched, counts.dead, counts.evicted, counts.rejected],
        states.map(|state| twin.count(state))
    );
    assert_eq!((counts.in_flight, counts.parked), (twin.taken.len(), twin.parked()));
    assert_eq!((counts.known, counts.links), (twin.known.len(), twin.links.len()));
    // Only the memory knows what is in flight, or became due on a disabled site since the last write.
    let read = store.reader().counts().unwrap();
    assert_eq!(read, StoreCounts { in_flight: 0, parked: read.parked, ..counts });
}

fn apply(step: &Step, store: &mut dyn Store, twin: &mut Twin, now: &mut i64) {
    match step {
        Step::Add { number, value } => add(store, twin, &[*number], *value),
        Step::Flood { value } => add(store, twin, &(FEW..MANY).collect::<Vec<_>>(), *value),
        Step::Take { n, wait } => {
            *now += wait;
            let expected = twin.take(*n, *now);
            compare(twin, &expected, &store.take(*n, Timestamp(*now)).unwrap());
        }
        Step::TakeThese { numbers, wait } => {
            *now += wait;
            let expected = twin.take_these(numbers, *now);
            let oids: Vec<UrlId> = numbers.iter().map(|&number| oid(number)).collect();
            compare(twin, &expected, &store.take_these(&oids, Timestamp(*now)).unwrap());
        }
        Step::Fetched { number, links, makes_room } => {
            let mut seen = HashSet::new();
            let links: Vec<_> = links.iter().filter(|(target, _)| seen.insert(*target)).collect();
            let rows = links.iter().map(|(target, value)| match *value {
                REJECTED => LinkRow { rejected: true, ..link(*target, 0.5, 0.0) },
                value => link(*target, value, value - 0.5),
            });
            let rows = rows.collect();
            if twin.tried(*number, State::Fetched, None, *now) {
                twin.judge(*number, 0.125);
                let mut newest = None;
                for (target, value) in links {
                    if *value == REJECTED {
                        twin.reject(*target, 0.5);
                    } else {
                        if *makes_room {
                            twin.make_room(*target);
                        }
                        if twin.is_added_by_link(*target) {
                            newest = Some(*target);
                        }
                        twin.see(*target, *value, *value - 0.5);
                    }
                    twin.links.insert((*number, *target));
                }
                twin.trim_but(newest.filter(|_| *makes_room));
                let result = [at(page(*number, 0.125, rows), *now)];
                let batch = Batch { results: &result, protect_newest: *makes_room, ..Batch::default() };
                store.commit(&batch).unwrap();
            }
        }
        Step::Dead { number } => {
            if twin.tried(*number, State::Dead, None, *now) {
                let result = with_outcome(*number, Outcome::Dead(failure(FailureKind::Status)));
                commit(store, twin, result, *now);
            }
        }
        Step::Retry { number, wait } => {
            let due = *now + wait;
            if twin.tried(*number, State::Queued, Some(due), *now) {
                commit(store, twin, retry(*number, due), *now);
            }
        }
        Step::GiveBack { number } => {
            if twin.give_back(*number) {
                store.give_back(&[oid(*number)]).unwrap();
            }
        }
        Step::Tidy => store.tidy().unwrap(),
        Step::Reopen => {}
        _ => rule(step, store, twin),
    }
}

/// The steps that change estimates, or the order.
fn rule(step: &Step, store: &mut dyn Store, twin: &mut Twin) {
    let batch = |store: &mut dyn Store, batch: Batch<'_>| {
        store.commit(&batch).unwrap();
    };
    let estimate = |number, value| [Estimate { oid: oid(number), relevance: value, priority: value }];
    match *step {
        Step::Set { number, value } if twin.find(number).is_some() => {
            twin.set(number, value);
            twin.trim();
            batch(store, Batch { estimates: &estimate(number, value), ..Batch::default() });
        }
        Step::Raise { number, value } if twin.find(number).is_some() => {
            twin.see(number, value, value);
            twin.trim();
            batch(store, Batch { raised: &estimate(number, value), ..Batch::default() });
        }
        Step::Judge { number, value } if twin.find(number).is_some() => {
            twin.judge(number, value);
            twin.trim();
            let judgment = Judgment { relevance: value, best: TopicId(3) };
            let judgments = [Rejudged { oid: oid(number), judgment }];
            batch(store, Batch { judgments: &judgments, ..Batch::default() });
        }
        Step::QueueAgain { number } if twin.find(number).is_some() => {
            let queued = twin.queue_again(number);
            twin.trim();
            assert_eq!(store.queue_again(&[oid(number)]).unwrap(), queued);
        }
        Step::Score { ref scores } => {
            let known: HashSet<u64> = twin.known.iter().map(|known| known.number).collect();
            let scored = |add: u64| scores.iter().map(move |&(number, score)| (number + add, score));
            twin.hubs = scored(0).filter(|(number, _)| known.contains(number)).collect();
            twin.auth = scored(1).filter(|(number, _)| known.contains(number)).collect();
            let changed = scored(2).filter(|(number, _)| known.contains(number));
            let changed: HashMap<u64, f64> = changed.collect();
            let row = |(&number, &relevance): (&u64, &f64)| NeighbourEvidence {
                oid: oid(number),
                relevance,
                own: 0.5,
                sites: 1,
                evidence: 0.5,
            };
            let neighbourhoods: Vec<NeighbourEvidence> = changed.iter().map(row).collect();
            twin.neighbourhoods.extend(changed);
            let list = |of: &HashMap<u64, f64>| of.iter().map(|(&n, &s)| (oid(n), s)).collect::<Vec<_>>();
            store
                .set_scores(&DistilledScores {
                    hubs: &list(&twin.hubs),
                    auth: &list(&twin.auth),
                    neighbourhoods: &neighbourhoods,
                })
                .unwrap();
        }
        Step::Follow { policy } => {
            twin.policy = Policy::parse(policy).unwrap();
            store.set_policy(&twin.policy).unwrap();
        }
        Step::Bound { most } => {
            twin.bound = most;
            twin.trim();
            store.bound(most).unwrap();
        }
        Step::Switch { number, disabled } => {
            let changes = if disabled {
                twin.disabled.insert(site(number))
            } else {
                twin.disabled.remove(&site(number))
            };
            if changes {
                twin.trim();
            }
            store.switch_sites(&[(url(number).authority(), disabled)]).unwrap();
        }
        _ => {}
    }
}

fn add(store: &mut dyn Store, twin: &mut Twin, numbers: &[u64], value: f64) {
    for &number in numbers {
        twin.see(number, value, value);
    }
    twin.trim();
    store.add(&numbers.iter().map(|&number| new_url(number, value, value)).collect::<Vec<_>>()).unwrap();
}

fn commit(store: &mut dyn Store, twin: &mut Twin, result: PageResult, now: i64) {
    twin.trim();
    store.commit(&Batch { results: &[at(result, now)], ..Batch::default() }).unwrap();
}

/// A result of this time. Times are compared by the second.
fn at(result: PageResult, now: i64) -> PageResult {
    PageResult { at: Timestamp(now * 1000), ..result }
}

fn compare(twin: &mut Twin, expected: &[u64], work: &[Work]) {
    let beliefs = expected.iter().map(|&number| {
        let known = twin.find(number).unwrap();
        (oid(number), known.relevance, known.priority, known.tries)
    });
    let taken = work.iter().map(|work| (work.oid, work.relevance, work.priority, work.numtries));
    assert_eq!(taken.collect::<Vec<_>>(), beliefs.collect::<Vec<_>>());
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Few numbers and values, so that URLs are met again and ties are common.
    let number = || prop_oneof![9 => 0..FEW, 1 => FEW..MANY];
    let value = || (0..=8_u8).prop_map(|eighths| f64::from(eighths) / 8.0);
    let both = move || (number(), value());
    let links = move || proptest::collection::vec(both(), 0..8);
    let step = prop_oneof![
        6 => both().prop_map(|(number, value)| Step::Add { number, value }),
        1 => value().prop_map(|value| Step::Flood { value }),
        12 => (0..6_usize, 0..20_i64).prop_map(|(n, wait)| Step::Take { n, wait }),
        2 => (proptest::collection::vec(number(), 0..6), 0..20_i64)
            .prop_map(|(numbers, wait)| Step::TakeThese { numbers, wait }),
        12 => (number(), links(), any::<bool>())
            .prop_map(|(number, links, makes_room)| Step::Fetched { number, links, makes_room }),
        2 => number().prop_map(|number| Step::Dead { number }),
        4 => (number(), 0..40_i64).prop_map(|(number, wait)| Step::Retry { number, wait }),
        4 => number().prop_map(|number| Step::QueueAgain { number }),
        3 => both().prop_map(|(number, value)| Step::Set { number, value }),
        3 => both().prop_map(|(number, value)| Step::Raise { number, value }),
        3 => both().prop_map(|(number, value)| Step::Judge { number, value }),
        2 => number().prop_map(|number| Step::GiveBack { number }),
        2 => links().prop_map(|scores| Step::Score { scores }),
        4 => proptest::sample::select(POLICIES).prop_map(|policy| Step::Follow { policy }),
        2 => proptest::option::weighted(0.7, 0..12_usize).prop_map(|most| Step::Bound { most }),
        2 => (number(), any::<bool>()).prop_map(|(number, disabled)| Step::Switch { number, disabled }),
        2 => Just(Step::Tidy),
        4 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..80)
}

#[test]
fn a_queue_that_is_too_full_after_a_restart_makes_room() {
    run(&[
        Step::Flood { value: 0.25 },
        Step::Bound { most: Some(1) },
        Step::Add { number: 18, value: 0.0 },
        Step::Switch { number: 0, disabled: true },
        Step::Take { n: 1, wait: 0 },
        Step::Add { number: 10, value: 0.0 },
        // What was taken is queued again, beside what was added in its place.
        Step::Reopen,
        Step::Fetched { number: 18, links: vec![(11, 0.125), (0, 0.125)], makes_room: true },
        Step::Take { n: 0, wait: 0 },
    ]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_and_its_twin_agree(steps in steps()) {
        run(&steps);
    }
}
