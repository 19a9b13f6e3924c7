//! Written files are read back, by this crate and by warcio.

use std::io::{self, Write};
use std::net::IpAddr;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use porthole_types::{Headers, Timestamp};
use porthole_warc::{
    BLOCK_LIMIT, Digest, GzipRecords, Original, RecordFormat, RecordKind, RecordPlace, Truncation,
    WarcReader, WarcRecord, WarcRequest, WarcResponse, WarcWriter, Written, last_whole, read_record,
    unpack_record,
};
use proptest::prelude::*;

const URL: &str = "http://a.test/page?x=1";
const FORMATS: [RecordFormat; 3] = [RecordFormat::Plain, RecordFormat::Gzip, RecordFormat::Zstd];
const DATE: Timestamp = Timestamp(1_767_323_045_006);

/// One record of each kind.
fn write_all_kinds(form: RecordFormat) -> (Vec<u8>, Vec<Written>) {
    let mut writer = WarcWriter::new(Vec::new(), form, 7);
    let headers: Headers =
        [("content-type", "text/html"), ("content-encoding", "gzip"), ("x-é", "ü")].into_iter().collect();
    let sent: Headers = [("Host", "a.test"), ("User-Agent", "Porthole")].into_iter().collect();
    let body = "<p>Boats. ".repeat(500);
    let answer = WarcResponse {
        date: DATE,
        ip: Some(IpAddr::from([192, 0, 2, 1])),
        ..WarcResponse::new(URL, &headers, body.as_bytes())
    };
    let cut = WarcResponse { truncated: Some(Truncation::Length), status: 404, ..answer };
    let original = Original { id: None, url: URL, date: DATE, digest: Digest::of(answer.body) };

    let info =
        writer.warcinfo(DATE, "test.warc", &[("software", "Porthole"), ("format", "WARC 1.1")]).unwrap();
    let response = writer.response(&answer).unwrap();
    let id = response.id.to_string();
    let question =
        WarcRequest { url: URL, date: DATE, path: "/page?x=1", headers: &sent, response: Some(response.id) };
    let written = vec![
        info,
        response,
        writer.request(&question).unwrap(),
        writer.revisit(&answer, &Original { id: Some(&id), ..original }).unwrap(),
        writer.metadata(DATE, URL, response.id, &[("topic", "/harbours"), ("relevance", "0.9")]).unwrap(),
        writer.response(&cut).unwrap(),
        writer.response(&WarcResponse { body: &gzip(body.as_bytes()), is_encoded: true, ..answer }).unwrap(),
        writer.response(&WarcResponse::new(URL, &Headers::new(), b"")).unwrap(),
    ];
    (writer.into_inner(), written)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn all_kinds_are_read_back() {
    for form in FORMATS {
        let (file, written) = write_all_kinds(form);
        let read: Vec<WarcRecord> = WarcReader::new(&file[..]).collect::<Result<_, _>>().unwrap();
        let mut end = 0;
        for (record, written) in read.iter().zip(&written) {
            assert_eq!((record.place.offset, record.place.length), (written.offset, written.length));
            assert_eq!(format!("<{}>", record.id().unwrap()), written.id.to_string());
            assert_eq!(written.offset, end);
            assert_eq!(written.span(3).unwrap().offset, end);
            end += written.length;
        }
        assert_eq!((read.len(), end), (written.len(), file.len() as u64));
        assert_eq!(read[0].kind, RecordKind::Warcinfo);
        assert_eq!(read[1].date(), Some(DATE));
        let page = read[1].http(BLOCK_LIMIT).unwrap();
        assert_eq!((page.body.len(), page.headers.get("X-Crawler-content-encoding")), (5000, Some("gzip")));
        assert_eq!(read[1].payload_digest(), Some(Digest::of(&page.body).to_string().as_str()));
        assert_eq!(read[2].block, b"GET /page?x=1 HTTP/1.1\r\nHost: a.test\r\nUser-Agent: Porthole\r\n\r\n");
        assert_eq!(read[3].refers_to(), read[1].id());
        assert_eq!(read[3].payload_digest(), read[1].payload_digest());
        assert_eq!(read[4].block, b"topic: /harbours\r\nrelevance: 0.9\r\n");
        assert_eq!(read[5].headers.get("WARC-Truncated"), Some("length"));
        let encoded = gzip(&page.body);
        assert!(read[6].block.ends_with(&encoded), "the body is as it was received");
        assert_eq!(read[6].payload_digest(), Some(Digest::of(&encoded).to_string().as_str()));
        let received = read[6].http(BLOCK_LIMIT).unwrap();
        assert_eq!((received.headers.get("content-encoding"), received.body), (Some("gzip"), page.body));
        assert_eq!(write_all_kinds(form).0, file, "the same input makes the same file");
    }
}

#[test]
fn all_levels_are_read_back() {
    let body = b"boats ".repeat(1000);
    for (form, level) in FORMATS.iter().flat_map(|form| [-5, 0, 1, 9, 100].map(|level| (*form, level))) {
        let mut writer = WarcWriter::new(Vec::new(), form, 7).with_level(level);
        writer.response(&WarcResponse::new(URL, &Headers::new(), &body)).unwrap();
        let file = writer.into_inner();
        let record = WarcReader::new(&file[..]).next_record().unwrap().unwrap();
        assert_eq!(record.http(BLOCK_LIMIT).unwrap().body, body);

        let mut writer = WarcWriter::new(Vec::new(), form, 7).with_level(level);
        let (headers, encoded) = ([("Content-Encoding", "gzip")].into_iter().collect(), gzip(&body));
        let response = WarcResponse { is_encoded: true, ..WarcResponse::new(URL, &headers, &encoded) };
        writer.response(&response).unwrap();
        let file = writer.into_inner();
        let record = WarcReader::new(&file[..]).next_record().unwrap().unwrap();
        assert!(record.block.ends_with(&encoded));
        assert_eq!(record.http(BLOCK_LIMIT).unwrap().body, body);
    }
}

#[test]
fn a_truncated_file_is_resumed() {
    for form in FORMATS {
        let (file, written) = write_all_kinds(form);
        let last = written.last().unwrap();
        for cut in 1..last.length {
            let crashed = &file[..file.len() - cut as usize];
            let found = last_whole(crashed, 0).unwrap();
            assert_eq!((found.end, found.records), (last.offset, written.len() as u64 - 1));
        }
        let mut writer =
            WarcWriter::new(file[..last.offset as usize].to_vec(), form, 7).with_offset(last.offset);
        assert_eq!(writer.response(&WarcResponse::new(URL, &Headers::new(), b"")).unwrap(), *last);
        assert_eq!(writer.into_inner(), file);
    }
}

#[test]
fn a_record_is_packed_again_unchanged() {
    let records = |file: &[u8]| -> Vec<WarcRecord> {
        let read = WarcReader::new(file).map(Result::unwrap);
        read.map(|record| WarcRecord { place: RecordPlace::default(), ..record }).collect()
    };
    for from in FORMATS {
        let (file, written) = write_all_kinds(from);
        for to in FORMATS {
            let mut writer = WarcWriter::new(Vec::new(), to, 7);
            let mut again = Vec::new();
            for place in &written {
                let packed = &file[place.offset as usize..][..place.length as usize];
                let plain = unpack_record(packed, place.offset).unwrap();
                assert!(plain.starts_with(b"WARC/1.1\r\n") && plain.ends_with(b"\r\n\r\n"));
                again.extend(writer.packed_record(&plain));
            }
            assert!(records(&again) == records(&file), "{from:?} to {to:?}");
            assert!(from != to || again == file, "{from:?} stays as it is");
        }
        let cut = &file[..written[0].length as usize - 1];
        assert!(from == RecordFormat::Plain || unpack_record(cut, 0).is_err());
    }
}

#[test]
fn only_other_packings_are_made_gzip() {
    let (gzip, written) = write_all_kinds(RecordFormat::Gzip);
    let first = &gzip[..written[0].length as usize];
    let mut records = GzipRecords::default();
    assert_eq!(records.pack(first.to_vec(), 0).unwrap(), first);
    let (zstd, written) = write_all_kinds(RecordFormat::Zstd);
    let first = &zstd[..written[0].length as usize];
    let packed = records.pack(first.to_vec(), 0).unwrap();
    assert!(packed.starts_with(&[0x1f, 0x8b]));
    assert_eq!(unpack_record(&packed, 0).unwrap(), unpack_record(first, 0).unwrap());
    assert!(records.pack(first[..first.len() - 1].to_vec(), 0).is_err());
}

/// A writer that accepts some bytes, then fails.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn after_a_failed_write_nothing_is_written() {
    let mut writer = WarcWriter::new(Full(600), RecordFormat::Plain, 7);
    let headers = Headers::new();
    writer.response(&WarcResponse::new(URL, &headers, b"short")).unwrap();
    let end = writer.offset();
    for body in [&[b'a'; 1000][..], b""] {
        let error = writer.response(&WarcResponse::new(URL, &headers, body)).unwrap_err();
        assert_eq!(error.offset(), end, "{error}");
    }
}

