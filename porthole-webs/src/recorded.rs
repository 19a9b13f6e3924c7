//! A recorded web: only what some WARC files hold exists, everything else is a 404.
//!
//! In memory are the URLs and where each page lies; pages are read and decompressed when they are asked
//! for, by as many threads as like to.

mod gather;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use foldhash::fast::FixedState;
use porthole_crawl::{Fetch, FetchError, FetchFuture, Request, Response};
use porthole_types::{CanonicalUrl, FailureKind, Headers, UrlId};
use porthole_warc::{BLOCK_LIMIT, BodyEnd, Place, WarcError, read_record};

use gather::Gatherer;

/// The web that some WARC files hold.
///
/// A URL is known by its canonical form. The first response record of a URL is its page; a URL that has
/// only revisit records has the page that they refer to. Redirects are given out as they were recorded.
/// Files should have one compressed member a record: in a file that is one member, everything in front of
/// a page has to be decompressed to get at it.
#[derive(Debug)]
pub struct RecordedWeb {
    files: Vec<Recording>,
    pages: Vec<Page>,
    by_url: HashMap<UrlId, usize, FixedState>,
    hosts: usize,
    duplicates: u64,
    problems: Problems,
}

#[derive(Debug)]
struct Recording {
    path: PathBuf,
    file: File,
}

#[derive(Debug)]
struct Page {
    url: CanonicalUrl,
    source: Source,
}

/// A record in one of the files.
#[derive(Clone, Copy, Debug)]
struct Source {
    file: usize,
    place: Place,
}

/// What could not be used of the files.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    /// How often something was wrong.
    pub count: u64,
    /// The first few, in words.
    pub examples: Vec<String>,
}

/// Why a web cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// There is no such file, or it may not be read.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It could not be read, or not even its first record is one.
    #[error("{}: {source}", path.display())]
    Warc {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: WarcError,
    },
}

impl RecordedWeb {
    /// Goes once through the files and notes where each page is. A file that is damaged somewhere is used
    /// up to there, and the damage counts as a problem.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Self, RecordedError> {
        let mut gatherer = Gatherer::default();
        for path in paths {
            gatherer.read(path.as_ref())?;
        }
        Ok(gatherer.finish())
    }

    /// The recorded URLs, in file order.
    pub fn pages(&self) -> impl ExactSizeIterator<Item = &CanonicalUrl> {
        self.pages.iter().map(|page| &page.url)
    }

    /// Whether there is a page.
    pub fn has(&self, url: &CanonicalUrl) -> bool {
        self.by_url.contains_key(&url.id())
    }

    /// Number of pages.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether there is no page at all.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Number of hosts; another port is another host.
    pub fn hosts(&self) -> usize {
        self.hosts
    }

    /// Number of response records that were passed over because their URL had one already.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// What could not be used.
    pub fn problems(&self) -> &Problems {
        &self.problems
    }

    fn answer(&self, url: &CanonicalUrl) -> Result<Response, FetchError> {
        match self.by_url.get(&url.id()) {
            Some(&page) => self.read(self.pages[page].source, url),
            None => Ok(Response {
                status: 404,
                headers: Headers::new(),
                body: Default::default(),
                truncated: false,
                took: Duration::ZERO,
            }),
        }
    }

    fn read(&self, source: Source, url: &CanonicalUrl) -> Result<Response, FetchError> {
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
            status: http.status,
            headers: http.headers,
            body: http.body.into(),
            truncated: http.end == BodyEnd::Limit || record.headers.get("WARC-Truncated").is_some(),
            took: Duration::ZERO,
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

/// Reads a file from some offset without moving the file's own position, so that threads can share it.
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
