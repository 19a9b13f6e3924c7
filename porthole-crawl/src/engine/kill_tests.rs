//! For every strategy: a crawl that is stopped or killed and run again makes the same fetches as one that is not.

use std::collections::HashMap;

use porthole_store::{SqliteWorkspaceWriter, Store, WorkspaceWriter};
use porthole_strategy::{CrawlGoal, NAMES, named};
use porthole_types::{FailureKind, Headers, ManualClock, Mark};

use super::tests::{WordJudge, scratch};
use std::ops::ControlFlow;
use std::time::Duration;

use porthole_types::{CanonicalUrl, Timestamp};

use super::crawl::*;
use crate::FetchFuture;
use crate::archive::Keep;
use crate::result::Focus;
use crate::{Fetch, FetchError, Request, Response};

/// Pages by URL. A missing page is a 404, an empty one redirects to the page with the next number.
pub(super) struct Pages(HashMap<String, String>);

impl Fetch for Pages {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        Box::pin(async move {
            let Some(body) = self.0.get(request.url.as_str()) else {
                let (url, kind) = (request.url.clone(), FailureKind::Status);
                return Err(FetchError { url, kind, detail: "404".into() });
            };
            let is_moved = body.is_empty();
            let header = if is_moved { ("location", "/1") } else { ("content-type", "text/html") };
            let headers: Headers = [header].into_iter().collect();
            let (status, took) = (if is_moved { 301 } else { 200 }, Duration::from_millis(5));
            Ok(Response { took, ..Response::new(status, headers, body.clone()) })
        })
    }
}

/// Sixty pages on three sites, a third of them about owls.
pub(super) fn web() -> Pages {
    let url = |page: u64| format!("http://{}.test/{page}", ["a", "b", "c"][page as usize % 7 % 3]);
    let words = ["owl", "hawk", "feather", "cheese", "engine", "milk"];
    let page = |page: u64| {
        let word = |place: u64| {
            words[((page * 31 + place * 17) % if page.is_multiple_of(3) { 3 } else { 6 }) as usize]
        };
        let links = (0..1 + page % 5).map(|link| {
            let target = (page * page + link * 13 + 7 * link * page) % 66;
            format!("<p>{} <a href={}>{} {target}</a></p>", word(link), url(target), word(link + 1))
        });
        let about = if page.is_multiple_of(3) { "owl" } else { "cheese" };
        let html = format!("<title>{}</title>{about} {}", word(9), links.collect::<String>());
        (url(page), if page % 17 == 16 { String::new() } else { html })
    };
    Pages((0..60).map(page).collect())
}

pub(super) const STARTS: [&str; 3] = ["http://a.test/0", "http://a.test/3", "http://b.test/1"];

/// The order of fetches of a crawl that is stopped after every `stops` fetches. With `forgets`, the saved state is
/// discarded at every stop, as if the crawl had been killed.
fn order_of(web: &Pages, name: &str, stops: u64, forgets: bool) -> String {
    let (folder, mut store) = scratch();
    let clock = ManualClock::at(Timestamp(1_000));
    let mut keywords = Vec::new();
    porthole_page::TermSplitter::default().append("owl hawk", "en", &mut keywords);
    let aim = CrawlGoal { keywords, seed: 3, ..CrawlGoal::default() };
    let mut order = String::new();
    loop {
        let strategy = named(name, &aim).unwrap();
        let focus =
            Focus { judge: Box::new(WordJudge("owl")), strategy, marks: vec![Mark::Path, Mark::Good] };
        let crawl = Crawl::new(web, &mut store, &clock).unwrap().focused(focus);
        let mut crawl = crawl.archived(&folder.path().join("pages"), Keep::All).unwrap();
        crawl.start(&STARTS.map(|url| CanonicalUrl::parse(url).unwrap())).unwrap();
        let mut observe = |seen: Seen<'_>| {
            order.push_str(seen.url.path());
            ControlFlow::Continue(())
        };
        let limits = Limits { fetches: stops, ..Limits::default() };
        let stop = pollster::block_on(crawl.run(limits, &mut observe)).unwrap();
        if stop == Stop::Exhausted {
            return order;
        }
        if forgets {
            crawl.writer.forget_memory().unwrap();
        }
    }
}

#[test]
fn every_strategy_resumes_where_it_was() {
    let web = web();
    for name in NAMES.iter().copied().chain(["best-7:buffer=12", "best-16:rank=kwpr"]) {
        let whole = order_of(&web, name, u64::MAX, false);
        assert!(whole.split('/').count() > 20, "{name}: {whole}");
        assert_eq!(order_of(&web, name, 3, false), whole, "{name}, stopped after every 3");
        assert_eq!(order_of(&web, name, 5, true), whole, "{name}, killed after every 5");
    }
}

#[test]
fn only_other_processes_count_as_outside_changes() {
    let (web, clock) = (web(), ManualClock::at(Timestamp(1_000)));
    for name in ["soft", "best-16", "opic"] {
        let (folder, mut store) = scratch();
        // The second run restores the strategy's state, which reads and indexes the fetches of the first.
        for _ in 0..2 {
            let strategy = named(name, &CrawlGoal::nothing(1)).unwrap();
            let focus =
                Focus { judge: Box::new(WordJudge("owl")), strategy, marks: vec![Mark::Path, Mark::Good] };
            let mut crawl = Crawl::new(&web, &mut store, &clock).unwrap().focused(focus);
            crawl.start(&STARTS.map(|url| CanonicalUrl::parse(url).unwrap())).unwrap();
            let mut observe = |_: Seen<'_>| ControlFlow::Continue(());
            let limits = Limits { fetches: 12, ..Limits::default() };
            assert_eq!(pollster::block_on(crawl.run(limits, &mut observe)).unwrap(), Stop::Limit, "{name}");
            crawl.writer.save_memory().unwrap();
            assert!(!crawl.store().follow_changes().unwrap(), "{name}: the crawl's own writes");
        }
        let mut other = SqliteWorkspaceWriter::open(folder.path().join("crawl.db")).unwrap();
        other.set_setting("a", "b").unwrap();
        assert!(store.follow_changes().unwrap(), "{name}: another connection's");
    }
}
