//! Parameters of a synthetic web, and the same values prepared for drawing.

use serde::{Deserialize, Serialize};

use super::draw::Share;

/// The parameters of a synthetic web. Shares and rates are probabilities in 0..=1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SynthParams {
    /// Random seed: the same parameters give the same bytes everywhere.
    pub seed: u64,
    /// Number of pages of all kinds, without traps, which are endless.
    pub pages: u32,
    /// Mean number of pages of a site; smaller webs have smaller sites.
    pub site_pages: u32,
    /// Share of each topic's pages that lie on its largest site; at 0 the sizes of sites differ only at random.
    pub largest_site: f64,
    /// Mean size of a content page in bytes of HTML.
    pub page_bytes: u32,
    /// Number of links of a content page, including navigation.
    pub links: u32,
    /// Number of links of a hub.
    pub hub_links: u32,
    /// Share of content links that stay on the page's topic (radius-1 rule).
    pub same_topic: f64,
    /// Share of content links that go to a sibling topic.
    pub sibling_topic: f64,
    /// Share of the other content links that go to the page's few side topics, instead of anywhere (radius-2 rule: a
    /// page that links to a topic once links to it again).
    pub side_topics: f64,
    /// Share of a hub's links that stay on its topic.
    pub hub_focus: f64,
    /// Share of pages that are hubs.
    pub hubs: f64,
    /// Share of a site's pages that are about the site's main topic.
    pub site_focus: f64,
    /// Number of general portals.
    pub portals: u32,
    /// Share of pages on mirrors of other sites, which are identical copies.
    pub mirrors: f64,
    /// Share of pages that are a light edit of another page.
    pub near_copies: f64,
    /// Share of a near copy's sentences that differ from the original.
    pub edits: f64,
    /// Share of pages that are link farms.
    pub spam: f64,
    /// Share of honest content links that lead into a farm.
    pub spam_links: f64,
    /// Share of content links that are dead: a missing page or, one in five, a missing host.
    pub dead_links: f64,
    /// Share of content links that lead to their target through a redirect.
    pub redirects: f64,
    /// Probability that an anchor's text names the target's topic.
    pub anchors_tell: f64,
    /// Probability that the text around a link is about the target's topic.
    pub context_tells: f64,
    /// Probability that host and path have words of the topic.
    pub urls_tell: f64,
    /// Share of the citing topic's links that go to the topic it is planted to cite.
    pub citation: f64,
    /// Whether two more facts are planted at the rate of `citation`: a few pages of one topic that pages of another
    /// cite repeatedly, and chains of citations over three topics (V 1).
    pub sociology: bool,
    /// Share of a commingled page's topic words that come from its twin topic.
    pub commingling: f64,
    /// Number of remote communities of each topic that has any.
    pub islands: u32,
    /// Share of all pages in one remote community.
    pub island_pages: f64,
    /// Number of pages on the only path to a remote community.
    pub chain_length: u32,
    /// Share of sites with an endless calendar and an endless list.
    pub traps: f64,
    /// Share of sites that take seconds to respond.
    pub slow_hosts: f64,
    /// Share of sites that respond with status 500 at `flaky_rate`.
    pub flaky_hosts: f64,
    /// Rate of status 500 on flaky sites, drawn again every minute.
    pub flaky_rate: f64,
    /// Share of sites that time out at `stalling_rate`.
    pub stalling_hosts: f64,
    /// Rate of timeouts on stalling sites, drawn again every minute.
    pub stalling_rate: f64,
    /// Share of sites that refuse every connection.
    pub refusing_hosts: f64,
    /// Share of content pages that change.
    pub changing: f64,
    /// Share of content pages that do not exist yet at the epoch and appear within `growth_days`.
    pub growing: f64,
    /// Days over which the new pages appear, evenly.
    pub growth_days: u32,
    /// Start of the web's time, in milliseconds since 1970; earlier times count as this one.
    pub epoch_ms: i64,
}

/// An invalid parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("synthetic web: {name} is {value}, {rule}")]
pub struct SynthError {
    /// The parameter.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// Rule that the value violates.
    pub rule: String,
}

