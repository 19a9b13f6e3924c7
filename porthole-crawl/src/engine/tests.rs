use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use porthole_store::{SqliteStore, StoredModel, WorkspaceWriter};
use porthole_types::{FailureKind, Headers, Judgment, ManualClock, Mark, TopicId};

use std::collections::HashSet;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::time::Duration;

use porthole_store::Store;
use porthole_strategy::{Discipline, PriorityMerge, Selection, StateError, state};
use porthole_topic::{JudgeError, RelevanceJudge};
use porthole_types::{CanonicalUrl, Clock, Outcome, Timestamp, UrlId};
use tokio::time::Instant;

use super::crawl::*;
use crate::archive::Keep;
use crate::distill::DistillSettings;
use crate::result::Focus;
use crate::{AddressesFuture, FetchFuture};
use crate::{Fetch, FetchError, Request, Response};

/// A web of a few pages: path to (status, content type or location, body).
struct TinyWeb(HashMap<&'static str, (u16, &'static str, &'static str)>);

impl Fetch for TinyWeb {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        Box::pin(async move {
            let url = request.url.clone();
            let Some((status, about, body)) = self.0.get(request.url.path()) else {
                return Err(FetchError { url, kind: FailureKind::Connect, detail: "refused".into() });
            };
            let header = if *status / 100 == 3 { ("location", *about) } else { ("content-type", *about) };
            let headers: Headers = [header].into_iter().collect();
            let took = Duration::from_millis(5);
            Ok(Response { took, ..Response::new(*status, headers, *body) })
        })
    }
}

fn web() -> TinyWeb {
    TinyWeb(HashMap::from([
        ("/", (200, "text/html", "<title>home</title><a href=/a>a</a><a href=/b>b</a><a href=/a>again</a>")),
        ("/a", (200, "text/html", "<a href=/c>c</a><a href=/>home</a>")),
        ("/b", (301, "/d", "")),
        ("/c", (200, "application/zip", "PK")),
        ("/d", (404, "text/html", "gone")),
    ]))
}

fn crawl(store: &mut SqliteStore, fetches: u64) -> (Stop, Vec<String>) {
    let (web, clock) = (web(), ManualClock::at(Timestamp(1_000)));
    let mut crawl = Crawl::new(&web, store, &clock).unwrap();
    crawl.start(&[CanonicalUrl::parse("http://tiny.test/").unwrap()]).unwrap();
    let mut seen = Vec::new();
    let mut observe = |page: Seen<'_>| {
        let word = match &page.result.outcome {
            Outcome::Fetched | Outcome::NotModified => "fetched",
            Outcome::Redirected => "redirected",
            Outcome::Retry { failure, .. } => failure.kind.name(),
            Outcome::Dead(failure) | Outcome::Skipped(failure) => failure.kind.name(),
        };
        seen.push(format!("{} {} {word}", page.result.seq, page.url.path()));
        ControlFlow::Continue(())
    };
    let stop = pollster::block_on(crawl.run(Limits { fetches, ..Limits::default() }, &mut observe)).unwrap();
    (stop, seen)
}

#[test]
fn a_crawl_is_breadth_first_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path().join("crawl.db")).unwrap();
    let (stop, seen) = crawl(&mut store, u64::MAX);
    assert_eq!(stop, Stop::Exhausted);
    assert_eq!(seen, ["0 / fetched", "1 /a fetched", "2 /b redirected", "3 /c type", "4 /d status"]);
    let counts = store.counts();
    assert_eq!(
        (counts.known, counts.fetched, counts.redirected, counts.dead, counts.skipped),
        (5, 2, 1, 1, 1)
    );
    assert_eq!(counts.links, 5, "each target once per page");
}

#[test]
fn a_second_run_resumes_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("crawl.db");
    let (stop, first) = crawl(&mut SqliteStore::open(&path).unwrap(), 2);
    assert_eq!((stop, first.len()), (Stop::Limit, 2));
    let (stop, second) = crawl(&mut SqliteStore::open(&path).unwrap(), u64::MAX);
    assert_eq!(stop, Stop::Exhausted);
    assert_eq!(second, ["2 /b redirected", "3 /c type", "4 /d status"]);
}

/// Three hosts of ten pages each, and one that forbids everything. Records every request with its time.
#[derive(Default)]
struct HostsWeb {
    in_flight: Mutex<HashMap<String, u32>>,
    asked: Mutex<Vec<(String, String, Instant)>>,
    /// The address of all hosts.
    address: Option<IpAddr>,
}

