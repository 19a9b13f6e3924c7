//! Evidence about links: the pages that link to them, their hosts, and their words.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;
use porthole_types::{SiteId, TermId, UrlId};
use serde::{Deserialize, Serialize};

use super::learner::{BUCKETS, DENSE, Dense, log_odds};
use crate::queued::Queued;
use crate::{StateError, state};

/// Maximum number of hashed features of a link.
const MAX_HASHED: usize = 20;

/// Number of parents remembered for a link: the latest ones.
const PARENTS: usize = 3;

/// Maximum number of times that the critic classifies a link. Later pages rarely change the result, and the critic
/// takes most of the time.
const MAX_OPINIONS: u8 = 12;

/// Weight of the overall mean in a smoothed mean, as a number of pages.
const PRIOR_PAGES: f32 = 2.0;

/// Maximum weight of one parent's children, of one place or of one list, as a number of pages.
const MAX_WEIGHT: f32 = 8.0;

/// Maximum numbers of remembered pages and hosts; the oldest are forgotten. A forgotten page is no longer evidence
/// for waiting links, and counts as new if it is fetched again.
const MAX_PAGES: usize = 500_000;
const MAX_HOSTS: usize = 1_000_000;

/// Slots for lists; a power of two.
const LIST_SLOTS: usize = 1 << 18;

/// The number of an unknown parent.
const NO_PAGE: u32 = u32::MAX;

/// Sum of the relevance of some pages, and their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RelevanceRecord {
    sum: f32,
    count: f32,
}

impl RelevanceRecord {
    pub(super) fn add(&mut self, relevance: f32, weight: f32) {
        self.sum += weight * relevance;
        self.count += weight;
    }

    /// Adds another record with a weight of at most `MAX_WEIGHT`.
    fn add_bounded(&mut self, other: RelevanceRecord) {
        self.add(other.sum / other.count.max(1.0), other.count.min(MAX_WEIGHT));
    }

    /// The mean, smoothed towards the overall mean.
    fn mean(self, overall: f32) -> f32 {
        (self.sum + PRIOR_PAGES * overall) / (self.count + PRIOR_PAGES)
    }

    /// Difference from the overall mean in log odds; 0 without pages.
    fn above_overall(self, overall: OverallMean) -> f32 {
        if self.count == 0.0 { 0.0 } else { log_odds(self.mean(overall.mean)) - overall.log_odds }
    }
}

/// Relevance of all fetched pages.
#[derive(Clone, Copy, Debug)]
struct OverallMean {
    mean: f32,
    log_odds: f32,
}

impl OverallMean {
    /// Computes the mean with a prior of one page of relevance 0.2.
    fn of(all: RelevanceRecord) -> OverallMean {
        let mean = (all.sum + 0.2) / (all.count + 1.0);
        OverallMean { mean, log_odds: log_odds(mean) }
    }
}

/// Relevance of the pages that contain a term, by bucket. Separate arrays, because a page reads and writes the records
/// of its hundreds of terms, and rescoring reads the values of thousands of links: less memory stays in the cache.
#[derive(Debug)]
struct TermStats {
    records: Box<[RelevanceRecord]>,
    /// Cached value of a term, and the number of pages when it was computed. Many links share terms.
    values: Box<[Cell<(f32, u32)>]>,
    /// A bit for every bucket that occurs in the current page; all 0 between pages.
    seen: Box<[u64]>,
    /// The buckets of the current page.
    buckets: Vec<u32>,
}

impl TermStats {
    fn new() -> TermStats {
        TermStats {
            records: vec![RelevanceRecord::default(); BUCKETS].into(),
            values: vec![Cell::default(); BUCKETS].into(),
            seen: vec![0; BUCKETS / 64].into(),
            buckets: Vec::new(),
        }
    }

