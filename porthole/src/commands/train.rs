//! `porthole train`: trains the critic on the examples and prints the cross-validation results.

use std::collections::BTreeSet;
use std::path::Path;

use porthole_crawl::Command;
use porthole_store::{SqliteWorkspaceWriter, WorkspaceWriter};
use porthole_topic::{BACKGROUND, ClassifierShape, FEATURES, ModelKind, TermCounting};

use serde::Serialize;

use crate::cli;
use crate::languages::{self, ForeignLanguage};
use crate::output::{self, Paint, Spinner, count, misuse};
use crate::settings::{CriticWord, TrainSettings};
use crate::training::preview::{CollectionChanges, accept_candidate, train_candidate};
use crate::training::{
    self, ChosenBy, ExampleCheck, MisjudgedExample, NodeFigures, Remedy, TrainedScope, TrainingReport,
    background,
};
use crate::workspace::Workspace;

pub(crate) fn run(root: &Path, arguments: &cli::Train) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    refuse_mixed(arguments)?;
    let raw = arguments.settings().or(workspace.settings.train);
    let mut settings = raw.ready()?;
    if arguments.tables {
        fit_for_tables(&mut settings)?;
    }
    let mut store = workspace.writer()?;
    if arguments.preview {
        return preview(&workspace, &mut store, &settings, (raw.background(), arguments.json));
    }
    if arguments.accept {
        return accept(&workspace, &mut store, &settings, raw.background());
    }
    let spinner = Spinner::new("training");
    let mut train = || -> anyhow::Result<TrainingReport> {
        let crawl = store.reader();
        let background = background::refresh(&workspace, &*crawl, &mut store, raw.background())?;
        let report = training::train_workspace(&mut store, &settings, arguments.cv)?;
        if arguments.tables {
            training::write_tables(&mut store)?;
        }
        Ok(TrainingReport { background, ..report })
    };
    let report = train();
    spinner.finish();
    let report = report?;
    if arguments.json {
        output::print_json(&report)?;
    } else {
        print(&report, arguments.cv);
        warn(&report);
    }
    let reader = workspace.reader()?;
    if let Some(language) = ForeignLanguage::of_good(&reader)?
        && !languages::has_background(&reader, language)?
    {
        output::say(&language.no_background());
    }
    workspace.tell_crawl(&Command::Refocus)?;
    Ok(())
}

/// Trains a candidate and shows what it would change.
fn preview(
    workspace: &Workspace,
    store: &mut SqliteWorkspaceWriter,
    settings: &TrainSettings,
    (background, json): (usize, bool),
) -> anyhow::Result<()> {
    let spinner = Spinner::new("training a candidate and judging all pages");
    let made = train_candidate(workspace, store, settings, background);
    spinner.finish();
    let (report, changes) = made?;
    if json {
        return output::print_json(&TrainingPreview { report: &report, changes: &changes });
    }
    print_changes(&changes);
    warn_of_misjudged(&report.check);
    output::print("\nnothing was changed; `porthole train --accept` takes this critic over");
    Ok(())
}

/// Takes the candidate over, and tells a running crawl.
fn accept(
    workspace: &Workspace,
    store: &mut SqliteWorkspaceWriter,
    settings: &TrainSettings,
    background: usize,
) -> anyhow::Result<()> {
    accept_candidate(workspace, store, settings, background)?;
    output::print("the previewed critic is taken over");
    if !workspace.tell_crawl(&Command::Refocus)? {
        output::print("the next crawl judges stored pages again");
    }
    Ok(())
}

/// A preview, for JSON.
#[derive(Serialize)]
struct TrainingPreview<'a> {
    #[serde(flatten)]
    report: &'a TrainingReport,
    changes: &'a CollectionChanges,
}

fn print_changes(changes: &CollectionChanges) {
    let CollectionChanges { pages, good_before, good_after, came, went, up, down } = changes;
    let number = |number: &usize| output::grouped(&number.to_string());
    output::print(&format!(
        "of {}, {} would be relevant instead of {}: {} more, {} fewer",
        count(*pages, "page"),
        number(good_after),
        number(good_before),
        number(came),
        number(went)
    ));
    for (what, pages) in [("largest rises", up), ("largest falls", down)] {
        if pages.is_empty() {
            continue;
        }
        output::print(&format!("\n{what} (R before, after)"));
        for page in pages {
            let title = if page.title.is_empty() { &page.url } else { &page.title };
            output::print(&format!("  {:.2}  {:.2}  {}", page.before, page.after, output::plain(title)));
            output::print(&Paint::Faint.on(&format!("              {}", output::plain(&page.url))));
        }
    }
}

