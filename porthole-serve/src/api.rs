//! The API under `/api/v1`, and its description.

mod control;
mod crawls;
mod extract;
mod jobs;
mod overview;
mod pages;
pub(crate) mod status;
mod watching;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use tokio::sync::{Semaphore, watch};
use utoipa::openapi::{ContentBuilder, HttpMethod, Ref, RefOr, ResponseBuilder};
use utoipa::{Modify, OpenApi};

pub(crate) use self::control::CommandReport;
use crate::error::{ErrorBody, Result};
use crate::guard::{self, AccessRules};
use crate::jobs::JobBoard;
use crate::program::ProgramRunner;
use crate::server::ServeOptions;
use crate::workspaces::WorkspaceList;
use crate::{assets, metrics};

/// Clients that listen to events at once.
const MOST_LISTENERS: usize = 64;

/// What all requests share.
pub(crate) struct DashboardState {
    pub(crate) workspaces: WorkspaceList,
    pub(crate) jobs: Arc<JobBoard>,
    pub(crate) runner: Arc<ProgramRunner>,
    /// Places for clients that listen to events.
    listeners: Arc<Semaphore>,
    /// Becomes true when the server ends.
    end: watch::Receiver<bool>,
}

impl DashboardState {
    pub(crate) fn new(options: &ServeOptions, end: watch::Receiver<bool>) -> Result<DashboardState> {
        let runner = Arc::new(ProgramRunner::new(options.program.clone()));
        Ok(DashboardState {
            workspaces: WorkspaceList::new(&options.folders)?,
            jobs: Arc::new(JobBoard::new(runner.clone())),
            runner,
            listeners: Arc::new(Semaphore::new(MOST_LISTENERS)),
            end,
        })
    }
}

/// All addresses of the server.
pub(crate) fn router(state: Arc<DashboardState>, rules: Arc<AccessRules>) -> Router {
    let api = Router::new()
        .route("/openapi.json", get(overview::description))
        .route("/workspaces", get(overview::workspaces))
        .route("/jobs", get(jobs::list))
        .route("/jobs/{id}", get(jobs::show))
        .route("/jobs/{id}/cancel", post(jobs::cancel))
        .route("/w/{w}/status", get(status::status))
        .route("/w/{w}/dots", get(watching::dots))
        .route("/w/{w}/dot/{seq}", get(watching::dot))
        .route("/w/{w}/series", get(watching::series))
        .route("/w/{w}/events", get(watching::events))
        .route("/w/{w}/commands", get(control::commands).post(control::command))
        .route("/w/{w}/crawl", post(crawls::crawl))
        .route("/w/{w}/page", get(pages::story));
    Router::new()
        .nest("/api/v1", api)
        .route("/metrics", get(metrics::serve))
        .route("/health", get(overview::health))
        .fallback(get(assets::serve))
        .with_state(state)
        .layer(from_fn_with_state(rules, guard::guard))
}

/// The description of the API, as OpenAPI in JSON.
pub fn openapi() -> String {
    let mut text = Description::openapi().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Porthole",
        description = "Workspaces, their crawls and results. Times are milliseconds since 1970. Every request needs the \
                       token that `porthole serve` prints, as a cookie or as `Authorization: Bearer`; those that change \
                       something also `X-Porthole: 1`."
    ),
    servers((url = "/api/v1")),
    paths(
        overview::workspaces,
        jobs::list,
        jobs::show,
        jobs::cancel,
        status::status,
        watching::dots,
        watching::dot,
        watching::series,
        watching::events,
        control::commands,
        control::command,
        crawls::crawl,
        pages::story,
    ),
    components(schemas(ErrorBody)),
    modifiers(&CommonErrors)
)]
struct Description;

/// Every operation may be refused; those that change something need a header.
struct CommonErrors;

impl Modify for CommonErrors {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        for item in openapi.paths.paths.values_mut() {
            let operations = [(HttpMethod::Get, &mut item.get), (HttpMethod::Post, &mut item.post)];
            for (_, operation) in operations {
                let Some(operation) = operation else { continue };
                let body = ContentBuilder::new().schema(Some(Ref::from_schema_name("ErrorBody"))).build();
                let refused = ResponseBuilder::new()
                    .description("refused or failed; `remedy` says what to do")
                    .content("application/json", body)
                    .build();
                operation.responses.responses.insert("4XX".to_owned(), RefOr::T(refused));
            }
        }
    }
}
