//! TLS and HTTP/2, with a certificate made for the test.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use porthole_crawl::HttpFetch;
use porthole_types::FailureKind;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::server::{fetcher_with, get, serve, serve_bytes, settings};

struct Certificate {
    chain: CertificateDer<'static>,
    key: Vec<u8>,
}

fn certificate(name: &str) -> Certificate {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    Certificate { chain: made.cert.der().clone(), key: made.signing_key.serialize_der() }
}

/// A server that supports the given versions and answers with the version of the request.
async fn serve_tls(certificate: &Certificate, versions: &[&str]) -> SocketAddr {
    let acceptor = acceptor(certificate, versions);
    serve(move |stream| converse(acceptor.clone(), stream)).await
}

fn acceptor(certificate: &Certificate, versions: &[&str]) -> TlsAcceptor {
    let key = PrivateKeyDer::try_from(certificate.key.clone()).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.chain.clone()], key)
        .unwrap();
    config.alpn_protocols = versions.iter().map(|version| version.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

async fn converse(acceptor: TlsAcceptor, stream: TcpStream) {
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let io = TokioIo::new(stream);
    if is_http2 {
        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        let _ = server.serve_connection(io, service_fn(answer)).await;
    } else {
        let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service_fn(answer)).await;
    }
}

#[tokio::test]
async fn closed_idle_connections_are_replaced() {
    let certificate = certificate("a.test");
    let fetch = trusting(&certificate);
    for version in ["h2", "http/1.1"] {
        let acceptor = acceptor(&certificate, &[version]);
        let (hang_up, gone) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (told, tells) = (Arc::clone(&hang_up), Arc::clone(&gone));
        let addr = serve(move |stream| {
            let (talk, told, tells) = (converse(acceptor.clone(), stream), told.clone(), tells.clone());
            async move {
                tokio::select! {
                    () = talk => {}
                    () = told.notified() => {}
                }
                tells.notify_one();
            }
        })
        .await;
        for number in 0..3 {
            let response = get(&fetch, &format!("https://a.test:{}/x", addr.port())).await.unwrap();
            assert_eq!(response.status, 200, "{version}, request {number}");
            hang_up.notify_waiters();
            gone.notified().await;
        }
    }
}

async fn answer(request: hyper::Request<Incoming>) -> Result<hyper::Response<Whole>, Infallible> {
    let host = request.uri().authority().map(ToString::to_string);
    let host = host.or_else(|| request.headers().get("host").map(|host| host.to_str().unwrap().to_owned()));
    let line = format!("{:?} {} {}\n", request.version(), host.unwrap(), request.uri().path());
    let body = if request.uri().path() == "/long" { line.repeat(1_000_000) } else { line };
    let mut response = hyper::Response::new(Whole(Some(body.into())));
    if request.uri().path() == "/flood" {
        for number in 0..1_000 {
            let name: hyper::header::HeaderName = format!("x-{number}").parse().unwrap();
            response.headers_mut().insert(name, "y".repeat(100).parse().unwrap());
        }
    }
    Ok(response)
}

/// A body in one chunk.
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        std::task::Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }
}

fn trusting(certificate: &Certificate) -> HttpFetch {
    let mut settings = settings();
    settings.extra_roots = vec![certificate.chain.to_vec()];
    fetcher_with(settings, &[("a.test", &["127.0.0.1"]), ("b.test", &["127.0.0.1"])])
}

#[tokio::test]
async fn the_best_common_version_is_used() {
    let certificate = certificate("a.test");
    let fetch = trusting(&certificate);
    for (versions, spoken) in
        [(&["h2", "http/1.1"][..], "HTTP/2.0"), (&["http/1.1"][..], "HTTP/1.1"), (&[][..], "HTTP/1.1")]
    {
        let addr = serve_tls(&certificate, versions).await;
        for _ in 0..3 {
            let url = format!("https://a.test:{}/x", addr.port());
            let response = get(&fetch, &url).await.unwrap();
            let expected = format!("{spoken} a.test:{} /x\n", addr.port());
            assert_eq!(String::from_utf8(response.body.to_vec()).unwrap(), expected);
        }
    }
}

#[tokio::test]
async fn http2_has_the_same_limits() {
    let certificate = certificate("a.test");
    let addr = serve_tls(&certificate, &["h2"]).await;
    let fetch = trusting(&certificate);
    let response = get(&fetch, &format!("https://a.test:{}/long", addr.port())).await.unwrap();
    assert_eq!((response.body.len(), response.truncated), (8 << 20, true));
    let error = get(&fetch, &format!("https://a.test:{}/flood", addr.port())).await.unwrap_err();
    assert!(matches!(error.kind, FailureKind::Size | FailureKind::Protocol), "{error}");
    assert_eq!(get(&fetch, &format!("https://a.test:{}/x", addr.port())).await.unwrap().status, 200);
}

#[tokio::test]
async fn certificates_are_checked() {
    let (ours, other) = (certificate("a.test"), certificate("a.test"));
    let addr = serve_tls(&ours, &["h2"]).await;
    for (fetch, name) in [(trusting(&other), "a.test"), (trusting(&ours), "b.test")] {
        let error = get(&fetch, &format!("https://{name}:{}/", addr.port())).await.unwrap_err();
        assert_eq!(error.kind, FailureKind::Tls, "{error}");
        assert!(error.detail.contains("certificate"), "{error}");
    }
}

#[tokio::test]
async fn tls_to_a_plain_port_fails() {
    let fetch = trusting(&certificate("a.test"));
    let plain = serve_bytes("HTTP/1.1 400 Bad Request\r\n\r\n").await;
    let eager = serve(|mut stream| async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        let _ = stream.read(&mut [0; 4096]).await;
    })
    .await;
    let error = get(&fetch, &format!("https://a.test:{}/", eager.port())).await.unwrap_err();
    assert_eq!(error.kind, FailureKind::Tls, "{error}");
    assert!(error.detail.contains("does not speak TLS"), "{error}");
    // This server waits for the end of the headers, which never comes.
    let error = get(&fetch, &format!("https://a.test:{}/", plain.port())).await.unwrap_err();
    assert_eq!(error.kind, FailureKind::Timeout, "{error}");
}

#[tokio::test]
async fn a_refused_stream_may_be_retried() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let certificate = certificate("a.test");
    let acceptor = acceptor(&certificate, &["h2"]);
    // Settings, and after the request's headers RST_STREAM of stream 1 with REFUSED_STREAM.
    let addr = serve(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
            stream.read_exact(&mut [0; 24]).await.unwrap();
            loop {
                let mut head = [0; 9];
                stream.read_exact(&mut head).await.unwrap();
                let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
                stream.read_exact(&mut vec![0; length as usize]).await.unwrap();
                if head[3] == 1 {
                    break;
                }
            }
            stream.write_all(&[0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 7]).await.unwrap();
            let _ = stream.read(&mut [0; 64]).await;
        }
    })
    .await;
    let error = get(&trusting(&certificate), &format!("https://a.test:{}/", addr.port())).await.unwrap_err();
    assert_eq!(error.kind, FailureKind::Connect, "{error}");
    assert!(error.detail.contains("refused stream"), "{error}");
}
