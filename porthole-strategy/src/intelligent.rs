//! Intelligent crawling (Aggarwal, Al-Garawi, Yu): learns which properties of links went together with relevant pages.
//!
//! A sign E has the interest ratio P(C|E) / P(C), learnt online from the fetched pages, where C means on topic. Signs
//! are words of the pages that link to a URL, tokens of the URL, whether those pages are on topic, and the share of
//! fetched siblings that are. A link's priority is P(C) times the product of its ratios, in a form that stays below 1.
//! Our choices: ratios are smoothed by one page of average relevance; only words and tokens whose share differs by at
//! least two standard deviations count, by their geometric mean; all four kinds weigh the same; queued links are
//! rescored every few pages.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use porthole_page::Link;
use porthole_types::{CanonicalUrl, TermId, UrlId};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::catalogue::NameError;
use crate::context_graph::frequent;
use crate::known::Schedule;
use crate::parameters::Parameters;
use crate::queued::Queued;
use crate::state::{self, Sorted};
use crate::{Discipline, Part, PriorityMerge, SourcePage, StateError, Strategy};

/// Version of the saved format.
const FORM: u32 = 29;

/// Maximum numbers of remembered links, remembered pages and counted signs.
const MOST_LINKS: usize = 200_000;
const MOST_PAGES: usize = 50_000;
const MOST_SIGNS: usize = 500_000;

/// Maximum numbers of words of a page, tokens of a URL, and parents of a link that count.
const WORDS: usize = 32;
const TOKENS: usize = 8;
const PARENTS: usize = 4;

/// The share of siblings on topic is divided into this many ranges.
const QUARTERS: u32 = 4;

/// Links by the relevance of earlier pages with the same signs.
#[derive(Debug)]
pub struct Intelligent {
    /// Fetched pages that were found through a link, and how many of them were on topic.
    all: Cooccurrence,
    signs: HashMap<Sign, Cooccurrence, FixedState>,
    pages: Queued<ParentPage>,
    links: Queued<CandidateLink>,
    page_count: u64,
    schedule: Schedule,
    changed: Vec<(UrlId, f64)>,
}

/// Number of pages with a sign, and how many of them were on topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Cooccurrence {
    pages: u32,
    good: u32,
}

/// A sign: its kind, and its value.
type Sign = (u32, u32);

const WORD: u32 = 0;
const TOKEN: u32 = 1;
const PARENT: u32 = 2;
const SIBLINGS: u32 = 3;

const KINDS: [(u32, &str); 4] = [
    (WORD, "words of the pages that link to it"),
    (TOKEN, "its URL"),
    (PARENT, "whether the pages that link to it are on topic"),
    (SIBLINGS, "other pages that they link to"),
];

/// A fetched page.
#[derive(Debug, Serialize, Deserialize)]
struct ParentPage {
    on_topic: bool,
    words: Vec<TermId>,
    children: Cooccurrence,
}

/// A queued link.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CandidateLink {
    parents: Vec<UrlId>,
    tokens: Vec<u32>,
}

impl Cooccurrence {
    fn add(&mut self, good: bool) {
        self.pages += 1;
        self.good += u32::from(good);
    }

    /// Smoothed share of pages on topic, never 0 or 1.
    fn share(self) -> f64 {
        (f64::from(self.good) + 1.0) / (f64::from(self.pages) + 2.0)
    }

    /// The logarithm of the interest ratio.
    fn interest(self, share: f64) -> f64 {
        ((f64::from(self.good) + share) / (f64::from(self.pages) + 1.0) / share).ln()
    }

    fn is_significant(self, share: f64) -> bool {
        let pages = f64::from(self.pages);
        let deviation = (share * (1.0 - share) / pages.max(1.0)).sqrt();
        self.pages > 0 && (f64::from(self.good) / pages - share).abs() >= 2.0 * deviation
    }
}

impl Intelligent {
    /// Parameter: `every`, the pages between two rescorings.
    pub(crate) fn new(parameters: &mut Parameters<'_>) -> Result<Intelligent, NameError> {
        Ok(Intelligent {
            all: Cooccurrence::default(),
            signs: HashMap::default(),
            pages: Queued::new(MOST_PAGES),
            links: Queued::new(MOST_LINKS),
            page_count: 0,
            schedule: Schedule::new(parameters.number("every", 25, 1..=1_000_000)?),
            changed: Vec::new(),
        })
    }

