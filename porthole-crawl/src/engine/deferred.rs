//! Work that is deferred: rescoring all queued links after a training, and bringing the table up to date with the
//! queue.
//!
//! With one worker all of it is done before the next page is chosen. With several workers it is done in chunks, in a
//! limited share of the time while pages arrive, and in more when nothing happens. Chunks run after pending results
//! are committed, so that scores of an older model never overwrite those of a newer one.

use std::time::Duration;

use porthole_store::Batch;
use porthole_types::{Clock, UrlId};

use super::crawl::{CrawlError, own_name};
use super::writer::Writer;

/// Number of links that are rescored at a time.
const CHUNK: usize = 1_000;

/// At most one part in this many of the elapsed time is spent.
const SHARE: u32 = 5;

/// Setting that is set while a rescoring is in progress. If it is set at open, everything is rescored.
pub(crate) const RESCORING: &str = "crawl.scoring";

/// State of the deferred work.
#[derive(Debug, Default)]
pub(crate) struct DeferredWork {
    /// Whether the work is done in chunks, rather than at once.
    in_chunks: bool,
    is_rescoring: bool,
    /// Whether the setting is set in the database.
    is_stored: bool,
    /// Whether the table may be behind the queue.
    is_table_behind: bool,
    /// Whether bringing it up to date has started.
    has_started: bool,
    /// Since when work is deferred, and the time spent on it since.
    since: Duration,
    spent: Duration,
}

impl DeferredWork {
    /// Restores the state that an earlier run left.
    pub(crate) fn new(writer: &mut Writer<'_>, in_chunks: bool) -> Result<DeferredWork, CrawlError> {
        let is_stored = writer.own_setting(RESCORING)?.is_some_and(|stored| !stored.is_empty());
        if let Some(scorer) = &mut writer.scorer {
            scorer.strategy.set_rescore_chunk(if in_chunks { CHUNK } else { usize::MAX });
            if is_stored {
                scorer.strategy.rescore_all();
            }
        }
        let (since, spent) = (writer.clock.monotonic(), Duration::ZERO);
        Ok(DeferredWork {
            in_chunks,
            is_rescoring: is_stored,
            is_stored,
            is_table_behind: true,
            has_started: false,
            since,
            spent,
        })
    }

    pub(crate) fn is_rescoring(&self) -> bool {
        self.is_rescoring
    }

    /// Whether work is partly done.
    pub(crate) fn is_partly_done(&self) -> bool {
        self.is_rescoring || self.has_started
    }

    /// Whether the work has not used up its share of the time.
    pub(crate) fn has_time(&self, clock: &dyn Clock) -> bool {
        !self.in_chunks || self.spent * SHARE <= clock.monotonic().saturating_sub(self.since)
    }

    pub(crate) fn has_work(&self) -> bool {
        self.is_rescoring || self.is_table_behind
    }

    /// Records a commit, after which the table may be behind.
    pub(crate) fn committed(&mut self, clock: &dyn Clock) {
        self.is_stored = self.is_rescoring;
        if !self.has_work() {
            (self.since, self.spent) = (clock.monotonic(), Duration::ZERO);
        }
        self.is_table_behind = true;
    }

    /// The setting, if it has to be written.
    pub(crate) fn setting(&self) -> Option<(&'static str, &'static str)> {
        (self.is_rescoring != self.is_stored)
            .then_some((RESCORING, if self.is_rescoring { "yes" } else { "" }))
    }
}

impl Writer<'_> {
    /// Does deferred work while its share of the time lasts; with one worker, all of it.
    pub(crate) fn catch_up(&mut self) -> Result<(), CrawlError> {
        while self.has_deferred() {
            self.catch_up_chunk()?;
        }
        Ok(())
    }

    /// Does a chunk of deferred work. Nothing may be pending.
    pub(crate) fn catch_up_chunk(&mut self) -> Result<(), CrawlError> {
        let started = self.clock.monotonic();
        if self.run.deferred.is_rescoring {
            let priorities = self.rescored();
            let setting = self.run.deferred.setting();
            let setting = setting.map(|(name, value)| (own_name(&*self.store, name), value));
            let settings: Vec<_> = setting.iter().map(|(name, value)| (&**name, *value)).collect();
            let batch = Batch { priorities: &priorities, settings: &settings, ..Batch::default() };
            self.store.commit(&batch)?;
            self.run.deferred.committed(&*self.clock);
            // The table is now behind for all of these.
            self.run.deferred.has_started = true;
        } else {
            self.run.deferred.has_started = self.store.catch_up()?;
            self.run.deferred.is_table_behind = self.run.deferred.has_started;
        }
        self.run.deferred.spent += self.clock.monotonic().saturating_sub(started);
        Ok(())
    }

    /// New priorities from the strategy: all of them, or a chunk.
    pub(crate) fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        let Some(scorer) = &mut self.scorer else { return Vec::new() };
        let mut priorities = scorer.strategy.rescored();
        self.run.deferred.is_rescoring = self.run.deferred.in_chunks && priorities.len() >= CHUNK;
        let starts = &self.starts;
        priorities.retain(|(oid, _)| !starts.contains(oid));
        priorities
    }
}
