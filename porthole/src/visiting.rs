//! Fetches single pages for a command: from the web, with the crawl's guard and politeness rules, or from a recorded
//! web.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use porthole_crawl::{
    AGENT, Fetch, FetchedPage, HttpFetch, PageFetcher, Request, Response, SystemClock, refresh_of,
};
use porthole_page::Extractor;
use porthole_types::CanonicalUrl;
use porthole_webs::RecordedWeb;
use tokio::sync::Mutex;

use crate::documents::{DocumentReader, TermDocument};
use crate::output::{self, Progress, misuse};
use crate::workspace::Workspace;

/// Maximum number of redirects.
const REDIRECTS: usize = 5;

/// Fetches single pages. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Visitor {
    web: Arc<VisitedWeb>,
    /// Deadline; pages that have not arrived by then are given up.
    until: Option<Instant>,
}

enum VisitedWeb {
    Recorded(RecordedWeb),
    /// Locked for one list of pages at a time.
    Live(Box<Mutex<PageFetcher>>),
}

impl Visitor {
    /// A visitor for the given recordings, or for the open web if there are none.
    pub(crate) fn of(workspace: &Workspace, recordings: &[PathBuf]) -> anyhow::Result<Visitor> {
        if !recordings.is_empty() {
            return Ok(Visitor::to(VisitedWeb::Recorded(RecordedWeb::open(recordings)?)));
        }
        let settings = workspace.settings.fetch.ready()?;
        let web = HttpFetch::new(settings).map_err(|error| misuse(error.to_string()))?;
        let politeness = workspace.settings.polite.ready()?;
        let fetcher = PageFetcher::new(Arc::new(web), Arc::new(SystemClock), politeness, AGENT);
        Ok(Visitor::to(VisitedWeb::Live(Box::new(Mutex::new(fetcher)))))
    }

    fn to(web: VisitedWeb) -> Visitor {
        Visitor { web: Arc::new(web), until: None }
    }

    /// Limits the time from now on.
    pub(crate) fn for_at_most(self, time: Duration) -> Visitor {
        Visitor { until: Instant::now().checked_add(time), ..self }
    }

    /// Fetches a page. Redirects are followed; each target is checked like the first URL.
    pub(crate) async fn visit(&self, url: &CanonicalUrl) -> anyhow::Result<FetchedPage> {
        let mut page = Err(anyhow!("the page could not be read"));
        self.fetch_all(std::slice::from_ref(url), |_, fetched| page = fetched).await;
        page
    }

    async fn fetch_all(
        &self,
        urls: &[CanonicalUrl],
        mut each: impl FnMut(usize, anyhow::Result<FetchedPage>),
    ) {
        match &*self.web {
            VisitedWeb::Recorded(web) => {
                for (number, url) in urls.iter().enumerate() {
                    each(number, visit_recorded(web, url).await);
                }
            }
            VisitedWeb::Live(fetcher) => {
                let mut fetcher = fetcher.lock().await;
                fetcher
                    .fetch_all(urls, |number, page| {
                        each(number, page.map_err(|failure| anyhow!(failure.detail().to_owned())));
                    })
                    .await;
            }
        }
    }

    /// Fetches pages, different sites concurrently, and calls `each` with the number of each page as it arrives. Pages
    /// that did not arrive are passed as errors. Returns whether the user interrupted it.
    pub(crate) async fn visit_all(
        &self,
        urls: &[CanonicalUrl],
        mut each: impl FnMut(usize, anyhow::Result<FetchedPage>),
    ) -> bool {
        let mut progress = Progress::new("fetching", urls.len() as u64);
        let mut has_arrived = vec![false; urls.len()];
        let fetch = self.fetch_all(urls, |number, page| {
            has_arrived[number] = true;
            progress.step(|| urls[number].to_string());
            each(number, page);
        });
        let (why, is_interrupted) = tokio::select! {
            () = fetch => ("the page could not be read", false),
            Ok(()) = tokio::signal::ctrl_c() => ("interrupted", true),
            () = tokio::time::sleep_until(self.until.unwrap_or_else(no_deadline).into()) => {
                ("the time limit was reached", false)
            }
        };
        progress.finish();
        for number in (0..urls.len()).filter(|&number| !has_arrived[number]) {
            each(number, Err(anyhow!(why)));
        }
        is_interrupted
    }

    /// Fetches and reads pages, in the order of their URLs. Failures become missing documents with the reason.
    pub(crate) async fn read_all(
        &self,
        reader: &mut DocumentReader,
        urls: &[CanonicalUrl],
    ) -> FetchedDocuments {
        let mut documents: Vec<Option<TermDocument>> = urls.iter().map(|_| None).collect();
        let is_interrupted =
            self.visit_all(urls, |number, visit| documents[number] = Some(read(reader, visit))).await;
        let documents = documents.into_iter().map(|document| document.unwrap_or_else(TermDocument::unread));
        FetchedDocuments { documents: documents.collect(), is_interrupted }
    }
}

/// Result of [`Visitor::read_all`].
pub(crate) struct FetchedDocuments {
    pub(crate) documents: Vec<TermDocument>,
    pub(crate) is_interrupted: bool,
}

/// Reads a fetched page, or notes why it is missing.
pub(crate) fn read(reader: &mut DocumentReader, page: anyhow::Result<FetchedPage>) -> TermDocument {
    match page {
        Ok(FetchedPage { at, response }) => reader.bytes(Some(&at), &response.headers, &response.body),
        Err(error) => TermDocument::missing(output::in_words(&error)),
    }
}

/// Fetches a page of a recorded web.
pub(crate) async fn visit_recorded(web: &RecordedWeb, url: &CanonicalUrl) -> anyhow::Result<FetchedPage> {
    let answer = |at: CanonicalUrl| async move {
        if !web.has(&at) {
            bail!("not in the recorded web");
        }
        Ok(web.fetch(&Request::get(at)).await?)
    };
    follow(url, answer).await
}

/// Follows redirects, and `meta` refreshes like redirects, to a page.
async fn follow<F: Future<Output = anyhow::Result<Response>>>(
    url: &CanonicalUrl,
    answer: impl Fn(CanonicalUrl) -> F,
) -> anyhow::Result<FetchedPage> {
    let mut at = url.clone();
    let mut extractor = Extractor::default();
    for _ in 0..=REDIRECTS {
        let response = answer(at.clone()).await?;
        match response.status {
            200..300 => match refresh_of(&mut extractor, &at, &response) {
                Some(target) => at = target,
                None => return Ok(FetchedPage { at, response }),
            },
            300..400 => {
                let target = response.headers.get("location").and_then(|target| at.join(target).ok());
                at = target.ok_or_else(|| anyhow!("redirect without a valid target"))?;
            }
            status => bail!("status {status}"),
        }
    }
    bail!("more than {REDIRECTS} redirects")
}

/// A deadline that is never reached.
fn no_deadline() -> Instant {
    Instant::now() + Duration::from_secs(365 * 24 * 3600)
}
