//! Pages that were fetched are visited again, over a web that changes with the clock.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use porthole_store::{Policy, QueryLimits, SqliteStore, Store, WorkspaceWriter};
use porthole_strategy::{CrawlGoal, named};
use porthole_types::{
    CanonicalUrl, Clock, Headers, ManualClock, Mark, PageChange, SegmentSpan, Timestamp, UrlId,
};
use porthole_warc::{RecordKind, WarcReader, WarcRecord};

use super::crawl::*;
use super::tests::{WordJudge, scratch};
use crate::archive::{Keep, read_page};
use crate::host::Politeness;
use crate::result::Focus;
use crate::scope::{Scope, ScopeSettings};
use crate::upkeep::{UpkeepSettings, VisitTiming};
use crate::{Fetch, FetchFuture, Request, Response};

const DAY: Duration = Duration::from_secs(86_400);

/// `/tagged` never changes and says so by its ETag; `/plain` never changes, but its bytes do; `/same` not even these;
/// `/news` changes every day and links to the articles so far; `/gone` is there for a day only.
struct ChangingWeb<'c> {
    clock: &'c ManualClock,
    asked: Mutex<Vec<(String, Headers)>>,
    is_down: AtomicBool,
}

impl<'c> ChangingWeb<'c> {
    fn new(clock: &'c ManualClock) -> Self {
        ChangingWeb { clock, asked: Mutex::default(), is_down: AtomicBool::new(false) }
    }

    fn day(&self) -> i64 {
        self.clock.now().0 / 86_400_000
    }

    fn answer(&self, request: &Request) -> (u16, Option<&'static str>, String) {
        let day = self.day();
        let text = "owl feather hawk";
        match request.url.path() {
            _ if self.is_down.load(Ordering::Relaxed) => (503, None, String::new()),
            "/" => {
                let links =
                    ["tagged", "plain", "same", "news", "gone"].map(|to| format!("<a href=/{to}>{to}</a>"));
                (200, None, format!("<title>owl</title>owl {}", links.concat()))
            }
            "/tagged" if request.headers.get("if-none-match") == Some("\"t\"") => {
                (304, Some("\"t\""), String::new())
            }
            "/tagged" => (200, Some("\"t\""), format!("<p>{text} tagged")),
            "/plain" => (200, None, format!("<!-- {} --><p>{text} plain", self.clock.now().0)),
            "/same" => (200, None, format!("<p>{text} same")),
            "/news" => {
                let link = |day| format!("<a href=/article{day}>owl article{day}</a>");
                let links: String = (1..=day).map(link).collect();
                (200, None, format!("<p>{text} news of day{day} {links}"))
            }
            "/gone" if day < 2 => (200, None, format!("<p>{text} gone")),
            "/gone" => (404, None, "<p>not here".to_owned()),
            article if article.starts_with("/article") => (200, None, format!("<p>{text} {article}")),
            _ => (404, None, "nothing".to_owned()),
        }
    }
}

impl Fetch for ChangingWeb<'_> {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        self.asked.lock().unwrap().push((request.url.path().to_owned(), request.headers.clone()));
        let (status, etag, body) = self.answer(request);
        let mut headers: Headers = [("content-type", "text/html")].into_iter().collect();
        if let Some(etag) = etag {
            headers.push("ETag", etag);
        }
        let (truncated, took) = (false, Duration::from_millis(5));
        Box::pin(std::future::ready(Ok(Response { truncated, took, ..Response::new(status, headers, body) })))
    }
}

fn crawl<'a>(web: &'a ChangingWeb<'a>, store: &'a mut SqliteStore, folder: &Path) -> Crawl<'a> {
    let strategy = named("soft", &CrawlGoal::nothing(1)).unwrap();
    let focus = Focus { judge: Box::new(WordJudge("owl")), strategy, marks: vec![Mark::Path, Mark::Good] };
    let crawl = Crawl::new(web, store, web.clock).unwrap().focused(focus);
    let mut crawl = crawl.archived(&folder.join("pages"), Keep::All).unwrap();
    crawl.start(&[CanonicalUrl::parse("http://a.test/").unwrap()]).unwrap();
    crawl
}

