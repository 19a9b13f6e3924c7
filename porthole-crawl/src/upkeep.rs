//! When to visit a page again: how often it changes, and which visits keep the most copies fresh.
//!
//! A page that changes at a rate λ and is visited every T is fresh for the share (1 - e^-λT) / λT of the time. One more
//! visit is worth most where (1 - e^-λT - λT e^-λT) / λ is largest, so all pages are given the T at which this has the
//! same value μ (Cho and Garcia-Molina, 2003). Pages that change slowly get T ≈ √(2μ/λ). A page that changes so often that
//! no affordable T keeps it fresh is visited at the longest interval: visits in proportion to the rate would keep fewer
//! copies fresh than visiting all pages alike. μ follows from the mean interval that the user has set.
//!
//! Pure: all that is used comes from the tables.

use std::collections::BTreeMap;
use std::time::Duration;

use porthole_types::{ChangeHistory, NextVisit, PageChange, StoredCopy, Timestamp};

/// How a crawl maintains its pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpkeepSettings {
    /// Whether to wait until pages are due.
    pub timing: VisitTiming,
    /// Mean interval between two visits of a page: the budget.
    pub every: Duration,
    /// Shortest interval.
    pub shortest: Duration,
    /// Longest interval.
    pub longest: Duration,
    /// Share of the fetches that are left to new pages while there are any.
    pub new: f64,
    /// How much more a visit of the top hub is worth than that of another page; less in proportion for other hubs.
    pub hubs: f64,
}

impl Default for UpkeepSettings {
    fn default() -> Self {
        let day = Duration::from_secs(86_400);
        UpkeepSettings {
            timing: VisitTiming::Now,
            every: 7 * day,
            shortest: Duration::from_secs(3_600),
            longest: 60 * day,
            new: 0.2,
            hubs: 4.0,
        }
    }
}

/// Which pages are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitTiming {
    /// All of them, once, the earliest due first.
    Now,
    /// Those that are due. The crawl waits for the next one.
    Schedule,
}

/// What all pages together say about when to visit one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VisitPlan {
    /// Value of the last visit that is made, in milliseconds.
    pub(crate) worth: f64,
    /// Changes a millisecond of a page of which nothing is known.
    pub(crate) rate: f64,
    /// The highest hub score.
    pub(crate) top_hub: f64,
}

/// Visits that what is known of all pages counts for in the estimate of one page's rate.
const PRIOR_VISITS: f64 = 2.0;

/// A page that is gone is visited this many times more, at the longest interval.
const VISITS_WHEN_GONE: u32 = 3;

/// The rate of change by n visits at a mean interval I, X of which found a change: -ln((n - X + 0.5) / (n + 0.5)) / I
/// (Cho and Garcia-Molina, 2003, eq. 7). X / nI would be too low, because several changes between two visits look like
/// one. Per millisecond; `None` without a visit.
fn observed_rate(visits: f64, changes: f64, watched: f64) -> Option<f64> {
    if visits < 1.0 || watched <= 0.0 {
        return None;
    }
    let missed = (visits - changes + 0.5) / (visits + 0.5);
    Some(-missed.ln().min(0.0) * visits / watched)
}

/// The x at which 1 - (1 + x) e^-x is y; y is below 1.
fn inverse_gain(y: f64) -> f64 {
    if y < 1e-9 {
        return (2.0 * y.max(0.0)).sqrt();
    }
    let (mut low, mut high) = (0.0, 60.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        let gain = 1.0 - (1.0 + middle) * f64::exp(-middle);
        if gain < y { low = middle } else { high = middle }
    }
    high
}

