//! The API under `/api/v1`, and its description.

mod collections;
mod companion;
mod control;
mod crawls;
mod creation;
mod exports;
mod extract;
mod jobs;
mod keeping;
mod lab;
mod overview;
mod pages;
mod questions;
mod results;
mod sites;
pub(crate) mod status;
mod topics;
mod watching;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use tokio::sync::{Semaphore, watch};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};
use utoipa::{Modify, OpenApi};

pub(crate) use self::control::CommandReport;
use crate::error::{ErrorBody, Result};
use crate::guard::{self, AccessRules};
use crate::jobs::JobBoard;
use crate::program::ProgramRunner;
use crate::server::DashboardOptions;
use crate::workspaces::WorkspaceList;
use crate::{assets, metrics};

/// Clients that listen to events at once.
const MOST_LISTENERS: usize = 64;

/// What all requests share.
pub(crate) struct DashboardState {
    pub(crate) workspaces: WorkspaceList,
    pub(crate) jobs: Arc<JobBoard>,
    pub(crate) runner: Arc<ProgramRunner>,
    /// Search endpoint, named by whoever started the server.
    pub(crate) search_url: Option<String>,
    /// Places for queries.
    queries: Arc<Semaphore>,
    /// Places for clients that listen to events.
    listeners: Arc<Semaphore>,
    /// Becomes true when the server ends.
    end: watch::Receiver<bool>,
}

impl DashboardState {
    pub(crate) fn new(options: &DashboardOptions, end: watch::Receiver<bool>) -> Result<DashboardState> {
        let runner = Arc::new(ProgramRunner::new(options.program.clone()));
        Ok(DashboardState {
            workspaces: WorkspaceList::new(&options.folders)?,
            jobs: Arc::new(JobBoard::new(runner.clone())),
            runner,
            search_url: options.search_url.clone(),
            queries: Arc::new(Semaphore::new(questions::MOST_QUERIES)),
            listeners: Arc::new(Semaphore::new(MOST_LISTENERS)),
            end,
        })
    }
}

/// All addresses of the server.
pub(crate) fn router(state: Arc<DashboardState>, rules: Arc<AccessRules>) -> Router {
    let api = Router::new()
        .route("/openapi.json", get(overview::description))
        .route("/workspaces", get(overview::workspaces).post(creation::create))
        .route("/bookmarks", post(creation::bookmarks))
        .route("/lab", get(lab::list))
        .route("/lab/{name}", get(lab::show))
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
        .route("/w/{w}/page", get(pages::story))
        .route("/w/{w}/topics", get(topics::topics).post(topics::change_topics))
        .route("/w/{w}/census", get(topics::census))
        .route("/w/{w}/examples", get(topics::examples).post(topics::change_examples))
        .route("/w/{w}/proposals", post(topics::proposals))
        .route("/w/{w}/train", post(topics::train))
        .route("/w/{w}/train/accept", post(topics::accept_training))
        .route("/w/{w}/suggestions", get(collections::suggestions))
        .route("/w/{w}/clusters", get(collections::list))
        .route("/w/{w}/pages", get(results::pages))
        .route("/w/{w}/top/{kind}", get(results::top))
        .route("/w/{w}/hubgraph", get(results::hubgraph))
        .route("/w/{w}/feedback", post(results::feedback))
        .route("/w/{w}/teach", get(results::teach))
        .route("/w/{w}/sites", get(sites::sites))
        .route("/w/{w}/failures", get(sites::failures))
        .route("/w/{w}/scope/preview", post(sites::preview_scope))
        .route("/w/{w}/search", get(questions::search))
        .route("/w/{w}/queries", get(questions::queries))
        .route("/w/{w}/query", post(questions::query))
        .route("/w/{w}/kept", get(keeping::kept).post(keeping::change))
        .route("/w/{w}/schema", get(keeping::schema))
        .route("/w/{w}/exports", get(exports::list).post(exports::make))
        .route("/w/{w}/exports/{name}", get(exports::download))
        .route("/w/{w}/classify", post(companion::classify));
    Router::new()
        .nest("/api/v1", api)
        .route("/metrics", get(metrics::serve))
        .route("/health", get(overview::health))
        .route("/companion", get(companion::companion))
        .fallback(get(assets::serve))
        .with_state(state)
        .layer(from_fn_with_state(rules, guard::guard))
}

/// Starts a crawl with options of the program's own; they are no values of requests.
pub(crate) fn start_crawl(
    state: &DashboardState,
    workspace: &str,
    options: &[&str],
) -> std::result::Result<(), String> {
    let start = || {
        let workspace = state.workspaces.find(workspace)?;
        let call =
            options.iter().fold(workspace.call(&["crawl"]).hidden("--json"), |call, word| call.word(word));
        crawls::start(state, &workspace, call)
    };
    start().map(|_| ()).map_err(|error| error.message().to_owned())
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
        creation::create,
        creation::bookmarks,
        topics::topics,
        topics::change_topics,
        topics::census,
        topics::examples,
        topics::change_examples,
        topics::proposals,
        topics::train,
        topics::accept_training,
        collections::suggestions,
        collections::list,
        results::pages,
        results::top,
        results::hubgraph,
        results::feedback,
        results::teach,
        sites::sites,
        sites::failures,
        sites::preview_scope,
        questions::search,
        questions::queries,
        questions::query,
        keeping::kept,
        keeping::change,
        keeping::schema,
        exports::list,
        exports::make,
        exports::download,
        companion::classify,
        lab::list,
        lab::show,
    ),
    components(schemas(ErrorBody, results::PageOrderWord, results::TopKind, sites::SiteCondition)),
    modifiers(&CommonErrors)
)]
struct Description;

/// Every operation may be refused; those that change something need a header.
struct CommonErrors;

impl Modify for CommonErrors {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        for item in openapi.paths.paths.values_mut() {
            for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
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
