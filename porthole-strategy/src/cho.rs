//! The orderings of Cho, Garcia-Molina and Page: by backlinks, by PageRank, by location, and with a hot queue.
//!
//! All use the graph known so far. Our choices: PageRank is computed every few pages, and URLs found in between get the
//! share of rank that their parents pass on; all pages that link to a URL count; the hot queue is ordered by backlinks.

use porthole_page::{Link, TermSplitter};
use porthole_types::{CanonicalUrl, TermId, UrlId};

use crate::keywords::{Keywords, around};
use crate::known::{KnownGraph, Schedule};
use crate::{CrawlGoal, Discipline, PriorityMerge, SourcePage, StateError, Strategy, in_layer, state};

/// Version of the saved format.
const FORM: u32 = 23;

/// Pages between two computations of PageRank.
const EVERY: u64 = 25;

/// Probability that PageRank follows a link.
const DAMPING: f32 = 0.85;

/// The importance that orders links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Importance {
    Backlinks,
    PageRank,
}

/// Links by backlinks or PageRank in the known graph.
#[derive(Debug)]
pub struct Cho {
    name: &'static str,
    importance: Importance,
    known: KnownGraph,
    /// Number of pages that link to a URL, by URL number.
    backlinks: Vec<u32>,
    /// PageRank as a share of the largest, by URL number.
    ranks: Vec<f32>,
    /// Number of URLs known when PageRank was last computed.
    ranked: usize,
    schedule: Schedule,
    hot: Option<Hot>,
    changed: Vec<(UrlId, f64)>,
}

impl Cho {
    fn new(name: &'static str, importance: Importance, hot: Option<Hot>) -> Cho {
        let (known, backlinks, ranks, ranked) = (KnownGraph::default(), Vec::new(), Vec::new(), 0);
        let schedule = Schedule::new(EVERY);
        Cho { name, importance, known, backlinks, ranks, ranked, schedule, hot, changed: Vec::new() }
    }

    /// Most backlinks first.
    pub fn backlinks() -> Cho {
        Cho::new("cho-backlinks", Importance::Backlinks, None)
    }

    /// Highest PageRank first.
    pub fn page_rank() -> Cho {
        Cho::new("cho-pagerank", Importance::PageRank, None)
    }

    /// Hot links first: links whose anchor or URL contains a word of the topic, or that are fewer than three links
    /// behind a page with a topic word in its title or ten of them in its text.
    pub fn hot(goal: &CrawlGoal) -> Cho {
        Cho::new("cho-hot", Importance::Backlinks, Some(Hot::new(goal)))
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

    fn arrived(&mut self, source: &SourcePage<'_>) {
        let Some((page, links)) = self.known.record_page(source, |_| 1.0) else { return };
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

    fn priority(&mut self, _: &SourcePage<'_>, link: &Link) -> Option<f64> {
        let last = if self.hot.is_some() { in_layer(1, 0.0) } else { 0.0 };
        Some(self.known.find(link.target.id()).map_or(last, |number| self.worth(number)))
    }

    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        std::mem::take(&mut self.changed)
    }

    fn save(&self) -> Option<Vec<u8>> {
        let hot = self.hot.as_ref().map(|hot| (&hot.is_hot, &hot.distance));
        let ranks = (self.ranked, &self.backlinks, &self.ranks);
        Some(state::pack(FORM, (self.schedule, &self.known, ranks, hot)))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        let (schedule, known, ranks, hot): (Schedule, KnownGraph, (usize, Vec<u32>, Vec<f32>), _) =
            state::unpack(FORM, saved)?;
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

/// Decides which links are hot.
struct Hot {
    keywords: Keywords,
    wording: TermSplitter,
    /// By URL number.
    is_hot: Vec<bool>,
    /// By URL number: number of links since the last page that is hot by its own text.
    distance: Vec<u8>,
}

impl std::fmt::Debug for Hot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hot").field("is_hot", &self.is_hot.len()).finish_non_exhaustive()
    }
}

/// Links are hot if they are at less than this distance from a hot page.
const NEAR: u8 = 3;

/// A page with this many topic words is hot.
const MANY: usize = 10;

impl Hot {
    fn new(goal: &CrawlGoal) -> Hot {
        let (is_hot, distance) = (Vec::new(), Vec::new());
        Hot { keywords: Keywords::new(goal), wording: TermSplitter::default(), is_hot, distance }
    }

    fn words(&mut self, text: &str) -> Vec<TermId> {
        let mut terms = Vec::new();
        self.wording.append(text, "en", &mut terms);
        terms
    }

    fn arrived(&mut self, source: &SourcePage<'_>, page: u32, known: &KnownGraph) {
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

/// By location: URLs with fewer slashes first; `home` in the URL adds a bonus.
#[derive(Clone, Copy, Debug, Default)]
pub struct Location;

impl Strategy for Location {
    fn name(&self) -> &str {
        "cho-location"
    }

    fn priority(&mut self, _: &SourcePage<'_>, link: &Link) -> Option<f64> {
        let slashes = link.target.path().trim_end_matches('/').matches('/').count();
        let home = f64::from(u8::from(link.target.as_str().to_ascii_lowercase().contains("home")));
        Some(0.9 / (1 + slashes) as f64 + 0.1 * home)
    }
}

#[cfg(test)]
mod tests {
    use crate::harness::{Harness, TestWeb, goal, url};

    fn frontier(name: &str, pages: &[(&str, &str, f64)], steps: usize) -> String {
        let web = TestWeb::new(pages);
        let mut crawl = Harness::new(&web, name, &goal("owl", 1), &[url("/s")]);
        crawl.run(steps);
        crawl.frontier()
    }

    #[test]
    fn most_backlinks_come_first() {
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
    fn a_link_from_a_page_of_high_rank_has_higher_priority() {
        // Many pages link to /x, which links to /y; /n0 links to /z.
        let mut pages =
            vec![("/s".to_owned(), (0..30).map(|n| format!("<a href=/n{n}></a>")).collect::<String>())];
        pages.extend((0..30).map(|n| (format!("/n{n}"), "<a href=/x></a>".to_owned())));
        pages[1].1 += "<a href=/z></a>";
        pages.push(("/x".to_owned(), "<a href=/y></a>".to_owned()));
        let pages: Vec<_> = pages.iter().map(|(path, html)| (&**path, &**html, 0.5)).collect();
        let web = TestWeb::new(&pages);
        let way = Harness::new(&web, "cho-pagerank", &goal("", 1), &[url("/s")]).run(99);
        // Ranks are known after 25 pages: x is fetched at once, then y, which gets all of x's rank, though z was found
        // long before; z gets half of n0's rank, which is more than a thirtieth of the start's.
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
            // b is hot by its anchor, c by its URL; a is not hot.
            ("/s", "<a href=/a></a><a href=/b>owl</a><a href=/owl/c></a>", 0.5),
            ("/b", "<title>owl</title><a href=/d></a>", 0.5),
            // One and two links behind the hot page b, and three, which is too far.
            ("/d", "<a href=/e></a>", 0.5),
            ("/e", "<a href=/f></a>", 0.5),
        ];
        // Half of the priority within the layer; the second layer is 1 lower.
        assert_eq!(frontier("cho-hot", &pages, 1), "/b 25, /owl/c 25, /a -75");
        assert_eq!(frontier("cho-hot", &pages, 2), "/owl/c 25, /d 25, /a -75");
        assert_eq!(frontier("cho-hot", &pages, 4), "/e 25, /a -75");
        assert_eq!(frontier("cho-hot", &pages, 5), "/a -75, /f -75");
    }
}
