//! What a strategy has learnt, across a stop or a kill.
//!
//! Now and then, and when a crawl ends, its memory is saved, with the number of the next fetch. At the start of the next
//! run it is restored, and the strategy is told again what came since: from the tables, and the pages from the archive.
//! What came between the last save and a kill and is not archived is not learnt; nor is a page whose record is gone.

use porthole_page::Extractor;
use porthole_store::{StoreReader, StoredModel, TriedUrl};
use porthole_strategy::{StateError, state};
use porthole_types::CanonicalUrl;

use super::crawl::CrawlError;
use super::writer::Writer;

/// Under this name the store keeps a strategy's memory.
const MEMORY: &str = "strategy";

/// The form of what is kept.
const FORM: u32 = 2;

/// Fetches between two saves, at least.
const BETWEEN_SAVES: u64 = 2_000;

/// For so many bytes of memory, one fetch more lies between two saves: saving stays a small part of the work.
const BYTES_A_FETCH: u64 = 1_024;

/// What was tried is looked up so many at a time.
const LOOKED_UP: usize = 1_024;

/// When a strategy's memory was saved, and when it will be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// Whether the strategy knows what came before this process.
    is_recalled: bool,
    saved_at: u64,
    next_save: u64,
}

impl Memory {
    /// Of a strategy that is to learn from the kept pages, and has to recall nothing.
    pub(crate) fn anew() -> Memory {
        Memory { is_recalled: true, ..Memory::default() }
    }
}

impl Writer<'_> {
    /// Has the strategy remember what it knew when the last fetch was committed.
    pub(crate) fn recall(&mut self) -> Result<(), CrawlError> {
        let Some(scorer) = &mut self.scorer else { return Ok(()) };
        // Looking up what was tried may have to write an index first, which is for nothing where nothing was.
        let is_recalled = std::mem::replace(&mut self.memory.is_recalled, true) || self.next_seq == 0;
        if is_recalled || scorer.strategy.save().is_none() {
            return Ok(());
        }
        let reader = self.store.reader();
        let kept = reader.model(MEMORY)?.filter(|model| !model.bytes.is_empty());
        let mut known = 0;
        if let Some(StoredModel { bytes, .. }) = kept
            && let Some((seq, whose, memory)) = opened(&bytes)?
            && whose == scorer.strategy.name()
        {
            match scorer.strategy.restore(memory) {
                Ok(()) => known = seq,
                // What another version saved: the strategy learns from the kept pages again.
                Err(StateError::OtherForm) => {}
                Err(damaged) => return Err(damaged.into()),
            }
        }
        self.memory.saved_at = known;
        self.memory.next_save = known + BETWEEN_SAVES;
        if known == self.next_seq {
            // To look up what was tried makes an index, and the crawl would take that for something others wrote.
            return Ok(());
        }
        let mut extractor = Extractor::default();
        let mut after = known.checked_sub(1);
        loop {
            let tried = reader.tried(after, LOOKED_UP)?;
            let Some(last) = tried.last() else { return Ok(()) };
            after = Some(last.seq);
            for tried in &tried {
                self.tell_again(tried, &mut extractor)?;
            }
        }
    }

    /// Tells the strategy what it was told when this was fetched.
    fn tell_again(&mut self, tried: &TriedUrl, extractor: &mut Extractor) -> Result<(), CrawlError> {
        let (Some(scorer), Ok(url)) = (&mut self.scorer, CanonicalUrl::parse(&tried.url)) else {
            return Ok(());
        };
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

    /// Saves what the strategy knows, if it is time. All that it was told must have been committed.
    pub(crate) fn remember_if_due(&mut self) -> Result<(), CrawlError> {
        if self.next_seq < self.memory.next_save { Ok(()) } else { self.remember() }
    }

    /// Saves what the strategy knows. All that it was told must have been committed.
    pub(crate) fn remember(&mut self) -> Result<(), CrawlError> {
        let Some(scorer) = &self.scorer else { return Ok(()) };
        let Some(memory) = scorer.strategy.save() else {
            self.memory.next_save = u64::MAX;
            return Ok(());
        };
        let pause = BETWEEN_SAVES.max(memory.len() as u64 / BYTES_A_FETCH);
        if self.memory.saved_at != self.next_seq {
            let bytes = closed(self.next_seq, scorer.strategy.name(), memory);
            self.store.set_model(MEMORY, &StoredModel { bytes, made: self.clock.now() })?;
        }
        self.memory.saved_at = self.next_seq;
        self.memory.next_save = self.next_seq + pause;
        Ok(())
    }

    /// What the strategy knew is not true any more.
    pub(crate) fn forget_memory(&mut self) -> Result<(), CrawlError> {
        self.memory = Memory::anew();
        if self.store.reader().model(MEMORY)?.is_some_and(|model| !model.bytes.is_empty()) {
            self.store.set_model(MEMORY, &StoredModel { bytes: Vec::new(), made: self.clock.now() })?;
        }
        Ok(())
    }
}

/// The name of the strategy of a crawl's last run, and what it remembered; `None` if that is nothing, or was saved by another
/// version of the program.
pub fn strategy_memory(reader: &dyn StoreReader) -> Result<Option<(String, Vec<u8>)>, CrawlError> {
    let Some(StoredModel { bytes, .. }) = reader.model(MEMORY)?.filter(|model| !model.bytes.is_empty())
    else {
        return Ok(None);
    };
    Ok(opened(&bytes)?.map(|(_, whose, memory)| (whose.to_owned(), memory.to_vec())))
}

fn closed(next_seq: u64, name: &str, mut memory: Vec<u8>) -> Vec<u8> {
    // In place: it may be large.
    memory.splice(..0, state::save(FORM, (next_seq, name)));
    memory
}

/// The number of the next fetch, whose memory it is, and the memory.
type Opened<'b> = (u64, &'b str, &'b [u8]);

/// `None` if another version of the program saved it.
fn opened(bytes: &[u8]) -> Result<Option<Opened<'_>>, StateError> {
    match state::restore_start(FORM, bytes) {
        Ok(((seq, whose), memory)) => Ok(Some((seq, whose, memory))),
        Err(StateError::OtherForm) => Ok(None),
        Err(damaged) => Err(damaged),
    }
}
