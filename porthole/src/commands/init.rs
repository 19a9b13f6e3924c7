//! `porthole init`: creates a workspace, with topics if requested.

use std::path::Path;

use anyhow::Context;
use porthole_store::WorkspaceWriter;
use porthole_topic::{Pretrained, Taxonomy};

use crate::cli;
use crate::commands::import;
use crate::commands::start::contact;
use crate::documents::read_file;
use crate::importing::{self, ImportData, ImportRequest, KnownExamples};
use crate::output::{self, count};
use crate::settings::RawTrain;
use crate::sources::{ExampleSource, SourceFormat};
use crate::training::train_workspace;
use crate::workspace::{self, TAXONOMY, Workspace};

pub(crate) async fn run(arguments: &cli::Init) -> anyhow::Result<()> {
    Workspace::check_new(&arguments.folder)?;
    let contact = arguments.contact.as_deref().map(contact::checked).transpose()?;
    // Read first: a broken file must not leave a workspace behind.
    let start = match &arguments.taxonomy {
        None => InitialContent::Nothing,
        Some(name) => InitialContent::read(name).await.context("no workspace was created")?,
    };
    if let Some(url) = arguments.db.as_deref().filter(|_| arguments.join) {
        let workspace = Workspace::join(&arguments.folder, url)?;
        if let Some(contact) = contact {
            contact::write(&arguments.folder, &contact)?;
        }
        output::print(&format!(
            "created the folder of worker {} in {}; it takes part with `porthole -C {} crawl`",
            workspace.worker()?,
            arguments.folder.display(),
            output::quoted(&arguments.folder.to_string_lossy())
        ));
        return Ok(());
    }
    let workspace = Workspace::create_on(&arguments.folder, arguments.db.as_deref())?;
    start.write(&mut workspace.writer()?)?;
    if let Some(contact) = contact {
        contact::write(&arguments.folder, &contact)?;
    }
    say_what_next(&arguments.folder, &start);
    Ok(())
}

/// Initial content of a workspace.
enum InitialContent {
    Nothing,
    Imported(Box<ImportData>),
    Pretrained(Box<Pretrained>, Vec<u8>),
}

impl InitialContent {
    async fn read(name: &Path) -> anyhow::Result<InitialContent> {
        if name == Path::new("general") {
            return general();
        }
        let source = ExampleSource::open(name, None)?;
        if source.format == SourceFormat::Taxonomy {
            let bytes = read_file(name)?;
            let pretrained = Pretrained::from_bytes(&bytes).with_context(|| name.display().to_string())?;
            return Ok(InitialContent::Pretrained(Box::new(pretrained), bytes));
        }
        let order =
            ImportRequest { source: &source, below: None, web: None, pruning: None, allows_local: false };
        let gathered = importing::gather(&order, Taxonomy::new(), &KnownExamples::new()).await?;
        Ok(InitialContent::Imported(Box::new(gathered)))
    }

    fn write(&self, store: &mut dyn WorkspaceWriter) -> anyhow::Result<()> {
        match self {
            InitialContent::Nothing => Ok(()),
            InitialContent::Imported(gathered) => importing::write(store, gathered),
            InitialContent::Pretrained(pretrained, bytes) => {
                store.set_topics(&pretrained.tree.rows())?;
                workspace::keep(store, TAXONOMY, bytes.clone())?;
                // Train at once, so that pages can be classified and topics proposed before any example is added.
                train_workspace(store, &RawTrain::default().ready()?, false).map(drop)
            }
        }
    }
}

/// Adds the general taxonomy to a workspace.
pub(crate) fn give_general_topics(workspace: &Workspace) -> anyhow::Result<()> {
    general()?.write(&mut workspace.writer()?)
}

/// The general taxonomy, which is part of the program.
fn general() -> anyhow::Result<InitialContent> {
    let pretrained = Pretrained::general().context("cannot load the built-in general taxonomy")?;
    Ok(InitialContent::Pretrained(Box::new(pretrained), Pretrained::general_bytes().to_vec()))
}

fn say_what_next(folder: &Path, start: &InitialContent) {
    let at = match folder.to_string_lossy().as_ref() {
        "." => "porthole".to_owned(),
        folder => format!("porthole -C {}", output::quoted(folder)),
    };
    output::print(&format!("created a workspace in {}", folder.display()));
    match start {
        InitialContent::Nothing => {
            output::print(&format!(
                "\nnext: add examples of the topics you want, and of others:\n  \
                 {at} examples add /Topic/You/Want FILE…\n  \
                 {at} examples import bookmarks.html\n  \
                 {at} topics mark /Topic/You/Want\n  {at} train"
            ));
        }
        InitialContent::Imported(gathered) => {
            import::print(&gathered.report);
            let fetch = match gathered.report.to_fetch {
                0 => String::new(),
                _ => format!(
                    "{at} examples fetch   (set `contact` in {}/porthole.toml first)\n      ",
                    folder.display()
                ),
            };
            output::print(&format!(
                "\nnext: {fetch}{at} topics tree\n      {at} topics mark PATH\n      {at} train"
            ));
        }
        InitialContent::Pretrained(pretrained, _) => {
            let topics = count(pretrained.tree.len() - 1, "topic");
            output::print(&format!("{topics}, trained from: {}", output::plain(&pretrained.source)));
            output::print(&format!(
                "\nnext: choose the topics to crawl for:\n  \
                {at} topics propose FILE…      topics that fit your pages\n  \
                {at} topics mark PATH          mark a topic as good\n  \
                {at} examples add PATH FILE…   add pages of your own, then: {at} train"
            ));
        }
    }
}
