//! Saves and restores what a strategy has learned, across a stop or a kill.
//!
//! The strategy's state is saved periodically and when a crawl ends, with the sequence number of the next fetch. At
//! the start of the next run it is restored, and later fetches are replayed from the tables and the archive. Pages
//! fetched between the last save and a kill that are not archived, or whose record is lost, are not learned.

use porthole_page::Extractor;
use porthole_store::{StoreReader, StoredModel, TriedUrl};
use porthole_strategy::{StateError, state};
use porthole_types::CanonicalUrl;

use super::crawl::{CrawlError, own_name};
use super::writer::Writer;
use crate::reading::page_extractor;

/// Name under which the store keeps the state.
const MEMORY: &str = "strategy";

/// Version of the format.
const VERSION: u32 = 4;

/// Minimum number of fetches between two saves.
const BETWEEN_SAVES: u64 = 2_000;

/// One more fetch between two saves per this many bytes, so that saving stays a small part of the work.
const BYTES_PER_FETCH: u64 = 512;

/// Number of past fetches read at a time.
const READ_AT_ONCE: usize = 1_024;

/// When the state was saved, and when it will be saved next.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// Whether the strategy has the state of earlier runs.
    is_recalled: bool,
    saved_at: u64,
    next_save: u64,
    /// About how many results the strategy has seen.
    pub(crate) seen: u64,
}

impl Memory {
    /// The state of a strategy that starts from scratch.
    pub(crate) fn fresh() -> Memory {
        Memory { is_recalled: true, ..Memory::default() }
    }
}

impl Writer<'_> {
    /// Restores the strategy's state as of the last committed fetch.
    pub(crate) fn restore_memory(&mut self) -> Result<(), CrawlError> {
        let Some(scorer) = &mut self.scorer else { return Ok(()) };
        // Reading past fetches may build an index, which would be wasted if there are none.
        let is_recalled = std::mem::replace(&mut self.memory.is_recalled, true) || self.next_seq == 0;
        if is_recalled || scorer.strategy.save().is_none() {
            return Ok(());
        }
        let reader = self.store.reader();
        let kept = reader.model(&own_name(&*self.store, MEMORY))?.filter(|model| !model.bytes.is_empty());
        let mut known = 0;
        if let Some(StoredModel { bytes, .. }) = kept
            && let Some((seq, whose, memory)) = decode(&bytes)?
            && whose == scorer.strategy.name()
        {
            match scorer.strategy.restore(memory) {
                Ok(()) => known = seq,
                // Saved by another version: the strategy learns from the stored pages again.
                Err(StateError::OtherForm) => {}
                Err(damaged) => return Err(damaged.into()),
            }
        }
        self.memory.saved_at = known;
        self.memory.next_save = known + BETWEEN_SAVES;
        self.memory.seen = known;
        if known == self.next_seq {
            // Reading past fetches builds an index, which the crawl would take for a change by another process.
            return Ok(());
        }
        let mut extractor = page_extractor();
        let mut after = known.checked_sub(1);
        loop {
            let tried = reader.tried(after, READ_AT_ONCE)?;
            let Some(last) = tried.last() else { return Ok(()) };
            after = Some(last.seq);
            for tried in &tried {
                self.replay_to_strategy(tried, &mut extractor)?;
            }
        }
    }

    /// Replays a past fetch to the strategy.
    fn replay_to_strategy(&mut self, tried: &TriedUrl, extractor: &mut Extractor) -> Result<(), CrawlError> {
        let (Some(_), Ok(url)) = (&self.scorer, CanonicalUrl::parse(&tried.url)) else {
            return Ok(());
        };
        // What other workers have fetched is theirs to learn.
        let is_own = self.store.worker().is_none_or(|_| {
            tried.span.map_or_else(|| self.store.owns(url.site()), |span| self.is_own_segment(span))
        });
        let (true, Some(scorer)) = (is_own, &mut self.scorer) else { return Ok(()) };
        self.memory.seen += 1;
        if tried.copy_of.is_some() {
            scorer.strategy.settled(&url);
            return Ok(());
        }
        match (tried.judgment.filter(|_| tried.failure.is_none()), tried.span, &self.archive) {
            (Some(judgment), Some(span), Some((archive, _))) => {
                let Ok(response) = archive.read(&url, span) else {
                    self.lost_pages.unreadable += 1;
                    return Ok(());
                };
                let mut page = extractor.extract(&url, &response.headers, &response.body);
                self.admission.scope.rules.apply(&mut page);
                let mut worth = judgment;
                if let Some(judge) = self.judge.as_mut().filter(|judge| judge.is_steering()) {
                    judge.judge_page(&url, &page)?;
                    worth = judge.link_value().unwrap_or(judgment);
                }
                scorer.links(&url, tried.depth, page, worth, judgment.relevance);
                scorer.strategy.rescored();
            }
            _ if tried.is_done && tried.judgment.is_none() => scorer.strategy.settled(&url),
            _ => {}
        }
        Ok(())
    }

    /// Saves the strategy's state when due. Everything it has seen must be committed.
    pub(crate) fn save_memory_if_due(&mut self) -> Result<(), CrawlError> {
        if self.next_seq < self.memory.next_save { Ok(()) } else { self.save_memory() }
    }

    /// Saves the strategy's state. Everything it has seen must be committed.
    pub(crate) fn save_memory(&mut self) -> Result<(), CrawlError> {
        let Some(scorer) = &self.scorer else { return Ok(()) };
        let Some(memory) = scorer.strategy.save() else {
            self.memory.next_save = u64::MAX;
            return Ok(());
        };
        let pause = BETWEEN_SAVES.max(memory.len() as u64 / BYTES_PER_FETCH);
        if self.memory.saved_at != self.next_seq {
            let bytes = encode(self.next_seq, scorer.strategy.name(), memory);
            let name = own_name(&*self.store, MEMORY);
            self.store.set_model(&name, &StoredModel { bytes, made: self.clock.now() })?;
        }
        self.memory.saved_at = self.next_seq;
        self.memory.next_save = self.next_seq + pause;
        Ok(())
    }

    /// Discards the saved state.
    pub(crate) fn forget_memory(&mut self) -> Result<(), CrawlError> {
        self.memory = Memory::fresh();
        let name = own_name(&*self.store, MEMORY);
        if self.store.reader().model(&name)?.is_some_and(|model| !model.bytes.is_empty()) {
            self.store.set_model(&name, &StoredModel { bytes: Vec::new(), made: self.clock.now() })?;
        }
        Ok(())
    }
}

