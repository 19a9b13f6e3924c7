//! Fish search (De Bra, Post): fish that find food breed, others die out.
//!
//! Each link has a remaining depth. Links of a relevant page get the full depth and come first; links of an irrelevant
//! page get one less than the page had, and come after them. Only the first links of each page count, half as many
//! again on a relevant page; the rest come last. What the summary leaves open is decided as in the shark search paper's
//! account of it: the scores are 1, 0.5 and 0, and of several pages that link to a URL the best score counts. A page is
//! relevant if the critic finds it on topic. A page that was not found through a link, such as a start page, has the
//! full depth.

use porthole_page::Link;
use porthole_types::{CanonicalUrl, UrlId};

use crate::catalogue::NameError;
use crate::parameters::Parameters;
use crate::queued::Queued;
use crate::{MOST_QUEUED, SourcePage, StateError, Strategy, state};

/// Version of the saved format.
const FORM: u32 = 21;

/// Fish search.
#[derive(Debug)]
pub struct Fish {
    /// The full depth.
    depth: u32,
    /// Number of links of an irrelevant page that count.
    width: usize,
    /// Remaining depth by link.
    depths: Queued<u32>,
    /// The page that arrived last, and its remaining depth.
    last: (UrlId, u32),
}

impl Fish {
    /// Parameters: `depth` is the full depth, `width` the number of links of an irrelevant page that count.
    pub(crate) fn new(parameters: &mut Parameters<'_>) -> Result<Fish, NameError> {
        let depth = parameters.number("depth", 3, 0..=1_000)?;
        let width = parameters.number("width", 10, 0..=1_000_000)?;
        Ok(Fish { depth, width, depths: Queued::new(MOST_QUEUED), last: (UrlId(0), depth) })
    }

    /// Remaining depth of a page's links; `None` if the page has none left.
    fn depth_of_links(&self, source: &SourcePage<'_>) -> Option<u32> {
        if source.on_topic { Some(self.depth) } else { self.last.1.checked_sub(1) }
    }
}

impl Strategy for Fish {
    fn name(&self) -> &str {
        "fish"
    }

    fn arrived(&mut self, source: &SourcePage<'_>) {
        let url = source.url.id();
        self.last = (url, self.depths.remove(url).unwrap_or(self.depth));
        let Some(depth) = self.depth_of_links(source) else { return };
        for link in &source.page.links {
            let known = self.depths.entry(link.target.id(), || depth);
            *known = depth.max(*known);
        }
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.depths.remove(url.id());
    }

    fn priority(&mut self, source: &SourcePage<'_>, link: &Link) -> Option<f64> {
        self.depth_of_links(source)?;
        let place =
            source.page.links.iter().position(|other| std::ptr::eq(other, link)).unwrap_or(usize::MAX);
        Some(match source.on_topic {
            true if place < self.width + self.width / 2 => 1.0,
            false if place < self.width => 0.5,
            _ => 0.0,
        })
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(state::pack(FORM, &self.depths))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        self.depths.restore(state::unpack(FORM, saved)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::harness::{Harness, TestWeb, goal, url};

    #[test]
    fn depth_is_renewed_by_relevant_pages_and_otherwise_used_up() {
        let link = |to: &str| format!("<a href={to}></a>");
        let pages = [
            ("/s", link("/dry1") + &link("/food"), 0.9),
            // A chain of irrelevant pages: with a depth of 2, the third is the end.
            ("/dry1", link("/dry2"), 0.1),
            ("/dry2", link("/dry3"), 0.1),
            ("/dry3", link("/dry4"), 0.1),
            ("/dry4", link("/dry5"), 0.1),
            ("/food", link("/dry3") + &link("/more"), 0.9),
            ("/more", String::new(), 0.1),
        ];
        let web = |skip: &str| {
            let pages = pages.iter().filter(|(path, ..)| *path != skip);
            TestWeb::new(&pages.map(|(path, html, r)| (*path, &**html, *r)).collect::<Vec<_>>())
        };
        // Links of relevant pages first: dry3 is relevant, too, and starts again with the full depth.
        let full = web("");
        let mut fish = Harness::new(&full, "fish:depth=2", &goal("", 1), &[url("/s")]);
        assert_eq!(fish.run(99), "/s /dry1 /food /dry3 /more /dry2 /dry4 /dry5");
        // Without relevant pages the depth is used up: 2 at dry1, 1, 0 at dry3, whose links are not followed.
        let hungry = web("/food");
        let mut fish = Harness::new(&hungry, "fish:depth=2", &goal("", 1), &[url("/s")]);
        assert_eq!(fish.run(99), "/s /dry1 /food /dry2 /dry3");
    }

    #[test]
    fn only_the_first_links_count() {
        let links: String = (0..5).map(|to| format!("<a href=/{to}></a>")).collect();
        for (relevance, frontier) in
            [(0.9, "/0 100, /1 100, /2 100, /3 0, /4 0"), (0.1, "/0 50, /1 50, /2 0, /3 0, /4 0")]
        {
            let web = TestWeb::new(&[("/s", &links, relevance)]);
            let mut fish = Harness::new(&web, "fish:width=2", &goal("", 1), &[url("/s")]);
            fish.step();
            assert_eq!(fish.frontier(), frontier);
        }
    }
}
