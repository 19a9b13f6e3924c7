//! The demo on a terminal: both crawls at work at the same time, watched in the dashboard. The synthetic web is served over
//! HTTP, and the crawls are ordinary ones, so that everything in the dashboard works on them.

use std::io::IsTerminal;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use porthole_serve::{DashboardOptions, DashboardServer};
use porthole_webs::synth::{ServeOptions, SyntheticWeb, serve};

use super::lesson::DemoCritic;
use crate::commands::serve::{stop_signal, this_program};
use crate::output::{self, Paint, misuse};
use crate::workspace::Workspace;

/// Strategies of the two crawls, in the order of their folders.
const STRATEGIES: [&str; 2] = ["porthole", "unfocused"];

/// Requests of a crawl at once, and the time that each takes: about 25 pages a second, so that one can watch.
const WORKERS: &str = "6";
const RESPONSE_TIME: Duration = Duration::from_millis(240);

/// Whether there is somebody to look at a dashboard.
pub(super) fn is_possible() -> bool {
    std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
}

/// Starts both crawls and serves the dashboard until Ctrl-C.
pub(super) async fn run(
    web: SyntheticWeb,
    lesson: &DemoCritic,
    listen: Option<SocketAddr>,
    home: &Path,
    folders: &[PathBuf; 2],
) -> anyhow::Result<()> {
    let stop = stop_signal()?;
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let pace = ServeOptions { shortest_wait: RESPONSE_TIME, ..ServeOptions::default() };
    let web = serve(Arc::new(web), anywhere, pace).await?;
    for folder in folders {
        let mut store = Workspace::create(folder)?.store()?;
        lesson.keep(&mut store)?;
        let settings = folder.join("porthole.toml");
        std::fs::write(&settings, settings_for(web.addr()))
            .with_context(|| format!("cannot write {}", settings.display()))?;
    }
    let options = DashboardOptions {
        folders: vec![home.to_owned()],
        listen,
        host_names: Vec::new(),
        search_url: None,
        program: this_program()?,
    };
    let server = DashboardServer::bind(&options).await.map_err(|error| misuse(error.to_string()))?;
    for (folder, strategy) in folders.iter().zip(STRATEGIES) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        server.start_crawl(&name, &["--strategy", strategy, "--workers", WORKERS, "--patience", "0"])?;
    }
    output::say("a focused and an unfocused crawl of the same web have begun; watch them side by side:");
    output::print(&format!("dashboard: {}", Paint::Strong.on(&server.url())));
    output::say("Ctrl-C ends the demo");
    server.run(stop).await;
    web.shutdown().await;
    Ok(())
}

/// Settings of the crawls: all requests go to the synthetic web, with short delays.
fn settings_for(web: SocketAddr) -> String {
    format!(
        "# The demo's web is served at the proxy. It exists while the demo runs.\n\
         [fetch]\ncontact = \"demo@example.org\"\nproxy = \"http://{web}\"\n\n\
         [polite]\ndelay = 0.2\ndelay-factor = 1\nlongest-delay = 2.0\nper-address = false\n\n\
         [crawl]\nidle = \"fill\"\n"
    )
}
