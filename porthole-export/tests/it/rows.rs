//! JSONL and CSV: what is in a row, and which rows there are.

use std::fs;

use porthole_export::{CsvPages, ExportOutput, ExportPages, Exported, JsonPages, PAGE_COLUMNS, export};
use porthole_store::{PageFilter, StoreReader};
use porthole_types::{FailureKind, PageResult, Timestamp, TopicId};
use serde_json::{Value, json};

use crate::crawl::{DAY, MANY, TestCrawl, archive, failed, link, many, name, page, tree, url};

fn jsonl(crawl: &TestCrawl, filter: PageFilter, limit: Option<u64>) -> (Exported, Vec<Value>) {
    let (reader, tree) = (crawl.reader(), tree());
    let source = ExportPages::new(&reader, filter, crawl.folder.path());
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join("out.jsonl");
    let mut writer = JsonPages::new(&tree, &crawl.pages());
    let done = export(&source, &mut writer, ExportOutput::file(&path), limit, &mut |_, _| {}).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 1, "nothing else is left");
    (done, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn urls(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["url"].as_str().unwrap().trim_start_matches("http://")).collect()
}

fn small() -> TestCrawl {
    let crawl = TestCrawl::new();
    let span = archive(&crawl.pages(), 3, &[("b.test/", "<p>Hello")])[0];
    let mut first = page(1, "a.test/", 0.9, 2);
    first.links = vec![link("x.a.test/", "below"), link("none.test/", "")];
    let second = PageResult { span: Some(span), language: "de".into(), ..page(2, "b.test/", 0.25, 4) };
    let third = PageResult { copy_of: Some(url("a.test/").id()), ..page(3, "x.a.test/", 0.5, 3) };
    let unjudged = PageResult { judgment: None, title: "=1+1".into(), ..page(4, "a.test:81/", 0.0, 0) };
    let dead = failed(5, "dead.test/", FailureKind::Dns, 0);
    crawl.commit(&[first, second, dead], &["a.test/", "b.test/", "dead.test/", "a.test:81/"]);
    crawl.commit(&[third, unjudged], &[]);
    crawl.score(&[("a.test/", 0.75)], &[("b.test/", 0.5)]);
    crawl
}

#[test]
fn a_row_has_what_the_tables_and_the_archive_have() {
    let (done, rows) = jsonl(&small(), PageFilter::default(), None);
    assert_eq!(urls(&rows), ["a.test/", "b.test/", "a.test:81/", "x.a.test/"]);
    assert_eq!((done.rows, done.left_out, done.is_limited), (4, 0, false));
    let oid = |name: &str| url(name).id().0.cast_signed();
    let digest = rows[1]["digest"].as_str().unwrap();
    assert!(digest.starts_with("sha1:") && digest.len() == 37, "{digest}");
    assert_eq!(
        rows[1],
        json!({
            "url": "http://b.test/", "status": 200, "mime": "text/html", "title": "page 2", "language": "de",
            "fetched": "1970-01-03T00:00:00Z", "relevance": 0.25, "topic": "/Health", "hub": null,
            "authority": 0.5, "distance": 0, "copy_of": null, "digest": digest, "bytes": 1234,
            "segment": "00003.warc.zst", "offset": rows[1]["offset"], "length": rows[1]["length"],
            "oid": oid("b.test/"),
        })
    );
    assert_eq!(
        (&rows[0]["hub"], &rows[0]["mime"], &rows[0]["topic"]),
        (&json!(0.75), &json!(null), &json!("/Sport/Cycling"))
    );
    assert_eq!((&rows[2]["relevance"], &rows[2]["topic"]), (&json!(null), &json!(null)));
    assert_eq!((&rows[3]["copy_of"], &rows[3]["distance"]), (&json!(oid("a.test/")), &json!(1)));
}

#[test]
fn filters_select_pages() {
    let crawl = small();
    let check = |filter: PageFilter, expected: &[&str]| {
        let what = format!("{filter:?}");
        assert_eq!(urls(&jsonl(&crawl, filter, None).1), expected, "{what}");
    };
    let all = PageFilter::default;
    let sites = |host: &str| Some(crawl.reader().sites_below(host).unwrap());
    check(PageFilter { topics: Some(tree().below(TopicId(1))), ..all() }, &["a.test/", "x.a.test/"]);
    check(PageFilter { topics: Some(vec![TopicId(4)]), ..all() }, &["b.test/"]);
    check(PageFilter { topics: Some(Vec::new()), ..all() }, &[]);
    check(PageFilter { min_relevance: Some(0.5), ..all() }, &["a.test/"]);
    check(PageFilter { min_relevance: Some(0.0), ..all() }, &["a.test/", "b.test/", "x.a.test/"]);
    check(PageFilter { sites: sites("a.test"), ..all() }, &["a.test/", "a.test:81/", "x.a.test/"]);
    check(PageFilter { sites: sites("x.a.test"), ..all() }, &["x.a.test/"]);
    assert_eq!(sites("est"), Some(Vec::new()), "no part of a name");
    assert_eq!(sites("%"), Some(Vec::new()), "no pattern");
    check(PageFilter { languages: Some(vec!["de".into()]), ..all() }, &["b.test/"]);
    check(PageFilter { languages: Some(vec!["d\"e".into()]), ..all() }, &["b.test/"]);
    let (since, until) = (Some(Timestamp(2 * DAY)), Some(Timestamp(4 * DAY)));
    check(PageFilter { since, until, ..all() }, &["b.test/", "x.a.test/"]);
    let (limited, rows) = jsonl(&crawl, all(), Some(2));
    assert_eq!((urls(&rows), limited.is_limited), (vec!["a.test/", "b.test/"], true));
}

#[test]
fn csv_has_a_head_and_no_formulas() {
    let crawl = small();
    let (reader, tree) = (crawl.reader(), tree());
    let source = ExportPages::new(&reader, PageFilter::default(), crawl.folder.path());
    let path = crawl.path("out.csv");
    let mut writer = CsvPages::new(&tree, &crawl.pages());
    export(&source, &mut writer, ExportOutput::file(&path), None, &mut |_, _| {}).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (5, PAGE_COLUMNS.join(",").as_str()));
    assert!(lines[3].starts_with("http://a.test:81/,200,,'=1+1,en,"), "{}", lines[3]);
    let columns = |line: &str| line.split(',').count();
    assert!(lines.iter().all(|line| columns(line) == PAGE_COLUMNS.len()), "{text}");
}

#[test]
fn fifty_thousand_rows_in_are_fifty_thousand_rows_out() {
    let crawl = many();
    let (done, rows) = jsonl(crawl, PageFilter::default(), None);
    assert_eq!((done.rows, rows.len() as u64), (MANY, MANY));
    let expected: Vec<String> = (1..=MANY).map(name).collect();
    assert_eq!(urls(&rows), expected, "each once, in the order of discovery");
    // A hundredth of them each: 0.97, 0.98 and 0.99.
    let good = PageFilter { min_relevance: Some(0.97), ..PageFilter::default() };
    assert_eq!(jsonl(crawl, good, None).0.rows, MANY / 100 * 3);
    let (reader, tree) = (crawl.reader(), tree());
    let source = ExportPages::new(&reader, PageFilter::default(), crawl.folder.path());
    let path = crawl.path("many.csv");
    let mut writer = CsvPages::new(&tree, &crawl.pages());
    let done = export(&source, &mut writer, ExportOutput::file(&path), None, &mut |_, _| {}).unwrap();
    let lines = fs::read_to_string(&path).unwrap().lines().count() as u64;
    assert_eq!((done.rows, lines), (MANY, MANY + 1));
}
