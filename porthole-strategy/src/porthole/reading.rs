//! From a link on a page to what the page says of it.

use porthole_page::{Link, Wording};
use porthole_topic::Critic;
use porthole_types::{TermId, UrlId};
use xxhash_rust::xxh3::xxh3_64;

use super::evidence::{Evidence, Opinion, Record, Said, Waiting, bucket_of};
use super::learner::{BUCKETS, log_odds};
use crate::Source;

/// Terms to each side of a link that are looked at, and the leaves that they may come from.
const AROUND: usize = 12;
const REACH: u32 = 3;

/// Links within so many places of another stand beside it.
const BESIDE: usize = 4;

/// Of a link's own terms, so many are features.
const OWN: usize = 12;

/// Reads links.
pub(super) struct LinkReader {
    critic: Option<Critic>,
    wording: Wording,
    own: Vec<TermId>,
    around: Vec<TermId>,
    /// Links of the page that were followed before: their places and what they led to.
    outcomes: Vec<(usize, f32)>,
    /// The place of the link that was read last.
    place: usize,
}

impl LinkReader {
    pub(super) fn new(critic: Option<&Critic>) -> LinkReader {
        LinkReader {
            critic: critic.map(Critic::narrowed),
            wording: Wording::default(),
            own: Vec::new(),
            around: Vec::new(),
            outcomes: Vec::new(),
            place: 0,
        }
    }

    /// Looks at a page whose links are read next: what some of them led to is known, and counts for a page that is new.
    pub(super) fn start(&mut self, source: &Source<'_>, evidence: &mut Evidence, is_new: bool) {
        self.place = 0;
        self.outcomes.clear();
        let mut last: Option<UrlId> = None;
        for (place, link) in source.page.links.iter().enumerate() {
            let url = link.target.id();
            if last != Some(url)
                && url != source.url.id()
                && let Some(outcome) = evidence.outcome(url)
            {
                self.outcomes.push((place, outcome));
                if is_new {
                    evidence.leads_to(outcome);
                }
            }
            last = Some(url);
        }
    }

    /// What the page says of its link; links are read in their order.
    pub(super) fn read(&mut self, source: &Source<'_>, link: &Link, waiting: Option<&Waiting>) -> Said {
        let links = &source.page.links;
        let is_it = |other: &Link| std::ptr::eq(other, link);
        self.place += links.get(self.place..).and_then(|rest| rest.iter().position(is_it)).unwrap_or(0);
        if waiting.is_some_and(Waiting::is_known) {
            return Said { beside: self.beside(), ..Said::default() };
        }
        self.gather(source, link);
        let (own, hashed) = self.hashed(source, link);
        let words = opinion(self.critic.as_mut(), &self.own);
        let around = opinion(self.critic.as_mut(), &self.around);
        Said { opinion: Some(Opinion { words, around }), beside: self.beside(), hashed, own }
    }

    /// The words of the link itself (address, title, anchor), and those together with the words around it.
    fn gather(&mut self, source: &Source<'_>, link: &Link) {
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

    /// What links beside this one led to, the nearer the more.
    fn beside(&self) -> Record {
        let mut record = Record::default();
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

    /// The buckets of the link's own words, and how many they are; behind them those of its place in the layout and of its
    /// host.
    fn hashed(&self, source: &Source<'_>, link: &Link) -> (u8, Vec<u32>) {
        let mut hashed: Vec<u32> = Vec::with_capacity(OWN + 2);
        for term in &self.own {
            let bucket = bucket_of(*term);
            if hashed.len() < OWN && !hashed.contains(&bucket) {
                hashed.push(bucket);
            }
        }
        let own = hashed.len() as u8;
        let mut layout = 0xcbf2_9ce4_8422_2325_u64;
        for name in source.page.tag_path(link).names() {
            layout = (layout ^ xxh3_64(name.as_bytes())).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        hashed.push((layout >> 40) as u32 % BUCKETS as u32);
        hashed.push((xxh3_64(link.target.authority().as_bytes()) >> 40) as u32 % BUCKETS as u32);
        (own, hashed)
    }
}

/// What the critic says of a few words, in log odds; nothing if there are none.
fn opinion(critic: Option<&mut Critic>, terms: &[TermId]) -> f32 {
    match critic {
        Some(critic) if !terms.is_empty() => log_odds(critic.relevance_of_terms(terms) as f32),
        _ => 0.0,
    }
}
