//! `porthole serve`: the dashboard.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use porthole_serve::{DashboardOptions, DashboardServer};
use tokio::sync::oneshot;

use crate::cli;
use crate::output::{self, Paint, misuse};

pub(crate) async fn run(root: &Path, arguments: &cli::Serve) -> anyhow::Result<()> {
    if arguments.openapi {
        output::print(porthole_serve::openapi().trim_end());
        return Ok(());
    }
    let folders =
        if arguments.folders.is_empty() { vec![root.to_owned()] } else { arguments.folders.clone() };
    let options = DashboardOptions {
        folders,
        listen: arguments.listen,
        host_names: arguments.host_name.clone(),
        search_url: arguments.search_url.clone(),
        program: this_program()?,
    };
    let server = DashboardServer::bind(&options).await.map_err(|error| not_served(&error, "--listen "))?;
    if let Some(file) = &arguments.token_file {
        write_token(file, server.token())?;
    }
    let stop = stop_signal()?;
    output::print(&format!("dashboard: {}", Paint::Strong.on(&server.url())));
    if !server.address().ip().is_loopback() {
        output::say("warning: other machines can reach this address; the connection is not encrypted");
    }
    output::say("open it in a browser; Ctrl-C ends the server and the crawls that it started");
    server.run(stop).await;
    Ok(())
}

/// The dashboard of a crawl in the same process. It has threads of its own, since the crawl uses its thread completely.
pub(super) struct CrawlDashboard {
    thread: std::thread::JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl CrawlDashboard {
    /// Starts to serve a workspace, and prints the address.
    pub(super) fn start(root: &Path, listen: Option<SocketAddr>) -> anyhow::Result<CrawlDashboard> {
        let options = DashboardOptions {
            folders: vec![root.to_owned()],
            listen,
            host_names: Vec::new(),
            search_url: None,
            program: this_program()?,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("dashboard")
            .enable_all()
            .build()
            .context("cannot start the runtime of the dashboard")?;
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, bound) = std::sync::mpsc::channel();
        let serve = move || {
            runtime.block_on(async {
                let server = match DashboardServer::bind(&options).await {
                    Ok(server) => server,
                    Err(error) => return drop(ready.send(Err(error))),
                };
                let _ = ready.send(Ok(server.url()));
                server.run(async { drop(stopped.await) }).await;
            });
        };
        let thread = std::thread::Builder::new().name("dashboard".to_owned()).spawn(serve)?;
        let url = bound.recv().context("the dashboard has ended")?;
        output::say(&format!(
            "dashboard: {}",
            Paint::Strong.on(&url.map_err(|error| not_served(&error, "--serve="))?)
        ));
        Ok(CrawlDashboard { thread, stop })
    }

    /// Ends with the crawl; on a terminal, unless Ctrl-C ended the crawl, at the next Ctrl-C.
    pub(super) async fn end(self, is_interrupted: bool) -> anyhow::Result<()> {
        if !is_interrupted && std::io::stderr().is_terminal() {
            output::say("the crawl has ended; Ctrl-C ends the dashboard");
            stop_signal()?.await;
        }
        let _ = self.stop.send(());
        let _ = tokio::task::spawn_blocking(|| self.thread.join()).await;
        Ok(())
    }
}

/// Why there is no dashboard, and the option that may help.
fn not_served(error: &porthole_serve::Error, option: &str) -> anyhow::Error {
    misuse(match error {
        porthole_serve::Error::Listen { .. } => {
            format!("{error}; choose another address with {option}ADDR:PORT")
        }
        error => error.to_string(),
    })
}

/// The program itself, whose commands the dashboard runs.
pub(super) fn this_program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("cannot find the program's own file")
}

/// Done at Ctrl-C or SIGTERM.
pub(super) fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

fn write_token(file: &Path, token: &str) -> anyhow::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let written = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file);
    written
        .and_then(|mut to| writeln!(to, "{token}"))
        .with_context(|| format!("cannot write the token to {}", file.display()))
}
