//! A small web without sockets, on tokio's paused time: only waiting takes time, so an hour passes at once and a busy
//! machine changes nothing. Its hosts log all requests, and tests check only this log.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use porthole_crawl::{AddressesFuture, Fetch, FetchError, FetchFuture, Request, Response};
use porthole_types::{CanonicalUrl, Clock, FailureKind, Headers, Timestamp};
use tokio::time::{Instant, sleep};

use crate::web::{Answer, AnswerFn, Host};

/// The clock that tokio's timers follow.
pub(crate) struct SimulatedClock(Instant);

impl SimulatedClock {
    pub(crate) fn start() -> Self {
        SimulatedClock(Instant::now())
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_000_000_000_000).after(self.0.elapsed())
    }
}

/// Minimum time of an answer, and the client's timeout.
const LATENCY: Duration = Duration::from_millis(7);
pub(crate) const PATIENCE: Duration = Duration::from_millis(800);

const PORT: u16 = 8080;

/// One request, as its server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) host: String,
    pub(crate) address: IpAddr,
    pub(crate) path: String,
    pub(crate) arrived: Instant,
    /// `None` while it is in flight.
    pub(crate) answered: Option<Instant>,
    pub(crate) retry_after: Option<Duration>,
}

impl Asked {
    pub(crate) fn took(&self) -> Duration {
        self.answered.map_or(Duration::ZERO, |answered| answered - self.arrived)
    }
}

pub(crate) struct SimulatedWeb {
    hosts: HashMap<String, (IpAddr, AnswerFn)>,
    log: Mutex<Vec<Asked>>,
}

impl SimulatedWeb {
    pub(crate) fn new(hosts: Vec<Host>) -> Self {
        let hosts = hosts.into_iter().map(|host| {
            // Each in its own address block, because requests per block are limited.
            let address = IpAddr::from([127, host.address, 0, 1]);
            (host.name, (address, host.answer_fn))
        });
        SimulatedWeb { hosts: hosts.collect(), log: Mutex::default() }
    }

    pub(crate) fn url(&self, host: &str, path: &str) -> CanonicalUrl {
        CanonicalUrl::parse(&format!("http://{host}:{PORT}{path}")).unwrap()
    }

    pub(crate) fn log(&self) -> Vec<Asked> {
        self.log.lock().unwrap().clone()
    }

    async fn answer(&self, request: &Request) -> Option<Answer> {
        let (host, path) = (request.url.host().to_owned(), request.url.path_and_query().to_owned());
        let (address, answer_fn) = &self.hosts[&host];
        assert_eq!(request.address, Some(*address), "requests must go to the address that politeness counts");
        let answer = answer_fn(&path, PORT);
        let at = {
            let mut log = self.log.lock().unwrap();
            let (arrived, retry_after) = (Instant::now(), answer.retry_after);
            log.push(Asked { host, address: *address, path, arrived, answered: None, retry_after });
            log.len() - 1
        };
        sleep(if answer.is_silent { PATIENCE } else { LATENCY + answer.wait }).await;
        self.log.lock().unwrap()[at].answered = Some(Instant::now());
        (!answer.is_silent).then_some(answer)
    }
}

impl Fetch for SimulatedWeb {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        Box::pin(async move {
            let started = Instant::now();
            let Some(answer) = self.answer(request).await else {
                let (url, detail) = (request.url.clone(), "no answer".to_owned());
                return Err(FetchError { url, kind: FailureKind::Timeout, detail });
            };
            let headers: Headers = answer.headers.lines().filter_map(|line| line.split_once(": ")).collect();
            let took = started.elapsed();
            Ok(Response { took, ..Response::new(answer.status, headers, answer.body) })
        })
    }

    fn addresses<'a>(&'a self, url: &'a CanonicalUrl) -> AddressesFuture<'a> {
        let found = self.hosts.get(url.host()).map(|(address, _)| vec![*address]);
        let (url, detail) = (url.clone(), "no such name".to_owned());
        let found = found.ok_or(FetchError { url, kind: FailureKind::Dns, detail });
        Box::pin(std::future::ready(found))
    }
}
