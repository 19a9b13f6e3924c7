//! What a report goes through the whole crawl for.

use std::collections::BTreeMap;

use porthole_page::Extractor;
use porthole_report::clusters::{Cluster, clusters};
use porthole_report::html::{HtmlTable, Section};
use porthole_store::{StoreReader, Tried};
use porthole_types::{CanonicalUrl, SegmentSpan, TermId};

use crate::workspace::Workspace;

/// Relevant pages that are put into groups, at most.
const MOST_CLUSTERED: usize = 1_000;
/// Pages that are named of each group.
const NAMED: usize = 3;
/// Rows that are read at a time.
const ROWS: usize = 10_000;

/// A crawl from its first page to its last.
pub(super) struct Gathered {
    /// R of every page, in the order in which they came; 0 for copies.
    pub(super) relevance: Vec<f64>,
    /// Relevant pages that are kept, evenly from the whole crawl.
    pages: Vec<Page>,
    groups: Vec<Cluster>,
    words: BTreeMap<TermId, String>,
}

struct Page {
    url: String,
    title: String,
}

impl Gathered {
    pub(super) fn of(workspace: &Workspace, reader: &dyn StoreReader) -> anyhow::Result<Self> {
        let mut relevance = Vec::new();
        let mut kept: Vec<(String, SegmentSpan)> = Vec::new();
        let mut after = None;
        loop {
            let rows = reader.tried(after, ROWS)?;
            let Some(last) = rows.last() else { break };
            after = Some(last.seq);
            for Tried { url, judgment, span, copy_of, .. } in rows {
                let Some(judgment) = judgment else { continue };
                // A copy brings nothing.
                let credit = if copy_of.is_some() { 0.0 } else { judgment.relevance };
                relevance.push(credit);
                kept.extend(span.filter(|_| credit >= 0.5).map(|span| (url, span)));
            }
        }
        let step = kept.len().div_ceil(MOST_CLUSTERED).max(1);
        let mut gathered =
            Gathered { relevance, pages: Vec::new(), groups: Vec::new(), words: BTreeMap::new() };
        let mut terms = Vec::new();
        let mut extractor = Extractor::default();
        for (url, span) in kept.into_iter().step_by(step) {
            let Ok(canonical) = CanonicalUrl::parse(&url) else { continue };
            let Ok(response) = workspace.read_page(&canonical, span) else { continue };
            let page = extractor.extract(&canonical, &response.headers, &response.body);
            terms.push(page.term_counts());
            let words = extractor.vocabulary(&page);
            gathered.words.extend(words.into_iter().map(|spelled| (spelled.term, spelled.word)));
            gathered.pages.push(Page { url, title: page.title.clone() });
        }
        gathered.groups = clusters(&terms);
        Ok(gathered)
    }

    /// The relevant pages in groups (W 4.6, V 3.6).
    pub(super) fn communities(&self) -> Section {
        let mut table = HtmlTable::new(&["pages", "words that tell it from the others", "such as", ""]);
        for group in &self.groups {
            let words: Vec<&str> =
                group.terms.iter().filter_map(|term| self.words.get(term)).map(String::as_str).collect();
            for (at, page) in group.pages.iter().take(NAMED).map(|page| &self.pages[*page]).enumerate() {
                let first = |text: String| if at == 0 { text } else { String::new() };
                let (size, words) = (first(group.pages.len().to_string()), first(words.join(", ")));
                table.rows.push(vec![size, words, page.title.clone(), page.url.clone()]);
            }
        }
        let words = match table.rows.is_empty() {
            true => Vec::new(),
            false => vec![format!(
                "{} relevant pages that are kept, put into groups by the words that they have in common.",
                self.pages.len()
            )],
        };
        Section {
            id: "communities".into(),
            title: "Communities in what was collected".into(),
            words,
            table,
            table_first: true,
            ..Section::default()
        }
    }
}