    /// Adds a page. A bucket counts once, however often its terms occur.
    fn add_page(&mut self, terms: &[TermId], relevance: f32) {
        self.buckets.resize(self.buckets.len().max(terms.len()), 0);
        let mut count = 0;
        for term in terms {
            let bucket = bucket_of(*term);
            let (word, bit) = (bucket as usize / 64, 1 << (bucket % 64));
            self.buckets[count] = bucket;
            // No branch, because it would be unpredictable.
            count += usize::from(self.seen[word] & bit == 0);
            self.seen[word] |= bit;
        }
        for &bucket in &self.buckets[..count] {
            self.records[bucket as usize].add(relevance, 1.0);
            self.seen[bucket as usize / 64] = 0;
        }
    }
}

/// A fetched page.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Arrival {
    url: UrlId,
    relevance: f32,
    /// Relevance of the fetched pages that it links to.
    children: RelevanceRecord,
}

/// A hash that identifies the links of one page that are in the same section and in the same elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct ListId(pub(super) u32);

/// Relevance of the fetched targets of each list. A list has one slot; a list that comes into the slot of another
/// replaces it. A page rescores hundreds of links: one access to memory a list instead of the three of a map.
#[derive(Debug)]
struct Lists(Box<[(ListId, RelevanceRecord)]>);

impl Lists {
    fn new() -> Lists {
        Lists(vec![Default::default(); LIST_SLOTS].into())
    }

    fn get(&self, list: ListId) -> RelevanceRecord {
        let (found, record) = self.0[list.0 as usize % LIST_SLOTS];
        if found == list { record } else { RelevanceRecord::default() }
    }

    fn add(&mut self, list: ListId, relevance: f32) {
        let (found, record) = &mut self.0[list.0 as usize % LIST_SLOTS];
        if *found != list {
            (*found, *record) = (list, RelevanceRecord::default());
        }
        record.add(relevance, 1.0);
    }

    /// The lists with fetched targets.
    fn used(&self) -> Vec<(ListId, RelevanceRecord)> {
        self.0.iter().filter(|(_, record)| record.count > 0.0).copied().collect()
    }

    /// Replaces all lists by saved ones.
    fn restore(&mut self, lists: Vec<(ListId, RelevanceRecord)>) {
        self.0.fill(Default::default());
        for (list, record) in lists {
            self.0[list.0 as usize % LIST_SLOTS] = (list, record);
        }
    }
}

/// Evidence that one page has for one of its links.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkObservation<'a> {
    /// The critic's opinion, if it was asked.
    pub(super) opinion: Option<Opinion>,
    /// Relevance of the targets of adjacent links.
    pub(super) beside: RelevanceRecord,
    /// Hashed features; the link's own words come first.
    pub(super) hashed: &'a [u32],
    /// Number of features that are the link's own words.
    pub(super) own: u8,
    /// Bucket of its place in the layout.
    pub(super) place: u32,
    /// The list that it is in.
    pub(super) list: ListId,
}

/// The critic's estimates for a link, in log odds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opinion {
    /// From the link's own words.
    pub(super) words: f32,
    /// From its own words and the words around it.
    pub(super) around: f32,
}

/// A waiting link, with the evidence of all pages that link to it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WaitingLink {
    site: SiteId,
    /// Relevance of its parents.
    parents: RelevanceRecord,
    /// Numbers of the latest parents.
    last: [u32; PARENTS],
    /// Its place in the layout of each of these, and its list there; meaningless where there is no parent.
    places: [u32; PARENTS],
    lists: [ListId; PARENTS],
    words: f32,
    /// Maximum and sum of all opinions.
    around: (f32, f32),
    opinions: u8,
    /// Number of parents when the critic was last asked.
    parents_when_asked: f32,
    beside: RelevanceRecord,
    /// The priority that the frontier has.
    pub(super) priority: f32,
    own: u8,
    /// Number of hashed features.
    length: u8,
    hashed: [u32; MAX_HASHED],
}

impl WaitingLink {
    fn new(site: SiteId) -> WaitingLink {
        WaitingLink {
            site,
            parents: RelevanceRecord::default(),
            last: [NO_PAGE; PARENTS],
            places: [0; PARENTS],
            lists: [ListId::default(); PARENTS],
            words: 0.0,
            around: (0.0, 0.0),
            opinions: 0,
            parents_when_asked: 0.0,
            beside: RelevanceRecord::default(),
            priority: 0.0,
            own: 0,
            length: 0,
            hashed: [0; MAX_HASHED],
        }
    }

