//! Sites by state, failures by kind, and what a new scope would remove.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use porthole_store::{QueryLimits, SqlValue, StoreReader};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::DashboardState;
use super::control::ScopeBody;
use super::extract::{BodyOf, Named, QueryOf};
use crate::error::{Answer, ApiError};
use crate::trace::now;

/// Failures in a row from which a site without queued URLs counts as given up.
const GIVEN_UP: i64 = 3;

/// A site.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct SiteRow {
    host: String,
    state: SiteCondition,
    queued: u64,
    /// Distinct URLs fetched from it.
    fetched: u64,
    /// Pages.
    pages: u64,
    mean_relevance: Option<f64>,
    /// URLs whose last try failed.
    failures: u64,
    /// It is not requested earlier.
    not_before: Option<i64>,
    /// Why it is in its state.
    reason: Option<String>,
}

/// State of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SiteWord)]
pub(crate) enum SiteCondition {
    /// It has queued URLs and may be requested.
    Ready,
    /// It has queued URLs and must not be requested yet.
    Resting,
    /// It failed so often that it is no longer requested.
    GivenUp,
    /// Fetching from it is disabled.
    Disabled,
    /// No URL of it is queued.
    Finished,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SitesQuery {
    state: Option<SiteCondition>,
    /// Only hosts that contain this.
    q: Option<String>,
    /// Maximum number [default: 100].
    #[param(minimum = 1, maximum = 10_000)]
    limit: Option<u32>,
}

/// Sites, those with most pages first
#[utoipa::path(get, path = "/w/{w}/sites", params(("w" = String, Path,), SitesQuery),
    responses((status = 200, body = Vec<SiteRow>)))]
pub(crate) async fn sites(
    Named(workspace): Named,
    QueryOf(query): QueryOf<SitesQuery>,
) -> Answer<Json<Vec<SiteRow>>> {
    let read = workspace.read(move |workspace| {
        let limits = QueryLimits { shorten: true, ..QueryLimits::default() };
        let found = workspace.reader.query("site-list", &[("rows", "1000000")], &limits)?;
        let now = now().0;
        let part = query.q.unwrap_or_default().to_lowercase();
        let rows = found.rows.iter().map(|row| SiteRow::of(row, now));
        let wanted = rows.filter(|site| {
            site.host.to_lowercase().contains(&part) && query.state.is_none_or(|state| state == site.state)
        });
        Ok(wanted.take(query.limit.unwrap_or(100).clamp(1, 10_000) as usize).collect())
    });
    read.await.map(Json)
}

impl SiteRow {
    /// A row of the query `site-list`.
    fn of(row: &[SqlValue], now: i64) -> SiteRow {
        let count = |place: usize| row[place].integer().unwrap_or(0).max(0).cast_unsigned();
        let queued = count(3);
        let trouble = row[8].integer().unwrap_or(0);
        let not_before = row[7].integer().filter(|&at| at > now);
        let (state, reason) = match (queued, not_before) {
            _ if row[6].integer() == Some(1) => {
                (SiteCondition::Disabled, Some("disabled by hand".to_owned()))
            }
            (0, _) if trouble >= GIVEN_UP => {
                (SiteCondition::GivenUp, Some(format!("{trouble} failures in a row")))
            }
            (0, _) => (SiteCondition::Finished, None),
            (_, Some(_)) if trouble > 0 => {
                (SiteCondition::Resting, Some(format!("{trouble} failures in a row")))
            }
            (_, Some(_)) => (SiteCondition::Resting, Some("waits for its delay".to_owned())),
            (_, None) => (SiteCondition::Ready, None),
        };
        SiteRow {
            host: row[0].text().to_owned(),
            state,
            queued,
            fetched: count(5),
            pages: count(1),
            mean_relevance: row[2].real(),
            failures: count(4),
            not_before,
            reason,
        }
    }
}

