//! A workspace whose tables are in PostgreSQL: the same commands, the same crawl.

#[allow(dead_code)]
#[path = "../../../porthole-store/tests/it/postgres.rs"]
mod server;

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
    run(&["report"], 0, "report.html");
    let exported = run(&["export", "csv"], 0, "url");
    assert!(exported.lines().count() > 300, "{exported}");
    run(&["search", "words"], 4, "full-text search is not supported on PostgreSQL yet");
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
