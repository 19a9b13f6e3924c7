//! `/metrics`: the figures of all workspaces for Prometheus.

use std::fmt::Write;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use porthole_store::StoreReader;

use crate::api::DashboardState;
use crate::error::{Answer, ApiError};
use crate::workspaces::ServedWorkspace;

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) async fn serve(State(state): State<Arc<DashboardState>>) -> Answer<impl IntoResponse> {
    let text = tokio::task::spawn_blocking(move || {
        let workspaces: Vec<Arc<ServedWorkspace>> =
            state.workspaces.all().into_iter().filter_map(Result::ok).collect();
        text(&workspaces)
    });
    let text = text.await.map_err(|error| ApiError::internal(error.to_string()))??;
    Ok(([(CONTENT_TYPE, TEXT)], text))
}

/// Name, type, help and value of a figure.
type Figure = (&'static str, &'static str, &'static str, f64);

fn text(workspaces: &[Arc<ServedWorkspace>]) -> Answer<String> {
    let mut all: Vec<(String, Vec<Figure>)> = Vec::new();
    for workspace in workspaces {
        all.push((label(&workspace.name), figures(workspace)?));
    }
    let mut text = String::new();
    let Some((_, first)) = all.first() else { return Ok(text) };
    for (number, (name, kind, help, _)) in first.iter().enumerate() {
        let _ = writeln!(text, "# HELP porthole_{name} {help}\n# TYPE porthole_{name} {kind}");
        for (label, figures) in &all {
            let _ = writeln!(text, "porthole_{name}{{workspace=\"{label}\"}} {}", figures[number].3);
        }
    }
    Ok(text)
}

fn figures(workspace: &ServedWorkspace) -> Answer<Vec<Figure>> {
    let counts = workspace.reader.counts()?;
    let trace = workspace.trace()?;
    let totals = trace.totals();
    let alarms = trace.alarms.iter().filter(|alarm| alarm.is_active).count();
    let is_running = workspace.reader.is_crawled()?;
    Ok(vec![
        ("crawl_running", "gauge", "Whether a crawl is running.", f64::from(u8::from(is_running))),
        ("pages", "gauge", "Fetched pages.", counts.fetched as f64),
        ("relevant_pages", "gauge", "Relevant pages, by their present R.", totals.relevant as f64),
        ("urls_known", "gauge", "Known URLs.", counts.known as f64),
        ("urls_queued", "gauge", "URLs yet to be fetched.", counts.queued as f64),
        ("urls_dead", "gauge", "URLs that failed permanently.", counts.dead as f64),
        ("links", "gauge", "Links between known URLs.", counts.links as f64),
        ("sites", "gauge", "Known sites.", counts.sites as f64),
        ("harvest", "gauge", "Mean relevance of all pages.", totals.harvest.unwrap_or(0.0)),
        (
            "harvest_recent",
            "gauge",
            "Mean relevance of the last pages.",
            totals.harvest_recent.unwrap_or(0.0),
        ),
        ("alarms", "gauge", "Alarms that have not ended.", alarms as f64),
    ])
}

/// A name as the value of a label.
fn label(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
