//! Plain data that passes between crates: URLs to fetch, results of fetches, and links.

use std::cmp::Ordering;

use crate::{CanonicalUrl, NextVisit, SiteId, StoredCopy, Timestamp, TopicId, UrlId, Validators};

/// The critic's judgment of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgment {
    /// R(d), in 0..=1 (V eq. 3).
    pub relevance: f64,
    /// The most probable leaf class; the root if the judge names none.
    pub best: TopicId,
}

impl Judgment {
    /// R from which a fetched page is relevant, unless it is a copy of another.
    pub const RELEVANT: f64 = 0.5;

    /// Whether R is that of a relevant page.
    pub fn is_relevant(&self) -> bool {
        self.relevance >= Judgment::RELEVANT
    }
}

/// A URL for the frontier, with its estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct NewUrl {
    /// The URL.
    pub url: CanonicalUrl,
    /// Estimated relevance, in 0..=1: the highest R of its judged parents.
    pub relevance: f64,
    /// The strategy's priority; higher is earlier.
    pub priority: f64,
    /// Number of links from a start URL, along the path of its discovery.
    pub depth: u32,
}

/// A URL taken from the frontier to be fetched.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Identity of the URL.
    pub oid: UrlId,
    /// The site it belongs to.
    pub sid: SiteId,
    /// The URL.
    pub url: CanonicalUrl,
    /// Number of earlier tries.
    pub numtries: u32,
    /// Estimated relevance.
    pub relevance: f64,
    /// The strategy's priority.
    pub priority: f64,
    /// Number of links from a start URL.
    pub depth: u32,
    /// Number of URLs fetched from its site.
    pub pages_of_site: u32,
    /// Its rank in the order of the policy when it was taken.
    pub rank: Rank,
    /// The stored copy of a page that is visited again.
    pub copy: Option<Box<StoredCopy>>,
}

/// A position in the order of a policy; the smaller of two comes first.
#[derive(Clone, Debug, Default)]
pub struct Rank(Box<[f64]>);

impl Rank {
    /// The rank with these values, most significant first, each such that smaller comes first.
    pub fn new(values: impl Iterator<Item = f64>) -> Self {
        Rank(values.collect())
    }

    /// Before all others.
    pub fn first() -> Self {
        Rank(Box::new([f64::NEG_INFINITY]))
    }

    /// After all others.
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

/// The result of a fetch, with everything that the store keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct PageResult {
    /// Sequence number of the fetch in the crawl.
    pub seq: u64,
    /// The fetched URL.
    pub oid: UrlId,
    /// Its site.
    pub sid: SiteId,
    /// When the response was complete.
    pub at: Timestamp,
    /// HTTP status; 0 if there was no response.
    pub status: u16,
    /// What follows for the URL.
    pub outcome: Outcome,
    /// The critic's judgment, if there is one.
    pub judgment: Option<Judgment>,
    /// Title; empty if there is none; at most [`PageResult::MAX_TITLE`] bytes.
    pub title: String,
    /// ISO 639-1 code of the language; empty if unknown.
    pub language: String,
    /// Size of the body in bytes.
    pub bytes: u64,
    /// 64-bit simhash of the text; 0 for a page without text.
    pub simhash: u64,
    /// Term counts, packed by [`pack_terms`](crate::pack_terms): at most [`PageResult::MAX_TERMS`] terms. Empty for a
    /// page without words.
    pub terms: Vec<u8>,
    /// An earlier page with nearly the same text, if there is one.
    pub copy_of: Option<UrlId>,
    /// Location of the page in the archive, if it is archived.
    pub span: Option<SegmentSpan>,
    /// The validators of this version of the page.
    pub validators: Option<Box<Validators>>,
    /// The next visit, in a maintained crawl.
    pub next_visit: Option<NextVisit>,
    /// Links, in document order, each target once.
    pub links: Vec<LinkRow>,
}

impl PageResult {
    /// Whether the URL was refused before anything was sent: by the scope, robots.txt or a trap.
    pub fn is_refusal(&self) -> bool {
        self.status == 0 && matches!(self.outcome, Outcome::Skipped(_))
    }

    /// Maximum length of a title in bytes.
    pub const MAX_TITLE: usize = 1_000;

    /// Maximum number of stored terms of a page: the most frequent ones.
    pub const MAX_TERMS: usize = 10_000;
}

