//! Tiny webs, written and read back.

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use porthole_types::Timestamp;
use porthole_warc::{Digest, Original, RecordFormat, WarcResponse, WarcWriter};
use tempfile::TempDir;

use super::*;

type Writer = WarcWriter<Vec<u8>>;

/// Opens the web of the files written by these functions.
fn web(form: RecordFormat, files: &[fn(&mut Writer)]) -> (TempDir, RecordedWeb) {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..files.len()).map(|at| folder.path().join(format!("{at}.warc"))).collect();
    for (at, (path, write)) in paths.iter().zip(files).enumerate() {
        let mut writer = WarcWriter::new(Vec::new(), form, at as u64);
        writer.warcinfo(Timestamp(0), "test", &[]).unwrap();
        write(&mut writer);
        std::fs::write(path, writer.into_inner()).unwrap();
    }
    let web = RecordedWeb::open(&paths).unwrap();
    (folder, web)
}

fn page(writer: &mut Writer, url: &str, body: &str) {
    writer.response(&WarcResponse::new(url, &Headers::new(), body.as_bytes())).unwrap();
}

fn revisit(writer: &mut Writer, url: &str, original: &str, body: &str) {
    let original =
        Original { id: None, url: original, date: Timestamp(0), digest: Digest::of(body.as_bytes()) };
    writer.revisit(&WarcResponse::new(url, &Headers::new(), b""), &original).unwrap();
}

/// A replay never waits, so its futures are ready at once.
fn get(web: &RecordedWeb, url: &str) -> Result<Response, FetchError> {
    let request = Request::get(CanonicalUrl::parse(url).unwrap());
    match pin!(web.fetch(&request)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("{url}: the answer is not there"),
    }
}

fn check(web: &RecordedWeb, url: &str, status: u16, body: &str) {
    let response = get(web, url).unwrap();
    assert_eq!((response.status, String::from_utf8_lossy(&response.body).as_ref()), (status, body), "{url}");
    assert!(response.took.is_zero() && !response.truncated);
    assert_eq!(web.has(&CanonicalUrl::parse(url).unwrap()), status != 404, "{url}");
}

#[test]
fn what_is_recorded_is_there_and_nothing_else() {
    for form in [RecordFormat::Plain, RecordFormat::Gzip] {
        let (_folder, web) = web(
            form,
            &[
                |writer| {
                    page(writer, "http://a.test/", "one");
                    page(writer, "http://b.test:8080/x", "two");
                    page(writer, "http://A.test:80/#again", "not this one");
                    page(writer, "mailto:nobody", "no page");
                    page(writer, "http:///", "no host");
                },
                |writer| {
                    page(writer, "http://b.test/", "three");
                    page(writer, "http://b.test:8080/x", "nor this one");
                    let moved = [("Location", "http://a.test/")].into_iter().collect();
                    let moved =
                        WarcResponse { status: 301, ..WarcResponse::new("http://a.test/old", &moved, b"") };
                    writer.response(&moved).unwrap();
                },
            ],
        );
        let pages: Vec<&str> = web.pages().map(CanonicalUrl::as_str).collect();
        assert_eq!(pages, ["http://a.test/", "http://b.test:8080/x", "http://b.test/", "http://a.test/old"]);
        assert_eq!((web.len(), web.hosts(), web.duplicates(), web.is_empty()), (4, 3, 2, false));
        assert_eq!((web.problems().count, web.problems().examples.len()), (1, 1), "{:?}", web.problems());
        check(&web, "http://a.test/", 200, "one");
        check(&web, "http://b.test:8080/x", 200, "two");
        check(&web, "http://b.test/", 200, "three");
        check(&web, "http://b.test/robots.txt", 404, "");
        let moved = get(&web, "http://a.test/old").unwrap();
        assert_eq!((moved.status, moved.headers.get("location")), (301, Some("http://a.test/")));
    }
}

#[test]
fn revisits_lead_to_their_originals() {
    let (_folder, web) = web(
        RecordFormat::Gzip,
        &[
            |writer| {
                revisit(writer, "http://a.test/early", "http://a.test/late", "late");
                page(writer, "http://a.test/", "first");
                page(writer, "http://a.test/", "second");
                revisit(writer, "http://a.test/", "http://a.test/gone", "gone");
                revisit(writer, "http://a.test/same", "http://a.test/gone", "second");
                revisit(writer, "http://a.test/lost", "http://a.test/gone", "gone");
            },
            |writer| page(writer, "http://a.test/late", "late"),
        ],
    );
    check(&web, "http://a.test/early", 200, "late");
    check(&web, "http://a.test/", 200, "first");
    check(&web, "http://a.test/same", 200, "second");
    check(&web, "http://a.test/lost", 404, "");
    assert_eq!((web.len(), web.problems().count), (4, 1), "{:?}", web.problems());
    assert_eq!(web.pages().next().unwrap().as_str(), "http://a.test/early");
}

