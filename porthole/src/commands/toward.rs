//! `porthole topics toward`: topics that the crawl follows besides the good ones. Links on pages about them are
//! followed; the relevance that is shown and counted remains that of the good topics (W 2.2).

use porthole_crawl::Command;
use porthole_store::{StoreReader, WorkspaceWriter};
use porthole_topic::Taxonomy;
use porthole_types::TopicId;

use crate::cli;
use crate::output::{self, misuse};
use crate::workspace::{self, Workspace};

/// Setting: the ids of the topics, so that a renamed topic stays in the list.
const TOWARD: &str = "crawl.toward";

pub(crate) fn run(workspace: &Workspace, arguments: &cli::Toward) -> anyhow::Result<()> {
    let mut writer = workspace.writer()?;
    let tree = workspace::tree(&*writer.reader())?;
    if arguments.none || !arguments.paths.is_empty() {
        let topics =
            arguments.paths.iter().map(|path| checked(&tree, path)).collect::<anyhow::Result<Vec<_>>>()?;
        let ids: Vec<String> = topics.iter().map(|topic| topic.0.to_string()).collect();
        writer.set_setting(TOWARD, &ids.join(" "))?;
        workspace.tell_crawl(&Command::Refocus)?;
    }
    let paths: Vec<String> =
        topics(&*writer.reader(), &tree)?.iter().map(|&topic| tree.path(topic)).collect();
    if paths.is_empty() {
        output::print("the crawl follows the good topics only");
    } else {
        output::print(&format!("the crawl follows the good topics and {}", paths.join(", ")));
    }
    Ok(())
}

/// Adds a topic to those that are followed.
pub(crate) fn add(writer: &mut dyn WorkspaceWriter, tree: &Taxonomy, topic: TopicId) -> anyhow::Result<()> {
    let mut all = topics(&*writer.reader(), tree)?;
    all.push(topic);
    let ids: Vec<String> = all.iter().map(|topic| topic.0.to_string()).collect();
    Ok(writer.set_setting(TOWARD, &ids.join(" "))?)
}

/// The tree in which the topics of `toward` are marked good, too; `None` if that is the tree itself.
pub(crate) fn wider(reader: &dyn StoreReader, tree: &Taxonomy) -> anyhow::Result<Option<Taxonomy>> {
    let mut wide = tree.clone();
    for topic in topics(reader, tree)? {
        let is_covered = std::iter::once(topic).chain(tree.ancestors(topic)).any(|above| wide.is_good(above));
        if is_covered {
            continue;
        }
        let below: Vec<TopicId> =
            wide.below(topic).into_iter().filter(|&below| wide.is_good(below)).collect();
        for below in below {
            wide.unmark(below)?;
        }
        wide.mark(topic)?;
    }
    Ok((!wide.good().eq(tree.good())).then_some(wide))
}

fn topics(reader: &dyn StoreReader, tree: &Taxonomy) -> anyhow::Result<Vec<TopicId>> {
    let ids = reader.setting(TOWARD)?.unwrap_or_default();
    let ids = ids.split_whitespace().filter_map(|id| id.parse().ok()).map(TopicId);
    // Skip topics that were removed since.
    Ok(ids.filter(|&topic| tree.ids().any(|known| known == topic)).collect())
}

fn checked(tree: &Taxonomy, path: &str) -> anyhow::Result<TopicId> {
    let topic = tree.find(path)?;
    if topic == TopicId::ROOT {
        return Err(misuse(
            "choose a topic below the root; to follow all links, crawl with `--strategy unfocused`",
        ));
    }
    Ok(topic)
}
