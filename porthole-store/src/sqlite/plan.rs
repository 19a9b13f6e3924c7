//! Works a batch into the memory, and out of it what must be written.

use porthole_types::{CanonicalUrl, Judgment, NewUrl, Outcome, PageResult, SiteId, Timestamp, UrlId};

use super::load::Window;
use crate::frontier::{Belief, Frontier, Seen, State};
use crate::{Batch, Error, Estimate, Result};

/// Everything that one transaction writes. Row lists are in ascending order: neighbours share a page.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    pub(super) new_urls: Vec<NewRow<'a>>,
    pub(super) new_sites: Vec<(SiteId, &'a str)>,
    /// Rows of which something else is believed than the tables say.
    pub(super) believed: Vec<u32>,
    pub(super) pages: Vec<(u32, &'a PageResult)>,
    /// Rows that were in flight and are not any more; they would be again if the plan cannot be written.
    pub(super) landed: Vec<u32>,
    /// Rows of `site`, with their new load.
    pub(super) loads: Vec<(u32, u32)>,
}

/// A URL that becomes known.
#[derive(Debug)]
pub(super) struct NewRow<'a> {
    pub(super) oid: UrlId,
    pub(super) sid: SiteId,
    pub(super) url: &'a CanonicalUrl,
    pub(super) belief: Belief,
}

/// The state that a result leaves its URL in, and until when it waits.
pub(super) fn verdict(outcome: &Outcome) -> (State, Option<Timestamp>) {
    match outcome {
        Outcome::Fetched => (State::Fetched, None),
        Outcome::Redirected => (State::Redirected, None),
        Outcome::Retry { not_before, .. } => (State::Queued, Some(*not_before)),
        Outcome::Dead(_) => (State::Dead, None),
        Outcome::Skipped(_) => (State::Skipped, None),
    }
}

/// What a result says of its page's relevance. Until a page is done, its relevance stays an estimate.
pub(super) fn judgment(result: &PageResult) -> Option<Judgment> {
    result.judgment.filter(|_| verdict(&result.outcome).0 != State::Queued)
}

impl<'a> Plan<'a> {
    /// The plan for start URLs.
    pub(super) fn for_urls(window: &mut Window, urls: &'a [NewUrl]) -> Result<Self> {
        has_room(&window.frontier, urls.len())?;
        let mut plan = Plan::default();
        for new in urls {
            plan.see(window, new.url.id(), new.url.site(), new);
        }
        plan.finish(window);
        Ok(plan)
    }

    /// The plan for a batch. Fails before anything changed if it names a URL that is not known.
    pub(super) fn for_batch(window: &mut Window, batch: &Batch<'a>) -> Result<Self> {
        let links = batch.results.iter().map(|result| result.links.len()).sum();
        has_room(&window.frontier, links)?;
        let mut plan = Plan::default();
        for result in batch.results {
            plan.pages.push((known(&window.frontier, result.oid)?, result));
        }
        for estimate in batch.estimates {
            known(&window.frontier, estimate.oid)?;
        }
        for at in 0..plan.pages.len() {
            let (row, result) = plan.pages[at];
            plan.work_in(window, row, result);
        }
        for estimate in batch.estimates {
            plan.believe(window, estimate)?;
        }
        plan.finish(window);
        Ok(plan)
    }

    fn work_in(&mut self, window: &mut Window, row: u32, result: &'a PageResult) {
        let (before, (state, not_before)) = (window.frontier.state(row), verdict(&result.outcome));
        let came = |state| matches!(state, State::Fetched | State::Redirected);
        if came(state)
            && !came(before)
            && let Some(site) = window.sites.count(result.sid)
        {
            self.loads.push((site, 0));
        }
        if window.frontier.is_taken(row) {
            self.landed.push(row);
        }
        window.frontier.tried(row, state, not_before);
        if let Some(judgment) = judgment(result) {
            window.frontier.judged(row, judgment.relevance);
        }
        // Queued anew: what was believed before it was done, and may still stand in `raised`, is outdated.
        if state == State::Queued && before != State::Queued {
            self.believed.push(row);
        }
        window.frontier.touch(result.links.iter().map(|link| link.oid));
        for link in &result.links {
            self.see(window, link.oid, link.sid, &link.target);
        }
        window.links += result.links.len();
    }

    fn believe(&mut self, window: &mut Window, estimate: &Estimate) -> Result<()> {
        let row = known(&window.frontier, estimate.oid)?;
        if window.frontier.set(row, Belief::new(estimate.relevance, estimate.priority)) {
            self.believed.push(row);
        }
        Ok(())
    }

    fn see(&mut self, window: &mut Window, oid: UrlId, sid: SiteId, new: &'a NewUrl) {
        let belief = Belief::new(new.relevance, new.priority);
        match window.frontier.see(oid, belief) {
            Seen::Known => {}
            Seen::New(_) => {
                self.new_urls.push(NewRow { oid, sid, url: &new.url, belief });
                if window.sites.see(sid, 0) {
                    self.new_sites.push((sid, new.url.authority()));
                }
            }
            Seen::Raised(row) => self.believed.push(row),
        }
    }

    fn finish(&mut self, window: &Window) {
        self.believed.sort_unstable();
        self.believed.dedup();
        // Stable: of two results for one URL, the later has the last word.
        self.pages.sort_by_key(|&(row, _)| row);
        self.loads.sort_unstable();
        self.loads.dedup();
        for (row, load) in &mut self.loads {
            *load = window.sites.load(*row);
        }
    }
}

fn has_room(frontier: &Frontier, most: usize) -> Result<()> {
    let fits = frontier.len().saturating_add(most) <= Frontier::CAPACITY;
    fits.then_some(()).ok_or(Error::Full)
}

fn known(frontier: &Frontier, oid: UrlId) -> Result<u32> {
    frontier.find(oid).ok_or(Error::UnknownUrl(oid))
}
