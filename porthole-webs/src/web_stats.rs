//! Statistics of a recorded web.

use std::collections::{BTreeMap, HashSet};

use porthole_crawl::{Fetch, FetchError, Request, Response};
use porthole_page::{Extractor, Page, PageFormat};
use porthole_types::{CanonicalUrl, UrlId};
use serde::Serialize;

use crate::RecordedWeb;

/// Contents of a recorded web, and problems of its pages.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RecordedWebStats {
    /// Recorded URLs, by canonical form.
    pub pages: u64,
    /// Distinct host and port of those URLs.
    pub hosts: u64,
    /// Links inside the web: pairs of two different recorded URLs, the first linking to the second.
    pub links: u64,
    /// Number of link elements on all pages, to any target.
    pub links_found: u64,
    /// Pages that another recorded page links to.
    pub linked_pages: u64,
    /// Bytes of all bodies.
    pub bytes: u64,
    /// DOM leaves of all pages.
    pub leaves: u64,
    /// Number of terms of all pages, without stop words.
    pub terms: u64,
    /// Pages by HTTP status.
    pub statuses: BTreeMap<u16, u64>,
    /// Pages by format: `html`, `text`, `other`.
    pub formats: BTreeMap<&'static str, u64>,
    /// Pages by the charset that they were decoded with.
    pub charsets: BTreeMap<&'static str, u64>,
    /// Pages by language; the empty code is unknown.
    pub languages: BTreeMap<&'static str, u64>,
    /// Pages with each kind of problem.
    pub problems: BTreeMap<&'static str, u64>,
    /// Number of response records that were skipped because their URL already had one.
    pub duplicates: u64,
}

impl RecordedWebStats {
    /// Reads every page of a web once; `progress` is called after each.
    pub async fn of(web: &RecordedWeb, mut progress: impl FnMut()) -> RecordedWebStats {
        let mut stats = RecordedWebStats {
            pages: web.len() as u64,
            hosts: web.hosts() as u64,
            duplicates: web.duplicates(),
            ..RecordedWebStats::default()
        };
        if web.problems().count > 0 {
            stats.problems.insert("record unusable", web.problems().count);
        }
        let mut extractor = Extractor::default();
        let mut linked = HashSet::new();
        for url in web.pages() {
            let answer = web.fetch(&Request::get(url.clone())).await;
            stats.add(web, url, answer, &mut extractor, &mut linked);
            progress();
        }
        stats.linked_pages = linked.len() as u64;
        stats
    }

    /// Name and value of each figure, for display.
    pub fn rows(&self) -> Vec<(String, String)> {
        let row = |label: &str, value: u64| (label.to_owned(), value.to_string());
        let mut rows = vec![
            row("pages (distinct canonical URLs)", self.pages),
            row("hosts (distinct host:port of those URLs)", self.hosts),
            row("links inside the web (distinct pairs of pages)", self.links),
            row("link elements, wherever they lead", self.links_found),
            row("pages that another page links to", self.linked_pages),
            row("bytes of bodies", self.bytes),
            row("DOM leaves", self.leaves),
            row("terms", self.terms),
            row("duplicate records passed over", self.duplicates),
        ];
        let mut group = |name: &str, counts: Vec<(String, u64)>| {
            rows.extend(counts.into_iter().map(|(key, count)| (format!("{name}: {key}"), count.to_string())));
        };
        group("status", by_count(&self.statuses));
        group("format", by_count(&self.formats));
        group("charset", by_count(&self.charsets));
        group("language", by_count(&self.languages));
        group("problem", by_count(&self.problems));
        rows
    }

    fn add(
        &mut self,
        web: &RecordedWeb,
        url: &CanonicalUrl,
        answer: Result<Response, FetchError>,
        extractor: &mut Extractor,
        linked: &mut HashSet<UrlId>,
    ) {
        let Ok(response) = answer else {
            return self.problem("response unreadable");
        };
        *self.statuses.entry(response.status).or_default() += 1;
        self.bytes += response.body.len() as u64;
        if response.truncated {
            self.problem("body cut short or damaged");
        }
        let page = extractor.extract(url, &response.headers, &response.body);
        self.add_page(&page);
        let mut targets: Vec<_> = page.links.iter().map(|link| &link.target).collect();
        targets.sort_unstable();
        targets.dedup();
        for target in targets.into_iter().filter(|target| *target != url && web.has(target)) {
            self.links += 1;
            linked.insert(target.id());
        }
    }

    fn add_page(&mut self, page: &Page) {
        let format = match page.format {
            PageFormat::Html => "html",
            PageFormat::Text => "text",
            PageFormat::Pdf => "pdf",
            _ => "other",
        };
        *self.formats.entry(format).or_default() += 1;
        if page.format == PageFormat::Other {
            return;
        }
        *self.charsets.entry(page.charset).or_default() += 1;
        *self.languages.entry(page.language).or_default() += 1;
        self.links_found += page.links.len() as u64;
        self.leaves += page.leaf_count() as u64;
        self.terms += page.terms().len() as u64;
        let found = [
            ("bytes outside the charset", page.bad_bytes),
            ("no text", page.text.is_empty()),
            ("empty without scripts", page.needs_scripts),
            ("references that are not crawlable URLs", page.links_refused > 0),
            ("cut at a limit", page.cuts != Default::default()),
        ];
        found.iter().filter(|(_, is_so)| *is_so).for_each(|(name, _)| self.problem(name));
    }

    fn problem(&mut self, name: &'static str) {
        *self.problems.entry(name).or_default() += 1;
    }
}

fn by_count<K: ToString>(counts: &BTreeMap<K, u64>) -> Vec<(String, u64)> {
    let mut rows: Vec<_> = counts.iter().map(|(key, &count)| (key.to_string(), count)).collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (key, _) in &mut rows {
        if key.is_empty() {
            "unknown".clone_into(key);
        }
    }
    rows
}
