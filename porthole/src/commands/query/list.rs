//! `porthole query --list`: the named queries with their parameters.

use porthole_store::{NamedQuery, Parameter, ParameterKind, QUERIES};
use serde::Serialize;

use crate::output::{self, Paint, misuse};

/// Lists all queries, or shows one with its SQL.
pub(super) fn run(name: Option<&str>, json: bool) -> anyhow::Result<()> {
    if let Some(name) = name {
        let query = named(name)?;
        if json {
            return output::print_json(&QueryFacts::of(query));
        }
        print(query);
        output::print(&format!("\n{}", plain_sql(query)));
        return Ok(());
    }
    if json {
        return output::print_json(&QUERIES.iter().map(QueryFacts::of).collect::<Vec<_>>());
    }
    QUERIES.iter().for_each(print);
    Ok(())
}

/// Finds a query by name; the error lists similar ones.
pub(super) fn named(name: &str) -> anyhow::Result<&'static NamedQuery> {
    let wanted = name.replace('_', "-");
    if let Some(query) = QUERIES.iter().find(|query| query.name == wanted) {
        return Ok(query);
    }
    let alike = |query: &&NamedQuery| {
        let mut words = wanted.split('-').filter(|word| word.len() > 2);
        words.any(|word| query.name.contains(word) || query.description.contains(word))
    };
    let alike: Vec<&str> = QUERIES.iter().filter(alike).map(|query| query.name).collect();
    let hint = if alike.is_empty() { String::new() } else { format!(" ({}?)", alike.join(", ")) };
    Err(misuse(format!(
        "no query named `{name}`{hint}: `porthole query --list` lists all; put SQL in quotes"
    )))
}

fn print(query: &NamedQuery) {
    output::print(&format!("{}  {}", Paint::Strong.on(query.name), query.description));
    for parameter in query.parameters {
        let Parameter { name, description, .. } = parameter;
        let value = parameter.default.unwrap_or(example(parameter.kind));
        let must = if parameter.default.is_none() { "; must be given" } else { "" };
        output::print(&format!(
            "    {:<22}{}",
            format!("{name}={value}"),
            Paint::Faint.on(&format!("{description}{must}"))
        ));
    }
}

fn example(kind: ParameterKind) -> &'static str {
    match kind {
        ParameterKind::Topic => "PATH",
        ParameterKind::Whole | ParameterKind::Number => "N",
    }
}

/// The SQL without the indentation of the source file.
fn plain_sql(query: &NamedQuery) -> String {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let least =
        query.sql.lines().skip(1).filter(|line| !line.trim().is_empty()).map(|line| indent(&line)).min();
    let cut = |line: &str| line.get(least.unwrap_or(0).min(indent(&line))..).unwrap_or_default().to_owned();
    query.sql.lines().map(cut).collect::<Vec<_>>().join("\n")
}

#[derive(Serialize)]
struct QueryFacts {
    name: &'static str,
    description: &'static str,
    parameters: Vec<ParameterFacts>,
    sql: String,
}

#[derive(Serialize)]
struct ParameterFacts {
    name: &'static str,
    description: &'static str,
    kind: &'static str,
    default: Option<&'static str>,
}

impl QueryFacts {
    fn of(query: &NamedQuery) -> QueryFacts {
        let parameter = |parameter: &Parameter| ParameterFacts {
            name: parameter.name,
            description: parameter.description,
            kind: match parameter.kind {
                ParameterKind::Topic => "topic",
                ParameterKind::Whole => "whole",
                ParameterKind::Number => "number",
            },
            default: parameter.default,
        };
        QueryFacts {
            name: query.name,
            description: query.description,
            parameters: query.parameters.iter().map(parameter).collect(),
            sql: plain_sql(query),
        }
    }
}
