//! Servers for the tests, written byte by byte, and fetchers with short patience.

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

/// Serves each connection with `talk`, as long as the test runs.
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

/// Answers every request of every connection with the same bytes and hangs up after each.
pub(crate) async fn serve_bytes(answer: impl Into<Vec<u8>>) -> SocketAddr {
    let answer: Arc<[u8]> = answer.into().into();
    serve(move |mut stream| {
        let answer = Arc::clone(&answer);
        async move {
            read_head(&mut stream).await;
            let _ = stream.write_all(&answer).await;
            let _ = stream.shutdown().await;
            // A socket closed on unread bytes resets; the client goes first.
            let _ = stream.read(&mut [0]).await;
        }
    })
    .await
}

/// A head, then the same piece again and again until the peer has enough.
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

/// Reads up to the empty line; nothing at the end of a connection.
pub(crate) async fn read_head(stream: &mut (impl AsyncReadExt + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(head).unwrap())
}

/// Loopback allowed, and everything a hundred times faster than in life.
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

/// Names with the addresses of a table.
pub(crate) struct Names(pub(crate) HashMap<String, Vec<IpAddr>>);

impl Resolve for Names {
    fn resolve<'a>(&'a self, name: &'a str) -> ResolveFuture<'a> {
        Box::pin(async move { self.0.get(name).cloned().ok_or_else(|| "no such name".to_owned()) })
    }
}

/// A fetcher for which every one of these names has these addresses.
pub(crate) fn fetcher_with(settings: HttpSettings, names: &[(&str, &[&str])]) -> HttpFetch {
    let parse = |addresses: &[&str]| addresses.iter().map(|address| address.parse().unwrap()).collect();
    let names = names.iter().map(|&(name, addresses)| (name.to_owned(), parse(addresses))).collect();
    HttpFetch::with_resolver(settings, Arc::new(Names(names))).unwrap()
}

pub(crate) async fn get(fetch: &HttpFetch, url: &str) -> Result<Response, FetchError> {
    fetch.fetch(&Request::get(CanonicalUrl::parse(url).unwrap())).await
}
