//! One crawl from start to stop: take work, fetch, read, judge, commit, again.
//!
//! With one fetch at a time, what is fetched next always follows from all that was fetched before, and the order is
//! the same in every run, also across a stop and a resume. With several, answers are dealt with as they come.

use std::ops::ControlFlow;
use std::pin::Pin;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use porthole_store::{Batch, Counts, Store};
use porthole_topic::JudgeError;
use porthole_types::{CanonicalUrl, Clock, NewUrl, Outcome, PageResult, Timestamp, Work};

use crate::archive::{Archive, ArchiveError};
use crate::result::{Focus, Reader, empty_result};
use crate::window::{Finished, Guest, Job, Next, What, Window};
use crate::{Fetch, FetchError, Request, Response};

/// When a crawl ends at the latest, and how it goes about it.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Fetches, whatever becomes of them.
    pub fetches: u64,
    /// Fetches that may be under way at once.
    pub workers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { fetches: u64::MAX, workers: 1 }
    }
}

/// Why a crawl ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The number of fetches that was asked for has been made.
    Limit,
    /// Every known URL has been dealt with.
    Exhausted,
    /// What is left failed before, and waits for another try until then.
    Waiting(Timestamp),
    /// The observer asked for it.
    Asked,
}

/// What an observer is told of each fetch, before it is committed.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The URL.
    pub url: &'a CanonicalUrl,
    /// What became of it.
    pub result: &'a PageResult,
    /// How long the fetch took.
    pub took: Duration,
    /// The store's counts as of the last commit.
    pub counts: Counts,
}

