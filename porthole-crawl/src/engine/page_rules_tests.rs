//! Pages with robots directives, redirects in markup, or no text.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use porthole_types::{CanonicalUrl, FailureKind, Headers, ManualClock, Mark, Outcome, PageResult, Timestamp};

use super::crawl::*;
use super::tests::{WordJudge, scratch};
use super::visits::PageFetcher;
use crate::archive::Keep;
use crate::host::Politeness;
use crate::page_rules::{NoFollowRule, NoIndexRule, PageRules};
use crate::result::Focus;
use crate::scope::Scope;
use crate::{Fetch, FetchError, FetchFuture, Request, Response};

/// Pages by path: X-Robots-Tag and body.
struct RobotsSite(&'static [(&'static str, &'static str, &'static str)]);

impl Fetch for RobotsSite {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        Box::pin(async move {
            let Some((_, robots, body)) = self.0.iter().find(|(path, ..)| *path == request.url.path()) else {
                let (url, kind) = (request.url.clone(), FailureKind::Connect);
                return Err(FetchError { url, kind, detail: "refused".into() });
            };
            let headers: Headers =
                [("content-type", "text/html"), ("x-robots-tag", robots)].into_iter().collect();
            let took = Duration::from_millis(5);
            Ok(Response { took, ..Response::new(200, headers, *body) })
        })
    }
}

/// Crawls from `/`. Returns path, outcome, R and whether it was archived for every URL.
fn crawl(site: &RobotsSite, rules: PageRules) -> Vec<String> {
    let (folder, mut store) = scratch();
    let focus = Focus {
        judge: Box::new(WordJudge("owls")),
        strategy: Box::new(porthole_strategy::Soft),
        marks: vec![Mark::Path, Mark::Good],
    };
    let clock = ManualClock::at(Timestamp(1_000));
    let mut crawl = Crawl::new(site, &mut store, &clock)
        .unwrap()
        .focused(focus)
        .within(Scope::default().with_page_rules(rules))
        .avoiding_traps()
        .archived(&folder.path().join("pages"), Keep::All)
        .unwrap();
    crawl.start(&[CanonicalUrl::parse("http://a.test/").unwrap()]).unwrap();
    let mut seen = Vec::new();
    let mut observe = |page: Seen<'_>| {
        seen.push(format!("{} {}", page.url.path_and_query(), describe(page.result)));
        ControlFlow::Continue(())
    };
    let limits = Limits { fetches: 100, ..Limits::default() };
    pollster::block_on(crawl.run(limits, &mut observe)).unwrap();
    seen.sort();
    seen
}

fn describe(result: &PageResult) -> String {
    let outcome = match &result.outcome {
        Outcome::Fetched | Outcome::NotModified => "fetched",
        Outcome::Redirected => "redirected",
        Outcome::Retry { failure, .. } | Outcome::Dead(failure) | Outcome::Skipped(failure) => {
            failure.kind.name()
        }
    };
    let relevance = result.judgment.map_or("-".to_owned(), |judgment| judgment.relevance.to_string());
    format!("{outcome} {relevance} {}", if result.span.is_some() { "archived" } else { "gone" })
}

#[test]
fn a_meta_refresh_redirects_and_empty_pages_have_no_relevance() {
    let site = RobotsSite(&[
        ("/", "", "<p>owls<a href=/moved>a</a><a href=/blank>b</a><a href=/lost>c</a><a href=/loop0>d</a>"),
        ("/moved", "", "<meta http-equiv=refresh content='0; url=/new'><p>owls have moved"),
        ("/new", "", "<p>owls live here now"),
        ("/blank", "", "<img src=map.png><a href=/behind></a>"),
        ("/behind", "", "<p>owls behind the picture"),
        ("/lost", "", "<title>Page not found</title><p>No owls here. <a href=/home>home</a>"),
        ("/loop0", "", "<meta http-equiv=refresh content='0; url=/loop1'>"),
        ("/loop1", "", "<meta http-equiv=refresh content='0; url=/loop0'>"),
    ]);
    assert_eq!(
        crawl(&site, PageRules::default()),
        [
            "/ fetched 0.9 archived",
            "/behind fetched 0.9 archived",
            "/blank empty - gone",
            "/loop0 redirected - gone",
            "/loop1 redirected - gone",
            "/lost status - gone",
            "/moved redirected - gone",
            "/new fetched 0.9 archived",
        ]
    );
}

