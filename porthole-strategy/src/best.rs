//! Best-N-First (P 3, Fig. 1): takes the best N links, fetches them in any order, then takes the next N.
//!
//! A link's priority is the cosine of the topic's keywords and the page it is on. At most MAX_BUFFER links are queued;
//! beyond that, the worst is evicted for the next and forgotten. Our choices where the paper is silent: a link that is
//! found again while it is queued keeps its higher score and its place, and of links with equal scores the one found
//! first is better.

use porthole_page::Link;
use porthole_types::{CanonicalUrl, UrlId};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::catalogue::NameError;
use crate::keywords::Keywords;
use crate::parameters::Parameters;
use crate::{CrawlGoal, Discipline, PriorityMerge, Selection, SourcePage, StateError, Strategy, state};

mod local_rank;
use local_rank::LocalRank;

/// Version of the saved format.
const FORM: u32 = 20;

/// MAX_BUFFER of P 2.2.
const BUFFER: usize = 256;

/// Best-N-First.
#[derive(Debug)]
pub struct BestN {
    name: String,
    size: BatchSize,
    buffer: usize,
    seed: u64,
    keywords: Keywords,
    /// Scores links by rank_KW,PR instead of the cosine.
    rank: Option<LocalRank>,
    /// The page that arrived last, and the priority of its links.
    last: (UrlId, f64),
}

/// Number of links in a batch.
#[derive(Clone, Copy, Debug)]
enum BatchSize {
    Fixed(usize),
    Adaptive(Adaptive),
}

/// N that follows the harvest, a question that P 7 leaves open. After N pages, their mean relevance is compared with
/// that of the previous batch. While it holds (at least nine tenths), N doubles: relevant pages are common, so there is
/// room to explore. When it falls, N halves, back to the surest links.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Adaptive {
    n: usize,
    most: usize,
    /// Pages since N last changed, and the sum of their relevance.
    pages: usize,
    relevance: f64,
    /// Mean relevance of the previous batch.
    before: f64,
}

impl Adaptive {
    fn tell(&mut self, relevance: f64) {
        self.pages += 1;
        self.relevance += relevance;
        if self.pages < self.n {
            return;
        }
        let mean = self.relevance / self.pages as f64;
        let holds = mean >= 0.9 * self.before;
        self.n = if holds { (self.n * 2).min(self.most) } else { (self.n / 2).max(1) };
        (self.pages, self.relevance, self.before) = (0, 0.0, mean);
    }
}

impl BestN {
    /// A fixed N. Parameters: `buffer` is MAX_BUFFER, `rank=kwpr` scores links by rank_KW,PR.
    pub(crate) fn fixed(
        n: usize,
        parameters: &mut Parameters<'_>,
        goal: &CrawlGoal,
    ) -> Result<BestN, NameError> {
        BestN::new(BatchSize::Fixed(n), parameters, goal)
    }

    /// An N that follows the harvest. Parameters as for [`fixed`](BestN::fixed), and `most`, the largest N.
    pub(crate) fn adaptive(parameters: &mut Parameters<'_>, goal: &CrawlGoal) -> Result<BestN, NameError> {
        let most = parameters.number("most", BUFFER, 1..=1_000_000)?;
        let adaptive = Adaptive { n: 1, most, pages: 0, relevance: 0.0, before: 0.0 };
        BestN::new(BatchSize::Adaptive(adaptive), parameters, goal)
    }

    fn new(size: BatchSize, parameters: &mut Parameters<'_>, goal: &CrawlGoal) -> Result<BestN, NameError> {
        let buffer = parameters.number("buffer", BUFFER, 1..=1_000_000)?;
        let is_rank = parameters.word("rank", &["cosine", "kwpr"])? == "kwpr";
        Ok(BestN {
            name: parameters.strategy().to_owned(),
            size,
            buffer,
            seed: goal.seed,
            keywords: Keywords::new(goal),
            rank: is_rank.then(LocalRank::default),
            last: (UrlId(0), 0.0),
        })
    }

    fn adaptive_size(&self) -> Option<Adaptive> {
        match self.size {
            BatchSize::Fixed(_) => None,
            BatchSize::Adaptive(adaptive) => Some(adaptive),
        }
    }

    fn tell(&mut self, relevance: f64) {
        if let BatchSize::Adaptive(adaptive) = &mut self.size {
            adaptive.tell(relevance);
        }
    }
}

impl Strategy for BestN {
    fn name(&self) -> &str {
        &self.name
    }

    fn discipline(&self) -> Discipline {
        let n = match self.size {
            BatchSize::Fixed(n) => n,
            BatchSize::Adaptive(adaptive) => adaptive.n,
        };
        Discipline {
            selection: Selection::Batch(n),
            bound: Some(self.buffer),
            protect_newest: true,
            merge: if self.rank.is_some() { PriorityMerge::Latest } else { PriorityMerge::Max },
        }
    }

    /// `randomize` of P Fig. 1: ordered by a hash of seed and URL, so that no generator state has to be saved.
    fn arrange(&mut self, batch: &mut [UrlId]) {
        batch.sort_by_key(|url| xxh3_64_with_seed(&url.0.to_le_bytes(), self.seed));
    }

    fn arrived(&mut self, source: &SourcePage<'_>) {
        self.tell(source.judgment.relevance);
        if let Some(rank) = &mut self.rank {
            rank.arrived(source, &self.keywords);
        }
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.tell(0.0);
        if let Some(rank) = &mut self.rank {
            rank.settled(url);
        }
    }

    fn priority(&mut self, source: &SourcePage<'_>, link: &Link) -> Option<f64> {
        if let Some(rank) = &self.rank {
            return Some(rank.priority(link.target.id(), &self.keywords));
        }
        if self.last.0 != source.url.id() {
            self.last = (source.url.id(), self.keywords.cosine(source.page.terms()));
        }
        Some(self.last.1)
    }

    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        self.rank.as_mut().map_or_else(Vec::new, |rank| std::mem::take(&mut rank.changed))
    }

    fn save(&self) -> Option<Vec<u8>> {
        let adaptive = self.adaptive_size();
        (adaptive.is_some() || self.rank.is_some()).then(|| state::pack(FORM, (adaptive, &self.rank)))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        let (adaptive, rank): (Option<Adaptive>, Option<LocalRank>) = state::unpack(FORM, saved)?;
        state::check(adaptive.is_some() == self.adaptive_size().is_some())?;
        state::check(rank.is_some() == self.rank.is_some())?;
        if let (BatchSize::Adaptive(own), Some(saved)) = (&mut self.size, adaptive) {
            *own = Adaptive { n: saved.n.clamp(1, own.most), most: own.most, ..saved };
        }
        if let (Some(own), Some(saved)) = (&mut self.rank, rank) {
            own.restore(saved)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