impl VisitPlan {
    /// The plan for these pages, given as their histories and hub scores.
    pub(crate) fn of(pages: &[(ChangeHistory, f64)], settings: &UpkeepSettings) -> Self {
        let (mut visits, mut changes, mut watched, mut top_hub) = (0.0, 0.0, 0.0, 0.0f64);
        for (history, hub) in pages {
            visits += f64::from(history.visits);
            changes += f64::from(history.changes);
            watched += milliseconds(history.watched);
            top_hub = top_hub.max(*hub);
        }
        let every = in_milliseconds(settings.every);
        let rate = observed_rate(visits, changes, watched).unwrap_or(1.0 / every);
        let mut plan = VisitPlan { worth: every, rate, top_hub };
        // Pages with about the same rate and weight have about the same interval.
        let mut alike: BTreeMap<(i64, i64), (f64, f64, f64)> = BTreeMap::new();
        for (history, hub) in pages.iter().filter(|(history, _)| history.gone.is_none()) {
            let (rate, weight) = (plan.rate_of(history), plan.weight(*hub, settings));
            #[allow(clippy::cast_possible_truncation)]
            let key = ((rate.max(1e-18).ln() * 20.0) as i64, (weight.ln() * 20.0) as i64);
            alike.entry(key).or_insert((rate, weight, 0.0)).2 += 1.0;
        }
        let pages: f64 = alike.values().map(|(.., pages)| pages).sum();
        let wanted = pages / every;
        // The worth of the last visit falls as the number of visits rises.
        let (mut low, mut high) = (0.0f64, 40.0f64);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            plan.worth = middle.exp();
            let visits: f64 =
                alike.values().map(|(rate, weight, n)| n / plan.interval_of(*rate, *weight, settings)).sum();
            if visits > wanted { low = middle } else { high = middle }
        }
        plan
    }

    /// The rate of a page: what its visits say, and what all pages say, by the number of visits.
    fn rate_of(&self, history: &ChangeHistory) -> f64 {
        let visits = f64::from(history.visits);
        let own = observed_rate(visits, history.changes.into(), milliseconds(history.watched));
        own.map_or(self.rate, |own| (visits * own + PRIOR_VISITS * self.rate) / (visits + PRIOR_VISITS))
    }

    /// What a fresh copy of a page is worth: new links appear on hubs.
    fn weight(&self, hub: f64, settings: &UpkeepSettings) -> f64 {
        if self.top_hub > 0.0 { 1.0 + settings.hubs * (hub / self.top_hub).clamp(0.0, 1.0) } else { 1.0 }
    }

    /// The interval between two visits of a page, in milliseconds.
    fn interval_of(&self, rate: f64, weight: f64, settings: &UpkeepSettings) -> f64 {
        let (shortest, longest) = (in_milliseconds(settings.shortest), in_milliseconds(settings.longest));
        let gain = rate * self.worth / weight;
        if gain >= 1.0 || rate <= 0.0 {
            return longest;
        }
        (inverse_gain(gain) / rate).clamp(shortest, longest)
    }

    /// When a page is due that was last seen at this time.
    pub(crate) fn due(
        &self,
        history: &ChangeHistory,
        hub: f64,
        seen: Timestamp,
        settings: &UpkeepSettings,
    ) -> Timestamp {
        let interval = self.interval_of(self.rate_of(history), self.weight(hub, settings), settings);
        seen.after(Duration::from_secs_f64(interval / 1_000.0))
    }

    /// What follows from a visit of a page.
    pub(crate) fn after_visit(
        &self,
        copy: Option<&StoredCopy>,
        change: PageChange,
        at: Timestamp,
        settings: &UpkeepSettings,
    ) -> NextVisit {
        let (mut history, before, hub) =
            copy.map_or((ChangeHistory::default(), at, 0.0), |copy| (copy.history, copy.seen, copy.hub));
        let is_there = matches!(change, PageChange::New | PageChange::Unchanged | PageChange::Changed);
        if is_there {
            history.gone = None;
        }
        match change {
            PageChange::Unchanged | PageChange::Changed => {
                let has_changed = change == PageChange::Changed;
                history.visits = history.visits.saturating_add(1);
                history.changes = history.changes.saturating_add(u32::from(has_changed));
                history.watched = history.watched.saturating_add(at.0.saturating_sub(before.0).max(0));
                history.changed = if has_changed { Some(at) } else { history.changed };
            }
            PageChange::Gone => history.gone = history.gone.or(Some(at)),
            PageChange::New | PageChange::Unknown => {}
        }
        let due = match history.gone {
            None => Some(self.due(&history, hub, at, settings)),
            Some(gone) if at.since(gone) >= settings.longest * VISITS_WHEN_GONE => None,
            Some(_) => Some(at.after(settings.longest)),
        };
        NextVisit { change, seen: if is_there { at } else { before }, history, due }
    }
}

fn in_milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1_000.0).max(1.0)
}

