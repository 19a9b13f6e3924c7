//! The front end's files, embedded at build time.

use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;

mod files {
    include!(concat!(env!("OUT_DIR"), "/assets.rs"));
}

/// Without the front end the API works all the same.
const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Porthole</title>\
    <p>built without the dashboard: run <code>make web</code>, then build porthole again</p></html>";

/// Answers with a file; with the page of the app for addresses that it routes itself, which have no dot in their last
/// component.
pub(crate) async fn serve(request: Request) -> Response {
    let path = request.uri().path().trim_start_matches('/');
    if path.starts_with("api/") {
        return ApiError::not_found("there is no such address in the API").into_response();
    }
    if let Some(found) = file(path) {
        return found;
    }
    let is_route = !path.rsplit('/').next().unwrap_or_default().contains('.') || path.starts_with("w/");
    if is_route {
        return file("index.html").unwrap_or_else(|| html(NOT_BUILT));
    }
    (StatusCode::NOT_FOUND, "there is no such file\n").into_response()
}

fn file(path: &str) -> Option<Response> {
    let (_, bytes) = files::FILES.iter().find(|(name, _)| *name == path)?;
    let mut response = (*bytes).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type(path)));
    // Names of built files change with their content.
    let caching =
        if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    Some(response)
}

fn html(text: &'static str) -> Response {
    ([(CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
