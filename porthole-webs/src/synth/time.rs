//! Times at which pages appear and change. A changing page changes once in each of its intervals, at a time drawn for
//! that interval: the rate is exact, the times are irregular.

use std::time::Duration;

use porthole_types::Timestamp;

use super::draw::{Draw, For};
use super::plan::{Role, WebPlan};
use super::sites::{SiteKind, SyntheticPage};

/// A version of a page: number of changes since the epoch, and time of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) number: u32,
    pub(crate) at: i64,
}

impl WebPlan {
    /// Time at which a page appears, if it did not exist from the start.
    #[inline]
    pub(crate) fn birth(&self, page: SyntheticPage) -> Option<i64> {
        let page = self.sites.origin(page);
        if page.local == 0 || !matches!(self.sites.of(page).kind, SiteKind::Ordinary | SiteKind::Island(_)) {
            return None;
        }
        let mut draw = self.draw(For::Birth, page);
        if !draw.chance(self.rates.growing) {
            return None;
        }
        let minutes = draw.below(self.params.growth_days * 24 * 60);
        Some(self.params.epoch_ms + i64::from(minutes) * 60_000)
    }

    /// Whether a page exists at a time.
    #[inline]
    pub(crate) fn exists(&self, page: SyntheticPage, at: i64) -> bool {
        self.birth(page).is_none_or(|birth| birth <= at)
    }

    /// Interval of a page's changes, if it changes.
    pub(crate) fn interval(&self, page: SyntheticPage) -> Option<Duration> {
        const OFTEN: [i64; 4] = [1, 1, 7, 30];
        const SELDOM: [i64; 4] = [7, 30, 90, 180];
        let page = self.sites.origin(page);
        let mut draw = self.draw(For::Change, page);
        let days = match self.role(page) {
            Role::Home | Role::Hub => *draw.pick(&OFTEN),
            Role::Content if draw.chance(self.rates.changing) => *draw.pick(&SELDOM),
            _ => return None,
        };
        let hours = match (self.leaf(page), self.atlas.fast_and_stable) {
            (Some(leaf), (fast, _)) if leaf == fast => days * 6,
            (Some(leaf), (_, stable)) if leaf == stable => days * 96,
            _ => days * 24,
        };
        Some(Duration::from_secs(hours.unsigned_abs() * 3_600))
    }

    /// Version of a page at a time; before the epoch, the version at the epoch.
    pub(crate) fn version(&self, page: SyntheticPage, now: Timestamp) -> Version {
        let page = self.sites.origin(page);
        let first = Version { number: 0, at: self.made(page) };
        let Some(interval) = self.interval(page) else { return first };
        let interval = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX);
        let elapsed = now.0.saturating_sub(self.params.epoch_ms).max(0);
        let moment = |round: i64| round * interval + self.offset(page, round, interval);
        let round = elapsed / interval;
        let number = round + i64::from(moment(round) <= elapsed);
        if number == 0 {
            return first;
        }
        let at = (self.params.epoch_ms + moment(number - 1)).max(first.at);
        Version { number: u32::try_from(number).unwrap_or(u32::MAX), at }
    }

    /// Time of a page's change within an interval.
    fn offset(&self, page: SyntheticPage, round: i64, interval: i64) -> i64 {
        let index = u64::from(self.sites.index(page)) | round.unsigned_abs() << 32;
        let seconds = u32::try_from(interval / 1_000).unwrap_or(u32::MAX);
        // Other random numbers than those of the interval.
        i64::from(Draw::new(!self.params.seed, For::Change, index).below(seconds)) * 1_000
    }

    /// Time of a page's first version: its birth, or within the two years before the epoch.
    fn made(&self, page: SyntheticPage) -> i64 {
        self.birth(page).unwrap_or_else(|| {
            let seconds = Draw::new(!self.params.seed, For::Birth, u64::from(self.sites.index(page)));
            self.params.epoch_ms - i64::from(seconds.clone().below(2 * 365 * 86_400)) * 1_000
        })
    }

    /// Start of the web's time.
    pub(crate) fn epoch(&self) -> Timestamp {
        Timestamp(self.params.epoch_ms)
    }
}
