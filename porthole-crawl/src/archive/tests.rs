//! Archives that are written, damaged, opened again and read.

use porthole_types::{Rank, StoredCopy};

use super::segment::BUFFER_BYTES;
use super::*;

fn page(body: &str) -> Response {
    Response::new(200, [("Content-Type", "text/html")].into_iter().collect::<Headers>(), body.to_owned())
}

/// The page as a server sends it that compresses.
fn compressed_page(body: &str) -> Response {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(body.as_bytes()).unwrap();
    let mut response = page(body);
    response.headers.push("Content-Encoding", "gzip");
    response.encoded_body = Some(encoder.finish().unwrap().into());
    response
}

fn url(n: u32) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://a.test/{n}")).unwrap()
}

fn both() -> [ArchiveCompression; 2] {
    SegmentCompression::ALL.map(|format| ArchiveCompression { format, level: 1 })
}

const NOW: Timestamp = Timestamp(1_000_000);

/// A segment with three pages: its path, bytes and the locations of the pages.
fn three_pages(folder: &Path, compression: ArchiveCompression) -> (PathBuf, Vec<u8>, [SegmentSpan; 3]) {
    let mut archive = Archive::open_after(folder, None, compression).unwrap();
    let spans = [(1, "first"), (2, "second"), (3, "third")]
        .map(|(n, body)| archive.write(&url(n), NOW, &page(body)).unwrap().unwrap());
    drop(archive);
    let path = folder.join(compression.format.file_name(0));
    let bytes = fs::read(&path).unwrap();
    (path, bytes, spans)
}

#[test]
fn a_compressed_body_is_archived_as_it_was_received() {
    for compression in both() {
        let folder = tempfile::tempdir().unwrap();
        let mut archive = Archive::open_after(folder.path(), None, compression).unwrap();
        let response = compressed_page(&"<p>An owl in a tree. ".repeat(2_000));
        let span = archive.write(&url(1), NOW, &response).unwrap().unwrap();
        let read = read_page(folder.path(), &url(1), span).unwrap();
        assert_eq!((read.body, read.encoded_body), (response.body.clone(), None));
        let bytes = fs::read(folder.path().join(compression.format.file_name(0))).unwrap();
        let record = WarcReader::new(&bytes[span.offset as usize..]).next_record().unwrap().unwrap();
        assert!(record.block.ends_with(response.encoded_body.as_ref().unwrap()));

        let mut packer = archive.packer();
        assert!(packer.pack_revisit(&url(1), NOW, &response, None, span).is_some(), "the same bytes");
        let other = Response { encoded_body: None, ..response };
        assert!(packer.pack_revisit(&url(1), NOW, &other, None, span).is_none(), "other bytes");
    }
}

#[test]
fn an_incomplete_uncommitted_record_is_truncated() {
    both().into_iter().for_each(check_truncation);
}

fn check_truncation(compression: ArchiveCompression) {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes, [_, second, third]) = three_pages(folder.path(), compression);
    assert_eq!(read_page(folder.path(), &url(2), second).unwrap().body, b"second"[..]);
    let (start, end) = (third.offset as usize, bytes.len());
    let zeros = [&bytes[..start], &[0; 5_000]].concat();
    let garbage = [&bytes[..start + 9], b"garbage"].concat();
    for tail in [&bytes[..], &bytes[..start + 1], &bytes[..end - 1], &zeros, &garbage] {
        fs::write(&path, tail).unwrap();
        let mut archive = Archive::open_after(folder.path(), Some(second), compression).unwrap();
        let fourth = archive.write(&url(4), NOW, &page("fourth")).unwrap().unwrap();
        drop(archive);
        let is_complete = tail.len() == end;
        assert_eq!((fourth.segment, fourth.offset), (0, if is_complete { end } else { start } as u64));
        let records: Vec<_> = WarcReader::new(File::open(&path).unwrap()).map(Result::unwrap).collect();
        let targets: Vec<_> = records.iter().filter_map(|record| record.target()).collect();
        let expected = [1, 2, 3, 4].map(|n| format!("http://a.test/{n}"));
        let expected = expected.iter().filter(|url| is_complete || !url.ends_with('3'));
        assert_eq!(targets, expected.collect::<Vec<_>>());
    }
}

#[test]
fn a_segment_with_damaged_records_is_left_unchanged() {
    both().into_iter().for_each(check_damaged_segment);
}

