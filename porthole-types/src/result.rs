//! The plain data that passes between rooms: what is fetched next, what became of it, what it links to.

use std::cmp::Ordering;

use crate::{CanonicalUrl, SiteId, Timestamp, TopicId, UrlId};

/// What the critic says of one page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgment {
    /// R(d), in 0..=1 (V eq. 3).
    pub relevance: f64,
    /// The most probable leaf class.
    pub best: TopicId,
}

/// A URL that may enter the frontier, with what is believed of it before it is fetched.
#[derive(Clone, Debug, PartialEq)]
pub struct NewUrl {
    /// The URL.
    pub url: CanonicalUrl,
    /// Estimated relevance, in 0..=1: the best R among its judged parents.
    pub relevance: f64,
    /// What the strategy says; larger is sooner.
    pub priority: f64,
    /// How many links it is away from a start, on the way on which it became known.
    pub depth: u32,
}

/// One unit of work taken from the frontier.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Identity of the URL.
    pub oid: UrlId,
    /// The site it belongs to.
    pub sid: SiteId,
    /// The URL.
    pub url: CanonicalUrl,
    /// How often it was tried before.
    pub numtries: u32,
    /// Estimated relevance.
    pub relevance: f64,
    /// The strategy's priority.
    pub priority: f64,
    /// How many links it is away from a start.
    pub depth: u32,
    /// Pages that have come from its site.
    pub pages_of_site: u32,
    /// Where it stood in the order of the policy when it was taken.
    pub rank: Rank,
}

/// A place in the order of a policy: of two, the smaller one comes first.
#[derive(Clone, Debug, Default)]
pub struct Rank(Box<[f64]>);

impl Rank {
    /// The rank of what has these values, the most important first, each so that smaller comes first.
    pub fn new(values: impl Iterator<Item = f64>) -> Self {
        Rank(values.collect())
    }

    /// Before all others.
    pub fn first() -> Self {
        Rank(Box::new([f64::NEG_INFINITY]))
    }

    /// Behind all others.
    pub fn last() -> Self {
        Rank(Box::new([f64::INFINITY]))
    }
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        let pairs = self.0.iter().zip(&other.0);
        let differing = pairs.map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
        differing.unwrap_or_else(|| self.0.len().cmp(&other.0.len()))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Rank {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Rank {}

/// What became of one fetch, with everything that the store keeps of it.
#[derive(Clone, Debug, PartialEq)]
pub struct PageResult {
    /// The fetch's sequence number: the order in which the crawl went.
    pub seq: u64,
    /// The URL that was fetched.
    pub oid: UrlId,
    /// Its site.
    pub sid: SiteId,
    /// When the answer was complete.
    pub at: Timestamp,
    /// HTTP status, 0 when there was no answer.
    pub status: u16,
    /// What follows for the URL.
    pub outcome: Outcome,
    /// The critic's word, if it was asked.
    pub judgment: Option<Judgment>,
    /// The page's title, empty if it has none, at most [`PageResult::MAX_TITLE`] bytes.
    pub title: String,
    /// ISO 639-1 code of the language, empty if unknown.
    pub language: String,
    /// Bytes of the body.
    pub bytes: u64,
    /// 64-bit simhash of the text; 0 for a page without text.
    pub simhash: u64,
    /// How often each term occurs on the page, as [`pack_terms`](crate::pack_terms) packs it: at most
    /// [`PageResult::MAX_TERMS`]. Empty for a page without words.
    pub terms: Vec<u8>,
    /// The page with nearly the same text that was fetched before it, if there is one.
    pub copy_of: Option<UrlId>,
    /// Where the page is kept, if it is.
    pub span: Option<SegmentSpan>,
    /// What it links to, in document order, each target once.
    pub links: Vec<LinkRow>,
}

impl PageResult {
    /// The longest title that is kept, in bytes.
    pub const MAX_TITLE: usize = 1_000;

    /// The most terms of a page that are kept: the most frequent ones.
    pub const MAX_TERMS: usize = 10_000;
}

/// What follows from a fetch for the URL that was fetched.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A page came; the URL is done.
    Fetched,
    /// The answer was a redirect; its target is the only link.
    Redirected,
    /// It failed in a way that may pass; try again not before `not_before`.
    Retry {
        /// What happened.
        failure: Failure,
        /// When the URL may be tried again.
        not_before: Timestamp,
    },
    /// It failed for good.
    Dead(Failure),
    /// It was not fetched, or not judged, on purpose (robots, scope, content type).
    Skipped(Failure),
}

/// Why a fetch failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The class of the failure.
    pub kind: FailureKind,
    detail: String,
}

