//! `porthole query`: named queries and SQL on the database of a crawl, once or repeatedly.

mod form;
mod list;
mod watch;

use std::path::Path;

use porthole_store::{Error, NamedQuery, QueryAnswer, QueryLimits, SqliteReader, StoreReader};

use self::form::OutputFormat;
use crate::cli;
use crate::output::{self, misuse};
use crate::workspace::Workspace;

pub(crate) async fn run(root: &Path, arguments: &cli::Query) -> anyhow::Result<()> {
    if arguments.list {
        return list::run(arguments.question.as_deref(), arguments.json);
    }
    let question = QueryRequest::of(arguments)?;
    let reader = Workspace::open(root)?.reader()?;
    if arguments.watch {
        return watch::run(&reader, &question, arguments).await;
    }
    let answer = question.ask(&reader, &limits(arguments))?;
    OutputFormat::of(arguments).print(&answer)?;
    question.report_truncation(&answer, arguments.rows);
    Ok(())
}

fn limits(arguments: &cli::Query) -> QueryLimits {
    QueryLimits { rows: arguments.rows, time: arguments.time, shorten: true, ..QueryLimits::default() }
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
                misuse(format!("{text}: a parameter is NAME=VALUE, such as topic=/Recreation/Cycling"))
            })
        };
        let parameters = arguments.parameters.iter().map(pair).collect::<anyhow::Result<_>>()?;
        Ok(QueryRequest::Named { query, parameters })
    }

    fn ask(&self, reader: &SqliteReader, limits: &QueryLimits) -> anyhow::Result<QueryAnswer> {
        let answer = match self {
            QueryRequest::Named { query, parameters } => reader.query(query.name, parameters, limits),
            QueryRequest::Sql(sql) => reader.sql(sql, limits),
        };
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
    fn report_truncation(&self, answer: &QueryAnswer, limit: usize) {
        let count = output::grouped(&answer.rows.len().to_string());
        if answer.is_cut {
            output::say(&format!(
                "only the first {} are shown; use --rows N for more",
                output::count(limit, "row")
            ));
        } else if !answer.rows.is_empty() && self.row_limit() == Some(answer.rows.len()) {
            output::say(&format!("limited to {count} rows; rows=N asks for more"));
        }
    }
}

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
        error => error.into(),
    }
}
