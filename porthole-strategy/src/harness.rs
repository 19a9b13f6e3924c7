//! A small crawl for tests: hand-written pages, a frontier that follows a strategy's discipline, one fetch at a time.

use std::collections::{BTreeMap, VecDeque};

use porthole_page::{Extractor, Page};
use porthole_types::{CanonicalUrl, Headers, Judgment, TermId, TopicId, UrlId};

use crate::{CrawlGoal, PriorityMerge, Selection, SourcePage, Strategy, named};

/// A hand-written page.
#[derive(Clone, Debug)]
pub(crate) struct TestPage {
    pub(crate) url: CanonicalUrl,
    pub(crate) page: Page,
    pub(crate) relevance: f64,
    pub(crate) on_topic: bool,
}

impl TestPage {
    fn source(&self, depth: u32) -> SourcePage<'_> {
        let judgment = Judgment { relevance: self.relevance, best: TopicId(0) };
        SourcePage { url: &self.url, page: &self.page, judgment, on_topic: self.on_topic, depth }
    }
}

/// Pages by their paths on one site.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestWeb(BTreeMap<UrlId, TestPage>);

impl TestWeb {
    /// From (path, HTML, relevance); a page with a relevance of at least 0.5 is on topic.
    pub(crate) fn new(pages: &[(&str, &str, f64)]) -> TestWeb {
        let mut extractor = Extractor::default();
        let headers: Headers = [("content-type", "text/html")].into_iter().collect();
        let page = |(path, html, relevance): &(&str, &str, f64)| {
            let url = url(path);
            let page = extractor.extract(&url, &headers, html.as_bytes());
            (url.id(), TestPage { url, page, relevance: *relevance, on_topic: *relevance >= 0.5 })
        };
        TestWeb(pages.iter().map(page).collect())
    }

    /// Random pages of a few words and links, from a seed. Some links are dead.
    pub(crate) fn drawn(seed: u64, pages: u64) -> TestWeb {
        let draw = |a: u64, b: u64, below: u64| {
            xxhash_rust::xxh3::xxh3_64_with_seed(&[a.to_le_bytes(), b.to_le_bytes()].concat(), seed) % below
        };
        let words = ["owl", "bird", "hawk", "feather", "cat", "train", "cheese", "engine", "milk", "rail"];
        let word = |page: u64, place: u64| {
            let about = if page.is_multiple_of(3) { 4 } else { 10 };
            words[draw(page, place, about) as usize]
        };
        let html = |page: u64| {
            let mut html = format!("<title>{}</title>", word(page, 0));
            for link in 0..=draw(page, 1, 6) {
                let target = draw(page, 100 + link, pages + pages / 10);
                let (before, anchor) = (word(page, 200 + link), word(target, 0));
                html += &format!(
                    "<p>{before} {} <a href=/{target}/{anchor}>{anchor}</a></p>",
                    word(page, 300 + link)
                );
            }
            html
        };
        // Each page is stored under every word that links use for it.
        let mut all = Vec::new();
        for page in 0..pages {
            let relevance =
                if page.is_multiple_of(3) { 0.9 - page as f64 / 1e4 } else { 0.1 + page as f64 / 1e4 };
            all.push((format!("/{page}/{}", word(page, 0)), html(page), relevance));
        }
        TestWeb::new(&all.iter().map(|(path, html, r)| (&**path, &**html, *r)).collect::<Vec<_>>())
    }

    /// Passes a page to a strategy.
    pub(crate) fn tell(&self, strategy: &mut dyn Strategy, path: &str) {
        tell(strategy, self, &url(path), 0);
    }

    pub(crate) fn first(&self, count: usize) -> Vec<CanonicalUrl> {
        self.0.values().take(count).map(|page| page.url.clone()).collect()
    }
}

/// The URL of a path.
pub(crate) fn url(path: &str) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://site.test{path}")).unwrap()
}

/// The terms of words.
pub(crate) fn terms(words: &str) -> Vec<TermId> {
    let mut terms = Vec::new();
    porthole_page::TermSplitter::default().append(words, "en", &mut terms);
    terms
}

