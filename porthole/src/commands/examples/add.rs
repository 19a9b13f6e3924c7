//! `porthole examples add` and `fetch`: files and pages of the web become examples.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use porthole_store::{Example, ExampleState, NewExample, StoreReader, TopicChange, WorkspaceWriter};
use porthole_types::CanonicalUrl;
use serde::Serialize;

use crate::cli;
use crate::commands::import;
use crate::documents::{Document, DocumentReader};
use crate::importing;
use crate::output::{self, Paint, count, misuse};
use crate::visiting::{Tour, Visitor};
use crate::workspace::{self, Workspace};

/// What was added, as JSON has it.
#[derive(Serialize)]
pub(crate) struct Added {
    pub(crate) topic: String,
    is_new_topic: bool,
    /// Examples that were there already, with pages that cannot be had now; they are kept as they are.
    known: usize,
    pub(crate) examples: Vec<AddedPage>,
}

#[derive(Serialize)]
pub(crate) struct AddedPage {
    pub(crate) name: String,
    pub(crate) title: String,
    state: &'static str,
    detail: String,
    terms: usize,
}

/// Something that is shown for a topic.
pub(crate) struct Shown {
    /// Its URL, or the name of its file.
    pub(crate) name: String,
    /// What it is called where it was found, if its page does not say it.
    pub(crate) called: String,
    /// Where it was found.
    pub(crate) source: String,
    pub(crate) document: Document,
}

/// What is said when fetching was interrupted.
pub(crate) const INTERRUPTED: &str =
    "interrupted; `porthole examples fetch` gets the pages that have not come";

pub(super) async fn run(workspace: &Workspace, arguments: &cli::AddExamples) -> anyhow::Result<()> {
    check_topic(workspace, &arguments.topic)?;
    let mut documents = DocumentReader::new();
    let places = arguments.names.iter().map(|name| place(name)).collect::<anyhow::Result<Vec<_>>>()?;
    let mut shown = Vec::new();
    for file in places.iter().filter_map(|place| place.as_ref().err()) {
        // A file that is named and cannot be read is a mistake: nothing is added then.
        let document = documents.file(file).map_err(|error| error.context("nothing was added"))?;
        shown.push(Shown::new(file.display().to_string(), "file", document));
    }
    let urls: Vec<CanonicalUrl> = places.into_iter().filter_map(Result::ok).collect();
    let mut is_interrupted = false;
    if !urls.is_empty() {
        let visitor = Visitor::of(workspace, &arguments.web)?;
        let tour = visitor.read_all(&mut documents, &urls).await;
        is_interrupted = tour.is_interrupted;
        let read = urls.iter().zip(tour.documents);
        shown.extend(read.map(|(url, document)| Shown::new(url.to_string(), "web", document)));
    }
    let added = keep(workspace, &arguments.topic, shown, &mut documents)?;
    if arguments.json {
        return output::print_json(&added);
    }
    added.print();
    if is_interrupted {
        output::say(INTERRUPTED);
    }
    Ok(())
}

impl Shown {
    pub(crate) fn new(name: String, source: &str, document: Document) -> Shown {
        Shown { name, called: String::new(), source: source.to_owned(), document }
    }
}

/// The URL that was typed; otherwise it is a file.
fn place(name: &Path) -> anyhow::Result<Result<CanonicalUrl, PathBuf>> {
    match name.to_str().filter(|text| text.contains("://")) {
        Some(text) => Ok(Ok(parse_url(text)?)),
        None => Ok(Err(name.to_owned())),
    }
}

/// A URL as it was typed.
pub(crate) fn parse_url(text: &str) -> anyhow::Result<CanonicalUrl> {
    CanonicalUrl::parse(text)
        .map_err(|error| misuse(format!("{} is no URL to fetch: {error}", output::plain(text))))
}

/// Refuses what cannot be a topic, before anything is fetched for it.
pub(crate) fn check_topic(workspace: &Workspace, path: &str) -> anyhow::Result<()> {
    workspace::tree(&workspace.reader()?)?.add_path(path)?;
    Ok(())
}

/// Writes examples of a topic, which is made if there is none. The tree is read now: fetching took its time.
pub(crate) fn keep(
    workspace: &Workspace,
    topic: &str,
    shown: Vec<Shown>,
    documents: &mut DocumentReader,
) -> anyhow::Result<Added> {
    let mut store = workspace.writer()?;
    let mut tree = workspace::tree(&*store.reader())?;
    let before = tree.len();
    let topic = tree.add_path(topic)?;
    let known = importing::known(&*store.reader())?;
    let all = shown.len();
    let is_kept = |shown: &Shown| {
        shown.document.state == ExampleState::Ok || !known.contains(&(topic, shown.name.clone()))
    };
    let examples: Vec<NewExample> = shown
        .into_iter()
        .filter(is_kept)
        .map(|Shown { name, called, source, document }| NewExample {
            topic,
            url: name,
            title: if document.title.is_empty() { called } else { document.title },
            source,
            language: document.language,
            state: document.state,
            terms: document.terms,
        })
        .collect();
    let rows = tree.rows();
    store.change_topics(&TopicChange {
        topics: Some(&rows),
        examples: &[],
        added: &examples,
        terms: &documents.take_words(),
    })?;
    Ok(Added {
        topic: tree.path(topic),
        is_new_topic: tree.len() > before,
        known: all - examples.len(),
        examples: examples.iter().map(AddedPage::of).collect(),
    })
}

