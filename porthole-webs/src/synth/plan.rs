//! Topic, role and copies of each page, drawn from its number. Pure: no clock, no state besides the site table.

use super::draw::{Draw, For};
use super::lexicon::WordDistributions;
use super::params::{Rates, SynthError, SynthParams};
use super::robots::RobotsVariant;
use super::sites::{SiteKind, SyntheticPage, SyntheticSites};
use super::topics::{Atlas, LeafTopic};
use super::truth::Health;

/// Everything that is derived from the parameters alone.
pub(crate) struct WebPlan {
    pub(crate) params: SynthParams,
    pub(crate) rates: Rates,
    pub(crate) atlas: Atlas,
    pub(crate) lexicon: WordDistributions,
    pub(crate) sites: SyntheticSites,
}

/// Role of a page on its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Home,
    /// A list of many pages of one topic.
    Hub,
    Content,
    /// An edited copy of another content page.
    NearCopy(SyntheticPage),
    /// A page of a link farm.
    Spam,
    /// A page on the path to an island.
    Chain {
        island: u16,
        step: u16,
    },
}

impl WebPlan {
    /// Plans a web.
    pub(crate) fn new(params: SynthParams) -> Result<Self, SynthError> {
        params.validate()?;
        let atlas = Atlas::new();
        let sites = SyntheticSites::new(&params, &atlas)?;
        let mut plan =
            WebPlan { rates: Rates::of(&params), lexicon: WordDistributions::new(), params, atlas, sites };
        for island in 0..plan.sites.islands.len() {
            plan.sites.islands[island].entries = plan.entries(island);
        }
        Ok(plan)
    }

    /// Random stream of one page.
    #[inline]
    pub(crate) fn draw(&self, purpose: For, page: SyntheticPage) -> Draw {
        Draw::new(self.params.seed, purpose, u64::from(self.sites.index(page)))
    }

    /// Random stream of one site.
    #[inline]
    pub(crate) fn draw_site(&self, purpose: For, site: u32) -> Draw {
        Draw::new(self.params.seed, purpose, u64::from(site))
    }

    /// Topic of a page, if it has one.
    #[inline]
    pub(crate) fn leaf(&self, page: SyntheticPage) -> Option<LeafTopic> {
        let page = self.sites.origin(page);
        let site = self.sites.of(page);
        match site.kind {
            SiteKind::Farm => None,
            SiteKind::Portal if page.local == 0 => None,
            SiteKind::Portal => Some(self.any_leaf(&mut self.draw(For::Topic, page))),
            SiteKind::Chain { .. } => Some(site.main),
            _ if page.local == 0 => Some(site.main),
            _ => Some(self.drawn_leaf(page, site.main)),
        }
    }

    /// Most pages are about the site's topic, or its twin if it is commingled; half of the others about a sibling, the
    /// rest about any topic.
    #[inline]
    fn drawn_leaf(&self, page: SyntheticPage, main: LeafTopic) -> LeafTopic {
        let mut draw = self.draw(For::Topic, page);
        if draw.chance(self.rates.site_focus) {
            self.atlas.partner(main).filter(|_| draw.below(2) == 0).unwrap_or(main)
        } else if draw.below(2) == 0 {
            self.sibling(&mut draw, main)
        } else {
            self.any_leaf(&mut draw)
        }
    }

