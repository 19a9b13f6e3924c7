//! Politeness rules as tables, and a simulated crawl of fifty hosts.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use porthole_types::{CanonicalUrl, Headers};
use proptest::prelude::*;

use super::*;

const SITE: SiteId = SiteId(1);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn at(seconds: i64) -> Timestamp {
    Timestamp(seconds * 1_000)
}

/// Makes a request at `now` that takes no time. Returns the wait in seconds until the next.
fn wait_after(hosts: &mut Hosts, answer: HostAnswer, now: Timestamp) -> Option<u64> {
    assert_eq!(hosts.may_start(SITE, None, now), Turn::Now);
    let flight = hosts.started(SITE, None, None);
    assert_eq!(hosts.may_start(SITE, None, now), Turn::InFlight);
    let given_up = hosts.finished(flight, answer, Duration::ZERO, now);
    match hosts.may_start(SITE, None, now) {
        Turn::NotBefore(then) if !given_up => Some(then.since(now).as_secs()),
        Turn::GivenUp if given_up => None,
        other => panic!("{other:?}, given up: {given_up}"),
    }
}

#[test]
fn the_delay_follows_the_last_fetch() {
    let politeness = Politeness::default();
    for (took, delay) in
        [(0, 2_000), (399, 2_000), (400, 2_000), (1_000, 5_000), (6_000, 30_000), (60_000, 30_000)]
    {
        let took = Duration::from_millis(took);
        assert_eq!(politeness.delay(took), Duration::from_millis(delay), "after {took:?}");
    }
    assert_eq!(politeness.delay(Duration::MAX), seconds(30));
}

#[test]
fn a_crawl_delay_is_honoured_up_to_a_cap() {
    for (asked, wait) in [(1, 2), (10, 10), (60, 60), (86_400, 60)] {
        let mut hosts = Hosts::new(Politeness::default());
        let flight = hosts.started(SITE, None, Some(seconds(asked)));
        hosts.finished(flight, HostAnswer::Well, Duration::ZERO, at(0));
        assert_eq!(hosts.may_start(SITE, None, at(0)), Turn::NotBefore(at(wait)));
        assert_eq!(hosts.next_due(), Some(at(wait)));
    }
}

#[test]
fn a_crawl_delay_holds_from_the_answer_that_it_came_with() {
    let mut hosts = Hosts::new(Politeness::default());
    let flight = hosts.started(SITE, Some([127, 0, 0, 1].into()), None).with_crawl_delay(Some(seconds(10)));
    assert_eq!(flight.address(), Some([127, 0, 0, 1].into()));
    hosts.finished(flight, HostAnswer::Well, Duration::ZERO, at(0));
    assert_eq!(hosts.may_start(SITE, None, at(0)), Turn::NotBefore(at(10)));
}

#[test]
fn fractions_of_a_millisecond_are_rounded_up() {
    let mut hosts = Hosts::new(Politeness::default());
    let flight = hosts.started(SITE, None, None);
    hosts.finished(flight, HostAnswer::Well, Duration::from_micros(1_000_100), at(0));
    assert_eq!(hosts.may_start(SITE, None, at(5)), Turn::NotBefore(Timestamp(5_001)));
}

#[test]
fn busy_hosts_back_off_exponentially() {
    let mut hosts = Hosts::new(Politeness::default());
    let mut now = at(0);
    let mut waits = Vec::new();
    while let Some(wait) = wait_after(&mut hosts, HostAnswer::Busy(None), now) {
        waits.push(wait);
        now = now.after(seconds(wait));
    }
    assert_eq!(waits, [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600], "then the site is given up");

    let mut hosts = Hosts::new(Politeness::default());
    assert_eq!(wait_after(&mut hosts, HostAnswer::Busy(Some(seconds(7))), at(0)), Some(7));
    assert_eq!(wait_after(&mut hosts, HostAnswer::Busy(Some(seconds(0))), at(7)), Some(2));
    assert_eq!(wait_after(&mut hosts, HostAnswer::Busy(Some(seconds(1 << 40))), at(9)), Some(86_400));
    assert_eq!(wait_after(&mut hosts, HostAnswer::Well, at(100_000)), Some(2));
    assert_eq!(wait_after(&mut hosts, HostAnswer::Busy(None), at(100_002)), Some(30), "counting restarts");
}

