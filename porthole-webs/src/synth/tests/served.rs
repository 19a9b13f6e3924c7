//! The web over real HTTP, with a plain client.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::super::{Health, PageKind, ServeError, ServeOptions, SyntheticServer, Truth, serve};
use super::*;

/// A client with a persistent connection.
struct Client(TcpStream);

impl Client {
    fn new(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        Client(stream)
    }

    /// Sends a request and reads one response: status, head, body. `None` if the server closes the connection.
    fn ask(&mut self, request: &str) -> Option<(u16, String, Vec<u8>)> {
        self.0.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            if self.0.read(&mut byte).unwrap_or(0) == 0 {
                return None;
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let length = head
            .split("Content-Length: ")
            .nth(1)
            .map_or(0, |rest| rest.split("\r\n").next().unwrap().parse().unwrap());
        let mut body = vec![0; if request.starts_with("HEAD") { 0 } else { length }];
        self.0.read_exact(&mut body).unwrap();
        Some((head[9..12].parse().unwrap(), head, body))
    }
}

fn with_server(params: SynthParams, options: ServeOptions, test: impl FnOnce(SocketAddr, &SyntheticWeb)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let web = Arc::new(web(params));
    let loopback = "127.0.0.1:0".parse().unwrap();
    let server: SyntheticServer = runtime.block_on(serve(Arc::clone(&web), loopback, options)).unwrap();
    test(server.addr(), &web);
    runtime.block_on(server.shutdown());
}

#[test]
fn normal_and_proxy_requests_bring_the_same_bytes_as_memory() {
    with_server(sound(), ServeOptions::default(), |addr, web| {
        let mut client = Client::new(addr);
        let there = web.pages().filter(|(_, truth)| truth.appears.is_none());
        for (url, _) in there.step_by(150) {
            let expected = body(web, &url);
            let host = url.authority();
            let normal = format!("GET {} HTTP/1.1\r\nHost: {host}\r\n\r\n", url.path_and_query());
            let proxy = format!("GET {url} HTTP/1.1\r\nHost: ignored.test\r\n\r\n");
            for request in [normal, proxy] {
                let (status, _, found) = client.ask(&request).unwrap();
                assert_eq!((status, found == expected), (200, true), "{request}");
            }
            let head = format!("HEAD {url} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            let (status, head, _) = client.ask(&head).unwrap();
            assert_eq!(status, 200);
            assert!(head.contains(&format!("Content-Length: {}\r\n", expected.len())), "{head}");
        }
    });
}

#[test]
fn unsupported_requests_are_answered_with_a_reason() {
    with_server(sound(), ServeOptions::default(), |addr, web| {
        let (url, _) = web.pages().next().unwrap();
        for (request, status, word) in [
            (format!("POST {url} HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi"), 405, "GET and HEAD"),
            ("CONNECT www.a.test:443 HTTP/1.1\r\n\r\n".to_owned(), 501, "no https"),
            ("GET http://stranger.test/ HTTP/1.1\r\n\r\n".to_owned(), 502, "no such host"),
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400, "Host"),
            ("hello\r\n\r\n".to_owned(), 405, "GET and HEAD"),
            (format!("GET / HTTP/1.1\r\nHost: {addr}\r\n\r\n"), 200, "/Recreation/Cycling"),
            (format!("GET {url}nowhere HTTP/1.0\r\n\r\n"), 404, "Not found"),
        ] {
            let (found, _, text) = Client::new(addr).ask(&request).unwrap();
            let text = String::from_utf8(text).unwrap();
            assert_eq!(found, status, "{request}");
            assert!(text.contains(word), "{request}: {text}");
        }
        let (_, head, _) = Client::new(addr).ask(&format!("GET {url} HTTP/1.1\r\n\r\n")).unwrap();
        let etag = head.split("ETag: ").nth(1).unwrap().split("\r\n").next().unwrap();
        let again = format!("GET {url} HTTP/1.1\r\nIf-None-Match: {etag}\r\n\r\n");
        assert_eq!(Client::new(addr).ask(&again).unwrap().0, 304);
        let closing = format!("GET {url} HTTP/1.1\r\nConnection: close\r\n\r\n");
        let mut client = Client::new(addr);
        assert!(client.ask(&closing).is_some());
        assert_eq!(client.0.read(&mut [0]).unwrap(), 0, "the server hangs up when asked to");
    });
}

/// In simulated time, which only passes while the server sleeps, so that its delays are exact to the millisecond.
#[tokio::test(start_paused = true)]
async fn bad_hosts_behave_badly_on_the_wire() {
    let options = ServeOptions {
        stall: Duration::from_secs(30),
        longest_wait: Duration::from_millis(60),
        ..ServeOptions::default()
    };
    let params = SynthParams { stalling_rate: 1.0, flaky_rate: 1.0, ..unsound() };
    let web = Arc::new(web(params));
    let server = serve(Arc::clone(&web), "127.0.0.1:0".parse().unwrap(), options).await.unwrap();
    let addr = server.addr();
    for (health, expected, slept) in [
        (Health::Slow, Some(200), options.longest_wait),
        (Health::Flaky, Some(500), Duration::ZERO),
        (Health::Stalling, None, options.stall),
        (Health::Refusing, None, Duration::ZERO),
    ] {
        let fine = |truth: &Truth| truth.health == health && truth.kind == PageKind::Home;
        let (url, _) = web.pages().find(|(_, truth)| fine(truth)).unwrap();
        let begun = tokio::time::Instant::now();
        // On a separate thread, because the runtime must have nothing else to do.
        let (tell, told) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let answer = Client::new(addr).ask(&format!("GET {url} HTTP/1.1\r\n\r\n"));
            tell.send(answer.map(|(status, ..)| status)).unwrap();
        });
        assert_eq!((told.await.unwrap(), begun.elapsed()), (expected, slept), "{health:?}");
    }
    server.shutdown().await;
}

#[tokio::test]
async fn only_loopback_is_served_unless_told_otherwise() {
    let web = Arc::new(web(sound()));
    let open = "0.0.0.0:0".parse().unwrap();
    let refused = serve(Arc::clone(&web), open, ServeOptions::default()).await;
    assert!(matches!(refused, Err(ServeError::Remote(_))));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap();
    let error = serve(web, addr, ServeOptions::default()).await.err().unwrap().to_string();
    assert!(error.contains("cannot listen on") && error.contains(&addr.to_string()), "{error}");
}
