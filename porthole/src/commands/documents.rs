//! `porthole documents`: fills DOCUMENT(did, tid, freq) from the archived pages (V 2.1.3), so that the in-database
//! classifier can judge them.

use std::cell::Cell;
use std::path::Path;

use porthole_store::{DocumentRow, StoreReader, WorkspaceWriter};
use serde::Serialize;

use crate::cli;
use crate::documents::DocumentReader;
use crate::output::{self, Progress, count, misuse};
use crate::training::pages::KeptPages;
use crate::workspace::Workspace;

/// Figures of the run.
#[derive(Debug, Serialize)]
struct Filled {
    /// Pages with words.
    documents: usize,
    /// Rows written: terms of all pages.
    rows: usize,
    /// Pages that could not be read, or have no words.
    without_words: usize,
}

pub(crate) fn run(root: &Path, arguments: &cli::Documents) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    let reader = workspace.reader()?;
    if reader.is_crawled()? {
        return Err(misuse("a crawl is running and would be blocked; stop it first with `porthole stop`"));
    }
    let mut store = workspace.writer()?;
    let mut documents = DocumentReader::new();
    let pages = reader.counts()?.fetched as u64;
    let mut progress = Progress::new("reading", pages);
    let mut filled = Filled { documents: 0, rows: 0, without_words: 0 };
    let failed = Cell::new(None);
    let kept = KeptPages::of(&reader).map_while(|page| page.map_err(|error| failed.set(Some(error))).ok());
    let mut all = kept.filter_map(|page| {
        progress.step(String::new);
        let terms = page.terms(&reader, &workspace, &mut documents).unwrap_or_else(|error| {
            failed.set(Some(error));
            None
        });
        match &terms {
            Some(terms) => {
                filled.documents += 1;
                filled.rows += terms.len();
            }
            None => filled.without_words += 1,
        }
        terms.map(|terms| DocumentRow { did: page.oid, terms })
    });
    let written = store.set_documents(&mut all);
    progress.finish();
    written?;
    if let Some(error) = failed.take() {
        return Err(error.into());
    }
    if arguments.json {
        return output::print_json(&filled);
    }
    output::print(&format!(
        "DOCUMENT has {} and {}",
        count(filled.documents, "page"),
        count(filled.rows, "row")
    ));
    if filled.without_words > 0 {
        output::say(&format!("{} skipped: unreadable or without words", count(filled.without_words, "page")));
    }
    Ok(())
}
