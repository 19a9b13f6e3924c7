//! Crawls good hosts among hosts that each misbehave in one way: the good ones are crawled as if they were alone, and
//! every attack has a suitable outcome.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::io::Write;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use porthole_crawl::{Crawl, HttpFetch, Limits, Observer, Politeness, Seen, Stop, SystemClock};
use porthole_store::SqliteStore;
use porthole_types::{CanonicalUrl, Clock, Outcome, Timestamp};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::server::{Names, read_head, settings};
use crate::simulated::{Asked, SimulatedClock, SimulatedWeb};
use crate::web::{Answer, Host, Web};

/// Handles a connection that requested this path.
type Talk = fn(TcpStream, String) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// A host that misbehaves, and the accepted outcomes of its first page.
struct Bad {
    name: &'static str,
    ends: &'static [&'static str],
    talk: Talk,
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

/// Sends the same answer to every request.
async fn say(mut stream: TcpStream, answer: impl AsRef<[u8]>) {
    let _ = stream.write_all(answer.as_ref()).await;
    let _ = stream.shutdown().await;
    let _ = stream.read(&mut [0]).await;
}

/// Sends `first`, then `piece` again and again.
async fn repeat(mut stream: TcpStream, first: &str, piece: impl AsRef<[u8]>, pause: Duration) {
    let _ = stream.write_all(first.as_bytes()).await;
    while stream.write_all(piece.as_ref()).await.is_ok() {
        sleep(pause).await;
    }
}

async fn stay_silent(stream: TcpStream) {
    let _open = stream;
    pending::<()>().await;
}

const NO_PAUSE: Duration = Duration::ZERO;

fn bad_hosts() -> Vec<Bad> {
    fn bad(name: &'static str, ends: &'static [&'static str], talk: Talk) -> Bad {
        Bad { name, ends, talk }
    }
    vec![
        bad("endless.test", &["fetched"], |stream, _| {
            Box::pin(async {
                repeat(stream, &format!("{OK}\r\n<p>"), "word ".repeat(10_000), NO_PAUSE).await;
            })
        }),
        bad("drip.test", &["timeout"], |stream, _| {
            Box::pin(async { repeat(stream, &format!("{OK}\r\n"), "x", Duration::from_secs(1)).await })
        }),
        bad("silent.test", &["timeout"], |stream, _| Box::pin(stay_silent(stream))),
        bad("bomb.test", &["fetched"], |stream, _| {
            Box::pin(async {
                say(stream, &*BOMB).await;
            })
        }),
        bad("circle.test", &["redirected"], |stream, path| {
            Box::pin(async move {
                let next = if path == "/a" { "/" } else { "/a" };
                say(stream, format!("HTTP/1.1 302 Found\r\nLocation: {next}\r\n\r\n")).await;
            })
        }),
        bad("links.test", &["fetched"], |stream, path| {
            Box::pin(async move {
                match path.as_str() {
                    "/" => say(stream, &*LINKS).await,
                    _ => say(stream, format!("{OK}\r\n<p>no more")).await,
                }
            })
        }),
        bad("longer.test", &["fetched"], |stream, _| {
            Box::pin(say(stream, format!("{OK}Content-Length: 900\r\n\r\n<p>short")))
        }),
        bad("shorter.test", &["fetched"], |stream, _| {
            Box::pin(say(
                stream,
                format!("{OK}Content-Length: 5\r\n\r\n<p>longHTTP/1.1 200 OK\r\n\r\nsmuggled"),
            ))
        }),
        bad("flood.test", &["size"], |stream, _| {
            Box::pin(async {
                repeat(stream, "HTTP/1.1 200 OK\r\n", "X-Flood: yes\r\n".repeat(100), NO_PAUSE).await;
            })
        }),
        bad("location.test", &["redirected", "protocol"], |stream, path| {
            Box::pin(async move {
                match path.as_str() {
                    "/" => {
                        say(stream, b"HTTP/1.1 301 \xff\r\nLocation: //\xfe\xff:\xe9/\xe9?\xff\r\n\r\n")
                            .await;
                    }
                    _ => say(stream, b"HTTP/1.1 301 \xff\r\nLocation: /caf\xe9\xff\r\n\r\n").await,
                }
            })
        }),
        bad("octets.test", &["fetched"], |stream, path| {
            Box::pin(async move {
                let links =
                    b"<a href='/\xff\xfe'>a</a><a href='http://\xe9.test/'>b</a><a href='/%ff%zz%'>c</a>";
                let links = if path == "/" { &links[..] } else { b"" };
                say(stream, [OK.as_bytes(), b"\r\n", links].concat()).await;
            })
        }),
        bad("deep.test", &["fetched"], |stream, _| {
            Box::pin(async { say(stream, format!("{OK}\r\n{}", "<div><b><table>".repeat(60_000))).await })
        }),
        bad("calendar.test", &["fetched"], |stream, path| {
            Box::pin(async move {
                let month = path.rsplit('/').next().and_then(|at| at.parse::<u32>().ok()).unwrap_or(0);
                let year = path.split('/').nth(2).and_then(|year| year.parse::<u32>().ok()).unwrap_or(2027);
                let (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
                let words: String =
                    (0..50).map(|at| format!("w{} ", (year * 13 + month) * 97 % (at + 50))).collect();
                say(stream, format!("{OK}\r\n<p>{words}<a href=/calendar/{year}/{month:02}>next</a>")).await;
            })
        }),
        bad("half.test", &["fetched"], |stream, _| {
            Box::pin(say(stream, format!("{OK}Transfer-Encoding: chunked\r\n\r\n10\r\n<p>half of a pa")))
        }),
        bad("broken.test", &["connect"], |stream, _| Box::pin(say(stream, "HTTP/1.1 200 O"))),
        bad("old.test", &["protocol"], |stream, _| {
            Box::pin(say(stream, "<html>HTTP/0.9 had no head</html>"))
        }),
        bad("chunks.test", &["protocol"], |stream, _| {
            Box::pin(async {
                let head = format!("{OK}Transfer-Encoding: chunked\r\n\r\n4;");
                repeat(stream, &head, "name=value;".repeat(1_000), NO_PAUSE).await;
            })
        }),
        bad("script.test", &["type"], |stream, _| {
            Box::pin(async {
                repeat(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n",
                    vec![0; 9_999],
                    NO_PAUSE,
                )
                .await;
            })
        }),
        bad("errors.test", &["status"], |stream, _| {
            Box::pin(async { repeat(stream, "HTTP/1.1 500 No\r\n\r\n", vec![b'x'; 9_999], NO_PAUSE).await })
        }),
    ]
}

/// A gigabyte of zeros, compressed.
static BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&vec![0; 16 << 20]).unwrap();
    let head = format!("{OK}Content-Encoding: gzip\r\n\r\n");
    [head.into_bytes(), encoder.finish().unwrap().repeat(64)].concat()
});

