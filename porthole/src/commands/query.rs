//! `porthole query`: named queries and SQL on the database of a crawl, once or repeatedly.

mod across;
mod form;
mod kept;
mod list;
mod watch;

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use porthole_store::{Error, NamedQuery, QueryAnswer, QueryLimits, SqliteReader, StoreReader};

use self::form::OutputFormat;
use crate::cli;
use crate::output::{self, misuse};
use crate::workspace::Workspace;

pub(crate) async fn run(root: &Path, arguments: &cli::Query) -> anyhow::Result<()> {
    if let Some(command) = &arguments.kept {
        return kept::run(root, command);
    }
    if arguments.list {
        return list::run(arguments.question.as_deref(), arguments.json);
    }
    let question = QueryRequest::of(arguments)?;
    let reader = Workspace::open(root)?.reader()?;
    if !arguments.with.is_empty() {
        let answer = across::ask(root, reader, &arguments.with, &question, &limits(arguments))?;
        OutputFormat::of(arguments).print(&answer)?;
        question.report_truncation(&answer);
        return Ok(());
    }
    if arguments.watch {
        return watch::run(&reader, &question, arguments).await;
    }
    let answer = question.ask(&reader, &limits(arguments))?;
    OutputFormat::of(arguments).print(&answer)?;
    question.report_truncation(&answer);
    Ok(())
}

/// Number of rows of a table, unless the user says otherwise.
const TABLE_ROWS: usize = 1_000;

/// Maximum size of a result for programs; more is an error.
const PROGRAM_BYTES: usize = 512 << 20;

fn limits(arguments: &cli::Query) -> QueryLimits {
    let is_for_programs = OutputFormat::of(arguments).is_for_programs();
    let defaults = QueryLimits::default();
    let (rows, bytes) =
        if is_for_programs { (usize::MAX, PROGRAM_BYTES) } else { (TABLE_ROWS, defaults.bytes) };
    QueryLimits {
        rows: arguments.rows.unwrap_or(rows),
        bytes,
        time: arguments.time,
        temporary: arguments.temp,
        shorten: true,
    }
}

/// How much longer than allowed a query may take: SQLite looks at the time between two steps.
const GRACE: Duration = Duration::from_secs(1);

/// Runs a query. If it has not ended after `time`, calls `late` on another thread: SQLite does not interrupt a function
/// that takes long.
fn with_deadline<T>(time: Duration, late: impl FnOnce() + Send + 'static, query: impl FnOnce() -> T) -> T {
    let (done, ended) = mpsc::channel::<()>();
    thread::spawn(move || {
        if ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
            late();
        }
    });
    let answer = query();
    drop(done);
    answer
}

/// Ends the process, which only reads.
fn end_late(time: Duration) {
    output::say(&format!("error: {}", output::in_words(&explained(Error::TooSlow(time)))));
    std::process::exit(1);
}

/// The query to run.
enum QueryRequest<'a> {
    Named { query: &'static NamedQuery, parameters: Vec<(&'a str, &'a str)> },
    Sql(&'a str),
}

impl<'a> QueryRequest<'a> {
    fn of(arguments: &'a cli::Query) -> anyhow::Result<QueryRequest<'a>> {
        let question = arguments.question.as_deref().unwrap_or_default().trim();
        // Names contain no spaces, SQL statements always do.
        if question.contains(char::is_whitespace) || question.is_empty() {
            if let Some(parameter) = arguments.parameters.first() {
                return Err(misuse(format!(
                    "{parameter}: only named queries have parameters; put SQL in quotes"
                )));
            }
            return Ok(QueryRequest::Sql(question));
        }
        let query = list::named(question)?;
        let pair = |text: &'a String| {
            text.split_once('=').ok_or_else(|| {
                misuse(format!("{text}: a parameter is NAME=VALUE, such as topic=/Science/Biology/Birds"))
            })
        };
        let mut parameters = arguments.parameters.iter().map(pair).collect::<anyhow::Result<Vec<_>>>()?;
        let has_rows = query.parameters.iter().any(|parameter| parameter.name == "rows");
        if has_rows && OutputFormat::of(arguments).is_for_programs() {
            // The default is for people. What the user gave comes later and wins.
            parameters.insert(0, ("rows", ALL_ROWS));
        }
        Ok(QueryRequest::Named { query, parameters })
    }

    fn ask(&self, reader: &SqliteReader, limits: &QueryLimits) -> anyhow::Result<QueryAnswer> {
        let time = limits.time;
        let answer = with_deadline(
            time.saturating_add(GRACE),
            move || end_late(time),
            || match self {
                QueryRequest::Named { query, parameters } => reader.query(query.name, parameters, limits),
                QueryRequest::Sql(sql) => reader.sql(sql, limits),
            },
        );
        answer.map_err(explained)
    }

    /// The columns that identify a row; empty means all.
    fn key(&self) -> &'static [&'static str] {
        match self {
            QueryRequest::Named { query, .. } => query.key,
            QueryRequest::Sql(_) => &[],
        }
    }

    /// The row limit of a named query.
    fn row_limit(&self) -> Option<usize> {
        let QueryRequest::Named { query, parameters } = self else { return None };
        let default = query.parameters.iter().find(|parameter| parameter.name == "rows")?.default;
        let given = parameters.iter().rev().find(|(name, _)| *name == "rows").map(|(_, value)| *value);
        given.or(default)?.parse().ok()
    }

    /// Tells the user that rows are not shown, or may not be.
    fn report_truncation(&self, answer: &QueryAnswer) {
        let rows = output::count(answer.rows.len(), "row");
        if answer.is_cut {
            let are = if answer.rows.len() == 1 { "is" } else { "are" };
            output::say(&format!(
                "only the first {rows} {are} shown; use --rows N for more, or --csv for all"
            ));
        } else if !answer.rows.is_empty() && self.row_limit() == Some(answer.rows.len()) {
            output::say(&format!("limited to {rows}; rows=N asks for more"));
        }
    }
}

/// Value of `rows` for all rows.
const ALL_ROWS: &str = "9223372036854775807";

/// Maps errors of the query to usage errors; for a timeout, adds the option that raises it.
fn explained(error: Error) -> anyhow::Error {
    match error {
        Error::UnknownQuery(_)
        | Error::UnknownParameter { .. }
        | Error::MissingParameter { .. }
        | Error::WrongValue { .. }
        | Error::NoSuchTopic(_)
        | Error::Refused(_)
        | Error::NotOneStatement(_)
        | Error::Sql(_) => misuse(error.to_string()),
        Error::TooSlow(_) => anyhow::anyhow!("{error}, or raise the limit with --time"),
        Error::TooMuchTemporary(_) => anyhow::anyhow!("{error}, or raise the limit with --temp"),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_does_not_look_at_the_time_is_ended() {
        let (late, is_late) = mpsc::channel();
        let ended = with_deadline(Duration::ZERO, move || late.send(()).unwrap(), || is_late.recv());
        assert_eq!(ended, Ok(()), "the query waited until it was ended");
        let in_time = with_deadline(Duration::MAX, || panic!("nothing is late"), || 7);
        assert_eq!(in_time, 7);
    }
}
