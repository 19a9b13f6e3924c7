//! Background examples: a seeded sample of crawled pages about no good topic, refreshed before training.

mod unlike;

use std::collections::{BTreeMap, HashSet};

use anyhow::Context;
use porthole_store::{
    ExampleChange, ExampleState, NewExample, StoreReader, StoredExample, TopicChange, WorkspaceWriter,
};
use porthole_topic::{
    Critic, IRRELEVANT, Pretrained, Sample, Statistics, Taxonomy, add_background, background, have_same_name,
};
use porthole_types::TopicId;
use serde::Serialize;

use super::learnt_from;
use super::pages::{self, KeptPage, KeptPages};
use crate::cli::Usefulness;
use crate::documents::{DocumentReader, TermDocument};
use crate::languages::ForeignLanguage;
use crate::workspace::{self, Workspace};

/// Source of background examples.
pub(crate) const SOURCE: &str = "background";

/// Minimum number of pages; fewer would describe themselves rather than the web.
const FEWEST: usize = 20;

/// A site may contribute one in this many pages, so that its menus do not dominate.
const MOST_OF_A_SITE: usize = 20;

/// Background pages an example, where they are all that the examples are compared with.
const MOST_AN_EXAMPLE: usize = 10;

/// Maximum number of pages to inspect, since many have a topic.
const POOL: usize = 2_000;

/// Probability from which a page belongs to a topic.
const SURE: f64 = 0.9;

/// Random seed: every training draws the same pages as long as they exist.
const SEED: u64 = 133;

/// Result of a refresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Background {
    /// Number of background examples.
    pub(crate) examples: usize,
    /// Added examples.
    pub(crate) came: usize,
    /// Removed examples.
    pub(crate) went: usize,
    /// Whether a topic of the user has the background's name, so that there is no background.
    pub(crate) is_taken: bool,
}

/// Updates the background examples from the crawl: at most `most`, and at most half as many as there are other
/// examples, unless these are very few. The pages come from `crawl`, which may be another database than the one with the
/// examples.
pub(crate) fn refresh(
    workspace: &Workspace,
    crawl: &dyn StoreReader,
    store: &mut dyn WorkspaceWriter,
    most: usize,
) -> anyhow::Result<Background> {
    let reader = store.reader();
    let tree = workspace::tree(&*reader)?;
    let (old, others): (Vec<StoredExample>, Vec<StoredExample>) =
        reader.examples(None)?.into_iter().partition(|example| example.source == SOURCE);
    let limit = match ForeignLanguage::of_good(&*reader)? {
        Some(_) => (MOST_AN_EXAMPLE * others.len()).max(FEWEST),
        None => background_limit(&tree, &learnt_from(&*reader)?, &others),
    };
    let most = most.min(limit);
    let mut documents = DocumentReader::new();
    let mut drawn = Vec::new();
    if most >= FEWEST {
        drawn = draw(workspace, crawl, (&old, &others), most, &mut documents)?;
    }
    if drawn.len() < FEWEST {
        drawn.clear();
    }
    replace(store, tree, Replacement { old, others, drawn, documents })
}

/// Adds the counts of the general taxonomy as the background of a tree that has none, until a crawl brings pages for
/// it. Without a background every page would belong to one of the user's topics. Topics that the tree has under the same
/// name are left out. Returns the topic; `None` if the background is taken, or has examples.
pub(super) fn add_general(
    store: &mut dyn WorkspaceWriter,
    tree: &mut Taxonomy,
    statistics: &mut Statistics,
) -> anyhow::Result<Option<TopicId>> {
    let topics_before = tree.len();
    let Some(leaf) = add_background(tree)? else { return Ok(None) };
    if statistics.topic(leaf).is_some() {
        return Ok(None);
    }
    if tree.len() > topics_before {
        store.set_topics(&tree.rows())?;
    }
    let general = Pretrained::general().context("cannot load the built-in general taxonomy")?;
    let mut counts = general.statistics;
    for topic in general.tree.ids().filter(|&topic| topic != TopicId::ROOT) {
        let has_name = |own: TopicId| have_same_name(tree.name(own), general.tree.name(topic));
        if tree.ids().any(|own| own != TopicId::ROOT && has_name(own)) {
            general.tree.below(topic).into_iter().for_each(|id| counts.forget(id));
        }
    }
    statistics.merge(&counts.into_one(leaf));
    Ok(Some(leaf))
}

/// The new background examples, to replace the old ones.
struct Replacement {
    old: Vec<StoredExample>,
    /// All other examples.
    others: Vec<StoredExample>,
    drawn: Vec<(String, TermDocument)>,
    documents: DocumentReader,
}

fn replace(
    store: &mut dyn WorkspaceWriter,
    mut tree: Taxonomy,
    Replacement { old, others, drawn, mut documents }: Replacement,
) -> anyhow::Result<Background> {
    let topics_before = tree.len();
    let leaf = if drawn.is_empty() { background(&tree) } else { add_background(&mut tree)? };
    let drawn_urls: HashSet<&str> = drawn.iter().map(|(url, _)| url.as_str()).collect();
    let is_kept =
        |example: &StoredExample| Some(example.topic) == leaf && drawn_urls.contains(example.url.as_str());
    let known: HashSet<&str> =
        old.iter().filter(|example| is_kept(example)).map(|example| example.url.as_str()).collect();
    let changes: Vec<ExampleChange> = old
        .iter()
        .filter(|example| !is_kept(example))
        .map(|example| ExampleChange::Remove(example.id))
        .collect();
    let new = drawn.iter().filter(|(url, _)| !known.contains(url.as_str()));
    let added: Vec<NewExample> =
        leaf.iter().flat_map(|&leaf| new.clone().map(move |(url, page)| example(leaf, url, page))).collect();
    let examples = known.len() + added.len();
    let done = Background {
        examples,
        came: added.len(),
        went: changes.len(),
        is_taken: leaf.is_none() && !drawn.is_empty(),
    };
    // Remove an empty background: no page is ever assigned to an empty topic.
    let is_own = |leaf: TopicId| others.iter().any(|example| example.topic == leaf);
    if let Some(leaf) = leaf.filter(|&leaf| examples == 0 && done.went > 0 && !is_own(leaf)) {
        tree.remove(leaf)?;
    }
    if done.came > 0 || done.went > 0 {
        let (rows, terms) = (tree.rows(), documents.take_words());
        let topics = (tree.len() != topics_before).then_some(rows.as_slice());
        store.change_topics(&TopicChange { topics, examples: &changes, added: &added, terms: &terms })?;
    }
    Ok(done)
}