/// A page that consists of links.
static LINKS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let links: String = (0..100_000).map(|link| format!("<a href={link}>")).collect();
    format!("{OK}\r\n{links}").into_bytes()
});

/// Serves a bad host on its own address. Its robots.txt is missing, or misbehaves too.
async fn serve_bad(address: IpAddr, talk: Talk, also_robots: bool) -> u16 {
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                while let Some(head) = read_head(&mut stream).await {
                    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                    if path != "/robots.txt" || also_robots {
                        return talk(stream, path).await;
                    }
                    let _ = stream.write_all(b"HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n").await;
                }
            });
        }
    });
    port
}

const GOOD: usize = 10;
const PAGES: usize = 10;

fn good_name(number: usize) -> String {
    format!("good{number}.test")
}

/// Hosts with pages that link to each other.
fn good_hosts() -> Vec<Host> {
    let host = |number: usize| Host {
        name: good_name(number),
        address: u8::try_from(100 + number).unwrap(),
        answer_fn: Box::new(move |path, _| match path.trim_start_matches('/').parse::<usize>() {
            Ok(page) => {
                let words: String = (0..50)
                    .map(|word| format!("w{} ", (number * 31 + page * 7 + word) * 997 % 9_973))
                    .collect();
                Answer::html(format!("<p>{words}<a href=/{}>next</a>", (page + 1) % PAGES))
            }
            Err(_) => Answer::status(404),
        }),
    };
    (0..GOOD).map(host).collect()
}

/// Records the first outcome of every URL. Stops when all good pages are fetched and all other URLs have an outcome.
#[derive(Default)]
struct Siege {
    good: BTreeSet<String>,
    waited_for: BTreeSet<String>,
    /// The first outcome of each URL.
    ends: BTreeMap<String, &'static str>,
}

impl Observer for Siege {
    fn committed(&mut self, seen: Seen<'_>) -> ControlFlow<()> {
        let word = outcome_name(&seen.result.outcome);
        let url = seen.url.as_str().to_owned();
        if seen.url.host().starts_with("good") && word == "fetched" {
            self.good.insert(url.clone());
        }
        self.waited_for.remove(&url);
        if word == "trap" {
            self.waited_for.remove("a trap");
        }
        self.ends.entry(url).or_insert(word);
        self.waiting()
    }

