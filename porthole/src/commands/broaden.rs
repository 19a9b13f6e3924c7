//! `porthole topics broaden`: topics that occur together with the good ones in the crawl, and may be good, too (W 2.2).

use porthole_store::{QueryLimits, SqlValue, StoreReader};
use porthole_topic::{Broadening, Census, Taxonomy, TopicPages, broaden};
use porthole_types::TopicId;
use serde::Serialize;

use crate::cli;
use crate::output::{self, Paint, count, misuse};
use crate::workspace::{self, Workspace};

pub(crate) fn run(workspace: &Workspace, arguments: &cli::Broaden) -> anyhow::Result<()> {
    let reader = workspace.reader()?;
    let tree = workspace::tree(&reader)?;
    if tree.good().next().is_none() {
        return Err(misuse("no topic is marked good: mark one with `porthole topics mark PATH`"));
    }
    let proposed = proposals(&reader, &tree)?;
    if arguments.json {
        let facts: Vec<BroadenProposal> =
            proposed.iter().map(|proposal| BroadenProposal::of(proposal, &tree)).collect();
        return output::print_json(&facts);
    }
    if proposed.is_empty() {
        output::print("no other topic occurs often together with the good ones; there is nothing to add");
    }
    for proposal in &proposed {
        output::print(&format!("{}  {}", Paint::Strong.on(&tree.path(proposal.topic)), why(proposal, &tree)));
        output::print(&format!("    {}", Paint::Faint.on(&command(proposal, &tree))));
        let only = format!("porthole topics toward {}", output::quoted(&tree.path(proposal.topic)));
        output::print(&format!(
            "    {}",
            Paint::Faint.on(&format!("or, to follow its links without marking it good: {only}"))
        ));
    }
    Ok(())
}

/// The topics that occur together with the good ones in the pages of the crawl.
pub(crate) fn proposals(reader: &dyn StoreReader, tree: &Taxonomy) -> anyhow::Result<Vec<Broadening>> {
    Ok(broaden(tree, &census(reader)?))
}

/// The pages of the crawl by their best topic.
pub(crate) fn census(reader: &dyn StoreReader) -> anyhow::Result<Census> {
    let most = porthole_topic::MOST_TOPICS.to_string();
    let answer = reader.query("census", &[("rows", &most)], &QueryLimits::default())?;
    let mut census = Census::new();
    for row in &answer.rows {
        if let [SqlValue::Integer(kcid), _, SqlValue::Integer(pages), SqlValue::Real(mean)] = row[..] {
            let (topic, pages) = (u16::try_from(kcid).unwrap_or_default(), u64::try_from(pages).unwrap_or(0));
            census.insert(TopicId(topic), TopicPages { pages, relevance: mean * pages as f64 });
        }
    }
    Ok(census)
}

/// The evidence for a proposal, as text.
pub(crate) fn why(proposal: &Broadening, tree: &Taxonomy) -> String {
    let good: Vec<String> = proposal.good.iter().map(|&good| tree.path(good)).collect();
    let pages = |found: TopicPages| count(usize::try_from(found.pages).unwrap_or(usize::MAX), "page");
    let about = if proposal.is_above { "about other topics below it" } else { "about it" };
    format!(
        "{} {about} (mean relevance {:.2}), {} about {}",
        pages(proposal.found),
        mean(proposal.found),
        pages(proposal.own),
        good.join(", ")
    )
}

/// The command that applies the proposal.
pub(crate) fn command(proposal: &Broadening, tree: &Taxonomy) -> String {
    let quoted = |topic: TopicId| output::quoted(&tree.path(topic));
    let mark = format!("porthole topics mark {}", quoted(proposal.topic));
    if !proposal.is_above {
        return mark;
    }
    let below = tree.below(proposal.topic).into_iter().filter(|&topic| tree.is_good(topic));
    let below: Vec<String> = below.map(quoted).collect();
    format!("porthole topics unmark {} && {mark}", below.join(" "))
}

/// Mean relevance of pages.
pub(crate) fn mean(found: TopicPages) -> f64 {
    found.relevance / found.pages.max(1) as f64
}

#[derive(Serialize)]
struct BroadenProposal {
    topic: String,
    /// The good topics that it occurs together with.
    good: Vec<String>,
    /// Whether it is above them.
    is_above: bool,
    /// Pages about it and no good topic.
    pages: u64,
    /// Mean relevance of these pages.
    relevance: f64,
    /// Pages about those good topics.
    good_pages: u64,
    command: String,
}

impl BroadenProposal {
    fn of(proposal: &Broadening, tree: &Taxonomy) -> BroadenProposal {
        BroadenProposal {
            topic: tree.path(proposal.topic),
            good: proposal.good.iter().map(|&good| tree.path(good)).collect(),
            is_above: proposal.is_above,
            pages: proposal.found.pages,
            relevance: mean(proposal.found),
            good_pages: proposal.own.pages,
            command: command(proposal, tree),
        }
    }
}
