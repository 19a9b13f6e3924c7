//! The positional arguments of `porthole start`: pages and a folder.

use std::path::{Path, PathBuf};

use porthole_topic::import::ImportEntry;
use porthole_types::CanonicalUrl;

use crate::cli;
use crate::commands::examples::add::parse_url;
use crate::output::{self, misuse, plain};
use crate::sources::{ExampleSource, PagePlace};
use crate::workspace::Workspace;

/// Maximum number of pages from a list of bookmarks: enough to train on, and fetched within minutes.
const MOST: usize = 200;

/// Default folder of the workspace.
const FOLDER: &str = "porthole-crawl";

pub(super) struct StartRequest {
    pub(super) folder: PathBuf,
    pub(super) pages: Vec<NamedPage>,
    /// Whether the pages may cover many topics, as bookmarks do.
    pub(super) is_mixed: bool,
}

pub(super) struct NamedPage {
    pub(super) url: CanonicalUrl,
    pub(super) title: String,
    pub(super) source: String,
}

impl StartRequest {
    pub(super) fn of(root: &Path, arguments: &cli::Start) -> anyhow::Result<StartRequest> {
        let (mut pages, mut folder, mut is_mixed) = (Vec::new(), None, false);
        for (number, name) in arguments.names.iter().enumerate() {
            let is_last = number + 1 == arguments.names.len();
            if name.contains("://") {
                let (title, source) = (String::new(), "web".to_owned());
                pages.push(NamedPage { url: parse_url(name)?, title, source });
            } else if Path::new(name).is_file() {
                is_mixed = true;
                pages.extend(bookmarked(Path::new(name))?);
            } else if is_last && may_be_folder(name) {
                folder = Some(PathBuf::from(name));
            } else {
                return Err(misuse(format!(
                    "{0} is neither a URL (which begins with https://) nor an existing file; to use it as the workspace \
                     folder, put it last and write ./{0}",
                    plain(name)
                )));
            }
        }
        let folder = folder_for(root, folder, arguments)?;
        if pages.is_empty() && !Workspace::is_at(&folder) {
            return Err(misuse(
                "no pages given: run `porthole start URL…` or `porthole start bookmarks.html`",
            ));
        }
        Ok(StartRequest { folder, pages, is_mixed })
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
    let name = arguments.name.as_deref().or(topic).unwrap_or(FOLDER);
    let folder: String =
        name.to_lowercase().chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    let folder = folder.trim_matches('-');
    Ok(PathBuf::from(if folder.is_empty() { FOLDER } else { folder }))
}

/// The pages that a file lists; of long lists an evenly spaced sample.
fn bookmarked(file: &Path) -> anyhow::Result<Vec<NamedPage>> {
    let mut pages = Vec::new();
    for entry in ExampleSource::open(file, None)?.items()? {
        if let ImportEntry::Found(item) = entry?
            && let PagePlace::Url(url) = item.page
        {
            pages.push(NamedPage { url, title: item.title, source: file.display().to_string() });
        }
    }
    if pages.is_empty() {
        return Err(misuse(format!("{} contains no links", file.display())));
    }
    let all = pages.len();
    if all > MOST {
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
    Ok(pages)
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
        check(&["http://"], "not a valid URL");
        check(&["http://a.test/", "owls", "-C", "there"], "two folders");
    }

    #[test]
    fn many_bookmarks_are_sampled_evenly() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("list.tsv");
        let lines: String = (0..1_000).map(|number| format!("http://a.test/{number}\t/A\n")).collect();
        std::fs::write(&file, lines).unwrap();
        let pages = bookmarked(&file).unwrap();
        assert_eq!(pages.len(), MOST);
        assert_eq!(pages.last().unwrap().url.as_str(), "http://a.test/999");
    }
}
