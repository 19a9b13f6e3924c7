//! Applies a batch to the memory, and collects what has to be written.

use std::collections::BTreeMap;

use porthole_types::{
    CanonicalUrl, Judgment, NewUrl, NextVisit, Outcome, PageChange, PageResult, SiteId, Timestamp, UrlId,
};

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
    /// The state of a URL that was already finished when the result came.
    pub(super) unasked: Option<RowState>,
    /// Whether it is a revisit, so that some of its links may be known.
    pub(super) again: bool,
    /// Whether an earlier visit brought a page and this one did not: the stored page stays.
    pub(super) keeps_page: bool,
}

/// A link to be written; its ends are rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedLink<'a> {
    pub(super) src: u32,
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
            plan.see(memory, new.url.id(), new.url.site(), new, false);
        }
        plan.finish(memory);
        Ok(plan)
    }

    /// The plan for revisits. Fails before any change if a URL is unknown.
    pub(super) fn for_revisits(memory: &mut FrontierState, oids: &[UrlId]) -> Result<Self> {
        let rows: Vec<u32> = oids.iter().map(|&oid| known(&memory.frontier, oid)).collect::<Result<_>>()?;
        let mut plan = WritePlan::default();
        for row in rows {
            plan.queue_again(memory, row);
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
        let mut lost: Vec<u32> =
            oids.iter().map(|&oid| known(&memory.frontier, oid)).collect::<Result<_>>()?;
        lost.sort_unstable();
        Ok(WritePlan { lost, ..WritePlan::for_revisits(memory, oids)? })
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
        let find = |oid| known(&memory.frontier, oid);
        let pages = batch.results.iter().map(|result| find(result.oid)).collect::<Result<Vec<_>>>()?;
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
        for row in again {
            plan.queue_again(memory, row);
        }
        for (row, new) in judged.into_iter().zip(batch.judgments) {
            plan.judge(memory, row, new.judgment);
        }
        for new in batch.urls {
            plan.see(memory, new.url.id(), new.url.site(), new, false);
        }
        for (row, estimate) in estimated.into_iter().zip(batch.estimates) {
            plan.believe(memory, row, estimate);
        }
        for (row, new) in refreshed.into_iter().zip(batch.refreshed) {
            plan.refresh(memory, row, new);
        }
        for (row, estimate) in raised.into_iter().zip(batch.raised) {
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
        plan.newest = newest_link;
        plan.finish(memory);
        Ok(plan)
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
        let (again, keeps_page) = (tries.is_revisit(), tries.has_response() && !brings_page);
        self.visits.push(Visit { row, result, unasked, again, keeps_page });
        memory.frontier.touch(result.links.iter().map(|link| link.oid));
        self.eviction = None;
        for link in &result.links {
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
            self.links.push(PlannedLink { src: row, dst, discovered: result.at, anchor });
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

fn known(frontier: &Frontier, oid: UrlId) -> Result<u32> {
    frontier.find(oid).ok_or(Error::UnknownUrl(oid))
}
