//! `porthole query`: named queries and SQL over everything that a crawl has written, once or again and again.

mod form;
mod list;
mod watch;

use std::path::Path;

use porthole_store::{Answer, Error, Limits, NamedQuery, SqliteReader, StoreReader};

use self::form::Form;
use crate::cli;
use crate::output::{self, misuse};
use crate::workspace::Workspace;

pub(crate) async fn run(root: &Path, arguments: &cli::Query) -> anyhow::Result<()> {
    if arguments.list {
        return list::run(arguments.question.as_deref(), arguments.json);
    }
    let question = Question::of(arguments)?;
    let reader = Workspace::open(root)?.reader()?;
    if arguments.watch {
        return watch::run(&reader, &question, arguments).await;
    }
    let answer = question.ask(&reader, &limits(arguments))?;
    Form::of(arguments).print(&answer)?;
    question.note(&answer, arguments.rows);
    Ok(())
}

fn limits(arguments: &cli::Query) -> Limits {
    Limits { rows: arguments.rows, time: arguments.time, shorten: true, ..Limits::default() }
}

/// What is asked.
enum Question<'a> {
    Named { query: &'static NamedQuery, parameters: Vec<(&'a str, &'a str)> },
    Sql(&'a str),
}

impl<'a> Question<'a> {
    fn of(arguments: &'a cli::Query) -> anyhow::Result<Question<'a>> {
        let question = arguments.question.as_deref().unwrap_or_default().trim();
        // No name has a space in it, and no statement has none.
        if question.contains(char::is_whitespace) || question.is_empty() {
            if let Some(parameter) = arguments.parameters.first() {
                return Err(misuse(format!(
                    "{parameter}: only named queries have parameters; is the statement in quotes?"
                )));
            }
            return Ok(Question::Sql(question));
        }
        let query = list::named(question)?;
        let pair = |text: &'a String| {
            text.split_once('=').ok_or_else(|| {
                misuse(format!("{text}: a parameter is NAME=VALUE, as in topic=/Recreation/Cycling"))
            })
        };
        let parameters = arguments.parameters.iter().map(pair).collect::<anyhow::Result<_>>()?;
        Ok(Question::Named { query, parameters })
    }

    fn ask(&self, reader: &SqliteReader, limits: &Limits) -> anyhow::Result<Answer> {
        let answer = match self {
            Question::Named { query, parameters } => reader.query(query.name, parameters, limits),
            Question::Sql(sql) => reader.sql(sql, limits),
        };
        answer.map_err(explained)
    }

    /// The columns by which a row is known again; all if there are none.
    fn key(&self) -> &'static [&'static str] {
        match self {
            Question::Named { query, .. } => query.key,
            Question::Sql(_) => &[],
        }
    }

    /// How many rows the named query was asked for at most.
    fn most(&self) -> Option<usize> {
        let Question::Named { query, parameters } = self else { return None };
        let default = query.parameters.iter().find(|parameter| parameter.name == "rows")?.default;
        let given = parameters.iter().rev().find(|(name, _)| *name == "rows").map(|(_, value)| *value);
        given.or(default)?.parse().ok()
    }

    /// Says that there are rows which are not shown, or may be.
    fn note(&self, answer: &Answer, limit: usize) {
        let count = output::grouped(&answer.rows.len().to_string());
        if answer.is_cut {
            output::say(&format!(
                "only the first {} are shown; --rows N shows more",
                output::count(limit, "row")
            ));
        } else if !answer.rows.is_empty() && self.most() == Some(answer.rows.len()) {
            output::say(&format!("there may be more than these {count} rows: rows=N asks for more"));
        }
    }
}

/// What is wrong with the question is a misuse; that it takes too long comes with a way out.
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
        Error::TooSlow(_) => anyhow::anyhow!("{error}, or give it longer with --time"),
        error => error.into(),
    }
}
