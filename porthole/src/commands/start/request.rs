//! The positional arguments of `porthole start`: pages, lists of bookmarks and a folder.

use std::path::{Path, PathBuf};

use porthole_topic::import::ImportEntry;
use porthole_types::CanonicalUrl;

use crate::cli;
use crate::output::{self, count, misuse, plain};
use crate::sources::{self, ExampleSource, PagePlace, parse_url};
use crate::workspace::Workspace;

/// Maximum number of pages from bookmarks: enough to train on, and fetched within minutes.
pub(super) const MOST: usize = 200;

/// Default folder of the workspace.
const FOLDER: &str = "porthole-crawl";

pub(super) struct StartRequest {
    pub(super) folder: PathBuf,
    /// Pages without a folder of bookmarks.
    pub(super) pages: Vec<NamedPage>,
    /// Whether the pages may cover many topics, as bookmarks do.
    pub(super) is_mixed: bool,
    /// Folders of bookmarks.
    pub(super) folders: Vec<BookmarkFolder>,
    /// Entries of bookmarks that are not used.
    pub(super) left_out: usize,
}

/// A folder of bookmarks, or a topic of another list.
pub(super) struct BookmarkFolder {
    /// Its path as a topic, such as `/Hobbies/Trains`.
    pub(super) path: String,
    pub(super) pages: Vec<NamedPage>,
}

#[derive(Clone)]
pub(super) struct NamedPage {
    pub(super) url: CanonicalUrl,
    pub(super) title: String,
    pub(super) source: String,
}

impl StartRequest {
    pub(super) fn of(root: &Path, arguments: &cli::Start) -> anyhow::Result<StartRequest> {
        let (mut pages, mut lists, mut folder, mut is_mixed) = (Vec::new(), Vec::new(), None, false);
        let mut folders: Vec<BookmarkFolder> = Vec::new();
        for (number, name) in arguments.names.iter().enumerate() {
            let is_last = number + 1 == arguments.names.len();
            if name.contains("://") {
                let (title, source) = (String::new(), "web".to_owned());
                pages.push(NamedPage { url: parse_url(name)?, title, source });
            } else if Path::new(name).is_file() {
                is_mixed = true;
                lists.push(PathBuf::from(name));
            } else if is_last && may_be_folder(name) {
                folder = Some(PathBuf::from(name));
            } else {
                let prefix = if may_be_folder(name) { "" } else { "./" };
                return Err(misuse(format!(
                    "{0} is neither a URL (which begins with https://) nor an existing file; to use it as the workspace \
                     folder, name it last, as {prefix}{0}",
                    plain(name)
                )));
            }
        }
        let folder = folder_for(root, folder, arguments)?;
        let allows_local =
            Workspace::is_at(&folder) && Workspace::open(&folder)?.settings.fetch.loopback == Some(true);
        // With a topic for all pages, folders do not matter.
        let has_words = arguments.words.is_some();
        let is_one_topic = arguments.topic.is_some() || arguments.name.is_some() || has_words;
        let mut left_out = 0;
        for list in lists {
            let found = bookmarked(&list, allows_local, is_one_topic)?;
            left_out += found.left_out;
            pages.extend(found.unfiled);
            folders.extend(found.folders);
        }
        if folders.is_empty() && !arguments.folder.is_empty() {
            return Err(misuse("--folder chooses folders of bookmarks, and there are none"));
        }
        if pages.is_empty() && folders.is_empty() && !has_words && !Workspace::is_at(&folder) {
            return Err(misuse(
                "no pages given: run `porthole start URL…`, `porthole start bookmarks.html` or `porthole start --words \
                 WORDS`",
            ));
        }
        // Of pages that are found by words, each becomes an example for itself.
        Ok(StartRequest { folder, pages, is_mixed: is_mixed && !has_words, folders, left_out })
    }
}

/// Whether a name can be a folder rather than a page or a file.
fn may_be_folder(name: &str) -> bool {
    Path::new(name).is_dir() || name.starts_with(['.', '/', '~']) || !name.contains('.')
}

/// The named folder; the current workspace; or a new folder named after the topic.
fn folder_for(root: &Path, named: Option<PathBuf>, arguments: &cli::Start) -> anyhow::Result<PathBuf> {
    let is_here = root == Path::new(".");
    if let Some(named) = named {
        if !is_here {
            return Err(misuse(format!("-C {} and {} name two folders", root.display(), named.display())));
        }
        return Ok(named);
    }
    if !is_here || Workspace::is_at(root) {
        return Ok(root.to_owned());
    }
    let topic = arguments.topic.as_deref().and_then(|path| path.rsplit('/').next());
    let name = arguments.name.as_deref().or(topic).or(arguments.words.as_deref()).unwrap_or(FOLDER);
    let folder: String =
        name.to_lowercase().chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    let folder = folder.trim_matches('-');
    Ok(PathBuf::from(if folder.is_empty() { FOLDER } else { folder }))
}

/// Contents of a list of bookmarks.
struct Bookmarks {
    /// Pages in no folder.
    unfiled: Vec<NamedPage>,
    folders: Vec<BookmarkFolder>,
    /// Number of entries that are not used.
    left_out: usize,
}

