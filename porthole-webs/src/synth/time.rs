//! When pages appear and change. Each page that changes does so once in every interval of its own, at a
//! moment drawn for that interval: the rate is exact, the moments are irregular.

use std::time::Duration;

use porthole_types::Timestamp;

use super::draw::{Draw, For};
use super::plan::{Plan, Role};
use super::sites::{Page, SiteKind};

/// A state of a page: how often it has changed since the epoch, and when it came to be so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) number: u32,
    pub(crate) at: i64,
}

impl Plan {
    /// The moment from which a page exists, if it did not exist from the start.
    #[inline]
    pub(crate) fn birth(&self, page: Page) -> Option<i64> {
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

    /// Whether a page exists at a moment.
    #[inline]
    pub(crate) fn exists(&self, page: Page, at: i64) -> bool {
        self.birth(page).is_none_or(|birth| birth <= at)
    }

    /// How often a page changes: once in this time, if ever.
    pub(crate) fn interval(&self, page: Page) -> Option<Duration> {
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

    /// The state of a page at a moment; before the epoch, its state at the epoch.
    pub(crate) fn version(&self, page: Page, now: Timestamp) -> Version {
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

    /// When within its interval a page changes.
    fn offset(&self, page: Page, round: i64, interval: i64) -> i64 {
        let index = u64::from(self.sites.index(page)) | round.unsigned_abs() << 32;
        let seconds = u32::try_from(interval / 1_000).unwrap_or(u32::MAX);
        // Other numbers than those that the interval was drawn from.
        i64::from(Draw::new(!self.params.seed, For::Change, index).below(seconds)) * 1_000
    }

    /// When a page was first written: at its birth, or within the two years before the epoch.
    fn made(&self, page: Page) -> i64 {
        self.birth(page).unwrap_or_else(|| {
            let seconds = Draw::new(!self.params.seed, For::Birth, u64::from(self.sites.index(page)));
            self.params.epoch_ms - i64::from(seconds.clone().below(2 * 365 * 86_400)) * 1_000
        })
    }

    /// The moment at which the web's time begins.
    pub(crate) fn epoch(&self) -> Timestamp {
        Timestamp(self.params.epoch_ms)
    }
}