#[test]
fn robots_directives_follow_the_page_rules() {
    let site = RobotsSite(&[
        (
            "/",
            "",
            "<p>owls<a href=/hub>1</a><a href=/secret>2</a><a href=/end>3</a><a rel=nofollow href=/ad>4</a>",
        ),
        ("/hub", "noindex", "<p>all about owls<a href=/found>1</a>"),
        ("/found", "", "<p>owls found by a hub"),
        ("/secret", "noarchive", "<p>owls in secret"),
        ("/end", "nofollow", "<p>owls and an end<a href=/beyond>1</a>"),
        ("/ad", "", "<p>owls for sale"),
        ("/beyond", "", "<p>owls beyond"),
    ]);
    let defaults = PageRules::default();
    let changed = |rules: PageRules| -> Vec<String> {
        let before = crawl(&site, defaults);
        let after = crawl(&site, rules);
        let new = after.iter().filter(|line| !before.contains(line)).map(|line| format!("+{line}"));
        let old = before.iter().filter(|line| !after.contains(line)).map(|line| format!("-{line}"));
        old.chain(new).collect()
    };
    assert_eq!(
        crawl(&site, defaults),
        [
            "/ fetched 0.9 archived",
            "/ad fetched 0.9 archived",
            "/end fetched 0.9 archived",
            "/found fetched 0.9 archived",
            "/hub noindex - gone",
            "/secret fetched 0.9 gone",
        ]
    );
    let read = PageRules { noindex: NoIndexRule::Read, ..defaults };
    assert_eq!(changed(read), ["-/hub noindex - gone", "+/hub fetched 0.9 archived"]);
    let skip = PageRules { noindex: NoIndexRule::Skip, ..defaults };
    assert_eq!(changed(skip), ["-/found fetched 0.9 archived"]);
    let links = PageRules { nofollow: NoFollowRule::Links, ..defaults };
    assert_eq!(changed(links), ["-/ad fetched 0.9 archived"]);
    let never = PageRules { nofollow: NoFollowRule::Never, ..defaults };
    assert_eq!(changed(never), ["+/beyond fetched 0.9 archived"]);
    let kept = PageRules { noarchive: false, ..defaults };
    assert_eq!(changed(kept), ["-/secret fetched 0.9 gone", "+/secret fetched 0.9 archived"]);
}

#[tokio::test(start_paused = true)]
async fn single_pages_are_followed_through_a_refresh() {
    const HOPS: &[(&str, &str, &str)] = &[
        ("/robots.txt", "", ""),
        ("/old", "", "<meta http-equiv=refresh content='1; url=/new'>"),
        ("/new", "", "<p>owls"),
        ("/loop", "", "<meta http-equiv=refresh content='0; url=/pool'>"),
        ("/pool", "", "<meta http-equiv=refresh content='0; url=/loop'>"),
    ];
    let clock = Arc::new(ManualClock::at(Timestamp(1_000)));
    let politeness = Politeness { min_delay: Duration::ZERO, delay_factor: 0, ..Politeness::default() };
    let mut fetcher = PageFetcher::new(Arc::new(RobotsSite(HOPS)), clock, politeness, "porthole");
    let urls = ["/old", "/loop"].map(|path| CanonicalUrl::parse(&format!("http://a.test{path}")).unwrap());
    let mut results = Vec::new();
    fetcher.fetch_all(&urls, |number, page| results.push((number, page))).await;
    results.sort_by_key(|(number, _)| *number);
    assert_eq!(results[0].1.as_ref().unwrap().at.path(), "/new");
    assert_eq!(results[1].1.as_ref().unwrap_err().detail(), "more than 5 redirects");
}