fn check_damaged_segment(compression: ArchiveCompression) {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes, [first, second, third]) = three_pages(folder.path(), compression);
    let opened = |bytes: &[u8], last| {
        fs::write(&path, bytes).unwrap();
        let archive = Archive::open_after(folder.path(), last, compression).unwrap();
        let segment = archive.segment;
        drop(archive);
        assert_eq!(fs::read(&path).unwrap(), bytes);
        if segment > 0 {
            fs::remove_file(folder.path().join(compression.format.file_name(segment))).unwrap();
        }
        segment
    };
    let mut flipped = bytes.clone();
    flipped[first.offset as usize + 20] ^= 1;
    let cut = &bytes[..bytes.len() - 1];
    assert_eq!(opened(&bytes, None), 0);
    assert_eq!(opened(&bytes, Some(second)), 0);
    assert_eq!(opened(&flipped, Some(second)), 0, "earlier records are not checked");
    assert_eq!(opened(&flipped, Some(first)), 1);
    assert_eq!(opened(&flipped, None), 1, "it is unknown what is committed");
    assert_eq!(opened(cut, None), 1);
    assert_eq!(opened(cut, Some(third)), 1);
    assert_eq!(opened(&bytes, Some(SegmentSpan { offset: second.offset + 1, ..second })), 1);
    assert_eq!(opened(&bytes, Some(SegmentSpan { offset: 1 << 40, ..second })), 1);
    assert_eq!(opened(&bytes, Some(SegmentSpan { segment: 7, ..second })), 8, "its segment is gone");
}

#[test]
fn a_record_of_another_page_is_refused() {
    both().into_iter().for_each(check_other_page);
}

fn check_other_page(compression: ArchiveCompression) {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes, [first, second, third]) = three_pages(folder.path(), compression);
    let error = |n, span| read_page(folder.path(), &url(n), span).unwrap_err();
    let other = error(1, second);
    let said = format!(
        "{}: the record at offset {} should be http://a.test/1, but is http://a.test/2",
        path.display(),
        second.offset
    );
    assert_eq!((other.to_string(), other.is_lost_page()), (said, true));
    let mut damaged = bytes[..bytes.len() - 1].to_vec();
    damaged[second.offset as usize + 30] ^= 1;
    fs::write(&path, damaged).unwrap();
    for (n, span) in [(2, second), (3, third)] {
        let said = error(n, span).to_string();
        let start = format!(
            "{}: http://a.test/{n} cannot be read: the record at offset {}",
            path.display(),
            span.offset
        );
        assert!(said.starts_with(&start), "{said}");
    }
    assert_eq!(read_page(folder.path(), &url(1), first).unwrap().body, b"first"[..]);
    assert!(error(1, SegmentSpan { segment: 3, ..first }).is_lost_page());
}

#[test]
fn packing_is_deterministic() {
    for compression in both() {
        let new = || Packer::new(Path::new("no-archive"), compression);
        let mut packer = new();
        let mut pack = |n, body: &str| packer.pack(&url(n), NOW, &page(body), None);
        let first = pack(1, "first");
        pack(2, &"second ".repeat(10_000));
        assert_eq!(pack(1, "first"), first);
        assert_eq!(new().pack(&url(1), NOW, &page("first"), None), first);
        assert_ne!(new().pack(&url(1), Timestamp(1), &page("first"), None), first);
    }
}

#[test]
fn a_request_is_behind_its_page() {
    let folder = tempfile::tempdir().unwrap();
    let mut archive = Archive::open(folder.path()).unwrap();
    archive.segment_bytes = 1;
    archive.record_requests([("user-agent", "test")].into_iter().collect());
    let validators = Some(Validators { etag: Some("\"v\"".into()), modified: None });
    let copy = StoredCopy { validators, ..StoredCopy::default() };
    let work = Work {
        oid: url(1).id(),
        sid: url(1).site(),
        url: url(1),
        numtries: 0,
        relevance: 0.0,
        priority: 0.0,
        depth: 0,
        pages_of_site: 0,
        rank: Rank::default(),
        copy: Some(Box::new(copy)),
    };
    let mut packer = archive.packer().try_clone();
    let mut spans = Vec::new();
    for body in ["first", "second"] {
        let packed = packer.pack(&work.url, NOW, &page(body), None);
        let request = packer.pack_request(&work, NOW);
        spans.push(archive.append(&packed, request.as_deref(), NOW).unwrap().unwrap());
    }
    drop(archive);
    for (segment, body, span) in [(0, "first", spans[0]), (1, "second", spans[1])] {
        assert_eq!(read_page(folder.path(), &work.url, span).unwrap().body, body.as_bytes()[..]);
        let file = File::open(segment_path(folder.path(), segment)).unwrap();
        let records: Vec<WarcRecord> = WarcReader::new(file).map(Result::unwrap).collect();
        let [_, response, request] = &records[..] else { panic!("{} records", records.len()) };
        assert_eq!(request.concurrent_to(), response.id());
        let sent = "GET /1 HTTP/1.1\r\nuser-agent: test\r\nhost: a.test\r\nif-none-match: \"v\"\r\n\r\n";
        assert_eq!(String::from_utf8_lossy(&request.block), sent);
    }
    // What comes after the last known page is kept if it is whole.
    let archive = Archive::open_after(folder.path(), Some(spans[1]), ArchiveCompression::default()).unwrap();
    assert_eq!(
        (archive.segment, archive.writer.offset() > spans[1].offset + u64::from(spans[1].length)),
        (1, true)
    );
}

