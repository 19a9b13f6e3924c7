//! Offers to the network half: the best URLs of the best sites, and replacements for offered URLs when better ones
//! are found.

use std::collections::HashMap;
use std::time::Duration;

use porthole_strategy::Selection;
use porthole_types::{Outcome, PageResult, Rank, SiteId, Timestamp, UrlId, Work};

use super::Writer;
use super::upkeep::NewPages;
use crate::engine::crawl::CrawlError;
use crate::engine::messages::ToNetwork;
use crate::engine::worth::{BEST_LINKS, BEST_OF_A_SITE, Idle, Wanted};
use crate::result::empty_result;

/// Maximum number of URLs refused without a request per commit.
const MAX_REFUSED: usize = 1_000;

/// URLs that are offered and not started, by site.
#[derive(Default)]
pub(super) struct Offers {
    sites: HashMap<SiteId, Vec<(Rank, UrlId)>, foldhash::fast::FixedState>,
    /// Site and priority of each URL.
    by_url: HashMap<UrlId, (SiteId, f64), foldhash::fast::FixedState>,
}

impl Offers {
    pub(super) fn add(&mut self, work: &Work) {
        self.sites.entry(work.sid).or_default().push((work.rank.clone(), work.oid));
        self.by_url.insert(work.oid, (work.sid, work.priority));
    }

    pub(super) fn remove(&mut self, oid: UrlId) -> Option<SiteId> {
        let (site, _) = self.by_url.remove(&oid)?;
        if let Some(offers) = self.sites.get_mut(&site) {
            offers.retain(|(_, other)| *other != oid);
            if offers.is_empty() {
                self.sites.remove(&site);
            }
        }
        Some(site)
    }

    #[allow(clippy::cast_possible_truncation)]
    fn priorities(&self) -> impl Iterator<Item = f32> {
        self.by_url.values().map(|(_, priority)| *priority as f32)
    }

    /// The offered URLs of a site.
    pub(super) fn of(&self, site: SiteId) -> Vec<UrlId> {
        self.sites.get(&site).into_iter().flatten().map(|(_, oid)| *oid).collect()
    }

    /// The worst offered URL of a site.
    fn worst(&self, site: SiteId) -> Option<&(Rank, UrlId)> {
        self.sites.get(&site)?.iter().max()
    }
}

