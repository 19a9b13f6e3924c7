//! What is refused, and what becomes of hostile content. Among these are the holes that were published of another
//! crawler's monitor in 2026: stored scripts, requests to private addresses, files written by a path of a request, a
//! default secret, a monitor without authentication.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use super::server::{IMAGE, SCRIPT, Server, crawled};

/// Addresses that anyone may read: they hold nothing of a crawl.
const OPEN: [&str; 2] = ["/", "/health"];

#[test]
fn nothing_is_answered_without_the_token() {
    let folder = crawled();
    let server = Server::start(folder.path());
    for path in [
        "/api/v1/workspaces",
        "/api/v1/w/ws/status",
        "/api/v1/w/ws/events",
        "/api/v1/openapi.json",
        "/metrics",
    ] {
        let wrong = "f".repeat(64);
        let bearer = |token: &str| format!("Bearer {token}");
        for authorization in [None, Some(bearer(&wrong)), Some(bearer("")), Some(bearer(&server.token[..63]))]
        {
            let headers: Vec<(&str, &str)> =
                authorization.iter().map(|value| ("Authorization", value.as_str())).collect();
            let reply = server.ask("GET", path, &headers, "");
            assert_eq!(reply.status, 401, "{path} {authorization:?}: {reply:?}");
            assert!(reply.json()["remedy"].as_str().unwrap().contains("porthole serve"));
        }
    }
    let post = server.ask("POST", "/api/v1/w/ws/commands", &[("X-Porthole", "1")], "{\"what\":\"stop\"}");
    assert_eq!(post.status, 401);
    for path in OPEN {
        assert_eq!(server.ask("GET", path, &[], "").status, 200, "{path}");
    }
}

#[test]
fn every_start_has_its_own_token() {
    let folder = crawled();
    let tokens =
        [Server::start(folder.path()), Server::start(folder.path())].map(|server| server.token.clone());
    assert_ne!(tokens[0], tokens[1]);
    assert!(tokens.iter().all(|token| token.len() >= 32), "at least 128 bits: {tokens:?}");
}

#[test]
fn the_printed_address_leaves_a_cookie_that_pages_cannot_read() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let reply = server.ask("GET", &format!("/w/ws/crawl?a=1&token={}", server.token), &[], "");
    assert_eq!((reply.status, reply.header("location")), (303, Some("/w/ws/crawl?a=1")));
    let cookie = reply.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let pair = cookie.split(';').next().unwrap();
    assert_eq!(server.ask("GET", "/api/v1/workspaces", &[("Cookie", pair)], "").status, 200);
    let away = server.ask("GET", &format!("//evil.example/?token={}", server.token), &[], "");
    assert_eq!(away.header("location"), Some("/evil.example/"));
    assert_eq!(server.ask("GET", "/?token=wrong", &[], "").status, 401);
}

#[test]
fn other_hosts_origins_and_sites_are_refused() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let bearer = format!("Bearer {}", server.token);
    let own = format!("http://{}", server.address);
    for host in ["evil.example", "evil.example:7373", "localhost", ""] {
        for path in ["/api/v1/workspaces", "/", "/health"] {
            let reply = server.ask("GET", path, &[("Host", host), ("Authorization", &bearer)], "");
            assert!([400, 403].contains(&reply.status), "{host} {path}: {reply:?}");
        }
    }
    let command = "{\"what\":\"disable\",\"parameters\":{\"host\":\"food.test\"}}";
    let post = |headers: &[(&str, &str)]| {
        let mut all = vec![("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        all.extend(headers);
        server.ask("POST", "/api/v1/w/ws/commands", &all, command).status
    };
    assert_eq!(post(&[]), 403, "a form of another site cannot set a header");
    assert_eq!(post(&[("X-Porthole", "0")]), 403);
    assert_eq!(post(&[("X-Porthole", "1"), ("Origin", "http://evil.example")]), 403);
    assert_eq!(post(&[("X-Porthole", "1"), ("Origin", "null")]), 403);
    assert_eq!(post(&[("X-Porthole", "1"), ("Sec-Fetch-Site", "cross-site")]), 403);
    assert_eq!(post(&[("X-Porthole", "1"), ("Origin", &own), ("Sec-Fetch-Site", "same-origin")]), 200);
    let form = [
        ("Authorization", bearer.as_str()),
        ("X-Porthole", "1"),
        ("Content-Type", "application/x-www-form-urlencoded"),
    ];
    assert_eq!(server.ask("POST", "/api/v1/w/ws/commands", &form, "what=stop").status, 415);
    // A preflight is never granted.
    let preflight = server.ask("OPTIONS", "/api/v1/w/ws/commands", &[("Origin", "http://evil.example")], "");
    assert!(
        preflight.status >= 400 && preflight.header("access-control-allow-origin").is_none(),
        "{preflight:?}"
    );
}

#[test]
fn every_answer_has_the_headers() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let foreign = server.ask("GET", "/", &[("Host", "evil.example")], "");
    for reply in [server.get("/"), server.get("/api/v1/workspaces"), server.get("/api/v1/none"), foreign] {
        let policy = reply.header("content-security-policy").unwrap();
        assert!(
            policy.contains("script-src 'self';") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("x-frame-options"), Some("DENY"));
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(reply.header("cross-origin-resource-policy"), Some("same-origin"));
    }
    assert_eq!(server.get("/api/v1/workspaces").header("cache-control"), Some("no-store"));
}