/// `warcio check` compares all digests. It is run if `WARCIO` names the program.
#[test]
fn warcio_finds_nothing_wrong() {
    let Some(warcio) = std::env::var_os("WARCIO").filter(|program| !program.is_empty()) else {
        println!("SKIPPED: set WARCIO to the warcio program (pip install warcio) to run this test");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for (form, name) in [(RecordFormat::Plain, "all.warc"), (RecordFormat::Gzip, "all.warc.gz")] {
        let path = folder.path().join(name);
        let (file, written) = write_all_kinds(form);
        std::fs::write(&path, file).unwrap();
        let checked = Command::new(&warcio).args(["check", "-v"]).arg(&path).output().unwrap();
        let output = String::from_utf8_lossy(&checked.stdout);
        assert!(checked.status.success(), "{output}");
        // warcio does not check revisits.
        assert_eq!(output.matches("digest pass").count(), written.len() - 1, "{output}");
        let indexed = Command::new(&warcio).args(["index", "-f", "offset"]).arg(&path).output().unwrap();
        let offsets: String = written.iter().map(|w| format!("{{\"offset\": \"{}\"}}\n", w.offset)).collect();
        assert_eq!(String::from_utf8_lossy(&indexed.stdout), offsets);
    }
}

proptest! {
    #[test]
    fn pages_are_read_back_unchanged(
        pages in proptest::collection::vec(
            (
                "http://[a-z]{1,8}\\.test/[!-~]{0,30}",
                100u16..600,
                proptest::collection::vec(("[A-Za-z][A-Za-z0-9-]{0,10}", "[!-~]([ -~é]{0,20}[!-~])?"), 0..5),
                proptest::collection::vec(any::<u8>(), 0..3000),
                0i64..4_000_000_000_000,
            ),
            0..6,
        ),
        form in proptest::sample::select(&FORMATS[..]),
        seed: u64,
    ) {
        let mut writer = WarcWriter::new(Vec::new(), form, seed);
        let mut places = Vec::new();
        for (url, status, fields, body, date) in &pages {
            let headers = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let answer = WarcResponse { date: Timestamp(*date), status: *status, ..WarcResponse::new(url, &headers, body) };
            places.push(writer.response(&answer).unwrap());
        }
        let file = writer.into_inner();
        let read: Vec<WarcRecord> = WarcReader::new(&file[..]).collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(read.len(), pages.len());
        for ((record, place), (url, status, fields, body, date)) in read.iter().zip(places).zip(&pages) {
            prop_assert_eq!(record.target(), Some(url.as_str()));
            prop_assert_eq!(record.date(), Some(Timestamp(*date)));
            let response = record.http(BLOCK_LIMIT).unwrap();
            prop_assert_eq!((response.status, &response.body), (*status, body));
            prop_assert_eq!(response.headers.len(), fields.len() + 1);
            for ((name, value), (read_name, read_value)) in fields.iter().zip(response.headers.iter()) {
                prop_assert!(read_name.ends_with(name.as_str()));
                prop_assert_eq!(read_value, value);
            }
            let alone = &file[place.offset as usize..(place.offset + place.length) as usize];
            prop_assert_eq!(&read_record(alone, record.place, BLOCK_LIMIT).unwrap(), record);
        }
    }
}
