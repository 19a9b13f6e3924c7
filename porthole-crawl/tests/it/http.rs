//! Ordinary fetches from ordinary servers.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use porthole_crawl::{Fetch, HttpFetch, Proxies, Request};
use porthole_types::{CanonicalUrl, FailureKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::server::{fetcher, fetcher_with, get, read_head, serve, serve_bytes, settings};

/// Answers each request with its own head, and keeps the connection open.
pub(crate) async fn serve_pages() -> SocketAddr {
    serve(|mut stream| async move {
        while let Some(head) = read_head(&mut stream).await {
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{head}",
                head.len()
            );
            if stream.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    })
    .await
}

#[tokio::test]
async fn requests_carry_the_expected_headers() {
    let addr = serve_pages().await;
    let url = CanonicalUrl::parse(&format!("http://{addr}/a/b?c=%20{{|}}'`^[]\\")).unwrap();
    let mut request = Request::get(url.clone());
    request.headers.push("If-None-Match", "\"x\"");
    let response = fetcher().fetch(&request).await.unwrap();
    let head = String::from_utf8(response.body.to_vec()).unwrap();
    assert!(head.starts_with(&format!("GET {} HTTP/1.1\r\n", url.path_and_query())), "{head}");
    for line in [
        &format!("host: {addr}"),
        "user-agent: Porthole/0.1.0 (+https://porthole.test/bot)",
        "accept-encoding: gzip, br, zstd",
        "if-none-match: \"x\"",
    ] {
        assert!(head.contains(&format!("\r\n{line}\r\n")), "no {line:?} in {head}");
    }
    assert!(!head.contains("cookie") && !head.contains("authorization"));
}

#[tokio::test]
async fn a_compressed_body_is_returned_decoded_and_as_it_was_received() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&b"<p>An owl in a tree. ".repeat(5_000)).unwrap();
    let encoded = encoder.finish().unwrap();
    for (encoding, is_kept) in [("gzip", true), ("gzip, gzip", false), ("identity", false)] {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: {encoding}\r\nContent-Length: {}\r\n\r\n",
            encoded.len()
        );
        let addr = serve_bytes([head.as_bytes(), &encoded].concat()).await;
        let response = get(&fetcher(), &format!("http://{addr}/")).await.unwrap();
        let is_decoded = encoding != "identity";
        assert_eq!(response.body.starts_with(b"<p>An owl"), is_decoded, "{encoding}");
        assert_eq!(response.encoded_body.as_deref(), is_kept.then_some(&encoded[..]), "{encoding}");
    }
}

/// Counts connections. Each answers `answers` requests.
async fn serve_counted(answers: usize, extra: &'static str) -> (SocketAddr, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let addr = serve(move |mut stream| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            for _ in 0..answers {
                if read_head(&mut stream).await.is_none() {
                    return;
                }
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n{extra}\r\npage");
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        }
    })
    .await;
    (addr, count)
}

async fn connections_for(
    answers: usize,
    extra: &'static str,
    change: fn(&mut porthole_crawl::HttpSettings),
) -> usize {
    let (addr, count) = serve_counted(answers, extra).await;
    let mut settings = settings();
    change(&mut settings);
    let fetch = HttpFetch::new(settings).unwrap();
    for _ in 0..6 {
        assert_eq!(get(&fetch, &format!("http://{addr}/")).await.unwrap().body, b"page"[..]);
    }
    count.load(Ordering::Relaxed)
}

#[tokio::test]
async fn connections_are_reused_and_replaced() {
    assert_eq!(connections_for(100, "", |_| {}).await, 1);
    assert_eq!(connections_for(100, "Connection: close\r\n", |_| {}).await, 6);
    assert_eq!(connections_for(100, "", |settings| settings.max_idle_per_host = 0).await, 6);
    assert_eq!(connections_for(100, "", |settings| settings.idle_timeout = Duration::ZERO).await, 6);
    // The server closes the connection after every third answer without announcing it.
    assert_eq!(connections_for(3, "", |_| {}).await, 2);
    assert_eq!(connections_for(1, "", |_| {}).await, 6);
}

