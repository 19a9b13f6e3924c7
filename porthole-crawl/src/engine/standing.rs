//! Standing queries: those that are kept with the workspace are repeated on a thread of their own while the crawl runs,
//! within the limits of the sandbox, and their new rows become events (V 1). A query that takes long is repeated less
//! often, so that it costs at most a tenth of one core, and never slows the crawl.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use porthole_store::{KeptQuery, QueryAnswer, QueryLimits, SeenRows, SqlValue, StoreReader};
use porthole_types::{Clock, Event};

/// Events that may wait for the writer. More are left out, and that is said.
const WAITING: usize = 4_096;

/// Shortest time between two rounds.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// Queries get at most one part in this many of the time.
const SHARE: u32 = 10;

/// New rows of one query in a round that become events.
const MOST_ROWS: usize = 1_000;

/// Rows of one query that are remembered, at 8 bytes each and more. When there are more, those of the last answer are.
const MOST_KNOWN: usize = 1_000_000;

const LIMITS: QueryLimits = QueryLimits {
    rows: 100_000,
    bytes: 32 << 20,
    time: Duration::from_secs(20),
    temporary: 256 << 20,
    shorten: true,
};

/// Time limit of a query in the last round, when the crawl has ended.
const LAST_TIME: Duration = Duration::from_secs(2);

/// The thread that repeats the kept queries.
pub(super) struct StandingQueries {
    events: Receiver<Event>,
    /// Dropped to end the thread.
    stop: Option<SyncSender<()>>,
    /// Set to end the round.
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl StandingQueries {
    /// Starts the thread. What the queries answer now is not new.
    pub(super) fn start(reader: Box<dyn StoreReader>, clock: Arc<dyn Clock>) -> Self {
        let (sender, events) = sync_channel(WAITING);
        let (stop, stopped) = sync_channel(0);
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let rounds = Rounds { reader, clock, sender, known: HashMap::new(), missed: 0, is_over: over };
        let thread =
            thread::Builder::new().name("kept queries".to_owned()).spawn(move || rounds.run(&stopped));
        StandingQueries { events, stop: Some(stop), is_over, thread: thread.ok() }
    }

    /// The events since the last call.
    pub(super) fn new_events(&self) -> Vec<Event> {
        self.events.try_iter().collect()
    }

    /// Asks all queries a last time, after the one that is being asked, and returns their events.
    pub(super) fn finish(mut self) -> Vec<Event> {
        self.is_over.store(true, Ordering::Relaxed);
        self.stop = None;
        let mut events = Vec::new();
        // The thread drops its sender when it ends.
        events.extend(self.events.iter());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        events
    }
}

struct Rounds {
    reader: Box<dyn StoreReader>,
    clock: Arc<dyn Clock>,
    sender: SyncSender<Event>,
    known: HashMap<String, KnownAnswer>,
    /// Events that found no room.
    missed: usize,
    /// The crawl has ended: only the last round is left.
    is_over: Arc<AtomicBool>,
}

/// A query with the rows that it had; without rows if it fails.
struct KnownAnswer {
    query: KeptQuery,
    rows: Option<SeenRows>,
}

impl Rounds {
    fn run(mut self, stopped: &Receiver<()>) {
        loop {
            let began = self.clock.monotonic();
            self.round(&LIMITS);
            let spent = self.clock.monotonic().saturating_sub(began);
            match stopped.recv_timeout((spent * SHARE).max(SHORTEST_PAUSE)) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => break,
            }
        }
        self.round(&QueryLimits { time: LAST_TIME, ..LIMITS });
    }

    fn round(&mut self, limits: &QueryLimits) {
        let Ok(queries) = self.reader.kept_queries() else { return };
        self.known.retain(|name, _| queries.iter().any(|query| query.name == *name));
        for query in queries {
            // The last round has less time.
            if limits.time > LAST_TIME && self.is_over.load(Ordering::Relaxed) {
                return;
            }
            self.ask(query, limits);
        }
    }

    fn ask(&mut self, query: KeptQuery, limits: &QueryLimits) {
        let is_same = self.known.get(&query.name).is_some_and(|known| known.query == query);
        if is_same && self.known[&query.name].rows.is_none() {
            return;
        }
        let answer = match ask(&*self.reader, &query, limits) {
            Ok(answer) => answer,
            // Too slow only now, because little time was left.
            Err(_) if is_same && limits.time < LIMITS.time => return,
            Err(error) => {
                let again = "it is not repeated until it is kept again or the crawl is resumed";
                self.send("kept query", format!("{}: {error}; {again}", query.name));
                self.known.insert(query.name.clone(), KnownAnswer { query, rows: None });
                return;
            }
        };
        if !is_same {
            let rows = SeenRows::new(key(&*self.reader, &query), &answer);
            self.known.insert(query.name.clone(), KnownAnswer { query, rows: Some(rows) });
            return;
        }
        let Some(rows) = self.known.get_mut(&query.name).and_then(|known| known.rows.as_mut()) else {
            return;
        };
        let new: Vec<&Vec<SqlValue>> = answer.rows.iter().filter(|row| rows.is_new(row)).collect();
        rows.shrink_to(&answer, MOST_KNOWN);
        for row in new.iter().take(MOST_ROWS) {
            self.send("answer", in_json(&query.name, &answer.columns, row));
        }
        if new.len() > MOST_ROWS {
            self.send("kept query", format!("{}: {} more new rows", query.name, new.len() - MOST_ROWS));
        }
    }