    /// Its place in the layout of each of its latest parents, and its list there.
    fn places(&self) -> impl Iterator<Item = (usize, ListId)> + '_ {
        let places = self.places.iter().map(|place| *place as usize % BUCKETS).zip(self.lists);
        self.last.iter().zip(places).filter(|(parent, _)| **parent != NO_PAGE).map(|(_, places)| places)
    }

    /// Whether the critic has classified the link often enough.
    pub(super) fn is_classified(&self) -> bool {
        self.opinions >= MAX_OPINIONS
    }

    pub(super) fn hashed(&self) -> &[u32] {
        &self.hashed[..usize::from(self.length).min(MAX_HASHED)]
    }

    /// Adds the evidence of one more page.
    fn merge(&mut self, number: u32, relevance: f32, observed: &LinkObservation<'_>) {
        if !self.last.contains(&number) {
            self.parents.add(relevance, 1.0);
            self.last.rotate_right(1);
            self.last[0] = number;
            self.places.rotate_right(1);
            self.places[0] = observed.place;
            self.lists.rotate_right(1);
            self.lists[0] = observed.list;
        }
        if let Some(Opinion { words, around }) = observed.opinion {
            let is_first = self.opinions == 0;
            self.words = if is_first { words } else { self.words.max(words) };
            self.around.0 = if is_first { around } else { self.around.0.max(around) };
            self.around.1 += around;
            self.opinions += 1;
            self.parents_when_asked = self.parents.count;
        }
        self.beside.sum += observed.beside.sum;
        self.beside.count += observed.beside.count;
        if self.length == 0 {
            self.own = observed.own;
        }
        // Append features that other pages did not have, while there is space.
        let before = usize::from(self.length);
        for at in observed.hashed {
            let (known, room) = self.hashed.split_at_mut(before);
            let new = usize::from(self.length) - before;
            if !known.contains(at)
                && let Some(room) = room.get_mut(new)
            {
                *room = *at;
                self.length += 1;
            }
        }
    }
}

/// Saved state: waiting links, pages with the number of the first, hosts, terms, places, lists, and the totals.
pub(super) type State = (
    Vec<(UrlId, WaitingLink)>,
    (u32, VecDeque<Arrival>),
    Vec<(SiteId, RelevanceRecord)>,
    Vec<(u32, RelevanceRecord)>,
    Vec<(u32, RelevanceRecord)>,
    Vec<(ListId, RelevanceRecord)>,
    RelevanceRecord,
);

/// All evidence of a crawl.
#[derive(Debug)]
pub(super) struct Evidence {
    waiting: Queued<WaitingLink>,
    /// The latest fetched pages, in order.
    pages: VecDeque<Arrival>,
    /// Number of the first of them; earlier pages were forgotten.
    first: u32,
    /// The number of each page, counted from the first page of the crawl.
    numbers: HashMap<UrlId, u32, FixedState>,
    hosts: Queued<RelevanceRecord, SiteId>,
    term_stats: TermStats,
    /// Relevance of the fetched targets of links, by the bucket of their place in the layout.
    places: Box<[RelevanceRecord]>,
    lists: Lists,
    /// Relevance of all pages.
    all: RelevanceRecord,
    overall: OverallMean,
    max_pages: usize,
}

impl Evidence {
    /// Keeps at most `most` waiting links.
    pub(super) fn new(most: usize) -> Evidence {
        Evidence::with_bounds(most, MAX_PAGES, MAX_HOSTS)
    }

    fn with_bounds(links: usize, pages: usize, hosts: usize) -> Evidence {
        Evidence {
            waiting: Queued::new(links),
            pages: VecDeque::new(),
            first: 0,
            max_pages: pages,
            numbers: HashMap::default(),
            hosts: Queued::new(hosts),
            term_stats: TermStats::new(),
            places: vec![RelevanceRecord::default(); BUCKETS].into(),
            lists: Lists::new(),
            all: RelevanceRecord::default(),
            overall: OverallMean::of(RelevanceRecord::default()),
        }
    }

