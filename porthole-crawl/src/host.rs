//! Politeness: when a site, and the address behind it, may be requested next.
//!
//! [`Hosts`] keeps one object per site and address that was requested recently. The life of a request is
//! [`Hosts::may_start`], [`Hosts::started`], [`Hosts::finished`]. If a request has to wait, the caller asks again at
//! the returned time. Time is passed in with every call; nothing sleeps here.

mod retry_after;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use porthole_types::{FailureKind, SiteId, Timestamp};

use crate::{FetchError, Response};
pub use retry_after::retry_after;

/// Politeness settings. The defaults are conservative.
#[derive(Clone, Debug, PartialEq)]
pub struct Politeness {
    /// Maximum number of requests in flight per site and per address.
    pub in_flight: u32,
    /// Minimum pause after an answer.
    pub min_delay: Duration,
    /// The pause after an answer as a multiple of the time it took, so that slow servers are spared.
    pub delay_factor: u32,
    /// Maximum pause after an answer.
    pub max_delay: Duration,
    /// Longer Crawl-delays in robots.txt are shortened to this.
    pub max_crawl_delay: Duration,
    /// Whether the limits also apply per address, not only per site.
    pub per_ip: bool,
    /// The wait after a first 429 or 503 without Retry-After. It doubles each further time.
    pub first_backoff: Duration,
    /// Maximum wait after a 429 or 503 without Retry-After.
    pub max_backoff: Duration,
    /// Longer Retry-After values are shortened to this.
    pub max_retry_after: Duration,
    /// Number of failures in a row after which a site rests.
    pub failures_to_rest: u32,
    /// Duration of the first rest. It doubles each further time.
    pub first_rest: Duration,
    /// Maximum duration of a rest.
    pub max_rest: Duration,
    /// Number of rests in a row, without an answer in between, after which a site is given up.
    pub rests_to_give_up: u32,
    /// Time after its last failure at which a site's failures are forgotten.
    pub forget_after: Duration,
}

impl Default for Politeness {
    fn default() -> Self {
        Politeness {
            in_flight: 1,
            min_delay: Duration::from_secs(2),
            delay_factor: 5,
            max_delay: Duration::from_secs(30),
            max_crawl_delay: Duration::from_secs(60),
            per_ip: true,
            first_backoff: Duration::from_secs(30),
            max_backoff: Duration::from_secs(3600),
            max_retry_after: Duration::from_secs(24 * 3600),
            failures_to_rest: 5,
            first_rest: Duration::from_secs(5 * 60),
            max_rest: Duration::from_secs(6 * 3600),
            rests_to_give_up: 5,
            forget_after: Duration::from_secs(24 * 3600),
        }
    }
}

impl Politeness {
    /// No pauses and no limits, for loopback and recorded webs.
    pub fn off() -> Self {
        Politeness {
            in_flight: u32::MAX,
            min_delay: Duration::ZERO,
            delay_factor: 0,
            max_delay: Duration::ZERO,
            max_crawl_delay: Duration::ZERO,
            per_ip: false,
            first_backoff: Duration::ZERO,
            max_backoff: Duration::ZERO,
            max_retry_after: Duration::ZERO,
            failures_to_rest: u32::MAX,
            first_rest: Duration::ZERO,
            max_rest: Duration::ZERO,
            rests_to_give_up: u32::MAX,
            forget_after: Duration::ZERO,
        }
    }

    /// The pause after an answer that took this long.
    pub fn delay(&self, took: Duration) -> Duration {
        took.saturating_mul(self.delay_factor).max(self.min_delay).min(self.max_delay)
    }
}

/// Whether a request may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Yes. Call [`Hosts::started`].
    Now,
    /// Not before this time.
    NotBefore(Timestamp),
    /// Another request to the site or its address is in flight. Ask again when one has finished.
    InFlight,
    /// The site failed too often and is no longer requested.
    GivenUp,
}

/// A request in flight. It must be passed to [`Hosts::finished`], whatever its outcome.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a site stays busy until its request is finished"]
pub struct Flight {
    site: SiteId,
    ip: Option<IpAddr>,
    crawl_delay: Option<Duration>,
}

