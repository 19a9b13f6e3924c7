//! Files written by other tools, valid and damaged.

use porthole_warc::{
    BLOCK_LIMIT, BodyEnd, RecordKind, WarcReader, WarcRecord, find_record, last_whole, read_record, survey,
};

use crate::fixture;

fn records(name: &str) -> Vec<WarcRecord> {
    WarcReader::new(&fixture(name)[..]).collect::<Result<_, _>>().unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The same four records in every compression; offsets as given by `warcio index`.
#[test]
fn all_compressions_have_the_same_records() {
    let expected = records("plain.warc");
    for (name, offsets) in [
        ("plain.warc", [0, 272, 741, 1193]),
        ("v10.warc", [0, 272, 741, 1193]),
        ("members.warc.gz", [0, 222, 558, 885]),
        ("one-member.warc.gz", [0; 4]),
        ("one-frame.warc.zst", [0; 4]),
    ] {
        let found = records(name);
        assert_eq!(found.iter().map(|r| r.place.offset).collect::<Vec<_>>(), offsets, "{name}");
        assert_same(name, &found, &expected);
    }
    assert_same("frames", &records("frames.warc.zst"), &expected);
}

fn assert_same(name: &str, found: &[WarcRecord], expected: &[WarcRecord]) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.headers, expected.headers, "{name}");
        assert_eq!(found.block, expected.block, "{name}");
    }
}

#[test]
fn records_are_read_by_position() {
    for name in [
        "plain.warc",
        "members.warc.gz",
        "one-member.warc.gz",
        "frames.warc.zst",
        "one-frame.warc.zst",
        "kinds.warc.gz",
    ] {
        let file = fixture(name);
        let mut end = 0;
        for record in records(name) {
            let (start, length) = (record.place.offset as usize, record.place.length as usize);
            let again = read_record(&file[start..start + length], record.place, BLOCK_LIMIT).unwrap();
            assert_eq!((&again.headers, &again.block), (&record.headers, &record.block), "{name}");
            if !name.starts_with("one-") {
                assert_eq!(start, end, "{name}: records lie side by side");
                assert_eq!(again.place, record.place, "{name}");
            }
            end = start + length;
        }
        assert_eq!(end, file.len(), "{name}");
    }
}

#[test]
fn kinds_duplicates_and_revisits() {
    use RecordKind::{
        Continuation, Conversion, Metadata, Other, Request, Resource, Response, Revisit, Warcinfo,
    };
    let found = records("kinds.warc.gz");
    let kinds: Vec<_> = found.iter().map(|record| record.kind).collect();
    let expected = [
        Warcinfo,
        Request,
        Response,
        Response,
        Metadata,
        Resource,
        Conversion,
        Continuation,
        Other,
        Revisit,
        Response,
    ];
    assert_eq!(kinds, expected);
    assert_eq!(found[2].target(), found[3].target());
    assert_eq!(found[9].refers_to_target(), Some("http://a.test/"));
    assert_eq!(found[9].refers_to_date(), found[2].date());
    assert_eq!(found[9].http(BLOCK_LIMIT).unwrap().status, 200);
    assert!(!found[10].is_http_response(), "dns is not http");
}

#[test]
fn encodings_are_decoded() {
    let page = records("plain.warc")[3].http(BLOCK_LIMIT).unwrap();
    assert!(page.body.starts_with(b"<title>Elsewhere</title><p>Waves,"));
    let found = records("encodings.warc.gz");
    for record in &found[..3] {
        let response = record.http(BLOCK_LIMIT).unwrap();
        assert_eq!((response.body == page.body, response.end), (true, BodyEnd::Whole), "{record:?}");
        let short = record.http(10).unwrap();
        assert_eq!((&short.body[..], short.end), (&page.body[..10], BodyEnd::Limit));
    }
    let cut = found[3].http(BLOCK_LIMIT).unwrap();
    assert_eq!(
        (cut.headers.get("Content-Encoding"), cut.end),
        (Some("br"), BodyEnd::Damaged),
        "it has no end"
    );
}

#[test]
fn large_blocks_are_skipped() {
    for name in ["plain.warc", "members.warc.gz", "one-frame.warc.zst"] {
        let file = fixture(name);
        let found: Vec<_> = WarcReader::new(&file[..]).with_block_limit(200).map(Result::unwrap).collect();
        let skipped: Vec<_> =
            found.iter().map(|r| (r.skipped, r.block.is_empty(), r.block_length > 200)).collect();
        let held = (false, false, false);
        assert_eq!(skipped, [held, held, held, (true, true, true)], "{name}");
        let error = found[3].http(BLOCK_LIMIT).unwrap_err().to_string();
        assert!(error.contains("larger than the limit"), "{error}");
    }
}

