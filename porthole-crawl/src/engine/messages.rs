//! What the two halves of a crawl say to each other. All of it is plain data.

use std::net::IpAddr;

use porthole_store::{StoredHost, StoredRobots};
use porthole_types::{NewUrl, Outcome, SiteId, Timestamp, UrlId, Work};

use super::outage::OutageNews;
use crate::backlinks::Question;
use crate::reading::Unread;

/// From the writer half to the network half.
#[derive(Debug)]
pub(crate) enum ToNetwork {
    /// The answer to [`ToWriter::Want`]: URLs to fetch when it is their sites' turn.
    Offer(Vec<Work>),
    /// The answer to [`ToWriter::WantOf`]: at most as many as were asked for, and fewer if the site has no more. A better
    /// URL that nobody asked for comes the same way.
    OfferOf { site: SiteId, asked: usize, works: Vec<Work> },
    /// A better URL was offered: this one is to be given back, unless it is under way.
    Recall(SiteId, UrlId),
    /// Who links to a page is to be asked.
    Ask(Question),
    /// So many pages may be fetched in all, and so many requests be under way at once.
    Limits { fetches: u64, workers: usize },
    /// URLs of a lower priority are not fetched while sites with better ones rest.
    Least(f64),
    /// Whether new requests are to be made.
    Pause(bool),
}

/// From the network half to the writer half.
#[derive(Debug)]
pub(crate) enum ToWriter {
    /// There is room for so many more sites, or URLs where there are no pauses. Adds to what was wanted before.
    Want(usize),
    /// A site can have so many more URLs.
    WantOf(SiteId, usize),
    /// A site has nothing left to fetch, or is to be left alone until then.
    Release(SiteId, Option<Timestamp>),
    /// URLs that were offered and will not be fetched now.
    GaveBack(Vec<UrlId>),
    /// A page is being fetched.
    Started(UrlId),
    /// It was not sent after all, and is offered again.
    Unsent(Box<Work>),
    /// An answer for a page.
    Answered(Box<Unread>),
    /// Decided without a request.
    Settled(Work, Outcome),
    /// URLs that a sitemap lists, or that are said to link to a page.
    Listed(Vec<NewUrl>),
    /// Where a site is.
    Located(SiteId, IpAddr),
    /// What became known of a robots.txt, and of a host, for the next run.
    Robots(Box<StoredRobots>),
    Host(StoredHost),
    /// So many workers wait for so many resting sites with good links. Sent once a second while that is so.
    Waiting {
        workers: usize,
        sites: usize,
    },
    /// Nothing gets through, or something does again.
    Outage(OutageNews),
    /// Nothing is under way and nothing can be begun, after so many messages from the writer.
    Idle(u64),
}