/// Rejects options of naive Bayes with a logistic critic, which has neither smoothing nor feature selection.
fn refuse_mixed(arguments: &cli::Train) -> anyhow::Result<()> {
    let of_bayes = [
        ("--smoothing", arguments.smoothing.is_some()),
        ("--features", arguments.features.is_some()),
        ("--counting", arguments.counting.is_some()),
        ("--no-calibration", arguments.no_calibration),
    ];
    match of_bayes.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) if arguments.critic == Some(CriticWord::Logistic) => {
            Err(misuse(format!("{option} requires naive Bayes; it has no effect on a logistic critic")))
        }
        _ => Ok(()),
    }
}

/// The papers' tables hold a tree of naive Bayes decisions, without confirmations, and DOCUMENT every occurrence of a
/// term.
fn fit_for_tables(settings: &mut TrainSettings) -> anyhow::Result<()> {
    if settings.critic != ModelKind::NaiveBayes || settings.options.shape != ClassifierShape::Tree {
        return Err(misuse("--tables requires --critic naive-bayes and --shape tree"));
    }
    settings.options.confirm = false;
    match settings.options.counting {
        Some(TermCounting::Once) => Err(misuse("--tables requires --counting each or share")),
        Some(_) => Ok(()),
        None => {
            settings.options.counting = Some(TermCounting::Each);
            Ok(())
        }
    }
}

fn print(report: &TrainingReport, cv: bool) {
    let what = match report.trained {
        TrainedScope::All => "trained",
        TrainedScope::Changed => {
            "retrained the nodes with changed examples, with the parameters chosen before"
        }
        TrainedScope::Nothing => "nothing has changed since the critic was trained",
    };
    output::print(&format!(
        "{what}: {} ({}), {}, {} in {:.1} s",
        report.critic,
        report.shape,
        count(report.examples as usize, "example"),
        count(report.nodes.len(), "node"),
        report.seconds
    ));
    if !report.to_other.is_empty() {
        output::print(&format!(
            "examples of inner topics were moved to a subtopic Other: {}",
            report.to_other.join(", ")
        ));
    }
    if report.has_general_background {
        output::print(&format!(
            "/{BACKGROUND} stands for all other pages, with the counts of the general taxonomy: after a crawl, \
             `porthole train` draws pages for it"
        ));
    }
    if report.background.examples > 0 {
        output::print(&format!(
            "{} of the crawl are background examples in /{BACKGROUND}, {} new",
            count(report.background.examples, "page"),
            report.background.came
        ));
    }
    print_nodes(&report.nodes);
    if cv {
        print_by_features(&report.nodes);
        print_confusions(report);
    }
}

fn print_nodes(nodes: &[NodeFigures]) {
    let is_bayes = nodes.iter().any(|node| node.counting.is_some());
    let head: &[&str] = if is_bayes {
        &[
            "node",
            "examples",
            "classes",
            "counting",
            "smoothing",
            "terms",
            "accuracy",
            "add-one",
            "log loss",
            "calibrated",
        ]
    } else {
        &["node", "examples", "classes", "terms", "strength", "accuracy", "log loss"]
    };
    let row = if is_bayes { bayes_row } else { logistic_row };
    let (inherited, own): (Vec<_>, Vec<_>) =
        nodes.iter().partition(|node| node.chosen_by == ChosenBy::Taxonomy);
    let shown = &own[..own.len().min(MOST_NODES)];
    let shown: Vec<_> = names(shown).into_iter().zip(shown).map(|(name, node)| row(name, node)).collect();
    if !shown.is_empty() {
        output::print("");
        output::print_table(head, &shown);
    }
    let note = |what: String| output::print(&Paint::Faint.on(&what));
    if own.len() > MOST_NODES {
        note(format!("… and {} more; --json lists all", count(own.len() - MOST_NODES, "node")));
    }
    if own.iter().any(|node| node.validation.is_none()) {
        note("–: too few examples for cross-validation; the parameters of other nodes are used".to_owned());
    }
    if !inherited.is_empty() {
        let nodes = count(inherited.len(), "node");
        note(format!("{nodes} with the parameters of the taxonomy; --json lists all"));
    }
}