#[test]
fn failing_hosts_rest_and_are_given_up() {
    let mut hosts = Hosts::new(Politeness::default());
    let mut now = at(0);
    let mut waits = Vec::new();
    while let Some(wait) = wait_after(&mut hosts, HostAnswer::Failed, now) {
        waits.push(wait);
        let failing: Vec<_> = hosts.failing(now).collect();
        assert_eq!(failing, if wait >= 300 { vec![(SITE, false)] } else { Vec::new() });
        now = now.after(seconds(wait));
    }
    assert_eq!(hosts.failing(now).collect::<Vec<_>>(), [(SITE, true)]);
    assert_eq!(waits, [2, 2, 2, 2, 300, 600, 1_200, 2_400, 4_800]);
    assert_eq!(hosts.may_start(SITE, None, now.after(seconds(86_399))), Turn::GivenUp);
    assert_eq!(hosts.next_due(), None, "nothing is due");
    assert_eq!(
        hosts.may_start(SITE, None, now.after(seconds(86_400))),
        Turn::Now,
        "a day later it is forgotten"
    );
    assert!(hosts.is_empty());
}

#[test]
fn answers_are_classified() {
    let answer = |status, retry: Option<&str>| {
        let headers: Headers = retry.map(|retry| ("Retry-After", retry)).into_iter().collect();
        let response = Response::new(status, headers, Vec::new());
        HostAnswer::of(Ok(&response), at(0))
    };
    assert_eq!(answer(200, None), HostAnswer::Well);
    assert_eq!(answer(404, Some("9")), HostAnswer::Well);
    assert_eq!(answer(429, Some("9")), HostAnswer::Busy(Some(seconds(9))));
    assert_eq!(answer(503, Some("Thu, 01 Jan 1970 00:01:00 GMT")), HostAnswer::Busy(Some(seconds(60))));
    assert_eq!(answer(503, Some("later")), HostAnswer::Busy(None));
    assert_eq!(answer(500, None), HostAnswer::Failed);
    let error = |kind| {
        let url = CanonicalUrl::parse("http://a.test/").unwrap();
        HostAnswer::of(Err(&FetchError { url, kind, detail: String::new() }), at(0))
    };
    assert_eq!(error(FailureKind::Timeout), HostAnswer::Failed);
    assert_eq!(error(FailureKind::Size), HostAnswer::Well);
}

#[test]
fn sites_on_one_address_share_limits() {
    let ip = Some(IpAddr::from([10, 0, 0, 1]));
    let (one, two) = (SiteId(1), SiteId(2));
    let mut hosts = Hosts::new(Politeness::default());
    let flight = hosts.started(one, ip, None);
    assert_eq!(hosts.may_start(two, ip, at(0)), Turn::InFlight);
    assert_eq!(hosts.may_start(two, None, at(0)), Turn::Now);
    hosts.finished(flight, HostAnswer::Busy(None), seconds(1), at(1));
    assert_eq!(hosts.may_start(two, ip, at(1)), Turn::NotBefore(at(6)), "the address has its own delay");
    assert_eq!(hosts.may_start(one, ip, at(1)), Turn::NotBefore(at(31)), "the site waits longer");
    assert_eq!(hosts.may_start(two, ip, at(6)), Turn::Now);

    let mut hosts = Hosts::new(Politeness { per_ip: false, ..Politeness::default() });
    let _flight = hosts.started(one, ip, None);
    assert_eq!(hosts.may_start(two, ip, at(0)), Turn::Now);
}

