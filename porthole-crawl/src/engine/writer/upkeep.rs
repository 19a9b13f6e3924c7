//! Maintenance: pages that are due are queued again, a portion at a time, so that a share of the fetches is left to new
//! pages. What is queued next follows from the tables: the settings here are committed with the queue.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

use porthole_store::{Batch, DuePages};
use porthole_types::{
    ChangeHistory, FailureKind, Outcome, PageChange, PageResult, Timestamp, UrlId, Work, fingerprint_of_terms,
};

use super::Writer;
use crate::clock::duration_in_words;
use crate::engine::crawl::CrawlError;
use crate::upkeep::{UpkeepSettings, VisitPlan, VisitTiming};

/// The setting with the plan of all visits, and what it was made from.
const PLAN: &str = "upkeep.plan";

/// The setting with the sequence number from which on more pages may be queued again.
const NEXT_PORTION: &str = "upkeep.next";

/// The setting with the number of pages that were queued again and not visited when the run ended.
const LEFT: &str = "upkeep.left";

/// How long to wait before pages that are due are looked for again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Fetches after which the plan is made again, at least.
const LEAST_BETWEEN_PLANS: u64 = 256;

/// Which new pages are fetched besides those that are visited again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewPages {
    /// All, the best first, as in any crawl.
    Any,
    /// Only those that reach the minimum priority.
    OnlyGood,
    Never,
}

/// Maintenance of a crawl.
pub(crate) struct Upkeep {
    settings: UpkeepSettings,
    plan: VisitPlan,
    /// Sequence number from which on it is made again.
    next_plan: u64,
    /// See [`NEXT_PORTION`].
    next_portion: u64,
    /// Pages that were queued again, by this run or one that was killed, and whose visits are not committed.
    queued: HashSet<UrlId, foldhash::fast::FixedState>,
    /// See [`LEFT`].
    left: usize,
    /// When the run began: no page is visited twice in one with [`VisitTiming::Now`].
    began: Timestamp,
    /// All pages were visited.
    is_round_over: bool,
    /// The observer knows that nothing is due.
    is_waiting: bool,
    /// When pages that are due were last looked for.
    looked_at: Option<Timestamp>,
}

impl Upkeep {
    pub(crate) fn new(settings: UpkeepSettings) -> Self {
        Upkeep {
            settings,
            plan: VisitPlan::of(&[], &settings),
            next_plan: 0,
            next_portion: 0,
            queued: HashSet::default(),
            left: 0,
            began: Timestamp(0),
            is_round_over: false,
            is_waiting: false,
            looked_at: None,
        }
    }

    fn is_scheduled(&self) -> bool {
        self.settings.timing == VisitTiming::Schedule
    }

    /// The plan as a setting: all that it was made from, then the numbers, exactly.
    fn setting(&self) -> String {
        let mut text = key(&self.settings);
        let VisitPlan { worth, rate, top_hub } = self.plan;
        let _ = write!(text, " {} {worth:?} {rate:?} {top_hub:?}", self.next_plan);
        text
    }

    /// Takes over a plan that was made with the same settings.
    fn restore(&mut self, text: &str) -> Option<()> {
        let mut words = text.strip_prefix(&key(&self.settings))?.split_whitespace();
        let next_plan = words.next()?.parse().ok()?;
        let mut number = || words.next()?.parse().ok().filter(|number: &f64| number.is_finite());
        let plan = VisitPlan { worth: number()?, rate: number()?, top_hub: number()? };
        (self.next_plan, self.plan) = (next_plan, plan);
        Some(())
    }
}

/// The settings that a plan depends on.
fn key(settings: &UpkeepSettings) -> String {
    let UpkeepSettings { every, shortest, longest, hubs, .. } = settings;
    format!("{} {} {} {hubs:?}", every.as_millis(), shortest.as_millis(), longest.as_millis())
}

