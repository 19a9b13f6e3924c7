//! Politeness: when a site, and the machine behind it, may be asked next.
//!
//! [`Hosts`] has one object for each site and each address that was asked lately. The life of one request
//! is [`Hosts::may_start`], [`Hosts::started`], [`Hosts::finished`]; who is told to wait asks again at the
//! time that it was told. Time comes in with every call; nothing sleeps here.

mod retry_after;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use porthole_types::{FailureKind, SiteId, Timestamp};

use crate::{FetchError, Response};
pub use retry_after::retry_after;

/// How polite the crawler is. The defaults are those of a guest who would like to come again.
#[derive(Clone, Debug, PartialEq)]
pub struct Politeness {
    /// Requests in flight at one site, and at one address.
    pub in_flight: u32,
    /// The pause after an answer, at least.
    pub min_delay: Duration,
    /// The pause after an answer, as a multiple of the time that the answer took: who is slow is spared.
    pub delay_factor: u32,
    /// The pause after an answer, at most.
    pub max_delay: Duration,
    /// The longest Crawl-delay of a robots.txt that is honoured to the letter.
    pub max_crawl_delay: Duration,
    /// The rules of one request and of the pause hold for each address too, not only for each site.
    pub per_ip: bool,
    /// The wait after a first 429 or 503 that does not say how long; twice as long each further time.
    pub first_backoff: Duration,
    /// The longest wait after a 429 or 503 that does not say how long.
    pub max_backoff: Duration,
    /// The longest Retry-After that is honoured to the letter.
    pub max_retry_after: Duration,
    /// So many failures in a row, and the site is set aside.
    pub failures_to_rest: u32,
    /// How long it is first set aside; twice as long each further time.
    pub first_rest: Duration,
    /// How long it is set aside at most.
    pub max_rest: Duration,
    /// A site that has been set aside so often, without an answer in between, is given up.
    pub rests_to_give_up: u32,
    /// How long after its last failure a site's failures are forgotten.
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
    /// No pauses and no limits: for loopback and recorded webs, where there is no host to be polite to.
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

    /// The pause after an answer that took so long.
    pub fn delay(&self, took: Duration) -> Duration {
        took.saturating_mul(self.delay_factor).max(self.min_delay).min(self.max_delay)
    }
}

/// Whether a request may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Yes, and [`Hosts::started`] has to be told.
    Now,
    /// Not before then; ask again.
    NotBefore(Timestamp),
    /// Another request is under way at the site or its address; ask again when one has finished.
    InFlight,
    /// The site failed so often that it is left alone.
    GivenUp,
}

/// A request under way. It has to come back to [`Hosts::finished`], whatever becomes of it.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a site stays busy until its request is finished"]
pub struct Flight {
    site: SiteId,
    ip: Option<IpAddr>,
    crawl_delay: Option<Duration>,
}

impl Flight {
    /// The address that it went to, if it is known. Who was told [`Turn::InFlight`] because of this address may
    /// ask again when it has finished, whatever site it was for.
    pub fn address(&self) -> Option<IpAddr> {
        self.ip
    }

    /// What the site's robots.txt asks for, if that became known only by this request.
    pub fn with_crawl_delay(self, crawl_delay: Option<Duration>) -> Self {
        Flight { crawl_delay, ..self }
    }
}

/// What an answer says about the host, not about the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAnswer {
    /// It works, whatever it thinks of our request.
    Well,
    /// It has too much to do (429, 503) and may say for how long.
    Busy(Option<Duration>),
    /// It does not work: no answer, or a server error.
    Failed,
    /// Nothing was sent, for a reason on our side.
    Unsent,
    /// It was asked while nothing got through, and nothing is known of it.
    Unknown,
}

