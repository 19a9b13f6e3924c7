//! The page store: WARC segments in a folder, written one after the other.
//!
//! Records are gathered and written out together, by [`Archive::flush`] before their rows are committed: after a kill no
//! row points at what is not there. Segments are not synced, so a power cut may lose what the system had not written. The
//! last segment may then end in the middle of a record; that is cut off when it is opened again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use porthole_types::{CanonicalUrl, FailureKind, Outcome, PageResult, SegmentSpan, Timestamp};
use porthole_warc::{
    Answer, BLOCK_LIMIT, Form, LastWhole, Place, Truncation, WarcError, WarcWriter, last_whole, read_record,
};

use crate::Response;

/// WARC segments that pages are written to.
pub struct Archive {
    folder: PathBuf,
    segment: u32,
    writer: WarcWriter<Segment>,
}

/// Why pages cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A record could not be written.
    #[error("{}: {source}", path.display())]
    Warc {
        /// The segment.
        path: PathBuf,
        /// What happened.
        source: WarcError,
    },
}

impl ArchiveError {
    /// Whether there is no room left.
    pub fn is_disk_full(&self) -> bool {
        let is_full = |error: &io::Error| error.kind() == io::ErrorKind::StorageFull;
        match self {
            ArchiveError::Io { source, .. } => is_full(source),
            ArchiveError::Warc { source, .. } => {
                let source = std::error::Error::source(source);
                source.and_then(|source| source.downcast_ref()).is_some_and(is_full)
            }
        }
    }
}

/// Bytes after which a new segment is begun, as is usual for WARC files.
const SEGMENT_BYTES: u64 = 1 << 30;

/// Fast rather than small: the time is the crawl's.
const LEVEL: u32 = 1;

impl Archive {
    /// Opens the segments in a folder to write on behind the last whole record.
    pub fn open(folder: &Path, now: Timestamp) -> Result<Self, ArchiveError> {
        Archive::open_after(folder, None, now)
    }

    /// The same, for whoever knows the last record that a row points at: the last segment is read from there on, and not
    /// from its start.
    pub fn open_after(
        folder: &Path,
        last: Option<SegmentSpan>,
        now: Timestamp,
    ) -> Result<Self, ArchiveError> {
        fs::create_dir_all(folder).map_err(|source| io_error(folder, source))?;
        let segment = last_segment(folder).map_err(|source| io_error(folder, source))?;
        let last = last.filter(|last| last.segment == segment);
        let writer = open_segment(folder, segment, last)?;
        let is_new = writer.offset() == 0;
        let mut archive = Archive { folder: folder.to_owned(), segment, writer };
        if is_new {
            archive.say_what_it_is(now)?;
        }
        Ok(archive)
    }

    /// What packs records for these segments.
    pub(crate) fn packer(&self) -> Packer {
        Packer::new()
    }

    /// Writes a page, and says where it is.
    pub fn write(
        &mut self,
        url: &CanonicalUrl,
        at: Timestamp,
        response: &Response,
    ) -> Result<Option<SegmentSpan>, ArchiveError> {
        let Some(packed) = self.packer().pack(url, at, response) else { return Ok(None) };
        let span = self.append(&packed, at)?;
        self.flush()?;
        Ok(span)
    }

    /// Takes in a page's record, and says where it will be once [`flush`](Self::flush) has been called.
    pub(crate) fn append(
        &mut self,
        packed: &[u8],
        at: Timestamp,
    ) -> Result<Option<SegmentSpan>, ArchiveError> {
        if self.writer.offset() >= SEGMENT_BYTES {
            self.flush()?;
            self.segment += 1;
            self.writer = open_segment(&self.folder, self.segment, None)?;
            self.say_what_it_is(at)?;
        }
        let (offset, length) = self.writer.append(packed).map_err(|source| self.failed(source))?;
        let span = |length| SegmentSpan { segment: self.segment, offset, length };
        Ok(u32::try_from(length).ok().map(span))
    }

    /// Writes out what was gathered. To be called before rows are committed that point at it.
    pub fn flush(&mut self) -> Result<(), ArchiveError> {
        let offset = self.writer.offset();
        let written = self.writer.get_mut().flush();
        written.map_err(|source| self.failed(WarcError::Write { offset, source }))
    }

    /// A page as it was kept and written out.
    pub fn read(&self, span: SegmentSpan) -> Result<Response, ArchiveError> {
        read_page(&self.folder, span)
    }

    fn say_what_it_is(&mut self, at: Timestamp) -> Result<(), ArchiveError> {
        let name = file_name(self.segment);
        let software = concat!("porthole/", env!("CARGO_PKG_VERSION"));
        let fields = [("software", software), ("format", "WARC File Format 1.1")];
        self.writer.warcinfo(at, &name, &fields).map(drop).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: WarcError) -> ArchiveError {
        ArchiveError::Warc { path: self.folder.join(file_name(self.segment)), source }
    }
}

