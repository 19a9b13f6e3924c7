//! Imports topics and examples from a source. Everything is collected first, so that a broken file leaves the
//! workspace unchanged.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use porthole_store::{ExampleState, NewExample, StoreReader, TermWord, TopicChange, WorkspaceWriter};
use porthole_topic::import::{Directory, ImportEntry};
use porthole_topic::prune::{Losses, Pruned, Pruning, prune};
use porthole_topic::{Critic, Taxonomy, TaxonomyError, same_topic};
use porthole_types::TopicId;
use porthole_webs::RecordedWeb;
use serde::Serialize;

use crate::documents::{DocumentReader, TermDocument};
use crate::output::{Progress, misuse};
use crate::sources::{self, ExampleSource, PagePlace, SourceExample, SourceFormat};
use crate::visiting;

/// What to import, and how.
pub(crate) struct ImportRequest<'a> {
    pub(crate) source: &'a ExampleSource,
    /// Parent of all imported topics.
    pub(crate) below: Option<&'a str>,
    /// Recorded web with the pages of URLs.
    pub(crate) web: Option<&'a RecordedWeb>,
    pub(crate) pruning: Option<Pruning>,
    /// Whether URLs of this machine and of local networks are imported.
    pub(crate) allows_local: bool,
}

/// Everything to be written.
pub(crate) struct ImportData {
    tree: Taxonomy,
    examples: Vec<NewExample>,
    words: Vec<TermWord>,
    pub(crate) report: ImportReport,
}

/// Result of an import.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ImportReport {
    pub(crate) file: PathBuf,
    pub(crate) format: &'static str,
    /// Number of new topics.
    pub(crate) new_topics: usize,
    pub(crate) examples: usize,
    /// Examples with words.
    pub(crate) read: usize,
    /// Examples whose pages are not fetched yet.
    pub(crate) to_fetch: usize,
    /// Examples that were known with their pages.
    pub(crate) known: usize,
    /// Skipped entries, as messages.
    pub(crate) left_out: Noted<String>,
    /// Examples whose pages could not be read.
    pub(crate) missing: Noted<Lacking>,
    /// Examples whose pages have no words.
    pub(crate) empty: Noted<Lacking>,
    pub(crate) pruned: Option<PruningReport>,
    /// Topics that mean the same as one of the tree.
    pub(crate) same: Vec<ImportedMatch>,
}

/// A topic of a source that means the same as one of the tree.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ImportedMatch {
    pub(crate) topic: String,
    pub(crate) into: String,
    /// Number of its pages that the critic assigns to the other topic, and of all.
    pub(crate) pages: usize,
    pub(crate) of: usize,
}

/// A list of messages. There may be one per line of a file, so only the first are kept.
#[derive(Debug, Serialize)]
pub(crate) struct Noted<T> {
    pub(crate) count: usize,
    pub(crate) first: Vec<T>,
}

impl<T> Noted<T> {
    fn push(&mut self, noted: T) {
        const KEPT: usize = 1_000;
        self.count += 1;
        if self.first.len() < KEPT {
            self.first.push(noted);
        }
    }
}

impl<T> Default for Noted<T> {
    fn default() -> Self {
        Noted { count: 0, first: Vec::new() }
    }
}

/// An example without words, and the reason.
#[derive(Debug, Serialize)]
pub(crate) struct Lacking {
    pub(crate) name: String,
    pub(crate) why: String,
}

/// Result of pruning.
#[derive(Debug, Serialize)]
pub(crate) struct PruningReport {
    pub(crate) k: usize,
    pub(crate) topics_removed: usize,
    pub(crate) examples_moved: usize,
    pub(crate) others_made: usize,
    pub(crate) topics_sampled: usize,
    pub(crate) examples_left_out: usize,
}

/// Examples in the store that have their pages: topic and name.
pub(crate) type KnownExamples = HashSet<(TopicId, String)>;

/// The examples in a store that have their pages.
pub(crate) fn known(reader: &dyn StoreReader) -> anyhow::Result<KnownExamples> {
    let examples = reader.examples(None)?.into_iter();
    let read = examples.filter(|example| example.state == ExampleState::Ok);
    Ok(read.map(|example| (example.topic, example.url)).collect())
}

/// Reads a source twice: first to check that it is complete, then to import it. Memory is bounded by what is imported.
pub(crate) async fn gather(
    order: &ImportRequest<'_>,
    tree: Taxonomy,
    known: &KnownExamples,
) -> anyhow::Result<ImportData> {
    let whole = survey(order).with_context(|| nothing_imported(order))?;
    let chosen = choose(order, whole.directory).with_context(|| nothing_imported(order))?;
    let mut gathering = SecondPass::new(order, tree, known, chosen, whole.left_out);
    gathering.add_topics().with_context(|| nothing_imported(order))?;
    gathering.add_examples(whole.found).await.with_context(|| nothing_imported(order))?;
    Ok(gathering.finish())
}

