//! Hostile servers cause a classified error or a truncated page, and bounded memory use.

use std::future::pending;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use porthole_crawl::{HttpFetch, Response};
use porthole_types::FailureKind;
use tokio::io::AsyncWriteExt;
use tokio::time::{sleep, timeout};

use crate::server::{fetcher, fetcher_with, get, read_head, serve, serve_bytes, serve_endless, settings};

/// Only keeps a test from hanging: many times the sum of the timeouts in `settings`.
const WATCHDOG: Duration = Duration::from_secs(60);

/// Fetches from a server and expects this failure.
async fn fails(addr: SocketAddr, kind: FailureKind, words: &str) {
    let answer = timeout(WATCHDOG, get(&fetcher(), &format!("http://{addr}/"))).await.expect(words);
    let error = answer.expect_err(words);
    assert_eq!(error.kind, kind, "{error}");
    assert!(error.detail.contains(words), "{:?} does not contain {words:?}", error.detail);
}

/// Fetches from a server and expects an answer.
async fn answers(addr: SocketAddr) -> Response {
    timeout(WATCHDOG, get(&fetcher(), &format!("http://{addr}/"))).await.expect("it ends").unwrap()
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

#[tokio::test]
async fn an_endless_body_is_truncated() {
    let endless = [
        serve_endless("HTTP/1.1 200 OK\r\n\r\n", vec![b'x'; 65_536]).await,
        serve_endless("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", vec![b'x'; 65_536]).await,
        serve_endless(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            [b"10000\r\n", &[b'x'; 65_536][..], b"\r\n"].concat(),
        )
        .await,
    ];
    for addr in endless {
        let response = answers(addr).await;
        assert_eq!((response.body.len(), response.truncated), (8 << 20, true));
    }
}

#[tokio::test]
async fn a_trickling_body_times_out() {
    let addr = serve(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n").await;
        while stream.write_all(b"x").await.is_ok() {
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    // Not by the deadline of the whole body, which says "did not end within".
    fails(addr, FailureKind::Timeout, "less than 1000 bytes a second").await;
}

#[tokio::test]
async fn a_body_that_is_just_fast_enough_ends_at_the_deadline() {
    let addr = serve(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n").await;
        while stream.write_all(&[b'x'; 200]).await.is_ok() {
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    fails(addr, FailureKind::Timeout, "did not end within 3 s").await;
}

#[tokio::test]
async fn silence_times_out_in_every_phase() {
    let silent = serve(|stream| async move {
        let _open = stream;
        pending::<()>().await;
    })
    .await;
    fails(silent, FailureKind::Timeout, "no answer within").await;
    let slow_headers = serve(|mut stream| async move {
        read_head(&mut stream).await;
        for byte in OK.bytes().cycle() {
            if stream.write_all(&[byte]).await.is_err() {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    fails(slow_headers, FailureKind::Timeout, "no answer within").await;
    let no_body = serve(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n").await;
        pending::<()>().await;
    })
    .await;
    fails(no_body, FailureKind::Timeout, "less than 1000 bytes a second").await;
}

/// A gzip member of zeros.
fn zeros(size: u64) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let piece = vec![0; 1 << 20];
    for _ in 0..size >> 20 {
        encoder.write_all(&piece).unwrap();
    }
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_gzip_bomb_costs_no_more_than_the_cap() {
    // Members of 64 MB in 64 KB, 160 of them: 10 GB.
    let head = format!("{OK}Content-Encoding: gzip\r\n\r\n");
    let bomb = [head.into_bytes(), zeros(64 << 20).repeat(160)].concat();
    let response = answers(serve_bytes(bomb).await).await;
    assert_eq!((response.body.len(), response.truncated), (8 << 20, true));
}

#[tokio::test]
async fn a_brotli_bomb_costs_no_more_than_the_cap() {
    let bomb = [format!("{OK}Content-Encoding: br\r\n\r\n").into_bytes(), brotli_zeros()].concat();
    assert!(bomb.len() < 20_000);
    let response = answers(serve_bytes(bomb).await).await;
    assert_eq!((response.body.len(), response.truncated), (8 << 20, true));
    assert!(response.body.iter().all(|&byte| byte == 0));
}

#[tokio::test]
async fn a_zstd_bomb_costs_no_more_than_the_cap() {
    let frame = zstd::encode_all(&vec![0; 64 << 20][..], 1).unwrap();
    let bomb = [format!("{OK}Content-Encoding: zstd\r\n\r\n").into_bytes(), frame.repeat(160)].concat();
    let response = answers(serve_bytes(bomb).await).await;
    assert_eq!((response.body.len(), response.truncated), (8 << 20, true));
}

/// A brotli stream of 10 GB of zeros, in a few kilobytes: meta-blocks of 16 MB, each four literals and one copy.
fn brotli_zeros() -> Vec<u8> {
    let mut bits = Bits::default();
    bits.push(0, 1); // a window of 16 bits
    for _ in 0..640 {
        meta_block(&mut bits, 1 << 24);
    }
    bits.push(3, 2); // the last, empty
    bits.bytes()
}

/// RFC 7932, 9.2. Every prefix code has one symbol, so that only the extra bits of the copy are written.
fn meta_block(bits: &mut Bits, length: u32) {
    const LITERALS: u32 = 4;
    // Insert 4 (code 4), copy 2118 and more (code 23, 24 extra bits): section 5, the cell from 384 on.
    const COMMAND: u32 = 384 + (4 << 3 | 7);
    bits.push(0, 1); // not the last
    bits.push(2, 2); // the length in 6 nibbles
    bits.push(length - 1, 24);
    bits.push(0, 1); // compressed
    bits.push(0, 3); // one block type each of literals, commands and distances
    bits.push(0, 2 + 4); // no direct distances
    bits.push(0, 2); // context mode
    bits.push(0, 2); // one tree each of literals and distances
    simple_code(bits, 0, 8); // literal zero
    simple_code(bits, COMMAND, 10);
    simple_code(bits, 0, 6); // the last distance, which is 4 at the start
    bits.push(length - LITERALS - 2118, 24);
}

fn simple_code(bits: &mut Bits, symbol: u32, width: u32) {
    bits.push(1, 2); // simple
    bits.push(0, 2); // one symbol
    bits.push(symbol, width);
}

#[derive(Default)]
struct Bits {
    done: Vec<u8>,
    open: u64,
    count: u32,
}

impl Bits {
    fn push(&mut self, value: u32, width: u32) {
        self.open |= u64::from(value) << self.count;
        self.count += width;
        while self.count >= 8 {
            self.done.push(self.open as u8);
            self.open >>= 8;
            self.count -= 8;
        }
    }

    fn bytes(mut self) -> Vec<u8> {
        if self.count > 0 {
            self.done.push(self.open as u8);
        }
        self.done
    }
}

#[tokio::test]
async fn a_redirect_loop_is_returned_hop_by_hop() {
    let addr = serve_bytes("HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n").await;
    let fetch = fetcher();
    for _ in 0..5 {
        let response = get(&fetch, &format!("http://{addr}/again")).await.unwrap();
        assert_eq!((response.status, response.headers.get("location")), (302, Some("/again")));
    }
}

#[tokio::test]
async fn invalid_bytes_in_headers_are_replaced() {
    let answer = b"HTTP/1.1 301 \xff\xfe\r\nLocation: /caf\xe9\r\nX-Name: \xc3\xa9\r\nBad\x01Name: y\r\n\r\n";
    let response = answers(serve_bytes(*answer).await).await;
    assert_eq!(response.headers.get("location"), Some("/caf\u{fffd}"));
    assert_eq!(response.headers.get("x-name"), Some("\u{e9}"));
}

#[tokio::test]
async fn a_wrong_content_length_truncates_the_page_or_fails() {
    // Declared too long: the received part is kept.
    let response = answers(serve_bytes(format!("{OK}Content-Length: 900\r\n\r\n<p>short")).await).await;
    assert_eq!((&response.body[..], response.truncated), (&b"<p>short"[..], true));
    // Declared too long, and nothing received.
    let nothing = serve_bytes(format!("{OK}Content-Length: 900\r\n\r\n")).await;
    fails(nothing, FailureKind::Protocol, "shorter than its headers say").await;
    // Declared too short: the rest is not part of the page, nor of the next answer.
    let addr =
        serve_bytes(format!("{OK}Content-Length: 5\r\n\r\n<p>longHTTP/1.1 200 OK\r\n\r\nsmuggled")).await;
    let fetch = fetcher();
    for _ in 0..3 {
        let response = get(&fetch, &format!("http://{addr}/")).await.unwrap();
        assert_eq!((&response.body[..], response.truncated), (&b"<p>lo"[..], false));
    }
    // An invalid length, or two.
    for length in ["x", "-1", "5\r\nContent-Length: 6"] {
        let addr = serve_bytes(format!("{OK}Content-Length: {length}\r\n\r\nabcdef")).await;
        fails(addr, FailureKind::Protocol, "not an HTTP answer").await;
    }
}

#[tokio::test]
async fn a_flood_of_headers_is_refused() {
    let many = format!("{OK}{}\r\n", "X: y\r\n".repeat(5_000));
    fails(serve_bytes(many).await, FailureKind::Size, "headers are larger than allowed").await;
    let large = format!("{OK}X: {}\r\n\r\n", "y".repeat(100_000));
    fails(serve_bytes(large).await, FailureKind::Size, "headers are larger than allowed").await;
    let endless = serve_endless("HTTP/1.1 200 OK\r\n", b"X-Flood: yes\r\n".repeat(100)).await;
    fails(endless, FailureKind::Size, "headers are larger than allowed").await;
    let one_line = serve_endless("HTTP/1.1 200 OK\r\nX: ", vec![b'x'; 10_000]).await;
    fails(one_line, FailureKind::Size, "headers are larger than allowed").await;
}

#[tokio::test]
async fn endless_interim_responses_time_out() {
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n";
    let response = answers(serve_bytes(format!("{early}{OK}\r\npage")).await).await;
    assert_eq!((response.status, &response.body[..]), (200, &b"page"[..]));
    let endless = serve_endless("", early.repeat(50).into_bytes()).await;
    fails(endless, FailureKind::Timeout, "no answer within").await;
}

#[tokio::test]
async fn invalid_chunks_truncate_the_page_or_fail() {
    let chunked = format!("{OK}Transfer-Encoding: chunked\r\n\r\n");
    for nonsense in ["xyz\r\nabc", "-5\r\nabc", "fffffffffffffffff\r\nabc", ""] {
        let addr = serve_bytes(format!("{chunked}{nonsense}")).await;
        let error = get(&fetcher(), &format!("http://{addr}/")).await.unwrap_err();
        assert_eq!(error.kind, FailureKind::Protocol, "{nonsense:?}: {error}");
        let addr = serve_bytes(format!("{chunked}4\r\npage\r\n{nonsense}")).await;
        let response = answers(addr).await;
        assert_eq!((&response.body[..], response.truncated), (&b"page"[..], true), "{nonsense:?}");
    }
    let deep = format!("{chunked}4;{}\r\npage\r\n0\r\n\r\n", "a=b;".repeat(50_000));
    let error = get(&fetcher(), &format!("http://{}/", serve_bytes(deep).await)).await.unwrap_err();
    assert_eq!(error.kind, FailureKind::Protocol, "{error}");
    let trailers = format!("{chunked}4\r\npage\r\n0\r\n{}", "X: y\r\n".repeat(50_000));
    assert_eq!(answers(serve_bytes(trailers).await).await.body, b"page"[..]);
}

#[tokio::test]
async fn answers_that_are_not_http_are_errors() {
    for garbage in [
        "<html>HTTP/0.9 had no status line</html>",
        "HTTP/1.1 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "220 mail.test ESMTP\r\n",
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        "ICY 200 OK\r\n\r\n",
    ] {
        fails(serve_bytes(garbage).await, FailureKind::Protocol, "not an HTTP answer").await;
    }
}

#[tokio::test]
async fn broken_connections_are_not_protocol_errors() {
    fails(serve(|stream| async move { drop(stream) }).await, FailureKind::Connect, "connection").await;
    fails(serve_bytes("").await, FailureKind::Connect, "closed before").await;
    fails(serve_bytes("HTTP/1.1 200 O").await, FailureKind::Connect, "closed before").await;
    let reset = serve(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.set_zero_linger();
    })
    .await;
    fails(reset, FailureKind::Connect, "connection").await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    fails(nobody, FailureKind::Connect, "no connection to 127.0.0.1").await;
}

#[tokio::test]
async fn unsupported_encodings_are_errors() {
    for (encoding, words) in [
        ("compress", "`compress` is not supported"),
        ("gzip, br", "two nested content encodings"),
        ("br", "is not br"),
    ] {
        let addr = serve_bytes(format!("{OK}Content-Encoding: {encoding}\r\n\r\n<html>plain</html>")).await;
        fails(addr, FailureKind::Protocol, words).await;
    }
    let response = answers(serve_bytes(format!("{OK}Content-Encoding: gzip\r\n\r\n<html>")).await).await;
    assert_eq!((&response.body[..], response.truncated), (&b"<html>"[..], false));
}

#[tokio::test]
async fn names_with_a_private_address_are_refused() {
    let reached = serve(|_| async { panic!("a connection was made") }).await;
    let names: &[(&str, &[&str])] = &[
        ("private.test", &["10.0.0.1"]),
        ("metadata.test", &["169.254.169.254"]),
        ("mapped.test", &["::ffff:192.168.0.1"]),
        ("mixed.test", &["93.184.215.14", "10.0.0.1"]),
        ("mixed6.test", &["2606:4700::1111", "fd00::1"]),
        ("loopback.test", &["127.0.0.1"]),
    ];
    let mut strict = settings();
    strict.allow = "".parse().unwrap();
    let fetch = fetcher_with(strict, names);
    for &(name, _) in names {
        let error = get(&fetch, &format!("http://{name}:{}/", reached.port())).await.unwrap_err();
        assert_eq!(error.kind, FailureKind::Scope, "{error}");
        assert!(error.detail.contains("under [fetch] in porthole.toml allows it"), "{error}");
    }
    for host in
        ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0"]
    {
        let error = get(&fetch, &format!("http://{host}:{}/", reached.port())).await.unwrap_err();
        assert_eq!(error.kind, FailureKind::Scope, "{host}: {error}");
        assert!(error.detail.contains("under [fetch] in porthole.toml allows it"), "{host}: {error}");
    }
    let error = get(&fetch, "http://unknown.test/").await.unwrap_err();
    assert_eq!(
        (error.kind, &error.detail[..]),
        (FailureKind::Dns, "unknown.test cannot be resolved: no such name")
    );
}

/// Good hosts are fetched while a hundred requests to bad ones are in flight, none of which ends.
#[tokio::test]
async fn bad_hosts_do_not_delay_good_ones() {
    let good = crate::http::serve_pages().await;
    let reached = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reached);
    let stalled = serve(move |stream| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            let _open = stream;
            pending::<()>().await;
        }
    })
    .await;
    let counted = Arc::clone(&reached);
    let slow = serve(move |mut stream| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            read_head(&mut stream).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            while stream.write_all(b"x").await.is_ok() {
                sleep(Duration::from_millis(50)).await;
            }
        }
    })
    .await;
    let mut patient = settings();
    let long = WATCHDOG * 10;
    (patient.first_byte_timeout, patient.body_timeout, patient.rate_window) = (long, long, long);
    let fetch = HttpFetch::new(patient).unwrap();
    let bad: Vec<String> =
        (0..50).flat_map(|i| [stalled, slow].map(|addr| format!("http://{addr}/{i}"))).collect();
    let all_bad = futures_util::future::select_all(bad.iter().map(|url| Box::pin(get(&fetch, url))));
    let all_good = async {
        while reached.load(Ordering::SeqCst) < bad.len() {
            sleep(Duration::from_millis(1)).await;
        }
        for _ in 0..300 {
            assert_eq!(get(&fetch, &format!("http://{good}/page")).await.unwrap().status, 200);
        }
    };
    tokio::select! {
        (ended, ..) = all_bad => panic!("a request to a bad host ended: {ended:?}"),
        () = all_good => {}
        () = sleep(WATCHDOG) => panic!("good hosts wait for {} bad ones", reached.load(Ordering::SeqCst)),
    }
}
