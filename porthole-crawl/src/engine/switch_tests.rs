//! An apprentice that is trained during the crawl (A 3.7): from then on the queue is in the order of its scores.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use porthole_page::Extractor;
use porthole_strategy::{CrawlGoal, SourcePage, Strategy, named};
use porthole_types::{Headers, ManualClock, Mark, UrlId};

use super::tests::{WordJudge, scratch};
use std::ops::ControlFlow;
use std::time::Duration;

use porthole_types::{CanonicalUrl, Clock, Timestamp};

use porthole_store::Store;
use porthole_topic::RelevanceJudge;

use super::crawl::*;
use crate::FetchFuture;
use crate::archive::Keep;
use crate::result::Focus;
use crate::{Fetch, Request, Response};

/// Pages that link to each other. The words beside a link predict, more or less, which pages are about owls.
struct LinkedPages;

/// Number of pages with links. The others have none.
const LINKING: u32 = 60;

impl LinkedPages {
    fn link(to: u32) -> String {
        let word = ["owl", "heron", "crane", "bolt"][to as usize % 4];
        format!("<li><a href=/{to}>{word}</a> here</li>")
    }

    fn body(path: &str) -> String {
        let Ok(n) = path[1..].parse::<u32>() else {
            return format!("<html lang=en><ul>{}", (0..LINKING).map(LinkedPages::link).collect::<String>());
        };
        let is_about = [true, n % 3 > 0, n % 3 == 0, false][n as usize % 4];
        let links = [n * 7 % LINKING, LINKING + n, LINKING + n / 2].map(LinkedPages::link).concat();
        let words = if is_about { "owls" } else { "other things" };
        format!("<html lang=en><p>{words}<ul>{}", if n < LINKING { links } else { String::new() })
    }
}

impl Fetch for LinkedPages {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        let headers: Headers = [("content-type", "text/html")].into_iter().collect();
        let body = LinkedPages::body(request.url.path());
        let took = Duration::from_millis(5);
        Box::pin(async move { Ok(Response { took, ..Response::new(200, headers, body) }) })
    }
}

/// The paths fetched by a crawl of `fetches` fetches, and those queued at the end, in order.
fn crawled(strategy: Box<dyn Strategy>, fetches: u64) -> (Vec<String>, Vec<String>) {
    let (_folder, mut store) = scratch();
    let clock = ManualClock::at(Timestamp(1_000));
    let focus = Focus { judge: Box::new(WordJudge("owls")), strategy, marks: vec![Mark::Path, Mark::Good] };
    let mut crawl = Crawl::new(&LinkedPages, &mut store, &clock).unwrap().focused(focus);
    crawl.start(&[CanonicalUrl::parse("http://tiny.test/").unwrap()]).unwrap();
    let mut fetched = Vec::new();
    let mut observe = |seen: Seen<'_>| {
        fetched.push(seen.url.path().to_owned());
        ControlFlow::Continue(())
    };
    pollster::block_on(crawl.run(Limits { fetches, ..Limits::default() }, &mut observe)).unwrap();
    drop(crawl);
    let waiting = store.take(1_000, Timestamp(1_000)).unwrap();
    (fetched, waiting.iter().map(|work| work.url.path().to_owned()).collect())
}

/// The final priorities of queued URLs when a strategy sees these pages, in the order of discovery.
fn final_priorities(mut strategy: Box<dyn Strategy>, fetched: &[String]) -> Vec<(String, f64)> {
    let (mut judge, mut extractor) = (WordJudge("owls"), Extractor::default());
    let mut found: Vec<String> = Vec::new();
    let mut worths: HashMap<UrlId, f64> = HashMap::new();
    let url = |path: &str| CanonicalUrl::parse(&format!("http://tiny.test{path}")).unwrap();
    for path in fetched {
        let page = extractor.extract(&url(path), &Headers::new(), LinkedPages::body(path).as_bytes());
        let judgment = judge.judge_page(&url(path), &page).unwrap();
        let url = url(path);
        let source =
            SourcePage { url: &url, page: &page, judgment, on_topic: judgment.relevance > 0.5, depth: 0 };
        strategy.arrived(&source);
        // Rescoring concerns links of earlier pages.
        let rescored = strategy.rescored();
        worths.extend(rescored);
        for link in &page.links {
            let worth = strategy.priority(&source, link).unwrap();
            let best = worths.entry(link.target.id()).or_insert(worth);
            *best = best.max(worth);
            if !found.contains(&link.target.path().to_owned()) {
                found.push(link.target.path().to_owned());
            }
        }
    }
    found.retain(|path| !fetched.contains(path));
    found.into_iter().map(|path| (path.clone(), worths[&url(&path).id()])).collect()
}

