//! `porthole sites`: lists the known sites, and disables or enables them.

use std::path::Path;

use anyhow::Context;
use porthole_crawl::Command;
use porthole_store::{QueryLimits, SqlValue, StoreReader, WorkspaceWriter};
use porthole_types::CanonicalUrl;
use serde::Serialize;

use crate::cli::{self, Sites};
use crate::output::{self, misuse};
use crate::workspace::Workspace;

pub(crate) fn run(root: &Path, arguments: &Sites) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    match arguments {
        Sites::List(arguments) => list(&workspace, arguments),
        Sites::Disable(arguments) => switch(&workspace, arguments, true),
        Sites::Enable(arguments) => switch(&workspace, arguments, false),
    }
}

/// A site, for JSON.
#[derive(Serialize)]
struct ListedSite {
    host: String,
    pages: i64,
    /// Mean relevance of the pages.
    relevance: Option<f64>,
    queued: i64,
    /// URLs whose last try failed, or that were skipped.
    failures: i64,
    /// Number of URLs fetched from the site.
    serverload: i64,
    disabled: bool,
}

fn list(workspace: &Workspace, arguments: &cli::ListSites) -> anyhow::Result<()> {
    let (rows, disabled) = (arguments.rows.to_string(), u8::from(arguments.disabled).to_string());
    let parameters = [("rows", rows.as_str()), ("disabled", disabled.as_str())];
    let answer = workspace.reader()?.query("site_list", &parameters, &QueryLimits::default())?;
    let number = |value: &SqlValue| value.integer().unwrap_or_default();
    let site = |row: &Vec<SqlValue>| ListedSite {
        host: row[0].text().to_owned(),
        pages: number(&row[1]),
        relevance: row[2].real(),
        queued: number(&row[3]),
        failures: number(&row[4]),
        serverload: number(&row[5]),
        disabled: number(&row[6]) != 0,
    };
    let sites: Vec<ListedSite> = answer.rows.iter().map(site).collect();
    if arguments.json {
        return output::print_json(&sites);
    }
    match sites.as_slice() {
        [] if arguments.disabled => output::say("no site is disabled"),
        [] => output::say("no site is known yet; run `porthole crawl`"),
        sites => print(sites),
    }
    Ok(())
}

fn print(sites: &[ListedSite]) {
    let row = |site: &ListedSite| {
        vec![
            output::plain(&site.host),
            site.pages.to_string(),
            site.relevance.map_or_else(|| "–".to_owned(), |relevance| format!("{relevance:.3}")),
            site.queued.to_string(),
            site.failures.to_string(),
            site.serverload.to_string(),
            if site.disabled { "disabled".to_owned() } else { String::new() },
        ]
    };
    let rows: Vec<_> = sites.iter().map(row).collect();
    output::print_table(&["site", "pages", "mean relevance", "queued", "failures", "fetched", ""], &rows);
}

/// The result, for JSON.
#[derive(Serialize)]
struct SwitchResult {
    hosts: Vec<String>,
    disabled: bool,
}

fn switch(workspace: &Workspace, arguments: &cli::SwitchSites, disabled: bool) -> anyhow::Result<()> {
    let hosts = arguments.hosts.iter().map(|text| host(text)).collect::<anyhow::Result<Vec<_>>>()?;
    let mut writer = workspace.writer()?;
    let names: Vec<&str> = hosts.iter().map(String::as_str).collect();
    writer
        .set_disabled(&names, disabled)
        .map_err(|error| match error {
            porthole_store::Error::UnknownSite(_) => misuse(error.to_string()),
            error => error.into(),
        })
        .context("nothing was changed")?;
    if arguments.json {
        return output::print_json(&SwitchResult { hosts, disabled });
    }
    let what = if disabled { "disabled" } else { "enabled" };
    output::print(&format!("{what} {}", output::plain(&hosts.join(", "))));
    for host in hosts {
        workspace.tell_crawl(&Command::Site { host, disabled })?;
    }
    Ok(())
}

/// The host of a site, given as a host or as any URL of the site.
fn host(text: &str) -> anyhow::Result<String> {
    let url = if text.contains("://") { text.to_owned() } else { format!("http://{text}/") };
    let url = CanonicalUrl::parse(&url).map_err(|error| misuse(format!("{text} is not a host: {error}")))?;
    Ok(url.authority().to_owned())
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn hosts_and_urls_are_accepted() {
        for (text, expected) in [
            ("Owls.Test", "owls.test"),
            ("http://owls.test:8080/a?b", "owls.test:8080"),
            ("owls.test:80", "owls.test"),
        ] {
            assert_eq!(host(text).unwrap(), expected);
        }
        assert!(host("no host").is_err());
    }
}
