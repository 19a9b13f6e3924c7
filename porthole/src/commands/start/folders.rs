//! Folders of bookmarks in `porthole start`: which are wanted, their pages as examples, and where their topics belong
//! in the tree.

use porthole_store::{ExampleChange, ExampleState, StoreReader, TopicChange, WorkspaceWriter};
use porthole_topic::{Critic, SameTopic, Taxonomy, TermFrequencies, same_topic};
use porthole_types::{TermId, TopicId};
use serde::Serialize;

use super::request::{BookmarkFolder, MOST, NamedPage, StartRequest};
use super::{Fetching, FirstCrawl, RELATED};
use crate::asking;
use crate::cli;
use crate::output::{self, count, misuse, plain, quoted};
use crate::workspace;

/// Chooses the folders to crawl for: by `--folder`, all with `--yes`, or by asking.
pub(super) async fn wanted(folders: &[BookmarkFolder], arguments: &cli::Start) -> anyhow::Result<Vec<usize>> {
    if folders.is_empty() {
        return Ok(Vec::new());
    }
    if !arguments.folder.is_empty() {
        return named(folders, &arguments.folder);
    }
    if arguments.yes || folders.len() == 1 {
        return Ok((0..folders.len()).collect());
    }
    let lines: Vec<String> = folders
        .iter()
        .enumerate()
        .map(|(number, folder)| {
            format!("{:>4}. {} ({})", number + 1, plain(&folder.path), count(folder.pages.len(), "page"))
        })
        .collect();
    let list = lines.join("\n");
    if !asking::is_possible() {
        return Err(misuse(format!(
            "choose the folders to crawl for and run the same command again: `--folder NAME…` for some, `--yes` for \
             all\n{list}"
        )));
    }
    output::say(&format!("folders of the bookmarks:\n{list}"));
    loop {
        let question = "which ones to crawl for? numbers or names, separated by commas [Enter: all]";
        let answer = asking::ask(question).await.unwrap_or_default();
        if answer.is_empty() {
            return Ok((0..folders.len()).collect());
        }
        let names: Vec<String> = answer.split(',').map(|name| name.trim().to_owned()).collect();
        match named(folders, &names) {
            Ok(chosen) => return Ok(chosen),
            Err(error) => output::say(&output::in_words(&error)),
        }
    }
}

/// The folders of the bookmarks, for programs that let people choose.
#[derive(Serialize)]
struct FolderList<'a> {
    folders: Vec<ListedFolder<'a>>,
    /// Pages in no folder, of bookmarks without folders.
    unfiled: usize,
    /// Entries that cannot be pages of the web, or are in no folder although there are some.
    left_out: usize,
}

#[derive(Serialize)]
struct ListedFolder<'a> {
    path: &'a str,
    pages: usize,
}

/// Prints the folders as JSON.
pub(super) fn list(request: &StartRequest) -> anyhow::Result<()> {
    let folders = request.folders.iter();
    output::print_json(&FolderList {
        folders: folders
            .map(|folder| ListedFolder { path: &folder.path, pages: folder.pages.len() })
            .collect(),
        unfiled: request.pages.len(),
        left_out: request.left_out,
    })
}

