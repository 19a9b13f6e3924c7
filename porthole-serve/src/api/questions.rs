//! Search, named queries and SQL.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use porthole_store::{
    MARK_END, MARK_START, NamedQuery, ParameterKind, QueryLimits, SearchRequest, SqlValue, StoreReader,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::DashboardState;
use super::extract::{BodyOf, Named, QueryOf};
use super::topics;
use crate::error::{Answer, ApiError};
use crate::program::error_line;
use crate::workspaces::ServedWorkspace;

/// Limits of a query; `rows` are shortened.
const LIMITS: QueryLimits = QueryLimits {
    rows: 2_000,
    bytes: 4 << 20,
    time: Duration::from_secs(15),
    temporary: 256 << 20,
    shorten: true,
};

/// Queries at once; each may use a core for its whole time.
pub(super) const MOST_QUERIES: usize = 4;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchParameters {
    /// Words, and phrases in quotes.
    q: String,
    /// Only pages about this topic and the topics below it.
    topic: Option<String>,
    /// Only pages of this host and the names below it.
    site: Option<String>,
    /// Only pages in this language, such as en.
    language: Option<String>,
    /// Least relevance.
    min: Option<f64>,
    /// Maximum number [default: 20].
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
}

/// Pages that were found.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct SearchHits {
    hits: Vec<SearchHit>,
    /// Whether no page has all words, so that these have some of them.
    has_some_words_only: bool,
    /// Pages in the index.
    indexed: u64,
    /// Fetches that are not in the index yet; it is being filled.
    behind: u64,
}

#[derive(Serialize, Deserialize, ToSchema)]
struct SearchHit {
    url: String,
    title: String,
    /// The text around the words.
    snippet: Vec<SnippetPart>,
    relevance: f64,
    /// Path of the best topic.
    topic: Option<String>,
    score: f64,
    language: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, ToSchema)]
struct SnippetPart {
    text: String,
    /// Whether it is one of the words.
    marked: bool,
}

/// Search the text of the pages
#[utoipa::path(get, path = "/w/{w}/search", params(("w" = String, Path,), SearchParameters),
    responses((status = 200, body = SearchHits)))]
pub(crate) async fn search(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    QueryOf(query): QueryOf<SearchParameters>,
) -> Answer<Json<SearchHits>> {
    let words = SearchRequest::phrases(&query.q);
    if words.is_empty() {
        return Err(ApiError::bad("nothing to search for; give at least one word"));
    }
    fill_index(&state, &workspace).await?;
    let read = workspace.read(move |workspace| {
        let tree = workspace.tree()?;
        let request = SearchRequest {
            words,
            topics: match &query.topic {
                Some(path) => tree.below(topics::find(&tree, path)?),
                None => Vec::new(),
            },
            min_relevance: query.min.unwrap_or(0.0),
            site: query.site,
            language: query.language,
            limit: query.limit.unwrap_or(20).clamp(1, 1_000) as usize,
        };
        let found = workspace.reader.search(&request)?;
        let behind = match &found {
            Some(answer) => answer.index.behind,
            // The index does not exist yet.
            None => workspace.reader.counts()?.fetched as u64,
        };
        let answer = found.unwrap_or_default();
        let hit = |page: porthole_store::FoundPage| SearchHit {
            url: page.url,
            title: page.title,
            snippet: parts(&page.snippet),
            relevance: page.relevance,
            topic: page.topic.filter(|&topic| tree.contains(topic)).map(|topic| tree.path(topic)),
            score: page.score,
            language: page.language,
        };
        Ok(SearchHits {
            has_some_words_only: answer.has_some_words_only,
            hits: answer.pages.into_iter().map(hit).collect(),
            indexed: answer.index.indexed,
            behind,
        })
    });
    read.await.map(Json)
}

/// Brings the index up to date by `porthole search`, and waits a little for it. It goes on when it takes longer.
async fn fill_index(state: &Arc<DashboardState>, workspace: &Arc<ServedWorkspace>) -> Answer<()> {
    const PATIENCE: Duration = Duration::from_secs(5);
    let index = workspace.clone().read(|workspace| Ok(workspace.reader.index_state()?)).await?;
    if index.is_some_and(|index| index.behind == 0 && index.links_behind == 0) {
        return Ok(());
    }
    let Some(filling) = workspace.filling_place() else { return Ok(()) };
    let call = workspace.call(&["search"]).hidden("--json").option("limit", "1").values(["a"]);
    let child = state.runner.start(&call)?;
    let filled = tokio::spawn(async move {
        let output = child.wait_with_output().await;
        drop(filling);
        output
    });
    let Ok(Ok(Ok(output))) = tokio::time::timeout(PATIENCE, filled).await else { return Ok(()) };
    match error_line(String::from_utf8_lossy(&output.stderr).lines()) {
        Some(error) => Err(ApiError::failed(error)),
        None => Ok(()),
    }
}

