//! The network half alone, with a manual clock: the order of requests, and limits on slow sites.

use std::net::IpAddr;
use std::time::Duration;

use porthole_types::{CanonicalUrl, Headers, Rank, SiteId, Timestamp, UrlId, Work};

use super::manners::Manners;
use super::messages::{ToNetwork, ToWriter};
use super::network::{Action, JobId, Network};
use crate::{Politeness, Response};

fn work(url: &str, rank: f64) -> Work {
    let url = CanonicalUrl::parse(url).unwrap();
    Work {
        oid: url.id(),
        sid: url.site(),
        url,
        numtries: 0,
        relevance: 0.0,
        priority: 0.0,
        depth: 0,
        pages_of_site: 0,
        rank: Rank::new([rank].into_iter()),
        copy: None,
    }
}

/// A network half whose requests the test answers.
struct Bench {
    network: Network,
    now: Timestamp,
    /// The addresses of a host, by the digits in its name.
    address: fn(u8) -> Vec<IpAddr>,
    under_way: Vec<(JobId, String, Option<IpAddr>)>,
    aborted: Vec<JobId>,
    outbox: Vec<ToWriter>,
}

impl Bench {
    fn new(workers: usize, delay: u64) -> Bench {
        let politeness =
            Politeness { min_delay: Duration::from_secs(delay), delay_factor: 0, ..Politeness::default() };
        let mut network = Network::new(Some(Manners::new(politeness, "porthole")));
        network.handle_message(ToNetwork::Limits { fetches: 1_000, workers }, Timestamp(0));
        let address = |_| Vec::new();
        Bench {
            network,
            now: Timestamp(0),
            address,
            under_way: Vec::new(),
            aborted: Vec::new(),
            outbox: Vec::new(),
        }
    }

    fn offer(&mut self, works: Vec<Work>) {
        self.network.handle_message(ToNetwork::Offer(works), self.now);
        self.run();
    }

    /// Carries out all actions. Addresses resolve at once, and requests stay in flight until `answer`.
    fn run(&mut self) {
        while let Some(action) = self.network.next(self.now) {
            match action {
                Action::Locate(site, url) => {
                    let digits: String = url.host().chars().filter(char::is_ascii_digit).collect();
                    let found = (self.address)(digits.parse().unwrap_or(0));
                    self.network.located(site, Ok(found), self.now);
                }
                Action::Fetch(job, request) => {
                    self.under_way.push((job, request.url.to_string(), request.address));
                }
                Action::Abort(job) => self.aborted.push(job),
            }
        }
        self.outbox.append(&mut self.network.outbox);
    }

    fn answer(&mut self, url: &str) {
        let at = self.under_way.iter().position(|(_, under_way, _)| under_way == url).expect(url);
        let (job, ..) = self.under_way.remove(at);
        let status = if url.ends_with("robots.txt") { 404 } else { 200 };
        let (headers, body) = (Headers::new(), "x");
        let response = Response::new(status, headers, body);
        self.network.answered(job, Ok(response), self.now);
        self.run();
    }

    fn wait(&mut self, time: Duration) {
        self.now = self.now.after(time);
        self.run();
    }

    fn urls(&self) -> Vec<&str> {
        self.under_way.iter().map(|(_, url, _)| url.as_str()).collect()
    }
}

#[test]
fn a_better_url_replaces_an_offered_one() {
    let mut bench = Bench::new(4, 1);
    let (first, better) = (work("http://a.test/first", 5.0), work("http://a.test/better", 1.0));
    let (site, oid): (SiteId, UrlId) = (first.sid, first.oid);
    bench.offer(vec![first]);
    bench.answer("http://a.test/robots.txt");
    assert_eq!(bench.urls(), [""; 0], "the site rests");
    bench.network.handle_message(ToNetwork::OfferOf { site, asked: 0, works: vec![better] }, bench.now);
    bench.network.handle_message(ToNetwork::Recall(site, oid), bench.now);
    bench.wait(Duration::from_millis(1_001));
    assert_eq!(bench.urls(), ["http://a.test/better"]);
    let gave_back = |outbox: &ToWriter| matches!(outbox, ToWriter::GaveBack(oids) if *oids == [oid]);
    assert!(bench.outbox.iter().any(gave_back), "{:?}", bench.outbox);
    // A URL that was started is not given back.
    let before = bench.outbox.len();
    bench.network.handle_message(ToNetwork::Recall(site, work("http://a.test/better", 1.0).oid), bench.now);
    bench.run();
    assert_eq!(bench.outbox.len(), before);
}

