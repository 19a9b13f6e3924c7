//! The server: listens, serves connections within limits, and ends its jobs when it ends.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use crate::api::{self, DashboardState};
use crate::error::{Error, Result};
use crate::guard::{AccessRules, AccessToken};

/// Port if none was asked for.
const PORT: u16 = 7373;
/// Ports that are tried if it is taken.
const PORTS: u16 = 20;
/// Connections at once; others are refused.
const MOST_CONNECTIONS: usize = 256;
/// Time for the head of a request to arrive, and for a connection without requests.
const HEAD_TIME: Duration = Duration::from_secs(20);
/// Longer heads are refused.
const LARGEST_HEAD: usize = 64 << 10;

/// What is served, and where.
#[derive(Clone, Debug)]
pub struct DashboardOptions {
    /// Workspaces, and folders with workspaces in them.
    pub folders: Vec<PathBuf>,
    /// Address to listen on; by default a port of the loopback address, 7373 if it is free.
    pub listen: Option<SocketAddr>,
    /// More names under which the server is reached.
    pub host_names: Vec<String>,
    /// Search endpoint for workspaces that begin with words.
    pub search_url: Option<String>,
    /// The program whose commands are run.
    pub program: PathBuf,
}

/// A server that listens.
pub struct DashboardServer {
    listener: TcpListener,
    address: SocketAddr,
    token: AccessToken,
    router: Router,
    state: Arc<DashboardState>,
    end: watch::Sender<bool>,
}

impl DashboardServer {
    /// Listens on the address of the options, with a new token.
    pub async fn bind(options: &DashboardOptions) -> Result<DashboardServer> {
        let listener = listen(options.listen).await?;
        let unknown = options.listen.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)));
        let address = listener.local_addr().map_err(|source| Error::Listen { address: unknown, source })?;
        let token = AccessToken::random()?;
        let rules = Arc::new(AccessRules::new(token.clone(), address, &options.host_names));
        let (end, is_over) = watch::channel(false);
        let state = Arc::new(DashboardState::new(options, is_over)?);
        let router = api::router(state.clone(), rules);
        Ok(DashboardServer { listener, address, token, router, state, end })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The token of this start.
    pub fn token(&self) -> &str {
        self.token.as_str()
    }

    /// The address to open in a browser, with the token.
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        format!("http://{address}/?token={}", self.token.as_str())
    }

    /// Starts a crawl in one of the workspaces, as the dashboard does, with options of `porthole crawl`.
    pub fn start_crawl(&self, workspace: &str, options: &[&str]) -> Result<()> {
        api::start_crawl(&self.state, workspace, options).map_err(Error::Crawl)
    }

    /// Serves until `stop` is done; then ends the crawls and other jobs that were started here, and waits for them.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let DashboardServer { listener, router, state, end, .. } = self;
        let serving = accept(listener, router);
        tokio::select! {
            () = serving => {}
            () = stop => {}
        }
        end.send_replace(true);
        state.jobs.end().await;
        // Clients that listen are told that it ends.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Listens on the given address; without one on the default port or, if that is taken, the next free one.
async fn listen(asked: Option<SocketAddr>) -> Result<TcpListener> {
    if let Some(address) = asked {
        return TcpListener::bind(address).await.map_err(|source| Error::Listen { address, source });
    }
    let mut port = PORT;
    loop {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        match TcpListener::bind(address).await {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse && port < PORT + PORTS => port += 1,
            Err(source) => return Err(Error::Listen { address, source }),
        }
    }
}

async fn accept(listener: TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files, most likely: some will be closed.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(place) = places.clone().try_acquire_owned() else {
            tokio::spawn(refuse(stream));
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(LARGEST_HEAD);
            // Errors are those of the client.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
            drop(place);
        });
    }
}

async fn refuse(mut stream: TcpStream) {
    const ANSWER: &[u8] =
        b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(ANSWER)).await;
}
