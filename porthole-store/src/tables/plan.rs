//! Applies a batch to the memory, and collects what has to be written.

use std::collections::{BTreeMap, HashMap};

use porthole_types::{
    CanonicalUrl, Judgment, NewUrl, NextVisit, Outcome, PageChange, PageResult, SiteId, Timestamp, TopicId,
    UrlId,
};

use super::inbox::{LATEST, Letter, LetterKind, REJECTED, REVISITED, ReceivedLetter};
use super::load::FrontierState;
use crate::frontier::{Belief, EvictionOrder, Frontier, RowState, SeenUrl};
use crate::{Batch, Error, Estimate, Refreshed, Result};

/// Everything that one transaction writes. Row lists are ascending, since neighbouring rows share a page.
#[derive(Debug, Default)]
pub(super) struct WritePlan<'a> {
    pub(super) new_urls: Vec<NewRow<'a>>,
    pub(super) new_sites: Vec<(SiteId, &'a str)>,
    /// Rows whose estimate differs from the tables.
    pub(super) believed: Vec<u32>,
    pub(super) visits: Vec<Visit<'a>>,
    /// The links of the results, in their order.
    pub(super) links: Vec<PlannedLink<'a>>,
    /// Rowids of pages that were visited again: some of their links may be known.
    pub(super) revisited: Vec<i64>,
    /// Letters to other workers.
    pub(super) letters: Vec<Letter<'a>>,
    /// The last letter that the worker has read, and the shards whose older letters it has read.
    pub(super) cursor: Option<i64>,
    pub(super) caught_up: Vec<u8>,
    /// Finished rows that are queued again, with the states they had.
    pub(super) again: Vec<(u32, RowState)>,
    /// Rows whose archived pages are lost.
    pub(super) lost: Vec<u32>,
    pub(super) judgments: Vec<(u32, Judgment)>,
    /// Rows that were evicted, or are queued again after that.
    pub(super) moved: Vec<u32>,
    pub(super) evicted: usize,
    /// Rows that were in flight and no longer are; they are in flight again if the plan cannot be written.
    pub(super) left_flight: Vec<u32>,
    /// Rows of `site`, with their new load.
    pub(super) loads: Vec<(u32, u32)>,
    /// Rows that were evicted or came back: their places in the line are to be written.
    pub(super) lined_up: Vec<u32>,
    /// Rows that were evicted or came back, with their states and estimates before the plan.
    touched: BTreeMap<u32, (RowState, Belief)>,
    /// The link that was queued last, and whether it is protected from eviction.
    newest: Option<u32>,
    protect_newest: bool,
    /// While the links of a page are queued with `protect_newest`, once something was evicted.
    eviction: Option<EvictionOrder>,
}

/// A new URL.
#[derive(Debug)]
pub(super) struct NewRow<'a> {
    pub(super) row: u32,
    pub(super) oid: UrlId,
    pub(super) sid: SiteId,
    pub(super) url: &'a CanonicalUrl,
    pub(super) belief: Belief,
    pub(super) depth: u32,
}

/// A result to be written.
#[derive(Debug)]
pub(super) struct Visit<'a> {
    pub(super) row: u32,
    pub(super) result: &'a PageResult,
    /// Sequence number of the fetch.
    pub(super) seq: u64,
    /// The state of a URL that was already finished when the result came.
    pub(super) unasked: Option<RowState>,
    /// Whether it is a revisit, so that some of its links may be known.
    pub(super) again: bool,
    /// Whether an earlier visit brought a page and this one did not: the stored page stays.
    pub(super) keeps_page: bool,
}

/// A link to be written, from a rowid to a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedLink<'a> {
    pub(super) src: i64,
    pub(super) dst: u32,
    pub(super) discovered: Timestamp,
    pub(super) anchor: Option<&'a str>,
}