#[allow(clippy::cast_precision_loss)]
fn milliseconds(time: i64) -> f64 {
    time as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: f64 = 86_400_000.0;

    fn days(days: f64) -> i64 {
        (days * DAY) as i64
    }

    fn history(visits: u32, changes: u32, watched: f64) -> ChangeHistory {
        ChangeHistory { visits, changes, watched: days(watched), ..ChangeHistory::default() }
    }

    #[test]
    fn rates_are_those_computed_by_hand() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-4, "{a} is not {b}");
        // 10 visits, one a day, 3 changes: -ln(7.5 / 10.5) = 0.33647 a day.
        close(observed_rate(10.0, 3.0, 10.0 * DAY).unwrap() * DAY, 0.33647);
        // The same changes seen in visits every other day: half of it.
        close(observed_rate(10.0, 3.0, 20.0 * DAY).unwrap() * DAY, 0.16824);
        // Never changed: 0. Changed at every visit: -ln(0.5 / 5.5) = 2.39790, finite.
        close(observed_rate(5.0, 0.0, 5.0 * DAY).unwrap() * DAY, 0.0);
        close(observed_rate(5.0, 5.0, 5.0 * DAY).unwrap() * DAY, 2.39790);
        assert_eq!(observed_rate(0.0, 0.0, 0.0), None);
        // 1 - (1 + 1) / e = 0.26424; 1 - 3 / e² = 0.59399.
        close(inverse_gain(0.264_241_12), 1.0);
        close(inverse_gain(0.593_994_15), 2.0);
        close(inverse_gain(1e-10), 1.414_213_5e-5);
    }

    /// Mean freshness of pages with these rates a day that are visited at these intervals.
    fn freshness(pages: &[(f64, f64)]) -> f64 {
        let fresh = |&(rate, interval): &(f64, f64)| (1.0 - f64::exp(-rate * interval)) / (rate * interval);
        pages.iter().map(fresh).sum::<f64>() / pages.len() as f64
    }

    #[test]
    fn visits_cost_what_was_set_and_keep_more_copies_fresh_than_equal_ones() {
        // Well known rates: once in 100 days, 30, 10, 3 days, a day, and four times a day.
        let rates = [0.01, 1.0 / 30.0, 0.1, 1.0 / 3.0, 1.0, 4.0];
        let settings =
            UpkeepSettings { longest: Duration::from_secs(365 * 86_400), ..UpkeepSettings::default() };
        let watched = |rate: f64| {
            // As many changes as make the estimate what it is, over many visits.
            let (visits, interval) = (200_000.0f64, 0.1);
            let changes = (visits * (1.0 - f64::exp(-rate * interval))).round();
            (history(visits as u32, changes as u32, visits * interval), 0.0)
        };
        let pages: Vec<(ChangeHistory, f64)> = rates.iter().map(|&rate| watched(rate)).collect();
        let plan = VisitPlan::of(&pages, &settings);
        let interval = |(history, _): &(ChangeHistory, f64)| {
            plan.interval_of(plan.rate_of(history), 1.0, &settings) / DAY
        };
        let intervals: Vec<f64> = pages.iter().map(interval).collect();
        let a_day: f64 = intervals.iter().map(|interval| 1.0 / interval).sum();
        assert!((a_day - 6.0 / 7.0).abs() < 0.01, "{a_day} visits a day");
        // The fastest page is given up; among the others faster ones are visited more often, until it does not pay.
        assert!(
            intervals[5] > 300.0 && intervals[0] > intervals[1] && intervals[1] > intervals[2],
            "{intervals:?}"
        );
        let ours: Vec<(f64, f64)> = rates.into_iter().zip(intervals.iter().copied()).collect();
        let alike = rates.map(|rate| (rate, 7.0));
        let sum: f64 = rates.iter().sum();
        let in_proportion = rates.map(|rate| (rate, sum / rate * 7.0 / 6.0));
        let [ours, alike, in_proportion] = [&ours[..], &alike[..], &in_proportion[..]].map(freshness);
        assert!(ours > alike + 0.03 && alike > in_proportion, "{ours} {alike} {in_proportion}");
    }

    #[test]
    fn a_visit_changes_what_is_known_and_when_the_next_is_due() {
        let settings = UpkeepSettings::default();
        let plan = VisitPlan { worth: DAY, rate: 0.1 / DAY, top_hub: 0.5 };
        let copy = StoredCopy { seen: Timestamp(0), ..StoredCopy::default() };
        let at = Timestamp(days(2.0));
        let after = |copy: &StoredCopy, change| plan.after_visit(Some(copy), change, at, &settings);
        let same = after(&copy, PageChange::Unchanged);
        assert_eq!((same.history, same.seen), (history(1, 0, 2.0), at));
        let changed = after(&copy, PageChange::Changed);
        assert_eq!(changed.history, ChangeHistory { changed: Some(at), ..history(1, 1, 2.0) });
        assert!(changed.due.unwrap() < same.due.unwrap(), "a page that changes is visited sooner");
        let hub = after(&StoredCopy { hub: 0.5, ..copy.clone() }, PageChange::Unchanged);
        assert!(hub.due.unwrap() < same.due.unwrap(), "a hub is visited sooner");
        let failed = after(&copy, PageChange::Unknown);
        assert_eq!((failed.history, failed.seen), (ChangeHistory::default(), Timestamp(0)));

        let gone = after(&copy, PageChange::Gone);
        assert_eq!((gone.history.gone, gone.due), (Some(at), Some(at.after(settings.longest))));
        let copy = StoredCopy { history: gone.history, ..copy };
        let much_later = at.after(settings.longest * 3);
        let given_up = plan.after_visit(Some(&copy), PageChange::Gone, much_later, &settings);
        assert_eq!((given_up.history.gone, given_up.due), (Some(at), None));
        let back = plan.after_visit(Some(&copy), PageChange::Changed, much_later, &settings);
        assert!(back.history.gone.is_none() && back.due.is_some());
    }

    #[test]
    fn intervals_keep_to_their_limits() {
        let settings = UpkeepSettings::default();
        let plan = VisitPlan::of(&[(history(0, 0, 0.0), 0.0)], &settings);
        for rate in [0.0, 1e-30, 1e-9, 1e-6, 1.0, 1e30, f64::INFINITY] {
            let interval = plan.interval_of(rate, 1.0, &settings);
            assert!((3_600_000.0..=60.0 * DAY).contains(&interval), "{rate}: {interval}");
        }
        let nothing = VisitPlan::of(&[], &settings);
        assert!(nothing.worth.is_finite() && nothing.rate > 0.0);
    }
}
