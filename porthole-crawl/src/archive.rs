//! The page store: WARC segments in a folder, written sequentially.
//!
//! Records are buffered and written by [`Archive::flush`] before their rows are committed, so that after a kill no
//! row refers to missing bytes. About once a second the crawl syncs what was written (`engine/durability.rs`). After
//! a power cut anything after the last sync may be missing; [`Crawl::archived`](crate::Crawl::archived) finds the
//! rows concerned.
//!
//! At open an incomplete record is truncated only after the last record that is known to be committed. In all other
//! cases a damaged segment is left unchanged and a new one is started, so that an offset that a row may refer to is
//! never reused.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use porthole_types::{
    CanonicalUrl, FailureKind, Headers, Outcome, PageResult, SegmentSpan, Timestamp, Validators, Work,
};
use porthole_warc::{
    BLOCK_LIMIT, Digest, LastWhole, Original, RecordFormat, Truncation, WarcError, WarcReader, WarcRecord,
    WarcRequest, WarcResponse, WarcWriter, last_whole,
};

use crate::Response;

/// WARC segments to which pages are appended.
pub struct Archive {
    folder: PathBuf,
    segment: u32,
    writer: WarcWriter<Segment>,
    /// Full segments that [`unsynced`](Self::unsynced) has not returned yet.
    full: Vec<(PathBuf, File)>,
    /// Additional fields of the warcinfo record of every new segment.
    about: Vec<(&'static str, String)>,
    /// Headers of every request, if requests are recorded.
    request_headers: Option<Headers>,
    /// Size after which a new segment is started.
    pub(crate) segment_bytes: u64,
}

/// Why pages cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// An I/O error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A record could not be written.
    #[error("{}: {source}", path.display())]
    Warc {
        /// The segment.
        path: PathBuf,
        /// The error.
        source: WarcError,
    },
    /// A page's record is damaged or missing.
    #[error("{}: {url} cannot be read: {source}", path.display())]
    Unreadable {
        /// The segment.
        path: PathBuf,
        /// The page.
        url: String,
        /// What is wrong, and at which offset.
        source: WarcError,
    },
    /// The record belongs to another page.
    #[error("{}: the record at offset {offset} should be {expected}, but is {found}", path.display())]
    OtherPage {
        /// The segment.
        path: PathBuf,
        /// Where the record starts.
        offset: u64,
        /// The requested page.
        expected: String,
        /// The page that the record names, if any.
        found: String,
    },
}

impl ArchiveError {
    /// Whether the disk is full.
    pub fn is_disk_full(&self) -> bool {
        let is_full = |error: &io::Error| error.kind() == io::ErrorKind::StorageFull;
        match self {
            ArchiveError::Io { source, .. } => is_full(source),
            ArchiveError::Warc { source, .. } => {
                let source = std::error::Error::source(source);
                source.and_then(|source| source.downcast_ref()).is_some_and(is_full)
            }
            ArchiveError::Unreadable { .. } | ArchiveError::OtherPage { .. } => false,
        }
    }

    /// Whether the page is missing or damaged, as opposed to an I/O error.
    pub(crate) fn is_lost_page(&self) -> bool {
        match self {
            ArchiveError::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
            ArchiveError::Warc { .. } => false,
            ArchiveError::Unreadable { .. } | ArchiveError::OtherPage { .. } => true,
        }
    }
}

/// The usual size of WARC segments.
const SEGMENT_BYTES: u64 = 1 << 30;

/// Fast rather than small.
const LEVEL: u32 = 1;

impl Archive {
    /// Opens the segments in a folder for appending: to the last one if all its records are complete, otherwise to a
    /// new one.
    pub fn open(folder: &Path) -> Result<Self, ArchiveError> {
        Archive::open_after(folder, None)
    }

