//! Counts over the links of all pages, one page at a time. All are integers, so that sums do not depend on the order.

use super::link::{LinkTarget, SyntheticLink};
use super::plan::{Role, WebPlan};
use super::sites::{SiteKind, SyntheticPage};
use super::topics::LeafTopic;

/// Counts of a web.
pub(crate) struct WebTally {
    leaves: usize,
    pub(crate) pages: u64,
    pub(crate) kinds: Kinds,
    pub(crate) links: u64,
    pub(crate) navigation: u64,
    pub(crate) dead: u64,
    pub(crate) redirects: u64,
    pub(crate) loops: u64,
    pub(crate) traps: u64,
    pub(crate) into_spam: u64,
    /// Links into a remote community from outside, except the ends of the chains.
    pub(crate) island_leaks: u64,
    pub(crate) cited: Cited,
    pub(crate) topic_pages: Vec<u64>,
    /// Links between pages with topics, by source and target topic.
    matrix: Vec<u64>,
    pub(crate) co: CoCitation,
    /// Links of the current page by topic of the target.
    row: Vec<u64>,
}

/// Pages by kind; copies are counted as copies only.
#[derive(Default)]
pub(crate) struct Kinds {
    pub(crate) content: u64,
    pub(crate) homes: u64,
    pub(crate) hubs: u64,
    pub(crate) mirrors: u64,
    pub(crate) near_copies: u64,
    pub(crate) spam: u64,
    pub(crate) chain: u64,
    pub(crate) remote: u64,
    pub(crate) growing: u64,
}

/// Links in the text of content pages, without navigation, to which the parameters apply.
#[derive(Default)]
pub(crate) struct Cited {
    pub(crate) all: u64,
    pub(crate) dead: u64,
    pub(crate) redirects: u64,
    pub(crate) same: u64,
    pub(crate) sibling: u64,
    pub(crate) elsewhere: u64,
}

/// Counts for the radius-2 rule.
#[derive(Default)]
pub(crate) struct CoCitation {
    /// Pairs of page and topic with at least one link, and with at least two.
    pub(crate) once: u64,
    pub(crate) twice: u64,
    /// Ordered pairs of links of a page, and those of them with the same topic.
    pub(crate) pairs: u64,
    pub(crate) alike: u64,
}

impl WebTally {
    pub(crate) fn new(leaves: LeafTopic) -> Self {
        let leaves = usize::from(leaves);
        WebTally {
            leaves,
            pages: 0,
            kinds: Kinds::default(),
            links: 0,
            navigation: 0,
            dead: 0,
            redirects: 0,
            loops: 0,
            traps: 0,
            into_spam: 0,
            island_leaks: 0,
            cited: Cited::default(),
            topic_pages: vec![0; leaves],
            matrix: vec![0; leaves * leaves],
            co: CoCitation::default(),
            row: vec![0; leaves],
        }
    }

    /// Counts one page and its links.
    pub(crate) fn add(&mut self, plan: &WebPlan, page: SyntheticPage, links: &[SyntheticLink]) {
        let (leaf, role) = (plan.leaf(page), plan.role(page));
        self.page(plan, page, leaf, role);
        self.row.fill(0);
        for link in links {
            self.link(plan, page, leaf, role, link);
        }
        self.end_row(leaf);
    }

    fn page(&mut self, plan: &WebPlan, page: SyntheticPage, leaf: Option<LeafTopic>, role: Role) {
        self.pages += 1;
        if let Some(leaf) = leaf {
            self.topic_pages[usize::from(leaf)] += 1;
        }
        let kinds = &mut self.kinds;
        let kind = match role {
            _ if plan.sites.origin(page) != page => &mut kinds.mirrors,
            Role::Home => &mut kinds.homes,
            Role::Hub => &mut kinds.hubs,
            Role::Content => &mut kinds.content,
            Role::NearCopy(_) => &mut kinds.near_copies,
            Role::Spam => &mut kinds.spam,
            Role::Chain { .. } => &mut kinds.chain,
        };
        *kind += 1;
        kinds.remote += u64::from(matches!(plan.sites.of(page).kind, SiteKind::Island(_)));
        kinds.growing += u64::from(plan.birth(page).is_some());
    }

