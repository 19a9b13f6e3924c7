//! A recorded web: only the pages in some WARC files exist, everything else is a 404.
//!
//! URLs and positions of pages are kept in memory; pages are read and decompressed on request, by any number of
//! threads.

mod gather;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use foldhash::fast::FixedState;
use porthole_crawl::{Fetch, FetchError, FetchFuture, Request, Response};
use porthole_types::{CanonicalUrl, FailureKind, Headers, UrlId};
use porthole_warc::{BLOCK_LIMIT, BodyEnd, RecordPlace, WarcError, read_record};

use gather::IndexBuilder;

/// The web in some WARC files.
///
/// URLs are compared by their canonical form. The first response record of a URL is its page; a URL with only revisit
/// records has the page that they refer to. Redirects are returned as recorded. Files should have one compressed member
/// a record: in a file with a single member, everything before a page has to be decompressed to read it.
#[derive(Debug)]
pub struct RecordedWeb {
    files: Vec<RecordingFile>,
    pages: Vec<RecordedPage>,
    by_url: HashMap<UrlId, usize, FixedState>,
    hosts: usize,
    duplicates: u64,
    problems: Problems,
}

#[derive(Debug)]
struct RecordingFile {
    path: PathBuf,
    file: File,
}

#[derive(Debug)]
struct RecordedPage {
    url: CanonicalUrl,
    source: RecordSource,
}

/// Location of a record in one of the files.
#[derive(Clone, Copy, Debug)]
struct RecordSource {
    file: usize,
    place: RecordPlace,
}

/// Records that could not be used.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    /// Number of problems.
    pub count: u64,
    /// Descriptions of the first few.
    pub examples: Vec<String>,
}

/// Errors of opening a recorded web.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// The file does not exist or cannot be read.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// Reading failed, or the first record is not a WARC record.
    #[error("{}: {source}", path.display())]
    Warc {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: WarcError,
    },
}

impl RecordedWeb {
    /// Scans the files and indexes their pages. Damaged records are skipped and counted as problems.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Self, RecordedError> {
        let mut gatherer = IndexBuilder::default();
        for path in paths {
            gatherer.read(path.as_ref())?;
        }
        Ok(gatherer.finish())
    }

    /// The recorded URLs, in file order.
    pub fn pages(&self) -> impl ExactSizeIterator<Item = &CanonicalUrl> {
        self.pages.iter().map(|page| &page.url)
    }

    /// Whether the web has a page at this URL.
    pub fn has(&self, url: &CanonicalUrl) -> bool {
        self.by_url.contains_key(&url.id())
    }

    /// Number of pages.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether there are no pages.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Number of hosts; different ports are different hosts.
    pub fn hosts(&self) -> usize {
        self.hosts
    }

    /// Number of response records that were skipped because their URL already had one.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Records that could not be used.
    pub fn problems(&self) -> &Problems {
        &self.problems
    }

    fn answer(&self, url: &CanonicalUrl) -> Result<Response, FetchError> {
        match self.by_url.get(&url.id()) {
            Some(&page) => self.read(self.pages[page].source, url),
            None => Ok(Response::new(404, Headers::new(), Vec::new())),
        }
    }

    fn read(&self, source: RecordSource, url: &CanonicalUrl) -> Result<Response, FetchError> {
        let recording = &self.files[source.file];
        let reader = At { file: &recording.file, offset: source.place.offset };
        let failed = |error: WarcError| FetchError {
            url: url.clone(),
            kind: failure_kind(&error),
            detail: format!("{}: {error}", recording.path.display()),
        };
        let record = read_record(reader, source.place, BLOCK_LIMIT).map_err(failed)?;
        let http = record.http(BLOCK_LIMIT).map_err(failed)?;
        Ok(Response {
            truncated: http.end == BodyEnd::Limit || record.headers.get("WARC-Truncated").is_some(),
            ..Response::new(http.status, http.headers, http.body)
        })
    }
}

impl Fetch for RecordedWeb {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        Box::pin(async { self.answer(&request.url) })
    }
}

impl Problems {
    fn add(&mut self, what: String) {
        const EXAMPLES: usize = 20;
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(what);
        }
    }
}

fn failure_kind(error: &WarcError) -> FailureKind {
    match error {
        WarcError::Read { .. } => FailureKind::Connect,
        _ => FailureKind::Protocol,
    }
}

/// Reads a file from an offset without moving the file's position, so that threads can share it.
struct At<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}
