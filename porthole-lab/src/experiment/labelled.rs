//! A web with its labels: the ground truth, the taxonomy, and two critics trained on disjoint sets of pages.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::BufReader;

use porthole_topic::import::{ImportedTaxonomy, tsv};
use porthole_topic::{
    ClassifierShape, CriticModel, Pretrained, Statistics, Taxonomy, TopicExample, TrainingOptions, Tuning,
    Tunings, train, tune_all,
};
use porthole_types::{CanonicalUrl, TermId, TopicId, UrlId};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::web::{KnownWeb, WebContents, read};
use super::{Experiment, ExperimentError, ExperimentWeb};

pub(super) type PageTerms = Vec<(TermId, u32)>;

pub(super) struct LabelledWeb {
    pub(super) web: KnownWeb,
    pub(super) tree: Taxonomy,
    /// The critic that guides crawls, unless each topic has its own.
    guide: Option<CriticModel>,
    /// An independent critic for evaluation: another shape, other pages.
    pub(super) independent: CriticModel,
    /// The pages that the guiding critic was trained on.
    pub(super) trained_on: HashSet<UrlId>,
    /// The pages that the independent critic was trained on.
    pub(super) independent_of: HashSet<UrlId>,
    /// Topics of each page that is labelled and readable.
    pub(super) topics: PageTopicLists,
    /// Links of each page and targets of redirects, inside the web.
    pub(super) links: BTreeMap<UrlId, Vec<UrlId>>,
    /// The terms of each page.
    pub(super) counts: BTreeMap<UrlId, PageTerms>,
    pub(super) hosts: usize,
    /// Statistics of topics besides these pages.
    prior: Statistics,
    /// The leaf `Other` of each topic with children.
    others: BTreeMap<TopicId, TopicId>,
}

pub(super) type PageTopicLists = BTreeMap<UrlId, (CanonicalUrl, Vec<TopicId>)>;

impl LabelledWeb {
    pub(super) fn open(experiment: &Experiment) -> Result<Self, ExperimentError> {
        let web = KnownWeb::open(&experiment.web)?;
        let mut tree = Taxonomy::new();
        let mut topics = labels(&experiment.web, &web, &mut tree)?;
        for topic in &experiment.topics {
            find(&tree, topic, &experiment.web)?;
        }
        let mut prior = Statistics::default();
        if experiment.general {
            let general = general(&tree, &experiment.web)?;
            (tree, prior) = (general.tree, general.statistics);
            topics = labels(&experiment.web, &web, &mut tree)?;
        }
        let WebContents { links, counts, hosts } = read(&web);
        topics.retain(|id, _| counts.contains_key(id));
        let (trained_on, independent_of) = split(experiment, &topics);
        let others = add_others(&mut tree, &topics, &prior)?;
        for (from, to) in &others {
            prior.move_to(*from, *to);
        }
        let trainer = CriticTrainer { tree: &tree, topics: &topics, counts: &counts, others: &others };
        let shape = experiment.shape();
        let is_same = shape != ClassifierShape::TwoClass;
        let guide = is_same.then(|| trainer.model(&trained_on, shape, &prior, true));
        let independent = trainer.model(&independent_of, ClassifierShape::Flat, &Statistics::default(), true);
        Ok(LabelledWeb {
            web,
            guide,
            independent,
            tree,
            trained_on,
            independent_of,
            topics,
            links,
            counts,
            hosts,
            prior,
            others,
        })
    }