impl Flight {
    /// The address that it was sent to, if known. When it finishes, requests that got [`Turn::InFlight`] because of
    /// this address may ask again, whatever their site.
    pub fn address(&self) -> Option<IpAddr> {
        self.ip
    }

    /// Sets the Crawl-delay, if it became known only through this request.
    pub fn with_crawl_delay(self, crawl_delay: Option<Duration>) -> Self {
        Flight { crawl_delay, ..self }
    }
}

/// What an answer says about the host, rather than the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAnswer {
    /// The host works, whatever it thinks of the request.
    Well,
    /// The host is overloaded (429, 503). The Retry-After, if it sent one.
    Busy(Option<Duration>),
    /// The host does not work: no answer, or a server error.
    Failed,
    /// Nothing was sent, for a reason on this machine.
    Unsent,
    /// The request was made during an outage, so nothing is known about the host.
    Unknown,
}

impl HostAnswer {
    /// Classifies an answer.
    pub fn of(answer: Result<&Response, &FetchError>, now: Timestamp) -> Self {
        match answer {
            Ok(response) => match response.status {
                429 | 503 => {
                    let value = response.headers.get("retry-after");
                    HostAnswer::Busy(value.and_then(|value| retry_after(value, now)))
                }
                500.. => HostAnswer::Failed,
                _ => HostAnswer::Well,
            },
            Err(error) => match error.kind {
                FailureKind::Dns | FailureKind::Connect | FailureKind::Tls | FailureKind::Timeout => {
                    HostAnswer::Failed
                }
                FailureKind::Local => HostAnswer::Unsent,
                _ => HostAnswer::Well,
            },
        }
    }
}

/// The politeness state of a crawl.
///
/// A site or address is kept in memory from its first request until it is idle, past its delay, and has no recent
/// failures. So memory is proportional to the sites requested within the last minute, plus at most [`MAX_TROUBLED`]
/// that failed. Each call costs O(log n).
pub struct Hosts {
    politeness: Politeness,
    hosts: HashMap<Key, Host, foldhash::fast::FixedState>,
    /// Idle hosts that must not be requested before this time.
    waiting: BTreeSet<(Timestamp, Key)>,
    /// Idle hosts that may be requested, but whose failures are remembered until this time.
    troubled: BTreeSet<(Timestamp, Key)>,
}

/// Maximum number of sites whose failures are remembered. Beyond it the oldest are forgotten.
pub const MAX_TROUBLED: usize = 100_000;

/// Number of requests in a row that could not be sent, after which a site rests.
const UNSENT_TO_REST: u32 = 4;

/// Sites and addresses follow the same rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Key {
    Site(SiteId),
    Ip(IpAddr),
}

#[derive(Debug, Default)]
struct Host {
    in_flight: u32,
    not_before: Timestamp,
    /// Number of failures in a row.
    trouble: u32,
    /// Number of requests in a row that could not be sent. There may be no route to this host alone.
    unsent: u32,
    given_up: bool,
    /// Its key in `waiting` or `troubled`.
    listed: Timestamp,
}

impl Hosts {
    /// Creates the state of a crawl that has made no request.
    pub fn new(politeness: Politeness) -> Self {
        Hosts { politeness, hosts: HashMap::default(), waiting: BTreeSet::new(), troubled: BTreeSet::new() }
    }

    /// Whether a request to a site may be made. The address counts if it is known.
    pub fn may_start(&mut self, site: SiteId, ip: Option<IpAddr>, now: Timestamp) -> Turn {
        self.forget(now);
        let turn = |key: Key| self.hosts.get(&key).map_or(Turn::Now, |host| self.turn_of(host, now));
        match self.ip_key(ip).map_or(Turn::Now, turn) {
            Turn::Now => turn(Key::Site(site)),
            by_ip => by_ip.later(turn(Key::Site(site))),
        }
    }

