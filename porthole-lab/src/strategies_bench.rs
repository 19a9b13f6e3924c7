//! Cost of a link under each strategy, with few and with many queued links, and cost of reordering a million of them.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use porthole_crawl::{Fetch, Request};
use porthole_page::{Extractor, Page};
use porthole_store::{Batch, SqliteStore, Store};
use porthole_strategy::{CrawlGoal, NameError, SourcePage, Strategy, named};
use porthole_topic::{Critic, Statistics, Taxonomy, TopicExample, TrainingOptions, Tuning, Tunings, train};
use porthole_types::{CanonicalUrl, Judgment, ManualClock, NewUrl, Timestamp, TopicId, UrlId};
use serde::Serialize;

use porthole_webs::synth::{SynthError, SynthParams, SyntheticWeb};

/// Errors of the benchmark.
#[derive(Debug, thiserror::Error)]
pub enum StrategyBenchError {
    /// The synthetic web could not be created.
    #[error(transparent)]
    Web(#[from] SynthError),
    /// A database error.
    #[error(transparent)]
    Store(#[from] porthole_store::Error),
    /// Unknown strategy.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// Costs of a strategy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StrategyCost {
    /// The strategy.
    pub strategy: String,
    /// Microseconds a link, for the first thousand queued links.
    pub few: f64,
    /// Microseconds a link, for the last tenth of all queued links.
    pub many: f64,
    /// Largest number of links rescored at once.
    pub rescored: usize,
    /// Longest rescoring in seconds.
    pub rescoring: f64,
}

/// Cost of changing all priorities in the database.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reordering {
    /// Number of queued URLs.
    pub urls: usize,
    /// Seconds until the queue has the new order, durably.
    pub queue: f64,
    /// Seconds until the table has it, too.
    pub table: f64,
}

/// Pages whose links are scored, and the goal.
pub struct StrategyBench {
    pages: Vec<(CanonicalUrl, Page, Judgment)>,
    goal: CrawlGoal,
}

/// The topic of the goal.
const TOPIC: &str = "/Recreation/Cycling";

impl StrategyBench {
    /// Reads some pages of a synthetic web, with a critic that was trained on others.
    ///
    /// # Errors
    /// If the web cannot be made.
    pub async fn new(seed: u64) -> Result<StrategyBench, StrategyBenchError> {
        let clock = Arc::new(ManualClock::default());
        let web = SyntheticWeb::new(SynthParams { seed, pages: 20_000, ..SynthParams::default() }, clock)?;
        let (mut tree, mut lessons, mut pages) = (Taxonomy::new(), Vec::new(), Vec::new());
        let mut extractor = Extractor::default();
        for topic in &web.topics()[1..] {
            let id = tree.add_path(&topic.path).unwrap_or(TopicId::ROOT);
            for (number, url) in web.examples(topic.id, 12, seed).into_iter().enumerate() {
                let Ok(response) = web.fetch(&Request::get(url.clone())).await else { continue };
                let page = extractor.extract(&url, &response.headers, &response.body);
                if number % 2 == 0 {
                    lessons.push((id, page.term_counts()));
                } else {
                    pages.push((url, page));
                }
            }
        }
        let examples = lessons.iter().map(|(topic, counts)| TopicExample { topic: *topic, counts });
        let statistics = Statistics::of(examples);
        let options = TrainingOptions::default();
        let model = train(&tree, &statistics, &Tunings::default(), &Tuning::untried(), &options);
        if let Ok(good) = tree.find(TOPIC) {
            let _ = tree.mark(good);
        }
        let mut critic = Critic::new(model, &tree);
        let mut judged = |(url, page): (CanonicalUrl, Page)| {
            let judgment = critic.judge_terms(page.terms());
            (url, page, judgment)
        };
        let pages = pages.into_iter().map(&mut judged).collect();
        Ok(StrategyBench { pages, goal: CrawlGoal::new(&tree, Some(critic), seed) })
    }

