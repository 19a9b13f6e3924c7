//! A crawl that runs by itself: the network half on one thread, the writer half on another, and the readers on as many
//! as there are cores. Channels are bounded, and neither half ever waits for the other: who cannot send keeps what it
//! has until there is room.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use futures_util::future::FutureExt;
use futures_util::stream::StreamExt;
use porthole_store::CommandAnswer;
use porthole_types::{CanonicalUrl, Clock, PageResult, Timestamp};
use tokio::sync::{broadcast, mpsc};

use super::commands::{Command, Refocus};
use super::crawl::{Crawl, CrawlError, Limits, Observer, Seen, Stop};
use super::messages::{ToNetwork, ToWriter};
use super::network::Network;
use super::single::Requests;
use crate::Fetch;
use crate::reading::Readers;

/// Batches of messages that may wait in a channel.
const CHANNEL: usize = 256;

/// Events that a listener may be behind before it misses some.
const EVENTS: usize = 1_024;

/// How long a half waits for messages before it looks round.
const MOMENT: Duration = Duration::from_millis(20);

/// How often is looked for commands of other processes.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// What the writer half is told.
enum Input {
    Network(Vec<ToWriter>),
    Command(Command, SyncSender<Result<String, String>>),
    /// A reader has something.
    Wake,
    /// The network half is gone.
    NetworkEnded,
}

/// What happened in a running crawl; sent after it was committed.
#[derive(Clone, Debug)]
pub enum CrawlEvent {
    /// A fetch, without its links.
    Fetched(Arc<(CanonicalUrl, PageResult)>),
    /// A command was carried out, or could not be.
    Command(String, Result<String, String>),
    /// The crawl is over.
    Stopped,
}

/// A crawl that could not begin, and why.
pub struct NotBegun {
    /// The crawl.
    pub crawl: Crawl<'static>,
    /// Why.
    pub error: CrawlError,
}

/// A running crawl. Dropping it does not end the crawl.
pub struct Handle {
    inbox: SyncSender<Input>,
    events: broadcast::Sender<CrawlEvent>,
    writer: JoinHandle<(Crawl<'static>, Result<Stop, CrawlError>)>,
}

impl Handle {
    /// Sends a command; the answer comes through the receiver.
    pub fn send(&self, command: Command) -> Receiver<Result<String, String>> {
        let (sender, receiver) = sync_channel(1);
        // A crawl that is over drops the sender, and the receiver says so.
        let _ = self.inbox.send(Input::Command(command, sender));
        receiver
    }

    /// What happens from now on. Who reads too slowly is told how much was missed, and finds it in the tables.
    pub fn events(&self) -> broadcast::Receiver<CrawlEvent> {
        self.events.subscribe()
    }

    /// Whether the crawl is over.
    pub fn is_over(&self) -> bool {
        self.writer.is_finished()
    }

    /// Waits for the end of the crawl and gives it back, with the reason.
    pub fn join(self) -> (Crawl<'static>, Result<Stop, CrawlError>) {
        match self.writer.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Crawl<'static> {
    /// Begins to crawl on threads of its own. The observer is told of every commit on the writer's thread.
    pub fn spawn(
        mut self,
        limits: Limits,
        observer: Box<dyn Observer + Send>,
        refocus: Box<dyn Refocus>,
    ) -> Result<Handle, Box<NotBegun>> {
        let begun = self
            .writer
            .begin(limits, self.manners.is_some(), limits.workers > 1)
            .and_then(|()| self.answer_stale())
            .and_then(|()| self.recall_hosts())
            .and_then(|()| self.writer.note("started", &self.writer.run_in_words()));
        if let Err(error) = begun {
            return Err(Box::new(NotBegun { crawl: self, error }));
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
        };
        let writer = WriterLoop {
            crawl: self,
            inputs,
            wake: Waker::from(Arc::new(WakeWriter(inbox.clone()))),
            to_network: Some(to_network),
            observer: Publisher { observer, events: events.clone() },
            refocus,
            looked: Timestamp(0),
        };
        let end = inbox.clone();
        let network = thread::Builder::new().name("network".to_owned()).spawn(move || network.run(&end));
        let writer = thread::Builder::new().name("writer".to_owned()).spawn(move || writer.run(network));
        Ok(Handle { inbox, events, writer: writer.expect("threads can be started") })
    }

    /// Commands from before this run were for nobody. One that was given since the store was opened is for us.
    fn answer_stale(&mut self) -> Result<(), CrawlError> {
        const OPENING: Duration = Duration::from_secs(10);
        let at = self.writer.clock.now();
        for row in self.writer.store.open_commands()?.into_iter().filter(|row| at.since(row.at) > OPENING) {
            let outcome = "no crawl was running".to_owned();
            self.writer.store.answer_command(row.id, &CommandAnswer { at, failed: true, outcome })?;
        }
        Ok(())
    }
}

/// Wakes the writer half when a reader has something.
struct WakeWriter(SyncSender<Input>);

impl Wake for WakeWriter {
    fn wake(self: Arc<Self>) {
        // If the channel is full, the writer is awake.
        let _ = self.0.try_send(Input::Wake);
    }
}

/// Tells an observer and all listeners what was committed.
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

