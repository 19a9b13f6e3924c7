//! Who may ask: the token, the `Host` and `Origin` of requests, the size and time of bodies, and the headers of every
//! answer.
//!
//! The server runs beside a browser that visits foreign pages, so that each of these can be forged by one of them except
//! what browsers do not let pages set: a page of another origin cannot read the token, cannot send `X-Porthole` without a
//! preflight that is never answered, and, after its name was pointed at this machine, still sends its own name as `Host`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, ORIGIN, REFERRER_POLICY,
    SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

use crate::error::{ApiError, Error};

/// Largest body of a request, and of one that carries bookmarks.
const LARGEST_BODY: usize = 1 << 20;
const LARGEST_BOOKMARKS: usize = 16 << 20;

/// Time for a body to arrive.
const BODY_TIME: Duration = Duration::from_secs(15);

/// `style-src` allows inline styles, because charts and lists position their elements by `style` attributes.
const CONTENT_POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; \
    object-src 'none'";

/// A secret of one start of the server.
#[derive(Clone)]
pub(crate) struct AccessToken(String);

impl AccessToken {
    /// 256 random bits, as hexadecimal digits.
    pub(crate) fn random() -> Result<AccessToken, Error> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|error| Error::Token(error.to_string()))?;
        Ok(AccessToken(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares in a time that does not depend on where the two differ.
    fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

/// What is allowed.
pub(crate) struct AccessRules {
    token: AccessToken,
    /// Values of `Host`, in lower case.
    hosts: Vec<String>,
    /// The port, if any address of this machine may be its name: it listens on all of them. An address cannot be
    /// pointed elsewhere, unlike a name.
    any_address: Option<u16>,
    /// Includes the port: cookies are shared by all ports of a host.
    cookie: String,
}

impl AccessRules {
    pub(crate) fn new(token: AccessToken, address: SocketAddr, names: &[String]) -> AccessRules {
        let port = address.port();
        let mut hosts: Vec<String> =
            ["127.0.0.1", "localhost", "[::1]"].iter().map(|name| format!("{name}:{port}")).collect();
        hosts.push(address.to_string());
        for name in names {
            let name = name.to_ascii_lowercase();
            hosts.push(format!("{name}:{port}"));
            hosts.push(name);
        }
        if port == 80 {
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(str::to_owned));
        }
        let any_address = address.ip().is_unspecified().then_some(port);
        AccessRules { token, hosts, any_address, cookie: format!("porthole_token_{port}") }
    }

    fn is_own_host(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let is_address = |port: u16| {
            host.parse().is_ok_and(|at: SocketAddr| at.port() == port)
                || port == 80 && host.parse::<IpAddr>().is_ok()
        };
        self.hosts.contains(&host) || self.any_address.is_some_and(is_address)
    }

    /// Whether a request shows the token, as a cookie or as a header.
    fn has_token(&self, headers: &HeaderMap) -> bool {
        let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut cookies = cookies.flat_map(|value| value.split(';')).filter_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.cookie).then_some(value)
        });
        bearer.is_some_and(|given| self.token.is(given)) || cookies.any(|given| self.token.is(given))
    }

    /// Refuses what no page of this server would send.
    fn check(&self, request: &Request) -> Result<(), ApiError> {
        let headers = request.headers();
        let forbidden = |why: &str| Err(ApiError::new(StatusCode::FORBIDDEN, why));
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
        if !self.is_own_host(host) || hosts.next().is_some() {
            return Err(ApiError::new(StatusCode::FORBIDDEN, "this server has another name")
                .remedy("open the address that `porthole serve` printed, or add --host-name NAME"));
        }
        if is_private(request.uri().path()) && !self.has_token(headers) {
            return Err(ApiError::new(StatusCode::UNAUTHORIZED, "the token is missing or wrong")
                .remedy("open the address that `porthole serve` printed"));
        }
        if is_reading(request.method()) {
            return Ok(());
        }
        if headers.get("x-porthole").is_none_or(|value| value != "1") {
            return forbidden("requests that change something need the header `X-Porthole: 1`");
        }
        if headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site") {
            return forbidden("requests of other sites are refused");
        }
        let is_own = |origin: &HeaderValue| {
            let origin = origin.to_str().unwrap_or_default();
            let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            name.is_some_and(|name| name.eq_ignore_ascii_case(host))
        };
        if !headers.get_all(ORIGIN).iter().all(is_own) {
            return forbidden("requests of other origins are refused");
        }
        Ok(())
    }

    /// The answer to an address with the token in it: a cookie, and the same address without it. The address is
    /// shown once and ends in a history; the cookie is not.
    fn enter(&self, request: &Request) -> Option<Response> {
        let uri = request.uri();
        let given = query_value(uri, "token")?;
        if request.method() != Method::GET || uri.path().starts_with("/api/") {
            return None;
        }
        if !self.token.is(given) {
            let error = ApiError::new(StatusCode::UNAUTHORIZED, "this token is wrong or of an earlier start");
            return Some(error.remedy("open the address that `porthole serve` printed").into_response());
        }
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie, self.token.0);
        let mut response = StatusCode::SEE_OTHER.into_response();
        let headers = response.headers_mut();
        headers.insert(SET_COOKIE, HeaderValue::from_str(&cookie).ok()?);
        headers.insert(LOCATION, HeaderValue::from_str(&without_token(uri)).ok()?);
        Some(response)
    }
}

