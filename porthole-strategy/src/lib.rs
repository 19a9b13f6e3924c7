//! Which link next: a strategy looks at a page that was fetched and judged, and says what each of its links is
//! worth. Pure: it sees only pages that were fetched, reads no clock, and draws from the seed it was given.

mod simple;

use porthole_page::{Link, Page};
use porthole_types::{CanonicalUrl, Judgment, UrlId};

pub use simple::{Breadth, Hard, Soft, Unfocused};

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
}

/// How a strategy has work taken from the frontier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discipline {
    /// Which URLs are next.
    pub selection: Selection,
    /// So many URLs wait at most; the worst are evicted (MAX_BUFFER of P 2.2).
    pub bound: Option<usize>,
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

/// The priority of a link in one of several layers, the lowest first, as context graphs have them: whatever it is worth
/// within its layer (in 0..=1), it comes after all links of lower layers.
pub fn in_layer(layer: u32, worth: f64) -> f64 {
    worth.clamp(0.0, 1.0) * 0.5 - f64::from(layer)
}

/// Gives links their priorities.
pub trait Strategy: Send {
    /// The word for it in commands, tables and reports.
    fn name(&self) -> &'static str;

    /// How work is taken from the frontier; the best next, if nothing else is said.
    fn discipline(&self) -> Discipline {
        Discipline::default()
    }

    /// Under [`Selection::Own`]: which of the queued URLs are next, at most `n`. What is not queued any more is passed
    /// over; none ends the crawl.
    fn choose(&mut self, n: usize) -> Vec<UrlId> {
        let _ = n;
        Vec::new()
    }

    /// What a link is worth, larger is sooner; `None` if it is not to be followed. Of several pages that link to the
    /// same URL the highest counts.
    fn priority(&mut self, source: &Source<'_>, link: &Link) -> Option<f64>;
}

/// The strategies by name.
pub const NAMES: [&str; 4] = ["soft", "hard", "unfocused", "breadth"];

/// The strategy of that name; the seed is for those that draw.
pub fn named(name: &str, seed: u64) -> Option<Box<dyn Strategy>> {
    match name {
        "soft" => Some(Box::new(Soft)),
        "hard" => Some(Box::new(Hard)),
        // The lab's experiments call it by what it does.
        "unfocused" | "random" => Some(Box::new(Unfocused::new(seed))),
        "breadth" => Some(Box::new(Breadth)),
        _ => None,
    }
}