#[tokio::test]
async fn a_body_of_another_type_is_not_read() {
    let addr = serve(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 99\r\n\r\n")
            .await;
        // Nothing is sent until the client closes the connection.
        let _ = stream.read(&mut [0]).await;
    })
    .await;
    let response = get(&fetcher(), &format!("http://{addr}/")).await.unwrap();
    assert_eq!(response.headers.get("content-type"), Some("image/png"));
    assert!(response.body.is_empty() && !response.truncated);
}

#[tokio::test]
async fn data_of_an_endpoint_is_read_whatever_its_type() {
    let addr = serve(|mut stream| async move {
        let head = read_head(&mut stream).await.unwrap_or_default();
        let body = if head.contains("\r\naccept: application/json,") { "[1]" } else { "[0]" };
        let answer =
            format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n{body}");
        let _ = stream.write_all(answer.as_bytes()).await;
    })
    .await;
    let url = CanonicalUrl::parse(&format!("http://{addr}/")).unwrap();
    assert_eq!(fetcher().fetch(&Request::get(url.clone())).await.unwrap().body, b""[..], "no page");
    assert_eq!(fetcher().fetch(&Request::data(url)).await.unwrap().body, b"[1]"[..]);
}

#[tokio::test]
async fn json_is_posted() {
    let addr = serve(|mut stream| async move {
        for _ in 0..2 {
            let head = read_head(&mut stream).await.unwrap_or_default();
            let mut body = [0; 8];
            let _ = stream.read_exact(&mut body).await;
            let is_right = head.starts_with("POST /hook HTTP/1.1\r\n")
                && head.contains("\r\ncontent-type: application/json\r\n")
                && head.contains("\r\ncontent-length: 8\r\n");
            let status =
                if is_right && &body == b"{\"a\": 1}" { "204 No Content" } else { "400 Bad Request" };
            let _ = stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).await;
        }
    })
    .await;
    let request = Request::post(CanonicalUrl::parse(&format!("http://{addr}/hook")).unwrap(), "{\"a\": 1}");
    let fetch = fetcher();
    for _ in 0..2 {
        assert_eq!(fetch.fetch(&request).await.unwrap().status, 204);
    }
}

#[tokio::test]
async fn errors_and_redirects_keep_their_status_whatever_their_body() {
    for (head, status) in [
        ("404 Not Found\r\nContent-Encoding: compress", 404),
        ("500 Oh\r\nContent-Length: 100", 500),
        ("301 Moved\r\nLocation: /x\r\nTransfer-Encoding: chunked", 301),
        ("204 No Content", 204),
        ("304 Not Modified\r\nContent-Length: 77", 304),
    ] {
        let addr = serve_bytes(format!("HTTP/1.1 {head}\r\n\r\n")).await;
        assert_eq!(get(&fetcher(), &format!("http://{addr}/")).await.unwrap().status, status);
    }
}

#[tokio::test]
async fn all_addresses_of_a_name_are_tried() {
    let addr = serve_pages().await;
    let names: &[(&str, &[&str])] =
        &[("two.test", &["127.0.0.9", "127.0.0.1"]), ("one.test", &["127.0.0.9"])];
    let fetch = fetcher_with(settings(), names);
    assert_eq!(get(&fetch, &format!("http://two.test:{}/", addr.port())).await.unwrap().status, 200);
    let error = get(&fetch, &format!("http://one.test:{}/", addr.port())).await.unwrap_err();
    assert_eq!(error.kind, FailureKind::Connect, "{error}");
    let url = CanonicalUrl::parse("http://two.test/").unwrap();
    assert_eq!(fetch.addresses(&url).await.unwrap().len(), 2);
}

