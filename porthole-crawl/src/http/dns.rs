//! Resolves names: one lookup in flight per name, and a bounded cache of the results.

use std::collections::HashMap;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OnceCell, Semaphore};
use tokio::time::Instant;

/// Resolves names. [`SystemResolver`] is the usual implementation.
pub trait Resolve: Send + Sync {
    /// All addresses of a name, or a message that says why there is none.
    fn resolve<'a>(&'a self, name: &'a str) -> ResolveFuture<'a>;
}

/// The return type of [`Resolve::resolve`].
pub type ResolveFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, String>> + Send + 'a>>;

/// The resolver of the operating system, with its hosts file and settings.
pub struct SystemResolver {
    /// Each lookup occupies a thread, even after it was cancelled. The limit keeps dead names from occupying all of
    /// them.
    lookups: Arc<Semaphore>,
}

/// Maximum number of concurrent lookups.
const LOOKUPS: usize = 64;

impl Default for SystemResolver {
    fn default() -> Self {
        SystemResolver { lookups: Arc::new(Semaphore::new(LOOKUPS)) }
    }
}

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> ResolveFuture<'a> {
        let lookups = Arc::clone(&self.lookups);
        let target = (name.to_owned(), 0);
        Box::pin(async move {
            let permit = lookups.acquire_owned().await.map_err(|error| error.to_string())?;
            let lookup = tokio::spawn(async move {
                let _permit = permit;
                tokio::net::lookup_host(target).await.map(|found| found.map(|socket| socket.ip()).collect())
            });
            let found: std::io::Result<Vec<IpAddr>> = lookup.await.map_err(|error| error.to_string())?;
            found.map_err(|error| error.to_string())
        })
    }
}

/// A caching resolver.
pub(super) struct DnsCache {
    resolver: Arc<dyn Resolve>,
    names: Mutex<HashMap<Box<str>, Arc<OnceCell<Known>>, foldhash::fast::RandomState>>,
    limits: DnsLimits,
}

/// See the fields of the same names in [`HttpSettings`](super::HttpSettings).
#[derive(Clone, Copy)]
pub(super) struct DnsLimits {
    pub(super) timeout: Duration,
    pub(super) ttl: Duration,
    pub(super) failure_ttl: Duration,
    pub(super) entries: usize,
}

struct Known {
    answer: Result<Arc<[IpAddr]>, String>,
    until: Instant,
}

impl DnsCache {
    pub(super) fn new(resolver: Arc<dyn Resolve>, limits: DnsLimits) -> Self {
        DnsCache { resolver, names: Mutex::default(), limits }
    }

    /// The addresses of a name, at least one.
    pub(super) async fn lookup(&self, name: &str) -> Result<Arc<[IpAddr]>, String> {
        // If the task that runs the lookup is cancelled, another waiting task repeats it.
        self.entry(name).get_or_init(|| self.resolve_name(name)).await.answer.clone()
    }

    fn entry(&self, name: &str) -> Arc<OnceCell<Known>> {
        let now = Instant::now();
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = names.get(name)
            && !is_expired(entry, now)
        {
            return Arc::clone(entry);
        }
        if names.len() >= self.limits.entries {
            names.retain(|_, entry| !is_expired(entry, now));
        }
        if names.len() >= self.limits.entries {
            // Any half will do: entries that are still needed cost one lookup each.
            let mut count = 0;
            names.retain(|_, _| {
                count += 1;
                count % 2 == 0
            });
        }
        let entry = Arc::<OnceCell<Known>>::default();
        names.insert(name.into(), Arc::clone(&entry));
        entry
    }

    async fn resolve_name(&self, name: &str) -> Known {
        let answer = match tokio::time::timeout(self.limits.timeout, self.resolver.resolve(name)).await {
            Ok(Ok(found)) if found.is_empty() => Err("has no address".to_owned()),
            Ok(Ok(found)) => Ok(found.into()),
            Ok(Err(what)) => Err(what),
            Err(_) => Err(format!("no answer within {} s", self.limits.timeout.as_secs_f64())),
        };
        let ttl = if answer.is_ok() { self.limits.ttl } else { self.limits.failure_ttl };
        Known { answer, until: Instant::now() + ttl }
    }
}

fn is_expired(entry: &OnceCell<Known>, now: Instant) -> bool {
    entry.get().is_some_and(|known| known.until <= now)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts lookups. Names that start with `no` have no address.
    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl Resolve for Counting {
        fn resolve<'a>(&'a self, name: &'a str) -> ResolveFuture<'a> {
            Box::pin(async move {
                self.0.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(100)).await;
                if name.starts_with("slow") {
                    tokio::time::sleep(Duration::from_secs(60)).await;
                }
                if name.starts_with("no") { Err("not found".into()) } else { Ok(vec![[1, 2, 3, 4].into()]) }
            })
        }
    }

    fn cache(entries: usize) -> (Arc<Counting>, Arc<DnsCache>) {
        let resolver = Arc::new(Counting::default());
        let limits = DnsLimits {
            timeout: Duration::from_secs(5),
            ttl: Duration::from_secs(600),
            failure_ttl: Duration::from_secs(60),
            entries,
        };
        let cache = DnsCache::new(Arc::clone(&resolver) as Arc<dyn Resolve>, limits);
        (resolver, Arc::new(cache))
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_lookups_of_a_name_are_shared() {
        let (resolver, cache) = cache(10);
        let waiting: Vec<_> = (0..20)
            .map(|_| {
                let cache = Arc::clone(&cache);
                tokio::spawn(async move { cache.lookup("a.test").await })
            })
            .collect();
        // The first one is cancelled; the others still get their answer.
        tokio::time::sleep(Duration::from_millis(50)).await;
        waiting[0].abort();
        for task in waiting.into_iter().skip(1) {
            assert!(task.await.unwrap().is_ok());
        }
        assert_eq!(resolver.0.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn answers_are_cached_for_their_ttl() {
        for (name, seconds) in [("a.test", 600), ("no.test", 60)] {
            let (resolver, cache) = cache(10);
            let first = cache.lookup(name).await;
            tokio::time::sleep(Duration::from_secs(seconds - 1)).await;
            assert_eq!(cache.lookup(name).await, first);
            assert_eq!(resolver.0.load(Ordering::Relaxed), 1);
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(cache.lookup(name).await, first);
            assert_eq!(resolver.0.load(Ordering::Relaxed), 2);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn lookups_time_out_and_the_cache_is_bounded() {
        let (_, cache) = cache(10);
        assert_eq!(cache.lookup("slow.test").await, Err("no answer within 5 s".into()));
        for number in 0..100 {
            cache.lookup(&format!("{number}.test")).await.unwrap();
        }
        assert!(cache.names.lock().unwrap().len() <= 10);
    }
}
