//! The one door to the network. A live crawl, a recorded web and a synthetic web stand behind the same
//! trait, so that everything else is the same code for all of them.

use std::future::{Future, ready};
use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use porthole_types::{CanonicalUrl, FailureKind, Headers};

/// Brings the answer to one request. Redirects are not followed: each hop is a decision of the frontier.
pub trait Fetch: Send + Sync {
    /// Fetches one URL.
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a>;

    /// The address that a fetch of this URL would go to first, for those who are polite by address: many sites may
    /// share a machine. `None` where there is none to be known: in a replay, behind a proxy, or when the fetch would
    /// fail for want of one.
    fn address<'a>(&'a self, _url: &'a CanonicalUrl) -> AddressFuture<'a> {
        Box::pin(ready(None))
    }
}

/// What [`Fetch::fetch`] gives: a future that may run on any thread.
pub type FetchFuture<'a> = Pin<Box<dyn Future<Output = Result<Response, FetchError>> + Send + 'a>>;

/// What [`Fetch::address`] gives.
pub type AddressFuture<'a> = Pin<Box<dyn Future<Output = Option<IpAddr>> + Send + 'a>>;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The URL.
    pub url: CanonicalUrl,
    /// Headers of this request beyond those that every request has, such as `If-None-Match`.
    pub headers: Headers,
}

impl Request {
    /// A plain request for a URL.
    pub fn get(url: CanonicalUrl) -> Self {
        Request { url, headers: Headers::new() }
    }
}

/// An HTTP answer, its body as it came out of transfer and content encodings.
#[derive(Clone, Debug)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: Headers,
    /// The body, possibly cut.
    pub body: Bytes,
    /// The body was longer than allowed and was cut.
    pub truncated: bool,
    /// How long it took; in a replay, how long it is said to have taken.
    pub took: Duration,
}

/// No answer came.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{url}: {detail}")]
pub struct FetchError {
    /// The URL that was asked for.
    pub url: CanonicalUrl,
    /// The class of the failure.
    pub kind: FailureKind,
    /// What happened, in words.
    pub detail: String,
}
