//! Examples from specialised sites of the crawl (W 1), accepted if the critic's accuracy on the user's examples does
//! not drop.

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhow::Context;
use porthole_store::{ExampleState, NewExample, StoreReader, TopicChange, WorkspaceWriter};
use porthole_topic::{
    Critic, CriticModel, Grower, HeldOut, ModelKind, Specialty, Taxonomy, TopicExample, Tunings,
    specialty_sites,
};
use porthole_types::TopicId;
use serde::Serialize;

use super::pages::{self, KeptPage, KeptPages};
use super::{BASIS, Basis, TrainingPages, background};
use crate::cli::Usefulness;
use crate::documents::{DocumentReader, TermDocument};
use crate::output::misuse;
use crate::settings::TrainSettings;
use crate::workspace::{self, CRITIC, Workspace};

/// Source of examples from specialised sites.
pub(crate) const SOURCE: &str = "grown";

/// Minimum probability of the topic for a candidate page.
const SURE: f64 = 0.9;

/// Limits of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GrowthLimits {
    /// Maximum number of sites to try.
    pub(crate) sites: usize,
    /// Maximum number of pages per site.
    pub(crate) pages_a_site: usize,
    /// Maximum number of pages in total.
    pub(crate) pages: usize,
}

/// Result of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Grown {
    pub(crate) topic: String,
    /// Number of added examples.
    pub(crate) examples: usize,
    /// The sites tried, the densest first.
    pub(crate) sites: Vec<GrownSite>,
    pub(crate) before: Measured,
    pub(crate) after: Measured,
}

/// Result for a site.
#[derive(Debug, Serialize)]
pub(crate) struct GrownSite {
    pub(crate) host: String,
    /// Fetched pages of the site.
    pub(crate) pages: u32,
    /// Pages about the topic.
    pub(crate) on_topic: u32,
    /// Pages tried as examples.
    pub(crate) tried: usize,
    pub(crate) accepted: bool,
    /// Measured with these pages added.
    pub(crate) held_out: Measured,
}

/// Quality of the critic on held-out examples of the user.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Measured {
    pub(crate) accuracy: f64,
    pub(crate) log_loss: f64,
}

impl From<HeldOut> for Measured {
    fn from(held_out: HeldOut) -> Self {
        Measured { accuracy: held_out.accuracy, log_loss: held_out.log_loss }
    }
}

/// Tries pages of specialised sites as examples of a topic, site by site, and keeps those that do not lower the
/// accuracy on the user's examples. The caller has to train the critic afterwards.
pub(crate) fn grow(
    workspace: &Workspace,
    store: &mut dyn WorkspaceWriter,
    path: &str,
    limits: GrowthLimits,
    settings: &TrainSettings,
) -> anyhow::Result<Grown> {
    let reader = store.reader();
    let (critic, tree) = workspace::critic(&*reader)?;
    let topic = tree.find(path)?;
    refuse_unwanted(&tree, topic)?;
    let material = TrainingPages::load(store, settings)?;
    let originals = originals(&*reader)?;
    let shown = originals.iter().map(|(topic, counts)| TopicExample { topic: *topic, counts }).collect();
    let tunings = tunings(&*reader)?;
    let statistics = material.statistics.clone();
    let grower = Grower::new(&material.tree, topic, statistics, shown, &tunings, &settings.options);
    let Some(mut grower) = grower else {
        return Err(misuse(format!(
            "too few examples of {path} to measure whether more help; add some with `porthole examples add`"
        )));
    };
    let before = grower.held_out();
    let mut candidates = ExampleCandidates::new(workspace, &*reader, critic, tree, topic)?;
    let (sites, added) = candidates.take(&*reader, &mut grower, limits)?;
    let terms = candidates.documents.take_words();
    if !added.is_empty() {
        store.change_topics(&TopicChange { added: &added, terms: &terms, ..TopicChange::default() })?;
    }
    let (before, after) = (before.into(), grower.held_out().into());
    Ok(Grown { topic: candidates.tree.path(topic), examples: added.len(), sites, before, after })
}

/// Checks that the topic is good or below a good one; the crawl looks for no others.
fn refuse_unwanted(tree: &Taxonomy, topic: TopicId) -> anyhow::Result<()> {
    if std::iter::once(topic).chain(tree.ancestors(topic)).any(|id| tree.is_good(id)) {
        return Ok(());
    }
    Err(misuse(format!(
        "{0} is neither good nor below a good topic, so the crawl did not look for it; mark it with \
        `porthole topics mark {0}`",
        tree.path(topic)
    )))
}

/// The examples that the user added.
fn originals(reader: &dyn StoreReader) -> anyhow::Result<Vec<super::ExampleTerms>> {
    let mut originals = Vec::new();
    reader.visit_examples(&mut |example, terms| {
        let is_own = example.source != SOURCE && example.source != background::SOURCE;
        if is_own && example.state == ExampleState::Ok && example.topic != TopicId::ROOT {
            originals.push((example.topic, terms.to_vec()));
        }
    })?;
    Ok(originals)
}

/// The tunings of the critic's nodes; empty unless it is naive Bayes.
fn tunings(reader: &dyn StoreReader) -> anyhow::Result<Tunings> {
    let stored = reader.model(CRITIC)?.context("there is no critic")?;
    let model = CriticModel::from_bytes(&stored.bytes)?;
    let basis = reader.model(BASIS)?.and_then(|basis| serde_json::from_slice::<Basis>(&basis.bytes).ok());
    Ok(match basis {
        Some(basis) if model.kind() == ModelKind::NaiveBayes => basis.tunings(&model),
        _ => Tunings::new(),
    })
}

