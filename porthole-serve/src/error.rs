//! Errors of the server, and the errors that requests are answered with.

use std::net::SocketAddr;
use std::path::PathBuf;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's message.
        source: std::io::Error,
    },
    /// A folder cannot be served.
    #[error("cannot serve {folder}: {reason}")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A crawl cannot be started.
    #[error("cannot start the crawl: {0}")]
    Crawl(String),
    /// The system has no random numbers for the token.
    #[error("cannot make a token: {0}")]
    Token(String),
}

/// An error as clients see it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// What went wrong.
    pub(crate) error: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<String>,
}

/// Why a request is refused or has failed.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    body: ErrorBody,
}

/// Result of a request.
pub(crate) type Answer<T> = std::result::Result<T, ApiError>;

impl ApiError {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>) -> ApiError {
        ApiError { status, body: ErrorBody { error: error.into(), remedy: None } }
    }

    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> ApiError {
        self.body.remedy = Some(remedy.into());
        self
    }

    /// A request that makes no sense.
    pub(crate) fn bad(error: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::BAD_REQUEST, error)
    }

    pub(crate) fn not_found(error: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, error)
    }

    /// A request that cannot be fulfilled in the current state.
    pub(crate) fn conflict(error: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::CONFLICT, error)
    }

    /// A command that failed.
    pub(crate) fn failed(error: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, error)
    }

    /// Too much at once.
    pub(crate) fn busy(error: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::TOO_MANY_REQUESTS, error).remedy("try again later")
    }

    pub(crate) fn internal(error: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }

    pub(crate) fn message(&self) -> &str {
        &self.body.error
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}

impl From<porthole_store::Error> for ApiError {
    fn from(error: porthole_store::Error) -> ApiError {
        use porthole_store::Error as Store;
        match error {
            Store::UnknownQuery(_) => ApiError::not_found(error.to_string()),
            Store::UnknownParameter { .. }
            | Store::MissingParameter { .. }
            | Store::WrongValue { .. }
            | Store::NoSuchTopic(_)
            | Store::UnknownTopic(_)
            | Store::Refused(_)
            | Store::NotOneStatement(_)
            | Store::Sql(_)
            | Store::TooManyRows(_)
            | Store::TooLarge(_)
            | Store::LargeValue(_)
            | Store::TooMuchTemporary(_)
            | Store::TooSlow(_) => ApiError::bad(error.to_string()),
            _ => ApiError::internal(error.to_string()),
        }
    }
}
