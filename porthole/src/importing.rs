//! From a source to topics and examples: all that there is to be written is gathered first, so that a file that
//! turns out to be broken leaves nothing behind.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use porthole_store::{ExampleState, NewExample, StoreReader, TermWord, TopicChange, WorkspaceWriter};
use porthole_topic::import::{Directory, ImportEntry};
use porthole_topic::prune::{Losses, Pruned, Pruning, prune};
use porthole_topic::{Taxonomy, TaxonomyError};
use porthole_types::TopicId;
use porthole_webs::RecordedWeb;
use serde::Serialize;

use crate::documents::{Document, DocumentReader};
use crate::output::{Progress, misuse};
use crate::sources::{Format, Item, PagePlace, Source};
use crate::visiting;

/// What to import, and how.
pub(crate) struct Order<'a> {
    pub(crate) source: &'a Source,
    /// All topics go below this one.
    pub(crate) below: Option<&'a str>,
    /// Where the pages of URLs are taken from.
    pub(crate) web: Option<&'a RecordedWeb>,
    pub(crate) pruning: Option<Pruning>,
}

/// All that there is to be written.
pub(crate) struct Gathered {
    tree: Taxonomy,
    examples: Vec<NewExample>,
    words: Vec<TermWord>,
    pub(crate) report: Report,
}

/// What became of an import.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) file: PathBuf,
    pub(crate) format: &'static str,
    /// Topics that were not there before.
    pub(crate) new_topics: usize,
    pub(crate) examples: usize,
    /// Examples that there is something to learn from.
    pub(crate) read: usize,
    /// Examples whose pages are yet to be fetched.
    pub(crate) to_fetch: usize,
    /// Examples that were there already, with their pages.
    pub(crate) known: usize,
    /// Entries that were left out, in words.
    pub(crate) left_out: Noted<String>,
    /// Examples whose pages could not be had.
    pub(crate) missing: Noted<Lacking>,
    /// Examples whose pages have no words.
    pub(crate) empty: Noted<Lacking>,
    pub(crate) pruned: Option<PruningReport>,
}

/// Things to tell one by one. There may be as many as a file has lines, so only the first are kept.
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

/// An example that there is nothing to learn from.
#[derive(Debug, Serialize)]
pub(crate) struct Lacking {
    pub(crate) name: String,
    pub(crate) why: String,
}

/// What pruning did.
#[derive(Debug, Serialize)]
pub(crate) struct PruningReport {
    pub(crate) k: usize,
    pub(crate) topics_removed: usize,
    pub(crate) examples_moved: usize,
    pub(crate) others_made: usize,
    pub(crate) topics_sampled: usize,
    pub(crate) examples_left_out: usize,
}

/// Examples that are in the store with their pages: topic and name.
pub(crate) type Known = HashSet<(TopicId, String)>;

/// The examples in a store that have their pages.
pub(crate) fn known(reader: &dyn StoreReader) -> anyhow::Result<Known> {
    let examples = reader.examples(None)?.into_iter();
    let read = examples.filter(|example| example.state == ExampleState::Ok);
    Ok(read.map(|example| (example.topic, example.url)).collect())
}

/// Reads a source twice: once to know that it is whole, once to take from it. Memory is bounded by what is taken.
pub(crate) async fn gather(order: &Order<'_>, tree: Taxonomy, known: &Known) -> anyhow::Result<Gathered> {
    let whole = survey(order).with_context(|| nothing_imported(order))?;
    let chosen = choose(order, whole.directory).with_context(|| nothing_imported(order))?;
    let mut gathering = Gathering::new(order, tree, known, chosen, whole.left_out);
    gathering.add_topics().with_context(|| nothing_imported(order))?;
    gathering.add_examples(whole.found).await.with_context(|| nothing_imported(order))?;
    Ok(gathering.finish())
}

/// Writes what was gathered, all of it or nothing.
pub(crate) fn write(store: &mut dyn WorkspaceWriter, gathered: &Gathered) -> anyhow::Result<()> {
    let rows = gathered.tree.rows();
    Ok(store.change_topics(&TopicChange {
        topics: Some(&rows),
        examples: &[],
        added: &gathered.examples,
        terms: &gathered.words,
    })?)
}

