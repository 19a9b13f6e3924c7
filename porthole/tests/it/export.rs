//! `porthole export` as a user runs it, on a crawl of a recorded web.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Output;

use porthole_store::{QueryAnswer, QueryLimits, SqliteReader, StoreReader};
use porthole_warc::{RecordKind, WarcReader};
use serde_json::Value;

use crate::crawl::{Workspace, porthole};

/// A workspace with a small crawl.
struct SmallCrawl {
    workspace: Workspace,
}

impl SmallCrawl {
    fn new() -> SmallCrawl {
        let workspace = Workspace::new();
        workspace.check(&["--pages", "200"], 0, "");
        SmallCrawl { workspace }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.workspace.folder.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        porthole(self.workspace.folder.path(), arguments).output().unwrap()
    }

    /// Standard output of a command that succeeds.
    fn succeeds(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Message of a command that fails.
    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?} should fail");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Output of a command on the crawl.
    fn on_crawl(&self, arguments: &[&str]) -> String {
        self.succeeds(&[&["-C", "ws"], arguments].concat())
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.on_crawl(arguments)).unwrap()
    }
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every command counts the same relevant pages.
fn check_relevant(crawl: &SmallCrawl, relevant: u64) {
    let status = crawl.json(&["status", "--json"]);
    assert_eq!(status["relevant"].as_u64(), Some(relevant), "{status}");
    let selected = crawl.json(&["export", "jsonl", "-o", "good.jsonl", "--min-relevance", "0.5", "--json"]);
    assert_eq!(selected["rows"].as_u64(), Some(relevant));
    let sites = crawl.json(&["query", "--json", "top-sites", "rows=10000"]);
    let of_sites: u64 = sites.as_array().unwrap().iter().map(|site| site["relevant"].as_u64().unwrap()).sum();
    assert_eq!(of_sites, relevant);
    let pages = crawl.on_crawl(&["top", "pages", "--csv", "--min-relevance", "0.5"]);
    assert_eq!(pages.lines().count() as u64, relevant + 1);
    crawl.on_crawl(&["report", "--out", "relevant.html"]);
    let report = std::fs::read_to_string(crawl.path("relevant.html")).unwrap();
    assert!(report.contains(&format!("of which {relevant} are relevant")), "{}", &report[..2_000]);
}

#[test]
fn rows_go_out_and_come_back_in() {
    let crawl = SmallCrawl::new();
    let pages = crawl.json(&["status", "--json"])["pages"].as_u64().unwrap();
    let summary = crawl.json(&["export", "jsonl", "-o", "pages.jsonl", "--json"]);
    assert_eq!((summary["rows"].as_u64(), summary["left_out"].as_u64()), (Some(pages), Some(0)));
    let rows = lines(&crawl.path("pages.jsonl"));
    assert_eq!(rows.len() as u64, pages);
    assert!(rows.iter().all(|row| row["mime"] == "text/html" && row["digest"].is_string()), "{}", rows[0]);
    let is_relevant = |row: &&Value| row["relevance"].as_f64() >= Some(0.5) && row["copy_of"].is_null();
    let good: Vec<&Value> = rows.iter().filter(is_relevant).collect();
    check_relevant(&crawl, good.len() as u64);
    let below = |row: &&Value| row["topic"].as_str().is_some_and(|topic| topic.starts_with("/Recreation"));
    let good: Vec<&Value> = good.into_iter().filter(below).collect();
    let selected = crawl.on_crawl(&["export", "csv", "--topic", "/Recreation", "--min-relevance", "0.5"]);
    assert!(good.len() > 21, "{}", good.len());
    assert_eq!(selected.lines().count(), good.len() + 1);
    assert!(selected.starts_with("url,status,mime,title,"), "{selected}");
    let top = crawl.on_crawl(&["top", "pages", "--csv", "--min-relevance", "0.5"]);
    assert!(top.lines().count() > 21, "more than the list for people: {top}");
    assert!(crawl.json(&["top", "pages", "--json"]).as_array().unwrap().len() == 20);
    let host = good[0]["url"].as_str().unwrap().split('/').nth(2).unwrap();
    let site = crawl.on_crawl(&["export", "jsonl", "--site", host, "--limit", "1"]);
    assert_eq!((site.lines().count(), site.contains(host)), (1, true));
    assert!(crawl.fails(&["-C", "ws", "export", "csv", "--site", "no.test"]).contains("no.test"));

    // What was exported is read by other commands.
    let known = crawl.json(&["status", "--json"])["known"].as_u64();
    let web = crawl.path("ws/pages/00000.warc.gz");
    fs::write(crawl.path("more.jsonl"), "{\"url\":\"http://more.test/\",\"title\":\"more\"}\n").unwrap();
    for file in ["pages.jsonl", "more.jsonl"] {
        let crawled = crawl.run(&[
            "-C",
            "ws",
            "crawl",
            "--start",
            file,
            "--web",
            web.to_str().unwrap(),
            "--pages",
            "1",
        ]);
        assert!(crawled.status.code() == Some(0), "{}", String::from_utf8_lossy(&crawled.stderr));
    }
    assert!(crawl.json(&["status", "--json"])["known"].as_u64() > known, "more.test is new");
    crawl.succeeds(&["init", "other"]);
    let imported: Value = serde_json::from_str(&crawl.succeeds(&[
        "-C",
        "other",
        "examples",
        "import",
        "pages.jsonl",
        "--json",
    ]))
    .unwrap();
    assert_eq!(imported["examples"].as_u64(), Some(pages), "{imported}");
}

