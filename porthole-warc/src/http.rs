//! The HTTP response in a record. Responses of old servers are accepted: bare line feeds, heads that run into the page,
//! lines that are not fields.

use porthole_types::Headers;

use crate::WarcError;
use crate::body::{BodyEnd, decode};
use crate::error::shown;
use crate::fields::{first_line, parse_fields};

/// A response with its body decoded from transfer and content encodings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// HTTP status.
    pub status: u16,
    /// Headers, as received.
    pub headers: Headers,
    /// The body, decoded.
    pub body: Vec<u8>,
    /// Whether the body is complete.
    pub end: BodyEnd,
}

const HEAD_LIMIT: usize = 256 * 1024;
const LINE_LIMIT: usize = 2_000;

impl HttpResponse {
    /// Parses the block of the record at `offset`. The body is truncated to `limit` bytes.
    pub fn parse(block: &[u8], offset: u64, limit: u64) -> Result<Self, WarcError> {
        let (first, after_status) = first_line(block);
        let status = status(first).ok_or_else(|| WarcError::Http {
            offset,
            what: format!("it starts with {}, not with a status line", shown(block)),
        })?;
        let (head, body_at) =
            head_end(block, after_status).map_err(|what| WarcError::Http { offset, what })?;
        let (headers, _stray) = parse_fields(&block[after_status..head]);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let (body, end) = decode(&headers, &block[body_at..], limit)
            .map_err(|what| WarcError::Unsupported { offset, what })?;
        Ok(HttpResponse { status, headers, body, end })
    }
}

/// Parses `HTTP/1.0 200 OK`; the reason, and even the minor version, may be missing.
fn status(line: &[u8]) -> Option<u16> {
    let (name, rest) = line.split_at_checked(4)?;
    if !name.eq_ignore_ascii_case(b"HTTP") {
        return None;
    }
    let code = rest.split(u8::is_ascii_whitespace).skip(1).find(|word| !word.is_empty())?;
    if code.len() != 3 || !code.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(code).ok()?.parse().ok()
}

/// End of the head and start of the body. A head without an end is the whole block.
fn head_end(block: &[u8], after_status: usize) -> Result<(usize, usize), String> {
    let mut at = after_status;
    for _ in 0..LINE_LIMIT {
        let (line, length) = first_line(&block[at..]);
        if line.is_empty() || line.starts_with(b"<") {
            // Some servers omitted the empty line; a field cannot start with `<`, but a page does.
            return Ok((at, if line.is_empty() { at + length } else { at }));
        }
        at += length;
        if at > HEAD_LIMIT {
            return Err(format!("its head has more than {HEAD_LIMIT} bytes"));
        }
    }
    Err(format!("its head has more than {LINE_LIMIT} lines"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(block: &str, status: u16, fields: &[(&str, &str)], body: &str) {
        let response = HttpResponse::parse(block.as_bytes(), 0, 1_000).unwrap();
        assert_eq!(response.status, status, "for {block:?}");
        assert_eq!(response.headers.iter().collect::<Vec<_>>(), fields, "for {block:?}");
        assert_eq!(String::from_utf8_lossy(&response.body), body, "for {block:?}");
    }

    #[test]
    fn old_and_new_heads_are_parsed() {
        check("HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", 200, &[("A", "b")], "body");
        check("HTTP/1.0 404\nA: b\n\n\nbody", 404, &[("A", "b")], "\nbody");
        check("http/1.0  302 Found\n\nbody", 302, &[], "body");
        check("HTTP/2 204\r\n\r\n", 204, &[], "");
        check("HTTP 200 OK\r\n\r\nx", 200, &[], "x");
        check("HTTP/1.0 200 OK\nA: b\nnonsense\nC: d\n\nx", 200, &[("A", "b"), ("C", "d")], "x");
        check("HTTP/1.0 200 OK\nA: b\n c\n\nx", 200, &[("A", "b c")], "x");
        check("HTTP/1.0 200 OK\nA: b\n<html>x\n\ny", 200, &[("A", "b")], "<html>x\n\ny");
        check("HTTP/1.0 200 OK\r\nA: b", 200, &[("A", "b")], "");
        check("HTTP/1.0 200 OK", 200, &[], "");
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
            200,
            &[("Transfer-Encoding", "chunked")],
            "ab",
        );
    }

    #[test]
    fn invalid_responses_are_rejected_with_a_reason() {
        let endless = format!("HTTP/1.1 200 OK\r\n{}", "A: b\r\n".repeat(LINE_LIMIT));
        let huge = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "b".repeat(HEAD_LIMIT));
        for (block, word) in [
            ("", "starts with ``"),
            ("<html>HTTP 0.9", "`<html>HTTP 0.9`"),
            ("HTTP/1.1 OK\r\n\r\n", "status line"),
            ("HTTP/1.1 2000 OK\r\n\r\n", "status line"),
            ("GET / HTTP/1.1\r\n\r\n", "status line"),
            (&endless, "lines"),
            (&huge, "bytes"),
        ] {
            let error = HttpResponse::parse(block.as_bytes(), 77, 1_000).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
            assert_eq!(error.offset(), 77);
        }
    }
}
