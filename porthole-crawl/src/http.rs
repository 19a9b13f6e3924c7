//! Fetches from the live web: HTTP/1.1 and HTTP/2, with TLS. A guard keeps requests out of private networks, and
//! everything that a server could make endless has a limit.
//!
//! ```text
//! fetch ─► pool ─► dial: dns ─► guard ─► tcp ─► proxy ─► tls ─► connection ─► body ─► decode
//!            └───────────── a connection that waits ────────────────▲
//! ```
//! It uses hyper's connections with its own pool rather than a full client, because most of a client's cost per page
//! is in the layers between them. Redirects are returned as answers. Cookies are neither stored nor sent.

mod body;
mod connection;
mod decode;
mod dial;
mod dns;
mod fault;
mod guard;
mod memory;
mod pool;
mod proxies;
mod proxy;
mod settings;
mod stream;
mod types;

use std::net::IpAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION,
};
use hyper::{Method, Uri, Version};
use porthole_types::{CanonicalUrl, FailureKind, Headers};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::{AddressesFuture, Fetch, FetchFuture, Request, RequestPurpose, Response};
use body::{BodyLimits, BodyRead, read_body};
use connection::{HttpConnection, RequestBody};
use dial::{Dialer, is_https};
use fault::{Fault, within};
use memory::BodyMemory;
use pool::{Pool, PoolLimits};
use proxy::ProxyKind;

pub use dns::{Resolve, ResolveFuture, SystemResolver};
pub use guard::AllowedAddresses;
pub use proxies::Proxies;
pub use proxy::Proxy;
pub use settings::{HttpSettings, HttpSettingsError};

/// Fetches over the network. Create one and share it. Needs a tokio runtime with time and I/O.
///
/// A fetch returns within the sum of its timeouts, whatever the server does, and holds at most the larger size limit,
/// one compression window (at most 16 MB) and the headers in memory. Errors are classified as follows:
///
/// | kind | when |
/// |---|---|
/// | `dns` | the name has no address |
/// | `scope` | the address, in the URL or behind its name, must not be fetched |
/// | `connect` | the connection failed or broke |
/// | `local` | nothing could be sent, for a reason on this machine: no route, file descriptor or proxy |
/// | `tls` | the TLS handshake failed, or the certificate is invalid |
/// | `timeout` | too slow, in any phase |
/// | `size` | too many or too large headers (a body is truncated instead) |
/// | `protocol` | not HTTP, an unsupported encoding, or an unusable body |
pub struct HttpFetch {
    settings: HttpSettings,
    dialer: Dialer,
    pool: Pool<HttpConnection>,
    /// One permit per request in flight.
    places: Semaphore,
    /// Headers of every request.
    headers: HeaderMap,
    memory: BodyMemory,
    /// Nothing is sent unless it says so.
    may_send: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

/// Maximum size to read of a body that is not a page: enough to reuse the connection in most cases.
const MAX_NON_PAGE_BYTES: usize = 64 << 10;

impl HttpFetch {
    /// Creates a fetcher with the system's resolver.
    pub fn new(settings: HttpSettings) -> Result<Self, HttpSettingsError> {
        HttpFetch::with_resolver(settings, Arc::new(SystemResolver::default()))
    }

