//! WARC, CDXJ and WACZ: what is in them, and that every index entry finds its record.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::path::Path;
use std::process::Command;

use flate2::read::MultiGzDecoder;
use porthole_export::{
    CdxPages, DocumentFormat, DocumentPages, ExportOutput, ExportPages, WaczDescription, WarcDescription,
    WarcPages, export, export_wacz, surt,
};
use porthole_store::{PageFilter, SqliteReader};
use porthole_types::{CanonicalUrl, Outcome, PageResult, Timestamp};
use porthole_warc::{RecordKind, RecordPlace, WarcReader, WarcRecord, read_record};
use serde_json::Value;

use crate::crawl::{DAY, TestCrawl, archive, link, page, tree, url};

/// A crawl with pages in two segments, a redirect, and a page that is not kept.
fn archived() -> TestCrawl {
    let crawl = TestCrawl::new();
    let first = archive(&crawl.pages(), 0, &[("a.test/", "<p>First"), ("www.b.test/X?b=1&a=2", "<p>Second")]);
    let second = archive(&crawl.pages(), 1, &[("c.test/", &"long ".repeat(5_000)), ("r.test/", "moved")]);
    let spans = [first, second].concat();
    let names = ["a.test/", "www.b.test/X?b=1&a=2", "c.test/"];
    let mut results: Vec<PageResult> = (1..)
        .zip(names)
        .map(|(seq, name)| PageResult {
            span: Some(spans[seq as usize - 1]),
            ..page(seq, name, 0.25 * seq as f64, 2)
        })
        .collect();
    results.push(PageResult {
        span: Some(spans[3]),
        outcome: Outcome::Redirected,
        status: 301,
        judgment: None,
        links: vec![link("c.test/", "")],
        ..page(4, "r.test/", 0.0, 0)
    });
    results.push(page(5, "lost.test/", 0.5, 2));
    crawl.commit(&results, &[&names[..], &["r.test/", "lost.test/"]].concat());
    crawl.score(&[("a.test/", 0.125)], &[]);
    crawl
}

fn about() -> WarcDescription {
    WarcDescription {
        software: "porthole/test".into(),
        operator: Some("somebody@example.org".into()),
        description: "all".into(),
        made: Timestamp(10 * DAY),
    }
}

fn records(path: &Path) -> Vec<WarcRecord> {
    WarcReader::new(File::open(path).unwrap()).collect::<Result<_, _>>().unwrap()
}

fn source<'a>(crawl: &TestCrawl, reader: &'a SqliteReader) -> ExportPages<'a> {
    let filter = PageFilter { redirects: true, ..PageFilter::default() };
    ExportPages::new(reader, filter, crawl.folder.path())
}

