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
        workspace.check(&arguments, 0, "reached --pages");
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
    workspace.check(&["--judge", &judge, "--pages", "5"], 0, "reached --pages");
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
    let sum: u64 = ["pages", "unjudged", "redirects", "skipped", "failures"]
        .iter()
        .map(|part| summary[part].as_u64().unwrap())
        .sum();
    assert_eq!(summary["fetches"].as_u64(), Some(sum), "{summary}");
    assert!(summary["failures"].as_u64() > Some(0), "{summary}");
}

#[test]
fn what_the_scope_refuses_is_neither_fetched_nor_failed() {
    let workspace = Workspace::new();
    let excluded = ["--json", "--pages", "30", "--exclude", "*/*.html"];
    let output = workspace.crawl(&excluded).output().unwrap();
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let by_kind = |field: &str| {
        let kinds = summary[field].as_array().unwrap();
        kinds.iter().filter(|kind| kind[0] == "scope").map(|kind| kind[1].as_i64().unwrap()).sum::<i64>()
    };
    let refused = by_kind("refused_by_kind");
    assert!(refused > 0 && by_kind("failures_by_kind") == 0, "{summary}");
    let fetches = number(&workspace, "select count(*) from fetch") - summary["refused"].as_i64().unwrap();
    assert_eq!(summary["fetches"].as_i64(), Some(fetches), "{summary}");
    let status = porthole(workspace.folder.path(), &["-C", "ws", "status", "--json"]).output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    let kinds = |field: &str| {
        let rows = status[field].as_array().unwrap().iter();
        rows.map(|row| row["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(!kinds("failures").contains(&"scope".to_owned()), "{status}");
    let skipped = &status["skipped_by_kind"][0];
    assert_eq!((skipped["kind"].as_str(), skipped["refused"].as_i64()), (Some("scope"), Some(refused)));
    let report = porthole(workspace.folder.path(), &["-C", "ws", "report"]).output().unwrap();
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    let report = fs::read_to_string(workspace.folder.path().join("ws/report.html")).unwrap();
    let failed = report.split("URLs skipped on purpose").next().unwrap().split("Failed URLs").last().unwrap();
    assert!(report.contains("URLs skipped on purpose") && !failed.contains("scope"), "{failed}");
}

#[test]
fn the_last_event_tells_why_the_crawl_stopped() {
    for (arguments, code, stop, why) in [
        (&["--pages", "20"][..], 0, "limit", "; 20 pages in this run"),
        (&["--time", "0s"], 15, "time", ""),
        (&["--judge", "exit 1", "--strategy", "nonsense"], 4, "", ""),
    ] {
        let workspace = Workspace::new();
        let output = workspace.crawl(&[&["--events", "-"], arguments].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let events = text.lines().filter(|line| line.starts_with('{'));
        let events: Vec<serde_json::Value> = events.map(|line| serde_json::from_str(line).unwrap()).collect();
        let stopped = events.iter().filter(|event| event["event"] == "stopped").count();
        assert_eq!(stopped, usize::from(!stop.is_empty()), "{text}");
        let Some(last) = events.last() else { continue };
        assert_eq!((last["event"].as_str(), last["stop"].as_str()), (Some("stopped"), Some(stop)), "{text}");
        assert!(last["detail"].as_str().unwrap_or_default().ends_with(why), "{last}");
    }
}

#[test]
fn a_workspace_that_has_its_size_fetches_nothing() {
    let workspace = Workspace::new();
    workspace.check(&["--disk", "1kB"], 14, "reached --disk; raise it");
    assert_eq!(number(&workspace, "select count(*) from crawl where seq is not null"), 0);
}
