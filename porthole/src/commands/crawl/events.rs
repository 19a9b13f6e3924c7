//! `--events` and `[events] webhook`: one line of JSON per event, to a file, standard output or a webhook, for programs that
//! watch a crawl. Lines are written on a thread of their own: who reads too slowly misses events and is told how many, and
//! does not slow the crawl.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use porthole_crawl::Seen;
use porthole_topic::Taxonomy;
use porthole_types::{Event, Failure, Outcome};
use serde::Serialize;

use super::webhook::{Webhook, WebhookPace, WebhookReport};
use crate::settings::WebhookSettings;
use crate::terminal::escaped_json;

/// Lines that may wait to be written.
const WAITING: usize = 16_384;

/// How long a line waits in the buffer.
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);

/// Kind of the event that ends a run.
pub(super) const STOPPED: &str = "stopped";

/// How long the end of the crawl waits for a slow reader, and for a slow webhook.
const LAST_WAIT: Duration = Duration::from_secs(2);
const LAST_POST: Duration = Duration::from_secs(5);

/// An output of the events.
pub(super) struct Events {
    lines: SyncSender<String>,
    /// Gets a message when all lines are written.
    written: Receiver<()>,
    /// Events that found no room since the last one that did.
    missed: u64,
    /// Kinds of events that are wanted; empty for all.
    kinds: Vec<String>,
    webhook: Option<PostedEvents>,
}

/// What is known of a webhook's events.
struct PostedEvents {
    /// Number of lines that were handed over.
    sent: u64,
    /// Number of events that found no room.
    lost: u64,
    report: Arc<Mutex<WebhookReport>>,
    end: Arc<AtomicBool>,
}

/// One fetch.
#[derive(Serialize)]
struct FetchEvent<'a> {
    event: &'static str,
    at: i64,
    seq: u64,
    url: &'a str,
    outcome: &'static str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    relevance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    title: &'a str,
    bytes: u64,
    links: usize,
    took_ms: u128,
    /// In a maintained crawl: what the visit has shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
}

/// A row of the table `event`: a command, a distillation, an answer of a kept query.
#[derive(Serialize)]
struct RecordedEvent<'a> {
    event: &'a str,
    at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    /// Query and row of an answer.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    answer: Option<serde_json::Map<String, serde_json::Value>>,
}

/// The crawl is held up, or goes on.
#[derive(Serialize)]
struct HeldUpEvent<'a> {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
}

/// The reader was too slow.
#[derive(Serialize)]
struct MissedEvent {
    event: &'static str,
    events: u64,
}

/// The end of a run, the last event.
#[derive(Serialize)]
pub(super) struct StoppedEvent<'a> {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<i64>,
    /// Why, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    /// Why, as a word for programs.
    stop: &'a str,
    fetches: u64,
    pages: u64,
}

impl<'a> StoppedEvent<'a> {
    /// The event of the tables, if there is one, with the figures of the run.
    pub(super) fn new(recorded: Option<&'a Event>, stop: &'a str, fetches: u64, pages: u64) -> Self {
        let (at, detail) = (recorded.map(|event| event.at.0), recorded.map(|event| event.detail.as_str()));
        StoppedEvent { event: STOPPED, at, detail, stop, fetches, pages }
    }
}

