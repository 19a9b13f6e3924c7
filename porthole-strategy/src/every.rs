//! Tests that hold for every strategy in the catalogue.

use porthole_types::CanonicalUrl;

use crate::harness::{Harness, TestWeb, goal};
use crate::{NAMES, StateError, named};

/// All names, and some with parameters that change the saved state.
fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied().chain(["best-4:rank=kwpr,buffer=20", "best-adaptive:rank=kwpr"])
}

const WORDS: &str = "owl hawk feather";

#[test]
fn replayed_and_restored_strategies_behave_identically() {
    for name in names() {
        for seed in 0..3 {
            let (web, goal) = (TestWeb::drawn(seed, 90), goal(WORDS, seed));
            let starts = web.first(3);
            let mut whole = Harness::new(&web, name, &goal, &starts);
            let way = whole.run(usize::MAX);
            for cut in [1, 7, 26, 60] {
                let mut first = Harness::new(&web, name, &goal, &starts);
                first.run(cut);
                let mut again = first.resumed(name, &goal, None);
                assert_eq!(again.strategy.save(), first.strategy.save(), "{name} replayed after {cut}");
                assert_eq!(again.run(usize::MAX), way, "{name} replayed after {cut}");
                if let Some(saved) = first.strategy.save() {
                    let mut restored = first.resumed(name, &goal, Some(&saved));
                    assert_eq!(restored.strategy.save(), Some(saved), "{name} restored after {cut}");
                    assert_eq!(restored.run(usize::MAX), way, "{name} restored after {cut}");
                    assert_eq!(restored.strategy.save(), whole.strategy.save(), "{name} at the end");
                }
            }
        }
    }
}

#[test]
fn damaged_state_is_rejected() {
    for name in names() {
        let (web, goal) = (TestWeb::drawn(1, 60), goal(WORDS, 1));
        let mut crawl = Harness::new(&web, name, &goal, &web.first(3));
        crawl.run(40);
        let Some(saved) = crawl.strategy.save() else { continue };
        for length in (0..saved.len()).step_by(1 + saved.len() / 200) {
            let restored = named(name, &goal).unwrap().restore(&saved[..length]);
            assert_eq!(restored, Err(StateError::Damaged), "{name}: {length} of {} bytes", saved.len());
        }
        let longer = [&saved[..], &[0]].concat();
        assert_eq!(named(name, &goal).unwrap().restore(&longer), Err(StateError::Damaged), "{name}");
    }
}

#[test]
fn priorities_are_numbers_and_starts_come_first() {
    for name in names() {
        let (web, goal) = (TestWeb::drawn(5, 60), goal(WORDS, 5));
        let starts = web.first(3);
        let mut crawl = Harness::new(&web, name, &goal, &starts);
        while crawl.step() {
            let worst = crawl.waiting_priorities().fold(f64::MIN, f64::max);
            assert!(worst <= 1.0, "{name}: {worst}");
            assert!(crawl.waiting_priorities().all(f64::is_finite), "{name}");
            let is_scored = |priority: f64| priority > crate::UNSCORED_PRIORITY;
            assert!(crawl.waiting_priorities().all(is_scored), "{name}");
        }
        let is_early = |start: &str| crawl.way[..3].iter().any(|path| path == start);
        assert!(starts.iter().map(CanonicalUrl::path).all(is_early), "{name}: {:?}", crawl.way);
    }
}

#[test]
fn explaining_does_not_change_the_strategy() {
    for name in names() {
        let (web, goal) = (TestWeb::drawn(2, 60), goal(WORDS, 2));
        let starts = web.first(3);
        let way = Harness::new(&web, name, &goal, &starts).run(usize::MAX);
        let mut asked = Harness::new(&web, name, &goal, &starts);
        asked.explains = true;
        assert_eq!(asked.run(usize::MAX), way, "{name}");
    }
}