/// Runs warcio on a file, if it is there.
fn warcio(arguments: &[&str], path: &Path) -> Option<String> {
    let program = std::env::var_os("WARCIO").filter(|program| !program.is_empty())?;
    let output = Command::new(program).args(arguments).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_warc_has_the_records_of_the_archive_and_what_is_known_of_them() {
    let (crawl, tree) = (archived(), tree());
    let reader = crawl.reader();
    let path = crawl.path("out.warc.gz");
    let mut writer = WarcPages::new(&tree, &crawl.pages(), about());
    let done = export(&source(&crawl, &reader), &mut writer, ExportOutput::file(&path), None, &mut |_, _| {})
        .unwrap();
    assert_eq!((done.rows, done.left_out), (4, 1));
    assert!(done.first_reason.unwrap().contains("lost.test"));
    let found = records(&path);
    let kinds: Vec<&str> = found.iter().map(|record| record.kind.name()).collect();
    let (response, metadata) = ("response", "metadata");
    assert_eq!(kinds, ["warcinfo", response, metadata, response, metadata, response, metadata, response]);
    let info = String::from_utf8_lossy(&found[0].block).into_owned();
    assert!(
        info.contains("operator: somebody@example.org\r\n") && info.contains("software: porthole/test\r\n")
    );
    assert_eq!(found[0].headers.get("WARC-Filename"), Some("out.warc.gz"));
    let original = records(&crawl.pages().join("00000.warc.gz"));
    let without_place = |record: &WarcRecord| WarcRecord { place: RecordPlace::default(), ..record.clone() };
    assert_eq!(without_place(&found[1]), without_place(&original[1]));
    let about = String::from_utf8_lossy(&found[2].block).into_owned();
    assert_eq!(
        about,
        "topic: /Sport/Cycling\r\nrelevance: 0.25\r\nhub: 0.125\r\ndistance: 0\r\nlanguage: en\r\ntitle: page 1\r\n"
    );
    assert_eq!(found[2].refers_to(), found[1].id());
    if warcio(&["check", "-v"], &path).is_none() {
        println!("SKIPPED: set WARCIO to check the export with warcio");
    }
    let index = warcio(&["index", "-f", "warc-type,offset"], &path);
    assert!(index.is_none_or(|index| index.lines().count() == found.len()));
}

#[test]
fn warcs_roll_over() {
    let (crawl, tree) = (archived(), tree());
    let reader = crawl.reader();
    let path = crawl.path("out");
    let mut writer = WarcPages::new(&tree, &crawl.pages(), about());
    let output = ExportOutput::folder(&path, "warc.gz", 1_000);
    export(&source(&crawl, &reader), &mut writer, output, None, &mut |_, _| {}).unwrap();
    let mut names: Vec<String> =
        fs::read_dir(&path).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(names.len() > 1 && names[1] == "out-00001.warc.gz", "{names:?}");
    let mut responses = 0;
    for name in &names {
        let found = records(&path.join(name));
        assert_eq!(
            (found[0].kind, found[0].headers.get("WARC-Filename")),
            (RecordKind::Warcinfo, Some(name.as_str()))
        );
        responses += found.iter().filter(|record| record.kind == RecordKind::Response).count();
    }
    assert_eq!(responses, 4);
}

/// Checks that the line of an index finds its record; returns the URL.
fn check_line(line: &str, archive: &dyn Fn(&str) -> Vec<u8>) -> String {
    let mut parts = line.splitn(3, ' ');
    let (key, time) = (parts.next().unwrap(), parts.next().unwrap());
    let entry: Value = serde_json::from_str(parts.next().unwrap()).unwrap();
    let text = |name: &str| entry[name].as_str().unwrap().to_owned();
    let number = |name: &str| text(name).parse::<u64>().unwrap();
    let place = RecordPlace { offset: number("offset"), inside: 0, length: number("length") };
    let bytes = archive(&text("filename"));
    let member = &bytes[place.offset as usize..(place.offset + place.length) as usize];
    let record = read_record(Cursor::new(member), place, 1 << 20).unwrap();
    assert_eq!(record.target(), Some(text("url").as_str()));
    assert_eq!(key, surt(&CanonicalUrl::parse(&text("url")).unwrap()));
    assert_eq!(
        (time, text("mime").as_str(), text("status").as_str()),
        ("19700102000000", "text/html", "200")
    );
    assert_eq!(record.payload_digest(), Some(text("digest").as_str()));
    text("url")
}

#[test]
fn an_index_is_sorted_and_finds_every_record() {
    let crawl = archived();
    let reader = crawl.reader();
    let path = crawl.path("index.cdxj");
    let done = export(
        &source(&crawl, &reader),
        &mut CdxPages::new(&crawl.pages()),
        ExportOutput::file(&path),
        None,
        &mut |_, _| {},
    );
    assert_eq!(done.unwrap().rows, 4);
    let text = fs::read_to_string(&path).unwrap();
    let archive = |name: &str| fs::read(crawl.pages().join(name)).unwrap();
    let urls: Vec<String> = text.lines().map(|line| check_line(line, &archive)).collect();
    let expected =
        ["a.test/", "www.b.test/X?b=1&a=2", "c.test/", "r.test/"].map(|name| url(name).to_string());
    assert_eq!(urls, expected, "by key: www. does not count");
    assert!(text.lines().is_sorted());
}

/// The files of a ZIP archive, which must be stored.
fn unpacked(path: &Path) -> HashMap<String, Vec<u8>> {
    let mut zip = zip::ZipArchive::new(File::open(path).unwrap()).unwrap();
    let names: Vec<String> = zip.file_names().map(|name| name.unwrap().into_owned()).collect();
    let mut read = |name: &String| {
        let mut entry = zip.by_name(name).unwrap();
        assert_eq!(entry.compression(), zip::CompressionMethod::Stored, "{name}");
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        bytes
    };
    names.iter().map(|name| (name.clone(), read(name))).collect()
}

#[test]
fn a_wacz_is_whole() {
    let (crawl, tree) = (archived(), tree());
    let reader = crawl.reader();
    let path = crawl.path("out.wacz");
    let describe =
        WaczDescription { title: "Cycling".into(), made: Timestamp(10 * DAY), ..WaczDescription::default() };
    let make = |limit| {
        let mut writer = WarcPages::new(&tree, &crawl.pages(), about());
        export_wacz(&source(&crawl, &reader), &mut writer, &path, (1_000, limit), &describe, &mut |_, _| {})
            .unwrap()
    };
    assert_eq!((make(None).rows, path.with_added_extension("part").exists()), (4, false));
    let files = unpacked(&path);
    let json = |name: &str| serde_json::from_slice::<Value>(&files[name]).unwrap();
    let package = json("datapackage.json");
    assert_eq!(
        (&package["wacz_version"], &package["created"]),
        (&"1.1.1".into(), &"1970-01-11T00:00:00Z".into())
    );
    let resources = package["resources"].as_array().unwrap();
    assert_eq!(resources.len() + 2, files.len(), "all but the package and its digest: {resources:?}");
    for resource in resources {
        assert_eq!(resource["bytes"], files[resource["path"].as_str().unwrap()].len());
    }
    let mut cdx = String::new();
    MultiGzDecoder::new(&files["indexes/index.cdx.gz"][..]).read_to_string(&mut cdx).unwrap();
    let archive = |name: &str| files[&format!("archive/{name}")].clone();
    let found: Vec<String> = cdx.lines().map(|line| check_line(line, &archive)).collect();
    assert_eq!(found.len(), 4);
    let blocks = String::from_utf8(files["indexes/index.idx"].clone()).unwrap();
    let lines: Vec<&str> = blocks.lines().collect();
    assert!(
        lines.len() == 2
            && lines[0].starts_with("!meta 0 {")
            && lines[1].starts_with("test,a)/ 19700102000000 {"),
        "{blocks}"
    );
    let pages = String::from_utf8(files["pages/pages.jsonl"].clone()).unwrap();
    let pages: Vec<Value> = pages.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((pages.len(), &pages[0]["format"]), (4, &"json-pages-1.0".into()));
    assert_eq!((&pages[2]["relevance"], &pages[2]["topic"]), (&0.5.into(), &"/Sport/Cycling".into()));
    assert_eq!((&pages[2]["title"], &pages[2]["ts"]), (&"page 2".into(), &"1970-01-02T00:00:00Z".into()));

    // What another export left is not used.
    fs::create_dir_all(path.with_added_extension("part").join("data")).unwrap();
    fs::write(path.with_added_extension("part").join("request"), "another").unwrap();
    assert_eq!(make(Some(2)).rows, 2);
    assert_eq!(String::from_utf8_lossy(&unpacked(&path)["pages/pages.jsonl"]).lines().count(), 3);
}

#[test]
fn documents_are_the_main_content_under_a_head() {
    let crawl = TestCrawl::new();
    let long =
        "Owls hunt at night, and their feathers make no sound when they fly over the fields. ".repeat(4);
    let html = format!(
        "<nav><a href=/1>Home</a> <a href=/2>About</a></nav><h1>Barn owls</h1><p>{long}<p>See <a href=/n>\
         nests</a>, <a href='javascript:x()'>not</a>. {long}<footer>Imprint</footer>"
    );
    let spans = archive(&crawl.pages(), 0, &[("a.test/", &html), ("b.test/", "<p>Short")]);
    let result = |seq: u64, name, at: usize| PageResult { span: Some(spans[at]), ..page(seq, name, 0.5, 2) };
    let odd = PageResult { title: "a \"b\": c\n---".into(), ..result(2, "b.test/", 1) };
    crawl.commit(
        &[result(1, "a.test/", 0), odd, page(3, "lost.test/", 0.5, 2)],
        &["a.test/", "b.test/", "lost.test/"],
    );
    let reader = crawl.reader();
    for (format, ending) in [(DocumentFormat::Markdown, "md"), (DocumentFormat::Text, "txt")] {
        let folder = crawl.path(ending);
        let source = ExportPages::new(&reader, PageFilter::default(), Path::new("test"));
        let tree = tree();
        let mut writer = DocumentPages::new(format, &tree, &crawl.pages());
        let output = ExportOutput::folder(&folder, ending, 1);
        let exported = export(&source, &mut writer, output, None, &mut |_, _| {}).unwrap();
        assert_eq!((exported.rows, exported.left_out), (2, 1));
        let read = |number: usize| {
            fs::read_to_string(folder.join(format!("{ending}-{number:05}.{ending}"))).unwrap()
        };
        let first = read(0);
        assert!(
            first.starts_with("---\nurl: \"http://a.test/\"\n") && first.contains("\nrelevance: 0.5\n"),
            "{first}"
        );
        assert!(
            first.contains("Barn owls") && !first.contains("Imprint") && !first.contains("javascript"),
            "{first}"
        );
        assert_eq!(first.contains("[nests](http://a.test/n)"), format == DocumentFormat::Markdown, "{first}");
        assert!(read(1).contains("title: \"a \\\"b\\\": c\\n---\"\n"), "{}", read(1));
    }
}

#[test]
fn a_wacz_never_replaces_a_folder() {
    let crawl = archived();
    let reader = crawl.reader();
    let source = ExportPages::new(&reader, PageFilter::default(), Path::new("test"));
    let tree = tree();
    let folder = crawl.path("taken");
    fs::create_dir_all(folder.join("x.wacz.part")).unwrap();
    fs::write(folder.join("x.wacz.part/mine"), "mine").unwrap();
    let about = WaczDescription {
        title: String::new(),
        description: String::new(),
        software: "porthole/test".into(),
        made: Timestamp(0),
    };
    for to in [folder.clone(), folder.join("."), folder.join(".."), folder.join("x.wacz")] {
        let mut writer = WarcPages::new(&tree, &crawl.pages(), self::about());
        let error =
            export_wacz(&source, &mut writer, &to, (1 << 30, None), &about, &mut |_, _| {}).unwrap_err();
        assert!(matches!(error, porthole_export::Error::Exists(_)), "{}: {error}", to.display());
    }
    assert_eq!(fs::read_to_string(folder.join("x.wacz.part/mine")).unwrap(), "mine");
    assert!(crawl.pages().join("00000.warc.gz").exists());
}
