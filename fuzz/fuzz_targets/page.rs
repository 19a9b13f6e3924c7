//! Any bytes as a page: the first one chooses the content type, the others are the body.

#![no_main]

#[path = "../../porthole-page/tests/it/invariants.rs"]
mod invariants;

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use porthole_page::Extractor;
use porthole_types::{CanonicalUrl, Headers};

const CONTENT_TYPES: &[&str] = &[
    "text/html; charset=utf-8",
    "text/html",
    "text/html; charset=windows-1252",
    "text/html; charset=iso-2022-jp",
    "text/html; charset=utf-16le",
    "application/xhtml+xml",
    "text/plain",
    "",
];

thread_local! {
    // One for all inputs: what an extractor remembers must not show in a page.
    static EXTRACTOR: RefCell<Extractor> = RefCell::default();
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, body)) = data.split_first() else { return };
    let headers: Headers =
        [("content-type", CONTENT_TYPES[choice as usize % CONTENT_TYPES.len()])].into_iter().collect();
    let url = CanonicalUrl::parse("http://example.com/dir/page.html").unwrap();
    EXTRACTOR.with_borrow_mut(|extractor| {
        let page = extractor.extract(&url, &headers, body);
        invariants::hold(&page, body.len());
        let again = extractor.extract(&url, &headers, body);
        assert_eq!(format!("{page:?}"), format!("{again:?}"));
        let main = extractor.main_content(&url, &headers, body);
        assert!(!main.text.contains(|c: char| c.is_control() && c != '\n'), "{:?}", main.text);
    });
});
