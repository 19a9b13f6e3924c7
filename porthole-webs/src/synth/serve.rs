//! Serves the synthetic web over HTTP/1.1 for any crawler. The host is selected by the Host header, or by the absolute
//! form of a proxy request.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use porthole_types::FailureKind;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::SyntheticWeb;
use super::wire::{Reply, answer_to, read_head, write_reply};

/// Options of the server.
#[derive(Clone, Copy, Debug)]
pub struct ServeOptions {
    /// Whether to allow addresses that other machines can reach.
    pub allow_remote: bool,
    /// Delay of every answer, so that a crawl is slow enough to watch.
    pub shortest_wait: Duration,
    /// Maximum delay of slow hosts.
    pub longest_wait: Duration,
    /// Time after which stalling hosts close the connection.
    pub stall: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        ServeOptions {
            allow_remote: false,
            shortest_wait: Duration::ZERO,
            longest_wait: Duration::from_secs(8),
            stall: Duration::from_secs(30),
        }
    }
}

/// Errors of the server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is not a loopback address, and remote access is not allowed.
    #[error("{0} can be reached from other machines; serve on 127.0.0.1, or allow it explicitly")]
    Remote(SocketAddr),
    /// Listening on the address failed.
    #[error("cannot listen on {addr}: {source}")]
    Bind {
        /// The address.
        addr: SocketAddr,
        /// The I/O error.
        source: io::Error,
    },
}

/// A running server, stopped by `shutdown` or drop.
pub struct SyntheticServer {
    addr: SocketAddr,
    /// Dropped to stop; every connection watches it.
    stop: watch::Sender<()>,
    accepting: tokio::task::JoinHandle<()>,
}

/// Starts a server on the current tokio runtime. Port 0 selects any free port.
pub async fn serve(
    web: Arc<SyntheticWeb>,
    addr: SocketAddr,
    options: ServeOptions,
) -> Result<SyntheticServer, ServeError> {
    if !addr.ip().is_loopback() && !options.allow_remote {
        return Err(ServeError::Remote(addr));
    }
    let bind = |source| ServeError::Bind { addr, source };
    let listener = TcpListener::bind(addr).await.map_err(bind)?;
    let addr = listener.local_addr().map_err(bind)?;
    let (stop, stopped) = watch::channel(());
    let accepting = tokio::spawn(accept(listener, web, options, stopped));
    Ok(SyntheticServer { addr, stop, accepting })
}

impl SyntheticServer {
    /// The address it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops listening and closes all connections.
    pub async fn shutdown(self) {
        drop(self.stop);
        let _ = self.accepting.await;
    }
}

async fn accept(
    listener: TcpListener,
    web: Arc<SyntheticWeb>,
    options: ServeOptions,
    mut stopped: watch::Receiver<()>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.changed() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                tokio::spawn(serve_connection(stream, Arc::clone(&web), options, stopped.clone()));
            }
            // Most likely out of file descriptors: wait until some are closed.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Serves the requests of one connection, until the peer, an error or the shutdown closes it.
async fn serve_connection(
    mut stream: TcpStream,
    web: Arc<SyntheticWeb>,
    options: ServeOptions,
    mut stopped: watch::Receiver<()>,
) {
    let _ = stream.set_nodelay(true);
    tokio::select! {
        _ = talk(&mut stream, &web, options) => {}
        _ = stopped.changed() => {}
    }
}

async fn talk(stream: &mut TcpStream, web: &SyntheticWeb, options: ServeOptions) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(4_096);
    let mut out = Vec::with_capacity(16_384);
    while let Some(head) = read_head(stream, &mut buffer).await? {
        let reply = match answer_to(web, &head) {
            Ok(reply) => reply,
            Err(FailureKind::Timeout) => {
                tokio::time::sleep(options.stall).await;
                return Ok(());
            }
            Err(_) => return Ok(()),
        };
        wait(&reply, options).await;
        out.clear();
        let last = head.close || reply.close;
        write_reply(stream, &mut out, &head, &reply, last).await?;
        if last {
            return Ok(());
        }
    }
    Ok(())
}

/// Sleeps for slow hosts; others respond after the shortest delay, by default as fast as pages can be generated.
async fn wait(reply: &Reply, options: ServeOptions) {
    let wait = reply.wait.unwrap_or_default().min(options.longest_wait).max(options.shortest_wait);
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
}
