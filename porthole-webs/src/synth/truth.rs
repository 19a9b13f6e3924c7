//! What is true of a page, whatever a crawler may think of it.

use std::time::Duration;

use porthole_types::{CanonicalUrl, Timestamp, TopicId};

use super::draw::{For, Share};
use super::plan::{Plan, Role};
use super::robots::Rules;
use super::sites::{Page, SiteKind};
use super::urls::Place;

/// The facts of one page.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// The leaf that the page is about; the root for one that is about nothing.
    pub topic: TopicId,
    /// The topic's path, such as `/Recreation/Cycling`.
    pub path: String,
    /// What sort of page it is.
    pub kind: PageKind,
    /// The topic whose words a spam page is stuffed with, or that a page of a chain hints at.
    pub hints_at: Option<TopicId>,
    /// The number of the remote community that the page belongs to, if it does.
    pub island: Option<u16>,
    /// How its host behaves.
    pub health: Health,
    /// Whether the host's robots.txt lets crawlers have it.
    pub allowed: bool,
    /// It changes once in this time, if it does.
    pub changes_every: Option<Duration>,
    /// When it appears, if it was not there from the start.
    pub appears: Option<Timestamp>,
}

impl Truth {
    /// Whether a crawler earns credit for it: it is about a topic, and no copy of another page.
    pub fn earns_credit(&self) -> bool {
        self.topic != TopicId::ROOT
            && !matches!(self.kind, PageKind::MirrorOf(_) | PageKind::NearCopyOf(_) | PageKind::Trap)
    }
}

/// The sorts of pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// Says something about its topic.
    Content,
    /// The first page of a site.
    Home,
    /// Lists many pages of one topic.
    Hub,
    /// The only way to a remote community, `step` of `chain_length`, counted from 0.
    Chain {
        /// Its place in the chain.
        step: u16,
    },
    /// A page of a link farm.
    Spam,
    /// A page without end or worth.
    Trap,
    /// The same bytes as another page.
    MirrorOf(CanonicalUrl),
    /// Another page's text with a few sentences changed.
    NearCopyOf(CanonicalUrl),
}

impl PageKind {
    /// The word for it in tables and files.
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

/// How a host behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Health {
    /// It answers.
    Sound,
    /// It takes seconds to answer.
    Slow,
    /// It answers with status 500 at a known rate.
    Flaky,
    /// It does not answer in time at a known rate.
    Stalling,
    /// It refuses connections.
    Refusing,
}

impl Plan {
    /// What is true of the page behind a URL.
    pub(crate) fn truth(&self, url: &CanonicalUrl) -> Option<Truth> {
        match self.place(url) {
            Place::Page(page) => Some(self.truth_of(page)),
            Place::Calendar { site, .. } => {
                let open = matches!(self.rules(site), Rules::Open | Rules::Missing);
                Some(self.trap_truth(site, open))
            }
            Place::List { site } => Some(self.trap_truth(site, self.allowed_at_all(site))),
            _ => None,
        }
    }

    /// What is true of a page.
    pub(crate) fn truth_of(&self, page: Page) -> Truth {
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

    fn kind(&self, page: Page, role: Role) -> PageKind {
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

    /// How a site behaves. The chains must hold, so their hosts are sound; so are the first of each topic.
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