    /// Relevance of a page, if it was fetched.
    pub(super) fn outcome(&self, url: UrlId) -> Option<f32> {
        self.page(*self.numbers.get(&url)?).map(|page| page.relevance)
    }

    pub(super) fn waiting(&self, url: UrlId) -> Option<&WaitingLink> {
        self.waiting.get(url)
    }

    pub(super) fn all_waiting(&self) -> impl Iterator<Item = (UrlId, &WaitingLink)> {
        self.waiting.iter()
    }

    pub(super) fn waiting_count(&self) -> usize {
        self.waiting.len()
    }

    /// Records the priority that the frontier has for a link.
    pub(super) fn set_priority(&mut self, url: UrlId, worth: f64) {
        if let Some(waiting) = self.waiting.get_mut(url) {
            waiting.priority = worth as f32;
        }
    }

    pub(super) fn settled(&mut self, url: UrlId) {
        self.waiting.remove(url);
    }

    /// Adds a fetched page with its terms. Returns whether it is new.
    pub(super) fn record_page(&mut self, url: UrlId, site: SiteId, relevance: f32, terms: &[TermId]) -> bool {
        let waited = self.waiting.remove(url);
        if self.numbers.contains_key(&url) {
            return false;
        }
        for parent in waited.iter().flat_map(|waited| waited.last) {
            let place = parent.checked_sub(self.first);
            if let Some(parent) = place.and_then(|place| self.pages.get_mut(place as usize)) {
                parent.children.add(relevance, 1.0);
            }
        }
        for (place, list) in waited.iter().flat_map(WaitingLink::places) {
            self.places[place].add(relevance, 1.0);
            self.lists.add(list, relevance);
        }
        self.numbers.insert(url, self.count());
        self.pages.push_back(Arrival { url, relevance, children: RelevanceRecord::default() });
        self.forget_old_pages();
        self.hosts.entry(site, RelevanceRecord::default).add(relevance, 1.0);
        self.all.add(relevance, 1.0);
        self.overall = OverallMean::of(self.all);
        self.term_stats.add_page(terms, relevance);
        true
    }

    /// Adds the relevance of an earlier page that the latest page links to, in a list.
    pub(super) fn record_child(&mut self, list: ListId, relevance: f32) {
        self.lists.add(list, relevance);
        if let Some(page) = self.pages.back_mut() {
            page.children.add(relevance, 1.0);
        }
    }

    /// Adds the evidence of a fetched page for one of its links.
    pub(super) fn observe(
        &mut self,
        parent: UrlId,
        url: UrlId,
        site: SiteId,
        observed: &LinkObservation<'_>,
    ) {
        let number = self.number(parent);
        let relevance = self.page(number).map_or(0.0, |page| page.relevance);
        self.waiting.entry(url, || WaitingLink::new(site)).merge(number, relevance, observed);
    }

    /// Number of pages fetched so far.
    fn count(&self) -> u32 {
        self.first + self.pages.len() as u32
    }

    /// The page with a number, if it is remembered.
    fn page(&self, number: u32) -> Option<&Arrival> {
        self.pages.get(number.checked_sub(self.first)? as usize)
    }

    fn forget_old_pages(&mut self) {
        while self.pages.len() > self.max_pages
            && let Some(oldest) = self.pages.pop_front()
        {
            self.numbers.remove(&oldest.url);
            self.first += 1;
        }
    }

    /// The number of a page. Most calls are about the latest one.
    fn number(&self, url: UrlId) -> u32 {
        match self.pages.back() {
            Some(last) if last.url == url => self.count() - 1,
            _ => self.numbers.get(&url).copied().unwrap_or(NO_PAGE),
        }
    }