    /// Measures a strategy until this many links are queued.
    ///
    /// # Errors
    /// If there is no such strategy.
    pub fn strategy(&self, name: &str, links: usize) -> Result<StrategyCost, StrategyBenchError> {
        let mut strategy = named(name, &self.goal)?;
        let (mut few, mut many) = (Timer::default(), Timer::default());
        let (mut most, mut rescoring, mut waiting) = (0, 0.0_f64, 0);
        for round in 0.. {
            if waiting >= links {
                break;
            }
            for (number, (url, page, judgment)) in self.pages.iter().enumerate() {
                let (url, page) = with_new_urls(url, page, round, number);
                let source = SourcePage {
                    url: &url,
                    page: &page,
                    judgment: *judgment,
                    on_topic: judgment.relevance > 0.5,
                    depth: 1,
                };
                let started = Instant::now();
                score(&mut *strategy, &source);
                let took = started.elapsed().as_secs_f64();
                let started = Instant::now();
                most = most.max(strategy.rescored().len());
                rescoring = started.elapsed().as_secs_f64().max(rescoring);
                if waiting < 1_000 {
                    few.add(took, page.links.len());
                } else if waiting >= links / 10 * 9 {
                    many.add(took, page.links.len());
                }
                waiting += page.links.len();
            }
        }
        let strategy = name.to_owned();
        Ok(StrategyCost { strategy, few: few.each(), many: many.each(), rescored: most, rescoring })
    }
}

/// Changes the priorities of this many queued URLs, up and down, in a new database.
///
/// # Errors
/// If the database fails.
pub fn reorder(database: &Path, urls: usize) -> Result<Reordering, StrategyBenchError> {
    let mut store = SqliteStore::open(database)?;
    let name = |number: usize| format!("http://h{}.test/page/{number}", number % 997);
    let new = |number: usize| {
        let priority = (number % 1_000) as f64 / 1_000.0;
        CanonicalUrl::parse(&name(number)).ok().map(|url| NewUrl { url, relevance: 0.5, priority, depth: 1 })
    };
    let all: Vec<NewUrl> = (0..urls).filter_map(new).collect();
    store.add(&all)?;
    let other = |new: &NewUrl| (new.url.id(), (1.0 - new.priority) * 0.9);
    let priorities: Vec<(UrlId, f64)> = all.iter().map(other).collect();
    let started = Instant::now();
    store.commit(&Batch { priorities: &priorities, ..Batch::default() })?;
    store.take(1, Timestamp(0))?;
    let queue = started.elapsed().as_secs_f64();
    store.tidy()?;
    Ok(Reordering { urls: all.len(), queue, table: started.elapsed().as_secs_f64() })
}

/// Sum of seconds and links.
#[derive(Clone, Copy, Debug, Default)]
struct Timer {
    seconds: f64,
    links: usize,
}

impl Timer {
    fn add(&mut self, seconds: f64, links: usize) {
        self.seconds += seconds;
        self.links += links;
    }

    /// Microseconds a link.
    fn each(self) -> f64 {
        self.seconds * 1e6 / self.links.max(1) as f64
    }
}

fn score(strategy: &mut dyn Strategy, source: &SourcePage<'_>) {
    strategy.arrived(source);
    let mut seen = HashSet::new();
    for link in &source.page.links {
        if seen.insert(link.target.id()) {
            std::hint::black_box(strategy.priority(source, link));
        }
    }
}

/// The same page at another URL, with links to new URLs.
fn with_new_urls(url: &CanonicalUrl, page: &Page, round: usize, number: usize) -> (CanonicalUrl, Page) {
    let moved = |url: &CanonicalUrl, place: usize| {
        let text = format!("{}/{round}/{number}/{place}", url.as_str().trim_end_matches('/'));
        CanonicalUrl::parse(&text).unwrap_or_else(|_| url.clone())
    };
    let mut page = page.clone();
    for (place, link) in page.links.iter_mut().enumerate() {
        link.target = moved(&link.target, place);
    }
    (moved(url, usize::MAX), page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_measured() {
        let bench = pollster::block_on(StrategyBench::new(1)).unwrap();
        let cost = bench.strategy("porthole", 3_000).unwrap();
        assert!(cost.few > 0.0 && cost.many > 0.0, "{cost:?}");
        assert!(cost.rescored > 0 && cost.rescored <= 20_000, "{cost:?}");
        assert!(bench.strategy("psychic", 10).is_err());
        let folder = tempfile::tempdir().unwrap();
        let order = reorder(&folder.path().join("crawl.db"), 2_000).unwrap();
        assert!(order.urls == 2_000 && order.queue > 0.0 && order.table >= order.queue, "{order:?}");
    }
}
