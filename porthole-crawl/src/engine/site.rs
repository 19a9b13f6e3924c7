//! A site's state in the network half.

use std::collections::VecDeque;
use std::net::IpAddr;

use porthole_types::{CanonicalUrl, Rank, Timestamp, UrlId, Work};

use super::network::Lane;
use crate::backlinks::Question;
use crate::robots::RobotsFetch;

/// Scheduling state of a site. Each site is in exactly one phase, and in the queue that belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    /// Nothing to request, or not yet placed.
    Idle,
    /// Its address lookup is queued or in flight.
    Locating,
    /// It may be requested. Ready sites are ordered by rank.
    Ready(Rank),
    /// It must not be requested before this time. Sites with the same time are ordered by their last request, the
    /// oldest first.
    Resting(Timestamp, u64),
    /// It waits for a request to finish: its own, or one that shares its address, address block or domain.
    Waiting,
    /// Its robots.txt is being fetched from another site.
    AwaitingRules,
}

/// The address of a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Address {
    #[default]
    Unknown,
    /// Resolved. `None` for webs without addresses.
    Known(Option<IpAddr>),
}

/// A site with URLs or auxiliary requests to fetch.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) phase: Phase,
    pub(crate) address: Address,
    /// Offered URLs, the best last.
    offers: Vec<Work>,
    /// URLs requested from the writer that have not arrived.
    pub(crate) wanted: usize,
    /// Whether the frontier may have more URLs of this site.
    pub(crate) has_more: bool,
    /// Robots.txt files to fetch from here: its own, or those of sites whose robots.txt redirects here.
    pub(crate) rules: VecDeque<RobotsFetch>,
    /// Its own robots.txt is being fetched, here or from another site.
    pub(crate) asks_rules: bool,
    pub(crate) questions: VecDeque<Question>,
    /// Sitemaps to read when there is no better work, and whether it may be an index that names others.
    pub(crate) sitemaps: VecDeque<(CanonicalUrl, bool)>,
    /// Number of URLs taken from its sitemaps.
    pub(crate) listed: usize,
    /// It answered its last request quickly.
    pub(crate) is_quick: bool,
    /// It delivered its last page quickly.
    pub(crate) is_proven: bool,
    /// Its robots.txt has arrived and its first page is next.
    pub(crate) is_preparing: bool,
    pub(crate) in_flight: usize,
    /// Number of failed connections. Selects the next of several addresses.
    pub(crate) connect_failures: usize,
    /// Job id of its last request.
    pub(crate) last_turn: u64,
}

impl Default for Site {
    fn default() -> Self {
        Site {
            phase: Phase::Idle,
            address: Address::Unknown,
            offers: Vec::new(),
            wanted: 0,
            has_more: true,
            rules: VecDeque::new(),
            asks_rules: false,
            questions: VecDeque::new(),
            sitemaps: VecDeque::new(),
            listed: 0,
            is_quick: false,
            is_proven: false,
            is_preparing: false,
            in_flight: 0,
            connect_failures: 0,
            last_turn: 0,
        }
    }
}

impl Site {
    /// Creates a site that is known to answer quickly, or not.
    pub(crate) fn new(is_quick: bool) -> Self {
        Site { is_quick, ..Site::default() }
    }

    /// Adds a URL in rank order.
    pub(crate) fn offer(&mut self, work: Work) {
        // The best is at the end, where it is popped.
        let at = self.offers.partition_point(|other| other.rank > work.rank);
        self.offers.insert(at, work);
    }

    /// Removes an offered URL that has not been started.
    pub(crate) fn recall(&mut self, oid: UrlId) -> Option<Work> {
        let at = self.offers.iter().position(|work| work.oid == oid)?;
        Some(self.offers.remove(at))
    }

    /// The lane of its next request.
    pub(crate) fn lane(&self) -> Lane {
        match (self.is_quick, self.is_preparing) {
            (true, _) => Lane::Quick,
            (false, true) => Lane::Prepared,
            (false, false) => Lane::Other,
        }
    }

    pub(crate) fn best(&self) -> Option<&Work> {
        self.offers.last()
    }

    /// Whether the next request has at least this priority. Start pages, pages that are visited again and auxiliary
    /// requests always do.
    pub(crate) fn reaches(&self, min_priority: f64) -> bool {
        let is_asked = !self.rules.is_empty() || !self.questions.is_empty();
        let is_wanted = |work: &Work| work.depth == 0 || work.copy.is_some();
        is_asked || self.best().is_some_and(|work| is_wanted(work) || work.priority >= min_priority)
    }

    pub(crate) fn pop(&mut self) -> Option<Work> {
        self.offers.pop()
    }

    pub(crate) fn offers(&self) -> usize {
        self.offers.len()
    }

    pub(crate) fn take_offers(&mut self) -> Vec<Work> {
        std::mem::take(&mut self.offers)
    }

    /// Number of pending requests other than pages.
    pub(crate) fn aux_requests(&self) -> usize {
        self.rules.len() + self.questions.len() + self.sitemaps.len()
    }

    /// Any URL of the site, to resolve its address.
    pub(crate) fn any_url(&self) -> Option<&CanonicalUrl> {
        let rules = self.rules.front().map(RobotsFetch::url);
        let questions = self.questions.front().map(|question| &question.url);
        let sitemaps = self.sitemaps.front().map(|(url, _)| url);
        rules.or(questions).or(self.best().map(|work| &work.url)).or(sitemaps)
    }

    /// The rank of the next request.
    pub(crate) fn rank(&self) -> Option<Rank> {
        if !self.rules.is_empty() || !self.questions.is_empty() {
            return Some(Rank::first());
        }
        let sitemap = || (!self.sitemaps.is_empty()).then(Rank::last);
        self.best().map(|work| work.rank.clone()).or_else(sitemap)
    }
}
