//! Drives both halves in one task. What is fetched at once comes back in the order in which the web answers; with one
//! worker, or a web that answers at once, every run is the same.

use std::collections::HashMap;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::{AbortHandle, Abortable, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use porthole_types::{CanonicalUrl, FailureKind, SiteId, Timestamp};

use super::crawl::{CrawlError, Observer, Stop};
use super::network::{Action, JobId, Network};
use super::writer::Writer;
use crate::reading::{Readers, WasRead};
use crate::{Fetch, FetchError, Response};

/// How long is waited before the halves look round again.
const MOMENT: Duration = Duration::from_millis(50);

/// Runs a crawl until it is over.
pub(super) async fn drive(
    network: &mut Network,
    writer: &mut Writer<'_>,
    web: &dyn Fetch,
    observer: &mut dyn Observer,
) -> Result<Stop, CrawlError> {
    let mut requests = Requests::default();
    loop {
        pump(network, writer, |action| requests.begin(action, web))?;
        let is_due = writer.is_commit_due();
        if let Some(stop) = writer.turn(observer)? {
            return Ok(stop);
        }
        if is_due || !writer.outbox.is_empty() {
            // A replay never waits, and others may share our thread.
            tokio::task::yield_now().await;
            continue;
        }
        match wait(network, writer, &mut requests).await {
            Some(DriverEvent::Read(read)) => writer.on_read(read)?,
            Some(DriverEvent::Request(done)) => requests.finish(done, network, &*writer.clock),
            None => {
                if writer.commit(observer)?.is_break() || observer.waiting().is_break() {
                    return Ok(Stop::Asked);
                }
            }
        }
    }
}

/// Passes messages on until nobody has anything to say, and begins requests.
pub(super) fn pump(
    network: &mut Network,
    writer: &mut Writer<'_>,
    mut begin: impl FnMut(Action),
) -> Result<(), CrawlError> {
    loop {
        let now = writer.clock.now();
        for message in std::mem::take(&mut writer.outbox) {
            network.hear(message, now);
        }
        while writer.run_keeps_up()
            && let Some(action) = network.next(now)
        {
            begin(action);
        }
        if network.outbox.is_empty() {
            return Ok(());
        }
        for message in std::mem::take(&mut network.outbox) {
            writer.hear(message)?;
        }
    }
}

/// What is waited for.
enum DriverEvent {
    Read(WasRead),
    Request(Done),
}

/// What comes next, if it comes within a moment; where nobody has to be waited for, however long it takes.
async fn wait(
    network: &Network,
    writer: &mut Writer<'_>,
    requests: &mut Requests<'_>,
) -> Option<DriverEvent> {
    let is_idle = requests.under_way.is_empty() && writer.reading() == 0;
    let due = network.next_due(writer.clock.now()).map_or(MOMENT, |due| due.since(writer.clock.now()));
    let moment = due.clamp(Duration::from_millis(1), MOMENT);
    match (is_idle, network.is_polite()) {
        (true, true) => {
            tokio::time::sleep(moment).await;
            None
        }
        (true, false) => None,
        (false, true) => tokio::time::timeout(moment, next_event(writer, requests)).await.ok(),
        (false, false) => Some(next_event(writer, requests).await),
    }
}

async fn next_event(writer: &mut Writer<'_>, requests: &mut Requests<'_>) -> DriverEvent {
    poll_fn(|context| {
        if let Poll::Ready(Some(done)) = requests.under_way.poll_next_unpin(context) {
            return Poll::Ready(DriverEvent::Request(done));
        }
        match writer.readers() {
            Some(readers) => readers.poll_next(context).map(DriverEvent::Read),
            None => Poll::Pending,
        }
    })
    .await
}

/// Requests and look-ups under way.
#[derive(Default)]
pub(super) struct Requests<'w> {
    pub(super) under_way: FuturesUnordered<Pin<Box<dyn Future<Output = Done> + Send + 'w>>>,
    aborts: HashMap<JobId, AbortHandle>,
}

/// What a request or look-up brought.
pub(super) enum Done {
    Answer(JobId, Result<Response, FetchError>),
    Addresses(SiteId, Result<Vec<IpAddr>, FetchError>),
}

impl<'w> Requests<'w> {
    pub(super) fn begin(&mut self, action: Action, web: &'w dyn Fetch) {
        match action {
            Action::Fetch(job, request) => {
                let (handle, registration) = AbortHandle::new_pair();
                self.aborts.insert(job, handle);
                let url = request.url.clone();
                let answer = Abortable::new(async move { web.fetch(&request).await }, registration)
                    .map(move |answer| Done::Answer(job, answer.unwrap_or_else(|_| Err(given_up(url)))));
                self.under_way.push(Box::pin(answer));
            }
            Action::Locate(site, url) => {
                self.under_way
                    .push(Box::pin(async move { Done::Addresses(site, web.addresses(&url).await) }));
            }
            Action::Abort(job) => {
                if let Some(handle) = self.aborts.get(&job) {
                    handle.abort();
                }
            }
        }
    }

    pub(super) fn finish(&mut self, done: Done, network: &mut Network, clock: &dyn porthole_types::Clock) {
        if let Done::Answer(job, _) = &done {
            self.aborts.remove(job);
        }
        done.hand_over(network, clock.now());
    }
}

impl Done {
    pub(super) fn hand_over(self, network: &mut Network, now: Timestamp) {
        match self {
            Done::Answer(job, answer) => network.answered(job, answer, now),
            Done::Addresses(site, found) => network.located(site, found, now),
        }
    }
}

pub(super) fn given_up(url: CanonicalUrl) -> FetchError {
    let detail = "too slow, while many others were as slow".to_owned();
    FetchError { url, kind: FailureKind::Timeout, detail }
}

impl Writer<'_> {
    /// Takes what a reader has read.
    pub(super) fn on_read(&mut self, read: WasRead) -> Result<(), CrawlError> {
        match read {
            Ok(read) => self.on_page_read(*read),
            Err(not_read) => self.on_not_read(*not_read),
        }
    }

    /// Whether reading keeps up with what comes.
    pub(super) fn run_keeps_up(&self) -> bool {
        self.run.readers.as_ref().is_none_or(Readers::keeps_up)
    }
}
