//! The cost of fetching a page: pages per second and CPU per page, from a server in another process on loopback.
//!
//! `cargo bench -p porthole-crawl --bench http -- [--pages N] [--at-once N] [--kilobytes N] [--gzip] [--round-trips]`.
//! `--round-trips` opens a connection for each page, `--from ADDRESS` fetches from another server of the same size. CPU is that of the fetching process, by `/proc/self/stat`.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use porthole_crawl::{AllowedAddresses, Fetch, HttpFetch, HttpSettings, Request};
use porthole_types::CanonicalUrl;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let number = |name: &str, usual: u64| -> Result<u64, Failure> {
        let value = arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1));
        Ok(value.map_or(Ok(usual), |value| value.parse())?)
    };
    let size = number("--kilobytes", 37)? as usize * 1000;
    let runtime = tokio::runtime::Runtime::new()?;
    if has("--serve") {
        return runtime.block_on(serve(size, has("--gzip")));
    }
    let server = Server::start(&arguments)?;
    let addr = match arguments.iter().position(|a| a == "--from").and_then(|at| arguments.get(at + 1)) {
        Some(from) => from.parse()?,
        None => server.addr,
    };
    let settings = HttpSettings {
        allow: AllowedAddresses::loopback(),
        max_idle_per_host: if has("--round-trips") { 0 } else { 64 },
        ..HttpSettings::default()
    };
    let fetch = Arc::new(HttpFetch::new(settings)?);
    let (pages, at_once) = (number("--pages", 100_000)?, number("--at-once", 16)?);
    runtime.block_on(run(&fetch, addr, pages / 10, at_once, size))?;
    let (started, cpu) = (Instant::now(), cpu_seconds()?);
    runtime.block_on(run(&fetch, addr, pages, at_once, size))?;
    let (took, cpu) = (started.elapsed().as_secs_f64(), cpu_seconds()? - cpu);
    println!(
        "{pages} pages of {size} bytes, {at_once} at once: {:.0} pages/s, {:.1} us CPU a page, {:.0} pages a CPU second",
        pages as f64 / took,
        cpu / pages as f64 * 1e6,
        pages as f64 / cpu
    );
    Ok(())
}

async fn run(
    fetch: &Arc<HttpFetch>,
    addr: SocketAddr,
    pages: u64,
    at_once: u64,
    size: usize,
) -> Result<(), Failure> {
    let next = Arc::new(AtomicU64::new(0));
    let workers: Vec<_> = (0..at_once)
        .map(|_| {
            let (fetch, next) = (Arc::clone(fetch), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= pages {
                        return Ok::<(), Failure>(());
                    }
                    let url = CanonicalUrl::parse(&format!("http://{addr}/page/{number}"))?;
                    let response = fetch.fetch(&Request::get(url)).await?;
                    assert_eq!((response.status, response.body.len()), (200, size));
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await??;
    }
    Ok(())
}

/// The server's process. It ends when its input is closed.
struct Server {
    addr: SocketAddr,
    _process: Child,
}

impl Server {
    fn start(arguments: &[String]) -> Result<Self, Failure> {
        let mut process = Command::new(&arguments[0])
            .args(&arguments[1..])
            .arg("--serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        Ok(Server { addr: line.trim().parse()?, _process: process })
    }
}

async fn serve(size: usize, gzip: bool) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let answer: Arc<[u8]> = answer(size, gzip)?.into();
    let accepting = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(converse(stream, Arc::clone(&answer)));
        }
    });
    let mut nothing = String::new();
    tokio::task::spawn_blocking(move || std::io::stdin().read_line(&mut nothing)).await??;
    accepting.abort();
    Ok(())
}

async fn converse(mut stream: TcpStream, answer: Arc<[u8]>) {
    let _ = stream.set_nodelay(true);
    let mut request = [0; 4096];
    // Requests are small and sequential: one read is one request.
    while matches!(stream.read(&mut request).await, Ok(1..)) {
        if stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}

fn answer(size: usize, gzip: bool) -> Result<Vec<u8>, Failure> {
    let words =
        (0..).flat_map(|n: u64| format!("<p>word{} ", n.wrapping_mul(2_654_435_761) % 9973).into_bytes());
    let mut body: Vec<u8> = words.take(size).collect();
    let mut encoding = "";
    if gzip {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&body)?;
        body = encoder.finish()?;
        encoding = "Content-Encoding: gzip\r\n";
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Mon, 16 Nov 2026 00:00:00 GMT\r\n\
         Content-Type: text/html; charset=utf-8\r\n{encoding}Content-Length: {}\r\n\r\n",
        body.len()
    );
    Ok([head.into_bytes(), body].concat())
}

/// User and system time of this process.
fn cpu_seconds() -> Result<f64, Failure> {
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
    let ticks = |at: usize| -> Result<f64, Failure> { Ok(fields.get(at).ok_or("no such field")?.parse()?) };
    Ok((ticks(11)? + ticks(12)?) / TICKS)
}
