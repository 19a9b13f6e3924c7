//! Best-N-First on the real frontier, against the pseudocode of P Fig. 1.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::time::Duration;

use porthole_page::{Extractor, TermSplitter};
use porthole_strategy::{CrawlGoal, SourcePage, Strategy, named};
use porthole_types::{
    CanonicalUrl, FailureKind, Headers, Judgment, ManualClock, Mark, Timestamp, TopicId, UrlId,
};

use super::tests::{WordJudge, scratch};
use super::{Crawl, Limits, Seen};
use crate::result::Focus;
use crate::{Fetch, FetchError, FetchFuture, Request, Response};

/// Pages by path: how often each says `owl` and `tree`, and its links.
#[derive(Clone, Debug)]
struct OwlWeb(BTreeMap<String, (usize, usize, Vec<String>)>);

impl OwlWeb {
    /// From lines such as "s 3 4 a b c".
    fn new(lines: &[&str]) -> Self {
        let page = |line: &&str| {
            let mut words = line.split_whitespace().map(str::to_owned);
            let path = format!("/{}", words.next().unwrap());
            let mut count = || words.next().unwrap().parse().unwrap();
            let (owls, trees) = (count(), count());
            (path, (owls, trees, words.map(|to| format!("/{to}")).collect()))
        };
        OwlWeb(lines.iter().map(page).collect())
    }

    /// Pages with random links and few different scores, so that links are found again and ties are common.
    fn drawn(seed: u64) -> Self {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % end
        };
        let page = |number: u64| {
            let (owls, trees) = ([4, 3, 1, 0][below(4) as usize], [3, 4, 1][below(3) as usize]);
            let links = (0..2 + below(5)).map(|_| format!("/{}", below(40))).collect();
            (format!("/{number}"), (owls, trees, links))
        };
        OwlWeb((0..40).map(page).collect())
    }

    fn html(&self, path: &str) -> Option<String> {
        let (owls, trees, links) = self.0.get(path)?;
        let links: String = links.iter().map(|to| format!("<a href={to}></a>")).collect();
        Some(format!("<p>{}{}{links}", "owl ".repeat(*owls), "tree ".repeat(*trees)))
    }
}

impl Fetch for OwlWeb {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        let url = request.url.clone();
        let answer = match self.html(url.path()) {
            None => Err(FetchError { url, kind: FailureKind::Connect, detail: "refused".into() }),
            Some(html) => {
                let headers: Headers = [("content-type", "text/html")].into_iter().collect();
                let (body, took) = (html, Duration::from_millis(5));
                Ok(Response { took, ..Response::new(200, headers, body) })
            }
        };
        Box::pin(std::future::ready(answer))
    }
}

fn url(path: &str) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://site.test{path}")).unwrap()
}

fn best_n(n: usize, buffer: usize, seed: u64) -> Box<dyn Strategy> {
    let mut keywords = Vec::new();
    TermSplitter::default().append("owl hawk", "en", &mut keywords);
    let goal = CrawlGoal { keywords, seed, ..CrawlGoal::default() };
    named(&format!("best-{n}:buffer={buffer}"), &goal).unwrap()
}

/// The paths that a crawl fetches; every few fetches it is stopped, and the database is opened again.
fn crawled(web: &OwlWeb, start: &str, strategy: impl Fn() -> Box<dyn Strategy>, run: u64) -> Vec<String> {
    let (folder, mut store) = scratch();
    let clock = ManualClock::at(Timestamp(1_000));
    let mut way = Vec::new();
    loop {
        let before = way.len();
        let focus =
            Focus { judge: Box::new(WordJudge("owl")), strategy: strategy(), marks: vec![Mark::Path] };
        let mut crawl = Crawl::new(web, &mut store, &clock).unwrap().focused(focus);
        crawl.start(&[url(start)]).unwrap();
        let mut observe = |seen: Seen<'_>| {
            way.push(seen.url.path().to_owned());
            ControlFlow::Continue(())
        };
        pollster::block_on(crawl.run(Limits { fetches: run, ..Limits::default() }, &mut observe)).unwrap();
        drop(crawl);
        if way.len() == before {
            return way;
        }
        drop(store);
        store = porthole_store::SqliteStore::open(folder.path().join("crawl.db")).unwrap();
    }
}

