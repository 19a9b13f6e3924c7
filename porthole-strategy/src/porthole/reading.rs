//! Reads the evidence that a page has for one of its links.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use porthole_page::{Link, Page, TermSplitter};
use porthole_topic::Critic;
use porthole_types::{SiteId, TermId, UrlId};

use super::evidence::{Evidence, LinkObservation, ListId, Opinion, RelevanceRecord, WaitingLink, bucket_of};
use super::learner::{BUCKETS, log_odds};
use crate::SourcePage;

/// Number of terms on each side of a link that are read, and the maximum distance of their leaves.
const AROUND: usize = 12;
const REACH: u32 = 3;

/// Links at most this many positions apart are adjacent.
const BESIDE: usize = 4;

/// Maximum number of the link's own terms that are features.
const OWN: usize = 12;

/// R up to here is no evidence: log odds are at their lower bound, with a margin for rounding.
const NO_EVIDENCE: f64 = 0.017_99;

/// Number of texts whose opinions are cached.
const CACHED: usize = 4096;

/// Reads links.
pub(super) struct LinkReader {
    critic: Option<CachedCritic>,
    wording: TermSplitter,
    own: Vec<TermId>,
    around: Vec<TermId>,
    hashed: Vec<u32>,
    /// Positions of the page's links that were fetched before, with the relevance of their targets.
    outcomes: Vec<(usize, f32)>,
    /// The targets of the page's links and their sites.
    targets: Vec<(UrlId, SiteId)>,
    /// Position of the link that is read.
    place: usize,
    /// Leaves of the page that are headers.
    headers: Vec<u32>,
}

impl LinkReader {
    pub(super) fn new(critic: Option<&Critic>) -> LinkReader {
        LinkReader {
            critic: critic.map(CachedCritic::new),
            wording: TermSplitter::default(),
            own: Vec::new(),
            around: Vec::new(),
            hashed: Vec::new(),
            outcomes: Vec::new(),
            targets: Vec::new(),
            place: 0,
            headers: Vec::new(),
        }
    }

    /// Starts reading the links of a page. Known targets of its links count as evidence if the page is new.
    pub(super) fn start(&mut self, source: &SourcePage<'_>, evidence: &mut Evidence, is_new: bool) {
        self.place = 0;
        self.outcomes.clear();
        self.targets.clear();
        self.headers.clear();
        self.headers
            .extend((0..source.page.leaf_count() as u32).filter(|leaf| is_header(source.page, *leaf)));
        let mut last: Option<UrlId> = None;
        let mut site = (source.url.authority(), source.url.site());
        for (place, link) in source.page.links.iter().enumerate() {
            let (url, authority) = (link.target.id(), link.target.authority());
            // Consecutive links mostly lead to the same site.
            if authority != site.0 {
                site = (authority, link.target.site());
            }
            self.targets.push((url, site.1));
            if last != Some(url)
                && url != source.url.id()
                && let Some(outcome) = evidence.outcome(url)
            {
                self.outcomes.push((place, outcome));
                if is_new {
                    let path = path_hash(source.page, link);
                    evidence.record_child(self.list_of(source, link, path), outcome);
                }
            }
            last = Some(url);
        }
    }

    /// Moves to a link of the page. Links must be read in their order. Returns its target and the site of that.
    pub(super) fn move_to(&mut self, source: &SourcePage<'_>, link: &Link) -> (UrlId, SiteId) {
        let links = &source.page.links;
        let is_it = |other: &Link| std::ptr::eq(other, link);
        self.place += links.get(self.place..).and_then(|rest| rest.iter().position(is_it)).unwrap_or(0);
        let target = self.targets.get(self.place).copied();
        target.unwrap_or_else(|| (link.target.id(), link.target.site()))
    }

