//! `porthole lab upkeep`: freshness of a maintained crawl.

use porthole_lab::statistics::p_cell;
use porthole_lab::upkeep::{UpkeepFigures, UpkeepRun, UpkeepSetup, measure};

use crate::cli::LabUpkeep;
use crate::output::{self, Progress};

pub(super) fn run(arguments: &LabUpkeep) -> anyhow::Result<()> {
    let LabUpkeep { pages, days, every, webs, json } = *arguments;
    let setup = UpkeepSetup { pages, days, every, webs };
    let mut progress = Progress::new("crawls", u64::from(webs) * 3);
    let figures = measure(&setup, || progress.step(String::new))?;
    progress.finish();
    if json {
        return output::print_json(&figures);
    }
    print(&figures, arguments);
    Ok(())
}

fn print(figures: &UpkeepFigures, arguments: &LabUpkeep) {
    let LabUpkeep { pages, days, every, webs, .. } = arguments;
    output::print(&format!(
        "{webs} synthetic webs of {pages} pages, {days} simulated days, a visit every {every} days in the mean\n"
    ));
    let row = |name: &str, runs: &[UpkeepRun]| {
        let mean =
            |value: fn(&UpkeepRun) -> f64| runs.iter().map(value).sum::<f64>() / runs.len().max(1) as f64;
        vec![
            name.to_owned(),
            format!("{:.0}", mean(|run| run.visits as f64)),
            format!("{:.0}", mean(|run| run.changed as f64)),
            format!("{:.0}", mean(|run| run.pages as f64)),
            format!("{:.3}", mean(|run| run.freshness)),
            format!("{:.3}", mean(|run| run.found)),
        ]
    };
    let rows = [row("by change rate", &figures.adaptive), row("uniform", &figures.uniform)];
    output::print_table(&["order", "visits", "changed", "pages", "freshness", "new pages found"], &rows);
    for (name, difference) in [("freshness", figures.difference), ("new pages found", figures.found)] {
        output::print(&format!(
            "\n{name}: {:+.4}, 95% interval {:+.4} to {:+.4}, p: {}",
            difference.mean,
            difference.low,
            difference.high,
            p_cell(difference.p)
        ));
    }
}