/// Number of records before the damage, offset of the damage, a part of the message.
#[test]
fn damage_is_reported_after_the_valid_records() {
    for (name, good, offset, word) in [
        ("bad-cut-plain.warc", 2, 741, "ends at byte 1049"),
        ("bad-cut-member.warc.gz", 2, 558, "ends at byte 658"),
        ("bad-cut-one-member.warc.gz", 3, 0, "ends at byte 585"),
        ("bad-cut-frame.warc.zst", 3, 934, "ends at byte 1175"),
        ("bad-garbage.warc", 2, 741, "starts with `@@@@"),
        ("bad-garbage.warc.gz", 2, 558, "no start of a compressed member"),
        ("bad-length-short.warc", 1, 272, "Content-Length must be wrong"),
        ("bad-length-long.warc", 1, 272, "Content-Length must be wrong"),
        ("bad-length-long.warc.gz", 1, 0, "member ends in its block"),
        ("bad-length-absurd.warc", 1, 272, "Content-Length is `9999"),
        ("bad-length-huge.warc", 1, 272, "ends at byte 2594"),
        ("bad-length-none.warc", 1, 272, "no Content-Length"),
        ("bad-crc.warc.gz", 1, 222, "incorrect data check"),
        ("bad-no-blank-line.warc", 1, 272, "is no field"),
        ("bad-version.warc", 0, 0, "`WARC/9.9` is not supported"),
        ("dictionary.warc.zst", 0, 0, "dictionary"),
    ] {
        let file = fixture(name);
        let mut reader = WarcReader::new(&file[..]);
        let found: Vec<_> = reader.by_ref().collect();
        let (last, before) = found.split_last().unwrap();
        assert!(before.iter().all(Result::is_ok), "{name}");
        let error = last.as_ref().expect_err(name);
        assert_eq!((before.len(), error.offset()), (good, offset), "{name}: {error}");
        assert!(error.to_string().contains(word), "{name}: {error}");
        assert!(reader.next_record().unwrap().is_none(), "{name}: nothing is returned after an error");
    }
}

#[test]
fn the_end_of_the_last_complete_record_is_found() {
    for (name, records, end) in [
        ("plain.warc", 4, 2579),
        ("members.warc.gz", 4, 1221),
        ("one-member.warc.gz", 4, 615),
        ("bad-cut-plain.warc", 2, 741),
        ("bad-cut-member.warc.gz", 2, 558),
        ("bad-cut-one-member.warc.gz", 0, 0),
        ("bad-crc.warc.gz", 1, 222),
        ("bad-garbage.warc", 2, 741),
    ] {
        let found = last_whole(&fixture(name)[..], 0).unwrap();
        assert_eq!((found.records, found.end), (records, end), "{name}");
        assert_eq!(found.damage.is_some(), name.starts_with("bad"), "{name}");
    }
    let plain = fixture("plain.warc");
    for cut in 1..=4 {
        let found = last_whole(&plain[..plain.len() - cut], 0).unwrap();
        assert_eq!((found.records, found.end, found.damage.is_some()), (3, 1193, true), "cut by {cut}");
    }
    let rest = last_whole(&plain[741..], 741).unwrap();
    assert_eq!((rest.records, rest.end), (2, 2579));
}

#[test]
fn a_survey_counts() {
    let found = survey(&fixture("encodings.warc.gz")[..], BLOCK_LIMIT);
    assert_eq!((found.records, found.responses, found.unreadable), (4, 4, 0));
    assert!(found.damage.is_none());
}

/// Heads that other tools call valid: folded lines, and the version in lower case.
#[test]
fn heads_may_be_folded_and_in_lower_case() {
    let file = b"warc/1.0\r\nWARC-Type: resource\r\nContent-Length:\r\n 5\r\nWARC-Target-URI: http://a.test/\r\n\r\n\
                 hello\r\n\r\nWARC/1.1\r\nContent-Length:\r\n\t2\r\n\r\nhi\r\n\r\n";
    let found: Vec<WarcRecord> = WarcReader::new(&file[..]).collect::<Result<_, _>>().unwrap();
    let blocks: Vec<&[u8]> = found.iter().map(|record| &record.block[..]).collect();
    assert_eq!((blocks, found[0].target()), (vec![&b"hello"[..], b"hi"], Some("http://a.test/")));
}