/// Files of other tools: a page may be the third record of a single member or of many.
#[test]
fn all_packings_are_replayed() {
    for name in
        ["plain.warc", "members.warc.gz", "one-member.warc.gz", "frames.warc.zst", "one-frame.warc.zst"]
    {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../porthole-warc/tests/fixtures");
        let web = RecordedWeb::open(&[format!("{fixtures}/{name}")]).unwrap();
        assert_eq!((web.len(), web.hosts(), web.problems().count), (3, 2, 0), "{name}");
        let two = get(&web, "http://a.test/two").unwrap();
        assert!(two.body.starts_with(b"<title>Two</title>"), "{name}");
    }
}

#[test]
fn many_threads_read_at_once() {
    const PAGES: usize = 50;
    let url = |n: usize| format!("http://a.test/{n}");
    let (_folder, web) = web(
        RecordFormat::Gzip,
        &[|writer| {
            for n in 0..PAGES {
                page(writer, &format!("http://a.test/{n}"), &format!("page {n}"));
            }
        }],
    );
    let read_all = || (0..PAGES).for_each(|n| check(&web, &url(n), 200, &format!("page {n}")));
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(read_all))));
}

#[test]
fn damage_is_a_problem_or_an_error() {
    let (folder, _web) = web(
        RecordFormat::Plain,
        &[|writer| {
            page(writer, "http://a.test/", "one");
            page(writer, "http://a.test/two", "two");
        }],
    );
    let path = folder.path().join("0.warc");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    let cut = RecordedWeb::open(&[&path]).unwrap();
    assert_eq!((cut.len(), cut.problems().count), (1, 1));
    assert!(cut.problems().examples[0].contains("0.warc: the record at offset"), "{:?}", cut.problems());

    std::fs::write(&path, "no WARC file").unwrap();
    let refused = RecordedWeb::open(&[&path]).unwrap_err().to_string();
    assert!(refused.contains("0.warc: the record at offset 0 is damaged"), "{refused}");
    assert_eq!(get(&cut, "http://a.test/").unwrap_err().kind, FailureKind::Protocol);

    let missing = RecordedWeb::open(&[folder.path().join("nothing")]).unwrap_err().to_string();
    assert!(missing.starts_with("cannot open "), "{missing}");
}

/// Three pages, each record by itself.
fn three_records(form: RecordFormat) -> Vec<Vec<u8>> {
    ["http://a.test/", "http://b.test/", "http://c.test/"]
        .map(|url| {
            let mut writer = WarcWriter::new(Vec::new(), form, 1);
            page(&mut writer, url, &format!("this is {url}, and some more words\n\n"));
            writer.into_inner()
        })
        .into()
}

/// Opens a file whose second record was changed; only that one may be missing.
fn check_without_second(records: &[Vec<u8>], what: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.warc");
    std::fs::write(&path, records.concat()).unwrap();
    let web = RecordedWeb::open(&[&path]).unwrap();
    let has = |url: &str| web.has(&CanonicalUrl::parse(url).unwrap());
    assert_eq!([has("http://a.test/"), has("http://c.test/")], [true, true], "{what}: {:?}", web.problems());
    assert_eq!((has("http://b.test/"), web.problems().count), (false, 1), "{what}: {:?}", web.problems());
    check(&web, "http://c.test/", 200, "this is http://c.test/, and some more words\n\n");
}

#[test]
fn a_damaged_record_loses_only_itself() {
    let records = three_records(RecordFormat::Plain);
    let second = String::from_utf8(records[1].clone()).unwrap();
    let (head, block) = second.split_once("\r\n\r\n").unwrap();
    let length: usize = head.rsplit("Content-Length: ").next().unwrap().parse().unwrap();
    for wrong in [0, length - 5, length + 5, length + 20, 1 << 40] {
        let head = head.replace(&format!("Content-Length: {length}"), &format!("Content-Length: {wrong}"));
        let changed = format!("{head}\r\n\r\n{block}").into_bytes();
        check_without_second(&[records[0].clone(), changed, records[2].clone()], &format!("{wrong} bytes"));
    }
    let cut = records[1][..records[1].len() - 20].to_vec();
    check_without_second(&[records[0].clone(), cut, records[2].clone()], "cut in its block");

    let records = three_records(RecordFormat::Gzip);
    for at in [12, 40, records[1].len() / 2, records[1].len() - 6] {
        let mut changed = records[1].clone();
        changed[at] ^= 0x55;
        check_without_second(&[records[0].clone(), changed, records[2].clone()], &format!("byte {at}"));
    }
    let cut = records[1][..records[1].len() / 2].to_vec();
    check_without_second(&[records[0].clone(), cut, records[2].clone()], "a member cut in the middle");
}

/// A file in which every record has a wrong length is read again a bounded number of times.
#[test]
fn a_file_full_of_wrong_lengths_is_given_up() {
    let record =
        "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 99999999999\r\n\r\nHTTP/1.0 200 OK\r\n\r\n";
    let good = String::from_utf8(three_records(RecordFormat::Plain).remove(0)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.warc");
    std::fs::write(&path, good + &record.repeat(20_000)).unwrap();
    let web = RecordedWeb::open(&[&path]).unwrap();
    // 1.7 MB may be read again 38 times.
    let problems = web.problems();
    assert!(web.len() == 1 && (20..100).contains(&problems.count), "{}", problems.count);
    assert!(problems.examples[0].contains("incomplete"), "{problems:?}");
}
