//! Context graphs (Diligenti et al.): estimates how many links a page is away from a page on topic.
//!
//! Layer 0 is on topic, layer 1 links to layer 0, layer 2 links to layer 1, and so on. A naive Bayes classifier
//! predicts a page's layer from its words. Links of a page are queued by its layer, and the lowest layer that is not
//! empty is next. Our choices: without a search engine to ask for backlinks, layers are learnt online from the crawl's
//! own graph, again after every few pages, and then all queued links are rescored. A page that leads nowhere is an
//! example of "other" once one of its links was fetched. A page that the critic finds on topic is in layer 0. A page is
//! represented by its forty most frequent words. Before the first training, pages that are not on topic are "other".

use std::collections::VecDeque;

use porthole_page::{Link, Page};
use porthole_types::{CanonicalUrl, TermId, UrlId};
use serde::{Deserialize, Serialize};

use crate::bayes::Bayes;
use crate::catalogue::NameError;
use crate::known::{KnownGraph, Schedule};
use crate::parameters::Parameters;
use crate::{Discipline, PriorityMerge, SourcePage, StateError, Strategy, in_layer, state};

/// Version of the saved format.
const FORM: u32 = 27;

/// Maximum number of training pages; the oldest are forgotten.
const MOST_PAGES: usize = 20_000;

/// Number of words that represent a page.
const WORDS: usize = 40;

/// Queues by layer.
#[derive(Debug)]
pub struct ContextGraph {
    /// Number of layers besides layer 0; the class "other" comes after them.
    layers: usize,
    known: KnownGraph,
    pages: VecDeque<LayeredPage>,
    bayes: Bayes,
    schedule: Schedule,
    /// Highest priority that any page gives a URL, by URL number.
    worth: Vec<f32>,
    changed: Vec<(UrlId, f64)>,
}

/// A fetched page.
#[derive(Debug, Serialize, Deserialize)]
struct LayeredPage {
    number: u32,
    on_topic: bool,
    words: Vec<TermId>,
}

impl ContextGraph {
    /// Parameters: the number of `layers` around the topic, and the pages between two trainings (`every`).
    pub(crate) fn new(parameters: &mut Parameters<'_>) -> Result<ContextGraph, NameError> {
        let layers = parameters.number("layers", 3, 1..=20)?;
        Ok(ContextGraph {
            layers,
            known: KnownGraph::default(),
            pages: VecDeque::new(),
            bayes: Bayes::new(layers + 1),
            schedule: Schedule::new(parameters.number("every", 25, 1..=1_000_000)?),
            worth: Vec::new(),
            changed: Vec::new(),
        })
    }

    /// Priority of a page's links: by its layer, then by the probability of that layer.
    fn worth_of(&self, on_topic: bool, words: &[TermId]) -> f64 {
        if on_topic {
            return in_layer(0, 1.0);
        }
        let last = self.layers;
        if !self.bayes.is_trained() {
            return in_layer(last as u32 + 1, 0.0);
        }
        // Class 0 is layer 1, and so on. Among equally probable layers take the farthest: there is no evidence for the
        // nearer ones.
        let classes = self.bayes.classes_of(words, false);
        let best = (0..=last).max_by(|a, b| classes[*a].total_cmp(&classes[*b])).unwrap_or(last);
        in_layer(best as u32 + 1, classes[best])
    }

    /// Layer of every known URL: its distance from a page on topic.
    fn distances(&self) -> Vec<usize> {
        let mut links_to: Vec<Vec<u32>> = vec![Vec::new(); self.known.len()];
        for link in self.known.links() {
            links_to[link.to as usize].push(link.from);
        }
        let mut distances = vec![usize::MAX; self.known.len()];
        let on_topic = self.pages.iter().filter(|page| page.on_topic).map(|page| page.number);
        let mut reached: VecDeque<u32> = on_topic.collect();
        reached.iter().for_each(|page| distances[*page as usize] = 0);
        while let Some(page) = reached.pop_front() {
            for &from in &links_to[page as usize] {
                if distances[from as usize] == usize::MAX {
                    distances[from as usize] = distances[page as usize] + 1;
                    reached.push_back(from);
                }
            }
        }
        distances
    }

    fn learn(&mut self) {
        let distances = self.distances();
        let mut leads_on = vec![false; self.known.len()];
        let is_done = |number: u32| !self.known.is_waiting(number);
        for link in self.known.links().iter().filter(|link| is_done(link.to)) {
            leads_on[link.from as usize] = true;
        }
        self.bayes = Bayes::new(self.layers + 1);
        for page in self.pages.iter().filter(|page| !page.on_topic) {
            match distances[page.number as usize] {
                distance if distance <= self.layers => self.bayes.add(distance - 1, &page.words),
                _ if leads_on[page.number as usize] => self.bayes.add(self.layers, &page.words),
                _ => {}
            }
        }
        self.rescore_waiting();
    }

