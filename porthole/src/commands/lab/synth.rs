//! `porthole lab synth`: generates a synthetic web; prints its figures or a page, or serves it.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, bail};
use porthole_crawl::{Request, SystemClock};
use porthole_types::{CanonicalUrl, Clock, ManualClock};
use porthole_webs::synth::{ServeOptions, SynthParams, SyntheticWeb, serve};

use crate::cli;
use crate::output::{self, misuse};

pub(super) async fn run(arguments: cli::Synth) -> anyhow::Result<()> {
    if !arguments.stats && !arguments.labels && arguments.get.is_none() && arguments.serve.is_none() {
        bail!("nothing to do: add --stats, --labels, --get URL or --serve 127.0.0.1:8080");
    }
    let params = params(&arguments)?;
    // A served web changes with real time; printed output must be the same every day.
    let clock: Arc<dyn Clock> =
        if arguments.serve.is_some() { Arc::new(SystemClock) } else { Arc::new(ManualClock::default()) };
    let web = SyntheticWeb::new(params, clock)?;
    if arguments.stats {
        print_stats(&web, arguments.json)?;
    }
    if arguments.labels {
        print_labels(&web)?;
    }
    if let Some(url) = &arguments.get {
        print_page(&web, url)?;
    }
    if let Some(addr) = arguments.serve {
        serve_until_interrupted(web, addr).await?;
    }
    Ok(())
}

/// The parameters of the file, or the default ones, with those of the flags.
fn params(arguments: &cli::Synth) -> anyhow::Result<SynthParams> {
    let given = match &arguments.web {
        None => SynthParams::default(),
        Some(file) => {
            let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
            toml::from_str(&text).map_err(|error| misuse(format!("{}: {error}", file.display())))?
        }
    };
    Ok(SynthParams {
        seed: arguments.seed.unwrap_or(given.seed),
        pages: arguments.pages.unwrap_or(given.pages),
        page_bytes: arguments.page_bytes.unwrap_or(given.page_bytes),
        ..given
    })
}

fn print_stats(web: &SyntheticWeb, json: bool) -> anyhow::Result<()> {
    let stats = web.stats();
    if json {
        return output::print_json(&stats);
    }
    let mut rows = stats.rows();
    rows.extend(output::memory_row());
    output::print_rows(&rows);
    Ok(())
}

/// The labels, in the form that experiments read.
fn print_labels(web: &SyntheticWeb) -> anyhow::Result<()> {
    let labelled = web.pages().filter(|(_, truth)| truth.earns_credit());
    Ok(output::print_lines(labelled.map(|(url, truth)| format!("{url}\t{}", truth.path)))?)
}

fn print_page(web: &SyntheticWeb, url: &str) -> anyhow::Result<()> {
    let url = CanonicalUrl::parse(url).with_context(|| url.to_owned())?;
    let response = web.answer(&Request::get(url.clone()))?;
    if response.status != 200 {
        output::say(&format!("{url}: status {}", response.status));
        response.headers.iter().for_each(|(name, value)| output::say(&format!("{name}: {value}")));
    }
    std::io::stdout().write_all(&response.body)?;
    Ok(())
}

async fn serve_until_interrupted(web: SyntheticWeb, addr: SocketAddr) -> anyhow::Result<()> {
    let pages = web.params().pages;
    let server = serve(Arc::new(web), addr, ServeOptions::default()).await?;
    let addr = server.addr();
    output::say(&format!(
        "serving a synthetic web of {pages} pages at http://{addr}/, also as a proxy for its hosts:"
    ));
    output::say(&format!(
        "  curl -x http://{addr} URL      (http://{addr}/ lists start pages; Ctrl-C stops)"
    ));
    tokio::signal::ctrl_c().await?;
    server.shutdown().await;
    Ok(())
}
