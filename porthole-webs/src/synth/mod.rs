//! A web that does not exist: deterministic from a seed, made page by page when it is asked for, with
//! every property of the real one that a focused crawler lives on or stumbles over, in known amounts.
//!
//! Pages are about the leaves of a topic tree and cite each other by the radius-1 and radius-2 rules (V 2);
//! sites specialise; there are hubs, portals, mirrors, near copies, link farms, traps, dead links,
//! redirects, bad hosts, remote communities, and pages that change and appear. [`SyntheticWeb::truth`]
//! knows what each page really is.

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
use link::Target;
use plan::{Plan, Role};
use sites::{Page, SiteKind};
use urls::Place;

pub use params::{SynthError, SynthParams};
pub use serve::{ServeError, ServeOptions, Server, serve};
pub use stats::{Planted, SynthStats, TopicStats};
pub use topics::Topic;
pub use truth::{Health, PageKind, Truth};

/// A synthetic web. It holds a small table of its sites; pages exist only while they are read.
pub struct SyntheticWeb {
    plan: Plan,
    clock: Arc<dyn Clock>,
}

/// A link as it is, not as a reader finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrueLink {
    /// Where it leads, before redirects.
    pub url: CanonicalUrl,
    /// What is there.
    pub kind: LinkKind,
    /// The topic of the page at its end; the root if there is none.
    pub topic: TopicId,
    /// It belongs to the site's navigation, not to what the page says.
    pub navigation: bool,
}

/// What is at the other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// A page.
    Page,
    /// A redirect, or several, to a page.
    Redirect,
    /// Redirects without end.
    Loop,
    /// Nothing: no such page, or no such host.
    Dead,
    /// The entrance of a trap.
    Trap,
}

impl SyntheticWeb {
    /// A web with these parameters, in the time of this clock.
    pub fn new(params: SynthParams, clock: Arc<dyn Clock>) -> Result<Self, SynthError> {
        Ok(SyntheticWeb { plan: Plan::new(params)?, clock })
    }

    /// The parameters.
    pub fn params(&self) -> &SynthParams {
        &self.plan.params
    }

    /// The topic tree, parents before children; a topic's place in the list is its id.
    pub fn topics(&self) -> &[Topic] {
        &self.plan.atlas.topics
    }

    /// The topic with a path such as `/Recreation/Cycling`.
    pub fn topic(&self, path: &str) -> Option<TopicId> {
        self.topics().iter().find(|topic| topic.path == path).map(|topic| topic.id)
    }

    /// What is true of the page behind a URL; nothing for a redirect or where no page is.
    pub fn truth(&self, url: &CanonicalUrl) -> Option<Truth> {
        self.plan.truth(url)
    }

    /// All pages, also those that do not exist yet, in no meaningful order. Traps are not among them.
    pub fn pages(&self) -> impl Iterator<Item = (CanonicalUrl, Truth)> {
        self.all().map(|page| (self.plan.url(page), self.plan.truth_of(page)))
    }

    /// Number of pages about each topic or one below it, copies included; by topic id.
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

    /// Up to `n` pages to begin with: original content about a topic or one below it, on the mainland, there
    /// from the start, on sound hosts that let crawlers in.
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

    /// What a page links to at the present moment, if there is a page.
    pub fn outlinks(&self, url: &CanonicalUrl) -> Option<Vec<TrueLink>> {
        let Place::Page(page) = self.plan.place(url) else { return None };
        if !self.plan.exists(page, self.now().0) {
            return None;
        }
        let mut links = Vec::new();
        self.plan.links(page, self.plan.version(page, self.now()), &mut links);
        Some(links.iter().map(|link| self.true_link(link.target, link.nav)).collect())
    }

    fn true_link(&self, target: Target, navigation: bool) -> TrueLink {
        let kind = match target {
            Target::Page(_) => LinkKind::Page,
            Target::Moved { .. } => LinkKind::Redirect,
            Target::Loop(_) => LinkKind::Loop,
            Target::Gone(_) | Target::NoHost(_) => LinkKind::Dead,
            Target::Calendar { .. } | Target::List { .. } => LinkKind::Trap,
        };
        let leaf = target.page().and_then(|page| self.plan.leaf(page));
        TrueLink { url: self.plan.target_url(target), kind, topic: self.plan.atlas.id(leaf), navigation }
    }

    fn is_example(&self, page: Page) -> bool {
        self.plan.sites.of(page).kind == SiteKind::Ordinary
            && self.plan.role(page) == Role::Content
            && self.plan.health(page.site) == Health::Sound
            && self.plan.allowed(page)
            && self.plan.birth(page).is_none()
    }

    fn all(&self) -> impl Iterator<Item = Page> {
        (0..self.params().pages).map(|index| self.plan.sites.page(index))
    }

    fn now(&self) -> Timestamp {
        self.clock.now().max(self.plan.epoch())
    }
}

/// A moment as HTTP writes it.
fn http_date(at: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    DateTimePrinter::new().timestamp_to_rfc9110_string(&moment).unwrap_or_default()
}

fn parse_http_date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok().map(|moment| Timestamp(moment.as_millisecond()))
}
