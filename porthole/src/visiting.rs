//! Pages that a command needs at once: fetched as a guest, through the same guard as a crawl, or from a recorded web.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use porthole_crawl::{
    Fetch, FetchError, Flight, HostAnswer, Hosts, HttpFetch, Politeness, Request, Response, RobotsCache,
    RobotsLook, RobotsPolicy, RobotsStep, RobotsVerdict, SystemClock, Turn,
};
use porthole_lab::RecordedWeb;
use porthole_types::{CanonicalUrl, Clock, FailureKind, SiteId, Timestamp};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::documents::{Document, DocumentReader};
use crate::output::{self, Progress, misuse};
use crate::workspace::Workspace;

/// The name that robots.txt files know us by.
const AGENT: &str = "porthole";

/// Redirects that are followed to a page.
const REDIRECTS: usize = 5;

/// Requests under way at once, each to another site.
const WORKERS: usize = 32;

/// A site that wants to be left alone for longer is not waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often it is looked whether another request to a site is over.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Bytes of robots.txt rules that are kept.
const ROBOTS_BYTES: usize = 8 << 20;

/// Brings single pages. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Visitor {
    web: Arc<Web>,
    /// What has not come by then is not waited for.
    until: Option<Instant>,
}

enum Web {
    Recorded(RecordedWeb),
    Live(Box<Guest>),
}

