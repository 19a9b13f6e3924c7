//! The network half: whose turn it is, what robots.txt allows, and which requests are under way.
//!
//! A state machine without I/O: a driver hands in messages and answers together with the time, carries out the
//! [`Action`]s, and passes the messages in [`Network::outbox`] on. Every site is in one [`Phase`] at a time, and
//! [`Network::place`] is the one function that decides which. A URL is bound when its site's turn comes: until then a
//! better one of the same site takes its place.
//!
//! No few sites can stop the many: address look-ups have slots of their own, requests that take long leave their slot
//! for a limited slow lane, sites that have not answered get half of the slots at most and those that have not brought a
//! page quickly three quarters, and so many requests at most go to one domain or one block of addresses. `lanes` has the
//! requests under way, `lookups` finds addresses, `rules` reads robots.txt and sitemaps, `doubts` says who is to blame for
//! a failure.

mod doubts;
mod lanes;
mod lookups;
mod rules;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use porthole_types::{CanonicalUrl, Failure, FailureKind, Outcome, Rank, SiteId, Timestamp, Work};

use self::doubts::{AnsweringSite, FailedRequest};
pub(super) use self::lanes::Lane;
use self::lanes::{Job, Jobs, What};
use self::lookups::Lookups;
use self::rules::refused;
use super::manners::Manners;
use super::messages::{ToNetwork, ToWriter};
use super::outage::Reachability;
use super::site::{Address, Phase, Site};
use crate::host::{Flight, HostAnswer, Turn};
use crate::reading::Unread;
use crate::robots::{RobotsLook, RobotsVerdict};
use crate::sitemap::Sitemap;
use crate::{FetchError, Response};

/// What a driver is to do.
pub(crate) enum Action {
    /// Make a request; [`Network::answered`] takes the answer.
    Fetch(JobId, CanonicalUrl, Option<IpAddr>),
    /// Look up a site's addresses; [`Network::located`] takes the answer.
    Locate(SiteId, CanonicalUrl),
    /// Give a request up that is under way; its answer is a timeout.
    Abort(JobId),
}

/// Names a request while it is under way; the later it began the larger.
pub(crate) type JobId = u64;

/// What several sites may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Gate {
    Address(IpAddr),
    /// A /24, or a /64 of version 6.
    Block([u8; 8]),
    /// A registrable domain, hashed.
    Domain(SiteId),
}

/// Sites that are in memory at a time. Beyond that none is asked for until one is released.
const MAX_SITES: usize = 4_096;

/// Sites that may rest between their robots.txt and their first page: so many, or two a worker if that is more.
const LEAST_PREPARING: usize = 16;

/// Sites that are wanted while only probes are made.
const SITES_FOR_PROBES: usize = 64;

/// A site that answers within this time is a good one to have a slot.
const QUICK: Duration = Duration::from_secs(2);

/// A site that rests for longer is released.
const MAX_REST: Duration = Duration::from_secs(120);

/// How long it takes until the links of an answer are offered.
const READ_WITHIN: Duration = Duration::from_secs(1);

/// URLs that are offered of a site suffice for so long.
const OFFERED_FOR: Duration = Duration::from_millis(250);