impl Events {
    /// Appends events to a file, or writes them to standard output.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let out: Box<dyn Write + Send> = if path == Path::new("-") {
            Box::new(io::stdout())
        } else {
            let file = OpenOptions::new().create(true).append(true).open(path);
            Box::new(file.with_context(|| format!("--events {}", path.display()))?)
        };
        Events::to(out, WAITING)
    }

    /// Posts events to a webhook.
    pub(super) fn posted(settings: &WebhookSettings) -> anyhow::Result<Self> {
        Events::to_webhook(Webhook::new(settings, WebhookPace::default())?, settings, WAITING)
    }

    fn to_webhook(mut webhook: Webhook, settings: &WebhookSettings, waiting: usize) -> anyhow::Result<Self> {
        let (report, end) = (webhook.report(), webhook.end());
        let posted = PostedEvents { sent: 0, lost: 0, report, end };
        let events = Events::on_thread(waiting, move |queue| webhook.post_lines(queue))?;
        Ok(Events { kinds: settings.kinds.clone(), webhook: Some(posted), ..events })
    }

    fn to(out: Box<dyn Write + Send>, waiting: usize) -> anyhow::Result<Self> {
        Events::on_thread(waiting, move |queue| write_lines(BufWriter::new(out), queue))
    }

    fn on_thread(
        waiting: usize,
        write: impl FnOnce(&Receiver<String>) + Send + 'static,
    ) -> anyhow::Result<Self> {
        let (lines, queue) = sync_channel::<String>(waiting);
        let (done, written) = sync_channel(1);
        let write = move || {
            write(&queue);
            let _ = done.try_send(());
        };
        thread::Builder::new().name("events".to_owned()).spawn(write).context("cannot start a thread")?;
        Ok(Events { lines, written, missed: 0, kinds: Vec::new(), webhook: None })
    }

    /// Writes the event of a fetch. Write errors, such as a closed pipe, do not end the crawl.
    pub(super) fn fetched(&mut self, seen: &Seen<'_>, tree: &Taxonomy) {
        let (outcome, failure) = outcome(&seen.result.outcome);
        let judgment = seen.result.judgment;
        self.write(
            "fetch",
            &FetchEvent {
                event: "fetch",
                at: seen.result.at.0,
                seq: seen.result.seq,
                url: seen.url.as_str(),
                outcome,
                status: seen.result.status,
                relevance: judgment.map(|judgment| judgment.relevance),
                topic: judgment.map(|judgment| tree.path(judgment.best)),
                title: &seen.result.title,
                bytes: seen.result.bytes,
                links: seen.result.links.len(),
                took_ms: seen.took.as_millis(),
                change: seen.result.next_visit.map(|next| next.change.name()),
                failure: failure.map(|failure| failure.kind.name()),
                detail: failure.map(Failure::detail),
            },
        );
    }

    /// Writes a row of the table `event`.
    pub(super) fn recorded(&mut self, event: &Event) {
        let answer = if event.kind == "answer" { serde_json::from_str(&event.detail).ok() } else { None };
        let detail = answer.is_none().then_some(event.detail.as_str());
        self.write(&event.kind, &RecordedEvent { event: &event.kind, at: event.at.0, detail, answer });
    }

    /// Writes that the crawl is held up, and why, or that it goes on.
    pub(super) fn held_up(&mut self, why: Option<&str>) {
        self.write(
            "held up",
            &HeldUpEvent { event: if why.is_some() { "held up" } else { "goes on" }, detail: why },
        );
    }

    /// Writes the last event, and waits a moment until all are written. Returns what became of the events of a webhook.
    pub(super) fn ended(mut self, last: &StoppedEvent<'_>) -> Option<WebhookReport> {
        let until = Instant::now() + if self.webhook.is_some() { LAST_POST } else { LAST_WAIT };
        if let Some(posted) = &self.webhook {
            posted.end.store(true, Ordering::Relaxed);
        }
        while !self.write(STOPPED, last) && Instant::now() < until {
            self.forget_missed();
            thread::sleep(FLUSH_INTERVAL / 10);
        }
        drop(self.lines);
        let _ = self.written.recv_timeout(until.saturating_duration_since(Instant::now()));
        self.webhook.map(PostedEvents::report)
    }

    /// Hands a line to the thread that writes it. Returns false if there was no room.
    fn write(&mut self, kind: &str, event: &impl Serialize) -> bool {
        if !self.kinds.is_empty() && !self.kinds.iter().any(|wanted| wanted == kind) {
            return true;
        }
        if self.missed > 0 {
            let missed = MissedEvent { event: "missed", events: self.missed };
            if !self.send(&missed) {
                self.note_missed();
                return false;
            }
            self.missed = 0;
        }
        let is_sent = self.send(event);
        if !is_sent {
            self.note_missed();
        }
        is_sent
    }

    fn note_missed(&mut self) {
        self.missed += 1;
        if let Some(posted) = &mut self.webhook {
            posted.lost += 1;
        }
    }

    /// The last event is tried again, and was not missed yet.
    fn forget_missed(&mut self) {
        self.missed = self.missed.saturating_sub(1);
        if let Some(posted) = &mut self.webhook {
            posted.lost = posted.lost.saturating_sub(1);
        }
    }

    fn send(&mut self, event: &impl Serialize) -> bool {
        let Ok(json) = serde_json::to_string(event) else { return true };
        // Standard output may be a terminal. If the thread has ended, nobody reads.
        match self.lines.try_send(escaped_json(&json).into_owned()) {
            Err(TrySendError::Full(_)) => false,
            Ok(()) | Err(TrySendError::Disconnected(_)) => {
                if let Some(posted) = &mut self.webhook {
                    posted.sent += 1;
                }
                true
            }
        }
    }
}