fn bayes_row(name: String, node: &NodeFigures) -> Vec<String> {
    let found = node.validation.as_ref();
    vec![
        name,
        node.examples.to_string(),
        node.classes.to_string(),
        node.counting.clone().unwrap_or_default(),
        node.smoothing.map_or_else(dash, |smoothing| smoothing.to_string()),
        if node.all_terms { "all".to_owned() } else { node.features.to_string() },
        found.map_or_else(dash, |found| percent(found.accuracy)),
        found.and_then(|found| found.plain_accuracy).map_or_else(dash, percent),
        found.map_or_else(dash, |found| format!("{:.2}", found.log_loss)),
        found.and_then(|found| found.calibrated_log_loss).map_or_else(dash, |loss| format!("{loss:.2}")),
    ]
}

fn logistic_row(name: String, node: &NodeFigures) -> Vec<String> {
    let found = node.validation.as_ref();
    vec![
        name,
        node.examples.to_string(),
        node.classes.to_string(),
        node.features.to_string(),
        node.strength.map_or_else(dash, |strength| strength.to_string()),
        found.map_or_else(dash, |found| percent(found.accuracy)),
        found.map_or_else(dash, |found| format!("{:.2}", found.log_loss)),
    ]
}

/// Labels of nodes: below a node that is shown, the last name, indented; whole paths would leave no space for the
/// numbers.
fn names(nodes: &[&NodeFigures]) -> Vec<String> {
    let shown: BTreeSet<&str> = nodes.iter().map(|node| node.node.as_str()).collect();
    let name = |path: &str| {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let parent = if above.is_empty() { "/" } else { above };
        if path == "/" || !shown.contains(parent) {
            return path.to_owned();
        }
        format!("{}{name}", "  ".repeat(above.matches('/').count() + 1))
    };
    nodes.iter().map(|node| name(&node.node)).collect()
}