    /// Dense features of a link, scaled to about 1; see [`FEATURES`](super::FEATURES).
    pub(super) fn features(&self, waiting: &WaitingLink) -> Dense {
        let overall = self.overall;
        let mut siblings = RelevanceRecord::default();
        for parent in waiting.last.iter().filter_map(|number| self.page(*number)) {
            siblings.add_bounded(parent.children);
        }
        let (mut places, mut lists) = (RelevanceRecord::default(), RelevanceRecord::default());
        for (place, list) in waiting.places() {
            places.add_bounded(self.places[place]);
            lists.add_bounded(self.lists.get(list));
        }
        let host = self.hosts.get(waiting.site).copied().unwrap_or_default();
        let (term_stats, strongest) = self.term_stats(waiting);
        let features: [f32; DENSE] = [
            1.0,
            waiting.parents.above_overall(overall),
            waiting.words,
            waiting.around.0,
            waiting.around.1 / waiting.parents_when_asked.max(1.0),
            siblings.above_overall(overall),
            host.above_overall(overall),
            waiting.beside.above_overall(overall),
            (1.0 + waiting.parents.count).ln() - 1.0,
            term_stats,
            strongest,
            places.above_overall(overall),
            lists.above_overall(overall),
        ];
        features
    }

    /// Values of the link's own words: their mean, and the one with the largest magnitude.
    fn term_stats(&self, waiting: &WaitingLink) -> (f32, f32) {
        let own = waiting.hashed().get(..usize::from(waiting.own)).unwrap_or(waiting.hashed());
        let (mut sum, mut strongest) = (0.0, 0.0_f32);
        for bucket in own {
            let value = self.value_of_term(*bucket as usize % BUCKETS);
            sum += value;
            if value.abs() > strongest.abs() {
                strongest = value;
            }
        }
        (sum / own.len().max(1) as f32, strongest)
    }

    fn value_of_term(&self, bucket: usize) -> f32 {
        let (now, cached) = (self.count(), &self.term_stats.values[bucket]);
        match cached.get() {
            (value, when) if when == now => value,
            _ => {
                let value = self.term_stats.records[bucket].above_overall(self.overall);
                cached.set((value, now));
                value
            }
        }
    }

    pub(super) fn state(&self) -> impl Serialize + '_ {
        let (term_stats, places) = (used(&self.term_stats.records), used(&self.places));
        let lists = self.lists.used();
        (&self.waiting, (self.first, &self.pages), &self.hosts, term_stats, places, lists, self.all)
    }

    pub(super) fn restore(&mut self, state: State) -> Result<(), StateError> {
        let (waiting, (first, pages), hosts, term_stats, places, lists, all) = state;
        state::check(waiting.iter().all(|(_, waiting)| usize::from(waiting.length) <= MAX_HASHED))?;
        state::check(term_stats.iter().chain(&places).all(|(at, _)| (*at as usize) < BUCKETS))?;
        state::check(u32::try_from(pages.len()).is_ok_and(|pages| first.checked_add(pages).is_some()))?;
        self.waiting.restore(waiting);
        self.hosts.restore(hosts);
        self.lists.restore(lists);
        self.numbers = (first..).zip(&pages).map(|(number, page)| (page.url, number)).collect();
        (self.first, self.pages) = (first, pages);
        self.forget_old_pages();
        self.term_stats = TermStats::new();
        for (at, record) in term_stats {
            self.term_stats.records[at as usize] = record;
        }
        self.places.fill(RelevanceRecord::default());
        for (at, record) in places {
            self.places[at as usize] = record;
        }
        (self.all, self.overall) = (all, OverallMean::of(all));
        Ok(())
    }
}

/// The records that are not empty, with their buckets.
fn used(records: &[RelevanceRecord]) -> Vec<(u32, RelevanceRecord)> {
    (0..).zip(records).filter(|(_, record)| record.count > 0.0).map(|(at, record)| (at, *record)).collect()
}

