//! Fetches a list of pages for commands that need a few. It uses the network half of a crawl, so robots.txt, pauses
//! and limits are implemented once.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::StreamExt;
use porthole_page::Extractor;
use porthole_types::{CanonicalUrl, Clock, Failure, FailureKind, Outcome, Rank, SiteId, UrlId, Work};

use super::manners::Manners;
use super::messages::{ToNetwork, ToWriter};
use super::network::Network;
use super::single::Requests;
use crate::host::Politeness;
use crate::page_rules::PageRules;
use crate::reading::page_extractor;
use crate::{Fetch, Response};

/// Maximum number of redirects to follow.
const MAX_REDIRECTS: u8 = 5;

/// Maximum number of requests in flight.
const WORKERS: usize = 32;

/// Maximum wait before the network half is polled again.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Fetches single pages politely. Host state is kept between calls.
pub struct PageFetcher {
    web: Arc<dyn Fetch>,
    clock: Arc<dyn Clock>,
    /// `None` while pages are being fetched, and after a fetch was cancelled.
    manners: Option<Manners>,
    politeness: Politeness,
    agent: String,
}

/// A page and its final URL.
#[derive(Clone, Debug)]
pub struct FetchedPage {
    /// The URL after redirects.
    pub at: CanonicalUrl,
    /// The response, with a success status.
    pub response: Response,
}

impl PageFetcher {
    /// Creates a fetcher. `agent` is the name that robots.txt files know it by.
    pub fn new(web: Arc<dyn Fetch>, clock: Arc<dyn Clock>, politeness: Politeness, agent: &str) -> Self {
        PageFetcher { web, clock, manners: None, politeness, agent: agent.to_owned() }
    }

    /// Fetches pages, those of different sites concurrently, and calls `each` with the index and result of each page
    /// as it arrives. Each redirect is followed as a request of its own. A site that has to rest for long is reported
    /// as a failure.
    pub async fn fetch_all(
        &mut self,
        urls: &[CanonicalUrl],
        mut each: impl FnMut(usize, Result<FetchedPage, Failure>),
    ) {
        let manners =
            self.manners.take().unwrap_or_else(|| Manners::new(self.politeness.clone(), &self.agent));
        let mut network = Network::new(Some(manners)).for_a_list();
        let mut list = List::new(urls);
        let (web, clock) = (self.web.clone(), self.clock.clone());
        let mut requests = Requests::default();
        list.outbox.push(ToNetwork::Limits { fetches: u64::MAX, workers: WORKERS });
        while list.open > 0 {
            let now = clock.now();
            for message in list.outbox.drain(..) {
                network.handle_message(message, now);
            }
            while let Some(action) = network.next(now) {
                requests.begin(action, &*web);
            }
            for message in std::mem::take(&mut network.outbox) {
                list.handle_message(message, &mut each);
            }
            if !list.outbox.is_empty() {
                continue;
            }
            let due = network.next_due(clock.now()).map_or(POLL_INTERVAL, |due| due.since(clock.now()));
            let moment = tokio::time::sleep(due.clamp(Duration::from_millis(1), POLL_INTERVAL));
            tokio::select! {
                Some(done) = requests.under_way.next(), if !requests.under_way.is_empty() => {
                    requests.finish(done, &mut network, &*clock);
                }
                () = moment => {}
            }
        }
        self.manners = network.into_manners();
    }
}

/// The requested pages. Takes the place of a crawl's writer half.
struct List {
    /// URLs that were not offered yet, by site.
    sites: HashMap<SiteId, VecDeque<Work>>,
    /// Sites with such URLs that were not offered to the network half, in list order.
    waiting: VecDeque<SiteId>,
    /// For each URL, the indices of the pages that need it and the redirects that led to it.
    wanted_by: HashMap<UrlId, Vec<(usize, u8)>>,
    /// Number of sites or URLs that the network half has room for.
    room: usize,
    /// Number of pages without a result.
    open: usize,
    /// Messages to the network half.
    outbox: Vec<ToNetwork>,
    extractor: Extractor,
}

impl List {
    fn new(urls: &[CanonicalUrl]) -> Self {
        let mut list = List {
            sites: HashMap::new(),
            waiting: VecDeque::new(),
            wanted_by: HashMap::new(),
            room: 0,
            open: urls.len(),
            outbox: Vec::new(),
            extractor: page_extractor(),
        };
        for (number, url) in urls.iter().enumerate() {
            list.add(url.clone(), (number, 0));
        }
        list
    }

    fn add(&mut self, url: CanonicalUrl, wanted_by: (usize, u8)) {
        let (oid, sid) = (url.id(), url.site());
        let wanted = self.wanted_by.entry(oid).or_default();
        wanted.push(wanted_by);
        if wanted.len() > 1 {
            return;
        }
        let works = self.sites.entry(sid).or_default();
        if works.is_empty() && !self.waiting.contains(&sid) {
            self.waiting.push_back(sid);
        }
        works.push_back(Work {
            oid,
            sid,
            url,
            numtries: 0,
            relevance: 0.0,
            priority: 0.0,
            depth: 0,
            pages_of_site: 0,
            rank: Rank::new([wanted_by.0 as f64].into_iter()),
            copy: None,
        });
    }