    /// Opens the segments, given the last record that a row refers to. If that record is complete, its segment is
    /// read from there, not from its start, and an incomplete record after it is truncated.
    pub fn open_after(folder: &Path, last: Option<SegmentSpan>) -> Result<Self, ArchiveError> {
        let is_new = !folder.exists();
        fs::create_dir_all(folder).map_err(|source| io_error(folder, source))?;
        if let (true, Some(parent)) = (is_new, folder.parent()) {
            sync_folder(parent)?;
        }
        let newest = newest_segment(folder).map_err(|source| io_error(folder, source))?;
        let newest = newest.max(last.map(|last| last.segment));
        let resumed = newest.map(|newest| resume_segment(folder, newest, last)).transpose()?.flatten();
        let (segment, writer) = match (newest, resumed) {
            (Some(newest), Some(writer)) => (newest, writer),
            (newest, _) => {
                let segment = newest.map_or(0, |newest| newest + 1);
                (segment, begin_segment(folder, segment)?)
            }
        };
        Ok(Archive {
            folder: folder.to_owned(),
            segment,
            writer,
            full: Vec::new(),
            about: Vec::new(),
            request_headers: None,
            segment_bytes: SEGMENT_BYTES,
        })
    }

    /// Adds fields to the warcinfo record of every new segment, such as the operator of the crawl.
    pub(crate) fn describe(&mut self, fields: Vec<(&'static str, String)>) {
        self.about = fields;
    }

    /// Records requests, too. The headers are those that all of them have in common.
    pub(crate) fn record_requests(&mut self, headers: Headers) {
        self.request_headers = Some(headers);
    }

    /// A packer for these segments.
    pub(crate) fn packer(&self) -> Packer {
        Packer { request_headers: self.request_headers.clone(), ..Packer::new(&self.folder) }
    }

    /// Writes a page and returns its location.
    pub fn write(
        &mut self,
        url: &CanonicalUrl,
        at: Timestamp,
        response: &Response,
    ) -> Result<Option<SegmentSpan>, ArchiveError> {
        let packed = self.packer().pack(url, at, response, None);
        let span = self.append(&packed, None, at)?;
        self.flush()?;
        Ok(span)
    }

    /// Appends a packed page, and the request for it, to the buffer. Returns the page's location after the next
    /// [`flush`](Self::flush); the request is the record behind it.
    pub(crate) fn append(
        &mut self,
        packed: &[u8],
        request: Option<&[u8]>,
        at: Timestamp,
    ) -> Result<Option<SegmentSpan>, ArchiveError> {
        if self.writer.offset() >= self.segment_bytes {
            self.flush()?;
            let full = self.current_file()?;
            self.full.push(full);
            self.writer = begin_segment(&self.folder, self.segment + 1)?;
            self.segment += 1;
        }
        if self.writer.offset() == 0 {
            self.write_warcinfo(at)?;
        }
        let (offset, length) = self.writer.append(packed).map_err(|source| self.failed(source))?;
        if let Some(request) = request {
            self.writer.append(request).map_err(|source| self.failed(source))?;
        }
        let span = |length| SegmentSpan { segment: self.segment, offset, length };
        Ok(u32::try_from(length).ok().map(span))
    }

    /// Writes the buffer. Must be called before rows that refer to it are committed.
    pub fn flush(&mut self) -> Result<(), ArchiveError> {
        let offset = self.writer.offset();
        let written = self.writer.get_mut().flush();
        written.map_err(|source| self.failed(WarcError::Write { offset, source }))
    }

    /// The files to sync so that everything flushed so far survives a power cut.
    pub(crate) fn unsynced(&mut self) -> Result<Unsynced, ArchiveError> {
        let current = self.current_file()?;
        Ok(Unsynced(self.full.drain(..).chain([current]).collect()))
    }

    fn current_file(&mut self) -> Result<(PathBuf, File), ArchiveError> {
        let path = self.folder.join(file_name(self.segment));
        let file = self.writer.get_mut().file.try_clone();
        Ok((path.clone(), file.map_err(|source| ArchiveError::Io { path, source })?))
    }

    /// Reads a page that was written.
    pub fn read(&self, url: &CanonicalUrl, span: SegmentSpan) -> Result<Response, ArchiveError> {
        read_page(&self.folder, url, span)
    }

    fn write_warcinfo(&mut self, at: Timestamp) -> Result<(), ArchiveError> {
        let name = file_name(self.segment);
        let software = concat!("porthole/", env!("CARGO_PKG_VERSION"));
        let mut fields = vec![("software", software), ("format", "WARC File Format 1.1")];
        fields.extend(self.about.iter().map(|(name, value)| (*name, value.as_str())));
        self.writer.warcinfo(at, &name, &fields).map(drop).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: WarcError) -> ArchiveError {
        ArchiveError::Warc { path: self.folder.join(file_name(self.segment)), source }
    }
}

/// Segments with bytes that a power cut may lose. Syncing may take long, and can be done on any thread.
pub(crate) struct Unsynced(Vec<(PathBuf, File)>);

impl Unsynced {
    /// Opens segments that another process has written.
    pub(crate) fn open(folder: &Path, segments: impl Iterator<Item = u32>) -> Result<Self, ArchiveError> {
        let mut files = Vec::new();
        for path in segments.map(|segment| folder.join(file_name(segment))) {
            match OpenOptions::new().write(true).open(&path) {
                Ok(file) => files.push((path, file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io_error(&path, error)),
            }
        }
        Ok(Unsynced(files))
    }

    /// Waits until everything is on the disk.
    pub(crate) fn sync(self) -> Result<(), ArchiveError> {
        self.0.iter().try_for_each(|(path, file)| file.sync_data().map_err(|source| io_error(path, source)))
    }
}

/// Reads a page from the segments of a folder. It is an error if the record is damaged or belongs to another page.
pub fn read_page(folder: &Path, url: &CanonicalUrl, span: SegmentSpan) -> Result<Response, ArchiveError> {
    let path = folder.join(file_name(span.segment));
    let mut file = File::open(&path).map_err(|source| io_error(&path, source))?;
    file.seek(SeekFrom::Start(span.offset)).map_err(|source| io_error(&path, source))?;
    let member = io::BufReader::new(file.take(span.length.into()));
    let record = match only_record(member, span) {
        Err(WarcError::Read { source, .. }) => return Err(io_error(&path, source)),
        Err(source) => return Err(ArchiveError::Unreadable { path, url: url.to_string(), source }),
        Ok(record) => record,
    };
    let target = record.target().unwrap_or("no page");
    if target != url.as_str() {
        let (expected, found) = (url.to_string(), target.to_owned());
        return Err(ArchiveError::OtherPage { path, offset: span.offset, expected, found });
    }
    let page = record.http(BLOCK_LIMIT);
    let page = page.map_err(|source| ArchiveError::Unreadable { path, url: url.to_string(), source })?;
    Ok(Response {
        status: page.status,
        headers: page.headers,
        body: page.body.into(),
        truncated: false,
        took: Duration::ZERO,
    })
}

/// Reads the only record of a span. It must end there, because the checksum is verified only at the end of its
/// member.
fn only_record(member: impl Read, span: SegmentSpan) -> Result<WarcRecord, WarcError> {
    let SegmentSpan { offset, length, .. } = span;
    let mut reader = WarcReader::new(member).with_offset(offset).with_block_limit(BLOCK_LIMIT);
    let record = reader.next_record()?.ok_or(WarcError::Truncated { offset, end: offset })?;
    if reader.next_record()?.is_some() || record.place.length != u64::from(length) {
        let what = format!("it does not end after {length} bytes");
        return Err(WarcError::Damaged { offset, what });
    }
    Ok(record)
}

/// Whether there is a complete record, of any page, and the length of its segment. `None` if the segment does not
/// exist.
pub(crate) fn look_up(folder: &Path, span: SegmentSpan) -> Result<Option<(bool, u64)>, ArchiveError> {
    let path = folder.join(file_name(span.segment));
    let mut file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|source| io_error(&path, source))?,
    };
    let length = file.metadata().map_err(|source| io_error(&path, source))?.len();
    let is_complete = is_complete(&mut file, span).map_err(|source| ArchiveError::Warc { path, source })?;
    Ok(Some((is_complete, length)))
}