    /// The guiding critic for the marks of a tree.
    pub(super) fn guide(&self, marked: &Taxonomy) -> Cow<'_, CriticModel> {
        let LabelledWeb { topics, counts, others, .. } = self;
        let trainer = CriticTrainer { tree: marked, topics, counts, others };
        let own = || trainer.model(&self.trained_on, ClassifierShape::TwoClass, &self.prior, true);
        self.guide.as_ref().map_or_else(|| Cow::Owned(own()), Cow::Borrowed)
    }

    /// Trains the guiding critic again, from the pages alone, with default or tuned hyperparameters.
    pub(super) fn retrain_guide(&self, is_tuned: bool) -> CriticModel {
        let LabelledWeb { tree, topics, counts, others, .. } = self;
        let trainer = CriticTrainer { tree, topics, counts, others };
        trainer.model(&self.trained_on, ClassifierShape::Tree, &Statistics::default(), is_tuned)
    }

    /// The pages of a topic and its descendants, in the order of their ids.
    pub(super) fn pages(&self, topic: TopicId) -> Vec<&CanonicalUrl> {
        let below: HashSet<TopicId> = self.tree.below(topic).into_iter().collect();
        let is_about = |topics: &[TopicId]| topics.iter().any(|topic| below.contains(topic));
        self.topics.values().filter(|(_, topics)| is_about(topics)).map(|(url, _)| url).collect()
    }

    /// The end of a chain of redirects.
    pub(super) fn end(&self, mut id: UrlId) -> UrlId {
        const HOPS: usize = 5;
        for _ in 0..HOPS {
            match self.links.get(&id) {
                Some(to) if !self.counts.contains_key(&id) && to.len() == 1 => id = to[0],
                _ => break,
            }
        }
        id
    }

    /// All pages that can be reached from some pages through links.
    pub(super) fn reachable(&self, starts: &[CanonicalUrl]) -> HashSet<UrlId> {
        let mut open: Vec<UrlId> = starts.iter().map(CanonicalUrl::id).collect();
        let mut reached: HashSet<UrlId> = open.iter().copied().collect();
        while let Some(page) = open.pop() {
            let targets = self.links.get(&page).into_iter().flatten();
            open.extend(targets.filter(|target| reached.insert(**target)));
        }
        reached
    }
}

/// A pseudorandom number from 0 to 1, determined by a URL and a seed.
pub(super) fn share(url: &CanonicalUrl, seed: u64) -> f64 {
    (xxh3_64_with_seed(url.as_str().as_bytes(), seed) >> 11) as f64 / (1_u64 << 53) as f64
}

/// The pages that each critic is trained on; disjoint.
fn split(experiment: &Experiment, topics: &PageTopicLists) -> (HashSet<UrlId>, HashSet<UrlId>) {
    let train = experiment.train;
    let independent = train.min((1.0 - train) / 2.0);
    let part = |is_in: &dyn Fn(f64) -> bool| {
        let own = topics.values().filter(|(url, _)| is_in(share(url, experiment.seed)));
        own.map(|(url, _)| url.id()).collect()
    };
    (part(&|share| share < train), part(&|share| share >= 1.0 - independent))
}

fn labels(
    web: &ExperimentWeb,
    known: &KnownWeb,
    tree: &mut Taxonomy,
) -> Result<PageTopicLists, ExperimentError> {
    let mut topics = PageTopicLists::new();
    match (web, known) {
        (ExperimentWeb::Recorded { labels, .. }, _) => {
            let file = File::open(labels)
                .map_err(|source| ExperimentError::File { path: labels.clone(), source })?;
            let import = ImportedTaxonomy::gather(tsv(BufReader::new(file)))
                .map_err(|source| ExperimentError::Labels { path: labels.clone(), source })?;
            for found in import.found {
                let topic = tree.add_path(&found.topic)?;
                let page = topics.entry(found.url.id()).or_insert_with(|| (found.url, Vec::new()));
                page.1.push(topic);
            }
        }
        (_, KnownWeb::Synthetic(web)) => {
            for topic in web.topics().iter().filter(|topic| topic.id != TopicId::ROOT) {
                tree.add_path(&topic.path)?;
            }
            // Copies earn no credit, so they have no topic here.
            for (url, truth) in web.pages().filter(|(_, truth)| truth.earns_credit()) {
                let topic = tree.find(&truth.path)?;
                topics.insert(url.id(), (url, vec![topic]));
            }
        }
        _ => {}
    }
    Ok(topics)
}

