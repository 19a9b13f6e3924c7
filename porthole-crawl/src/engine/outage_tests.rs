//! An outage in simulated time: no queued URL is lost, and the crawl continues by itself when it is over.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use porthole_store::{QueryLimits, SqlValue, SqliteStore, Store, WorkspaceWriter};
use porthole_types::{CanonicalUrl, Clock, FailureKind, Headers, ManualClock, Outcome, Timestamp};

use super::{Crawl, Limits, Observer, Seen, Stop};
use crate::host::Politeness;
use crate::{AddressesFuture, Fetch, FetchError, FetchFuture, Request, Response};

const BEGIN: Timestamp = Timestamp(1_000_000_000);

/// Sites that answer, except within a range of seconds. Then every request or lookup fails.
struct FlakyWeb<'c> {
    clock: &'c ManualClock,
    kind: FailureKind,
    down: Range<u64>,
    /// Number of failed requests and lookups.
    failures: AtomicUsize,
}

impl FlakyWeb<'_> {
    fn failure(&self, url: &CanonicalUrl) -> Option<FetchError> {
        let is_down = self.down.contains(&self.clock.now().since(BEGIN).as_secs());
        is_down.then(|| {
            self.failures.fetch_add(1, Ordering::Relaxed);
            FetchError {
                url: url.clone(),
                kind: self.kind,
                detail: "Temporary failure: connection refused".to_owned(),
            }
        })
    }
}

impl Fetch for FlakyWeb<'_> {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        let failure = if self.kind == FailureKind::Dns { None } else { self.failure(&request.url) };
        let is_robots = request.url.path() == "/robots.txt";
        let body = if is_robots { String::new() } else { format!("<p>{}", request.url) };
        let response = Response {
            took: Duration::from_millis(100),
            ..Response::new(
                if is_robots { 404 } else { 200 },
                [("content-type", "text/html")].into_iter().collect::<Headers>(),
                body,
            )
        };
        Box::pin(std::future::ready(failure.map_or(Ok(response), Err)))
    }

    fn addresses<'a>(&'a self, url: &'a CanonicalUrl) -> AddressesFuture<'a> {
        let failure = if self.kind == FailureKind::Dns { self.failure(url) } else { None };
        Box::pin(std::future::ready(failure.map_or(Ok(Vec::new()), Err)))
    }
}

/// Counts the pages before and after the outage, and stops some time after it.
struct Watcher<'c> {
    clock: &'c ManualClock,
    over: u64,
    pages: [usize; 2],
    held_up: Vec<Option<String>>,
}

impl Observer for Watcher<'_> {
    fn committed(&mut self, seen: Seen<'_>) -> ControlFlow<()> {
        assert_eq!(seen.result.outcome, Outcome::Fetched, "{}", seen.url);
        let seconds = self.clock.now().since(BEGIN).as_secs();
        self.pages[usize::from(seconds >= self.over)] += 1;
        if self.pages[1] >= 500 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn held_up(&mut self, why: Option<&str>) {
        self.held_up.push(why.map(str::to_owned));
    }
}

