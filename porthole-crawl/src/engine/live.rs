//! Runs a crawl on its own threads: the network half on one, the writer half on another, and one reader per core.
//! Channels are bounded and neither half waits for the other: messages that cannot be sent are kept until there is
//! room.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use futures_util::future::FutureExt;
use futures_util::stream::StreamExt;
use porthole_store::{CommandAnswer, WorkerLease};
use porthole_types::{CanonicalUrl, Clock, Event, PageResult, Timestamp};
use tokio::sync::{broadcast, mpsc};

use super::commands::{Command, Refocus};
use super::crawl::{Crawl, CrawlError, Limits, Observer, Seen, Stop};
use super::messages::{ToNetwork, ToWriter};
use super::network::Network;
use super::single::Requests;
use super::standing::StandingQueries;
use crate::Fetch;
use crate::reading::Readers;

/// Maximum number of message batches in a channel.
const CHANNEL: usize = 256;

/// Maximum number of events that a listener may lag behind.
const EVENTS: usize = 1_024;

/// Maximum wait for messages before a half checks its deadlines.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The same while the next URL depends on other workers.
const HELD_BACK_INTERVAL: Duration = Duration::from_millis(2);

/// Time between two checks for commands of other processes.
const COMMAND_INTERVAL: Duration = Duration::from_millis(100);

/// Inputs of the writer half.
enum Input {
    Network(Vec<ToWriter>),
    Command(Command, SyncSender<Result<String, String>>),
    /// A reader has finished a page.
    Wake,
    /// The network half has ended.
    NetworkEnded,
}

/// An event of a running crawl, sent after it was committed.
#[derive(Clone, Debug)]
pub enum CrawlEvent {
    /// A fetch, without its links.
    Fetched(Arc<(CanonicalUrl, PageResult)>),
    /// A command and its answer.
    Command(String, Result<String, String>),
    /// A row was added to the table `event`: a distillation, an outage, an answer of a kept query.
    Recorded(Event),
    /// The crawl has ended.
    Stopped,
}

/// A crawl that could not be started.
pub struct NotStarted {
    /// The crawl.
    pub crawl: Crawl<'static>,
    /// The reason.
    pub error: CrawlError,
}

/// A handle to a running crawl. Dropping it does not end the crawl.
pub struct Handle {
    inbox: SyncSender<Input>,
    events: broadcast::Sender<CrawlEvent>,
    writer: JoinHandle<(Crawl<'static>, Result<Stop, CrawlError>)>,
}

impl Handle {
    /// Sends a command. The answer arrives through the receiver.
    pub fn send(&self, command: Command) -> Receiver<Result<String, String>> {
        let (sender, receiver) = sync_channel(1);
        // A crawl that has ended drops the sender, which the receiver reports.
        let _ = self.inbox.send(Input::Command(command, sender));
        receiver
    }

    /// Subscribes to events from now on. A receiver that lags is told how many it missed, and can find them in the
    /// tables.
    pub fn events(&self) -> broadcast::Receiver<CrawlEvent> {
        self.events.subscribe()
    }

    /// Whether the crawl has ended.
    pub fn is_over(&self) -> bool {
        self.writer.is_finished()
    }

