//! Links of pages, without text: the graph alone is cheap enough to be walked over millions of pages.

use super::draw::{Draw, For, mix};
use super::link::{LinkTarget, SyntheticLink};
use super::plan::{Role, WebPlan, count};
use super::sites::{SiteKind, SyntheticPage, SyntheticSite};
use super::time::Version;
use super::topics::LeafTopic;
use super::urls::MAX_HOPS;

impl WebPlan {
    /// Writes the links of a page into `out`, in the order of the page.
    pub(crate) fn links(&self, page: SyntheticPage, version: Version, out: &mut Vec<SyntheticLink>) {
        out.clear();
        let origin = self.sites.origin(page);
        LinkMaker::new(self, origin, version, out).run();
        if origin != page {
            for link in out.iter_mut().filter(|link| link.relative()) {
                match &mut link.target {
                    LinkTarget::Page(to) if to.site == origin.site => to.site = page.site,
                    LinkTarget::Calendar { site } | LinkTarget::List { site } => *site = page.site,
                    _ => {}
                }
            }
        }
    }
}

struct LinkMaker<'a> {
    plan: &'a WebPlan,
    page: SyntheticPage,
    site: &'a SyntheticSite,
    leaf: Option<LeafTopic>,
    sides: [LeafTopic; 3],
    version: Version,
    /// Random streams for links of the layout and for links of the text: the latter must not depend on the former,
    /// because a near copy has only the text.
    layout: Draw,
    stream: Draw,
    out: &'a mut Vec<SyntheticLink>,
}

/// Links of the navigation bar on an ordinary page.
const NAV_LINKS: u32 = 7;
/// Number of sites of a link farm that link to each other.
const RING: u32 = 8;
/// Number of pages that are cited repeatedly by those of another topic.
const STUFFED_PAGES: u32 = 5;

impl<'a> LinkMaker<'a> {
    fn new(
        plan: &'a WebPlan,
        page: SyntheticPage,
        version: Version,
        out: &'a mut Vec<SyntheticLink>,
    ) -> Self {
        let mut of_site = plan.draw_site(For::Sides, page.site);
        let mut layout = plan.draw(For::Links, page);
        let stream = Draw::of(mix(layout.bits()));
        let sides = [
            plan.any_leaf(&mut of_site),
            plan.any_leaf(&mut of_site),
            plan.any_leaf(&mut plan.draw(For::Sides, page)),
        ];
        LinkMaker {
            plan,
            page,
            site: plan.sites.of(page),
            leaf: plan.leaf(page),
            sides,
            version,
            layout,
            stream,
            out,
        }
    }

    fn run(&mut self) {
        let params = &self.plan.params;
        match self.plan.role(self.page) {
            Role::Home => self.home(),
            Role::Hub => {
                self.navigation();
                self.body(params.hub_links, Self::hub_link);
            }
            Role::Content => {
                self.navigation();
                self.body(params.links - NAV_LINKS, Self::content_link);
            }
            Role::NearCopy(source) => {
                self.navigation();
                let first = Version { number: 0, ..self.version };
                let mut of_source = LinkMaker::new(self.plan, source, first, self.out);
                of_source.body(params.links - NAV_LINKS, LinkMaker::content_link);
            }
            Role::Spam => self.body(params.links, Self::farm_link),
            Role::Chain { island, step } => self.chain(island, step),
        }
    }

    fn navigation(&mut self) {
        self.nav(LinkTarget::Page(self.local(0)));
        for section in 1..5 {
            self.nav(LinkTarget::Page(self.local(self.site.len * section / 5)));
        }
        for neighbour in [self.next_page(1), self.next_page(self.site.len - 1)] {
            self.nav(LinkTarget::Page(neighbour));
        }
        if self.plan.has_traps(self.page.site) {
            self.nav(LinkTarget::Calendar { site: self.page.site });
            self.nav(LinkTarget::List { site: self.page.site });
        }
    }

    /// The next existing page in a direction, so that walking the site finds all of it.
    fn next_page(&self, step: u32) -> SyntheticPage {
        let mut page = self.page;
        for _ in 0..6 {
            page.local = (page.local + step) % self.site.len;
            if self.plan.exists(page, self.version.at) {
                break;
            }
        }
        page
    }

