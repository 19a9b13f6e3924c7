//! A connection to PostgreSQL.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::{StreamExt, future, stream};
use tokio::runtime::Runtime;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client, Config, Row, RowStream};

use super::tls;
use super::values::PgValue;
use crate::sql::Value;
use crate::{Error, Result};

/// A prepared statement.
pub(crate) type PgStatement = tokio_postgres::Statement;

/// Statements that were sent and whose results are not known yet.
type Sent = VecDeque<Pin<Box<dyn Future<Output = Result<u64, tokio_postgres::Error>> + Send>>>;

/// Results are collected when more statements were sent than this.
const MOST_SENT: usize = 512;
/// The channel on which workers are told that there are letters, or other best URLs.
pub(crate) const LETTERS_CHANNEL: &str = "porthole_letters";
/// How long to wait for a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection to PostgreSQL.
pub(crate) struct PgConnection {
    client: Arc<Client>,
    statements: RefCell<HashMap<String, PgStatement>>,
    sent: RefCell<Sent>,
    /// Whether a transaction is open.
    in_transaction: Cell<bool>,
    /// Notifications so far of changes, and of letters of other workers.
    notified: Arc<AtomicI64>,
    told: Arc<AtomicI64>,
    /// The process that serves this connection: it notifies itself, too.
    own_process: Arc<AtomicI64>,
    /// What a transaction that writes begins with, after it has the lock of writers.
    fence: RefCell<String>,
}

impl std::fmt::Debug for PgConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PgConnection").field("is_closed", &self.client.is_closed()).finish_non_exhaustive()
    }
}

/// The thread that drives all connections.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let started = RUNTIME.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).thread_name("postgres").enable_io().enable_time().build()
    });
    started.as_ref().map_err(|error| Error::Database(error.to_string().into()))
}