impl Fetch for HostsWeb {
    fn addresses<'a>(&'a self, _: &'a CanonicalUrl) -> AddressesFuture<'a> {
        Box::pin(std::future::ready(Ok(self.address.into_iter().collect())))
    }

    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        Box::pin(async move {
            let (host, path) = (request.url.host().to_owned(), request.url.path().to_owned());
            let before = Instant::now();
            self.asked.lock().unwrap().push((host.clone(), path.clone(), before));
            let under_way = {
                let mut in_flight = self.in_flight.lock().unwrap();
                let count = in_flight.entry(host.clone()).or_default();
                *count += 1;
                *count
            };
            assert_eq!(under_way, 1, "two requests at {host}");
            tokio::time::sleep(Duration::from_millis(3)).await;
            *self.in_flight.lock().unwrap().get_mut(&host).unwrap() -= 1;
            let (kind, body) = match path.as_str() {
                "/robots.txt" if host == "closed.test" => {
                    ("text/plain", "User-agent: *\nDisallow: /".to_owned())
                }
                "/robots.txt" if host == "a.test" => {
                    ("text/plain", "Sitemap: /map.xml\nUser-agent: porthole\nDisallow: /9".to_owned())
                }
                "/robots.txt" => ("text/plain", "User-agent: porthole\nDisallow: /9".to_owned()),
                "/map.xml" => {
                    let page = |url| format!("<url><loc>{url}</loc></url>");
                    let pages =
                        ["http://a.test/hidden", "http://a.test/1", "http://b.test/elsewhere"].map(page);
                    ("application/xml", format!("<urlset>{}</urlset>", pages.concat()))
                }
                _ => {
                    let links = (0..10).flat_map(|n| {
                        ["a", "b", "c", "closed"].map(|host| format!("<a href=http://{host}.test/{n}>x</a>"))
                    });
                    ("text/html", links.collect())
                }
            };
            let headers: Headers = [("content-type", kind)].into_iter().collect();
            let took = before.elapsed();
            Ok(Response { took, ..Response::new(200, headers, body) })
        })
    }
}

/// The clock that tokio's timers follow.
struct SimulatedClock(Instant);

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_000_000_000_000).after(self.0.elapsed())
    }
}

/// Crawls politely from these URLs in simulated time: only waiting takes any.
fn crawl_politely(
    (web, store): (&HostsWeb, &mut SqliteStore),
    pause: Duration,
    starts: impl Iterator<Item = String>,
    limits: Limits,
    observe: &mut dyn Observer,
) -> Stop {
    let politeness = crate::Politeness { min_delay: pause, delay_factor: 0, ..crate::Politeness::default() };
    let starts: Vec<_> = starts.map(|url| CanonicalUrl::parse(&url).unwrap()).collect();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let crawl = Crawl::new(web, store, SimulatedClock(Instant::now())).unwrap();
        let mut crawl = crawl.polite(politeness, "porthole").reading_in_place();
        crawl.start(&starts).unwrap();
        let run = crawl.run(limits, observe);
        tokio::time::timeout(Duration::from_secs(3_600), run).await.expect("the crawl must end").unwrap()
    })
}

pub(super) fn scratch() -> (tempfile::TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("crawl.db")).unwrap();
    (folder, store)
}

const TO_THE_END: Limits = Limits { workers: 8, ..Limits::NONE };

#[test]
fn a_polite_crawl_reads_robots_first_and_keeps_pauses() {
    const PAUSE: Duration = Duration::from_millis(20);
    let (_folder, mut store) = scratch();
    let web = HostsWeb::default();
    let starts = ["http://a.test/0".to_owned()].into_iter();
    let mut observe = |_: Seen<'_>| ControlFlow::Continue(());
    assert_eq!(crawl_politely((&web, &mut store), PAUSE, starts, TO_THE_END, &mut observe), Stop::Exhausted);
    let asked = web.asked.into_inner().unwrap();
    for host in ["a.test", "b.test", "c.test", "closed.test"] {
        let own: Vec<_> = asked.iter().filter(|(asked, ..)| asked == host).collect();
        assert_eq!(own[0].1, "/robots.txt", "{host} is asked first");
        // a.test also has a sitemap, and a page that only the sitemap lists.
        let requests = [("closed.test", 1), ("a.test", 12)].into_iter().find(|(known, _)| *known == host);
        assert_eq!(own.len(), requests.map_or(10, |(_, count)| count), "{host}: {own:?}");
        assert!(host != "a.test" || own[11].1 == "/hidden", "{own:?}");
        assert!(own.iter().all(|(_, path, _)| path != "/9"));
        let gaps = own.windows(2).map(|pair| pair[1].2 - pair[0].2);
        assert!(gaps.into_iter().all(|gap| gap >= PAUSE), "{host} got a request too early");
    }
    let counts = store.counts();
    assert_eq!((counts.fetched, counts.skipped), (28, 13));
}