/// A goal with these keywords and a seed.
pub(crate) fn goal(keywords: &str, seed: u64) -> CrawlGoal {
    CrawlGoal { keywords: terms(keywords), seed, ..CrawlGoal::default() }
}

#[derive(Clone, Debug)]
struct TestQueueEntry {
    url: CanonicalUrl,
    depth: u32,
    priority: f64,
    place: usize,
}

/// A crawl of a web by a strategy.
pub(crate) struct Harness<'w> {
    web: &'w TestWeb,
    pub(crate) strategy: Box<dyn Strategy>,
    waiting: Vec<TestQueueEntry>,
    /// All known URLs, in the order in which they were found.
    known: Vec<UrlId>,
    batch: VecDeque<TestQueueEntry>,
    /// Paths in the order of their fetches.
    pub(crate) way: Vec<String>,
    depths: Vec<u32>,
    /// Largest queue length so far.
    pub(crate) most_waiting: usize,
    /// Whether to ask for explanations all the time.
    pub(crate) explains: bool,
}

impl<'w> Harness<'w> {
    pub(crate) fn new(
        web: &'w TestWeb,
        name: &str,
        goal: &CrawlGoal,
        starts: &[CanonicalUrl],
    ) -> Harness<'w> {
        let strategy = named(name, goal).unwrap();
        let (waiting, known, batch) = (Vec::new(), Vec::new(), VecDeque::new());
        let (way, depths, most_waiting, explains) = (Vec::new(), Vec::new(), 0, false);
        let mut harness =
            Harness { web, strategy, waiting, known, batch, way, depths, most_waiting, explains };
        for start in starts {
            harness.enqueue(start, 0, 1.0);
        }
        harness
    }

    /// The same crawl after a crash: the strategy is restored from its saved state or fed all calls again.
    pub(crate) fn resumed(&self, name: &str, goal: &CrawlGoal, saved: Option<&[u8]>) -> Harness<'w> {
        let mut strategy = named(name, goal).unwrap();
        match saved {
            Some(saved) => strategy.restore(saved).unwrap(),
            None => self.way.iter().zip(&self.depths).for_each(|(path, depth)| {
                tell(&mut *strategy, self.web, &url(path), *depth);
                strategy.rescored();
            }),
        }
        Harness {
            web: self.web,
            strategy,
            waiting: self.waiting.clone(),
            known: self.known.clone(),
            batch: self.batch.clone(),
            way: self.way.clone(),
            depths: self.depths.clone(),
            most_waiting: self.most_waiting,
            explains: self.explains,
        }
    }

    fn enqueue(&mut self, url: &CanonicalUrl, depth: u32, priority: f64) {
        if self.known.contains(&url.id()) {
            let waits = self.waiting.iter_mut().find(|waiting| waiting.url == *url);
            // Start URLs keep their priorities.
            let Some(waiting) = waits.filter(|waiting| waiting.depth > 0) else { return };
            let is_last = self.strategy.discipline().merge == PriorityMerge::Latest;
            waiting.priority = if is_last { priority } else { waiting.priority.max(priority) };
            return;
        }
        let discipline = self.strategy.discipline();
        if discipline.protect_newest && discipline.bound.is_some_and(|bound| self.waiting.len() >= bound) {
            self.evict();
        }
        let place = self.known.len();
        self.known.push(url.id());
        self.waiting.push(TestQueueEntry { url: url.clone(), depth, priority, place });
        if discipline.bound.is_some_and(|bound| self.waiting.len() > bound) {
            self.evict();
        }
        self.most_waiting = self.most_waiting.max(self.waiting.len());
    }

    /// Evicts the worst URL and forgets it.
    fn evict(&mut self) {
        self.sort();
        if let Some(worst) = self.waiting.pop() {
            let place = self.known.iter().position(|url| *url == worst.url.id()).unwrap();
            self.known[place] = UrlId(0);
        }
    }

    fn sort(&mut self) {
        self.waiting.sort_by(|a, b| b.priority.total_cmp(&a.priority).then(a.place.cmp(&b.place)));
    }

    fn take(&mut self, n: usize) -> VecDeque<TestQueueEntry> {
        self.sort();
        self.waiting.drain(..n.min(self.waiting.len())).collect()
    }

    fn next(&mut self) -> Option<TestQueueEntry> {
        match self.strategy.discipline().selection {
            Selection::Best => self.take(1).pop_front(),
            Selection::Batch(n) => {
                if self.batch.is_empty() {
                    let batch = self.take(n);
                    let mut order: Vec<UrlId> = batch.iter().map(|waiting| waiting.url.id()).collect();
                    self.strategy.arrange(&mut order);
                    let of = |id: &UrlId| batch.iter().find(|waiting| waiting.url.id() == *id).cloned();
                    self.batch = order.iter().filter_map(of).collect();
                }
                self.batch.pop_front()
            }
            Selection::Own => {
                let start = self.waiting.iter().position(|waiting| waiting.depth == 0);
                let chosen = self.strategy.choose(1);
                let mut places = chosen
                    .iter()
                    .filter_map(|id| self.waiting.iter().position(|waiting| waiting.url.id() == *id));
                match start.or_else(|| places.next()) {
                    Some(place) => Some(self.waiting.remove(place)),
                    None => self.take(1).pop_front(),
                }
            }
        }
    }

    pub(crate) fn waiting_priorities(&self) -> impl Iterator<Item = f64> {
        self.waiting.iter().map(|waiting| waiting.priority)
    }

    /// Scores all links of the page that arrived last.
    fn ask(&mut self, url: &CanonicalUrl, depth: u32) {
        let Some(page) = self.web.0.get(&url.id()) else { return };
        let source = page.source(depth);
        for link in &page.page.links {
            self.strategy.explain(&source, link);
        }
    }

    /// Fetches one more URL; returns whether there was one.
    pub(crate) fn step(&mut self) -> bool {
        let Some(next) = self.next() else { return false };
        self.way.push(next.url.path().to_owned());
        self.depths.push(next.depth);
        for (target, priority) in tell(&mut *self.strategy, self.web, &next.url, next.depth) {
            self.enqueue(&target, next.depth + 1, priority);
        }
        if self.explains {
            self.ask(&next.url, next.depth);
        }
        for (id, priority) in self.strategy.rescored() {
            let waits = self.waiting.iter_mut().find(|waiting| waiting.url.id() == id);
            if let Some(waiting) = waits.filter(|waiting| waiting.depth > 0) {
                waiting.priority = priority;
            }
        }
        true
    }

    /// Crawls to the end or for `most` fetches, and returns the paths in the order fetched.
    pub(crate) fn run(&mut self, most: usize) -> String {
        while self.way.len() < most && self.step() {}
        self.way.join(" ")
    }

    /// The queue, best first, with priorities in hundredths.
    pub(crate) fn frontier(&mut self) -> String {
        self.sort();
        let one =
            |waiting: &TestQueueEntry| format!("{} {:.0}", waiting.url.path(), waiting.priority * 100.0);
        self.waiting.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// Reports the result of a URL to a strategy, and returns the page's links with their priorities, each target once.
pub(crate) fn tell(
    strategy: &mut dyn Strategy,
    web: &TestWeb,
    url: &CanonicalUrl,
    depth: u32,
) -> Vec<(CanonicalUrl, f64)> {
    let Some(page) = web.0.get(&url.id()) else {
        strategy.settled(url);
        return Vec::new();
    };
    let source = page.source(depth);
    strategy.arrived(&source);
    let mut links: Vec<(CanonicalUrl, f64)> = Vec::new();
    for link in &page.page.links {
        let Some(priority) = strategy.priority(&source, link) else { continue };
        match links.iter_mut().find(|(target, _)| *target == link.target) {
            Some((_, known)) => *known = known.max(priority),
            None => links.push((link.target.clone(), priority)),
        }
    }
    links
}
