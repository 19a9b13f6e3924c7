//! What a store knows of one URL, of its site, and what people said of them.

use porthole_types::{SegmentSpan, SiteId, Timestamp, TopicId, UrlId};

use crate::Neighbourhood;

/// Everything that is known of a URL.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// The URL.
    pub oid: UrlId,
    /// What has become of it.
    pub state: UrlState,
    /// R(d) if it was judged, else the estimate: the best R among the pages that link to it.
    pub relevance: f64,
    /// The strategy's priority.
    pub priority: f64,
    /// How often it was tried.
    pub numtries: u32,
    /// When it was last tried.
    pub last_visited: Option<Timestamp>,
    /// The number of that try among all fetches of the crawl.
    pub seq: Option<u64>,
    /// The topic that is best for its page.
    pub best: Option<TopicId>,
    /// HTTP status of the last answer; 0 when there was none.
    pub status: Option<u16>,
    /// Why the last try failed, or why there was none: the kind, and what happened in words.
    pub failure: Option<(String, String)>,
    /// Queued: it is not tried before.
    pub not_before: Option<Timestamp>,
    /// The page's title; may be empty.
    pub title: String,
    /// The page's language; empty if that is not known.
    pub language: String,
    /// Bytes of the page.
    pub bytes: Option<u64>,
    /// Where the page is kept.
    pub span: Option<SegmentSpan>,
    /// Its site.
    pub site: SiteFacts,
    /// Pages that link to it: the best ten by R, each once.
    pub parents: Vec<Parent>,
    /// How many links lead to it.
    pub links_in: u64,
    /// How many links its page has.
    pub links_out: u64,
    /// The URL that a redirected one leads to.
    pub leads_to: Option<String>,
    /// How many queued URLs come before it under the policy of discovery, if it is queued; those that wait for
    /// another try included. `None` under another policy.
    pub rank: Option<u64>,
    /// Its hub score, if the last distillation gave it one.
    pub hub: Option<f64>,
    /// Its authority score, if the last distillation gave it one.
    pub auth: Option<f64>,
    /// How relevant it is after what its neighbours say, if it was judged and has some that were.
    pub neighbourhood: Option<Neighbourhood>,
    /// The last word of a person on it, as a page, as a hub and on its site.
    pub feedback: Vec<Feedback>,
}

/// What has become of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlState {
    /// It is yet to be fetched.
    Queued,
    /// Its page was fetched.
    Fetched,
    /// It led elsewhere.
    Redirected,
    /// It failed for good.
    Dead,
    /// It was left out on purpose.
    Skipped,
    /// It had to go from a queue that is bounded.
    Evicted,
    /// Only links lead to it that the strategy does not want followed.
    Rejected,
}

impl UrlState {
    /// The word for it in tables, commands and the API.
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
pub struct Parent {
    /// Its URL.
    pub url: String,
    /// R(d) if it was judged, else the estimate.
    pub relevance: f64,
    /// The number of its fetch.
    pub seq: Option<u64>,
    /// When the link was found.
    pub discovered: Timestamp,
}

/// What is known of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteFacts {
    /// The site.
    pub sid: SiteId,
    /// Host and, if it is not the default one, port.
    pub host: String,
    /// URLs that were fetched from it (V 3.2).
    pub serverload: u64,
    /// Whether nothing more is to be fetched from it.
    pub disabled: bool,
}

/// What a person says of something that was found (W 2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// The URL; of a site, its host.
    pub name: String,
    /// As what it is useful or not.
    pub kind: FeedbackKind,
    /// Whether it is useful.
    pub useful: bool,
    /// When it was said.
    pub at: Timestamp,
}

/// As what something is useful or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedbackKind {
    /// For what it says: for the classifier.
    Page,
    /// As a whole.
    Site,
    /// For its links: for the distiller.
    Hub,
}

impl FeedbackKind {
    /// The word for it in tables, commands and the API.
    pub fn name(self) -> &'static str {
        match self {
            FeedbackKind::Page => "page",
            FeedbackKind::Site => "site",
            FeedbackKind::Hub => "hub",
        }
    }

    /// The kind of a word.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        [FeedbackKind::Page, FeedbackKind::Site, FeedbackKind::Hub]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}
