//! The pages that a crawl has kept, as training sees them.

use std::collections::HashSet;

use porthole_store::{ExampleState, FeedbackKind, StoreReader, Tried};
use porthole_types::{CanonicalUrl, Judgment, SegmentSpan, UrlId};

use crate::documents::{Document, DocumentReader};
use crate::workspace::Workspace;

/// A page that was fetched, judged and kept.
#[derive(Clone, Debug)]
pub(crate) struct KeptPage {
    pub(crate) url: CanonicalUrl,
    pub(crate) oid: UrlId,
    pub(crate) judgment: Option<Judgment>,
    pub(crate) simhash: u64,
    span: SegmentSpan,
}

impl KeptPage {
    fn of(tried: Tried) -> Option<KeptPage> {
        let Tried { url, oid, judgment, simhash, failure: None, span: Some(span), .. } = tried else {
            return None;
        };
        Some(KeptPage { url: CanonicalUrl::parse(&url).ok()?, oid, judgment, simhash, span })
    }

    /// What it says; `None` if that cannot be read, or it has no words.
    pub(crate) fn read(&self, workspace: &Workspace, documents: &mut DocumentReader) -> Option<Document> {
        // A page that is gone costs that page alone.
        let page = workspace.read_page(&self.url, self.span).ok()?;
        let document = documents.bytes(Some(&self.url), &page.headers, &page.body);
        (document.state == ExampleState::Ok).then_some(document)
    }
}

/// Rows that are read at once.
const BATCH: usize = 10_000;

/// All pages that a crawl has kept, in the order in which they came.
pub(crate) struct KeptPages<'a> {
    reader: &'a dyn StoreReader,
    /// The number of the last fetch that was read.
    after: Option<u64>,
    batch: std::vec::IntoIter<Tried>,
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

/// The pages that people have called useful, or useless.
pub(crate) fn said_to_be(reader: &dyn StoreReader, useful: bool) -> anyhow::Result<HashSet<String>> {
    let said = reader.feedback()?.into_iter();
    let said = said.filter(|word| word.kind == FeedbackKind::Page && word.useful == useful);
    Ok(said.map(|word| word.name).collect())
}
