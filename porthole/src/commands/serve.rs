//! `porthole serve`: the dashboard.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use porthole_serve::{DashboardServer, ServeOptions};

use crate::cli;
use crate::output::{self, Paint, misuse};

pub(crate) async fn run(root: &Path, arguments: &cli::Serve) -> anyhow::Result<()> {
    if arguments.openapi {
        output::print(porthole_serve::openapi().trim_end());
        return Ok(());
    }
    let folders =
        if arguments.folders.is_empty() { vec![root.to_owned()] } else { arguments.folders.clone() };
    let options = ServeOptions {
        folders,
        listen: arguments.listen,
        host_names: arguments.host_name.clone(),
        program: this_program()?,
    };
    let server = DashboardServer::bind(&options).await.map_err(|error| misuse(error.to_string()))?;
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

/// The program itself, whose commands the dashboard runs.
pub(super) fn this_program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("cannot find the program's own file")
}

/// Done at Ctrl-C or SIGTERM.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
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
