//! Crawls in simulated time: page limits, and what a free worker does while good sites are resting.

use std::ops::ControlFlow;
use std::time::Duration;

use porthole_page::{Link, Page};
use porthole_store::SqliteStore;
use porthole_strategy::{SourcePage, Strategy};
use porthole_topic::{JudgeError, RelevanceJudge};
use porthole_types::{
    CanonicalUrl, Clock, FailureKind, Headers, Judgment, ManualClock, Mark, Outcome, Timestamp, TopicId,
};

use super::{Crawl, Idle, Limits, Seen, Stop};
use crate::host::Politeness;
use crate::result::Focus;
use crate::{Fetch, FetchError, FetchFuture, Request, Response};

/// Two sites with pages about owls, which link to each other and to pages of forty other sites. Every seventh page is a
/// redirect, every eleventh fails, and the site `stall` never answers in time.
struct Owls;

impl Fetch for Owls {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        Box::pin(std::future::ready(answer(&request.url)))
    }
}

fn answer(url: &CanonicalUrl) -> Result<Response, FetchError> {
    let fail = |kind| Err(FetchError { url: url.clone(), kind, detail: "failed".to_owned() });
    let response = |status, header: (&str, &str), body: String| {
        let (headers, took) = ([header].into_iter().collect::<Headers>(), Duration::from_millis(100));
        Ok(Response { took, ..Response::new(status, headers, body) })
    };
    let number: u32 = match url.path().trim_start_matches('/').parse() {
        Ok(number) => number,
        Err(_) => return response(404, ("content-type", "text/plain"), String::new()),
    };
    let html = ("content-type", "text/html");
    match url.host() {
        "stall.test" => fail(FailureKind::Timeout),
        host if !host.starts_with("owls") => response(200, html, format!("<p>soup {}", words(host, number))),
        _ if number % 11 == 10 => fail(FailureKind::Connect),
        _ if number % 7 == 6 => response(302, ("location", &format!("/{}", number + 1)), String::new()),
        host => {
            let other = if host == "owls0.test" { 1 } else { 0 };
            let good = (1..4).map(|step| format!("<a href=/{}>owl</a>", number + step));
            let bad = (0..8).map(|site| {
                let site = (number * 8 + site) % 40;
                format!("<a href=http://soup{site}.test/{number}>soup</a>")
            });
            let links: String = good.chain(bad).collect();
            let text = words(host, number);
            let stall = format!("<a href=http://stall.test/{number}>owl</a>");
            let body = format!("<p>owl {text}{links}<a href=http://owls{other}.test/{number}>owl</a>{stall}");
            response(200, html, body)
        }
    }
}

/// Words that no other page contains.
fn words(host: &str, number: u32) -> String {
    let host = host.replace('.', "");
    (0..30).map(|word| format!("{host}a{}b{word} ", number * 97)).collect()
}

/// Judges by the word "owl", and gives links with it a high priority.
struct Owl;

impl RelevanceJudge for Owl {
    fn judge_page(&mut self, _: &CanonicalUrl, page: &Page) -> Result<Judgment, JudgeError> {
        let is_owl = page.text.contains("owl");
        Ok(Judgment { relevance: if is_owl { 1.0 } else { 0.0 }, best: TopicId(u16::from(is_owl)) })
    }
}

impl Strategy for Owl {
    fn name(&self) -> &str {
        "owl"
    }

    fn priority(&mut self, source: &SourcePage<'_>, link: &Link) -> Option<f64> {
        Some(if source.page.anchor_text(link).contains("owl") { 0.9 } else { 0.1 })
    }
}

/// The result of a crawl: the URLs of its pages, the number of fetches, and the simulated duration.
struct SimulatedOutcome {
    stop: Stop,
    pages: Vec<String>,
    fetches: usize,
    seconds: f64,
}

fn crawl(limits: Limits) -> SimulatedOutcome {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path().join("crawl.db")).unwrap();
    let clock = ManualClock::at(Timestamp(1_000_000));
    let focus = Focus { judge: Box::new(Owl), strategy: Box::new(Owl), marks: vec![Mark::Path, Mark::Good] };
    let mut crawl = Crawl::new(Owls, &mut store, &clock)
        .unwrap()
        .focused(focus)
        .polite(Politeness::default(), "porthole");
    crawl.start(&[CanonicalUrl::parse("http://owls0.test/5").unwrap()]).unwrap();
    let (mut pages, mut fetches) = (Vec::new(), 0);
    let mut observe = |seen: Seen<'_>| {
        fetches += 1;
        if seen.result.outcome == Outcome::Fetched {
            pages.push(seen.url.to_string());
        }
        ControlFlow::Continue(())
    };
    let stop = crawl.run_simulated(limits, &clock, &mut observe).unwrap();
    let seconds = clock.now().since(Timestamp(1_000_000)).as_secs_f64();
    SimulatedOutcome { stop, pages, fetches, seconds }
}

fn share_of_owls(summary: &SimulatedOutcome) -> f64 {
    summary.pages.iter().filter(|url| url.contains("owls")).count() as f64 / summary.pages.len() as f64
}

#[test]
fn a_page_limit_counts_pages_only() {
    for (pages, workers) in [(1, 1), (20, 1), (20, 16), (40, 64)] {
        let summary = crawl(Limits { pages, workers, ..Limits::default() });
        assert_eq!((summary.pages.len() as u64, summary.stop), (pages, Stop::Limit), "{workers} workers");
        if workers == 64 {
            assert!(summary.fetches > 40, "redirects and failures do not count");
        }
    }
}

#[test]
fn workers_wait_for_good_sites_or_fill_in() {
    let limits = |idle| Limits { pages: 40, wanted_pages: Some(40), workers: 16, idle, ..Limits::default() };
    let (wait, fill) = (crawl(limits(Idle::Wait)), crawl(limits(Idle::Fill)));
    assert!(share_of_owls(&wait) > 0.7, "{:?}", wait.pages);
    assert!(share_of_owls(&fill) < 0.5, "{:?}", fill.pages);
    // Two sites with a pause of two seconds each.
    assert!(
        wait.seconds > 2.0 * fill.seconds && wait.seconds < 120.0,
        "{} s, {} s",
        wait.seconds,
        fill.seconds
    );
    let again = crawl(limits(Idle::Wait));
    assert_eq!((again.pages, again.seconds), (wait.pages, wait.seconds), "every run is the same");
}

#[test]
fn more_workers_do_not_lower_the_share_of_good_pages() {
    let limits = |workers| Limits {
        pages: 40,
        wanted_pages: Some(40),
        workers,
        idle: Idle::Wait,
        ..Limits::default()
    };
    let (few, many) = (crawl(limits(16)), crawl(limits(256)));
    assert!(share_of_owls(&many) >= share_of_owls(&few) - 0.05, "{:?}", many.pages);
}

#[test]
fn a_crawl_does_not_wait_for_exhausted_sites() {
    // When all pages about owls are fetched, the others follow, and the crawl ends.
    let limits =
        Limits { pages: 300, wanted_pages: Some(300), workers: 16, idle: Idle::Wait, ..Limits::default() };
    let summary = crawl(limits);
    assert_eq!((summary.pages.len(), summary.stop), (300, Stop::Limit));
}