impl Writer<'_> {
    /// Puts all pages under maintenance.
    pub(super) fn begin_upkeep(&mut self) -> Result<(), CrawlError> {
        let Some(upkeep) = &mut self.upkeep else { return Ok(()) };
        upkeep.began = self.clock.now();
        upkeep.is_round_over = false;
        self.store.maintain_pages(upkeep.settings.every)?;
        if let Some(plan) = self.store.setting(PLAN)? {
            upkeep.restore(&plan);
        }
        let next = self.store.setting(NEXT_PORTION)?;
        upkeep.next_portion = next.and_then(|next| next.parse().ok()).unwrap_or(0);
        let left = self.store.setting(LEFT)?;
        upkeep.left = left.and_then(|left| left.parse().ok()).unwrap_or(0);
        upkeep.queued = self.store.waiting_visits()?.into_iter().collect();
        Ok(())
    }

    /// Takes pages that were not visited from the queue: they are fetched pages, not new ones. The next run queues as many
    /// first.
    pub(super) fn end_upkeep(&mut self) -> Result<(), CrawlError> {
        let Some(upkeep) = self.upkeep.as_mut().filter(|upkeep| !upkeep.queued.is_empty()) else {
            return Ok(());
        };
        let mut left: Vec<UrlId> = upkeep.queued.drain().collect();
        left.sort_unstable_by_key(|oid| oid.0);
        Ok(self.store.cancel_revisits(&left, &[(LEFT, &left.len().to_string())])?)
    }

    /// Queues pages again that are to be visited now, if it is time for that.
    pub(super) fn queue_visits(&mut self) -> Result<(), CrawlError> {
        if !self.may_choose() || self.is_closing() || !self.has_room_for_visits() {
            return Ok(());
        }
        let now = self.clock.now();
        let is_strict = self.run.is_strict;
        let Some(upkeep) = &mut self.upkeep else { return Ok(()) };
        // Fetches tell when to look again, unless there may be none.
        if is_strict && upkeep.looked_at.is_some_and(|at| now.since(at) < LOOK_AGAIN) {
            return Ok(());
        }
        upkeep.looked_at = Some(now);
        self.plan_visits()?;
        let portion = self.portion();
        let Some(upkeep) = &mut self.upkeep else { return Ok(()) };
        let left = std::mem::take(&mut upkeep.left);
        let portion = if left > 0 { left } else { portion };
        let is_scheduled = upkeep.is_scheduled();
        let due = DuePages {
            until: is_scheduled.then_some(now),
            visited_before: (!is_scheduled).then_some(upkeep.began),
            most: portion,
        };
        let again = self.store.due_pages(due)?;
        upkeep.is_round_over = again.is_empty() && !is_scheduled;
        if again.is_empty() {
            return Ok(());
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let fetches = (again.len() as f64 / (1.0 - upkeep.settings.new)).ceil() as u64;
        if left == 0 {
            upkeep.next_portion = self.next_seq.saturating_add(fetches);
        }
        upkeep.queued.extend(&again);
        if std::mem::take(&mut upkeep.is_waiting) {
            self.run.held_up.push(None);
        }
        let next = upkeep.next_portion.to_string();
        let settings = [(NEXT_PORTION, next.as_str()), (LEFT, "0")];
        self.store.commit(&Batch { again: &again, settings: &settings, ..Batch::default() })?;
        Ok(())
    }

    /// Which new pages are fetched now. While pages are visited, or their visits are waited for, worse ones than those of
    /// the crawl so far are not: a collection is kept, not widened.
    pub(super) fn new_pages(&self) -> NewPages {
        match self.upkeep.as_ref().filter(|upkeep| !upkeep.is_round_over) {
            None => NewPages::Any,
            Some(upkeep) if upkeep.settings.new == 0.0 => NewPages::Never,
            Some(_) => NewPages::OnlyGood,
        }
    }

    /// Whether more pages may be queued again: all that were are done, and new pages had their share; or there is nothing
    /// else to do.
    fn has_room_for_visits(&self) -> bool {
        let Some(upkeep) = self.upkeep.as_ref().filter(|upkeep| !upkeep.is_round_over) else { return false };
        // New pages have no share if none is good enough.
        let is_time = upkeep.left > 0
            || self.next_seq >= upkeep.next_portion
            || self.run.is_strict && self.store.queued_revisits() == 0;
        let has_room = || match self.store.queued_revisits() {
            queued if self.run.limits.workers == 1 => queued == 0,
            queued => queued <= self.portion() / 2,
        };
        self.store.is_idle() || is_time && has_room()
    }

    /// Pages that are queued again at once. A polite crawl needs many sites to be busy. Under any policy but `upkeep`, all:
    /// then it orders all of them.
    fn portion(&self) -> usize {
        match self.run.limits.workers {
            _ if self.store.policy().name() != Some("upkeep") => usize::MAX,
            1 => 16,
            workers => (workers * 32).clamp(64, 4_096),
        }
    }

    /// Plans the visits again when it is time, and says when pages are due. With one worker all fetches before that are
    /// committed.
    fn plan_visits(&mut self) -> Result<(), CrawlError> {
        let Some(upkeep) = &mut self.upkeep else { return Ok(()) };
        if self.next_seq < upkeep.next_plan {
            return Ok(());
        }
        let mut pages = Vec::new();
        self.store.reader().visit_histories(&mut |history, hub| pages.push((*history, hub)))?;
        upkeep.plan = VisitPlan::of(&pages, &upkeep.settings);
        upkeep.next_plan = self.next_seq + LEAST_BETWEEN_PLANS.max(pages.len() as u64 / 4);
        let (plan, settings) = (upkeep.plan, upkeep.settings);
        let setting = upkeep.setting();
        let mut due = |history: &ChangeHistory, hub, seen| plan.due(history, hub, seen, &settings);
        Ok(self.store.reschedule(&mut due, &[(PLAN, &setting)])?)
    }

    /// When the next URL is due: one that waits for another try, or a page for its next visit.
    pub(crate) fn next_due(&self) -> Result<Option<Timestamp>, CrawlError> {
        let visit = match &self.upkeep {
            Some(upkeep) if upkeep.is_scheduled() && self.has_room_for_visits() => self.store.next_visit()?,
            _ => None,
        };
        Ok(self.store.next_due().into_iter().chain(visit).min())
    }

    /// Has the observer told once that nothing is due for a while.
    pub(super) fn say_nothing_is_due(&mut self, due: Timestamp) {
        const A_WHILE: Duration = Duration::from_secs(10);
        let wait = due.since(self.clock.now());
        if let Some(upkeep) = self.upkeep.as_mut().filter(|upkeep| upkeep.is_scheduled())
            && wait > A_WHILE
            && !std::mem::replace(&mut upkeep.is_waiting, true)
        {
            self.run.held_up.push(Some(format!("nothing is due for {}; waiting", duration_in_words(wait))));
        }
    }

    /// Whether the crawl follows a schedule, and somebody can stop it while it waits.
    pub(super) fn waits_for_visits(&self) -> bool {
        self.run.may_pause && self.upkeep.as_ref().is_some_and(Upkeep::is_scheduled)
    }

    /// Forgets visits that are committed, unless they are to be tried again.
    pub(super) fn forget_visits(&mut self, results: &[PageResult]) {
        let Some(upkeep) = &mut self.upkeep else { return };
        for result in results.iter().filter(|result| !matches!(result.outcome, Outcome::Retry { .. })) {
            upkeep.queued.remove(&result.oid);
        }
    }

    /// Notes on a result what its visit has shown, and when the next one is due.
    pub(super) fn note_visit(&mut self, work: &Work, result: &mut PageResult) {
        let Some(upkeep) = &mut self.upkeep else { return };
        if let Some(change) = change(work, result) {
            let Upkeep { plan, settings, .. } = upkeep;
            result.next_visit = Some(plan.after_visit(work.copy.as_deref(), change, result.at, settings));
        }
    }
}

/// What a visit has shown; `None` if the URL is tried again, or has never been a page.
fn change(work: &Work, result: &PageResult) -> Option<PageChange> {
    let Some(copy) = &work.copy else {
        return (result.outcome == Outcome::Fetched).then_some(PageChange::New);
    };
    let is_same = copy.fingerprint == fingerprint_of_terms(&result.terms);
    Some(match &result.outcome {
        Outcome::Retry { .. } => return None,
        Outcome::NotModified => PageChange::Unchanged,
        Outcome::Fetched if is_same => PageChange::Unchanged,
        Outcome::Fetched | Outcome::Redirected => PageChange::Changed,
        // A page that says that it was not found has status 200.
        Outcome::Dead(failure) if failure.kind == FailureKind::Status => match result.status {
            404 | 410 | 200 => PageChange::Gone,
            _ => PageChange::Unknown,
        },
        Outcome::Dead(_) | Outcome::Skipped(_) => PageChange::Unknown,
    })
}
