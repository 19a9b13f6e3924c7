//! Ground truth of pages.

use std::time::Duration;

use porthole_types::{CanonicalUrl, Timestamp, TopicId};

use super::draw::{For, Share};
use super::plan::{Role, WebPlan};
use super::robots::RobotsVariant;
use super::sites::{SiteKind, SyntheticPage};
use super::urls::UrlMeaning;

/// Ground truth of one page.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// Leaf topic of the page; the root for a page without a topic.
    pub topic: TopicId,
    /// The topic's path, such as `/Recreation/Cycling`.
    pub path: String,
    /// Kind of the page.
    pub kind: PageKind,
    /// Topic of a spam page's words, or topic that a page of a chain hints at.
    pub hints_at: Option<TopicId>,
    /// Number of the remote community that the page belongs to, if any.
    pub island: Option<u16>,
    /// Health of its host.
    pub health: Health,
    /// Whether the host's robots.txt allows it.
    pub allowed: bool,
    /// Interval of its changes, if it changes.
    pub changes_every: Option<Duration>,
    /// Time at which it appears, if it did not exist from the start.
    pub appears: Option<Timestamp>,
}

impl Truth {
    /// Whether the page counts as a result: it has a topic and is not a copy.
    pub fn earns_credit(&self) -> bool {
        self.topic != TopicId::ROOT
            && !matches!(self.kind, PageKind::MirrorOf(_) | PageKind::NearCopyOf(_) | PageKind::Trap)
    }
}

/// Kinds of pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// An article about its topic.
    Content,
    /// The first page of a site.
    Home,
    /// A list of many pages of one topic.
    Hub,
    /// A page on the only path to a remote community, `step` of `chain_length`, counted from 0.
    Chain {
        /// Position in the chain.
        step: u16,
    },
    /// A page of a link farm.
    Spam,
    /// A page of a trap.
    Trap,
    /// The same bytes as another page.
    MirrorOf(CanonicalUrl),
    /// Another page's text with a few sentences changed.
    NearCopyOf(CanonicalUrl),
}

impl PageKind {
    /// Name in tables and files.
    pub fn name(&self) -> &'static str {
        match self {
            PageKind::Content => "content",
            PageKind::Home => "home",
            PageKind::Hub => "hub",
            PageKind::Chain { .. } => "chain",
            PageKind::Spam => "spam",
            PageKind::Trap => "trap",
            PageKind::MirrorOf(_) => "mirror",
            PageKind::NearCopyOf(_) => "near copy",
        }
    }
}

/// Health of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Health {
    /// Always responds.
    Sound,
    /// Takes seconds to respond.
    Slow,
    /// Responds with status 500 at a known rate.
    Flaky,
    /// Times out at a known rate.
    Stalling,
    /// Refuses connections.
    Refusing,
}

impl WebPlan {
    /// Ground truth of the page at a URL.
    pub(crate) fn truth(&self, url: &CanonicalUrl) -> Option<Truth> {
        match self.place(url) {
            UrlMeaning::Page(page) => Some(self.truth_of(page)),
            UrlMeaning::Calendar { site, .. } => {
                let open = matches!(self.rules(site), RobotsVariant::Open | RobotsVariant::Missing);
                Some(self.trap_truth(site, open))
            }
            UrlMeaning::List { site } => Some(self.trap_truth(site, self.allowed_at_all(site))),
            _ => None,
        }
    }

    /// Ground truth of a page.
    pub(crate) fn truth_of(&self, page: SyntheticPage) -> Truth {
        let leaf = self.leaf(page);
        let role = self.role(page);
        let hints_at = match role {
            Role::Spam => Some(self.sites.of(page).main),
            Role::Chain { island, .. } => Some(self.sites.islands[usize::from(island)].leaf),
            _ => None,
        };
        let island = match self.sites.of(page).kind {
            SiteKind::Island(number) => Some(number),
            _ => None,
        };
        Truth {
            topic: self.atlas.id(leaf),
            path: self.atlas.path(leaf).to_owned(),
            kind: self.kind(page, role),
            hints_at: hints_at.map(|leaf| self.atlas.id(Some(leaf))),
            island,
            health: self.health(page.site),
            allowed: self.allowed(page),
            changes_every: self.interval(page),
            appears: self.birth(page).map(Timestamp),
        }
    }

    fn kind(&self, page: SyntheticPage, role: Role) -> PageKind {
        let origin = self.sites.origin(page);
        if origin != page {
            return PageKind::MirrorOf(self.url(origin));
        }
        match role {
            Role::Home => PageKind::Home,
            Role::Hub => PageKind::Hub,
            Role::Content => PageKind::Content,
            Role::NearCopy(source) => PageKind::NearCopyOf(self.url(source)),
            Role::Spam => PageKind::Spam,
            Role::Chain { step, .. } => PageKind::Chain { step },
        }
    }

    fn trap_truth(&self, site: u32, allowed: bool) -> Truth {
        Truth {
            topic: TopicId::ROOT,
            path: self.atlas.path(None).to_owned(),
            kind: PageKind::Trap,
            hints_at: None,
            island: None,
            health: self.health(site),
            allowed,
            changes_every: None,
            appears: None,
        }
    }

    /// Health of a site. Chains must work, so their hosts are sound; so are the first sites of each topic.
    pub(crate) fn health(&self, site: u32) -> Health {
        let chained = matches!(self.sites.table[site as usize].kind, SiteKind::Chain { .. });
        if chained || self.sites.is_first(site) {
            return Health::Sound;
        }
        let params = &self.params;
        let roll = self.draw_site(For::Health, site).bits() >> 32;
        let mut below = Share::of(0.0);
        for (share, health) in [
            (params.slow_hosts, Health::Slow),
            (params.flaky_hosts, Health::Flaky),
            (params.stalling_hosts, Health::Stalling),
            (params.refusing_hosts, Health::Refusing),
        ] {
            below = below.or(Share::of(share));
            if below.holds(roll) {
                return health;
            }
        }
        Health::Sound
    }
}