/// Which pages are archived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keep {
    /// All pages.
    All,
    /// Pages whose R(d) is at least this.
    Above(f64),
}

impl Keep {
    pub(crate) fn wants(self, result: &PageResult) -> bool {
        let is_page = match &result.outcome {
            Outcome::Fetched | Outcome::NotModified => true,
            // Replays follow redirects.
            Outcome::Redirected => (300..400).contains(&result.status),
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

/// Packs pages as records for [`Archive::append`]. This is most of the cost of archiving a page; each thread has its
/// own.
///
/// The id of a record depends only on the page, its URL and its time, so the bytes do not depend on what was packed
/// before.
pub(crate) struct Packer {
    writer: WarcWriter<io::Sink>,
    /// Folder of the segments, where earlier copies of pages are.
    folder: PathBuf,
    /// As in [`Archive`].
    request_headers: Option<Headers>,
}

impl Packer {
    fn new(folder: &Path) -> Self {
        let writer = WarcWriter::new(io::sink(), RecordFormat::Gzip, 0).with_level(LEVEL);
        Packer { writer, folder: folder.to_owned(), request_headers: None }
    }

    pub(crate) fn try_clone(&self) -> Self {
        Packer { request_headers: self.request_headers.clone(), ..Packer::new(&self.folder) }
    }

    pub(crate) fn pack(
        &mut self,
        url: &CanonicalUrl,
        at: Timestamp,
        response: &Response,
        ip: Option<IpAddr>,
    ) -> Vec<u8> {
        let truncated = response.truncated.then_some(Truncation::Length);
        let answer = WarcResponse {
            date: at,
            status: response.status,
            ip,
            truncated,
            ..WarcResponse::new(url.as_str(), &response.headers, &response.body)
        };
        self.writer.packed_response(&answer)
    }

    /// Packs a revisit record that refers to an earlier copy of the page, if the response has the same body or says
    /// that the page has not changed. `None` if the copy cannot be read or differs.
    pub(crate) fn pack_revisit(
        &mut self,
        url: &CanonicalUrl,
        at: Timestamp,
        response: &Response,
        ip: Option<IpAddr>,
        copy: SegmentSpan,
    ) -> Option<Vec<u8>> {
        let mut file = File::open(self.folder.join(file_name(copy.segment))).ok()?;
        file.seek(SeekFrom::Start(copy.offset)).ok()?;
        let record = only_record(io::BufReader::new(file.take(copy.length.into())), copy).ok()?;
        let digest = record.payload_digest().and_then(Digest::parse)?;
        let is_same = response.status == 304 || (!response.truncated && Digest::of(&response.body) == digest);
        if !is_same || record.target() != Some(url.as_str()) {
            return None;
        }
        let original = Original { id: record.id(), url: url.as_str(), date: record.date()?, digest };
        let answer = WarcResponse {
            date: at,
            status: response.status,
            ip,
            ..WarcResponse::new(url.as_str(), &response.headers, &response.body)
        };
        Some(self.writer.packed_revisit(&answer, &original))
    }

    /// Packs the request for the page that was packed last, if requests are recorded: what was sent to the page's
    /// server over HTTP/1.1 and without a proxy.
    pub(crate) fn pack_request(&mut self, work: &Work, at: Timestamp) -> Option<Vec<u8>> {
        let mut headers = self.request_headers.clone()?;
        headers.push("host", work.url.authority());
        let conditions =
            work.copy.as_ref().and_then(|copy| copy.validators.as_ref()).map(Validators::conditions);
        for (name, value) in conditions.iter().flat_map(Headers::iter) {
            headers.push(name, value);
        }
        Some(self.writer.packed_request(&WarcRequest {
            url: work.url.as_str(),
            date: at,
            path: work.url.path_and_query(),
            headers: &headers,
            response: self.writer.last_id(),
        }))
    }
}

/// A segment's file with a write buffer.
struct Segment {
    file: File,
    gathered: Vec<u8>,
    /// A write failed, so the content of the file is unknown.
    broken: bool,
}

/// Size of the write buffer.
const BUFFER_BYTES: usize = 256 << 10;

impl Write for Segment {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gathered.len() + bytes.len() > BUFFER_BYTES {
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
        self.gathered.shrink_to(BUFFER_BYTES);
        Ok(())
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // No row refers to bytes that fail to be written here: rows are committed after a flush whose errors are
        // reported.
        let _ = self.flush();
    }
}

/// Opens a segment for appending. `None` if it is damaged or missing; it is left unchanged then.
fn resume_segment(
    folder: &Path,
    segment: u32,
    last: Option<SegmentSpan>,
) -> Result<Option<WarcWriter<Segment>>, ArchiveError> {
    let path = folder.join(file_name(segment));
    let mut file = match OpenOptions::new().read(true).write(true).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|source| io_error(&path, source))?,
    };
    let last = last.filter(|last| last.segment == segment);
    let end = append_offset(&mut file, last);
    let Some(end) = end.map_err(|source| ArchiveError::Warc { path: path.clone(), source })? else {
        return Ok(None);
    };
    let cut_and_seek = |file: &mut File| {
        // Some systems flush at close what was truncated before, even if nothing changed.
        if file.metadata()?.len() > end {
            file.set_len(end)?;
        }
        file.seek(SeekFrom::Start(end))
    };
    cut_and_seek(&mut file).map_err(|source| io_error(&path, source))?;
    Ok(Some(segment_writer(file, segment, end)))
}

fn begin_segment(folder: &Path, segment: u32) -> Result<WarcWriter<Segment>, ArchiveError> {
    let path = folder.join(file_name(segment));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
    let file = file.map_err(|source| io_error(&path, source))?;
    sync_folder(folder)?;
    Ok(segment_writer(file, segment, 0))
}

fn segment_writer(file: File, segment: u32, offset: u64) -> WarcWriter<Segment> {
    let file = Segment { file, gathered: Vec::new(), broken: false };
    WarcWriter::new(file, RecordFormat::Gzip, segment.into()).with_level(LEVEL).with_offset(offset)
}

/// Makes the names of new files in a folder survive a power cut.
fn sync_folder(folder: &Path) -> Result<(), ArchiveError> {
    // On other systems folders cannot be opened as files, and the system syncs their entries.
    if cfg!(unix) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        File::open(folder).and_then(|file| file.sync_all()).map_err(|source| io_error(folder, source))?;
    }
    Ok(())
}

