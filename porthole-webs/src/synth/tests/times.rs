//! Change and growth over time.

use std::collections::HashSet;
use std::time::Duration;

use porthole_types::{Clock, Headers};

use super::*;

const DAY: Duration = Duration::from_secs(86_400);

fn timed(params: SynthParams) -> (SyntheticWeb, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(Timestamp(params.epoch_ms)));
    (SyntheticWeb::new(params, Arc::clone(&clock) as Arc<dyn Clock>).unwrap(), clock)
}

#[test]
fn pages_change_at_their_rate() {
    let (web, clock) = timed(sound());
    let watched: Vec<_> = web
        .pages()
        .filter(|(_, truth)| truth.changes_every == Some(7 * DAY) && truth.appears.is_none())
        .take(20)
        .collect();
    assert_eq!(watched.len(), 20);
    let still: Vec<_> = web
        .pages()
        .filter(|(_, truth)| truth.changes_every.is_none() && truth.appears.is_none())
        .take(10)
        .collect();
    let states =
        || -> Vec<Vec<u8>> { watched.iter().chain(&still).map(|(url, _)| body(&web, url)).collect() };
    let (mut changes, mut before) = ([0; 30], states());
    for _ in 0..70 {
        clock.advance(DAY);
        let now = states();
        for (i, (old, new)) in before.iter().zip(&now).enumerate() {
            changes[i] += usize::from(old != new);
        }
        before = now;
    }
    // Once in each of ten weeks; two changes may fall on one day.
    for n in &changes[..20] {
        assert!((9..=10).contains(n), "{changes:?}");
    }
    assert_eq!(changes[20..], [0; 10]);
}

#[test]
fn a_known_state_is_not_sent_again() {
    let (web, clock) = timed(sound());
    let (url, truth) = web.pages().find(|(_, truth)| truth.changes_every == Some(DAY)).unwrap();
    let first = web.answer(&Request::get(url.clone())).unwrap();
    let conditions = |name: &str, value: &str| {
        let headers: Headers = [(name, value)].into_iter().collect();
        web.answer(&Request { headers, ..Request::get(url.clone()) }).unwrap()
    };
    let etag = first.headers.get("etag").unwrap();
    let date = first.headers.get("last-modified").unwrap();
    for (name, value, status) in [
        ("If-None-Match", etag, 304),
        ("If-None-Match", "\"other\"", 200),
        ("If-Modified-Since", date, 304),
        ("If-Modified-Since", "Thu, 01 Jan 1998 00:00:00 GMT", 200),
        ("If-Modified-Since", "yesterday", 200),
    ] {
        let answer = conditions(name, value);
        assert_eq!(answer.status, status, "{name}: {value}");
        assert_eq!(answer.body.is_empty(), status == 304);
        assert_eq!(answer.headers.get("etag"), Some(etag));
    }
    clock.advance(truth.changes_every.unwrap() * 2);
    assert_eq!(conditions("If-None-Match", etag).status, 200);
    assert_eq!(conditions("If-Modified-Since", date).status, 200);
}

#[test]
fn pages_appear_and_are_then_linked() {
    let (web, clock) = timed(SynthParams { growing: 0.2, ..sound() });
    let new: HashSet<_> =
        web.pages().filter(|(_, truth)| truth.appears.is_some()).map(|(url, _)| url).collect();
    let share = new.len() as f64 / 3_000.0;
    assert!((0.12..0.2).contains(&share), "{share}");
    let there = || new.iter().filter(|url| get(&web, url.as_str()).unwrap().status == 200).count();
    let linked = || {
        let links = web.pages().step_by(10).filter_map(|(url, _)| web.outlinks(&url));
        links.flatten().filter(|link| new.contains(&link.url)).count()
    };
    assert!(there() * 50 < new.len());
    assert_eq!(linked(), 0);
    clock.advance(182 * DAY);
    let half = there();
    assert!((new.len() * 4 / 10..new.len() * 6 / 10).contains(&half), "{half} of {}", new.len());
    assert!(linked() > 50);
    clock.advance(190 * DAY);
    assert_eq!(there(), new.len());
}

#[test]
fn a_clock_before_the_epoch_shows_the_epoch() {
    let early = SyntheticWeb::new(sound(), Arc::new(ManualClock::default())).unwrap();
    let (url, _) = early.pages().next().unwrap();
    assert_eq!(body(&early, &url), body(&web(sound()), &url));
}