    fn handle_message(
        &mut self,
        message: ToWriter,
        each: &mut impl FnMut(usize, Result<FetchedPage, Failure>),
    ) {
        match message {
            ToWriter::Want(n) => self.room += n,
            ToWriter::WantOf(site, asked) => {
                let works = self.take_of(site, asked);
                self.outbox.push(ToNetwork::OfferOf { site, asked, works });
            }
            ToWriter::Release(site, until) => {
                let left = self.sites.get(&site).is_some_and(|works| !works.is_empty());
                if left && until.is_some() {
                    for work in self.take_of(site, usize::MAX) {
                        self.fail(work.oid, &site_unavailable(), each);
                    }
                } else if left && !self.waiting.contains(&site) {
                    self.waiting.push_back(site);
                }
            }
            ToWriter::GaveBack(oids) => {
                oids.into_iter().for_each(|oid| self.fail(oid, &site_unavailable(), each));
            }
            ToWriter::Answered(unread) => match unread.answer {
                Ok(response) => self.answered(&unread.work, &response, each),
                Err(error) => self.fail(unread.work.oid, &Failure::new(error.kind, error.detail), each),
            },
            ToWriter::Settled(work, outcome) => {
                if let Some(failure) = refusal(outcome) {
                    self.fail(work.oid, &failure, each);
                }
            }
            ToWriter::Started(_)
            | ToWriter::Unsent(_)
            | ToWriter::Outage(_)
            | ToWriter::Listed(_)
            | ToWriter::Located(..)
            | ToWriter::Robots(_)
            | ToWriter::Host(_)
            | ToWriter::Waiting { .. }
            | ToWriter::Sites(_)
            | ToWriter::Idle(_) => {}
        }
        self.offer();
    }

    /// Offers sites to the network half while it has room.
    fn offer(&mut self) {
        while self.room > 0
            && let Some(site) = self.waiting.pop_front()
        {
            let works = self.take_of(site, 1);
            if !works.is_empty() {
                self.room -= 1;
                self.outbox.push(ToNetwork::Offer(works));
            }
        }
    }

    fn take_of(&mut self, site: SiteId, n: usize) -> Vec<Work> {
        let Some(works) = self.sites.get_mut(&site) else { return Vec::new() };
        works.drain(..n.min(works.len())).collect()
    }

    fn answered(
        &mut self,
        work: &Work,
        response: &Response,
        each: &mut impl FnMut(usize, Result<FetchedPage, Failure>),
    ) {
        match response.status {
            200..300 => match refresh_of(&mut self.extractor, &work.url, response) {
                Some(target) => self.redirect(work.oid, &target, each),
                None => {
                    for (number, _) in self.wanted_by.remove(&work.oid).unwrap_or_default() {
                        self.open -= 1;
                        each(number, Ok(FetchedPage { at: work.url.clone(), response: response.clone() }));
                    }
                }
            },
            300..400 => match response.headers.get("location").and_then(|to| work.url.join(to).ok()) {
                None => self.fail(work.oid, &broken("a redirect without a usable target".to_owned()), each),
                Some(target) => self.redirect(work.oid, &target, each),
            },
            status => {
                let failure = Failure::new(FailureKind::Status, format!("status {status}"));
                self.fail(work.oid, &failure, each);
            }
        }
    }

    /// Fetches the redirect target for every page that needed the URL.
    fn redirect(
        &mut self,
        oid: UrlId,
        target: &CanonicalUrl,
        each: &mut impl FnMut(usize, Result<FetchedPage, Failure>),
    ) {
        for (number, redirects) in self.wanted_by.remove(&oid).unwrap_or_default() {
            if redirects < MAX_REDIRECTS {
                self.add(target.clone(), (number, redirects + 1));
            } else {
                self.open -= 1;
                each(number, Err(broken(format!("more than {MAX_REDIRECTS} redirects"))));
            }
        }
    }

    fn fail(
        &mut self,
        oid: UrlId,
        failure: &Failure,
        each: &mut impl FnMut(usize, Result<FetchedPage, Failure>),
    ) {
        for (number, _) in self.wanted_by.remove(&oid).unwrap_or_default() {
            self.open -= 1;
            each(number, Err(failure.clone()));
        }
    }
}

/// The reason why no request was made.
fn refusal(outcome: Outcome) -> Option<Failure> {
    let robots = |what: &str, failure: &Failure| {
        Failure::new(failure.kind, format!("its robots.txt {what}: {}", failure.detail()))
    };
    match outcome {
        Outcome::Fetched | Outcome::NotModified | Outcome::Redirected => None,
        Outcome::Skipped(failure) if failure.kind == FailureKind::Robots => {
            Some(robots("forbids it", &failure))
        }
        Outcome::Retry { failure, .. } if failure.kind == FailureKind::Robots => {
            Some(robots("cannot be read", &failure))
        }
        Outcome::Retry { failure, .. } | Outcome::Dead(failure) | Outcome::Skipped(failure) => Some(failure),
    }
}

/// The target of a page's `meta` refresh, if it is followed like a redirect.
pub fn refresh_of(
    extractor: &mut Extractor,
    url: &CanonicalUrl,
    response: &Response,
) -> Option<CanonicalUrl> {
    let page = extractor.extract(url, &response.headers, &response.body);
    PageRules::default().redirect_of(url, &page).cloned()
}

fn broken(detail: String) -> Failure {
    Failure::new(FailureKind::Protocol, detail)
}

fn site_unavailable() -> Failure {
    Failure::new(FailureKind::Connect, "the site must not be requested for a while")
}