#[test]
fn sites_on_one_address_share_its_pauses() {
    const PAUSE: Duration = Duration::from_millis(30);
    let (_folder, mut store) = scratch();
    let web = HostsWeb { address: Some(IpAddr::from([192, 0, 2, 1])), ..HostsWeb::default() };
    let starts = ["a", "b", "c"].map(|host| format!("http://{host}.test/x")).into_iter();
    let mut observe = |_: Seen<'_>| ControlFlow::Continue(());
    let limits = Limits { fetches: 9, ..TO_THE_END };
    assert_eq!(crawl_politely((&web, &mut store), PAUSE, starts, limits, &mut observe), Stop::Limit);
    let asked = web.asked.into_inner().unwrap();
    let hosts: HashSet<_> = asked.iter().map(|(host, ..)| host.as_str()).collect();
    assert!(hosts.len() >= 3, "every host has its turn: {hosts:?}");
    assert!(asked.windows(2).all(|pair| pair[1].2 - pair[0].2 >= PAUSE), "{asked:?}");
    let sites = store.reader().sites().unwrap();
    assert!(sites.len() >= 3 && sites[..3].iter().all(|site| site.address == web.address), "{sites:?}");
}

#[test]
fn a_huge_site_does_not_block_others() {
    let (_folder, mut store) = scratch();
    let web = HostsWeb::default();
    let huge = (0..6_000).map(|page| format!("http://huge.test/{page}x"));
    let starts = huge.chain(["http://small.test/1x".to_owned()]);
    let mut hosts = HashMap::new();
    let mut observe = |seen: Seen<'_>| {
        *hosts.entry(seen.url.host().to_owned()).or_insert(0) += 1;
        ControlFlow::Continue(())
    };
    let limits = Limits { fetches: 120, workers: 4, ..Limits::default() };
    crawl_politely((&web, &mut store), Duration::from_millis(5), starts, limits, &mut observe);
    assert_eq!(hosts["small.test"], 1, "{hosts:?}");
    // More than are held at a time: the others were given back and taken again.
    assert!(hosts["huge.test"] > 80, "{hosts:?}");
}

#[test]
fn a_crawl_of_a_huge_forbidden_site_ends() {
    let (_folder, mut store) = scratch();
    let web = HostsWeb::default();
    let starts = (0..500).map(|page| format!("http://closed.test/{page}x"));
    let mut observe = |_: Seen<'_>| ControlFlow::Continue(());
    let stop = crawl_politely((&web, &mut store), Duration::from_millis(5), starts, TO_THE_END, &mut observe);
    assert_eq!((stop, store.counts().skipped), (Stop::Exhausted, 500));
    assert_eq!(web.asked.into_inner().unwrap().len(), 1, "robots.txt alone was asked for");
}

