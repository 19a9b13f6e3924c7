//! Workers that share a crawl on one PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How a worker takes part in a crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetSettings {
    /// Its number, which no other worker has.
    pub worker: u32,
    /// A name for people, such as that of the machine and the folder.
    pub name: String,
    /// The server ends the worker's session when it is silent for this long. Half of it is how long a request may be
    /// started after the session was last heard of.
    pub session: Duration,
    /// How long the shards of a worker whose session has ended are left alone: until its last requests are over.
    pub takeover: Duration,
    /// How long shards rest that one worker gives up, before another one takes them.
    pub rest: Duration,
    /// Whether a URL waits while others have enough better ones.
    pub keeps_order: bool,
    /// Whether the pages of others are shown to this worker's strategy, and its pages to theirs.
    pub shows_pages: bool,
    /// Whether the same process was there before, so that the run goes on whoever else is there.
    pub comes_back: bool,
}

impl FleetSettings {
    /// Settings with the usual times of a web without politeness.
    pub fn of(worker: u32, name: &str) -> FleetSettings {
        let session = Duration::from_secs(10);
        FleetSettings {
            worker,
            name: name.to_owned(),
            session,
            takeover: session / 2,
            rest: Duration::ZERO,
            keeps_order: true,
            shows_pages: true,
            comes_back: false,
        }
    }

    /// How long a request may be started after the session was last heard of.
    pub(crate) fn lease(&self) -> Duration {
        self.session / 2
    }
}

/// Tells whether a worker's session was alive recently, so that nobody else has its shards. Checked before each request.
#[derive(Clone, Debug)]
pub struct WorkerLease(Arc<LeaseState>);

#[derive(Debug)]
struct LeaseState {
    /// When the last answered beat was sent, in milliseconds since the machine was started.
    beat: AtomicU64,
    /// How long it counts, in milliseconds.
    lasts: u64,
    is_lost: AtomicBool,
}

impl WorkerLease {
    pub(crate) fn new(lasts: Duration) -> WorkerLease {
        let lasts = u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX);
        WorkerLease(Arc::new(LeaseState {
            beat: AtomicU64::new(boot_millis()),
            lasts,
            is_lost: AtomicBool::new(false),
        }))
    }

    /// Whether the session was alive recently, by a clock that also runs while the machine sleeps.
    pub fn is_fresh(&self) -> bool {
        let age = boot_millis().saturating_sub(self.0.beat.load(Ordering::Acquire));
        !self.is_lost() && age < self.0.lasts
    }

    /// Whether the session has ended.
    pub(crate) fn is_lost(&self) -> bool {
        self.0.is_lost.load(Ordering::Acquire)
    }

    /// The session has answered what was sent at this time.
    pub(crate) fn renew(&self, sent: u64) {
        self.0.beat.fetch_max(sent, Ordering::AcqRel);
    }

    pub(crate) fn lose(&self) {
        self.0.is_lost.store(true, Ordering::Release);
    }
}

/// Milliseconds since the machine was started, including those in which it slept.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn boot_millis() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let millis = time.tv_sec.saturating_mul(1_000).saturating_add(time.tv_nsec / 1_000_000);
    u64::try_from(millis).unwrap_or(0)
}

/// Milliseconds since the first call. The clocks of other systems may stand still while the machine sleeps.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn boot_millis() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// A worker, as the tables show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRow {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Whether its session is alive.
    pub is_alive: bool,
    /// Number of its shards.
    pub shards: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_with_its_time_or_its_session() {
        let lease = WorkerLease::new(Duration::from_secs(3600));
        assert!(lease.is_fresh());
        lease.clone().lose();
        assert!(!lease.is_fresh() && lease.is_lost());
        let short = WorkerLease::new(Duration::from_millis(1));
        std::thread::sleep(Duration::from_millis(5));
        assert!(!short.is_fresh());
        short.renew(boot_millis() + 60_000);
        assert!(short.is_fresh());
    }
}