/// What was judged of all URLs that were fetched.
fn judgments(workspace: &Path) -> QueryAnswer {
    let reader = SqliteReader::open(workspace.join("porthole.db")).unwrap();
    // That of a redirect is an estimate, which depends on who linked to it first.
    let sql = "select url, state, case state when 1 then relevance end, kcid, language from crawl \
               where state in (1, 2) order by url";
    reader.sql(sql, &QueryLimits::default()).unwrap()
}

#[test]
fn an_export_is_a_web_that_is_judged_the_same() {
    let crawl = SmallCrawl::new();
    crawl.on_crawl(&["export", "warc", "-o", "all.warc.gz"]);
    crawl.on_crawl(&["export", "warc", "-o", "parts", "--size", "100kB"]);
    let parts: Vec<String> = fs::read_dir(crawl.path("parts"))
        .unwrap()
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .collect();
    assert!(parts.len() > 1, "{parts:?}");
    let count = |path: &Path| {
        let records = WarcReader::new(File::open(path).unwrap()).map(|record| record.unwrap().kind);
        records.filter(|kind| *kind == RecordKind::Response).count()
    };
    let before = judgments(&crawl.path("ws"));
    assert!(before.rows.iter().any(|row| row[1].integer() == Some(2)), "redirects are kept");
    assert_eq!(count(&crawl.path("all.warc.gz")), before.rows.len());
    assert_eq!(parts.iter().map(|part| count(Path::new(part))).sum::<usize>(), before.rows.len());

    let starts: String = before.rows.iter().map(|row| format!("{}\n", row[0].text())).collect();
    fs::write(crawl.path("starts.txt"), starts).unwrap();
    for web in [vec!["all.warc.gz"], parts.iter().map(String::as_str).collect()] {
        let again = Workspace::new();
        let folder = again.folder.path();
        let starts = crawl.path("starts.txt");
        let mut arguments = vec!["-C", "ws", "crawl", "--start", starts.to_str().unwrap(), "--patience", "0"];
        let webs: Vec<PathBuf> = web.iter().map(|web| crawl.path(web)).collect();
        arguments.extend(webs.iter().flat_map(|web| ["--web", web.to_str().unwrap()]));
        let output = porthole(folder, &arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(judgments(&folder.join("ws")).rows, before.rows);
    }
    let refused = crawl.fails(&["-C", "ws", "export", "warc", "-o", "one.warc.gz", "--size", "1MB"]);
    assert!(refused.contains("--size"), "{refused}");
    let refused = crawl.fails(&["-C", "ws", "export", "warc", "-o", "parts"]);
    assert!(refused.contains("parts exists"), "{refused}");
}

#[test]
fn links_skipped_urls_and_topics_go_out() {
    let crawl = SmallCrawl::new();
    let pages = crawl.json(&["status", "--json"])["pages"].as_u64();
    let graph = crawl.json(&["export", "graph", "-o", "graph.graphml", "--json"]);
    let xml = fs::read_to_string(crawl.path("graph.graphml")).unwrap();
    assert_eq!((graph["pages"].as_u64(), xml.matches("<node ").count() as u64), (pages, pages.unwrap()));
    let edges = crawl.on_crawl(&["export", "graph", "--edges"]);
    assert_eq!(
        (graph["links"].as_u64(), edges.lines().count()),
        (Some(edges.lines().count() as u64), xml.matches("<edge ").count())
    );
    assert!(
        edges.lines().count() > 100 && edges.lines().all(|line| line.split('\t').count() == 3),
        "{edges}"
    );
    let skipped = crawl.on_crawl(&["export", "skipped"]);
    let sql = "select count(*) as n from crawl where state > 2";
    let expected = crawl.json(&["query", sql, "--json"])[0]["n"].as_u64();
    assert_eq!(Some(skipped.lines().count() as u64), expected);
    // The name of a file says its format.
    crawl.on_crawl(&["export", "graph", "-o", "links.tsv"]);
    assert_eq!(fs::read_to_string(crawl.path("links.tsv")).unwrap(), edges);
    crawl.on_crawl(&["export", "skipped", "-o", "skipped.CSV"]);
    let csv = fs::read_to_string(crawl.path("skipped.CSV")).unwrap();
    assert!(csv.starts_with("url,reason,") && csv.lines().count() > skipped.lines().count(), "{csv}");

    let summary = crawl.json(&["export", "taxonomy", "-o", "shared.taxonomy", "--json"]);
    let tree = |workspace: &str| -> Vec<(Value, Value)> {
        let tree: Value =
            serde_json::from_str(&crawl.succeeds(&["-C", workspace, "topics", "tree", "--json"])).unwrap();
        let topics = tree.as_array().unwrap().iter();
        topics.map(|topic| (topic["path"].clone(), topic["mark"].clone())).collect()
    };
    assert_eq!(summary["topics"].as_u64(), Some(tree("ws").len() as u64 - 1), "{summary}");
    crawl.succeeds(&["init", "other", "--taxonomy", "shared.taxonomy"]);
    assert_eq!(tree("other"), tree("ws"), "with its marks");
    // Its critic was trained on the same counts.
    let row = crawl.on_crawl(&[
        "export",
        "jsonl",
        "--topic",
        "/Recreation",
        "--min-relevance",
        "0.9",
        "--limit",
        "1",
    ]);
    let row: Value = serde_json::from_str(&row).unwrap();
    let web = crawl.path("ws/pages/00000.warc.gz");
    let judged = crawl.succeeds(&[
        "-C",
        "other",
        "classify",
        row["url"].as_str().unwrap(),
        "--web",
        web.to_str().unwrap(),
        "--json",
    ]);
    let judged: Value = serde_json::from_str(&judged).unwrap();
    assert!(judged[0]["relevance"].as_f64() > Some(0.5), "{judged}");
}

#[test]
fn archives_are_indexed() {
    let crawl = SmallCrawl::new();
    let pages = judgments(&crawl.path("ws")).rows.len();
    let index = crawl.on_crawl(&["export", "cdxj"]);
    assert_eq!(index.lines().count(), pages);
    assert!(index.lines().is_sorted() && index.contains("\"filename\":\"00000.warc.gz\""), "{index}");
    let summary = crawl.json(&["export", "wacz", "-o", "all.wacz", "--json"]);
    assert_eq!((summary["format"].as_str(), summary["rows"].as_u64()), (Some("wacz"), Some(pages as u64)));
    let good = crawl.json(&["export", "wacz", "-o", "good.wacz", "--min-relevance", "0.5", "--json"]);
    assert!(good["rows"].as_u64() < summary["rows"].as_u64() && good["rows"].as_u64() > Some(0), "{good}");
    assert!(fs::read(crawl.path("good.wacz")).unwrap().starts_with(b"PK"));
}
