//! Contents of records: HTTP responses and requests, written in HTTP/1.1 form for every protocol.

use std::net::IpAddr;

use porthole_types::{Headers, Timestamp};

use crate::{Digest, RecordId};

/// A response to be recorded. The headers are those received; the record corrects those about encoding and length.
#[derive(Clone, Copy, Debug)]
pub struct WarcResponse<'a> {
    /// The requested URL.
    pub url: &'a str,
    /// Time of the response.
    pub date: Timestamp,
    /// HTTP status.
    pub status: u16,
    /// HTTP headers.
    pub headers: &'a Headers,
    /// The body.
    pub body: &'a [u8],
    /// Whether the body has the content encoding that the headers name, as it was received. Otherwise it is decoded.
    pub is_encoded: bool,
    /// The server's address.
    pub ip: Option<IpAddr>,
    /// Why the body is incomplete, if it is.
    pub truncated: Option<Truncation>,
}

impl<'a> WarcResponse<'a> {
    /// A complete response with status 200 and a decoded body, dated 1970.
    pub fn new(url: &'a str, headers: &'a Headers, body: &'a [u8]) -> Self {
        let date = Timestamp(0);
        WarcResponse { url, date, status: 200, headers, body, is_encoded: false, ip: None, truncated: None }
    }
}

/// A request to be recorded.
#[derive(Clone, Copy, Debug)]
pub struct WarcRequest<'a> {
    /// The requested URL.
    pub url: &'a str,
    /// Time of the request.
    pub date: Timestamp,
    /// Path and query in the request line.
    pub path: &'a str,
    /// HTTP headers, including `Host`.
    pub headers: &'a Headers,
    /// Record of the response, if there was one.
    pub response: Option<RecordId>,
}

/// The record that a revisit refers to.
#[derive(Clone, Copy, Debug)]
pub struct Original<'a> {
    /// Its id, `urn:uuid:…` with or without angle brackets, if known.
    pub id: Option<&'a str>,
    /// Its URL.
    pub url: &'a str,
    /// Its date.
    pub date: Timestamp,
    /// Digest of their common payload.
    pub digest: Digest,
}

/// Why a body is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Truncation {
    /// It was longer than allowed.
    Length,
    /// It took longer than allowed.
    Time,
    /// The connection broke.
    Disconnect,
}

impl Truncation {
    /// Value of `WARC-Truncated`.
    pub fn name(self) -> &'static str {
        match self {
            Truncation::Length => "length",
            Truncation::Time => "time",
            Truncation::Disconnect => "disconnect",
        }
    }
}

/// Writes the head of a response. Headers that only apply to the wire format are kept under another name, as Common
/// Crawl does.
pub(crate) fn push_response_head(out: &mut Vec<u8>, response: &WarcResponse<'_>) {
    const WIRE_ONLY: [&str; 3] = ["Transfer-Encoding", "Content-Length", "Content-Encoding"];
    let wire_only = if response.is_encoded { &WIRE_ONLY[..2] } else { &WIRE_ONLY };
    push(out, &format!("HTTP/1.1 {:03} {}\r\n", response.status.min(999), reason(response.status)));
    for (name, value) in response.headers.iter() {
        let renamed = wire_only.iter().any(|of_the_wire| of_the_wire.eq_ignore_ascii_case(name));
        if renamed {
            push(out, "X-Crawler-");
        }
        push_field(out, name, value);
    }
    push_field(out, "Content-Length", &response.body.len().to_string());
    push(out, "\r\n");
}

/// Writes a request.
pub(crate) fn push_request(out: &mut Vec<u8>, request: &WarcRequest<'_>) {
    let path: String = request.path.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
    push(out, &format!("GET {path} HTTP/1.1\r\n"));
    for (name, value) in request.headers.iter() {
        push_field(out, name, value);
    }
    push(out, "\r\n");
}

/// Writes one field of a head. Invalid characters in name or value are replaced, so the head stays well-formed.
pub(crate) fn push_field(out: &mut Vec<u8>, name: &str, value: &str) {
    let is_token = |b: u8| b.is_ascii_graphic() && b != b':';
    out.extend(name.bytes().map(|b| if is_token(b) { b } else { b'_' }));
    if name.is_empty() {
        out.push(b'_');
    }
    push(out, ": ");
    let start = out.len();
    push(out, value.trim());
    for byte in &mut out[start..] {
        if byte.is_ascii_control() && *byte != b'\t' {
            *byte = b' ';
        }
    }
    push(out, "\r\n");
}

/// A timestamp in WARC format, with milliseconds.
pub(crate) fn date(at: Timestamp) -> String {
    let latest = jiff::Timestamp::MAX;
    let at = at.0.clamp(0, latest.as_millisecond());
    jiff::Timestamp::from_millisecond(at).unwrap_or(latest).to_string()
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Standard reason phrases: HTTP/2 has none, so none is stored.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        410 => "Gone",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_describe_the_record() {
        let headers = [("content-encoding", "br"), ("X\r\nY: z", "a\r\nb\0"), ("Content-Length", "9")];
        let headers = headers.into_iter().collect();
        let mut head = Vec::new();
        push_response_head(&mut head, &WarcResponse::new("http://a.test/", &headers, b"hello"));
        assert_eq!(
            String::from_utf8(head).unwrap(),
            "HTTP/1.1 200 OK\r\nX-Crawler-content-encoding: br\r\nX__Y__z: a  b \r\n\
             X-Crawler-Content-Length: 9\r\nContent-Length: 5\r\n\r\n"
        );
        let mut head = Vec::new();
        let response = WarcResponse::new("http://a.test/", &headers, b"\x0b\x02\x80hello\x03");
        push_response_head(&mut head, &WarcResponse { is_encoded: true, ..response });
        assert_eq!(
            String::from_utf8(head).unwrap(),
            "HTTP/1.1 200 OK\r\ncontent-encoding: br\r\nX__Y__z: a  b \r\n\
             X-Crawler-Content-Length: 9\r\nContent-Length: 9\r\n\r\n"
        );
    }

    #[test]
    fn dates() {
        assert_eq!(date(Timestamp(1_000_000_000_123)), "2001-09-09T01:46:40.123Z");
        assert_eq!(date(Timestamp(0)), "1970-01-01T00:00:00Z");
        assert_eq!(date(Timestamp(i64::MIN)), "1970-01-01T00:00:00Z");
        assert!(date(Timestamp(i64::MAX)).starts_with("9999-"));
    }
}
