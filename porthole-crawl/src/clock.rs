//! The clock of a live crawl.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use porthole_types::{Clock, Timestamp};

/// The system time, made monotonic: when the system clock is set back, this clock continues at its normal rate, so
/// that nothing waits until the old time is reached again.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        static AHEAD: AtomicI64 = AtomicI64::new(i64::MIN);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        let elapsed = i64::try_from(self.monotonic().as_millis()).unwrap_or(i64::MAX);
        Timestamp(monotonic_millis(wall, elapsed, &AHEAD))
    }

    fn monotonic(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}

/// The wall clock time, or the monotonic time plus the largest lead that the wall clock ever had over it.
fn monotonic_millis(wall: i64, elapsed: i64, ahead: &AtomicI64) -> i64 {
    let now_ahead = wall.saturating_sub(elapsed);
    let before = ahead.fetch_max(now_ahead, Ordering::Relaxed);
    elapsed.saturating_add(before.max(now_ahead))
}

/// A duration in the largest unit of which there are two.
pub(crate) fn duration_in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} minutes", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} hours", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    /// Files that may read the time themselves: `Clock`'s implementation, and timeouts of real sockets and processes.
    const EXEMPT: [&str; 4] = ["clock.rs", "http.rs", "http/", "external.rs"];

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => sources(&path, found),
                false => found.push(path),
            }
        }
    }

    #[test]
    fn time_is_read_only_through_a_clock() {
        const READINGS: [&str; 4] = ["Instant::now", "SystemTime::now", "Zoned::now", "Timestamp::now"];
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = Vec::new();
        sources(&root, &mut files);
        let mut checked = 0;
        for file in files {
            let name = file.strip_prefix(&root).unwrap().to_str().unwrap();
            if name.ends_with("tests.rs") || EXEMPT.iter().any(|exempt| name.starts_with(exempt)) {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let reading = READINGS.iter().find(|reading| code.contains(**reading));
            assert_eq!(reading, None, "{name}: use `Clock::monotonic`");
            checked += 1;
        }
        assert!(checked > 40, "{checked} files");
    }

    #[test]
    fn monotonic_time_passes() {
        let before = SystemClock.monotonic();
        assert!(SystemClock.monotonic() >= before);
        std::thread::sleep(Duration::from_millis(2));
        assert!(SystemClock.monotonic() >= before + Duration::from_millis(2));
    }

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

    #[test]
    fn durations_use_the_largest_unit_of_which_there_are_two() {
        for (seconds, words) in
            [(0, "0 s"), (119, "119 s"), (150, "2 minutes"), (7_200, "2 hours"), (400_000, "4 days")]
        {
            assert_eq!(duration_in_words(Duration::from_secs(seconds)), words);
        }
    }
}