    /// Signs of a link, without duplicates.
    fn signs_of(&self, candidate: &CandidateLink) -> Vec<Sign> {
        let mut signs: Vec<Sign> = candidate.tokens.iter().map(|token| (TOKEN, *token)).collect();
        for parent in candidate.parents.iter().filter_map(|parent| self.pages.get(*parent)) {
            signs.extend(parent.words.iter().map(|word| (WORD, word.0)));
            signs.push((PARENT, u32::from(parent.on_topic)));
            let Cooccurrence { pages, good } = parent.children;
            signs.extend((good * QUARTERS).checked_div(pages).map(|quarter| (SIBLINGS, quarter)));
        }
        signs.sort_unstable();
        signs.dedup();
        signs
    }

    /// Logarithm of the combined interest ratio, by kind of sign.
    fn kinds(&self, candidate: &CandidateLink) -> [f64; KINDS.len()] {
        let (signs, share) = (self.signs_of(candidate), self.all.share());
        KINDS.map(|(kind, _)| {
            let tallies = signs.iter().filter(|sign| sign.0 == kind).filter_map(|sign| self.signs.get(sign));
            let is_one_of_many = kind == WORD || kind == TOKEN;
            let counting = tallies.filter(|tally| !is_one_of_many || tally.is_significant(share));
            let interests: Vec<f64> = counting.map(|tally| tally.interest(share)).collect();
            interests.iter().sum::<f64>() / interests.len().max(1) as f64
        })
    }

    fn worth(&self, candidate: &CandidateLink) -> f64 {
        let odds = self.all.share() * self.kinds(candidate).iter().sum::<f64>().exp();
        odds / (1.0 + odds)
    }

    /// Counts the signs of a link whose page was fetched.
    fn learn(&mut self, candidate: &CandidateLink, good: bool) {
        self.all.add(good);
        for sign in self.signs_of(candidate) {
            if self.signs.len() < MOST_SIGNS || self.signs.contains_key(&sign) {
                self.signs.entry(sign).or_default().add(good);
            }
        }
        for parent in &candidate.parents {
            if let Some(parent) = self.pages.get_mut(*parent) {
                parent.children.add(good);
            }
        }
    }

    /// The link as a candidate, merged with what is known of its target.
    fn candidate(&self, source: &SourcePage<'_>, link: &Link) -> CandidateLink {
        match self.links.get(link.target.id()) {
            Some(known) => CandidateLink { parents: known.parents.clone(), tokens: known.tokens.clone() },
            None => CandidateLink { parents: vec![source.url.id()], tokens: tokens(&link.target) },
        }
    }
}

/// Tokens of a URL: runs of letters, without duplicates.
fn tokens(url: &CanonicalUrl) -> Vec<u32> {
    let text = url.as_str().to_ascii_lowercase();
    let behind = text.split_once("://").map_or(&*text, |(_, behind)| behind);
    let words = behind.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 1);
    let mut tokens: Vec<u32> = words.map(|word| xxh3_64(word.as_bytes()) as u32).take(TOKENS).collect();
    tokens.sort_unstable();
    tokens.dedup();
    tokens
}

impl Strategy for Intelligent {
    fn name(&self) -> &str {
        "intelligent"
    }

    fn discipline(&self) -> Discipline {
        Discipline { merge: PriorityMerge::Latest, ..Discipline::default() }
    }

    fn arrived(&mut self, source: &SourcePage<'_>) {
        let url = source.url.id();
        self.page_count += 1;
        if let Some(candidate) = self.links.remove(url) {
            self.learn(&candidate, source.on_topic);
        }
        let (on_topic, words) = (source.on_topic, frequent(source.page, WORDS));
        self.pages.entry(url, || ParentPage { on_topic, words, children: Cooccurrence::default() });
        for link in &source.page.links {
            let target = link.target.id();
            if self.pages.get(target).is_some() {
                continue;
            }
            let candidate = self
                .links
                .entry(target, || CandidateLink { parents: Vec::new(), tokens: tokens(&link.target) });
            if candidate.parents.len() < PARENTS && !candidate.parents.contains(&url) {
                candidate.parents.push(url);
            }
        }
        if self.schedule.is_due(self.page_count) {
            self.changed = self.links.iter().map(|(url, link)| (url, self.worth(link))).collect();
        }
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.links.remove(url.id());
    }

