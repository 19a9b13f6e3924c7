//! Long commands that were started here.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::DashboardState;
use super::extract::PathOf;
use crate::error::Answer;
use crate::jobs::JobReport;

/// All jobs, the newest first
#[utoipa::path(get, path = "/jobs", operation_id = "list_jobs", responses((status = 200, body = Vec<JobReport>)))]
pub(crate) async fn list(State(state): State<Arc<DashboardState>>) -> Json<Vec<JobReport>> {
    Json(state.jobs.list())
}

/// A job
#[utoipa::path(get, path = "/jobs/{id}", operation_id = "show_job", params(("id" = u64, Path,)),
    responses((status = 200, body = JobReport)))]
pub(crate) async fn show(
    State(state): State<Arc<DashboardState>>,
    PathOf(id): PathOf<u64>,
) -> Answer<Json<JobReport>> {
    state.jobs.find(id).map(Json)
}

/// Ask a job to end; a crawl stops cleanly and can be resumed
#[utoipa::path(post, path = "/jobs/{id}/cancel", operation_id = "cancel_job", params(("id" = u64, Path,)),
    responses((status = 200, body = JobReport)))]
pub(crate) async fn cancel(
    State(state): State<Arc<DashboardState>>,
    PathOf(id): PathOf<u64>,
) -> Answer<Json<JobReport>> {
    state.jobs.cancel(id).map(Json)
}