    fn home(&mut self) {
        self.navigation();
        let shown = self.site.len.min(40);
        for number in 1..shown {
            let to = self.local(self.site.len * number / shown);
            self.add(LinkTarget::Page(to), false);
        }
        if self.site.kind == SiteKind::Portal {
            for leaf in 0..self.plan.atlas.leaves() {
                let to = self.slot(|maker, draw| LinkTarget::Page(maker.plan.mainland_page(draw, leaf)));
                self.push(to);
            }
        } else {
            self.body(10, Self::content_link);
        }
        for island in &self.plan.sites.islands {
            if island.entries.contains(&self.page) {
                self.add(LinkTarget::Page(SyntheticPage { site: island.chain.start, local: 0 }), false);
            }
        }
    }

    /// A few links that lead away, and the link to the next page of the chain.
    fn chain(&mut self, island: u16, step: u16) {
        let island = &self.plan.sites.islands[usize::from(island)];
        self.body(8, Self::content_link);
        let next = island.chain.start + u32::from(step) + 1;
        if next < island.chain.end {
            self.add(LinkTarget::Page(SyntheticPage { site: next, local: 0 }), false);
        } else {
            for site in island.sites.clone().take(5) {
                self.add(LinkTarget::Page(SyntheticPage { site, local: 0 }), false);
            }
        }
        self.body(4, Self::content_link);
    }

    fn body(&mut self, n: u32, target: impl Fn(&Self, &mut Draw) -> LinkTarget) {
        for _ in 0..n {
            let link = self.slot(&target);
            self.push(link);
        }
    }

    /// A link of a content page.
    fn content_link(&self, draw: &mut Draw) -> LinkTarget {
        let rates = &self.plan.rates;
        let roll = draw.bits() >> 32;
        if !rates.dead_redirect_or_spam.holds(roll) {
            return LinkTarget::Page(self.topical(draw));
        }
        if rates.dead.holds(roll) {
            self.dead(draw)
        } else if rates.dead_or_redirect.holds(roll) {
            self.redirect(draw)
        } else {
            self.farm_page(draw, self.plan.sites.farms.start, self.plan.sites.farms.end)
        }
    }

    /// A link of a hub or a portal's directory: to its topic, else to a sibling topic.
    fn hub_link(&self, draw: &mut Draw) -> LinkTarget {
        let roll = draw.bits() >> 32;
        match self.leaf {
            _ if self.plan.rates.dead.holds(roll) => self.dead(draw),
            Some(leaf) if draw.chance(self.plan.rates.hub_focus) => LinkTarget::Page(self.on(draw, leaf)),
            Some(leaf) => LinkTarget::Page({
                let sibling = self.plan.sibling(draw, leaf);
                self.on(draw, sibling)
            }),
            None => LinkTarget::Page(self.plan.anywhere(draw)),
        }
    }

    /// A link of a farm: into the ring, sometimes to an honest page.
    fn farm_link(&self, draw: &mut Draw) -> LinkTarget {
        if draw.below(5) == 0 {
            return LinkTarget::Page(self.plan.anywhere(draw));
        }
        let farms = &self.plan.sites.farms;
        let start = farms.start + (self.page.site - farms.start) / RING * RING;
        self.farm_page(draw, start, (start + RING).min(farms.end))
    }

    fn farm_page(&self, draw: &mut Draw, start: u32, end: u32) -> LinkTarget {
        if start == end {
            return LinkTarget::Page(self.plan.anywhere(draw));
        }
        let site = start + draw.below(end - start);
        LinkTarget::Page(SyntheticPage { site, local: draw.skewed(self.plan.sites.table[site as usize].len) })
    }

    fn dead(&self, draw: &mut Draw) -> LinkTarget {
        let sites = count(&self.plan.sites.table);
        if draw.below(5) == 0 {
            return LinkTarget::NoHost(sites + draw.below(10_000));
        }
        let page = self.topical(draw);
        let len = self.plan.sites.of(page).len;
        LinkTarget::Gone(SyntheticPage { local: len + draw.below(50), ..page })
    }