/// Minimum number of pages: fewer cannot hold every topic and every planted fact.
pub(crate) const MIN_PAGES: u32 = 500;

impl Default for SynthParams {
    fn default() -> Self {
        SynthParams {
            seed: 1,
            pages: 20_000,
            site_pages: 60,
            largest_site: 0.0,
            page_bytes: 9_000,
            links: 50,
            hub_links: 120,
            same_topic: 0.5,
            sibling_topic: 0.12,
            side_topics: 0.8,
            hub_focus: 0.9,
            hubs: 0.02,
            site_focus: 0.75,
            portals: 4,
            mirrors: 0.015,
            near_copies: 0.02,
            edits: 0.02,
            spam: 0.02,
            spam_links: 0.003,
            dead_links: 0.03,
            redirects: 0.03,
            anchors_tell: 0.7,
            context_tells: 0.6,
            urls_tell: 0.5,
            citation: 0.15,
            sociology: false,
            commingling: 0.4,
            islands: 2,
            island_pages: 0.01,
            chain_length: 6,
            traps: 0.02,
            slow_hosts: 0.03,
            flaky_hosts: 0.03,
            flaky_rate: 0.3,
            stalling_hosts: 0.01,
            stalling_rate: 0.5,
            refusing_hosts: 0.005,
            changing: 0.4,
            growing: 0.05,
            growth_days: 365,
            epoch_ms: 1_767_225_600_000, // 2026-01-01T00:00:00Z
        }
    }
}

impl SynthParams {
    /// Checks the parameters.
    pub fn validate(&self) -> Result<(), SynthError> {
        for (name, share) in self.shares() {
            check(name, &share, (0.0..=1.0).contains(&share), || "but a share lies between 0 and 1".into())?;
        }
        for (name, value, low, high) in [
            ("pages", self.pages, MIN_PAGES, 2_000_000_000),
            ("site_pages", self.site_pages, 4, 10_000),
            ("page_bytes", self.page_bytes, 1_000, 1_000_000),
            ("links", self.links, 10, 1_000),
            ("hub_links", self.hub_links, 10, 2_000),
            ("portals", self.portals, 0, 50),
            ("islands", self.islands, 0, 20),
            ("chain_length", self.chain_length, 1, 50),
            ("growth_days", self.growth_days, 1, 36_500),
        ] {
            let rule = || format!("but must lie between {low} and {high}");
            check(name, &value, (low..=high).contains(&value), rule)?;
        }
        let dated = (0..=253_402_300_799_000).contains(&self.epoch_ms);
        check("epoch_ms", &self.epoch_ms, dated, || "but must lie between the years 1970 and 9999".into())?;
        let split = self.same_topic + self.sibling_topic;
        check("same_topic + sibling_topic", &split, split <= 1.0, || "but may be at most 1".into())?;
        let lost = self.dead_links + self.redirects + self.spam_links;
        check("dead_links + redirects + spam_links", &lost, lost <= 1.0, || "but may be at most 1".into())?;
        let special = f64::from(self.reserved_pages()) / f64::from(self.pages);
        let rule = || "but mirrors, farms, portals, islands and chains may take at most half".into();
        check("share of special pages", &special, special <= 0.5, rule)
    }

    /// Number of pages of one remote community.
    pub(crate) fn pages_an_island(&self) -> u32 {
        part(self.pages, self.island_pages).max(3)
    }

    /// Number of pages of one portal.
    pub(crate) fn pages_a_portal(&self) -> u32 {
        (self.pages / 2_000).clamp(10, 400)
    }

    /// Number of pages that are not on ordinary sites.
    fn reserved_pages(&self) -> u32 {
        let islands = self.islands * u32::try_from(super::topics::REMOTE.len()).expect("a short list");
        let remote = islands * (self.pages_an_island() + self.chain_length);
        remote
            + self.portals * self.pages_a_portal()
            + part(self.pages, self.mirrors)
            + part(self.pages, self.spam)
    }

