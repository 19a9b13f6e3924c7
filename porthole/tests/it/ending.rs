//! How crawls end, and what holds them up: a judge that fails, a host that stalls.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::Duration;

use porthole_store::{QueryLimits, SqlValue, SqliteReader, StoreReader};

use crate::crawl::{Workspace, porthole};

fn number(workspace: &Workspace, sql: &str) -> i64 {
    let reader = SqliteReader::open(workspace.folder.path().join("ws/porthole.db")).unwrap();
    match reader.sql(sql, &QueryLimits::default()).unwrap().rows[0][0] {
        SqlValue::Integer(number) => number,
        ref other => panic!("{other:?}"),
    }
}

/// A judge that calls most pages relevant and names no topic.
const NO_TOPICS: &str = r#"while read -r line; do echo '{"relevance":0.75}'; done"#;

#[test]
fn a_judge_without_topics_leads_to_pages_by_relevance() {
    for strategy in ["hard", "soft"] {
        let workspace = Workspace::new();
        let arguments = ["--judge", NO_TOPICS, "--strategy", strategy, "--patience", "30", "--pages", "100"];
        workspace.check(&arguments, 0, "run the same command to resume");
        assert_eq!(number(&workspace, "select count(*) from crawl where state = 1"), 100, "{strategy}");
    }
}

/// Waits for an event of a kind; panics if the crawl ends before.
fn wait_for_event(workspace: &Workspace, kind: &str, crawl: &mut Child) {
    let sql = format!("select count(*) from event where kind = '{kind}'");
    while number(workspace, &sql) == 0 {
        if let Some(status) = crawl.try_wait().unwrap() {
            let mut said = String::new();
            crawl.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("the crawl ended with {status}: {said}");
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_judge_that_fails_pauses_the_crawl_until_it_is_resumed() {
    let workspace = Workspace::new();
    let folder = workspace.folder.path();
    let judge = format!("test -e {}/works || exit 1; {NO_TOPICS}", folder.display());
    let mut crawl = workspace.crawl(&["--judge", &judge, "--pages", "20", "--workers", "4"]).spawn().unwrap();
    wait_for_event(&workspace, "judge", &mut crawl);
    assert_eq!(number(&workspace, "select count(*) from crawl where numtries > 0"), 0, "nothing is lost");
    fs::write(folder.join("works"), "").unwrap();
    // The judge is not started again for a second after it has failed.
    thread::sleep(Duration::from_millis(1_200));
    let resumed = porthole(folder, &["-C", "ws", "resume"]).output().unwrap();
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
    let output = crawl.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("paused, because the judge failed"), "{said}");
    assert_eq!(number(&workspace, "select count(*) from crawl where state = 1"), 20);
}

#[test]
fn status_says_that_the_last_crawl_was_killed() {
    let workspace = Workspace::new();
    let status = |words: &str| {
        let output = porthole(workspace.folder.path(), &["-C", "ws", "status"]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains(words), "no {words:?} in {said}");
    };
    let works = workspace.folder.path().join("works");
    let judge = format!("test -e {} || exit 1; {NO_TOPICS}", works.display());
    fs::write(&works, "").unwrap();
    workspace.check(&["--judge", &judge, "--pages", "5"], 0, "run the same command to resume");
    status("the last one ended: limit");
    // The judge fails, so that the crawl is paused when it is killed.
    fs::remove_file(&works).unwrap();
    let mut crawl = workspace.crawl(&["--judge", &judge, "--workers", "4"]).spawn().unwrap();
    wait_for_event(&workspace, "judge", &mut crawl);
    status("a crawl is running");
    crawl.kill().unwrap();
    crawl.wait().unwrap();
    status("the last one was killed or has failed: `porthole crawl` resumes it");
}

/// A host that takes every connection and never answers, as long as the program runs.
fn stalling_host() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut connections = Vec::new();
        while let Ok((connection, _)) = listener.accept() {
            connections.push(connection);
        }
    });
    format!("http://{address}/")
}

#[test]
fn the_end_of_the_time_gives_back_what_is_under_way() {
    let workspace = Workspace::new();
    let url = stalling_host();
    let folder: &Path = workspace.folder.path();
    fs::write(folder.join("ws/porthole.toml"), "[fetch]\nloopback = true\n").unwrap();
    let arguments =
        ["-C", "ws", "crawl", "--polite", "off", "--start", &url, "--domain", "127.0.0.1", "--time", "1s"];
    let output = porthole(folder, &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(15), "{}", String::from_utf8_lossy(&output.stderr));
    let given_back = format!("select count(*) from crawl where url = '{url}' and state = 0 and numtries = 0");
    assert_eq!(number(&workspace, &given_back), 1);
    let why =
        "select count(*) from event where kind = 'stopped' and detail like 'the time limit is reached; %'";
    assert_eq!(number(&workspace, why), 1);
}

#[test]
fn the_parts_of_the_summary_add_up_to_the_fetches() {
    let workspace = Workspace::new();
    let output = workspace.crawl(&["--json", "--strategy", "breadth"]).output().unwrap();
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let sum: u64 = ["pages", "unjudged", "redirects", "failures"]
        .iter()
        .map(|part| summary[part].as_u64().unwrap())
        .sum();
    assert_eq!(summary["fetches"].as_u64(), Some(sum), "{summary}");
    assert!(summary["failures"].as_u64() > Some(0), "{summary}");
}

#[test]
fn a_workspace_that_has_its_size_fetches_nothing() {
    let workspace = Workspace::new();
    workspace.check(&["--disk", "1kB"], 14, "reached --disk; raise it");
    assert_eq!(number(&workspace, "select count(*) from crawl where seq is not null"), 0);
}
