//! A recorded web with its labels: the truth, the taxonomy, and a critic trained on a part of the pages.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::BufReader;

use porthole_crawl::{Fetch, Request};
use porthole_page::Extractor;
use porthole_topic::import::{Import, tsv};
use porthole_topic::{Example, Model, Options, Statistics, Taxonomy, Tuning, Tunings, train, tune_all};
use porthole_types::{CanonicalUrl, TermId, TopicId, UrlId};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Experiment, ExperimentError};
use crate::recorded::RecordedWeb;

pub(super) struct LabelledWeb {
    pub(super) web: RecordedWeb,
    pub(super) tree: Taxonomy,
    pub(super) model: Model,
    /// The pages that the critic was trained on.
    pub(super) trained_on: HashSet<UrlId>,
    /// The topics of each page that is labelled and recorded.
    topics: BTreeMap<UrlId, (CanonicalUrl, Vec<TopicId>)>,
    /// What each recorded page links to, inside the web.
    links: BTreeMap<UrlId, Vec<UrlId>>,
}

impl LabelledWeb {
    pub(super) async fn open(experiment: &Experiment) -> Result<Self, ExperimentError> {
        let web = RecordedWeb::open(&[&experiment.web])?;
        let (mut tree, topics) = labels(experiment, &web)?;
        let is_trained_on = |url: &CanonicalUrl| share(url, experiment.seed) < experiment.train;
        let trained_on: HashSet<UrlId> =
            topics.values().filter(|(url, _)| is_trained_on(url)).map(|(url, _)| url.id()).collect();
        let (links, counts) = read(&web, &trained_on).await;
        let model = model(&mut tree, &topics, &counts);
        Ok(LabelledWeb { web, tree, model, trained_on, topics, links })
    }

    /// The pages of a topic and of all that is below it, in the order of their ids.
    pub(super) fn pages(&self, topic: TopicId) -> Vec<&CanonicalUrl> {
        let below: HashSet<TopicId> = self.tree.below(topic).into_iter().collect();
        let is_about = |topics: &[TopicId]| topics.iter().any(|topic| below.contains(topic));
        self.topics.values().filter(|(_, topics)| is_about(topics)).map(|(url, _)| url).collect()
    }

    /// What can be reached from some pages by following links.
    pub(super) fn reachable(&self, starts: &[&CanonicalUrl]) -> HashSet<UrlId> {
        let mut open: Vec<UrlId> = starts.iter().map(|url| url.id()).collect();
        let mut reached: HashSet<UrlId> = open.iter().copied().collect();
        while let Some(page) = open.pop() {
            let targets = self.links.get(&page).into_iter().flatten();
            open.extend(targets.filter(|target| reached.insert(**target)));
        }
        reached
    }
}

/// A number from 0 to 1 that follows from a URL and a seed.
pub(super) fn share(url: &CanonicalUrl, seed: u64) -> f64 {
    (xxh3_64_with_seed(url.as_str().as_bytes(), seed) >> 11) as f64 / (1_u64 << 53) as f64
}

type Topics = BTreeMap<UrlId, (CanonicalUrl, Vec<TopicId>)>;

fn labels(experiment: &Experiment, web: &RecordedWeb) -> Result<(Taxonomy, Topics), ExperimentError> {
    let path = experiment.labels.clone();
    let file = File::open(&path).map_err(|source| ExperimentError::Read { path: path.clone(), source })?;
    let import = Import::gather(tsv(BufReader::new(file)))
        .map_err(|source| ExperimentError::Labels { path, source })?;
    let mut tree = Taxonomy::new();
    let mut topics = Topics::new();
    for found in import.found {
        let topic = tree.add_path(&found.topic)?;
        if web.has(&found.url) {
            let page = topics.entry(found.url.id()).or_insert_with(|| (found.url, Vec::new()));
            page.1.push(topic);
        }
    }
    Ok((tree, topics))
}

type Links = BTreeMap<UrlId, Vec<UrlId>>;
type AllCounts = BTreeMap<UrlId, Vec<(TermId, u32)>>;

/// Reads all pages: their links, and the terms of those that are trained on.
async fn read(web: &RecordedWeb, trained_on: &HashSet<UrlId>) -> (Links, AllCounts) {
    let mut extractor = Extractor::default();
    let (mut links, mut counts) = (Links::new(), AllCounts::new());
    for url in web.pages() {
        let Ok(response) = web.fetch(&Request::get(url.clone())).await else { continue };
        let page = extractor.extract(url, &response.headers, &response.body);
        let inside = page.links.iter().filter(|link| web.has(&link.target));
        let mut targets: Vec<UrlId> = inside.map(|link| link.target.id()).collect();
        let redirect = response.headers.get("location").and_then(|location| url.join(location).ok());
        targets.extend(redirect.filter(|target| web.has(target)).map(|target| target.id()));
        links.insert(url.id(), targets);
        if trained_on.contains(&url.id()) {
            counts.insert(url.id(), page.term_counts());
        }
    }
    (links, counts)
}

fn model(tree: &mut Taxonomy, topics: &Topics, counts: &AllCounts) -> Model {
    let labelled = topics.iter().flat_map(|(id, (_, topics))| topics.iter().map(move |topic| (id, *topic)));
    let of_page = |(id, topic): (&UrlId, TopicId)| Some(Example { topic, counts: counts.get(id)? });
    let mut examples: Vec<Example<'_>> = labelled.filter_map(of_page).collect();
    let with_examples: Vec<TopicId> =
        Statistics::of(examples.iter().copied()).topics().map(|(id, _)| id).collect();
    let others: BTreeMap<TopicId, TopicId> =
        tree.add_others(&with_examples).unwrap_or_default().into_iter().collect();
    for example in &mut examples {
        example.topic = others.get(&example.topic).copied().unwrap_or(example.topic);
    }
    let statistics = Statistics::of(examples.iter().copied());
    let options = Options::default();
    let tuned = tune_all(tree, &statistics, &examples, &options);
    let tunings: Tunings = tuned.into_iter().map(|(node, tuned)| (node, tuned.tuning)).collect();
    train(tree, &statistics, &tunings, &Tuning::untried(), &options)
}