/// The name of the last run's strategy and its saved state. `None` if there is none, or if another version of the
/// program saved it.
pub fn strategy_memory(reader: &dyn StoreReader) -> Result<Option<(String, Vec<u8>)>, CrawlError> {
    let Some(StoredModel { bytes, .. }) = reader.model(MEMORY)?.filter(|model| !model.bytes.is_empty())
    else {
        return Ok(None);
    };
    Ok(decode(&bytes)?.map(|(_, whose, memory)| (whose, memory.to_owned())))
}

/// Puts the sequence number of the next fetch and the strategy's name in front of its state.
fn encode(next_seq: u64, name: &str, mut memory: Vec<u8>) -> Vec<u8> {
    memory.splice(0..0, state::save(VERSION, (next_seq, name)));
    memory
}

/// Sequence number of the next fetch, name of the strategy, and its state.
type Opened<'b> = (u64, String, &'b [u8]);

/// Returns `None` if another version of the program saved it.
fn decode(bytes: &[u8]) -> Result<Option<Opened<'_>>, StateError> {
    match state::restore_start(VERSION, bytes) {
        Err(StateError::OtherForm) => Ok(None),
        opened => opened.map(|((seq, whose), memory)| Some((seq, whose, memory))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_survives_and_one_of_another_version_does_not() {
        let memory: Vec<u8> = (0..=255).collect();
        let bytes = encode(7, "porthole", memory.clone());
        assert_eq!(decode(&bytes), Ok(Some((7, "porthole".to_owned(), &memory[..]))));
        assert_eq!(decode(&bytes[..5]), Err(StateError::Damaged));
        assert_eq!(decode(&state::save(VERSION - 1, 7)), Ok(None), "another version");
        assert_eq!(decode(&encode(7, "opic", Vec::new())), Ok(Some((7, "opic".to_owned(), &[][..]))));
    }
}