impl ImportData {
    /// Finds new topics that mean the same as one of the tree as it was before, and merges them if asked to.
    pub(crate) fn find_same(
        &mut self,
        before: &Taxonomy,
        mut critic: Option<&mut Critic>,
        is_merging: bool,
    ) -> anyhow::Result<()> {
        let new: Vec<TopicId> =
            self.tree.ids().filter(|&id| !before.contains(id) && self.tree.is_leaf(id)).collect();
        for topic in new {
            let examples = self.examples.iter().filter(|example| example.topic == topic);
            let pages: Vec<_> =
                examples.map(|example| example.terms.as_slice()).filter(|terms| !terms.is_empty()).collect();
            let of = if critic.is_some() { pages.len() } else { 0 };
            let Some(same) = same_topic(critic.as_deref_mut(), before, self.tree.name(topic), &pages) else {
                continue;
            };
            self.report.same.push(ImportedMatch {
                topic: self.tree.path(topic),
                into: before.path(same.topic),
                pages: same.pages,
                of,
            });
            if is_merging {
                let moved = self.examples.iter_mut().filter(|example| example.topic == topic);
                moved.for_each(|example| example.topic = same.topic);
                self.tree.remove(topic)?;
                self.report.new_topics -= 1;
            }
        }
        Ok(())
    }
}

/// Writes an import in one transaction.
pub(crate) fn write(store: &mut dyn WorkspaceWriter, gathered: &ImportData) -> anyhow::Result<()> {
    let rows = gathered.tree.rows();
    Ok(store.change_topics(&TopicChange {
        topics: Some(&rows),
        examples: &[],
        added: &gathered.examples,
        terms: &gathered.words,
    })?)
}

fn nothing_imported(order: &ImportRequest<'_>) -> String {
    format!("nothing was imported: {}", order.source.path.display())
}

impl ImportRequest<'_> {
    /// Why an entry cannot be a page.
    fn refusal(&self, item: &SourceExample) -> Option<&'static str> {
        match &item.page {
            PagePlace::Url(url) if !self.allows_local => sources::not_on_the_web(url),
            _ => None,
        }
    }
}

/// Result of the first pass.
#[derive(Default)]
struct FirstPass {
    found: u32,
    left_out: Noted<String>,
    /// Only for pruning.
    directory: Option<Directory>,
}

fn survey(order: &ImportRequest<'_>) -> anyhow::Result<FirstPass> {
    let mut survey = FirstPass { directory: order.pruning.map(|_| Directory::new()), ..FirstPass::default() };
    for entry in order.source.items()? {
        match entry? {
            ImportEntry::Problem(problem) => survey.left_out.push(problem.to_string()),
            ImportEntry::Found(item) if order.refusal(&item).is_some() => {
                let why = order.refusal(&item).unwrap_or_default();
                survey.left_out.push(format!("{}: {why}", item.page.name()));
            }
            ImportEntry::Found(item) => {
                if let Some(directory) = &mut survey.directory {
                    directory.add(&item.topic, survey.found)?;
                }
                survey.found = survey.found.checked_add(1).ok_or_else(|| anyhow!("too many examples"))?;
            }
        }
    }
    Ok(survey)
}

/// Result of pruning: the topics of each remaining example, by its number.
struct Chosen {
    topics: HashMap<u32, Vec<String>>,
    report: PruningReport,
}

fn choose(order: &ImportRequest<'_>, directory: Option<Directory>) -> anyhow::Result<Option<Chosen>> {
    let (Some(directory), Some(pruning)) = (directory, order.pruning) else { return Ok(None) };
    if order.source.format == SourceFormat::DmozStructure {
        return Err(misuse(
            "--prune needs examples, and the structure file has none; import the content file",
        ));
    }
    let Pruned { taxonomy, examples, losses } =
        prune(directory, pruning).context("use a larger K with --prune")?;
    let mut topics = HashMap::<u32, Vec<String>>::new();
    for (topic, number) in examples {
        topics.entry(number).or_default().push(taxonomy.path(topic));
    }
    Ok(Some(Chosen { topics, report: PruningReport::of(pruning.k, losses) }))
}

impl PruningReport {
    fn of(k: usize, losses: Losses) -> Self {
        let Losses { topics_removed, examples_moved, others_made, topics_sampled, examples_left_out } =
            losses;
        PruningReport { k, topics_removed, examples_moved, others_made, topics_sampled, examples_left_out }
    }
}

/// State of the second pass.
struct SecondPass<'a> {
    order: &'a ImportRequest<'a>,
    known: &'a KnownExamples,
    tree: Taxonomy,
    topics_before: usize,
    chosen: Option<HashMap<u32, Vec<String>>>,
    reader: DocumentReader,
    /// The page read last: lists often name a page several times in a row, with different topics.
    last: Option<(String, TermDocument)>,
    examples: Vec<NewExample>,
    report: ImportReport,
}

