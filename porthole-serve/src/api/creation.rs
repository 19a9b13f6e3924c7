//! The first minute: a new workspace from URLs, bookmarks or words.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use porthole_store::StoreReader;
use serde::{Deserialize, Serialize};
use tempfile::{NamedTempFile, TempPath};
use utoipa::ToSchema;

use super::DashboardState;
use super::extract::{BodyOf, check_text, check_url};
use crate::error::{Answer, ApiError};
use crate::jobs::{JobReport, JobRequest};
use crate::program::ProgramCall;
use crate::workspaces::ServedWorkspace;

/// Most URLs that are fetched at once.
const MOST_URLS: usize = 500;

/// Workspaces whose pages are searched for words.
const MOST_SEARCHED: usize = 8;

/// A new workspace, from one of URLs, bookmarks and words.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NewWorkspace {
    /// 1 to 64 letters, digits, dots, hyphens and underscores.
    name: String,
    /// Example pages. They are fetched and have no topic at first: `proposals` shows the topics that fit.
    urls: Vec<String>,
    /// A bookmarks file of a browser. Its folders become topics.
    bookmarks: Option<String>,
    /// Folders of the bookmarks to crawl for; the others tell the critic what is not wanted. Empty: all.
    folders: Vec<String>,
    /// Words: pages that are found with them become the examples. They come from the search endpoint that the server was
    /// started with, or else from the pages of its workspaces.
    words: Option<String>,
    /// Address at which server operators can reach you; sent with every request.
    contact: Option<String>,
}

/// Create a workspace
///
/// From URLs: the workspace with the general taxonomy, and the pages as examples without a topic. From bookmarks or words:
/// also topics, marks and a trained critic, ready to crawl.
#[utoipa::path(post, path = "/workspaces", operation_id = "create_workspace", request_body = NewWorkspace,
    responses((status = 200, body = JobReport)))]
pub(crate) async fn create(
    State(state): State<Arc<DashboardState>>,
    BodyOf(new): BodyOf<NewWorkspace>,
) -> Answer<Json<JobReport>> {
    let folder = state.workspaces.place_for(&new.name)?;
    for (what, text) in [("words", &new.words), ("contact", &new.contact)] {
        text.iter().try_for_each(|text| check_text(what, text))?;
    }
    new.folders.iter().try_for_each(|folder| check_text("a folder", folder))?;
    if new.urls.len() > MOST_URLS {
        return Err(ApiError::bad(format!("at most {MOST_URLS} URLs at once")));
    }
    let urls = new.urls.iter().map(|url| check_url(url)).collect::<Answer<Vec<_>>>()?;
    let mut keep = None;
    let calls = match (&new.bookmarks, &new.words) {
        (Some(html), None) if urls.is_empty() => {
            let file = bookmarks_file(html)?;
            let call = whole_start(&new).folders(&new.folders);
            let call = call.values_of_server(&file, "bookmarks.html").path(&folder, &new.name);
            keep = Some(file);
            vec![call]
        }
        (None, Some(words)) if urls.is_empty() => {
            let call = state.searched(whole_start(&new).option("words", words));
            vec![call.values_of_server(&folder, &new.name)]
        }
        (None, None) => {
            let init = ProgramCall::new(&["init", "--taxonomy", "general"]);
            let init = init.optional("contact", new.contact.as_ref()).values_of_server(&folder, &new.name);
            let add = ProgramCall::within(&new.name, &folder, &["examples", "add"]).hidden("--json");
            let add =
                add.values(["/"].into_iter().chain(urls.iter().map(porthole_types::CanonicalUrl::as_str)));
            if urls.is_empty() { vec![init] } else { vec![init, add] }
        }
        _ => return Err(ApiError::bad("give one of `urls`, `bookmarks` and `words`")),
    };
    let job = JobRequest { what: "create", workspace: Some(new.name), calls, good_codes: &[], keep };
    state.jobs.start(job).map(Json)
}

/// `porthole start` without its crawl, and without questions.
fn whole_start(new: &NewWorkspace) -> ProgramCall {
    let call = ProgramCall::new(&["start", "--yes", "--no-crawl"]).hidden("--json");
    call.optional("contact", new.contact.as_ref())
}

impl DashboardState {
    /// Adds where pages with some words are looked for: the search endpoint, or else the pages of the served workspaces.
    fn searched(&self, call: ProgramCall) -> ProgramCall {
        if let Some(url) = &self.search_url {
            return call.option("search-url", url);
        }
        let has_pages = |workspace: &Arc<ServedWorkspace>| {
            workspace.reader.counts().is_ok_and(|counts| counts.fetched > 0)
        };
        let crawled = self.workspaces.all().into_iter().flatten().filter(has_pages);
        crawled
            .take(MOST_SEARCHED)
            .fold(call, |call, workspace| call.word("--search-in").path(&workspace.folder, &workspace.name))
    }
}

fn bookmarks_file(html: &str) -> Answer<TempPath> {
    let write = || {
        let mut file = NamedTempFile::with_suffix(".html")?;
        file.write_all(html.as_bytes())?;
        Ok::<_, std::io::Error>(file.into_temp_path())
    };
    write().map_err(|error| ApiError::internal(format!("cannot write a temporary file: {error}")))
}

impl ProgramCall {
    fn folders(self, folders: &[String]) -> ProgramCall {
        folders.iter().fold(self, |call, folder| call.option("folder", folder))
    }

    /// Begins the positional values with a path of the server.
    fn values_of_server(self, path: &Path, shown: &str) -> ProgramCall {
        self.values(<[&str; 0]>::default()).path(path, shown)
    }
}

/// A bookmarks file.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BookmarksBody {
    html: String,
}

/// The folders of bookmarks.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct BookmarkFolders {
    folders: Vec<FolderRow>,
    /// Pages in no folder.
    unfiled: usize,
    /// Entries that cannot be pages of the web.
    left_out: usize,
}

#[derive(Serialize, Deserialize, ToSchema)]
struct FolderRow {
    /// Path of the folder as a topic.
    path: String,
    pages: usize,
}

/// List the folders of bookmarks, to choose some of them
#[utoipa::path(post, path = "/bookmarks", request_body = BookmarksBody,
    responses((status = 200, body = BookmarkFolders)))]
pub(crate) async fn bookmarks(
    State(state): State<Arc<DashboardState>>,
    BodyOf(body): BodyOf<BookmarksBody>,
) -> Answer<Json<BookmarkFolders>> {
    let file = bookmarks_file(&body.html)?;
    let call = ProgramCall::new(&["start", "--list-folders"]).hidden("--json");
    let call = call.values_of_server(&file, "bookmarks.html");
    let output = state.runner.succeed(&call).await?;
    let folders = serde_json::from_value(output.json());
    folders.map(Json).map_err(|error| ApiError::internal(format!("`{}`: {error}", call.shown())))
}
