//! Makes the index of a recorded web: one pass over each file, holding heads only.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::hash::BuildHasher;
use std::path::Path;

use foldhash::fast::FixedState;
use porthole_types::{CanonicalUrl, UrlId};
use porthole_warc::{Record, RecordKind, WarcReader};

use super::{Page, Problems, RecordedError, RecordedWeb, Recording, Source};

/// An index under construction.
#[derive(Default)]
pub(super) struct Gatherer {
    files: Vec<Recording>,
    /// In file order. No source: only revisits of the URL came so far.
    pages: Vec<(CanonicalUrl, Option<Source>)>,
    by_url: HashMap<UrlId, usize, FixedState>,
    /// All responses, duplicates among them, under the hashes of what a revisit may call them.
    by_name: HashMap<u64, Source, FixedState>,
    revisits: Vec<Revisit>,
    duplicates: u64,
    problems: Problems,
}

/// A revisit record; its original may come later, or in another file.
struct Revisit {
    page: usize,
    names: Names,
    target: Option<UrlId>,
}

/// Hashes of the names of a response, the surest first: its id, its URL and date, its payload's digest.
type Names = [Option<u64>; 3];

impl Gatherer {
    /// Notes the pages of one more file.
    pub(super) fn read(&mut self, path: &Path) -> Result<(), RecordedError> {
        let opened = File::open(path);
        let file = opened.map_err(|source| RecordedError::Open { path: path.into(), source })?;
        let mut reader = WarcReader::new(&file).with_block_limit(0);
        let mut record = Record::default();
        let mut is_first = true;
        loop {
            match reader.read_into(&mut record) {
                Ok(true) => self.note(&record, path),
                Ok(false) => break,
                Err(source) if is_first || !source.is_damage() => {
                    return Err(RecordedError::Warc { path: path.into(), source });
                }
                Err(damage) => {
                    self.problems.add(format!("{}: {damage}", path.display()));
                    break;
                }
            }
            is_first = false;
        }
        self.files.push(Recording { path: path.into(), file });
        Ok(())
    }

    /// Leads the revisits to their originals and closes the index.
    pub(super) fn finish(mut self) -> RecordedWeb {
        for revisit in std::mem::take(&mut self.revisits) {
            let original = self.original(&revisit);
            let (url, source) = &mut self.pages[revisit.page];
            if source.is_none() {
                *source = original;
                if original.is_none() {
                    self.problems.add(format!("{url}: the original of its revisit record is not there"));
                }
            }
        }
        let pages: Vec<Page> = self
            .pages
            .into_iter()
            .filter_map(|(url, source)| source.map(|source| Page { url, source }))
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

    fn note(&mut self, record: &Record, path: &Path) {
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

    fn note_response(&mut self, url: CanonicalUrl, record: &Record) {
        let source = Source { file: self.files.len(), place: record.place };
        for name in names_of(&url, record).into_iter().flatten() {
            self.by_name.entry(name).or_insert(source);
        }
        let page = self.page(url);
        match &mut self.pages[page].1 {
            Some(_) => self.duplicates += 1,
            empty => *empty = Some(source),
        }
    }

    fn note_revisit(&mut self, url: CanonicalUrl, record: &Record) {
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
        self.revisits.push(Revisit { page, names, target });
    }

    /// The place of a URL among the pages.
    fn page(&mut self, url: CanonicalUrl) -> usize {
        *self.by_url.entry(url.id()).or_insert_with(|| {
            self.pages.push((url, None));
            self.pages.len() - 1
        })
    }

    fn original(&self, revisit: &Revisit) -> Option<Source> {
        let named = revisit.names.iter().flatten().find_map(|name| self.by_name.get(name).copied());
        named.or_else(|| self.pages[*self.by_url.get(&revisit.target?)?].1)
    }
}

fn names_of(url: &CanonicalUrl, record: &Record) -> Names {
    [
        record.id().map(hash),
        record.date().map(|date| hash((url.as_str(), date))),
        record.payload_digest().map(hash),
    ]
}

fn hash(name: impl std::hash::Hash) -> u64 {
    FixedState::default().hash_one(name)
}
