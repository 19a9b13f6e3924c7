//! The browser companion: what would the critic say of the page that I am reading?

use std::fmt::Write;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::HOST;
use axum::response::Html;
use serde::Deserialize;
use utoipa::ToSchema;

use super::DashboardState;
use super::extract::{BodyOf, Named, check_url};
use super::pages::{JudgedPage, PageVerdict};
use crate::error::{Answer, ApiError};

/// A page to judge: its URL, which is fetched if it was not crawled, or its text.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JudgmentRequest {
    url: Option<String>,
    text: Option<String>,
    title: Option<String>,
}

/// Judge a page or a text, with the words that decide
#[utoipa::path(post, path = "/w/{w}/classify", params(("w" = String, Path,)), request_body = JudgmentRequest,
    responses((status = 200, body = PageVerdict)))]
pub(crate) async fn classify(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    BodyOf(request): BodyOf<JudgmentRequest>,
) -> Answer<Json<PageVerdict>> {
    let call = workspace.call(&["classify"]).hidden("--json");
    let call = match (request.url, request.text) {
        (Some(url), None) => call.values([check_url(&url)?.as_str()]),
        (None, Some(text)) => {
            let title = request.title.unwrap_or_default();
            call.values(["-"]).input(format!("{title}\n\n{text}").into_bytes())
        }
        _ => return Err(ApiError::bad("either `url` or `text` is needed")),
    };
    let output = state.runner.succeed(&call).await?;
    let judged: Vec<JudgedPage> = serde_json::from_value(output.json())
        .map_err(|error| ApiError::internal(format!("`{}`: {error}", call.shown())))?;
    let first = judged.into_iter().next();
    first.map(|judged| Json(judged.verdict())).ok_or_else(|| ApiError::failed("nothing was judged"))
}

/// A page with a bookmarklet for each workspace: it opens the story of the page that one is reading.
pub(crate) async fn companion(
    State(state): State<Arc<DashboardState>>,
    headers: HeaderMap,
) -> Answer<Html<String>> {
    let all = tokio::task::spawn_blocking(move || state.workspaces.all());
    let all = all.await.map_err(|error| ApiError::internal(error.to_string()))?;
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let names = all.into_iter().filter_map(Result::ok).map(|workspace| workspace.name.clone());
    Ok(Html(page(host, &names.collect::<Vec<_>>())))
}

fn page(host: &str, names: &[String]) -> String {
    let mut html = String::from(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Porthole: companion</title>\
         <h1>The companion</h1><p>Drag a link to the bookmarks of your browser. On any page, it opens what Porthole \
         says of that page.</p><ul>",
    );
    for name in names {
        let path: String = name.bytes().map(percent).collect();
        let script = format!(
            "javascript:void(open('http://{host}/w/{path}/page?url='+encodeURIComponent(location.href)))"
        );
        let _ = write!(html, "<li><a href=\"{}\">Porthole: {}</a></li>", escaped(&script), escaped(name));
    }
    html.push_str("</ul></html>");
    html
}

fn percent(byte: u8) -> String {
    let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if is_plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_attribute() {
        let html = page(
            "127.0.0.1:7373",
            &["\"><img src=x onerror=alert(1)>".to_owned(), "a');alert('1".to_owned()],
        );
        assert!(!html.contains("<img") && !html.contains("');alert"), "{html}");
        assert!(html.contains("%22%3E%3Cimg"), "{html}");
    }
}
