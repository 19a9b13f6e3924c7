//! Estimates the value of links, and the minimum priority that justifies a request.
//!
//! In a polite crawl the sites with the best links are resting most of the time. A free worker can then fetch a worse
//! link of another site, or wait. [`Worth`] fits the priorities of fetched links to the R of the pages they led to.
//! [`Worth::min_priority`] returns the minimum priority.

use std::collections::VecDeque;

use super::crawl::Limits;

/// What a free worker does while the sites with good links are resting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idle {
    /// Fetch the best link that may be fetched now.
    #[default]
    Fill,
    /// Wait, unless a link is good enough:
    /// - with a page target: 0.7 times the mean value of the best 16 links, at most 8 of each site;
    /// - with a time target only: 0.1 times the mean R of all pages of the run;
    /// - otherwise: 0.5 times the mean R of the last 200 pages.
    ///
    /// At the start of a run, the last pages of earlier runs count.
    Wait,
}

/// Share of the mean value of the best links that a link must reach if a number of pages is wanted. See
/// docs/decisions/wait-or-fill.md.
const SHARE_OF_BEST: f64 = 0.7;

/// Number of best links, and the maximum per site: about what a site can deliver in twenty seconds. The limit per
/// site keeps a crawl from waiting for a single good site.
pub(crate) const BEST_LINKS: usize = 16;
pub(crate) const BEST_OF_A_SITE: usize = 8;

/// The share with a time target. Pages cost nothing then, so only links that hardly ever lead to a page are skipped.
const SHARE_OF_ALL: f64 = 0.1;

/// The share of the mean R of the last pages, without a page or time target.
const SHARE_OF_LAST: f64 = 0.5;

/// Number of last pages.
pub(crate) const LAST_PAGES: usize = 200;

/// Number of fetches that the fit uses.
const FITTED: usize = 2_000;

/// Number of fetches between two fits.
const BETWEEN_FITS: usize = 32;

/// Number of fetches after which a single one changes the minimum priority little.
const MANY: usize = 64;

/// Prior observations: before anything was fetched, a priority is taken as a probability.
const PRIOR: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// Priority and R of past fetches, and sum of R and number of all fetches.
pub(crate) type SavedWorth = (Vec<(f64, f64)>, (f64, f64));

/// The expected R as a function of the priority, fitted to past fetches.
#[derive(Debug)]
pub(crate) struct Worth {
    /// Priority and R of past fetches, the oldest first.
    fetched: VecDeque<(f64, f64)>,
    since_fit: usize,
    /// Step function: minimum priority and value of each step, ascending in both.
    steps: Vec<(f64, f64)>,
    /// R of the last pages, also of earlier runs, the oldest first.
    last: VecDeque<f64>,
    /// Sum of R, and number of fetches; `LAST_PAGES` of earlier runs count.
    all: (f64, f64),
}

/// The user's target, as far as it decides about the minimum priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A number of pages, as good as possible.
    Pages,
    /// As much as possible in a given time.
    Time,
    /// No target.
    Anything,
}

impl Wanted {
    /// The target that these limits state.
    pub(crate) fn of(limits: &Limits) -> Self {
        match (limits.wanted_pages, limits.wanted_time) {
            (Some(_), _) => Wanted::Pages,
            (None, Some(_)) => Wanted::Time,
            (None, None) => Wanted::Anything,
        }
    }
}

impl Default for Worth {
    fn default() -> Self {
        let mut worth = Worth {
            fetched: VecDeque::new(),
            since_fit: 0,
            steps: Vec::new(),
            last: VecDeque::new(),
            all: (0.0, 0.0),
        };
        worth.fit();
        worth
    }
}

impl Worth {
    /// Records that a link of this priority led to a page of this R, or to none (0).
    pub(crate) fn add(&mut self, priority: f64, relevance: f64) {
        if self.fetched.len() == FITTED {
            self.fetched.pop_front();
        }
        self.fetched.push_back((priority, relevance));
        self.count(relevance);
        self.since_fit += 1;
        if self.since_fit >= BETWEEN_FITS || self.fetched.len() < 2 * BETWEEN_FITS {
            self.fit();
        }
    }

    /// What it was fitted to.
    pub(crate) fn save(&self) -> SavedWorth {
        (self.fetched.iter().copied().collect(), self.all)
    }

    /// The same function again.
    pub(crate) fn restore((fetched, all): SavedWorth) -> Worth {
        let last =
            fetched[fetched.len().saturating_sub(LAST_PAGES)..].iter().map(|(_, relevance)| *relevance);
        let mut worth = Worth { last: last.collect(), fetched: fetched.into(), all, ..Worth::default() };
        worth.fit();
        worth
    }

    /// Counts a page of an earlier run, whose priority is not known.
    pub(crate) fn count(&mut self, relevance: f64) {
        if self.last.len() == LAST_PAGES {
            self.last.pop_front();
        }
        self.last.push_back(relevance);
        self.all = (self.all.0 + relevance, self.all.1 + 1.0);
    }

    /// Whether this run has so few fetches that each may change the minimum priority.
    pub(crate) fn is_beginning(&self) -> bool {
        self.fetched.len() < MANY
    }

    fn fit(&mut self) {
        self.since_fit = 0;
        let prior = PRIOR.into_iter().map(|priority| (priority, priority));
        self.steps = isotonic(prior.chain(self.fetched.iter().copied()).collect());
    }

    /// The R that a link of this priority is expected to lead to.
    pub(crate) fn of(&self, priority: f64) -> f64 {
        match self.steps.partition_point(|(from, _)| *from <= priority) {
            0 => 0.0,
            at => self.steps[at - 1].1,
        }
    }

