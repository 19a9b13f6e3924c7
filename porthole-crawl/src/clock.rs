//! The clock of a live crawl.

use std::time::{SystemTime, UNIX_EPOCH};

use porthole_types::{Clock, Timestamp};

/// The machine's own time.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}