/// See the module.
pub(crate) struct Network {
    /// `None` in a replay: there is nobody to be polite to.
    manners: Option<Manners>,
    reads_sitemaps: bool,
    workers: usize,
    /// Pages that may be fetched in all, and those that were begun.
    fetches: u64,
    begun: u64,
    is_paused: bool,
    /// URLs of a lower priority wait as long as sites with better ones rest.
    least: f64,
    sites: HashMap<SiteId, Site, foldhash::fast::FixedState>,
    /// Sites whose turn it is, by lane.
    ready: [BTreeSet<(Rank, SiteId)>; 3],
    resting: BTreeSet<(Timestamp, u64, SiteId)>,
    /// Those of them whose rules came last: a first page is next.
    preparing: usize,
    /// Who waits for a request to end that passed this gate.
    waiting: HashMap<Gate, Vec<SiteId>>,
    /// Requests under way by gate.
    passed: HashMap<Gate, usize>,
    lookups: Lookups,
    jobs: Jobs,
    next_job: JobId,
    /// Whether requests get through, and names are found.
    requests: Reachability<FailedRequest>,
    names: Reachability<(SiteId, FetchError)>,
    /// Some sites that have answered: they are asked whether anything gets through.
    answering: VecDeque<AnsweringSite>,
    /// When the first of them may be asked again, if one is to be.
    probe_due: Option<Timestamp>,
    /// Whether failures are kept until it is known whose they are.
    doubts: bool,
    /// No more requests at once than this until then, for want of file descriptors or the like.
    ceiling: Option<(usize, Timestamp)>,
    /// Sites or URLs that were asked for and have not come.
    wanted: usize,
    heard: u64,
    /// When the last answer came.
    last_answer: Timestamp,
    said_waiting: Option<Timestamp>,
    said_idle: Option<u64>,
    aborts: Vec<JobId>,
    /// For the writer half.
    pub(crate) outbox: Vec<ToWriter>,
}

impl Network {
    pub(crate) fn new(manners: Option<Manners>) -> Self {
        Network {
            manners,
            reads_sitemaps: true,
            workers: 1,
            fetches: 0,
            begun: 0,
            is_paused: false,
            least: f64::NEG_INFINITY,
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
            heard: 0,
            last_answer: Timestamp(i64::MIN),
            said_waiting: None,
            said_idle: None,
            aborts: Vec::new(),
            outbox: Vec::new(),
        }
    }

    /// The same for a list of pages: it does not look for more URLs than it is given, and every failure is told at once.
    pub(crate) fn for_a_list(self) -> Self {
        Network { reads_sitemaps: false, doubts: false, ..self }
    }

    pub(crate) fn into_manners(self) -> Option<Manners> {
        self.manners
    }

    pub(crate) fn is_polite(&self) -> bool {
        self.manners.is_some()
    }

