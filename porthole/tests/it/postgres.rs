//! A workspace whose tables are in PostgreSQL: the same commands, the same crawl.

#[allow(dead_code)]
#[path = "../../../porthole-store/tests/it/postgres.rs"]
pub(crate) mod server;

use self::server::PgPlace;
use crate::crawl::{DONE, Draw, Workspace, check, kill_often, porthole};

#[test]
fn a_crawl_on_postgresql_goes_the_same_way_and_can_be_asked() {
    let Some(place) = PgPlace::new() else { return };
    let workspace = Workspace::on(&place.url());
    workspace.check(&[], 0, DONE);
    let whole = workspace.whole();
    assert_eq!(workspace.urls(), whole.urls);
    workspace.check_archive();
    assert!(!workspace.folder.path().join("ws/porthole.db").exists());
    let folder = workspace.folder.path();
    let run = |arguments: &[&str], code: i32, words: &str| {
        let arguments = [&["-C", "ws"], arguments].concat();
        check(&porthole(folder, &arguments).output().unwrap(), code, words)
    };
    run(&["status"], 0, "/Recreation");
    run(&["top", "pages"], 0, "http");
    run(&["query", "census"], 0, "");
    run(&["query", "select count(*) as urls from crawl where state = 1"], 0, "urls");
    run(&["query", "delete from crawl"], 4, "");
    run(&["explain", &whole.urls[20]], 0, &whole.urls[20]);
    run(&["sites", "list"], 0, "");
    run(&["distill"], 0, "");
    run(&["distill", "--engine", "sql"], 0, "");
    run(&["report"], 0, "report.html");
    let exported = run(&["export", "csv"], 0, "url");
    assert!(exported.lines().count() > 300, "{exported}");
    // As the same crawl on SQLite.
    let file = Workspace::new();
    file.check(&[], 0, DONE);
    let search = |folder: &std::path::Path| {
        let arguments = ["-C", "ws", "search", "--json", "page", "cycling"];
        check(&porthole(folder, &arguments).output().unwrap(), 0, "pages")
    };
    let (on_server, in_file) = (hits(&search(folder)), hits(&search(file.folder.path())));
    assert!(on_server.len() >= 5, "{on_server:?}");
    assert_eq!(on_server, in_file);
    #[cfg(feature = "parquet")]
    assert_eq!(exported_rows(folder), exported_rows(file.folder.path()));
    // The database belongs to this workspace.
    let again = porthole(folder, &["init", "other", "--db", &place.url()]).output().unwrap();
    check(&again, 4, "has the tables of a workspace already");
}

#[test]
fn a_crawl_on_postgresql_that_is_killed_again_and_again_goes_the_same_way() {
    let Some(place) = PgPlace::new() else { return };
    let workspace = Workspace::on(&place.url());
    let whole = workspace.whole();
    let hits = kill_often(&workspace, &[], whole.archived, 8, &mut Draw(4));
    assert!(hits >= 4, "only {hits} of 8 moments were before the end");
    workspace.check(&[], 0, DONE);
    assert_eq!(workspace.urls(), whole.urls);
    workspace.check_archive();
}

/// Exports the tables for batch work. Returns the rows of those that a crawl fills.
#[cfg(feature = "parquet")]
fn exported_rows(folder: &std::path::Path) -> Vec<u64> {
    let said =
        porthole(folder, &["-C", "ws", "export", "tables", "-o", "tables", "--json"]).output().unwrap();
    let said = check(&said, 0, "rows");
    let summary = json_in(&said);
    let batch = std::fs::read_to_string(folder.join("tables/batch.json")).unwrap();
    let batch: serde_json::Value = serde_json::from_str(&batch).unwrap();
    for name in ["judged", "update_auth", "update_hubs", "bulk_probe", "tried"] {
        assert!(batch["statements"][name].as_str().unwrap().contains("select"), "{name}");
    }
    assert_eq!(batch["queries"].as_object().unwrap().len(), porthole_store::QUERIES.len());
    for name in ["crawl", "stat", "alias"] {
        let file = folder.join("tables").join(name).join("part-00000.parquet");
        assert!(std::fs::read(&file).unwrap().starts_with(b"PAR1"), "{}", file.display());
    }
    let rows =
        ["crawl", "edge", "site", "fetch", "taxonomy"].map(|name| summary["rows"][name].as_u64().unwrap());
    assert!(rows.iter().all(|rows| *rows > 0), "{rows:?}");
    rows.to_vec()
}

/// The first JSON value of an output.
fn json_in(said: &str) -> serde_json::Value {
    let start = said.find('{').unwrap();
    serde_json::Deserializer::from_str(&said[start..]).into_iter().next().unwrap().unwrap()
}

/// URLs and snippets in the answer to a search.
fn hits(said: &str) -> Vec<(String, String)> {
    let answer = json_in(said);
    let text = |page: &serde_json::Value, name: &str| page[name].as_str().unwrap().to_owned();
    let pages = answer["pages"].as_array().unwrap();
    pages.iter().map(|page| (text(page, "url"), text(page, "snippet"))).collect()
}
