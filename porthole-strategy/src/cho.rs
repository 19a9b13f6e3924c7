//! The orders of Cho, Garcia-Molina and Page: by backlinks, by PageRank, by location, and with a hot queue.
//!
//! All count on what is known at the time. Decided here: PageRank is computed after every so many pages, and what is met in
//! between gets what its parents hand down; among several pages that link to a URL, all count; the hot queue is ordered by
//! backlinks.

use porthole_page::{Link, Wording};
use porthole_types::{CanonicalUrl, TermId, UrlId};

use crate::keywords::{Keywords, around};
use crate::known::{Known, Schedule};
use crate::{Aim, Discipline, PriorityMerge, Source, StateError, Strategy, in_layer, state};

/// The form of what is saved.
const FORM: u32 = 23;

/// PageRank is computed after so many pages, and then again and again.
const EVERY: u64 = 25;

/// How often PageRank follows a link.
const DAMPING: f32 = 0.85;

/// By which importance links are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Importance {
    Backlinks,
    PageRank,
}

/// Links by backlinks or PageRank over what is known.
#[derive(Debug)]
pub struct Cho {
    name: &'static str,
    importance: Importance,
    known: Known,
    /// By number: how many pages link there.
    backlinks: Vec<u32>,
    /// By number: the rank, as a share of the largest.
    ranks: Vec<f32>,
    /// How many URLs were known when ranks were computed.
    ranked: usize,
    schedule: Schedule,
    hot: Option<Hot>,
    changed: Vec<(UrlId, f64)>,
}

impl Cho {
    fn new(name: &'static str, importance: Importance, hot: Option<Hot>) -> Cho {
        let (known, backlinks, ranks, ranked) = (Known::default(), Vec::new(), Vec::new(), 0);
        let schedule = Schedule::new(EVERY);
        Cho { name, importance, known, backlinks, ranks, ranked, schedule, hot, changed: Vec::new() }
    }

    /// The most linked to first.
    pub fn backlinks() -> Cho {
        Cho::new("cho-backlinks", Importance::Backlinks, None)
    }

    /// The highest rank first.
    pub fn page_rank() -> Cho {
        Cho::new("cho-pagerank", Importance::PageRank, None)
    }

    /// Hot ones first: whose anchor or URL has a word of the topic, or which are less than three links behind a page that has
    /// one in its title or ten of them.
    pub fn hot(aim: &Aim) -> Cho {
        Cho::new("cho-hot", Importance::Backlinks, Some(Hot::new(aim)))
    }

    fn worth(&self, number: u32) -> f64 {
        let place = number as usize;
        let worth = match self.importance {
            Importance::Backlinks => 1.0 - 1.0 / (1.0 + f64::from(self.backlinks[place])),
            Importance::PageRank => f64::from(self.ranks[place]),
        };
        match &self.hot {
            Some(hot) => in_layer(u32::from(!hot.is_hot[place]), worth),
            None => worth,
        }
    }

    fn rank(&mut self) {
        self.ranks = self.known.ranks().into_iter().map(|rank| rank as f32).collect();
        self.ranked = self.known.len();
        self.ranks.resize(self.ranked, 0.0);
        self.changed =
            self.known.waiting().map(|number| (self.known.url(number), self.worth(number))).collect();
    }
}

impl Strategy for Cho {
    fn name(&self) -> &str {
        self.name
    }

    fn discipline(&self) -> Discipline {
        Discipline { merge: PriorityMerge::Latest, ..Discipline::default() }
    }

    fn arrived(&mut self, source: &Source<'_>) {
        let Some((page, links)) = self.known.came(source, |_| 1.0) else { return };
        self.backlinks.resize(self.known.len(), 0);
        self.ranks.resize(self.known.len(), 0.0);
        let share = DAMPING * self.ranks[page as usize] / links.len().max(1) as f32;
        for link in &self.known.links()[links] {
            self.backlinks[link.to as usize] += 1;
            if link.to as usize >= self.ranked {
                self.ranks[link.to as usize] = (self.ranks[link.to as usize] + share).min(1.0);
            }
        }
        if let Some(hot) = &mut self.hot {
            hot.arrived(source, page, &self.known);
        }
        let is_due = self.schedule.is_due(self.known.page_count() as u64);
        if is_due && self.importance == Importance::PageRank {
            self.rank();
        }
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.known.settled(url.id());
    }

