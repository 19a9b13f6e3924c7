//! Any bytes as a PDF. The seeds are not packed, so that what is in their streams can be changed as well.

#![no_main]

#[path = "../../porthole-page/tests/it/invariants.rs"]
mod invariants;

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use porthole_page::Extractor;
use porthole_types::{CanonicalUrl, Headers};

thread_local! {
    // One for all inputs: what an extractor remembers must not show in a page.
    static EXTRACTOR: RefCell<Extractor> = RefCell::default();
}

fuzz_target!(|body: &[u8]| {
    let headers: Headers = [("content-type", "application/pdf")].into_iter().collect();
    let url = CanonicalUrl::parse("http://example.com/dir/paper.pdf").unwrap();
    EXTRACTOR.with_borrow_mut(|extractor| {
        let page = extractor.extract(&url, &headers, body);
        invariants::hold(&page, body.len());
        let again = extractor.extract(&url, &headers, body);
        assert_eq!(format!("{page:?}"), format!("{again:?}"));
    });
});
