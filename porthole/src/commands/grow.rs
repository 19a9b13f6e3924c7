//! `porthole topics grow`: adds examples from specialised sites of the crawl if the critic's accuracy on held-out
//! examples does not drop (W 1).

use porthole_crawl::Command;

use crate::cli;
use crate::output::{self, Paint, Spinner, count};
use crate::training::growing::{self, Grown, GrownSite, GrowthLimits};
use crate::training::train_workspace;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, arguments: &cli::Grow) -> anyhow::Result<()> {
    let settings = workspace.settings.train.ready()?;
    let mut store = workspace.writer()?;
    let limits =
        GrowthLimits { sites: arguments.sites, pages_a_site: arguments.pages, pages: arguments.accept };
    let spinner = Spinner::new("growing");
    let mut grow = || -> anyhow::Result<Grown> {
        let grown = growing::grow(workspace, &mut store, &arguments.topic, limits, &settings)?;
        if grown.examples > 0 {
            train_workspace(&mut store, &settings, false)?;
        }
        Ok(grown)
    };
    let grown = grow();
    spinner.finish();
    let grown = grown?;
    if arguments.json {
        return output::print_json(&grown);
    }
    print(&grown);
    if grown.examples > 0 {
        workspace.tell_crawl(&Command::Refocus)?;
    }
    Ok(())
}

fn print(grown: &Grown) {
    if grown.sites.is_empty() {
        output::print(&format!(
            "no site qualifies for {}: it needs at least five pages, most of them clearly on the topic",
            grown.topic
        ));
        return;
    }
    let row = |site: &GrownSite| {
        vec![
            output::plain(&site.host),
            format!("{} of {}", site.on_topic, site.pages),
            site.tried.to_string(),
            format!("{:.1}%", 100.0 * site.held_out.accuracy),
            format!("{:.3}", site.held_out.log_loss),
            if site.accepted { "added".to_owned() } else { Paint::Faint.on("rejected") },
        ]
    };
    let rows: Vec<Vec<String>> = grown.sites.iter().map(row).collect();
    output::print_table(&["site", "on topic", "tried", "accuracy", "log loss", ""], &rows);
    output::print(&format!(
        "\nadded {} to {}; accuracy on held-out examples of yours: {:.1}% ({:.1}% before)",
        count(grown.examples, "example"),
        grown.topic,
        100.0 * grown.after.accuracy,
        100.0 * grown.before.accuracy
    ));
    let refused = grown.sites.iter().filter(|site| !site.accepted).count();
    if refused > 0 {
        output::print(&format!("rejected {}: accuracy on your examples would drop", count(refused, "site")));
    }
}
