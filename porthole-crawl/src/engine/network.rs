//! The network half of a crawl: schedules requests, applies robots.txt and politeness, and tracks requests in flight.
//!
//! This is a state machine without I/O. A driver passes in messages and answers together with the time, carries out
//! the [`Action`]s, and forwards the messages in [`Network::outbox`]. Every site is in exactly one [`Phase`], and
//! [`Network::place`] is the only function that decides which. A URL is chosen when its site's turn comes; until then
//! a better URL of the same site can replace it.
//!
//! A few sites cannot block the others: address lookups have their own slots, slow requests move to a bounded slow
//! lane, sites that have not answered get at most half of the slots and those that have not delivered a page quickly at
//! most three quarters, and requests per domain and per address block are capped. `lanes` tracks the requests in flight,
//! `lookups` resolves addresses, `rules` handles robots.txt and sitemaps, `doubts` decides who is to blame for a failure,
//! `states` counts sites for those who watch.

mod doubts;
mod lanes;
mod lookups;
mod rules;
mod states;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use porthole_types::{
    CanonicalUrl, Failure, FailureKind, Headers, Outcome, Rank, SiteId, Timestamp, Validators, Work,
};

use self::doubts::{AnsweringSite, FailedRequest};
pub(super) use self::lanes::Lane;
use self::lanes::{Job, Jobs, Purpose};
use self::lookups::Lookups;
use self::rules::refused;
pub(super) use self::states::SiteStates;
use super::manners::Manners;
use super::messages::{ToNetwork, ToWriter};
use super::outage::Reachability;
use super::site::{Address, Phase, Site};
use crate::host::{Flight, HostAnswer, Turn};
use crate::reading::Unread;
use crate::robots::{RobotsLook, RobotsVerdict};
use crate::sitemap::Sitemap;
use crate::{FetchError, Request, RequestPurpose, Response};

/// An instruction to the driver.
pub(crate) enum Action {
    /// Send a request. Its result goes to [`Network::answered`].
    Fetch(JobId, Request),
    /// Resolve a site's addresses. The result goes to [`Network::located`].
    Locate(SiteId, CanonicalUrl),
    /// Abort a request in flight. It is answered with a timeout.
    Abort(JobId),
}

/// Identifies a request in flight. Ids increase in the order of dispatch.
pub(crate) type JobId = u64;

/// A resource shared by several sites, on which requests in flight are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Gate {
    Address(IpAddr),
    /// An IPv4 /24 or an IPv6 /64.
    Block([u8; 8]),
    /// A registrable domain, hashed.
    Domain(SiteId),
}

/// Maximum number of sites in memory. Beyond it, no more are requested until one is released.
const MAX_SITES: usize = 4_096;

/// Minimum for the number of sites that may rest between robots.txt and their first page. The limit is this, or two
/// per worker if that is larger.
const MIN_PREPARING: usize = 16;

/// Number of sites kept available while only probes are sent.
const SITES_FOR_PROBES: usize = 64;

/// A site that answers within this time counts as quick.
const QUICK: Duration = Duration::from_secs(2);

/// A site that has to rest for longer is released.
const MAX_REST: Duration = Duration::from_secs(120);

/// Maximum time after an answer during which a request waits for its links to be offered.
const READ_WITHIN: Duration = Duration::from_secs(1);

/// How long it counts that another worker has better URLs.
const ELSEWHERE_FOR: Duration = Duration::from_secs(2);

/// A site's offered URLs should last for this long.
const OFFERED_FOR: Duration = Duration::from_millis(250);

