//! One name has one meaning in the whole workspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Names that every crate may have: its own error.
const EXEMPT: [&str; 1] = ["Error"];

/// Rust files below a folder, tests left out.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The name of the type that a line of code defines.
fn type_name(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    let is_type = matches!(words.next()?, "struct" | "enum" | "trait");
    let name = words.next()?.split(|letter: char| !letter.is_alphanumeric()).next()?;
    (is_type && name.starts_with(char::is_uppercase)).then_some(name)
}

#[test]
fn no_two_types_have_the_same_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        let is_crate = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("porthole"));
        if is_crate && path.join("src").is_dir() {
            sources(&path.join("src"), &mut files);
        }
    }
    assert!(files.len() > 200, "{} files", files.len());
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    // Arguments of a command are named after it: `cli::Crawl`.
    for file in files.iter().filter(|file| !file.to_string_lossy().contains("/src/cli")) {
        let text = fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for name in code.lines().filter_map(type_name) {
            places.entry(name.to_owned()).or_default().push(file.clone());
        }
    }
    places.retain(|name, files| files.len() > 1 && !EXEMPT.contains(&name.as_str()));
    assert!(places.is_empty(), "{places:#?}");
}