impl Failure {
    /// The longest detail that is kept, in bytes. It may quote a server, which may send megabytes.
    pub const MAX_DETAIL: usize = 300;

    /// A failure, with what happened in words for a person. Detail past [`Failure::MAX_DETAIL`] is cut.
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Failure { kind, detail: shortened(detail.into(), Failure::MAX_DETAIL) }
    }

    /// What happened, in words.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

/// The text, cut to at most `max` bytes at a character boundary. A text that was cut ends in `…`.
pub fn shortened(mut text: String, max: usize) -> String {
    const MARK: &str = "…";
    if text.len() > max {
        text.truncate(text.floor_char_boundary(max.saturating_sub(MARK.len())));
        text.push_str(MARK);
        text.shrink_to_fit();
    }
    text
}

/// The classes of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The name could not be resolved.
    Dns,
    /// No connection, or it broke.
    Connect,
    /// TLS failed.
    Tls,
    /// Too slow.
    Timeout,
    /// An HTTP status that is neither a page nor a redirect.
    Status,
    /// Larger than allowed.
    Size,
    /// A content type that is not read.
    Type,
    /// Forbidden by robots.txt.
    Robots,
    /// Not an answer that HTTP allows.
    Protocol,
    /// Outside of what the crawl was confined to, or an address that is not on the open web.
    Scope,
    /// A URL of the kind that never ends.
    Trap,
    /// A page that is empty until its scripts have run.
    Scripts,
    /// The program died several times while the URL was being fetched or read.
    Crash,
}

impl FailureKind {
    /// The word for it in tables, logs and the API.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Dns => "dns",
            FailureKind::Connect => "connect",
            FailureKind::Tls => "tls",
            FailureKind::Timeout => "timeout",
            FailureKind::Status => "status",
            FailureKind::Size => "size",
            FailureKind::Type => "type",
            FailureKind::Robots => "robots",
            FailureKind::Protocol => "protocol",
            FailureKind::Scope => "scope",
            FailureKind::Trap => "trap",
            FailureKind::Scripts => "scripts",
            FailureKind::Crash => "crash",
        }
    }
}

/// Where a page lies in the WARC segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSpan {
    /// Number of the segment file.
    pub segment: u32,
    /// Byte offset of the record.
    pub offset: u64,
    /// Length of the compressed record.
    pub length: u32,
}

/// One link of a fetched page, as the store keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkRow {
    /// Identity of the target.
    pub oid: UrlId,
    /// The target's site.
    pub sid: SiteId,
    /// The target, and what is believed of it; becomes known if it is new.
    pub target: NewUrl,
    /// The text of the link; `None` if there is none.
    pub anchor: Option<Box<str>>,
    /// The strategy does not want the link followed: it does not put its target into the queue.
    pub rejected: bool,
}

impl LinkRow {
    /// A link without a text that is to be followed.
    pub fn to(target: NewUrl) -> LinkRow {
        LinkRow { oid: target.url.id(), sid: target.url.site(), target, anchor: None, rejected: false }
    }
}

/// Something that happened in the crawl, for people and watchers.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// What kind: a short word (`started`, `stopped`).
    pub kind: String,
    /// What happened, in words.
    pub detail: String,
}
