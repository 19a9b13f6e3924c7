//! Parts of a request; what cannot be read is answered like every other error.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::DashboardState;
use crate::error::{Answer, ApiError};
use crate::workspaces::ServedWorkspace;

/// The parameters of the query.
pub(crate) struct QueryOf<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryOf<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(value)) => Ok(QueryOf(value)),
            Err(error) => Err(ApiError::bad(error.body_text())),
        }
    }
}

/// Parts of the path.
pub(crate) struct PathOf<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathOf<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(value)) => Ok(PathOf(value)),
            Err(error) => Err(ApiError::bad(error.body_text())),
        }
    }
}

/// The body, as JSON.
pub(crate) struct BodyOf<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for BodyOf<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Answer<Self> {
        match axum::Json::from_request(request, state).await {
            Ok(axum::Json(value)) => Ok(BodyOf(value)),
            Err(error) => Err(ApiError::new(error.status(), error.body_text())),
        }
    }
}

/// The workspace that the path names.
pub(crate) struct Named(pub(crate) Arc<ServedWorkspace>);

#[derive(serde::Deserialize)]
struct WorkspaceName {
    w: String,
}

impl FromRequestParts<Arc<DashboardState>> for Named {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<DashboardState>) -> Answer<Self> {
        let PathOf(WorkspaceName { w }) = PathOf::from_request_parts(parts, state).await?;
        let state = state.clone();
        let found = tokio::task::spawn_blocking(move || state.workspaces.find(&w)).await;
        found.map_err(|error| ApiError::internal(error.to_string()))?.map(Named)
    }
}

/// Checks a value of a request that goes to a command or a table.
pub(crate) fn check_text(what: &str, text: &str) -> Answer<()> {
    const LONGEST: usize = 8_192;
    if text.is_empty() || text.len() > LONGEST || text.contains(['\0', '\n', '\r']) {
        return Err(ApiError::bad(format!("{what} must have 1 to {LONGEST} bytes in one line")));
    }
    Ok(())
}

/// Checks the URL of a page.
pub(crate) fn check_url(url: &str) -> Answer<porthole_types::CanonicalUrl> {
    check_text("a URL", url)?;
    porthole_types::CanonicalUrl::parse(url)
        .map_err(|error| ApiError::bad(format!("this is no URL of a page: {error}")))
}
