//! `--with`: one question to several workspaces.

use std::path::{Path, PathBuf};

use porthole_store::{QueryAnswer, QueryLimits, SqlValue, SqliteReader, StoreReader};

use super::{GRACE, QueryRequest, end_late, explained, with_deadline};
use crate::workspace::Workspace;

/// Asks the workspace and the others. A named query is asked of each; SQL sees the tables of all.
pub(super) fn ask(
    root: &Path,
    reader: SqliteReader,
    others: &[PathBuf],
    question: &QueryRequest<'_>,
    limits: &QueryLimits,
) -> anyhow::Result<QueryAnswer> {
    let mut databases = vec![(name_of(root, &[]), reader)];
    for folder in others {
        let reader = Workspace::open(folder)?.reader()?;
        let name = name_of(folder, &databases);
        databases.push((name, reader));
    }
    let time = limits.time;
    match question {
        QueryRequest::Sql(sql) => {
            let late = move || end_late(time);
            let answer = with_deadline(time.saturating_add(GRACE), late, || {
                SqliteReader::sql_across(&databases, sql, limits)
            });
            answer.map_err(explained)
        }
        QueryRequest::Named { query, parameters } => {
            let mut all = QueryAnswer::default();
            for (name, reader) in &databases {
                let left = QueryLimits { rows: limits.rows.saturating_sub(all.rows.len()), ..*limits };
                let late = move || end_late(time);
                let answer = with_deadline(time.saturating_add(GRACE), late, || {
                    reader.query(query.name, parameters, &left)
                });
                let answer = answer.map_err(|error| explained(error).context(format!("workspace {name}")))?;
                all.columns = std::iter::once("workspace".to_owned()).chain(answer.columns).collect();
                all.is_cut |= answer.is_cut;
                let row = |row: Vec<SqlValue>| {
                    std::iter::once(SqlValue::Text(name.clone())).chain(row).collect::<Vec<_>>()
                };
                all.rows.extend(answer.rows.into_iter().map(row));
            }
            Ok(all)
        }
    }
}

/// The name of a workspace: that of its folder, with a number if it is taken.
fn name_of(folder: &Path, taken: &[(String, SqliteReader)]) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name =
        whole.file_name().map_or_else(|| "workspace".to_owned(), |name| name.to_string_lossy().into_owned());
    let is_taken = |name: &str| {
        // SQLite compares the names of databases so, and has two of its own.
        let same = |other: &str| other.eq_ignore_ascii_case(name);
        same("main") || same("temp") || taken.iter().any(|(other, _)| same(other))
    };
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(name)
}
