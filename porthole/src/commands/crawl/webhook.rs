//! `[events] webhook`: posts the events of a crawl to a program of the user, in batches, in order. The crawl never waits for
//! it: what a receiver does not take in time is dropped and counted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use porthole_crawl::{Fetch, HttpFetch, HttpSettings, Request};
use porthole_types::{CanonicalUrl, FailureKind};
use serde::Serialize;
use tokio::runtime::Runtime;

use crate::output::misuse;
use crate::settings::WebhookSettings;

/// What became of the events.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct WebhookReport {
    pub(super) delivered: u64,
    /// Events that were not taken: the receiver failed, or was too slow.
    pub(super) dropped: u64,
    /// Why the last batch was dropped.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) error: String,
}

/// When batches are posted.
#[derive(Clone, Copy, Debug)]
pub(super) struct WebhookPace {
    /// Maximum number of events in a batch.
    pub(super) batch: usize,
    /// How long an event waits for others.
    pub(super) interval: Duration,
    /// Maximum number of attempts to post a batch.
    pub(super) attempts: u32,
    /// Wait after the first attempt; doubled after each.
    pub(super) backoff: Duration,
}

impl Default for WebhookPace {
    fn default() -> Self {
        let (interval, backoff) = (Duration::from_secs(1), Duration::from_secs(1));
        WebhookPace { batch: 100, interval, attempts: 4, backoff }
    }
}

/// Posts events. Lives on a thread of its own.
pub(super) struct Webhook {
    web: HttpFetch,
    url: CanonicalUrl,
    token: Option<String>,
    pace: WebhookPace,
    runtime: Runtime,
    /// Number of the next batch, from 1. One that is posted again keeps its number.
    number: u64,
    /// The last batch was dropped: the next ones get one attempt each.
    is_down: bool,
    report: Arc<Mutex<WebhookReport>>,
    /// Set when the crawl has ended: no more retries.
    end: Arc<AtomicBool>,
}

/// Why a batch was not taken.
struct PostFailure {
    why: String,
    /// The same request may succeed later.
    is_passing: bool,
}

