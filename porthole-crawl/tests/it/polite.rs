//! A crawl of a simulated web of many hosts, checked by what the servers log.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::time::Duration;

use porthole_crawl::{Crawl, Limits, Observer, Politeness, Seen, Stop};
use porthole_store::SqliteStore;
use porthole_types::CanonicalUrl;
use tokio::time::Instant;

use crate::simulated::{Asked, PATIENCE, SimulatedClock, SimulatedWeb};
use crate::web::{Answer, AnswerFn, Host};

const LEAST: Duration = Duration::from_millis(60);
const FACTOR: u32 = 5;
const MOST: Duration = Duration::from_secs(1);

/// The defaults, thirty times faster.
fn politeness() -> Politeness {
    Politeness { min_delay: LEAST, delay_factor: FACTOR, max_delay: MOST, ..Politeness::default() }
}

/// The robots.txt of most hosts.
const RULES: &str = "User-agent: *\nDisallow: /private/\nAllow: /private/open/\nDisallow: /*.cgi$\n";

/// The requests that a host must have received at the end, besides robots.txt, and its limits.
struct Expected {
    host: String,
    /// The pages, each once.
    pages: BTreeSet<String>,
    /// The requests for its robots.txt, in this order.
    robots: Vec<String>,
    crawl_delay: Duration,
}

/// The pages of its own that every host links to.
const PAGES: [&str; 9] = [
    "/",
    "/a.html",
    "/b.html?x=1",
    "/c/",
    "/c/d.html",
    "/private/",
    "/private/secret.html",
    "/private/open/page.html",
    "/search.cgi",
];

/// Those that `RULES` allows.
const ALLOWED: [&str; 6] = ["/", "/a.html", "/b.html?x=1", "/c/", "/c/d.html", "/private/open/page.html"];

/// A page of a host: unique words, links to all pages of the host and to pages of others.
fn page(number: usize, path: &str, port: u16) -> Answer {
    let mut html = format!("<title>{number} {path}</title><p>");
    for word in 0..60 {
        html += &format!("w{} ", (number * 7_919 + path.len() * 104_729 + word * 31) % 9_973);
    }
    for link in PAGES {
        html += &format!("<a href='{link}'>here</a> ");
    }
    for step in [1, 7, 23] {
        let (other, link) = ((number + step) % HOSTS, PAGES[(number + step) % PAGES.len()]);
        for link in ["/", link] {
            html += &format!("<a href='http://{}:{port}{link}'>there</a> ", name(other));
        }
    }
    Answer::html(html)
}

const HOSTS: usize = 52;

fn name(number: usize) -> String {
    format!("h{number:02}.test")
}

