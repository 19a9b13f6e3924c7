//! `porthole topics`: the tree of topics, shown and changed.

use std::collections::BTreeMap;
use std::path::Path;

use porthole_store::{Example, ExampleChange, SqliteStore, Store, StoreReader, TopicChange};
use porthole_topic::Taxonomy;
use porthole_types::{Mark, TopicId};
use serde::Serialize;

use crate::cli::{self, Topics};
use crate::commands::propose;
use crate::output::{self, Paint, count, misuse};
use crate::workspace::{self, Workspace};

pub(crate) fn run(root: &Path, arguments: &Topics) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    match arguments {
        Topics::Tree(arguments) => show(&workspace, arguments),
        Topics::Propose(arguments) => propose::run(&workspace, arguments),
        Topics::Add(arguments) => change(&workspace, |tree| {
            let before = tree.len();
            let topic = tree.add_path(&arguments.path)?;
            let is_new = tree.len() > before;
            Ok(format!("{} {}", if is_new { "added" } else { "there is already" }, tree.path(topic)))
        }),
        Topics::Move { path, parent } => change(&workspace, |tree| {
            let (topic, parent) = (tree.find(path)?, tree.find(parent)?);
            tree.move_to(topic, parent)?;
            Ok(format!("it is {} now", tree.path(topic)))
        }),
        Topics::Rename { path, name } => change(&workspace, |tree| {
            let topic = tree.find(path)?;
            tree.rename(topic, name)?;
            Ok(format!("it is {} now", tree.path(topic)))
        }),
        Topics::Mark(arguments) => change(&workspace, |tree| {
            for path in &arguments.paths {
                let topic = tree.find(path)?;
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

/// Changes the tree, all of it or nothing.
fn change(
    workspace: &Workspace,
    change: impl FnOnce(&mut Taxonomy) -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let mut store = workspace.store()?;
    let mut tree = workspace::tree(&*store.reader())?;
    let done = change(&mut tree)?;
    store.set_topics(&tree.rows())?;
    output::print(&done);
    Ok(())
}

fn good_topics(tree: &Taxonomy) -> String {
    let good: Vec<String> = tree.good().map(|id| tree.path(id)).collect();
    if good.is_empty() { "no topic is good now".to_owned() } else { format!("good: {}", good.join(", ")) }
}

fn remove(workspace: &Workspace, arguments: &cli::Remove) -> anyhow::Result<()> {
    let mut store = workspace.store()?;
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
            "{path} has {}, those of the topics below it included: `--with-examples` removes them, too; \
             `--move-examples TOPIC` gives them to another topic",
            count(examples, "example")
        )));
    }
    let changes = gone.iter().map(what).collect::<anyhow::Result<Vec<_>>>()?;
    write_removal(&mut store, &tree, &gone, &changes)?;
    let below = if gone.len() > 1 { format!(" and {} below it", gone.len() - 1) } else { String::new() };
    let examples = match &arguments.move_examples {
        _ if examples == 0 => String::new(),
        Some(to) => format!("; {} went to {}", count(examples, "example"), tree.path(tree.find(to)?)),
        None => format!("; {} went with it", count(examples, "example")),
    };
    output::print(&format!("removed {path}{below}{examples}"));
    Ok(())
}

fn write_removal(
    store: &mut SqliteStore,
    tree: &Taxonomy,
    gone: &[TopicId],
    changes: &[ExampleChange],
) -> anyhow::Result<()> {
    let rows = tree.rows();
    store.change_topics(&TopicChange { topics: Some(&rows), examples: changes, ..TopicChange::default() })?;
    workspace::note_removed(store, gone)
}

/// A topic as JSON has it.
#[derive(Serialize)]
struct TopicFacts {
    id: u16,
    path: String,
    mark: &'static str,
    /// Its own.
    examples: usize,
    /// Those that there is something to learn from.
    usable: usize,
    /// Its own and those of all topics below it.
    examples_below: usize,
}