/// A page, and where it was in the end.
pub(crate) struct Visit {
    pub(crate) at: CanonicalUrl,
    pub(crate) response: Response,
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
        Ok(Visitor::to(Web::Live(Box::new(Guest::new(Box::new(web), politeness)))))
    }

    fn to(web: Web) -> Visitor {
        Visitor { web: Arc::new(web), until: None }
    }

    /// One that brings what comes from now on within so long.
    pub(crate) fn for_at_most(self, time: Duration) -> Visitor {
        Visitor { until: Instant::now().checked_add(time), ..self }
    }

    /// Fetches a page; redirects are followed, each as if it had been asked for.
    pub(crate) async fn visit(&self, url: &CanonicalUrl) -> anyhow::Result<Visit> {
        match &*self.web {
            Web::Recorded(web) => visit_recorded(web, url).await,
            Web::Live(guest) => follow(url, |at| async move { guest.page(&at).await }).await,
        }
    }

    /// Fetches pages, those of different sites at the same time, and hands each on with its number as it comes.
    /// Whether somebody interrupted it; what had not come by then is handed on as an error.
    pub(crate) async fn visit_all(
        &self,
        urls: &[CanonicalUrl],
        mut each: impl FnMut(usize, anyhow::Result<Visit>),
    ) -> bool {
        let mut progress = Progress::new("fetching", urls.len() as u64);
        let mut under_way = JoinSet::new();
        for (number, url) in urls.iter().cloned().enumerate() {
            let visitor = self.clone();
            under_way.spawn(async move { (number, visitor.visit(&url).await) });
        }
        let mut has_come = vec![false; urls.len()];
        let interrupted = tokio::signal::ctrl_c();
        tokio::pin!(interrupted);
        let late = tokio::time::sleep_until(self.until.unwrap_or_else(far_away).into());
        tokio::pin!(late);
        let mut why = "it could not be read";
        let is_interrupted = loop {
            let come = tokio::select! {
                come = under_way.join_next() => come,
                Ok(()) = &mut interrupted => {
                    why = "interrupted";
                    break true;
                }
                () = &mut late => {
                    why = "it did not come in time";
                    break false;
                }
            };
            match come {
                None => break false,
                // A visit that broke down is handed on below.
                Some(Err(_)) => {}
                Some(Ok((number, visit))) => {
                    has_come[number] = true;
                    progress.step(|| urls[number].to_string());
                    each(number, visit);
                }
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

/// What a visit has for a critic.
pub(crate) fn read(reader: &mut DocumentReader, visit: anyhow::Result<Visit>) -> Document {
    match visit {
        Ok(Visit { at, response }) => reader.bytes(Some(&at), &response.headers, &response.body),
        Err(error) => Document::missing(output::in_words(&error)),
    }
}

/// A page of a recorded web.
pub(crate) async fn visit_recorded(web: &RecordedWeb, url: &CanonicalUrl) -> anyhow::Result<Visit> {
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
) -> anyhow::Result<Visit> {
    let mut at = url.clone();
    for _ in 0..=REDIRECTS {
        let response = answer(at.clone()).await?;
        match response.status {
            200..300 => return Ok(Visit { at, response }),
            300..400 => {
                let target = response.headers.get("location").and_then(|target| at.join(target).ok());
                at = target.ok_or_else(|| anyhow!("a redirect to nowhere"))?;
            }
            status => bail!("status {status}"),
        }
    }
    bail!("more than {REDIRECTS} redirects")
}

/// The live web as a guest sees it: robots.txt first, one request to a site at a time, with pauses.
struct Guest {
    web: Box<dyn Fetch>,
    manners: Mutex<Manners>,
    /// Who wants pages of a site stands in line: its rules are asked for once, and its pages come in the order in which
    /// they were wanted.
    lines: Mutex<HashMap<SiteId, Arc<tokio::sync::Mutex<()>>>>,
    under_way: Semaphore,
}

struct Manners {
    hosts: Hosts,
    robots: RobotsCache,
}

impl Guest {
    fn new(web: Box<dyn Fetch>, politeness: Politeness) -> Guest {
        let manners =
            Manners { hosts: Hosts::new(politeness), robots: RobotsCache::new(AGENT, ROBOTS_BYTES) };
        Guest {
            web,
            manners: Mutex::new(manners),
            lines: Mutex::default(),
            under_way: Semaphore::new(WORKERS),
        }
    }

    async fn page(&self, url: &CanonicalUrl) -> anyhow::Result<Response> {
        let line = lock(&self.lines).entry(url.site()).or_default().clone();
        let _in_line = line.lock().await;
        let rules = self.rules(url).await;
        match rules.verdict(url) {
            RobotsVerdict::Allowed => {}
            RobotsVerdict::Forbidden { rule } => bail!("its robots.txt forbids it: {rule}"),
            RobotsVerdict::NotNow { .. } => match rules.trouble() {
                Some(trouble) => bail!("its robots.txt cannot be read: {}", trouble.detail()),
                None => bail!("its robots.txt cannot be read"),
            },
        }
        let (flight, answer, took) = self.send(url, rules.crawl_delay()).await?;
        self.end(flight, &answer, took);
        answer.map_err(|error| anyhow!(error.detail))
    }

    /// What a site lets us do.
    async fn rules(&self, url: &CanonicalUrl) -> RobotsPolicy {
        let mut fetch = match lock(&self.manners).robots.look(url, now()) {
            RobotsLook::Known(policy) => return policy,
            RobotsLook::Ask(fetch) => fetch,
        };
        loop {
            let (flight, answer) = match self.send(fetch.url(), None).await {
                Ok((flight, answer, took)) => (Some((flight, took)), answer),
                Err(refusal) => (None, Err(refusal)),
            };
            let step = lock(&self.manners).robots.answered(fetch, answer.as_ref(), now());
            let policy = match &step {
                RobotsStep::Done(policy) => Some(policy),
                RobotsStep::Fetch(_) => None,
            };
            if let Some((flight, took)) = flight {
                let crawl_delay = policy.and_then(RobotsPolicy::crawl_delay);
                self.end(flight.with_crawl_delay(crawl_delay), &answer, took);
            }
            match step {
                RobotsStep::Done(policy) => return policy,
                RobotsStep::Fetch(next) => fetch = next,
            }
        }
    }

    /// Makes a request when it is its turn. An error is a site that is not asked; [`Guest::end`] takes the flight.
    async fn send(
        &self,
        url: &CanonicalUrl,
        crawl_delay: Option<Duration>,
    ) -> Result<(Flight, Result<Response, FetchError>, Duration), FetchError> {
        let ip = self.web.addresses(url).await?.first().copied();
        let flight = self.turn(url, ip, crawl_delay).await?;
        let _place = self.under_way.acquire().await;
        let began = Instant::now();
        let answer = self.web.fetch(&Request::get(url.clone()).at(ip)).await;
        Ok((flight, answer, began.elapsed()))
    }

    fn end(&self, flight: Flight, answer: &Result<Response, FetchError>, took: Duration) {
        let says = HostAnswer::of(answer.as_ref(), now());
        lock(&self.manners).hosts.finished(flight, says, took, now());
    }

    /// Waits until a site may be asked.
    async fn turn(
        &self,
        url: &CanonicalUrl,
        ip: Option<IpAddr>,
        crawl_delay: Option<Duration>,
    ) -> Result<Flight, FetchError> {
        let refused = |detail: &str| {
            Err(FetchError { url: url.clone(), kind: FailureKind::Connect, detail: detail.to_owned() })
        };
        loop {
            let now = now();
            let turn = {
                let mut manners = lock(&self.manners);
                let turn = manners.hosts.may_start(url.site(), ip, now);
                if turn == Turn::Now {
                    return Ok(manners.hosts.started(url.site(), ip, crawl_delay));
                }
                turn
            };
            let wait = match turn {
                Turn::NotBefore(due) if due.since(now) > PATIENCE => {
                    return refused("the site wants to be left alone for a while");
                }
                Turn::NotBefore(due) => due.since(now),
                Turn::GivenUp => return refused("the site failed so often that it is left alone"),
                Turn::Now | Turn::InFlight => LOOK_AGAIN,
            };
            tokio::time::sleep(wait).await;
        }
    }
}

/// When there is nothing that has to come by then.
fn far_away() -> Instant {
    Instant::now() + Duration::from_secs(365 * 24 * 3600)
}

fn now() -> Timestamp {
    SystemClock.now()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