    fn priority(&mut self, source: &SourcePage<'_>, link: &Link) -> Option<f64> {
        Some(self.worth(&self.candidate(source, link)))
    }

    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        std::mem::take(&mut self.changed)
    }

    /// Logarithms, which add up where ratios multiply.
    fn explain(&mut self, source: &SourcePage<'_>, link: &Link) -> Vec<Part> {
        let all = Part { what: "share of all pages on topic".to_owned(), adds: self.all.share().ln() };
        let kinds = KINDS.iter().zip(self.kinds(&self.candidate(source, link)));
        let parts = kinds.map(|((_, what), adds)| Part { what: (*what).to_owned(), adds });
        std::iter::once(all).chain(parts).collect()
    }

    fn save(&self) -> Option<Vec<u8>> {
        let counted = (self.page_count, self.all, Sorted(&self.signs));
        Some(state::pack(FORM, (counted, self.schedule, &self.pages, &self.links)))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        let (counted, schedule, pages, links) = state::unpack(FORM, saved)?;
        (self.page_count, self.all, self.signs) = counted;
        self.schedule.resume(schedule);
        self.pages.restore(pages);
        self.links.restore(links);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{TestWeb, url};

    #[test]
    fn hand_computed_interest_ratios() {
        // Of six links two are owls: those at /owl/, not those at /cat/.
        let links: String = ["owl/1", "owl/2", "cat/1", "cat/2", "cat/3", "cat/4", "owl/9", "cat/9"]
            .map(|path| format!("<a href=/{path}></a>"))
            .concat();
        let mut pages = vec![("/s", &*links, 0.1), ("/owl/1", "", 0.9), ("/owl/2", "", 0.9)];
        pages.extend(["/cat/1", "/cat/2", "/cat/3", "/cat/4"].map(|path| (path, "", 0.1)));
        let web = TestWeb::new(&pages);
        let mut strategy = Intelligent::new(&mut Parameters::parse("intelligent").unwrap()).unwrap();
        pages.iter().for_each(|(path, ..)| web.tell(&mut strategy, path));
        assert_eq!(strategy.all, Cooccurrence { pages: 6, good: 2 });
        let share = strategy.all.share();
        assert!((share - 0.375).abs() < 1e-12, "(2 + 1) / (6 + 2)");
        let kinds = |path: &str| strategy.kinds(strategy.links.get(url(path).id()).unwrap());
        let [words, token, parent, siblings] = kinds("/owl/9");
        // Owl: 2 of 2, so (2 + 0.375) / 3 / 0.375; site and test are in all six, so their ratio is 1. 2 of 2 is 0.625
        // from the share, whose deviation is sqrt(0.375 * 0.625 / 2) = 0.342: less than two deviations, so owl does not
        // count either.
        assert_eq!((words, token), (0.0, 0.0));
        // Parents that are not on topic: 2 of 6, (2 + 0.375) / 7 / 0.375 = 0.905.
        assert!((parent - 0.905_f64.ln()).abs() < 1e-3, "{parent}");
        // 2 of its 6 siblings are good: the second quarter, as it was for /cat/4 alone: 0 of 1, 0.375 / 2 / 0.375 = 0.5.
        assert!((siblings - 0.5_f64.ln()).abs() < 1e-12, "{siblings}");
        // 3 of 3 with 4 of 9 overall is 0.556 away, below two deviations (0.574); 4 of 4 is above.
        let tally = |pages, good| Cooccurrence { pages, good };
        assert!(!tally(3, 3).is_significant(4.0 / 9.0) && tally(4, 4).is_significant(0.5));
        assert!((tally(4, 4).interest(0.5) - 1.8_f64.ln()).abs() < 1e-12, "(4 + 0.5) / 5 / 0.5");
    }

    #[test]
    fn links_with_tokens_of_relevant_pages_come_first() {
        let path = |n: usize| if n.is_multiple_of(2) { format!("/owl/{n}") } else { format!("/cat/{n}") };
        let links: String = (0..40).map(|n| format!("<a href={}></a>", path(n))).collect();
        let mut pages = vec![("/s".to_owned(), links, 0.1)];
        pages.extend((0..30).map(|n| (path(n), String::new(), if n % 2 == 0 { 0.9 } else { 0.1 })));
        let web =
            TestWeb::new(&pages.iter().map(|(path, html, r)| (&**path, &**html, *r)).collect::<Vec<_>>());
        let mut strategy = Intelligent::new(&mut Parameters::parse("intelligent").unwrap()).unwrap();
        pages[..25].iter().for_each(|(path, ..)| web.tell(&mut strategy, path));
        let worth = |path: &str| strategy.worth(strategy.links.get(url(path).id()).unwrap());
        assert!(worth("/owl/30") > 1.5 * worth("/cat/31"), "{} {}", worth("/owl/30"), worth("/cat/31"));
    }
}
