//! The simple orderings: by the source page alone, or by none of its properties.

use porthole_page::Link;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{Discipline, SourcePage, Strategy};

/// Soft focus: a link's priority is R(u) of the page it is on (W 3.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Soft;

/// Hard focus: follows only links of pages whose best leaf topic is good or below a good topic, in the order found
/// (W 3.1, 3.3).
#[derive(Clone, Copy, Debug, Default)]
pub struct Hard;

/// Unfocused: follows all links in random order (W 4.2). The same seed gives the same order.
#[derive(Clone, Copy, Debug)]
pub struct Unfocused {
    seed: u64,
}

/// Breadth first: links in the order in which they were found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Breadth;

/// Breadth first with a bounded queue (P 5.2): links in the order in which they were found; links found while the queue
/// is full are dropped. Once it is full, each page has room for one of its links.
#[derive(Clone, Debug)]
pub struct Fifo {
    name: String,
    most: usize,
}

impl Strategy for Soft {
    fn name(&self) -> &str {
        "soft"
    }

    fn priority(&mut self, source: &SourcePage<'_>, _: &Link) -> Option<f64> {
        Some(source.judgment.relevance)
    }
}

impl Strategy for Hard {
    fn name(&self) -> &str {
        "hard"
    }

    fn priority(&mut self, source: &SourcePage<'_>, _: &Link) -> Option<f64> {
        source.on_topic.then_some(0.0)
    }
}

impl Unfocused {
    /// The random order of a seed.
    pub fn new(seed: u64) -> Self {
        Unfocused { seed }
    }
}

impl Strategy for Unfocused {
    fn name(&self) -> &str {
        "unfocused"
    }

    fn priority(&mut self, _: &SourcePage<'_>, link: &Link) -> Option<f64> {
        // Hashing the URL gives it one position in the order, however often it is found.
        Some(
            (xxh3_64_with_seed(link.target.as_str().as_bytes(), self.seed) >> 40) as f64
                / (1_u64 << 24) as f64,
        )
    }
}

impl Strategy for Breadth {
    fn name(&self) -> &str {
        "breadth"
    }

    fn priority(&mut self, _: &SourcePage<'_>, _: &Link) -> Option<f64> {
        Some(0.0)
    }
}

impl Fifo {
    /// With a queue of at most `most` URLs.
    pub fn new(most: usize) -> Self {
        Fifo { name: format!("fifo-{most}"), most }
    }
}

impl Strategy for Fifo {
    fn name(&self) -> &str {
        &self.name
    }

    /// All links have equal priority, so the last ones found are evicted.
    fn discipline(&self) -> Discipline {
        Discipline { bound: Some(self.most), ..Discipline::default() }
    }

    fn priority(&mut self, _: &SourcePage<'_>, _: &Link) -> Option<f64> {
        Some(0.0)
    }
}

#[cfg(test)]
mod tests {
    use porthole_page::Extractor;
    use porthole_types::{CanonicalUrl, Headers, Judgment, TopicId};

    use crate::{CrawlGoal, NAMES, SourcePage, named};

    /// The priorities of three links of a page with this judgment.
    fn priorities(name: &str, relevance: f64, on_topic: bool, seed: u64) -> Vec<Option<f64>> {
        let url = CanonicalUrl::parse("http://a.test/").unwrap();
        let html = b"<a href=/x>x</a><a href=/y>y</a><a href=/x>x again</a>";
        let page = Extractor::default().extract(&url, &Headers::new(), html);
        let judgment = Judgment { relevance, best: TopicId(3) };
        let source = SourcePage { url: &url, page: &page, judgment, on_topic, depth: 0 };
        let mut strategy = named(name, &CrawlGoal::nothing(seed)).unwrap();
        page.links.iter().map(|link| strategy.priority(&source, link)).collect()
    }

    #[test]
    fn priorities_of_each_ordering() {
        assert_eq!(priorities("soft", 0.25, false, 1), [Some(0.25); 3]);
        assert_eq!(priorities("hard", 0.25, false, 1), [None; 3]);
        assert_eq!(priorities("hard", 0.25, true, 1), [Some(0.0); 3]);
        assert_eq!(priorities("breadth", 0.25, false, 1), [Some(0.0); 3]);
        let drawn = priorities("unfocused", 0.25, false, 1);
        assert_eq!(drawn[0], drawn[2]);
        assert_ne!(drawn[0], drawn[1]);
        assert_ne!(drawn, priorities("unfocused", 0.25, false, 2));
    }

    #[test]
    fn names_resolve_to_strategies() {
        for name in NAMES {
            assert_eq!(named(name, &CrawlGoal::nothing(1)).unwrap().name(), *name);
        }
        assert!(named("psychic", &CrawlGoal::nothing(1)).is_err());
    }
}