/// Judges pages as relevant that contain its word.
pub(super) struct WordJudge(pub(super) &'static str);

impl RelevanceJudge for WordJudge {
    fn judge_page(&mut self, _: &CanonicalUrl, page: &porthole_page::Page) -> Result<Judgment, JudgeError> {
        let says = page.text.contains(self.0);
        Ok(Judgment { relevance: if says { 0.9 } else { 0.1 }, best: TopicId(u16::from(says)) })
    }
}

#[test]
fn archived_pages_are_rejudged_without_a_fetch() {
    let (folder, mut store) = scratch();
    let web = TinyWeb(HashMap::from([
        ("/", (200, "text/html", "<p>start<a href=/owls>1</a><a href=/cats>2</a>")),
        ("/owls", (200, "text/html", "<p>owls<a href=/more-owls>more</a>")),
        ("/cats", (200, "text/html", "<p>cats<a href=/more-cats>more</a>")),
    ]));
    let clock = ManualClock::at(Timestamp(1_000));
    let focus = |word| Focus {
        judge: Box::new(WordJudge(word)),
        strategy: Box::new(porthole_strategy::Soft),
        marks: vec![Mark::Path, Mark::Good],
    };
    let reader = store.reader();
    let relevances = || {
        let answer = reader
            .sql("select url, relevance from crawl order by url", &porthole_store::QueryLimits::default());
        let rows = answer.unwrap().rows;
        let row = |row: &Vec<porthole_store::SqlValue>| format!("{row:?}").replace("http://tiny.test", "");
        rows.iter().map(row).collect::<Vec<_>>().join(" ")
    };
    let mut crawl = Crawl::new(&web, &mut store, &clock)
        .unwrap()
        .focused(focus("owls"))
        .archived(&folder.path().join("pages"), Keep::All)
        .unwrap();
    crawl.start(&[CanonicalUrl::parse("http://tiny.test/").unwrap()]).unwrap();
    let mut fetched = 0;
    let mut observe = |_: Seen<'_>| {
        fetched += 1;
        ControlFlow::Continue(())
    };
    pollster::block_on(async {
        assert_eq!(crawl.rejudge_if_changed("owls", |_| ()).unwrap(), 0);
        let limits = Limits { fetches: 4, ..Limits::default() };
        assert_eq!(crawl.run(limits, &mut observe).await.unwrap(), Stop::Limit);
        crawl.writer.store.tidy().unwrap();
        let before = relevances();
        crawl.refocus(focus("cats"));
        assert_eq!(crawl.rejudge_if_changed("cats", |_| ()).unwrap(), 3);
        assert_eq!(crawl.rejudge_if_changed("cats", |_| ()).unwrap(), 0, "nothing is left to judge");
        crawl.writer.store.tidy().unwrap();
        let after = relevances();
        // The pages, and the URLs queued behind them, have swapped their relevance.
        let swapped = before.replace("owls", "?").replace("cats", "owls").replace('?', "cats");
        let sorted = |text: &str| {
            let mut rows: Vec<String> =
                text.split("] ").map(|row| row.trim_end_matches(']').to_owned()).collect();
            rows.sort();
            rows
        };
        assert_eq!(sorted(&after), sorted(&swapped));
        assert!(before != after, "{before}");
    });
    assert_eq!(fetched, 4, "three pages and one failure");
}

/// Judges by one word, also if only the terms of a page are known.
struct HasTerm(porthole_types::TermId);

impl HasTerm {
    fn judgment(&self, is_there: bool) -> Judgment {
        Judgment { relevance: if is_there { 0.9 } else { 0.1 }, best: TopicId(u16::from(is_there)) }
    }
}

impl RelevanceJudge for HasTerm {
    fn judge_page(&mut self, _: &CanonicalUrl, page: &porthole_page::Page) -> Result<Judgment, JudgeError> {
        Ok(self.judgment(page.terms().contains(&self.0)))
    }

    fn judge_counts(&mut self, counts: &[(porthole_types::TermId, u32)]) -> Option<Judgment> {
        Some(self.judgment(counts.iter().any(|(term, _)| *term == self.0)))
    }
}

fn term(word: &str) -> porthole_types::TermId {
    let mut extractor = porthole_page::Extractor::default();
    let headers = [("content-type", "text/html")].into_iter().collect();
    let url = CanonicalUrl::parse("http://tiny.test/").unwrap();
    extractor.extract(&url, &headers, format!("<p>{word}").as_bytes()).terms()[0]
}

#[test]
fn unarchived_pages_are_rejudged_by_their_terms() {
    let (_folder, mut store) = scratch();
    let web = TinyWeb(HashMap::from([
        ("/", (200, "text/html", "<p>start<a href=/owls>1</a><a href=/cats>2</a>")),
        ("/owls", (200, "text/html", "<p>owls<a href=/more-owls>more</a>")),
        ("/cats", (200, "text/html", "<p>cats<a href=/more-cats>more</a>")),
    ]));
    let clock = ManualClock::at(Timestamp(1_000));
    let focus = |word| Focus {
        judge: Box::new(HasTerm(term(word))),
        strategy: Box::new(porthole_strategy::Soft),
        marks: vec![Mark::Path, Mark::Good],
    };
    let reader = store.reader();
    let relevance = |path: &str| {
        let sql = format!("select relevance from crawl where url = 'http://tiny.test{path}'");
        let answer = reader.sql(&sql, &porthole_store::QueryLimits::default()).unwrap();
        (answer.rows[0][0].real().unwrap() * 10.0).round()
    };
    let mut crawl = Crawl::new(&web, &mut store, &clock).unwrap().focused(focus("owls"));
    crawl.start(&[CanonicalUrl::parse("http://tiny.test/").unwrap()]).unwrap();
    crawl.rejudge_if_changed("owls", |_| ()).unwrap();
    let mut observe = |_: Seen<'_>| ControlFlow::Continue(());
    let limits = Limits { fetches: 4, ..Limits::default() };
    pollster::block_on(crawl.run(limits, &mut observe)).unwrap();
    crawl.writer.store.tidy().unwrap();
    let kept = ["/owls", "/cats", "/more-cats"].map(relevance);
    assert_eq!(kept, [9.0, 1.0, 1.0]);
    crawl.refocus(focus("cats"));
    assert_eq!(crawl.rejudge_if_changed("cats", |_| ()).unwrap(), 3);
    crawl.writer.store.tidy().unwrap();
    // The URLs queued behind the pages follow.
    let kept = ["/owls", "/cats", "/more-cats"].map(relevance);
    assert_eq!(kept, [1.0, 9.0, 9.0]);
}

