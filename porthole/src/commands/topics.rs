//! `porthole topics`: shows and edits the topic tree.

mod tree;

use std::path::Path;

use porthole_crawl::Command;
use porthole_store::{ExampleChange, SqliteWorkspaceWriter, StoreReader, TopicChange, WorkspaceWriter};
use porthole_topic::{ClassifierShape, Taxonomy, background};
use porthole_types::TopicId;

use crate::cli::{self, Topics};
use crate::commands::{broaden, grow, propose, toward};
use crate::output::{self, count, misuse};
use crate::workspace::{self, Workspace};

pub(crate) fn run(root: &Path, arguments: &Topics) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    match arguments {
        Topics::Tree(arguments) => tree::run(&workspace, arguments),
        Topics::Propose(arguments) => propose::run(&workspace, arguments),
        Topics::Broaden(arguments) => broaden::run(&workspace, arguments),
        Topics::Toward(arguments) => toward::run(&workspace, arguments),
        Topics::Grow(arguments) => grow::run(&workspace, arguments),
        Topics::Add(arguments) => change(&workspace, |tree| {
            let before = tree.len();
            let topic = tree.add_path(&arguments.path)?;
            let is_new = tree.len() > before;
            Ok(format!("{} {}", if is_new { "added" } else { "already exists:" }, tree.path(topic)))
        }),
        Topics::Move { path, parent } => change(&workspace, |tree| {
            let (topic, parent) = (tree.find(path)?, tree.find(parent)?);
            tree.move_to(topic, parent)?;
            Ok(format!("moved to {}", tree.path(topic)))
        }),
        Topics::Rename { path, name } => change(&workspace, |tree| {
            let topic = tree.find(path)?;
            tree.rename(topic, name)?;
            Ok(format!("renamed to {}", tree.path(topic)))
        }),
        Topics::Mark(arguments) => change(&workspace, |tree| {
            for path in &arguments.paths {
                let topic = tree.find(path)?;
                refuse_background(tree, topic)?;
                tree.mark(topic)?;
            }
            Ok(good_topics(tree))
        }),
        Topics::Unmark(arguments) => change(&workspace, |tree| {
            for path in &arguments.paths {
                let topic = tree.find(path)?;
                tree.unmark(topic)?;
            }
            Ok(good_topics(tree))
        }),
        Topics::Remove(arguments) => remove(&workspace, arguments),
    }
}

/// Applies a change to the tree and stores it; an error leaves the stored tree as it was.
fn change(
    workspace: &Workspace,
    change: impl FnOnce(&mut Taxonomy) -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let mut store = workspace.writer()?;
    let mut tree = workspace::tree(&*store.reader())?;
    let done = change(&mut tree)?;
    let good_before: Vec<TopicId> = workspace::tree(&*store.reader())?.good().collect();
    store.set_topics(&tree.rows())?;
    output::print(&done);
    if !tree.good().eq(good_before) {
        warn_if_outdated(&store);
        tell_crawl(workspace, &tree)?;
    }
    Ok(())
}

/// Tells a running crawl of the new marks. Without a good topic it has nothing to look for, and keeps its goal.
fn tell_crawl(workspace: &Workspace, tree: &Taxonomy) -> anyhow::Result<()> {
    if tree.good().next().is_some() {
        workspace.tell_crawl(&Command::Refocus)?;
    } else if workspace.reader()?.is_crawled()? {
        output::say(
            "the running crawl goes on for the topics that were good: mark another with `porthole topics mark PATH`, \
             or end it with `porthole stop`",
        );
    }
    Ok(())
}

/// Warns if the critic has two classes: it was trained for the topics that were good then. Other critics follow the
/// marks without training.
fn warn_if_outdated(store: &SqliteWorkspaceWriter) {
    if let Ok((critic, _)) = workspace::critic(&*store.reader())
        && critic.model().shape() == ClassifierShape::TwoClass
    {
        output::say("the two-class critic was trained for other good topics: run `porthole train`");
    }
}

/// Refuses to mark the background topic, which holds the pages about no topic.
fn refuse_background(tree: &Taxonomy, topic: TopicId) -> anyhow::Result<()> {
    if background(tree) != Some(topic) {
        return Ok(());
    }
    Err(misuse(format!(
        "{0} is the background topic, for pages about no topic, and cannot be good; to use it as a normal topic, run \
        `porthole topics rename {0} NAME`",
        tree.path(topic)
    )))
}

fn good_topics(tree: &Taxonomy) -> String {
    let good: Vec<String> = tree.good().map(|id| tree.path(id)).collect();
    if good.is_empty() {
        "no topic is marked good".to_owned()
    } else {
        format!("good topics: {}", good.join(", "))
    }
}

fn remove(workspace: &Workspace, arguments: &cli::Remove) -> anyhow::Result<()> {
    let mut store = workspace.writer()?;
    let mut tree = workspace::tree(&*store.reader())?;
    let topic = tree.find(&arguments.path)?;
    let path = tree.path(topic);
    let gone = tree.remove(topic)?;
    let examples = store.reader().examples(None)?.into_iter();
    let examples = examples.filter(|example| gone.contains(&example.topic)).count();
    let what = |gone: &TopicId| match &arguments.move_examples {
        Some(to) => Ok(ExampleChange::MoveAll(*gone, tree.find(to)?)),
        None => Ok(ExampleChange::RemoveAll(*gone)),
    };
    if examples > 0 && arguments.move_examples.is_none() && !arguments.with_examples {
        return Err(misuse(format!(
            "{path} and the topics below it have {}: remove them with `--with-examples`, or move them with \
            `--move-examples TOPIC`",
            count(examples, "example")
        )));
    }
    let changes = gone.iter().map(what).collect::<anyhow::Result<Vec<_>>>()?;
    write_removal(&mut store, &tree, &gone, &changes)?;
    let below = if gone.len() > 1 { format!(" and {} below it", gone.len() - 1) } else { String::new() };
    let examples = match &arguments.move_examples {
        _ if examples == 0 => String::new(),
        Some(to) => format!("; {} moved to {}", count(examples, "example"), tree.path(tree.find(to)?)),
        None => format!("; {} removed", count(examples, "example")),
    };
    output::print(&format!("removed {path}{below}{examples}"));
    Ok(())
}

fn write_removal(
    store: &mut SqliteWorkspaceWriter,
    tree: &Taxonomy,
    gone: &[TopicId],
    changes: &[ExampleChange],
) -> anyhow::Result<()> {
    let rows = tree.rows();
    store.change_topics(&TopicChange { topics: Some(&rows), examples: changes, ..TopicChange::default() })?;
    workspace::note_removed(store, gone)
}