    /// Takes a message of the writer half.
    pub(crate) fn hear(&mut self, message: ToNetwork, now: Timestamp) {
        self.heard += 1;
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
            ToNetwork::Least(least) => self.least = least,
            ToNetwork::Pause(is_paused) => self.is_paused = is_paused,
        }
    }

    /// What is to be done next; `None` until something comes back, is heard, or is due.
    pub(crate) fn next(&mut self, now: Timestamp) -> Option<Action> {
        if let Some(job) = self.aborts.pop() {
            return Some(Action::Abort(job));
        }
        if self.is_polite() {
            self.aborts.extend(self.jobs.tidy(self.workers, now));
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
        self.want();
        self.say_waiting(now);
        self.say_idle();
        self.aborts.pop().map(Action::Abort)
    }

    /// When something is due by itself.
    pub(crate) fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        let is_full = self.jobs.len() + 2 * self.reserved() >= self.workers || self.begun >= self.fetches;
        let rested = self.resting.first().map(|&(due, ..)| due);
        let is_gated = self.least > f64::NEG_INFINITY && self.ready.iter().any(|ready| !ready.is_empty());
        let read = self.last_answer.after(READ_WITHIN);
        let is_awaited = is_gated && self.jobs.is_empty() && self.last_answer.0 > i64::MIN;
        rested
            .into_iter()
            // One that is due already waits for something else: a site to probe, or the end of a probe.
            .chain(self.probe_due.filter(|due| *due > now))
            .chain(self.requests.next_due().into_iter().chain(self.names.next_due()).filter(|due| *due > now))
            .chain(self.jobs.next_tidy().filter(|_| is_full || is_gated))
            .chain(Some(read).filter(|read| is_awaited && *read > now))
            .min()
    }

    /// Decides all that is offered of a site without a request.
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

    /// Nothing else is asked of a site that cannot be asked. Others must not wait for its rules.
    fn drop_aux(&mut self, site: SiteId, error: &FetchError, now: Timestamp) {
        let Some(held) = self.sites.get_mut(&site) else { return };
        held.questions.clear();
        held.sitemaps.clear();
        for fetch in std::mem::take(&mut held.rules) {
            self.rules_answered(fetch, Err(error), now);
        }
    }

    /// Takes an answer.
    pub(crate) fn answered(&mut self, id: JobId, answer: Result<Response, FetchError>, now: Timestamp) {
        let Some(job) = self.jobs.remove(id) else { return };
        let took = answer.as_ref().map_or(now.since(job.started), |response| response.took);
        match answer {
            Err(error) if self.is_doubtful(&error) => self.doubt(id, FailedRequest { job, error, took }, now),
            answer => {
                let (failed, news) = self.requests.answered(id, self.next_job, now);
                self.outbox.extend(news.map(ToWriter::Outage));
                self.last_answer = now;
                let url = match &job.what {
                    What::Page(work) => Some((work.url.clone(), true)),
                    What::Robots(fetch) => Some((fetch.url().clone(), false)),
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

    /// Does what follows from an answer.
    fn finish(&mut self, job: Job, answer: Result<Response, FetchError>, took: Duration, now: Timestamp) {
        let Job { what, site, mut flight, gates, .. } = job;
        let about_host = HostAnswer::of(answer.as_ref(), now);
        if let Some(held) = self.sites.get_mut(&site) {
            held.in_flight -= 1;
            // Of several addresses another one may work.
            if matches!(&answer, Err(error) if error.kind == FailureKind::Connect) && held.in_flight == 0 {
                held.address = Address::Unknown;
                held.connect_failures += 1;
            }
        }
        match (what, answer) {
            (What::Page(work), answer) => {
                let is_quick = answer.is_ok() && took <= QUICK;
                self.change_site(site, |held| (held.is_quick, held.is_proven) = (is_quick, is_quick));
                self.outbox.push(ToWriter::Answered(Box::new(Unread { work, answer, at: now })));
            }
            (What::Robots(fetch), answer) => {
                let is_own = fetch.site() == site;
                if is_own && answer.is_ok() {
                    self.change_site(site, |held| held.is_preparing = true);
                }
                let crawl_delay = self.rules_answered(fetch, answer.as_ref(), now);
                flight = flight.map(|flight| flight.with_crawl_delay(crawl_delay.filter(|_| is_own)));
            }
            (What::Sitemap(sitemap), Ok(response)) => self.sitemap_answered(site, &sitemap, &response),
            (What::Backlinks(question), Ok(response)) => {
                self.outbox.push(ToWriter::Listed(question.answered(&response)));
            }
            (What::Sitemap(..) | What::Backlinks(_), Err(_)) | (What::Probe(_), _) => {}
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

    /// Slots that are kept for sites that answer quickly.
    fn reserved(&self) -> usize {
        if self.is_polite() && self.workers >= 8 { self.workers / 4 } else { 0 }
    }

    /// Whether there is a slot for another request in a lane of sites.
    fn has_slot(&self, lane: Lane) -> bool {
        let (reserved, other) = (self.reserved(), self.jobs.count(Lane::Other));
        let unproven = self.jobs.count(Lane::Prepared) + other;
        self.jobs.in_slots() < self.workers
            && (lane == Lane::Quick || unproven + reserved < self.workers)
            && (lane != Lane::Other || other + 2 * reserved < self.workers)
    }

    /// Changes what is known of a site, which may change its lane.
    fn change_site(&mut self, site: SiteId, change: impl FnOnce(&mut Site)) {
        let Some(held) = self.sites.get_mut(&site) else { return };
        let before = (held.lane(), held.is_preparing);
        change(held);
        let after = (held.lane(), held.is_preparing);
        match &held.phase {
            // While it is ready, it is among those of its lane.
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

    /// The best of the sites whose turn it is, if there is a slot for it.
    fn next_ready(&mut self, now: Timestamp) -> Option<SiteId> {
        if self.is_paused || self.is_closing() || !self.requests.may_begin(now) {
            return None;
        }
        if self.ceiling.is_some_and(|(most, until)| now < until && self.jobs.len() >= most) {
            return None;
        }
        // If nobody has ever answered, any site is a probe.
        let is_suspended = self.requests.is_suspended();
        if is_suspended && !self.answering.is_empty() {
            return None;
        }
        let best = |lane: Lane| self.ready[lane as usize].first();
        let lanes = Lane::OF_SITES.into_iter().filter(|lane| is_suspended || self.has_slot(*lane));
        let lane = lanes.filter(|lane| best(*lane).is_some()).min_by_key(|lane| best(*lane))?;
        let entry = if is_suspended { best(lane)? } else { self.worth_it(lane, now)? }.clone();
        self.ready[lane as usize].remove(&entry);
        let (_, site) = entry;
        if let Some(held) = self.sites.get_mut(&site) {
            held.phase = Phase::Idle;
        }
        Some(site)
    }

    /// The best of the ready sites that is worth a request; the best of all if there is nothing better to wait for.
    fn worth_it(&self, lane: Lane, now: Timestamp) -> Option<&(Rank, SiteId)> {
        /// Sites that are looked at: the order is that of the policy, which need not be that of priorities.
        const MOST: usize = 64;
        let ready = &self.ready[lane as usize];
        let first = ready.first()?;
        if self.least == f64::NEG_INFINITY {
            return Some(first);
        }
        let is_worth = |site: &SiteId| self.sites.get(site).is_none_or(|held| held.is_worth(self.least));
        let found = ready.iter().take(MOST).find(|(_, site)| is_worth(site));
        // Nobody waits for a site that has not brought a page quickly: it may never do so.
        let is_proven = |site: &SiteId| self.sites.get(site).is_some_and(|held| held.is_proven);
        // An answer may bring better links, and takes a moment to be read.
        let waits_for_better = || {
            self.jobs.expects_quick()
                || now < self.last_answer.after(READ_WITHIN)
                || self.resting.iter().any(|(_, _, site)| is_proven(site) && is_worth(site))
        };
        found.or_else(|| (!waits_for_better()).then_some(first))
    }

    /// Begins the next request of a site whose turn it is. `None` if it has another place now.
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
                return Some(self.dispatch(site, What::Robots(fetch), None, now));
            }
            if let Some(question) = held.questions.pop_front() {
                return Some(self.dispatch(site, What::Backlinks(question), None, now));
            }
            return self.start_page(site, now);
        }
        if let Some(question) = held.questions.pop_front() {
            return Some(self.dispatch(site, What::Backlinks(question), None, now));
        }
        self.start_page(site, now)
    }

    fn start_page(&mut self, site: SiteId, now: Timestamp) -> Option<Action> {
        let may_fetch = !self.is_closing();
        let held = self.sites.get_mut(&site)?;
        let Some(url) = held.best().filter(|_| may_fetch).map(|work| work.url.clone()) else {
            let (url, leads_on) = held.sitemaps.pop_front()?;
            let crawl_delay = self.crawl_delay(&url, now);
            return Some(self.dispatch(site, What::Sitemap(Sitemap { url, leads_on }), crawl_delay, now));
        };
        let mut crawl_delay = None;
        if let Some(manners) = &mut self.manners {
            match manners.robots.look(&url, now) {
                RobotsLook::Ask(fetch) => {
                    held.asks_rules = true;
                    return Some(self.dispatch(site, What::Robots(fetch), None, now));
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
        self.begun += 1;
        self.outbox.push(ToWriter::Started(work.oid));
        let action = self.dispatch(site, What::Page(work), crawl_delay, now);
        self.refill(site);
        Some(action)
    }

    /// Has a request made.
    fn dispatch(
        &mut self,
        site: SiteId,
        what: What,
        crawl_delay: Option<Duration>,
        now: Timestamp,
    ) -> Action {
        let url = match &what {
            What::Page(work) => &work.url,
            What::Robots(fetch) => fetch.url(),
            What::Sitemap(sitemap) => &sitemap.url,
            What::Backlinks(question) => &question.url,
            What::Probe(url) => url,
        }
        .clone();
        let id = self.next_job;
        self.next_job += 1;
        self.requests.began(id);
        let held = self.sites.entry(site).or_default();
        held.in_flight += 1;
        held.last_turn = id;
        let lane = held.lane();
        held.is_preparing &= !matches!(what, What::Page(_));
        let address = match held.address {
            Address::Known(address) => address,
            Address::Unknown => None,
        };
        let gates = if self.manners.is_some() { gates(&url, address) } else { Vec::new() };
        for &gate in &gates {
            *self.passed.entry(gate).or_default() += 1;
        }
        let flight = self.manners.as_mut().map(|manners| manners.hosts.started(site, address, crawl_delay));
        self.jobs.insert(id, Job { what, site, flight, gates, started: now, lane });
        self.place(site, now);
        Action::Fetch(id, url, address)
    }

    /// Gives a site the place that follows from what is known of it.
    fn place(&mut self, site: SiteId, now: Timestamp) {
        let Some(held) = self.sites.get(&site) else { return };
        let phase = match (&held.phase, held.rank()) {
            // It comes back by itself.
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
                    return self.rest_long(site, due, now);
                }
                Turn::NotBefore(due) => Phase::Resting(due, self.sites[&site].last_turn),
            },
        };
        self.set_phase(site, phase);
    }

    /// Takes a site out of where it is and puts it where a phase belongs.
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

    /// The first of the site's gates that as many requests have passed as may.
    fn closed_gate(&self, site: SiteId) -> Option<Gate> {
        let held = self.sites.get(&site)?;
        let Address::Known(address) = held.address else { return None };
        let most = (self.workers / 4).max(8);
        let is_closed = |gate: &Gate| {
            !matches!(gate, Gate::Address(_)) && self.passed.get(gate).is_some_and(|count| *count >= most)
        };
        gates(held.any_url()?, address).into_iter().find(is_closed)
    }

    /// A site that is to be left alone for long: its URLs go back, and so does what others asked of it.
    fn rest_long(&mut self, site: SiteId, until: Timestamp, now: Timestamp) {
        self.set_phase(site, Phase::Idle);
        let Some(held) = self.sites.get_mut(&site) else { return };
        let back: Vec<_> = held.take_offers().iter().map(|work| work.oid).collect();
        if let Some(url) = held.rules.front().map(|fetch| fetch.url().clone()) {
            let detail = "its robots.txt leads to a site that is left alone".to_owned();
            self.drop_aux(site, &FetchError { url, kind: FailureKind::Connect, detail }, now);
        }
        self.outbox.push(ToWriter::GaveBack(back));
        self.release(site, Some(until));
    }

    /// A site that failed so often that its URLs are given up.
    fn give_up(&mut self, site: SiteId, now: Timestamp) {
        let detail = "the site failed so often that it is left alone";
        self.settle_all(site, |_| Outcome::Dead(Failure::new(FailureKind::Connect, detail)));
        let url = self.sites.get(&site).and_then(|held| held.any_url().cloned());
        if let Some(url) = url {
            let error = FetchError { url, kind: FailureKind::Connect, detail: detail.to_owned() };
            self.drop_aux(site, &error, now);
        }
    }

    /// Forgets a site, once nothing of it is under way.
    fn release(&mut self, site: SiteId, until: Option<Timestamp>) {
        if self.sites.get(&site).is_some_and(|held| held.in_flight == 0 && held.aux_requests() == 0) {
            self.sites.remove(&site);
        }
        if self.is_polite() {
            self.outbox.push(ToWriter::Release(site, until));
        }
    }

    /// Asks for as many URLs of a site as it can use until an answer comes.
    fn refill(&mut self, site: SiteId) {
        let (Some(manners), Some(held)) = (&self.manners, self.sites.get_mut(&site)) else { return };
        let delay = manners.min_delay().max(Duration::from_millis(4));
        let depth = usize::try_from(OFFERED_FOR.as_millis() / delay.as_millis()).unwrap_or(1).max(1);
        let room = depth.saturating_sub(held.offers() + held.wanted);
        // Not one by one where many are used.
        if held.has_more && room > depth / 2 {
            held.wanted += room;
            self.outbox.push(ToWriter::WantOf(site, room));
        }
    }

    /// Asks for as many sites, or URLs, as there are slots that nothing is there for.
    fn want(&mut self) {
        if self.is_closing() || self.is_paused {
            return;
        }
        let room = if self.is_polite() {
            // Names that nobody answers for must not keep other sites out, and neither must slow requests.
            let lookups = self.lookups.len().min(self.workers / 2);
            // Nor must those that have not answered yet and have no slot.
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
            // robots.txt is asked for when pages can follow soon, not of all sites at once.
            let unprepared = (2 * self.workers).max(LEAST_PREPARING).saturating_sub(self.preparing);
            free.min(most.saturating_sub(self.sites.len())).min(unprepared)
        } else {
            // One worker takes what is best when it is free; many would wait for the writer.
            let ahead = if self.workers == 1 { 1 } else { 2 * self.workers };
            let is_any = self.ready.iter().any(|ready| !ready.is_empty());
            let offers: usize = if is_any { self.sites.values().map(Site::offers).sum() } else { 0 };
            ahead.saturating_sub(self.jobs.len() + offers)
        };
        let begun = self.begun.saturating_sub(self.jobs.late_pages());
        let left = usize::try_from(self.fetches.saturating_sub(begun)).unwrap_or(usize::MAX);
        let more = room.min(left).saturating_sub(self.wanted);
        if more > 0 && (more >= self.workers / 8 || self.wanted == 0) {
            self.wanted += more;
            self.outbox.push(ToWriter::Want(more));
        }
    }

    /// Whether as many pages were begun as may be: nothing else is asked for, not even robots.txt.
    fn is_closing(&self) -> bool {
        self.begun.saturating_sub(self.jobs.late_pages()) >= self.fetches
    }

    /// Says how many workers wait by choice, once a second.
    fn say_waiting(&mut self, now: Timestamp) {
        const OFTEN: Duration = Duration::from_secs(1);
        let is_any_ready = self.ready.iter().any(|ready| !ready.is_empty());
        let is_due = self.said_waiting.is_none_or(|said| now.since(said) >= OFTEN);
        if self.least == f64::NEG_INFINITY || self.is_paused || !is_any_ready || !is_due {
            return;
        }
        self.said_waiting = Some(now);
        let under_way = self.jobs.in_slots();
        let is_good = |site: &SiteId| self.sites.get(site).is_some_and(|held| held.is_worth(self.least));
        let sites = self.resting.iter().filter(|(_, _, site)| is_good(site)).count();
        let workers = self.workers.saturating_sub(under_way);
        if workers > 0 && sites > 0 {
            self.outbox.push(ToWriter::Waiting { workers, sites });
        }
    }

    /// Says that nothing is under way and nothing will be, unless the writer has more.
    fn say_idle(&mut self) {
        let is_waiting = || {
            self.lookups.len() > 0
                || self.sites.values().any(|held| held.aux_requests() > 0 || held.offers() > 0)
        };
        let is_doubtful = self.requests.is_open() || self.names.is_open();
        let is_idle = self.jobs.is_empty() && !is_doubtful && (self.is_closing() || !is_waiting());
        if is_idle && self.said_idle != Some(self.heard) {
            self.said_idle = Some(self.heard);
            self.outbox.push(ToWriter::Idle(self.heard));
        } else if !is_idle {
            self.said_idle = None;
        }
    }
}

/// What a request to this URL at this address passes.
fn gates(url: &CanonicalUrl, address: Option<IpAddr>) -> Vec<Gate> {
    let Some(address) = address else { return vec![Gate::Domain(domain_of(url))] };
    let mut gates = vec![Gate::Address(address), Gate::Domain(domain_of(url))];
    match address {
        // The crawler's own machine is nobody's block.
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