/// Where to append. `None` if there is a damaged record that must not be truncated.
fn append_offset(file: &mut File, last: Option<SegmentSpan>) -> Result<Option<u64>, WarcError> {
    let Some(last) = last else {
        let found = last_complete_from(file, 0)?;
        return Ok(found.damage.is_none().then_some(found.end));
    };
    if !is_complete(file, last)? {
        return Ok(None);
    }
    last_complete_from(file, last.offset.saturating_add(last.length.into())).map(|found| Some(found.end))
}

/// Whether there is a complete record of exactly this length.
fn is_complete(file: &mut File, span: SegmentSpan) -> Result<bool, WarcError> {
    let SegmentSpan { offset, length, .. } = span;
    file.seek(SeekFrom::Start(offset)).map_err(|source| WarcError::Read { offset, source })?;
    let found = last_whole(io::BufReader::new(file.take(length.into())), offset)?;
    Ok(found.records == 1 && found.damage.is_none() && found.end == offset.saturating_add(length.into()))
}

fn last_complete_from(file: &mut File, offset: u64) -> Result<LastWhole, WarcError> {
    file.seek(SeekFrom::Start(offset)).map_err(|source| WarcError::Read { offset, source })?;
    last_whole(io::BufReader::new(file), offset)
}

fn file_name(segment: u32) -> String {
    format!("{segment:05}.warc.gz")
}