/// Half of the number of all other examples, including those of the taxonomy: more would say little that is new.
fn background_limit(tree: &Taxonomy, learnt: &BTreeMap<TopicId, u32>, others: &[StoredExample]) -> usize {
    let own = others.iter().filter(|example| example.state == ExampleState::Ok).count();
    let leaf = background(tree);
    let learnt = learnt.iter().filter(|(topic, _)| Some(**topic) != leaf);
    let learnt: usize = learnt.map(|(_, &documents)| documents as usize).sum();
    (own.max(learnt) / 2).max(FEWEST)
}

/// Draws crawled pages that are about no good topic, both by the stored judgment and by the current critic (marks may
/// have changed), and that no other topic claims with certainty. Pages that are background examples already stay if
/// they are drawn: each training changes the critic, and the background should not change with it.
fn draw(
    workspace: &Workspace,
    reader: &dyn StoreReader,
    (old, others): (&[StoredExample], &[StoredExample]),
    most: usize,
    documents: &mut DocumentReader,
) -> anyhow::Result<Vec<(String, TermDocument)>> {
    let useful = pages::pages_marked(reader, Usefulness::Useful)?;
    let shown: HashSet<&str> = others.iter().map(|example| example.url.as_str()).collect();
    // A critic that knows no other page in the language of the examples takes all of them for relevant. Half of the pages
    // that are drawn are left out then.
    let foreign = ForeignLanguage::of_good(reader)?;
    let drawn = if foreign.is_some() { 4 * most } else { 2 * most };
    let mut sample = Sample::new(
        POOL.max(drawn),
        (drawn / MOST_OF_A_SITE).max(if foreign.is_some() { 2 * FEWEST } else { 1 }),
        SEED,
    );
    for page in KeptPages::of(reader) {
        let page = page?;
        let is_irrelevant =
            foreign.is_some() || page.judgment.is_some_and(|judgment| judgment.relevance < IRRELEVANT);
        let url = page.url.as_str();
        if is_irrelevant && !useful.contains(url) && !shown.contains(url) {
            sample.offer(page.oid, page.url.site(), page);
        }
    }
    if let Some(language) = foreign {
        let pages = sample.into_pages().map(|page| {
            let document = page.read(reader, workspace, documents)?;
            Ok(document.map(|document| (page.url.as_str().to_owned(), document)))
        });
        let pages: Vec<_> = pages.collect::<anyhow::Result<_>>()?;
        let is_in = |document: &TermDocument| [language.code, ""].contains(&document.language.as_str());
        let pages = pages.into_iter().flatten().filter(|(_, document)| is_in(document)).collect();
        return unlike::least_like_examples(reader, pages, most);
    }
    let mut critic = workspace::critic(reader).ok();
    let mut drawn = Vec::new();
    // Count duplicates once.
    let mut seen = HashSet::new();
    let old: HashSet<&str> = old.iter().map(|example| example.url.as_str()).collect();
    let (first, then): (Vec<KeptPage>, Vec<KeptPage>) =
        sample.into_pages().partition(|page| old.contains(page.url.as_str()));
    for page in first.into_iter().chain(then) {
        if drawn.len() == most {
            break;
        }
        let Some(document) = page.read(reader, workspace, documents)? else { continue };
        let sure = if old.contains(page.url.as_str()) { f64::INFINITY } else { SURE };
        let is_placed =
            critic.as_mut().is_some_and(|(critic, tree)| has_a_topic(critic, tree, &document, sure));
        if seen.insert(page.simhash) && !is_placed {
            drawn.push((page.url.as_str().to_owned(), document));
        }
    }
    Ok(drawn)
}

/// Whether a page is about a topic: possibly a good one, or certainly any. The background's own probability is left
/// out; otherwise pages that once were background would stay so.
fn has_a_topic(critic: &mut Critic, tree: &Taxonomy, document: &TermDocument, sure: f64) -> bool {
    let leaf = background(tree);
    let (mut of_background, mut best) = (0.0, 0.0f64);
    for (topic, probability) in critic.all(&document.terms) {
        if Some(topic) == leaf {
            of_background = probability;
        } else if tree.is_leaf(topic) {
            best = best.max(probability);
        }
    }
    let rest = (1.0 - of_background).max(f64::MIN_POSITIVE);
    critic.judge(&document.terms).relevance / rest >= IRRELEVANT || best / rest >= sure
}

fn example(topic: TopicId, url: &str, document: &TermDocument) -> NewExample {
    NewExample {
        topic,
        url: url.to_owned(),
        title: document.title.clone(),
        source: SOURCE.to_owned(),
        language: document.language.clone(),
        state: document.state.clone(),
        terms: document.terms.clone(),
    }
}
