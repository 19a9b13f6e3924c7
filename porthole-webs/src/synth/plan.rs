//! What the pages are: the topic, the role and the copies of each, drawn from its number. Pure: no clock,
//! no state beyond the site table.

use super::draw::{Draw, For};
use super::lexicon::Lexicon;
use super::params::{Rates, SynthError, SynthParams};
use super::robots::Rules;
use super::sites::{Page, SiteKind, Sites};
use super::topics::{Atlas, Leaf};
use super::truth::Health;

/// Everything that follows from the parameters alone.
pub(crate) struct Plan {
    pub(crate) params: SynthParams,
    pub(crate) rates: Rates,
    pub(crate) atlas: Atlas,
    pub(crate) lexicon: Lexicon,
    pub(crate) sites: Sites,
}

/// What a page does on its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Home,
    /// Lists many pages of one topic.
    Hub,
    Content,
    /// A light edit of another content page.
    NearCopy(Page),
    /// A page of a link farm.
    Spam,
    /// A page on the way to an island.
    Chain {
        island: u16,
        step: u16,
    },
}

impl Plan {
    /// Lays out a web.
    pub(crate) fn new(params: SynthParams) -> Result<Self, SynthError> {
        params.validate()?;
        let atlas = Atlas::new();
        let sites = Sites::new(&params, &atlas)?;
        let mut plan = Plan { rates: Rates::of(&params), lexicon: Lexicon::new(), params, atlas, sites };
        for island in 0..plan.sites.islands.len() {
            plan.sites.islands[island].entries = plan.entries(island);
        }
        Ok(plan)
    }

    /// The stream of numbers for one page.
    #[inline]
    pub(crate) fn draw(&self, purpose: For, page: Page) -> Draw {
        Draw::new(self.params.seed, purpose, u64::from(self.sites.index(page)))
    }

    /// The stream of numbers for one site.
    #[inline]
    pub(crate) fn draw_site(&self, purpose: For, site: u32) -> Draw {
        Draw::new(self.params.seed, purpose, u64::from(site))
    }

    /// The topic of a page, if it is about any.
    #[inline]
    pub(crate) fn leaf(&self, page: Page) -> Option<Leaf> {
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

    /// Most pages are on the site's topic, or its twin if it is commingled; half of the others are on a
    /// sibling, the rest on anything.
    #[inline]
    fn drawn_leaf(&self, page: Page, main: Leaf) -> Leaf {
        let mut draw = self.draw(For::Topic, page);
        if draw.chance(self.rates.site_focus) {
            self.atlas.partner(main).filter(|_| draw.below(2) == 0).unwrap_or(main)
        } else if draw.below(2) == 0 {
            self.sibling(&mut draw, main)
        } else {
            self.any_leaf(&mut draw)
        }
    }

    /// Any topic.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn any_leaf(&self, draw: &mut Draw) -> Leaf {
        draw.below(u32::from(self.atlas.leaves())) as Leaf
    }

    /// Another topic with the same parent.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn sibling(&self, draw: &mut Draw, leaf: Leaf) -> Leaf {
        let branch = self.atlas.branch(leaf);
        let other = branch.start + draw.below(u32::from(branch.end - branch.start - 1)) as Leaf;
        if other >= leaf { other + 1 } else { other }
    }

    /// What a page does.
    pub(crate) fn role(&self, page: Page) -> Role {
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
    fn role_roll(&self, page: Page) -> u64 {
        self.draw(For::Role, page).bits() >> 32
    }

    /// The page that a near copy is made from: an original content page on the same topic.
    fn copied(&self, page: Page) -> Option<Page> {
        let leaf = self.leaf(page)?;
        let mut draw = self.draw(For::CopyOf, page);
        (0..8).map(|_| self.mainland_page(&mut draw, leaf)).find(|&source| {
            source != page
                && source.local != 0
                && self.sites.of(source).kind == SiteKind::Ordinary
                && !self.rates.hub_or_copy.holds(self.role_roll(source))
        })
    }

    /// A mainland page about a topic, popular ones more often.
    #[inline]
    pub(crate) fn mainland_page(&self, draw: &mut Draw, leaf: Leaf) -> Page {
        let sites = &self.sites.by_leaf[usize::from(leaf)];
        self.page_among(draw, leaf, count(sites), |number| sites[number as usize])
    }

    /// One of the few pages that pages of another topic cite over and over.
    pub(crate) fn stuffed(&self, number: u32) -> Page {
        let mut draw = Draw::new(self.params.seed, For::Stuffed, u64::from(number));
        self.mainland_page(&mut draw, self.atlas.stuffed.0)
    }

    /// A page about a topic on one of `n` sites. Most pages of such sites are about it, so a few tries do.
    #[inline]
    pub(crate) fn page_among(&self, draw: &mut Draw, leaf: Leaf, n: u32, site: impl Fn(u32) -> u32) -> Page {
        for _ in 0..8 {
            let site = site(draw.skewed(n));
            let page = Page { site, local: draw.skewed(self.sites.table[site as usize].len) };
            if self.leaf(page) == Some(leaf) {
                return page;
            }
        }
        Page { site: site(draw.skewed(n)), local: 0 }
    }

    /// Any mainland page.
    #[inline]
    pub(crate) fn anywhere(&self, draw: &mut Draw) -> Page {
        self.sites.page(draw.below(self.sites.mainland_pages))
    }

    /// Whether a site has an endless calendar and an endless list.
    pub(crate) fn has_traps(&self, site: u32) -> bool {
        let site = self.sites.origin(Page { site, local: 0 }).site;
        self.sites.table[site as usize].kind == SiteKind::Ordinary
            && self.draw_site(For::Traps, site).chance(self.rates.traps)
    }

    /// Three home pages of an island's topic that can be reached.
    fn entries(&self, island: usize) -> Vec<Page> {
        let leaf = self.sites.islands[island].leaf;
        let mut draw = Draw::new(self.params.seed, For::Sites, 1 + island as u64);
        let sound = |&site: &u32| {
            self.sites.table[site as usize].kind == SiteKind::Ordinary
                && self.health(site) == Health::Sound
                && matches!(self.rules(site), Rules::Open | Rules::Missing)
        };
        let mut sites: Vec<u32> =
            self.sites.by_leaf[usize::from(leaf)].iter().copied().filter(sound).collect();
        if sites.is_empty() {
            sites.push(self.sites.by_leaf[usize::from(leaf)][0]);
        }
        let mut entries: Vec<Page> = (0..3).map(|_| Page { site: *draw.pick(&sites), local: 0 }).collect();
        entries.sort_unstable();
        entries.dedup();
        entries
    }
}

/// The length of a list, as a number to draw below.
#[inline]
pub(crate) fn count<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).unwrap_or(u32::MAX)
}
