//! What is known of links that wait, of pages that came, of hosts, and of words.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;
use porthole_types::{SiteId, TermId, UrlId};
use serde::{Deserialize, Serialize};

use super::learner::{BUCKETS, DENSE, Dense, log_odds};
use crate::queued::Queued;
use crate::{StateError, state};

/// Hashed features that are kept of a link, at most.
const MOST_HASHED: usize = 20;

/// Parents of a link that are remembered: the last ones.
const PARENTS: usize = 3;

/// How often the critic is asked about a link, at most: later pages mostly say what earlier ones said, and it takes most of
/// the time.
const MOST_OPINIONS: u8 = 12;

/// What is usual counts as much as so many outcomes of one's own.
const USUAL: f32 = 2.0;

/// What the links of one parent led to counts as so many outcomes at most.
const MOST_CHILDREN: f32 = 8.0;

/// Pages and hosts that are remembered; those that came first go first. A page that is forgotten says nothing more to links
/// that wait, and counts as new if it comes again.
const MOST_PAGES: usize = 1_000_000;
const MOST_HOSTS: usize = 1_000_000;

/// A parent that is not known.
const NO_PAGE: u32 = u32::MAX;

/// The sum of what some pages are worth, and how many they are.
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

    /// The mean, drawn towards what is usual.
    fn mean(self, usual: f32) -> f32 {
        (self.sum + USUAL * usual) / (self.count + USUAL)
    }

    /// By how much it is better than what is usual, in log odds.
    fn beyond(self, usual: Usual) -> f32 {
        if self.count == 0.0 { 0.0 } else { log_odds(self.mean(usual.mean)) - usual.log_odds }
    }
}

/// What pages are worth that the crawl fetches.
#[derive(Clone, Copy, Debug)]
struct Usual {
    mean: f32,
    log_odds: f32,
}

impl Usual {
    /// By what all pages were worth.
    fn of(all: RelevanceRecord) -> Usual {
        let mean = (all.sum + 0.2) / (all.count + 1.0);
        Usual { mean, log_odds: log_odds(mean) }
    }
}

/// What pages were worth that have a word.
#[derive(Clone, Debug, Default)]
struct TermStats {
    record: RelevanceRecord,
    /// What that says of a link, and how many pages had come when it was worked out: links have the same words.
    value: Cell<(f32, u32)>,
    /// How many pages had come with the last one that has it: a word counts once a page.
    last: u32,
}

/// A page that came.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Arrival {
    url: UrlId,
    relevance: f32,
    /// What its links led to.
    children: RelevanceRecord,
}

/// What one page says of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkObservation<'a> {
    /// What the critic says, if it was asked.
    pub(super) opinion: Option<Opinion>,
    /// What links beside it turned out to be.
    pub(super) beside: RelevanceRecord,
    /// Hashed features, the link's own words first.
    pub(super) hashed: &'a [u32],
    /// How many of them are words.
    pub(super) own: u8,
}

/// What the critic says of a link, in log odds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opinion {
    /// Of the link's own words.
    pub(super) words: f32,
    /// Of these together with the words around it.
    pub(super) around: f32,
}

/// A link that waits, by all pages that have it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WaitingLink {
    site: SiteId,
    /// What its parents are worth.
    parents: RelevanceRecord,
    /// The last of them, by their numbers.
    last: [u32; PARENTS],
    words: f32,
    /// The best, and the sum of all opinions.
    around: (f32, f32),
    opinions: u8,
    /// How many pages had the link when the critic was asked last.
    asked_by: f32,
    beside: RelevanceRecord,
    /// What the frontier believes it is worth.
    pub(super) given: f32,
    own: u8,
    /// So many hashed features.
    length: u8,
    hashed: [u32; MOST_HASHED],
}

impl WaitingLink {
    fn new(site: SiteId) -> WaitingLink {
        WaitingLink {
            site,
            parents: RelevanceRecord::default(),
            last: [NO_PAGE; PARENTS],
            words: 0.0,
            around: (0.0, 0.0),
            opinions: 0,
            asked_by: 0.0,
            beside: RelevanceRecord::default(),
            given: 0.0,
            own: 0,
            length: 0,
            hashed: [0; MOST_HASHED],
        }
    }

    /// Whether the critic has said enough about it.
    pub(super) fn is_known(&self) -> bool {
        self.opinions >= MOST_OPINIONS
    }

    pub(super) fn hashed(&self) -> &[u32] {
        &self.hashed[..usize::from(self.length).min(MOST_HASHED)]
    }