/// P Fig. 1, with lists. Of links with equal scores the one found first is better; a link that is queued already keeps
/// its place and the higher score; fetched pages are not queued.
fn figure_1(web: &OwlWeb, start: &str, n: usize, buffer: usize, strategy: &mut dyn Strategy) -> Vec<String> {
    struct Entry {
        path: String,
        score: f64,
        found: usize,
    }
    fn sort(frontier: &mut [Entry]) {
        frontier.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.found.cmp(&b.found)));
    }
    let mut extractor = Extractor::default();
    let mut frontier = vec![Entry { path: start.to_owned(), score: 1.0, found: 0 }];
    let (mut known, mut way) = (HashSet::new(), Vec::new());
    let mut found = 0;
    while !frontier.is_empty() {
        sort(&mut frontier);
        let batch: Vec<Entry> = frontier.drain(..n.min(frontier.len())).collect();
        let mut order: Vec<UrlId> = batch.iter().map(|entry| url(&entry.path).id()).collect();
        strategy.arrange(&mut order);
        known.extend(batch.iter().map(|entry| entry.path.clone()));
        for id in order {
            let path = &batch.iter().find(|entry| url(&entry.path).id() == id).unwrap().path;
            way.push(path.clone());
            let Some(html) = web.html(path) else { continue };
            let own = url(path);
            let page = extractor.extract(&own, &Headers::new(), html.as_bytes());
            let judgment = Judgment { relevance: 0.5, best: TopicId(0) };
            let source = SourcePage { url: &own, page: &page, judgment, on_topic: false, depth: 0 };
            strategy.arrived(&source);
            let mut on_page = HashSet::new();
            for link in &page.links {
                let (path, score) = (link.target.path(), strategy.priority(&source, link).unwrap());
                if known.contains(path) || !on_page.insert(path.to_owned()) {
                    continue;
                }
                if let Some(entry) = frontier.iter_mut().find(|entry| entry.path == path) {
                    entry.score = entry.score.max(score);
                    continue;
                }
                if frontier.len() >= buffer {
                    sort(&mut frontier);
                    frontier.pop();
                }
                found += 1;
                frontier.push(Entry { path: path.to_owned(), score, found });
            }
        }
    }
    way
}

#[test]
fn the_trace_of_figure_1_on_the_frontier() {
    // Scores of the links: s .42, a .57, b 0, c .71, d .27.
    let web = OwlWeb::new(&[
        "s 3 4 a b c",
        "a 4 3 d e f",
        "b 0 1 g h",
        "c 1 0 i",
        "d 5 12 j b",
        "e 0 2",
        "f 0 3",
        "g 2 0 k",
        "h 0 4",
        "i 0 5",
        "j 0 6",
        "k 0 7",
    ]);
    let way = |n, buffer| crawled(&web, "/s", || best_n(n, buffer, 1), u64::MAX).join(" ");
    assert_eq!(way(1, 256), "/s /a /d /e /f /b /c /i /j /g /k /h");
    // Room for two: c evicts b, then d, e and f evict c, a place is free for d, and f evicts e. b is found again on d, as a
    // new link, and evicts j.
    assert_eq!(way(1, 2), "/s /a /d /f /b /g /k /h");
}

#[test]
fn best_n_first_follows_figure_1_to_the_letter() {
    let mut forgets = 0;
    for seed in 0..12 {
        let web = OwlWeb::drawn(seed);
        for (n, buffer) in [(1, 3), (3, 5), (4, 8), (2, 256)] {
            let expected = figure_1(&web, "/0", n, buffer, &mut *best_n(n, buffer, seed));
            let way = crawled(&web, "/0", || best_n(n, buffer, seed), u64::MAX);
            assert_eq!(way, expected, "seed {seed}, N {n}, buffer {buffer}");
            forgets += usize::from(expected.len() < 30);
        }
        // Also across restarts.
        let whole = crawled(&web, "/0", || best_n(1, 4, seed), u64::MAX);
        assert_eq!(crawled(&web, "/0", || best_n(1, 4, seed), 7), whole, "seed {seed}");
    }
    assert!(forgets > 0, "small buffers lose pages: {forgets}");
}
