//! Reading any bytes ends without a panic.

use porthole_warc::{HttpResponse, last_whole, survey};
use proptest::prelude::*;

use crate::fixture;

const LIMIT: u64 = 10_000;

/// Runs all readers on some bytes.
fn read_everything(bytes: &[u8]) {
    let _ = survey(bytes, LIMIT);
    let _ = last_whole(bytes, 0).unwrap();
    let _ = HttpResponse::parse(bytes, 0, LIMIT);
}

#[test]
fn every_cut_of_every_fixture() {
    for name in ["plain.warc", "members.warc.gz", "frames.warc.zst", "one-frame.warc.zst"] {
        let file = fixture(name);
        for length in 0..file.len() {
            read_everything(&file[..length]);
        }
    }
}

proptest! {
    #[test]
    fn bytes(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        read_everything(&bytes);
        for magic in [&b"\x1f\x8b\x08"[..], b"\x28\xb5\x2f\xfd", b"WARC/1.1\r\n", b"HTTP/1.1 200\r\n"] {
            read_everything(&[magic, &bytes].concat());
        }
    }

    #[test]
    fn pieces(
        pieces in proptest::collection::vec(
            prop::sample::select(vec![
                "WARC/1.1\r\n", "WARC/1.0\n", "WARC-Type: response\r\n", "Content-Length: 40\r\n",
                "WARC-Target-URI: http://a.test/\r\n", "Content-Length: 0\r\n", "\r\n", "\r\n\r\n", "\n", ":",
                "HTTP/1.1 200 OK\r\n", "Transfer-Encoding: chunked\r\n", "Content-Encoding: gzip\r\n",
                "Content-Encoding: deflate\r\n", "5\r\n", "0\r\n", "<", " ", "\t", "a", "\u{e9}",
            ]),
            0..40,
        )
    ) {
        read_everything(pieces.concat().as_bytes());
    }

    #[test]
    fn flipped(
        name in prop::sample::select(vec![
            "plain.warc", "members.warc.gz", "one-member.warc.gz", "frames.warc.zst", "encodings.warc.gz",
        ]),
        at in any::<prop::sample::Index>(),
        bits in 1u8..,
    ) {
        let mut file = fixture(name);
        let at = at.index(file.len());
        file[at] ^= bits;
        read_everything(&file);
    }
}
