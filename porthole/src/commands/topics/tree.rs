//! `porthole topics tree`: shows the topics with marks and numbers of examples.

use std::collections::BTreeMap;

use porthole_store::{ExampleState, StoreReader};
use porthole_topic::Taxonomy;
use porthole_types::{Mark, TopicId};
use serde::Serialize;

use crate::cli;
use crate::output::{self, Paint};
use crate::training;
use crate::workspace::{self, Workspace};

pub(super) fn run(workspace: &Workspace, arguments: &cli::Tree) -> anyhow::Result<()> {
    let reader = workspace.reader()?;
    let tree = workspace::tree(&reader)?;
    let top = tree.find(arguments.path.as_deref().unwrap_or("/"))?;
    let facts = facts(&tree, &reader)?;
    if arguments.json {
        let below: Vec<_> = tree.below(top).iter().map(|id| &facts[id]).collect();
        return output::print_json(&below);
    }
    TreeDrawing { tree: &tree, top, facts: &facts }.print();
    if tree.is_empty() {
        output::say("no topics yet: run `porthole topics add PATH` or `porthole examples import FILE`");
    }
    Ok(())
}

/// A topic with its numbers.
#[derive(Serialize)]
struct TreeTopic {
    id: u16,
    path: String,
    mark: &'static str,
    /// Examples of the topic itself.
    examples: usize,
    /// Examples of the topic itself that have words.
    usable: usize,
    /// Examples of the topic and of all topics below it.
    examples_below: usize,
    /// Pages that the critic was trained on, including subtopics and the pages of the taxonomy.
    learnt_from: u32,
}

fn facts(tree: &Taxonomy, reader: &dyn StoreReader) -> anyhow::Result<BTreeMap<TopicId, TreeTopic>> {
    let marks = tree.marks();
    let none = |id: TopicId| TreeTopic {
        id: id.0,
        path: tree.path(id),
        mark: marks[usize::from(id.0)].name(),
        examples: 0,
        usable: 0,
        examples_below: 0,
        learnt_from: 0,
    };
    let mut facts: BTreeMap<TopicId, TreeTopic> = tree.ids().map(|id| (id, none(id))).collect();
    let mut add = |topic: TopicId, add: &dyn Fn(&mut TreeTopic, bool)| {
        for id in std::iter::once(topic).chain(tree.ancestors(topic)) {
            if let Some(facts) = facts.get_mut(&id) {
                add(facts, id == topic);
            }
        }
    };
    for example in reader.examples(None)? {
        add(example.topic, &|facts, is_own| {
            facts.examples += usize::from(is_own);
            facts.usable += usize::from(is_own && example.state == ExampleState::Ok);
            facts.examples_below += 1;
        });
    }
    for (topic, documents) in training::learnt_from(reader)?.into_iter().filter(|(id, _)| tree.contains(*id))
    {
        add(topic, &|facts, _| facts.learnt_from += documents);
    }
    Ok(facts)
}

/// Prints the tree as text: branches, names, numbers and marks.
struct TreeDrawing<'a> {
    tree: &'a Taxonomy,
    top: TopicId,
    facts: &'a BTreeMap<TopicId, TreeTopic>,
}

/// A line of the drawing: the branches before the name, and the topic.
type Line = (String, TopicId);

impl TreeDrawing<'_> {
    fn print(&self) {
        let mut lines = Vec::new();
        self.branch(self.top, String::new(), &mut lines);
        let length = |(branch, id): &Line| branch.chars().count() + self.name(*id).chars().count();
        let width = lines.iter().map(length).max().unwrap_or(0);
        let has_critic = self.facts[&TopicId::ROOT].learnt_from > 0;
        let head = if has_critic { "examples   trained on" } else { "examples" };
        output::print(&Paint::Faint.on(&format!("{:width$}  {head}", "")));
        for line in &lines {
            let pad = " ".repeat(width - length(line));
            output::print(self.line(line, &pad, has_critic).trim_end());
        }
    }

    fn branch(&self, id: TopicId, branch: String, lines: &mut Vec<Line>) {
        let inner = branch.replace("├── ", "│   ").replace("└── ", "    ");
        lines.push((branch, id));
        let children = self.tree.children(id);
        for (number, &child) in children.iter().enumerate() {
            let is_last = number + 1 == children.len();
            self.branch(child, format!("{inner}{}", if is_last { "└── " } else { "├── " }), lines);
        }
    }

    fn line(&self, (branch, id): &Line, pad: &str, has_critic: bool) -> String {
        let (name, facts) = (self.name(*id), &self.facts[id]);
        let learnt =
            if has_critic { format!("  {:>11}", number(facts.learnt_from as usize)) } else { String::new() };
        let (name, mark) = match Mark::of_name(facts.mark).unwrap_or_default() {
            Mark::Good => (Paint::Good.on(&name), Paint::Good.on("● good")),
            Mark::Path => (Paint::Strong.on(&name), Paint::Faint.on("path")),
            Mark::Subsumed => (name, Paint::Faint.on("subsumed")),
            Mark::Null => (name, String::new()),
        };
        let examples = number(facts.examples_below);
        format!("{}{name}{pad}  {examples:>8}{learnt}  {mark}", Paint::Faint.on(branch))
    }

    fn name(&self, id: TopicId) -> String {
        if id == self.top { self.tree.path(id) } else { self.tree.name(id).to_owned() }
    }
}

fn number(number: usize) -> String {
    if number == 0 { "·".to_owned() } else { output::grouped(&number.to_string()) }
}