#[test]
fn a_copy_is_recorded_and_earns_no_credit() {
    const TEXT: &str = "<p>the barn owl hunts mice and voles at night over open fields and hedges, nests in old barns and \
        church towers, and is found on every continent but one; its face is shaped like a heart";
    let (_folder, mut store) = scratch();
    let original = format!("{TEXT}<a href=/more>on</a>");
    let copy = format!("{TEXT}<a href=/elsewhere>on</a>");
    let pages: Vec<&'static str> = vec![original.leak(), copy.leak()];
    let web = TinyWeb(HashMap::from([
        ("/", (200, "text/html", "<p>start<a href=/a>1</a><a href=/b>2</a>")),
        ("/a", (200, "text/html", pages[0])),
        ("/b", (200, "text/html", pages[1])),
    ]));
    let clock = ManualClock::at(Timestamp(1_000));
    let told = Arc::new(Mutex::new(Vec::new()));
    let focus = Focus {
        judge: Box::new(WordJudge("owl")),
        strategy: Box::new(RecordingStrategy(told.clone())),
        marks: vec![Mark::Path, Mark::Good],
    };
    let mut crawl = Crawl::new(&web, &mut store, &clock).unwrap().focused(focus).avoiding_traps();
    crawl.start(&[CanonicalUrl::parse("http://tiny.test/").unwrap()]).unwrap();
    let mut copies = Vec::new();
    let mut observe = |seen: Seen<'_>| {
        copies.extend(seen.result.copy_of.map(|original| (seen.url.path().to_owned(), original)));
        ControlFlow::Continue(())
    };
    let limits = Limits { fetches: 3, ..Limits::default() };
    pollster::block_on(crawl.run(limits, &mut observe)).unwrap();
    let a = CanonicalUrl::parse("http://tiny.test/a").unwrap().id();
    assert_eq!(copies, [("/b".to_owned(), a)]);
    drop(crawl);
    assert_eq!(*told.lock().unwrap(), ["links of /", "links of /a", "settled /b"]);
    assert_eq!((store.counts().fetched, store.counts().copies), (3, 1));
    // Its links are in the tables like those of any page.
    let links = store.reader().sql(
        "select count(*) from link join crawl on crawl.oid = link.oid_dst where url like '%/elsewhere'",
        &porthole_store::QueryLimits::default(),
    );
    assert_eq!(links.unwrap().rows[0][0].integer(), Some(1));
}

/// Records what a strategy is told.
struct RecordingStrategy(Arc<Mutex<Vec<String>>>);

impl porthole_strategy::Strategy for RecordingStrategy {
    fn name(&self) -> &str {
        "told"
    }

    fn arrived(&mut self, source: &porthole_strategy::SourcePage<'_>) {
        self.0.lock().unwrap().push(format!("links of {}", source.url.path()));
    }

    fn priority(&mut self, _: &porthole_strategy::SourcePage<'_>, _: &porthole_page::Link) -> Option<f64> {
        Some(0.5)
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.0.lock().unwrap().push(format!("settled {}", url.path()));
    }
}

/// Takes links in the order of their URLs, under a given discipline.
struct Disciplined(Discipline, Vec<UrlId>);

impl porthole_strategy::Strategy for Disciplined {
    fn name(&self) -> &str {
        "disciplined"
    }

    fn discipline(&self) -> Discipline {
        self.0
    }

    fn choose(&mut self, _: usize) -> Vec<UrlId> {
        self.1.clone()
    }

    fn priority(&mut self, _: &porthole_strategy::SourcePage<'_>, link: &porthole_page::Link) -> Option<f64> {
        self.1.push(link.target.id());
        Some(-f64::from(link.target.path().as_bytes()[1]))
    }
}

