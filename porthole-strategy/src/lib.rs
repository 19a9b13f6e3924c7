//! Which link next: a strategy looks at a page that was fetched and judged, and says what each of its links is
//! worth. Pure: it sees only pages that were fetched, reads no clock, and draws from the seed it was given.

mod aim;
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

pub use aim::Aim;
pub use apprentice::Apprentice;
pub use arc::Arc;
pub use best::BestN;
pub use catalogue::{GROUPS, NAMES, NameError, checked, named};
pub use centroid::Centroid;
pub use cho::{Cho, Location};
pub use context_graph::ContextGraph;
pub use fish::Fish;
pub use infospiders::InfoSpiders;
pub use intelligent::Intelligent;
pub use opic::Opic;
pub use porthole::Porthole;
pub use rl_spider::RlSpider;
pub use shark::Shark;
pub use simple::{Breadth, Fifo, Hard, Soft, Unfocused};
pub use state::StateError;

/// Links that a strategy remembers something of, at most; after that, it forgets those that it met first.
const MOST_QUEUED: usize = 1_000_000;

/// A fetched page whose links are to be scored.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its URL.
    pub url: &'a CanonicalUrl,
    /// What it holds.
    pub page: &'a Page,
    /// What the critic says of it.
    pub judgment: Judgment,
    /// Whether its best leaf is good, or below a good topic.
    pub on_topic: bool,
    /// How many links it is away from a start.
    pub depth: u32,
}

/// How a strategy has work taken from the frontier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discipline {
    /// Which URLs are next.
    pub selection: Selection,
    /// So many URLs wait at most; the worst are evicted (MAX_BUFFER of P 2.2).
    pub bound: Option<usize>,
    /// A full queue makes room before a link is added, so that the last one that a page adds stays, however bad it is
    /// (P Fig. 1); otherwise the worst go, whenever they were added.
    pub protect_newest: bool,
    /// What counts when several pages link to the same URL.
    pub merge: PriorityMerge,
}

/// Which URLs are next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// The best, whenever there is room for one more.
    #[default]
    Best,
    /// The best so many, which are finished before the frontier is looked at again (Best-N-First, P 2.2).
    Batch(usize),
    /// Those that the strategy chooses itself, such as agents with links of their own.
    Own,
}

/// What counts when several pages link to the same URL (A footnote 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PriorityMerge {
    /// The highest priority that was given.
    #[default]
    Max,
    /// The last one that was given, up or down: the strategy has put together itself what all pages say.
    Latest,
}

/// A part of what a link is worth, for explanations.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What it is, in words.
    pub what: String,
    /// How much it adds.
    pub adds: f64,
}

/// The priority of a link in one of several layers, the lowest first, as context graphs have them: whatever it is worth
/// within its layer (in 0..=1), it comes after all links of lower layers.
pub fn in_layer(layer: u32, worth: f64) -> f64 {
    worth.clamp(0.0, 1.0) * 0.5 - f64::from(layer)
}

/// Gives links their priorities, and learns from what becomes of them.
///
/// Of every page that comes, a strategy hears once ([`arrived`](Strategy::arrived)); then it is asked about its links,
/// one by one. What it does follows from what it was told, in this order, and from nothing else: whoever tells it the
/// same again gets the same strategy.
pub trait Strategy: Send {
    /// The word for it in commands, tables and reports.
    fn name(&self) -> &str;

    /// How work is taken from the frontier; the best next, if nothing else is said. The size of a batch is asked before
    /// each, the rest once a run.
    fn discipline(&self) -> Discipline {
        Discipline::default()
    }

    /// Under [`Selection::Own`]: which of the queued URLs are next, the first choice first. The first `n` that can be had
    /// are taken: what is not queued any more, under way or not yet due is passed over. If none can be had, the best of
    /// the queue is next; starts come before all others. Nothing may follow from being asked.
    fn choose(&mut self, n: usize) -> Vec<UrlId> {
        let _ = n;
        Vec::new()
    }

    /// Under [`Selection::Batch`]: the order in which a batch is fetched; the best first, if nothing else is said.
    fn arrange(&mut self, batch: &mut [UrlId]) {
        let _ = batch;
    }

    /// A page came, and this is what it turned out to be. It is asked about its links next.
    fn arrived(&mut self, source: &Source<'_>) {
        let _ = source;
    }

    /// A URL brought no page and will not: it failed, was left out, or leads elsewhere.
    fn settled(&mut self, url: &CanonicalUrl) {
        let _ = url;
    }

    /// What a link of the page that came last is worth, larger is sooner; `None` if it is not to be followed.
    fn priority(&mut self, source: &Source<'_>, link: &Link) -> Option<f64>;

    /// What other queued URLs are worth from now on, since the last time that this was asked: of some, because something
    /// was learnt that touches them, or of all, after training.
    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        Vec::new()
    }

    /// From now on, where training changes what all queued URLs are worth, [`rescored`](Strategy::rescored) may say it of
    /// some `piece` of them at a time: if it was so many, more may follow. All at once, if nothing else is said.
    fn in_pieces(&mut self, piece: usize) {
        let _ = piece;
    }

    /// Whoever was told what all queued URLs are worth since the last training has not heard all of it: says it again, if
    /// it is a strategy that says it in pieces.
    fn score_all_anew(&mut self) {}

    /// What a link's priority is made of, without learning anything from the question.
    fn explain(&mut self, source: &Source<'_>, link: &Link) -> Vec<Part> {
        let priority = self.priority(source, link);
        priority.map(|adds| Part { what: self.name().to_owned(), adds }).into_iter().collect()
    }

    /// All that it has to remember to go on as if nothing had happened; `None` if that is nothing.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }

    /// Goes on from what was saved.
    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        let _ = saved;
        Ok(())
    }
}