impl PostedEvents {
    /// What has not been delivered by now never will.
    fn report(self) -> WebhookReport {
        let report = self.report.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let undelivered = self.sent.saturating_sub(report.delivered);
        WebhookReport { dropped: undelivered + self.lost, ..report }
    }
}

/// Writes lines until the crawl is over or nobody reads them.
fn write_lines(mut out: BufWriter<Box<dyn Write + Send>>, lines: &Receiver<String>) {
    loop {
        let written = match lines.recv_timeout(FLUSH_INTERVAL) {
            Ok(line) => writeln!(out, "{line}"),
            Err(RecvTimeoutError::Timeout) => out.flush(),
            Err(RecvTimeoutError::Disconnected) => {
                let _ = out.flush();
                return;
            }
        };
        if written.is_err() {
            return;
        }
    }
}

/// Name of an outcome, and its failure if there is one.
pub(super) fn outcome(outcome: &Outcome) -> (&'static str, Option<&Failure>) {
    match outcome {
        Outcome::Fetched => ("fetched", None),
        Outcome::NotModified => ("not modified", None),
        Outcome::Redirected => ("redirected", None),
        Outcome::Retry { failure, .. } => ("retry", Some(failure)),
        Outcome::Dead(failure) => ("dead", Some(failure)),
        Outcome::Skipped(failure) => ("skipped", Some(failure)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use porthole_types::Timestamp;

    use super::*;

    /// A reader that does not read until it is let go.
    #[derive(Clone, Default)]
    struct Slow(Arc<Mutex<Vec<u8>>>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn who_reads_too_slowly_is_told_what_was_missed() {
        let slow = Slow::default();
        let mut events = Events::to(Box::new(slow.clone()), 2).unwrap();
        let event =
            |detail: &str| Event { at: Timestamp(7), kind: "command".to_owned(), detail: detail.to_owned() };
        let blocked = slow.0.lock().unwrap();
        // More than the buffer and the queue hold together.
        let large = "x".repeat(10_000);
        let began = Instant::now();
        for _ in 0..20 {
            events.recorded(&event(&large));
        }
        assert!(began.elapsed() < Duration::from_secs(5), "the crawl does not wait");
        assert!(events.missed > 0);
        drop(blocked);
        let answer = Event { kind: "answer".to_owned(), ..event(r#"{"query":"q","row":{"a":1}}"#) };
        while !events.missed.eq(&0) {
            thread::sleep(Duration::from_millis(5));
            events.recorded(&answer);
        }
        let stopped = Event { kind: STOPPED.to_owned(), ..event("the page limit is reached") };
        events.ended(&StoppedEvent::new(Some(&stopped), "limit", 3, 2));
        let text = String::from_utf8(slow.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().any(|line| line.starts_with(r#"{"event":"missed","events":"#)), "{lines:?}");
        assert!(lines.contains(&r#"{"event":"answer","at":7,"query":"q","row":{"a":1}}"#), "{lines:?}");
        assert_eq!(
            *lines.last().unwrap(),
            r#"{"event":"stopped","at":7,"detail":"the page limit is reached","stop":"limit","fetches":3,"pages":2}"#
        );
    }

    #[test]
    fn a_webhook_that_does_not_answer_does_not_hold_up_the_crawl() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let text = format!(
            "[events]\nwebhook = \"http://{}/\"\nallow = \"loopback\"\nkinds = [\"command\"]\n",
            silent.local_addr().unwrap()
        );
        let settings = crate::settings::RawSettings::parse(&text).unwrap();
        let settings = settings.events.ready(&settings.fetch).unwrap().unwrap();
        let webhook = Webhook::new(&settings, WebhookPace { batch: 1, ..WebhookPace::default() }).unwrap();
        let mut events = Events::to_webhook(webhook, &settings, 2).unwrap();
        let event = |kind: &str| Event { at: Timestamp(7), kind: kind.to_owned(), detail: String::new() };
        for _ in 0..20 {
            events.recorded(&event("command"));
            events.recorded(&event("distilled"));
        }
        // All calls have returned, although the first batch has not been taken.
        let report = events.ended(&StoppedEvent::new(None, "limit", 3, 2)).unwrap();
        assert_eq!((report.delivered, report.dropped), (0, 20), "only what was wanted: {report:?}");
        drop(silent);
    }
}