    fn waiting(&mut self) -> ControlFlow<()> {
        let is_over = self.good.len() == GOOD * PAGES && self.waited_for.is_empty();
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Fetched => "fetched",
        Outcome::Redirected => "redirected",
        Outcome::Retry { failure, .. } => failure.kind.name(),
        Outcome::Dead(failure) | Outcome::Skipped(failure) => failure.kind.name(),
    }
}

fn politeness() -> Politeness {
    Politeness { min_delay: Duration::from_millis(20), delay_factor: 1, ..Politeness::default() }
}

const LIMITS: Limits = Limits { workers: 32, ..Limits::NONE };

/// Only keeps a test from hanging. It is far longer than any outcome takes.
const WATCHDOG: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_attack_has_a_suitable_outcome() {
    let web = Web::serve(good_hosts()).await;
    let good: Vec<_> = (0..GOOD).map(|number| web.url(&good_name(number), "/0")).collect();
    let (mut names, mut bad, mut expected) = (web.names(), Vec::new(), Vec::new());
    for (number, Bad { name, ends, talk }) in bad_hosts().into_iter().enumerate() {
        // Most attacks run a second time, starting with robots.txt.
        let costs_only_time = ["links.test", "deep.test", "calendar.test"].contains(&name);
        let ways = [(0, "", false), (1, "r-", true)];
        for (third, prefix, also_robots) in ways.into_iter().take(if costs_only_time { 1 } else { 2 }) {
            let address = IpAddr::from([127, 2, third, u8::try_from(number + 1).unwrap()]);
            let name = format!("{prefix}{name}");
            let port = serve_bad(address, talk, also_robots).await;
            names.insert(name.clone(), vec![address]);
            bad.push(CanonicalUrl::parse(&format!("http://{name}:{port}/")).unwrap());
            expected.push(if also_robots { None } else { Some(ends) });
        }
    }
    names.insert("private.test".to_owned(), vec![IpAddr::from([10, 0, 0, 1])]);
    for nowhere in ["http://private.test/", "http://unknown.test/", "http://169.254.169.254/"] {
        bad.push(CanonicalUrl::parse(nowhere).unwrap());
        expected.push(None);
    }
    let mut settings = settings();
    settings.max_body_bytes = 3 << 19;
    let fetch = HttpFetch::with_resolver(settings, Arc::new(Names(names))).unwrap();

    let waited_for = bad.iter().map(|url| url.as_str().to_owned()).chain(["a trap".to_owned()]).collect();
    let mut siege = Siege { waited_for, ..Siege::default() };
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path().join("crawl.db")).unwrap();
    let mut crawl = Crawl::new(&fetch, &mut store, SystemClock).unwrap().polite(politeness(), "Porthole");
    crawl.start(&[good, bad.clone()].concat()).unwrap();
    let is_over = timeout(WATCHDOG, crawl.run(LIMITS, &mut siege)).await.is_ok();
    assert!(is_over, "{} good pages; still waiting for {:?}", siege.good.len(), siege.waited_for);
    for (url, expected) in bad.iter().zip(expected) {
        let word = siege.ends[url.as_str()];
        assert!(expected.is_none_or(|ends| ends.contains(&word)), "{url} ended with {word}");
    }
}

/// Bad hosts of a simulated web: they are silent, or slow with a page or an error.
fn simulated_bad_hosts() -> Vec<Host> {
    let host = |number: u8| Host {
        name: format!("bad{number}.test"),
        address: number,
        answer_fn: Box::new(move |path, _| match (path, number % 8) {
            ("/robots.txt", 0..4) => Answer::status(404),
            (_, 0 | 4) => Answer::silence(),
            (_, 1 | 5) => Answer::status(500).after(Duration::from_secs(3)),
            _ => Answer::html(format!("<a href={path}1>next</a>")).after(Duration::from_secs(20)),
        }),
    };
    (1..100).map(host).collect()
}

