//! `--metrics ADDR`: the figures of a running crawl for Prometheus, at `/metrics`; and `/health`.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
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
    /// Failures by kind.
    pub(super) failures: Vec<(&'static str, u64)>,
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
                        // Whoever asks slowly, or for ever, is left.
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

async fn answer(mut stream: TcpStream, board: &Board) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < 8_192 {
        let mut part = [0; 1_024];
        match stream.read(&mut part).await? {
            0 => break,
            read => head.extend_from_slice(&part[..read]),
        }
    }
    let line = head.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let target = line.strip_prefix(b"GET ").and_then(|rest| rest.split(|&byte| byte == b' ').next());
    let (status, body) = match target {
        Some(b"/metrics") => {
            let figures = board.lock().map(|figures| figures.clone()).unwrap_or_default();
            ("200 OK", text(&figures))
        }
        Some(b"/health") => ("200 OK", "ok\n".to_owned()),
        Some(_) => ("404 Not Found", "there are /metrics and /health\n".to_owned()),
        None => ("400 Bad Request", "only GET is answered\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

/// The figures in Prometheus' text format.
fn text(figures: &CrawlFigures) -> String {
    let mut out = String::new();
    let mut add = |name: &str, kind: &str, help: &str, value: f64| {
        out.push_str(&format!(
            "# HELP porthole_{name} {help}\n# TYPE porthole_{name} {kind}\nporthole_{name} {value}\n"
        ));
    };
    add("fetches_total", "counter", "Fetches of this run, whatever became of them.", figures.fetches as f64);
    add("pages_total", "counter", "Pages of this run.", figures.pages as f64);
    add("pages_on_topic_total", "counter", "Pages whose best topic is good.", figures.on_topic as f64);
    add("bytes_total", "counter", "Bytes of bodies.", figures.bytes as f64);
    add("harvest", "gauge", "Mean R over all pages of this run.", figures.harvest);
    add("harvest_now", "gauge", "Mean R over the last pages.", figures.harvest_now);
    add("run_seconds", "counter", "How long this run has taken.", figures.seconds);
    add("urls_known", "gauge", "URLs that are known.", figures.known as f64);
    add("urls_queued", "gauge", "URLs yet to be fetched.", figures.queued as f64);
    add("sites", "gauge", "Sites that are known.", figures.sites as f64);
    add("links", "gauge", "Links between known URLs.", figures.links as f64);
    out.push_str(
        "# HELP porthole_failures_total Fetches without a page, by kind.\n# TYPE porthole_failures_total counter\n",
    );
    for (kind, count) in &figures.failures {
        out.push_str(&format!("porthole_failures_total{{kind=\"{kind}\"}} {count}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_what_prometheus_reads() {
        let figures = CrawlFigures {
            fetches: 3,
            harvest: 0.25,
            failures: vec![("dns", 1), ("robots", 2)],
            ..CrawlFigures::default()
        };
        let text = text(&figures);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with("porthole_") && value.parse::<f64>().is_ok(), "{line}");
        }
        assert!(text.contains("\nporthole_harvest 0.25\n"), "{text}");
        assert!(text.contains("\nporthole_failures_total{kind=\"robots\"} 2\n"), "{text}");
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
