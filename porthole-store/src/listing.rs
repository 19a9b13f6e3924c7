//! Lists of fetched pages for people: filtered, in some order, a part at a time.

use porthole_types::{SiteId, Timestamp, TopicId};

/// Which pages to list, and in which order. Only judged pages that are no duplicates.
#[derive(Clone, Debug, PartialEq)]
pub struct PageListing {
    /// The order.
    pub order: PageOrder,
    /// Only pages whose best topic is one of these.
    pub topics: Option<Vec<TopicId>>,
    /// Only pages of these sites.
    pub sites: Option<Vec<SiteId>>,
    /// Least R.
    pub least: f64,
    /// Highest R.
    pub most: f64,
    /// Maximum number.
    pub limit: usize,
    /// Pages to leave out at the beginning.
    pub offset: usize,
}

/// An order of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageOrder {
    /// The highest R first.
    Relevance,
    /// The last fetched first.
    Recent,
    /// R nearest to 0.5 first, without pages on which there is feedback.
    Uncertain,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedPage {
    /// Sequence number of its fetch.
    pub seq: u64,
    /// Its URL.
    pub url: String,
    /// Its title; may be empty.
    pub title: String,
    /// Host of its site.
    pub host: String,
    /// R(d).
    pub relevance: f64,
    /// Its best topic.
    pub best: TopicId,
    /// When it was last fetched.
    pub at: Timestamp,
    /// ISO 639-1 code of its language; may be empty.
    pub language: String,
    /// Hub score of the last distillation.
    pub hub: Option<f64>,
    /// Authority score of the last distillation.
    pub authority: Option<f64>,
    /// Key of its terms for [`StoreReader::page_terms`](crate::StoreReader::page_terms).
    pub terms: Option<u64>,
    /// The latest feedback on it.
    pub useful: Option<bool>,
}
