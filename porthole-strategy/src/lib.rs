//! Crawl strategies: a strategy receives each fetched and judged page and assigns a priority to each of its links.
//! Strategies are pure. They see only pages that were fetched, read no clock, and derive every random choice from the
//! seed that they were given.

pub mod apprentice;
mod arc;
mod bayes;
mod best;
mod catalogue;
mod centroid;
mod cho;
mod context_graph;
#[cfg(test)]
mod every;
mod fish;
mod goal;
#[cfg(test)]
mod harness;
mod infospiders;
mod intelligent;
mod keywords;
mod known;
mod opic;
mod parameters;
mod porthole;
mod queued;
mod rl_spider;
mod shark;
mod simple;
pub mod state;

use porthole_page::{Link, Page};
use porthole_types::{CanonicalUrl, Judgment, UrlId};

pub use apprentice::Apprentice;
pub use arc::Arc;
pub use best::BestN;
pub use catalogue::{GROUPS, NAMES, NameError, checked, named};
pub use centroid::Centroid;
pub use cho::{Cho, Location};
pub use context_graph::ContextGraph;
pub use fish::Fish;
pub use goal::CrawlGoal;
pub use infospiders::InfoSpiders;
pub use intelligent::Intelligent;
pub use opic::Opic;
pub use porthole::Porthole;
pub use rl_spider::RlSpider;
pub use shark::Shark;
pub use simple::{Breadth, Fifo, Hard, Soft, Unfocused};
pub use state::StateError;

/// Maximum number of links that a strategy keeps state for. Beyond it, the oldest links are forgotten.
const MOST_QUEUED: usize = 1_000_000;

/// A fetched page whose links are to be scored.
#[derive(Clone, Copy, Debug)]
pub struct SourcePage<'a> {
    /// URL of the page.
    pub url: &'a CanonicalUrl,
    /// Content of the page.
    pub page: &'a Page,
    /// The critic's judgment of the page.
    pub judgment: Judgment,
    /// Whether the page's best leaf topic is good or below a good topic.
    pub on_topic: bool,
    /// Number of links between a start page and this page.
    pub depth: u32,
}

/// How URLs are taken from the frontier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discipline {
    /// How the next URLs are selected.
    pub selection: Selection,
    /// Maximum number of queued URLs; the worst are evicted (MAX_BUFFER of P 2.2).
    pub bound: Option<usize>,
    /// When the queue is full, evict the worst URL before a link is added, so that the last link of a page stays
    /// whatever its priority (P Fig. 1). If false, the worst URLs are evicted regardless of when they were added.
    pub protect_newest: bool,
    /// How the priorities of several links to the same URL are merged.
    pub merge: PriorityMerge,
}

/// How the next URLs are selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// The best URL, whenever a fetch slot is free.
    #[default]
    Best,
    /// The best N URLs, all of which are finished before the next N are selected (Best-N-First, P 2.2).
    Batch(usize),
    /// The strategy selects by itself, such as agents that each have their own links.
    Own,
}

/// How the priorities of several links to the same URL are merged (A footnote 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PriorityMerge {
    /// Keep the highest priority.
    #[default]
    Max,
    /// Keep the latest priority, whether higher or lower: the strategy has already merged all source pages.
    Latest,
}

/// Priority of URLs that no strategy has scored, such as those of a sitemap: below every priority that a strategy gives,
/// and within the range of single precision, in which the frontier keeps priorities.
pub const UNSCORED_PRIORITY: f64 = -1e30;

/// One term of the sum that makes a link's priority, for explanations.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Description shown to users.
    pub what: String,
    /// Contribution to the priority.
    pub adds: f64,
}

/// Priority of a link in one of several layers, as context graphs have them. `worth` (clamped to 0..=1) orders links
/// within a layer; every link of a lower layer comes before every link of a higher one.
pub fn in_layer(layer: u32, worth: f64) -> f64 {
    worth.clamp(0.0, 1.0) * 0.5 - f64::from(layer)
}

/// Assigns priorities to links, and learns from the pages that they lead to.
///
/// For every fetched page, [`arrived`](Strategy::arrived) is called once, then [`priority`](Strategy::priority) for
/// each of its links. A strategy's behaviour depends only on the calls that it received and their order: repeating
/// the same calls yields the same strategy.
pub trait Strategy: Send {
    /// Name of the strategy in commands, tables and reports.
    fn name(&self) -> &str;

    /// How URLs are taken from the frontier; by default, the best URL is next. The batch size is read before each
    /// batch, all other fields once a run.
    fn discipline(&self) -> Discipline {
        Discipline::default()
    }

    /// Under [`Selection::Own`]: the queued URLs to fetch next, best first. The first `n` that can be fetched are
    /// taken; URLs that are no longer queued, in flight or not yet due are skipped. If none can be fetched, the best
    /// URL of the queue is next. Start URLs come before all others. The call must not change the strategy's later
    /// behaviour.
    fn choose(&mut self, n: usize) -> Vec<UrlId> {
        let _ = n;
        Vec::new()
    }

    /// Under [`Selection::Batch`]: sorts a batch into the order in which it is fetched; by default, best first.
    fn arrange(&mut self, batch: &mut [UrlId]) {
        let _ = batch;
    }

    /// Called once for each fetched and judged page, before its links are scored.
    fn arrived(&mut self, source: &SourcePage<'_>) {
        let _ = source;
    }

    /// Called when a URL yielded no page and never will: the fetch failed, was skipped, or redirected.
    fn settled(&mut self, url: &CanonicalUrl) {
        let _ = url;
    }

    /// Tells a strategy what a queued URL would turn out to be, before it is fetched. A crawl never calls it: the lab does,
    /// to measure what it costs that feedback comes late. Strategies that learn from fetched links can learn from it.
    fn foretold(&mut self, url: UrlId, relevance: f64) {
        let _ = (url, relevance);
    }

    /// Priority of a link of the page that arrived last; higher is fetched sooner, and all are above
    /// [`UNSCORED_PRIORITY`]. `None` if the link must not be followed.
    fn priority(&mut self, source: &SourcePage<'_>, link: &Link) -> Option<f64>;

    /// Queued URLs whose priorities changed since the last call, with their new priorities: some of them after a page
    /// arrived, or all of them after training.
    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        Vec::new()
    }

    /// Allows [`rescored`](Strategy::rescored) to return the changes of a training in chunks of `piece` URLs: a result
    /// of that length means that more may follow. By default, all changes are returned at once.
    fn set_rescore_chunk(&mut self, piece: usize) {
        let _ = piece;
    }

    /// Restarts rescoring after the last training from the beginning, for a caller that lost part of the changes. Only
    /// strategies that rescore in chunks need it.
    fn rescore_all(&mut self) {}

    /// The contributions to a link's priority. Does not change the strategy.
    fn explain(&mut self, source: &SourcePage<'_>, link: &Link) -> Vec<Part> {
        let priority = self.priority(source, link);
        priority.map(|adds| Part { what: self.name().to_owned(), adds }).into_iter().collect()
    }

    /// State that must be stored to resume the strategy; `None` if it has none.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }

    /// Resumes from saved state.
    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        let _ = saved;
        Ok(())
    }
}
