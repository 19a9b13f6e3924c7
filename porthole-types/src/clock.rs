//! Time enters Porthole only through [`Clock`], so that a live crawl, a replay and a test share all other code.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This time plus a duration, saturating.
    pub fn after(self, wait: Duration) -> Self {
        Timestamp(self.0.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Time since `earlier`; zero if that is in the future.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// Source of the current time.
pub trait Clock: Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// Time since a fixed point, for measuring durations. It never decreases, and may be finer than [`Clock::now`].
    fn monotonic(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.now().0).unwrap_or(0))
    }
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now(&self) -> Timestamp {
        (**self).now()
    }

    fn monotonic(&self) -> Duration {
        (**self).monotonic()
    }
}

/// A clock that changes only on request, for replays and tests.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that shows `at`.
    pub fn at(at: Timestamp) -> Self {
        ManualClock(AtomicI64::new(at.0))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let now = self.now().after(by);
        self.0.store(now.0, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_on_request() {
        let clock = ManualClock::at(Timestamp(1_000));
        assert_eq!(clock.now(), Timestamp(1_000));
        clock.advance(Duration::from_secs(2));
        assert_eq!(clock.now().since(Timestamp(1_000)), Duration::from_secs(2));
        assert_eq!(clock.monotonic(), Duration::from_secs(3));
        assert_eq!(Clock::monotonic(&&clock), Duration::from_secs(3));
        assert_eq!(Timestamp(5).since(Timestamp(9)), Duration::ZERO);
    }
}
