//! Exports: files in the workspace's folder `exports`, whose names the server makes.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use utoipa::ToSchema;

use super::DashboardState;
use super::extract::{BodyOf, Named, PathOf, check_text};
use super::topics;
use crate::error::{Answer, ApiError};
use crate::jobs::JobReport;
use crate::trace::now;
use crate::workspaces::{ServedWorkspace, is_good_name};

const FOLDER: &str = "exports";

/// A file of an export.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct ExportFile {
    name: String,
    bytes: u64,
    at: i64,
    /// Whether it is being written, or was cut off.
    is_partial: bool,
}

/// Files that were exported, the newest first
#[utoipa::path(get, path = "/w/{w}/exports", operation_id = "list_exports", params(("w" = String, Path,)),
    responses((status = 200, body = Vec<ExportFile>)))]
pub(crate) async fn list(Named(workspace): Named) -> Answer<Json<Vec<ExportFile>>> {
    workspace.read(|workspace| Ok(files(workspace))).await.map(Json)
}

fn files(workspace: &ServedWorkspace) -> Vec<ExportFile> {
    let entries = fs::read_dir(workspace.folder.join(FOLDER)).into_iter().flatten().flatten();
    let file = |entry: fs::DirEntry| {
        let facts = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        let name = entry.file_name().into_string().ok().filter(|name| is_good_name(name))?;
        let at = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_millis();
        let is_partial = name.ends_with(".part") || name.ends_with(".checkpoint");
        Some(ExportFile { name, bytes: facts.len(), at: i64::try_from(at).ok()?, is_partial })
    };
    let mut files: Vec<ExportFile> = entries.filter_map(file).collect();
    files.sort_by_key(|file| std::cmp::Reverse(file.at));
    files
}

/// An export to make.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportRequest {
    format: ExportFormat,
    #[serde(default)]
    filters: ExportFilters,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ExportFormat {
    Jsonl,
    Csv,
    Warc,
    Wacz,
    Cdxj,
    Parquet,
    Markdown,
    Text,
    Graph,
    Skipped,
    Taxonomy,
}

/// Which pages are exported; not of `skipped` and `taxonomy`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
struct ExportFilters {
    /// Only pages about this topic and the topics below it.
    topic: Option<String>,
    #[schema(minimum = 0, maximum = 1)]
    min_relevance: Option<f64>,
    /// Only pages of this host and the names below it.
    site: Option<String>,
    language: Option<String>,
    /// Only pages fetched at this time or later: 2026-11-17.
    since: Option<String>,
    until: Option<String>,
    /// Most pages.
    #[schema(minimum = 1)]
    limit: Option<u64>,
}

/// Export pages, archives, links or topics to a file
#[utoipa::path(post, path = "/w/{w}/exports", operation_id = "make_export", params(("w" = String, Path,)),
    request_body = ExportRequest, responses((status = 200, body = JobReport)))]
pub(crate) async fn make(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    BodyOf(request): BodyOf<ExportRequest>,
) -> Answer<Json<JobReport>> {
    let filters = &request.filters;
    for text in [&filters.topic, &filters.site, &filters.language, &filters.since, &filters.until] {
        text.iter().try_for_each(|text| check_text("a filter", text))?;
    }
    let format = format!("{:?}", request.format).to_lowercase();
    let end = match request.format {
        ExportFormat::Warc => "warc.gz",
        ExportFormat::Markdown => "md",
        ExportFormat::Text => "txt",
        ExportFormat::Graph => "graphml",
        ExportFormat::Skipped => "jsonl",
        ExportFormat::Taxonomy => "porthole",
        ExportFormat::Jsonl
        | ExportFormat::Csv
        | ExportFormat::Wacz
        | ExportFormat::Cdxj
        | ExportFormat::Parquet => format.as_str(),
    };
    let folder = workspace.folder.join(FOLDER);
    fs::create_dir_all(&folder)
        .map_err(|error| ApiError::failed(format!("cannot create {}: {error}", folder.display())))?;
    let name = format!("{format}-{}.{end}", now().0);
    let file = folder.join(&name);
    let mut call = workspace.call(&["export", &format]);
    if !matches!(request.format, ExportFormat::Skipped | ExportFormat::Taxonomy) {
        call = call
            .optional("topic", filters.topic.as_ref())
            .optional("min-relevance", filters.min_relevance)
            .optional("site", filters.site.as_ref())
            .optional("language", filters.language.as_ref())
            .optional("since", filters.since.as_ref())
            .optional("until", filters.until.as_ref());
    }
    if request.format != ExportFormat::Taxonomy {
        call = call.optional("limit", filters.limit);
    }
    // Texts would become a folder of files; as one file they are the standard output.
    call = match request.format {
        ExportFormat::Markdown | ExportFormat::Text => call.into_file(file),
        _ => call.hidden("--json").word("--output").path(&file, &format!("{FOLDER}/{name}")),
    };
    topics::start(&state, &workspace, "export", call).map(Json)
}

/// Download a file that was exported
#[utoipa::path(get, path = "/w/{w}/exports/{name}", operation_id = "download_export",
    params(("w" = String, Path,), ("name" = String, Path,)),
    responses((status = 200, body = Vec<u8>, content_type = "application/octet-stream")))]
pub(crate) async fn download(
    Named(workspace): Named,
    PathOf((_, name)): PathOf<(String, String)>,
) -> Answer<Response> {
    // The name must be one of the list, so that it is a file in the folder and nothing else.
    let (path, bytes) = workspace.read(move |workspace| find(workspace, &name)).await?;
    let file = fs::File::open(&path).map_err(|_| ApiError::not_found("there is no such file"))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (CONTENT_LENGTH, bytes.to_string()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    Ok((headers, chunks(file.take(bytes))).into_response())
}

fn find(workspace: &ServedWorkspace, name: &str) -> Answer<(PathBuf, u64)> {
    let file = files(workspace).into_iter().find(|file| file.name == name);
    let file = file.ok_or_else(|| ApiError::not_found("there is no such file"))?;
    Ok((workspace.folder.join(FOLDER).join(file.name), file.bytes))
}

/// The content of a file, read on a thread as the client takes it.
fn chunks(mut from: impl Read + Send + 'static) -> Body {
    let (send, receive) = mpsc::channel::<std::io::Result<Bytes>>(4);
    tokio::task::spawn_blocking(move || {
        loop {
            let mut chunk = vec![0; 64 << 10];
            let read = from.read(&mut chunk);
            let part = match read {
                Ok(0) => return,
                Ok(length) => {
                    chunk.truncate(length);
                    Ok(chunk.into())
                }
                Err(error) => Err(error),
            };
            let is_last = part.is_err();
            if send.blocking_send(part).is_err() || is_last {
                return;
            }
        }
    });
    Body::from_stream(stream::unfold(receive, |mut receive| async move {
        let part = receive.recv().await?;
        Some((part, receive))
    }))
}