/// The state of a URL after a result, and until when it waits.
pub(super) fn verdict(result: &PageResult) -> (RowState, Option<Timestamp>) {
    match &result.outcome {
        Outcome::Fetched | Outcome::NotModified => (RowState::Fetched, None),
        Outcome::Redirected => (RowState::Redirected, None),
        Outcome::Retry { not_before, .. } => (RowState::Queued, Some(*not_before)),
        // A page whose server was down, or that must not be asked for any more, is still a page.
        Outcome::Dead(_) | Outcome::Skipped(_) if is_unknown(result) => (RowState::Fetched, None),
        Outcome::Dead(_) => (RowState::Dead, None),
        Outcome::Skipped(_) => (RowState::Skipped, None),
    }
}

/// Whether a visit has not shown if the page, which was there before, still is. One that was refused by robots.txt or the
/// scope has no status: nothing was asked. If there was an answer, and it is skipped, it is no page any more.
pub(super) fn is_unknown(result: &PageResult) -> bool {
    let is_unknown = |next: NextVisit| next.change == PageChange::Unknown && next.history.gone.is_none();
    let was_skipped = matches!(result.outcome, Outcome::Skipped(_)) && result.status != 0;
    result.next_visit.is_some_and(is_unknown) && !was_skipped
}

/// The judgment of a result. Until a page is finished, its relevance stays an estimate.
pub(super) fn judgment(result: &PageResult) -> Option<Judgment> {
    result.judgment.filter(|_| verdict(result).0 != RowState::Queued)
}

impl<'a> WritePlan<'a> {
    /// The plan for start URLs.
    pub(super) fn for_urls(memory: &mut FrontierState, urls: &'a [NewUrl]) -> Result<Self> {
        has_room(&memory.frontier, urls.len())?;
        let mut plan = WritePlan::default();
        for new in urls {
            plan.find(memory, new);
        }
        plan.finish(memory);
        Ok(plan)
    }

    /// Queues a URL that was not found as a link, or tells its worker.
    fn find(&mut self, memory: &mut FrontierState, new: &'a NewUrl) {
        if memory.is_foreign(new.url.site()) {
            self.letters.push(Letter::found(new));
        } else {
            self.see(memory, new.url.id(), new.url.site(), new, false);
        }
    }

    /// The plan for letters of other workers, and for the priorities that URLs have by the strategy after them.
    pub(super) fn for_letters(
        memory: &mut FrontierState,
        letters: &'a [ReceivedLetter],
        priorities: &[(UrlId, f64)],
    ) -> Result<Self> {
        has_room(&memory.frontier, letters.len())?;
        let mut plan = WritePlan::default();
        for letter in letters {
            plan.receive(memory, letter);
        }
        for &(oid, priority) in priorities {
            plan.reorder(memory, oid, priority);
        }
        plan.revisited.sort_unstable();
        plan.revisited.dedup();
        plan.finish(memory);
        Ok(plan)
    }

    /// The same plan, which also writes that the letters up to this one were read, by these shards as by all others.
    pub(super) fn with_cursor(self, cursor: i64, caught_up: Vec<u8>) -> Self {
        WritePlan { cursor: Some(cursor), caught_up, ..self }
    }

