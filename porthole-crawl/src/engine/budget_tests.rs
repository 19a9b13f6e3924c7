//! Crawls end when their budget is used up, whoever stalls: in simulated time.

use std::ops::ControlFlow;
use std::time::Duration;

use porthole_store::{SqliteStore, Store};
use porthole_types::{CanonicalUrl, Clock, FailureKind, Headers, ManualClock, Outcome, Timestamp};
use tokio::time::{Instant, sleep};

use super::tests::scratch;
use super::{Crawl, Idle, Limits, Observer, Seen, Stop};
use crate::host::Politeness;
use crate::{Fetch, FetchError, FetchFuture, Request, Response};

/// How long a client waits for an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How long an answer takes.
const LATENCY: Duration = Duration::from_millis(100);

/// Hosts that answer, each page with links to the next two, and hosts that give their rules and stall then. In tokio's
/// time if `is_timed`, else at once.
struct StallingWeb {
    is_timed: bool,
    /// Pages of a good host.
    pages: u32,
}

impl Fetch for StallingWeb {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        let url = &request.url;
        Box::pin(async move {
            let is_robots = url.path() == "/robots.txt";
            let is_stalled = url.host().starts_with("stall") && !is_robots;
            if self.is_timed {
                sleep(if is_stalled { TIMEOUT } else { LATENCY }).await;
            }
            if is_stalled {
                let (url, detail) = (url.clone(), "too slow".to_owned());
                return Err(FetchError { url, kind: FailureKind::Timeout, detail });
            }
            let number = url.path()[1..].parse::<u32>().ok().filter(|number| *number < self.pages);
            let (status, body) = match number {
                Some(number) => {
                    let links = (1..3).map(|step| format!("<a href=/{}>next</a>", number + step));
                    // Words that no other page has: copies of others would look like a trap.
                    let host = url.host().replace('.', "");
                    let words = (0..50).map(|word| format!("{host}a{}b{word} ", number * 97));
                    (200, words.chain(links).collect::<String>())
                }
                None => (404, String::new()),
            };
            let headers: Headers = [("content-type", "text/html")].into_iter().collect();
            Ok(Response { took: LATENCY, ..Response::new(status, headers, body) })
        })
    }
}

/// The first pages of `good` good hosts and of `stalling` hosts that stall.
fn starts(good: u32, stalling: u32) -> Vec<CanonicalUrl> {
    let hosts = (0..stalling).map(|n| format!("stall{n}")).chain((0..good).map(|n| format!("good{n}")));
    hosts.map(|host| CanonicalUrl::parse(&format!("http://{host}.test/0")).unwrap()).collect()
}

/// A crawl in simulated time: why it ended, the pages that came, seconds to the last of them and to the end.
fn crawl(
    store: &mut SqliteStore,
    limits: Limits,
    (good, stalling): (u32, u32),
) -> (Stop, usize, Duration, Duration) {
    let (clock, begun) = (ManualClock::at(Timestamp(1_000_000)), Timestamp(1_000_000));
    let web = StallingWeb { is_timed: false, pages: u32::MAX };
    let mut crawl =
        Crawl::new(web, store, &clock).unwrap().polite(Politeness::default(), "porthole").reading_in_place();
    crawl.start(&starts(good, stalling)).unwrap();
    let (mut pages, mut last) = (0, Duration::ZERO);
    let mut observe = |seen: Seen<'_>| {
        if seen.result.outcome == Outcome::Fetched {
            (pages, last) = (pages + 1, seen.result.at.since(begun));
        }
        ControlFlow::Continue(())
    };
    let stop = crawl.run_simulated(limits, &clock, &mut observe).unwrap();
    (stop, pages, last, clock.now().since(begun))
}

#[test]
fn the_limit_of_bytes_does_not_wait_for_hosts_that_stall() {
    let (_folder, mut store) = scratch();
    let limits = Limits { bytes: 20_000, workers: 64, ..Limits::default() };
    let (stop, pages, last, end) = crawl(&mut store, limits, (4, 40));
    assert!(
        stop == Stop::Bytes && (15..=25).contains(&pages),
        "{stop:?} after {pages} pages of about 1,000 bytes"
    );
    assert!(end - last <= Duration::from_secs(2), "{last:?}, {end:?}");
    // Those of hosts that stalled were given back, and have lost no try.
    let counts = store.counts();
    assert_eq!((counts.queued >= 40, counts.in_flight), (true, 0), "{counts:?}");
}

/// Ends a crawl that has fetched this many bytes; checked once a second.
struct DiskLimit {
    bytes: u64,
    limit: u64,
    looked: Instant,
    /// When the limit was reached.
    reached: Option<Instant>,
}

impl Observer for DiskLimit {
    fn committed(&mut self, seen: Seen<'_>) -> ControlFlow<()> {
        self.bytes += seen.result.bytes;
        if self.bytes >= self.limit {
            self.reached.get_or_insert_with(Instant::now);
        }
        self.waiting()
    }

    fn waiting(&mut self) -> ControlFlow<()> {
        if self.looked.elapsed() < Duration::from_secs(1) {
            return ControlFlow::Continue(());
        }
        self.looked = Instant::now();
        if self.bytes >= self.limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_the_disk_does_not_wait_for_hosts_that_stall() {
    struct TokioClock(Instant);
    impl Clock for TokioClock {
        fn now(&self) -> Timestamp {
            Timestamp(1_000_000).after(self.0.elapsed())
        }
    }
    let (_folder, mut store) = scratch();
    // After the last page nothing is under way but requests that stall.
    let web = StallingWeb { is_timed: true, pages: 3 };
    let mut crawl = Crawl::new(web, &mut store, TokioClock(Instant::now()))
        .unwrap()
        .polite(Politeness::default(), "porthole")
        .reading_in_place();
    crawl.start(&starts(2, 20)).unwrap();
    let mut limit = DiskLimit { bytes: 0, limit: 4_000, looked: Instant::now(), reached: None };
    let limits = Limits { workers: 64, ..Limits::default() };
    assert_eq!(crawl.run(limits, &mut limit).await.unwrap(), Stop::Asked);
    let late = limit.reached.expect("several pages came").elapsed();
    assert!(late <= Duration::from_secs(2), "{late:?}");
    drop(crawl);
    assert_eq!(store.counts().in_flight, 0, "what was under way is given back");
}

#[test]
fn the_last_pages_do_not_wait_for_hosts_that_stall() {
    for idle in [Idle::Fill, Idle::Wait] {
        let limits =
            |pages| Limits { pages, wanted_pages: Some(pages), workers: 64, idle, ..Limits::default() };
        let (_folder, mut store) = scratch();
        let (stop, pages, _, alone) = crawl(&mut store, limits(60), (12, 0));
        assert_eq!((stop, pages), (Stop::Limit, 60));
        let (_folder, mut store) = scratch();
        let (stop, pages, _, end) = crawl(&mut store, limits(60), (12, 200));
        assert_eq!((stop, pages), (Stop::Limit, 60), "{idle:?}");
        // The 200 have the better rank: 48 at a time are waited for, 4 s each.
        let most = alone + Duration::from_secs(20);
        assert!(end <= most, "{idle:?}: {end:?}, {alone:?} without hosts that stall");
    }
}
