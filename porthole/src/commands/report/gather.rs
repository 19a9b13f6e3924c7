//! Data that the report collects by reading the whole crawl.

use std::collections::BTreeMap;

use porthole_page::Extractor;
use porthole_report::clusters::{Cluster, clusters};
use porthole_report::html::{HtmlTable, Section};
use porthole_store::{StoreReader, TriedUrl};
use porthole_types::{CanonicalUrl, Judgment, SegmentSpan, TermId};

use crate::workspace::Workspace;

/// Maximum number of relevant pages to cluster.
const MOST_CLUSTERED: usize = 1_000;
/// Number of pages listed per cluster.
const LISTED: usize = 3;
/// Number of rows per read.
const ROWS: usize = 10_000;

/// Data of all pages of a crawl.
pub(super) struct CrawlData {
    /// Relevance of every page, in the order of fetching; 0 for duplicates.
    pub(super) relevance: Vec<f64>,
    /// Relevant archived pages, an even sample of the crawl.
    pages: Vec<ClusteredPage>,
    groups: Vec<Cluster>,
    words: BTreeMap<TermId, String>,
}

struct ClusteredPage {
    url: String,
    title: String,
}

impl CrawlData {
    pub(super) fn of(workspace: &Workspace, reader: &dyn StoreReader) -> anyhow::Result<Self> {
        let mut relevance = Vec::new();
        let mut archived: Vec<(String, SegmentSpan)> = Vec::new();
        let mut after = None;
        loop {
            let rows = reader.tried(after, ROWS)?;
            let Some(last) = rows.last() else { break };
            after = Some(last.seq);
            for TriedUrl { url, judgment, span, copy_of, is_page, .. } in rows {
                let Some(judgment) = judgment.filter(|_| is_page) else { continue };
                // A duplicate is worth nothing.
                let credit = if copy_of.is_some() { 0.0 } else { judgment.relevance };
                relevance.push(credit);
                archived.extend(span.filter(|_| credit >= Judgment::RELEVANT).map(|span| (url, span)));
            }
        }
        let step = archived.len().div_ceil(MOST_CLUSTERED).max(1);
        let mut gathered =
            CrawlData { relevance, pages: Vec::new(), groups: Vec::new(), words: BTreeMap::new() };
        let mut terms = Vec::new();
        let mut extractor = Extractor::default();
        for (url, span) in archived.into_iter().step_by(step) {
            let Ok(canonical) = CanonicalUrl::parse(&url) else { continue };
            let Ok(response) = workspace.read_page(&canonical, span) else { continue };
            let page = extractor.extract(&canonical, &response.headers, &response.body);
            terms.push(page.term_counts());
            let words = extractor.vocabulary(&page);
            gathered.words.extend(words.into_iter().map(|spelled| (spelled.term, spelled.word)));
            gathered.pages.push(ClusteredPage { url, title: page.title.clone() });
        }
        gathered.groups = clusters(&terms);
        Ok(gathered)
    }

    /// Clusters of the relevant pages (W 4.6, V 3.6).
    pub(super) fn communities(&self) -> Section {
        let mut table = HtmlTable::new(&["pages", "distinctive words", "examples", ""]);
        for group in &self.groups {
            let words: Vec<&str> =
                group.terms.iter().filter_map(|term| self.words.get(term)).map(String::as_str).collect();
            for (at, page) in group.pages.iter().take(LISTED).map(|page| &self.pages[*page]).enumerate() {
                let first = |text: String| if at == 0 { text } else { String::new() };
                let words = if words.is_empty() { page.title.clone() } else { words.join(", ") };
                let (size, words) = (first(group.pages.len().to_string()), first(words));
                table.rows.push(vec![size, words, page.title.clone(), page.url.clone()]);
            }
        }
        let words = match table.rows.is_empty() {
            true => Vec::new(),
            false => vec![format!("{} relevant archived pages, clustered by their words.", self.pages.len())],
        };
        Section {
            id: "communities".into(),
            title: "Communities: clusters of relevant pages".into(),
            words,
            table,
            table_first: true,
            ..Section::default()
        }
    }
}
