//! Idle connections: most recently used first, with limits per host and in total.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A pool of connections `C`. Each serves one request at a time, HTTP/2 ones too: a polite crawl has one request in
/// flight per host, and with a single owner dropping a connection closes it.
pub(super) struct Pool<C> {
    idle: Mutex<IdleConnection<C>>,
    limits: PoolLimits,
}

/// See the fields of the same names in [`HttpSettings`](super::HttpSettings).
#[derive(Clone, Copy)]
pub(super) struct PoolLimits {
    pub(super) per_host: usize,
    pub(super) total: usize,
    pub(super) timeout: Duration,
}

struct IdleConnection<C> {
    /// By age, the oldest first. No task closes old connections; they are dropped when others are added or taken.
    by_age: BTreeMap<u64, WaitingRequest<C>>,
    by_host: HashMap<Arc<str>, Vec<u64>, foldhash::fast::RandomState>,
    next: u64,
}

struct WaitingRequest<C> {
    host: Arc<str>,
    since: Instant,
    connection: C,
}

impl<C> Pool<C> {
    pub(super) fn new(limits: PoolLimits) -> Self {
        let idle = IdleConnection { by_age: BTreeMap::new(), by_host: HashMap::default(), next: 0 };
        Pool { idle: Mutex::new(idle), limits }
    }

    /// Takes the most recently used connection to a host.
    pub(super) fn take(&self, host: &str) -> Option<C> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let old = idle.drop_old(self.limits.timeout);
        let taken = idle.take(host);
        drop(idle);
        drop(old);
        taken
    }

    /// Adds an idle connection. Drops the oldest if there are too many.
    pub(super) fn put(&self, host: &str, connection: C) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut old = idle.drop_old(self.limits.timeout);
        if idle.by_host.get(host).map_or(0, Vec::len) >= self.limits.per_host {
            return;
        }
        idle.put(host, connection);
        if idle.by_age.len() > self.limits.total {
            old.extend(idle.pop_oldest());
        }
        // Closing sockets takes time, so it is done after releasing the lock.
        drop(idle);
        drop(old);
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.idle.lock().unwrap().by_age.len()
    }
}

impl<C> IdleConnection<C> {
    fn take(&mut self, host: &str) -> Option<C> {
        let numbers = self.by_host.get_mut(host)?;
        let number = numbers.pop()?;
        if numbers.is_empty() {
            self.by_host.remove(host);
        }
        self.by_age.remove(&number).map(|waiting| waiting.connection)
    }

    fn put(&mut self, host: &str, connection: C) {
        let host = match self.by_host.get_key_value(host) {
            Some((host, _)) => Arc::clone(host),
            None => host.into(),
        };
        let number = self.next;
        self.next += 1;
        self.by_host.entry(Arc::clone(&host)).or_default().push(number);
        self.by_age.insert(number, WaitingRequest { host, since: Instant::now(), connection });
    }

    fn drop_old(&mut self, timeout: Duration) -> Vec<C> {
        let mut old = Vec::new();
        let Some(limit) = Instant::now().checked_sub(timeout) else { return old };
        while self.by_age.first_key_value().is_some_and(|(_, waiting)| waiting.since < limit) {
            old.extend(self.pop_oldest());
        }
        old
    }

    fn pop_oldest(&mut self) -> Option<C> {
        let (number, waiting) = self.by_age.pop_first()?;
        if let Some(numbers) = self.by_host.get_mut(&waiting.host) {
            numbers.retain(|&other| other != number);
            if numbers.is_empty() {
                self.by_host.remove(&waiting.host);
            }
        }
        Some(waiting.connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Pool<u32> {
        Pool::new(PoolLimits { per_host: 2, total: 3, timeout: Duration::from_secs(60) })
    }

    #[test]
    fn the_most_recent_goes_first_and_limits_hold() {
        let pool = pool();
        pool.put("a", 1);
        pool.put("a", 2);
        pool.put("a", 3);
        assert_eq!(pool.len(), 2);
        pool.put("b", 4);
        pool.put("c", 5);
        assert_eq!(pool.len(), 3);
        // The oldest, 1, was dropped.
        assert_eq!((pool.take("a"), pool.take("a")), (Some(2), None));
        assert_eq!((pool.take("b"), pool.take("c"), pool.take("d")), (Some(4), Some(5), None));
        assert_eq!(pool.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn expired_connections_are_dropped() {
        let pool = pool();
        pool.put("a", 1);
        tokio::time::sleep(Duration::from_secs(40)).await;
        pool.put("b", 2);
        tokio::time::sleep(Duration::from_secs(40)).await;
        assert_eq!((pool.take("a"), pool.take("b")), (None, Some(2)));
    }
}
