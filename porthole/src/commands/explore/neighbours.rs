//! The pages near examples: those they link to, and those that link to them as far as a crawl knows.

use std::collections::{HashMap, HashSet};

use porthole_crawl::Response;
use porthole_store::{About, QueryLimits, StoreReader};
use porthole_types::{CanonicalUrl, Headers, UrlId};

use crate::commands::examples::outlinks;
use crate::documents::{DocumentReader, TermDocument};
use crate::visiting::Visitor;
use crate::workspace::Workspace;

/// Number of examples whose parents are looked up in the crawl's database, one query each.
const PARENT_LOOKUPS: usize = 20;

/// A page near examples.
#[derive(Debug)]
pub(super) struct Neighbour {
    pub(super) url: CanonicalUrl,
    /// The first few anchor texts of links to it.
    pub(super) anchors: Vec<String>,
    /// Examples that link to it.
    pub(super) linked_by: usize,
    /// Examples that it links to.
    pub(super) links_to: usize,
    pub(super) title: String,
    /// The page, if it was fetched here.
    pub(super) document: Option<TermDocument>,
}

/// Collects the neighbours of examples.
pub(super) struct NeighbourFinder<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) reader: &'a dyn StoreReader,
    /// `None` if only crawled pages can be used.
    pub(super) visitor: Option<&'a Visitor>,
    pub(super) documents: &'a mut DocumentReader,
    /// Number of pages that may still be fetched.
    pub(super) fetches: usize,
    /// Pages that could not be fetched.
    pub(super) failed: usize,
    pub(super) is_interrupted: bool,
}

/// The neighbours, each once, in the order of discovery.
#[derive(Default)]
pub(super) struct NeighbourList {
    pub(super) all: Vec<Neighbour>,
    places: HashMap<UrlId, usize>,
}

impl NeighbourList {
    fn at(&mut self, url: &CanonicalUrl) -> &mut Neighbour {
        let place = *self.places.entry(url.id()).or_insert(self.all.len());
        if place == self.all.len() {
            self.all.push(Neighbour {
                url: url.clone(),
                anchors: Vec::new(),
                linked_by: 0,
                links_to: 0,
                title: String::new(),
                document: None,
            });
        }
        &mut self.all[place]
    }
}

impl NeighbourFinder<'_> {
    /// The neighbours of examples, without pages that are already examples.
    pub(super) async fn neighbours_of(
        &mut self,
        examples: &[CanonicalUrl],
        known: &HashSet<UrlId>,
    ) -> anyhow::Result<NeighbourList> {
        let mut found = NeighbourList::default();
        let mut to_fetch = Vec::new();
        let is_crawled = self.reader.counts()?.known > 0;
        for (number, url) in examples.iter().enumerate() {
            let about = if is_crawled && number < PARENT_LOOKUPS { self.reader.about(url)? } else { None };
            for parent in about.iter().flat_map(|about| &about.parents) {
                if let Ok(parent) = CanonicalUrl::parse(&parent.url) {
                    found.at(&parent).links_to += 1;
                }
            }
            match about.and_then(|about| self.archived(url, &about)) {
                Some(page) => self.add_links(&mut found, url, &page.headers, &page.body),
                None => to_fetch.push(url.clone()),
            }
        }
        self.fetch_examples(&mut found, &to_fetch).await;
        found.all.retain(|neighbour| !known.contains(&neighbour.url.id()));
        if is_crawled {
            self.set_known_titles(&mut found)?;
        }
        Ok(found)
    }

    /// A page from the archive.
    fn archived(&self, url: &CanonicalUrl, about: &About) -> Option<Response> {
        self.workspace.read_page(url, about.span?).ok()
    }

    fn add_links(&mut self, found: &mut NeighbourList, at: &CanonicalUrl, headers: &Headers, body: &[u8]) {
        const ANCHORS: usize = 3;
        let (_, page) = self.documents.page(Some(at), headers, body);
        for link in outlinks(&page, at, true) {
            let neighbour = found.at(&link.url);
            neighbour.linked_by += 1;
            if !link.anchor.is_empty() && neighbour.anchors.len() < ANCHORS {
                neighbour.anchors.push(link.anchor);
            }
        }
    }

    /// Fetches examples for their links. At least half of the fetches remain for the neighbours.
    async fn fetch_examples(&mut self, found: &mut NeighbourList, urls: &[CanonicalUrl]) {
        let Some(visitor) = self.visitor else { return };
        let urls = &urls[..urls.len().min(self.fetches.div_ceil(2))];
        self.fetches -= urls.len();
        let mut visits: Vec<_> = urls.iter().map(|_| None).collect();
        self.is_interrupted |= visitor.visit_all(urls, |number, visit| visits[number] = visit.ok()).await;
        for visit in visits {
            match visit {
                Some(visit) => {
                    self.add_links(found, &visit.at, &visit.response.headers, &visit.response.body);
                }
                None => self.failed += 1,
            }
        }
    }

    /// Sets the titles of pages that the crawl has fetched.
    fn set_known_titles(&self, found: &mut NeighbourList) -> anyhow::Result<()> {
        let limits = QueryLimits::default();
        let rows = (limits.rows / 2).to_string();
        let pages = self.reader.query("top_pages", &[("rows", &rows)], &limits)?;
        let place = |name: &str| pages.columns.iter().position(|column| column == name);
        let (Some(title), Some(url)) = (place("title"), place("url")) else { return Ok(()) };
        let titles: HashMap<String, String> =
            pages.rows.iter().map(|row| (row[url].text().to_owned(), row[title].text().to_owned())).collect();
        for neighbour in &mut found.all {
            if let Some(title) = titles.get(neighbour.url.as_str()) {
                neighbour.title.clone_from(title);
            }
        }
        Ok(())
    }

    /// Fetches neighbours for their titles, within the limit of fetches.
    pub(super) async fn fetch(&mut self, neighbours: &mut [&mut Neighbour]) {
        let Some(visitor) = self.visitor.filter(|_| !self.is_interrupted) else { return };
        let most = neighbours.len().min(self.fetches);
        let neighbours = &mut neighbours[..most];
        self.fetches -= most;
        let urls: Vec<CanonicalUrl> = neighbours.iter().map(|neighbour| neighbour.url.clone()).collect();
        let tour = visitor.read_all(self.documents, &urls).await;
        self.is_interrupted |= tour.is_interrupted;
        for (neighbour, document) in neighbours.iter_mut().zip(tour.documents) {
            if document.state.name() == "missing" {
                self.failed += 1;
                continue;
            }
            neighbour.title.clone_from(&document.title);
            neighbour.document = Some(document);
        }
    }

    /// The page of a neighbour: fetched before, archived by the crawl, or fetched now.
    pub(super) async fn document(&mut self, neighbour: &mut Neighbour) -> anyhow::Result<TermDocument> {
        if let Some(document) = neighbour.document.take() {
            return Ok(document);
        }
        let about = self.reader.about_briefly(&neighbour.url)?;
        if let Some(page) = about.and_then(|about| self.archived(&neighbour.url, &about)) {
            return Ok(self.documents.bytes(Some(&neighbour.url), &page.headers, &page.body));
        }
        let Some(visitor) = self.visitor else { return Ok(TermDocument::unread()) };
        let visit = visitor.visit(&neighbour.url).await;
        Ok(crate::visiting::read(self.documents, visit))
    }
}
