//! What the network half knows of a site that it has URLs of.

use std::collections::VecDeque;
use std::net::IpAddr;

use porthole_types::{CanonicalUrl, Rank, Timestamp, UrlId, Work};

use super::network::Lane;
use crate::backlinks::Question;
use crate::robots::RobotsFetch;

/// Where a site is in its life. It is in one place at a time: the queue or list that belongs to its phase.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    /// Nothing to ask, or not yet placed.
    Idle,
    /// Its address is being looked up, or is in line for that.
    Locating,
    /// It may be asked, in the order of ranks.
    Ready(Rank),
    /// It is left alone until then; among those that rest as long, the one whose last request is longest ago comes first.
    Resting(Timestamp, u64),
    /// It waits for the end of a request: its own, or one that shares an address, address block or domain with it.
    Waiting,
    /// Its robots.txt is being asked for elsewhere.
    AwaitingRules,
}

/// Where a site was found to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Address {
    #[default]
    Unknown,
    /// Looked up; not every web has addresses.
    Known(Option<IpAddr>),
}

/// A site with URLs to fetch, or with anything else to ask of it.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) phase: Phase,
    pub(crate) address: Address,
    /// URLs that are offered, the best first.
    offers: Vec<Work>,
    /// URLs that were asked for and have not been offered.
    pub(crate) wanted: usize,
    /// Whether the frontier may have more of it.
    pub(crate) has_more: bool,
    /// Robots rules to fetch from here: its own, or those of a site whose robots.txt redirects here.
    pub(crate) rules: VecDeque<RobotsFetch>,
    /// Its own rules are being asked for, here or elsewhere.
    pub(crate) asks_rules: bool,
    pub(crate) questions: VecDeque<Question>,
    /// Sitemaps to read when there is no better work, and whether an index may lead on from there.
    pub(crate) sitemaps: VecDeque<(CanonicalUrl, bool)>,
    /// URLs that sitemaps brought.
    pub(crate) listed: usize,
    /// It answered its last request quickly.
    pub(crate) is_quick: bool,
    /// It brought its last page quickly.
    pub(crate) is_proven: bool,
    /// Its rules came last, and a first page is next.
    pub(crate) is_preparing: bool,
    pub(crate) in_flight: usize,
    /// Connections that failed: of several addresses the next one is tried.
    pub(crate) connect_failures: usize,
    /// Which request was its last.
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
    /// A site that is known to answer quickly, or not.
    pub(crate) fn new(is_quick: bool) -> Self {
        Site { is_quick, ..Site::default() }
    }

    /// Adds a URL in the order of ranks.
    pub(crate) fn offer(&mut self, work: Work) {
        // Kept with the best at the end, where it is taken from.
        let at = self.offers.partition_point(|other| other.rank > work.rank);
        self.offers.insert(at, work);
    }

    /// Takes a URL back that is not under way.
    pub(crate) fn recall(&mut self, oid: UrlId) -> Option<Work> {
        let at = self.offers.iter().position(|work| work.oid == oid)?;
        Some(self.offers.remove(at))
    }

    /// The slots that its next request counts against.
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

    /// Whether what would be asked next has at least this priority. Start pages and rules always have.
    pub(crate) fn is_worth(&self, least: f64) -> bool {
        let is_asked = !self.rules.is_empty() || !self.questions.is_empty();
        is_asked || self.best().is_some_and(|work| work.depth == 0 || work.priority >= least)
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

    /// Requests to make besides pages.
    pub(crate) fn aux_requests(&self) -> usize {
        self.rules.len() + self.questions.len() + self.sitemaps.len()
    }

    /// A URL of it to find its address with.
    pub(crate) fn any_url(&self) -> Option<&CanonicalUrl> {
        let rules = self.rules.front().map(RobotsFetch::url);
        let questions = self.questions.front().map(|question| &question.url);
        let sitemaps = self.sitemaps.front().map(|(url, _)| url);
        rules.or(questions).or(self.best().map(|work| &work.url)).or(sitemaps)
    }

    /// The rank of what would be asked next.
    pub(crate) fn rank(&self) -> Option<Rank> {
        if !self.rules.is_empty() || !self.questions.is_empty() {
            return Some(Rank::first());
        }
        let sitemap = || (!self.sitemaps.is_empty()).then(Rank::last);
        self.best().map(|work| work.rank.clone()).or_else(sitemap)
    }
}
