//! Results of experiments: folders that `porthole lab run --out DIR` wrote, directly below the served folders.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::DashboardState;
use super::extract::PathOf;
use crate::error::{Answer, ApiError};

const RESULTS: &str = "results.jsonl";
const EXPERIMENT: &str = "experiment.json";
/// Most results and figures of one answer.
const MOST_RESULTS: usize = 5_000;
const MOST_FIGURES: usize = 100;
const LARGEST_FIGURE: u64 = 1 << 20;

/// An experiment with results.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct LabRun {
    name: String,
    /// Its definition.
    #[schema(value_type = Object)]
    experiment: Value,
    strategies: Vec<String>,
    topics: Vec<String>,
    /// Crawls that are done.
    crawls: usize,
    /// When the last result was written.
    at: i64,
}

/// Results of an experiment.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct LabResults {
    run: LabRun,
    /// A row for each crawl, as in `results.jsonl`.
    #[schema(value_type = Vec<Object>)]
    results: Vec<Value>,
    figures: Vec<LabFigure>,
}

#[derive(Serialize, Deserialize, ToSchema)]
struct LabFigure {
    name: String,
    /// The drawing; show it as an image, not as HTML.
    svg: String,
}

/// Experiments with results
#[utoipa::path(get, path = "/lab", operation_id = "list_lab_runs", responses((status = 200, body = Vec<LabRun>)))]
pub(crate) async fn list(State(state): State<Arc<DashboardState>>) -> Answer<Json<Vec<LabRun>>> {
    let read = tokio::task::spawn_blocking(move || {
        let folders = state.workspaces.folders_with(RESULTS).into_iter();
        folders.filter_map(|(name, folder)| run(&name, &folder)).collect()
    });
    read.await.map(Json).map_err(|error| ApiError::internal(error.to_string()))
}

/// Results of an experiment
#[utoipa::path(get, path = "/lab/{name}", operation_id = "show_lab_run", params(("name" = String, Path,)),
    responses((status = 200, body = LabResults)))]
pub(crate) async fn show(
    State(state): State<Arc<DashboardState>>,
    PathOf(name): PathOf<String>,
) -> Answer<Json<LabResults>> {
    let read = tokio::task::spawn_blocking(move || {
        let none = || ApiError::not_found("there is no such experiment");
        let folder = state.workspaces.folders_with(RESULTS).remove(&name).ok_or_else(none)?;
        let run = run(&name, &folder).ok_or_else(none)?;
        Ok(LabResults {
            run,
            results: results(&folder).take(MOST_RESULTS).collect(),
            figures: figures(&folder),
        })
    });
    read.await.unwrap_or_else(|error| Err(ApiError::internal(error.to_string()))).map(Json)
}

fn run(name: &str, folder: &Path) -> Option<LabRun> {
    let at = fs::metadata(folder.join(RESULTS)).ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let text = fs::read_to_string(folder.join(EXPERIMENT)).ok()?;
    let experiment: Value = serde_json::from_str(&text).ok()?;
    let names = |key: &str| {
        let values = experiment[key].as_array().into_iter().flatten();
        values.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    Some(LabRun {
        name: name.to_owned(),
        strategies: names("strategies"),
        topics: names("topics"),
        crawls: results(folder).count(),
        at: i64::try_from(at.as_millis()).ok()?,
        experiment,
    })
}

fn results(folder: &Path) -> impl Iterator<Item = Value> + use<> {
    let text = fs::read_to_string(folder.join(RESULTS)).unwrap_or_default();
    let rows: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    rows.into_iter()
}

fn figures(folder: &Path) -> Vec<LabFigure> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let figure = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let stem = name.strip_suffix(".svg")?;
        let is_small = entry.metadata().is_ok_and(|facts| facts.is_file() && facts.len() <= LARGEST_FIGURE);
        let svg = fs::read_to_string(entry.path()).ok().filter(|_| is_small)?;
        Some(LabFigure { name: stem.to_owned(), svg })
    };
    let mut figures: Vec<LabFigure> = entries.filter_map(figure).take(MOST_FIGURES).collect();
    figures.sort_by(|a, b| a.name.cmp(&b.name));
    figures
}