/// Runs a crawl of `fetches` fetches. Returns why it stopped, and path and change of each.
fn run(crawl: &mut Crawl<'_>, fetches: u64) -> (Stop, Vec<(String, Option<PageChange>)>) {
    let mut seen = Vec::new();
    let mut observe = |page: Seen<'_>| {
        let change = page.result.next_visit.map(|next| next.change);
        seen.push((page.url.path().to_owned(), change));
        ControlFlow::Continue(())
    };
    let stop = pollster::block_on(crawl.run(Limits { fetches, ..Limits::default() }, &mut observe)).unwrap();
    (stop, seen)
}

fn column(store: &SqliteStore, sql: &str) -> Vec<Vec<String>> {
    let answer = store.reader().sql(sql, &QueryLimits::default()).unwrap();
    let text = |value: &porthole_store::SqlValue| match value.integer() {
        Some(number) => number.to_string(),
        None => value.text().to_owned(),
    };
    answer.rows.iter().map(|row| row.iter().map(text).collect()).collect()
}

const STATES: &str = "select substr(url, 14), state, status, segment is not null from crawl order by rowid";

#[test]
fn a_finished_crawl_that_is_asked_to_maintain_does_so() {
    let (folder, mut store) = scratch();
    let clock = ManualClock::at(Timestamp(86_400_000));
    let web = ChangingWeb::new(&clock);
    let (stop, seen) = run(&mut crawl(&web, &mut store, folder.path()), u64::MAX);
    assert_eq!((stop, seen.len()), (Stop::Exhausted, 7), "{seen:?}");
    clock.advance(DAY);
    web.asked.lock().unwrap().clear();
    store.set_policy(&Policy::parse("upkeep").unwrap()).unwrap();
    let mut again = crawl(&web, &mut store, folder.path()).maintaining(UpkeepSettings::default());
    let (stop, seen) = run(&mut again, u64::MAX);
    drop(again);
    assert_eq!(stop, Stop::Exhausted);
    let found: HashMap<&str, Option<PageChange>> =
        seen.iter().map(|(path, change)| (path.as_str(), *change)).collect();
    assert_eq!(seen.len(), 8, "each page once, and the new article: {seen:?}");
    for (path, change) in [
        ("/", PageChange::Unchanged),
        ("/tagged", PageChange::Unchanged),
        ("/plain", PageChange::Unchanged),
        ("/same", PageChange::Unchanged),
        ("/news", PageChange::Changed),
        ("/gone", PageChange::Gone),
        ("/article1", PageChange::Unchanged),
        ("/article2", PageChange::New),
    ] {
        assert_eq!(found[path], Some(change), "{path}");
    }
    assert_eq!(seen.last().unwrap().0, "/article2", "pages that are due come first");
    let conditional: Vec<String> =
        web.asked.lock().unwrap().iter().filter(|(_, h)| !h.is_empty()).map(|(p, _)| p.clone()).collect();
    assert_eq!(conditional, ["/tagged"]);
    let states = column(&store, STATES);
    assert!(states.contains(&["/gone", "3", "404", "1"].map(str::to_owned).to_vec()), "{states:?}");
    assert!(states.contains(&["/tagged", "1", "200", "1"].map(str::to_owned).to_vec()), "{states:?}");
    // The last good copy of the page that is gone can be read.
    let spans = column(&store, "select segment, \"offset\", length from crawl where url like '%/gone'");
    let numbers: Vec<u64> = spans[0].iter().map(|number| number.parse().unwrap()).collect();
    let span = SegmentSpan { segment: numbers[0] as u32, offset: numbers[1], length: numbers[2] as u32 };
    let url = CanonicalUrl::parse("http://a.test/gone").unwrap();
    let copy = read_page(&folder.path().join("pages"), &url, span).unwrap();
    assert_eq!(copy.body, b"<p>owl feather hawk gone"[..]);
    // Links have the time at which they were found.
    let found = column(&store, "select discovered / 86400000, count(*) from link group by 1 order by 1");
    assert_eq!(found, [["1", "6"], ["2", "1"]]);
    assert_eq!(
        revisits(folder.path()),
        [("/", false), ("/tagged", true), ("/same", false), ("/article1", false)]
            .map(|(path, is_not_modified)| (path.to_owned(), is_not_modified))
    );
    // What is new is judged and kept, and a plain crawl goes on without visiting anything.
    let (stop, seen) = run(&mut crawl(&web, &mut store, folder.path()), u64::MAX);
    assert_eq!((stop, seen.len()), (Stop::Exhausted, 0));
}