/// Folders by number, path or name, each with the folders in it.
fn named(folders: &[BookmarkFolder], names: &[String]) -> anyhow::Result<Vec<usize>> {
    let mut chosen = Vec::new();
    for name in names {
        let lower = name.to_lowercase();
        let lower = lower.trim_matches('/');
        let is_meant = |(number, folder): &(usize, &BookmarkFolder)| {
            let path = folder.path.to_lowercase();
            let path = path.trim_matches('/');
            let has_name = path == lower || path.starts_with(&format!("{lower}/"));
            has_name
                || format!("/{path}/").contains(&format!("/{lower}/"))
                || (number + 1).to_string() == *name
        };
        let found: Vec<usize> =
            folders.iter().enumerate().filter(is_meant).map(|(number, _)| number).collect();
        if found.is_empty() {
            let all: Vec<&str> = folders.iter().map(|folder| folder.path.as_str()).collect();
            return Err(misuse(format!(
                "no folder {} in the bookmarks; there are {}",
                plain(name),
                plain(&all.join(", "))
            )));
        }
        chosen.extend(found);
    }
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

/// Folders by whether they are wanted, with at most `MOST` pages in all: those of wanted folders first, then evenly
/// spaced ones of the others.
pub(super) fn limited(request: &mut StartRequest, wanted: &[usize]) {
    let mut room = MOST;
    let sizes = |request: &StartRequest, is_wanted: bool| -> usize {
        let folders = request.folders.iter().enumerate();
        let of_kind = folders.filter(|(number, _)| wanted.contains(number) == is_wanted);
        of_kind.map(|(_, folder)| folder.pages.len()).sum()
    };
    for is_wanted in [true, false] {
        let all = sizes(request, is_wanted);
        let most = all.min(room);
        room -= most;
        if most == all {
            continue;
        }
        let which = if is_wanted { "the chosen folders" } else { "the other folders" };
        output::say(&format!(
            "using {most} of {} in {which}, evenly spaced; `porthole examples import` takes all",
            count(all, "bookmark")
        ));
        let mut number = 0;
        let folders = request.folders.iter_mut().enumerate();
        for (_, folder) in folders.filter(|(place, _)| wanted.contains(place) == is_wanted) {
            folder.pages.retain(|_| {
                number += 1;
                number * most / all > (number - 1) * most / all
            });
        }
    }
}

impl FirstCrawl<'_> {
    /// Fetches the pages of all folders, as examples of the folders' topics.
    pub(super) async fn fetch_folders(&self, request: &StartRequest) -> anyhow::Result<Fetching> {
        let mut result = Fetching::Nothing;
        for folder in &request.folders {
            let pages: Vec<&NamedPage> = folder.pages.iter().collect();
            match self.fetch_pages(&folder.path, &pages).await? {
                Fetching::Interrupted => return Ok(Fetching::Interrupted),
                Fetching::Some => result = Fetching::Some,
                Fetching::Nothing => {}
            }
        }
        Ok(result)
    }

    /// Merges the folders' topics with those of the tree that mean the same, places the others, and marks the wanted
    /// ones good.
    pub(super) async fn place_folders(&self, request: &StartRequest, wanted: &[usize]) -> anyhow::Result<()> {
        let (mut critic, known) = workspace::critic(&self.workspace.reader()?)?;
        let mut is_any_marked = false;
        for (number, folder) in request.folders.iter().enumerate() {
            let is_wanted = wanted.contains(&number);
            let placed = self.placed(folder, is_wanted, &mut critic, &known).await?;
            let Some((topic, with)) = placed else { continue };
            if is_wanted {
                self.mark_folder(folder, topic, &with)?;
                is_any_marked = true;
            }
        }
        if !is_any_marked && self.tree()?.good().next().is_none() {
            return Err(misuse("no page of the chosen folders could be fetched and read; choose others"));
        }
        Ok(())
    }

    /// The topic of a folder, after it was merged or moved; `None` if no page of it could be read.
    async fn placed(
        &self,
        folder: &BookmarkFolder,
        is_wanted: bool,
        critic: &mut Critic,
        known: &Taxonomy,
    ) -> anyhow::Result<Option<(TopicId, String)>> {
        let mut store = self.workspace.writer()?;
        let mut tree = workspace::tree(&*store.reader())?;
        let Ok(own) = tree.find(&folder.path) else { return Ok(None) };
        let pages = pages_of(&*store.reader(), own)?;
        if pages.is_empty() {
            if is_wanted {
                output::say(&format!("warning: no page of {} could be read: it is left out", folder.path));
            }
            return Ok(None);
        }
        // Topics of the tree that comes with the program, or that were there before; a topic that the critic knows was
        // placed by an earlier start.
        if critic.model().knows(own) {
            return Ok(Some((own, String::new())));
        }
        let counts: Vec<&TermFrequencies> = pages.iter().map(Vec::as_slice).collect();
        let mut built_in = known.clone();
        if built_in.contains(own) {
            built_in.remove(own)?;
        }
        let same = same_topic(Some(critic), &built_in, tree.name(own), &counts);
        if let Some(same) = same
            && self.is_merged(folder, &same, counts.len(), &tree, is_wanted).await
        {
            let examples = ExampleChange::MoveAll(own, same.topic);
            let path = tree.path(own);
            remove_empty(&mut tree, &*store.reader(), own)?;
            let rows = tree.rows();
            let change = TopicChange { topics: Some(&rows), examples: &[examples], ..TopicChange::default() };
            store.change_topics(&change)?;
            return Ok(Some((
                same.topic,
                format!(" with the pages of {path}, which means the same; --no-merge keeps them apart"),
            )));
        }
        let best = critic.propose(&built_in, &counts, 1).into_iter().next();
        let parent = best.filter(|best| best.probability >= RELATED).map(|best| best.topic);
        let path = tree.path(own);
        if let Some(parent) = parent
            && tree.parent(own) == TopicId::ROOT
            && tree.move_to(own, parent).is_ok()
        {
            store.set_topics(&tree.rows())?;
            let parent = tree.path(parent);
            self.step(
                &format!("{path} is moved below {parent}, which its pages fit"),
                &self.command(&format!("topics move {} {}", quoted(&path), quoted(&parent))),
            );
        }
        Ok(Some((own, String::new())))
    }

    /// Whether a folder is merged with a topic: by asking, if that is possible and the folder is wanted.
    async fn is_merged(
        &self,
        folder: &BookmarkFolder,
        same: &SameTopic,
        pages: usize,
        tree: &Taxonomy,
        is_wanted: bool,
    ) -> bool {
        if self.arguments.no_merge || !is_wanted || self.arguments.yes || !asking::is_possible() {
            return !self.arguments.no_merge;
        }
        let question = format!(
            "{} seems to mean the same as {} ({} of {pages} pages).\nmerge them? Apart, they compete for pages. [Y/n]",
            plain(&folder.path),
            tree.path(same.topic),
            same.pages
        );
        loop {
            match asking::ask(&question).await.unwrap_or_default().to_lowercase().as_str() {
                "" | "y" | "yes" => return true,
                "n" | "no" => return false,
                _ => output::say("answer y or n"),
            }
        }
    }

    fn mark_folder(&self, folder: &BookmarkFolder, topic: TopicId, with: &str) -> anyhow::Result<()> {
        let mut store = self.workspace.writer()?;
        let mut tree = workspace::tree(&*store.reader())?;
        let is_good = std::iter::once(topic).chain(tree.ancestors(topic)).any(|above| tree.is_good(above));
        if !is_good {
            // A folder inside another one that is wanted, too.
            for below in
                tree.below(topic).into_iter().filter(|&below| tree.is_good(below)).collect::<Vec<_>>()
            {
                tree.unmark(below)?;
            }
            tree.mark(topic)?;
            store.set_topics(&tree.rows())?;
        }
        let path = tree.path(topic);
        let mut commands = vec![self.command(&format!("topics mark {}", quoted(&path)))];
        if !with.is_empty() {
            commands.insert(
                0,
                self.command(&format!(
                    "topics remove {} --move-examples {}",
                    quoted(&folder.path),
                    quoted(&path)
                )),
            );
        }
        self.step(&format!("{path} is marked good{with}"), &commands.join(" && "));
        Ok(())
    }
}

