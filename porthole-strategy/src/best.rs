//! Best-N-First (P 3, Fig. 1): the best N links are taken and fetched in any order, then the next N.
//!
//! A link is worth the cosine of the topic's keywords and the page it is on. At most MAX_BUFFER links wait; when there are
//! more, the worst makes room for the next. Where the paper leaves it open: a link that is found again keeps its higher
//! score, and of links with the same score the one that was found first is the better one.

use porthole_page::Link;
use porthole_types::{CanonicalUrl, UrlId};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::catalogue::NameError;
use crate::keywords::Keywords;
use crate::parameters::Parameters;
use crate::{Aim, Discipline, PriorityMerge, Selection, Source, StateError, Strategy, state};

mod local_rank;
use local_rank::LocalRank;

/// The form of what is saved.
const FORM: u32 = 20;

/// MAX_BUFFER of P 2.2.
const BUFFER: usize = 256;

/// Best-N-First.
#[derive(Debug)]
pub struct BestN {
    name: String,
    size: Size,
    buffer: usize,
    seed: u64,
    keywords: Keywords,
    /// The estimates of links by rank_KW,PR instead of the cosine.
    rank: Option<LocalRank>,
    /// The page that came last, and what its links are worth.
    last: (UrlId, f64),
}

/// How many links a batch has.
#[derive(Clone, Copy, Debug)]
enum Size {
    Fixed(usize),
    Adaptive(Adaptive),
}

/// N that follows the harvest, which P 7 leaves open: after N pages, their mean relevance is compared with that of the
/// batch before. While it holds (nine tenths of it are enough), N doubles: what is found is everywhere, and there is room to explore. When it falls,
/// N halves: back to what is surely good.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Adaptive {
    n: usize,
    most: usize,
    /// What was told since N changed last: how many, and their relevance.
    told: usize,
    relevance: f64,
    /// The mean of the batch before.
    before: f64,
}

impl Adaptive {
    fn tell(&mut self, relevance: f64) {
        self.told += 1;
        self.relevance += relevance;
        if self.told < self.n {
            return;
        }
        let mean = self.relevance / self.told as f64;
        let holds = mean >= 0.9 * self.before;
        self.n = if holds { (self.n * 2).min(self.most) } else { (self.n / 2).max(1) };
        (self.told, self.relevance, self.before) = (0, 0.0, mean);
    }
}

impl BestN {
    /// So many at a time. Parameters: `buffer` is MAX_BUFFER, `rank=kwpr` estimates links by rank_KW,PR.
    pub(crate) fn fixed(n: usize, parameters: &mut Parameters<'_>, aim: &Aim) -> Result<BestN, NameError> {
        BestN::new(Size::Fixed(n), parameters, aim)
    }

    /// As many at a time as the harvest suggests; parameters as above, and `most`.
    pub(crate) fn adaptive(parameters: &mut Parameters<'_>, aim: &Aim) -> Result<BestN, NameError> {
        let most = parameters.number("most", BUFFER, 1..=1_000_000)?;
        let adaptive = Adaptive { n: 1, most, told: 0, relevance: 0.0, before: 0.0 };
        BestN::new(Size::Adaptive(adaptive), parameters, aim)
    }

    fn new(size: Size, parameters: &mut Parameters<'_>, aim: &Aim) -> Result<BestN, NameError> {
        let buffer = parameters.number("buffer", BUFFER, 1..=1_000_000)?;
        let is_rank = parameters.word("rank", &["cosine", "kwpr"])? == "kwpr";
        Ok(BestN {
            name: parameters.strategy().to_owned(),
            size,
            buffer,
            seed: aim.seed,
            keywords: Keywords::new(aim),
            rank: is_rank.then(LocalRank::default),
            last: (UrlId(0), 0.0),
        })
    }

    fn adaptive_size(&self) -> Option<Adaptive> {
        match self.size {
            Size::Fixed(_) => None,
            Size::Adaptive(adaptive) => Some(adaptive),
        }
    }

    fn tell(&mut self, relevance: f64) {
        if let Size::Adaptive(adaptive) = &mut self.size {
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
            Size::Fixed(n) => n,
            Size::Adaptive(adaptive) => adaptive.n,
        };
        Discipline {
            selection: Selection::Batch(n),
            bound: Some(self.buffer),
            protect_newest: true,
            merge: if self.rank.is_some() { PriorityMerge::Latest } else { PriorityMerge::Max },
        }
    }

    /// `randomize` of P Fig. 1: by a hash of the seed and the URL, so that nothing has to be remembered.
    fn arrange(&mut self, batch: &mut [UrlId]) {
        batch.sort_by_key(|url| xxh3_64_with_seed(&url.0.to_le_bytes(), self.seed));
    }

    fn arrived(&mut self, source: &Source<'_>) {
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

    fn priority(&mut self, source: &Source<'_>, link: &Link) -> Option<f64> {
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
        (adaptive.is_some() || self.rank.is_some()).then(|| state::save(FORM, (adaptive, &self.rank)))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        let (adaptive, rank): (Option<Adaptive>, Option<LocalRank>) = state::restore(FORM, saved)?;
        state::check(adaptive.is_some() == self.adaptive_size().is_some())?;
        state::check(rank.is_some() == self.rank.is_some())?;
        if let (Size::Adaptive(own), Some(saved)) = (&mut self.size, adaptive) {
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