/// The network half. See the module documentation.
pub(crate) struct Network {
    /// `None` in a replay, where politeness does not apply.
    manners: Option<Manners>,
    reads_sitemaps: bool,
    workers: usize,
    /// Maximum number of page fetches, and the number started so far.
    fetches: u64,
    started_pages: u64,
    is_paused: bool,
    /// URLs below this priority wait while sites with better ones are resting.
    min_priority: f64,
    /// New URLs below it are not fetched at all.
    is_strict: bool,
    /// Until then other workers have better ones.
    better_elsewhere_until: Timestamp,
    sites: HashMap<SiteId, Site, foldhash::fast::FixedState>,
    /// Sites that may be requested now, by lane.
    ready: [BTreeSet<(Rank, SiteId)>; 3],
    resting: BTreeSet<(Timestamp, u64, SiteId)>,
    /// Resting sites that have sent robots.txt and whose first page is next.
    preparing: usize,
    /// Sites waiting for a request through this gate to finish.
    waiting: HashMap<Gate, Vec<SiteId>>,
    /// Number of requests in flight per gate.
    passed: HashMap<Gate, usize>,
    lookups: Lookups,
    jobs: Jobs,
    next_job: JobId,
    /// Whether requests get through, and whether names can be resolved.
    requests: Reachability<FailedRequest>,
    names: Reachability<(SiteId, FetchError)>,
    /// Some sites that have answered, as targets for probes.
    answering: VecDeque<AnsweringSite>,
    /// Earliest time at which one of them may be probed, if a probe is needed.
    probe_due: Option<Timestamp>,
    /// Whether failures are held back until their cause is known.
    doubts: bool,
    /// Temporary limit on requests in flight, set when the machine runs out of file descriptors or similar.
    ceiling: Option<(usize, Timestamp)>,
    /// Sites or URLs that were requested from the writer and have not arrived.
    wanted: usize,
    messages_handled: u64,
    /// Time of the last answer.
    last_answer: Timestamp,
    /// Number of answers for pages sent to the writer half, and how many of them it has read.
    answers: u64,
    answers_read: u64,
    reported_waiting: Option<Timestamp>,
    reported_idle: Option<u64>,
    /// When the sites by state were last counted, and the result.
    reported_sites: Option<(Timestamp, SiteStates)>,
    aborts: Vec<JobId>,
    /// Messages to the writer half.
    pub(crate) outbox: Vec<ToWriter>,
}

impl Network {
    pub(crate) fn new(manners: Option<Manners>) -> Self {
        Network {
            manners,
            reads_sitemaps: true,
            workers: 1,
            fetches: 0,
            started_pages: 0,
            is_paused: false,
            min_priority: f64::NEG_INFINITY,
            is_strict: false,
            better_elsewhere_until: Timestamp(i64::MIN),
            sites: HashMap::default(),
            ready: [BTreeSet::new(), BTreeSet::new(), BTreeSet::new()],
            resting: BTreeSet::new(),
            preparing: 0,
            waiting: HashMap::new(),
            passed: HashMap::new(),
            lookups: Lookups::default(),
            jobs: Jobs::default(),
            next_job: 0,
            requests: Reachability::default(),
            names: Reachability::default(),
            answering: VecDeque::new(),
            probe_due: None,
            doubts: true,
            ceiling: None,
            wanted: 0,
            messages_handled: 0,
            last_answer: Timestamp(i64::MIN),
            answers: 0,
            answers_read: 0,
            reported_waiting: None,
            reported_idle: None,
            reported_sites: None,
            aborts: Vec::new(),
            outbox: Vec::new(),
        }
    }

    /// Configures the network half for a fixed list of pages: it reads no sitemaps, and reports every failure at
    /// once.
    pub(crate) fn for_a_list(self) -> Self {
        Network { reads_sitemaps: false, doubts: false, ..self }
    }

    pub(crate) fn into_manners(self) -> Option<Manners> {
        self.manners
    }

    pub(crate) fn is_polite(&self) -> bool {
        self.manners.is_some()
    }

    /// Handles a message from the writer half.
    pub(crate) fn handle_message(&mut self, message: ToNetwork, now: Timestamp) {
        self.messages_handled += 1;
        match message {
            ToNetwork::Offer(works) => {
                self.wanted = self.wanted.saturating_sub(works.len());
                for work in works {
                    let site = work.sid;
                    let held = self.sites.entry(site).or_insert_with(|| {
                        let is_quick = self.manners.as_mut().is_some_and(|manners| manners.is_quick(site));
                        Site::new(is_quick)
                    });
                    held.offer(work);
                    held.has_more = true;
                    self.place(site, now);
                }
            }
            ToNetwork::OfferOf { site, asked, works } => {
                let held = self.sites.entry(site).or_default();
                held.wanted = held.wanted.saturating_sub(asked);
                held.has_more = works.len() >= asked;
                works.into_iter().for_each(|work| held.offer(work));
                self.place(site, now);
            }
            ToNetwork::Recall(site, oid) => {
                let recalled = self.sites.get_mut(&site).and_then(|held| held.recall(oid));
                if let Some(work) = recalled {
                    self.outbox.push(ToWriter::GaveBack(vec![work.oid]));
                    self.place(site, now);
                }
            }
            ToNetwork::Ask(question) => {
                let site = question.url.site();
                self.sites.entry(site).or_default().questions.push_back(question);
                self.place(site, now);
            }
            ToNetwork::Limits { fetches, workers } => {
                (self.fetches, self.workers) = (fetches, workers.max(1));
                let sites: Vec<SiteId> = self.sites.keys().copied().collect();
                sites.into_iter().for_each(|site| self.place(site, now));
            }
            ToNetwork::MinPriority { least, is_strict } => {
                (self.min_priority, self.is_strict) = (least, is_strict);
            }
            ToNetwork::BetterElsewhere => self.better_elsewhere_until = now.after(ELSEWHERE_FOR),
            ToNetwork::Read(answers) => self.answers_read = answers,
            ToNetwork::Pause(is_paused) => self.is_paused = is_paused,
        }
    }