fn number(store: &SqliteStore, sql: &str) -> i64 {
    let answer = store.reader().sql(sql, &QueryLimits::default()).unwrap();
    match answer.rows[0][0] {
        SqlValue::Integer(number) => number,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn an_outage_costs_no_url_and_no_retry() {
    for kind in [FailureKind::Connect, FailureKind::Timeout, FailureKind::Local, FailureKind::Dns] {
        let clock = ManualClock::at(BEGIN);
        // All names are looked up within a few seconds.
        let down = if kind == FailureKind::Dns { 0..303 } else { 3..303 };
        let web = FlakyWeb { clock: &clock, kind, down, failures: AtomicUsize::default() };
        let folder = tempfile::tempdir().unwrap();
        let mut store = SqliteStore::open(folder.path().join("crawl.db")).unwrap();
        let urls: Vec<CanonicalUrl> = (0..18_000)
            .map(|n| CanonicalUrl::parse(&format!("http://site{}.test/{}", n % 900, n / 900)).unwrap())
            .collect();
        let mut watcher = Watcher { clock: &clock, over: 303, pages: [0, 0], held_up: Vec::new() };
        let mut crawl =
            Crawl::new(&web, &mut store, &clock).unwrap().polite(Politeness::default(), "porthole");
        crawl.start(&urls).unwrap();
        let limits = Limits { workers: 64, ..Limits::default() };
        let stop = crawl.run_simulated(limits, &clock, &mut watcher).unwrap();
        assert_eq!(stop, Stop::Asked, "{kind:?}: {:?} {:?}", watcher.pages, watcher.held_up);
        drop(crawl);
        let [before, after] = watcher.pages;
        assert!(
            (before > 50 || kind == FailureKind::Dns) && after >= 500,
            "{kind:?}: {before} pages before, {after} after"
        );
        let is_told = matches!(&watcher.held_up[..], [Some(why), None] if why.contains("connection refused"));
        assert!(is_told, "{kind:?}: {:?}", watcher.held_up);
        let events = "select count(*) from event where kind = 'outage'";
        assert_eq!(number(&store, events), 2, "{kind:?}");
        // The requests in flight and a few probes, not the whole frontier.
        let failures = web.failures.load(Ordering::Relaxed);
        assert!((8..200).contains(&failures), "{kind:?}: {failures} requests failed");
        let tried = "select count(*) from crawl where state <> 1 and (state <> 0 or numtries > 0)";
        assert_eq!(number(&store, tried), 0, "{kind:?}: every URL is fetched, or queued without a try");
        assert_eq!(number(&store, "select count(*) from crawl"), 18_000);
        let waiting = "select count(*) from crawl where state = 0 and not_before is not null";
        assert_eq!(number(&store, waiting), 0, "{kind:?}");
        let seconds = clock.now().since(BEGIN).as_secs();
        assert!(seconds < 303 + 90, "{kind:?}: it took until second {seconds}");
    }
}

/// A web in which most sites are dead and nothing else is wrong.
struct Graveyard;

impl Fetch for Graveyard {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        let url = &request.url;
        let is_alive = url.host().starts_with("alive");
        let gone = FetchError { url: url.clone(), kind: FailureKind::Connect, detail: "refused".to_owned() };
        let response = Response {
            took: Duration::from_millis(300),
            ..Response::new(
                if url.path() == "/robots.txt" { 404 } else { 200 },
                [("content-type", "text/html")].into_iter().collect::<Headers>(),
                format!("<p>{url}"),
            )
        };
        Box::pin(std::future::ready(if is_alive { Ok(response) } else { Err(gone) }))
    }
}

#[test]
fn many_dead_sites_are_no_outage() {
    let clock = ManualClock::at(BEGIN);
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path().join("crawl.db")).unwrap();
    let mut crawl =
        Crawl::new(Graveyard, &mut store, &clock).unwrap().polite(Politeness::default(), "porthole");
    let url = |n: u32| match n % 10 {
        0 => CanonicalUrl::parse(&format!("http://alive{}.test/{n}", n % 50)).unwrap(),
        _ => CanonicalUrl::parse(&format!("http://dead{n}.test/")).unwrap(),
    };
    crawl.start(&(0..500).map(url).collect::<Vec<_>>()).unwrap();
    let mut pages = 0;
    let mut watch = |seen: Seen<'_>| {
        pages += usize::from(seen.result.outcome == Outcome::Fetched);
        ControlFlow::Continue(())
    };
    let stop = crawl.run_simulated(Limits { workers: 16, ..Limits::default() }, &clock, &mut watch).unwrap();
    assert_eq!((stop, pages), (Stop::Exhausted, 50));
    drop(crawl);
    assert_eq!(store.counts().dead, 450, "dead sites are tried as often as without the others");
}