    fn priority(&mut self, _: &Source<'_>, link: &Link) -> Option<f64> {
        let last = if self.hot.is_some() { in_layer(1, 0.0) } else { 0.0 };
        Some(self.known.find(link.target.id()).map_or(last, |number| self.worth(number)))
    }

    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        std::mem::take(&mut self.changed)
    }

    fn save(&self) -> Option<Vec<u8>> {
        let hot = self.hot.as_ref().map(|hot| (&hot.is_hot, &hot.distance));
        let ranks = (self.ranked, &self.backlinks, &self.ranks);
        Some(state::save(FORM, (self.schedule, &self.known, ranks, hot)))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        let (schedule, known, ranks, hot): (Schedule, Known, (usize, Vec<u32>, Vec<f32>), _) =
            state::restore(FORM, saved)?;
        let hot: Option<(Vec<bool>, Vec<u8>)> = hot;
        state::check(ranks.1.len() == known.len() && ranks.2.len() == known.len())?;
        state::check(hot.is_some() == self.hot.is_some())?;
        if let (Some(own), Some((is_hot, distance))) = (&mut self.hot, hot) {
            state::check(is_hot.len() == known.len() && distance.len() == known.len())?;
            (own.is_hot, own.distance) = (is_hot, distance);
        }
        self.schedule.resume(schedule);
        (self.known, (self.ranked, self.backlinks, self.ranks)) = (known, ranks);
        Ok(())
    }
}

/// Which links are hot.
struct Hot {
    keywords: Keywords,
    wording: Wording,
    /// By number.
    is_hot: Vec<bool>,
    /// By number: links since the last page that is hot itself.
    distance: Vec<u8>,
}

impl std::fmt::Debug for Hot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hot").field("is_hot", &self.is_hot.len()).finish_non_exhaustive()
    }
}

/// Links to a hot page's surroundings are hot up to this distance.
const NEAR: u8 = 3;

/// A page with so many words of the topic is hot.
const MANY: usize = 10;

impl Hot {
    fn new(aim: &Aim) -> Hot {
        let (is_hot, distance) = (Vec::new(), Vec::new());
        Hot { keywords: Keywords::new(aim), wording: Wording::default(), is_hot, distance }
    }

    fn words(&mut self, text: &str) -> Vec<TermId> {
        let mut terms = Vec::new();
        self.wording.append(text, "en", &mut terms);
        terms
    }

    fn arrived(&mut self, source: &Source<'_>, page: u32, known: &Known) {
        self.is_hot.resize(known.len(), false);
        self.distance.resize(known.len(), u8::MAX);
        let title = self.words(&source.page.title);
        if self.keywords.hits(&title) > 0 || self.keywords.hits(source.page.terms()) >= MANY {
            self.distance[page as usize] = 0;
        }
        let distance = self.distance[page as usize].saturating_add(1);
        let links = if source.page.robots.nofollow { &[] } else { &source.page.links[..] };
        for link in links {
            let Some(number) = known.find(link.target.id()).map(|number| number as usize) else { continue };
            self.distance[number] = self.distance[number].min(distance);
            let has_word = self.keywords.hits(&around(source.page, link, 0)) > 0 || {
                let words = self.words(link.target.as_str());
                self.keywords.hits(&words) > 0
            };
            self.is_hot[number] |= has_word || distance < NEAR;
        }
    }
}

/// By location: the fewer slashes, the sooner, and `home` in the URL counts for something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Location;

impl Strategy for Location {
    fn name(&self) -> &str {
        "cho-location"
    }