/// One host of every kind, and ordinary ones for the rest.
fn host(number: usize) -> (Host, Expected) {
    let mut pages: &[&str] = &ALLOWED;
    let mut robots = vec!["/robots.txt"];
    let mut crawl_delay = 0;
    let answer_fn: AnswerFn = match number {
        // Everything is allowed.
        0 | 1 => {
            pages = &PAGES;
            let status = [404, 403][number];
            with_robots(number, move || Answer::status(status))
        }
        // Nothing is allowed, because robots.txt cannot be read.
        2..=8 => {
            pages = &[];
            with_robots(number, move || match number {
                2 => Answer::status(500),
                3 => Answer::status(503),
                4 => Answer::status(503).retry_after(1),
                5 => Answer::status(429).retry_after(1),
                6 => Answer::silence(),
                7 => Answer::text("User-agent: *\nDisallow: /"),
                _ => Answer::text("User-agent: *\nAllow: /private/\nUser-agent: Porthole\nDisallow: /"),
            })
        }
        // Redirects: five are followed. After a sixth there is no robots.txt.
        9 | 10 => {
            let hops = number - 4;
            robots.extend(["/r1", "/r2", "/r3", "/r4", "/r5"]);
            pages = if hops == 5 { &ALLOWED } else { &PAGES };
            Box::new(move |path, port| match path {
                "/robots.txt" => Answer::redirect("/r1"),
                _ if path.starts_with("/r") => match path[2..].parse::<usize>() {
                    Ok(hop) if hop == hops => Answer::text(RULES),
                    Ok(hop) => Answer::redirect(&format!("/r{}", hop + 1)),
                    Err(_) => Answer::status(404),
                },
                path => page(number, path, port),
            })
        }
        // Ten megabytes, with the rule near the beginning, or beyond the size limit.
        11 | 12 => {
            let lines = |bytes: usize| "# nothing to see here\n".repeat(bytes / 22);
            let long = match number {
                11 => format!("{}{RULES}{}", lines(400 << 10), lines(10 << 20)),
                _ => format!("{}{RULES}{}", lines(520 << 10), lines(10 << 20)),
            };
            pages = if number == 11 { &ALLOWED } else { &PAGES };
            with_robots(number, move || Answer::text(long.clone()))
        }
        // Unusual and invalid syntax.
        13 => with_robots(number, || {
            Answer::text(
                "\u{feff}USER-AGENT: *\r\ndisAllow :/private/\r\n\tALLOW: /private/open/ # but this\r\n\
                 \r\nDisallow:/*.cgi$\r\n",
            )
        }),
        14 => with_robots(number, || {
            let junk: Vec<u8> =
                (0..20_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
            Answer::text([&junk, &b"\r"[..], RULES.as_bytes(), b"\n", &junk].concat())
        }),
        15 => {
            pages = &PAGES;
            with_robots(number, || Answer::html("<html><body>Welcome to our shop!</body></html>"))
        }
        16 => with_robots(number, || {
            Answer::text(
                "User-agent: other\nDisallow: /\n\nuser-agent: PORTHOLE\ndisallow:/private\n\
                 allow: /private/open\n\n# more\nUser-agent: porthole\nDisallow: *.cgi\n\n\
                 User-agent: *\nDisallow: /c/\n",
            )
        }),
        // With Crawl-delay.
        17..=19 => {
            crawl_delay = 350;
            with_robots(number, || Answer::text(format!("{RULES}Crawl-delay: 0.35\n")))
        }
        // Slow hosts: the pause grows with the time of the answer.
        20..=22 => Box::new(move |path, port| {
            let answer = if path == "/robots.txt" { Answer::text(RULES) } else { page(number, path, port) };
            answer.after(Duration::from_millis(100))
        }),
        // Busy hosts: nothing is requested before the time they name.
        23 | 24 => Box::new(move |path, port| match path {
            "/robots.txt" => Answer::text(RULES),
            "/c/" => Answer::status([503, 429][number - 23]).retry_after(2),
            path => page(number, path, port),
        }),
        _ => with_robots(number, || Answer::text(RULES)),
    };
    let host = Host { name: name(number), address: u8::try_from(number + 1).unwrap(), answer_fn };
    let expected = Expected {
        host: name(number),
        pages: pages.iter().map(|&path| path.to_owned()).collect(),
        robots: robots.into_iter().map(str::to_owned).collect(),
        crawl_delay: Duration::from_millis(crawl_delay),
    };
    (host, expected)
}

fn with_robots(number: usize, robots: impl Fn() -> Answer + Send + Sync + 'static) -> AnswerFn {
    Box::new(move |path, port| if path == "/robots.txt" { robots() } else { page(number, path, port) })
}

/// Ends a crawl some time after everything expected has been requested.
struct StopWhenComplete<'a, M> {
    web: &'a SimulatedWeb,
    /// Returns what is missing in a log.
    missing: M,
    started: Instant,
    complete: Option<Instant>,
}

/// Long enough for a request that should not be made. Failures are retried after 30 s.
const GRACE_PERIOD: Duration = Duration::from_secs(20);

