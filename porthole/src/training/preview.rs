//! A critic trained beside the present one, to see what it would change before it is taken over.
//!
//! The candidate is trained in a temporary database with the topics and examples of the workspace, so that training, which
//! adds background examples and leaves to the tree, changes nothing. It is stored under another name, with a fingerprint of
//! the topics and examples; `accept` refuses it if they have changed since.

use porthole_store::{NewExample, SqliteStore, StoreReader, StoredModel, WorkspaceWriter};
use porthole_topic::{Critic, CriticModel, Taxonomy};
use porthole_types::Judgment;
use serde::Serialize;
use tempfile::TempDir;

use super::pages::KeptPages;
use super::{BASIS, TrainingPages, TrainingReport, background, train_workspace};
use crate::documents::DocumentReader;
use crate::output::misuse;
use crate::settings::TrainSettings;
use crate::upgrade;
use crate::workspace::{self, CRITIC, TAXONOMY, Workspace};

/// Names of the candidate and of what it was trained on.
const CANDIDATE: &str = "critic-preview";
const CANDIDATE_BASIS: &str = "critic-preview-basis";

/// Setting: fingerprint of the topics and examples that the candidate was trained on; empty if there is none.
const TRAINED_ON: &str = "critic.preview";

/// Pages shown of those that rise or fall most.
const SHOWN: usize = 10;

/// Changes of R below this are not shown.
const LEAST_CHANGE: f64 = 0.05;

/// What a critic would change in the collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct CollectionChanges {
    /// Number of judged pages.
    pub(crate) pages: usize,
    /// Relevant pages, by the stored judgments and by the candidate.
    pub(crate) good_before: usize,
    pub(crate) good_after: usize,
    /// Pages that become relevant, and that are no longer.
    pub(crate) came: usize,
    pub(crate) went: usize,
    /// The pages that rise most, and that fall most.
    pub(crate) up: Vec<ChangedPage>,
    pub(crate) down: Vec<ChangedPage>,
}

/// A page whose R changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ChangedPage {
    pub(crate) url: String,
    pub(crate) title: String,
    pub(crate) before: f64,
    pub(crate) after: f64,
}

/// Trains a candidate and stores it under another name.
pub(crate) fn train_candidate(
    workspace: &Workspace,
    store: &mut dyn WorkspaceWriter,
    settings: &TrainSettings,
    most_background: usize,
) -> anyhow::Result<(TrainingReport, CollectionChanges)> {
    let reader = store.reader();
    let mut scratch = Scratch::of(&*reader)?;
    let background = background::refresh(workspace, &*reader, &mut scratch.store, most_background)?;
    let report = train_workspace(&mut scratch.store, settings, false)?;
    let made = scratch.store.reader();
    for (from, to) in [(CRITIC, CANDIDATE), (BASIS, CANDIDATE_BASIS)] {
        let model = made.model(from)?.ok_or_else(|| misuse("training made no critic"))?;
        store.set_model(to, &model)?;
    }
    store.set_setting(TRAINED_ON, &fingerprint(&*reader)?)?;
    let model = made.model(CRITIC)?.map(|model| CriticModel::from_bytes(&model.bytes)).transpose()?;
    let tree = workspace::tree(&*made)?;
    let changes = match model {
        Some(model) => changes(workspace, &*reader, Critic::new(model, &tree))?,
        None => CollectionChanges::default(),
    };
    Ok((TrainingReport { background, ..report }, changes))
}

/// Takes the candidate over as the critic.
pub(crate) fn accept_candidate(
    workspace: &Workspace,
    store: &mut dyn WorkspaceWriter,
    settings: &TrainSettings,
    most_background: usize,
) -> anyhow::Result<()> {
    let reader = store.reader();
    let trained_on = reader.setting(TRAINED_ON)?.filter(|trained_on| !trained_on.is_empty());
    let (Some(trained_on), Some(critic), Some(basis)) =
        (trained_on, reader.model(CANDIDATE)?, reader.model(CANDIDATE_BASIS)?)
    else {
        return Err(misuse("there is no critic to take over: run `porthole train --preview` first"));
    };
    if trained_on != fingerprint(&*reader)? {
        return Err(misuse(
            "topics or examples have changed since the preview: run `porthole train --preview` again",
        ));
    }
    // The same changes of tree and examples as in the temporary database.
    background::refresh(workspace, &*reader, store, most_background)?;
    TrainingPages::load(store, settings)?;
    workspace::keep(store, CRITIC, critic.bytes)?;
    workspace::keep(store, BASIS, basis.bytes)?;
    let none = StoredModel { bytes: Vec::new(), made: critic.made };
    store.set_model(CANDIDATE, &none)?;
    store.set_model(CANDIDATE_BASIS, &none)?;
    Ok(store.set_setting(TRAINED_ON, "")?)
}