    fn priority(&mut self, _: &Source<'_>, link: &Link) -> Option<f64> {
        let slashes = link.target.path().trim_end_matches('/').matches('/').count();
        let home = f64::from(u8::from(link.target.as_str().to_ascii_lowercase().contains("home")));
        Some(0.9 / (1 + slashes) as f64 + 0.1 * home)
    }
}

#[cfg(test)]
mod tests {
    use crate::harness::{Harness, Web, aim, url};

    fn frontier(name: &str, pages: &[(&str, &str, f64)], steps: usize) -> String {
        let web = Web::new(pages);
        let mut crawl = Harness::new(&web, name, &aim("owl", 1), &[url("/s")]);
        crawl.run(steps);
        crawl.frontier()
    }

    #[test]
    fn what_is_linked_to_most_comes_first() {
        let pages = [
            ("/s", "<a href=/a></a><a href=/b></a><a href=/c></a>", 0.5),
            ("/a", "<a href=/c></a><a href=/d></a><a href=/c></a>", 0.5),
            ("/c", "<a href=/d></a><a href=/b></a>", 0.5),
        ];
        assert_eq!(frontier("cho-backlinks", &pages, 1), "/a 50, /b 50, /c 50");
        assert_eq!(frontier("cho-backlinks", &pages, 2), "/c 67, /b 50, /d 50");
        assert_eq!(frontier("cho-backlinks", &pages, 3), "/b 67, /d 67");
    }

    #[test]
    fn a_link_from_a_page_of_rank_is_worth_more() {
        // Many pages link to /x, which links to /y; /n0 links to /z.
        let mut pages =
            vec![("/s".to_owned(), (0..30).map(|n| format!("<a href=/n{n}></a>")).collect::<String>())];
        pages.extend((0..30).map(|n| (format!("/n{n}"), "<a href=/x></a>".to_owned())));
        pages[1].1 += "<a href=/z></a>";
        pages.push(("/x".to_owned(), "<a href=/y></a>".to_owned()));
        let pages: Vec<_> = pages.iter().map(|(path, html)| (&**path, &**html, 0.5)).collect();
        let web = Web::new(&pages);
        let way = Harness::new(&web, "cho-pagerank", &aim("", 1), &[url("/s")]).run(99);
        // Ranks are known after 25 pages: x comes at once, then y, which gets all that x has, though z was found long before;
        // z has half of what n0 has, and that is more than a thirtieth of what the start has.
        assert!(way.starts_with("/s /n0 /n1 /n2 "), "{way}");
        assert!(way.ends_with("/n23 /x /y /z /n24 /n25 /n26 /n27 /n28 /n29"), "{way}");
    }

    #[test]
    fn short_paths_come_first() {
        let pages =
            [("/s", "<a href=/x/y/z></a><a href=/x/y></a><a href=/home/page/1></a><a href=/x></a>", 0.5)];
        assert_eq!(frontier("cho-location", &pages, 1), "/x 45, /home/page/1 32, /x/y 30, /x/y/z 22");
    }

    #[test]
    fn hot_links_come_before_all_others() {
        let pages = [
            // b by its anchor, c by its URL; a has nothing.
            ("/s", "<a href=/a></a><a href=/b>owl</a><a href=/owl/c></a>", 0.5),
            ("/b", "<title>owl</title><a href=/d></a>", 0.5),
            // One behind the hot page b, two, and three, which is too far.
            ("/d", "<a href=/e></a>", 0.5),
            ("/e", "<a href=/f></a>", 0.5),
        ];
        // Half of the worth within the layer; the second layer is 1 below.
        assert_eq!(frontier("cho-hot", &pages, 1), "/b 25, /owl/c 25, /a -75");
        assert_eq!(frontier("cho-hot", &pages, 2), "/owl/c 25, /d 25, /a -75");
        assert_eq!(frontier("cho-hot", &pages, 4), "/e 25, /a -75");
        assert_eq!(frontier("cho-hot", &pages, 5), "/a -75, /f -75");
    }
}