/// The order in which a small tree is crawled under a discipline, and the number of evicted URLs.
fn disciplined(discipline: Discipline, workers: usize) -> (String, usize) {
    let (_folder, mut store) = scratch();
    let web = TinyWeb(HashMap::from([
        ("/", (200, "text/html", "<p>tree<a href=/d>d</a><a href=/m>m</a><a href=/x>x</a>")),
        ("/d", (200, "text/html", "<p>tree<a href=/a>a</a><a href=/e>e</a>")),
        ("/m", (200, "text/html", "<p>tree<a href=/b>b</a>")),
        ("/a", (200, "text/html", "<p>leaf")),
        ("/b", (200, "text/html", "<p>leaf")),
        ("/e", (200, "text/html", "<p>leaf")),
        ("/x", (200, "text/html", "<p>leaf")),
    ]));
    let clock = ManualClock::at(Timestamp(1_000));
    let root = CanonicalUrl::parse("http://tiny.test/").unwrap();
    let strategy = Box::new(Disciplined(discipline, vec![root.id()]));
    let focus = Focus { judge: Box::new(WordJudge("nothing")), strategy, marks: vec![Mark::Path] };
    let mut crawl = Crawl::new(&web, &mut store, &clock).unwrap().focused(focus);
    crawl.start(&[root]).unwrap();
    let mut order = String::new();
    let mut observe = |seen: Seen<'_>| {
        order.push_str(&seen.url.path()[1..]);
        order.push(' ');
        ControlFlow::Continue(())
    };
    let limits = Limits { workers, ..Limits::default() };
    pollster::block_on(crawl.run(limits, &mut observe)).unwrap();
    drop(crawl);
    (order.trim().to_owned(), store.counts().evicted)
}

#[test]
fn disciplines_decide_the_order() {
    let discipline = |selection, bound| Discipline { selection, bound, ..Discipline::default() };
    // The best next: the links of /d come before /m.
    assert_eq!(disciplined(Discipline::default(), 1), ("d a e m b x".to_owned(), 0));
    // Two at a time: /m was chosen together with /d.
    assert_eq!(disciplined(discipline(Selection::Batch(2), None), 1).0, "d m a b e x");
    // At most one URL is queued: the others are evicted.
    assert_eq!(disciplined(discipline(Selection::Best, Some(1)), 1), ("d a".to_owned(), 3));
    // In the order of discovery, as this strategy chooses.
    assert_eq!(disciplined(discipline(Selection::Own, None), 1).0, "d m x a e b");
}

#[test]
fn folders_above_good_pages_are_tried() {
    let (_folder, mut store) = scratch();
    let web = TinyWeb(HashMap::from([
        ("/a/b/owls", (200, "text/html", "<p>owls")),
        ("/c/cats", (200, "text/html", "<p>cats")),
        ("/a/", (200, "text/html", "<p>list")),
    ]));
    let clock = ManualClock::at(Timestamp(1_000));
    let strategy = Box::new(porthole_strategy::Soft);
    let focus = Focus { judge: Box::new(WordJudge("owls")), strategy, marks: vec![Mark::Path, Mark::Good] };
    let mut crawl = Crawl::new(&web, &mut store, &clock).unwrap().focused(focus).truncating(true);
    let starts = ["/a/b/owls", "/c/cats"].map(|path| format!("http://tiny.test{path}"));
    crawl.start(&starts.map(|url| CanonicalUrl::parse(&url).unwrap())).unwrap();
    let mut asked = Vec::new();
    let mut observe = |seen: Seen<'_>| {
        asked.push(seen.url.path().to_owned());
        ControlFlow::Continue(())
    };
    pollster::block_on(crawl.run(Limits::default(), &mut observe)).unwrap();
    assert_eq!(asked, ["/a/b/owls", "/c/cats", "/a/b/", "/a/", "/"]);
}

#[test]
fn links_of_hubs_come_first() {
    let web = TinyWeb(HashMap::from([
        (
            "/hub",
            (
                200,
                "text/html",
                "owls <a href=http://a.test/1>1</a><a href=http://b.test/2>2</a><a href=http://c.test/3>3</a>\
                 <a href=http://d.test/4>4</a>",
            ),
        ),
        ("/1", (200, "text/html", "owls <a href=http://e.test/5>5</a>")),
        ("/2", (200, "text/html", "owls")),
        ("/3", (200, "text/html", "owls")),
        ("/4", (200, "text/html", "owls")),
        ("/5", (200, "text/html", "owls")),
    ]));
    let crawl = |distils: bool| {
        let (_folder, mut store) = scratch();
        let clock = ManualClock::at(Timestamp(1_000));
        // Later links come first, so only hubs speak for what was found early.
        let strategy = Box::new(LaterFirst(0.0));
        let focus =
            Focus { judge: Box::new(WordJudge("owls")), strategy, marks: vec![Mark::Path, Mark::Good] };
        let mut crawl = Crawl::new(&web, &mut store, &clock).unwrap().focused(focus);
        if distils {
            let settings = DistillSettings { every: 3, least: 3, revisits: 0, ..DistillSettings::default() };
            crawl = crawl.distilling(settings).unwrap();
        }
        crawl.start(&[CanonicalUrl::parse("http://h.test/hub").unwrap()]).unwrap();
        let mut order = String::new();
        let mut observe = |seen: Seen<'_>| {
            order.push_str(&seen.url.path()[1..]);
            ControlFlow::Continue(())
        };
        pollster::block_on(crawl.run(Limits::default(), &mut observe)).unwrap();
        drop(crawl);
        let count = "select count(*) from hubs where score > 0";
        let hubs = store.reader().sql(count, &porthole_store::QueryLimits::default()).unwrap();
        (order, format!("{:?}", hubs.rows[0][0]))
    };
    assert_eq!(crawl(false), ("hub43215".to_owned(), "Integer(0)".to_owned()));
    let (order, hubs) = crawl(true);
    // After three fetches the links of the hub are raised to the same priority, and the first found of them comes
    // first.
    assert_eq!(order, "hub43125");
    assert_ne!(hubs, "Integer(0)");
    assert_eq!(crawl(true).0, order, "the same order every time");
}