    /// A random topic.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn any_leaf(&self, draw: &mut Draw) -> LeafTopic {
        draw.below(u32::from(self.atlas.leaves())) as LeafTopic
    }

    /// Another topic with the same parent.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn sibling(&self, draw: &mut Draw, leaf: LeafTopic) -> LeafTopic {
        let branch = self.atlas.branch(leaf);
        let other = branch.start + draw.below(u32::from(branch.end - branch.start - 1)) as LeafTopic;
        if other >= leaf { other + 1 } else { other }
    }

    /// Role of a page.
    pub(crate) fn role(&self, page: SyntheticPage) -> Role {
        let page = self.sites.origin(page);
        match self.sites.of(page).kind {
            SiteKind::Farm => Role::Spam,
            SiteKind::Chain { island, step } => Role::Chain { island, step },
            _ if page.local == 0 => Role::Home,
            SiteKind::Portal => Role::Hub,
            _ => {
                let roll = self.role_roll(page);
                if self.rates.hub.holds(roll) {
                    Role::Hub
                } else if self.rates.hub_or_copy.holds(roll) {
                    self.copied(page).map_or(Role::Content, Role::NearCopy)
                } else {
                    Role::Content
                }
            }
        }
    }

    #[inline]
    fn role_roll(&self, page: SyntheticPage) -> u64 {
        self.draw(For::Role, page).bits() >> 32
    }

    /// The original of a near copy: a content page about the same topic.
    fn copied(&self, page: SyntheticPage) -> Option<SyntheticPage> {
        let leaf = self.leaf(page)?;
        let mut draw = self.draw(For::CopyOf, page);
        (0..8).map(|_| self.mainland_page(&mut draw, leaf)).find(|&source| {
            source != page
                && source.local != 0
                && self.sites.of(source).kind == SiteKind::Ordinary
                && !self.rates.hub_or_copy.holds(self.role_roll(source))
        })
    }

    /// A random mainland page about a topic, popular ones more often.
    #[inline]
    pub(crate) fn mainland_page(&self, draw: &mut Draw, leaf: LeafTopic) -> SyntheticPage {
        let sites = &self.sites.by_leaf[usize::from(leaf)];
        self.page_among(draw, leaf, count(sites), |number| sites[number as usize])
    }

    /// One of the few pages that pages of another topic cite repeatedly.
    pub(crate) fn stuffed(&self, number: u32) -> SyntheticPage {
        let mut draw = Draw::new(self.params.seed, For::Stuffed, u64::from(number));
        self.mainland_page(&mut draw, self.atlas.stuffed.0)
    }

    /// A random page about a topic on one of `n` sites. Most pages of such sites are about it, so a few tries suffice.
    #[inline]
    pub(crate) fn page_among(
        &self,
        draw: &mut Draw,
        leaf: LeafTopic,
        n: u32,
        site: impl Fn(u32) -> u32,
    ) -> SyntheticPage {
        for _ in 0..8 {
            let site = site(draw.skewed(n));
            let page = SyntheticPage { site, local: draw.skewed(self.sites.table[site as usize].len) };
            if self.leaf(page) == Some(leaf) {
                return page;
            }
        }
        SyntheticPage { site: site(draw.skewed(n)), local: 0 }
    }

    /// A random mainland page.
    #[inline]
    pub(crate) fn anywhere(&self, draw: &mut Draw) -> SyntheticPage {
        self.sites.page(draw.below(self.sites.mainland_pages))
    }

    /// Whether a site has an endless calendar and an endless list.
    pub(crate) fn has_traps(&self, site: u32) -> bool {
        let site = self.sites.origin(SyntheticPage { site, local: 0 }).site;
        self.sites.table[site as usize].kind == SiteKind::Ordinary
            && self.draw_site(For::Traps, site).chance(self.rates.traps)
    }

    /// Three reachable home pages of an island's topic.
    fn entries(&self, island: usize) -> Vec<SyntheticPage> {
        let leaf = self.sites.islands[island].leaf;
        let mut draw = Draw::new(self.params.seed, For::Sites, 1 + island as u64);
        let sound = |&site: &u32| {
            self.sites.table[site as usize].kind == SiteKind::Ordinary
                && self.health(site) == Health::Sound
                && matches!(self.rules(site), RobotsVariant::Open | RobotsVariant::Missing)
        };
        let mut sites: Vec<u32> =
            self.sites.by_leaf[usize::from(leaf)].iter().copied().filter(sound).collect();
        if sites.is_empty() {
            sites.push(self.sites.by_leaf[usize::from(leaf)][0]);
        }
        let mut entries: Vec<SyntheticPage> =
            (0..3).map(|_| SyntheticPage { site: *draw.pick(&sites), local: 0 }).collect();
        entries.sort_unstable();
        entries.dedup();
        entries
    }
}

/// Length of a list, as a bound for drawing.
#[inline]
pub(crate) fn count<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).unwrap_or(u32::MAX)
}
