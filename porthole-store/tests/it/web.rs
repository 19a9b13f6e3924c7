//! Small URLs, results and stores for the tests.

use porthole_store::{Batch, SqliteStore, Store};
use porthole_types::{
    CanonicalUrl, Failure, FailureKind, Judgment, LinkRow, NewUrl, Outcome, PageResult, Timestamp, TopicId,
    UrlId, Work,
};
use tempfile::TempDir;

/// A store in a temporary folder.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("porthole.db")
    }

    pub(crate) fn open(&self) -> SqliteStore {
        SqliteStore::open(self.path()).unwrap()
    }
}

/// The URL with a number; ten per site.
pub(crate) fn url(number: u64) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://site{}.test/page/{number}", number / 10)).unwrap()
}

pub(crate) fn oid(number: u64) -> UrlId {
    url(number).id()
}

pub(crate) fn new_url(number: u64, relevance: f64, priority: f64) -> NewUrl {
    NewUrl { url: url(number), relevance, priority, depth: 0 }
}

pub(crate) fn link(number: u64, relevance: f64, priority: f64) -> LinkRow {
    let target = new_url(number, relevance, priority);
    LinkRow::to(target)
}

/// A fetched page; other outcomes are made from it.
pub(crate) fn page(number: u64, relevance: f64, links: Vec<LinkRow>) -> PageResult {
    PageResult {
        seq: number,
        oid: oid(number),
        sid: url(number).site(),
        at: Timestamp(1_000),
        status: 200,
        outcome: Outcome::Fetched,
        judgment: Some(Judgment { relevance, best: TopicId(7) }),
        title: format!("page {number}"),
        language: "en".into(),
        bytes: 1234,
        simhash: u64::MAX - number,
        terms: Vec::new(),
        copy_of: None,
        validators: None,
        next_visit: None,
        span: None,
        links,
    }
}

pub(crate) fn with_outcome(number: u64, outcome: Outcome) -> PageResult {
    PageResult { outcome, judgment: None, status: 0, ..page(number, 0.0, Vec::new()) }
}

pub(crate) fn failure(kind: FailureKind) -> Failure {
    Failure::new(kind, format!("{} failed", kind.name()))
}

pub(crate) fn retry(number: u64, not_before: i64) -> PageResult {
    let (failure, not_before) = (failure(FailureKind::Timeout), Timestamp(not_before));
    with_outcome(number, Outcome::Retry { failure, not_before })
}

pub(crate) fn commit(store: &mut dyn Store, results: &[PageResult]) -> porthole_store::Committed {
    store.commit(&Batch { results, ..Batch::default() }).unwrap()
}

pub(crate) fn oids(work: &[Work]) -> Vec<UrlId> {
    work.iter().map(|work| work.oid).collect()
}

pub(crate) fn take(store: &mut dyn Store, n: usize, now: i64) -> Vec<UrlId> {
    oids(&store.take(n, Timestamp(now)).unwrap())
}

pub(crate) fn oids_of(numbers: &[u64]) -> Vec<UrlId> {
    numbers.iter().map(|&number| oid(number)).collect()
}