/// Follows links in reverse order of discovery.
struct LaterFirst(f64);

impl porthole_strategy::Strategy for LaterFirst {
    fn name(&self) -> &str {
        "later first"
    }

    fn priority(&mut self, _: &porthole_strategy::SourcePage<'_>, _: &porthole_page::Link) -> Option<f64> {
        self.0 += 0.01;
        Some(self.0)
    }
}

/// Counts how often each anchor word led to owls, and follows the best words first. The latest priority counts.
#[derive(Default)]
struct Learner {
    asked: std::collections::BTreeMap<UrlId, u64>,
    led_to_owls: std::collections::BTreeMap<u64, u64>,
    told: u64,
}

impl Learner {
    fn worth(&self, word: u64) -> f64 {
        self.led_to_owls.get(&word).copied().unwrap_or(0) as f64 + 1.0 / (1.0 + word as f64)
    }
}

impl porthole_strategy::Strategy for Learner {
    fn name(&self) -> &str {
        "learner"
    }

    fn discipline(&self) -> Discipline {
        Discipline { merge: PriorityMerge::Latest, ..Discipline::default() }
    }

    fn arrived(&mut self, source: &porthole_strategy::SourcePage<'_>) {
        self.told += 1;
        if let (Some(word), true) = (self.asked.remove(&source.url.id()), source.on_topic) {
            *self.led_to_owls.entry(word).or_default() += 1;
        }
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.told += 1;
        self.asked.remove(&url.id());
    }

    fn priority(
        &mut self,
        source: &porthole_strategy::SourcePage<'_>,
        link: &porthole_page::Link,
    ) -> Option<f64> {
        let word = source.page.anchor_text(link).len() as u64;
        self.asked.insert(link.target.id(), word);
        Some(self.worth(word))
    }

    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        self.asked.iter().map(|(oid, word)| (*oid, self.worth(*word))).collect()
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(state::save(1, (self.told, &self.asked, &self.led_to_owls)))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        (self.told, self.asked, self.led_to_owls) = state::restore(1, saved)?;
        Ok(())
    }
}

/// What a resumed crawl finds of its strategy's saved state.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SavedState {
    /// The state as saved when the crawl stopped.
    All,
    /// Nothing, as after a kill.
    Nothing,
    /// A state saved by another version of the program.
    OtherForm,
    /// A state saved by another version of the strategy.
    OtherFormInside,
}

