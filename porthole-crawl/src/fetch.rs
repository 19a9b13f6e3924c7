//! The only way to the network. The live web, recorded webs and synthetic webs implement the same trait, so that all
//! other code is shared.

use std::future::{Future, ready};
use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use porthole_types::{CanonicalUrl, FailureKind, Headers};

/// Fetches single URLs. Redirects are not followed: each hop goes through the frontier.
pub trait Fetch: Send + Sync {
    /// Fetches a URL.
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a>;

    /// The addresses of a URL's host, for politeness per address. Empty if there are none to know: in a replay, or
    /// behind a proxy. The error is the one that a fetch would return.
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

/// The return type of [`Fetch::fetch`].
pub type FetchFuture<'a> = Pin<Box<dyn Future<Output = Result<Response, FetchError>> + Send + 'a>>;

/// The return type of [`Fetch::addresses`].
pub type AddressesFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, FetchError>> + Send + 'a>>;

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The URL.
    pub url: CanonicalUrl,
    /// Additional headers, such as `If-None-Match`.
    pub headers: Headers,
    /// What the answer is wanted for.
    pub purpose: RequestPurpose,
    /// The only address to connect to, so that requests go to the address that politeness counted. Without it any
    /// address of the host may be used.
    pub address: Option<IpAddr>,
}

impl Request {
    /// A plain GET request for a page.
    pub fn get(url: CanonicalUrl) -> Self {
        Request { url, headers: Headers::new(), purpose: RequestPurpose::Page, address: None }
    }

    /// A GET request for data of an endpoint.
    pub fn data(url: CanonicalUrl) -> Self {
        Request { purpose: RequestPurpose::Data, ..Request::get(url) }
    }

    /// A POST request with JSON.
    pub fn post(url: CanonicalUrl, json: impl Into<Bytes>) -> Self {
        Request { purpose: RequestPurpose::Post(json.into()), ..Request::get(url) }
    }

    /// The same request to this address, if there is one.
    pub fn at(self, address: Option<IpAddr>) -> Self {
        Request { address, ..self }
    }
}

/// What the answer to a request is wanted for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RequestPurpose {
    /// A page: bodies of types that cannot contain text are not read.
    #[default]
    Page,
    /// Data of an endpoint, such as JSON: the body is read, whatever its type.
    Data,
    /// To hand over JSON: a POST request with this body.
    Post(Bytes),
}

/// An HTTP response with a decoded body.
#[derive(Clone, Debug)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: Headers,
    /// The body, possibly truncated.
    pub body: Bytes,
    /// The body as it was received, if it was compressed with gzip or brotli and is complete. Archives keep these bytes,
    /// which `headers` describe.
    pub encoded_body: Option<Bytes>,
    /// The body was longer than allowed and was truncated.
    pub truncated: bool,
    /// How long it took; in a replay, the recorded time.
    pub took: Duration,
}

impl Response {
    /// A complete response with a body that was not compressed, received at once.
    pub fn new(status: u16, headers: Headers, body: impl Into<Bytes>) -> Self {
        let (body, took) = (body.into(), Duration::ZERO);
        Response { status, headers, body, encoded_body: None, truncated: false, took }
    }
}

/// A request without an answer.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{url}: {detail}")]
pub struct FetchError {
    /// The requested URL.
    pub url: CanonicalUrl,
    /// The class of the failure.
    pub kind: FailureKind,
    /// What happened.
    pub detail: String,
}