/// A snippet with its marks as parts.
fn parts(snippet: &str) -> Vec<SnippetPart> {
    let parts = snippet.split([MARK_START, MARK_END]).enumerate();
    let parts = parts.map(|(number, text)| SnippetPart { text: text.to_owned(), marked: number % 2 == 1 });
    parts.filter(|part| !part.text.is_empty()).collect()
}

/// A named query.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct QueryForm {
    name: String,
    title: String,
    parameters: Vec<QueryParameter>,
    sql: String,
}

#[derive(Serialize, Deserialize, ToSchema)]
struct QueryParameter {
    name: String,
    title: String,
    /// integer, number or topic.
    kind: String,
    /// Default value; null: it is required.
    default: Option<String>,
}

/// The named queries
#[utoipa::path(get, path = "/w/{w}/queries", params(("w" = String, Path,)),
    responses((status = 200, body = Vec<QueryForm>)))]
pub(crate) async fn queries(Named(workspace): Named) -> Json<Vec<QueryForm>> {
    let form = |query: &NamedQuery| QueryForm {
        name: query.name.to_owned(),
        title: query.description.to_owned(),
        sql: query.sql.to_owned(),
        parameters: query
            .parameters
            .iter()
            .map(|parameter| QueryParameter {
                name: parameter.name.to_owned(),
                title: parameter.description.to_owned(),
                kind: match parameter.kind {
                    ParameterKind::Whole => "integer",
                    ParameterKind::Number => "number",
                    ParameterKind::Topic => "topic",
                }
                .to_owned(),
                default: parameter.default.map(str::to_owned),
            })
            .collect(),
    };
    Json(workspace.reader.queries().iter().map(form).collect())
}

/// A named query with parameters, or one SQL statement that only reads.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = QueryRequest)]
pub(crate) struct QuestionBody {
    name: Option<String>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    sql: Option<String>,
}

/// Rows with named columns.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct QueryResult {
    columns: Vec<String>,
    /// Values: null, numbers and text. Whole numbers beyond 2^53 and bytes (in hexadecimal) are text.
    #[schema(value_type = Vec<Vec<Value>>)]
    rows: Vec<Vec<Value>>,
    /// Whether there were more rows.
    truncated: bool,
    /// How long it took.
    ms: u64,
    command: String,
}

/// Run a named query or SQL; it can only read, within limits of rows, time and memory
#[utoipa::path(post, path = "/w/{w}/query", params(("w" = String, Path,)), request_body = QuestionBody,
    responses((status = 200, body = QueryResult)))]
pub(crate) async fn query(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    BodyOf(request): BodyOf<QuestionBody>,
) -> Answer<Json<QueryResult>> {
    let Ok(_place) = state.queries.clone().try_acquire_owned() else {
        return Err(ApiError::busy("too many queries are running"));
    };
    let shown = {
        let call = workspace.call(&["query"]);
        let pairs = request.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        match (&request.name, &request.sql) {
            (Some(name), None) => call.values([name.clone()].into_iter().chain(pairs)),
            (None, Some(sql)) => call.values([sql]),
            _ => return Err(ApiError::bad("either `name` or `sql` is needed")),
        }
    };
    let read = workspace.read(move |workspace| {
        let began = Instant::now();
        let parameters: Vec<(&str, &str)> =
            request.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let answer = match (&request.name, &request.sql) {
            (Some(name), _) => workspace.reader.query(name, &parameters, &LIMITS)?,
            (None, sql) => workspace.reader.sql(sql.as_deref().unwrap_or_default(), &LIMITS)?,
        };
        Ok(QueryResult {
            columns: answer.columns,
            rows: answer.rows.iter().map(|row| row.iter().map(value).collect()).collect(),
            truncated: answer.is_cut,
            ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            command: shown.shown().to_owned(),
        })
    });
    read.await.map(Json)
}

fn value(value: &SqlValue) -> Value {
    /// Larger numbers are not exact in JavaScript.
    const EXACT: u64 = 1 << 53;
    match value {
        SqlValue::Null => Value::Null,
        SqlValue::Integer(number) if number.unsigned_abs() <= EXACT => json!(number),
        SqlValue::Integer(number) => json!(number.to_string()),
        SqlValue::Real(number) => json!(number),
        SqlValue::Text(text) => json!(text),
        SqlValue::Blob(bytes) => json!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippets_are_parts() {
        let part = |text: &str, marked| SnippetPart { text: text.to_owned(), marked };
        assert_eq!(parts("a \u{2}<b>\u{3} c"), [part("a ", false), part("<b>", true), part(" c", false)]);
        assert_eq!(parts("\u{2}owl\u{3}"), [part("owl", true)]);
    }

    #[test]
    fn ids_stay_exact() {
        assert_eq!(value(&SqlValue::Integer(-5)), json!(-5));
        assert_eq!(value(&SqlValue::Integer(i64::MIN)), json!("-9223372036854775808"));
        assert_eq!(value(&SqlValue::Blob(vec![0, 255])), json!("00ff"));
    }
}