    /// Creates a fetcher with another resolver. The guard also applies to its addresses.
    pub fn with_resolver(
        settings: HttpSettings,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self, HttpSettingsError> {
        settings.check()?;
        let limits = PoolLimits {
            per_host: settings.max_idle_per_host,
            total: settings.max_idle,
            timeout: settings.idle_timeout,
        };
        Ok(HttpFetch {
            dialer: Dialer::new(&settings, resolver)?,
            pool: Pool::new(limits),
            places: Semaphore::new(settings.max_requests.min(Semaphore::MAX_PERMITS)),
            headers: every_request(&settings)?,
            memory: BodyMemory::new(settings.max_bytes_under_way),
            may_send: None,
            settings,
        })
    }

    /// Sends a request only if `may_send` says so, which is asked immediately before it is written to the connection. A
    /// request that is not sent fails with the kind `local`.
    pub fn asking_first(self, may_send: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        HttpFetch { may_send: Some(Box::new(may_send)), ..self }
    }

    async fn get(&self, request: &Request) -> Result<Response, Fault> {
        let Ok(_place) = self.places.acquire().await else {
            return Err(Fault::new(FailureKind::Connect, "the crawl has ended"));
        };
        let started = Instant::now();
        let (connection, answer) = self.send(request).await?;
        let (head, incoming) = answer.into_parts();
        let read = self.read(connection, request, &head, incoming).await?;
        Ok(Response {
            status: head.status.as_u16(),
            headers: to_text(&head.headers),
            body: read.bytes,
            encoded_body: read.encoded,
            truncated: read.is_cut,
            took: started.elapsed(),
        })
    }

    /// Sends a request, over an idle connection if there is one. If the server has closed that connection in the
    /// meantime, the request is sent once more over a new one. A reset connection is not retried, because the server
    /// has seen the request.
    async fn send(&self, request: &Request) -> Result<(HttpConnection, hyper::Response<Incoming>), Fault> {
        if let Some(mut connection) = self.idle_connection(&request.url).await {
            match self.exchange(&mut connection, request).await {
                Ok(answer) => return Ok((connection, answer)),
                Err(fault) if !fault.is_closed => return Err(fault),
                Err(_) => {}
            }
        }
        let dialed = self.dialer.dial(&request.url, request.address).await?;
        let opened = async {
            let opened = HttpConnection::open(dialed, self.settings.max_header_bytes).await;
            opened.map_err(|error| Fault::of_exchange(&error))
        };
        let mut connection = within(self.settings.connect_timeout, "no connection", opened).await?;
        let answer = self.exchange(&mut connection, request).await?;
        Ok((connection, answer))
    }

    async fn idle_connection(&self, url: &CanonicalUrl) -> Option<HttpConnection> {
        loop {
            let mut connection = self.pool.take(self.pool_key(url))?;
            if connection.is_alive().await {
                return Some(connection);
            }
        }
    }

    async fn exchange(
        &self,
        connection: &mut HttpConnection,
        request: &Request,
    ) -> Result<hyper::Response<Incoming>, Fault> {
        let message = self.message(request, connection.is_http2())?;
        if self.may_send.as_ref().is_some_and(|may_send| !may_send()) {
            return Err(Fault::new(FailureKind::Local, "this worker may not own the site any more"));
        }
        let answer = async {
            let answer = connection.send(message).await;
            answer.map_err(|error| Fault::of_exchange(&error))
        };
        let answer = within(self.settings.first_byte_timeout, "no answer", answer).await?;
        // hyper checks its limit only when it has to read more.
        if size_of(answer.headers()) > self.settings.max_header_bytes {
            return Err(Fault::headers_too_large());
        }
        Ok(answer)
    }

    fn message(&self, request: &Request, is_http2: bool) -> Result<hyper::Request<RequestBody>, Fault> {
        let url = &request.url;
        let unsendable =
            |what: &str| Fault::new(FailureKind::Protocol, format!("the request cannot be sent: {what}"));
        let is_absolute = is_http2 || self.is_proxied_as_is(url);
        let uri = if is_absolute { url.as_str() } else { url.path_and_query() };
        let body = match &request.purpose {
            RequestPurpose::Page | RequestPurpose::Data => None,
            RequestPurpose::Post(json) => Some(json.clone()),
        };
        let is_post = body.is_some();
        let mut message = hyper::Request::new(RequestBody(body));
        *message.method_mut() = if is_post { Method::POST } else { Method::GET };
        *message.uri_mut() = uri.parse::<Uri>().map_err(|error| unsendable(&error.to_string()))?;
        let headers = message.headers_mut();
        *headers = self.headers.clone();
        if !is_http2 {
            let host = HeaderValue::from_str(url.authority()).map_err(|_| unsendable("no host"))?;
            headers.insert(HOST, host);
        }
        let proxy = self.settings.proxies.of(url).filter(|_| self.is_proxied_as_is(url));
        if let Some(login) = proxy.and_then(Proxy::authorization) {
            let login = HeaderValue::from_str(&login).map_err(|_| unsendable("the proxy's login"))?;
            headers.insert(PROXY_AUTHORIZATION, login);
        }
        if request.purpose != RequestPurpose::Page {
            headers.insert(ACCEPT, HeaderValue::from_static("application/json,*/*;q=0.1"));
        }
        if is_post {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        for (name, value) in request.headers.iter() {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unsendable(name))?;
            let value = HeaderValue::from_str(value).map_err(|_| unsendable(name.as_str()))?;
            headers.append(name, value);
        }
        Ok(message)
    }

    /// Reads the useful part of a body, and returns the connection to the pool if it can be reused.
    async fn read(
        &self,
        mut connection: HttpConnection,
        request: &Request,
        head: &hyper::http::response::Parts,
        incoming: Incoming,
    ) -> Result<BodyRead, Fault> {
        let url = &request.url;
        let is_page = head.status.is_success();
        let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        let is_any = request.purpose != RequestPurpose::Page;
        if is_page && !is_any && !types::may_be_text(url, content_type) {
            return Ok(BodyRead::default());
        }
        let limits = self.body_limits(is_page);
        let read = match read_body(&mut connection, &head.headers, incoming, &limits, &self.memory).await {
            // The status is all that matters here.
            Err(_) if !is_page => return Ok(BodyRead { is_cut: true, ..BodyRead::default() }),
            read => read?,
        };
        if read.is_drained && is_reusable(head) {
            self.pool.put(self.pool_key(url), connection);
        }
        Ok(read)
    }

    fn body_limits(&self, is_page: bool) -> BodyLimits {
        let most = if is_page { usize::MAX } else { MAX_NON_PAGE_BYTES };
        BodyLimits {
            timeout: self.settings.body_timeout,
            min_rate: self.settings.min_rate,
            window: self.settings.rate_window,
            wire: self.settings.max_wire_bytes.min(most),
            body: self.settings.max_body_bytes.min(most),
        }
    }

    /// Pool key: scheme, host and port. An HTTP proxy is one host for all plain URLs.
    fn pool_key<'a>(&self, url: &'a CanonicalUrl) -> &'a str {
        if self.is_proxied_as_is(url) {
            return "proxy";
        }
        &url.as_str()[..url.as_str().len() - url.path_and_query().len()]
    }

