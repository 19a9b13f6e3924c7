//! Messages between the two halves of a crawl. All of them are plain data.

use std::net::IpAddr;

use porthole_store::{StoredHost, StoredRobots};
use porthole_types::{NewUrl, Outcome, SiteId, Timestamp, UrlId, Work};

use super::network::SiteStates;
use super::outage::OutageNews;
use crate::backlinks::Question;
use crate::reading::Unread;

/// Messages from the writer half to the network half.
#[derive(Debug)]
pub(crate) enum ToNetwork {
    /// Reply to [`ToWriter::Want`]: URLs to fetch when their sites' turn comes.
    Offer(Vec<Work>),
    /// Reply to [`ToWriter::WantOf`]: at most `asked` URLs, fewer if the site has no more. Better URLs are also sent
    /// this way without a request (`asked` is 0).
    OfferOf { site: SiteId, asked: usize, works: Vec<Work> },
    /// A better URL was offered: give this one back unless it has been started.
    Recall(SiteId, UrlId),
    /// Ask an endpoint for the pages that link to a page.
    Ask(Question),
    /// Maximum number of page fetches in total, and of requests in flight.
    Limits { fetches: u64, workers: usize },
    /// Do not fetch new URLs below this priority while sites with better ones are resting, or never if it is strict.
    MinPriority { least: f64, is_strict: bool },
    /// Another worker has URLs of the minimum priority. Counts for two seconds.
    BetterElsewhere,
    /// This many answers for pages have been read and committed, and their best links offered. Sent while there is a
    /// minimum priority.
    Read(u64),
    /// Stop or resume starting requests.
    Pause(bool),
}

/// Messages from the network half to the writer half.
#[derive(Debug)]
pub(crate) enum ToWriter {
    /// There is room for this many more sites (or URLs, in a replay). Adds to earlier requests.
    Want(usize),
    /// There is room for this many more URLs of a site.
    WantOf(SiteId, usize),
    /// A site has nothing left to fetch, or must not be requested before this time.
    Release(SiteId, Option<Timestamp>),
    /// Offered URLs that will not be fetched now.
    GaveBack(Vec<UrlId>),
    /// The request for a page has started.
    Started(UrlId),
    /// The request was not sent after all. The URL is offered again.
    Unsent(Box<Work>),
    /// The answer for a page.
    Answered(Box<Unread>),
    /// A URL that was settled without a request.
    Settled(Work, Outcome),
    /// URLs from a sitemap or a backlink endpoint.
    Listed(Vec<NewUrl>),
    /// The resolved address of a site.
    Located(SiteId, IpAddr),
    /// A robots.txt file and a host's state, stored for the next run.
    Robots(Box<StoredRobots>),
    Host(StoredHost),
    /// This many workers wait for this many resting sites with good links. Sent at most once a second.
    Waiting {
        workers: usize,
        sites: usize,
    },
    /// The sites by state. Sent at most once a second, by a live crawl.
    Sites(SiteStates),
    /// An outage began or ended.
    Outage(OutageNews),
    /// Nothing is in flight and nothing can start. The number of writer messages handled so far.
    Idle(u64),
}