impl Writer<'_> {
    /// Offers the network half what it has room for, and replaces offered URLs by better ones.
    pub(super) fn offer(&mut self) -> Result<(), CrawlError> {
        if self.is_closing() {
            self.run.held_back_since = None;
            return Ok(());
        }
        let is_by_site = self.run.is_polite && self.run.discipline.selection == Selection::Best;
        while self.run.wanted > 0 && self.may_choose() {
            let now = self.clock.now();
            let (works, is_all) = if is_by_site {
                let sites = self.store.hold_sites(self.run.wanted, now)?;
                let mut works = Vec::new();
                for &site in &sites {
                    let offers = self.offers_of(site, 1)?;
                    match offers.is_empty() {
                        true => self.store.release_site(site, None),
                        false => drop(self.run.held.insert(site)),
                    }
                    works.extend(offers);
                }
                (works, sites.is_empty())
            } else {
                let wanted = self.in_turn(self.run.wanted);
                let taken = if wanted > 0 { self.take(wanted, now)? } else { Vec::new() };
                let is_all = taken.is_empty();
                (taken.into_iter().filter_map(|work| self.admit(work, now)).collect(), is_all)
            };
            self.run.wanted = self.run.wanted.saturating_sub(works.len());
            if !works.is_empty() {
                self.send(ToNetwork::Offer(works));
            }
            if is_all {
                break;
            }
        }
        if is_by_site {
            for site in self.store.improved_sites() {
                self.improve(site)?;
            }
        }
        Ok(())
    }

    /// Whether the next URL may be chosen. With one worker it depends on all earlier results, so these must be
    /// committed first.
    pub(super) fn may_choose(&self) -> bool {
        let results = self.run.pending.results.len();
        if self.run.limits.workers == 1 { results == 0 } else { results < MAX_REFUSED }
    }

    /// Takes the best admissible URLs of a site.
    pub(super) fn offers_of(&mut self, site: SiteId, n: usize) -> Result<Vec<Work>, CrawlError> {
        let mut works = Vec::new();
        if self.run.discipline.selection != Selection::Best || self.is_closing() {
            return Ok(works);
        }
        while works.len() < n && self.run.pending.results.len() < MAX_REFUSED {
            let now = self.clock.now();
            let taken = self.store.take_of(site, n - works.len(), now)?;
            if taken.is_empty() {
                break;
            }
            works.extend(taken.into_iter().filter_map(|work| self.admit(work, now)));
        }
        works.iter().for_each(|work| self.run.offers.add(work));
        Ok(works)
    }

    /// Replaces the worst offered URL of a site by a better one.
    fn improve(&mut self, site: SiteId) -> Result<(), CrawlError> {
        let Some(best) = self.store.best_of(site) else { return Ok(()) };
        let worst = self.run.offers.worst(site).cloned();
        if worst.as_ref().is_some_and(|(rank, _)| *rank <= best) {
            return Ok(());
        }
        let works = self.offers_of(site, 1)?;
        if works.is_empty() {
            return Ok(());
        }
        self.send(ToNetwork::OfferOf { site, asked: 0, works });
        if let Some((_, oid)) = worst {
            self.send(ToNetwork::Recall(site, oid));
        }
        Ok(())
    }

    /// Takes URLs from the frontier according to the strategy's discipline.
    fn take(&mut self, n: usize, now: Timestamp) -> Result<Vec<Work>, CrawlError> {
        match self.run.discipline.selection {
            Selection::Batch(_) => self.take_of_batch(n, now),
            Selection::Own => self.take_chosen(n, now),
            Selection::Best => Ok(self.store.take(n, now)?),
        }
    }

    /// Registers a taken URL. Returns `None` and settles it if it is refused.
    fn admit(&mut self, work: Work, now: Timestamp) -> Option<Work> {
        self.run.taken.insert(work.oid);
        let taken = self.run.taken_of.entry(work.sid).or_default();
        *taken += 1;
        let pages = u64::from(work.pages_of_site) + *taken - 1;
        let Some(failure) = self.admission.refusal(&work, pages, now) else { return Some(work) };
        let result = PageResult { outcome: Outcome::Skipped(failure), ..empty_result(&work, now) };
        self.push(work, result, Duration::ZERO);
        None
    }

    /// Forgets a URL that is no longer taken.
    pub(super) fn forget_taken(&mut self, oid: UrlId, site: SiteId) {
        self.run.taken.remove(&oid);
        if let Some(taken) = self.run.taken_of.get_mut(&site) {
            *taken -= 1;
            if *taken == 0 {
                self.run.taken_of.remove(&site);
            }
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        let run = &self.run;
        run.started_fetches >= run.limits.fetches || run.has_all_pages() || run.bytes >= run.limits.bytes
    }

    /// Sends the network half the minimum priority for requests, if it has changed.
    pub(super) fn update_min_priority(&mut self) {
        let now = self.clock.now();
        let run = &self.run;
        let wanted = Wanted::of(&run.limits);
        // Without a number of pages it is cheap to compute, and the first pages decide what the next ones must be worth.
        let is_beginning = wanted != Wanted::Pages && run.worth.is_beginning();
        let is_due = run.min_priority_at.is_none_or(|at| now.since(at) >= Duration::from_secs(1));
        let new_pages = self.new_pages();
        let has_no_limit = run.limits.idle == Idle::Fill && new_pages != NewPages::Never;
        if has_no_limit || !run.is_polite || !(is_due || is_beginning) {
            return;
        }
        let mut best = Vec::new();
        if wanted == Wanted::Pages {
            best = self.store.greatest_priorities(BEST_LINKS, BEST_OF_A_SITE);
            best.extend(run.offers.priorities());
            best.extend(self.store.best_of_others());
        }
        let min_priority = match new_pages {
            NewPages::Never => f64::INFINITY,
            NewPages::OnlyGood | NewPages::Any => run.worth.min_priority(wanted, &mut best),
        };
        let is_strict = new_pages != NewPages::Any;
        self.run.min_priority_at = Some(now);
        if (min_priority, is_strict) != (self.run.min_priority, self.run.is_strict) {
            (self.run.min_priority, self.run.is_strict) = (min_priority, is_strict);
            self.send(ToNetwork::MinPriority { least: min_priority, is_strict });
        }
        let is_better = |best: &f32| f64::from(*best) >= min_priority;
        if min_priority > f64::NEG_INFINITY && self.store.best_of_others().first().is_some_and(is_better) {
            self.send(ToNetwork::BetterElsewhere);
        }
    }

    /// Tells the network half which answers it need not wait for any more: their best links have been offered.
    pub(super) fn report_answers(&mut self) {
        let run = &mut self.run;
        if run.min_priority > f64::NEG_INFINITY && run.answers_reported < run.answers_committed {
            run.answers_reported = run.answers_committed;
            let committed = run.answers_committed;
            self.send(ToNetwork::Read(committed));
        }
    }
}