    fn receive(&mut self, memory: &mut FrontierState, letter: &'a ReceivedLetter) {
        let has = |flag: i64| letter.flags & flag != 0;
        if let Some(new) = &letter.new {
            // The letter was sent before a shard changed hands, and comes again to its new owner.
            if memory.is_foreign(new.url.site()) {
                return;
            }
            let dst = self.see(memory, letter.oid, new.url.site(), new, has(REJECTED));
            if has(LATEST) {
                self.reorder(memory, letter.oid, letter.priority);
            }
            if letter.kind == LetterKind::Link {
                let anchor = letter.anchor.as_deref();
                self.links.push(PlannedLink { src: letter.src, dst, discovered: letter.discovered, anchor });
                self.revisited.extend(has(REVISITED).then_some(letter.src));
            }
            return;
        }
        let Some(row) = memory.frontier.find(letter.oid) else { return };
        let ReceivedLetter { oid, relevance, priority, .. } = *letter;
        match letter.kind {
            LetterKind::Link | LetterKind::Found | LetterKind::Shown | LetterKind::Memory => {}
            LetterKind::Estimate => self.believe(memory, row, &Estimate { oid, relevance, priority }),
            LetterKind::Refreshed => {
                self.refresh(memory, row, &Refreshed { oid, before: priority, relevance });
            }
            LetterKind::Raised => {
                let seen = memory.frontier.raise(row, Belief::new(relevance, priority));
                self.note(seen);
            }
            LetterKind::Again => self.queue_again(memory, row),
            LetterKind::Judgment => {
                let best = TopicId(u16::try_from(letter.depth).unwrap_or(0));
                self.judge(memory, row, Judgment { relevance, best });
            }
            LetterKind::Lost => {
                self.queue_again(memory, row);
                self.lost.push(row);
            }
        }
    }

    /// The plan for revisits. Fails before any change if a URL is unknown.
    pub(super) fn for_revisits(memory: &mut FrontierState, oids: &[UrlId]) -> Result<Self> {
        let rows: Vec<Option<u32>> = oids.iter().map(|&oid| known(memory, oid)).collect::<Result<_>>()?;
        let mut plan = WritePlan::default();
        for (row, &oid) in rows.into_iter().zip(oids) {
            match row {
                Some(row) => plan.queue_again(memory, row),
                None => plan.letters.push(Letter::about(LetterKind::Again, oid, 0.0, 0.0)),
            }
        }
        plan.finish(memory);
        Ok(plan)
    }

    /// Queues a finished row again.
    fn queue_again(&mut self, memory: &mut FrontierState, row: u32) {
        let state = memory.frontier.state(row);
        if state.is_done() {
            memory.frontier.queue_again(row);
            self.again.push((row, state));
            self.believed.push(row);
        }
    }

    /// The plan for URLs whose archived pages are lost.
    pub(super) fn for_lost_pages(memory: &mut FrontierState, oids: &[UrlId]) -> Result<Self> {
        let found: Vec<Option<u32>> = oids.iter().map(|&oid| known(memory, oid)).collect::<Result<_>>()?;
        let mut lost: Vec<u32> = found.iter().flatten().copied().collect();
        lost.sort_unstable();
        let mut plan = WritePlan { lost, ..WritePlan::for_revisits(memory, oids)? };
        for letter in &mut plan.letters {
            letter.kind = LetterKind::Lost;
        }
        Ok(plan)
    }

    /// The plan for evictions after a change of the whole queue.
    pub(super) fn for_bound(memory: &mut FrontierState) -> Self {
        let mut plan = WritePlan::default();
        plan.finish(memory);
        plan
    }