/// Crawled titles, anchors and URLs and names of topics reach clients as strings in JSON and never in HTML.
#[test]
fn crawled_content_is_data() {
    let folder = crawled();
    let server = Server::start(folder.path());
    for (path, expected) in [
        ("/api/v1/w/ws/dot/0", SCRIPT),
        ("/api/v1/w/ws/page?url=http://birds.test/1", SCRIPT),
        ("/api/v1/w/ws/status", IMAGE),
        ("/api/v1/workspaces", IMAGE),
    ] {
        let reply = server.get(path);
        assert_eq!(reply.header("content-type"), Some("application/json"), "{path}");
        assert!(
            reply.json().to_string().contains(&json!(expected).to_string()[1..10]),
            "{path}: {}",
            reply.body
        );
    }
    for path in
        ["/", "/w/ws/results", "/w/%3Cscript%3Ealert(1)%3C%2Fscript%3E/crawl", "/?q=%3Cscript%3Ealert(1)"]
    {
        let reply = server.get(path);
        assert!(!reply.body.contains("alert(1)"), "{path}: {}", reply.body);
    }
    let error = server.get("/api/v1/w/%3Cscript%3Ealert(1)%3C%2Fscript%3E/status");
    assert_eq!((error.status, error.header("content-type")), (404, Some("application/json")));
    let script = server.get("/api/v1/w/ws/page?url=javascript:alert(1)");
    assert_eq!(script.status, 400, "{script:?}");
}

#[test]
fn names_of_workspaces_are_no_paths() {
    let folder = crawled();
    fs::create_dir(folder.path().join("inner")).unwrap();
    let server = Server::start(&folder.path().join("inner"));
    for name in ["..%2Fws", "%2Fetc", "..", ".", "ws%00", "%2e%2e%2fws", "../ws"] {
        let reply = server.get(&format!("/api/v1/w/{name}/status"));
        assert!([400, 404].contains(&reply.status), "{name}: {reply:?}");
    }
}

#[test]
fn values_of_requests_never_become_options() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let help =
        server.post("/api/v1/w/ws/commands", &json!({"what": "disable", "parameters": {"host": "--help"}}));
    assert!(help.status == 422 || help.json()["outcome"].as_str().unwrap().contains("--help"), "{help:?}");
    assert_eq!(server.get("/api/v1/w/ws/page?url=--help").status, 400);
    let starts = json!({"starts": ["--web=/etc/passwd"]});
    assert_eq!(server.post("/api/v1/w/ws/crawl", &starts).status, 400);
}

/// No parameter of a request sets where requests go: unknown ones are errors.
#[test]
fn no_parameter_sets_a_proxy_or_a_path() {
    let folder = crawled();
    let server = Server::start(folder.path());
    for name in
        ["proxy", "webhook", "judge", "web", "events", "metrics", "lessons", "output", "polite", "serve"]
    {
        let reply = server.post("/api/v1/w/ws/crawl", &json!({ name: "http://127.0.0.1:1/" }));
        assert_eq!(reply.status, 422, "{name}: {reply:?}");
    }
}

#[test]
fn large_and_slow_bodies_are_refused() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let large = json!({ "what": "policy", "parameters": { "policy": "x".repeat(2 << 20) } });
    assert_eq!(server.post("/api/v1/w/ws/commands", &large).status, 413);
    let head = format!(
        "POST /api/v1/w/ws/commands HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nX-Porthole: 1\r\n\
         Content-Type: application/json\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n{{",
        server.address, server.token
    );
    // The rest never comes; the server must not wait for it forever.
    let reply = server.raw(head.as_bytes());
    assert_eq!(reply.status, 408, "{reply:?}");
    let long = format!("GET /{} HTTP/1.1\r\nHost: {}\r\n\r\n", "x".repeat(200_000), server.address);
    assert!(server.raw(long.as_bytes()).status >= 400);
}

#[test]
fn connections_beyond_the_limit_are_refused() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let idle: Vec<TcpStream> = (0..256).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    // The server accepts in order, so that those before have their places.
    let mut last = TcpStream::connect(&server.address).unwrap();
    last.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut answer = String::new();
    last.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    drop(idle);
    for _ in 0..100 {
        if server.get("/health").status == 200 {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("places are not given back");
}

#[test]
fn listeners_beyond_the_limit_are_refused() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let listeners: Vec<TcpStream> = (0..64)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            write!(
                stream,
                "GET /api/v1/w/ws/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
                server.address, server.token
            )
            .unwrap();
            let mut start = [0; 15];
            stream.read_exact(&mut start).unwrap();
            assert_eq!(&start, b"HTTP/1.1 200 OK");
            stream
        })
        .collect();
    assert_eq!(server.get("/api/v1/w/ws/events").status, 429);
    assert_eq!(server.get("/api/v1/w/ws/status").status, 200);
    drop(listeners);
}
