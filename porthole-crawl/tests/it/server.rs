//! Servers for the tests, written byte by byte, and fetchers with short timeouts.

use std::collections::HashMap;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use porthole_crawl::{
    AllowedAddresses, Fetch, FetchError, HttpFetch, HttpSettings, Request, Resolve, ResolveFuture, Response,
};
use porthole_types::CanonicalUrl;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Serves each connection with `talk` while the test runs.
pub(crate) async fn serve<T, F>(talk: T) -> SocketAddr
where
    T: Fn(TcpStream) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(talk(stream));
        }
    });
    addr
}

/// Answers every request with the same bytes and closes the connection.
pub(crate) async fn serve_bytes(answer: impl Into<Vec<u8>>) -> SocketAddr {
    let answer: Arc<[u8]> = answer.into().into();
    serve(move |mut stream| {
        let answer = Arc::clone(&answer);
        async move {
            read_head(&mut stream).await;
            let _ = stream.write_all(&answer).await;
            let _ = stream.shutdown().await;
            // Closing a socket with unread bytes resets it, so the client has to close first.
            let _ = stream.read(&mut [0]).await;
        }
    })
    .await
}

/// Sends a head, then the same chunk until the peer closes the connection.
pub(crate) async fn serve_endless(head: &'static str, piece: Vec<u8>) -> SocketAddr {
    let piece: Arc<[u8]> = piece.into();
    serve(move |mut stream| {
        let piece = Arc::clone(&piece);
        async move {
            read_head(&mut stream).await;
            let _ = stream.write_all(head.as_bytes()).await;
            while stream.write_all(&piece).await.is_ok() {}
        }
    })
    .await
}

/// Reads up to the empty line. `None` at the end of the connection.
pub(crate) async fn read_head(stream: &mut (impl AsyncReadExt + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(head).unwrap())
}

/// Settings with loopback allowed and short timeouts.
pub(crate) fn settings() -> HttpSettings {
    HttpSettings {
        contact: Some("https://porthole.test/bot".into()),
        allow: AllowedAddresses::loopback(),
        dns_timeout: Duration::from_millis(500),
        connect_timeout: Duration::from_millis(800),
        first_byte_timeout: Duration::from_millis(800),
        body_timeout: Duration::from_secs(3),
        min_rate: 1_000,
        rate_window: Duration::from_millis(300),
        ..HttpSettings::default()
    }
}

pub(crate) fn fetcher() -> HttpFetch {
    HttpFetch::new(settings()).unwrap()
}

/// Resolves names from a table.
pub(crate) struct Names(pub(crate) HashMap<String, Vec<IpAddr>>);

impl Resolve for Names {
    fn resolve<'a>(&'a self, name: &'a str) -> ResolveFuture<'a> {
        Box::pin(async move { self.0.get(name).cloned().ok_or_else(|| "no such name".to_owned()) })
    }
}

/// A fetcher that resolves these names.
pub(crate) fn fetcher_with(settings: HttpSettings, names: &[(&str, &[&str])]) -> HttpFetch {
    let parse = |addresses: &[&str]| addresses.iter().map(|address| address.parse().unwrap()).collect();
    let names = names.iter().map(|&(name, addresses)| (name.to_owned(), parse(addresses))).collect();
    HttpFetch::with_resolver(settings, Arc::new(Names(names))).unwrap()
}

pub(crate) async fn get(fetch: &HttpFetch, url: &str) -> Result<Response, FetchError> {
    fetch.fetch(&Request::get(CanonicalUrl::parse(url).unwrap())).await
}
