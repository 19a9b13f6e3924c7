//! A synthetic web: deterministic from a seed, generated page by page on request, with the properties of the real web
//! that matter to a focused crawler, in known amounts.
//!
//! Pages are about the leaves of a topic tree and cite each other by the radius-1 and radius-2 rules (V 2); sites
//! specialise; there are hubs, portals, mirrors, near copies, link farms, traps, dead links, redirects, bad hosts,
//! remote communities, and pages that change and appear. [`SyntheticWeb::truth`] has the ground truth of each page.

mod answer;
pub mod draw;
mod hrefs;
mod html;
mod lexicon;
mod link;
mod links;
mod params;
mod pen;
mod plan;
mod robots;
mod serve;
mod sites;
mod stats;
mod tally;
mod text;
mod time;
mod topics;
mod traps;
mod truth;
mod urls;
mod vocabulary;
mod wire;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};
use porthole_types::{CanonicalUrl, Clock, Timestamp, TopicId};

use draw::{Draw, For};
use link::LinkTarget;
use plan::{Role, WebPlan};
use sites::{SiteKind, SyntheticPage};
use urls::UrlMeaning;

pub use params::{SynthError, SynthParams};
pub use serve::{ServeError, ServeOptions, SyntheticServer, serve};
pub use stats::{Planted, SynthStats, TopicStats};
pub use topics::Topic;
pub use truth::{Health, PageKind, Truth};

/// A synthetic web. It holds a small table of its sites; pages are generated when they are read.
pub struct SyntheticWeb {
    plan: WebPlan,
    clock: Arc<dyn Clock>,
}

/// A link with its ground truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrueLink {
    /// Target URL, before redirects.
    pub url: CanonicalUrl,
    /// What the target is.
    pub kind: LinkEnd,
    /// Topic of the final page; the root if there is none.
    pub topic: TopicId,
    /// Whether it belongs to the site's navigation rather than to the page's text.
    pub navigation: bool,
}

/// What the target of a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEnd {
    /// A page.
    Page,
    /// One or more redirects to a page.
    Redirect,
    /// An endless redirect.
    Loop,
    /// Nothing: the page or host does not exist.
    Dead,
    /// The entrance of a trap.
    Trap,
}

impl SyntheticWeb {
    /// A web with these parameters and this clock.
    pub fn new(params: SynthParams, clock: Arc<dyn Clock>) -> Result<Self, SynthError> {
        Ok(SyntheticWeb { plan: WebPlan::new(params)?, clock })
    }

    /// The parameters.
    pub fn params(&self) -> &SynthParams {
        &self.plan.params
    }

    /// The topic tree, parents before children; a topic's index is its id.
    pub fn topics(&self) -> &[Topic] {
        &self.plan.atlas.topics
    }

    /// The topic with a path such as `/Recreation/Cycling`.
    pub fn topic(&self, path: &str) -> Option<TopicId> {
        self.topics().iter().find(|topic| topic.path == path).map(|topic| topic.id)
    }

    /// Ground truth of the page at a URL; `None` for a redirect or if there is no page.
    pub fn truth(&self, url: &CanonicalUrl) -> Option<Truth> {
        self.plan.truth(url)
    }

    /// Number of the version of the page at a URL at a time; `None` if there is no page at that time.
    pub fn version(&self, url: &CanonicalUrl, at: Timestamp) -> Option<u32> {
        match self.plan.place(url) {
            UrlMeaning::Page(page) if self.plan.exists(page, at.0) => {
                Some(self.plan.version(page, at).number)
            }
            _ => None,
        }
    }

    /// All pages, including those that do not exist yet, in no particular order and without traps.
    pub fn pages(&self) -> impl Iterator<Item = (CanonicalUrl, Truth)> {
        self.all().map(|page| (self.plan.url(page), self.plan.truth_of(page)))
    }

    /// Number of pages about each topic or its descendants, including copies; by topic id.
    pub fn pages_per_topic(&self) -> Vec<u64> {
        let topics = self.topics();
        let mut counts = vec![0; topics.len()];
        for page in self.all() {
            let mut topic = Some(self.plan.atlas.id(self.plan.leaf(page)));
            while let Some(id) = topic {
                counts[usize::from(id.0)] += 1;
                topic = topics[usize::from(id.0)].parent;
            }
        }
        counts
    }

    /// Up to `n` start pages: original content about a topic or its descendants, on the mainland, existing from the
    /// start, on sound hosts that allow crawlers.
    pub fn examples(&self, topic: TopicId, n: usize, seed: u64) -> Vec<CanonicalUrl> {
        let leaves = self.plan.atlas.leaves_below(topic);
        let mut draw =
            Draw::new(self.params().seed ^ seed.rotate_left(32), For::Examples, u64::from(topic.0));
        let mut found = Vec::new();
        for _ in 0..100 * (n + 1) {
            if found.len() == n || leaves.is_empty() {
                break;
            }
            let leaf = *draw.pick(&leaves);
            let page = self.plan.mainland_page(&mut draw, leaf);
            if self.is_example(page) && !found.contains(&page) {
                found.push(page);
            }
        }
        found.into_iter().map(|page| self.plan.url(page)).collect()
    }

    /// Current links of a page, if there is a page.
    pub fn outlinks(&self, url: &CanonicalUrl) -> Option<Vec<TrueLink>> {
        let UrlMeaning::Page(page) = self.plan.place(url) else { return None };
        if !self.plan.exists(page, self.now().0) {
            return None;
        }
        let mut links = Vec::new();
        self.plan.links(page, self.plan.version(page, self.now()), &mut links);
        Some(links.iter().map(|link| self.true_link(link.target, link.nav)).collect())
    }

    fn true_link(&self, target: LinkTarget, navigation: bool) -> TrueLink {
        let kind = match target {
            LinkTarget::Page(_) => LinkEnd::Page,
            LinkTarget::Moved { .. } => LinkEnd::Redirect,
            LinkTarget::Loop(_) => LinkEnd::Loop,
            LinkTarget::Gone(_) | LinkTarget::NoHost(_) => LinkEnd::Dead,
            LinkTarget::Calendar { .. } | LinkTarget::List { .. } => LinkEnd::Trap,
        };
        let leaf = target.page().and_then(|page| self.plan.leaf(page));
        TrueLink { url: self.plan.target_url(target), kind, topic: self.plan.atlas.id(leaf), navigation }
    }

    fn is_example(&self, page: SyntheticPage) -> bool {
        self.plan.sites.of(page).kind == SiteKind::Ordinary
            && self.plan.role(page) == Role::Content
            && self.plan.health(page.site) == Health::Sound
            && self.plan.allowed(page)
            && self.plan.birth(page).is_none()
    }

    fn all(&self) -> impl Iterator<Item = SyntheticPage> {
        (0..self.params().pages).map(|index| self.plan.sites.page(index))
    }

    fn now(&self) -> Timestamp {
        self.clock.now().max(self.plan.epoch())
    }
}

/// A timestamp in HTTP date format.
fn http_date(at: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    DateTimePrinter::new().timestamp_to_rfc9110_string(&moment).unwrap_or_default()
}

fn parse_http_date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok().map(|moment| Timestamp(moment.as_millisecond()))
}