/// The order of fetches of a learning crawl that is stopped after every `stops` fetches, and its final state.
fn learning(stops: u64, saved: SavedState) -> (String, Vec<u8>) {
    let web = TinyWeb(HashMap::from([
        (
            "/",
            (
                200,
                "text/html",
                "<a href=/1>long word</a><a href=/2>word</a><a href=/3>long word</a><a href=/4>word</a><a href=/5>word</a>",
            ),
        ),
        ("/1", (200, "text/html", "cats <a href=/6>word</a>")),
        ("/2", (200, "text/html", "owls <a href=/7>long word</a><a href=/3>short</a>")),
        ("/3", (200, "text/html", "cats")),
        ("/4", (404, "text/html", "")),
        ("/5", (200, "text/html", "owls <a href=/8>word</a>")),
        ("/6", (200, "text/html", "cats")),
        ("/7", (200, "text/html", "cats")),
        ("/8", (301, "/9", "")),
        ("/9", (200, "text/html", "owls")),
    ]));
    let (folder, mut store) = scratch();
    let clock = ManualClock::at(Timestamp(1_000));
    let mut order = String::new();
    loop {
        let strategy = Box::new(Learner::default());
        let focus =
            Focus { judge: Box::new(WordJudge("owls")), strategy, marks: vec![Mark::Path, Mark::Good] };
        let crawl = Crawl::new(&web, &mut store, &clock).unwrap().focused(focus);
        let mut crawl = crawl.archived(&folder.path().join("pages"), Keep::All).unwrap();
        crawl.start(&[CanonicalUrl::parse("http://tiny.test/").unwrap()]).unwrap();
        let mut observe = |seen: Seen<'_>| {
            order.push_str(seen.url.path());
            ControlFlow::Continue(())
        };
        let limits = Limits { fetches: stops, ..Limits::default() };
        let stop = pollster::block_on(crawl.run(limits, &mut observe)).unwrap();
        let learned = crawl.writer.scorer.as_ref().and_then(|scorer| scorer.strategy.save()).unwrap();
        if stop == Stop::Exhausted {
            return (order, learned);
        }
        let bytes = match saved {
            SavedState::All => continue,
            SavedState::Nothing => Vec::new(),
            SavedState::OtherForm => [&1_u32.to_le_bytes()[..], &7_u64.to_le_bytes(), &[0; 40]].concat(),
            SavedState::OtherFormInside => {
                let head = state::save(2, (u64::MAX, "learner"));
                [head, state::save(9, "something else")].concat()
            }
        };
        crawl.writer.store.set_model("strategy", &StoredModel { bytes, made: Timestamp(0) }).unwrap();
    }
}

#[test]
fn a_resumed_strategy_continues_as_if_not_stopped() {
    let (order, learned) = learning(u64::MAX, SavedState::All);
    // Words that led to owls come first once that is known; before that, shorter ones.
    assert_eq!(order, "//2/4/5/8/9/3/1/6/7");
    for stops in [1, 2, 3] {
        for saved in
            [SavedState::All, SavedState::Nothing, SavedState::OtherForm, SavedState::OtherFormInside]
        {
            assert_eq!(
                learning(stops, saved),
                (order.clone(), learned.clone()),
                "{saved:?} after every {stops}"
            );
        }
    }
}

/// A web in which everything that a server controls is very long.
struct LongWinded;

impl Fetch for LongWinded {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        Box::pin(async move {
            let long = "x".repeat(490_000);
            let (kind, body) = match (request.url.host(), request.url.path()) {
                ("closed.test", "/robots.txt") => {
                    ("text/plain".to_owned(), format!("User-agent: *\nDisallow: /{}", "*".repeat(9_000)))
                }
                (_, "/robots.txt") => ("text/plain".to_owned(), String::new()),
                (_, "/type") => (format!("x/{long}"), long),
                _ => {
                    let links = (0..300).map(|n| format!("<a href=http://closed.test/{n}>x</a>"));
                    let links: String = links.chain(["<a href=/type>x</a>".to_owned()]).collect();
                    ("text/html".to_owned(), format!("<title>{}</title>{links}", "é".repeat(1 << 20)))
                }
            };
            let headers: Headers = [("content-type", kind.as_str())].into_iter().collect();
            Ok(Response::new(200, headers, body))
        })
    }
}

#[test]
fn long_server_data_is_stored_shortened() {
    let (folder, mut store) = scratch();
    let politeness = crate::Politeness { min_delay: Duration::ZERO, ..crate::Politeness::off() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let stop = runtime.block_on(async {
        let mut crawl =
            Crawl::new(&LongWinded, &mut store, crate::SystemClock).unwrap().polite(politeness, "porthole");
        crawl.start(&[CanonicalUrl::parse("http://a.test/").unwrap()]).unwrap();
        crawl.run(TO_THE_END, &mut |_: Seen<'_>| ControlFlow::Continue(())).await.unwrap()
    });
    assert_eq!((stop, store.counts().skipped), (Stop::Exhausted, 301));
    let sql = "select max(length(title)), max(length(detail)), count(detail) from crawl";
    let answer = store.reader().sql(sql, &porthole_store::QueryLimits::default()).unwrap();
    let number = |at: usize| match answer.rows[0][at] {
        porthole_store::SqlValue::Integer(number) => number,
        ref other => panic!("{other:?}"),
    };
    assert!((400..=1_000).contains(&number(0)), "title of {}", number(0));
    assert!((200..=300).contains(&number(1)), "detail of {}", number(1));
    assert_eq!(number(2), 301);
    drop(store);
    let size = std::fs::metadata(folder.path().join("crawl.db")).unwrap().len();
    assert!(size < 1 << 20, "{size} bytes");
}
