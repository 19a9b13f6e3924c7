//! HTTP and SOCKS5 proxies. The test's proxy also plays the server.

use porthole_crawl::{HttpFetch, Proxies};
use porthole_types::FailureKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::server::{get, read_head, serve, settings};

fn through(proxy: &str) -> HttpFetch {
    let mut settings = settings();
    settings.allow = "".parse().unwrap();
    settings.proxies = Proxies::all(proxy.parse().unwrap());
    HttpFetch::new(settings).unwrap()
}

/// Answers with the request it received.
async fn echo(stream: &mut TcpStream, before: &str) {
    while let Some(head) = read_head(stream).await {
        let body = format!("{before}{head}");
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let _ = stream.write_all(answer.as_bytes()).await;
    }
}

#[tokio::test]
async fn an_http_proxy_receives_absolute_urls() {
    let proxy = serve(|mut stream| async move { echo(&mut stream, "").await }).await;
    let fetch = through(&format!("http://me:secret@{proxy}"));
    for url in ["http://name.nowhere/a?b=c", "http://other.nowhere:81/"] {
        let head = String::from_utf8(get(&fetch, url).await.unwrap().body.to_vec()).unwrap();
        assert!(head.starts_with(&format!("GET {url} HTTP/1.1\r\n")), "{head}");
        assert!(head.contains("proxy-authorization: Basic bWU6c2VjcmV0\r\n"), "{head}");
    }
}

#[tokio::test]
async fn an_http_proxy_receives_connect_for_https() {
    let proxy = serve(|mut stream| async move {
        let head = read_head(&mut stream).await.unwrap();
        assert!(
            head.starts_with("CONNECT name.nowhere:443 HTTP/1.1\r\nHost: name.nowhere:443\r\n"),
            "{head}"
        );
        let _ = stream.write_all(b"HTTP/1.1 403 Not here\r\n\r\n").await;
        let _ = stream.read(&mut [0]).await;
    })
    .await;
    let error = get(&through(&format!("http://{proxy}")), "https://name.nowhere/").await.unwrap_err();
    assert_eq!(error.kind, FailureKind::Connect);
    assert!(error.detail.contains("answered \"HTTP/1.1 403 Not here\""), "{error}");
}

/// The proxy's side of SOCKS5, with a login if one is offered. Each answer starts with what was requested.
async fn socks5(mut stream: TcpStream) {
    let mut start = [0; 2];
    stream.read_exact(&mut start).await.unwrap();
    let mut methods = vec![0; usize::from(start[1])];
    stream.read_exact(&mut methods).await.unwrap();
    if methods.contains(&2) {
        stream.write_all(&[5, 2]).await.unwrap();
        let mut login = [0; 11];
        stream.read_exact(&mut login).await.unwrap();
        stream.write_all(&[1, u8::from(&login != b"\x01\x02me\x06secret")]).await.unwrap();
    } else {
        stream.write_all(&[5, 0]).await.unwrap();
    }
    let mut request = [0; 5];
    stream.read_exact(&mut request).await.unwrap();
    assert_eq!(request[..4], [5, 1, 0, 3], "a name");
    let mut name = vec![0; usize::from(request[4]) + 2];
    stream.read_exact(&mut name).await.unwrap();
    if name.starts_with(b"refused") {
        stream.write_all(&[5, 2, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
        return;
    }
    stream.write_all(&[5, 0, 0, 3, 1, b'x', 0, 0]).await.unwrap();
    let asked = String::from_utf8_lossy(&name[..name.len() - 2]).into_owned();
    echo(&mut stream, &format!("{asked}: ")).await;
}

#[tokio::test]
async fn a_socks5_proxy_resolves_names_itself() {
    let proxy = serve(socks5).await;
    for login in ["", "me:secret@"] {
        let fetch = through(&format!("socks5://{login}{proxy}"));
        let body = get(&fetch, "http://name.nowhere/a").await.unwrap().body;
        assert!(String::from_utf8(body.to_vec()).unwrap().starts_with("name.nowhere: GET /a HTTP/1.1\r\n"));
        let error = get(&fetch, "http://refused.nowhere/").await.unwrap_err();
        assert!(error.detail.contains("the proxy does not allow the connection"), "{error}");
    }
    let error = get(&through(&format!("socks5://me:wrong!@{proxy}")), "http://a.nowhere/").await.unwrap_err();
    assert!(error.detail.contains("rejected the login"), "{error}");
}

#[tokio::test]
async fn addresses_in_urls_are_guarded_with_a_proxy_too() {
    let proxy = serve(|_| async { panic!("a connection was made") }).await;
    let fetch = through(&format!("http://{proxy}"));
    for url in ["http://127.0.0.1/", "http://[fd00::1]/", "https://169.254.169.254/", "http://a.localhost/"] {
        let error = get(&fetch, url).await.unwrap_err();
        assert!(error.detail.contains("under [fetch] in porthole.toml allows it"), "{error}");
    }
}

#[tokio::test]
async fn an_unreachable_proxy_is_a_local_error() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = listener.local_addr().unwrap();
    drop(listener);
    for proxy in [format!("http://{closed}"), format!("socks5://{closed}")] {
        let error = get(&through(&proxy), "http://name.nowhere/").await.unwrap_err();
        assert_eq!(error.kind, FailureKind::Local, "{error}");
        assert!(error.detail.contains("the proxy cannot be reached"), "{error}");
    }
}
