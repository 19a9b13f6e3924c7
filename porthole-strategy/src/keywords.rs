//! The topic's keywords, and similarity of texts to them.

use std::collections::HashSet;

use foldhash::fast::FixedState;
use porthole_page::{Link, Page};
use porthole_types::TermId;

use crate::CrawlGoal;

/// The topic's keywords, as a query with equal weights.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keywords(HashSet<TermId, FixedState>);

impl Keywords {
    pub(crate) fn new(goal: &CrawlGoal) -> Keywords {
        Keywords(goal.keywords.iter().copied().collect())
    }

    /// Number of keywords.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Number of terms that are keywords, with repetitions.
    pub(crate) fn hits(&self, terms: &[TermId]) -> usize {
        terms.iter().filter(|term| self.0.contains(term)).count()
    }

    /// Number of distinct keywords among the terms.
    pub(crate) fn contained(&self, terms: &[TermId]) -> usize {
        terms.iter().filter(|term| self.0.contains(term)).collect::<HashSet<_>>().len()
    }

    /// Cosine of the keywords and the term counts (P 3).
    pub(crate) fn cosine(&self, terms: &[TermId]) -> f64 {
        if self.hits(terms) == 0 {
            return 0.0;
        }
        let mut terms = terms.to_vec();
        terms.sort_unstable();
        let (mut together, mut squares) = (0, 0);
        for same in terms.chunk_by(|one, next| one == next) {
            squares += same.len() * same.len();
            together += if self.0.contains(&same[0]) { same.len() } else { 0 };
        }
        together as f64 / (squares as f64 * self.0.len() as f64).sqrt()
    }
}

/// The terms of a link's anchor and of the leaves within `reach` of it.
pub(crate) fn around(page: &Page, link: &Link, reach: u32) -> Vec<TermId> {
    page.around(link, reach).flat_map(|(_, leaf)| page.leaf_terms(leaf)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cosine_is_that_of_the_counts() {
        let goal = CrawlGoal { keywords: [1, 2, 3, 4].map(TermId).to_vec(), ..CrawlGoal::default() };
        let keywords = Keywords::new(&goal);
        // Twice 1, once 2, twice 9: (2 + 1) / (sqrt 9 * sqrt 4).
        let terms = [9, 1, 2, 1, 9].map(TermId);
        assert!((keywords.cosine(&terms) - 0.5).abs() < 1e-12);
        assert_eq!((keywords.hits(&terms), keywords.contained(&terms), keywords.count()), (3, 2, 4));
        assert_eq!((keywords.cosine(&[TermId(9)]), keywords.cosine(&[])), (0.0, 0.0));
        assert_eq!(Keywords::default().cosine(&terms), 0.0);
    }
}