    /// Waits for the end of the crawl. Returns it with the reason.
    pub fn join(self) -> (Crawl<'static>, Result<Stop, CrawlError>) {
        match self.writer.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Crawl<'static> {
    /// Starts the crawl on its own threads. The observer is called on the writer's thread after every commit.
    pub fn spawn(
        mut self,
        limits: Limits,
        observer: Box<dyn Observer + Send>,
        refocus: Box<dyn Refocus>,
    ) -> Result<Handle, Box<NotStarted>> {
        let started = self
            .writer
            .begin(limits, self.manners.is_some(), limits.workers > 1)
            .and_then(|()| self.reject_stale_commands())
            .and_then(|()| self.load_hosts())
            .and_then(|()| self.writer.record_event("started", &self.writer.describe_run()));
        if let Err(error) = started {
            return Err(Box::new(NotStarted { crawl: self, error }));
        }
        self.writer.run.may_pause = true;
        let (inbox, inputs) = sync_channel(CHANNEL);
        let (to_network, from_writer) = mpsc::channel(CHANNEL);
        let (events, _) = broadcast::channel(EVENTS);
        let unread = self.writer.run.unread.clone();
        let network = NetworkLoop {
            network: Network::new(self.manners.take()),
            web: self.web.clone(),
            clock: self.writer.clock.clone(),
            from_writer,
            to_writer: inbox.clone(),
            unread: unread.clone(),
            lease: self.writer.store.lease(),
        };
        let standing = StandingQueries::start(self.writer.store.reader(), self.writer.clock.clone());
        let writer = WriterLoop {
            crawl: self,
            inputs,
            wake: Waker::from(Arc::new(WakeWriter(inbox.clone()))),
            to_network: Some(to_network),
            observer: Publisher { observer, events: events.clone() },
            refocus,
            checked_commands_at: Timestamp(0),
            standing,
        };
        let end = inbox.clone();
        let network = thread::Builder::new().name("network".to_owned()).spawn(move || network.run(&end));
        let writer = thread::Builder::new().name("writer".to_owned()).spawn(move || writer.run(network));
        Ok(Handle { inbox, events, writer: writer.expect("cannot start the writer thread") })
    }

    /// Rejects commands that were queued before this run. Those queued while the store was being opened are kept.
    fn reject_stale_commands(&mut self) -> Result<(), CrawlError> {
        const OPENING: Duration = Duration::from_secs(10);
        let at = self.writer.clock.now();
        let open = self.writer.store.open_commands()?;
        let last = self.writer.store.reader().last_commands(1)?.first().map_or(0, |row| row.id);
        let mut recent = open.iter().filter(|row| at.since(row.at) <= OPENING);
        self.writer.run.last_command = recent.next().map_or(last, |row| row.id - 1);
        if !self.writer.store.is_leader() {
            return Ok(());
        }
        for row in open.into_iter().filter(|row| at.since(row.at) > OPENING) {
            let outcome = "no crawl was running".to_owned();
            self.writer.store.answer_command(row.id, &CommandAnswer { at, failed: true, outcome })?;
        }
        Ok(())
    }
}

/// Wakes the writer half when a reader has finished a page.
struct WakeWriter(SyncSender<Input>);

impl Wake for WakeWriter {
    fn wake(self: Arc<Self>) {
        // If the channel is full, the writer is awake.
        let _ = self.0.try_send(Input::Wake);
    }
}

/// Forwards commits to an observer and all event listeners.
struct Publisher {
    observer: Box<dyn Observer + Send>,
    events: broadcast::Sender<CrawlEvent>,
}

impl Observer for Publisher {
    fn committed(&mut self, seen: Seen<'_>) -> std::ops::ControlFlow<()> {
        if self.events.receiver_count() > 0 {
            let result = PageResult { links: Vec::new(), ..seen.result.clone() };
            let _ = self.events.send(CrawlEvent::Fetched(Arc::new((seen.url.clone(), result))));
        }
        self.observer.committed(seen)
    }

    fn waiting_for(&mut self, workers: usize, sites: usize) {
        self.observer.waiting_for(workers, sites);
    }

    fn held_up(&mut self, why: Option<&str>) {
        self.observer.held_up(why);
    }

    fn recorded(&mut self, event: &Event) {
        // Listeners hear of commands separately, with their outcomes.
        if event.kind != "command" {
            let _ = self.events.send(CrawlEvent::Recorded(event.clone()));
        }
        self.observer.recorded(event);
    }

    fn waiting(&mut self) -> std::ops::ControlFlow<()> {
        self.observer.waiting()
    }