#[test]
fn a_site_with_all_its_pages_is_visited_again() {
    let (folder, mut store) = scratch();
    let clock = ManualClock::at(Timestamp(86_400_000));
    let web = ChangingWeb::new(&clock);
    let scope = Scope::new(&ScopeSettings { max_pages_a_site: Some(7), ..ScopeSettings::default() }).unwrap();
    let (_, seen) = run(&mut crawl(&web, &mut store, folder.path()).within(scope.clone()), u64::MAX);
    assert_eq!(seen.len(), 7);
    clock.advance(DAY);
    web.asked.lock().unwrap().clear();
    let again = crawl(&web, &mut store, folder.path()).within(scope).avoiding_traps();
    run(&mut again.maintaining(UpkeepSettings::default()), u64::MAX);
    assert_eq!(web.asked.lock().unwrap().len(), 7);
    let skipped = column(&store, "select substr(url, 14) from crawl where state = 4");
    assert_eq!(skipped, [["/article2"]], "only the new page is too much");
}

#[test]
fn a_wider_scope_brings_refused_urls_back() {
    let (folder, mut store) = scratch();
    let clock = ManualClock::at(Timestamp(86_400_000));
    let web = ChangingWeb::new(&clock);
    let exclude = vec!["/news".to_owned(), "/gone".to_owned()];
    let scope = |exclude: &[String]| {
        Scope::new(&ScopeSettings { exclude: exclude.to_vec(), ..ScopeSettings::default() }).unwrap()
    };
    let mut asked = |exclude: &[String]| -> Vec<String> {
        web.asked.lock().unwrap().clear();
        run(&mut crawl(&web, &mut store, folder.path()).within(scope(exclude)), u64::MAX);
        web.asked.lock().unwrap().iter().map(|(path, _)| path.clone()).collect()
    };
    assert_eq!(asked(&exclude), ["/", "/tagged", "/plain", "/same"]);
    assert_eq!(asked(&exclude), [""; 0], "the same scope");
    assert_eq!(asked(&exclude[1..]), ["/news", "/article1"], "what is still excluded is not asked for");
    assert_eq!(asked(&[]), ["/gone"]);
    assert_eq!(column(&store, "select state, count(*) from crawl group by state"), [["1", "7"]]);
}

#[test]
fn urls_that_a_wider_scope_brings_back_are_new_pages() {
    let (folder, mut store) = scratch();
    let clock = ManualClock::at(Timestamp(86_400_000));
    let web = ChangingWeb::new(&clock);
    let exclude = vec!["/news".to_owned(), "/gone".to_owned()];
    let scope = Scope::new(&ScopeSettings { exclude, ..ScopeSettings::default() }).unwrap();
    run(&mut crawl(&web, &mut store, folder.path()).within(scope), u64::MAX);
    clock.advance(DAY);
    store.set_policy(&Policy::parse("upkeep").unwrap()).unwrap();
    let settings = UpkeepSettings { timing: VisitTiming::Now, ..UpkeepSettings::default() };
    let everything = Scope::new(&ScopeSettings::default()).unwrap();
    let mut again = crawl(&web, &mut store, folder.path()).within(everything).maintaining(settings);
    let (_, seen) = run(&mut again, u64::MAX);
    let paths: Vec<&str> = seen.iter().map(|(path, _)| path.as_str()).collect();
    let place = |path: &str| paths.iter().position(|seen| *seen == path).unwrap_or(usize::MAX);
    for page in ["/", "/tagged", "/plain", "/same"] {
        assert!(place(page) < place("/news").min(place("/gone")), "{page} of {seen:?}");
    }
}

