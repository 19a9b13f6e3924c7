//! The clock of a live crawl.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use porthole_types::{Clock, Timestamp};

/// The system time, made monotonic: when the system clock is set back, this clock continues at its normal rate, so
/// that nothing waits until the old time is reached again.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        static BEGAN: OnceLock<Instant> = OnceLock::new();
        static AHEAD: AtomicI64 = AtomicI64::new(i64::MIN);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        let began = BEGAN.get_or_init(Instant::now);
        let elapsed = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp(monotonic_millis(wall, elapsed, &AHEAD))
    }
}

/// The wall clock time, or the monotonic time plus the largest lead that the wall clock ever had over it.
fn monotonic_millis(wall: i64, elapsed: i64, ahead: &AtomicI64) -> i64 {
    let now_ahead = wall.saturating_sub(elapsed);
    let before = ahead.fetch_max(now_ahead, Ordering::Relaxed);
    elapsed.saturating_add(before.max(now_ahead))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_continues() {
        let ahead = AtomicI64::new(i64::MIN);
        // Wall clock time, milliseconds since the start, expected reading.
        let steps = [(1_000_000, 0, 1_000_000), (1_000_500, 500, 1_000_500), (500, 700, 1_000_700)];
        let later = [(800, 1_000, 1_001_000), (5_000_000, 1_100, 5_000_000), (1_001_200, 1_200, 5_000_100)];
        for (wall, elapsed, says) in steps.into_iter().chain(later) {
            assert_eq!(monotonic_millis(wall, elapsed, &ahead), says, "{wall} {elapsed}");
        }
    }
}