/// Crawls all hosts of a simulated web, added in this order. Returns the time of each good host from its first page
/// to its last.
async fn times_of_good_hosts(hosts: Vec<Host>) -> Vec<Duration> {
    let names: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
    let web = SimulatedWeb::new(hosts);
    // All pages are queued from the start, with the same priority as those of bad hosts.
    let pages = |name: &String| (0..PAGES).map(|page| web.url(name, &format!("/{page}"))).collect::<Vec<_>>();
    let starts: Vec<CanonicalUrl> = names.iter().flat_map(pages).collect();
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path().join("crawl.db")).unwrap();
    let crawl = Crawl::new(&web, &mut store, SimulatedClock::start()).unwrap();
    let mut crawl = crawl.polite(politeness(), "Porthole").reading_in_place();
    crawl.start(&starts).unwrap();
    timeout(Duration::from_secs(3600), crawl.run(LIMITS, &mut Siege::default())).await.unwrap().unwrap();
    let log = web.log();
    let time = |number| {
        let is_page = |asked: &&Asked| asked.host == good_name(number) && asked.path != "/robots.txt";
        let arrived: Vec<_> = log.iter().filter(is_page).map(|asked| asked.arrived).collect();
        assert_eq!(arrived.len(), PAGES);
        arrived[PAGES - 1] - arrived[0]
    };
    (0..GOOD).map(time).collect()
}

#[tokio::test(start_paused = true)]
async fn good_hosts_are_crawled_as_if_they_were_alone() {
    let alone = times_of_good_hosts(good_hosts()).await;
    let before = good_hosts().into_iter().chain(simulated_bad_hosts()).collect();
    let behind = simulated_bad_hosts().into_iter().chain(good_hosts()).collect();
    for (order, hosts) in [("before", before), ("behind", behind)] {
        let besieged = times_of_good_hosts(hosts).await;
        assert_eq!(besieged, alone, "{order} bad hosts");
    }
}

/// A clock on which an hour takes six seconds.
struct Fast(Instant);

impl Clock for Fast {
    fn now(&self) -> Timestamp {
        SystemClock.now().after(self.0.elapsed() * 600)
    }
}

/// Crawls a site to its end. Returns the last outcome of each URL.
async fn crawl_to_the_end(fetch: &HttpFetch, start: &str) -> BTreeMap<String, &'static str> {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path().join("crawl.db")).unwrap();
    let politeness = Politeness { min_delay: Duration::from_millis(600), ..Politeness::default() };
    let clock = Fast(Instant::now());
    let mut crawl = Crawl::new(fetch, &mut store, &clock).unwrap().polite(politeness, "Porthole");
    crawl.start(&[CanonicalUrl::parse(start).unwrap()]).unwrap();
    let mut ends = BTreeMap::new();
    let mut observe = |seen: Seen<'_>| {
        ends.insert(seen.url.as_str().to_owned(), outcome_name(&seen.result.outcome));
        ControlFlow::Continue(())
    };
    let run = crawl.run(Limits { workers: 4, ..Limits::default() }, &mut observe);
    let stop = timeout(WATCHDOG, run).await;
    let stop = stop.unwrap_or_else(|_| panic!("{start} does not end")).unwrap();
    assert_eq!(stop, Stop::Exhausted, "{start}");
    ends
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreachable_site_is_recorded_with_the_reason() {
    let silent =
        serve_bad(IpAddr::from([127, 3, 0, 1]), |stream, _| Box::pin(stay_silent(stream)), true).await;
    let names = [("silent.test", [127, 3, 0, 1]), ("private.test", [10, 0, 0, 1])];
    let names = names.map(|(name, address)| (name.to_owned(), vec![IpAddr::from(address)]));
    let fetch = HttpFetch::with_resolver(settings(), Arc::new(Names(names.into()))).unwrap();
    for (start, end) in [
        ("http://private.test/", "scope"),
        ("http://169.254.169.254/", "scope"),
        ("http://unknown.test/", "dns"),
        ("http://127.3.0.2:9/", "connect"),
        (&format!("http://silent.test:{silent}/"), "timeout"),
    ] {
        let ends = crawl_to_the_end(&fetch, start).await;
        assert_eq!(ends[start], end);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_redirects_are_a_trap() {
    let chain: Talk = |stream, path| {
        let hop: u64 = path[1..].parse().unwrap_or(0);
        Box::pin(say(stream, format!("HTTP/1.1 302 Found\r\nLocation: /{}\r\n\r\n", hop + 1)))
    };
    let address = IpAddr::from([127, 3, 0, 3]);
    let port = serve_bad(address, chain, false).await;
    let names = [("chain.test".to_owned(), vec![address])].into();
    let fetch = HttpFetch::with_resolver(settings(), Arc::new(Names(names))).unwrap();
    let ends = crawl_to_the_end(&fetch, &format!("http://chain.test:{port}/0")).await;
    let count = |word| ends.values().filter(|end| **end == word).count();
    assert_eq!((count("redirected"), count("trap")), (20, 1), "{ends:?}");
}
