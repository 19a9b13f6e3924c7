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

    /// The addresses that this URL's host has, for those who are polite by address: many sites may share a machine.
    /// None where there are none to be known: in a replay, or behind a proxy. An error is what a fetch would fail with.
    fn addresses<'a>(&'a self, _url: &'a CanonicalUrl) -> AddressesFuture<'a> {
        Box::pin(ready(Ok(Vec::new())))
    }
}

impl<F: Fetch + ?Sized> Fetch for &F {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        (**self).fetch(request)
    }

    fn addresses<'a>(&'a self, url: &'a CanonicalUrl) -> AddressesFuture<'a> {
        (**self).addresses(url)
    }
}

impl<F: Fetch + ?Sized> Fetch for Box<F> {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        (**self).fetch(request)
    }

    fn addresses<'a>(&'a self, url: &'a CanonicalUrl) -> AddressesFuture<'a> {
        (**self).addresses(url)
    }
}

/// What [`Fetch::fetch`] gives: a future that may run on any thread.
pub type FetchFuture<'a> = Pin<Box<dyn Future<Output = Result<Response, FetchError>> + Send + 'a>>;

/// What [`Fetch::addresses`] gives.
pub type AddressesFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, FetchError>> + Send + 'a>>;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The URL.
    pub url: CanonicalUrl,
    /// Headers of this request beyond those that every request has, such as `If-None-Match`.
    pub headers: Headers,
    /// The one address to connect to. Whoever counts requests by address names the one that was counted; without it
    /// any address of the host may be tried.
    pub address: Option<IpAddr>,
}

impl Request {
    /// A plain request for a URL.
    pub fn get(url: CanonicalUrl) -> Self {
        Request { url, headers: Headers::new(), address: None }
    }

    /// The same request, to this address if there is one.
    pub fn at(self, address: Option<IpAddr>) -> Self {
        Request { address, ..self }
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