impl AddedPage {
    fn of(example: &NewExample) -> AddedPage {
        AddedPage {
            name: example.url.clone(),
            title: example.title.clone(),
            state: example.state.name(),
            detail: example.state.detail().to_owned(),
            terms: example.terms.len(),
        }
    }
}

impl Added {
    /// How many there is something to learn from.
    pub(crate) fn read(&self) -> usize {
        self.examples.iter().filter(|page| page.state == "ok").count()
    }

    pub(crate) fn print(&self) {
        let new = if self.is_new_topic { ", a new topic" } else { "" };
        output::print(&format!("{} for {}{new}", count(self.examples.len(), "example"), self.topic));
        if self.known > 0 {
            output::print(&format!("{} known already, kept as they are", count(self.known, "example")));
        }
        if self.read() > 0 {
            output::print(&Paint::Faint.on(import::TRAIN_NEXT));
        }
        self.say_lacking();
    }

    /// Names those that there is nothing to learn from.
    pub(crate) fn say_lacking(&self) {
        let lacking: Vec<&AddedPage> = self.examples.iter().filter(|page| page.state != "ok").collect();
        if !lacking.is_empty() {
            output::say("nothing can be learnt from:");
            let line = |page: &&AddedPage| format!("{}: {}", page.name, page.detail);
            output::some_of(&lacking, lacking.len(), line).iter().for_each(|line| output::say(line));
        }
    }
}

/// What became of examples without pages, as JSON has it.
#[derive(Serialize)]
struct Fetched {
    fetched: usize,
    examples: Vec<AddedPage>,
}

/// `porthole examples fetch`.
pub(super) async fn fetch(workspace: &Workspace, arguments: &cli::FetchExamples) -> anyhow::Result<()> {
    let missing = missing(workspace, arguments.topic.as_deref())?;
    if missing.is_empty() && !arguments.json {
        output::print("all examples that have a URL have their pages");
        return Ok(());
    }
    let mut urls: Vec<CanonicalUrl> = missing.iter().map(|(url, _)| url.clone()).collect();
    urls.sort_unstable_by_key(CanonicalUrl::id);
    urls.dedup();
    let mut documents = DocumentReader::new();
    let visitor = Visitor::of(workspace, &arguments.web)?;
    let Tour { documents: read, is_interrupted } = visitor.read_all(&mut documents, &urls).await;
    let read: HashMap<_, _> = urls.iter().map(CanonicalUrl::id).zip(read).collect();
    let examples: Vec<NewExample> =
        missing.into_iter().map(|(url, example)| filled(example, &read[&url.id()])).collect();
    workspace.writer()?.change_topics(&TopicChange {
        added: &examples,
        terms: &documents.take_words(),
        ..TopicChange::default()
    })?;
    let examples: Vec<AddedPage> = examples.iter().map(AddedPage::of).collect();
    let facts = Added { topic: String::new(), is_new_topic: false, known: 0, examples };
    if arguments.json {
        return output::print_json(&Fetched { fetched: facts.read(), examples: facts.examples });
    }
    output::print(&format!(
        "fetched {} of {} without pages",
        output::grouped(&facts.read().to_string()),
        count(facts.examples.len(), "example")
    ));
    if facts.read() > 0 {
        output::print(&Paint::Faint.on(import::TRAIN_NEXT));
    }
    facts.say_lacking();
    if is_interrupted {
        output::say(INTERRUPTED);
    }
    Ok(())
}

/// The examples of a topic and of those below it that have a URL and no page.
fn missing(workspace: &Workspace, topic: Option<&str>) -> anyhow::Result<Vec<(CanonicalUrl, Example)>> {
    let reader = workspace.reader()?;
    let tree = workspace::tree(&reader)?;
    let topics = tree.below(tree.find(topic.unwrap_or("/"))?);
    let examples = reader.examples(None)?.into_iter();
    let lacks = |example: &Example| {
        matches!(example.state, ExampleState::Missing(_)) && topics.contains(&example.topic)
    };
    let with_url = |example: Example| Some((CanonicalUrl::parse(&example.url).ok()?, example));
    Ok(examples.filter(lacks).filter_map(with_url).collect())
}

/// An example with its page.
fn filled(example: Example, document: &Document) -> NewExample {
    NewExample {
        topic: example.topic,
        url: example.url,
        title: if document.title.is_empty() { example.title } else { document.title.clone() },
        source: example.source,
        language: document.language.clone(),
        state: document.state.clone(),
        terms: document.terms.clone(),
    }
}
