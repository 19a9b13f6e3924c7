//! Starts crawls.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use porthole_store::StoreReader;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::DashboardState;
use super::control::ScopeBody;
use super::extract::{BodyOf, Named, check_text, check_url};
use crate::error::{Answer, ApiError};
use crate::jobs::{JobReport, JobRequest};
use crate::program::ProgramCall;
use crate::workspaces::ServedWorkspace;

/// Exit codes of a crawl that ended as it should: asked to, or at a limit.
const GOOD_CODES: &[i32] = &[11, 14, 15, 60];

/// A crawl to start; it continues the last one.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CrawlRequest {
    /// Stop after this many pages.
    #[schema(minimum = 1)]
    pages: Option<u64>,
    /// Stop after this many minutes.
    #[schema(minimum = 1, maximum = 1_000_000)]
    minutes: Option<u32>,
    strategy: Option<String>,
    policy: Option<String>,
    /// Most requests at once.
    #[schema(minimum = 1, maximum = 4_096)]
    workers: Option<u16>,
    /// What free workers do while the sites with the best links rest.
    idle: Option<IdleChoice>,
    scope: ScopeBody,
    /// More start URLs.
    starts: Vec<String>,
    /// Visit fetched pages again, by their schedule.
    maintain: bool,
}

/// What free workers do while the sites with the best links rest.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum IdleChoice {
    /// Wait for them.
    Wait,
    /// Fetch worse links.
    Fill,
}

/// Start or resume the crawl
///
/// It goes on when the page is closed, and stops with the server.
#[utoipa::path(post, path = "/w/{w}/crawl", params(("w" = String, Path,)), request_body = CrawlRequest,
    responses((status = 200, body = JobReport)))]
pub(crate) async fn crawl(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    BodyOf(request): BodyOf<CrawlRequest>,
) -> Answer<Json<JobReport>> {
    if workspace.reader.is_crawled()? || state.jobs.is_running(&workspace.name, "crawl") {
        return Err(ApiError::conflict("a crawl is running already").remedy("stop it first"));
    }
    for (what, text) in [("strategy", &request.strategy), ("policy", &request.policy)] {
        text.iter().try_for_each(|text| check_text(what, text))?;
    }
    request.scope.check()?;
    let starts = request.starts.iter().map(|url| check_url(url)).collect::<Answer<Vec<_>>>()?;
    let mut call = workspace
        .call(&["crawl"])
        .hidden("--json")
        .optional("pages", request.pages)
        .optional("time", request.minutes.map(|minutes| format!("{minutes}m")))
        .optional("strategy", request.strategy.as_ref())
        .optional("policy", request.policy.as_ref())
        .optional("workers", request.workers)
        .optional("idle", request.idle.map(|idle| format!("{idle:?}").to_lowercase()))
        .optional("maintain", request.maintain.then_some("schedule"));
    call = request.scope.options(call);
    call = starts.iter().fold(call, |call, url| call.option("start", url.as_str()));
    start(&state, &workspace, call).map(Json)
}

/// Starts a crawl as a job.
pub(super) fn start(
    state: &DashboardState,
    workspace: &ServedWorkspace,
    call: ProgramCall,
) -> Answer<JobReport> {
    state.jobs.start(JobRequest {
        what: "crawl",
        workspace: Some(workspace.name.clone()),
        calls: vec![call],
        good_codes: GOOD_CODES,
        keep: None,
    })
}
