//! `porthole lab record`: turns the archive of a crawl into a recorded web for experiments.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::Context;
use porthole_store::{StoreReader, TriedUrl};
use porthole_topic::Taxonomy;
use porthole_topic::import::{ImportedTaxonomy, tsv};
use porthole_types::{CanonicalUrl, TopicId};
use porthole_warc::GzipRecords;
use serde::Serialize;

use crate::cli;
use crate::output::{self, count, misuse};
use crate::workspace::{self, Workspace, path_of};

/// Number of rows per read.
const ROWS: usize = 10_000;

#[derive(Serialize)]
struct Recorded {
    pages: usize,
    labelled: usize,
    topics: usize,
    /// `critic` or `file`.
    labels_by: &'static str,
}

pub(super) fn run(root: &Path, arguments: &cli::Record) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    let reader = workspace.reader()?;
    let tree = workspace::tree(&reader)?;
    let true_labels = arguments.labels.as_deref().map(labels).transpose()?;
    let folder = &arguments.folder;
    if folder.join(WEB).exists() {
        return Err(misuse(format!("{} already exists; name another folder", folder.join(WEB).display())));
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    // Renamed when complete.
    let part = tempfile::NamedTempFile::new_in(folder).with_context(|| folder.display().to_string())?;
    let mut web = BufWriter::new(part);
    let mut gzip = GzipRecords::default();
    let mut lines = BTreeMap::new();
    let mut pages = HashSet::new();
    for_each_page(&reader, &mut |tried| {
        copy(&workspace, tried, &mut gzip, &mut web)?;
        pages.insert(tried.url.clone());
        if let Some(topic) = tried.judgment.and_then(|judgment| label(&tree, judgment.best)) {
            lines.insert(tried.url.clone(), vec![topic]);
        }
        Ok(())
    })?;
    if pages.is_empty() {
        return Err(misuse("the archive is empty; crawl first, without `--archive none`"));
    }
    let part = web.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    part.persist(folder.join(WEB)).with_context(|| folder.join(WEB).display().to_string())?;
    let labels_by = if true_labels.is_some() { "file" } else { "critic" };
    if let Some(known) = true_labels {
        lines = known.into_iter().filter(|(url, _)| pages.contains(url)).collect();
    }
    write_labels(&folder.join(LABELS), &lines)?;
    let good: Vec<String> = tree.good().map(|id| tree.path(id)).collect();
    write_experiment(&folder.join("experiment.toml"), &good)?;
    let topics: HashSet<&String> = lines.values().flatten().collect();
    let recorded = Recorded { pages: pages.len(), labelled: lines.len(), topics: topics.len(), labels_by };
    if arguments.json {
        return output::print_json(&recorded);
    }
    print(&recorded, folder);
    Ok(())
}

const WEB: &str = "web.warc.gz";
const LABELS: &str = "labels.tsv";

/// Visits all archived pages, in the order of fetching.
pub(super) fn for_each_page(
    reader: &dyn StoreReader,
    visit: &mut dyn FnMut(&TriedUrl) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut after = None;
    loop {
        let rows = reader.tried(after, ROWS)?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = Some(last.seq);
        for tried in rows.iter().filter(|tried| tried.span.is_some() && tried.failure.is_none()) {
            visit(tried)?;
        }
    }
}

/// Copies a record, as a gzip member of its own.
fn copy(
    workspace: &Workspace,
    tried: &TriedUrl,
    gzip: &mut GzipRecords,
    to: &mut impl Write,
) -> anyhow::Result<()> {
    let Some(span) = tried.span else { return Ok(()) };
    let path = workspace.segment(span);
    let failed = || format!("cannot copy {} from {}", tried.url, path.display());
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(&path)?;
        file.seek(SeekFrom::Start(span.offset))?;
        let mut packed = Vec::new();
        file.take(span.length.into()).read_to_end(&mut packed)?;
        Ok(packed)
    };
    let packed = read().with_context(failed)?;
    anyhow::ensure!(
        packed.len() as u64 == u64::from(span.length),
        "{} ends within the record of {}",
        path.display(),
        tried.url
    );
    to.write_all(&gzip.pack(packed, span.offset).with_context(failed)?).with_context(failed)
}

/// The critic's topic of a page, unless it is the root.
fn label(tree: &Taxonomy, best: TopicId) -> Option<String> {
    (best != TopicId::ROOT && tree.contains(best)).then(|| path_of(tree, best))
}

type TopicLabels = BTreeMap<String, Vec<String>>;

fn labels(path: &Path) -> anyhow::Result<TopicLabels> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let import =
        ImportedTaxonomy::gather(tsv(BufReader::new(file))).with_context(|| path.display().to_string())?;
    let mut lines = TopicLabels::new();
    for found in import.found {
        lines.entry(CanonicalUrl::to_string(&found.url)).or_default().push(found.topic);
    }
    Ok(lines)
}

fn write_labels(path: &Path, lines: &TopicLabels) -> anyhow::Result<()> {
    let line = |(url, topics): (&String, &Vec<String>)| {
        topics.iter().map(|topic| format!("{url}\t{topic}\n")).collect::<String>()
    };
    fs::write(path, lines.iter().map(line).collect::<String>()).with_context(|| path.display().to_string())
}

/// Writes a first experiment: the good topics and the best-known strategies.
fn write_experiment(path: &Path, good: &[String]) -> anyhow::Result<()> {
    let topics: Vec<String> = good.iter().map(|topic| format!("{topic:?}")).collect();
    let text = format!(
        "web = \"{WEB}\"\nlabels = \"{LABELS}\"\ntopics = [{}]\nstrategies = [\"random\", \"breadth\", \"hard\", \
         \"soft\", \"oracle\"]\nsamples = 4\nstart = 3\ntrain = 0.25\nseed = 1\nat = [50, 100, 200, 500]\n",
        topics.join(", ")
    );
    fs::write(path, text).with_context(|| path.display().to_string())
}

fn print(recorded: &Recorded, folder: &Path) {
    let Recorded { pages, labelled, topics, labels_by } = recorded;
    output::print(&format!(
        "recorded {}; {labelled} are labelled, with {}",
        count(*pages, "page"),
        count(*topics, "topic")
    ));
    if *labels_by == "critic" {
        output::say(
            "the labels come from the critic, so experiments measure agreement with it; for an independent measure, \
             give true labels with --labels FILE",
        );
    }
    output::say(
        "the web holds only pages that the crawl fetched, which favours strategies similar to the crawl's",
    );
    output::say(&format!("next: porthole lab run {} --out DIR", folder.join("experiment.toml").display()));
}
