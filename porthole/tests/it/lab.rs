//! Experiments and reports.

use std::fs;
use std::path::Path;

use crate::crawl::{Workspace, check, porthole};

fn ok(folder: &Path, arguments: &[&str]) -> String {
    check(&porthole(folder, arguments).output().unwrap(), 0, "")
}

fn refused(folder: &Path, arguments: &[&str], words: &str) {
    check(&porthole(folder, arguments).output().unwrap(), 4, words);
}

#[test]
fn an_experiment_goes_from_a_recorded_crawl_to_a_report() {
    let workspace = Workspace::new();
    let folder = workspace.folder.path();
    refused(folder, &["-C", "ws", "report"], "nothing has been crawled");
    refused(folder, &["-C", "ws", "lab", "record", "web"], "the archive is empty");
    workspace.check(&["--pages", "300"], 0, "");
    ok(folder, &["-C", "ws", "distill"]);

    // The report.
    let report = ok(folder, &["-C", "ws", "report"]);
    let report = fs::read_to_string(folder.join(report.lines().next().unwrap())).unwrap();
    for id in
        ["next", "harvest", "relevance", "pages", "authorities", "hubs", "sites", "communities", "census"]
    {
        assert!(report.contains(&format!("<section id=\"{id}\">")), "there is no {id}");
    }
    assert!(!report.contains("<script") && !report.contains("src="), "it needs nothing else");

    // A recorded web with true labels: those of the synthetic web.
    let labels: String =
        workspace.recording.topics.iter().map(|(url, topic)| format!("{url}\t{topic}\n")).collect();
    fs::write(folder.join("truth.tsv"), labels).unwrap();
    let record = ["-C", "ws", "lab", "record", "again", "--json"];
    let by_critic: serde_json::Value = serde_json::from_str(&ok(folder, &record)).unwrap();
    assert_eq!(by_critic["labels_by"], "critic");
    let record = ["-C", "ws", "lab", "record", "web", "--labels", "truth.tsv", "--json"];
    let facts: serde_json::Value = serde_json::from_str(&ok(folder, &record)).unwrap();
    let stats: serde_json::Value =
        serde_json::from_str(&ok(folder, &["lab", "web-stats", "web/web.warc.gz", "--json"])).unwrap();
    assert_eq!((&facts["pages"], &facts["labels_by"]), (&stats["pages"], &"file".into()));
    assert!(facts["labelled"].as_u64().unwrap() > 200, "{facts}");
    refused(folder, &record, "already exists");

    // An experiment on it.
    let run = [
        "lab",
        "run",
        "web/experiment.toml",
        "--strategies",
        "random,soft,apprentice:train=5,again=2,oracle",
        "--at",
        "10,20",
        "--samples",
        "2",
        "--start",
        "1",
        "--train",
        "0.1",
        "--out",
        "out",
    ];
    ok(folder, &run);
    let results = fs::read_to_string(folder.join("out/results.jsonl")).unwrap();
    assert_eq!(results.lines().count(), 8);
    assert!(results.contains("\"apprentice:train=5,again=2\""), "{results}");
    let page = ok(folder, &["lab", "figures", "out"]);
    assert!(
        fs::read_to_string(folder.join(page.lines().next().unwrap())).unwrap().contains("id=\"harvest\"")
    );
    let compared =
        ok(folder, &["lab", "compare", "oracle", "random", "--in", "out", "--html", "compared.html"]);
    assert!(compared.contains("recall at 20") && compared.contains("95% interval"), "{compared}");
    assert!(folder.join("compared.html").exists());
    let same = ok(folder, &["lab", "compare", "out", "out", "--strategy", "soft"]);
    assert!(same.contains("+0.0000 (95% interval +0.0000 to +0.0000"), "{same}");
    refused(folder, &["lab", "compare", "soft", "hard", "--in", "out"], "there are no crawls of \"hard\"");
    refused(folder, &["lab", "compare", "soft", "hard"], "--in DIR");
    refused(folder, &["lab", "figures", "web"], "no results here");
    refused(folder, &[&run[..], &["--seed", "9"]].concat(), "with a different seed");
    refused(folder, &["lab", "run", "--strategies", "soft,train=5"], "write soft:train=5");
    refused(folder, &["lab", "run", "--topics", "/A"], "web is missing: set it in the file, or with --web");
}
