//! Every fortieth page of the corpora, compared with an html5ever tree. The corpora are expected in `$CORPORA`, else in
//! `../shared/corpora` next to the workspace; without them the test is skipped.

use std::fs::File;
use std::path::{Path, PathBuf};

use porthole_page::{Extractor, Page, PageFormat};
use porthole_types::CanonicalUrl;
use porthole_warc::{BLOCK_LIMIT, HttpResponse, WarcReader, WarcRecord};

use crate::invariants;
use crate::oracle::Facts;

const EVERY: usize = 40;

#[test]
fn real_pages_are_read_as_the_tree_is() {
    for name in ["schools", "webkb"] {
        let path = folder().join(format!("{name}.warc.gz"));
        match File::open(&path) {
            Ok(file) => check(name, file),
            Err(_) => println!("{name}: skipped, there is no {}", path.display()),
        }
    }
}

fn folder() -> PathBuf {
    std::env::var_os("CORPORA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora"), PathBuf::from)
}

fn check(name: &str, file: File) {
    const WHAT: [&str; 4] = ["links", "anchor texts", "visible text", "leaf numbers"];
    let mut extractor = Extractor::default();
    let (mut pages, mut same) = (0, [0; WHAT.len()]);
    for (url, answer) in WarcReader::new(file).filter_map(|record| response(&record.unwrap())).step_by(EVERY)
    {
        let page = extractor.extract(&url, &answer.headers, &answer.body);
        invariants::hold(&page, answer.body.len());
        if page.format == PageFormat::Html {
            pages += 1;
            let equal = agreement(&page, &url, &answer.body);
            same.iter_mut().zip(equal).for_each(|(count, equal)| *count += usize::from(equal));
        }
    }
    println!("{name}: of {pages} pages {same:?} have the same {WHAT:?}");
    for (what, count) in WHAT.iter().zip(same) {
        assert!(count * 100 >= pages * 99, "{name}: {what} are the same on only {count} of {pages} pages");
    }
}

fn response(record: &WarcRecord) -> Option<(CanonicalUrl, HttpResponse)> {
    let url = CanonicalUrl::parse(record.target()?).ok()?;
    let answer = record.is_http_response().then(|| record.http(BLOCK_LIMIT))?.ok()?;
    Some((url, answer))
}

fn agreement(page: &Page, url: &CanonicalUrl, body: &[u8]) -> [bool; 4] {
    let encoding = encoding_rs::Encoding::for_label(page.charset.as_bytes()).expect("a known charset");
    let (ours, tree) = (Facts::of_page(page), Facts::of_tree(url, &encoding.decode(body).0));
    [
        ours.targets() == tree.targets(),
        ours.anchors() == tree.anchors(),
        ours.text() == tree.text(),
        ours.leaves == tree.leaves && ours.places() == tree.places(),
    ]
}