#[test]
fn the_ready_site_with_the_best_url_comes_first() {
    let mut bench = Bench::new(1, 0);
    let works =
        [("c", 3.0), ("a", 1.0), ("b", 2.0)].map(|(host, rank)| work(&format!("http://{host}.test/"), rank));
    bench.offer(works.into());
    let mut order = Vec::new();
    for _ in 0..6 {
        let url = bench.urls()[0].to_owned();
        order.push(url.replace("http://", "").replace(".test/", ""));
        bench.answer(&url);
        bench.wait(Duration::from_millis(1));
    }
    assert_eq!(order, ["arobots.txt", "a", "brobots.txt", "b", "crobots.txt", "c"]);
}

#[test]
fn links_below_a_strict_minimum_are_not_fetched_but_visits_are() {
    let mut bench = Bench::new(8, 0);
    bench.network.handle_message(ToNetwork::MinPriority { least: 0.5, is_strict: true }, bench.now);
    let link = |host: &str| Work { depth: 1, ..work(&format!("http://{host}.test/"), 1.0) };
    let good = Work { priority: 0.6, ..link("good") };
    let visit = Work { copy: Some(Box::default()), ..link("visit") };
    bench.offer(vec![link("poor"), good, visit]);
    bench.wait(Duration::from_secs(60));
    let mut urls = bench.urls();
    urls.sort_unstable();
    assert_eq!(urls, ["http://good.test/robots.txt", "http://visit.test/robots.txt"]);
    bench.network.handle_message(ToNetwork::MinPriority { least: 0.5, is_strict: false }, bench.now);
    bench.answer("http://good.test/robots.txt");
    bench.answer("http://visit.test/robots.txt");
    for url in ["http://good.test/", "http://visit.test/"] {
        bench.wait(Duration::from_millis(1));
        bench.answer(url);
    }
    bench.wait(Duration::from_secs(2));
    assert_eq!(bench.urls(), ["http://poor.test/robots.txt"], "once the others are done");
}

#[test]
fn links_below_the_minimum_are_fetched_one_after_the_other() {
    let mut bench = Bench::new(8, 0);
    bench.network.handle_message(ToNetwork::MinPriority { least: 0.5, is_strict: false }, bench.now);
    // Start pages always reach the minimum.
    let link = |(host, rank)| Work { depth: 1, ..work(&format!("http://{host}.test/"), rank) };
    bench.offer([("a", 1.0), ("b", 2.0), ("c", 3.0)].map(link).into());
    assert_eq!(bench.urls(), ["http://a.test/robots.txt"], "nothing better is expected");
    bench.answer("http://a.test/robots.txt");
    bench.wait(Duration::from_millis(1));
    assert_eq!(bench.urls(), ["http://a.test/"]);
    bench.answer("http://a.test/");
    bench.wait(Duration::from_millis(1));
    assert_eq!(bench.urls(), [""; 0], "the links of the answer may be better");
    // Once they are known, there is nothing to wait for.
    bench.network.handle_message(ToNetwork::Read(1), bench.now);
    bench.run();
    assert_eq!(bench.urls(), ["http://b.test/robots.txt"]);
    bench.answer("http://b.test/robots.txt");
    bench.wait(Duration::from_millis(1));
    assert_eq!(bench.urls(), ["http://b.test/"]);
    // A request that takes too long is not waited for, nor an answer that is not read within a second.
    bench.wait(Duration::from_secs(5));
    assert_eq!(bench.urls(), ["http://b.test/", "http://c.test/robots.txt"]);
    bench.answer("http://b.test/");
    bench.answer("http://c.test/robots.txt");
    bench.wait(Duration::from_millis(500));
    assert_eq!(bench.urls(), [""; 0]);
    bench.wait(Duration::from_millis(501));
    assert_eq!(bench.urls(), ["http://c.test/"]);
}

