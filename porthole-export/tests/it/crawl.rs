//! Made-up crawls with known rows.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use porthole_store::{Batch, DistilledScores, SqliteReader, SqliteStore, Store, WorkspaceWriter};
use porthole_topic::Taxonomy;
use porthole_types::{
    CanonicalUrl, Failure, FailureKind, Judgment, LinkRow, Mark, NewUrl, Outcome, PageResult,
    SegmentCompression, SegmentSpan, Timestamp, TopicId, TopicRow,
};
use porthole_warc::{RecordFormat, WarcResponse, WarcWriter};
use tempfile::TempDir;

/// A workspace in a temporary folder.
pub(crate) struct TestCrawl {
    pub(crate) folder: TempDir,
}

pub(crate) const DAY: i64 = 86_400_000;

/// Sport > Cycling > Racing, Health: the ids are 1 to 4.
const TOPICS: [(&str, u16); 4] = [("Sport", 0), ("Cycling", 1), ("Racing", 2), ("Health", 0)];

pub(crate) fn url(name: &str) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://{name}")).unwrap()
}

pub(crate) fn page(seq: u64, name: &str, relevance: f64, topic: u16) -> PageResult {
    let url = url(name);
    PageResult {
        seq,
        oid: url.id(),
        sid: url.site(),
        at: Timestamp(DAY * i64::try_from(seq).unwrap()),
        status: 200,
        outcome: Outcome::Fetched,
        judgment: Some(Judgment { relevance, best: TopicId(topic) }),
        title: format!("page {seq}"),
        language: "en".into(),
        bytes: 1_234,
        simhash: 0,
        terms: Vec::new(),
        copy_of: None,
        span: None,
        validators: None,
        next_visit: None,
        links: Vec::new(),
    }
}

pub(crate) fn link(name: &str, anchor: &str) -> LinkRow {
    let target = NewUrl { url: url(name), relevance: 0.5, priority: 0.5, depth: 1 };
    LinkRow { anchor: (!anchor.is_empty()).then(|| anchor.into()), ..LinkRow::to(target) }
}

pub(crate) fn failed(seq: u64, name: &str, kind: FailureKind, status: u16) -> PageResult {
    let failure = Failure::new(kind, format!("{} failed", kind.name()));
    let outcome = match kind {
        FailureKind::Robots | FailureKind::Scope | FailureKind::Trap | FailureKind::Type => {
            Outcome::Skipped(failure)
        }
        _ => Outcome::Dead(failure),
    };
    PageResult { status, outcome, judgment: None, ..page(seq, name, 0.0, 0) }
}

impl TestCrawl {
    pub(crate) fn new() -> Self {
        TestCrawl { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn store(&self) -> SqliteStore {
        let mut store = SqliteStore::open(self.path("porthole.db")).unwrap();
        store.set_topics(&topics()).unwrap();
        store
    }

    pub(crate) fn reader(&self) -> SqliteReader {
        SqliteReader::open(self.path("porthole.db")).unwrap()
    }

    pub(crate) fn pages(&self) -> PathBuf {
        self.path("pages")
    }

    /// Commits pages, whose URLs become known in this order.
    pub(crate) fn commit(&self, results: &[PageResult], names: &[&str]) {
        let mut store = self.store();
        let new = |name: &&str| NewUrl { url: url(name), relevance: 0.5, priority: 0.5, depth: 0 };
        store.add(&names.iter().map(new).collect::<Vec<_>>()).unwrap();
        store.commit(&Batch { results, ..Batch::default() }).unwrap();
    }

    pub(crate) fn score(&self, hubs: &[(&str, f64)], auth: &[(&str, f64)]) {
        let scores = |list: &[(&str, f64)]| {
            list.iter().map(|(name, score)| (url(name).id(), *score)).collect::<Vec<_>>()
        };
        let scores =
            DistilledScores { hubs: &scores(hubs), auth: &scores(auth), ..DistilledScores::default() };
        self.store().set_scores(&scores).unwrap();
    }
}

pub(crate) fn topics() -> Vec<TopicRow> {
    let row = |id: u16, parent: u16, name: &str| TopicRow {
        id: TopicId(id),
        parent: TopicId(parent),
        name: name.to_owned(),
        mark: Mark::Null,
    };
    let below = (1..).zip(TOPICS).map(|(id, (name, parent))| row(id, parent, name));
    std::iter::once(row(0, 0, "")).chain(below).collect()
}

pub(crate) fn tree() -> Taxonomy {
    Taxonomy::from_rows(&topics()).unwrap()
}

/// Writes a segment of the archive, every other one compressed by zstd, and says where each page is.
pub(crate) fn archive(folder: &Path, segment: u32, pages: &[(&str, &str)]) -> Vec<SegmentSpan> {
    fs::create_dir_all(folder).unwrap();
    let (compression, format) = match segment % 2 {
        0 => (SegmentCompression::Gzip, RecordFormat::Gzip),
        _ => (SegmentCompression::Zstd, RecordFormat::Zstd),
    };
    let file = File::create(folder.join(compression.file_name(segment))).unwrap();
    let mut writer = WarcWriter::new(file, format, u64::from(segment)).with_level(1);
    writer.warcinfo(Timestamp(DAY), "test", &[("software", "test")]).unwrap();
    let headers = [("Content-Type", "text/html; charset=utf-8")].into_iter().collect();
    let mut spans = Vec::new();
    for (name, body) in pages {
        let url = url(name);
        let response = WarcResponse {
            date: Timestamp(DAY),
            ..WarcResponse::new(url.as_str(), &headers, body.as_bytes())
        };
        spans.push(writer.response(&response).unwrap().span(segment).unwrap());
    }
    spans
}

pub(crate) const MANY: u64 = 50_000;

/// A crawl of 50,000 pages, each known with a URL that was not fetched. Made once.
pub(crate) fn many() -> &'static TestCrawl {
    static CRAWL: OnceLock<TestCrawl> = OnceLock::new();
    CRAWL.get_or_init(|| {
        let crawl = TestCrawl::new();
        let mut store = crawl.store();
        for first in (1..=MANY).step_by(5_000) {
            let numbers = first..first + 5_000;
            let urls = numbers.clone().flat_map(|number| [name(number), format!("{}-not", name(number))]);
            let new = |name: String| NewUrl { url: url(&name), relevance: 0.5, priority: 0.5, depth: 0 };
            store.add(&urls.map(new).collect::<Vec<_>>()).unwrap();
            let results: Vec<_> = numbers
                .map(|number| {
                    page(number, &name(number), (number % 100) as f64 / 100.0, 1 + (number % 4) as u16)
                })
                .collect();
            store.commit(&Batch { results: &results, ..Batch::default() }).unwrap();
        }
        crawl
    })
}

/// Name of a page of [`many`].
pub(crate) fn name(number: u64) -> String {
    format!("site{}.test/{number}", number % 97)
}
