//! `porthole examples add` and `fetch`: files and web pages become examples.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use porthole_store::{ExampleState, NewExample, StoreReader, StoredExample, TopicChange, WorkspaceWriter};
use porthole_types::CanonicalUrl;
use serde::Serialize;

use crate::cli;
use crate::commands::import;
use crate::documents::{DocumentReader, TermDocument};
use crate::importing;
use crate::output::{self, Paint, count, misuse};
use crate::sources::{self, parse_url};
use crate::visiting::{FetchedDocuments, Visitor};
use crate::workspace::{self, Workspace};

/// The result, for JSON.
#[derive(Serialize)]
pub(crate) struct AddedExamples {
    pub(crate) topic: String,
    is_new_topic: bool,
    /// Known examples whose pages cannot be fetched now; they are not changed.
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

/// A page to add as an example.
pub(crate) struct NewExamplePage {
    /// URL or file name.
    pub(crate) name: String,
    /// Title where the page was found, used if the page has none.
    pub(crate) fallback_title: String,
    /// Where it was found.
    pub(crate) source: String,
    pub(crate) document: TermDocument,
}

/// Message after an interrupted fetch.
pub(crate) const INTERRUPTED: &str = "interrupted; run `porthole examples fetch` to fetch the missing pages";

pub(super) async fn run(workspace: &Workspace, arguments: &cli::AddExamples) -> anyhow::Result<()> {
    check_topic(workspace, &arguments.topic)?;
    let mut documents = DocumentReader::new();
    let places = arguments.names.iter().map(|name| url_or_file(name)).collect::<anyhow::Result<Vec<_>>>()?;
    let mut shown = Vec::new();
    for file in places.iter().filter_map(|place| place.as_ref().err()) {
        if sources::is_list_of_urls(file)? {
            let (file, topic) = (file.display(), output::quoted(&arguments.topic));
            return Err(misuse(format!(
                "{file} is a list of URLs, not a page: import it with `porthole examples import {file} --topic {topic}`"
            )));
        }
        // An unreadable file is an error of the user: add nothing.
        let document = documents.file(file).map_err(|error| error.context("nothing was added"))?;
        shown.push(NewExamplePage::new(file.display().to_string(), "file", document));
    }
    let urls: Vec<CanonicalUrl> = places.into_iter().filter_map(Result::ok).collect();
    let mut is_interrupted = false;
    if !urls.is_empty() {
        let visitor = Visitor::of(workspace, &arguments.web)?;
        let tour = visitor.read_all(&mut documents, &urls).await;
        is_interrupted = tour.is_interrupted;
        let read = urls.iter().zip(tour.documents);
        shown.extend(read.map(|(url, document)| NewExamplePage::new(url.to_string(), "web", document)));
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

impl NewExamplePage {
    pub(crate) fn new(name: String, source: &str, document: TermDocument) -> NewExamplePage {
        NewExamplePage { name, fallback_title: String::new(), source: source.to_owned(), document }
    }
}

/// Parses a name that contains `://` as a URL; other names are files.
fn url_or_file(name: &Path) -> anyhow::Result<Result<CanonicalUrl, PathBuf>> {
    match name.to_str().filter(|text| text.contains("://")) {
        Some(text) => Ok(Ok(parse_url(text)?)),
        None => Ok(Err(name.to_owned())),
    }
}

/// Checks that a path can be a topic, before anything is fetched.
pub(crate) fn check_topic(workspace: &Workspace, path: &str) -> anyhow::Result<()> {
    workspace::tree(&workspace.reader()?)?.add_path(path)?;
    Ok(())
}

/// Writes examples of a topic, which is created if missing. Reads the tree again, since it may have changed during
/// the fetches.
pub(crate) fn keep(
    workspace: &Workspace,
    topic: &str,
    shown: Vec<NewExamplePage>,
    documents: &mut DocumentReader,
) -> anyhow::Result<AddedExamples> {
    let mut store = workspace.writer()?;
    let mut tree = workspace::tree(&*store.reader())?;
    let before = tree.len();
    let topic = tree.add_path(topic)?;
    let known = importing::known(&*store.reader())?;
    let all = shown.len();
    let is_kept = |shown: &NewExamplePage| {
        shown.document.state == ExampleState::Ok || !known.contains(&(topic, shown.name.clone()))
    };
    let examples: Vec<NewExample> = shown
        .into_iter()
        .filter(is_kept)
        .map(|NewExamplePage { name, fallback_title, source, document }| NewExample {
            topic,
            url: name,
            title: if document.title.is_empty() { fallback_title } else { document.title },
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
    Ok(AddedExamples {
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

impl AddedExamples {
    /// Number of examples with words.
    pub(crate) fn read(&self) -> usize {
        self.examples.iter().filter(|page| page.state == "ok").count()
    }

    pub(crate) fn print(&self) {
        let new = if self.is_new_topic { ", a new topic" } else { "" };
        output::print(&format!("added {} to {}{new}", count(self.examples.len(), "example"), self.topic));
        if self.known > 0 {
            output::print(&format!("{} known already, unchanged", count(self.known, "example")));
        }
        if self.read() > 0 {
            output::print(&Paint::Faint.on(import::TRAIN_NEXT));
        }
        self.say_lacking();
    }

    /// Lists the examples without words.
    pub(crate) fn say_lacking(&self) {
        let lacking: Vec<&AddedPage> = self.examples.iter().filter(|page| page.state != "ok").collect();
        if !lacking.is_empty() {
            output::say("no words to train on:");
            let line = |page: &&AddedPage| format!("{}: {}", page.name, page.detail);
            output::some_of(&lacking, lacking.len(), line).iter().for_each(|line| output::say(line));
        }
    }
}

/// The result of `examples fetch`, for JSON.
#[derive(Serialize)]
struct FetchedExamples {
    fetched: usize,
    examples: Vec<AddedPage>,
}

/// `porthole examples fetch`.
pub(super) async fn fetch(workspace: &Workspace, arguments: &cli::FetchExamples) -> anyhow::Result<()> {
    let missing = missing(workspace, arguments.topic.as_deref())?;
    if missing.is_empty() && !arguments.json {
        output::print("all examples with a URL have their pages");
        return Ok(());
    }
    let mut urls: Vec<CanonicalUrl> = missing.iter().map(|(url, _)| url.clone()).collect();
    urls.sort_unstable_by_key(CanonicalUrl::id);
    urls.dedup();
    let mut documents = DocumentReader::new();
    let visitor = Visitor::of(workspace, &arguments.web)?;
    let FetchedDocuments { documents: read, is_interrupted } = visitor.read_all(&mut documents, &urls).await;
    let read: HashMap<_, _> = urls.iter().map(CanonicalUrl::id).zip(read).collect();
    let examples: Vec<NewExample> =
        missing.into_iter().map(|(url, example)| filled(example, &read[&url.id()])).collect();
    workspace.writer()?.change_topics(&TopicChange {
        added: &examples,
        terms: &documents.take_words(),
        ..TopicChange::default()
    })?;
    let examples: Vec<AddedPage> = examples.iter().map(AddedPage::of).collect();
    let facts = AddedExamples { topic: String::new(), is_new_topic: false, known: 0, examples };
    if arguments.json {
        return output::print_json(&FetchedExamples { fetched: facts.read(), examples: facts.examples });
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

/// The examples of a topic and of the topics below it that have a URL and no page.
fn missing(workspace: &Workspace, topic: Option<&str>) -> anyhow::Result<Vec<(CanonicalUrl, StoredExample)>> {
    let reader = workspace.reader()?;
    let tree = workspace::tree(&reader)?;
    let topics = tree.below(tree.find(topic.unwrap_or("/"))?);
    let examples = reader.examples(None)?.into_iter();
    let is_missing = |example: &StoredExample| {
        matches!(example.state, ExampleState::Missing(_)) && topics.contains(&example.topic)
    };
    let with_url = |example: StoredExample| Some((CanonicalUrl::parse(&example.url).ok()?, example));
    Ok(examples.filter(is_missing).filter_map(with_url).collect())
}

/// The example with its page.
fn filled(example: StoredExample, document: &TermDocument) -> NewExample {
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
