//! The pages of a crawl, as training data.

use std::collections::HashSet;

use porthole_store::{ExampleState, FeedbackKind, StoreReader, TriedUrl};
use porthole_types::{CanonicalUrl, Judgment, SegmentSpan, TermId, UrlId};

use crate::cli::Usefulness;
use crate::documents::{DocumentReader, TermDocument};
use crate::workspace::Workspace;

/// A fetched and judged page whose words are known: from the tables, or from the archive in workspaces of older
/// versions.
#[derive(Clone, Debug)]
pub(crate) struct KeptPage {
    pub(crate) url: CanonicalUrl,
    pub(crate) oid: UrlId,
    pub(crate) judgment: Option<Judgment>,
    pub(crate) simhash: u64,
    span: Option<SegmentSpan>,
    terms: Option<u64>,
}

impl KeptPage {
    fn of(tried: TriedUrl) -> Option<KeptPage> {
        let TriedUrl { url, oid, judgment, simhash, failure: None, span, terms, copy_of: None, .. } = tried
        else {
            return None;
        };
        if span.is_none() && terms.is_none() {
            return None;
        }
        Some(KeptPage { url: CanonicalUrl::parse(&url).ok()?, oid, judgment, simhash, span, terms })
    }

    /// Term counts; `None` if the page has no words or cannot be read.
    pub(crate) fn terms(
        &self,
        reader: &dyn StoreReader,
        workspace: &Workspace,
        documents: &mut DocumentReader,
    ) -> porthole_store::Result<Option<Vec<(TermId, u32)>>> {
        if let Some(terms) = self.stored_terms(reader)? {
            return Ok(Some(terms));
        }
        let document = self.archived(workspace, documents);
        // The spellings are not needed here.
        drop(documents.take_words());
        Ok(document.map(|document| document.terms))
    }

    /// The document, with title and language if it is archived; `None` if it has no words or cannot be read.
    pub(crate) fn read(
        &self,
        reader: &dyn StoreReader,
        workspace: &Workspace,
        documents: &mut DocumentReader,
    ) -> porthole_store::Result<Option<TermDocument>> {
        if let Some(document) = self.archived(workspace, documents) {
            return Ok(Some(document));
        }
        let (title, language) = (String::new(), String::new());
        let document = |terms| TermDocument { title, language, terms, state: ExampleState::Ok };
        Ok(self.stored_terms(reader)?.map(document))
    }

    fn stored_terms(&self, reader: &dyn StoreReader) -> porthole_store::Result<Option<Vec<(TermId, u32)>>> {
        let Some(number) = self.terms else { return Ok(None) };
        Ok(reader.page_terms(&[number])?.pop().filter(|terms| !terms.is_empty()))
    }

    fn archived(&self, workspace: &Workspace, documents: &mut DocumentReader) -> Option<TermDocument> {
        // A missing page is skipped.
        let page = workspace.read_page(&self.url, self.span?).ok()?;
        let document = documents.bytes(Some(&self.url), &page.headers, &page.body);
        (document.state == ExampleState::Ok).then_some(document)
    }
}

/// Number of rows per read.
const BATCH: usize = 10_000;

/// Iterates over all pages of a crawl with known words, in the order of fetching.
pub(crate) struct KeptPages<'a> {
    reader: &'a dyn StoreReader,
    /// Sequence number of the last fetch that was read.
    after: Option<u64>,
    batch: std::vec::IntoIter<TriedUrl>,
}

impl<'a> KeptPages<'a> {
    pub(crate) fn of(reader: &'a dyn StoreReader) -> Self {
        KeptPages { reader, after: None, batch: Vec::new().into_iter() }
    }
}

impl Iterator for KeptPages<'_> {
    type Item = porthole_store::Result<KeptPage>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(page) = self.batch.by_ref().find_map(KeptPage::of) {
                return Some(Ok(page));
            }
            match self.reader.tried(self.after, BATCH) {
                Ok(batch) => {
                    self.after = Some(batch.last()?.seq);
                    self.batch = batch.into_iter();
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// The pages marked useful, or useless.
pub(crate) fn pages_marked(reader: &dyn StoreReader, verdict: Usefulness) -> anyhow::Result<HashSet<String>> {
    let useful = verdict == Usefulness::Useful;
    let marked = reader.feedback()?.into_iter();
    let marked = marked.filter(|row| row.kind == FeedbackKind::Page && row.useful == useful);
    Ok(marked.map(|row| row.name).collect())
}