/// A temporary database with what training reads of a workspace.
struct Scratch {
    store: SqliteStore,
    _folder: TempDir,
}

impl Scratch {
    fn of(reader: &dyn StoreReader) -> anyhow::Result<Scratch> {
        let folder = tempfile::tempdir()?;
        let mut store = SqliteStore::open(folder.path().join("porthole.db"))?;
        store.set_topics(&reader.topics()?)?;
        let mut examples = Vec::new();
        reader.visit_examples(&mut |example, terms| {
            examples.push(NewExample {
                topic: example.topic,
                url: example.url.clone(),
                title: example.title.clone(),
                source: example.source.clone(),
                language: example.language.clone(),
                state: example.state.clone(),
                terms: terms.to_vec(),
            });
        })?;
        store.add_examples(&examples)?;
        for name in [CRITIC, BASIS, TAXONOMY] {
            if let Some(model) = reader.model(name)? {
                store.set_model(name, &model)?;
            }
        }
        for name in [upgrade::TERMS, workspace::REMOVED] {
            if let Some(value) = reader.setting(name)? {
                store.set_setting(name, &value)?;
            }
        }
        Ok(Scratch { store, _folder: folder })
    }
}

/// Identifies topics, marks and examples, without the background, which training chooses itself. FNV-1a.
fn fingerprint(reader: &dyn StoreReader) -> anyhow::Result<String> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |text: String| {
        for byte in text.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    let tree = Taxonomy::from_rows(&reader.topics()?)?;
    tree.rows().iter().for_each(|row| add(format!("{row:?}")));
    for example in reader.examples(None)? {
        if example.source != background::SOURCE {
            add(format!("{:?} {:?} {:?} {}", example.id, example.topic, example.state, example.url));
        }
    }
    Ok(format!("{hash:016x}"))
}

/// Judges all stored pages by the candidate.
fn changes(
    workspace: &Workspace,
    reader: &dyn StoreReader,
    mut critic: Critic,
) -> anyhow::Result<CollectionChanges> {
    let mut changes = CollectionChanges::default();
    let mut documents = DocumentReader::new();
    for page in KeptPages::of(reader) {
        let page = page?;
        let Some(before) = page.judgment.map(|judgment| judgment.relevance) else { continue };
        let Some(terms) = page.terms(reader, workspace, &mut documents)? else { continue };
        let after = critic.relevance(&terms);
        let (was_good, is_good) = (before >= Judgment::RELEVANT, after >= Judgment::RELEVANT);
        changes.pages += 1;
        changes.good_before += usize::from(was_good);
        changes.good_after += usize::from(is_good);
        changes.came += usize::from(is_good && !was_good);
        changes.went += usize::from(was_good && !is_good);
        let page = || ChangedPage { url: page.url.as_str().to_owned(), title: String::new(), before, after };
        match after - before {
            rise if rise >= LEAST_CHANGE => keep_most(&mut changes.up, page()),
            fall if -fall >= LEAST_CHANGE => keep_most(&mut changes.down, page()),
            _ => {}
        }
    }
    for page in changes.up.iter_mut().chain(&mut changes.down) {
        if let Ok(url) = porthole_types::CanonicalUrl::parse(&page.url) {
            page.title = reader.about_briefly(&url)?.map(|about| about.title).unwrap_or_default();
        }
    }
    Ok(changes)
}

/// Keeps the pages that change most, in order.
fn keep_most(pages: &mut Vec<ChangedPage>, page: ChangedPage) {
    let change = |page: &ChangedPage| (page.after - page.before).abs();
    let at = pages.partition_point(|other| change(other) >= change(&page));
    if at < SHOWN {
        pages.insert(at, page);
        pages.truncate(SHOWN);
    }
}