#[test]
fn politeness_off_never_waits() {
    let mut hosts = Hosts::new(Politeness::off());
    let mut flights = VecDeque::new();
    for round in 0..1_000 {
        assert_eq!(hosts.may_start(SITE, None, at(0)), Turn::Now);
        flights.push_back(hosts.started(SITE, None, Some(seconds(60))));
        if round >= 8 {
            let answer =
                [HostAnswer::Well, HostAnswer::Failed, HostAnswer::Busy(Some(seconds(9)))][round % 3];
            assert!(!hosts.finished(flights.pop_front().unwrap(), answer, seconds(5), at(0)));
        }
    }
}

#[test]
fn idle_hosts_are_dropped() {
    let mut hosts = Hosts::new(Politeness::default());
    for second in 0..10_000i64 {
        let site = SiteId(second.unsigned_abs());
        assert_eq!(hosts.may_start(site, None, at(second)), Turn::Now);
        let flight = hosts.started(site, None, None);
        hosts.finished(flight, HostAnswer::Well, seconds(0), at(second));
        assert!(hosts.len() <= 2, "{} in memory", hosts.len());
    }
    assert_eq!(hosts.may_start(SITE, None, at(20_000)), Turn::Now);
    assert!(hosts.is_empty() && hosts.next_due().is_none());
}

/// How the simulated driver chooses among the sites that may be requested.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    /// The site whose own time came first.
    Fair,
    /// Always the first by number.
    Greedy,
}

const SITES: u64 = 50;
const PAGES: usize = 12;
const MAX_TOOK: u64 = 20_000;

/// A driver that fetches all pages of all sites, and records the requests.
struct Simulation {
    hosts: Hosts,
    politeness: Politeness,
    order: Order,
    random: u64,
    now: Timestamp,
    /// Pages left per site.
    left: Vec<usize>,
    /// When to ask for each site. The second time decides the order among equals.
    asking: BinaryHeap<Reverse<(Timestamp, Timestamp, u64)>>,
    /// Sites that wait for another request to finish.
    blocked: VecDeque<u64>,
    flying: BinaryHeap<Reverse<(Timestamp, u64)>>,
    flights: HashMap<u64, (Flight, Timestamp)>,
    /// When a site or address may be requested next, by an independent implementation of the rules.
    due: HashMap<Key, Timestamp>,
    /// Number of failures in a row per site.
    trouble: Vec<u32>,
    /// The longest wait of a site after its own time had come.
    longest_wait: Duration,
}

impl Simulation {
    fn new(politeness: Politeness, order: Order, seed: u64) -> Self {
        let mut simulation = Simulation {
            hosts: Hosts::new(politeness.clone()),
            politeness,
            order,
            random: seed,
            now: at(0),
            left: vec![PAGES; usize::try_from(SITES).unwrap()],
            asking: BinaryHeap::new(),
            blocked: VecDeque::new(),
            flying: BinaryHeap::new(),
            flights: HashMap::new(),
            due: HashMap::new(),
            trouble: vec![0; usize::try_from(SITES).unwrap()],
            longest_wait: Duration::ZERO,
        };
        (0..SITES).for_each(|site| simulation.schedule(at(0), site));
        simulation
    }

    fn run(&mut self) {
        loop {
            let ask = self.asking.peek().map(|Reverse((time, ..))| *time);
            let land = self.flying.peek().map(|Reverse((time, _))| *time);
            match (ask, land) {
                (None, None) => break,
                (ask, Some(land)) if ask.is_none_or(|ask| land <= ask) => self.land(),
                _ => self.ask(),
            }
        }
        assert!(self.blocked.is_empty() && self.left.iter().all(|&left| left == 0), "all pages were fetched");
        assert!(self.hosts.len() <= 2 * usize::try_from(SITES).unwrap());
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % below
    }

    fn schedule(&mut self, time: Timestamp, site: u64) {
        // Fair means that the site whose own time came first goes first.
        let due = self.due.get(&Key::Site(SiteId(site))).copied().unwrap_or_default();
        let first = if self.order == Order::Fair { due } else { at(0) };
        self.asking.push(Reverse((time, first, site)));
    }