/// A page as it was kept in the segments of a folder.
pub fn read_page(folder: &Path, span: SegmentSpan) -> Result<Response, ArchiveError> {
    let path = folder.join(file_name(span.segment));
    let mut file = File::open(&path).map_err(|source| io_error(&path, source))?;
    file.seek(SeekFrom::Start(span.offset)).map_err(|source| io_error(&path, source))?;
    let place = Place { offset: span.offset, inside: 0, length: span.length.into() };
    let member = io::BufReader::new(file.take(span.length.into()));
    let page = read_record(member, place, BLOCK_LIMIT).and_then(|record| record.http(BLOCK_LIMIT));
    let page = page.map_err(|source| ArchiveError::Warc { path, source })?;
    Ok(Response {
        status: page.status,
        headers: page.headers,
        body: page.body.into(),
        truncated: false,
        took: Duration::ZERO,
    })
}

/// Which pages are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keep {
    /// All of them.
    All,
    /// Those whose R(d) is at least so much.
    Above(f64),
}

impl Keep {
    pub(crate) fn wants(self, result: &PageResult) -> bool {
        let is_page = match &result.outcome {
            Outcome::Fetched => true,
            Outcome::Skipped(failure) => failure.kind == FailureKind::Scripts,
            _ => false,
        };
        let is_good = |least| result.judgment.is_none_or(|judgment| judgment.relevance >= least);
        is_page
            && match self {
                Keep::All => true,
                Keep::Above(least) => is_good(least),
            }
    }
}

/// Packs pages as records, for [`Archive::append`]. Most of the work of keeping a page; every thread has its own.
pub(crate) struct Packer(WarcWriter<Vec<u8>>);

/// Distinguishes the names of records that different packers write.
static PACKERS: AtomicU64 = AtomicU64::new(0);

impl Packer {
    fn new() -> Self {
        let seed = PACKERS.fetch_add(1, Ordering::Relaxed);
        Packer(WarcWriter::new(Vec::new(), Form::Gzip, seed).with_level(LEVEL))
    }

    pub(crate) fn another(&self) -> Self {
        Packer::new()
    }

    pub(crate) fn pack(&mut self, url: &CanonicalUrl, at: Timestamp, response: &Response) -> Option<Vec<u8>> {
        let truncated = response.truncated.then_some(Truncation::Length);
        let answer = Answer {
            date: at,
            status: response.status,
            truncated,
            ..Answer::new(url.as_str(), &response.headers, &response.body)
        };
        self.0.response(&answer).ok()?;
        Some(std::mem::take(self.0.get_mut()))
    }
}

/// A segment's file, written to in large pieces.
struct Segment {
    file: File,
    gathered: Vec<u8>,
    /// A write failed, so nobody knows what is in the file.
    broken: bool,
}

/// Bytes that are gathered before they are written out.
const GATHERED: usize = 256 << 10;

impl Write for Segment {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gathered.len() + bytes.len() > GATHERED {
            self.flush()?;
        }
        self.gathered.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        if self.broken {
            return Err(io::Error::other("an earlier write failed; open the pages again"));
        }
        self.broken = true;
        self.file.write_all(&self.gathered)?;
        self.broken = false;
        self.gathered.clear();
        self.gathered.shrink_to(GATHERED);
        Ok(())
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // No row points at what is not written here: rows are committed after a flush that could fail aloud.
        let _ = self.flush();
    }
}

fn open_segment(
    folder: &Path,
    segment: u32,
    last: Option<SegmentSpan>,
) -> Result<WarcWriter<Segment>, ArchiveError> {
    let path = folder.join(file_name(segment));
    let failed = |source| io_error(&path, source);
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
    let end =
        end_of_whole(&mut file, last).map_err(|source| ArchiveError::Warc { path: path.clone(), source })?;
    // Some systems write out at once what was emptied before, even if it was empty.
    if file.metadata().map_err(failed)?.len() > end {
        file.set_len(end).map_err(failed)?;
    }
    file.seek(SeekFrom::Start(end)).map_err(failed)?;
    let segment_file = Segment { file, gathered: Vec::new(), broken: false };
    Ok(WarcWriter::new(segment_file, Form::Gzip, segment.into()).with_level(LEVEL).with_offset(end))
}

/// Where the last whole record ends. Reading starts at the record that is known, and at the start of the file if it is not
/// there: what follows a wrong place would be cut off.
fn end_of_whole(file: &mut File, last: Option<SegmentSpan>) -> Result<u64, WarcError> {
    if let Some(SegmentSpan { offset, length, .. }) = last {
        let found = whole_from(file, offset)?;
        if found.records > 0 && found.end >= offset.saturating_add(length.into()) {
            return Ok(found.end);
        }
    }
    whole_from(file, 0).map(|found| found.end)
}

fn whole_from(file: &mut File, offset: u64) -> Result<LastWhole, WarcError> {
    file.seek(SeekFrom::Start(offset)).map_err(|source| WarcError::Read { offset, source })?;
    last_whole(io::BufReader::new(file), offset)
}

fn file_name(segment: u32) -> String {
    format!("{segment:05}.warc.gz")
}

/// The highest number among the segments; 0 if there are none.
fn last_segment(folder: &Path) -> io::Result<u32> {
    let mut last = 0;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".warc.gz")?.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    Ok(last)
}