    fn send(&mut self, kind: &str, detail: String) {
        let at = self.clock.now();
        let event = |kind: &str, detail| Event { at, kind: kind.to_owned(), detail };
        if self.missed > 0 {
            let missed =
                event("kept query", format!("{} answers are not listed: there were too many", self.missed));
            if self.sender.try_send(missed).is_ok() {
                self.missed = 0;
            }
        }
        if let Err(TrySendError::Full(_)) = self.sender.try_send(event(kind, detail)) {
            self.missed += 1;
        }
    }
}

/// The key of a named query's rows; empty means all columns.
fn key(reader: &dyn StoreReader, query: &KeptQuery) -> &'static [&'static str] {
    reader.queries().iter().find(|named| named.name == query.question).map_or(&[], |named| named.key)
}

fn ask(
    reader: &dyn StoreReader,
    query: &KeptQuery,
    limits: &QueryLimits,
) -> porthole_store::Result<QueryAnswer> {
    // Names contain no spaces, SQL statements always do.
    if query.question.contains(char::is_whitespace) {
        return reader.sql(&query.question, limits);
    }
    let parameters: Vec<(&str, &str)> =
        query.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    reader.query(&query.question, &parameters, limits)
}

/// A row as JSON, with the name of its query.
fn in_json(query: &str, columns: &[String], row: &[SqlValue]) -> String {
    let value = |value: &SqlValue| match value {
        SqlValue::Null => serde_json::Value::Null,
        SqlValue::Integer(number) => (*number).into(),
        SqlValue::Real(number) => (*number).into(),
        SqlValue::Text(text) => text.as_str().into(),
        SqlValue::Blob(bytes) => format!("{} bytes", bytes.len()).into(),
    };
    let row: serde_json::Map<String, serde_json::Value> =
        columns.iter().cloned().zip(row.iter().map(value)).collect();
    serde_json::json!({ "query": query, "row": row }).to_string()
}

#[cfg(test)]
mod tests {
    use porthole_store::{SqliteStore, Store, WorkspaceWriter};
    use porthole_types::{CanonicalUrl, NewUrl, Timestamp};

    use super::*;
    use crate::clock::SystemClock;

    #[test]
    fn new_rows_become_events_and_a_query_that_fails_says_so_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = SqliteStore::open(folder.path().join("crawl.db")).unwrap();
        let add = |store: &mut SqliteStore, number: u32| {
            let url = CanonicalUrl::parse(&format!("http://a.test/{number}")).unwrap();
            store.add(&[NewUrl { url, relevance: 0.5, priority: 0.5, depth: 0 }]).unwrap();
        };
        let keep = |store: &mut SqliteStore, name: &str, question: &str| {
            let (name, question) = (name.to_owned(), question.to_owned());
            let query =
                KeptQuery { name, question, parameters: Vec::new(), topics: Vec::new(), at: Timestamp(0) };
            store.keep_query(&query).unwrap();
        };
        add(&mut store, 1);
        keep(&mut store, "urls", "select url, depth from crawl");
        keep(&mut store, "wrong", "select nope from crawl");
        let (sender, events) = sync_channel(3);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let (known, is_over) = (HashMap::new(), Arc::new(AtomicBool::new(false)));
        let mut rounds = Rounds { reader: store.reader(), clock, sender, known, missed: 0, is_over };
        rounds.round(&LIMITS);
        let told: Vec<Event> = events.try_iter().collect();
        assert_eq!(told.len(), 1, "what was there is not new: {told:?}");
        assert!(told[0].kind == "kept query" && told[0].detail.starts_with("wrong: "), "{told:?}");
        add(&mut store, 2);
        rounds.round(&LIMITS);
        rounds.round(&LIMITS);
        let told: Vec<String> = events.try_iter().map(|event| event.detail).collect();
        assert_eq!(told, [r#"{"query":"urls","row":{"depth":0,"url":"http://a.test/2"}}"#]);
        // More than there is room for: the rest is counted.
        (3..10).for_each(|number| add(&mut store, number));
        rounds.round(&LIMITS);
        assert_eq!(events.try_iter().count(), 3);
        add(&mut store, 10);
        rounds.round(&LIMITS);
        let told: Vec<String> = events.try_iter().map(|event| event.detail).collect();
        assert!(told[0].starts_with("4 answers are not listed") && told.len() == 2, "{told:?}");
        assert!(store.drop_query("urls").unwrap() && !store.drop_query("urls").unwrap());
        rounds.round(&LIMITS);
        assert!(rounds.known.len() == 1 && events.try_iter().next().is_none());
        // After the end, only the last round asks.
        keep(&mut store, "late", "select nope from crawl");
        rounds.is_over.store(true, Ordering::Relaxed);
        rounds.round(&LIMITS);
        assert!(events.try_iter().next().is_none());
        rounds.round(&QueryLimits { time: LAST_TIME, ..LIMITS });
        assert_eq!(events.try_iter().count(), 1);
    }
}
