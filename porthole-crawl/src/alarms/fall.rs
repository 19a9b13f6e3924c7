//! Finds the point at which a series of values has fallen and does not recover.
//!
//! The mean of the last `n` values is compared with the mean of the up to `4 n` values before them, for several `n`: a
//! deep fall shows in a short window, a fall from a low level only in a long one. It is a fall if the recent mean is below a
//! share of the former one, and if the difference is beyond the noise: at least [`MIN_Z`] standard errors, where the
//! variance is the larger of what independent values of this mean would have and of what blocks of neighbouring values
//! have (values of a crawl come in bursts). A fall is reported when it has lasted for half of the shortest window.

use std::collections::VecDeque;

use porthole_types::Timestamp;

/// Standard errors by which the means must differ.
const MIN_Z: f64 = 4.0;

/// The former mean is taken over at most, and at least, this many times the recent values.
pub(super) const MOST_PAST: usize = 4;
const LEAST_PAST: usize = 2;

/// What the values of a series are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// Between 0 and 1; their variance is at most `m (1 - m)`.
    Shares,
    /// Counts of rare events; their variance is their mean, or more.
    Counts,
}

impl ValueKind {
    fn variance(self, mean: f64) -> f64 {
        match self {
            ValueKind::Shares => mean * (1.0 - mean),
            ValueKind::Counts => mean,
        }
    }
}

/// A fall from one level to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fall {
    /// Mean before it, and after.
    pub(super) from: f64,
    pub(super) to: f64,
    /// Number of values after it, and when they began.
    pub(super) values: usize,
    pub(super) since: Timestamp,
    /// Whether the level has declined slowly to almost nothing, rather than fallen at once.
    pub(super) is_used_up: bool,
}

/// See the module documentation.
#[derive(Debug)]
pub(super) struct FallDetector {
    kind: ValueKind,
    /// The shortest window, and how many times longer the longest is.
    shortest: usize,
    longest: usize,
    /// Share by which the mean must fall.
    share: f64,
    /// For each value the sum of all up to it, and when it came; the first entry is before all values.
    sums: VecDeque<(f64, Timestamp)>,
    seen: u64,
    /// Where in the series the fall was first seen, if it was seen ever since.
    suspected: Option<u64>,
    /// The mean before a reported fall that has not recovered.
    fallen_from: Option<f64>,
    /// The greatest mean of [`FallDetector::longest`] values in a row.
    best: f64,
}

/// A level below this share of the best one is almost nothing: the topic is used up.
const USED_UP: f64 = 0.15;

impl FallDetector {
    /// Windows have `shortest` values, twice as many, and so on up to `shortest * longest`.
    pub(super) fn new(kind: ValueKind, shortest: usize, longest: usize, share: f64) -> Self {
        FallDetector {
            kind,
            shortest: shortest.max(4),
            longest,
            share,
            sums: VecDeque::new(),
            seen: 0,
            suspected: None,
            fallen_from: None,
            best: 0.0,
        }
    }

    /// Adds a value. Returns a fall when it is certain; not again before it has recovered.
    pub(super) fn add(&mut self, value: f64, at: Timestamp) -> Option<Fall> {
        let sum = self.sums.back().map_or(0.0, |(sum, _)| *sum);
        if self.sums.is_empty() {
            self.sums.push_back((0.0, at));
        }
        self.sums.push_back((sum + value, at));
        self.seen += 1;
        if self.len() > (MOST_PAST + 1) * self.shortest * self.longest {
            self.sums.pop_front();
        }
        // The windows move slowly.
        let step = (self.shortest / 10).max(1) as u64;
        if !self.seen.is_multiple_of(step) || self.fallen_from.is_some() {
            return None;
        }
        let fall = self.fall();
        self.best = self.best.max(self.longest_mean().unwrap_or(0.0));
        let Some(fall) = fall else {
            self.suspected = None;
            return None;
        };
        let suspected = *self.suspected.get_or_insert(self.seen);
        if self.seen - suspected < (self.shortest / 2) as u64 {
            return None;
        }
        self.fallen_from = Some(fall.from);
        Some(fall)
    }

