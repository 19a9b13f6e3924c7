//! `porthole export tables`: the tables as Parquet files, with the statements of the distiller, the classifier and the
//! named queries, so that another engine can run them.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Context;
use porthole_crawl::Snapshot;
use porthole_export::{export_rows, export_table};
use porthole_store::{BATCH_TABLES, ColumnType, QUERIES, SqlValue, TableReader, batch_statements};
use serde::Serialize;

use crate::cli;
use crate::output::{self, misuse};
use crate::workspace::Workspace;

/// The file with the statements and what they need besides the tables.
const BATCH_FILE: &str = "batch.json";

#[derive(Serialize)]
struct BatchWork {
    /// Minimum relevance of authorities (exclusive).
    rho: f64,
    tolerance: f64,
    max_iterations: usize,
    statements: BTreeMap<&'static str, String>,
    queries: BTreeMap<&'static str, BatchQuery>,
}

/// A named query; values of its parameters are written `:name`.
#[derive(Serialize)]
struct BatchQuery {
    sql: &'static str,
    parameters: BTreeMap<&'static str, Option<&'static str>>,
}

/// The result, for `--json`.
#[derive(Serialize)]
struct TablesSummary {
    rows: BTreeMap<&'static str, u64>,
}

pub(super) fn run(
    workspace: &Workspace,
    reader: &TableReader,
    arguments: &cli::ExportTables,
) -> anyhow::Result<()> {
    let folder = &arguments.output;
    if folder.exists() {
        return Err(misuse(format!("{} exists; choose another name, or remove it", folder.display())));
    }
    let part = folder.with_added_extension("part");
    if part.exists() {
        fs::remove_dir_all(&part).with_context(|| part.display().to_string())?;
    }
    fs::create_dir(&part).with_context(|| part.display().to_string())?;
    let mut rows = BTreeMap::new();
    // Links before the URLs that they are between: a crawl may add both meanwhile.
    for table in BATCH_TABLES.iter().rev() {
        rows.insert(table.name, export_table(reader, table, &part.join(table.name))?);
    }
    let settings = workspace.settings.distill.ready()?;
    let inputs = Snapshot::read_by(reader, settings.site)?.sql_inputs(settings.rho)?;
    let number = |id: u64| SqlValue::Integer(id.cast_signed());
    for (name, factors) in [("factor", &inputs.factors), ("hub_factor", &inputs.hub_factors)] {
        let factors: Vec<_> =
            factors.iter().map(|(oid, factor)| vec![number(oid.0), SqlValue::Real(*factor)]).collect();
        let columns = [("oid", ColumnType::Whole), ("value", ColumnType::Real)];
        rows.insert(name, export_rows(&columns, factors, &part.join(name))?);
    }
    let sites = inputs.sites.iter().map(|(sid, other)| vec![number(sid.0), number(other.0)]).collect();
    let columns = [("sid", ColumnType::Whole), ("other", ColumnType::Whole)];
    rows.insert("alias", export_rows(&columns, sites, &part.join("alias"))?);
    let queries = QUERIES.iter().map(|query| {
        let parameters = query.parameters.iter().map(|parameter| (parameter.name, parameter.default));
        (query.name, BatchQuery { sql: query.sql, parameters: parameters.collect() })
    });
    let work = BatchWork {
        rho: inputs.rho,
        tolerance: inputs.tolerance,
        max_iterations: inputs.max_iterations,
        statements: batch_statements().into_iter().collect(),
        queries: queries.collect(),
    };
    let path = part.join(BATCH_FILE);
    fs::write(&path, serde_json::to_string_pretty(&work)?).with_context(|| path.display().to_string())?;
    fs::rename(&part, folder).with_context(|| folder.display().to_string())?;
    if arguments.json {
        return output::print_json(&TablesSummary { rows });
    }
    let all: u64 = rows.values().sum();
    let all = output::count(usize::try_from(all).unwrap_or(usize::MAX), "row");
    output::say(&format!("exported {all} of {} tables to {}", rows.len(), folder.display()));
    Ok(())
}
