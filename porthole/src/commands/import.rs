//! `porthole examples import`: imports many examples from a file or folder.

use anyhow::Context;
use porthole_store::WorkspaceWriter;
use porthole_topic::prune::Pruning;
use porthole_webs::RecordedWeb;

use crate::cli;
use crate::importing::{self, ImportReport, ImportRequest, Lacking, Noted};
use crate::output::{self, Paint, count, misuse};
use crate::sources::{ExampleSource, SourceFormat};
use crate::workspace::{self, Workspace};

pub(crate) async fn run(workspace: &Workspace, arguments: &cli::Import) -> anyhow::Result<()> {
    let source = ExampleSource::open(&arguments.source, arguments.format)?;
    if source.format == SourceFormat::Taxonomy {
        return Err(misuse(
            "a taxonomy has no examples; create a workspace from it with `porthole init DIR --taxonomy FILE`",
        ));
    }
    let web = match arguments.web.as_slice() {
        [] => None,
        files => Some(RecordedWeb::open(files).context("nothing was imported")?),
    };
    let mut store = workspace.writer()?;
    let reader = store.reader();
    let order = ImportRequest {
        source: &source,
        below: arguments.topic.as_deref(),
        web: web.as_ref(),
        pruning: arguments.prune.map(|k| Pruning { k, seed: arguments.seed }),
    };
    let known = importing::known(&*reader)?;
    let gathered = importing::gather(&order, workspace::tree(&*reader)?, &known).await?;
    importing::write(&mut store, &gathered)?;
    if arguments.json {
        return output::print_json(&gathered.report);
    }
    print(&gathered.report);
    if gathered.report.read > 0 {
        output::print(&Paint::Faint.on(TRAIN_NEXT));
    }
    Ok(())
}

/// The next step, when there are examples to train on.
pub(crate) const TRAIN_NEXT: &str = "next: `porthole train`";

/// Prints the result of an import.
pub(crate) fn print(report: &ImportReport) {
    let file = output::plain(&report.file.display().to_string());
    let new = match report.new_topics {
        0 => String::new(),
        new => format!(", {}", count(new, "new topic")),
    };
    output::print(&format!("{file} ({}): {}{new}", report.format, count(report.examples, "example")));
    let rows = [
        ("read", report.read),
        ("to be fetched by the crawl", report.to_fetch),
        ("known already, unchanged", report.known),
        ("without a page", report.missing.count),
        ("without words", report.empty.count),
        ("skipped", report.left_out.count),
    ];
    for (what, number) in rows.into_iter().filter(|(_, number)| *number > 0) {
        output::print(&format!("  {:>9} {what}", output::grouped(&number.to_string())));
    }
    if let Some(pruned) = &report.pruned {
        output::print(&format!(
            "pruned to {} per topic: {} merged into parents, {} sampled, {} dropped",
            count(pruned.k, "example"),
            count(pruned.topics_removed, "topic"),
            count(pruned.topics_sampled, "topic"),
            count(pruned.examples_left_out, "example")
        ));
    }
    let lacking = |lacking: &Lacking| format!("{}: {}", lacking.name, lacking.why);
    say_some("skipped:", &report.left_out, Clone::clone);
    say_some("without a page:", &report.missing, lacking);
    say_some("without words:", &report.empty, lacking);
}

fn say_some<T>(heading: &str, noted: &Noted<T>, line: impl Fn(&T) -> String) {
    if noted.count > 0 {
        output::say(heading);
        output::some_of(&noted.first, noted.count, line).iter().for_each(|line| output::say(line));
    }
}