    /// Whether a reported fall has recovered: the mean of the shortest window is back above the middle between the level
    /// of the fall and the former one. Returns the former mean and the present one, once.
    pub(super) fn recovered(&mut self) -> Option<(f64, f64)> {
        let from = self.fallen_from?;
        let now = self.mean(0, self.shortest);
        if now < from * (1.0 - self.share / 2.0) {
            return None;
        }
        self.restart();
        Some((from, now))
    }

    /// Forgets everything, because the values mean something else from now on.
    pub(super) fn restart(&mut self) {
        *self = FallDetector::new(self.kind, self.shortest, self.longest, self.share);
    }

    /// The fall that the windows show now: the shortest window that shows one.
    fn fall(&self) -> Option<Fall> {
        let scales = std::iter::successors(Some(1), |scale| Some(2 * scale));
        let sudden = scales
            .take_while(|scale| *scale <= self.longest)
            .find_map(|scale| self.fall_within(self.shortest * scale));
        sudden.or_else(|| self.slow_end())
    }

    fn fall_within(&self, recent: usize) -> Option<Fall> {
        let past = self.len().checked_sub(recent)?.min(MOST_PAST * recent);
        if past < LEAST_PAST * recent {
            return None;
        }
        let (to, from) = (self.mean(0, recent), self.mean(recent, past));
        if to > from * (1.0 - self.share) || from <= 0.0 {
            return None;
        }
        let pooled = (to * recent as f64 + from * past as f64) / (recent + past) as f64;
        let variance = self.kind.variance(pooled).max(self.block_variance(recent, past));
        let error = (variance * (1.0 / recent as f64 + 1.0 / past as f64)).sqrt();
        (from - to >= MIN_Z * error).then(|| self.fall_to(from, to, recent, false))
    }

    /// A decline so slow that no window shows it, to almost nothing.
    fn slow_end(&self) -> Option<Fall> {
        let to = self.longest_mean()?;
        let recent = self.shortest * self.longest;
        let error = (self.kind.variance(self.best) / recent as f64).sqrt();
        let is_end = self.best > 0.0 && to <= USED_UP * self.best && self.best - to >= MIN_Z * error;
        is_end.then(|| self.fall_to(self.best, to, recent, true))
    }

    fn fall_to(&self, from: f64, to: f64, recent: usize, is_used_up: bool) -> Fall {
        let since = self.sums[self.sums.len() - recent].1;
        Fall { from, to, values: recent, since, is_used_up }
    }

    fn longest_mean(&self) -> Option<f64> {
        let recent = self.shortest * self.longest;
        (self.len() >= recent).then(|| self.mean(0, recent))
    }

    /// The mean of `n` values that end `after` values before the last one.
    pub(super) fn mean(&self, after: usize, n: usize) -> f64 {
        let end = self.len().saturating_sub(after);
        let start = end.saturating_sub(n);
        let sum = |at: usize| self.sums.get(at).map_or(0.0, |(sum, _)| *sum);
        (sum(end) - sum(start)) / (end - start).max(1) as f64
    }

    /// Number of values that are remembered.
    fn len(&self) -> usize {
        self.sums.len().saturating_sub(1)
    }

    /// The variance of a value as it follows from the means of blocks, each a quarter of the recent values long.
    fn block_variance(&self, after: usize, n: usize) -> f64 {
        let block = (after / 4).max(1);
        let blocks = n / block;
        let means: Vec<f64> = (0..blocks).map(|at| self.mean(after + at * block, block)).collect();
        let mean = means.iter().sum::<f64>() / blocks.max(1) as f64;
        let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
        block as f64 * squares / blocks.saturating_sub(1).max(1) as f64
    }
}