    /// Records the start of a request. `crawl_delay` is that of the site's robots.txt.
    pub fn started(&mut self, site: SiteId, ip: Option<IpAddr>, crawl_delay: Option<Duration>) -> Flight {
        self.begin(Key::Site(site));
        if let Some(key) = self.ip_key(ip) {
            self.begin(key);
        }
        Flight { site, ip, crawl_delay }
    }

    /// Records the end of a request. Returns whether the site is given up now.
    #[expect(clippy::needless_pass_by_value, reason = "a request is over once")]
    pub fn finished(&mut self, flight: Flight, answer: HostAnswer, took: Duration, now: Timestamp) -> bool {
        let Flight { site, ip, crawl_delay } = flight;
        let delay = self.politeness.delay(took);
        if let Some(key) = self.ip_key(ip) {
            self.end(key, not_before(now, delay), now);
        }
        let key = Key::Site(site);
        let crawl_delay = crawl_delay.unwrap_or_default().min(self.politeness.max_crawl_delay);
        let wait = delay.max(crawl_delay).max(self.trouble_wait(key, answer));
        self.end(key, not_before(now, wait), now);
        self.forget(now);
        self.hosts.get(&key).is_some_and(|host| host.given_up)
    }

    /// Number of failures in a row, and the time until which the site must not be requested.
    pub fn trouble_of(&self, site: SiteId) -> (u32, Timestamp) {
        self.hosts.get(&Key::Site(site)).map_or((0, Timestamp(0)), |host| (host.trouble, host.not_before))
    }

    /// The sites with failures, or that must not be requested at `now`.
    pub fn troubled(&self, now: Timestamp) -> impl Iterator<Item = (SiteId, u32, Timestamp)> {
        self.hosts.iter().filter_map(move |(key, host)| match key {
            Key::Site(site) if host.trouble > 0 || host.not_before > now => {
                Some((*site, host.trouble, host.not_before))
            }
            _ => None,
        })
    }

    /// The sites that failed so often that they rest at `now`, or are given up (`true`).
    pub fn failing(&self, now: Timestamp) -> impl Iterator<Item = (SiteId, bool)> {
        let most = self.politeness.failures_to_rest;
        self.hosts.iter().filter_map(move |(key, host)| match key {
            Key::Site(site) if host.given_up || host.trouble >= most && host.not_before > now => {
                Some((*site, host.given_up))
            }
            _ => None,
        })
    }

    /// Restores the state of a site from an earlier run. A site that was given up gets another chance.
    pub fn recall(&mut self, site: SiteId, trouble: u32, not_before: Timestamp, now: Timestamp) {
        let settings = &self.politeness;
        let most = settings.failures_to_rest.saturating_add(settings.rests_to_give_up).saturating_sub(1);
        // A wrong clock must not keep a site away forever.
        let not_before = not_before.min(now.after(settings.max_retry_after.max(settings.max_rest)));
        let key = Key::Site(site);
        if trouble == 0 && not_before <= now || self.hosts.contains_key(&key) {
            return;
        }
        let host =
            Host { trouble: trouble.min(most), not_before, listed: not_before.max(now), ..Host::default() };
        self.waiting.insert((host.listed, key));
        self.hosts.insert(key, host);
    }

