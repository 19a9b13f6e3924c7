//! `porthole topics toward`: topics that the crawl steers toward besides the good ones. Pages about them are worth
//! following links from, and are not what is looked for: what is shown and counted is the R of the good topics (W 2.2).

use porthole_crawl::Command;
use porthole_store::{StoreReader, WorkspaceWriter};
use porthole_topic::Taxonomy;
use porthole_types::TopicId;

use crate::cli;
use crate::output::{self, misuse};
use crate::workspace::{self, Workspace};

/// The setting that has the topics, by id: they stay what they are under another name.
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
        output::print("the crawl steers toward the good topics alone");
    } else {
        output::print(&format!("the crawl steers toward {}, besides the good topics", paths.join(", ")));
    }
    Ok(())
}

/// The tree with the topics that the crawl steers toward marked as good, and their paths; none if those are the good ones.
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
    // One that was removed since is none any more.
    Ok(ids.filter(|&topic| tree.ids().any(|known| known == topic)).collect())
}

fn checked(tree: &Taxonomy, path: &str) -> anyhow::Result<TopicId> {
    let topic = tree.find(path)?;
    if topic == TopicId::ROOT {
        return Err(misuse("toward everything is toward nothing: `--strategy unfocused` is for that"));
    }
    Ok(topic)
}