    fn stop_reason(&self) -> Option<&'static str> {
        self.observer.stop_reason()
    }
}

struct WriterLoop {
    crawl: Crawl<'static>,
    inputs: Receiver<Input>,
    wake: Waker,
    to_network: Option<mpsc::Sender<Vec<ToNetwork>>>,
    observer: Publisher,
    refocus: Box<dyn Refocus>,
    checked_commands_at: Timestamp,
    standing: StandingQueries,
}

impl WriterLoop {
    fn run(mut self, network: io::Result<JoinHandle<Network>>) -> (Crawl<'static>, Result<Stop, CrawlError>) {
        let stop = self.run_loop();
        // The network half ends when its channel closes. Requests in flight are dropped.
        self.to_network = None;
        let WriterLoop { mut crawl, inputs, mut observer, standing, .. } = self;
        drop(inputs);
        if let Ok(Ok(network)) = network.map(JoinHandle::join) {
            crawl.manners = network.into_manners();
        }
        let answered = crawl.writer.record_events(standing.finish());
        let ended = crawl.writer.end_alarms();
        crawl.writer.report_events(&mut observer);
        let stop = stop.and_then(|stop| answered.and(ended).map(|()| stop));
        let pages = crawl.writer.run.pages;
        let mut stop = crawl.end(stop);
        let why = match (&stop, observer.stop_reason()) {
            (Ok(Stop::Asked), Some(why)) => why.to_owned(),
            (Ok(stop), _) => stop.to_string(),
            (Err(error), _) => error.to_string(),
        };
        let noted = crawl.writer.record_event("stopped", &format!("{why}; {pages} pages in this run"));
        crawl.writer.report_events(&mut observer);
        let cleared = crawl.writer.store_no_vitals();
        stop = stop.and_then(|stop| noted.and(cleared).map(|()| stop));
        let _ = observer.events.send(CrawlEvent::Stopped);
        (crawl, stop)
    }

    fn run_loop(&mut self) -> Result<Stop, CrawlError> {
        loop {
            self.flush();
            if self.receive()? {
                return Ok(Stop::Asked);
            }
            let writer = &mut self.crawl.writer;
            let now = writer.clock.now();
            if now.since(self.checked_commands_at) >= COMMAND_INTERVAL {
                self.checked_commands_at = now;
                if writer.store.follow_changes()? && writer.execute_queued(&mut *self.refocus)? {
                    return Ok(Stop::Asked);
                }
                let answers = self.standing.new_events();
                if !answers.is_empty() && writer.store.is_leader() {
                    writer.record_events(answers)?;
                }
                writer.share_sites()?;
                writer.check_alarms(now)?;
                writer.store_vitals(now)?;
                writer.sample_frontier(now)?;
                if self.observer.waiting().is_break() {
                    return Ok(Stop::Asked);
                }
            }
            if let Some(stop) = writer.turn(&mut self.observer)? {
                return Ok(stop);
            }
        }
    }

    /// Sends pending messages to the network half, if it has room.
    fn flush(&mut self) {
        let outbox = &mut self.crawl.writer.outbox;
        if let Some(to_network) = &self.to_network
            && !outbox.is_empty()
            && let Ok(permit) = to_network.try_reserve()
        {
            permit.send(std::mem::take(outbox));
        }
    }