/// The pages that a file lists, by folder. Says what was left out and why.
fn bookmarked(file: &Path, allows_local: bool, is_one_topic: bool) -> anyhow::Result<Bookmarks> {
    let mut found = Bookmarks { unfiled: Vec::new(), folders: Vec::new(), left_out: 0 };
    let mut left_out: Vec<String> = Vec::new();
    for entry in ExampleSource::open(file, None)?.items()? {
        let item = match entry? {
            ImportEntry::Found(item) => item,
            ImportEntry::Problem(problem) => {
                left_out.push(problem.to_string());
                continue;
            }
        };
        let PagePlace::Url(url) = item.page else { continue };
        if let Some(why) = sources::not_on_the_web(&url).filter(|_| !allows_local) {
            left_out.push(format!("{url}: {why}"));
            continue;
        }
        let page = NamedPage { url, title: item.title, source: file.display().to_string() };
        let place = found.folders.iter().position(|folder| folder.path == item.topic);
        match place {
            _ if is_one_topic || item.topic == "/" => found.unfiled.push(page),
            Some(place) => found.folders[place].pages.push(page),
            None => found.folders.push(BookmarkFolder { path: item.topic, pages: vec![page] }),
        }
    }
    if !found.folders.is_empty() {
        let unfiled = found.unfiled.drain(..);
        left_out.extend(unfiled.map(|page| format!("{}: it is in no folder", page.url)));
    }
    sample(&mut found.unfiled, file);
    found.left_out = left_out.len();
    if !left_out.is_empty() {
        let entries = count(left_out.len(), "entry").replace("entrys", "entries");
        output::say(&format!("left out {entries} of {}:", file.display()));
        output::some_of(&left_out, left_out.len(), Clone::clone).iter().for_each(|line| output::say(line));
    }
    if found.unfiled.is_empty() && found.folders.is_empty() {
        return Err(misuse(format!("{} contains no links to pages of the web", file.display())));
    }
    Ok(found)
}

/// Of a long list, an evenly spaced sample.
fn sample(pages: &mut Vec<NamedPage>, file: &Path) {
    let all = pages.len();
    if all <= MOST {
        return;
    }
    output::say(&format!(
        "using {MOST} of the {} links in {}, evenly spaced; `porthole examples import` takes all",
        output::grouped(&all.to_string()),
        file.display()
    ));
    let mut number = 0;
    pages.retain(|_| {
        number += 1;
        number * MOST / all > (number - 1) * MOST / all
    });
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, CliCommand};

    fn request(typed: &[&str]) -> Result<(String, usize), String> {
        let cli = Cli::try_parse_from([&["porthole", "start"], typed].concat()).unwrap();
        let CliCommand::Start(arguments) = cli.command else { panic!("another command") };
        let request = StartRequest::of(&cli.workspace, &arguments).map_err(|error| error.to_string())?;
        Ok((request.folder.display().to_string(), request.pages.len()))
    }

    #[test]
    fn names_are_pages_and_last_a_folder() {
        let check = |typed: &[&str], folder: &str, pages| {
            assert_eq!(request(typed), Ok((folder.to_owned(), pages)), "{typed:?}");
        };
        check(&["http://a.test/", "https://b.test/x"], FOLDER, 2);
        check(&["http://a.test/", "owls"], "owls", 1);
        check(&["http://a.test/", "./owls.org"], "./owls.org", 1);
        check(&["http://a.test/", "--name", "Snowy owls!"], "snowy-owls", 1);
        check(&["http://a.test/", "--topic", "/Science/Birds"], "birds", 1);
        check(&["http://a.test/", "-C", "there"], "there", 1);
        check(&["--words", "barn owl nesting"], "barn-owl-nesting", 0);
        check(&["--words", "barn owl nesting", "owls"], "owls", 0);
    }

    #[test]
    fn wrong_names_are_rejected() {
        let check = |typed: &[&str], words: &str| {
            let error = request(typed).unwrap_err();
            assert!(error.contains(words), "no {words:?} in {error}");
        };
        check(&[], "no pages given");
        check(&["owls"], "no pages given");
        check(&["owls.org"], "begins with https://");
        check(&["no-bookmarks.html", "owls"], "no-bookmarks.html is neither");
        check(&["http://"], "not a URL");
        check(&["http://a.test/", "owls", "-C", "there"], "two folders");
    }

    #[test]
    fn bookmarks_are_read_by_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("list.tsv");
        let lines = "http://a.test/1\t/A\nhttp://a.test/2\t/B/C\nhttp://localhost/\t/A\nhttp://a.test/3\t/A\n\
                     http://10.0.0.1/\t/B\nhttp://a.test/4\t/\n";
        std::fs::write(&file, lines).unwrap();
        let read = |allows_local, is_one_topic| {
            let found = bookmarked(&file, allows_local, is_one_topic).unwrap();
            let folders = found.folders.into_iter().map(|folder| (folder.path, folder.pages.len()));
            (found.unfiled.len(), folders.collect::<Vec<_>>())
        };
        let folder = |path: &str, pages| (path.to_owned(), pages);
        assert_eq!(read(false, false), (0, vec![folder("/A", 2), folder("/B/C", 1)]));
        assert_eq!(read(true, false), (0, vec![folder("/A", 3), folder("/B/C", 1), folder("/B", 1)]));
        assert_eq!(read(false, true), (4, vec![]));
    }

    #[test]
    fn many_bookmarks_are_sampled_evenly() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("list.tsv");
        let lines: String = (0..1_000).map(|number| format!("http://a.test/{number}\t/\n")).collect();
        std::fs::write(&file, lines).unwrap();
        let pages = bookmarked(&file, false, false).unwrap().unfiled;
        assert_eq!(pages.len(), MOST);
        assert_eq!(pages.last().unwrap().url.as_str(), "http://a.test/999");
    }
}
