//! `porthole examples`: the example pages of the topics.

pub(crate) mod add;
mod from;
mod search;

use std::path::Path;

use anyhow::bail;
use porthole_store::{ExampleChange, ExampleState, StoreReader, StoredExample, WorkspaceWriter};
use porthole_topic::Taxonomy;
use porthole_types::{CanonicalUrl, TopicId};
use serde::Serialize;

pub(crate) use self::from::outlinks;
use crate::cli::{self, Examples};
use crate::commands::{explore, import};
use crate::output::{self, Paint, count, misuse};
use crate::workspace::{self, Workspace};

pub(crate) async fn run(root: &Path, arguments: &Examples) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    match arguments {
        Examples::Add(arguments) => add::run(&workspace, arguments).await,
        Examples::From(arguments) => from::run(&workspace, arguments).await,
        Examples::Explore(arguments) => explore::run(&workspace, arguments).await,
        Examples::Search(arguments) => search::run(&workspace, arguments).await,
        Examples::Fetch(arguments) => add::fetch(&workspace, arguments).await,
        Examples::Import(arguments) => import::run(&workspace, arguments).await,
        Examples::List(arguments) => list(&workspace, arguments),
        Examples::Remove(arguments) => remove(&workspace, arguments),
        Examples::Move(arguments) => move_to(&workspace, arguments),
    }
}

/// An example, for JSON.
#[derive(Serialize)]
struct ListedExample<'a> {
    id: u64,
    topic: String,
    name: &'a str,
    title: &'a str,
    source: &'a str,
    language: &'a str,
    state: &'static str,
    detail: &'a str,
}

fn list(workspace: &Workspace, arguments: &cli::ListExamples) -> anyhow::Result<()> {
    let reader = workspace.reader()?;
    let tree = workspace::tree(&reader)?;
    let top = tree.find(arguments.topic.as_deref().unwrap_or("/"))?;
    let all = reader.examples(None)?;
    let mut listed: Vec<(usize, &StoredExample)> = Vec::new();
    let places: std::collections::HashMap<TopicId, usize> =
        tree.below(top).into_iter().enumerate().map(|(place, topic)| (topic, place)).collect();
    listed.extend(all.iter().filter_map(|example| Some((*places.get(&example.topic)?, example))));
    listed.sort_by_key(|(place, example)| (*place, example.id));
    if arguments.json {
        let facts: Vec<_> = listed.iter().map(|(_, example)| facts(&tree, example)).collect();
        return output::print_json(&facts);
    }
    print_list(&tree, &listed);
    Ok(())
}

fn facts<'a>(tree: &Taxonomy, example: &'a StoredExample) -> ListedExample<'a> {
    ListedExample {
        id: example.id.0,
        topic: tree.path(example.topic),
        name: &example.url,
        title: &example.title,
        source: &example.source,
        language: &example.language,
        state: example.state.name(),
        detail: example.state.detail(),
    }
}

fn print_list(tree: &Taxonomy, listed: &[(usize, &StoredExample)]) {
    if listed.is_empty() {
        return output::say("no examples; add some with `porthole examples add TOPIC FILE|URL…`");
    }
    let mut lines = Vec::new();
    for of_topic in listed.chunk_by(|a, b| a.0 == b.0) {
        let topic = of_topic[0].1.topic;
        let name = if topic == TopicId::ROOT { "without a topic".to_owned() } else { tree.path(topic) };
        let number = output::grouped(&of_topic.len().to_string());
        lines.push(Paint::Strong.on(&format!("{name} ({number})")));
        lines.extend(of_topic.iter().map(|(_, example)| line(example)));
    }
    output::print(&lines.join("\n"));
}

fn line(example: &StoredExample) -> String {
    let title = match example.title.as_str() {
        "" => String::new(),
        title => format!("  {}", Paint::Faint.on(&output::plain(title))),
    };
    let state = match &example.state {
        ExampleState::Ok => String::new(),
        state => format!("  [{}: {}]", state.name(), output::plain(state.detail())),
    };
    format!("{:>6}  {}{title}{state}", example.id.0, output::plain(&example.url))
}

fn remove(workspace: &Workspace, arguments: &cli::RemoveExamples) -> anyhow::Result<()> {
    let mut store = workspace.writer()?;
    let tree = workspace::tree(&*store.reader())?;
    let topic = tree.find(&arguments.topic)?;
    let examples = store.reader().examples(Some(topic))?;
    let found = find(&examples, &arguments.names, &format!("of {}", tree.path(topic)))?;
    let changes: Vec<_> = found.iter().map(|example| ExampleChange::Remove(example.id)).collect();
    store.change_examples(&changes)?;
    output::print(&format!("removed {} from {}", count(changes.len(), "example"), tree.path(topic)));
    Ok(())
}

fn move_to(workspace: &Workspace, arguments: &cli::MoveExamples) -> anyhow::Result<()> {
    let Some((topic, names)) = arguments.names_and_topic.split_last() else {
        bail!("name the examples and the topic to move them to")
    };
    let mut store = workspace.writer()?;
    let tree = workspace::tree(&*store.reader())?;
    let to = tree.find(topic)?;
    let examples = store.reader().examples(None)?;
    let found = find(&examples, names, "")?;
    refuse_ambiguous(&tree, &found)?;
    let changes: Vec<_> = found.iter().map(|example| ExampleChange::Move(example.id, to)).collect();
    store.change_examples(&changes)?;
    output::print(&format!("moved {} to {}", count(changes.len(), "example"), tree.path(to)));
    Ok(())
}

/// Finds examples by name, number or URL; all of them must exist.
fn find<'a>(
    examples: &'a [StoredExample],
    names: &[String],
    of: &str,
) -> anyhow::Result<Vec<&'a StoredExample>> {
    let mut all: Vec<&StoredExample> = Vec::new();
    for name in names {
        let url = CanonicalUrl::parse(name).ok();
        let is_match = |example: &&StoredExample| {
            example.url == *name
                || url.as_ref().is_some_and(|url| url.as_str() == example.url)
                || name.parse() == Ok(example.id.0)
        };
        let found: Vec<&StoredExample> = examples.iter().filter(is_match).collect();
        if found.is_empty() {
            let of = if of.is_empty() { String::new() } else { format!(" {of}") };
            return Err(misuse(format!(
                "{} is not an example{of}; `porthole examples list` shows names and numbers",
                output::plain(name)
            )));
        }
        all.extend(
            found
                .into_iter()
                .filter(|found| !all.iter().any(|known| known.id == found.id))
                .collect::<Vec<_>>(),
        );
    }
    Ok(all)
}

/// A page can be an example of several topics; then its number is needed.
fn refuse_ambiguous(tree: &Taxonomy, found: &[&StoredExample]) -> anyhow::Result<()> {
    for (at, example) in found.iter().enumerate() {
        if let Some(other) = found[..at].iter().find(|other| other.url == example.url) {
            return Err(misuse(format!(
                "{} is an example of {} and of {}; use its number: {} or {}",
                output::plain(&example.url),
                tree.path(other.topic),
                tree.path(example.topic),
                other.id,
                example.id
            )));
        }
    }
    Ok(())
}
