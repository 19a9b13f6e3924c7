//! The synthetic web over real HTTP/1.1, for any crawler: the Host header chooses the host, and so does the
//! absolute form of a request to a proxy.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use porthole_types::FailureKind;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::SyntheticWeb;
use super::wire::{Reply, answer_to, read_head, write_reply};

/// How the web is served.
#[derive(Clone, Copy, Debug)]
pub struct ServeOptions {
    /// Listen on an address that other machines can reach.
    pub allow_remote: bool,
    /// Slow hosts sleep no longer than this.
    pub longest_wait: Duration,
    /// Stalling hosts keep a request this long before they hang up.
    pub stall: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        ServeOptions {
            allow_remote: false,
            longest_wait: Duration::from_secs(8),
            stall: Duration::from_secs(30),
        }
    }
}

/// Why the web cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is not a loopback one, and nobody asked for that.
    #[error("{0} can be reached from other machines; serve on 127.0.0.1, or allow it explicitly")]
    Remote(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}: {source}")]
    Bind {
        /// The address.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// A running server. It stops when it is told to or dropped.
pub struct Server {
    addr: SocketAddr,
    /// Closed at the end; every connection watches it.
    stop: watch::Sender<()>,
    accepting: tokio::task::JoinHandle<()>,
}

/// Serves a web from now on, on the present tokio runtime. Port 0 takes any free port.
pub async fn serve(
    web: Arc<SyntheticWeb>,
    addr: SocketAddr,
    options: ServeOptions,
) -> Result<Server, ServeError> {
    if !addr.ip().is_loopback() && !options.allow_remote {
        return Err(ServeError::Remote(addr));
    }
    let bind = |source| ServeError::Bind { addr, source };
    let listener = TcpListener::bind(addr).await.map_err(bind)?;
    let addr = listener.local_addr().map_err(bind)?;
    let (stop, stopped) = watch::channel(());
    let accepting = tokio::spawn(accept(listener, web, options, stopped));
    Ok(Server { addr, stop, accepting })
}

impl Server {
    /// The address it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops listening and hangs up.
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
                tokio::spawn(converse(stream, Arc::clone(&web), options, stopped.clone()));
            }
            // Out of descriptors, most likely: those in use will be closed.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Answers the requests of one connection, until the peer, an error or the end of the server closes it.
async fn converse(
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

/// Only slow hosts sleep: the others answer as fast as pages can be made.
async fn wait(reply: &Reply, options: ServeOptions) {
    if let Some(wait) = reply.wait {
        tokio::time::sleep(wait.min(options.longest_wait)).await;
    }
}