fn show(workspace: &Workspace, arguments: &cli::Tree) -> anyhow::Result<()> {
    let reader = workspace.reader()?;
    let tree = workspace::tree(&reader)?;
    let top = tree.find(arguments.path.as_deref().unwrap_or("/"))?;
    let facts = facts(&tree, &reader.examples(None)?);
    if arguments.json {
        let below: Vec<_> = tree.below(top).iter().map(|id| &facts[id]).collect();
        return output::print_json(&below);
    }
    output::print(&drawn(&tree, top, &facts).join("\n"));
    if tree.is_empty() {
        output::say(
            "there are no topics yet: `porthole topics add PATH`, or `porthole examples import FILE`",
        );
    }
    Ok(())
}

fn facts(tree: &Taxonomy, examples: &[Example]) -> BTreeMap<TopicId, TopicFacts> {
    let marks = tree.marks();
    let mut facts: BTreeMap<TopicId, TopicFacts> = tree
        .ids()
        .map(|id| {
            let mark = marks[usize::from(id.0)].name();
            (
                id,
                TopicFacts { id: id.0, path: tree.path(id), mark, examples: 0, usable: 0, examples_below: 0 },
            )
        })
        .collect();
    for example in examples {
        let usable = usize::from(example.state.name() == "ok");
        if let Some(own) = facts.get_mut(&example.topic) {
            own.examples += 1;
            own.usable += usable;
        }
        for topic in std::iter::once(example.topic).chain(tree.ancestors(example.topic)) {
            if let Some(above) = facts.get_mut(&topic) {
                above.examples_below += 1;
            }
        }
    }
    facts
}

/// The tree in lines: the branches and names, the examples, the marks.
fn drawn(tree: &Taxonomy, top: TopicId, facts: &BTreeMap<TopicId, TopicFacts>) -> Vec<String> {
    let mut rows = Vec::new();
    draw(tree, top, String::new(), &mut rows);
    let width =
        rows.iter().map(|(branch, id)| branch.chars().count() + shown_name(tree, top, *id).chars().count());
    let width = width.max().unwrap_or(0);
    let marks = tree.marks();
    let line = |(branch, id): &(String, TopicId)| {
        let (name, facts) = (shown_name(tree, top, *id), &facts[id]);
        let mark = marks[usize::from(id.0)];
        let pad = " ".repeat(width - branch.chars().count() - name.chars().count());
        let line = format!(
            "{}{}{pad}  {}{}",
            Paint::Faint.on(branch),
            painted(&name, mark),
            examples(facts),
            marked(mark)
        );
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn draw(tree: &Taxonomy, id: TopicId, branch: String, rows: &mut Vec<(String, TopicId)>) {
    let inner = branch.replace("├── ", "│   ").replace("└── ", "    ");
    rows.push((branch, id));
    let children = tree.children(id);
    for (number, &child) in children.iter().enumerate() {
        let is_last = number + 1 == children.len();
        draw(tree, child, format!("{inner}{}", if is_last { "└── " } else { "├── " }), rows);
    }
}

fn shown_name(tree: &Taxonomy, top: TopicId, id: TopicId) -> String {
    if id == top { tree.path(id) } else { tree.name(id).to_owned() }
}

fn painted(name: &str, mark: Mark) -> String {
    match mark {
        Mark::Good => Paint::Good.on(name),
        Mark::Path => Paint::Strong.on(name),
        Mark::Subsumed | Mark::Null => name.to_owned(),
    }
}

fn marked(mark: Mark) -> String {
    match mark {
        Mark::Null => String::new(),
        Mark::Good => format!("  {}", Paint::Good.on("● good")),
        Mark::Path | Mark::Subsumed => format!("  {}", Paint::Faint.on(mark.name())),
    }
}

fn examples(facts: &TopicFacts) -> String {
    let number = match facts.examples_below {
        0 => "·".to_owned(),
        all => output::grouped(&all.to_string()),
    };
    format!("{number:>7}")
}
