//! Group commit: about once a second, committed data is synced on a separate thread, so that it survives a power cut.
//!
//! The segments are synced first, then the database. The next commit stores in the setting [`SYNCED`] which fetches
//! are covered; [`recovery`](crate::recovery) checks the later ones at open. If the disk does not keep up, the crawl
//! waits for it, so that at most [`AT_RISK`] of work can be lost.

use std::borrow::Cow;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::crawl::{Crawl, CrawlError, own_name};
use super::writer::Writer;
use crate::recovery::SYNCED;

/// Time from a commit to the sync that covers it. The cost of a sync is mostly that of the data to write.
const BETWEEN_SYNCS: Duration = Duration::from_secs(1);

/// The crawl waits for a sync if a commit is not synced after this time.
const AT_RISK: Duration = Duration::from_secs(4);

/// When a crawl syncs.
pub(crate) struct Syncing {
    /// Time from a commit to the sync that covers it.
    pub(crate) pause: Duration,
    /// The crawl waits for a sync if a commit is not synced after this time.
    pub(crate) at_risk: Duration,
    /// Called at each stage of a sync.
    #[cfg(test)]
    pub(crate) watch: Option<std::sync::Arc<dyn Fn(Stage) + Send + std::marker::Sync>>,
}

impl Default for Syncing {
    fn default() -> Self {
        Syncing {
            pause: BETWEEN_SYNCS,
            at_risk: AT_RISK,
            #[cfg(test)]
            watch: None,
        }
    }
}

/// A stage of a sync.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stage {
    Begins,
    SegmentsAreSynced,
    DatabaseIsSynced,
}

/// Which commits are synced.
#[derive(Default)]
pub(crate) struct Durability {
    /// Sequence number of the next fetch as of the last commit.
    committed: u64,
    /// The same as of the last sync, and the new value of the setting.
    synced: u64,
    /// The value of the setting in the database.
    written: u64,
    /// Time of the first commit that is not covered by a sync.
    unsynced_since: Option<Duration>,
    running: Option<Sync>,
}

/// A sync in progress.
struct Sync {
    /// Sequence number of the next fetch as of the last commit that it covers.
    covers: u64,
    /// Time of the first commit that it covers.
    since: Duration,
    thread: JoinHandle<Result<(), CrawlError>>,
}

impl Durability {
    /// The state of a crawl whose commits are all synced.
    pub(crate) fn new(writer: &Writer<'_>) -> Durability {
        let seq = writer.next_seq;
        Durability { committed: seq, synced: seq, written: seq, unsynced_since: None, running: None }
    }

    /// The setting, if it has changed and the crawl archives pages, to be committed with results.
    pub(crate) fn setting(&mut self, writer: &Writer<'_>) -> Option<(Cow<'static, str>, String)> {
        let has_changed = std::mem::replace(&mut self.written, self.synced) != self.synced;
        (has_changed && writer.archive.is_some())
            .then(|| (own_name(&*writer.store, SYNCED), self.synced.to_string()))
    }

    /// Records a commit at the monotonic time `now`. `next_seq` is the sequence number of the next fetch after it.
    pub(crate) fn committed(&mut self, next_seq: u64, now: Duration) {
        self.committed = next_seq;
        self.unsynced_since.get_or_insert(now);
    }

    /// Starts and finishes syncs when due.
    fn poll(&mut self, writer: &mut Writer<'_>) -> Result<(), CrawlError> {
        let Syncing { pause, at_risk, .. } = writer.syncing;
        let now = writer.clock.monotonic();
        let is_over = |sync: &Sync| sync.thread.is_finished() || now.saturating_sub(sync.since) >= at_risk;
        if self.running.as_ref().is_some_and(is_over) {
            self.wait()?;
        }
        if self.running.is_none()
            && self.unsynced_since.is_some_and(|since| now.saturating_sub(since) >= pause)
        {
            self.begin(writer)?;
        }
        Ok(())
    }

    fn begin(&mut self, writer: &mut Writer<'_>) -> Result<(), CrawlError> {
        let Some(since) = self.unsynced_since.take() else { return Ok(()) };
        let segments = match &mut writer.archive {
            Some((archive, _)) => Some(archive.unsynced()?),
            None => None,
        };
        let reader = writer.store.reader();
        #[cfg(test)]
        let tell = {
            let watch = writer.syncing.watch.clone();
            move |stage| watch.iter().for_each(|watch| watch(stage))
        };
        #[cfg(test)]
        tell(Stage::Begins);
        let sync = move || {
            if let Some(segments) = segments {
                segments.sync()?;
            }
            #[cfg(test)]
            tell(Stage::SegmentsAreSynced);
            reader.sync()?;
            #[cfg(test)]
            tell(Stage::DatabaseIsSynced);
            Ok(())
        };
        let thread =
            thread::Builder::new().name("sync".to_owned()).spawn(sync).map_err(CrawlError::Thread)?;
        self.running = Some(Sync { covers: self.committed, since, thread });
        Ok(())
    }

    /// Waits for the running sync.
    fn wait(&mut self) -> Result<(), CrawlError> {
        if let Some(Sync { covers, thread, .. }) = self.running.take() {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            self.synced = covers;
        }
        Ok(())
    }

    /// Syncs everything at the end of a run.
    pub(crate) fn close(mut self, writer: &mut Writer<'_>) -> Result<(), CrawlError> {
        self.wait()?;
        self.unsynced_since.get_or_insert(writer.clock.monotonic());
        self.begin(writer)?;
        self.wait()?;
        if let Some((name, value)) = self.setting(writer) {
            writer.store.set_setting(&name, &value)?;
            writer.store.reader().sync()?;
        }
        Ok(())
    }
}

impl Crawl<'_> {
    /// Syncs committed data after `pause` instead of after a second. Data that is not synced is lost in a power cut.
    pub fn syncing_after(mut self, pause: Duration) -> Self {
        self.writer.syncing.pause = pause;
        self
    }
}

impl Writer<'_> {
    /// Starts or finishes a sync when due.
    pub(crate) fn sync(&mut self) -> Result<(), CrawlError> {
        let mut durability = std::mem::take(&mut self.run.durability);
        let polled = durability.poll(self);
        self.run.durability = durability;
        polled
    }
}