/// The kinds of files that JHOVE's WARC module calls valid (its tests `valid-warcfile-…` and `valid-warcrecorddigests-…`), in
/// records of our own: the head after the version, and what it must be read as.
#[test]
fn what_jhove_calls_valid_is_read() {
    type Expected<'a> = (RecordKind, Option<&'a str>, &'a [(&'a str, &'a str)]);
    let cases: &[(&str, &str, Expected<'_>)] = &[
        (
            "a continued Content-Type",
            "WARC-Type: response|WARC-Target-URI: http://a.test/|Content-Type: application/http;|  msgtype=response",
            (
                RecordKind::Response,
                Some("http://a.test/"),
                &[("Content-Type", "application/http; msgtype=response")],
            ),
        ),
        (
            "several WARC-Concurrent-To",
            "WARC-Type: request|WARC-Concurrent-To: <urn:uuid:1>|WARC-Concurrent-To: <urn:uuid:2>",
            (RecordKind::Request, None, &[("WARC-Concurrent-To", "<urn:uuid:1>")]),
        ),
        (
            "all fields continued",
            "WARC-Type:| metadata|WARC-Date:|\t2008-04-30T20:48:25Z|WARC-Target-URI:| http://a.test/|WARC-Record-ID:| <urn:uuid:1>",
            (RecordKind::Metadata, Some("http://a.test/"), &[("WARC-Date", "2008-04-30T20:48:25Z")]),
        ),
        (
            "warcinfo",
            "WARC-Type: warcinfo|WARC-Filename: a.warc|Content-Type: application/warc-fields",
            (RecordKind::Warcinfo, None, &[("WARC-Filename", "a.warc")]),
        ),
        (
            "fields that are not WARC's",
            "WARC-Type: resource|X-Own: 1|Server: a|WARC-Target-URI: file:///a|Date: today",
            (RecordKind::Resource, Some("file:///a"), &[("X-Own", "1"), ("Server", "a")]),
        ),
        (
            "names and values in lower case",
            "warc-type: response|warc-target-uri: dns:a.test|warc-date: 2008-04-30t20:48:25z|content-type: text/dns",
            (RecordKind::Response, Some("dns:a.test"), &[("WARC-Date", "2008-04-30t20:48:25z")]),
        ),
        (
            "names and values in upper case",
            "WARC-TYPE: RESPONSE|WARC-TARGET-URI: DNS:A.TEST|WARC-RECORD-ID: <URN:UUID:FF|CONTENT-TYPE: TEXT/DNS",
            (RecordKind::Response, Some("DNS:A.TEST"), &[("Content-Type", "TEXT/DNS")]),
        ),
        (
            "UTF-8",
            "WARC-Type: metadata|WARC-Target-URI: http://a.test/blåbær|Description: 日本",
            (RecordKind::Metadata, Some("http://a.test/blåbær"), &[("Description", "日本")]),
        ),
        (
            "digests of other kinds",
            "WARC-Type: resource|WARC-Block-Digest: md5:5d41402abc4b2a76b9719d911017c592|WARC-Payload-Digest: SHA-256:2CF24DBA",
            (RecordKind::Resource, None, &[("WARC-Payload-Digest", "SHA-256:2CF24DBA")]),
        ),
    ];
    for (version, line_end) in [("WARC/1.0", "\r\n"), ("warc/1.0", "\n"), ("WARC/1.1", "\n")] {
        let mut file = Vec::new();
        for (_, head, _) in cases {
            let lines = head.split('|').chain(["Content-Length: 5", "", "hello", "", ""]);
            file.extend([version].into_iter().chain(lines).collect::<Vec<_>>().join(line_end).into_bytes());
        }
        let found: Vec<WarcRecord> = WarcReader::new(&file[..]).map(Result::unwrap).collect();
        assert_eq!(found.len(), cases.len());
        for (record, (what, _, (kind, target, fields))) in found.iter().zip(cases) {
            assert_eq!(
                (record.kind, record.target(), &record.block[..]),
                (*kind, *target, &b"hello"[..]),
                "{what}"
            );
            for (name, value) in *fields {
                assert_eq!(record.headers.get(name), Some(*value), "{what}");
            }
        }
        assert!(found[2].date().is_some() && found[2].date() == found[5].date(), "dates in lower case");
    }
}

#[test]
fn the_next_record_is_found_behind_anything() {
    let (plain, packed) = (fixture("plain.warc"), fixture("members.warc.gz"));
    let zstd = fixture("frames.warc.zst");
    let frames: Vec<u64> = records("frames.warc.zst").iter().map(|record| record.place.offset).collect();
    for (name, file, offsets) in [
        ("plain", &plain, &[0, 272, 741, 1193][..]),
        ("gzip", &packed, &[0, 222, 558, 885]),
        ("zstd", &zstd, &frames),
    ] {
        for at in 0..file.len() {
            let expected = offsets.iter().copied().find(|offset| *offset >= at as u64);
            assert_eq!(find_record(&file[at..], at as u64).unwrap(), expected, "{name} from {at}");
        }
    }
    // Across the pieces that are looked at together.
    for length in [11_000, 12_287, 12_288, 12_289, 16_383, 16_384, 40_000] {
        let junk = vec![b'\n'; length];
        let file = [&junk[..], &plain].concat();
        assert_eq!(find_record(&file[..], 0).unwrap(), Some(length as u64));
        let junk = vec![0x1f; length];
        let file = [&junk[..], &packed].concat();
        assert_eq!(find_record(&file[..], 0).unwrap(), Some(length as u64));
    }
    assert_eq!(find_record(&b"WARC without a version\nWARC"[..], 0).unwrap(), None);
}
