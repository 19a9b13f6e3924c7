//! Everything a store knows about a URL and its site, and the feedback on them.

use porthole_types::{SegmentSpan, SiteId, Timestamp, TopicId, UrlId};

use crate::NeighbourEvidence;

/// Everything known about a URL.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// The URL.
    pub oid: UrlId,
    /// State of the URL.
    pub state: UrlState,
    /// R(d) if the page was judged, otherwise the estimate: the highest R of the linking pages.
    pub relevance: f64,
    /// The strategy's priority.
    pub priority: f64,
    /// Number of tries.
    pub numtries: u32,
    /// When it was last tried.
    pub last_visited: Option<Timestamp>,
    /// Sequence number of the last try in the crawl.
    pub seq: Option<u64>,
    /// The best topic of the page.
    pub best: Option<TopicId>,
    /// HTTP status of the last response; 0 if there was none.
    pub status: Option<u16>,
    /// Why the last try failed, or why there was none: kind and message.
    pub failure: Option<(String, String)>,
    /// When a queued URL may be tried, if it waits.
    pub not_before: Option<Timestamp>,
    /// The page's title; may be empty.
    pub title: String,
    /// The page's language; empty if unknown.
    pub language: String,
    /// Size of the page in bytes.
    pub bytes: Option<u64>,
    /// Location of the page in the archive.
    pub span: Option<SegmentSpan>,
    /// Its site.
    pub site: SiteFacts,
    /// The ten linking pages with the highest R, each once.
    pub parents: Vec<LinkingPage>,
    /// Number of links to it.
    pub links_in: u64,
    /// Number of links on its page.
    pub links_out: u64,
    /// Target of a redirect.
    pub leads_to: Option<String>,
    /// Number of queued URLs before it under the policy `discovery`, including those that wait for a retry. `None` if
    /// it is not queued, or under another policy.
    pub rank: Option<u64>,
    /// Hub score of the last distillation.
    pub hub: Option<f64>,
    /// Authority score of the last distillation.
    pub auth: Option<f64>,
    /// Relevance combined with that of the neighbours, if it and some of them were judged.
    pub neighbourhood: Option<NeighbourEvidence>,
    /// The latest feedback on it as a page, as a hub, and on its site.
    pub feedback: Vec<Feedback>,
}

/// State of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlState {
    /// Yet to be fetched.
    Queued,
    /// The page was fetched.
    Fetched,
    /// The URL redirects to another one.
    Redirected,
    /// Failed permanently.
    Dead,
    /// Skipped on purpose.
    Skipped,
    /// Evicted from a bounded queue.
    Evicted,
    /// Reached only by links that the strategy does not follow.
    Rejected,
}

impl UrlState {
    /// Name in tables, commands and the API.
    pub fn name(self) -> &'static str {
        match self {
            UrlState::Queued => "queued",
            UrlState::Fetched => "fetched",
            UrlState::Redirected => "redirected",
            UrlState::Dead => "dead",
            UrlState::Skipped => "skipped",
            UrlState::Evicted => "evicted",
            UrlState::Rejected => "rejected",
        }
    }
}

/// A page that links to a URL.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkingPage {
    /// Its URL.
    pub url: String,
    /// R(d) if the page was judged, otherwise the estimate.
    pub relevance: f64,
    /// Sequence number of its fetch.
    pub seq: Option<u64>,
    /// When the link was found.
    pub discovered: Timestamp,
}

/// Data of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteFacts {
    /// The site.
    pub sid: SiteId,
    /// Host, with the port if it is not the default.
    pub host: String,
    /// Number of URLs fetched from the site (V 3.2).
    pub serverload: u64,
    /// Whether fetching from the site is disabled.
    pub disabled: bool,
}

/// Feedback of a user on a page, hub or site (W 2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// URL; of a site, the host.
    pub name: String,
    /// What the feedback is about.
    pub kind: FeedbackKind,
    /// Whether it is useful.
    pub useful: bool,
    /// When it was given.
    pub at: Timestamp,
}

/// What feedback is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedbackKind {
    /// The content of a page: for the classifier.
    Page,
    /// A whole site.
    Site,
    /// The links of a page: for the distiller.
    Hub,
}

impl FeedbackKind {
    /// Name in tables, commands and the API.
    pub fn name(self) -> &'static str {
        match self {
            FeedbackKind::Page => "page",
            FeedbackKind::Site => "site",
            FeedbackKind::Hub => "hub",
        }
    }

    /// The kind with this name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        [FeedbackKind::Page, FeedbackKind::Site, FeedbackKind::Hub]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}