#[test]
fn training_reorders_the_queue() {
    let apprentice = |train: u64| {
        named(&format!("apprentice:d=1,train={train},again=1000"), &CrawlGoal::nothing(0)).unwrap()
    };
    let (fetched, waiting) = crawled(apprentice(25), 25);
    assert_eq!(fetched.len(), 25);
    let mut expected = final_priorities(apprentice(25), &fetched);
    // The queue has single precision. Of equal scores the one found first comes first.
    expected.sort_by(|a, b| (b.1 as f32).total_cmp(&(a.1 as f32)));
    let in_order: Vec<&str> = expected.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(waiting, in_order);
    let mut worths: Vec<f32> = expected.iter().map(|(_, worth)| *worth as f32).collect();
    worths.dedup();
    assert_eq!(worths.len(), 4, "one for every word: {worths:?}");
    // One page earlier, the order is that of soft focus, and so are all fetches up to there.
    let (soft_fetched, soft_waiting) = crawled(Box::new(porthole_strategy::Soft), 24);
    let (early_fetched, early_waiting) = crawled(apprentice(25), 24);
    assert_eq!((&early_fetched, &early_waiting), (&soft_fetched, &soft_waiting));
    assert_eq!(fetched[..24], soft_fetched);
    let soft_order: Vec<&String> = soft_waiting.iter().filter(|path| waiting.contains(path)).collect();
    let new_order: Vec<&String> = waiting.iter().filter(|path| soft_waiting.contains(path)).collect();
    assert_ne!(soft_order, new_order, "training must change the order");
    // The crawl continues with the first of the new order.
    assert_eq!(crawled(apprentice(25), 26).0[25], waiting[0]);
}

/// A web of pages with many links, some of them shared.
struct ManyLinks;

impl ManyLinks {
    const LINKING: u32 = 60;

    fn body(path: &str) -> String {
        let n = path[1..].parse::<u32>().unwrap_or(ManyLinks::LINKING - 1);
        if n >= ManyLinks::LINKING {
            return "<html lang=en>".to_owned() + if n.is_multiple_of(4) { "owls" } else { "other things" };
        }
        let ends = (0..150).map(|k| ManyLinks::LINKING + n * 140 + k);
        let links: String = (0..ManyLinks::LINKING).chain(ends).map(LinkedPages::link).collect();
        format!("<html lang=en><p>owls<ul>{links}")
    }
}

impl Fetch for ManyLinks {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        let headers: Headers = [("content-type", "text/html")].into_iter().collect();
        let body = ManyLinks::body(request.url.path()).into_bytes();
        let took = Duration::from_millis(5);
        Box::pin(async move { Ok(Response { took, ..Response::new(200, headers, body) }) })
    }
}

/// A clock on which every reading of the monotonic time takes a millisecond, so that work takes time.
#[derive(Default)]
struct TickingClock(AtomicU64);

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_000)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// A crawl that is stopped during a rescoring completes it when resumed, with its saved state or as if it had been
/// killed.
#[test]
fn an_interrupted_rescoring_is_completed() {
    for (is_killed, workers) in [(false, 4), (true, 4), (true, 1)] {
        let (folder, mut store) = scratch();
        let clock = TickingClock::default();
        let apprentice = || named("apprentice:d=1,train=70,again=1000", &CrawlGoal::nothing(0)).unwrap();
        let mut fetched: Vec<String> = Vec::new();
        for (fetches, workers) in [(u64::MAX, 4), (0, workers)] {
            let marks = vec![Mark::Path, Mark::Good];
            let focus = Focus { judge: Box::new(WordJudge("owls")), strategy: apprentice(), marks };
            let crawl = Crawl::new(&ManyLinks, &mut store, &clock).unwrap().focused(focus);
            let mut crawl = crawl.archived(&folder.path().join("pages"), Keep::All).unwrap();
            crawl.start(&[CanonicalUrl::parse("http://tiny.test/").unwrap()]).unwrap();
            let mut observe = |seen: Seen<'_>| {
                fetched.push(seen.url.path().to_owned());
                if fetched.len() < 70 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            let limits = Limits { fetches, workers, ..Limits::default() };
            let stop = pollster::block_on(crawl.run(limits, &mut observe)).unwrap();
            let is_scoring = crawl.writer.store.setting("crawl.scoring").unwrap() == Some("yes".to_owned());
            assert_eq!(
                (stop, is_scoring),
                if fetches > 0 { (Stop::Asked, true) } else { (Stop::Limit, false) }
            );
            if is_killed && fetches > 0 {
                crawl.writer.forget_memory().unwrap();
            }
        }
        let mut told = apprentice();
        show_pages(&mut *told, &fetched);
        told.rescore_all();
        let expected: HashMap<UrlId, f64> = told.rescored().into_iter().collect();
        let work = store.take(usize::MAX, Timestamp(1_000)).unwrap();
        assert!(work.len() > 3_000, "{} queued", work.len());
        for work in work {
            assert_eq!(
                work.priority as f32, expected[&work.oid] as f32,
                "{} {is_killed} {workers}",
                work.url
            );
        }
    }
}

/// Shows pages to a strategy.
fn show_pages(strategy: &mut dyn Strategy, fetched: &[String]) {
    let (mut judge, mut extractor) = (WordJudge("owls"), Extractor::default());
    for path in fetched {
        let url = CanonicalUrl::parse(&format!("http://tiny.test{path}")).unwrap();
        let page = extractor.extract(&url, &Headers::new(), ManyLinks::body(path).as_bytes());
        let judgment = judge.judge_page(&url, &page).unwrap();
        let source =
            SourcePage { url: &url, page: &page, judgment, on_topic: judgment.relevance > 0.5, depth: 0 };
        strategy.arrived(&source);
        for link in &page.links {
            strategy.priority(&source, link);
        }
    }
}
