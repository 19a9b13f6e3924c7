//! Request records: a crawl over HTTP archives what it has sent, and an export has it.

use std::fs::{self, File};
use std::path::Path;

use porthole_warc::{RecordKind, WarcReader, WarcRecord};
use tempfile::TempDir;

use crate::start::{OWLS, Server, check, on_loopback, page};

/// A workspace with a topic.
fn trained() -> TempDir {
    let folder = on_loopback();
    fs::write(folder.path().join("owls.txt"), OWLS).unwrap();
    check(folder.path(), &["-C", "ws", "examples", "add", "/Owls", "owls.txt"], 0, "");
    check(folder.path(), &["-C", "ws", "topics", "mark", "/Owls"], 0, "");
    check(folder.path(), &["-C", "ws", "train"], 0, "");
    folder
}

fn records(path: &Path) -> Vec<WarcRecord> {
    WarcReader::new(File::open(path).unwrap()).collect::<Result<_, _>>().unwrap()
}

/// Responses with the requests that follow them, which must belong to them.
fn exchanges(records: &[WarcRecord]) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    for pair in records.windows(2).filter(|pair| pair[1].kind == RecordKind::Request) {
        let [response, request] = pair else { unreachable!() };
        assert!(response.is_http_response(), "{response:?}");
        assert_eq!(request.concurrent_to(), response.id());
        assert_eq!((request.target(), request.date()), (response.target(), response.date()));
        found.push((response.target().unwrap(), String::from_utf8(request.block.clone()).unwrap()));
    }
    assert_eq!(found.len(), records.iter().filter(|record| record.kind == RecordKind::Request).count());
    found
}

#[test]
fn requests_are_recorded_as_they_were_sent() {
    let server = Server::new(&[
        ("/owl?b=1&a=%20", page("Owls", OWLS, &[("/moved".to_owned(), "nests"), ("/gone".to_owned(), "x")])),
        ("/moved", ">/nest".to_owned()),
        ("/nest", page("Nests", OWLS, &[])),
    ]);
    let folder = trained();
    let start = server.url("/owl?b=1&a=%20");
    let crawl = ["-C", "ws", "crawl", "--start", &start, "--patience", "0"];
    check(folder.path(), &crawl, 0, "finished");
    let archive = records(&folder.path().join("ws/pages/00000.warc.gz"));
    let recorded = exchanges(&archive);
    let urls: Vec<&str> = recorded.iter().map(|(url, _)| *url).collect();
    assert_eq!(urls, [start, server.url("/moved"), server.url("/nest")]);
    let sent = server.heads();
    for (url, request) in &recorded {
        assert!(sent.contains(request), "{request:?} for {url} is none of {sent:?}");
    }
    assert!(
        recorded[0].1.starts_with("GET /owl?b=1&a=%20 HTTP/1.1\r\nuser-agent: Porthole/"),
        "{recorded:?}"
    );
    check(folder.path(), &["-C", "ws", "export", "warc", "-o", "owls.warc.gz"], 0, "");
    let exported = records(&folder.path().join("owls.warc.gz"));
    assert_eq!(exchanges(&exported), recorded);
    check(folder.path(), &["-C", "ws", "export", "cdxj", "-o", "owls.cdxj"], 0, "");
    let index = fs::read_to_string(folder.path().join("owls.cdxj")).unwrap();
    assert_eq!(index.lines().count(), recorded.len(), "an index lists no requests: {index}");
}

#[test]
fn requests_are_left_out_if_the_settings_say_so() {
    let server = Server::new(&[("/owl", page("Owls", OWLS, &[]))]);
    let folder = trained();
    let path = folder.path().join("ws/porthole.toml");
    let settings = fs::read_to_string(&path).unwrap();
    fs::write(&path, settings + "[archive]\nrequests = false\n").unwrap();
    check(folder.path(), &["-C", "ws", "crawl", "--start", &server.url("/owl")], 0, "");
    let archive = records(&folder.path().join("ws/pages/00000.warc.gz"));
    let kinds: Vec<&str> = archive.iter().map(|record| record.kind.name()).collect();
    assert_eq!(kinds, ["warcinfo", "response"]);
}