/// URLs with the same kind of failure, or skipped for the same reason.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct FailureRow {
    kind: String,
    /// Whether they were skipped on purpose; otherwise their last try failed.
    is_skipped: bool,
    /// Number of URLs.
    count: u64,
    /// Failed ones that are not tried again.
    dead: u64,
    /// A message.
    detail: String,
    example_url: String,
    /// What can be done about it.
    remedy: Option<String>,
}

/// Failures by kind, then what was skipped, by reason
#[utoipa::path(get, path = "/w/{w}/failures", params(("w" = String, Path,)),
    responses((status = 200, body = Vec<FailureRow>)))]
pub(crate) async fn failures(Named(workspace): Named) -> Answer<Json<Vec<FailureRow>>> {
    let read = workspace.read(move |workspace| {
        let count = |value: &SqlValue| value.integer().unwrap_or(0).max(0).cast_unsigned();
        let mut rows = Vec::new();
        for (query, is_skipped) in [("failures", false), ("skipped", true)] {
            let found = workspace.reader.query(query, &[], &QueryLimits::default())?;
            rows.extend(found.rows.iter().map(|row| FailureRow {
                kind: row[0].text().to_owned(),
                is_skipped,
                count: count(&row[1]),
                dead: if is_skipped { 0 } else { count(&row[2]) },
                detail: row[3].text().to_owned(),
                example_url: row[4].text().to_owned(),
                remedy: remedy(row[0].text(), is_skipped).map(str::to_owned),
            }));
        }
        Ok(rows)
    });
    read.await.map(Json)
}

/// What a user can do about failures of a kind, or about what was skipped.
fn remedy(kind: &str, is_skipped: bool) -> Option<&'static str> {
    Some(match kind {
        "dns" => {
            "the names do not exist, or the name server does not answer: check the network if there are many"
        }
        "connect" | "timeout" => "the sites are slow or down; they are tried again, then given up",
        "tls" => "the sites have invalid certificates; nothing to do",
        "status" => {
            "the servers refuse or have no such page; many 403 or 429 mean that they want fewer requests"
        }
        "robots" if !is_skipped => "the robots.txt of the sites cannot be read; they are asked again later",
        "robots" => "the sites ask crawlers to stay away; nothing to do",
        "scope" => "outside the rules of this crawl: change the scope if they are wanted",
        "size" => "larger than `max-bytes` under [fetch] in porthole.toml",
        "type" => "not HTML, text or PDF",
        "scripts" => "these pages need a browser to have any text",
        "empty" => "pages without words",
        "noindex" => "these pages ask not to be indexed; their links were followed",
        "trap" => "endless variants of the same pages",
        _ => return None,
    })
}

/// What a new scope would remove.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct ScopeEffect {
    /// Queued URLs that would not be fetched.
    queued_removed: u64,
    /// All queued URLs.
    queued: u64,
    /// Fetched pages that would not have been fetched; they stay.
    fetched_matching: u64,
    /// All fetched pages.
    fetched: u64,
    /// Some of the queued URLs that would not be fetched.
    examples: Vec<String>,
    /// Some of the pages.
    fetched_examples: Vec<String>,
    /// Whether the numbers are estimated from a sample.
    is_estimate: bool,
    /// The command that prints the same.
    #[serde(default)]
    command: String,
}

/// Show what a new scope would remove from the queue
#[utoipa::path(post, path = "/w/{w}/scope/preview", params(("w" = String, Path,)), request_body = ScopeBody,
    responses((status = 200, body = ScopeEffect)))]
pub(crate) async fn preview_scope(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    BodyOf(scope): BodyOf<ScopeBody>,
) -> Answer<Json<ScopeEffect>> {
    scope.check()?;
    let call = scope.options(workspace.call(&["set", "scope", "--preview"]).hidden("--json"));
    let output = state.runner.succeed(&call).await?;
    let effect: ScopeEffect = serde_json::from_value(output.json())
        .map_err(|error| ApiError::internal(format!("`{}`: {error}", call.shown())))?;
    Ok(Json(ScopeEffect { command: call.shown().to_owned(), ..effect }))
}
