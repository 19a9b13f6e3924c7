//! `--events`: one line of JSON per fetch, to a file or standard output, for programs that watch a crawl.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use porthole_crawl::Seen;
use porthole_topic::Taxonomy;
use porthole_types::{Failure, Outcome};
use serde::Serialize;

use crate::terminal::escaped_json;

/// The output of the events.
pub(super) struct Events(BufWriter<Box<dyn Write + Send>>);

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
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
}

/// The crawl is held up, or continues.
#[derive(Serialize)]
struct HeldUpEvent<'a> {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
}

/// The end of a run.
#[derive(Serialize)]
struct EndEvent<'a> {
    event: &'static str,
    stop: &'a str,
    fetches: u64,
    pages: u64,
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
        Ok(Events(BufWriter::new(out)))
    }

    /// Writes the event of a fetch. Write errors, such as a closed pipe, do not end the crawl.
    pub(super) fn fetched(&mut self, seen: &Seen<'_>, tree: &Taxonomy) {
        let (outcome, failure) = outcome(&seen.result.outcome);
        let judgment = seen.result.judgment;
        self.write(&FetchEvent {
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
            failure: failure.map(|failure| failure.kind.name()),
            detail: failure.map(Failure::detail),
        });
    }

    /// Writes that the crawl is held up, with the reason, or that it continues.
    pub(super) fn held_up(&mut self, why: Option<&str>) {
        self.write(&HeldUpEvent { event: if why.is_some() { "held up" } else { "goes on" }, detail: why });
        self.flush();
    }

    /// Writes the last event and flushes.
    pub(super) fn ended(&mut self, stop: &str, fetches: u64, pages: u64) {
        self.write(&EndEvent { event: "end", stop, fetches, pages });
        self.flush();
    }

    pub(super) fn flush(&mut self) {
        let _ = self.0.flush();
    }

    fn write(&mut self, event: &impl Serialize) {
        if let Ok(json) = serde_json::to_string(event) {
            // Standard output may be a terminal.
            let _ = writeln!(self.0, "{}", escaped_json(&json));
        }
    }
}

/// Name of an outcome, and its failure if there is one.
pub(super) fn outcome(outcome: &Outcome) -> (&'static str, Option<&Failure>) {
    match outcome {
        Outcome::Fetched => ("fetched", None),
        Outcome::Redirected => ("redirected", None),
        Outcome::Retry { failure, .. } => ("retry", Some(failure)),
        Outcome::Dead(failure) => ("dead", Some(failure)),
        Outcome::Skipped(failure) => ("skipped", Some(failure)),
    }
}