    /// Waits briefly for messages and handles all that are there. Returns whether the crawl is to stop.
    fn receive(&mut self) -> Result<bool, CrawlError> {
        let writer = &mut self.crawl.writer;
        let mut has_read = false;
        let mut context = Context::from_waker(&self.wake);
        while let Poll::Ready(Some(read)) = writer.poll_read(&mut context) {
            writer.on_read(read)?;
            has_read = true;
            if writer.is_commit_due() {
                break;
            }
        }
        let is_busy = has_read || writer.has_deferred() || !writer.outbox.is_empty();
        let timeout = match is_busy {
            true => Duration::ZERO,
            false if writer.awaits_others() => HELD_BACK_INTERVAL,
            false => POLL_INTERVAL,
        };
        let mut input = self.inputs.recv_timeout(timeout).ok();
        let mut should_stop = false;
        while let Some(next) = input {
            match next {
                Input::Network(messages) => {
                    for message in messages {
                        self.crawl.writer.handle_message(message)?;
                    }
                }
                Input::Command(command, answer) => {
                    should_stop |= command == Command::Stop;
                    let done = self.crawl.writer.execute(&command, &mut *self.refocus)?;
                    self.crawl.writer.record_command(&command.to_string(), &done)?;
                    let event = CrawlEvent::Command(command.to_string(), done.clone());
                    let _ = self.observer.events.send(event);
                    let _ = answer.try_send(done);
                }
                Input::Wake => {}
                Input::NetworkEnded => should_stop = true,
            }
            input = self.inputs.try_recv().ok();
        }
        Ok(should_stop)
    }
}

struct NetworkLoop {
    network: Network,
    web: Arc<dyn Fetch>,
    clock: Arc<dyn Clock>,
    from_writer: mpsc::Receiver<Vec<ToNetwork>>,
    to_writer: SyncSender<Input>,
    /// Number of answers sent and not read yet. Limited, because they take memory.
    unread: Arc<AtomicUsize>,
    /// No request is started unless it is fresh.
    lease: Option<WorkerLease>,
}

/// Maximum number of answers handled before anything else is done.
const MAX_AT_ONCE: usize = 64;

impl NetworkLoop {
    fn run(mut self, end: &SyncSender<Input>) -> Network {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        if let Ok(runtime) = runtime {
            runtime.block_on(self.run_loop());
            // A name lookup cannot be cancelled, and may take long.
            runtime.shutdown_background();
        }
        let _ = end.try_send(Input::NetworkEnded);
        self.network
    }

    async fn run_loop(&mut self) {
        let web = self.web.clone();
        let mut requests = Requests::default();
        let max_unread = Readers::MAX_WAITING * thread::available_parallelism().map_or(1, Into::into);
        loop {
            let now = self.clock.now();
            let is_held_up = loop {
                if self.unread.load(Ordering::Relaxed) >= max_unread {
                    break true;
                }
                if self.lease.as_ref().is_some_and(|lease| !lease.is_fresh()) {
                    break false;
                }
                let Some(action) = self.network.next(now) else { break false };
                requests.begin(action, &*web);
            };
            self.network.report_sites(now);
            let is_stuck = !self.send();
            let due = self.network.next_due(now).map_or(POLL_INTERVAL, |due| due.since(self.clock.now()));
            let max_wait = if is_stuck || is_held_up { Duration::from_millis(1) } else { POLL_INTERVAL };
            let wait = tokio::time::sleep(due.clamp(Duration::from_millis(1), POLL_INTERVAL).min(max_wait));
            tokio::select! {
                biased;
                messages = self.from_writer.recv() => {
                    let Some(messages) = messages else { return };
                    let now = self.clock.now();
                    messages.into_iter().for_each(|message| self.network.handle_message(message, now));
                }
                Some(done) = requests.under_way.next(), if !requests.under_way.is_empty() => {
                    requests.finish(done, &mut self.network, &*self.clock);
                    for _ in 0..MAX_AT_ONCE {
                        let Some(Some(done)) = requests.under_way.next().now_or_never() else { break };
                        requests.finish(done, &mut self.network, &*self.clock);
                    }
                }
                () = wait => {}
            }
        }
    }

    /// Sends pending messages to the writer half. Returns whether there was room.
    fn send(&mut self) -> bool {
        let outbox = &mut self.network.outbox;
        if outbox.is_empty() {
            return true;
        }
        let answers = outbox.iter().filter(|message| matches!(message, ToWriter::Answered(_))).count();
        self.unread.fetch_add(answers, Ordering::Relaxed);
        match self.to_writer.try_send(Input::Network(std::mem::take(outbox))) {
            Ok(()) => true,
            Err(TrySendError::Full(Input::Network(messages))) => {
                self.unread.fetch_sub(answers, Ordering::Relaxed);
                *outbox = messages;
                false
            }
            Err(_) => true,
        }
    }
}