    /// When the first waiting site or address may be requested again.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.waiting.first().map(|&(due, _)| due)
    }

    /// Number of sites and addresses in memory.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    fn ip_key(&self, ip: Option<IpAddr>) -> Option<Key> {
        ip.filter(|_| self.politeness.per_ip).map(Key::Ip)
    }

    fn turn_of(&self, host: &Host, now: Timestamp) -> Turn {
        if host.given_up {
            Turn::GivenUp
        } else if host.in_flight >= self.politeness.in_flight {
            Turn::InFlight
        } else if now < host.not_before {
            Turn::NotBefore(host.not_before)
        } else {
            Turn::Now
        }
    }

    fn begin(&mut self, key: Key) {
        let host = self.hosts.entry(key).or_default();
        if host.in_flight == 0 {
            // It is no longer idle, so it must not be forgotten.
            self.waiting.remove(&(host.listed, key));
            self.troubled.remove(&(host.listed, key));
        }
        host.in_flight += 1;
    }

    fn end(&mut self, key: Key, not_before: Timestamp, now: Timestamp) {
        let forget_at = now.after(self.politeness.forget_after);
        let Some(host) = self.hosts.get_mut(&key) else { return };
        host.in_flight = host.in_flight.saturating_sub(1);
        host.not_before = host.not_before.max(not_before);
        if host.in_flight > 0 {
            return;
        }
        // Nothing waits for a site that is given up.
        if host.given_up {
            host.listed = forget_at;
            self.troubled.insert((host.listed, key));
        } else {
            host.listed = host.not_before;
            self.waiting.insert((host.listed, key));
        }
    }

    /// Counts failures, and returns how long the site has to rest.
    fn trouble_wait(&mut self, key: Key, answer: HostAnswer) -> Duration {
        let Some(host) = self.hosts.get_mut(&key) else { return Duration::ZERO };
        let settings = &self.politeness;
        match answer {
            HostAnswer::Well => (host.trouble, host.unsent) = (0, 0),
            HostAnswer::Busy(_) | HostAnswer::Failed => host.trouble = host.trouble.saturating_add(1),
            HostAnswer::Unsent => host.unsent = host.unsent.saturating_add(1),
            HostAnswer::Unknown => {}
        }
        host.given_up = host.trouble >= settings.failures_to_rest.saturating_add(settings.rests_to_give_up);
        let rests = host.trouble.checked_sub(settings.failures_to_rest);
        match answer {
            HostAnswer::Well | HostAnswer::Unknown => Duration::ZERO,
            HostAnswer::Unsent => match host.unsent.checked_sub(UNSENT_TO_REST) {
                Some(times) => doubled(settings.first_backoff, times).min(settings.max_backoff),
                None => Duration::ZERO,
            },
            HostAnswer::Busy(Some(wait)) => wait.min(settings.max_retry_after),
            HostAnswer::Busy(None) => {
                doubled(settings.first_backoff, host.trouble - 1).min(settings.max_backoff)
            }
            HostAnswer::Failed => rests
                .map_or(Duration::ZERO, |rests| doubled(settings.first_rest, rests))
                .min(settings.max_rest),
        }
    }

    /// Drops hosts that have nothing to wait for and no failures to remember.
    fn forget(&mut self, now: Timestamp) {
        while let Some(&(due, key)) = self.waiting.first().filter(|&&(due, _)| due <= now) {
            self.waiting.pop_first();
            let Some(host) = self.hosts.get_mut(&key) else { continue };
            if host.trouble == 0 && host.unsent == 0 {
                self.hosts.remove(&key);
            } else {
                host.listed = due.after(self.politeness.forget_after);
                self.troubled.insert((host.listed, key));
            }
        }
        let is_over = |&&(until, _): &&(Timestamp, Key), count: usize| until <= now || count > MAX_TROUBLED;
        while let Some((_, key)) =
            self.troubled.first().filter(|first| is_over(first, self.troubled.len())).copied()
        {
            self.troubled.pop_first();
            self.hosts.remove(&key);
        }
    }
}

impl Turn {
    /// The more restrictive of two turns.
    fn later(self, other: Turn) -> Turn {
        match (self, other) {
            (Turn::GivenUp, _) | (_, Turn::GivenUp) => Turn::GivenUp,
            (Turn::InFlight, _) | (_, Turn::InFlight) => Turn::InFlight,
            (Turn::NotBefore(a), Turn::NotBefore(b)) => Turn::NotBefore(a.max(b)),
            (wait @ Turn::NotBefore(_), Turn::Now) | (Turn::Now, wait @ Turn::NotBefore(_)) => wait,
            (Turn::Now, Turn::Now) => Turn::Now,
        }
    }
}

/// Rounds up to whole milliseconds.
fn not_before(now: Timestamp, wait: Duration) -> Timestamp {
    now.after(wait.saturating_add(Duration::from_nanos(999_999)))
}

fn doubled(first: Duration, times: u32) -> Duration {
    first.saturating_mul(2u32.saturating_pow(times))
}
