//! Reads pages of the workspace's archive: the heads of their records, or the records as they are.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use porthole_page::{Extractor, MainContent};
use porthole_store::StoredPage;
use porthole_types::{CanonicalUrl, SegmentCompression, SegmentSpan};
use porthole_warc::{HttpResponse, RecordKind, WarcError, WarcReader, WarcRecord, read_start};

use crate::{Error, Result};

/// The archive of a workspace, read page by page.
#[derive(Debug)]
pub struct ArchivedPages {
    folder: PathBuf,
    /// The segment that was read last.
    open: Option<(u32, File)>,
    /// Name of the file of each segment that was asked for.
    names: BTreeMap<u32, String>,
}

/// What the head of a page's record says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordFacts {
    /// Media type of the response, without parameters, in lower case.
    pub mime: Option<String>,
    /// Digest of the payload, `sha1:…`.
    pub digest: Option<String>,
    /// HTTP status of the recorded response.
    pub status: Option<u16>,
    /// `WARC-Date` in milliseconds.
    pub date: Option<porthole_types::Timestamp>,
}

/// Bytes of a block that are read for the headers of a response.
const HEADERS: u64 = 8 * 1024;

/// Maximum size of a compressed request: the longest URL and the longest conditions fit.
const LONGEST_REQUEST: u64 = 16 * 1024;

impl ArchivedPages {
    /// The archive in a folder, which may not exist.
    pub fn new(folder: &Path) -> Self {
        ArchivedPages { folder: folder.to_owned(), open: None, names: BTreeMap::new() }
    }

    /// Name of the file that holds a page.
    pub fn file_name(&mut self, span: SegmentSpan) -> String {
        let find = || {
            let is_there = |name: &String| self.folder.join(name).exists();
            let mut names = SegmentCompression::ALL.map(|one| one.file_name(span.segment)).into_iter();
            names.find(is_there).unwrap_or_else(|| SegmentCompression::default().file_name(span.segment))
        };
        self.names.entry(span.segment).or_insert_with(find).clone()
    }

    fn path(&mut self, span: SegmentSpan) -> PathBuf {
        let name = self.file_name(span);
        self.folder.join(name)
    }

    /// What the head of a page's record says; `None` if it cannot be read or is another page's.
    pub fn facts(&mut self, url: &str, span: SegmentSpan) -> Option<RecordFacts> {
        let member = self.seek(span).ok()?.take(span.length.into());
        let record = read_start(member, span.offset, HEADERS).ok()?;
        (record.target() == Some(url)).then(|| facts(&record))
    }

    /// A page's record as it is in the archive, compressed, with what its head says. An error if it is damaged or
    /// another page's.
    pub fn record(&mut self, url: &str, span: SegmentSpan) -> Result<(Vec<u8>, WarcRecord)> {
        let path = self.path(span);
        let mut bytes = Vec::with_capacity(usize::try_from(span.length).unwrap_or(0));
        let read = self.seek(span)?.take(span.length.into()).read_to_end(&mut bytes);
        read.map_err(Error::io(&path))?;
        let record =
            only_record(&bytes, span).map_err(|source| Error::Warc { path: path.clone(), source })?;
        if record.target() != Some(url) {
            return Err(Error::OtherPage { path, offset: span.offset, url: url.to_owned() });
        }
        Ok((bytes, record))
    }

    /// The main content of a page, or why there is none.
    pub(crate) fn main_content(
        &mut self,
        page: &StoredPage,
        extractor: &mut Extractor,
    ) -> Result<MainContent, String> {
        let span = page.span.ok_or_else(|| format!("{} is not in the archive", page.url))?;
        let (_, record) = self.record(&page.url, span).map_err(|error| error.to_string())?;
        let response = HttpResponse::parse(&record.block, record.place.offset, u64::MAX);
        let response = response.map_err(|error| format!("{}: {error}", page.url))?;
        let url = CanonicalUrl::parse(&page.url).map_err(|error| format!("{}: {error}", page.url))?;
        Ok(extractor.main_content(&url, &response.headers, &response.body))
    }

    /// The record of the request for a page, compressed as it is in the archive: the one behind the page's record, if it
    /// says that it belongs to it.
    pub fn request(&mut self, page: &WarcRecord, span: SegmentSpan) -> Option<Vec<u8>> {
        let offset = span.offset + u64::from(span.length);
        let file = self.seek(SegmentSpan { offset, ..span }).ok()?;
        let mut bytes = Vec::new();
        file.take(LONGEST_REQUEST).read_to_end(&mut bytes).ok()?;
        let start = read_start(&bytes[..], offset, 0).ok()?;
        let is_of_page = start.kind == RecordKind::Request && start.concurrent_to() == page.id();
        let record = WarcReader::new(&bytes[..]).next_record().ok().flatten().filter(|_| is_of_page)?;
        bytes.truncate(usize::try_from(record.place.length).ok()?);
        Some(bytes)
    }

    fn seek(&mut self, span: SegmentSpan) -> Result<&mut File> {
        let path = self.path(span);
        if self.open.as_ref().is_none_or(|(segment, _)| *segment != span.segment) {
            self.open = Some((span.segment, File::open(&path).map_err(Error::io(&path))?));
        }
        let (_, file) = self.open.as_mut().expect("just opened");
        file.seek(SeekFrom::Start(span.offset)).map_err(Error::io(&path))?;
        Ok(file)
    }
}

/// What a record says of its response.
pub(crate) fn facts(record: &WarcRecord) -> RecordFacts {
    let http = HttpResponse::parse(&record.block, record.place.offset, 0).ok();
    let mime = http.as_ref().and_then(|http| http.headers.get("Content-Type")).and_then(media_type);
    RecordFacts {
        mime,
        digest: record.payload_digest().map(str::to_owned),
        status: http.map(|http| http.status),
        date: record.date(),
    }
}

/// The media type of a Content-Type, without parameters.
fn media_type(value: &str) -> Option<String> {
    const LONGEST: usize = 127;
    let name = value.split([';', ',']).next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_token = |c: char| c.is_ascii_graphic() && !"()<>@,;:\\\"[]?={}".contains(c);
    (name.len() <= LONGEST && name.contains('/') && name.chars().all(is_token)).then_some(name)
}

/// The record that a span holds, which must hold nothing else: the checksum is at the end of its member.
fn only_record(member: &[u8], span: SegmentSpan) -> Result<WarcRecord, WarcError> {
    let offset = span.offset;
    let mut reader = WarcReader::new(member).with_offset(offset);
    let record = reader.next_record()?.ok_or(WarcError::Truncated { offset, end: offset })?;
    if reader.next_record()?.is_some() || record.place.length != u64::from(span.length) {
        let what = format!("it does not end after {} bytes", span.length);
        return Err(WarcError::Damaged { offset, what });
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_have_no_parameters() {
        for (value, name) in [
            ("text/html; charset=utf-8", Some("text/html")),
            ("Text/HTML", Some("text/html")),
            ("text/html, text/plain", Some("text/html")),
            ("nonsense", None),
            ("a b/c", None),
            ("", None),
        ] {
            assert_eq!(media_type(value).as_deref(), name, "{value}");
        }
    }
}
