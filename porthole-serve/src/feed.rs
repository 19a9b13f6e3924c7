//! Live events of a workspace. One poller a workspace, which runs only while somebody listens, reads the new rows and
//! sends them to all clients; a crawl is not slowed down by being watched.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use porthole_store::{CommandRow, StoreReader};
use serde::Serialize;
use serde_json::json;
use tokio::sync::{broadcast, watch};

use crate::api::CommandReport;
use crate::api::status::{self, DashboardStatus};
use crate::error::Answer;
use crate::jobs::JobBoard;
use crate::workspaces::ServedWorkspace;

/// Time between two polls.
const TICK: Duration = Duration::from_millis(250);
/// Polls between two looks at the state.
const STATUS_TICKS: u32 = 4;
/// Most dots of one message; of more, clients ask themselves.
const MOST_DOTS: usize = 2_000;
/// Rows of events and commands that are read at once.
const MOST_ROWS: usize = 500;
const MOST_COMMANDS: usize = 20;
/// Messages that a slow client may be behind.
const BACKLOG: usize = 256;

/// A message to clients.
#[derive(Clone, Debug)]
pub(crate) struct FeedMessage {
    pub(crate) event: &'static str,
    /// The last sequence number, of messages with dots.
    pub(crate) last: Option<u64>,
    pub(crate) data: Arc<str>,
}

impl FeedMessage {
    pub(crate) fn new(event: &'static str, last: Option<u64>, data: &impl Serialize) -> FeedMessage {
        FeedMessage { event, last, data: serde_json::to_string(data).unwrap_or_default().into() }
    }

    /// Tells a client to ask for the dots of a range itself.
    pub(crate) fn lag(from: u64, to: u64) -> FeedMessage {
        FeedMessage::new("lag", Some(to), &json!({ "from": from, "to": to }))
    }
}

/// The messages of a workspace to all its clients.
pub(crate) struct CrawlFeed {
    messages: broadcast::Sender<FeedMessage>,
    /// Whether the poller runs.
    is_polled: Mutex<bool>,
}

impl Default for CrawlFeed {
    fn default() -> Self {
        CrawlFeed { messages: broadcast::channel(BACKLOG).0, is_polled: Mutex::new(false) }
    }
}

impl CrawlFeed {
    /// Receives the messages from now on; starts the poller if it does not run.
    pub(crate) fn follow(
        workspace: &Arc<ServedWorkspace>,
        jobs: &Arc<JobBoard>,
        end: watch::Receiver<bool>,
    ) -> broadcast::Receiver<FeedMessage> {
        let feed = &workspace.feed;
        let mut is_polled = feed.is_polled.lock().unwrap_or_else(PoisonError::into_inner);
        let receiver = feed.messages.subscribe();
        if !*is_polled {
            *is_polled = true;
            tokio::spawn(poll(workspace.clone(), jobs.clone(), end));
        }
        receiver
    }

    /// Notes that the poller ends, unless there is a client.
    fn may_end(&self) -> bool {
        let mut is_polled = self.is_polled.lock().unwrap_or_else(PoisonError::into_inner);
        *is_polled = self.messages.receiver_count() > 0;
        !*is_polled
    }
}

async fn poll(workspace: Arc<ServedWorkspace>, jobs: Arc<JobBoard>, mut end: watch::Receiver<bool>) {
    let mut poller = FeedPoller::default();
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = end.wait_for(|&is_over| is_over) => return,
        }
        if workspace.feed.may_end() {
            return;
        }
        let jobs = jobs.clone();
        let read = workspace.clone().read(move |workspace| {
            // An error may pass: the disk is full, or the database is being replaced.
            let messages = poller.messages(workspace, &jobs).unwrap_or_default();
            Ok((poller, messages))
        });
        let Ok((back, messages)) = read.await else { return };
        poller = back;
        for message in messages {
            let _ = workspace.feed.messages.send(message);
        }
    }
}

/// What was sent so far.
#[derive(Default)]
struct FeedPoller {
    ticks: u32,
    /// `None` at first: clients know the rows before they listen.
    cursors: Option<FeedCursors>,
    status: Option<DashboardStatus>,
}

struct FeedCursors {
    dot: u64,
    generation: u64,
    event: u64,
    commands: Vec<CommandRow>,
}

impl FeedPoller {
    fn messages(&mut self, workspace: &ServedWorkspace, jobs: &JobBoard) -> Answer<Vec<FeedMessage>> {
        let reader = &workspace.reader;
        let mut messages = Vec::new();
        let commands = reader.last_commands(MOST_COMMANDS)?;
        let Some(cursors) = &mut self.cursors else {
            let trace = workspace.trace()?;
            let (dot, generation) = (trace.last(), trace.generation);
            self.cursors = Some(FeedCursors { dot, generation, event: reader.last_event_id()?, commands });
            return Ok(messages);
        };
        {
            let trace = workspace.trace()?;
            if trace.generation != cursors.generation {
                cursors.generation = trace.generation;
                cursors.dot = trace.last();
                messages.push(FeedMessage::new("reset", Some(cursors.dot), &json!({ "last": cursors.dot })));
            }
            match trace.count_after(Some(cursors.dot)) {
                0 => {}
                count if count > MOST_DOTS => messages.push(FeedMessage::lag(cursors.dot, trace.last())),
                _ => {
                    let dots = trace.dots(Some(cursors.dot), MOST_DOTS);
                    messages.push(FeedMessage::new("dots", Some(dots.last), &dots));
                }
            }
            cursors.dot = cursors.dot.max(trace.last());
        }
        for (id, event) in reader.events(cursors.event, MOST_ROWS)? {
            cursors.event = id;
            let row = json!({ "id": id, "at": event.at.0, "kind": event.kind, "detail": event.detail });
            messages.push(FeedMessage::new("event", None, &row));
        }
        for command in commands.iter().rev().filter(|command| !cursors.commands.contains(command)) {
            messages.push(FeedMessage::new("command", None, &CommandReport::of(command)));
        }
        cursors.commands = commands;
        if self.ticks.is_multiple_of(STATUS_TICKS) {
            let status = status::of(workspace, jobs)?;
            if self.status.as_ref().is_none_or(|last| !last.is_same(&status)) {
                messages.push(FeedMessage::new("status", None, &status));
                self.status = Some(status);
            }
        }
        self.ticks = self.ticks.wrapping_add(1);
        Ok(messages)
    }
}