#[tokio::test]
async fn the_address_for_politeness_is_the_first_that_would_be_connected_to() {
    let names: &[(&str, &[&str])] = &[
        ("two.test", &["127.0.0.9", "127.0.0.1"]),
        ("mapped.test", &["::ffff:127.0.0.9"]),
        ("private.test", &["10.0.0.1"]),
    ];
    let fetch = fetcher_with(settings(), names);
    let address = async |fetch: &HttpFetch, url: &str| {
        let addresses = fetch.addresses(&CanonicalUrl::parse(url).unwrap()).await.unwrap_or_default();
        addresses.first().map(ToString::to_string)
    };
    for (url, expected) in [
        ("http://two.test/", Some("127.0.0.9")),
        ("https://two.test:8443/x", Some("127.0.0.9")),
        ("http://mapped.test/", Some("127.0.0.9")),
        ("http://127.0.0.7:81/", Some("127.0.0.7")),
        ("http://[::1]/", Some("::1")),
        ("http://[::ffff:127.0.0.7]/", Some("127.0.0.7")),
        // Fetches of these fail before anything is sent.
        ("http://private.test/", None),
        ("http://10.0.0.1/", None),
        ("http://unknown.test/", None),
    ] {
        assert_eq!(address(&fetch, url).await.as_deref(), expected, "{url}");
    }
    let mut behind = settings();
    behind.proxies = Proxies::all("http://127.0.0.1:1".parse().unwrap());
    let fetch = fetcher_with(behind, names);
    assert_eq!(address(&fetch, "http://two.test/").await, None, "the proxy resolves it");
}

#[tokio::test]
async fn localhost_is_resolved_by_the_system() {
    let addr = serve_pages().await;
    let response = get(&fetcher(), &format!("http://localhost:{}/", addr.port())).await.unwrap();
    assert_eq!(response.status, 200);
}

#[tokio::test]
async fn concurrent_requests_are_limited() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, seen) = (Arc::clone(&now), Arc::clone(&most));
    let addr = serve(move |mut stream| {
        let (now, most) = (Arc::clone(&counted), Arc::clone(&seen));
        async move {
            while read_head(&mut stream).await.is_some() {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(20)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            }
        }
    })
    .await;
    let mut settings = settings();
    settings.max_requests = 3;
    let fetch = HttpFetch::new(settings).unwrap();
    let url = format!("http://{addr}/");
    futures_util::future::join_all((0..20).map(|_| get(&fetch, &url))).await;
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn large_bodies_wait_for_memory() {
    let body = "x".repeat(1 << 20);
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n", body.len());
    let addr = serve_bytes(head + &body).await;
    let mut settings = settings();
    (settings.max_body_bytes, settings.max_bytes_under_way) = (1 << 20, 4 << 20);
    settings.body_timeout = Duration::from_secs(60);
    let fetch = Arc::new(HttpFetch::new(settings).unwrap());
    let (sender, mut responses) = tokio::sync::mpsc::channel(12);
    for _ in 0..12 {
        let (fetch, sender) = (Arc::clone(&fetch), sender.clone());
        tokio::spawn(async move {
            let response = get(&fetch, &format!("http://{addr}/")).await.unwrap();
            sender.send(response).await.unwrap();
        });
    }
    drop(sender);
    let mut held = Vec::new();
    while held.len() < 4 {
        held.push(responses.recv().await.unwrap());
    }
    for left in (0..8).rev() {
        // All others wait until a received one is dropped.
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        assert!(responses.try_recv().is_err(), "{left} left");
        let response = held.remove(0);
        assert_eq!((response.body.len(), response.truncated), (1 << 20, false));
        drop(response);
        held.push(responses.recv().await.unwrap());
    }
    drop(held);
    assert!(responses.recv().await.is_none());
}

#[tokio::test]
async fn a_reset_connection_is_not_retried() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let addr = serve(move |mut stream| {
        let counted = Arc::clone(&counted);
        async move {
            let mut requests = 0;
            while read_head(&mut stream).await.is_some() {
                counted.fetch_add(1, Ordering::Relaxed);
                requests += 1;
                if requests == 2 {
                    // Closing a socket with zero linger resets it.
                    stream.set_zero_linger().unwrap();
                    return;
                }
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage").await;
            }
        }
    })
    .await;
    let fetch = fetcher();
    let url = format!("http://{addr}/");
    assert_eq!(get(&fetch, &url).await.unwrap().status, 200);
    let error = get(&fetch, &url).await.unwrap_err();
    assert_eq!(error.kind, FailureKind::Connect, "{error}");
    assert_eq!(count.load(Ordering::Relaxed), 2, "one request each");
}
