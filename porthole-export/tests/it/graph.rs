//! The link graph, and what was not fetched.

use std::fs;

use porthole_export::{
    CsvSkipped, ExportOutput, ExportPages, ExportSkipped, ExportedGraph, GraphFormat, JsonSkipped,
    SKIPPED_COLUMNS, export, export_graph,
};
use porthole_store::PageFilter;
use porthole_types::{FailureKind, PageResult};
use serde_json::{Value, json};

use crate::crawl::{TestCrawl, failed, link, page, tree};

/// a links to b and c, b to c and to a page that was not fetched, c to itself.
fn linked() -> TestCrawl {
    let crawl = TestCrawl::new();
    let results = [
        PageResult {
            links: vec![link("b.test/?x=1&y=2", "to <b> & \u{1}on\ttab"), link("c.test/", "")],
            title: "\"A\" <1>".into(),
            ..page(1, "a.test/", 0.9, 2)
        },
        PageResult {
            links: vec![link("c.test/", "b to c"), link("not.test/", "nowhere")],
            ..page(2, "b.test/?x=1&y=2", 0.5, 4)
        },
        PageResult { links: vec![link("c.test/", "self")], ..page(3, "c.test/", 0.1, 4) },
        failed(4, "robots.test/", FailureKind::Robots, 0),
        failed(5, "gone.test/", FailureKind::Status, 404),
        failed(6, "busy.test/", FailureKind::Status, 429),
        failed(7, "trap.test/", FailureKind::Trap, 0),
    ];
    let names =
        ["a.test/", "b.test/?x=1&y=2", "c.test/", "robots.test/", "gone.test/", "busy.test/", "trap.test/"];
    crawl.commit(&results, &names);
    crawl
}

fn graph(crawl: &TestCrawl, filter: PageFilter, format: GraphFormat) -> (ExportedGraph, String) {
    let (reader, tree) = (crawl.reader(), tree());
    let source = ExportPages::new(&reader, filter, crawl.folder.path());
    let path = crawl.path("graph");
    let output = ExportOutput::file(&path);
    let made = export_graph(&source, &reader, &tree, format, output, &mut |_, _| {}).unwrap();
    (made, fs::read_to_string(path).unwrap())
}

#[test]
fn edges_are_those_between_selected_pages() {
    let crawl = linked();
    let (made, text) = graph(&crawl, PageFilter::default(), GraphFormat::Edges);
    assert_eq!(made, ExportedGraph { pages: 3, links: 4 });
    assert_eq!(
        text,
        "http://a.test/\thttp://b.test/?x=1&y=2\tto <b> &  on tab\n\
         http://a.test/\thttp://c.test/\t\n\
         http://b.test/?x=1&y=2\thttp://c.test/\tb to c\n\
         http://c.test/\thttp://c.test/\tself\n"
    );
    let good = PageFilter { min_relevance: Some(0.5), ..PageFilter::default() };
    assert_eq!(graph(&crawl, good, GraphFormat::Edges).0, ExportedGraph { pages: 2, links: 1 });
}

#[test]
fn graphml_is_xml_whatever_the_pages_say() {
    let (made, text) = graph(&linked(), PageFilter::default(), GraphFormat::GraphMl);
    assert_eq!((made.pages, text.matches("<node ").count()), (3, 3));
    assert_eq!(text.matches("<edge source=\"n1\" target=\"n2\">").count(), 1);
    assert!(text.contains("<data key=\"title\">&quot;A&quot; &lt;1&gt;</data>"), "{text}");
    assert!(text.contains("<data key=\"anchor\">to &lt;b&gt; &amp; \u{fffd}on\ttab</data>"), "{text}");
    assert!(text.contains("<data key=\"topic\">/Sport/Cycling</data>"), "{text}");
    assert!(text.ends_with("</graph>\n</graphml>\n"));
}

#[test]
fn skipped_urls_have_reasons() {
    let crawl = linked();
    let reader = crawl.reader();
    let source = ExportSkipped::new(&reader, crawl.folder.path());
    let path = crawl.path("skipped");
    let output = || ExportOutput::file(&path);
    let done = export(&source, &mut JsonSkipped, output(), None, &mut |_, _| {}).unwrap();
    let rows: Vec<Value> =
        fs::read_to_string(&path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let reasons: Vec<&str> = rows.iter().map(|row| row["reason"].as_str().unwrap()).collect();
    assert_eq!((done.rows, reasons), (4, vec!["robotsTxt", "failed", "rateLimited", "trap"]));
    assert_eq!(
        rows[1],
        json!({
            "url": "http://gone.test/", "reason": "failed", "state": "dead", "failure": "status",
            "detail": "status failed", "status": 404, "tried": "1970-01-06T00:00:00Z", "distance": 0,
            "relevance": 0.5,
        })
    );
    export(&source, &mut CsvSkipped, output(), Some(1), &mut |_, _| {}).unwrap();
    let csv = fs::read_to_string(&path).unwrap();
    assert_eq!((csv.lines().count(), csv.lines().next()), (2, Some(SKIPPED_COLUMNS.join(",").as_str())));
}
