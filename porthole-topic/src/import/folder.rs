//! Folders of files: each folder a topic, each file in it an example.

use super::{Import, Problem, names, shown};

/// A file that is an example of the topic that its folder stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// The path as it was handed in.
    pub path: String,
    /// A path that a [`crate::Taxonomy`] accepts: `/Science/Biology`; `/` for a file in no folder.
    pub topic: String,
}

/// Extensions of files with text that we read.
const EXTENSIONS: [&str; 4] = ["txt", "html", "htm", "md"];

/// Examples from the paths of files, relative to the folder that stands for the root, with `/` in between.
///
/// Text and HTML files count (`.txt`, `.html`, `.htm`, `.md`), and files without an extension, as in
/// `comp.graphics/38758`. Left out one by one: hidden files and folders, other files, and paths that lead out of the
/// folder. Nothing can break as a whole.
pub fn folder<P: AsRef<str>>(paths: impl IntoIterator<Item = P>) -> Import<FoundFile> {
    let mut all = Import::default();
    for path in paths {
        let path = path.as_ref();
        match topic(path) {
            Ok(topic) => all.found.push(FoundFile { path: path.to_owned(), topic }),
            Err(why) => {
                let what = format!("{}: {why}", shown(path));
                all.problems.push(Problem { line: None, what });
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
        return Err("neither text nor HTML by its name".to_owned());
    }
    names::TopicPath::of(folders).map(|path| path.topic()).ok_or_else(|| names::too_deep(path))
}

fn is_text(file: &str) -> bool {
    match file.rsplit_once('.') {
        Some((_, extension)) => EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known)),
        None => !file.is_empty(),
    }
}