    /// Whether the proxy receives the URL itself, rather than a CONNECT to its host.
    fn is_proxied_as_is(&self, url: &CanonicalUrl) -> bool {
        !is_https(url) && self.settings.proxies.of(url).is_some_and(|proxy| proxy.kind == ProxyKind::Http)
    }
}

impl Fetch for HttpFetch {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        Box::pin(async move { self.get(request).await.map_err(|fault| fault.about(&request.url)) })
    }

    /// Usually answered from the cache. An IPv4-mapped IPv6 address counts as the IPv4 address. Empty behind a proxy,
    /// which resolves names itself.
    fn addresses<'a>(&'a self, url: &'a CanonicalUrl) -> AddressesFuture<'a> {
        Box::pin(async move {
            if self.settings.proxies.of(url).is_some() {
                return Ok(Vec::new());
            }
            let found = self.dialer.addresses(url).await.map_err(|fault| fault.about(url))?;
            Ok(found.iter().map(IpAddr::to_canonical).collect())
        })
    }
}

fn every_request(settings: &HttpSettings) -> Result<HeaderMap, HttpSettingsError> {
    let mut headers = HeaderMap::new();
    for (name, value) in settings.request_headers().iter() {
        let refused = |_| HttpSettingsError::Contact(settings.user_agent());
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a constant name");
        headers.insert(name, HeaderValue::from_str(value).map_err(refused)?);
    }
    Ok(headers)
}

/// Whether the server allows the connection to be reused.
fn is_reusable(head: &hyper::http::response::Parts) -> bool {
    let says = |word: &[u8]| {
        let values = head.headers.get_all(CONNECTION).iter();
        values
            .flat_map(|value| value.as_bytes().split(|&b| b == b','))
            .any(|token| token.trim_ascii().eq_ignore_ascii_case(word))
    };
    if head.version < Version::HTTP_11 { says(b"keep-alive") } else { !says(b"close") }
}

fn size_of(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}

/// Converts headers to text. Invalid bytes are replaced.
fn to_text(headers: &HeaderMap) -> Headers {
    let mut fields = Headers::with_capacity(headers.len(), size_of(headers));
    for (name, value) in headers {
        fields.push(name.as_str(), &String::from_utf8_lossy(value.as_bytes()));
    }
    fields
}
