//! Selections other than the best URL of the queue: batches that are finished before the queue is consulted again,
//! and URLs that the strategy chooses itself.

use std::collections::{HashMap, HashSet, VecDeque};

use porthole_store::StoreReader;
use porthole_strategy::Selection;
use porthole_types::{Timestamp, UrlId, Work};

use super::crawl::CrawlError;
use super::writer::Writer;

/// Setting that holds the current batch and the sequence number of its first fetch. Committed with the first of its
/// results.
pub(crate) const BATCH: &str = "crawl.batch";

/// The current batch.
#[derive(Default)]
pub(crate) struct CurrentBatch {
    /// URLs of the batch that were taken from the frontier and not yet offered.
    left: VecDeque<Work>,
    /// The setting, until it is committed.
    pub(crate) unwritten: Option<String>,
    /// Whether the unfinished batch of an earlier run was looked up.
    has_looked: bool,
}

impl Writer<'_> {
    /// Takes up to `free` URLs of the current batch. Starts the next batch when the current one is finished.
    pub(crate) fn take_of_batch(&mut self, free: usize, now: Timestamp) -> Result<Vec<Work>, CrawlError> {
        if self.run.batch.left.is_empty() && self.run.taken.is_empty() {
            self.begin_batch(now)?;
        }
        let free = free.min(self.run.batch.left.len());
        Ok(self.run.batch.left.drain(..free).collect())
    }

    fn begin_batch(&mut self, now: Timestamp) -> Result<(), CrawlError> {
        let mut work = Vec::new();
        if !std::mem::replace(&mut self.run.batch.has_looked, true) {
            let unfinished = unfinished(&*self.store.reader())?;
            work = self.store.take_these(&unfinished, now)?;
        }
        if work.is_empty() {
            work = self.next_batch(now)?;
        }
        self.run.taken.extend(work.iter().map(|work| work.oid));
        self.run.batch.left = work.into();
        Ok(())
    }

    /// Takes the best URLs of the queue, in the order that the strategy wants.
    fn next_batch(&mut self, now: Timestamp) -> Result<Vec<Work>, CrawlError> {
        let Some(scorer) = &mut self.scorer else { return Ok(Vec::new()) };
        // The batch size may depend on the results of the last batch.
        self.run.discipline = scorer.strategy.discipline();
        let Selection::Batch(size) = self.run.discipline.selection else { return Ok(Vec::new()) };
        let work = self.store.take(size.max(1), now)?;
        let mut order: Vec<UrlId> = work.iter().map(|work| work.oid).collect();
        scorer.strategy.arrange(&mut order);
        if order.len() > 1 {
            self.run.batch.unwritten = Some(format_batch(self.next_seq, &order));
        }
        let mut work: HashMap<UrlId, Work> = work.into_iter().map(|work| (work.oid, work)).collect();
        Ok(order.iter().filter_map(|oid| work.remove(oid)).collect())
    }

    /// Takes what the strategy chooses. Start pages come first, because the strategy does not know them. If it
    /// chooses nothing, takes the best URL of the queue, so that it has something to choose from.
    pub(crate) fn take_chosen(&mut self, free: usize, now: Timestamp) -> Result<Vec<Work>, CrawlError> {
        let store = &mut *self.store;
        let (starts, others): (Vec<Work>, Vec<Work>) =
            store.take(free, now)?.into_iter().partition(|work| work.depth == 0);
        store.give_back(&others.iter().map(|work| work.oid).collect::<Vec<_>>())?;
        let mut work = starts;
        let chosen = self.scorer.as_mut().map(|scorer| scorer.strategy.choose(free - work.len()));
        for oid in chosen.unwrap_or_default() {
            if work.len() >= free {
                break;
            }
            work.append(&mut store.take_these(&[oid], now)?);
        }
        if work.is_empty() && self.run.taken.is_empty() {
            work = store.take(free.min(1), now)?;
        }
        Ok(work)
    }
}

/// The URLs of the last run's batch that were not tried.
fn unfinished(reader: &dyn StoreReader) -> Result<Vec<UrlId>, CrawlError> {
    const LOOKED_UP: usize = 1_024;
    let words = reader.setting(BATCH)?.unwrap_or_default();
    let Some((seq, batch)) = parse_batch(&words) else { return Ok(Vec::new()) };
    let (mut tried_since, mut after) = (HashSet::new(), seq.checked_sub(1));
    loop {
        let tried = reader.tried(after, LOOKED_UP)?;
        let Some(last) = tried.last() else { break };
        after = Some(last.seq);
        tried_since.extend(tried.iter().map(|tried| tried.oid));
    }
    Ok(batch.into_iter().filter(|oid| !tried_since.contains(oid)).collect())
}

fn format_batch(seq: u64, batch: &[UrlId]) -> String {
    let oids = batch.iter().map(|oid| format!(" {:x}", oid.0));
    std::iter::once(seq.to_string()).chain(oids).collect()
}

fn parse_batch(words: &str) -> Option<(u64, Vec<UrlId>)> {
    let mut words = words.split(' ');
    let seq = words.next()?.parse().ok()?;
    let oids = words.map(|word| u64::from_str_radix(word, 16).map(UrlId));
    Some((seq, oids.collect::<Result<_, _>>().ok()?))
}