#[test]
fn pages_are_pages_when_a_run_ends_before_their_visits_succeed() {
    let (folder, mut store) = scratch();
    let clock = ManualClock::at(Timestamp(86_400_000));
    let web = ChangingWeb::new(&clock);
    run(&mut crawl(&web, &mut store, folder.path()), u64::MAX);
    clock.advance(DAY);
    web.is_down.store(true, Ordering::Relaxed);
    let mut again = crawl(&web, &mut store, folder.path()).maintaining(UpkeepSettings::default());
    let (stop, seen) = run(&mut again, u64::MAX);
    drop(again);
    assert!(matches!(stop, Stop::Waiting(_)) && seen.len() >= 7, "{stop:?} {seen:?}");
    assert_eq!(column(&store, "select state, count(*) from crawl group by state"), [["1", "7"]]);
    assert_eq!(store.queued_revisits(), 0);
}

/// The revisit records, in order of their pages' discovery: path, and whether the server said that nothing had changed.
fn revisits(folder: &Path) -> Vec<(String, bool)> {
    let file = std::fs::File::open(folder.join("pages/00000.warc.gz")).unwrap();
    let records: Vec<WarcRecord> = WarcReader::new(file).map(Result::unwrap).collect();
    let originals: HashMap<&str, &WarcRecord> = records
        .iter()
        .filter(|record| record.kind == RecordKind::Response)
        .map(|record| (record.id().unwrap(), record))
        .collect();
    let mut found = Vec::new();
    for record in records.iter().filter(|record| record.kind == RecordKind::Revisit) {
        let original = originals[record.refers_to().unwrap()];
        assert_eq!(original.target(), record.target());
        assert_eq!(original.date(), record.refers_to_date());
        let is_not_modified = record.headers.get("WARC-Profile").unwrap().ends_with("/server-not-modified");
        assert_eq!(record.payload_digest().is_none(), is_not_modified);
        if !is_not_modified {
            assert_eq!(record.payload_digest(), original.payload_digest());
        }
        found
            .push((record.target().unwrap().trim_start_matches("http://a.test").to_owned(), is_not_modified));
    }
    let order = ["/", "/tagged", "/plain", "/same", "/news", "/gone"];
    found.sort_by_key(|(path, _)| order.iter().position(|known| known == path).unwrap_or(9));
    found
}

#[test]
fn the_papers_orders_decide_who_is_visited_first() {
    for (policy, expected) in
        [("refresh", "/news"), ("repair", "/same"), ("lastvisited asc, hub asc", "/same")]
    {
        let (folder, mut store) = scratch();
        let clock = ManualClock::at(Timestamp(86_400_000));
        let web = ChangingWeb::new(&clock);
        run(&mut crawl(&web, &mut store, folder.path()), u64::MAX);
        let oid =
            |path: &str| -> UrlId { CanonicalUrl::parse(&format!("http://a.test{path}")).unwrap().id() };
        let hubs = [(oid("/news"), 0.9), (oid("/plain"), 0.1)];
        let hubs: Vec<(UrlId, f64)> = match policy {
            "lastvisited asc, hub asc" => ["/", "/tagged", "/plain", "/news", "/gone", "/article1"]
                .map(|path| (oid(path), 0.5))
                .to_vec(),
            _ => hubs.to_vec(),
        };
        let auth = [(oid("/same"), 0.7), (oid("/gone"), 0.3)];
        let scores = porthole_store::DistilledScores { hubs: &hubs, auth: &auth, neighbourhoods: &[] };
        store.set_scores(&scores).unwrap();
        clock.advance(DAY);
        store.set_policy(&Policy::parse(policy).unwrap()).unwrap();
        let mut again = crawl(&web, &mut store, folder.path()).maintaining(UpkeepSettings::default());
        let (_, seen) = run(&mut again, 3);
        assert_eq!(seen[0].0, expected, "{policy}: {seen:?}");
        drop(again);
        // The order can be changed while pages wait for their visits.
        store.set_policy(&Policy::parse("revisit desc, discovered asc").unwrap()).unwrap();
        let mut again = crawl(&web, &mut store, folder.path()).maintaining(UpkeepSettings::default());
        let discovered = ["/", "/tagged", "/plain", "/same", "/news", "/gone"];
        let first = discovered.into_iter().find(|path| seen.iter().all(|(visited, _)| visited != path));
        assert_eq!(Some(run(&mut again, 1).1[0].0.as_str()), first, "{policy}: {seen:?}");
    }
}

