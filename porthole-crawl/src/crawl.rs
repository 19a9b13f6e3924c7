//! One crawl from start to stop: take work, fetch, read, judge, commit, again.
//!
//! With one fetch at a time, what is fetched next always follows from all that was fetched before, and the order is
//! the same in every run, also across a stop and a resume. With several, answers are dealt with as they come.

use std::ops::ControlFlow;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use porthole_store::{Batch, Counts, Store};
use porthole_topic::JudgeError;
use porthole_types::{CanonicalUrl, Clock, NewUrl, Outcome, PageResult, Timestamp, Work};

use crate::archive::{Archive, ArchiveError};
use crate::result::{Focus, Reader};
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

/// A crawl over a web and a store.
pub struct Crawl<'a> {
    web: &'a dyn Fetch,
    store: &'a mut dyn Store,
    clock: &'a dyn Clock,
    reader: Reader<'a>,
    archive: Option<Archive>,
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
        Ok(Crawl { web, store, clock, reader: Reader::new(None), archive: None, next_seq })
    }

    /// Judges pages and follows links by what they are worth.
    pub fn focused(mut self, focus: Focus<'a>) -> Self {
        self.reader = Reader::new(Some(focus));
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
    pub async fn run(
        &mut self,
        limits: Limits,
        observe: &mut dyn FnMut(Seen<'_>) -> ControlFlow<()>,
    ) -> Result<Stop, CrawlError> {
        let (mut left, web) = (limits.fetches, self.web);
        let mut under_way = FuturesUnordered::new();
        loop {
            let room = limits.workers.max(1) - under_way.len();
            let wanted = room.min(usize::try_from(left).unwrap_or(usize::MAX));
            let work = self.store.take(wanted, self.clock.now())?;
            left -= work.len() as u64;
            under_way.extend(work.into_iter().map(|work| fetch(web, work)));
            // The first that is done, and all others that are done by now.
            let Some(first) = under_way.next().await else {
                let waiting = self.store.next_due().map_or(Stop::Exhausted, Stop::Waiting);
                return Ok(if left == 0 { Stop::Limit } else { waiting });
            };
            let mut done = vec![first];
            while let Some(Some(next)) = under_way.next().now_or_never() {
                done.push(next);
            }
            if self.commit(done, observe)?.is_break() {
                return Ok(Stop::Asked);
            }
        }
    }

    fn commit(
        &mut self,
        done: Vec<Done>,
        observe: &mut dyn FnMut(Seen<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, CrawlError> {
        let mut flow = ControlFlow::Continue(());
        let counts = self.store.counts();
        let mut results = Vec::with_capacity(done.len());
        for (work, answer) in done {
            let took = answer.as_ref().map_or(Duration::ZERO, |response| response.took);
            let now = self.clock.now();
            let mut result =
                self.reader.result(&work, answer.as_ref().map_err(Clone::clone), self.next_seq, now)?;
            if let (Some(archive), Ok(response), Outcome::Fetched) =
                (&mut self.archive, &answer, &result.outcome)
            {
                result.span = archive.write(&work.url, now, response)?;
            }
            self.next_seq += 1;
            if observe(Seen { url: &work.url, result: &result, took, counts }).is_break() {
                flow = ControlFlow::Break(());
            }
            results.push(result);
        }
        let next_seq = self.next_seq.to_string();
        let settings = [(NEXT_SEQ, next_seq.as_str())];
        self.store.commit(&Batch { results: &results, settings: &settings, ..Batch::default() })?;
        Ok(flow)
    }
}

/// Work, and the answer that came.
type Done = (Work, Result<Response, FetchError>);

async fn fetch(web: &dyn Fetch, work: Work) -> Done {
    let answer = web.fetch(&Request::get(work.url.clone())).await;
    (work, answer)
}

/// The setting that numbers the next fetch; committed with the fetches before it.
const NEXT_SEQ: &str = "crawl.next_seq";

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

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
}