#[test]
fn the_buffer_is_written_by_a_flush_and_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let now = Timestamp(1_000_000);
    let mut archive = Archive::open(folder.path()).unwrap();
    archive.describe(vec![("operator", "somebody".to_owned())]);
    let url = CanonicalUrl::parse("http://a.test/").unwrap();
    let address = Some([192, 0, 2, 1].into());
    let packed = archive.packer().pack(&url, now, &page("first"), address);
    archive.write(&url, now, &page("first")).unwrap();
    drop(archive);
    let path = folder.path().join("00000.warc.gz");
    let size = || fs::metadata(&path).unwrap().len();
    let before = size();
    let records: Vec<WarcRecord> =
        WarcReader::new(File::open(&path).unwrap()).collect::<Result<_, _>>().unwrap();
    let info = String::from_utf8_lossy(&records[0].block).into_owned();
    assert!(info.contains("operator: somebody\r\n"), "a segment starts with warcinfo: {info}");
    assert_eq!(records.len(), 2);
    let record = WarcReader::new(&packed[..]).next_record().unwrap().unwrap();
    assert_eq!(record.headers.get("WARC-IP-Address"), Some("192.0.2.1"));
    let (_, mut writer) =
        resume_segment(folder.path(), 0, None, ArchiveCompression::default()).unwrap().unwrap();
    let length = packed.len() as u64;
    assert_eq!(writer.append(&packed).unwrap(), (before, length));
    assert_eq!(size(), before);
    writer.get_mut().flush().unwrap();
    assert_eq!(size(), before + length);
    for _ in 0..BUFFER_BYTES as u64 / length + 1 {
        writer.append(&packed).unwrap();
    }
    assert!(size() > before + length, "the buffer is written when it is full");
    let end = writer.offset();
    drop(writer);
    assert_eq!(size(), end);
}

#[test]
fn a_damaged_record_is_refused() {
    both().into_iter().for_each(check_damaged_record);
}

fn check_damaged_record(compression: ArchiveCompression) {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes, [.., third]) = three_pages(folder.path(), compression);
    let mut unharmed = 0;
    let mut check = |bytes: &[u8], what: &str| {
        fs::write(&path, bytes).unwrap();
        let read = read_page(folder.path(), &url(3), third);
        let is_complete = look_up(folder.path(), third).unwrap().unwrap().0;
        assert_eq!(read.is_ok(), is_complete, "{what}");
        if let Ok(page) = read {
            assert_eq!(page.body, b"third"[..], "{what}");
            unharmed += 1;
        }
    };
    for at in third.offset as usize..bytes.len() {
        check(&bytes[..at], &format!("cut at {at}"));
        check(&[&bytes[..at], &vec![0; bytes.len() - at]].concat(), &format!("zeros from {at}"));
        for flip in [1, 2, 16, 128, 255] {
            let mut flipped = bytes.clone();
            flipped[at] ^= flip;
            check(&flipped, &format!("byte {at} xor {flip}"));
        }
    }
    // Time and operating system in the member's header do not affect the page.
    assert!(unharmed < 50, "{unharmed}");
}

#[test]
fn another_compression_starts_a_new_segment() {
    let folder = tempfile::tempdir().unwrap();
    let [gzip, zstd] = both();
    let (path, bytes, [_, second, third]) = three_pages(folder.path(), gzip);
    // A torn end of the last segment is truncated, too.
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let mut last = second;
    for (n, compression) in [(4, zstd), (5, zstd), (6, gzip)] {
        let mut archive = Archive::open_after(folder.path(), Some(last), compression).unwrap();
        last = archive.write(&url(n), NOW, &page("a page")).unwrap().unwrap();
        assert_eq!(read_page(folder.path(), &url(n), last).unwrap().body, b"a page"[..]);
        assert_eq!(last.segment, if n == 6 { 2 } else { 1 });
    }
    assert_eq!(fs::metadata(&path).unwrap().len(), third.offset);
    assert_eq!(read_page(folder.path(), &url(2), second).unwrap().body, b"second"[..]);
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["00000.warc.gz", "00001.warc.zst", "00002.warc.gz"]);
}