    /// The page's evidence for the link that was moved to, with the site of its target.
    pub(super) fn read(
        &mut self,
        source: &SourcePage<'_>,
        link: &Link,
        site: SiteId,
        waiting: Option<&WaitingLink>,
    ) -> LinkObservation<'_> {
        let path = path_hash(source.page, link);
        let (place, list) = (place_of(source.page, link, path), self.list_of(source, link, path));
        if waiting.is_some_and(WaitingLink::is_classified) {
            return LinkObservation {
                beside: self.adjacent_outcomes(),
                place,
                list,
                ..LinkObservation::default()
            };
        }
        self.gather(source, link);
        let own = self.hash(site, path);
        let words = self.critic.as_mut().map_or(0.0, |critic| critic.opinion(&self.own));
        let around = self.critic.as_mut().map_or(0.0, |critic| critic.opinion(&self.around));
        LinkObservation {
            opinion: Some(Opinion { words, around }),
            beside: self.adjacent_outcomes(),
            hashed: &self.hashed,
            own,
            place,
            list,
        }
    }

    /// Collects the link's own words (address, title, anchor), and these together with the words around it.
    fn gather(&mut self, source: &SourcePage<'_>, link: &Link) {
        let page = source.page;
        self.own.clear();
        for leaf in link.first_leaf..=link.last_leaf {
            self.own.extend_from_slice(page.leaf_terms(leaf as usize));
        }
        self.wording.append(link.target.path_and_query(), page.language, &mut self.own);
        if let Some(title) = &link.title {
            self.wording.append(title, page.language, &mut self.own);
        }
        self.around.clear();
        self.around.extend_from_slice(&self.own);
        let mut room = AROUND;
        for leaf in (link.first_leaf.saturating_sub(REACH)..link.first_leaf).rev() {
            let terms = page.leaf_terms(leaf as usize);
            let nearest = &terms[terms.len().saturating_sub(room)..];
            self.around.extend_from_slice(nearest);
            room -= nearest.len();
        }
        let mut room = AROUND;
        for leaf in (link.last_leaf..link.last_leaf.saturating_add(REACH)).map(|leaf| leaf + 1) {
            let terms = page.leaf_terms(leaf as usize);
            let nearest = &terms[..terms.len().min(room)];
            self.around.extend_from_slice(nearest);
            room -= nearest.len();
        }
    }

    /// Relevance of the targets of adjacent links, the nearer the more.
    fn adjacent_outcomes(&self) -> RelevanceRecord {
        let mut record = RelevanceRecord::default();
        let first = self.outcomes.partition_point(|(place, _)| place + BESIDE < self.place);
        for (place, outcome) in &self.outcomes[first..] {
            let distance = place.abs_diff(self.place);
            if distance > BESIDE {
                break;
            }
            record.add(*outcome, 1.0 / (1.0 + distance as f32));
        }
        record
    }

    /// The list of a link: those below the same header of the page, in the same elements.
    fn list_of(&self, source: &SourcePage<'_>, link: &Link, path: u64) -> ListId {
        let section = self.headers.partition_point(|leaf| *leaf < link.first_leaf);
        ListId(FixedState::default().hash_one((source.url.id(), section, path)) as u32)
    }

    /// Computes the buckets of the link's own words and returns their number; the buckets of its place in the layout
    /// and of its host come after them.
    fn hash(&mut self, site: SiteId, path: u64) -> u8 {
        self.hashed.clear();
        for term in &self.own {
            let bucket = bucket_of(*term);
            if self.hashed.len() < OWN && !self.hashed.contains(&bucket) {
                self.hashed.push(bucket);
            }
        }
        let own = self.hashed.len() as u8;
        self.hashed.extend([path, site.0].map(|hash| (hash >> 40) as u32 % BUCKETS as u32));
        own
    }
}

/// Hash of the elements around a link.
fn path_hash(page: &Page, link: &Link) -> u64 {
    FixedState::default().hash_one(page.tag_path(link))
}

