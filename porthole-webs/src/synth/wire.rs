//! A minimal HTTP/1.1 server for [`super::serve`]: reads request heads, selects the response, writes it.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use porthole_crawl::{FetchError, Request, Response};
use porthole_types::{CanonicalUrl, FailureKind, Headers};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::SyntheticWeb;
use super::answer::SLOW;

/// A request without its body.
pub(crate) struct RequestHead {
    method: String,
    target: String,
    headers: Headers,
    /// Whether the connection is to be closed after the response, by request of the client or after an error.
    pub(crate) close: bool,
}

/// A response.
pub(crate) struct Reply {
    status: u16,
    headers: Headers,
    body: Vec<u8>,
    /// Simulated latency, if the host is slow.
    pub(crate) wait: Option<Duration>,
    pub(crate) close: bool,
}

/// Maximum size of a request head.
const MAX_HEAD: usize = 16 * 1024;

/// Reads the next request head; bytes after it stay in `buffer`. `None` at the end.
pub(crate) async fn read_head(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<RequestHead>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = parse_head(&buffer[..end]).unwrap_or_else(RequestHead::unreadable);
            buffer.drain(..end + 4);
            return Ok(Some(head));
        }
        if buffer.len() > MAX_HEAD || stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// The response to a request; an error if the host fails below HTTP.
pub(crate) fn answer_to(web: &SyntheticWeb, head: &RequestHead) -> Result<Reply, FailureKind> {
    if head.method == "CONNECT" {
        let text = "the synthetic web has no https: use http URLs through this proxy\n";
        return Ok(Reply::text(501, text).closing());
    }
    if !matches!(head.method.as_str(), "GET" | "HEAD") {
        let mut reply = Reply::text(405, "only GET and HEAD are answered\n").closing();
        reply.headers.push("Allow", "GET, HEAD");
        return Ok(reply);
    }
    let Some(asked) = head.url() else {
        return Ok(Reply::text(400, "no URL can be made of the request target and the Host header\n"));
    };
    let Ok(url) = CanonicalUrl::parse(&asked) else {
        return Ok(Reply::text(400, "the request target is not an http URL\n"));
    };
    if is_server_itself(url.host()) {
        return Ok(index(web, url.path()));
    }
    match web.answer(&Request { headers: head.headers.clone(), ..Request::get(url) }) {
        Ok(response) => Ok(Reply::of(response)),
        Err(FetchError { kind: FailureKind::Dns | FailureKind::Tls, url, detail }) => {
            Ok(Reply::text(502, &format!("{url}: {detail}\n")))
        }
        Err(error) => Err(error.kind),
    }
}

/// Writes a response with one call.
pub(crate) async fn write_reply(
    stream: &mut TcpStream,
    out: &mut Vec<u8>,
    head: &RequestHead,
    reply: &Reply,
    last: bool,
) -> io::Result<()> {
    let status = reply.status;
    out.extend_from_slice(format!("HTTP/1.1 {status} {}\r\n", reason(status)).as_bytes());
    for (name, value) in reply.headers.iter() {
        out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    if status != 304 {
        out.extend_from_slice(format!("Content-Length: {}\r\n", reply.body.len()).as_bytes());
    }
    out.extend_from_slice(if last { b"Connection: close\r\n\r\n" } else { b"\r\n" });
    if head.method != "HEAD" && status != 304 {
        out.extend_from_slice(&reply.body);
    }
    stream.write_all(out).await
}

fn parse_head(bytes: &[u8]) -> Option<RequestHead> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split("\r\n");
    let mut request = lines.next()?.split(' ');
    let (method, target, version) = (request.next()?, request.next()?, request.next()?);
    let mut headers = Headers::new();
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        headers.push(name.trim(), value.trim());
    }
    let says = |word: &str| {
        let asked = headers.get("connection").or_else(|| headers.get("proxy-connection"));
        asked.is_some_and(|value| value.eq_ignore_ascii_case(word))
    };
    // A body would have to be read before the next request; no supported request has one.
    let body =
        headers.get("content-length").is_some_and(|n| n != "0") || headers.get("transfer-encoding").is_some();
    let close = body || says("close") || (version == "HTTP/1.0" && !says("keep-alive"));
    Some(RequestHead { method: method.to_owned(), target: target.to_owned(), headers, close })
}

impl RequestHead {
    /// Stands for an invalid request: it is answered with an error, and the connection is closed.
    fn unreadable() -> Self {
        RequestHead { method: String::new(), target: String::new(), headers: Headers::new(), close: true }
    }

    /// The requested URL, from the absolute form or the Host header.
    fn url(&self) -> Option<String> {
        if self.target.starts_with('/') {
            return self.headers.get("host").map(|host| format!("http://{host}{}", self.target));
        }
        self.target.contains("://").then(|| self.target.clone())
    }
}

impl Reply {
    fn of(response: Response) -> Self {
        let Response { status, headers, body, took, .. } = response;
        Reply { status, headers, body: body.into(), wait: (took >= SLOW).then_some(took), close: false }
    }

    fn text(status: u16, text: &str) -> Self {
        Reply::content(status, "text/plain; charset=utf-8", text.as_bytes().to_vec())
    }

    fn content(status: u16, content_type: &str, body: Vec<u8>) -> Self {
        let headers = [("Content-Type", content_type)].into_iter().collect();
        Reply { status, headers, body, wait: None, close: false }
    }

    fn closing(self) -> Self {
        Reply { close: true, ..self }
    }
}

fn is_server_itself(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<IpAddr>().is_ok()
}

/// Index page at the server's own address, with suggestions for start pages.
fn index(web: &SyntheticWeb, path: &str) -> Reply {
    if path != "/" {
        return Reply::text(404, "only / is here; other pages are on the hosts that it names\n");
    }
    let mut page = "<!DOCTYPE html>\n<title>A synthetic web</title>\n<h1>A synthetic web</h1>\n\
        <p>Set this address as the HTTP proxy to visit these pages.</p>\n"
        .to_owned();
    for topic in web.topics().iter().filter(|topic| topic.leaf) {
        page.push_str(&format!("<h2>{}</h2>\n<ul>\n", topic.path));
        for url in web.examples(topic.id, 3, 0) {
            page.push_str(&format!("<li><a href=\"{url}\">{url}</a></li>\n"));
        }
        page.push_str("</ul>\n");
    }
    Reply::content(200, "text/html; charset=utf-8", page.into_bytes())
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Unknown",
    }
}