/// Words of the pages of a topic.
fn pages_of(reader: &dyn StoreReader, topic: TopicId) -> anyhow::Result<Vec<Vec<(TermId, u32)>>> {
    let mut pages = Vec::new();
    reader.visit_examples(&mut |example, terms| {
        if example.topic == topic && example.state == ExampleState::Ok && !terms.is_empty() {
            pages.push(terms.to_vec());
        }
    })?;
    Ok(pages)
}

/// Removes a topic and the topics above it that are empty then.
fn remove_empty(tree: &mut Taxonomy, reader: &dyn StoreReader, topic: TopicId) -> anyhow::Result<()> {
    let mut gone = topic;
    while gone != TopicId::ROOT && tree.is_leaf(gone) {
        let parent = tree.parent(gone);
        if gone != topic && !reader.examples(Some(gone))?.is_empty() {
            break;
        }
        tree.remove(gone)?;
        gone = parent;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_chosen_by_name_path_or_number() {
        let paths = ["/Trains", "/Hobbies/Birds", "/Hobbies/Birds/Owls", "/Work"];
        let folders: Vec<BookmarkFolder> =
            paths.iter().map(|path| BookmarkFolder { path: (*path).to_owned(), pages: Vec::new() }).collect();
        let check = |names: &[&str], expected: &[usize]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(named(&folders, &names).ok().as_deref().unwrap_or(&[]), expected, "{names:?}");
        };
        check(&["trains"], &[0]);
        check(&["Birds"], &[1, 2]);
        check(&["/hobbies/birds/owls"], &[2]);
        check(&["4", "1"], &[0, 3]);
        check(&["Hobbies"], &[1, 2]);
        check(&["Cooking"], &[]);
    }
}