impl<M: Fn(&[Asked]) -> Vec<String>> Observer for StopWhenComplete<'_, M> {
    fn committed(&mut self, _: Seen<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn waiting(&mut self) -> ControlFlow<()> {
        if self.complete.is_none() {
            let missing = (self.missing)(&self.web.log());
            if missing.is_empty() {
                self.complete = Some(Instant::now());
            }
            assert!(self.started.elapsed() < GRACE_PERIOD, "never requested: {missing:?}");
        }
        match self.complete {
            Some(complete) if complete.elapsed() > GRACE_PERIOD => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Crawls from these URLs until nothing is `missing`.
async fn crawl(web: &SimulatedWeb, starts: &[CanonicalUrl], missing: impl Fn(&[Asked]) -> Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path().join("crawl.db")).unwrap();
    let crawl = Crawl::new(web, &mut store, SimulatedClock::start()).unwrap();
    let mut crawl = crawl.polite(politeness(), "Porthole").reading_in_place();
    crawl.start(starts).unwrap();
    let mut patience = StopWhenComplete { web, missing, started: Instant::now(), complete: None };
    let limits = Limits { workers: 32, ..Limits::default() };
    let stop = crawl.run(limits, &mut patience).await.unwrap();
    assert!(matches!(stop, Stop::Asked | Stop::Exhausted), "{stop:?}");
}

/// The expected paths that were not requested.
fn not_requested(log: &[Asked], expected: &[Expected]) -> Vec<String> {
    let asked: BTreeSet<(&str, &str)> = log.iter().map(|asked| (&*asked.host, &*asked.path)).collect();
    let all = expected.iter().flat_map(|host| {
        host.pages.iter().chain(&host.robots).map(move |path| (host.host.as_str(), path.as_str()))
    });
    all.filter(|wanted| !asked.contains(wanted)).map(|(host, path)| format!("{host}{path}")).collect()
}

/// Groups the requests by a key, in the order of arrival.
fn by<K: Ord>(log: &[Asked], key: impl Fn(&Asked) -> K) -> BTreeMap<K, Vec<&Asked>> {
    let mut of_each: BTreeMap<K, Vec<&Asked>> = BTreeMap::new();
    for asked in log {
        of_each.entry(key(asked)).or_default().push(asked);
    }
    for requests in of_each.values_mut() {
        requests.sort_by_key(|asked| asked.arrived);
    }
    of_each
}

/// Checks that no request arrived while another was in flight, or too early after it.
fn check_pauses(requests: &[&Asked], also: impl Fn(&Asked) -> Duration) {
    for pair in requests.windows(2) {
        let (before, next) = (pair[0], pair[1]);
        let Some(answered) = before.answered.filter(|answered| *answered <= next.arrived) else {
            panic!("{} {} came during {}", next.host, next.path, before.path);
        };
        let retry_after = before.retry_after.unwrap_or_default();
        let pause = (before.took() * FACTOR).clamp(LEAST, MOST).max(retry_after).max(also(before));
        let waited = next.arrived - answered;
        assert!(
            waited >= pause,
            "{} {} came {waited:?} after {}, not {pause:?}",
            next.host,
            next.path,
            before.path
        );
    }
}

#[tokio::test(start_paused = true)]
async fn fifty_hosts_see_a_polite_crawler() {
    let (hosts, expected): (Vec<_>, Vec<_>) = (0..HOSTS).map(host).unzip();
    let web = SimulatedWeb::new(hosts);
    let starts: Vec<_> = (0..HOSTS).step_by(5).map(|number| web.url(&name(number), "/")).collect();
    crawl(&web, &starts, |log| not_requested(log, &expected)).await;
    let log = web.log();
    let by_host = by(&log, |asked| asked.host.clone());
    for Expected { host, pages, robots, crawl_delay } in &expected {
        let requests = &by_host[host];
        let asked: Vec<&str> = requests.iter().map(|asked| asked.path.as_str()).collect();
        assert_eq!(asked[..robots.len()], robots[..], "{host}: robots.txt comes first");
        let fetched: BTreeSet<String> = asked[robots.len()..].iter().map(|&path| path.to_owned()).collect();
        assert_eq!(&fetched, pages, "{host}");
        assert_eq!(asked.len(), robots.len() + pages.len(), "{host}: each once: {asked:?}");
        let of_page =
            |asked: &Asked| if robots.contains(&asked.path) { Duration::ZERO } else { *crawl_delay };
        check_pauses(requests, of_page);
    }
    assert_eq!(by_host.len(), HOSTS, "no other host was requested");
}

/// A few hosts with `RULES` and their own robots.txt, at these addresses.
fn few(addresses: &[u8], robots: impl Fn(usize, u16) -> Answer + Clone + Send + Sync + 'static) -> Vec<Host> {
    let host = |(number, &address): (usize, &u8)| {
        let robots = robots.clone();
        let answer_fn: AnswerFn = Box::new(move |path, port| match path {
            "/robots.txt" => robots(number, port),
            path => page(number, path, port),
        });
        Host { name: name(number), address, answer_fn }
    };
    addresses.iter().enumerate().map(host).collect()
}

/// Crawls from the first page of each of the first `count` hosts until all their pages were requested.
async fn crawl_all(web: &SimulatedWeb, count: usize) -> Vec<Asked> {
    let starts: Vec<_> = (0..count).map(|number| web.url(&name(number), "/")).collect();
    let missing = |log: &[Asked]| {
        let is_asked =
            |host: &str, path: &str| log.iter().any(|asked| asked.host == host && asked.path == path);
        let all = (0..count).flat_map(|number| ALLOWED.map(|path| (name(number), path)));
        all.filter(|(host, path)| !is_asked(host, path)).map(|(host, path)| host + path).collect()
    };
    crawl(web, &starts, missing).await;
    web.log()
}

#[tokio::test(start_paused = true)]
async fn a_crawl_delay_applies_to_robots_txt_and_sitemaps() {
    const DELAY: Duration = Duration::from_millis(300);
    let robots = |_, _| Answer::text(format!("{RULES}Crawl-delay: 0.3\nSitemap: /c/sitemap.xml\n"));
    let web = SimulatedWeb::new(few(&[61, 62], robots));
    let log = crawl_all(&web, 2).await;
    for requests in by(&log, |asked| asked.host.clone()).values() {
        assert!(requests.iter().any(|asked| asked.path == "/c/sitemap.xml"));
        check_pauses(requests, |_| DELAY);
    }
}

#[tokio::test(start_paused = true)]
async fn the_pause_after_a_failure_depends_on_its_duration() {
    let mut hosts = few(&[63], |_, _| Answer::text(RULES));
    hosts[0].answer_fn = Box::new(|path, port| match path {
        "/robots.txt" => Answer::text(RULES),
        "/a.html" => Answer::silence(),
        path => page(0, path, port),
    });
    let web = SimulatedWeb::new(hosts);
    let log = crawl_all(&web, 1).await;
    let silent = log.iter().find(|asked| asked.path == "/a.html").unwrap();
    assert_eq!(silent.took(), PATIENCE, "the client waited");
    check_pauses(&log.iter().collect::<Vec<_>>(), |_| Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn redirected_robots_txt_keeps_the_targets_pauses() {
    // The robots.txt of all hosts redirects to the first, which is slow.
    let robots = |number: usize, port: u16| match number {
        0 => Answer::text(RULES).after(Duration::from_millis(50)),
        _ => Answer::redirect(&format!("http://{}:{port}/robots.txt", name(0))),
    };
    let web = SimulatedWeb::new(few(&[64, 65, 66, 67, 68, 69], robots));
    let log = crawl_all(&web, 6).await;
    let by_host = by(&log, |asked| asked.host.clone());
    assert_eq!(by_host[&name(0)].iter().filter(|asked| asked.path == "/robots.txt").count(), 6);
    for requests in by_host.values() {
        check_pauses(requests, |_| Duration::ZERO);
        assert!(requests.iter().all(|asked| !asked.path.starts_with("/private/s")), "the rules apply");
    }
}

#[tokio::test(start_paused = true)]
async fn circular_robots_txt_redirects_allow_everything() {
    let robots = |number: usize, port: u16| {
        Answer::redirect(&format!("http://{}:{port}/robots.txt", name((number + 1) % 3)))
    };
    let web = SimulatedWeb::new(few(&[73, 74, 75], robots));
    let log = crawl_all(&web, 3).await;
    for requests in by(&log, |asked| asked.host.clone()).values() {
        check_pauses(requests, |_| Duration::ZERO);
        let robots = requests.iter().filter(|asked| asked.path == "/robots.txt").count();
        assert_eq!(robots, 6, "five redirects are followed for each of three sites");
    }
}

#[tokio::test(start_paused = true)]
async fn hosts_that_share_an_address_share_its_pauses() {
    let web = SimulatedWeb::new(few(&[71, 71, 71, 71, 72, 72], |_, _| Answer::text(RULES)));
    let log = crawl_all(&web, 6).await;
    let by_address: BTreeMap<IpAddr, Vec<&Asked>> = by(&log, |asked| asked.address);
    assert_eq!(by_address.len(), 2);
    for requests in by_address.values() {
        check_pauses(requests, |_| Duration::ZERO);
    }
}
