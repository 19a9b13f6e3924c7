//! Folders of files: each folder is a topic, each file in it an example.

use super::{ImportProblem, ImportedTaxonomy, names, shown};

/// A file that is an example of its folder's topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// Path as given by the caller.
    pub path: String,
    /// A path that a [`crate::Taxonomy`] accepts: `/Science/Biology`; `/` for a file in no folder.
    pub topic: String,
}

/// Extensions of text files.
const EXTENSIONS: [&str; 4] = ["txt", "html", "htm", "md"];

/// Examples from the paths of files, relative to the root folder and separated by `/`.
///
/// Accepts text and HTML files (`.txt`, `.html`, `.htm`, `.md`), and files without an extension, as in
/// `comp.graphics/38758`. Skipped with a problem: hidden files and folders, other files, and paths that lead out of the
/// folder. Never fails as a whole.
pub fn folder<P: AsRef<str>>(paths: impl IntoIterator<Item = P>) -> ImportedTaxonomy<FoundFile> {
    let mut all = ImportedTaxonomy::default();
    for path in paths {
        let path = path.as_ref();
        match topic(path) {
            Ok(topic) => all.found.push(FoundFile { path: path.to_owned(), topic }),
            Err(why) => {
                let what = format!("{}: {why}", shown(path));
                all.problems.push(ImportProblem { line: None, what });
            }
        }
    }
    all
}

fn topic(path: &str) -> Result<String, String> {
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    let folders = folders.split('/').filter(|name| !matches!(*name, "" | "."));
    if path.starts_with('/') || folders.clone().any(|name| name == "..") {
        return Err("not a path below the folder".to_owned());
    }
    if file.starts_with('.') || folders.clone().any(|name| name.starts_with('.')) {
        return Err("hidden".to_owned());
    }
    if !is_text(file) {
        return Err("not a text or HTML file by its extension".to_owned());
    }
    names::TopicPath::of(folders).map(|path| path.topic()).ok_or_else(|| names::too_deep_message(path))
}

fn is_text(file: &str) -> bool {
    match file.rsplit_once('.') {
        Some((_, extension)) => EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known)),
        None => !file.is_empty(),
    }
}