fn nothing_imported(order: &Order<'_>) -> String {
    format!("nothing was imported: {}", order.source.path.display())
}

/// What the first reading found.
#[derive(Default)]
struct Survey {
    found: u32,
    left_out: Noted<String>,
    /// Only if it is to be pruned.
    directory: Option<Directory>,
}

fn survey(order: &Order<'_>) -> anyhow::Result<Survey> {
    let mut survey = Survey { directory: order.pruning.map(|_| Directory::new()), ..Survey::default() };
    for entry in order.source.items()? {
        match entry? {
            ImportEntry::Problem(problem) => survey.left_out.push(problem.to_string()),
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

/// What pruning left: by the numbers of the examples, the topics that each goes to.
struct Chosen {
    topics: HashMap<u32, Vec<String>>,
    report: PruningReport,
}

fn choose(order: &Order<'_>, directory: Option<Directory>) -> anyhow::Result<Option<Chosen>> {
    let (Some(directory), Some(pruning)) = (directory, order.pruning) else { return Ok(None) };
    if order.source.format == Format::DmozStructure {
        return Err(misuse(
            "there is nothing to prune by: the structure has no examples; import the content",
        ));
    }
    let Pruned { taxonomy, examples, losses } = prune(directory, pruning).context("prune to a larger K")?;
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

/// The second reading.
struct Gathering<'a> {
    order: &'a Order<'a>,
    known: &'a Known,
    tree: Taxonomy,
    topics_before: usize,
    chosen: Option<HashMap<u32, Vec<String>>>,
    reader: DocumentReader,
    /// The page read last: lists give a page several topics in lines one after the other.
    last: Option<(String, Document)>,
    examples: Vec<NewExample>,
    report: Report,
}

impl<'a> Gathering<'a> {
    fn new(
        order: &'a Order<'a>,
        tree: Taxonomy,
        known: &'a Known,
        chosen: Option<Chosen>,
        left_out: Noted<String>,
    ) -> Self {
        let (chosen, pruned) = chosen.map(|chosen| (chosen.topics, chosen.report)).unzip();
        let report = Report {
            file: order.source.path.clone(),
            format: order.source.format.name(),
            left_out,
            pruned,
            ..Report::default()
        };
        Gathering {
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

    /// Adds the topics of a source that has nothing else.
    fn add_topics(&mut self) -> anyhow::Result<()> {
        if self.order.source.format != Format::DmozStructure {
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

    /// A topic of the source as one of ours.
    fn topic(&mut self, path: &str) -> anyhow::Result<TopicId> {
        let full = format!("{}/{path}", self.order.below.unwrap_or(""));
        self.tree.add_path(&full).map_err(|error| match error {
            TaxonomyError::Full => {
                anyhow!(error).context("too many topics; --prune keeps those with most examples")
            }
            error => anyhow!(error),
        })
    }

    async fn add(&mut self, topic: TopicId, item: &Item) {
        let name = item.page.name();
        let document = match &self.last {
            Some((last, document)) if *last == name => document.clone(),
            _ => self.read(&item.page).await,
        };
        if document.state != ExampleState::Ok && self.known.contains(&(topic, name.clone())) {
            // What is known of a page is not given up for a list that has only its address.
            self.report.known += 1;
            return;
        }
        self.tell(&name, &document.state);
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

    fn tell(&mut self, name: &str, state: &ExampleState) {
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
        self.order.source.format == Format::Folder
    }

    async fn read(&mut self, page: &PagePlace) -> Document {
        let read = match (page, self.order.web) {
            (PagePlace::File(path), _) => self.reader.file(path),
            (PagePlace::Url(url), Some(web)) => {
                Ok(visiting::read(&mut self.reader, visiting::visit_recorded(web, url).await))
            }
            (PagePlace::Url(_), None) => Ok(Document::unread()),
        };
        read.unwrap_or_else(|error| Document::missing(format!("{error:#}")))
    }

    fn finish(mut self) -> Gathered {
        self.report.new_topics = self.tree.len() - self.topics_before;
        self.report.examples = self.examples.len();
        let words = self.reader.take_words();
        Gathered { tree: self.tree, examples: self.examples, words, report: self.report }
    }
}
