//! Which link next: a strategy looks at a page that was fetched and judged, and says what each of its links is
//! worth. Pure: it sees only pages that were fetched, reads no clock, and draws from the seed it was given.

mod simple;

use porthole_page::{Link, Page};
use porthole_types::{CanonicalUrl, Judgment};

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

/// Gives links their priorities.
pub trait Strategy: Send {
    /// The word for it in commands, tables and reports.
    fn name(&self) -> &'static str;

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
