//! Group commit: about once a second, what was committed is made to survive a power cut, on a thread beside the crawl.
//!
//! First the segments are synced, then the database. The fetches that this covers are named by the setting
//! [`SYNCED`] in the next commit; what may have happened to later ones is found out by
//! [`recovery`](crate::recovery). If the disk does not keep up, the crawl waits for it, so that never more than
//! [`AT_RISK`] of work can be lost.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::crawl::{Crawl, CrawlError};
use super::writer::Writer;
use crate::recovery::SYNCED;

/// Time from a commit to the sync that covers it. A sync costs as much as there is to write, and little more.
const BETWEEN_SYNCS: Duration = Duration::from_secs(1);

/// A commit that is not synced after this time stops the crawl until it is.
const AT_RISK: Duration = Duration::from_secs(4);

/// How a crawl is synced.
pub(crate) struct Syncing {
    /// Time from a commit to the sync that covers it.
    pub(crate) pause: Duration,
    /// A commit that is not synced after this time stops the crawl until it is.
    pub(crate) at_risk: Duration,
    /// Hears how far each sync is.
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

/// How far a sync is.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stage {
    Begins,
    SegmentsAreSynced,
    DatabaseIsSynced,
}

/// What of a crawl is synced.
#[derive(Default)]
pub(crate) struct Durability {
    /// The next fetch as of the last commit.
    committed: u64,
    /// The next fetch as of the last sync; the setting as it is to be.
    synced: u64,
    /// The setting as it stands in the database.
    written: u64,
    /// When the first commit was made that no sync covers.
    unsynced_since: Option<Instant>,
    running: Option<Sync>,
}

/// A sync that is under way.
struct Sync {
    /// The next fetch as of the last commit that it covers.
    covers: u64,
    /// When the first commit was made that it covers.
    since: Instant,
    thread: JoinHandle<Result<(), CrawlError>>,
}

impl Durability {
    /// Of a crawl whose commits so far are synced, if it keeps pages.
    pub(crate) fn new(writer: &Writer<'_>) -> Durability {
        let seq = writer.next_seq;
        Durability { committed: seq, synced: seq, written: seq, unsynced_since: None, running: None }
    }

    /// The setting, if it has changed and the crawl keeps pages, to be committed with results.
    pub(crate) fn setting(&mut self, writer: &Writer<'_>) -> Option<(&'static str, String)> {
        let has_changed = std::mem::replace(&mut self.written, self.synced) != self.synced;
        (has_changed && writer.archive.is_some()).then(|| (SYNCED, self.synced.to_string()))
    }

    /// A commit was made, after which this is the number of the next fetch.
    pub(crate) fn committed(&mut self, next_seq: u64) {
        self.committed = next_seq;
        self.unsynced_since.get_or_insert_with(Instant::now);
    }

    /// Begins and ends syncs when it is time.
    fn poll(&mut self, writer: &mut Writer<'_>) -> Result<(), CrawlError> {
        let Syncing { pause, at_risk, .. } = writer.syncing;
        let is_over = |sync: &Sync| sync.thread.is_finished() || sync.since.elapsed() >= at_risk;
        if self.running.as_ref().is_some_and(is_over) {
            self.wait()?;
        }
        if self.running.is_none() && self.unsynced_since.is_some_and(|since| since.elapsed() >= pause) {
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

    /// Waits for the sync that is under way.
    fn wait(&mut self) -> Result<(), CrawlError> {
        if let Some(Sync { covers, thread, .. }) = self.running.take() {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            self.synced = covers;
        }
        Ok(())
    }

    /// Syncs everything, when a run ends.
    pub(crate) fn close(mut self, writer: &mut Writer<'_>) -> Result<(), CrawlError> {
        self.wait()?;
        self.unsynced_since.get_or_insert_with(Instant::now);
        self.begin(writer)?;
        self.wait()?;
        if let Some((name, value)) = self.setting(writer) {
            writer.store.set_setting(name, &value)?;
            writer.store.reader().sync()?;
        }
        Ok(())
    }
}

impl Crawl<'_> {
    /// Syncs what was committed after so long, instead of after a second. What is not synced is lost in a power cut.
    pub fn syncing_after(mut self, pause: Duration) -> Self {
        self.writer.syncing.pause = pause;
        self
    }
}

impl Writer<'_> {
    /// Has what was committed synced when it is time.
    pub(crate) fn sync(&mut self) -> Result<(), CrawlError> {
        let mut durability = std::mem::take(&mut self.run.durability);
        let polled = durability.poll(self);
        self.run.durability = durability;
        polled
    }
}
