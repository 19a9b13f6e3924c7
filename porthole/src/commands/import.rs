//! `porthole examples import`: imports many examples from a file or folder.

use anyhow::Context;
use porthole_store::WorkspaceWriter;
use porthole_topic::prune::Pruning;
use porthole_webs::RecordedWeb;

use crate::cli;
use crate::importing::{self, ImportReport, ImportRequest, ImportedMatch, Lacking, Noted};
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
        allows_local: web.is_some() || workspace.settings.fetch.loopback == Some(true),
    };
    let known = importing::known(&*reader)?;
    let tree = workspace::tree(&*reader)?;
    let mut gathered = importing::gather(&order, tree.clone(), &known).await?;
    let mut critic = workspace::critic(&*reader).ok().map(|(critic, _)| critic);
    gathered.find_same(&tree, critic.as_mut(), arguments.merge)?;
    importing::write(&mut store, &gathered)?;
    if arguments.json {
        return output::print_json(&gathered.report);
    }
    print(&gathered.report);
    say_same(&gathered.report, arguments.merge);
    if let Some(next) = next(&gathered.report) {
        output::print(&Paint::Faint.on(next));
    }
    Ok(())
}

/// The next step after an import.
fn next(report: &ImportReport) -> Option<&'static str> {
    match (report.to_fetch, report.read) {
        (1.., _) => Some("next: `porthole examples fetch`, then `porthole train`"),
        (0, 1..) => Some(TRAIN_NEXT),
        (0, 0) => None,
    }
}

/// Says which topics were merged, or could be.
fn say_same(report: &ImportReport, is_merged: bool) {
    for same in &report.same {
        let ImportedMatch { topic, into, pages, of } = same;
        let by =
            if *of > 0 { format!("{pages} of {}", count(*of, "page")) } else { "by its name".to_owned() };
        output::say(&match is_merged {
            true => format!("{topic} was merged into {into} ({by})"),
            false => format!(
                "{topic} seems to mean the same as {into} ({by}), and both compete for pages; merge them with \
                 `porthole topics remove {} --move-examples {}`, or import with --merge",
                output::quoted(topic),
                output::quoted(into)
            ),
        });
    }
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
        ("without a page yet", report.to_fetch),
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
