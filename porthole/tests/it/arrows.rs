//! The crates depend on each other as ARCHITECTURE.md says, and in no other way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Rooms = BTreeMap<String, BTreeSet<String>>;

#[test]
fn dependencies_follow_the_arrows() {
    let (allowed, real) = (documented(), real());
    let names = |rooms: &Rooms| rooms.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&allowed), names(&real), "ARCHITECTURE.md's table and the crates differ");
    for (room, uses) in &real {
        let beyond: Vec<_> = uses.difference(&allowed[room]).collect();
        assert!(beyond.is_empty(), "{room} uses {beyond:?}, which ARCHITECTURE.md does not allow");
    }
}

/// The table is in the order of the arrows: a room may use only those above it, so that there is no way round.
#[test]
fn rooms_use_only_those_above_them() {
    let mut above = BTreeSet::new();
    for (room, uses) in rows() {
        let beyond: Vec<_> = uses.difference(&above).collect();
        assert!(beyond.is_empty(), "{room} may use {beyond:?}, which ARCHITECTURE.md has below it");
        above.insert(room);
    }
    assert!(above.contains("porthole"), "the last room is in the table");
}

fn documented() -> Rooms {
    rows().into_iter().collect()
}

/// The rows of the table: | `crate` | holds | may use |.
fn rows() -> Vec<(String, BTreeSet<String>)> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let rows = text.lines().filter(|line| line.starts_with("| `porthole")).map(cells);
    let full = |name: &str| format!("porthole-{}", name.trim());
    let uses = |cell: &str| cell.split(',').filter(|name| name.trim() != "–").map(full).collect();
    rows.map(|row| (row[1].trim_matches('`').to_owned(), uses(&row[3]))).collect()
}

/// What the manifests say. Dependencies of tests and benchmarks may point anywhere.
fn real() -> Rooms {
    let folders = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    folders.filter(|path| path.join("Cargo.toml").exists() && is_room(path)).map(|path| room(&path)).collect()
}

fn is_room(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("porthole"))
}

fn room(path: &Path) -> (String, BTreeSet<String>) {
    let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap();
    let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let uses = lines.take_while(|line| !line.starts_with('[')).filter(|line| line.starts_with("porthole-"));
    let name = |line: &str| line.split(['.', ' ', '=']).next().unwrap().to_owned();
    (path.file_name().unwrap().to_string_lossy().into_owned(), uses.map(name).collect())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}
