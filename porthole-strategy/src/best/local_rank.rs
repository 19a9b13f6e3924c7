//! rank_KW,PR on the crawled pages (P 4.2, 7): links by the largest number of topic keywords on a page that links to
//! them; ties by PageRank in the known graph.

use porthole_types::{CanonicalUrl, UrlId};
use serde::{Deserialize, Serialize};

use crate::keywords::Keywords;
use crate::known::{KnownGraph, Schedule};
use crate::{SourcePage, StateError, state};

/// Pages between two computations of PageRank.
const EVERY: u64 = 25;

/// Scores links by rank_KW,PR.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LocalRank {
    known: KnownGraph,
    /// By URL number: the most keywords on a page that links there, and the PageRank as a share of the largest. URLs
    /// found since the last computation have no rank.
    worth: Vec<(u32, f32)>,
    schedule: Schedule,
    /// Links whose priorities changed.
    #[serde(skip)]
    pub(super) changed: Vec<(UrlId, f64)>,
}

impl Default for LocalRank {
    fn default() -> Self {
        let (known, worth, changed) = (KnownGraph::default(), Vec::new(), Vec::new());
        LocalRank { known, worth, schedule: Schedule::new(EVERY), changed }
    }
}

impl LocalRank {
    pub(super) fn arrived(&mut self, source: &SourcePage<'_>, keywords: &Keywords) {
        let contained = keywords.contained(source.page.terms()) as u32;
        let Some((_, links)) = self.known.record_page(source, |_| 1.0) else { return };
        self.worth.resize(self.known.len(), (0, 0.0));
        for link in &self.known.links()[links] {
            let most = &mut self.worth[link.to as usize].0;
            *most = contained.max(*most);
        }
        if self.schedule.is_due(self.known.page_count() as u64) {
            self.rank(keywords);
        }
    }

    fn rank(&mut self, keywords: &Keywords) {
        for (worth, rank) in self.worth.iter_mut().zip(self.known.ranks()) {
            worth.1 = rank as f32;
        }
        let priority = |number| (self.known.url(number), self.worth_of(number, keywords));
        self.changed = self.known.waiting().map(priority).collect();
    }

    pub(super) fn settled(&mut self, url: &CanonicalUrl) {
        self.known.settled(url.id());
    }

    /// Orders by keywords, then by rank; 1 for a page with all keywords and the largest rank.
    fn worth_of(&self, number: u32, keywords: &Keywords) -> f64 {
        let (contained, rank) = self.worth[number as usize];
        // The rank always counts less than one keyword.
        (f64::from(contained) + f64::from(rank) * 0.99) / (keywords.count() + 1) as f64
    }

    pub(super) fn priority(&self, url: UrlId, keywords: &Keywords) -> f64 {
        self.known.find(url).map_or(0.0, |number| self.worth_of(number, keywords))
    }

    pub(super) fn restore(&mut self, saved: LocalRank) -> Result<(), StateError> {
        state::check(saved.worth.len() == saved.known.len())?;
        *self = saved;
        Ok(())
    }
}
