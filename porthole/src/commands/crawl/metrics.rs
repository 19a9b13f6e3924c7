//! `--metrics ADDR`: the figures of a running crawl for Prometheus, at `/metrics`; and `/health`.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use porthole_types::AlarmKind;
use prometheus::{Counter, Gauge, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// The figures of the moment.
#[derive(Clone, Debug, Default)]
pub(super) struct CrawlFigures {
    pub(super) fetches: u64,
    pub(super) pages: u64,
    pub(super) on_topic: u64,
    pub(super) bytes: u64,
    pub(super) harvest_now: f64,
    pub(super) harvest: f64,
    pub(super) seconds: f64,
    pub(super) known: usize,
    pub(super) queued: usize,
    pub(super) sites: usize,
    pub(super) links: usize,
    /// Failures, skipped and refused URLs by kind.
    pub(super) failures: Vec<(&'static str, u64)>,
    pub(super) skipped: Vec<(&'static str, u64)>,
    pub(super) refused: Vec<(&'static str, u64)>,
    /// Alarms that have begun and not ended.
    pub(super) alarms: BTreeSet<AlarmKind>,
}

/// Where the crawl leaves its figures and the server finds them.
pub(super) type Board = Arc<Mutex<CrawlFigures>>;

/// Serves the board for as long as the program runs.
pub(super) async fn serve(address: SocketAddr, board: Board) -> anyhow::Result<()> {
    /// People who may ask at once; others wait.
    const GUESTS: usize = 16;
    let listener =
        TcpListener::bind(address).await.with_context(|| format!("--metrics {address}: cannot listen"))?;
    let guests = Arc::new(Semaphore::new(GUESTS));
    tokio::spawn(async move {
        loop {
            let Ok(place) = guests.clone().acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let board = board.clone();
                    tokio::spawn(async move {
                        // Clients that are too slow are dropped.
                        let _ = tokio::time::timeout(Duration::from_secs(5), answer(stream, &board)).await;
                        drop(place);
                    });
                }
                // Too many open files, most likely: some will be closed.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    });
    Ok(())
}

/// Answers one request.
async fn answer(stream: TcpStream, board: &Board) -> hyper::Result<()> {
    /// Longer heads are refused.
    const MOST_HEAD: usize = 8_192;
    let service = service_fn(|request| async move { Ok::<_, Infallible>(respond(&request, board)) });
    let mut server = http1::Builder::new();
    server.keep_alive(false).max_buf_size(MOST_HEAD).serve_connection(TokioIo::new(stream), service).await
}

fn respond<B>(request: &Request<B>, board: &Board) -> Response<String> {
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => {
            let figures = board.lock().map(|figures| figures.clone()).unwrap_or_default();
            match text(&figures) {
                Ok(text) => (StatusCode::OK, text),
                Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
            }
        }
        (&Method::GET, "/health") => (StatusCode::OK, "ok\n".to_owned()),
        (&Method::GET, _) => (StatusCode::NOT_FOUND, "there are /metrics and /health\n".to_owned()),
        _ => (StatusCode::BAD_REQUEST, "only GET is answered\n".to_owned()),
    };
    const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(TEXT));
    response
}

/// The figures in Prometheus' text format.
fn text(figures: &CrawlFigures) -> prometheus::Result<String> {
    let registry = Registry::new_custom(Some("porthole".to_owned()), None)?;
    let count = |name: &str, help: &str, value: f64| {
        let counter = Counter::new(name, help)?;
        counter.inc_by(value);
        registry.register(Box::new(counter))
    };
    let gauge = |name: &str, help: &str, value: f64| {
        let gauge = Gauge::new(name, help)?;
        gauge.set(value);
        registry.register(Box::new(gauge))
    };
    count("fetches_total", "Requested URLs of this run, whatever became of them.", figures.fetches as f64)?;
    count("pages_total", "Pages of this run.", figures.pages as f64)?;
    count("pages_on_topic_total", "Pages whose best topic is good.", figures.on_topic as f64)?;
    count("bytes_total", "Bytes of bodies.", figures.bytes as f64)?;
    gauge("harvest", "Mean R over all pages of this run.", figures.harvest)?;
    gauge("harvest_now", "Mean R over the last pages.", figures.harvest_now)?;
    count("run_seconds", "How long this run has taken.", figures.seconds)?;
    gauge("urls_known", "URLs that are known.", figures.known as f64)?;
    gauge("urls_queued", "URLs yet to be fetched.", figures.queued as f64)?;
    gauge("sites", "Sites that are known.", figures.sites as f64)?;
    gauge("links", "Links between known URLs.", figures.links as f64)?;
    for (name, help, kinds) in [
        ("failures_total", "Fetches that failed, by kind.", &figures.failures),
        ("skipped_total", "Fetches without a result on purpose, by kind.", &figures.skipped),
        ("refused_total", "URLs that were not requested on purpose, by kind.", &figures.refused),
    ] {
        let counter = IntCounterVec::new(Opts::new(name, help), &["kind"])?;
        for (kind, number) in kinds {
            counter.with_label_values(&[kind]).inc_by(*number);
        }
        registry.register(Box::new(counter))?;
    }
    let alarms = IntGaugeVec::new(Opts::new("alarm", "1 while an alarm of this kind goes on."), &["kind"])?;
    for kind in AlarmKind::ALL {
        alarms.with_label_values(&[kind.name()]).set(i64::from(figures.alarms.contains(&kind)));
    }
    registry.register(Box::new(alarms))?;
    TextEncoder::new().encode_to_string(&registry.gather())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[test]
    fn the_text_is_what_prometheus_reads() {
        let figures = CrawlFigures {
            fetches: 3,
            harvest: 0.25,
            failures: vec![("dns", 1)],
            refused: vec![("robots", 2)],
            alarms: BTreeSet::from([AlarmKind::Disk]),
            ..CrawlFigures::default()
        };
        let text = text(&figures).unwrap();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with("porthole_") && value.parse::<f64>().is_ok(), "{line}");
        }
        assert!(
            text.contains("\n# TYPE porthole_fetches_total counter\nporthole_fetches_total 3\n"),
            "{text}"
        );
        assert!(text.contains("\nporthole_harvest 0.25\n"), "{text}");
        assert!(text.contains("\nporthole_refused_total{kind=\"robots\"} 2\n"), "{text}");
        assert!(text.contains("porthole_alarm{kind=\"disk\"} 1\n"), "{text}");
        assert!(text.contains("porthole_alarm{kind=\"relevance\"} 0\n"), "{text}");
    }

    #[tokio::test]
    async fn it_answers_and_leaves_those_who_say_nothing() {
        let probe = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = probe.local_addr().unwrap();
        drop(probe);
        let board = Board::default();
        board.lock().unwrap().pages = 7;
        serve(address, board).await.unwrap();
        let ask = async |request: &str| {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        };
        let _silent = TcpStream::connect(address).await.unwrap();
        assert!(ask("GET /metrics HTTP/1.1\r\n\r\n").await.contains("\nporthole_pages_total 7\n"));
        assert!(ask("GET /health HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 200 OK"));
        assert!(ask("GET / HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 404"));
        assert!(ask("POST /metrics HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 400"));
    }
}