    fn link(
        &mut self,
        plan: &WebPlan,
        from: SyntheticPage,
        leaf: Option<LeafTopic>,
        role: Role,
        link: &SyntheticLink,
    ) {
        self.links += 1;
        self.navigation += u64::from(link.nav);
        match link.target {
            LinkTarget::Moved { .. } => self.redirects += 1,
            LinkTarget::Loop(_) => self.loops += 1,
            LinkTarget::Gone(_) | LinkTarget::NoHost(_) => self.dead += 1,
            LinkTarget::Calendar { .. } | LinkTarget::List { .. } => self.traps += 1,
            LinkTarget::Page(_) => {}
        }
        let to = link.target.page();
        let target = to.and_then(|to| plan.leaf(to));
        if let Some(to) = to {
            self.special(plan, from, to, role);
        }
        if let Some(target) = target {
            self.row[usize::from(target)] += 1;
        }
        if role == Role::Content && !link.nav {
            self.cited(plan, leaf, target, link.target);
        }
    }

    fn special(&mut self, plan: &WebPlan, from: SyntheticPage, to: SyntheticPage, role: Role) {
        let (source, target) = (plan.sites.of(from).kind, plan.sites.of(to).kind);
        if target == SiteKind::Farm && source != SiteKind::Farm {
            self.into_spam += 1;
        }
        let planned = source == target || matches!(role, Role::Chain { .. });
        if matches!(target, SiteKind::Island(_)) && !planned {
            self.island_leaks += 1;
        }
    }

    fn cited(&mut self, plan: &WebPlan, leaf: Option<LeafTopic>, target: Option<LeafTopic>, to: LinkTarget) {
        let cited = &mut self.cited;
        cited.all += 1;
        match (leaf, target, to) {
            (_, _, LinkTarget::Gone(_) | LinkTarget::NoHost(_)) => cited.dead += 1,
            (_, _, LinkTarget::Loop(_)) => cited.redirects += 1,
            (Some(leaf), Some(target), _) => {
                cited.redirects += u64::from(matches!(to, LinkTarget::Moved { .. }));
                if leaf == target {
                    cited.same += 1;
                } else if plan.atlas.branch(leaf).contains(&target) {
                    cited.sibling += 1;
                } else {
                    cited.elsewhere += 1;
                }
            }
            _ => cited.elsewhere += 1,
        }
    }

    fn end_row(&mut self, leaf: Option<LeafTopic>) {
        let total: u64 = self.row.iter().sum();
        self.co.pairs += total * total.saturating_sub(1);
        for (target, &n) in self.row.iter().enumerate() {
            self.co.once += u64::from(n >= 1);
            self.co.twice += u64::from(n >= 2);
            self.co.alike += n * n.saturating_sub(1);
            if let Some(leaf) = leaf {
                self.matrix[usize::from(leaf) * self.leaves + target] += n;
            }
        }
    }

    /// Links from pages of one topic to pages of another.
    pub(crate) fn between(&self, from: LeafTopic, to: LeafTopic) -> u64 {
        self.matrix[usize::from(from) * self.leaves + usize::from(to)]
    }

    /// Links from pages of a topic to pages of any.
    pub(crate) fn from(&self, leaf: LeafTopic) -> u64 {
        let start = usize::from(leaf) * self.leaves;
        self.matrix[start..start + self.leaves].iter().sum()
    }

    /// Links to pages of a topic from pages of any.
    pub(crate) fn to(&self, leaf: LeafTopic) -> u64 {
        self.matrix.iter().skip(usize::from(leaf)).step_by(self.leaves).sum()
    }

    /// Links from pages with a topic to pages with a topic.
    pub(crate) fn topical(&self) -> u64 {
        self.matrix.iter().sum()
    }
}