impl PgConnection {
    /// Connects to the database at a URL.
    pub(crate) fn connect(url: &str) -> Result<PgConnection> {
        let fail = |error: &tokio_postgres::Error| {
            let (database, reason) = (shown(url), super::values::words(error));
            match error.code() == Some(&SqlState::CANNOT_CONNECT_NOW) {
                true => Error::NotReady { database, reason },
                false => Error::Connect { database, reason },
            }
        };
        let (simple, tls) =
            tls::of_url(url).map_err(|reason| Error::Connect { database: shown(url), reason })?;
        let mut config: Config = simple.parse().map_err(|error| fail(&error))?;
        if config.get_application_name().is_none() {
            config.application_name("porthole");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        let (tell, answered) = mpsc::channel();
        let [notified, told, own_process] = std::array::from_fn(|_| Arc::new(AtomicI64::new(0)));
        let (count, count_told, own) = (Arc::clone(&notified), Arc::clone(&told), Arc::clone(&own_process));
        runtime()?.spawn(async move {
            match config.connect(tls).await {
                Err(error) => drop(tell.send(Err(error))),
                Ok((client, mut connection)) => {
                    drop(tell.send(Ok(client)));
                    let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
                    while let Some(Ok(message)) = messages.next().await {
                        let AsyncMessage::Notification(notification) = message else { continue };
                        if notification.channel() != LETTERS_CHANNEL {
                            count.fetch_add(1, Ordering::Release);
                        } else if i64::from(notification.process_id()) != own.load(Ordering::Acquire) {
                            count_told.fetch_add(1, Ordering::Release);
                        }
                    }
                }
            }
        });
        let connected = answered.recv().map_err(|_| Error::Database("the connection was not made".into()))?;
        let client = connected.map_err(|error| fail(&error))?;
        Ok(PgConnection {
            client: Arc::new(client),
            statements: RefCell::default(),
            sent: RefCell::default(),
            in_transaction: Cell::new(false),
            notified,
            told,
            own_process,
            fence: RefCell::default(),
        })
    }

    /// Prepares a statement, or finds it among those that were prepared before.
    pub(crate) fn prepare(&self, sql: &str) -> Result<PgStatement> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let translated = sql.replace('?', "$");
        let statement = self.wait(self.client.prepare(&translated))?;
        let mut statements = self.statements.borrow_mut();
        // Statements with lists of ids in them are all different.
        if statements.len() >= 200 {
            statements.clear();
        }
        statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Executes a statement. Returns the number of changed rows.
    pub(crate) fn execute(&self, statement: &PgStatement, values: &[Value<'_>]) -> Result<usize> {
        let changed = self.wait(self.client.execute_raw(statement, values.iter().map(PgValue)))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    /// Sends a statement; its error is that of a later call.
    pub(crate) fn send(&self, statement: &PgStatement, values: &[Value<'_>]) -> Result<()> {
        let (client, statement) = (Arc::clone(&self.client), statement.clone());
        let values: Vec<Value<'static>> = values.iter().map(owned).collect();
        let mut result: Pin<Box<dyn Future<Output = _> + Send>> =
            Box::pin(async move { client.execute_raw(&statement, values.iter().map(PgValue)).await });
        // The first poll sends it.
        match result.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Err(error)) => return Err(error.into()),
            Poll::Ready(Ok(_)) => {}
            Poll::Pending => self.sent.borrow_mut().push_back(result),
        }
        if self.sent.borrow().len() > MOST_SENT { self.collect() } else { Ok(()) }
    }

    /// The rows of an answer.
    pub(crate) fn query(&self, statement: &PgStatement, values: &[Value<'_>]) -> Result<Vec<Row>> {
        self.wait(async {
            let rows = self.client.query_raw(statement, values.iter().map(PgValue)).await?;
            let mut rows = pin!(rows);
            let mut found = Vec::new();
            while let Some(row) = rows.next().await {
                found.push(row?);
            }
            Ok(found)
        })
    }

    /// The rows of an answer as they come.
    pub(crate) fn stream(&self, statement: &PgStatement, values: &[Value<'_>]) -> Result<PgStream> {
        let rows = self.wait(self.client.query_raw(statement, values.iter().map(PgValue)))?;
        Ok(PgStream(Box::pin(rows)))
    }

    /// A statement that is used once, and the rows of its answer.
    pub(crate) fn ask(
        &self,
        sql: &str,
        explain: impl Fn(&tokio_postgres::Error) -> Error,
    ) -> Result<(PgStatement, Vec<Row>)> {
        self.collect()?;
        let asked: Result<_, tokio_postgres::Error> = pollster::block_on(async {
            let statement = self.client.prepare(sql).await?;
            let rows = self.client.query(&statement, &[]).await?;
            Ok((statement, rows))
        });
        asked.map_err(|error| explain(&error))
    }

    /// Executes statements without parameters.
    pub(crate) fn execute_batch(&self, sql: &str) -> Result<()> {
        self.wait(self.client.batch_execute(sql))?;
        if sql.starts_with("begin") {
            self.in_transaction.set(true);
        }
        Ok(())
    }

    /// Lets every transaction that writes begin with a statement, given with a semicolon before it.
    pub(crate) fn set_fence(&self, statement: String) {
        *self.fence.borrow_mut() = statement;
    }

    /// Begins a transaction that writes, given the statements for that.
    pub(crate) fn begin_writing(&self, sql: &str) -> Result<()> {
        let sql = format!("{sql}{}", self.fence.borrow());
        // A statement that fails leaves a transaction behind.
        self.execute_batch(&sql).inspect_err(|_| drop(self.execute_batch("rollback")))
    }

    /// Ends a transaction.
    pub(crate) fn end(&self, how: &str) -> Result<()> {
        if how == "rollback" {
            // The statements failed, or it does not matter whether they did.
            let _ = self.collect();
        } else {
            // A commit after a failed statement would be a rollback without an error.
            self.collect()?;
        }
        self.execute_batch(how)?;
        self.in_transaction.set(false);
        Ok(())
    }

    /// Whether it is open and outside a transaction.
    pub(crate) fn is_idle(&self) -> bool {
        !self.in_transaction.get() && !self.client.is_closed()
    }

    /// A number that grows with every change of others that this connection listens to.
    pub(crate) fn data_version(&self) -> Result<i64> {
        // Notifications come before the answer.
        self.execute_batch("select 1")?;
        Ok(self.notified.load(Ordering::Acquire))
    }

    /// Counts from now on what other workers tell.
    pub(crate) fn listen_to_workers(&self) -> Result<()> {
        let statement = self.prepare("select pg_backend_pid()::bigint")?;
        let process = self.query(&statement, &[])?.first().map_or(Ok(0), |row| row.try_get(0))?;
        self.own_process.store(process, Ordering::Release);
        self.execute_batch(&format!("listen {LETTERS_CHANNEL}"))
    }

    /// How often other workers have told something.
    pub(crate) fn told(&self) -> i64 {
        self.told.load(Ordering::Acquire)
    }

    /// Appends rows by COPY; with row numbers, if the first one is given.
    pub(crate) fn copy<'r, const N: usize>(
        &self,
        table: &str,
        columns: &[&str],
        first: Option<i64>,
        rows: impl Iterator<Item = [Value<'r>; N]>,
    ) -> Result<()> {
        let mut rows = rows.peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let numbered = first.map(|_| "rowid").into_iter();
        let list: Vec<&str> = numbered.chain(columns.iter().copied()).collect();
        let list = list.join(", ");
        let example = self.prepare(&format!("select {list} from {table}"))?;
        let types: Vec<Type> = example.columns().iter().map(|column| column.type_().clone()).collect();
        let copy = self.prepare(&format!("copy {table}({list}) from stdin (format binary)"))?;
        self.wait(async {
            let sink = self.client.copy_in(&copy).await?;
            let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
            for (place, row) in (0..).zip(rows) {
                let number = first.map(|first| Value::Integer(first + place));
                let values: Vec<&Value<'_>> = number.iter().chain(&row).collect();
                writer.as_mut().write_raw(values.into_iter().map(PgValue)).await?;
            }
            writer.finish().await.map(drop)
        })
    }

    /// Waits for the results of the statements that were sent. The error is that of the first one that failed.
    fn collect(&self) -> Result<()> {
        self.wait(future::ready(Ok(())))
    }

    /// Sends a request, waits for what was sent before, then for its result.
    fn wait<T>(&self, request: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T> {
        let mut request = pin!(request);
        let mut sent = std::mem::take(&mut *self.sent.borrow_mut());
        pollster::block_on(async {
            let early = if sent.is_empty() { None } else { polled_once(request.as_mut()).await };
            while let Some(result) = sent.pop_front() {
                result.await?;
            }
            Ok(match early {
                Some(result) => result?,
                None => request.await?,
            })
        })
    }
}

/// Rows that are read as they come.
pub(crate) struct PgStream(Pin<Box<RowStream>>);

impl PgStream {
    pub(crate) fn next(&mut self) -> Result<Option<Row>> {
        Ok(pollster::block_on(self.0.next()).transpose()?)
    }
}

/// Starts a future. Returns its result if it has one already.
async fn polled_once<T>(mut future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    future::poll_fn(|context| {
        Poll::Ready(match future.as_mut().poll(context) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        })
    })
    .await
}

fn owned(value: &Value<'_>) -> Value<'static> {
    match value {
        Value::Null => Value::Null,
        Value::Integer(number) => Value::Integer(*number),
        Value::Real(number) => Value::Real(*number),
        Value::Text(text) => Value::Text(text.clone().into_owned().into()),
        Value::Blob(bytes) => Value::Blob(bytes.clone().into_owned().into()),
    }
}

/// A URL without its password.
pub(crate) fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => {
            let user = rest[..at].split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{}", &rest[at + 1..])
        }
        None => url.to_owned(),
    }
}