impl HostAnswer {
    /// Reads an answer.
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

/// The politeness of a whole crawl.
///
/// A site is in memory from its first request on until it is idle, past its delay, and not known for
/// failures; the same for an address. So memory is that of the sites asked within the last minute, plus at
/// most [`MAX_TROUBLED`] that failed. A call costs O(log n).
pub struct Hosts {
    politeness: Politeness,
    hosts: HashMap<Key, Host, foldhash::fast::FixedState>,
    /// Idle and to be left alone until then.
    waiting: BTreeSet<(Timestamp, Key)>,
    /// Idle and free, but known for failures until then.
    troubled: BTreeSet<(Timestamp, Key)>,
}

/// Sites that are remembered for their failures; beyond that the oldest are forgotten.
pub const MAX_TROUBLED: usize = 100_000;

/// So many requests in a row that could not be sent, and the site is left alone for a while.
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
    /// Answers in a row that were not well.
    trouble: u32,
    /// Requests in a row that could not be sent: there may be no route to this host alone.
    unsent: u32,
    given_up: bool,
    /// Where it stands in `waiting` or `troubled`: the time there.
    listed: Timestamp,
}

impl Hosts {
    /// Nothing has been asked yet.
    pub fn new(politeness: Politeness) -> Self {
        Hosts { politeness, hosts: HashMap::default(), waiting: BTreeSet::new(), troubled: BTreeSet::new() }
    }

    /// Whether a request to a site may be made. The address counts if it is known already.
    pub fn may_start(&mut self, site: SiteId, ip: Option<IpAddr>, now: Timestamp) -> Turn {
        self.forget(now);
        let turn = |key: Key| self.hosts.get(&key).map_or(Turn::Now, |host| self.turn_of(host, now));
        match self.ip_key(ip).map_or(Turn::Now, turn) {
            Turn::Now => turn(Key::Site(site)),
            by_ip => by_ip.later(turn(Key::Site(site))),
        }
    }

    /// A request begins. `crawl_delay` is what the site's robots.txt asks for.
    pub fn started(&mut self, site: SiteId, ip: Option<IpAddr>, crawl_delay: Option<Duration>) -> Flight {
        self.begin(Key::Site(site));
        if let Some(key) = self.ip_key(ip) {
            self.begin(key);
        }
        Flight { site, ip, crawl_delay }
    }

    /// A request is over, after so long. Says whether the site is given up now.
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

    /// Failures of a site in a row, and until when it is left alone, as far as is remembered.
    pub fn trouble_of(&self, site: SiteId) -> (u32, Timestamp) {
        self.hosts.get(&Key::Site(site)).map_or((0, Timestamp(0)), |host| (host.trouble, host.not_before))
    }

    /// The sites that are known for failures or left alone after `now`.
    pub fn troubled(&self, now: Timestamp) -> impl Iterator<Item = (SiteId, u32, Timestamp)> {
        self.hosts.iter().filter_map(move |(key, host)| match key {
            Key::Site(site) if host.trouble > 0 || host.not_before > now => {
                Some((*site, host.trouble, host.not_before))
            }
            _ => None,
        })
    }

    /// Takes what an earlier run knew of a site. However often it failed then, it gets another try.
    pub fn recall(&mut self, site: SiteId, trouble: u32, not_before: Timestamp, now: Timestamp) {
        let settings = &self.politeness;
        let most = settings.failures_to_rest.saturating_add(settings.rests_to_give_up).saturating_sub(1);
        // No clock that was wrong keeps a site away for ever.
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

    /// When the first of the sites and addresses that wait may be asked again.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.waiting.first().map(|&(due, _)| due)
    }

    /// Sites and addresses in memory.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether nothing has to be remembered.
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
            // It is idle no more, so it must not be forgotten.
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
        // Nobody waits for a site that is given up.
        if host.given_up {
            host.listed = forget_at;
            self.troubled.insert((host.listed, key));
        } else {
            host.listed = host.not_before;
            self.waiting.insert((host.listed, key));
        }
    }

    /// Counts what is not well, and says how long the site is left alone for it.
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

    /// Lets go of what has nothing to wait for and nothing to be remembered for.
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
    /// Of two turns the one that lets less.
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

/// A part of a millisecond is waited for as a whole one.
fn not_before(now: Timestamp, wait: Duration) -> Timestamp {
    now.after(wait.saturating_add(Duration::from_nanos(999_999)))
}

fn doubled(first: Duration, times: u32) -> Duration {
    first.saturating_mul(2u32.saturating_pow(times))
}