    /// One more page has the link.
    fn merge(&mut self, number: u32, relevance: f32, observed: &LinkObservation<'_>) {
        if !self.last.contains(&number) {
            self.parents.add(relevance, 1.0);
            self.last.rotate_right(1);
            self.last[0] = number;
        }
        if let Some(Opinion { words, around }) = observed.opinion {
            let is_first = self.opinions == 0;
            self.words = if is_first { words } else { self.words.max(words) };
            self.around.0 = if is_first { around } else { self.around.0.max(around) };
            self.around.1 += around;
            self.opinions += 1;
            self.asked_by = self.parents.count;
        }
        self.beside.sum += observed.beside.sum;
        self.beside.count += observed.beside.count;
        if self.length == 0 {
            self.own = observed.own;
        }
        // What others call it comes behind, while there is room.
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

/// What is saved of the evidence: links that wait, pages with the number of the first, hosts, words, and all together.
pub(super) type State = (
    Vec<(UrlId, WaitingLink)>,
    (u32, VecDeque<Arrival>),
    Vec<(SiteId, RelevanceRecord)>,
    Vec<(u32, RelevanceRecord)>,
    RelevanceRecord,
);

/// All evidence.
#[derive(Debug)]
pub(super) struct Evidence {
    waiting: Queued<WaitingLink>,
    /// The last pages that came, in this order.
    pages: VecDeque<Arrival>,
    /// How many came before the first of them.
    first: u32,
    /// The numbers of the pages, counted from the first that there ever was.
    numbers: HashMap<UrlId, u32, FixedState>,
    hosts: Queued<RelevanceRecord, SiteId>,
    /// Of words, by their buckets.
    term_stats: Box<[TermStats]>,
    /// What all pages were worth.
    all: RelevanceRecord,
    usual: Usual,
    most_pages: usize,
}

impl Evidence {
    /// Of so many waiting links at most.
    pub(super) fn new(most: usize) -> Evidence {
        Evidence::with_bounds(most, MOST_PAGES, MOST_HOSTS)
    }

    fn with_bounds(links: usize, pages: usize, hosts: usize) -> Evidence {
        Evidence {
            waiting: Queued::new(links),
            pages: VecDeque::new(),
            first: 0,
            most_pages: pages,
            numbers: HashMap::default(),
            hosts: Queued::new(hosts),
            term_stats: vec![TermStats::default(); BUCKETS].into(),
            all: RelevanceRecord::default(),
            usual: Usual::of(RelevanceRecord::default()),
        }
    }

    /// What a page was worth, if it came.
    pub(super) fn outcome(&self, url: UrlId) -> Option<f32> {
        self.page(*self.numbers.get(&url)?).map(|page| page.relevance)
    }

    pub(super) fn waiting(&self, url: UrlId) -> Option<&WaitingLink> {
        self.waiting.get(url)
    }

    pub(super) fn all_waiting(&self) -> impl Iterator<Item = (UrlId, &WaitingLink)> {
        self.waiting.iter()
    }

    pub(super) fn how_many_wait(&self) -> usize {
        self.waiting.len()
    }

    /// What the frontier believes of a link from now on.
    pub(super) fn give(&mut self, url: UrlId, worth: f64) {
        if let Some(waiting) = self.waiting.get_mut(url) {
            waiting.given = worth as f32;
        }
    }

    pub(super) fn settled(&mut self, url: UrlId) {
        self.waiting.remove(url);
    }

    /// A page came, with these words; whether for the first time.
    pub(super) fn came(&mut self, url: UrlId, site: SiteId, relevance: f32, terms: &[TermId]) -> bool {
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
        self.numbers.insert(url, self.count());
        self.pages.push_back(Arrival { url, relevance, children: RelevanceRecord::default() });
        self.forget_old_pages();
        self.hosts.entry(site, RelevanceRecord::default).add(relevance, 1.0);
        self.all.add(relevance, 1.0);
        self.usual = Usual::of(self.all);
        let now = self.count();
        for term in terms {
            let term_stats = &mut self.term_stats[bucket_of(*term) as usize];
            // No branch: whether a word was on the page before cannot be predicted.
            let is_first = f32::from(term_stats.last != now);
            term_stats.last = now;
            term_stats.record.add(relevance, is_first);
        }
        true
    }

    /// The page that came last links to one that came before it, and was worth so much.
    pub(super) fn leads_to(&mut self, relevance: f32) {
        if let Some(page) = self.pages.back_mut() {
            page.children.add(relevance, 1.0);
        }
    }

    /// A page that came has a link to a URL.
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

    /// How many pages came.
    fn count(&self) -> u32 {
        self.first + self.pages.len() as u32
    }

    /// The page of a number, if it is remembered.
    fn page(&self, number: u32) -> Option<&Arrival> {
        self.pages.get(number.checked_sub(self.first)? as usize)
    }

    fn forget_old_pages(&mut self) {
        while self.pages.len() > self.most_pages
            && let Some(oldest) = self.pages.pop_front()
        {
            self.numbers.remove(&oldest.url);
            self.first += 1;
        }
    }

    /// The number of a page; most questions are about the one that came last.
    fn number(&self, url: UrlId) -> u32 {
        match self.pages.back() {
            Some(last) if last.url == url => self.count() - 1,
            _ => self.numbers.get(&url).copied().unwrap_or(NO_PAGE),
        }
    }

    /// All that is known of a link, in numbers of about 1; see [`FEATURES`](super::FEATURES).
    pub(super) fn features(&self, waiting: &WaitingLink) -> Dense {
        let usual = self.usual;
        let mut siblings = RelevanceRecord::default();
        for parent in waiting.last.iter().filter_map(|number| self.page(*number)) {
            let RelevanceRecord { sum, count } = parent.children;
            siblings.add(sum / count.max(1.0), count.min(MOST_CHILDREN));
        }
        let host = self.hosts.get(waiting.site).copied().unwrap_or_default();
        let (term_stats, strongest) = self.term_stats(waiting);
        let features: [f32; DENSE] = [
            1.0,
            waiting.parents.beyond(usual),
            waiting.words,
            waiting.around.0,
            waiting.around.1 / waiting.asked_by.max(1.0),
            siblings.beyond(usual),
            host.beyond(usual),
            waiting.beside.beyond(usual),
            (1.0 + waiting.parents.count).ln() - 1.0,
            term_stats,
            strongest,
        ];
        features
    }

    /// What pages with a link's words are worth: the mean, and what the most telling word says.
    fn term_stats(&self, waiting: &WaitingLink) -> (f32, f32) {
        let own = waiting.hashed().get(..usize::from(waiting.own)).unwrap_or(waiting.hashed());
        let (mut sum, mut strongest) = (0.0, 0.0_f32);
        for bucket in own {
            let says = self.value_of_term(&self.term_stats[*bucket as usize % BUCKETS]);
            sum += says;
            if says.abs() > strongest.abs() {
                strongest = says;
            }
        }
        (sum / own.len().max(1) as f32, strongest)
    }

    fn value_of_term(&self, term_stats: &TermStats) -> f32 {
        let now = self.count();
        match term_stats.value.get() {
            (says, when) if when == now => says,
            _ => {
                let says = term_stats.record.beyond(self.usual);
                term_stats.value.set((says, now));
                says
            }
        }
    }

    pub(super) fn state(&self) -> impl Serialize + '_ {
        let used = (0_u32..).zip(&*self.term_stats).filter(|(_, stats)| stats.record.count > 0.0);
        let term_stats: Vec<(u32, RelevanceRecord)> = used.map(|(at, stats)| (at, stats.record)).collect();
        (&self.waiting, (self.first, &self.pages), &self.hosts, term_stats, self.all)
    }

    pub(super) fn restore(&mut self, state: State) -> Result<(), StateError> {
        let (waiting, (first, pages), hosts, term_stats, all) = state;
        state::check(waiting.iter().all(|(_, waiting)| usize::from(waiting.length) <= MOST_HASHED))?;
        state::check(term_stats.iter().all(|(at, _)| (*at as usize) < BUCKETS))?;
        state::check(u32::try_from(pages.len()).is_ok_and(|pages| first.checked_add(pages).is_some()))?;
        self.waiting.restore(waiting);
        self.hosts.restore(hosts);
        self.numbers = (first..).zip(&pages).map(|(number, page)| (page.url, number)).collect();
        (self.first, self.pages) = (first, pages);
        self.forget_old_pages();
        self.term_stats.fill(TermStats::default());
        for (at, record) in term_stats {
            self.term_stats[at as usize].record = record;
        }
        (self.all, self.usual) = (all, Usual::of(all));
        Ok(())
    }
}

/// The bucket of a word.
pub(super) fn bucket_of(term: TermId) -> u32 {
    // Terms are hashes already.
    term.0 % BUCKETS as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: f32) -> LinkObservation<'static> {
        LinkObservation { opinion: Some(Opinion { words, around: words }), ..LinkObservation::default() }
    }

    #[test]
    fn what_all_pages_say_is_put_together() {
        let mut evidence = Evidence::new(9);
        let (site, link) = (SiteId(1), UrlId(9));
        evidence.came(UrlId(1), site, 0.8, &[]);
        evidence.observe(UrlId(1), link, SiteId(2), &said(-1.0));
        evidence.came(UrlId(2), site, 0.2, &[]);
        evidence.observe(UrlId(2), link, SiteId(2), &said(3.0));
        // The same page again: it is one parent still.
        evidence.observe(UrlId(2), link, SiteId(2), &said(1.0));
        let waiting = evidence.waiting(link).unwrap();
        let usual = (1.0 + 0.2) / 3.0;
        assert_eq!(evidence.usual.mean, usual);
        let features = evidence.features(waiting);
        // Two parents worth 1.0 together, drawn towards the usual 0.4: (1 + 0.8) / 4.
        let beyond = |mean: f32| log_odds(mean) - log_odds(usual);
        assert!((features[1] - beyond(0.45)).abs() < 1e-6);
        assert_eq!((features[2], features[3]), (3.0, 3.0));
        assert_eq!(features[4], 3.0 / 2.0, "all that the critic observed, by parents");
        assert_eq!((features[5], features[6], features[7]), (0.0, 0.0, 0.0));
        // A sibling turns out well: both parents have led to something.
        evidence.observe(UrlId(1), UrlId(8), site, &said(0.0));
        evidence.came(UrlId(8), SiteId(2), 1.0, &[]);
        let usual = (2.0 + 0.2) / 4.0;
        let features = evidence.features(evidence.waiting(link).unwrap());
        let one = log_odds((1.0 + 2.0 * usual) / 3.0) - log_odds(usual);
        assert!((features[5] - one).abs() < 1e-6, "siblings");
        assert!((features[6] - one).abs() < 1e-6, "its host");
        // It comes: nobody waits for it any more, and what it was worth is known.
        evidence.came(link, SiteId(2), 0.5, &[]);
        assert!(evidence.waiting(link).is_none());
        assert_eq!(evidence.outcome(link), Some(0.5));
    }

    #[test]
    fn old_pages_and_hosts_are_forgotten_and_below_the_bound_nothing_is() {
        const PAGES: u64 = 40;
        let told = |mut evidence: Evidence| {
            let mut features = Vec::new();
            for page in 0..PAGES {
                evidence.came(
                    UrlId(page),
                    SiteId(page / 2),
                    0.9 - page as f32 / 100.0,
                    &[TermId(page as u32)],
                );
                for link in [page + 1, page + 2, page + 100] {
                    evidence.observe(UrlId(page), UrlId(link), SiteId(link / 2), &said(0.5));
                    features.push(evidence.features(evidence.waiting(UrlId(link)).unwrap()));
                }
            }
            (evidence, features)
        };
        let (whole, features) = told(Evidence::with_bounds(999, PAGES as usize, PAGES as usize));
        assert_eq!(told(Evidence::new(999)).1, features, "below the bound");
        assert_eq!(whole.outcome(UrlId(0)), Some(0.9));
        let (bounded, others) = told(Evidence::with_bounds(999, 8, 4));
        assert_eq!((bounded.pages.len(), bounded.numbers.len(), bounded.hosts.len()), (8, 8, 4));
        assert_eq!((bounded.outcome(UrlId(31)), bounded.outcome(UrlId(32))), (None, Some(0.58)));
        // What is not older than that is as it was.
        assert_eq!(others[..3 * 8], features[..3 * 8]);
        let bytes = state::save(1, bounded.state());
        let mut restored = Evidence::with_bounds(999, 8, 4);
        restored.restore(state::restore(1, &bytes).unwrap()).unwrap();
        assert_eq!(state::save(1, restored.state()), bytes);
        assert_eq!((restored.outcome(UrlId(31)), restored.outcome(UrlId(32))), (None, Some(0.58)));
    }

    #[test]
    fn words_are_known_by_the_pages_that_have_them() {
        let mut evidence = Evidence::new(9);
        let (owl, cat) = (TermId(3), TermId(4));
        evidence.came(UrlId(1), SiteId(1), 0.9, &[owl, owl, cat]);
        evidence.came(UrlId(2), SiteId(1), 0.1, &[cat]);
        let heard = LinkObservation {
            hashed: &[bucket_of(owl), bucket_of(cat), 77],
            own: 2,
            ..LinkObservation::default()
        };
        evidence.observe(UrlId(1), UrlId(9), SiteId(1), &heard);
        let features = evidence.features(evidence.waiting(UrlId(9)).unwrap());
        let usual = evidence.usual.mean;
        let says = |sum: f32, count: f32| log_odds((sum + 2.0 * usual) / (count + 2.0)) - log_odds(usual);
        let (owl, cat) = (says(0.9, 1.0), says(1.0, 2.0));
        assert!((features[9] - (owl + cat) / 2.0).abs() < 1e-6);
        assert!((features[10] - owl).abs() < 1e-6);
    }
}