    /// The minimum priority for a request. `best` holds the priorities of the best links of every site.
    pub(crate) fn min_priority(&self, wanted: Wanted, best: &mut [f32]) -> f64 {
        let least = match wanted {
            Wanted::Pages => {
                let best = greatest(best, BEST_LINKS);
                SHARE_OF_BEST * mean(best.iter().map(|priority| self.of(f64::from(*priority))))
            }
            Wanted::Time => SHARE_OF_ALL * self.all.0 / self.all.1.max(1.0),
            Wanted::Anything => SHARE_OF_LAST * mean(self.last.iter().copied()),
        };
        let first = self.steps.iter().find(|(_, worth)| *worth >= least);
        first.map_or(f64::NEG_INFINITY, |(priority, _)| *priority)
    }
}

/// The `n` greatest numbers in descending order.
fn greatest(numbers: &mut [f32], n: usize) -> &[f32] {
    let descending = |a: &f32, b: &f32| b.total_cmp(a);
    let n = n.min(numbers.len());
    if n < numbers.len() {
        numbers.select_nth_unstable_by(n, descending);
    }
    let greatest = &mut numbers[..n];
    greatest.sort_unstable_by(descending);
    greatest
}

/// The mean, or 0 of no values.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

/// The non-decreasing step function with the least squared error (pool adjacent violators).
fn isotonic(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    // First priority, sum of values, number of values.
    let mut blocks: Vec<(f64, f64, f64)> = Vec::new();
    for same in points.chunk_by(|a, b| a.0 == b.0) {
        blocks.push((same[0].0, same.iter().map(|(_, relevance)| relevance).sum(), same.len() as f64));
        while let [.., (before, before_sum, before_count), (_, sum, count)] = blocks[..]
            && before_sum / before_count >= sum / count
        {
            blocks.truncate(blocks.len() - 2);
            blocks.push((before, before_sum + sum, before_count + count));
        }
    }
    blocks.into_iter().map(|(priority, sum, count)| (priority, sum / count)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_fit_never_decreases() {
        let points = vec![(1.0, 0.0), (2.0, 1.0), (3.0, 0.0), (4.0, 1.0), (4.0, 0.5)];
        assert_eq!(isotonic(points), [(1.0, 0.0), (2.0, 0.5), (4.0, 0.75)]);
        assert_eq!(isotonic(Vec::new()), []);
    }

    proptest! {
        /// No other non-decreasing function with two steps has a smaller error.
        #[test]
        fn no_step_function_fits_better(
            points in prop::collection::vec((0u8..6, 0u8..4), 1..12),
            cut in 0u8..7,
            low in 0u8..4,
            more in 0u8..4,
        ) {
            let points: Vec<(f64, f64)> = points.into_iter().map(|(x, y)| (x.into(), y.into())).collect();
            let steps = isotonic(points.clone());
            prop_assert!(steps.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
            let at = |x: f64| steps[steps.partition_point(|(from, _)| *from <= x) - 1].1;
            let other = |x: f64| f64::from(if x < f64::from(cut) { low } else { low + more });
            let error = |of: &dyn Fn(f64) -> f64| -> f64 { points.iter().map(|(x, y)| (of(*x) - y).powi(2)).sum() };
            prop_assert!(error(&at) <= error(&other) + 1e-9);
        }
    }

    #[test]
    fn the_minimum_priority_follows_the_target() {
        let mut worth = Worth::default();
        assert_eq!([-1.0, 0.3, 0.5, 9.0].map(|priority| worth.of(priority)), [0.0, 0.25, 0.5, 1.0]);
        // Links of 0.9 lead to pages, those of 0.4 do not.
        for _ in 0..100 {
            worth.add(0.9, 1.0);
            worth.add(0.4, 0.0);
        }
        assert!(worth.of(0.95) > 0.9 && worth.of(0.45) < 0.1, "{worth:?}");
        let least = |wanted| {
            let mut priorities = [[0.95; BEST_LINKS], [0.1; BEST_LINKS]].concat();
            worth.min_priority(wanted, &mut priorities)
        };
        let good = 0.25..=0.9;
        // The best links are worth about 1, so a link must be worth 0.7.
        assert!(good.contains(&least(Wanted::Pages)));
        assert!(worth.of(least(Wanted::Pages)) >= SHARE_OF_BEST * worth.of(0.95));
        // Half of all pages were good: a link must be worth a quarter, or a twentieth with a time target.
        assert!(good.contains(&least(Wanted::Anything)), "{}", least(Wanted::Anything));
        assert!(least(Wanted::Time) <= least(Wanted::Anything), "{}", least(Wanted::Time));
        let restored = Worth::restore(worth.save());
        assert_eq!((restored.of(0.95), restored.all), (worth.of(0.95), worth.all));
        assert_eq!(restored.min_priority(Wanted::Anything, &mut []), least(Wanted::Anything));
        // A resumed crawl knows how good its pages were before it has fetched one.
        let mut resumed = Worth::default();
        assert_eq!(resumed.min_priority(Wanted::Anything, &mut []), 0.0);
        for page in 0..3 * LAST_PAGES {
            resumed.count(if page < LAST_PAGES { 0.0 } else { 0.8 });
        }
        assert_eq!(resumed.min_priority(Wanted::Anything, &mut []), 0.5, "0.4, the half, or more");
        assert!(resumed.min_priority(Wanted::Time, &mut []) > 0.0);
        // Without good links there is nothing to wait for.
        assert_eq!(Worth::default().min_priority(Wanted::Pages, &mut []), 0.0);
        assert_eq!(greatest(&mut [0.2, 0.9, 0.1, 0.5], 2), [0.9, 0.5]);
        assert_eq!(greatest(&mut [0.2, 0.9], 64), [0.9, 0.2]);
    }
}
