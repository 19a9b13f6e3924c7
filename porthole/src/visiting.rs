//! Pages that a command needs at once: fetched as a guest, through the same guard as a crawl, or from a recorded web.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use porthole_crawl::{Fetch, FetchedPage, HttpFetch, PageFetcher, Request, Response, SystemClock};
use porthole_types::CanonicalUrl;
use porthole_webs::RecordedWeb;
use tokio::sync::Mutex;

use crate::documents::{Document, DocumentReader};
use crate::output::{self, Progress, misuse};
use crate::workspace::Workspace;

/// The name that robots.txt files know us by.
const AGENT: &str = "porthole";

/// Redirects that are followed to a page.
const REDIRECTS: usize = 5;

/// Brings single pages. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Visitor {
    web: Arc<Web>,
    /// What has not come by then is not waited for.
    until: Option<Instant>,
}

enum Web {
    Recorded(RecordedWeb),
    /// One command has one list of pages under way at a time.
    Live(Box<Mutex<PageFetcher>>),
}

impl Visitor {
    /// One for the web that a workspace may see: these recordings, or else the open one.
    pub(crate) fn of(workspace: &Workspace, recordings: &[PathBuf]) -> anyhow::Result<Visitor> {
        if !recordings.is_empty() {
            return Ok(Visitor::to(Web::Recorded(RecordedWeb::open(recordings)?)));
        }
        let settings = workspace.settings.fetch.ready()?;
        let web = HttpFetch::new(settings).map_err(|error| misuse(error.to_string()))?;
        let politeness = workspace.settings.polite.ready()?;
        let fetcher = PageFetcher::new(Arc::new(web), Arc::new(SystemClock), politeness, AGENT);
        Ok(Visitor::to(Web::Live(Box::new(Mutex::new(fetcher)))))
    }

    fn to(web: Web) -> Visitor {
        Visitor { web: Arc::new(web), until: None }
    }

    /// One that brings what comes from now on within so long.
    pub(crate) fn for_at_most(self, time: Duration) -> Visitor {
        Visitor { until: Instant::now().checked_add(time), ..self }
    }

    /// Fetches a page; redirects are followed, each as if it had been asked for.
    pub(crate) async fn visit(&self, url: &CanonicalUrl) -> anyhow::Result<FetchedPage> {
        let mut page = Err(anyhow!("it could not be read"));
        self.fetch_all(std::slice::from_ref(url), |_, fetched| page = fetched).await;
        page
    }

    async fn fetch_all(
        &self,
        urls: &[CanonicalUrl],
        mut each: impl FnMut(usize, anyhow::Result<FetchedPage>),
    ) {
        match &*self.web {
            Web::Recorded(web) => {
                for (number, url) in urls.iter().enumerate() {
                    each(number, visit_recorded(web, url).await);
                }
            }
            Web::Live(fetcher) => {
                let mut fetcher = fetcher.lock().await;
                fetcher
                    .fetch_all(urls, |number, page| {
                        each(number, page.map_err(|failure| anyhow!(failure.detail().to_owned())));
                    })
                    .await;
            }
        }
    }

    /// Fetches pages, those of different sites at the same time, and hands each on with its number as it comes.
    /// Whether somebody interrupted it; what had not come by then is handed on as an error.
    pub(crate) async fn visit_all(
        &self,
        urls: &[CanonicalUrl],
        mut each: impl FnMut(usize, anyhow::Result<FetchedPage>),
    ) -> bool {
        let mut progress = Progress::new("fetching", urls.len() as u64);
        let mut has_come = vec![false; urls.len()];
        let fetch = self.fetch_all(urls, |number, page| {
            has_come[number] = true;
            progress.step(|| urls[number].to_string());
            each(number, page);
        });
        let (why, is_interrupted) = tokio::select! {
            () = fetch => ("it could not be read", false),
            Ok(()) = tokio::signal::ctrl_c() => ("interrupted", true),
            () = tokio::time::sleep_until(self.until.unwrap_or_else(far_away).into()) => {
                ("it did not come in time", false)
            }
        };
        progress.finish();
        for number in (0..urls.len()).filter(|&number| !has_come[number]) {
            each(number, Err(anyhow!(why)));
        }
        is_interrupted
    }

    /// Fetches pages and reads them, in the order of their URLs. What could not be had is missing, and says why.
    pub(crate) async fn read_all(&self, reader: &mut DocumentReader, urls: &[CanonicalUrl]) -> Tour {
        let mut documents: Vec<Option<Document>> = urls.iter().map(|_| None).collect();
        let is_interrupted =
            self.visit_all(urls, |number, visit| documents[number] = Some(read(reader, visit))).await;
        let documents = documents.into_iter().map(|document| document.unwrap_or_else(Document::unread));
        Tour { documents: documents.collect(), is_interrupted }
    }
}

/// What [`Visitor::read_all`] brought.
pub(crate) struct Tour {
    pub(crate) documents: Vec<Document>,
    pub(crate) is_interrupted: bool,
}

/// What a page has for a critic.
pub(crate) fn read(reader: &mut DocumentReader, page: anyhow::Result<FetchedPage>) -> Document {
    match page {
        Ok(FetchedPage { at, response }) => reader.bytes(Some(&at), &response.headers, &response.body),
        Err(error) => Document::missing(output::in_words(&error)),
    }
}

/// A page of a recorded web.
pub(crate) async fn visit_recorded(web: &RecordedWeb, url: &CanonicalUrl) -> anyhow::Result<FetchedPage> {
    let answer = |at: CanonicalUrl| async move {
        if !web.has(&at) {
            bail!("not in the recorded web");
        }
        Ok(web.fetch(&Request::get(at)).await?)
    };
    follow(url, answer).await
}

/// Follows redirects to a page.
async fn follow<F: Future<Output = anyhow::Result<Response>>>(
    url: &CanonicalUrl,
    answer: impl Fn(CanonicalUrl) -> F,
) -> anyhow::Result<FetchedPage> {
    let mut at = url.clone();
    for _ in 0..=REDIRECTS {
        let response = answer(at.clone()).await?;
        match response.status {
            200..300 => return Ok(FetchedPage { at, response }),
            300..400 => {
                let target = response.headers.get("location").and_then(|target| at.join(target).ok());
                at = target.ok_or_else(|| anyhow!("a redirect to nowhere"))?;
            }
            status => bail!("status {status}"),
        }
    }
    bail!("more than {REDIRECTS} redirects")
}

/// When there is nothing that has to come by then.
fn far_away() -> Instant {
    Instant::now() + Duration::from_secs(365 * 24 * 3600)
}