    /// Rescores all queued links.
    fn rescore_waiting(&mut self) {
        let mut worth_of_links = vec![f32::MIN; self.known.len()];
        for page in &self.pages {
            worth_of_links[page.number as usize] = self.worth_of(page.on_topic, &page.words) as f32;
        }
        self.worth.fill(f32::MIN);
        for link in self.known.links() {
            let worth = &mut self.worth[link.to as usize];
            *worth = worth.max(worth_of_links[link.from as usize]);
        }
        let known = &self.known;
        let all = known.waiting().filter(|number| self.worth[*number as usize] > f32::MIN);
        self.changed =
            all.map(|number| (known.url(number), f64::from(self.worth[number as usize]))).collect();
    }
}

/// The most frequent words of a page, without duplicates.
pub(crate) fn frequent(page: &Page, most: usize) -> Vec<TermId> {
    let mut counts = page.term_counts();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    counts.into_iter().take(most).map(|(term, _)| term).collect()
}

impl Strategy for ContextGraph {
    fn name(&self) -> &str {
        "context-graph"
    }

    fn discipline(&self) -> Discipline {
        Discipline { merge: PriorityMerge::Latest, ..Discipline::default() }
    }

    fn arrived(&mut self, source: &SourcePage<'_>) {
        let Some((number, links)) = self.known.record_page(source, |_| 1.0) else { return };
        self.worth.resize(self.known.len(), f32::MIN);
        let words = frequent(source.page, WORDS);
        let worth_of_links = self.worth_of(source.on_topic, &words) as f32;
        for link in &self.known.links()[links] {
            let worth = &mut self.worth[link.to as usize];
            *worth = worth.max(worth_of_links);
        }
        if self.pages.len() == MOST_PAGES {
            self.pages.pop_front();
        }
        self.pages.push_back(LayeredPage { number, on_topic: source.on_topic, words });
        if self.schedule.is_due(self.known.page_count() as u64) {
            self.learn();
        }
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.known.settled(url.id());
    }

    fn priority(&mut self, source: &SourcePage<'_>, link: &Link) -> Option<f64> {
        let known = self.known.find(link.target.id()).map(|number| self.worth[number as usize]);
        Some(match known.filter(|worth| *worth > f32::MIN) {
            Some(worth) => f64::from(worth),
            None => self.worth_of(source.on_topic, &frequent(source.page, WORDS)),
        })
    }

    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        std::mem::take(&mut self.changed)
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(state::pack(FORM, (self.schedule, &self.known, &self.worth, &self.bayes, &self.pages)))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        let (schedule, known, worth, bayes, pages): (_, KnownGraph, Vec<f32>, _, VecDeque<LayeredPage>) =
            state::unpack(FORM, saved)?;
        state::check(worth.len() == known.len())?;
        state::check(pages.iter().all(|page| (page.number as usize) < known.len()))?;
        self.bayes.restore(bayes)?;
        self.schedule.resume(schedule);
        (self.known, self.worth, self.pages) = (known, worth, pages);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::harness::{Harness, TestWeb, goal, url};

    #[test]
    fn layers_are_predicted_from_words() {
        let web = TestWeb::new(&[
            // Lists lead to owls, doors to lists, gates to doors; cheese leads to cheese.
            ("/s", "gate <a href=/d1></a><a href=/c1></a><a href=/d2></a>", 0.1),
            ("/d1", "door <a href=/l1></a>", 0.1),
            ("/l1", "list <a href=/o1></a>", 0.1),
            ("/o1", "owl", 0.9),
            ("/c1", "cheese <a href=/c2></a>", 0.1),
            ("/c2", "cheese <a href=/c3></a>", 0.1),
            ("/c3", "cheese <a href=/c4></a>", 0.1),
            ("/d2", "door <a href=/l2></a>", 0.1),
            ("/l2", "list <a href=/o2></a>", 0.1),
            ("/o2", "owl", 0.9),
        ]);
        let starts = ["/s", "/d1", "/l1", "/o1", "/c1", "/c2"].map(url);
        let mut crawl = Harness::new(&web, "context-graph:every=6", &goal("", 1), &starts);
        crawl.run(5);
        // Untrained: all links are queued after layers 1 to 3.
        assert_eq!(crawl.frontier(), "/c2 100, /d2 -400");
        crawl.run(6);
        // One page for each class, of one word out of four: its own word has 2/5 there and 1/5 in each other class. So
        // a page of that word has probability 0.4 of its class, half of which counts within the layer.
        assert_eq!(crawl.frontier(), "/d2 -280, /c3 -380");
        crawl.run(7);
        assert_eq!(crawl.frontier(), "/l2 -180, /c3 -380");
        crawl.run(8);
        assert_eq!(crawl.frontier(), "/o2 -80, /c3 -380");
        assert_eq!(crawl.run(99), "/s /d1 /l1 /o1 /c1 /c2 /d2 /l2 /o2 /c3 /c4");
    }
}