    fn shares(&self) -> [(&'static str, f64); 29] {
        [
            ("largest_site", self.largest_site),
            ("same_topic", self.same_topic),
            ("sibling_topic", self.sibling_topic),
            ("side_topics", self.side_topics),
            ("hub_focus", self.hub_focus),
            ("hubs", self.hubs),
            ("site_focus", self.site_focus),
            ("mirrors", self.mirrors),
            ("near_copies", self.near_copies),
            ("edits", self.edits),
            ("spam", self.spam),
            ("spam_links", self.spam_links),
            ("dead_links", self.dead_links),
            ("redirects", self.redirects),
            ("anchors_tell", self.anchors_tell),
            ("context_tells", self.context_tells),
            ("urls_tell", self.urls_tell),
            ("citation", self.citation),
            ("commingling", self.commingling),
            ("island_pages", self.island_pages),
            ("traps", self.traps),
            ("slow_hosts", self.slow_hosts),
            ("flaky_hosts", self.flaky_hosts),
            ("flaky_rate", self.flaky_rate),
            ("stalling_hosts", self.stalling_hosts),
            ("stalling_rate", self.stalling_rate),
            ("refusing_hosts", self.refusing_hosts),
            ("changing", self.changing),
            ("growing", self.growing),
        ]
    }
}

/// A share of a number of pages. One multiplication and a truncation: the same on every machine.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn part(pages: u32, share: f64) -> u32 {
    (f64::from(pages) * share) as u32
}

fn check<T: ToString>(
    name: &'static str,
    value: &T,
    fine: bool,
    rule: impl Fn() -> String,
) -> Result<(), SynthError> {
    if fine { Ok(()) } else { Err(SynthError { name, value: value.to_string(), rule: rule() }) }
}

/// Shares converted for drawing, once.
pub(crate) struct Rates {
    pub(crate) same: Share,
    pub(crate) same_or_sibling: Share,
    pub(crate) side: Share,
    pub(crate) hub_focus: Share,
    pub(crate) hub: Share,
    pub(crate) hub_or_copy: Share,
    pub(crate) site_focus: Share,
    pub(crate) edits: Share,
    pub(crate) dead: Share,
    pub(crate) dead_or_redirect: Share,
    pub(crate) dead_redirect_or_spam: Share,
    pub(crate) anchors_tell: Share,
    pub(crate) context_tells: Share,
    pub(crate) urls_tell: Share,
    pub(crate) citation: Share,
    pub(crate) traps: Share,
    pub(crate) changing: Share,
    pub(crate) growing: Share,
}

impl Rates {
    pub(crate) fn of(params: &SynthParams) -> Self {
        let share = Share::of;
        let dead_or_redirect = share(params.dead_links).or(share(params.redirects));
        Rates {
            same: share(params.same_topic),
            same_or_sibling: share(params.same_topic).or(share(params.sibling_topic)),
            side: share(params.side_topics),
            hub_focus: share(params.hub_focus),
            hub: share(params.hubs),
            hub_or_copy: share(params.hubs).or(share(params.near_copies)),
            site_focus: share(params.site_focus),
            edits: share(params.edits),
            dead: share(params.dead_links),
            dead_or_redirect,
            dead_redirect_or_spam: dead_or_redirect.or(share(params.spam_links)),
            anchors_tell: share(params.anchors_tell),
            context_tells: share(params.context_tells),
            urls_tell: share(params.urls_tell),
            citation: share(params.citation),
            traps: share(params.traps),
            changing: share(params.changing),
            growing: share(params.growing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_parameters_are_refused_by_name() {
        let base = SynthParams::default;
        assert_eq!(base().validate(), Ok(()));
        for (params, name) in [
            (SynthParams { pages: 10, ..base() }, "pages"),
            (SynthParams { hubs: 1.5, ..base() }, "hubs"),
            (SynthParams { flaky_rate: f64::NAN, ..base() }, "flaky_rate"),
            (SynthParams { same_topic: 0.8, sibling_topic: 0.3, ..base() }, "same_topic + sibling_topic"),
            (SynthParams { spam: 0.6, ..base() }, "share of special pages"),
        ] {
            assert_eq!(params.validate().unwrap_err().name, name);
        }
    }
}