impl<'a> SecondPass<'a> {
    fn new(
        order: &'a ImportRequest<'a>,
        tree: Taxonomy,
        known: &'a KnownExamples,
        chosen: Option<Chosen>,
        left_out: Noted<String>,
    ) -> Self {
        let (chosen, pruned) = chosen.map(|chosen| (chosen.topics, chosen.report)).unzip();
        let report = ImportReport {
            file: order.source.path.clone(),
            format: order.source.format.name(),
            left_out,
            pruned,
            ..ImportReport::default()
        };
        SecondPass {
            order,
            known,
            topics_before: tree.len(),
            tree,
            chosen,
            reader: DocumentReader::new(),
            last: None,
            examples: Vec::new(),
            report,
        }
    }

    /// Adds the topics of a source without examples.
    fn add_topics(&mut self) -> anyhow::Result<()> {
        if self.order.source.format != SourceFormat::DmozStructure {
            return Ok(());
        }
        for entry in self.order.source.topics()? {
            match entry? {
                ImportEntry::Problem(problem) => self.report.left_out.push(problem.to_string()),
                ImportEntry::Found(topic) => {
                    for path in std::iter::once(&topic.topic).chain(&topic.narrow) {
                        self.topic(path)?;
                    }
                }
            }
        }
        Ok(())
    }

    async fn add_examples(&mut self, total: u32) -> anyhow::Result<()> {
        let mut progress = Progress::new("reading pages", total.into());
        let mut number = 0;
        for entry in self.order.source.items()? {
            let ImportEntry::Found(item) = entry? else { continue };
            if self.order.refusal(&item).is_some() {
                continue;
            }
            let topics = match &mut self.chosen {
                None => vec![item.topic.clone()],
                Some(chosen) => chosen.remove(&number).unwrap_or_default(),
            };
            for topic in topics {
                let topic = self.topic(&topic)?;
                self.add(topic, &item).await;
            }
            number += 1;
            progress.step(String::new);
        }
        progress.finish();
        Ok(())
    }

    /// Adds a topic of the source to the tree.
    fn topic(&mut self, path: &str) -> anyhow::Result<TopicId> {
        let full = format!("{}/{path}", self.order.below.unwrap_or(""));
        self.tree.add_path(&full).map_err(|error| match error {
            TaxonomyError::Full => anyhow!(error).context("too many topics; reduce them with --prune"),
            error => anyhow!(error),
        })
    }

    async fn add(&mut self, topic: TopicId, item: &SourceExample) {
        let name = item.page.name();
        let document = match &self.last {
            Some((last, document)) if *last == name => document.clone(),
            _ => self.read(&item.page).await,
        };
        if document.state != ExampleState::Ok && self.known.contains(&(topic, name.clone())) {
            // Do not overwrite a known page with an entry that has only its URL.
            self.report.known += 1;
            return;
        }
        self.count(&name, &document.state);
        self.last = Some((name.clone(), document.clone()));
        self.examples.push(NewExample {
            topic,
            url: name,
            title: if document.title.is_empty() { item.title.clone() } else { document.title },
            source: self.order.source.path.display().to_string(),
            language: document.language,
            state: document.state,
            terms: document.terms,
        });
    }

    fn count(&mut self, name: &str, state: &ExampleState) {
        let lacking = |why: &String| Lacking { name: name.to_owned(), why: why.clone() };
        match state {
            ExampleState::Ok => self.report.read += 1,
            ExampleState::Missing(_) if self.order.web.is_none() && !self.is_folder() => {
                self.report.to_fetch += 1;
            }
            ExampleState::Missing(why) => self.report.missing.push(lacking(why)),
            ExampleState::Empty(why) => self.report.empty.push(lacking(why)),
        }
    }

    fn is_folder(&self) -> bool {
        self.order.source.format == SourceFormat::Folder
    }

    async fn read(&mut self, page: &PagePlace) -> TermDocument {
        let read = match (page, self.order.web) {
            (PagePlace::File(path), _) => self.reader.file(path),
            (PagePlace::Url(url), Some(web)) => {
                Ok(visiting::read(&mut self.reader, visiting::visit_recorded(web, url).await))
            }
            (PagePlace::Url(_), None) => Ok(TermDocument::unread()),
        };
        read.unwrap_or_else(|error| TermDocument::missing(format!("{error:#}")))
    }

    fn finish(mut self) -> ImportData {
        self.report.new_topics = self.tree.len() - self.topics_before;
        self.report.examples = self.examples.len();
        let words = self.reader.take_words();
        ImportData { tree: self.tree, examples: self.examples, words, report: self.report }
    }
}