    /// Returns the next action, or `None` until an answer, a message or a deadline arrives.
    pub(crate) fn next(&mut self, now: Timestamp) -> Option<Action> {
        if let Some(job) = self.aborts.pop() {
            return Some(Action::Abort(job));
        }
        if self.is_polite() {
            self.aborts.extend(self.jobs.move_slow(self.workers, now));
        }
        while let Some(&(due, turn, site)) = self.resting.first().filter(|(due, ..)| *due <= now) {
            self.resting.remove(&(due, turn, site));
            self.set_phase(site, Phase::Idle);
            self.place(site, now);
        }
        self.settle_doubts(now);
        if let Some(action) = self.next_lookup(now).or_else(|| self.next_probe(now)) {
            return Some(action);
        }
        while let Some(site) = self.next_ready(now) {
            if let Some(action) = self.start(site, now) {
                return Some(action);
            }
        }
        self.request_more();
        self.report_waiting(now);
        self.report_idle();
        self.aborts.pop().map(Action::Abort)
    }

    /// Returns the next time at which something is due without a message.
    pub(crate) fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        let is_full =
            self.jobs.len() + 2 * self.reserved() >= self.workers || self.started_pages >= self.fetches;
        let rested = self.resting.first().map(|&(due, ..)| due);
        let is_gated =
            self.min_priority > f64::NEG_INFINITY && self.ready.iter().any(|ready| !ready.is_empty());
        let read = self.last_answer.after(READ_WITHIN);
        let is_awaited = is_gated && self.jobs.is_empty() && self.answers_read < self.answers;
        rested
            .into_iter()
            // A probe that is overdue waits for another event: a site to probe, or the end of a probe.
            .chain(self.probe_due.filter(|due| *due > now))
            .chain(self.requests.next_due().into_iter().chain(self.names.next_due()).filter(|due| *due > now))
            .chain(self.jobs.next_move().filter(|_| is_full || is_gated))
            .chain(Some(read).filter(|read| is_awaited && *read > now))
            .min()
    }

    /// Settles all offered URLs of a site without a request.
    fn settle_all(&mut self, site: SiteId, outcome: impl Fn(&Work) -> Outcome) {
        let Some(held) = self.sites.get_mut(&site) else { return };
        let mut works = held.take_offers();
        works.reverse();
        for work in works {
            let outcome = outcome(&work);
            self.outbox.push(ToWriter::Settled(work, outcome));
        }
        self.refill(site);
    }

    /// Drops the auxiliary requests of a site that cannot be reached. Robots.txt fetches are failed explicitly,
    /// because other sites may wait for them.
    fn drop_aux(&mut self, site: SiteId, error: &FetchError, now: Timestamp) {
        let Some(held) = self.sites.get_mut(&site) else { return };
        held.questions.clear();
        held.sitemaps.clear();
        for fetch in std::mem::take(&mut held.rules) {
            self.rules_answered(fetch, Err(error), now);
        }
    }

    /// Handles the answer to a request.
    pub(crate) fn answered(&mut self, id: JobId, answer: Result<Response, FetchError>, now: Timestamp) {
        let Some(job) = self.jobs.remove(id) else { return };
        let took = answer.as_ref().map_or(now.since(job.started), |response| response.took);
        match answer {
            Err(error) if self.is_doubtful(&error) => self.doubt(id, FailedRequest { job, error, took }, now),
            answer => {
                let (failed, news) = self.requests.answered(id, self.next_job, now);
                self.outbox.extend(news.map(ToWriter::Outage));
                self.last_answer = now;
                let url = match &job.purpose {
                    Purpose::Page(work) => Some((work.url.clone(), true)),
                    Purpose::Robots(fetch) => Some((fetch.url().clone(), false)),
                    _ => None,
                };
                if let Some((url, is_page)) = url.filter(|_| answer.is_ok()) {
                    let address = job.flight.as_ref().and_then(Flight::address);
                    self.note_answering(job.site, &url, address, is_page);
                }
                self.finish(job, answer, took, now);
                failed.into_iter().for_each(|failed| self.fail(failed, now));
            }
        }
    }

    /// Applies the result of a request whose cause is settled.
    fn finish(&mut self, job: Job, answer: Result<Response, FetchError>, took: Duration, now: Timestamp) {
        let Job { purpose, site, mut flight, gates, .. } = job;
        let about_host = HostAnswer::of(answer.as_ref(), now);
        if let Some(held) = self.sites.get_mut(&site) {
            held.in_flight -= 1;
            // If the host has several addresses, another one may work.
            if matches!(&answer, Err(error) if error.kind == FailureKind::Connect) && held.in_flight == 0 {
                held.address = Address::Unknown;
                held.connect_failures += 1;
            }
        }
        match (purpose, answer) {
            (Purpose::Page(work), answer) => {
                let is_quick = answer.is_ok() && took <= QUICK;
                self.update_site(site, |held| (held.is_quick, held.is_proven) = (is_quick, is_quick));
                let address = match self.sites.get(&site).map(|held| held.address) {
                    Some(Address::Known(address)) => address,
                    _ => None,
                };
                self.answers += 1;
                self.outbox.push(ToWriter::Answered(Box::new(Unread { work, answer, at: now, address })));
            }
            (Purpose::Robots(fetch), answer) => {
                let is_own = fetch.site() == site;
                if is_own && answer.is_ok() {
                    self.update_site(site, |held| held.is_preparing = true);
                }
                let crawl_delay = self.rules_answered(fetch, answer.as_ref(), now);
                flight = flight.map(|flight| flight.with_crawl_delay(crawl_delay.filter(|_| is_own)));
            }
            (Purpose::Sitemap(sitemap), Ok(response)) => self.sitemap_answered(site, &sitemap, &response),
            (Purpose::Backlinks(question), Ok(response)) => {
                self.outbox.push(ToWriter::Listed(question.answered(&response)));
            }
            (Purpose::Sitemap(..) | Purpose::Backlinks(_), Err(_)) | (Purpose::Probe(_), _) => {}
        }
        if let (Some(manners), Some(flight)) = (&mut self.manners, flight) {
            let is_quick = self.sites.get(&site).is_some_and(|held| held.is_quick);
            let news = manners.finished(site, flight, about_host, is_quick, took, now);
            self.outbox.extend(news.map(ToWriter::Host));
        }
        self.place(site, now);
        self.leave_gates(gates, now);
    }

    fn leave_gates(&mut self, gates: Vec<Gate>, now: Timestamp) {
        for gate in gates {
            if let Some(count) = self.passed.get_mut(&gate) {
                *count -= 1;
                if *count == 0 {
                    self.passed.remove(&gate);
                }
            }
            for site in self.waiting.remove(&gate).unwrap_or_default() {
                self.place(site, now);
            }
        }
    }

    /// Slots reserved for sites that answer quickly.
    fn reserved(&self) -> usize {
        if self.is_polite() && self.workers >= 8 { self.workers / 4 } else { 0 }
    }

    /// Whether there is a free slot for another request in a site's lane.
    fn has_slot(&self, lane: Lane) -> bool {
        let (reserved, other) = (self.reserved(), self.jobs.count(Lane::Other));
        let unproven = self.jobs.count(Lane::Prepared) + other;
        self.jobs.in_slots() < self.workers
            && (lane == Lane::Quick || unproven + reserved < self.workers)
            && (lane != Lane::Other || other + 2 * reserved < self.workers)
    }

    /// Updates the state of a site and keeps the queues in step, since its lane can change.
    fn update_site(&mut self, site: SiteId, update: impl FnOnce(&mut Site)) {
        let Some(held) = self.sites.get_mut(&site) else { return };
        let before = (held.lane(), held.is_preparing);
        update(held);
        let after = (held.lane(), held.is_preparing);
        match &held.phase {
            Phase::Ready(rank) if before != after => {
                let entry = (rank.clone(), site);
                self.ready[before.0 as usize].remove(&entry);
                self.ready[after.0 as usize].insert(entry);
            }
            Phase::Resting(..) => {
                self.preparing = self.preparing + usize::from(after.1) - usize::from(before.1);
            }
            _ => {}
        }
    }

    /// Removes and returns the best ready site, if there is a free slot for it.
    fn next_ready(&mut self, now: Timestamp) -> Option<SiteId> {
        if self.is_paused || self.is_closing() || !self.requests.may_begin(now) {
            return None;
        }
        if self.ceiling.is_some_and(|(most, until)| now < until && self.jobs.len() >= most) {
            return None;
        }
        // If no site has ever answered, any site serves as a probe.
        let is_suspended = self.requests.is_suspended();
        if is_suspended && !self.answering.is_empty() {
            return None;
        }
        let best = |lane: Lane| self.ready[lane as usize].first();
        let lanes = Lane::OF_SITES.into_iter().filter(|lane| is_suspended || self.has_slot(*lane));
        let lane = lanes.filter(|lane| best(*lane).is_some()).min_by_key(|lane| best(*lane))?;
        let entry = if is_suspended { best(lane)? } else { self.best_worth_fetching(lane, now)? }.clone();
        self.ready[lane as usize].remove(&entry);
        let (_, site) = entry;
        if let Some(held) = self.sites.get_mut(&site) {
            held.phase = Phase::Idle;
        }
        Some(site)
    }

    /// Returns the best ready site that reaches the minimum priority, or the best overall if no better one is to be
    /// expected.
    fn best_worth_fetching(&self, lane: Lane, now: Timestamp) -> Option<&(Rank, SiteId)> {
        /// Number of sites examined. They are in policy order, which can differ from priority order.
        const MOST: usize = 64;
        let ready = &self.ready[lane as usize];
        let first = ready.first()?;
        if self.min_priority == f64::NEG_INFINITY {
            return Some(first);
        }
        let is_worth =
            |site: &SiteId| self.sites.get(site).is_none_or(|held| held.reaches(self.min_priority));
        let found = ready.iter().take(MOST).find(|(_, site)| is_worth(site));
        // Do not wait for a site that has never delivered a page quickly: it may never do so.
        let is_proven = |site: &SiteId| self.sites.get(site).is_some_and(|held| held.is_proven);
        // A recent answer may bring better links once it has been read.
        let is_unread = || self.answers_read < self.answers && now < self.last_answer.after(READ_WITHIN);
        let waits_for_better = || {
            self.jobs.expects_soon()
                || is_unread()
                || now < self.better_elsewhere_until
                || self.resting.iter().any(|(_, _, site)| is_proven(site) && is_worth(site))
        };
        found.or_else(|| (!self.is_strict && !waits_for_better()).then_some(first))
    }

    /// Starts the next request of a ready site. Returns `None` if the site was moved to another phase instead.
    fn start(&mut self, site: SiteId, now: Timestamp) -> Option<Action> {
        let held = self.sites.get_mut(&site)?;
        if self.manners.is_some() {
            match self.turn(site, now) {
                Turn::Now => {}
                Turn::GivenUp => {
                    self.give_up(site, now);
                    self.place(site, now);
                    return None;
                }
                _ => {
                    self.place(site, now);
                    return None;
                }
            }
            if let Some(gate) = self.closed_gate(site) {
                self.set_phase(site, Phase::Waiting);
                self.waiting.entry(gate).or_default().push(site);
                return None;
            }
            let held = self.sites.get_mut(&site)?;
            if let Some(fetch) = held.rules.pop_front() {
                return Some(self.dispatch(site, Purpose::Robots(fetch), None, now));
            }
            if let Some(question) = held.questions.pop_front() {
                return Some(self.dispatch(site, Purpose::Backlinks(question), None, now));
            }
            return self.start_page(site, now);
        }
        if let Some(question) = held.questions.pop_front() {
            return Some(self.dispatch(site, Purpose::Backlinks(question), None, now));
        }
        self.start_page(site, now)
    }

    fn start_page(&mut self, site: SiteId, now: Timestamp) -> Option<Action> {
        let may_fetch = !self.is_closing();
        let held = self.sites.get_mut(&site)?;
        let Some(url) = held.best().filter(|_| may_fetch).map(|work| work.url.clone()) else {
            let (url, is_index_followed) = held.sitemaps.pop_front()?;
            let crawl_delay = self.crawl_delay(&url, now);
            return Some(self.dispatch(
                site,
                Purpose::Sitemap(Sitemap { url, is_index_followed }),
                crawl_delay,
                now,
            ));
        };
        let mut crawl_delay = None;
        if let Some(manners) = &mut self.manners {
            match manners.robots.look(&url, now) {
                RobotsLook::Ask(fetch) => {
                    held.asks_rules = true;
                    return Some(self.dispatch(site, Purpose::Robots(fetch), None, now));
                }
                RobotsLook::Known(policy) => match policy.verdict(&url) {
                    RobotsVerdict::Allowed => crawl_delay = policy.crawl_delay(),
                    verdict => {
                        let work = held.pop()?;
                        let outcome = refused(&work, &policy, verdict, now);
                        self.outbox.push(ToWriter::Settled(work, outcome));
                        self.refill(site);
                        self.place(site, now);
                        return None;
                    }
                },
            }
        }
        let work = held.pop()?;
        self.started_pages += 1;
        self.outbox.push(ToWriter::Started(work.oid));
        let action = self.dispatch(site, Purpose::Page(work), crawl_delay, now);
        self.refill(site);
        Some(action)
    }

    /// Registers a request and returns the action that sends it.
    fn dispatch(
        &mut self,
        site: SiteId,
        purpose: Purpose,
        crawl_delay: Option<Duration>,
        now: Timestamp,
    ) -> Action {
        let mut headers = Headers::new();
        let mut answer = RequestPurpose::Page;
        let url = match &purpose {
            Purpose::Page(work) => {
                let copy = work.copy.as_ref().and_then(|copy| copy.validators.as_ref());
                headers = copy.map_or(headers, Validators::conditions);
                &work.url
            }
            Purpose::Robots(fetch) => fetch.url(),
            Purpose::Sitemap(sitemap) => &sitemap.url,
            Purpose::Backlinks(question) => {
                answer = RequestPurpose::Data;
                &question.url
            }
            Purpose::Probe(url) => url,
        }
        .clone();
        let id = self.next_job;
        self.next_job += 1;
        self.requests.began(id);
        let held = self.sites.entry(site).or_default();
        held.in_flight += 1;
        held.last_turn = id;
        let lane = held.lane();
        held.is_preparing &= !matches!(purpose, Purpose::Page(_));
        let address = match held.address {
            Address::Known(address) => address,
            Address::Unknown => None,
        };
        let gates = if self.manners.is_some() { gates(&url, address) } else { Vec::new() };
        for &gate in &gates {
            *self.passed.entry(gate).or_default() += 1;
        }
        let flight = self.manners.as_mut().map(|manners| manners.hosts.started(site, address, crawl_delay));
        self.jobs.insert(id, Job { purpose, site, flight, gates, started: now, lane });
        self.place(site, now);
        Action::Fetch(id, Request { url, headers, purpose: answer, address })
    }

    /// Moves a site to the phase that follows from its state. This is the only function that decides on phases.
    fn place(&mut self, site: SiteId, now: Timestamp) {
        let Some(held) = self.sites.get(&site) else { return };
        let phase = match (&held.phase, held.rank()) {
            // The result of the lookup will place it.
            (Phase::Locating, _) => return,
            (_, None) if held.in_flight > 0 || held.asks_rules || held.wanted > 0 => Phase::Waiting,
            (_, None) => {
                self.set_phase(site, Phase::Idle);
                return self.release(site, None);
            }
            (_, Some(_)) if held.address == Address::Unknown && self.is_polite() => {
                self.set_phase(site, Phase::Locating);
                self.lookups.enqueue(site);
                return;
            }
            (_, Some(_)) if held.asks_rules && held.rules.is_empty() && held.questions.is_empty() => {
                Phase::AwaitingRules
            }
            (_, Some(rank)) => match self.turn(site, now) {
                Turn::Now | Turn::GivenUp => Phase::Ready(rank),
                Turn::InFlight => {
                    if let Some(held) = self.sites.get(&site)
                        && let Address::Known(Some(address)) = held.address
                    {
                        self.waiting.entry(Gate::Address(address)).or_default().push(site);
                    }
                    Phase::Waiting
                }
                Turn::NotBefore(due) if due.since(now) > MAX_REST => {
                    return self.release_until(site, due, now);
                }
                Turn::NotBefore(due) => Phase::Resting(due, self.sites[&site].last_turn),
            },
        };
        self.set_phase(site, phase);
    }

    /// Changes a site's phase and keeps the queues in step.
    fn set_phase(&mut self, site: SiteId, phase: Phase) {
        let Some(held) = self.sites.get_mut(&site) else { return };
        if held.phase == phase {
            return;
        }
        let lane = held.lane() as usize;
        let prepares = usize::from(held.is_preparing);
        match std::mem::replace(&mut held.phase, phase.clone()) {
            Phase::Ready(rank) => drop(self.ready[lane].remove(&(rank, site))),
            Phase::Resting(due, turn) => {
                self.preparing = self.preparing.saturating_sub(prepares);
                self.resting.remove(&(due, turn, site));
            }
            _ => {}
        }
        match phase {
            Phase::Ready(rank) => drop(self.ready[lane].insert((rank, site))),
            Phase::Resting(due, turn) => {
                self.preparing += prepares;
                self.resting.insert((due, turn, site));
            }
            _ => {}
        }
    }

    fn turn(&mut self, site: SiteId, now: Timestamp) -> Turn {
        let address = match self.sites.get(&site).map(|held| held.address) {
            Some(Address::Known(address)) => address,
            _ => None,
        };
        self.turn_at(site, address, now)
    }

    fn turn_at(&mut self, site: SiteId, address: Option<IpAddr>, now: Timestamp) -> Turn {
        self.manners.as_mut().map_or(Turn::Now, |manners| manners.hosts.may_start(site, address, now))
    }

    /// Returns the first of the site's gates that is at its limit.
    fn closed_gate(&self, site: SiteId) -> Option<Gate> {
        let held = self.sites.get(&site)?;
        let Address::Known(address) = held.address else { return None };
        let most = (self.workers / 4).max(8);
        let is_closed = |gate: &Gate| {
            !matches!(gate, Gate::Address(_)) && self.passed.get(gate).is_some_and(|count| *count >= most)
        };
        gates(held.any_url()?, address).into_iter().find(is_closed)
    }

    /// Releases a site that has to rest for long. Its URLs are given back and auxiliary requests fail.
    fn release_until(&mut self, site: SiteId, until: Timestamp, now: Timestamp) {
        self.set_phase(site, Phase::Idle);
        let Some(held) = self.sites.get_mut(&site) else { return };
        let back: Vec<_> = held.take_offers().iter().map(|work| work.oid).collect();
        if let Some(url) = held.rules.front().map(|fetch| fetch.url().clone()) {
            let detail = "its robots.txt redirects to a site that is not requested for now".to_owned();
            self.drop_aux(site, &FetchError { url, kind: FailureKind::Connect, detail }, now);
        }
        self.outbox.push(ToWriter::GaveBack(back));
        self.release(site, Some(until));
    }

    /// Settles the URLs of a site that failed too often.
    fn give_up(&mut self, site: SiteId, now: Timestamp) {
        let detail = "the site failed too often and is no longer requested";
        self.settle_all(site, |_| Outcome::Dead(Failure::new(FailureKind::Connect, detail)));
        let url = self.sites.get(&site).and_then(|held| held.any_url().cloned());
        if let Some(url) = url {
            let error = FetchError { url, kind: FailureKind::Connect, detail: detail.to_owned() };
            self.drop_aux(site, &error, now);
        }
    }

    /// Forgets a site unless a request or auxiliary work is left.
    fn release(&mut self, site: SiteId, until: Option<Timestamp>) {
        if self.sites.get(&site).is_some_and(|held| held.in_flight == 0 && held.aux_requests() == 0) {
            self.sites.remove(&site);
        }
        if self.is_polite() {
            self.outbox.push(ToWriter::Release(site, until));
        }
    }

    /// Requests more URLs of a site from the writer, enough to last until they arrive.
    fn refill(&mut self, site: SiteId) {
        let (Some(manners), Some(held)) = (&self.manners, self.sites.get_mut(&site)) else { return };
        let delay = manners.min_delay().max(Duration::from_millis(4));
        let depth = usize::try_from(OFFERED_FOR.as_millis() / delay.as_millis()).unwrap_or(1).max(1);
        let room = depth.saturating_sub(held.offers() + held.wanted);
        // Do not ask for URLs one by one if a site uses many.
        if held.has_more && room > depth / 2 {
            held.wanted += room;
            self.outbox.push(ToWriter::WantOf(site, room));
        }
    }

    /// Requests more sites (or URLs, in a replay) from the writer for the slots that would stay empty.
    fn request_more(&mut self) {
        if self.is_closing() || self.is_paused {
            return;
        }
        let room = if self.is_polite() {
            // Unresolvable names and slow requests must not keep other sites out.
            let lookups = self.lookups.len().min(self.workers / 2);
            // Neither must sites that have never answered quickly and have no free slot.
            let (reserved, other) = (self.reserved(), self.jobs.count(Lane::Other));
            let free_other = self.workers.saturating_sub(2 * reserved + other);
            let free_unproven =
                self.workers.saturating_sub(reserved + other + self.jobs.count(Lane::Prepared));
            let [quick, prepared, others] = self.ready.each_ref().map(BTreeSet::len);
            let ready = quick + (prepared + others.min(free_other)).min(free_unproven);
            let at_hand = ready + lookups + self.jobs.in_slots();
            let free = (self.workers + self.workers / 4).saturating_sub(at_hand);
            let is_suspended = self.requests.is_suspended() || self.names.is_suspended();
            let most = if is_suspended { SITES_FOR_PROBES } else { MAX_SITES };
            // Fetch robots.txt only for sites whose pages can follow soon.
            let unprepared = (2 * self.workers).max(MIN_PREPARING).saturating_sub(self.preparing);
            free.min(most.saturating_sub(self.sites.len())).min(unprepared)
        } else {
            // A single worker takes the best URL when it is free. Several workers would have to wait for the writer,
            // so they prefetch.
            let ahead = if self.workers == 1 { 1 } else { 2 * self.workers };
            let is_any = self.ready.iter().any(|ready| !ready.is_empty());
            let offers: usize = if is_any { self.sites.values().map(Site::offers).sum() } else { 0 };
            ahead.saturating_sub(self.jobs.len() + offers)
        };
        let started_pages = self.started_pages.saturating_sub(self.jobs.late_pages());
        let left = usize::try_from(self.fetches.saturating_sub(started_pages)).unwrap_or(usize::MAX);
        let more = room.min(left).saturating_sub(self.wanted);
        if more > 0 && (more >= self.workers / 8 || self.wanted == 0) {
            self.wanted += more;
            self.outbox.push(ToWriter::Want(more));
        }
    }

    /// Whether the fetch limit is reached. Nothing else is requested then, not even robots.txt.
    fn is_closing(&self) -> bool {
        self.started_pages.saturating_sub(self.jobs.late_pages()) >= self.fetches
    }

    /// Reports at most once a second how many workers wait by choice.
    fn report_waiting(&mut self, now: Timestamp) {
        const OFTEN: Duration = Duration::from_secs(1);
        let is_any_ready = self.ready.iter().any(|ready| !ready.is_empty());
        let is_due = self.reported_waiting.is_none_or(|said| now.since(said) >= OFTEN);
        if self.min_priority == f64::NEG_INFINITY || self.is_paused || !is_any_ready || !is_due {
            return;
        }
        self.reported_waiting = Some(now);
        let under_way = self.jobs.in_slots();
        let is_good =
            |site: &SiteId| self.sites.get(site).is_some_and(|held| held.reaches(self.min_priority));
        let sites = self.resting.iter().filter(|(_, _, site)| is_good(site)).count();
        let workers = self.workers.saturating_sub(under_way);
        if workers > 0 && sites > 0 {
            self.outbox.push(ToWriter::Waiting { workers, sites });
        }
    }

    /// Reports that nothing is in flight and nothing can start without new work from the writer.
    fn report_idle(&mut self) {
        let is_waiting = || {
            self.lookups.len() > 0
                || self.sites.values().any(|held| held.aux_requests() > 0 || held.offers() > 0)
        };
        let is_doubtful = self.requests.is_open() || self.names.is_open();
        let is_idle = self.jobs.is_empty() && !is_doubtful && (self.is_closing() || !is_waiting());
        if is_idle && self.reported_idle != Some(self.messages_handled) {
            self.reported_idle = Some(self.messages_handled);
            self.outbox.push(ToWriter::Idle(self.messages_handled));
        } else if !is_idle {
            self.reported_idle = None;
        }
    }
}

/// The gates that a request to this URL at this address counts against.
fn gates(url: &CanonicalUrl, address: Option<IpAddr>) -> Vec<Gate> {
    let Some(address) = address else { return vec![Gate::Domain(domain_of(url))] };
    let mut gates = vec![Gate::Address(address), Gate::Domain(domain_of(url))];
    match address {
        // Loopback is not an address block of somebody else.
        address if address.is_loopback() => {}
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            gates.push(Gate::Block([4, a, b, c, 0, 0, 0, 0]));
        }
        IpAddr::V6(v6) => {
            let mut block = [0; 8];
            block.copy_from_slice(&v6.octets()[..8]);
            gates.push(Gate::Block(block));
        }
    }
    gates
}

fn domain_of(url: &CanonicalUrl) -> SiteId {
    SiteId::of(url.domain())
}