/// Whether a leaf with words is the header of a section, a table or an entry.
fn is_header(page: &Page, leaf: u32) -> bool {
    let tag = page.leaf_tag(leaf as usize).unwrap_or("");
    matches!(tag, "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "dt" | "th" | "caption")
        && !page.leaf_terms(leaf as usize).is_empty()
}

/// The bucket of a link's place in the layout: the elements around it, and the one that its text starts in.
fn place_of(page: &Page, link: &Link, path: u64) -> u32 {
    let inner = page.leaf_tag(link.first_leaf as usize);
    FixedState::default().hash_one((path, inner)) as u32 % BUCKETS as u32
}

/// A critic for short texts with a cache: most links have the same words on every page that has them, and in a list the
/// same words around them.
struct CachedCritic {
    critic: Critic,
    /// Hashes of texts with the critic's results.
    results: Box<[(u64, f32)]>,
}

impl CachedCritic {
    fn new(critic: &Critic) -> CachedCritic {
        CachedCritic { critic: critic.relevance_only(), results: vec![(0, 0.0); CACHED].into() }
    }

    /// The critic's log odds for a few words; 0 if there are none.
    fn opinion(&mut self, terms: &[TermId]) -> f32 {
        if terms.is_empty() {
            return 0.0;
        }
        let hash = FixedState::default().hash_one(terms);
        let cached = &mut self.results[hash as usize % CACHED];
        if cached.0 != hash {
            *cached = (hash, log_odds(self.critic.relevance_beyond(terms, NO_EVIDENCE) as f32));
        }
        cached.1
    }
}

#[cfg(test)]
mod tests {
    use porthole_page::Extractor;
    use porthole_topic::{Statistics, Taxonomy, TopicExample, TrainingOptions, Tuning, Tunings, train};
    use porthole_types::{CanonicalUrl, Headers, Judgment, TopicId};

    use super::*;

    #[test]
    fn links_of_a_list_are_in_the_same_place_on_every_page() {
        let places = |html: &str| -> Vec<u32> {
            let url = CanonicalUrl::parse("http://a.test/").unwrap();
            let page = Extractor::default().extract(&url, &Headers::new(), html.as_bytes());
            page.links.iter().map(|link| place_of(&page, link, path_hash(&page, link))).collect()
        };
        let list = places("<ul><li><a href=/1>a</a><li>b <a href=/2>c</a></ul><p><a href=/3>d</a></p>");
        assert_eq!(list[0], list[1]);
        assert_ne!(list[0], list[2]);
        let other = places("<h1>e</h1><ul><li>f<li><a href=/4>g</a><li><a href=/5><code>h</code></a></ul>");
        assert_eq!(other[0], list[0]);
        assert_ne!(other[1], list[0], "text in another element");
    }

    #[test]
    fn links_of_a_list_are_below_the_same_header() {
        let url = CanonicalUrl::parse("http://a.test/").unwrap();
        let html = "<h2>owls</h2><ul><li><a href=/1>a</a><li><a href=/2>b</a></ul><p><a href=/3>c</a></p>\
            <h2>cats</h2><ul><li><a href=/4>d</a></ul>";
        let page = Extractor::default().extract(&url, &Headers::new(), html.as_bytes());
        let judgment = Judgment { relevance: 0.5, best: TopicId(1) };
        let source = SourcePage { url: &url, page: &page, judgment, on_topic: false, depth: 0 };
        let mut reader = LinkReader::new(None);
        reader.start(&source, &mut Evidence::new(9), true);
        let list_of = |source: &SourcePage<'_>, link| reader.list_of(source, link, path_hash(&page, link));
        let lists: Vec<ListId> = page.links.iter().map(|link| list_of(&source, link)).collect();
        assert_eq!(lists[0], lists[1]);
        assert!(lists[2] != lists[0] && lists[3] != lists[0] && lists[3] != lists[2]);
        // The same list on another page is another one.
        let other = CanonicalUrl::parse("http://a.test/other").unwrap();
        let source = SourcePage { url: &other, ..source };
        assert_ne!(list_of(&source, &page.links[0]), lists[0]);
    }

    #[test]
    fn cached_opinions_equal_computed_ones() {
        let mut tree = Taxonomy::new();
        let (birds, cats) = (tree.add_path("/birds").unwrap(), tree.add_path("/cats").unwrap());
        let examples =
            [(birds, vec![(TermId(3), 5), (TermId(5), 1)]), (cats, vec![(TermId(4), 5), (TermId(5), 1)])];
        let statistics =
            Statistics::of(examples.iter().map(|(topic, counts)| TopicExample { topic: *topic, counts }));
        let model =
            train(&tree, &statistics, &Tunings::default(), &Tuning::untried(), &TrainingOptions::default());
        tree.mark(birds).unwrap();
        let critic = Critic::new(model, &tree);
        let (mut asked, mut fresh) = (CachedCritic::new(&critic), critic.clone());
        // More texts than the cache holds, each twice in succession and once more at the end.
        let text = |number: usize| [TermId(3 + number as u32 % 3), TermId(100 + number as u32)];
        for number in (0..2 * CACHED).chain(0..2 * CACHED) {
            let expected = log_odds(fresh.relevance_of_terms(&text(number)) as f32);
            assert_eq!(
                [asked.opinion(&text(number)), asked.opinion(&text(number))],
                [expected; 2],
                "{number}"
            );
        }
        assert!(asked.opinion(&text(0)) > 0.0 && asked.opinion(&text(1)) < 0.0);
        assert_eq!(asked.opinion(&[]), 0.0);
    }
}
