//! Rows of the tables for exports, read in ranges of row numbers: a row number never changes, so that an export that
//! was cut goes on where it stopped.

use porthole_types::{SegmentSpan, SiteId, Timestamp, TopicId, UrlId};

use crate::UrlState;

/// Which fetched pages are wanted. The default is all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageFilter {
    /// Only pages whose best topic is one of these.
    pub topics: Option<Vec<TopicId>>,
    /// Only judged pages whose R(d) is at least this; that of a duplicate counts as 0.
    pub min_relevance: Option<f64>,
    /// Only pages of these sites.
    pub sites: Option<Vec<SiteId>>,
    /// Only pages in these languages (ISO 639-1).
    pub languages: Option<Vec<String>>,
    /// Only pages last visited at or after this time.
    pub since: Option<Timestamp>,
    /// Only pages last visited before this time.
    pub until: Option<Timestamp>,
    /// Also redirects that are in the archive, if they match: they have no topic, relevance and language.
    pub redirects: bool,
}

/// A fetched page, as the tables have it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPage {
    /// Row of the URL in `crawl`.
    pub row: u64,
    /// The URL.
    pub oid: UrlId,
    /// The URL as text.
    pub url: String,
    /// When it was last visited.
    pub at: Timestamp,
    /// HTTP status of the last response.
    pub status: u16,
    /// The title; may be empty.
    pub title: String,
    /// ISO 639-1 code of the language; may be empty.
    pub language: String,
    /// Size of the body in bytes.
    pub bytes: u64,
    /// R(d), if the page was judged.
    pub relevance: Option<f64>,
    /// The best topic, if the page was judged.
    pub best: Option<TopicId>,
    /// Hub score of the last distillation.
    pub hub: Option<f64>,
    /// Authority score of the last distillation.
    pub authority: Option<f64>,
    /// Number of links from a start URL.
    pub depth: u32,
    /// The earlier page of which this is a duplicate.
    pub copy_of: Option<UrlId>,
    /// Location of the page in the archive.
    pub span: Option<SegmentSpan>,
    /// Whether the URL is a redirect and not a page.
    pub is_redirect: bool,
}

/// A known URL that is not a page of the crawl, and is not to be fetched.
#[derive(Clone, Debug, PartialEq)]
pub struct SkippedUrl {
    /// Row of the URL in `crawl`.
    pub row: u64,
    /// The URL as text.
    pub url: String,
    /// Dead, skipped, evicted or rejected.
    pub state: UrlState,
    /// HTTP status of the last response; `None` if it was never tried, 0 if there was no response.
    pub status: Option<u16>,
    /// Kind of the failure, if there is one.
    pub failure: Option<String>,
    /// Message of the failure.
    pub detail: Option<String>,
    /// When it was last tried.
    pub at: Option<Timestamp>,
    /// Number of links from a start URL.
    pub depth: u32,
    /// R(d) of the page or the estimate before it was seen.
    pub relevance: f64,
}

/// A URL that is queued or was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownUrl {
    /// The URL as text.
    pub url: String,
    /// Whether it is queued; otherwise it is a fetched page.
    pub is_queued: bool,
    /// Number of links from a start URL.
    pub depth: u32,
}

/// A link with the URLs at both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredLink {
    /// Row of the link in `edge`.
    pub row: u64,
    /// Row of the linking page in `crawl`.
    pub source_row: u64,
    /// Row of the target in `crawl`.
    pub target_row: u64,
    /// URL of the linking page.
    pub source: String,
    /// URL of the target.
    pub target: String,
    /// When the link was found.
    pub discovered: Timestamp,
    /// Anchor text; may be empty.
    pub anchor: String,
}

/// Tables that are read in ranges of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowTable {
    /// All known URLs.
    Crawl,
    /// All links.
    Edge,
}
