//! Any bytes as a WARC file, and as the HTTP message of a record.

#![no_main]

use libfuzzer_sys::fuzz_target;
use porthole_warc::{HttpResponse, last_whole, survey};

const LIMIT: u64 = 10_000;

fuzz_target!(|data: &[u8]| {
    let _ = survey(data, LIMIT);
    let whole = last_whole(data, 0).expect("reading from memory does not fail");
    assert!(whole.end <= data.len() as u64);
    // What is whole stays so without what follows.
    let cut = last_whole(&data[..whole.end as usize], 0).expect("reading from memory does not fail");
    assert_eq!((cut.end, cut.records), (whole.end, whole.records));
    assert!(cut.damage.is_none());
    if let Ok(response) = HttpResponse::parse(data, 0, LIMIT) {
        assert!(response.body.len() as u64 <= LIMIT);
    }
});
