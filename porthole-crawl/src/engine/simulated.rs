//! Drives both halves in simulated time: a request takes as long as its answer says it took, pauses pass at once, and
//! every run is the same. Experiments use this to compare strategies under politeness.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::FutureExt;
use porthole_types::{CanonicalUrl, Clock, FailureKind, ManualClock, Timestamp};

use super::crawl::{CrawlError, Observer, Stop};
use super::network::{Action, JobId, Network};
use super::single::{Done, aborted, pump};
use super::writer::Writer;
use crate::{Fetch, FetchError, Request, Response};

/// Duration of a request that times out.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Duration of a request that fails for another reason.
const FAILURE: Duration = Duration::from_millis(100);

/// Runs a crawl until it ends. The web must answer at once.
pub(super) fn drive(
    network: &mut Network,
    writer: &mut Writer<'_>,
    web: &dyn Fetch,
    clock: &ManualClock,
    observer: &mut dyn Observer,
) -> Result<Stop, CrawlError> {
    let mut requests = SimulatedRequests::default();
    loop {
        let now = clock.now();
        pump(network, writer, |action| requests.begin(action, web, now))?;
        let is_due = writer.is_commit_due();
        if let Some(stop) = writer.turn(observer)? {
            return Ok(stop);
        }
        if is_due || !writer.outbox.is_empty() {
            continue;
        }
        let events = [requests.next_due(), network.next_due(now), writer.commit_due()];
        let Some(next) = events.into_iter().flatten().min().or_else(|| writer.store.next_due()) else {
            if writer.commit(observer)?.is_break() || observer.waiting().is_break() {
                return Ok(Stop::Asked);
            }
            continue;
        };
        clock.advance(next.since(now));
        requests.finish(clock.now(), network);
        if observer.waiting().is_break() {
            return Ok(Stop::Asked);
        }
    }
}

/// Requests in flight with their answers, ordered by completion time.
#[derive(Default)]
struct SimulatedRequests {
    under_way: BTreeMap<(Timestamp, u64), (CanonicalUrl, Done)>,
    begun: u64,
}

impl SimulatedRequests {
    fn begin(&mut self, action: Action, web: &dyn Fetch, now: Timestamp) {
        let (due, url, done) = match action {
            Action::Fetch(job, url, address) => {
                let request = Request::get(url).at(address);
                let answer =
                    web.fetch(&request).now_or_never().unwrap_or_else(|| Err(not_immediate(&request.url)));
                (now.after(duration(&answer)), request.url, Done::Answer(job, answer))
            }
            Action::Locate(site, url) => {
                let addresses =
                    web.addresses(&url).now_or_never().unwrap_or_else(|| Err(not_immediate(&url)));
                (now, url, Done::Addresses(site, addresses))
            }
            Action::Abort(job) => return self.abort(job, now),
        };
        self.begun += 1;
        self.under_way.insert((due, self.begun), (url, done));
    }

    fn abort(&mut self, job: JobId, now: Timestamp) {
        let is_job = |done: &Done| matches!(done, Done::Answer(other, _) if *other == job);
        let found = self.under_way.iter().find(|(_, (_, done))| is_job(done)).map(|(&at, _)| at);
        if let Some(at) = found
            && let Some((url, _)) = self.under_way.remove(&at)
        {
            let done = Done::Answer(job, Err(aborted(url.clone())));
            self.under_way.insert((now, at.1), (url, done));
        }
    }

    /// Completion time of the next answer.
    fn next_due(&self) -> Option<Timestamp> {
        self.under_way.first_key_value().map(|(&(due, _), _)| due)
    }

    /// Delivers the answers that are complete.
    fn finish(&mut self, now: Timestamp, network: &mut Network) {
        while self.next_due().is_some_and(|due| due <= now)
            && let Some((_, (_, done))) = self.under_way.pop_first()
        {
            done.deliver(network, now);
        }
    }
}

fn duration(answer: &Result<Response, FetchError>) -> Duration {
    match answer {
        Ok(response) => response.took.max(Duration::from_millis(1)),
        Err(error) if error.kind == FailureKind::Timeout => TIMEOUT,
        Err(_) => FAILURE,
    }
}

fn not_immediate(url: &CanonicalUrl) -> FetchError {
    let detail = "this web does not answer at once and cannot be simulated".to_owned();
    FetchError { url: url.clone(), kind: FailureKind::Protocol, detail }
}
