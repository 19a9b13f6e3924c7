//! The crawler without negative examples (A 2.1): a link's priority is the TFIDF cosine of its page and the centroid of
//! the pages fetched so far. It drifts, because no critic prevents the centroid from following the pages that it has led
//! to, and exists for comparison.
//!
//! Our choices: with `of=relevant` only the pages that the critic finds on topic belong to the centroid, with `of=starts`
//! only the start pages. A term weighs (1 + ln tf) ln(1 + n / df), from the pages seen so far.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use porthole_page::Link;
use porthole_types::{TermId, UrlId};

use crate::catalogue::NameError;
use crate::parameters::Parameters;
use crate::state::{self, Sorted};
use crate::{SourcePage, StateError, Strategy};

/// Version of the saved format.
const FORM: u32 = 26;

/// Maximum number of terms that are counted; later ones are ignored.
const MOST_TERMS: usize = 500_000;

/// Which pages belong to the centroid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Members {
    /// All fetched pages.
    Fetched,
    /// Pages that the critic finds on topic.
    Relevant,
    /// Start pages.
    Starts,
}

/// Links by the centroid of fetched pages.
#[derive(Debug)]
pub struct Centroid {
    members: Members,
    pages: u64,
    /// By term: number of pages with it, and the sum of its weights in the relevant ones.
    terms: HashMap<TermId, (u32, f32), FixedState>,
    /// Squared length of the centroid.
    square: f64,
    /// The page that arrived last, and the priority of its links.
    last: (UrlId, f64),
}

impl Centroid {
    /// Parameter: `of` says which pages belong to the centroid.
    pub(crate) fn new(parameters: &mut Parameters<'_>) -> Result<Centroid, NameError> {
        let members = match parameters.word("of", &["fetched", "relevant", "starts"])? {
            "relevant" => Members::Relevant,
            "starts" => Members::Starts,
            _ => Members::Fetched,
        };
        Ok(Centroid { members, pages: 0, terms: HashMap::default(), square: 0.0, last: (UrlId(0), 0.0) })
    }

    /// Whether a page belongs to the centroid.
    fn admits(&self, source: &SourcePage<'_>) -> bool {
        match self.members {
            Members::Fetched => true,
            Members::Relevant => source.on_topic,
            Members::Starts => source.depth == 0,
        }
    }

    fn count(&mut self, counts: &[(TermId, u32)]) {
        self.pages += 1;
        for (term, _) in counts {
            if self.terms.len() < MOST_TERMS || self.terms.contains_key(term) {
                self.terms.entry(*term).or_default().0 += 1;
            }
        }
    }

    /// The page as a unit vector.
    fn vector(&self, counts: &[(TermId, u32)]) -> Vec<(TermId, f64)> {
        let weight = |&(term, count): &(TermId, u32)| {
            let df = self.terms.get(&term).map_or(1, |(df, _)| (*df).max(1));
            let idf = (self.pages as f64 / f64::from(df)).ln_1p();
            (term, (1.0 + f64::from(count).ln()) * idf)
        };
        let mut vector: Vec<(TermId, f64)> = counts.iter().map(weight).collect();
        let length = vector.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|(_, weight)| *weight /= length);
        vector
    }

    fn with_centroid(&self, vector: &[(TermId, f64)]) -> f64 {
        let of = |term: &TermId| self.terms.get(term).map_or(0.0, |(_, sum)| f64::from(*sum));
        vector.iter().map(|(term, weight)| weight * of(term)).sum()
    }

    fn add(&mut self, vector: &[(TermId, f64)]) {
        for (term, weight) in vector {
            let Some((_, sum)) = self.terms.get_mut(term) else { continue };
            let before = f64::from(*sum);
            *sum += *weight as f32;
            self.square += f64::from(*sum) * f64::from(*sum) - before * before;
        }
    }

    fn cosine(&self, vector: &[(TermId, f64)]) -> f64 {
        if self.square > 0.0 {
            (self.with_centroid(vector) / self.square.sqrt()).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

impl Strategy for Centroid {
    fn name(&self) -> &str {
        "centroid"
    }

    fn arrived(&mut self, source: &SourcePage<'_>) {
        let counts = source.page.term_counts();
        self.count(&counts);
        let vector = self.vector(&counts);
        if self.admits(source) {
            self.add(&vector);
        }
        self.last = (source.url.id(), self.cosine(&vector));
    }

    fn priority(&mut self, source: &SourcePage<'_>, _: &Link) -> Option<f64> {
        if self.last.0 == source.url.id() {
            return Some(self.last.1);
        }
        Some(self.cosine(&self.vector(&source.page.term_counts())))
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(state::pack(FORM, (self.pages, self.square, Sorted(&self.terms))))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        (self.pages, self.square, self.terms) = state::unpack(FORM, saved)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::harness::{Harness, TestWeb, goal, url};

    #[test]
    fn priority_is_the_cosine_with_a_drifting_centroid() {
        let web = TestWeb::new(&[
            ("/s", "owl hawk <a href=/a></a>", 0.9),
            ("/a", "owl milk <a href=/b></a>", 0.9),
            ("/b", "milk milk <a href=/c></a>", 0.1),
            ("/c", "rock <a href=/d></a>", 0.1),
        ]);
        let crawl = |name: &str, steps| {
            let mut crawl = Harness::new(&web, name, &goal("", 1), &[url("/s")]);
            crawl.run(steps);
            crawl.frontier()
        };
        // The centroid is the page itself.
        assert_eq!(crawl("centroid:of=relevant", 1), "/a 100");
        // At a: owl is in both pages, ln 2 = 0.69, milk in one, ln 3 = 1.10, so a is (owl 0.53, milk 0.85). The start
        // was (0.71, 0.71) with ln 2 each. The sum is (owl 1.24, hawk 0.71, milk 0.85), of length 1.66: (0.53 * 1.24 +
        // 0.85 * 0.85) / 1.66 = 0.83.
        assert_eq!(crawl("centroid:of=relevant", 2), "/b 83");
        // The centroid has drifted to milk, 0.85 / 1.66; that of the starts has not: it has only owl, 0.53 * 0.71.
        assert_eq!(crawl("centroid:of=relevant", 3), "/c 51");
        assert_eq!(crawl("centroid:of=relevant", 4), "/d 0");
        assert_eq!(
            (crawl("centroid:of=starts", 2), crawl("centroid:of=starts", 3)),
            ("/b 38".into(), "/c 0".into())
        );
    }

    /// From owls to milk in four steps, each page with a word of the one before: the critic finds only the first two on
    /// topic.
    #[test]
    fn without_a_critic_the_centroid_drifts_away() {
        let web = TestWeb::new(&[
            ("/s", "owl hawk <a href=/a></a>", 0.9),
            ("/a", "hawk farm <a href=/b></a>", 0.9),
            ("/b", "farm cow <a href=/c></a>", 0.0),
            ("/c", "cow milk <a href=/d></a>", 0.0),
            ("/d", "milk cheese <a href=/e></a>", 0.0),
        ]);
        let last = |name: &str| {
            let mut crawl = Harness::new(&web, name, &goal("", 1), &[url("/s")]);
            crawl.run(5);
            crawl.frontier()
        };
        // Cheese has no word in common with the pages about owls.
        assert_eq!(last("centroid:of=relevant"), "/e 0");
        assert_eq!(last("centroid:of=starts"), "/e 0");
        let drifted = last("centroid");
        let priority: u32 = drifted.trim_start_matches("/e ").parse().unwrap();
        assert!(priority >= 20, "{drifted}");
    }
}
