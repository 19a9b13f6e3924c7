//! Training data of the demo's critic: a few pages about every topic of the web.

use std::collections::HashSet;
use std::time::Instant;

use porthole_crawl::{Fetch, Request};
use porthole_page::Extractor;
use porthole_store::{ExampleState, NewExample, TopicChange, WorkspaceWriter};
use porthole_topic::{CriticModel, Statistics, Taxonomy, TopicExample, TrainingOptions, train, tune_all};
use porthole_types::{CanonicalUrl, Mark, TermId, TopicId, TopicRow, UrlId};
use porthole_webs::synth::{SyntheticWeb, Topic};

use crate::output::count;
use crate::workspace::{self, CRITIC};

/// Number of example pages per topic, as many as a user might collect.
const EXAMPLES: usize = 12;

/// A trained critic and the start URLs of the crawls.
pub(super) struct DemoCritic {
    /// The web's topics, with the demo's topic marked good.
    pub(super) tree: Taxonomy,
    pub(super) model: CriticModel,
    /// The examples of the good topic (V 1.1).
    pub(super) starts: Vec<CanonicalUrl>,
    /// All examples; fetching them does not count as a result.
    pub(super) examples: HashSet<UrlId>,
    pages: Vec<ExamplePage>,
    /// Topics that have examples.
    pub(super) topics: usize,
    pub(super) seconds: f64,
}

impl DemoCritic {
    /// Fetches examples and trains the critic on them.
    pub(super) async fn learn(web: &SyntheticWeb, good: TopicId, seed: u64) -> anyhow::Result<DemoCritic> {
        let began = Instant::now();
        let mut tree = Taxonomy::from_rows(&web.topics().iter().map(row).collect::<Vec<_>>())?;
        tree.mark(good)?;
        let pages = fetch_examples(web, seed).await;
        let is_start = |topic: TopicId| topic == good || tree.ancestors(topic).any(|above| above == good);
        let starts = pages.iter().filter(|page| is_start(page.topic)).map(|page| page.url.clone()).collect();
        let model = model(&tree, &pages);
        Ok(DemoCritic {
            model,
            starts,
            examples: pages.iter().map(|page| page.url.id()).collect(),
            topics: web.topics().iter().filter(|topic| topic.leaf).count(),
            seconds: began.elapsed().as_secs_f64(),
            pages,
            tree,
        })
    }

    /// Stores topics, examples and critic, as `porthole train` does.
    pub(super) fn keep(&self, store: &mut dyn WorkspaceWriter) -> anyhow::Result<()> {
        let examples: Vec<NewExample> = self.pages.iter().map(ExamplePage::row).collect();
        store.change_topics(&TopicChange {
            topics: Some(&self.tree.rows()),
            added: &examples,
            ..TopicChange::default()
        })?;
        workspace::keep(store, CRITIC, self.model.to_bytes())
    }

    pub(super) fn in_words(&self) -> String {
        format!(
            "trained the critic on {} about {} in {:.1} s",
            count(self.examples.len(), "page"),
            count(self.topics, "topic"),
            self.seconds
        )
    }
}

/// A topic of the web as a row of the tree, with the same id.
fn row(topic: &Topic) -> TopicRow {
    let name = topic.path.rsplit('/').next().unwrap_or_default().to_owned();
    TopicRow { id: topic.id, parent: topic.parent.unwrap_or(TopicId::ROOT), name, mark: Mark::Null }
}

/// An example with its term counts.
struct ExamplePage {
    url: CanonicalUrl,
    topic: TopicId,
    title: String,
    language: String,
    counts: Vec<(TermId, u32)>,
}

impl ExamplePage {
    fn row(&self) -> NewExample {
        NewExample {
            topic: self.topic,
            url: self.url.to_string(),
            title: self.title.clone(),
            source: "demo".to_owned(),
            language: self.language.clone(),
            state: ExampleState::Ok,
            terms: self.counts.clone(),
        }
    }
}

async fn fetch_examples(web: &SyntheticWeb, seed: u64) -> Vec<ExamplePage> {
    let mut extractor = Extractor::default();
    let mut pages = Vec::new();
    for topic in web.topics().iter().filter(|topic| topic.leaf) {
        for url in web.examples(topic.id, EXAMPLES, seed) {
            let Ok(response) = web.fetch(&Request::get(url.clone())).await else { continue };
            let page = extractor.extract(&url, &response.headers, &response.body);
            let (counts, language) = (page.term_counts(), page.language.to_owned());
            pages.push(ExamplePage { url, topic: topic.id, title: page.title, language, counts });
        }
    }
    pages
}

fn model(tree: &Taxonomy, pages: &[ExamplePage]) -> CriticModel {
    let examples: Vec<TopicExample<'_>> =
        pages.iter().map(|page| TopicExample { topic: page.topic, counts: &page.counts }).collect();
    let statistics = Statistics::of(examples.iter().copied());
    let options = TrainingOptions::default();
    let tuned = tune_all(tree, &statistics, &examples, &options);
    train(tree, &statistics, &tuned.tunings(), &tuned.otherwise, &options)
}