/// The highest segment number.
fn newest_segment(folder: &Path) -> io::Result<Option<u32>> {
    let mut newest = None;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        newest = newest.max(name.to_str().and_then(|name| name.strip_suffix(".warc.gz")?.parse().ok()));
    }
    Ok(newest)
}

fn io_error(path: &Path, source: io::Error) -> ArchiveError {
    ArchiveError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use porthole_types::{Rank, StoredCopy};

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

    fn url(n: u32) -> CanonicalUrl {
        CanonicalUrl::parse(&format!("http://a.test/{n}")).unwrap()
    }

    const NOW: Timestamp = Timestamp(1_000_000);

    /// A segment with three pages: its path, bytes and the locations of the pages.
    fn three_pages(folder: &Path) -> (PathBuf, Vec<u8>, [SegmentSpan; 3]) {
        let mut archive = Archive::open(folder).unwrap();
        let spans = [(1, "first"), (2, "second"), (3, "third")]
            .map(|(n, body)| archive.write(&url(n), NOW, &page(body)).unwrap().unwrap());
        drop(archive);
        let path = folder.join("00000.warc.gz");
        let bytes = fs::read(&path).unwrap();
        (path, bytes, spans)
    }

    #[test]
    fn an_incomplete_uncommitted_record_is_truncated() {
        let folder = tempfile::tempdir().unwrap();
        let (path, bytes, [_, second, third]) = three_pages(folder.path());
        assert_eq!(read_page(folder.path(), &url(2), second).unwrap().body, b"second"[..]);
        let (start, end) = (third.offset as usize, bytes.len());
        let zeros = [&bytes[..start], &[0; 5_000]].concat();
        let garbage = [&bytes[..start + 9], b"garbage"].concat();
        for tail in [&bytes[..], &bytes[..start + 1], &bytes[..end - 1], &zeros, &garbage] {
            fs::write(&path, tail).unwrap();
            let mut archive = Archive::open_after(folder.path(), Some(second)).unwrap();
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
        let folder = tempfile::tempdir().unwrap();
        let (path, bytes, [first, second, third]) = three_pages(folder.path());
        let opened = |bytes: &[u8], last| {
            fs::write(&path, bytes).unwrap();
            let archive = Archive::open_after(folder.path(), last).unwrap();
            let segment = archive.segment;
            drop(archive);
            assert_eq!(fs::read(&path).unwrap(), bytes);
            if segment > 0 {
                fs::remove_file(folder.path().join(file_name(segment))).unwrap();
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
        let folder = tempfile::tempdir().unwrap();
        let (path, bytes, [first, second, third]) = three_pages(folder.path());
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
        let folder = Path::new("no-archive");
        let mut packer = Packer::new(folder);
        let mut pack = |n, body: &str| packer.pack(&url(n), NOW, &page(body), None);
        let first = pack(1, "first");
        pack(2, &"second ".repeat(10_000));
        assert_eq!(pack(1, "first"), first);
        assert_eq!(Packer::new(folder).pack(&url(1), NOW, &page("first"), None), first);
        assert_ne!(Packer::new(folder).pack(&url(1), Timestamp(1), &page("first"), None), first);
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
            let file = File::open(folder.path().join(file_name(segment))).unwrap();
            let records: Vec<WarcRecord> = WarcReader::new(file).map(Result::unwrap).collect();
            let [_, response, request] = &records[..] else { panic!("{} records", records.len()) };
            assert_eq!(request.concurrent_to(), response.id());
            let sent = "GET /1 HTTP/1.1\r\nuser-agent: test\r\nhost: a.test\r\nif-none-match: \"v\"\r\n\r\n";
            assert_eq!(String::from_utf8_lossy(&request.block), sent);
        }
        // What comes after the last known page is kept if it is whole.
        let archive = Archive::open_after(folder.path(), Some(spans[1])).unwrap();
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
        let mut writer = resume_segment(folder.path(), 0, None).unwrap().unwrap();
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
        let folder = tempfile::tempdir().unwrap();
        let (path, bytes, [.., third]) = three_pages(folder.path());
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
}
