//! `query keep`, `query kept`, `query drop`: queries that are kept with the workspace and answered as pages arrive.

use std::path::Path;

use porthole_crawl::SystemClock;
use porthole_store::{KeptQuery, QueryLimits, StoreReader, WorkspaceWriter};
use porthole_types::Clock;
use serde::Serialize;

use super::list;
use crate::cli::{self, KeepArguments, KeepQuery};
use crate::commands::{topics, units};
use crate::output::{self, misuse};
use crate::workspace::{self, Workspace};

pub(super) fn run(root: &Path, command: &KeepQuery) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    match command {
        KeepQuery::Keep(arguments) => keep(root, &workspace, arguments),
        KeepQuery::Kept { json } => print(&workspace, *json),
        KeepQuery::Drop { name } => {
            if !workspace.writer()?.drop_query(name)? {
                return Err(misuse(format!("no query is kept as {name}; `porthole query kept` lists all")));
            }
            output::say(&format!("dropped {name}"));
            Ok(())
        }
    }
}

fn keep(root: &Path, workspace: &Workspace, arguments: &KeepArguments) -> anyhow::Result<()> {
    let KeepArguments { name, question, parameters, topic, drive } = arguments;
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(misuse("the name of a kept query must be one word"));
    }
    let pair = |text: &String| {
        let pair = text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        pair.filter(|(_, value)| !value.contains('\n'))
            .ok_or_else(|| misuse(format!("{text}: a parameter is NAME=VALUE, in one line")))
    };
    let reader = workspace.reader()?;
    let tree = workspace::tree(&reader)?;
    let paths = topic.iter().map(|path| Ok(tree.path(tree.find(path)?)));
    let query = KeptQuery {
        name: name.clone(),
        question: question.trim().to_owned(),
        parameters: parameters.iter().map(pair).collect::<anyhow::Result<_>>()?,
        topics: paths.collect::<anyhow::Result<_>>()?,
        at: SystemClock.now(),
    };
    // It must be answered once before it is kept.
    let limits = QueryLimits { shorten: true, ..QueryLimits::default() };
    let answer = if query.question.contains(char::is_whitespace) {
        if !query.parameters.is_empty() {
            return Err(misuse("only named queries have parameters; put SQL in quotes"));
        }
        reader.sql(&query.question, &limits)
    } else {
        let pairs: Vec<(&str, &str)> =
            query.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        reader.query(list::named(&query.question)?.name, &pairs, &limits)
    };
    let rows = answer.map_err(super::explained)?.rows.len();
    workspace.writer()?.keep_query(&query)?;
    let rows = output::count(rows, "row");
    output::say(&format!(
        "kept {name}: {rows} now; new rows are events of the next crawls (`crawl --events -`)"
    ));
    if *drive {
        let mark = cli::Topics::Mark(cli::PathArguments { paths: query.topics });
        topics::run(root, &mark)?;
    }
    Ok(())
}

/// A kept query for programs.
#[derive(Serialize)]
struct KeptLine<'a> {
    name: &'a str,
    question: &'a str,
    parameters: Vec<String>,
    topics: &'a [String],
    at: i64,
}

fn print(workspace: &Workspace, json: bool) -> anyhow::Result<()> {
    let queries = workspace.reader()?.kept_queries()?;
    let parameters = |query: &KeptQuery| -> Vec<String> {
        query.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect()
    };
    if json {
        let lines: Vec<KeptLine<'_>> = queries
            .iter()
            .map(|query| KeptLine {
                name: &query.name,
                question: &query.question,
                parameters: parameters(query),
                topics: &query.topics,
                at: query.at.0,
            })
            .collect();
        return output::print_json(&lines);
    }
    if queries.is_empty() {
        output::say("no query is kept; `porthole query keep NAME …` keeps one");
        return Ok(());
    }
    let row = |query: &KeptQuery| {
        let question = std::iter::once(query.question.clone()).chain(parameters(query));
        vec![
            query.name.clone(),
            question.collect::<Vec<_>>().join(" "),
            query.topics.join(" "),
            units::moment(query.at),
        ]
    };
    let rows: Vec<Vec<String>> = queries.iter().map(row).collect();
    output::print_table(&["name", "question", "topics", "since"], &rows);
    Ok(())
}