/// Finds pages of the crawl that may become examples of a topic.
struct ExampleCandidates<'a> {
    workspace: &'a Workspace,
    critic: Critic,
    tree: Taxonomy,
    topic: TopicId,
    documents: DocumentReader,
    /// URLs that are not candidates: examples, and pages marked useless.
    known: HashSet<String>,
}

impl<'a> ExampleCandidates<'a> {
    fn new(
        workspace: &'a Workspace,
        reader: &dyn StoreReader,
        critic: Critic,
        tree: Taxonomy,
        topic: TopicId,
    ) -> anyhow::Result<Self> {
        let mut known = pages::pages_marked(reader, Usefulness::Useless)?;
        known.extend(reader.examples(None)?.into_iter().map(|example| example.url));
        Ok(ExampleCandidates { workspace, critic, tree, topic, documents: DocumentReader::new(), known })
    }

    /// Tries sites up to the limits. Returns the result for each, and the accepted pages.
    fn take(
        &mut self,
        reader: &dyn StoreReader,
        grower: &mut Grower<'_>,
        limits: GrowthLimits,
    ) -> anyhow::Result<(Vec<GrownSite>, Vec<NewExample>)> {
        let (mut sites, mut taken) = (Vec::new(), Vec::new());
        for (site, pages) in self.sites(reader)? {
            if sites.len() == limits.sites || taken.len() >= limits.pages {
                break;
            }
            let pages = self.best_of(reader, &pages, limits.pages_a_site.min(limits.pages - taken.len()))?;
            if pages.is_empty() {
                continue;
            }
            let examples: Vec<_> =
                pages.iter().map(|page| TopicExample { topic: page.topic, counts: &page.terms }).collect();
            let tried = grower.try_add(&examples);
            sites.push(GrownSite {
                host: site.site,
                pages: site.pages,
                on_topic: site.on_topic,
                tried: pages.len(),
                accepted: tried.is_ok(),
                held_out: tried.unwrap_or_else(|worse| worse).into(),
            });
            if tried.is_ok() {
                taken.extend(pages);
            }
        }
        Ok((sites, taken))
    }

    /// The specialised sites of the crawl with their pages about the topic, the densest first.
    fn sites(&self, reader: &dyn StoreReader) -> anyhow::Result<Vec<(Specialty<String>, Vec<KeptPage>)>> {
        let wanted: HashSet<TopicId> = self.tree.below(self.topic).into_iter().collect();
        let (mut all, mut on_topic) = (Vec::new(), HashMap::<String, Vec<KeptPage>>::new());
        for page in KeptPages::of(reader) {
            let page = page?;
            let host = page.url.authority().to_owned();
            let is_sure = |judgment: porthole_types::Judgment| {
                judgment.relevance >= SURE && wanted.contains(&judgment.best)
            };
            let is_on_topic = page.judgment.is_some_and(is_sure);
            all.push((host.clone(), is_on_topic));
            if is_on_topic {
                on_topic.entry(host).or_default().push(page);
            }
        }
        let avoided = self.avoided(reader)?;
        let sites = specialty_sites(all).into_iter().filter(|site| !avoided.contains(&site.site));
        Ok(sites
            .map(|site| {
                let pages = on_topic.remove(&site.site).unwrap_or_default();
                (site, pages)
            })
            .collect())
    }

    /// Sites marked useless.
    fn avoided(&self, reader: &dyn StoreReader) -> anyhow::Result<HashSet<String>> {
        let feedback = reader.feedback()?.into_iter();
        let useless = feedback.filter(|word| word.kind == porthole_store::FeedbackKind::Site && !word.useful);
        Ok(useless.map(|word| word.name).collect())
    }

    /// The pages that the current critic is most certain of, as examples of their best topics.
    fn best_of(
        &mut self,
        reader: &dyn StoreReader,
        pages: &[KeptPage],
        most: usize,
    ) -> anyhow::Result<Vec<NewExample>> {
        let mut seen = HashSet::new();
        let mut sure: Vec<(f64, NewExample)> = Vec::new();
        let is_new = |page: &&KeptPage| !self.known.contains(page.url.as_str());
        let new: Vec<&KeptPage> = pages.iter().filter(is_new).take(READ).collect();
        for page in new {
            let Some(document) = page.read(reader, self.workspace, &mut self.documents)? else { continue };
            let Some((topic, probability)) = self.judge(&document) else { continue };
            if seen.insert(page.simhash) {
                sure.push((probability, example(topic, page, document)));
            }
        }
        sure.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.url.cmp(&b.1.url)));
        Ok(sure.into_iter().map(|(_, example)| example).take(most).collect())
    }

    /// The best leaf for a document, if the critic is certain that it is about the topic.
    fn judge(&mut self, document: &TermDocument) -> Option<(TopicId, f64)> {
        let all: BTreeMap<TopicId, f64> = self.critic.all(&document.terms).into_iter().collect();
        let (best, _) = self.critic.best(&document.terms);
        let probability = *all.get(&self.topic)?;
        (probability >= SURE && self.tree.below(self.topic).contains(&best)).then_some((best, probability))
    }
}

/// Maximum number of pages to read per site.
const READ: usize = 200;

fn example(topic: TopicId, page: &KeptPage, document: TermDocument) -> NewExample {
    NewExample {
        topic,
        url: page.url.as_str().to_owned(),
        title: document.title,
        source: SOURCE.to_owned(),
        language: document.language,
        state: document.state,
        terms: document.terms,
    }
}