    /// The plan for a batch. Fails before any change if a URL is unknown.
    pub(super) fn for_batch(memory: &mut FrontierState, batch: &Batch<'a>) -> Result<Self> {
        let links: usize = batch.results.iter().map(|result| result.links.len()).sum();
        has_room(&memory.frontier, links + batch.urls.len())?;
        let find = |oid| known(memory, oid);
        let page = |result: &PageResult| find(result.oid)?.ok_or(Error::UnknownUrl(result.oid));
        let pages = batch.results.iter().map(page).collect::<Result<Vec<_>>>()?;
        let judged = batch.judgments.iter().map(|new| find(new.oid)).collect::<Result<Vec<_>>>()?;
        let estimated = batch.estimates.iter().map(|new| find(new.oid)).collect::<Result<Vec<_>>>()?;
        let refreshed = batch.refreshed.iter().map(|new| find(new.oid)).collect::<Result<Vec<_>>>()?;
        let raised = batch.raised.iter().map(|new| find(new.oid)).collect::<Result<Vec<_>>>()?;
        let again = batch.again.iter().map(|&oid| find(oid)).collect::<Result<Vec<_>>>()?;
        let mut plan = WritePlan { protect_newest: batch.protect_newest, ..WritePlan::default() };
        for (row, result) in pages.into_iter().zip(batch.results) {
            plan.work_in(memory, row, result);
        }
        let newest_link = plan.newest;
        for (row, &oid) in again.into_iter().zip(batch.again) {
            match row {
                Some(row) => plan.queue_again(memory, row),
                None => plan.letters.push(Letter::about(LetterKind::Again, oid, 0.0, 0.0)),
            }
        }
        for (row, new) in judged.into_iter().zip(batch.judgments) {
            match row {
                Some(row) => plan.judge(memory, row, new.judgment),
                None => {
                    let Judgment { relevance, best } = new.judgment;
                    let letter = Letter::about(LetterKind::Judgment, new.oid, relevance, 0.0);
                    plan.letters.push(Letter { depth: best.0.into(), ..letter });
                }
            }
        }
        for new in batch.urls {
            plan.find(memory, new);
        }
        for (row, estimate) in estimated.into_iter().zip(batch.estimates) {
            match row {
                Some(row) => plan.believe(memory, row, estimate),
                None => plan.send_estimate(LetterKind::Estimate, estimate),
            }
        }
        for (row, new) in refreshed.into_iter().zip(batch.refreshed) {
            match row {
                Some(row) => plan.refresh(memory, row, new),
                None => {
                    let letter = Letter::about(LetterKind::Refreshed, new.oid, new.relevance, new.before);
                    plan.letters.push(letter);
                }
            }
        }
        for (row, estimate) in raised.into_iter().zip(batch.raised) {
            let Some(row) = row else {
                plan.send_estimate(LetterKind::Raised, estimate);
                continue;
            };
            let seen = memory.frontier.raise(row, Belief::new(estimate.relevance, estimate.priority));
            plan.note(seen);
        }
        // In groups, so that prefetched memory is still in the cache when it is needed.
        for some in batch.priorities.chunks(64) {
            memory.frontier.touch(some.iter().map(|&(oid, _)| oid));
            for &(oid, priority) in some {
                plan.reorder(memory, oid, priority);
            }
        }
        plan.set_priorities_of_letters(batch.priorities);
        if let Some(shared) = memory.shared.filter(|_| memory.is_incomplete()) {
            let show = |page: &'a Vec<u8>| Letter::showing(page, shared.worker);
            plan.letters.extend(batch.shown.iter().map(show));
        }
        plan.newest = newest_link;
        plan.finish(memory);
        Ok(plan)
    }

    fn send_estimate(&mut self, kind: LetterKind, estimate: &Estimate) {
        self.letters.push(Letter::about(kind, estimate.oid, estimate.relevance, estimate.priority));
    }

    /// Sets the priorities of URLs that are told to other workers.
    fn set_priorities_of_letters(&mut self, priorities: &[(UrlId, f64)]) {
        if self.letters.is_empty() || priorities.is_empty() {
            return;
        }
        let latest: HashMap<UrlId, f64> = priorities.iter().copied().collect();
        for letter in self.letters.iter_mut().filter(|letter| letter.kind == LetterKind::Link) {
            if let Some(&priority) = latest.get(&letter.oid) {
                (letter.priority, letter.flags) = (priority, letter.flags | LATEST);
            }
        }
    }

