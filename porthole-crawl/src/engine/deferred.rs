//! What is put off: scoring all that waits anew after a training, and the table that follows the queue.
//!
//! With one worker all of it is done before the next page is chosen. With several it is done in pieces: no more than a
//! share of the time as long as pages keep coming, and more of it when nothing came for a moment. Pieces come after
//! what was pending is committed, so that what an older model said never comes after what a newer one says.

use std::time::{Duration, Instant};

use porthole_store::Batch;
use porthole_types::UrlId;

use super::crawl::CrawlError;
use super::writer::Writer;

/// Links that are scored anew at a time.
const PIECE: usize = 1_000;

/// Of the time that goes by, one part in so many.
const SHARE: u32 = 5;

/// The setting that says that a scoring is under way; whoever opens the crawl then has everything scored.
const SCORING: &str = "crawl.scoring";

/// How far the queue and the table are behind.
#[derive(Debug)]
pub(crate) struct DeferredWork {
    /// Whether it is done in pieces; else at once.
    in_pieces: bool,
    is_scoring: bool,
    /// Whether the setting says so.
    is_noted: bool,
    /// Whether the table may have to follow.
    is_sweeping: bool,
    /// Whether it has begun to.
    has_begun: bool,
    /// Since when something is put off, and the time that went into it since.
    since: Instant,
    spent: Duration,
}

impl Default for DeferredWork {
    fn default() -> Self {
        let (since, spent) = (Instant::now(), Duration::ZERO);
        DeferredWork {
            in_pieces: false,
            is_scoring: false,
            is_noted: false,
            is_sweeping: false,
            has_begun: false,
            since,
            spent,
        }
    }
}

impl DeferredWork {
    /// As the crawl was left.
    pub(crate) fn new(writer: &mut Writer<'_>, in_pieces: bool) -> Result<DeferredWork, CrawlError> {
        let is_noted = writer.store.setting(SCORING)?.is_some_and(|noted| !noted.is_empty());
        if let Some(scorer) = &mut writer.scorer {
            scorer.strategy.set_rescore_chunk(if in_pieces { PIECE } else { usize::MAX });
            if is_noted {
                scorer.strategy.rescore_all();
            }
        }
        let (since, spent) = (Instant::now(), Duration::ZERO);
        Ok(DeferredWork {
            in_pieces,
            is_scoring: is_noted,
            is_noted,
            is_sweeping: true,
            has_begun: false,
            since,
            spent,
        })
    }

    pub(crate) fn is_scoring(&self) -> bool {
        self.is_scoring
    }

    /// Whether something is half done.
    pub(crate) fn is_midway(&self) -> bool {
        self.is_scoring || self.has_begun
    }

    /// Whether it has not had its share of the time.
    pub(crate) fn has_time(&self) -> bool {
        !self.in_pieces || self.spent * SHARE <= self.since.elapsed()
    }

    pub(crate) fn is_any(&self) -> bool {
        self.is_scoring || self.is_sweeping
    }

    /// Results were committed, after which the table may have to follow.
    pub(crate) fn committed(&mut self) {
        self.is_noted = self.is_scoring;
        if !self.is_any() {
            (self.since, self.spent) = (Instant::now(), Duration::ZERO);
        }
        self.is_sweeping = true;
    }

    /// The setting, if it has to be written.
    pub(crate) fn setting(&self) -> Option<(&'static str, &'static str)> {
        (self.is_scoring != self.is_noted).then_some((SCORING, if self.is_scoring { "yes" } else { "" }))
    }
}

impl Writer<'_> {
    /// Does what is put off as long as its share of the time lasts; everything, with one worker.
    pub(crate) fn catch_up(&mut self) -> Result<(), CrawlError> {
        while self.run.deferred.is_any() && self.run.deferred.has_time() {
            self.catch_up_some()?;
        }
        Ok(())
    }

    /// Does a piece of what is put off. Nothing may be pending.
    pub(crate) fn catch_up_some(&mut self) -> Result<(), CrawlError> {
        let started = Instant::now();
        if self.run.deferred.is_scoring {
            let priorities = self.rescored();
            let settings: Vec<_> = self.run.deferred.setting().into_iter().collect();
            let batch = Batch { priorities: &priorities, settings: &settings, ..Batch::default() };
            self.store.commit(&batch)?;
            self.run.deferred.committed();
            // For all of this the table will have to follow.
            self.run.deferred.has_begun = true;
        } else {
            self.run.deferred.has_begun = self.store.catch_up()?;
            self.run.deferred.is_sweeping = self.run.deferred.has_begun;
        }
        self.run.deferred.spent += started.elapsed();
        Ok(())
    }

    /// What the strategy says anew, all of it or a piece.
    pub(crate) fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        let Some(scorer) = &mut self.scorer else { return Vec::new() };
        let mut anew = scorer.strategy.rescored();
        self.run.deferred.is_scoring = self.run.deferred.in_pieces && anew.len() >= PIECE;
        let starts = &self.starts;
        anew.retain(|(oid, _)| !starts.contains(oid));
        anew
    }
}
