//! Collections of a few pages, and the sizes of the real ones if they are present.

use porthole_warc::{RecordFormat, WarcResponse, WarcWriter};
use tempfile::TempDir;

use super::*;

fn write(folder: &TempDir, name: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(folder.path().join(name), bytes).unwrap();
}

fn folder(labels: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut warc = WarcWriter::new(Vec::new(), RecordFormat::Gzip, 1);
    for (url, body) in [("http://a/1", "owls owls hunt"), ("http://b/", "no label"), ("http://A/2", "atoms")]
    {
        warc.response(&WarcResponse::new(url, &plain_text(), body.as_bytes())).unwrap();
    }
    write(&folder, "webkb.warc.gz", warc.into_inner());
    write(&folder, "webkb.labels.tsv", labels);
    folder
}

const LABELS: &str = "http://A/2\t/science/atom\tsouth\nhttp://a/1\t/science/bird\tnorth\nhttp://a/1\t/hobby\tnorth\n\
                      http://gone/\t/nothing\tnorth\n";

fn topics(collection: &Collection) -> Vec<Vec<&str>> {
    let paths = |document: &LabelledDocument| {
        document.topics.iter().map(|&topic| collection.topics[topic as usize].as_str()).collect()
    };
    collection.documents.iter().map(paths).collect()
}

#[test]
fn labelled_pages_are_read_in_the_order_of_the_file() {
    let folder = folder(LABELS);
    let collection = Collection::webkb(folder.path(), KeepText::Text).unwrap();
    let names: Vec<_> = collection.documents.iter().map(|document| document.name.as_str()).collect();
    assert_eq!(names, ["http://a/1", "http://A/2"]);
    assert_eq!(topics(&collection), [vec!["/hobby", "/science/bird"], vec!["/science/atom"]]);
    let first = &collection.documents[0];
    assert_eq!((first.group.as_str(), first.text.as_deref()), ("north", Some(&b"owls owls hunt"[..])));
    let mut counts: Vec<_> = first.counts.iter().map(|(_, count)| *count).collect();
    counts.sort_unstable();
    assert_eq!(counts, [1, 2]);
    let bare = Collection::webkb(folder.path(), KeepText::Counts).unwrap();
    assert!(bare.documents.iter().all(|document| document.text.is_none()));
}

#[test]
fn topics_can_be_restricted() {
    let folder = folder(LABELS);
    let read = || Collection::webkb(folder.path(), KeepText::Counts).unwrap();
    assert_eq!(topics(&read().top()), [vec!["/hobby", "/science"], vec!["/science"]]);
    let left = read().only(&["/science/bird"]);
    assert_eq!(left.topics, ["/science/bird"]);
    assert_eq!(topics(&left), [["/science/bird"]]);
}

#[test]
fn errors_name_file_and_line() {
    let error =
        |labels: &str| Collection::webkb(folder(labels).path(), KeepText::Counts).unwrap_err().to_string();
    assert!(error("http://a/1\t/a\nhttp://a/2").contains("labels.tsv, line 2: a URL and a topic"));
    assert!(error("http://a/1\ta").contains("line 1: a topic is a path"));
    let empty = tempfile::tempdir().unwrap();
    let missing = |error: CollectionError| matches!(error, CollectionError::Missing { .. });
    assert!(missing(Collection::newsgroups20(empty.path(), KeepText::Counts).unwrap_err()));
    assert!(missing(Collection::schools(empty.path(), KeepText::Counts).unwrap_err()));
    write(&empty, "newsgroups20.tar.zst", b"not an archive");
    let error = Collection::newsgroups20(empty.path(), KeepText::Counts).unwrap_err();
    assert!(error.to_string().contains("newsgroups20.tar.zst: "), "{error}");
}

/// The corpora are expected in `$CORPORA`, else in `../shared/corpora` next to the workspace.
#[test]
fn the_real_collections_have_their_sizes() {
    let folder = std::env::var_os("CORPORA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora"), PathBuf::from);
    if !folder.exists() {
        eprintln!("skipped: there is no {}", folder.display());
        return;
    }
    let news = Collection::newsgroups20(&folder, KeepText::Counts).unwrap();
    let count = |group: &str| news.documents.iter().filter(|document| document.group == group).count();
    assert_eq!((news.topics.len(), count("train"), count("test")), (20, 11_314, 7_532));
    assert!(news.topics.contains(&"/comp/os/ms-windows/misc".to_owned()));
    let webkb = Collection::webkb(&folder, KeepText::Counts).unwrap();
    assert_eq!((webkb.topics.len(), webkb.documents.len()), (7, 8_209));
    let four = webkb.only(&WEBKB_CLASSES);
    let held = four.documents.iter().filter(|d| WEBKB_UNIVERSITIES.contains(&d.group.as_str())).count();
    assert_eq!((four.documents.len(), held), (4_187, 1_039));
}