    fn work_in(&mut self, memory: &mut FrontierState, row: u32, result: &'a PageResult) {
        let (before, (state, not_before)) = (memory.frontier.state(row), verdict(result));
        let unasked = before.is_done().then_some(before);
        if unasked.is_some() {
            memory.frontier.queue_again(row);
        }
        let tries = memory.frontier.tries(row);
        if state.has_response()
            && !tries.has_response()
            && let Some(site) = memory.frontier.count_fetched(result.sid)
        {
            self.loads.push((site, 0));
        }
        if memory.frontier.is_taken(row) {
            self.left_flight.push(row);
        }
        memory.frontier.tried(row, state, not_before, result.at);
        if let Some(judgment) = judgment(result) {
            memory.frontier.judged(row, judgment.relevance);
        }
        // Queued again: an older estimate that may still be in `estimate_log` is outdated.
        if state == RowState::Queued && before != RowState::Queued {
            self.believed.push(row);
        }
        let brings_page = matches!(result.outcome, Outcome::Fetched | Outcome::Redirected);
        let (again, keeps_page) = (tries.is_again(), tries.has_response() && !brings_page);
        let seq = result.seq.wrapping_add(memory.shared.map_or(0, |shared| shared.seq_shift));
        self.visits.push(Visit { row, result, seq, unasked, again, keeps_page });
        let src = memory.frontier.rowid(row);
        self.revisited.extend(again.then_some(src));
        memory.frontier.touch(result.links.iter().map(|link| link.oid));
        self.eviction = None;
        for link in &result.links {
            if memory.is_foreign(link.sid) {
                let rejected = if link.rejected { REJECTED } else { 0 };
                let revisited = if again { REVISITED } else { 0 };
                self.letters.push(Letter {
                    kind: LetterKind::Link,
                    src,
                    discovered: result.at,
                    anchor: link.anchor.as_deref(),
                    flags: rejected | revisited,
                    ..Letter::found(&link.target)
                });
                continue;
            }
            if self.protect_newest && !link.rejected {
                self.make_room(memory, link.oid, link.sid);
            }
            let dst = self.see(memory, link.oid, link.sid, &link.target, link.rejected);
            if !link.rejected
                && let Some(order) = &mut self.eviction
            {
                memory.frontier.update_eviction(dst, order);
            }
            let anchor = link.anchor.as_deref();
            self.links.push(PlannedLink { src, dst, discovered: result.at, anchor });
        }
        self.eviction = None;
    }

    /// Makes room in a full queue for a link that is about to be queued, as P Fig. 1 does for one link after the other:
    /// so a link can be evicted and found again on the same page.
    fn make_room(&mut self, memory: &mut FrontierState, oid: UrlId, sid: SiteId) {
        let frontier = &mut memory.frontier;
        let state = frontier.find(oid).map(|row| frontier.state(row));
        let is_queued_next =
            state.is_none_or(|state| matches!(state, RowState::Evicted | RowState::Rejected));
        let is_disabled = frontier.sites().find(sid).is_some_and(|site| frontier.sites().is_disabled(site));
        if !is_queued_next || is_disabled || !frontier.may_be_full() {
            return;
        }
        let order = self.eviction.get_or_insert_with(|| frontier.eviction_order());
        // More than one, if URLs in flight were given back to a full queue.
        while let Some((row, belief)) = frontier.make_room(order) {
            self.evicted += 1;
            self.touched.entry(row).or_insert((RowState::Queued, belief));
        }
    }

    /// Sets the judgment of a page, which may be queued for a revisit; other URLs are ignored.
    fn judge(&mut self, memory: &mut FrontierState, row: u32, judgment: Judgment) {
        let frontier = &mut memory.frontier;
        let state = frontier.state(row);
        if state == RowState::Fetched || state == RowState::Queued && frontier.tries(row).has_response() {
            frontier.judged(row, judgment.relevance);
            self.judgments.push((row, judgment));
        }
    }

    fn believe(&mut self, memory: &mut FrontierState, row: u32, estimate: &Estimate) {
        if memory.frontier.set(row, Belief::new(estimate.relevance, estimate.priority)) {
            self.believed.push(row);
        }
    }

    fn reorder(&mut self, memory: &mut FrontierState, oid: UrlId, priority: f64) {
        let Some(row) = memory.frontier.find(oid) else { return };
        if memory.frontier.set_priority(row, priority) {
            self.believed.push(row);
        }
    }

