//! The list of workspaces, the description of the API, and whether the server lives.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use porthole_store::StoreReader;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::DashboardState;
use super::status::{CRITIC, LAST_STOP};
use crate::error::{Answer, ApiError};
use crate::jobs::JobBoard;
use crate::workspaces::{FoundWorkspace, ServedWorkspace};

/// A workspace in the list.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct WorkspaceSummary {
    name: String,
    /// Its folder.
    path: String,
    /// Whether a crawl is running, of this or another process.
    is_running: bool,
    /// Whether it was started here.
    started_here: bool,
    pages: usize,
    queued: usize,
    /// Mean relevance of all pages.
    harvest: Option<f64>,
    /// Paths of the good topics.
    good: Vec<String>,
    /// Whether there is a critic.
    is_trained: bool,
    /// Why the last crawl ended.
    last_stop: Option<String>,
    /// When the last URL was fetched.
    last_fetch_at: Option<i64>,
    /// Why the workspace cannot be used.
    problem: Option<String>,
}

/// All workspaces
#[utoipa::path(get, path = "/workspaces", responses((status = 200, body = Vec<WorkspaceSummary>)))]
pub(crate) async fn workspaces(
    State(state): State<Arc<DashboardState>>,
) -> Answer<Json<Vec<WorkspaceSummary>>> {
    let all = tokio::task::spawn_blocking(move || {
        let found = state.workspaces.all().into_iter();
        found.map(|found| WorkspaceSummary::of(found, &state.jobs)).collect()
    });
    Ok(Json(all.await.map_err(|error| ApiError::internal(error.to_string()))?))
}

impl WorkspaceSummary {
    fn of(found: FoundWorkspace, jobs: &JobBoard) -> WorkspaceSummary {
        let (name, folder, problem) = match found {
            Ok(workspace) => match WorkspaceSummary::read(&workspace, jobs) {
                Ok(summary) => return summary,
                Err(error) => (workspace.name.clone(), workspace.folder.clone(), error.message().to_owned()),
            },
            Err(problem) => problem,
        };
        WorkspaceSummary {
            name,
            path: folder.display().to_string(),
            is_running: false,
            started_here: false,
            pages: 0,
            queued: 0,
            harvest: None,
            good: Vec::new(),
            is_trained: false,
            last_stop: None,
            last_fetch_at: None,
            problem: Some(problem),
        }
    }

    fn read(workspace: &ServedWorkspace, jobs: &JobBoard) -> Answer<WorkspaceSummary> {
        let reader = &workspace.reader;
        let counts = reader.counts()?;
        let tree = workspace.tree()?;
        let totals = workspace.trace()?.totals();
        let is_running = reader.is_crawled()?;
        Ok(WorkspaceSummary {
            name: workspace.name.clone(),
            path: workspace.folder.display().to_string(),
            is_running,
            started_here: jobs.is_running(&workspace.name, "crawl"),
            pages: counts.fetched,
            queued: counts.queued,
            harvest: totals.harvest,
            good: tree.good().map(|id| tree.path(id)).collect(),
            is_trained: reader.model_made(CRITIC)?.is_some(),
            last_stop: reader.setting(LAST_STOP)?.filter(|_| !is_running),
            last_fetch_at: totals.last_at,
            problem: None,
        })
    }
}

/// The description of the API.
pub(crate) async fn description() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], super::openapi())
}

/// Whether the server lives.
pub(crate) async fn health() -> Json<serde_json::Value> {
    Json(serde_json::json!({ "status": "ok" }))
}