/// Why a crawl could not go on.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// The database refused.
    #[error(transparent)]
    Store(#[from] porthole_store::Error),
    /// The critic failed.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// Pages cannot be kept.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

impl CrawlError {
    /// Whether there is no room left on the disk.
    pub fn is_disk_full(&self) -> bool {
        match self {
            CrawlError::Store(error) => error.is_disk_full(),
            CrawlError::Archive(error) => error.is_disk_full(),
            CrawlError::Judge(_) => false,
        }
    }
}

/// Watches a crawl, and may end it.
pub trait Observer {
    /// A fetch is done, and will be committed.
    fn seen(&mut self, seen: Seen<'_>) -> ControlFlow<()>;

    /// Nothing came for a moment.
    fn waiting(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<F: FnMut(Seen<'_>) -> ControlFlow<()>> Observer for F {
    fn seen(&mut self, seen: Seen<'_>) -> ControlFlow<()> {
        self(seen)
    }
}

/// How long a crawl waits before it looks round again.
const MOMENT: Duration = Duration::from_millis(50);

/// A crawl over a web and a store.
pub struct Crawl<'a> {
    web: &'a dyn Fetch,
    store: &'a mut dyn Store,
    clock: &'a dyn Clock,
    reader: Reader<'a>,
    archive: Option<Archive>,
    guest: Guest,
    next_seq: u64,
}

impl<'a> Crawl<'a> {
    /// A crawl that goes on where the store is.
    pub fn new(
        web: &'a dyn Fetch,
        store: &'a mut dyn Store,
        clock: &'a dyn Clock,
    ) -> Result<Self, CrawlError> {
        let next_seq = store.setting(NEXT_SEQ)?.and_then(|seq| seq.parse().ok()).unwrap_or(0);
        Ok(Crawl {
            web,
            store,
            clock,
            reader: Reader::new(None),
            archive: None,
            guest: Guest::alone(),
            next_seq,
        })
    }

    /// Judges pages and follows links by what they are worth.
    pub fn focused(mut self, focus: Focus<'a>) -> Self {
        self.reader = Reader::new(Some(focus));
        self
    }

    /// Minds robots.txt and pauses. Needs a runtime with timers.
    pub fn as_guest(mut self, guest: Guest) -> Self {
        self.guest = guest;
        self
    }

    /// Keeps every page that comes.
    pub fn archived(mut self, archive: Archive) -> Self {
        self.archive = Some(archive);
        self
    }

    /// Adds URLs to begin with. How many of them were new.
    pub fn start(&mut self, urls: &[CanonicalUrl]) -> Result<usize, CrawlError> {
        let start = |url: &CanonicalUrl| NewUrl { url: url.clone(), relevance: 1.0, priority: 1.0 };
        Ok(self.store.add(&urls.iter().map(start).collect::<Vec<_>>())?)
    }

    /// Crawls until a limit is reached, nothing is left, or the observer, who sees every fetch, asks to stop. What is
    /// under way then is fetched again when the crawl goes on.
    pub async fn run(&mut self, limits: Limits, observer: &mut dyn Observer) -> Result<Stop, CrawlError> {
        // Apart from the crawl while it runs, so that both can be worked with.
        let mut guest = std::mem::replace(&mut self.guest, Guest::alone());
        let stop = self.run_as(&mut guest, limits, observer).await;
        self.guest = guest;
        stop
    }

    async fn run_as(
        &mut self,
        guest: &mut Guest,
        limits: Limits,
        observer: &mut dyn Observer,
    ) -> Result<Stop, CrawlError> {
        let is_polite = guest.is_polite();
        let mut window = Window::new(guest);
        let mut under_way = UnderWay::new();
        let mut left = limits.fetches;
        loop {
            let settled = self.fill(&mut window, &mut under_way, &mut left, limits.workers.max(1))?;
            if !settled.is_empty() {
                if self.commit_settled(settled, observer)?.is_break() {
                    return Ok(Stop::Asked);
                }
                continue;
            }
            if under_way.is_empty() && left == 0 {
                return Ok(Stop::Limit);
            }
            let first = if is_polite { wait(&mut under_way).await } else { under_way.next().await };
            let Some(first) = first else {
                match self.nothing_came(is_polite, &window, &under_way, observer) {
                    Some(stop) => return Ok(stop),
                    None => continue,
                }
            };
            // The first that is done, and all others that are done by now.
            let mut done = vec![first];
            while let Some(Some(next)) = under_way.next().now_or_never() {
                done.push(next);
            }
            let now = self.clock.now();
            let mut pages = Vec::with_capacity(done.len());
            for (job, answer) in done {
                match window.finished(job, answer, now) {
                    Finished::Page(work, answer) => pages.push((work, answer)),
                    Finished::Listed(urls) => drop(self.store.add(&urls)?),
                    Finished::Errand => {}
                }
            }
            if self.commit(pages, &mut window, observer)?.is_break() {
                return Ok(Stop::Asked);
            }
        }
    }

    /// Starts as many requests as may be started. Returns work that was decided without one.
    fn fill(
        &mut self,
        window: &mut Window<'_>,
        under_way: &mut UnderWay<'a>,
        left: &mut u64,
        workers: usize,
    ) -> Result<Vec<(Work, Outcome)>, CrawlError> {
        let mut settled = Vec::new();
        while under_way.len() < workers && *left > 0 && settled.len() < MOST_SETTLED {
            match window.next(self.clock.now()) {
                Next::Fetch(job) => {
                    *left -= u64::from(matches!(job.what, What::Page(_)));
                    under_way.push(Box::pin(fetch(self.web, job)));
                }
                Next::Settled(work, outcome) => settled.push((work, outcome)),
                Next::Nothing => {
                    self.store.give_back(&window.gives_back())?;
                    let free = (workers - under_way.len()).min(usize::try_from(*left).unwrap_or(usize::MAX));
                    let work = self.store.take(window.room(free), self.clock.now())?;
                    if work.is_empty() {
                        break;
                    }
                    work.into_iter().for_each(|work| window.add(work));
                }
            }
        }
        Ok(settled)
    }

    /// Why to stop when no answer came for a moment, or when none is awaited.
    fn nothing_came(
        &self,
        is_polite: bool,
        window: &Window<'_>,
        under_way: &UnderWay<'_>,
        observer: &mut dyn Observer,
    ) -> Option<Stop> {
        if observer.waiting().is_break() {
            return Some(Stop::Asked);
        }
        match self.store.next_due() {
            // A guest waits: for answers, for sites that rest, for failures that may have passed.
            _ if is_polite && !(under_way.is_empty() && window.is_empty()) => None,
            Some(_) if is_polite => None,
            Some(due) => Some(Stop::Waiting(due)),
            None => Some(Stop::Exhausted),
        }
    }

    /// Writes what was decided without a request.
    fn commit_settled(
        &mut self,
        settled: Vec<(Work, Outcome)>,
        observer: &mut dyn Observer,
    ) -> Result<ControlFlow<()>, CrawlError> {
        let now = self.clock.now();
        let results: Vec<(Work, PageResult)> = settled
            .into_iter()
            .map(|(work, outcome)| {
                let result = PageResult { outcome, ..empty_result(&work, self.next_seq, now) };
                self.next_seq += 1;
                (work, result)
            })
            .collect();
        self.write(results, observer, |_| Duration::ZERO)
    }

    fn commit(
        &mut self,
        done: Vec<Done>,
        window: &mut Window<'_>,
        observer: &mut dyn Observer,
    ) -> Result<ControlFlow<()>, CrawlError> {
        let mut results = Vec::with_capacity(done.len());
        let mut took = Vec::with_capacity(done.len());
        for (work, answer) in done {
            took.push(answer.as_ref().map_or(Duration::ZERO, |response| response.took));
            let now = self.clock.now();
            let mut result =
                self.reader.result(&work, answer.as_ref().map_err(Clone::clone), self.next_seq, now)?;
            if let (Some(archive), Ok(response), Outcome::Fetched) =
                (&mut self.archive, &answer, &result.outcome)
            {
                result.span = archive.write(&work.url, now, response)?;
            }
            if result.outcome == Outcome::Fetched {
                window.read(&work.url, result.simhash);
            }
            self.next_seq += 1;
            results.push((work, result));
        }
        self.write(results, observer, |at| took[at])
    }

    /// Shows results to the observer and commits them.
    fn write(
        &mut self,
        results: Vec<(Work, PageResult)>,
        observer: &mut dyn Observer,
        took: impl Fn(usize) -> Duration,
    ) -> Result<ControlFlow<()>, CrawlError> {
        let mut flow = ControlFlow::Continue(());
        let counts = self.store.counts();
        for (at, (work, result)) in results.iter().enumerate() {
            if observer.seen(Seen { url: &work.url, result, took: took(at), counts }).is_break() {
                flow = ControlFlow::Break(());
            }
        }
        let results: Vec<PageResult> = results.into_iter().map(|(_, result)| result).collect();
        let next_seq = self.next_seq.to_string();
        let settings = [(NEXT_SEQ, next_seq.as_str())];
        self.store.commit(&Batch { results: &results, settings: &settings, ..Batch::default() })?;
        Ok(flow)
    }
}

/// Decided without a request and committed together, at most.
const MOST_SETTLED: usize = 1_000;

/// Work, and the answer that came.
type Done = (Work, Result<Response, FetchError>);

/// Requests that were made and not yet answered.
type UnderWay<'a> = FuturesUnordered<Pin<Box<dyn Future<Output = (Job, Result<Response, FetchError>)> + 'a>>>;

async fn fetch(web: &dyn Fetch, job: Job) -> (Job, Result<Response, FetchError>) {
    let answer = web.fetch(&Request::get(job.url().clone())).await;
    (job, answer)
}

/// The next answer, if one comes within a moment.
async fn wait(under_way: &mut UnderWay<'_>) -> Option<(Job, Result<Response, FetchError>)> {
    if under_way.is_empty() {
        tokio::time::sleep(MOMENT).await;
        return None;
    }
    tokio::time::timeout(MOMENT, under_way.next()).await.ok().flatten()
}

/// The setting that numbers the next fetch; committed with the fetches before it.
const NEXT_SEQ: &str = "crawl.next_seq";

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Mutex;
    use std::time::Instant;

    use porthole_store::SqliteStore;
    use porthole_types::{FailureKind, Headers, ManualClock};

    use super::*;
    use crate::FetchFuture;

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
                Ok(Response {
                    status: *status,
                    headers,
                    body: body.as_bytes().to_vec(),
                    truncated: false,
                    took,
                })
            })
        }
    }

    fn web() -> TinyWeb {
        TinyWeb(HashMap::from([
            (
                "/",
                (200, "text/html", "<title>home</title><a href=/a>a</a><a href=/b>b</a><a href=/a>again</a>"),
            ),
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
                Outcome::Fetched => "fetched",
                Outcome::Redirected => "redirected",
                Outcome::Retry { failure, .. } => failure.kind.name(),
                Outcome::Dead(failure) | Outcome::Skipped(failure) => failure.kind.name(),
            };
            seen.push(format!("{} {} {word}", page.result.seq, page.url.path()));
            ControlFlow::Continue(())
        };
        let stop = pollster::block_on(crawl.run(Limits { fetches, workers: 1 }, &mut observe)).unwrap();
        (stop, seen)
    }

    #[test]
    fn breadth_first_to_the_end() {
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
        assert_eq!(counts.links, 5, "each target once a page");
    }

    #[test]
    fn a_second_run_goes_on_where_the_first_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("crawl.db");
        let (stop, first) = crawl(&mut SqliteStore::open(&path).unwrap(), 2);
        assert_eq!((stop, first.len()), (Stop::Limit, 2));
        let (stop, second) = crawl(&mut SqliteStore::open(&path).unwrap(), u64::MAX);
        assert_eq!(stop, Stop::Exhausted);
        assert_eq!(second, ["2 /b redirected", "3 /c type", "4 /d status"]);
    }

    /// Three hosts of ten pages each, and one that forbids everything; notes who asks for what and when.
    #[derive(Default)]
    struct HostsWeb {
        in_flight: Mutex<HashMap<String, u32>>,
        asked: Mutex<Vec<(String, String, Instant)>>,
    }

    impl Fetch for HostsWeb {
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
                            ["a", "b", "c", "closed"]
                                .map(|host| format!("<a href=http://{host}.test/{n}>x</a>"))
                        });
                        ("text/html", links.collect())
                    }
                };
                let headers: Headers = [("content-type", kind)].into_iter().collect();
                let took = before.elapsed();
                Ok(Response { status: 200, headers, body: body.into_bytes(), truncated: false, took })
            })
        }
    }

    /// Crawls as a guest who pauses for so long, from these URLs on.
    fn visit(
        (web, store): (&HostsWeb, &mut SqliteStore),
        pause: Duration,
        starts: impl Iterator<Item = String>,
        limits: Limits,
        observe: &mut dyn Observer,
    ) -> Stop {
        let politeness =
            crate::Politeness { min_delay: pause, delay_factor: 0, ..crate::Politeness::default() };
        let starts: Vec<_> = starts.map(|url| CanonicalUrl::parse(&url).unwrap()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let guest = Guest::polite(politeness, "porthole");
            let mut crawl = Crawl::new(web, store, &crate::SystemClock).unwrap().as_guest(guest);
            crawl.start(&starts).unwrap();
            let run = crawl.run(limits, observe);
            tokio::time::timeout(Duration::from_secs(60), run).await.expect("it ends").unwrap()
        })
    }

    fn scratch() -> (tempfile::TempDir, SqliteStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("crawl.db")).unwrap();
        (folder, store)
    }

    const TO_THE_END: Limits = Limits { fetches: u64::MAX, workers: 8 };

    #[test]
    fn a_guest_asks_first_waits_its_turn_and_leaves_when_nothing_is_left() {
        const PAUSE: Duration = Duration::from_millis(20);
        let (_folder, mut store) = scratch();
        let web = HostsWeb::default();
        let starts = ["http://a.test/0".to_owned()].into_iter();
        let mut observe = |_: Seen<'_>| ControlFlow::Continue(());
        assert_eq!(visit((&web, &mut store), PAUSE, starts, TO_THE_END, &mut observe), Stop::Exhausted);
        let asked = web.asked.into_inner().unwrap();
        for host in ["a.test", "b.test", "c.test", "closed.test"] {
            let own: Vec<_> = asked.iter().filter(|(asked, ..)| asked == host).collect();
            assert_eq!(own[0].1, "/robots.txt", "{host} is asked first");
            // a.test has a sitemap, too, and a page that only the sitemap knows.
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
    fn a_huge_site_does_not_fill_the_window() {
        let (_folder, mut store) = scratch();
        let web = HostsWeb::default();
        let huge = (0..6_000).map(|page| format!("http://huge.test/{page}x"));
        let starts = huge.chain(["http://small.test/1x".to_owned()]);
        let mut hosts = HashMap::new();
        let mut observe = |seen: Seen<'_>| {
            *hosts.entry(seen.url.host().to_owned()).or_insert(0) += 1;
            ControlFlow::Continue(())
        };
        let limits = Limits { fetches: 120, workers: 4 };
        visit((&web, &mut store), Duration::from_millis(5), starts, limits, &mut observe);
        assert_eq!(hosts["small.test"], 1, "{hosts:?}");
        // More than are held at a time: what was too much came back.
        assert!(hosts["huge.test"] > 80, "{hosts:?}");
    }

    #[test]
    fn a_huge_site_that_forbids_everything_is_dealt_with_and_the_crawl_ends() {
        let (_folder, mut store) = scratch();
        let web = HostsWeb::default();
        let starts = (0..500).map(|page| format!("http://closed.test/{page}x"));
        let mut observe = |_: Seen<'_>| ControlFlow::Continue(());
        let stop = visit((&web, &mut store), Duration::from_millis(5), starts, TO_THE_END, &mut observe);
        assert_eq!((stop, store.counts().skipped), (Stop::Exhausted, 500));
        assert_eq!(web.asked.into_inner().unwrap().len(), 1, "robots.txt alone was asked for");
    }
}