/// The fetches of a crawl that is maintained by a schedule for some days, one at a time, and stopped after every `stops`.
fn way(stops: u64) -> Vec<(String, Option<PageChange>)> {
    let (folder, mut store) = scratch();
    let clock = ManualClock::at(Timestamp(86_400_000));
    let web = ChangingWeb::new(&clock);
    store.set_policy(&Policy::parse("upkeep").unwrap()).unwrap();
    let settings = UpkeepSettings { every: DAY, timing: VisitTiming::Schedule, ..UpkeepSettings::default() };
    let mut way = Vec::new();
    for _ in 0..6 {
        loop {
            let mut crawl = crawl(&web, &mut store, folder.path()).maintaining(settings);
            let (stop, mut seen) = run(&mut crawl, stops);
            drop(crawl);
            drop(store);
            store = SqliteStore::open(folder.path().join("crawl.db")).unwrap();
            way.append(&mut seen);
            if !matches!(stop, Stop::Limit) {
                assert!(matches!(stop, Stop::Waiting(_)), "{stop:?}");
                break;
            }
        }
        clock.advance(DAY);
    }
    way
}

#[test]
fn a_maintained_crawl_goes_the_same_way_when_it_is_stopped_and_run_again() {
    let whole = way(u64::MAX);
    assert!(whole.len() > 25, "{whole:?}");
    for stops in [1, 3] {
        assert_eq!(way(stops), whole, "stopped after every {stops}");
    }
}

#[test]
fn pages_that_change_are_visited_more_often_and_politely() {
    let (folder, mut store) = scratch();
    let clock = ManualClock::at(Timestamp(86_400_000));
    let web = ChangingWeb::new(&clock);
    store.set_policy(&Policy::parse("upkeep").unwrap()).unwrap();
    let settings = UpkeepSettings {
        every: 4 * DAY,
        shortest: DAY / 2,
        longest: 20 * DAY,
        timing: VisitTiming::Schedule,
        ..UpkeepSettings::default()
    };
    let mut visits: HashMap<String, Vec<Timestamp>> = HashMap::new();
    let mut last: Option<Timestamp> = None;
    let crawl = crawl(&web, &mut store, folder.path()).maintaining(settings);
    let mut observe = |seen: Seen<'_>| {
        visits.entry(seen.url.path().to_owned()).or_default().push(seen.result.at);
        if let Some(last) = last.replace(seen.result.at) {
            assert!(seen.result.at.since(last) >= Duration::from_secs(2), "the site has its pause");
        }
        if clock.now().0 < 60 * 86_400_000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let mut crawl = crawl.polite(Politeness::default(), "porthole");
    let limits = Limits { workers: 4, ..Limits::default() };
    assert_eq!(crawl.run_simulated(limits, &clock, &mut observe).unwrap(), Stop::Asked);
    let times = |path: &str| visits[path].len();
    assert!(times("/news") >= 2 * times("/plain"), "news {}, plain {}", times("/news"), times("/plain"));
    assert!(times("/plain") >= 3 && times("/tagged") >= 3, "every page is visited at the longest interval");
    assert!((2..=5).contains(&times("/gone")), "a page that is gone is given up: {}", times("/gone"));
    assert!(visits.contains_key("/article50"), "new pages are found: {:?}", visits.keys());
    for (path, visits) in &visits {
        for pair in visits.windows(2) {
            assert!(
                pair[1].since(pair[0]) >= DAY / 2,
                "{path} is visited again after {:?}",
                pair[1].since(pair[0])
            );
        }
    }
}