    /// Sets an estimate recomputed from the linking pages, unless it has changed since.
    #[allow(clippy::cast_possible_truncation)]
    fn refresh(&mut self, memory: &mut FrontierState, row: u32, new: &Refreshed) {
        let estimate = memory.frontier.belief(row);
        if estimate.relevance as f32 != new.before as f32 || memory.frontier.tries(row).has_response() {
            return;
        }
        let moves = estimate.priority as f32 == estimate.relevance as f32;
        let priority = if moves { new.relevance } else { estimate.priority };
        self.believe(memory, row, &Estimate { oid: new.oid, relevance: new.relevance, priority });
    }

    /// Records that a URL was seen, to be queued unless it is rejected. Returns its row.
    fn see(
        &mut self,
        memory: &mut FrontierState,
        oid: UrlId,
        sid: SiteId,
        new: &'a NewUrl,
        rejected: bool,
    ) -> u32 {
        let belief = Belief::new(new.relevance, new.priority);
        let sites = memory.frontier.sites().len();
        let seen = if rejected {
            memory.frontier.reject(oid, sid, belief)
        } else {
            memory.frontier.see(oid, sid, belief)
        };
        if let SeenUrl::New(row) = seen {
            self.new_urls.push(NewRow { row, oid, sid, url: &new.url, belief, depth: new.depth });
            if memory.frontier.sites().len() > sites {
                self.new_sites.push((sid, new.url.authority()));
            }
        }
        if !rejected {
            self.note(seen);
        }
        let (SeenUrl::New(row) | SeenUrl::Raised(row) | SeenUrl::Back(row, ..) | SeenUrl::Known(row)) = seen;
        row
    }

    fn note(&mut self, seen: SeenUrl) {
        match seen {
            SeenUrl::Known(_) => {}
            SeenUrl::New(row) => self.newest = Some(row),
            SeenUrl::Raised(row) => self.believed.push(row),
            SeenUrl::Back(row, state, belief) => {
                self.newest = Some(row);
                self.touched.entry(row).or_insert((state, belief));
                self.believed.push(row);
            }
        }
    }

    fn finish(&mut self, memory: &mut FrontierState) {
        self.evict(memory);
        self.believed.sort_unstable();
        self.believed.dedup();
        // A stable sort: of two results for one URL, the later wins.
        self.visits.sort_by_key(|visit| visit.row);
        self.loads.sort_unstable();
        self.loads.dedup();
        for (row, load) in &mut self.loads {
            *load = memory.frontier.sites().load(*row);
        }
    }

    /// Evicts URLs beyond the bound, and collects the rows whose state in the table changes.
    fn evict(&mut self, memory: &mut FrontierState) {
        let evicted = memory.frontier.trim(self.newest.filter(|_| self.protect_newest));
        self.evicted += evicted.len();
        let frontier = &memory.frontier;
        for row in evicted {
            self.touched.entry(row).or_insert_with(|| (RowState::Queued, frontier.belief(row)));
        }
        if self.touched.is_empty() {
            return;
        }
        // New rows are written as they are now. A row that came back and was evicted again may not have changed.
        let first_new = self.new_urls.first().map_or(u32::MAX, |new| new.row);
        let changed = |&(&row, &before): &(&u32, &(RowState, Belief))| {
            row < first_new && (frontier.state(row), frontier.belief(row)) != before
        };
        self.moved = self.touched.iter().filter(changed).map(|(&row, _)| row).collect();
        self.lined_up = self.touched.keys().copied().collect();
        self.believed.retain(|&row| frontier.state(row) != RowState::Evicted);
    }
}

fn has_room(frontier: &Frontier, most: usize) -> Result<()> {
    let fits = frontier.len().saturating_add(most) <= Frontier::CAPACITY;
    fits.then_some(()).ok_or(Error::Full)
}

/// The row of a URL; `None` if another worker may know it.
fn known(memory: &FrontierState, oid: UrlId) -> Result<Option<u32>> {
    match memory.frontier.find(oid) {
        None if !memory.is_incomplete() => Err(Error::UnknownUrl(oid)),
        found => Ok(found),
    }
}
