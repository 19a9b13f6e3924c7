//! Drives both halves in one task. Concurrent requests complete in the order in which the web answers. With one
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
use crate::{Fetch, FetchError, Request, Response};

/// Maximum wait before the halves are polled again.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs a crawl until it ends.
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
            // A replay never waits, and other tasks may share the thread.
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

/// Exchanges messages until both outboxes are empty, and starts requests.
pub(super) fn pump(
    network: &mut Network,
    writer: &mut Writer<'_>,
    mut begin: impl FnMut(Action),
) -> Result<(), CrawlError> {
    loop {
        let now = writer.clock.now();
        for message in std::mem::take(&mut writer.outbox) {
            network.handle_message(message, now);
        }
        while writer.readers_keep_up()
            && let Some(action) = network.next(now)
        {
            begin(action);
        }
        if network.outbox.is_empty() {
            return Ok(());
        }
        for message in std::mem::take(&mut network.outbox) {
            writer.handle_message(message)?;
        }
    }
}

/// An event that the driver waits for.
enum DriverEvent {
    Read(WasRead),
    Request(Done),
}

/// Returns the next event. Waits at most [`POLL_INTERVAL`] in a polite crawl, and without a limit in a replay.
async fn wait(
    network: &Network,
    writer: &mut Writer<'_>,
    requests: &mut Requests<'_>,
) -> Option<DriverEvent> {
    let is_idle = requests.under_way.is_empty() && writer.reading() == 0;
    let due = network.next_due(writer.clock.now()).map_or(POLL_INTERVAL, |due| due.since(writer.clock.now()));
    let moment = due.clamp(Duration::from_millis(1), POLL_INTERVAL);
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

/// Requests and lookups in flight.
#[derive(Default)]
pub(super) struct Requests<'w> {
    pub(super) under_way: FuturesUnordered<Pin<Box<dyn Future<Output = Done> + Send + 'w>>>,
    aborts: HashMap<JobId, AbortHandle>,
}

/// The result of a request or lookup.
pub(super) enum Done {
    Answer(JobId, Result<Response, FetchError>),
    Addresses(SiteId, Result<Vec<IpAddr>, FetchError>),
}

impl<'w> Requests<'w> {
    pub(super) fn begin(&mut self, action: Action, web: &'w dyn Fetch) {
        match action {
            Action::Fetch(job, url, address) => {
                let (handle, registration) = AbortHandle::new_pair();
                self.aborts.insert(job, handle);
                let fetch = fetch(web, url.clone(), address);
                let answer = Abortable::new(fetch, registration)
                    .map(move |answer| Done::Answer(job, answer.unwrap_or_else(|_| Err(aborted(url)))));
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
        done.deliver(network, clock.now());
    }
}

impl Done {
    pub(super) fn deliver(self, network: &mut Network, now: Timestamp) {
        match self {
            Done::Answer(job, answer) => network.answered(job, answer, now),
            Done::Addresses(site, found) => network.located(site, found, now),
        }
    }
}

async fn fetch(web: &dyn Fetch, url: CanonicalUrl, address: Option<IpAddr>) -> Result<Response, FetchError> {
    web.fetch(&Request::get(url).at(address)).await
}

pub(super) fn aborted(url: CanonicalUrl) -> FetchError {
    let detail = "aborted because too many requests were slow".to_owned();
    FetchError { url, kind: FailureKind::Timeout, detail }
}

impl Writer<'_> {
    /// Handles the result of a reader.
    pub(super) fn on_read(&mut self, read: WasRead) -> Result<(), CrawlError> {
        match read {
            Ok(read) => self.on_page_read(*read),
            Err(not_read) => self.on_not_read(*not_read),
        }
    }

    /// Whether the readers keep up with the answers.
    pub(super) fn readers_keep_up(&self) -> bool {
        self.run.readers.as_ref().is_none_or(Readers::keeps_up)
    }
}