impl Webhook {
    pub(super) fn new(settings: &WebhookSettings, pace: WebhookPace) -> anyhow::Result<Webhook> {
        let http = HttpSettings {
            connect_timeout: Duration::from_secs(5),
            first_byte_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(5),
            ..settings.http.clone()
        };
        let web = HttpFetch::new(http).map_err(|error| misuse(format!("[events] webhook: {error}")))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Webhook {
            web,
            url: settings.url.clone(),
            token: settings.token.clone(),
            pace,
            runtime: runtime.context("cannot start a thread")?,
            number: 1,
            is_down: false,
            report: Arc::default(),
            end: Arc::default(),
        })
    }

    pub(super) fn report(&self) -> Arc<Mutex<WebhookReport>> {
        self.report.clone()
    }

    /// Becomes true at the end of the crawl.
    pub(super) fn end(&self) -> Arc<AtomicBool> {
        self.end.clone()
    }

    /// Posts lines of JSON until the sender is gone.
    pub(super) fn post_lines(&mut self, lines: &Receiver<String>) {
        let mut is_open = true;
        while is_open {
            let Ok(first) = lines.recv() else { return };
            let mut batch = vec![first];
            let until = Instant::now() + self.pace.interval;
            while batch.len() < self.pace.batch {
                match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(line) => batch.push(line),
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => {
                        is_open = false;
                        break;
                    }
                }
            }
            self.post_batch(&batch);
        }
    }

    /// Posts a batch, again if need be.
    fn post_batch(&mut self, batch: &[String]) {
        // The lines are JSON already.
        let body = format!("{{\"batch\":{},\"events\":[{}]}}", self.number, batch.join(","));
        self.number += 1;
        let mut request = Request::post(self.url.clone(), body);
        if let Some(token) = &self.token {
            request.headers.push("authorization", &format!("Bearer {token}"));
        }
        let attempts = if self.is_down { 1 } else { self.pace.attempts.max(1) };
        let mut result = Ok(());
        for attempt in 0..attempts {
            result = self.post(&request);
            match &result {
                Err(failure) if failure.is_passing && attempt + 1 < attempts => {
                    if !self.rested(self.pace.backoff * 2_u32.saturating_pow(attempt)) {
                        break;
                    }
                }
                _ => break,
            }
        }
        self.is_down = result.is_err();
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(()) => report.delivered += batch.len() as u64,
            Err(failure) => {
                report.dropped += batch.len() as u64;
                report.error = failure.why;
            }
        }
    }

    fn post(&self, request: &Request) -> Result<(), PostFailure> {
        let url = &self.url;
        match self.runtime.block_on(self.web.fetch(request)) {
            Ok(response) => match response.status {
                200..300 => Ok(()),
                300..400 => Err(PostFailure {
                    why: format!("{url} redirects, which is not followed; name the target as `webhook`"),
                    is_passing: false,
                }),
                status => Err(PostFailure {
                    why: format!("{url} answers with status {status}"),
                    is_passing: status >= 500 || matches!(status, 408 | 425 | 429),
                }),
            },
            Err(error) if error.kind == FailureKind::Scope => Err(PostFailure {
                why: format!(
                    "{url} is not on the open web, or there is no contact; `allow` under [events] in porthole.toml allows \
                     addresses that are not public"
                ),
                is_passing: false,
            }),
            Err(error) => Err(PostFailure { why: error.to_string(), is_passing: true }),
        }
    }

    /// Waits; false if the crawl has ended meanwhile.
    fn rested(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let is_over = || self.end.load(Ordering::Relaxed);
        while Instant::now() < until && !is_over() {
            std::thread::sleep(
                until.saturating_duration_since(Instant::now()).min(Duration::from_millis(50)),
            );
        }
        !is_over()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::{Sender, channel, sync_channel};
    use std::thread;

    use serde_json::Value as Json;

    use super::*;
    use crate::settings::RawSettings;

    /// A receiver on this machine. It answers each request as it is told, and passes on head and body.
    fn receiver(
        answer: impl Fn(usize) -> Option<&'static str> + Send + 'static,
    ) -> (String, Receiver<(String, String)>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let (got, bodies) = channel();
        // Ends with the test.
        thread::spawn(move || {
            let mut open = Vec::new();
            for (number, stream) in listener.incoming().flatten().enumerate() {
                match answer(number) {
                    Some(answer) => serve(&stream, answer, &got),
                    // It neither reads nor answers.
                    None => open.push(stream),
                }
            }
        });
        (url, bodies)
    }

    fn serve(mut stream: &TcpStream, answer: &str, got: &Sender<(String, String)>) {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.and_then(|length| length.parse().ok()).unwrap_or(0)];
        let _ = reader.read_exact(&mut body);
        let _ = got.send((head, String::from_utf8(body).unwrap()));
        let _ = write!(stream, "HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }

    const PACE: WebhookPace = WebhookPace {
        batch: 3,
        interval: Duration::from_millis(20),
        attempts: 3,
        backoff: Duration::from_millis(5),
    };

    fn webhook(url: &str, more: &str) -> Webhook {
        let text = format!("[events]\nwebhook = \"{url}\"\n{more}");
        let settings = RawSettings::parse(&text).unwrap();
        let settings = settings.events.ready(&settings.fetch).unwrap().unwrap();
        Webhook::new(&settings, PACE).unwrap()
    }

    /// Posts events with these numbers.
    fn post(webhook: &mut Webhook, numbers: std::ops::Range<u64>) -> WebhookReport {
        let (sender, lines) = sync_channel(100);
        numbers.for_each(|number| sender.send(format!("{{\"seq\":{number}}}")).unwrap());
        drop(sender);
        webhook.post_lines(&lines);
        webhook.report.lock().unwrap().clone()
    }

    /// Batch numbers and event numbers that arrived.
    fn arrived(bodies: &Receiver<(String, String)>) -> Vec<(u64, Vec<u64>)> {
        let batch = |(_, body): (String, String)| {
            let json: Json = serde_json::from_str(&body).unwrap();
            let events =
                json["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap());
            (json["batch"].as_u64().unwrap(), events.collect())
        };
        bodies.try_iter().map(batch).collect()
    }

    const ALLOWED: &str = "allow = \"loopback\"\n";

    #[test]
    fn events_arrive_in_order_and_a_batch_that_failed_is_posted_again() {
        let (url, bodies) = receiver(|number| Some(if number == 1 { "503 Busy" } else { "204 No Content" }));
        let mut webhook = webhook(&url, &format!("{ALLOWED}token = \"s3cret\"\n"));
        let report = post(&mut webhook, 0..7);
        assert_eq!(report, WebhookReport { delivered: 7, ..WebhookReport::default() });
        let (head, first) = bodies.recv().unwrap();
        assert!(head.contains("authorization: Bearer s3cret\r\n"), "{head}");
        assert_eq!(first, r#"{"batch":1,"events":[{"seq":0},{"seq":1},{"seq":2}]}"#);
        assert_eq!(arrived(&bodies), [(2, vec![3, 4, 5]), (2, vec![3, 4, 5]), (3, vec![6])]);
    }

    #[test]
    fn what_a_receiver_refuses_is_dropped_and_counted() {
        // Server errors are tried again, until one batch was dropped; then each gets one attempt.
        let (url, bodies) = receiver(|number| Some(if number < 4 { "500 Oh" } else { "200 OK" }));
        let report = post(&mut webhook(&url, ALLOWED), 0..9);
        assert_eq!((report.delivered, report.dropped), (3, 6), "{report:?}");
        assert!(report.error.contains("status 500"), "{report:?}");
        assert_eq!(arrived(&bodies).iter().map(|(batch, _)| *batch).collect::<Vec<_>>(), [1, 1, 1, 2, 3]);
        // A refusal is not tried again.
        let (url, bodies) = receiver(|_| Some("401 Unauthorized"));
        let report = post(&mut webhook(&url, ALLOWED), 0..3);
        assert_eq!((report.dropped, arrived(&bodies).len()), (3, 1), "{report:?}");
        // Nobody listens.
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let report = post(&mut webhook(&format!("http://{closed}/"), ALLOWED), 0..3);
        assert!(report.dropped == 3 && !report.error.is_empty(), "{report:?}");
    }

    #[test]
    fn nothing_leads_to_addresses_that_are_not_allowed() {
        let (inside, reached) = receiver(|_| Some("200 OK"));
        // Its own address: allowed neither by default nor by what may be crawled.
        for more in ["", "allow = \"10.0.0.0/8\"\n", "[fetch]\nloopback = true\n"] {
            let report = post(&mut webhook(&inside, more), 0..2);
            assert!(
                report.dropped == 2 && report.error.contains("`allow` under [events]"),
                "{more}: {report:?}"
            );
        }
        // A redirect, also to an allowed address.
        let target: &'static str = Box::leak(format!("302 Found\r\nLocation: {inside}").into_boxed_str());
        let (url, bodies) = receiver(move |_| Some(target));
        let report = post(&mut webhook(&url, ALLOWED), 0..2);
        assert!(report.dropped == 2 && report.error.contains("redirects"), "{report:?}");
        assert_eq!((arrived(&bodies).len(), arrived(&reached).len()), (1, 0));
    }

    #[test]
    fn a_name_that_resolves_to_a_private_address_is_not_connected_to() {
        let (url, reached) = receiver(|_| Some("200 OK"));
        let port = url.rsplit(':').next().unwrap();
        let report = post(&mut webhook(&format!("http://localhost:{port}"), ""), 0..2);
        assert!(report.dropped == 2 && report.error.contains("`allow`"), "{report:?}");
        assert_eq!(arrived(&reached).len(), 0);
    }
}