    fn ask(&mut self) {
        let Reverse((time, _, site)) = self.asking.pop().unwrap();
        self.now = self.now.max(time);
        match self.hosts.may_start(SiteId(site), ip_of(site), self.now) {
            Turn::Now => self.start(site),
            Turn::NotBefore(then) => {
                assert!(then > self.now);
                self.schedule(then, site);
            }
            Turn::InFlight => self.blocked.push_back(site),
            Turn::GivenUp => {
                assert!(self.trouble[usize::try_from(site).unwrap()] >= 10);
                self.left[usize::try_from(site).unwrap()] = 0;
            }
        }
    }

    fn start(&mut self, site: u64) {
        for key in self.keys(site) {
            let due = self.due.insert(key, Timestamp(i64::MAX)).unwrap_or_default();
            assert!(due <= self.now, "{key:?} is asked at {:?}, before {due:?}", self.now);
            if key == Key::Site(SiteId(site)) {
                self.longest_wait = self.longest_wait.max(self.now.since(due));
            }
        }
        let crawl_delay = site.is_multiple_of(5).then(|| seconds(site));
        let flight = self.hosts.started(SiteId(site), ip_of(site), crawl_delay);
        assert!(self.flights.insert(site, (flight, self.now)).is_none());
        let took = Duration::from_millis(self.draw(MAX_TOOK));
        self.flying.push(Reverse((self.now.after(took), site)));
    }

    fn land(&mut self) {
        let Reverse((time, site)) = self.flying.pop().unwrap();
        self.now = self.now.max(time);
        let (flight, begun) = self.flights.remove(&site).unwrap();
        let took = self.now.since(begun);
        let index = usize::try_from(site).unwrap();
        // Every third site fails often, so that some have to rest.
        let answer = match self.draw(if site.is_multiple_of(3) { 3 } else { 20 }) {
            0 => HostAnswer::Failed,
            1 => HostAnswer::Busy(Some(seconds(40))),
            _ => HostAnswer::Well,
        };
        let trouble = if answer == HostAnswer::Well { 0 } else { self.trouble[index] + 1 };
        self.trouble[index] = trouble;
        let extra = match answer {
            HostAnswer::Busy(_) => 40,
            HostAnswer::Failed if trouble >= 5 => 300 << (trouble - 5),
            _ => 0,
        };
        assert_eq!(self.hosts.finished(flight, answer, took, self.now), trouble >= 10);
        let delay = (5 * took).clamp(seconds(2), seconds(30));
        let crawl_delay = if site.is_multiple_of(5) { seconds(site) } else { Duration::ZERO };
        for key in self.keys(site) {
            let wait = if key == Key::Site(SiteId(site)) {
                delay.max(crawl_delay).max(seconds(extra))
            } else {
                delay
            };
            self.due.insert(key, self.now.after(wait));
        }
        self.left[index] -= 1;
        for site in std::mem::take(&mut self.blocked) {
            self.schedule(self.now, site);
        }
        if self.left[index] > 0 {
            self.schedule(self.now, site);
        }
    }

    fn keys(&self, site: u64) -> Vec<Key> {
        let ip = ip_of(site).filter(|_| self.politeness.per_ip).map(Key::Ip);
        ip.into_iter().chain([Key::Site(SiteId(site))]).collect()
    }
}

/// Some sites have their own address, some share one, some have none.
fn ip_of(site: u64) -> Option<IpAddr> {
    let last = u8::try_from(site % 17).unwrap();
    (site % 10 != 9).then(|| IpAddr::from([10, 0, 0, last]))
}

fn check_crawl(seed: u64, per_ip: bool, order: Order) {
    let politeness = Politeness { per_ip, ..Politeness::default() };
    let mut simulation = Simulation::new(politeness, order, seed);
    simulation.run();
    // At most three sites share an address: a site waits for the request in flight and for those of both others.
    let bound = if per_ip { seconds(3 * (20 + 30)) } else { Duration::ZERO };
    if order == Order::Fair {
        assert!(simulation.longest_wait <= bound, "waited {:?}", simulation.longest_wait);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_host_is_requested_too_early_and_none_starves(seed: u64, per_ip: bool, greedy: bool) {
        check_crawl(seed, per_ip, if greedy { Order::Greedy } else { Order::Fair });
    }
}
