//! Kept queries, and the tables that queries can ask.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use porthole_store::{KeptQuery, StoreReader};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::DashboardState;
use super::extract::{BodyOf, Named, check_text};
use super::topics::{self, OperationOutcome};
use crate::error::{Answer, ApiError};

/// A query whose new rows are events of the crawl.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct KeptRow {
    name: String,
    /// A named query, or SQL.
    query: String,
    parameters: BTreeMap<String, String>,
    /// Paths of the topics that it is about.
    topics: Vec<String>,
    /// Since when it is kept.
    at: i64,
}

/// The kept queries; their new rows are events of the kind `answer`
#[utoipa::path(get, path = "/w/{w}/kept", operation_id = "list_kept_queries", params(("w" = String, Path,)),
    responses((status = 200, body = Vec<KeptRow>)))]
pub(crate) async fn kept(Named(workspace): Named) -> Answer<Json<Vec<KeptRow>>> {
    let row = |query: KeptQuery| KeptRow {
        name: query.name,
        query: query.question,
        parameters: query.parameters.into_iter().collect(),
        topics: query.topics,
        at: query.at.0,
    };
    let read =
        workspace.read(move |workspace| Ok(workspace.reader.kept_queries()?.into_iter().map(row).collect()));
    read.await.map(Json)
}

/// A change of the kept queries.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeepOperation {
    op: KeepWord,
    /// One word.
    name: String,
    /// Of `keep`: a named query, or SQL.
    query: Option<String>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum KeepWord {
    Keep,
    Drop,
}

/// Keep or drop a query
#[utoipa::path(post, path = "/w/{w}/kept", operation_id = "change_kept_queries", params(("w" = String, Path,)),
    request_body = KeepOperation, responses((status = 200, body = OperationOutcome)))]
pub(crate) async fn change(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    BodyOf(request): BodyOf<KeepOperation>,
) -> Answer<Json<OperationOutcome>> {
    check_text("name", &request.name)?;
    let call = match request.op {
        KeepWord::Drop => workspace.call(&["query", "drop"]).values([&request.name]),
        KeepWord::Keep => {
            let query =
                request.query.ok_or_else(|| ApiError::bad("`query` is needed"))?.replace(['\n', '\r'], " ");
            check_text("query", &query)?;
            let pairs = request.parameters.iter().map(|(name, value)| format!("{name}={value}"));
            let pairs: Vec<String> = pairs.collect();
            pairs.iter().try_for_each(|pair| check_text("a parameter", pair))?;
            let values = [request.name, query].into_iter().chain(pairs);
            workspace.call(&["query", "keep"]).values(values)
        }
    };
    topics::done(&state, &call).await
}

/// A table or view.
#[derive(Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TableFacts {
    table: String,
    about: String,
    columns: Vec<ColumnFacts>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, ToSchema)]
struct ColumnFacts {
    name: String,
    about: String,
}

/// The tables and their columns
#[utoipa::path(get, path = "/w/{w}/schema", params(("w" = String, Path,)),
    responses((status = 200, body = Vec<TableFacts>)))]
pub(crate) async fn schema(Named(_): Named) -> Json<Vec<TableFacts>> {
    Json(tables(include_str!("../../../docs/schema.md")))
}

/// The tables that a page describes: a heading with the name, text, and a table of columns.
fn tables(page: &str) -> Vec<TableFacts> {
    let mut tables: Vec<TableFacts> = Vec::new();
    for section in page.split("\n### `").skip(1) {
        let Some((name, rest)) = section.split_once('`') else { continue };
        let rest = rest.split("\n## ").next().unwrap_or_default();
        let about: Vec<&str> = rest
            .lines()
            .skip(1)
            .take_while(|line| !line.starts_with('|'))
            .filter(|line| !line.is_empty())
            .collect();
        let column = |line: &str| {
            let mut cells = line.strip_prefix("| `")?.splitn(2, "` | ");
            let (name, about) = (cells.next()?.to_owned(), cells.next()?.trim_end_matches(" |").to_owned());
            Some(ColumnFacts { name, about })
        };
        let columns = rest.lines().filter_map(column).collect();
        tables.push(TableFacts { table: name.to_owned(), about: about.join(" "), columns });
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_on_the_tables_is_read() {
        let found = tables(include_str!("../../../docs/schema.md"));
        let crawl = found.iter().find(|table| table.table == "crawl").unwrap();
        assert!(crawl.about.starts_with("Every known URL"), "{}", crawl.about);
        assert_eq!(
            (crawl.columns[1].name.as_str(), crawl.columns[1].about.as_str()),
            ("url", "the canonical URL")
        );
        assert!(found.len() > 20 && found.iter().all(|table| !table.columns.is_empty()), "{found:?}");
    }
}