#[test]
fn unresponsive_sites_leave_slots_to_others() {
    let mut bench = Bench::new(8, 0);
    bench.offer((0..3).map(|n| work(&format!("http://good.test/{n}"), 9.0 + f64::from(n))).collect());
    bench.answer("http://good.test/robots.txt");
    bench.wait(Duration::from_millis(1));
    bench.answer("http://good.test/0");
    bench.offer((0..20).map(|n| work(&format!("http://bad{n}.test/"), 1.0)).collect());
    bench.wait(Duration::from_millis(1));
    let bad = bench.urls().iter().filter(|url| url.contains("bad")).count();
    assert_eq!(bad, 4, "half");
    assert!(bench.urls().contains(&"http://good.test/1"), "{:?}", bench.urls());
    // Slow requests move to the slow lane. If there are too many, the oldest are aborted.
    bench.wait(Duration::from_secs(5));
    assert_eq!(bench.urls().iter().filter(|url| url.contains("bad")).count(), 8);
    bench.wait(Duration::from_secs(5));
    bench.wait(Duration::from_secs(5));
    assert!(bench.aborted.len() >= 4, "{:?}", bench.aborted);
    bench.answer("http://good.test/1");
    bench.wait(Duration::from_millis(1));
    assert!(bench.urls().contains(&"http://good.test/2"), "{:?}", bench.urls());
}

#[test]
fn slots_per_domain_and_address_block_are_limited() {
    for (host, address) in [
        ("x{}.one.test", (|_| Vec::new()) as fn(u8) -> Vec<IpAddr>),
        ("host{}.test", |n| vec![IpAddr::from([192, 0, 2, n])]),
    ] {
        let mut bench = Bench::new(64, 0);
        bench.address = address;
        let works = (0..40).map(|n| work(&format!("http://{}/", host.replace("{}", &n.to_string())), 1.0));
        bench.offer(works.collect());
        assert_eq!(bench.urls().len(), 16, "{host}");
    }
}

#[test]
fn requests_go_to_the_counted_address_and_failures_try_the_next() {
    let mut bench = Bench::new(8, 0);
    bench.address = |_| vec![IpAddr::from([192, 0, 2, 1]), IpAddr::from([198, 51, 100, 7])];
    bench.offer(vec![work("http://two.test/", 1.0)]);
    let (job, url, address) = bench.under_way.remove(0);
    assert_eq!(address, Some(IpAddr::from([192, 0, 2, 1])));
    let url = CanonicalUrl::parse(&url).unwrap();
    let kind = porthole_types::FailureKind::Connect;
    bench.network.answered(job, Err(crate::FetchError { url, kind, detail: "refused".into() }), bench.now);
    let site = work("http://two.test/", 1.0).sid;
    bench.network.handle_message(
        ToNetwork::OfferOf { site, asked: 0, works: vec![work("http://two.test/b", 1.0)] },
        bench.now,
    );
    // robots.txt failed, so the offered URL is put off. The lookup shows which address is next.
    bench.wait(Duration::from_secs(1));
    let located = bench.outbox.iter().filter_map(|outbox| match outbox {
        ToWriter::Located(_, address) => Some(*address),
        _ => None,
    });
    let located: Vec<IpAddr> = located.collect();
    assert_eq!(located, [IpAddr::from([192, 0, 2, 1]), IpAddr::from([198, 51, 100, 7])]);
}

#[test]
fn sites_are_counted_by_state_once_a_second() {
    let mut bench = Bench::new(2, 10);
    let counts = |bench: &mut Bench| {
        bench.network.report_sites(bench.now);
        bench.run();
        let mut states = bench.outbox.drain(..).filter_map(|message| match message {
            ToWriter::Sites(states) => Some((states.ready, states.resting, states.busy, states.given_up)),
            _ => None,
        });
        states.next_back()
    };
    assert_eq!(counts(&mut bench), Some((0, 0, 0, 0)));
    bench.offer(["a", "b", "c"].map(|host| work(&format!("http://{host}.test/"), 1.0)).into());
    assert_eq!(counts(&mut bench), None, "not within a second");
    bench.wait(Duration::from_secs(1));
    assert_eq!(counts(&mut bench), Some((1, 0, 2, 0)), "two requests, and a site without a free worker");
    bench.wait(Duration::from_secs(1));
    assert_eq!(counts(&mut bench), None, "nothing has changed");
    bench.answer("http://a.test/robots.txt");
    bench.wait(Duration::from_secs(1));
    assert_eq!(counts(&mut bench), Some((0, 1, 2, 0)), "a rests, and c has its place");
}