/// Checks a request, reads its body, and adds the headers to the answer.
pub(crate) async fn guard(State(rules): State<Arc<AccessRules>>, request: Request, next: Next) -> Response {
    let is_private = is_private(request.uri().path());
    let mut response = match rules.check(&request) {
        Err(error) => error.into_response(),
        Ok(()) => match rules.enter(&request) {
            Some(response) => response,
            None => match with_body(request).await {
                Ok(request) => next.run(request).await,
                Err(error) => error.into_response(),
            },
        },
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if is_private || !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// Whether an address shows something of a workspace.
fn is_private(path: &str) -> bool {
    path.starts_with("/api/") || path == "/metrics" || path == "/companion"
}

fn is_reading(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// The request with its whole body, which must be small and arrive soon.
async fn with_body(request: Request) -> Result<Request, ApiError> {
    if is_reading(request.method()) {
        return Ok(request);
    }
    let path = request.uri().path();
    let has_bookmarks = path == "/api/v1/bookmarks" || path == "/api/v1/workspaces";
    let largest = if has_bookmarks { LARGEST_BOOKMARKS } else { LARGEST_BODY };
    let (head, body) = request.into_parts();
    match tokio::time::timeout(BODY_TIME, to_bytes(body, largest)).await {
        Err(_) => Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
        Ok(Err(_)) => Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is larger than {largest} bytes, or was cut off"),
        )),
        Ok(Ok(bytes)) => Ok(Request::from_parts(head, Body::from(bytes))),
    }
}

fn query_value<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    let pairs = uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(found, _)| *found == name).map(|(_, value)| value)
}

/// Path and query without the token; always an address on this server.
fn without_token(uri: &Uri) -> String {
    let path = format!("/{}", uri.path().trim_start_matches(['/', '\\']));
    let query = uri.query().unwrap_or_default().split('&');
    let query: Vec<&str> = query.filter(|pair| !pair.starts_with("token=") && !pair.is_empty()).collect();
    if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(address: &str, names: &[&str]) -> AccessRules {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        AccessRules::new(AccessToken("secret".to_owned()), address.parse().unwrap(), &names)
    }

    #[test]
    fn tokens_are_long_and_differ() {
        let [one, other] = [AccessToken::random().unwrap(), AccessToken::random().unwrap()];
        assert_eq!(one.0.len(), 64);
        assert_ne!(one.0, other.0);
        assert!(one.is(one.as_str()) && !one.is(other.as_str()) && !one.is("") && !one.is(&one.0[..63]));
    }

    #[test]
    fn only_own_names_are_answered() {
        let local = rules("127.0.0.1:7373", &["crawler.lan"]);
        for (host, is_own) in [
            ("127.0.0.1:7373", true),
            ("LOCALHOST:7373", true),
            ("[::1]:7373", true),
            ("crawler.lan", true),
            ("crawler.lan:7373", true),
            ("127.0.0.1:80", false),
            ("127.0.0.1", false),
            ("evil.example:7373", false),
            ("127.0.0.1.evil.example:7373", false),
            ("10.0.0.1:7373", false),
            ("", false),
        ] {
            assert_eq!(local.is_own_host(host), is_own, "{host}");
        }
        let everywhere = rules("0.0.0.0:7373", &[]);
        assert!(everywhere.is_own_host("10.0.0.1:7373") && everywhere.is_own_host("[fe80::1]:7373"));
        assert!(!everywhere.is_own_host("evil.example:7373") && !everywhere.is_own_host("10.0.0.1:80"));
    }

    #[test]
    fn the_address_without_the_token_stays_on_this_server() {
        for (uri, expected) in [
            ("/?token=x", "/"),
            ("/w/owls/crawl?a=1&token=x&b=2", "/w/owls/crawl?a=1&b=2"),
            ("//evil.example/?token=x", "/evil.example/"),
        ] {
            assert_eq!(without_token(&uri.parse().unwrap()), expected);
        }
    }
}