    fn redirect(&self, draw: &mut Draw) -> LinkTarget {
        let to = self.topical(draw);
        match draw.below(10) {
            0 => LinkTarget::Loop(to),
            1 | 2 => LinkTarget::Moved { to, hops: 1 + draw.below(MAX_HOPS) },
            _ => LinkTarget::Moved { to, hops: 0 },
        }
    }

    /// A page that this one cites, by the locality parameters.
    #[inline]
    fn topical(&self, draw: &mut Draw) -> SyntheticPage {
        let rates = &self.plan.rates;
        let Some(leaf) = self.leaf else { return self.plan.anywhere(draw) };
        if leaf == self.plan.atlas.citing.0 && draw.chance(rates.citation) {
            return self.on(draw, self.plan.atlas.citing.1);
        }
        if self.plan.params.sociology
            && let Some(page) = self.planted(draw, leaf)
        {
            return page;
        }
        let roll = draw.bits() >> 32;
        if rates.same.holds(roll) {
            self.same(draw, leaf)
        } else if rates.same_or_sibling.holds(roll) {
            let sibling = self.plan.sibling(draw, leaf);
            self.on(draw, sibling)
        } else if draw.chance(rates.side) {
            let side = *draw.pick(&self.sides);
            self.on(draw, side)
        } else {
            self.plan.anywhere(draw)
        }
    }

    /// A page that this one cites because of a planted fact.
    fn planted(&self, draw: &mut Draw, leaf: LeafTopic) -> Option<SyntheticPage> {
        let (atlas, rate) = (&self.plan.atlas, self.plan.rates.citation);
        let (first, second, third) = atlas.chained;
        match leaf {
            _ if leaf == atlas.stuffed.1 && draw.chance(rate) => {
                Some(self.plan.stuffed(draw.below(STUFFED_PAGES)))
            }
            _ if leaf == first && draw.chance(rate) => Some(self.on(draw, second)),
            _ if leaf == second && draw.chance(rate) => Some(self.on(draw, third)),
            _ => None,
        }
    }

    /// A page of the same topic, with probability 1/4 on the same site. A commingled pair counts as one topic.
    #[inline]
    fn same(&self, draw: &mut Draw, leaf: LeafTopic) -> SyntheticPage {
        let roll = draw.below(8);
        if let Some(twin) = self.plan.atlas.partner(leaf) {
            return self.on(draw, if roll & 1 == 0 { leaf } else { twin });
        }
        let near = self.local(draw.skewed(self.site.len));
        if roll < 2 && self.plan.leaf(near) == Some(leaf) { near } else { self.on(draw, leaf) }
    }

    /// A page of a topic; pages of an island cite pages of the island.
    #[inline]
    fn on(&self, draw: &mut Draw, leaf: LeafTopic) -> SyntheticPage {
        if let SiteKind::Island(number) = self.site.kind {
            let island = &self.plan.sites.islands[usize::from(number)];
            if island.leaf == leaf {
                let n = island.sites.end - island.sites.start;
                return self.plan.page_among(draw, leaf, n, |number| island.sites.start + number);
            }
        }
        self.plan.mainland_page(draw, leaf)
    }

    fn local(&self, local: u32) -> SyntheticPage {
        SyntheticPage { local, ..self.page }
    }

    fn nav(&mut self, target: LinkTarget) {
        self.add(target, true);
    }

    fn add(&mut self, target: LinkTarget, nav: bool) {
        let key = self.layout.bits();
        self.push(SyntheticLink { target, nav, key });
    }

    /// The next link of the text. A tenth of them is drawn again in each version of the page.
    #[inline]
    fn slot(&mut self, target: impl Fn(&Self, &mut Draw) -> LinkTarget) -> SyntheticLink {
        let mut key = self.stream.bits();
        if self.version.number > 0 {
            let renewed = mix(key ^ u64::from(self.version.number));
            if renewed.is_multiple_of(10) {
                key = renewed;
            }
        }
        SyntheticLink { target: target(self, &mut Draw::of(key)), nav: false, key: mix(key) }
    }

    /// Adds a link, unless its target did not exist when this version was written.
    #[inline]
    fn push(&mut self, link: SyntheticLink) {
        if link.target.page().is_none_or(|page| self.plan.exists(page, self.version.at)) {
            self.out.push(link);
        }
    }
}
