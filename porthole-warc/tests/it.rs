//! Integration tests of porthole-warc, in one binary to save build time.

#[path = "it/any_bytes.rs"]
mod any_bytes;
#[path = "it/reading.rs"]
mod reading;
#[path = "it/writing.rs"]
mod writing;

/// A file made by `scripts/make-warc-fixtures.py`.
fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