fn io_error(path: &Path, source: io::Error) -> ArchiveError {
    ArchiveError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use porthole_types::Headers;
    use porthole_warc::WarcReader;

    use super::*;

    fn page(body: &str) -> Response {
        Response {
            status: 200,
            headers: [("Content-Type", "text/html")].into_iter().collect::<Headers>(),
            body: body.to_owned().into(),
            truncated: false,
            took: Duration::ZERO,
        }
    }

    #[test]
    fn an_unfinished_record_is_cut_off_and_writing_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let url = |n: u32| CanonicalUrl::parse(&format!("http://a.test/{n}")).unwrap();
        let now = Timestamp(1_000_000);
        let mut archive = Archive::open(folder.path(), now).unwrap();
        let write =
            |archive: &mut Archive, n, body| archive.write(&url(n), now, &page(body)).unwrap().unwrap();
        let first = write(&mut archive, 1, "first");
        let second = write(&mut archive, 2, "second");
        drop(archive);
        let path = folder.path().join("00000.warc.gz");
        let bytes = fs::read(&path).unwrap();
        assert_eq!(second.offset, first.offset + u64::from(first.length));
        assert_eq!(read_page(folder.path(), second).unwrap().body, b"second"[..]);
        // Whatever part of the last record made it to the disk.
        for end in [bytes.len() as u64, second.offset + 1, bytes.len() as u64 - 1] {
            fs::write(&path, &bytes[..end as usize]).unwrap();
            let mut archive = Archive::open(folder.path(), now).unwrap();
            let third = write(&mut archive, 3, "third");
            drop(archive);
            let is_whole = end == bytes.len() as u64;
            assert_eq!(third.offset, if is_whole { end } else { second.offset });
            let records: Vec<_> = WarcReader::new(File::open(&path).unwrap()).map(Result::unwrap).collect();
            let targets: Vec<_> = records.iter().filter_map(|record| record.target()).collect();
            let expected: &[&str] = if is_whole {
                &["http://a.test/1", "http://a.test/2", "http://a.test/3"]
            } else {
                &["http://a.test/1", "http://a.test/3"]
            };
            assert_eq!(targets, expected);
        }
    }

    #[test]
    fn what_is_gathered_is_written_out_by_a_flush_and_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let now = Timestamp(1_000_000);
        let archive = Archive::open(folder.path(), now).unwrap();
        let url = CanonicalUrl::parse("http://a.test/").unwrap();
        let packed = archive.packer().pack(&url, now, &page("first")).unwrap();
        drop(archive);
        let path = folder.path().join("00000.warc.gz");
        let size = || fs::metadata(&path).unwrap().len();
        let before = size();
        assert!(before > 0, "a segment says what it is");
        let mut writer = open_segment(folder.path(), 0, None).unwrap();
        let length = packed.len() as u64;
        assert_eq!(writer.append(&packed).unwrap(), (before, length));
        assert_eq!(size(), before);
        writer.get_mut().flush().unwrap();
        assert_eq!(size(), before + length);
        for _ in 0..GATHERED as u64 / length + 1 {
            writer.append(&packed).unwrap();
        }
        assert!(size() > before + length, "no more is gathered than there is room for");
        let end = writer.offset();
        drop(writer);
        assert_eq!(size(), end);
    }

    #[test]
    fn a_segment_is_read_from_the_last_known_record_on() {
        let folder = tempfile::tempdir().unwrap();
        let now = Timestamp(1_000_000);
        let url = CanonicalUrl::parse("http://a.test/").unwrap();
        let mut archive = Archive::open(folder.path(), now).unwrap();
        let mut write = |body| archive.write(&url, now, &page(body)).unwrap().unwrap();
        let [first, second, third] = ["first", "second", "third"].map(&mut write);
        drop(archive);
        let path = folder.path().join("00000.warc.gz");
        let bytes = fs::read(&path).unwrap();
        let end_after = |cut: &[u8], last| {
            fs::write(&path, cut).unwrap();
            Archive::open_after(folder.path(), last, now).unwrap().writer.offset()
        };
        let cut = &bytes[..bytes.len() - 1];
        assert_eq!(end_after(&bytes, Some(second)), bytes.len() as u64);
        assert_eq!(end_after(cut, Some(first)), third.offset);
        // The known record itself is not whole, is elsewhere, or is in another segment.
        assert_eq!(end_after(cut, Some(third)), third.offset);
        let wrong = SegmentSpan { offset: second.offset + 1, ..second };
        assert_eq!(end_after(&bytes, Some(wrong)), bytes.len() as u64);
        assert_eq!(end_after(&bytes, Some(SegmentSpan { offset: 1 << 40, ..second })), bytes.len() as u64);
        assert_eq!(end_after(&bytes, Some(SegmentSpan { segment: 7, ..second })), bytes.len() as u64);
        // What is before the known record is not looked at.
        let mut damaged = bytes.clone();
        damaged[first.offset as usize + 20] ^= 1;
        assert_eq!(end_after(&damaged, None), first.offset);
        assert_eq!(end_after(&damaged, Some(second)), bytes.len() as u64);
    }
}
