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

mod segment;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use porthole_types::{
    CanonicalUrl, FailureKind, Headers, Outcome, PageResult, SegmentCompression, SegmentSpan, Timestamp,
    Validators, Work,
};
use porthole_warc::{
    BLOCK_LIMIT, Digest, Original, Truncation, WarcError, WarcReader, WarcRecord, WarcRequest, WarcResponse,
    WarcWriter,
};

pub use self::segment::segment_path;
use self::segment::{
    Segment, begin_segment, is_complete, newest_segment, open_segment, record_writer, resume_segment,
    sync_folder,
};
use crate::Response;

/// WARC segments to which pages are appended.
pub struct Archive {
    folder: PathBuf,
    segment: u32,
    /// Of the current segment and all later ones.
    compression: ArchiveCompression,
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

/// How the records of new segments are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchiveCompression {
    /// The format. A segment has one.
    pub format: SegmentCompression,
    /// The level of that format: small numbers are fast, large ones make small files.
    pub level: i32,
}

impl Default for ArchiveCompression {
    /// Fast rather than small.
    fn default() -> Self {
        ArchiveCompression { format: SegmentCompression::Gzip, level: 1 }
    }
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

impl Archive {
    /// Opens the segments in a folder for appending: to the last one if all its records are complete, otherwise to a
    /// new one.
    pub fn open(folder: &Path) -> Result<Self, ArchiveError> {
        Archive::open_after(folder, None, ArchiveCompression::default())
    }

    /// Opens the segments, given the last record that a row refers to. See [`open_among`](Self::open_among).
    pub fn open_after(
        folder: &Path,
        last: Option<SegmentSpan>,
        compression: ArchiveCompression,
    ) -> Result<Self, ArchiveError> {
        Archive::open_among(folder, 0..=u32::MAX, last, compression)
    }

    /// Opens the segments with these numbers, given the last record that a row refers to. If that record is complete, its segment is
    /// read from there, not from its start, and an incomplete record after it is truncated. If the last segment is
    /// compressed in another way, a new one is started.
    pub fn open_among(
        folder: &Path,
        numbers: RangeInclusive<u32>,
        last: Option<SegmentSpan>,
        compression: ArchiveCompression,
    ) -> Result<Self, ArchiveError> {
        let is_new = !folder.exists();
        fs::create_dir_all(folder).map_err(|source| io_error(folder, source))?;
        if let (true, Some(parent)) = (is_new, folder.parent()) {
            sync_folder(parent)?;
        }
        let newest = newest_segment(folder, &numbers).map_err(|source| io_error(folder, source))?;
        let newest = newest.max(last.map(|last| last.segment));
        let resumed =
            newest.map(|newest| resume_segment(folder, newest, last, compression)).transpose()?.flatten();
        let (segment, writer) = match (newest, resumed) {
            (Some(newest), Some((found, writer))) if found == compression.format => (newest, writer),
            (newest, _) => {
                let segment = newest.map_or(*numbers.start(), |newest| newest + 1);
                (segment, begin_segment(folder, segment, compression)?)
            }
        };
        Ok(Archive {
            folder: folder.to_owned(),
            segment,
            compression,
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
        Packer {
            request_headers: self.request_headers.clone(),
            ..Packer::new(&self.folder, self.compression)
        }
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
            self.writer = begin_segment(&self.folder, self.segment + 1, self.compression)?;
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
        let path = self.path();
        let file = self.writer.get_mut().file.try_clone();
        Ok((path.clone(), file.map_err(|source| ArchiveError::Io { path, source })?))
    }

    /// Reads a page that was written.
    pub fn read(&self, url: &CanonicalUrl, span: SegmentSpan) -> Result<Response, ArchiveError> {
        read_page(&self.folder, url, span)
    }

    fn write_warcinfo(&mut self, at: Timestamp) -> Result<(), ArchiveError> {
        let name = self.compression.format.file_name(self.segment);
        let software = concat!("porthole/", env!("CARGO_PKG_VERSION"));
        let mut fields = vec![("software", software), ("format", "WARC File Format 1.1")];
        fields.extend(self.about.iter().map(|(name, value)| (*name, value.as_str())));
        self.writer.warcinfo(at, &name, &fields).map(drop).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: WarcError) -> ArchiveError {
        ArchiveError::Warc { path: self.path(), source }
    }

    /// The current segment.
    fn path(&self) -> PathBuf {
        self.folder.join(self.compression.format.file_name(self.segment))
    }
}

/// Segments with bytes that a power cut may lose. Syncing may take long, and can be done on any thread.
pub(crate) struct Unsynced(Vec<(PathBuf, File)>);

impl Unsynced {
    /// Opens segments that another process has written.
    pub(crate) fn open(folder: &Path, segments: impl Iterator<Item = u32>) -> Result<Self, ArchiveError> {
        let mut files = Vec::new();
        for path in segments.map(|segment| segment_path(folder, segment)) {
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
    let (path, mut file) = open_segment(folder, span.segment)?;
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
    Ok(Response::new(page.status, page.headers, page.body))
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
    let path = segment_path(folder, span.segment);
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
    compression: ArchiveCompression,
    /// As in [`Archive`].
    request_headers: Option<Headers>,
}

impl Packer {
    fn new(folder: &Path, compression: ArchiveCompression) -> Self {
        let writer = record_writer(io::sink(), compression, 0);
        Packer { writer, folder: folder.to_owned(), compression, request_headers: None }
    }

    pub(crate) fn try_clone(&self) -> Self {
        Packer {
            request_headers: self.request_headers.clone(),
            ..Packer::new(&self.folder, self.compression)
        }
    }

    pub(crate) fn pack(
        &mut self,
        url: &CanonicalUrl,
        at: Timestamp,
        response: &Response,
        ip: Option<IpAddr>,
    ) -> Vec<u8> {
        self.writer.packed_response(&to_record(url, at, response, ip))
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
        let (_, mut file) = open_segment(&self.folder, copy.segment).ok()?;
        file.seek(SeekFrom::Start(copy.offset)).ok()?;
        let record = only_record(io::BufReader::new(file.take(copy.length.into())), copy).ok()?;
        let digest = record.payload_digest().and_then(Digest::parse)?;
        let (body, _) = archived_body(response);
        let is_same = response.status == 304 || (!response.truncated && Digest::of(body) == digest);
        if !is_same || record.target() != Some(url.as_str()) {
            return None;
        }
        let original = Original { id: record.id(), url: url.as_str(), date: record.date()?, digest };
        Some(self.writer.packed_revisit(&to_record(url, at, response, ip), &original))
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

/// A response as it is recorded.
fn to_record<'a>(
    url: &'a CanonicalUrl,
    at: Timestamp,
    response: &'a Response,
    ip: Option<IpAddr>,
) -> WarcResponse<'a> {
    let (body, is_encoded) = archived_body(response);
    let truncated = response.truncated.then_some(Truncation::Length);
    WarcResponse {
        date: at,
        status: response.status,
        ip,
        truncated,
        is_encoded,
        ..WarcResponse::new(url.as_str(), &response.headers, body)
    }
}

/// The body that is archived, and whether it is encoded: as it was received if possible, which takes no time to
/// compress and is smaller than what our own compression makes of it.
fn archived_body(response: &Response) -> (&[u8], bool) {
    match &response.encoded_body {
        Some(encoded) => (encoded, true),
        None => (&response.body, false),
    }
}

fn io_error(path: &Path, source: io::Error) -> ArchiveError {
    ArchiveError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