/// The bucket of a term.
pub(super) fn bucket_of(term: TermId) -> u32 {
    // Term ids are hashes.
    term.0 % BUCKETS as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(words: f32) -> LinkObservation<'static> {
        LinkObservation { opinion: Some(Opinion { words, around: words }), ..LinkObservation::default() }
    }

    #[test]
    fn evidence_of_all_parents_is_merged() {
        let mut evidence = Evidence::new(9);
        let (site, link) = (SiteId(1), UrlId(9));
        evidence.record_page(UrlId(1), site, 0.8, &[]);
        evidence.observe(UrlId(1), link, SiteId(2), &observation(-1.0));
        evidence.record_page(UrlId(2), site, 0.2, &[]);
        evidence.observe(UrlId(2), link, SiteId(2), &observation(3.0));
        // The same page again does not count as another parent.
        evidence.observe(UrlId(2), link, SiteId(2), &observation(1.0));
        let waiting = evidence.waiting(link).unwrap();
        let overall = (1.0 + 0.2) / 3.0;
        assert_eq!(evidence.overall.mean, overall);
        let features = evidence.features(waiting);
        // Two parents with a sum of 1.0, smoothed towards the overall mean 0.4: (1 + 0.8) / 4.
        let above_overall = |mean: f32| log_odds(mean) - log_odds(overall);
        assert!((features[1] - above_overall(0.45)).abs() < 1e-6);
        assert_eq!((features[2], features[3]), (3.0, 3.0));
        assert_eq!(features[4], 3.0 / 2.0, "sum of opinions per parent");
        assert_eq!((features[5], features[6], features[7]), (0.0, 0.0, 0.0));
        // A sibling is relevant: both parents have a child.
        evidence.observe(UrlId(1), UrlId(8), site, &observation(0.0));
        evidence.record_page(UrlId(8), SiteId(2), 1.0, &[]);
        let overall = (2.0 + 0.2) / 4.0;
        let features = evidence.features(evidence.waiting(link).unwrap());
        let one = log_odds((1.0 + 2.0 * overall) / 3.0) - log_odds(overall);
        assert!((features[5] - one).abs() < 1e-6, "siblings");
        assert!((features[6] - one).abs() < 1e-6, "host");
        // The link is fetched: it no longer waits, and its relevance is known.
        evidence.record_page(link, SiteId(2), 0.5, &[]);
        assert!(evidence.waiting(link).is_none());
        assert_eq!(evidence.outcome(link), Some(0.5));
    }

    #[test]
    fn the_oldest_pages_and_hosts_are_evicted_at_the_bound() {
        const PAGES: u64 = 40;
        let filled = |mut evidence: Evidence| {
            let mut features = Vec::new();
            for page in 0..PAGES {
                evidence.record_page(
                    UrlId(page),
                    SiteId(page / 2),
                    0.9 - page as f32 / 100.0,
                    &[TermId(page as u32)],
                );
                for link in [page + 1, page + 2, page + 100] {
                    evidence.observe(UrlId(page), UrlId(link), SiteId(link / 2), &observation(0.5));
                    features.push(evidence.features(evidence.waiting(UrlId(link)).unwrap()));
                }
            }
            (evidence, features)
        };
        let (whole, features) = filled(Evidence::with_bounds(999, PAGES as usize, PAGES as usize));
        assert_eq!(filled(Evidence::new(999)).1, features, "nothing is evicted below the bound");
        assert_eq!(whole.outcome(UrlId(0)), Some(0.9));
        let (bounded, others) = filled(Evidence::with_bounds(999, 8, 4));
        assert_eq!((bounded.pages.len(), bounded.numbers.len(), bounded.hosts.len()), (8, 8, 4));
        assert_eq!((bounded.outcome(UrlId(31)), bounded.outcome(UrlId(32))), (None, Some(0.58)));
        // Features that depend only on remembered pages are unchanged.
        assert_eq!(others[..3 * 8], features[..3 * 8]);
        let bytes = state::save(1, bounded.state());
        let mut restored = Evidence::with_bounds(999, 8, 4);
        restored.restore(state::restore(1, &bytes).unwrap()).unwrap();
        assert_eq!(state::save(1, restored.state()), bytes);
        assert_eq!((restored.outcome(UrlId(31)), restored.outcome(UrlId(32))), (None, Some(0.58)));
    }

    #[test]
    fn places_and_lists_are_worth_what_their_links_led_to() {
        let mut evidence = Evidence::new(9);
        let at = |place, list| LinkObservation { place, list: ListId(list), ..LinkObservation::default() };
        let page = |evidence: &mut Evidence, url, relevance| {
            evidence.record_page(UrlId(url), SiteId(url), relevance, &[]);
        };
        // Both pages have a list in place 5 and a menu in place 6.
        page(&mut evidence, 1, 0.5);
        for (link, place) in [(11, 5), (12, 6), (13, 5)] {
            evidence.observe(UrlId(1), UrlId(link), SiteId(1), &at(place, 10 + place));
        }
        page(&mut evidence, 2, 0.5);
        for (link, place) in [(21, 5), (22, 6), (23, 7)] {
            evidence.observe(UrlId(2), UrlId(link), SiteId(1), &at(place, 20 + place));
        }
        let values = |evidence: &Evidence, link| -> [f32; 2] {
            let features = evidence.features(evidence.waiting(UrlId(link)).unwrap());
            [features[DENSE - 2], features[DENSE - 1]]
        };
        for link in [13, 21, 22, 23] {
            assert_eq!(values(&evidence, link), [0.0, 0.0]);
        }
        page(&mut evidence, 11, 1.0);
        page(&mut evidence, 12, 0.0);
        let overall = evidence.overall;
        let value =
            |sum: f32, count: f32| log_odds((sum + 2.0 * overall.mean) / (count + 2.0)) - overall.log_odds;
        let (good, bad) = (value(1.0, 1.0), value(0.0, 1.0));
        // The place counts on every page, the list on its own.
        assert_eq!(values(&evidence, 13), [good, good]);
        assert_eq!(values(&evidence, 21), [good, 0.0]);
        assert_eq!(values(&evidence, 22), [bad, 0.0]);
        assert_eq!(values(&evidence, 23), [0.0, 0.0]);
        // The latest page links to a fetched page: its list has a value at once.
        evidence.record_child(ListId(25), 1.0);
        assert_eq!(values(&evidence, 21), [good, good]);
        // A link in two places and lists has the evidence of both.
        evidence.observe(UrlId(1), UrlId(22), SiteId(1), &at(5, 15));
        let [place, list] = values(&evidence, 22);
        assert!((place - value(1.0, 2.0)).abs() < 1e-6 && list == good);
        let bytes = state::save(1, evidence.state());
        let mut restored = Evidence::new(9);
        restored.restore(state::restore(1, &bytes).unwrap()).unwrap();
        assert_eq!(values(&restored, 22), [place, list]);
    }

    #[test]
    fn a_list_replaces_another_one_in_its_slot() {
        let mut lists = Lists::new();
        let (one, same_slot) = (ListId(5), ListId(5 + LIST_SLOTS as u32));
        lists.add(one, 1.0);
        lists.add(one, 0.5);
        assert_eq!(lists.get(one), RelevanceRecord { sum: 1.5, count: 2.0 });
        assert_eq!(lists.get(same_slot), RelevanceRecord::default());
        lists.add(same_slot, 0.25);
        assert_eq!(lists.get(one), RelevanceRecord::default());
        let mut restored = Lists::new();
        restored.add(ListId(6), 1.0);
        restored.restore(lists.used());
        assert_eq!(restored.used(), [(same_slot, RelevanceRecord { sum: 0.25, count: 1.0 })]);
    }

    #[test]
    fn the_value_of_a_word_is_the_relevance_of_its_pages() {
        let mut evidence = Evidence::new(9);
        let (owl, cat) = (TermId(3), TermId(4));
        evidence.record_page(UrlId(1), SiteId(1), 0.9, &[owl, owl, cat]);
        evidence.record_page(UrlId(2), SiteId(1), 0.1, &[cat]);
        let observed = LinkObservation {
            hashed: &[bucket_of(owl), bucket_of(cat), 77],
            own: 2,
            ..LinkObservation::default()
        };
        evidence.observe(UrlId(1), UrlId(9), SiteId(1), &observed);
        let features = evidence.features(evidence.waiting(UrlId(9)).unwrap());
        let overall = evidence.overall.mean;
        let value =
            |sum: f32, count: f32| log_odds((sum + 2.0 * overall) / (count + 2.0)) - log_odds(overall);
        let (owl, cat) = (value(0.9, 1.0), value(1.0, 2.0));
        assert!((features[9] - (owl + cat) / 2.0).abs() < 1e-6);
        assert!((features[10] - owl).abs() < 1e-6);
    }
}