    fn waiting(&mut self) -> std::ops::ControlFlow<()> {
        self.observer.waiting()
    }
}

struct WriterLoop {
    crawl: Crawl<'static>,
    inputs: Receiver<Input>,
    wake: Waker,
    to_network: Option<mpsc::Sender<Vec<ToNetwork>>>,
    observer: Publisher,
    refocus: Box<dyn Refocus>,
    looked: Timestamp,
}

impl WriterLoop {
    fn run(mut self, network: io::Result<JoinHandle<Network>>) -> (Crawl<'static>, Result<Stop, CrawlError>) {
        let stop = self.until_it_ends();
        // The network half ends when nobody talks to it any more; what is under way is given up.
        self.to_network = None;
        let WriterLoop { mut crawl, inputs, observer, .. } = self;
        drop(inputs);
        if let Ok(Ok(network)) = network.map(JoinHandle::join) {
            crawl.manners = network.into_manners();
        }
        let pages = crawl.writer.run.pages;
        let mut stop = crawl.end(stop);
        let why = stop.as_ref().map_or_else(ToString::to_string, ToString::to_string);
        let noted = crawl.writer.note("stopped", &format!("{why}; {pages} pages in this run"));
        stop = stop.and_then(|stop| noted.map(|()| stop));
        let _ = observer.events.send(CrawlEvent::Stopped);
        (crawl, stop)
    }

    fn until_it_ends(&mut self) -> Result<Stop, CrawlError> {
        loop {
            self.flush();
            if self.receive()? {
                return Ok(Stop::Asked);
            }
            let writer = &mut self.crawl.writer;
            let now = writer.clock.now();
            if now.since(self.looked) >= BETWEEN_LOOKS {
                self.looked = now;
                if writer.store.follow_changes()? && writer.carry_out_rows(&mut *self.refocus)? {
                    return Ok(Stop::Asked);
                }
                if self.observer.waiting().is_break() {
                    return Ok(Stop::Asked);
                }
            }
            if let Some(stop) = writer.turn(&mut self.observer)? {
                return Ok(stop);
            }
        }
    }

    /// Sends what is for the network half, if it has room.
    fn flush(&mut self) {
        let outbox = &mut self.crawl.writer.outbox;
        if let Some(to_network) = &self.to_network
            && !outbox.is_empty()
            && let Ok(permit) = to_network.try_reserve()
        {
            permit.send(std::mem::take(outbox));
        }
    }

    /// Waits a moment for messages, and takes in all that are there. Whether the crawl is to stop.
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
        let moment = if is_busy { Duration::ZERO } else { MOMENT };
        let mut input = self.inputs.recv_timeout(moment).ok();
        let mut stops = false;
        while let Some(next) = input {
            match next {
                Input::Network(messages) => {
                    for message in messages {
                        self.crawl.writer.hear(message)?;
                    }
                }
                Input::Command(command, answer) => {
                    stops |= command == Command::Stop;
                    let done = self.crawl.writer.carry_out(&command, &mut *self.refocus)?;
                    self.crawl.writer.note_command(&command.to_string(), &done)?;
                    let event = CrawlEvent::Command(command.to_string(), done.clone());
                    let _ = self.observer.events.send(event);
                    let _ = answer.try_send(done);
                }
                Input::Wake => {}
                Input::NetworkEnded => stops = true,
            }
            input = self.inputs.try_recv().ok();
        }
        Ok(stops)
    }
}

struct NetworkLoop {
    network: Network,
    web: Arc<dyn Fetch>,
    clock: Arc<dyn Clock>,
    from_writer: mpsc::Receiver<Vec<ToNetwork>>,
    to_writer: SyncSender<Input>,
    /// Answers that were sent and have not been read: memory, so there is a limit.
    unread: Arc<AtomicUsize>,
}

/// Requests whose answers are taken in one after the other before anything else is done.
const MAX_AT_ONCE: usize = 64;

impl NetworkLoop {
    fn run(mut self, end: &SyncSender<Input>) -> Network {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        if let Ok(runtime) = runtime {
            runtime.block_on(self.until_it_ends());
            // A look-up of a name cannot be given up, and may take long.
            runtime.shutdown_background();
        }
        let _ = end.try_send(Input::NetworkEnded);
        self.network
    }

    async fn until_it_ends(&mut self) {
        let web = self.web.clone();
        let mut requests = Requests::default();
        let max_unread = Readers::MAX_WAITING * thread::available_parallelism().map_or(1, Into::into);
        loop {
            let now = self.clock.now();
            let is_held_up = loop {
                if self.unread.load(Ordering::Relaxed) >= max_unread {
                    break true;
                }
                let Some(action) = self.network.next(now) else { break false };
                requests.begin(action, &*web);
            };
            let is_stuck = !self.send();
            let due = self.network.next_due(now).map_or(MOMENT, |due| due.since(self.clock.now()));
            let least = if is_stuck || is_held_up { Duration::from_millis(1) } else { MOMENT };
            let wait = tokio::time::sleep(due.clamp(Duration::from_millis(1), MOMENT).min(least));
            tokio::select! {
                biased;
                messages = self.from_writer.recv() => {
                    let Some(messages) = messages else { return };
                    let now = self.clock.now();
                    messages.into_iter().for_each(|message| self.network.hear(message, now));
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

    /// Sends what is for the writer half; whether there was room.
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
