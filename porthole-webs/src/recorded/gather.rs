//! Builds the index of a recorded web: one pass over each file, reading record heads only.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::hash::BuildHasher;
use std::io::{Seek, SeekFrom};
use std::path::Path;

use foldhash::fast::FixedState;
use porthole_types::{CanonicalUrl, UrlId};
use porthole_warc::{RecordKind, WarcError, WarcReader, WarcRecord, find_record};

use super::{Problems, RecordSource, RecordedError, RecordedPage, RecordedWeb, RecordingFile};

/// An index under construction.
#[derive(Default)]
pub(super) struct IndexBuilder {
    files: Vec<RecordingFile>,
    /// In file order. `None` if only revisits of the URL were found so far.
    pages: Vec<(CanonicalUrl, Option<RecordSource>)>,
    by_url: HashMap<UrlId, usize, FixedState>,
    /// All responses, including duplicates, by the hashes of the names that a revisit may use.
    by_name: HashMap<u64, RecordSource, FixedState>,
    revisits: Vec<RevisitRecord>,
    duplicates: u64,
    problems: Problems,
}

/// A revisit record; its original may come later, or in another file.
struct RevisitRecord {
    page: usize,
    names: Names,
    target: Option<UrlId>,
}

/// Hashes of the names of a response, most specific first: its id, its URL and date, its payload digest.
type Names = [Option<u64>; 3];

impl IndexBuilder {
    /// Indexes one more file.
    pub(super) fn read(&mut self, path: &Path) -> Result<(), RecordedError> {
        let opened = File::open(path);
        let file = opened.map_err(|source| RecordedError::Open { path: path.into(), source })?;
        let mut reader = WarcReader::new(&file).with_block_limit(0);
        let mut record = WarcRecord::default();
        let mut is_first = true;
        // Bytes that may be read again behind damage, so that no file takes forever.
        let mut patience = MIN_PATIENCE.saturating_add(file.metadata().map_or(0, |file| file.len()));
        loop {
            match reader.read_into(&mut record) {
                Ok(true) => self.note(&record, path),
                Ok(false) => break,
                Err(source) if is_first || !source.is_damage() => {
                    return Err(RecordedError::Warc { path: path.into(), source });
                }
                Err(damage) => {
                    self.problems.add(format!("{}: {damage}", path.display()));
                    let spent = reader.position().saturating_sub(damage.offset());
                    let next = next_record(&file, damage.offset() + 1);
                    let next = next.map_err(|source| RecordedError::Warc { path: path.into(), source })?;
                    let Some(next) = next else { break };
                    match patience.checked_sub(spent) {
                        Some(left) => patience = left,
                        None => {
                            let what = "too much damage: the rest was not read";
                            self.problems.add(format!("{}: {what}", path.display()));
                            break;
                        }
                    }
                    reader = WarcReader::new(&file).with_offset(next).with_block_limit(0);
                }
            }
            is_first = false;
        }
        self.files.push(RecordingFile { path: path.into(), file });
        Ok(())
    }

    /// Resolves the revisits to their originals and finishes the index.
    pub(super) fn finish(mut self) -> RecordedWeb {
        for revisit in std::mem::take(&mut self.revisits) {
            let original = self.original(&revisit);
            let (url, source) = &mut self.pages[revisit.page];
            if source.is_none() {
                *source = original;
                if original.is_none() {
                    self.problems.add(format!("{url}: the original of its revisit record is missing"));
                }
            }
        }
        let pages: Vec<RecordedPage> = self
            .pages
            .into_iter()
            .filter_map(|(url, source)| source.map(|source| RecordedPage { url, source }))
            .collect();
        let by_url = pages.iter().enumerate().map(|(at, page)| (page.url.id(), at)).collect();
        let hosts: HashSet<_> = pages.iter().map(|page| page.url.site()).collect();
        RecordedWeb {
            files: self.files,
            pages,
            by_url,
            hosts: hosts.len(),
            duplicates: self.duplicates,
            problems: self.problems,
        }
    }

    fn note(&mut self, record: &WarcRecord, path: &Path) {
        if !record.is_http_response() {
            return;
        }
        let target = record.target().unwrap_or_default();
        match CanonicalUrl::parse(target) {
            Ok(url) if record.kind == RecordKind::Revisit => self.note_revisit(url, record),
            Ok(url) => self.note_response(url, record),
            Err(error) => {
                let (path, offset) = (path.display(), record.place.offset);
                self.problems.add(format!("{path}: the record at offset {offset}: `{target}`: {error}"));
            }
        }
    }

    fn note_response(&mut self, url: CanonicalUrl, record: &WarcRecord) {
        let source = RecordSource { file: self.files.len(), place: record.place };
        for name in names_of(&url, record).into_iter().flatten() {
            self.by_name.entry(name).or_insert(source);
        }
        let page = self.page(url);
        match &mut self.pages[page].1 {
            Some(_) => self.duplicates += 1,
            empty => *empty = Some(source),
        }
    }

    fn note_revisit(&mut self, url: CanonicalUrl, record: &WarcRecord) {
        let target = record.refers_to_target().and_then(|target| CanonicalUrl::parse(target).ok());
        let original = target.as_ref().unwrap_or(&url);
        let date = record.refers_to_date();
        let names = [
            record.refers_to().map(hash),
            date.map(|date| hash((original.as_str(), date))),
            record.payload_digest().map(hash),
        ];
        let target = target.map(|target| target.id());
        let page = self.page(url);
        self.revisits.push(RevisitRecord { page, names, target });
    }

    /// Index of a URL's page.
    fn page(&mut self, url: CanonicalUrl) -> usize {
        *self.by_url.entry(url.id()).or_insert_with(|| {
            self.pages.push((url, None));
            self.pages.len() - 1
        })
    }

    fn original(&self, revisit: &RevisitRecord) -> Option<RecordSource> {
        let named = revisit.names.iter().flatten().find_map(|name| self.by_name.get(name).copied());
        named.or_else(|| self.pages[*self.by_url.get(&revisit.target?)?].1)
    }
}

/// Bytes behind damage that are read again in any file.
const MIN_PATIENCE: u64 = 64 << 20;

/// Moves to the next record at or after an offset, and returns its offset.
fn next_record(mut file: &File, offset: u64) -> Result<Option<u64>, WarcError> {
    let seek = |mut file: &File, offset| {
        file.seek(SeekFrom::Start(offset)).map_err(|source| WarcError::Read { offset, source })
    };
    seek(file, offset)?;
    let found = find_record(&mut file, offset)?;
    found.map_or(Ok(0), |next| seek(file, next))?;
    Ok(found)
}

fn names_of(url: &CanonicalUrl, record: &WarcRecord) -> Names {
    [
        record.id().map(hash),
        record.date().map(|date| hash((url.as_str(), date))),
        record.payload_digest().map(hash),
    ]
}

fn hash(name: impl std::hash::Hash) -> u64 {
    FixedState::default().hash_one(name)
}