fn dash() -> String {
    "–".to_owned()
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// Maximum number of nodes shown.
const MOST_NODES: usize = 40;

/// Prints the accuracy by number of terms, the best over all counting and smoothing parameters.
fn print_by_features(nodes: &[NodeFigures]) {
    let validated: Vec<&NodeFigures> =
        nodes.iter().filter(|node| node.validation.is_some()).take(MOST_NODES).collect();
    if validated.is_empty() {
        return output::print("\nno node has enough examples for cross-validation");
    }
    let trials =
        |node: &NodeFigures| node.validation.as_ref().map_or(Vec::new(), |found| found.by_features.clone());
    let tried: BTreeSet<usize> =
        validated.iter().flat_map(|node| trials(node)).map(|trial| trial.features).collect();
    let sizes: Vec<usize> = FEATURES.into_iter().filter(|size| tried.contains(size)).collect();
    if sizes.is_empty() {
        // All nodes have fewer terms, or the critic is logistic, which weighs terms instead of selecting them.
        return;
    }
    let row = |(name, node): (String, &&NodeFigures)| {
        let trials = trials(node);
        let at = |size: usize| trials.iter().find(|trial| trial.features == size);
        let cells = sizes.iter().map(|&size| at(size)).chain([trials.last()]);
        std::iter::once(name)
            .chain(cells.map(|trial| trial.map_or_else(dash, |trial| percent(trial.accuracy))))
            .collect()
    };
    let rows: Vec<Vec<String>> = names(&validated).into_iter().zip(&validated).map(row).collect();
    output::print("\naccuracy by number of terms");
    let heads: Vec<String> = sizes.iter().map(|size| output::grouped(&size.to_string())).collect();
    let head: Vec<&str> =
        std::iter::once("node").chain(heads.iter().map(String::as_str)).chain(["all"]).collect();
    output::print_table(&head, &rows);
}

fn print_confusions(report: &TrainingReport) {
    if report.confusions.is_empty() {
        return;
    }
    output::print("\nmost frequent confusions");
    for confusion in &report.confusions {
        output::print(&format!(
            "  {} of {} classified as {}",
            output::grouped(&confusion.examples.to_string()),
            format_args!("{} about {}", output::grouped(&confusion.of.to_string()), confusion.topic),
            confusion.taken_for
        ));
    }
}

fn warn(report: &TrainingReport) {
    let say_list = |heading: &str, all: &[String]| {
        if !all.is_empty() {
            output::say(heading);
            output::some_of(all, all.len(), Clone::clone).iter().for_each(|line| output::say(line));
        }
    };
    if report.undecided.iter().any(|node| node == "/") {
        output::say(
            "warning: only one topic has examples, so every page is assigned to it; add examples of other topics",
        );
    }
    let below: Vec<String> = report.undecided.iter().filter(|node| *node != "/").cloned().collect();
    say_list("warning: only one topic below these has examples, so all pages are assigned to it:", &below);
    say_list("warning: topics without examples, to which no page is assigned:", &report.without_examples);
    if report.unplaced > 0 {
        output::say(&format!(
            "{} no topic and are not used: `porthole topics propose` shows topics that fit",
            has(report.unplaced)
        ));
    }
    if report.to_fetch > 0 {
        let them = if report.to_fetch == 1 { "its page" } else { "their pages" };
        output::say(&format!(
            "{} no page yet: fetch {them} with `porthole examples fetch`, then train again",
            has(report.to_fetch)
        ));
    }
    if report.lacking > report.to_fetch {
        output::say(&format!(
            "{} no page with words and are not used: `porthole examples list` shows the reasons",
            has(report.lacking - report.to_fetch)
        ));
    }
    warn_of_misjudged(&report.check);
    if report.background.is_taken {
        output::say(&format!(
            "warning: background examples cannot be stored, because /{BACKGROUND} is good or has subtopics: rename it \
             with `porthole topics rename /{BACKGROUND} NAME`, or set `background = 0` under [train] in porthole.toml"
        ));
    }
    warn_of_collisions(&report.collisions);
    if report.good.is_empty() {
        output::say("no topic is marked good yet: mark one with `porthole topics mark PATH`");
    }
}

/// Says which examples the critic does not recognise, and what was done about it.
pub(crate) fn warn_of_misjudged(check: &ExampleCheck) {
    match check.remedy {
        Remedy::None => {}
        Remedy::NoBackground => output::say(
            "warning: with pages of the crawl as background, the good topics would be lost: they are not used",
        ),
        Remedy::CountedTimes(times) => output::say(&format!(
            "warning: so that the good topics are not lost beside others, their examples count {times} times and \
             pages of the crawl are not a background; more examples make that unnecessary"
        )),
    }
    for lost in &check.lost {
        output::say(&format!(
            "warning: {} of {} of {} are not recognised; add more",
            lost.misjudged,
            count(lost.examples, "example"),
            lost.topic
        ));
    }
    let misjudged = &check.misjudged;
    if !misjudged.is_empty() {
        let judged = match misjudged.len() {
            1 => "is classified as something else",
            _ => "are classified as something else",
        };
        output::say(&format!(
            "{} of {} {judged}:",
            output::grouped(&misjudged.len().to_string()),
            count(check.checked, "example")
        ));
        let line = |example: &MisjudgedExample| match example.is_good {
            true => format!("{} in {}: R {:.2}", example.name, example.topic, example.relevance),
            false => format!("{} in {}: judged as {}", example.name, example.topic, example.judged_as),
        };
        output::some_of(misjudged, misjudged.len(), line).iter().for_each(|line| output::say(line));
    }
}

fn warn_of_collisions(collisions: &[Vec<String>]) {
    if collisions.is_empty() {
        return;
    }
    let some: Vec<String> = collisions.iter().take(5).map(|stems| stems.join("/")).collect();
    let more = if collisions.len() > some.len() { ", …" } else { "" };
    output::say(&format!(
        "{} for several stems (hash collision): {}{more}",
        if collisions.len() == 1 {
            "1 term stands".to_owned()
        } else {
            format!("{} stand", count(collisions.len(), "term"))
        },
        output::plain(&some.join(", "))
    ));
}

fn has(examples: usize) -> String {
    format!("{} {}", count(examples, "example"), if examples == 1 { "has" } else { "have" })
}
