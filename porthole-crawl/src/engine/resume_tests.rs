//! How soon a crawl of many sites yields pages, from scratch and when resumed, in simulated time.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Duration;

use porthole_store::SqliteStore;
use porthole_types::{CanonicalUrl, Clock, FailureKind, Headers, ManualClock, Outcome, Timestamp};

use super::{Crawl, Limits, Observer, Seen};
use crate::host::Politeness;
use crate::{Fetch, FetchError, FetchFuture, Request, Response};

/// A thousand sites of which half never answer. One sends a Retry-After of an hour.
struct HalfStalls<'c> {
    clock: &'c ManualClock,
    asked: Mutex<Vec<(Timestamp, CanonicalUrl)>>,
}

impl Fetch for HalfStalls<'_> {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        let url = &request.url;
        self.asked.lock().unwrap().push((self.clock.now(), url.clone()));
        let is_robots = url.path() == "/robots.txt";
        let (status, header) = match url.host() {
            host if host.starts_with("stall") => {
                let (url, detail) = (url.clone(), "too slow".to_owned());
                let error = FetchError { url, kind: FailureKind::Timeout, detail };
                return Box::pin(std::future::ready(Err(error)));
            }
            _ if is_robots => (200, ("content-type", "text/plain")),
            "busy.test" => (429, ("retry-after", "3600")),
            _ => (200, ("content-type", "text/html")),
        };
        let body =
            if is_robots { "User-agent: *\nDisallow: /private".to_owned() } else { format!("<p>{url}") };
        let headers: Headers = [header].into_iter().collect();
        let took = Duration::from_millis(150);
        Box::pin(std::future::ready(Ok(Response { took, ..Response::new(status, headers, body) })))
    }
}

/// Records when pages arrived, and ends a run after some seconds.
struct Stopwatch<'c> {
    clock: &'c ManualClock,
    begun: Timestamp,
    pages: Vec<Duration>,
    until: Duration,
}

impl Observer for Stopwatch<'_> {
    fn committed(&mut self, seen: Seen<'_>) -> ControlFlow<()> {
        if seen.result.outcome == Outcome::Fetched {
            self.pages.push(seen.result.at.since(self.begun));
        }
        self.waiting()
    }

    fn waiting(&mut self) -> ControlFlow<()> {
        if self.clock.now().since(self.begun) < self.until {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

/// Crawls for some seconds. Returns when pages arrived, and all requests.
fn run(
    store: &mut SqliteStore,
    clock: &ManualClock,
    seconds: u64,
) -> (Vec<Duration>, Vec<(Duration, CanonicalUrl)>) {
    let web = HalfStalls { clock, asked: Mutex::default() };
    let begun = clock.now();
    let mut crawl = Crawl::new(&web, store, clock).unwrap().polite(Politeness::default(), "porthole");
    let site = |n: u32| match n {
        500 => "busy.test".to_owned(),
        _ if n % 2 == 1 => format!("stall{n}.test"),
        _ => format!("good{n}.test"),
    };
    let urls: Vec<CanonicalUrl> = (0..12_000)
        .map(|n| CanonicalUrl::parse(&format!("http://{}/{n}", site(n % 1_000))).unwrap())
        .collect();
    crawl.start(&urls).unwrap();
    let mut watch = Stopwatch { clock, begun, pages: Vec::new(), until: Duration::from_secs(seconds) };
    crawl.run_simulated(Limits { workers: 64, ..Limits::default() }, clock, &mut watch).unwrap();
    drop(crawl);
    let asked = web.asked.into_inner().unwrap().into_iter().map(|(at, url)| (at.since(begun), url)).collect();
    (watch.pages, asked)
}

#[test]
fn stalling_sites_do_not_delay_the_first_pages() {
    let clock = ManualClock::at(Timestamp(1_000_000_000));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("crawl.db");
    let (pages, asked) = run(&mut SqliteStore::open(&path).unwrap(), &clock, 40);
    // Robots.txt, the pause after it, and the page. Stalled hosts do not take the slots of prepared sites.
    assert!(pages[0] <= Duration::from_millis(150 + 2_000 + 150 + 10), "{:?}", pages[0]);
    let robots = asked.iter().filter(|(at, url)| at.as_secs() == 0 && url.path() == "/robots.txt").count();
    assert!((32..=240).contains(&robots), "{robots} robots.txt in the first second");
    assert!(pages.len() > 200, "{} pages in the first 40 seconds", pages.len());
    assert!(asked.iter().any(|(_, url)| url.as_str() == "http://busy.test/500"));

    clock.advance(Duration::from_secs(600));
    let (again, asked) = run(&mut SqliteStore::open(&path).unwrap(), &clock, 5);
    assert!(again[0] <= Duration::from_millis(200), "{:?}: robots.txt is known", again[0]);
    let early = again.iter().filter(|at| **at <= Duration::from_secs(2)).count();
    assert!(early >= 20, "{early} pages in two seconds");
    assert!(!asked.iter().any(|(_, url)| url.host() == "busy.test"), "Retry-After still holds");
    let good = |url: &CanonicalUrl| url.path() == "/robots.txt" && url.host().starts_with("good");
    let robots = asked.iter().filter(|(_, url)| good(url)).count();
    assert!(robots < 100, "{robots} robots.txt of sites that had answered");
}
