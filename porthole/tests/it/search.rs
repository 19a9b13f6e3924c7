//! `porthole search` on a crawl of a recorded web.

use porthole_store::{QueryLimits, SqlValue, SqliteReader, StoreReader};
use serde_json::Value;

use crate::crawl::{Workspace, check, porthole};

fn search(workspace: &Workspace, arguments: &[&str], code: i32) -> (String, String) {
    let arguments = [&["-C", "ws", "search"], arguments].concat();
    let output = porthole(workspace.folder.path(), &arguments).output().unwrap();
    check(&output, code, "");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn found(workspace: &Workspace, arguments: &[&str]) -> Value {
    serde_json::from_str(&search(workspace, &[arguments, &["--json"]].concat(), 0).0).unwrap()
}

/// A page of the crawl with its title, and a word of its text that few others have.
fn some_page(workspace: &Workspace) -> (String, String) {
    let reader = SqliteReader::open(workspace.folder.path().join("ws/porthole.db")).unwrap();
    let sql = "select url, title from crawl where state = 1 and title <> '' and copy_of is null order by oid limit 1";
    match &reader.sql(sql, &QueryLimits::default()).unwrap().rows[0][..] {
        [SqlValue::Text(url), SqlValue::Text(title)] => (url.clone(), title.clone()),
        row => panic!("{row:?}"),
    }
}

#[test]
fn pages_are_found_and_the_index_follows_the_crawl() {
    let workspace = Workspace::new();
    let none = search(&workspace, &["owl"], 0).1;
    assert!(none.contains("there are no pages yet"), "{none}");
    workspace.check(&["--pages", "60"], 0, "");
    let (url, title) = some_page(&workspace);

    // The index is made by the first search, unless it is told not to.
    let behind = search(&workspace, &["--no-update", &title], 0).1;
    assert!(behind.contains("not in it yet"), "{behind}");
    let answer = found(&workspace, &[&title]);
    let urls: Vec<&str> =
        answer["pages"].as_array().unwrap().iter().filter_map(|page| page["url"].as_str()).collect();
    assert!(urls.contains(&url.as_str()), "{title}: {urls:?}");
    assert_eq!(
        (&answer["index"]["fetches_behind"], &answer["index"]["without_text"]),
        (&0.into(), &0.into())
    );
    let indexed = answer["index"]["pages"].as_u64().unwrap();
    assert!(indexed > 0);

    // In a pipe, words are in brackets; there is a page for each block of lines.
    let (printed, _) = search(&workspace, &[&title, "--limit", "1"], 0);
    assert!(printed.contains("http://") && printed.contains("\n    R "), "{printed}");
    assert!(printed.contains('[') && !printed.contains('\u{1b}'), "{printed}");

    // Filters.
    for page in found(&workspace, &[&title, "--min-relevance", "0.5"])["pages"].as_array().unwrap() {
        assert!(page["relevance"].as_f64().unwrap() >= 0.5, "{page}");
    }
    for page in found(&workspace, &[&title, "--topic", "/Recreation"])["pages"].as_array().unwrap() {
        assert!(page["topic"].as_str().unwrap().starts_with("/Recreation"), "{page}");
    }
    assert_eq!(found(&workspace, &[&title, "--site", "no.such.host"])["pages"], Value::Array(Vec::new()));

    // More pages.
    workspace.check(&["--pages", "30"], 0, "");
    let before = found(&workspace, &[&title, "--no-update"]);
    assert!(before["index"]["fetches_behind"].as_u64().unwrap() >= 30, "{before}");
    assert!(found(&workspace, &[&title])["index"]["pages"].as_u64().unwrap() > indexed);
}

#[test]
fn a_crawl_without_an_archive_is_searched_by_titles() {
    let workspace = Workspace::new();
    workspace.check(&["--pages", "30", "--archive", "none"], 0, "");
    let (url, title) = some_page(&workspace);
    let (_, said) = search(&workspace, &[&title], 0);
    assert!(said.contains("are not in the archive: only their titles"), "{said}");
    let answer = found(&workspace, &[&title]);
    assert!(answer["pages"].to_string().contains(&url), "{answer}");
}

#[test]
fn a_damaged_index_is_made_again_once_it_is_deleted() {
    let workspace = Workspace::new();
    workspace.check(&["--pages", "30", "--archive", "none"], 0, "");
    let (url, title) = some_page(&workspace);
    search(&workspace, &[&title], 0);
    let index = workspace.folder.path().join("ws/porthole-readers.db");
    let size = std::fs::metadata(&index).unwrap().len();
    for content in [None, Some("text")] {
        match content {
            None => std::fs::File::options().write(true).open(&index).unwrap().set_len(size / 3).unwrap(),
            Some(text) => std::fs::write(&index, text.repeat(2_000)).unwrap(),
        }
        let said = search(&workspace, &[&title], 4).1;
        assert!(
            said.contains("index is damaged") && said.contains("delete ws/porthole-readers.db"),
            "{said}"
        );
    }
    std::fs::remove_file(index).unwrap();
    assert!(found(&workspace, &[&title])["pages"].to_string().contains(&url));
}

#[test]
fn a_search_that_makes_no_sense_is_refused() {
    let workspace = Workspace::new();
    for (arguments, words) in [
        (&["!!!"][..], "give at least one word"),
        (&["owl", "--topic", "/Nonsense"], "/Nonsense"),
        (&["owl", "--min-relevance", "7"], "between 0 and 1"),
    ] {
        let said = search(&workspace, arguments, 4).1;
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}