/// What follows from a fetch for its URL.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A page was fetched; the URL is finished.
    Fetched,
    /// The server says that the page is still the stored copy (status 304); the URL is finished, and all that is known
    /// of the page stays.
    NotModified,
    /// The response was a redirect; its target is the only link.
    Redirected,
    /// A temporary failure; retry from `not_before` on.
    Retry {
        /// What happened.
        failure: Failure,
        /// When the URL may be tried again.
        not_before: Timestamp,
    },
    /// A permanent failure.
    Dead(Failure),
    /// Not fetched, or not judged, on purpose (robots, scope, content type).
    Skipped(Failure),
}

/// Why a fetch failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Kind of the failure.
    pub kind: FailureKind,
    detail: String,
}

impl Failure {
    /// Maximum length of the detail in bytes. It may quote a server, which may send megabytes.
    pub const MAX_DETAIL: usize = 300;

    /// A failure with a message. The detail is cut at [`Failure::MAX_DETAIL`].
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Failure { kind, detail: shortened(detail.into(), Failure::MAX_DETAIL) }
    }

    /// The message.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

/// The text, cut to at most `max` bytes at a character boundary. A cut text ends in `…`.
pub fn shortened(mut text: String, max: usize) -> String {
    const MARK: &str = "…";
    if text.len() > max {
        text.truncate(text.floor_char_boundary(max.saturating_sub(MARK.len())));
        text.push_str(MARK);
        text.shrink_to_fit();
    }
    text
}

/// Kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The host name could not be resolved.
    Dns,
    /// The connection failed or broke.
    Connect,
    /// TLS error.
    Tls,
    /// Timeout.
    Timeout,
    /// An HTTP status that is neither success nor redirect.
    Status,
    /// Larger than the size limit.
    Size,
    /// Unsupported content type.
    Type,
    /// Disallowed by robots.txt.
    Robots,
    /// Invalid HTTP response.
    Protocol,
    /// Outside the scope of the crawl, or an address that is not on the open web.
    Scope,
    /// A crawler trap.
    Trap,
    /// A page without words unless its scripts run.
    Scripts,
    /// Nothing could be sent, for a reason on the crawler's side: no route, no file descriptor, no proxy. Never an
    /// outcome of a URL.
    Local,
    /// A page without words.
    Empty,
    /// A page that asks not to be indexed.
    NoIndex,
    /// The program crashed several times while it fetched or parsed the URL.
    Crash,
}

impl FailureKind {
    /// Name in tables, logs and the API.
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
            FailureKind::Local => "local",
            FailureKind::Empty => "empty",
            FailureKind::NoIndex => "noindex",
            FailureKind::Crash => "crash",
        }
    }
}

/// Location of a page in the WARC segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSpan {
    /// Number of the segment file.
    pub segment: u32,
    /// Byte offset of the record.
    pub offset: u64,
    /// Length of the compressed record.
    pub length: u32,
}

/// How the records of a segment are compressed; the file name shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SegmentCompression {
    /// A gzip member for each record.
    #[default]
    Gzip,
    /// A zstd frame for each record.
    Zstd,
}

impl SegmentCompression {
    /// Both.
    pub const ALL: [SegmentCompression; 2] = [SegmentCompression::Gzip, SegmentCompression::Zstd];

    /// Extension of such files.
    pub fn extension(self) -> &'static str {
        match self {
            SegmentCompression::Gzip => "warc.gz",
            SegmentCompression::Zstd => "warc.zst",
        }
    }

    /// Name of a segment's file.
    pub fn file_name(self, segment: u32) -> String {
        format!("{segment:05}.{}", self.extension())
    }

    /// The segment that a file holds, by its name.
    pub fn of_file(name: &str) -> Option<(u32, SegmentCompression)> {
        let (number, extension) = name.split_once('.')?;
        let compression = SegmentCompression::ALL.into_iter().find(|one| one.extension() == extension)?;
        Some((number.parse().ok()?, compression))
    }
}

/// A link of a fetched page, as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkRow {
    /// Identity of the target.
    pub oid: UrlId,
    /// The target's site.
    pub sid: SiteId,
    /// The target with its estimate; it is added if it is new.
    pub target: NewUrl,
    /// Anchor text; `None` if there is none.
    pub anchor: Option<Box<str>>,
    /// The strategy does not follow the link: the target is not queued.
    pub rejected: bool,
}

impl LinkRow {
    /// A link without anchor text that is to be followed.
    pub fn to(target: NewUrl) -> LinkRow {
        LinkRow { oid: target.url.id(), sid: target.url.site(), target, anchor: None, rejected: false }
    }
}

/// An event of the crawl, for users and observers.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When it happened.
    pub at: Timestamp,
    /// Kind: a short word (`started`, `stopped`).
    pub kind: String,
    /// Message.
    pub detail: String,
}