/// Finds a topic; the error lists the existing topics.
fn find(tree: &Taxonomy, topic: &str, web: &ExperimentWeb) -> Result<TopicId, ExperimentError> {
    let found = tree.find(topic).ok().filter(|id| *id != TopicId::ROOT);
    found.ok_or_else(|| {
        let last = topic.rsplit('/').next().unwrap_or_default().to_lowercase();
        let all: Vec<String> = tree.ids().skip(1).map(|id| tree.path(id)).collect();
        let is_like = |path: &&String| !last.is_empty() && path.to_lowercase().contains(&last);
        let alike: Vec<&str> = all.iter().filter(is_like).map(String::as_str).take(5).collect();
        let hint = if alike.is_empty() {
            let top = tree.children(TopicId::ROOT).iter().map(|id| tree.path(*id)).collect::<Vec<_>>();
            format!("there are {} topics below {}", all.len(), top.join(", "))
        } else {
            format!("there is {}", alike.join(", "))
        };
        ExperimentError::NoTopic { topic: topic.to_owned(), web: named(web), hint }
    })
}

fn named(web: &ExperimentWeb) -> String {
    match web {
        ExperimentWeb::Recorded { labels, .. } => labels.display().to_string(),
        ExperimentWeb::Synthetic(_) => "the synthetic web".to_owned(),
    }
}

/// The general taxonomy, unless it was made from these pages, which are recognised by the names of their topics.
pub(super) fn general(tree: &Taxonomy, web: &ExperimentWeb) -> Result<Pretrained, ExperimentError> {
    let wrong = |error: porthole_topic::FormatError| ExperimentError::Wrong {
        from: "the general taxonomy".to_owned(),
        what: error.to_string(),
    };
    let general = Pretrained::general().map_err(wrong)?;
    let topics = general.tree.len() - 1;
    let is_here = |id: &TopicId| tree.find(&general.tree.path(*id)).is_ok();
    let shared = general.tree.ids().skip(1).filter(is_here).count();
    if 2 * shared > topics {
        return Err(ExperimentError::TrainedOn { web: named(web), shared, topics });
    }
    Ok(general)
}

/// Moves pages of topics with children to a leaf `Other`. Returns the pairs of topic and leaf.
fn add_others(
    tree: &mut Taxonomy,
    topics: &PageTopicLists,
    prior: &Statistics,
) -> Result<BTreeMap<TopicId, TopicId>, ExperimentError> {
    let labelled = topics.values().flat_map(|(_, topics)| topics.iter().copied());
    let all: BTreeSet<TopicId> = labelled.chain(prior.topics().map(|(id, _)| id)).collect();
    let all: Vec<TopicId> = all.into_iter().collect();
    Ok(tree.add_others(&all)?.into_iter().collect())
}

/// Inputs of training a critic.
struct CriticTrainer<'a> {
    tree: &'a Taxonomy,
    topics: &'a PageTopicLists,
    counts: &'a BTreeMap<UrlId, PageTerms>,
    others: &'a BTreeMap<TopicId, TopicId>,
}

impl CriticTrainer<'_> {
    fn model(
        &self,
        pages: &HashSet<UrlId>,
        shape: ClassifierShape,
        prior: &Statistics,
        is_tuned: bool,
    ) -> CriticModel {
        let labelled = self.topics.iter().filter(|(id, _)| pages.contains(id));
        let labelled = labelled.flat_map(|(id, (_, topics))| topics.iter().map(move |topic| (id, *topic)));
        let example = |(id, topic): (&UrlId, TopicId)| {
            let topic = self.others.get(&topic).copied().unwrap_or(topic);
            Some(TopicExample { topic, counts: self.counts.get(id)? })
        };
        let examples: Vec<TopicExample<'_>> = labelled.filter_map(example).collect();
        let mut statistics = Statistics::of(examples.iter().copied());
        statistics.merge(prior);
        let options = TrainingOptions { shape, ..TrainingOptions::default() };
        let (mut tunings, mut otherwise) = (Tunings::new(), Tuning::untried());
        if is_tuned {
            let tuned = tune_all(self.tree, &statistics, &examples, &options);
            (tunings, otherwise) = (tuned.tunings(), tuned.otherwise);
        }
        train(self.tree, &statistics, &tunings, &otherwise, &options)
    }
}
