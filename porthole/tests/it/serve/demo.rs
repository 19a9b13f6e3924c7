//! The dashboard of a crawl and of the demo.

use serde_json::{Value, json};

use super::server::{Server, crawled};

#[test]
fn the_demo_shows_two_crawls_at_work() {
    let folder = tempfile::tempdir().unwrap();
    let mut server =
        Server::start_with(folder.path(), &["demo", "--serve=127.0.0.1:0", "--keep", "kept"], None);
    let pages = |status: &Value| status["counts"]["fetched"].as_u64().unwrap();
    for name in ["focused", "unfocused"] {
        let path = format!("/api/v1/w/{name}/status");
        let status = server.until(&path, |status| status["is_running"] == true && pages(status) > 15);
        assert_eq!(status["started_here"], true);
    }
    let harvest = |name: &str| server.read(&format!("/api/v1/w/{name}/status"))["harvest"].as_f64().unwrap();
    assert!(harvest("focused") > harvest("unfocused"));
    let paused = server.send("/api/v1/w/focused/commands", &json!({"what": "pause"}));
    assert_eq!(paused["failed"], false, "{paused}");
    server.end();
    assert!(folder.path().join("kept/focused/porthole.db").exists());
}

#[test]
fn a_crawl_serves_its_own_dashboard() {
    let folder = crawled();
    let crawl = ["-C", "ws", "crawl", "--web", "web.warc.gz", "--serve=127.0.0.1:0", "--json"];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_porthole"))
        .args(crawl)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("dashboard: http://127.0.0.1:"), "{said}");
    // Without a terminal it ends with the crawl, and standard output is for the summary.
    serde_json::from_slice::<Value>(&output.stdout).unwrap();
    let missing = std::process::Command::new(env!("CARGO_BIN_EXE_porthole"))
        .args(["-C", "none", "crawl", "--serve=127.0.0.1:0"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(4));
}
