//! The window on the frontier: work that was taken and not yet fetched, site by site, so that every site gets its
//! requests one after the other and with the pauses that a guest owes it.
//!
//! It can be lost at any moment: the store queues again what was taken and not committed.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::io::{BufReader, Read};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use porthole_store::{StoreReader, Tried};
use porthole_types::{CanonicalUrl, Failure, FailureKind, NewUrl, Outcome, SiteId, Timestamp, UrlId, Work};

use crate::backlinks::Question;
use crate::host::{Flight, HostAnswer, Hosts, Politeness, Turn};
use crate::result::failed;
use crate::robots::{RobotsCache, RobotsFetch, RobotsLook, RobotsPolicy, RobotsStep, RobotsVerdict};
use crate::scope::Scope;
use crate::sitemap::{SitemapEntry, SitemapKind, read_sitemap};
use crate::traps::Traps;
use crate::{FetchError, Response};

/// How a crawl behaves towards the sites that it visits.
pub struct Guest {
    hosts: Hosts,
    /// `None` where there is nobody to ask: in a replay.
    robots: Option<RobotsCache>,
    scope: Arc<Scope>,
    /// `None` in a replay, which has an end.
    traps: Option<Traps>,
    /// Whether the traps of earlier runs are known.
    remembers: bool,
    /// Work that is held at most; with one worker and nobody to be polite to, just what is fetched next.
    capacity: Option<usize>,
}

/// Bytes of robots.txt rules that are kept.
const ROBOTS_BYTES: usize = 32 << 20;

/// Pages that near-duplicates are recognised among, 36 bytes each.
const FINGERPRINTS: usize = 1 << 20;

/// Work that is held while sites rest between requests.
const CAPACITY: usize = 4_096;

/// Of one site: a huge one must not fill the window.
const HELD_OF_A_SITE: usize = 64;

/// Work of huge sites that is looked past, to find other sites behind it.
const MOST_TOO_MANY: usize = 100_000;

/// A site that rests for longer gives its work back to the frontier.
const PATIENCE: Duration = Duration::from_secs(120);

impl Guest {
    /// Asks for robots.txt, in the name of `agent`, and leaves pauses.
    pub fn polite(politeness: Politeness, agent: &str) -> Self {
        let robots = Some(RobotsCache::new(agent, ROBOTS_BYTES));
        let traps = Some(Traps::new(FINGERPRINTS));
        Guest {
            hosts: Hosts::new(politeness),
            robots,
            scope: Arc::default(),
            traps,
            remembers: false,
            capacity: Some(CAPACITY),
        }
    }

    /// Asks nobody and waits for nothing: for recorded and synthetic webs.
    pub fn alone() -> Self {
        let hosts = Hosts::new(Politeness::off());
        Guest { hosts, robots: None, scope: Arc::default(), traps: None, remembers: false, capacity: None }
    }

    /// Looks out for traps: for webs without an end.
    pub fn wary(mut self) -> Self {
        self.traps = Some(Traps::new(FINGERPRINTS));
        self
    }

    /// Stays within a scope.
    pub fn within(mut self, scope: Scope) -> Self {
        self.scope = Arc::new(scope);
        self
    }

    pub(crate) fn scope(&self) -> Arc<Scope> {
        self.scope.clone()
    }

    /// Why a URL is not to be fetched, whatever its site says.
    fn refusal(&self, url: &CanonicalUrl, depth: u32, pages_of_site: u64) -> Option<Failure> {
        let why = self.scope.admits(url, depth, pages_of_site).err()?;
        Some(Failure::new(FailureKind::Scope, why.to_string()))
    }

    /// Why a URL that its site lets us fetch is not worth it.
    fn trap(&mut self, url: &CanonicalUrl, now: Timestamp) -> Option<Failure> {
        let trap = self.traps.as_mut()?.check(url, now)?;
        Some(Failure::new(FailureKind::Trap, trap.to_string()))
    }

    /// The pause that the site of a URL asks for, as far as it is known.
    fn crawl_delay(&mut self, url: &CanonicalUrl, now: Timestamp) -> Option<Duration> {
        match self.robots.as_mut()?.look(url, now) {
            RobotsLook::Known(policy) => policy.crawl_delay(),
            RobotsLook::Ask(_) => None,
        }
    }

    /// Knows the traps of earlier runs from what was tried then.
    pub(crate) fn remember(
        &mut self,
        next_seq: u64,
        store: &dyn StoreReader,
    ) -> Result<(), porthole_store::Error> {
        const AT_ONCE: usize = 4_096;
        let Some(traps) = self.traps.as_mut().filter(|_| !self.remembers) else { return Ok(()) };
        self.remembers = true;
        // More could not be kept in mind.
        let mut after = next_seq.checked_sub(FINGERPRINTS as u64 + 1);
        if next_seq == 0 {
            return Ok(());
        }
        loop {
            let tried = store.tried(after, AT_ONCE)?;
            let Some(last) = tried.last() else { return Ok(()) };
            after = Some(last.seq);
            let judged = |tried: &&Tried| !matches!(tried.failure.as_deref(), Some("scope" | "robots"));
            for tried in tried.iter().filter(judged) {
                if let Ok(url) = CanonicalUrl::parse(&tried.url) {
                    traps.replay(&url, tried.simhash, tried.at);
                }
            }
        }
    }

    /// Whether there is anybody to wait for.
    pub(crate) fn is_polite(&self) -> bool {
        self.capacity.is_some()
    }
}

/// See the module.
pub(crate) struct Window<'a> {
    guest: &'a mut Guest,
    sites: HashMap<SiteId, Site, foldhash::fast::FixedState>,
    held: usize,
    /// Requests that sites are still to be asked besides pages.
    errands: usize,
    /// Work of all sites that goes back.
    too_many: usize,
    /// Sites with work that goes back now, and work of sites that are no longer held.
    wanting: Vec<SiteId>,
    back: Vec<UrlId>,
    /// Sites whose turn it may be, in the order in which they came.
    ready: VecDeque<SiteId>,
    /// Sites that rest until then; among those that rest as long, the one whose last request is longest ago comes first,
    /// so that sites at one address take turns.
    resting: BTreeSet<(Timestamp, u64, SiteId)>,
    /// Requests so far.
    turns: u64,
    /// Sites with a request under way, or whose address has one.
    busy: HashSet<SiteId, foldhash::fast::FixedState>,
    /// Sites that wait for a request of another site at the same address.
    beside: HashMap<IpAddr, Vec<SiteId>>,
}

#[derive(Default)]
struct Site {
    work: VecDeque<Work>,
    /// Where it is, once that was asked; not every web has addresses.
    address: Address,
    /// Which request was its last.
    last_turn: u64,
    /// Pages that have come from it, or have been asked for.
    pages: u64,
    /// Rules to fetch from here: its own, or those of a site whose robots.txt redirects here.
    asking: VecDeque<RobotsFetch>,
    /// Its own rules are being asked for, here or elsewhere.
    is_asking: bool,
    /// It had its turn meanwhile, and gets another one when they are known.
    waits_for_rules: bool,
    /// Questions that it answers about pages elsewhere.
    questions: VecDeque<Question>,
    /// Sitemaps to read when there is no better work, and whether an index may lead on from there.
    sitemaps: VecDeque<(CanonicalUrl, bool)>,
    /// URLs that sitemaps brought.
    listed: usize,
    /// Taken from the frontier while there was enough work already; they go back when there no longer is.
    too_many: Vec<UrlId>,
}

#[derive(Clone, Copy, Default)]
enum Address {
    #[default]
    NotAsked,
    Asked(Option<IpAddr>),
}

/// A request to make.
pub(crate) struct Job {
    pub(crate) what: What,
    site: SiteId,
    flight: Flight,
    ip: Option<IpAddr>,
    started: Timestamp,
}

/// What a request is for.
pub(crate) enum What {
    Page(Work),
    Robots(RobotsFetch),
    Sitemap(CanonicalUrl, bool),
    Backlinks(Question),
}

impl Job {
    pub(crate) fn url(&self) -> &CanonicalUrl {
        match &self.what {
            What::Page(work) => &work.url,
            What::Robots(fetch) => fetch.url(),
            What::Sitemap(url, _) => url,
            What::Backlinks(question) => &question.url,
        }
    }
}

/// What is to be done next.
pub(crate) enum Next {
    /// To be fetched.
    Fetch(Job),
    /// Where the site is must be known first; [`Window::found`] takes the answer.
    Locate(SiteId, CanonicalUrl),
    /// Not to be fetched, or not now.
    Settled(Work, Outcome),
    /// Nothing, until something comes back or is due.
    Nothing,
}

impl<'a> Window<'a> {
    pub(crate) fn new(guest: &'a mut Guest) -> Self {
        Window {
            guest,
            sites: HashMap::default(),
            held: 0,
            errands: 0,
            too_many: 0,
            wanting: Vec::new(),
            back: Vec::new(),
            ready: VecDeque::new(),
            resting: BTreeSet::new(),
            turns: 0,
            busy: HashSet::default(),
            beside: HashMap::new(),
        }
    }

    /// How much work it takes, when so many requests can be started.
    pub(crate) fn room(&self, free: usize) -> usize {
        match self.guest.capacity {
            // Looking past huge sites has an end, too.
            Some(_) if self.too_many >= MOST_TOO_MANY => 0,
            Some(capacity) => capacity.saturating_sub(self.held).min(free.max(64)),
            None => free.saturating_sub(self.held),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.held == 0 && self.errands == 0 && self.too_many == 0
    }

    /// Work to be given back to the frontier: sites have room for it again.
    pub(crate) fn gives_back(&mut self) -> Vec<UrlId> {
        let mut back = std::mem::take(&mut self.back);
        for site in self.wanting.drain(..) {
            if let Some(held) = self.sites.get_mut(&site) {
                back.append(&mut held.too_many);
            }
        }
        self.too_many -= back.len();
        back
    }

    pub(crate) fn add(&mut self, work: Work) {
        let site = work.sid;
        let is_new = !self.sites.contains_key(&site);
        let held = self.sites.entry(site).or_default();
        if self.guest.capacity.is_some() && held.work.len() >= HELD_OF_A_SITE {
            held.too_many.push(work.oid);
            self.too_many += 1;
            return;
        }
        if is_new {
            held.pages = work.pages_of_site.into();
        }
        held.work.push_back(work);
        self.held += 1;
        if is_new && !self.busy.contains(&site) {
            self.ready.push_back(site);
        }
    }

    /// Has somebody asked about a page, when it is their turn.
    pub(crate) fn ask(&mut self, question: Question) {
        let site = question.url.site();
        let is_new = !self.sites.contains_key(&site);
        self.sites.entry(site).or_default().questions.push_back(question);
        self.errands += 1;
        if is_new && !self.busy.contains(&site) {
            self.ready.push_back(site);
        }
    }

    pub(crate) fn next(&mut self, now: Timestamp) -> Next {
        while let Some(&rested) = self.resting.first().filter(|(due, ..)| *due <= now) {
            self.resting.remove(&rested);
            self.ready.push_back(rested.2);
        }
        while let Some(site) = self.ready.pop_front() {
            let ip = match self.address(site) {
                Ok(ip) => ip,
                Err(url) => return Next::Locate(site, url),
            };
            match self.guest.hosts.may_start(site, ip, now) {
                Turn::Now => match self.start(site, now) {
                    Next::Nothing => {}
                    next => return next,
                },
                Turn::InFlight => {
                    self.busy.insert(site);
                    if let Some(ip) = ip {
                        self.beside.entry(ip).or_default().push(site);
                    }
                }
                Turn::NotBefore(due) if due.since(now) > PATIENCE => {
                    let failure = Failure::new(
                        FailureKind::Connect,
                        "the site is left alone for a while after failures",
                    );
                    return self.settle(site, Outcome::Retry { failure, not_before: due }, now);
                }
                Turn::NotBefore(due) => {
                    let last = self.sites.get(&site).map_or(0, |held| held.last_turn);
                    self.resting.insert((due, last, site));
                }
                Turn::GivenUp => {
                    let detail = "the site failed so often that it is left alone".to_owned();
                    let failure = Failure::new(FailureKind::Connect, detail);
                    return self.settle(site, Outcome::Dead(failure), now);
                }
            }
        }
        Next::Nothing
    }

    /// Where a site is, or a URL of it to find out with; until that is known the site is busy.
    fn address(&mut self, site: SiteId) -> Result<Option<IpAddr>, CanonicalUrl> {
        let Some(held) = self.sites.get_mut(&site) else { return Ok(None) };
        let url = held.asking.front().map(RobotsFetch::url).or(held.work.front().map(|work| &work.url));
        match (held.address, url) {
            (Address::Asked(ip), _) => Ok(ip),
            (Address::NotAsked, Some(url)) if self.guest.is_polite() => {
                self.busy.insert(site);
                Err(url.clone())
            }
            _ => Ok(None),
        }
    }

    /// The next request of a site whose turn it is.
    fn start(&mut self, site: SiteId, now: Timestamp) -> Next {
        let Some(held) = self.sites.get_mut(&site) else { return Next::Nothing };
        if let Some(fetch) = held.asking.pop_front() {
            self.errands -= 1;
            return self.fly(site, What::Robots(fetch), None, now);
        }
        if let Some(question) = held.questions.pop_front() {
            self.errands -= 1;
            return self.fly(site, What::Backlinks(question), None, now);
        }
        if held.is_asking {
            held.waits_for_rules = true;
            return Next::Nothing;
        }
        let Some(first) = held.work.front() else {
            if let Some((url, may_lead_on)) = held.sitemaps.pop_front() {
                self.errands -= 1;
                let crawl_delay = self.guest.crawl_delay(&url, now);
                return self.fly(site, What::Sitemap(url, may_lead_on), crawl_delay, now);
            }
            self.forget(site, now);
            return Next::Nothing;
        };
        if let Some(failure) = self.guest.refusal(&first.url, first.depth, held.pages) {
            return self.settle(site, Outcome::Skipped(failure), now);
        }
        let crawl_delay = match &mut self.guest.robots {
            None => None,
            Some(robots) => match robots.look(&first.url, now) {
                RobotsLook::Ask(fetch) => {
                    held.is_asking = true;
                    return self.fly(site, What::Robots(fetch), None, now);
                }
                RobotsLook::Known(policy) => match policy.verdict(&first.url) {
                    RobotsVerdict::Allowed => policy.crawl_delay(),
                    RobotsVerdict::Forbidden { rule } => {
                        let failure = Failure::new(FailureKind::Robots, rule);
                        return self.settle(site, Outcome::Skipped(failure), now);
                    }
                    RobotsVerdict::NotNow { until } => {
                        let outcome = without_rules(first, &policy, until, now);
                        return self.settle(site, outcome, now);
                    }
                },
            },
        };
        if let Some(failure) = self.guest.trap(&first.url, now) {
            return self.settle(site, Outcome::Skipped(failure), now);
        }
        let Some(work) = self.pop(site) else { return Next::Nothing };
        self.fly(site, What::Page(work), crawl_delay, now)
    }

    fn fly(&mut self, site: SiteId, what: What, crawl_delay: Option<Duration>, now: Timestamp) -> Next {
        self.turns += 1;
        let ip = self.sites.get_mut(&site).and_then(|held| {
            held.last_turn = self.turns;
            held.pages += u64::from(matches!(what, What::Page(_)));
            match held.address {
                Address::Asked(ip) => ip,
                Address::NotAsked => None,
            }
        });
        let flight = self.guest.hosts.started(site, ip, crawl_delay);
        // Whether it may have a second request under way is for its politeness to say.
        self.ready.push_back(site);
        Next::Fetch(Job { what, site, flight, ip, started: now })
    }

    /// A site's next work, decided without a request; the site stays where it is in the order.
    fn settle(&mut self, site: SiteId, outcome: Outcome, now: Timestamp) -> Next {
        self.ready.push_front(site);
        match self.pop(site) {
            Some(work) => Next::Settled(work, outcome),
            None => {
                self.ready.pop_front();
                self.forget(site, now);
                Next::Nothing
            }
        }
    }

    /// A site without work is no longer held, and what it was still to be asked is not asked.
    fn forget(&mut self, site: SiteId, now: Timestamp) {
        let Some(held) = self.sites.remove(&site) else { return };
        self.errands -= held.sitemaps.len() + held.asking.len() + held.questions.len();
        self.back.extend(held.too_many);
        // Others must not wait for it.
        for fetch in held.asking {
            let detail = "its robots.txt leads to a site that is left alone".to_owned();
            let error = FetchError { url: fetch.url().clone(), kind: FailureKind::Connect, detail };
            self.robots_answered(fetch, Err(&error), now);
        }
    }

    fn pop(&mut self, site: SiteId) -> Option<Work> {
        let held = self.sites.get_mut(&site)?;
        let work = held.work.pop_front()?;
        self.held -= 1;
        if held.work.len() == HELD_OF_A_SITE / 2 && !held.too_many.is_empty() {
            self.wanting.push(site);
        }
        Some(work)
    }

    /// Takes note of a page: places that yield nothing but copies are left alone.
    pub(crate) fn read(&mut self, url: &CanonicalUrl, simhash: u64) {
        if let Some(traps) = &mut self.guest.traps {
            traps.page(url, simhash);
        }
    }

    /// Judges a redirect: why it leads no further.
    pub(crate) fn redirected(&mut self, from: &CanonicalUrl, to: &CanonicalUrl) -> Option<Failure> {
        let trap = self.guest.traps.as_mut()?.redirected(from, to)?;
        Some(Failure::new(FailureKind::Trap, trap.to_string()))
    }

    /// Takes where a site is.
    pub(crate) fn found(&mut self, site: SiteId, ip: Option<IpAddr>) {
        if let Some(held) = self.sites.get_mut(&site) {
            held.address = Address::Asked(ip);
        }
        if self.busy.remove(&site) {
            self.ready.push_back(site);
        }
    }

    /// Takes an answer.
    pub(crate) fn finished(
        &mut self,
        job: Job,
        answer: Result<Response, FetchError>,
        now: Timestamp,
    ) -> Finished {
        let Job { what, site, mut flight, ip, started } = job;
        let about_host = HostAnswer::of(answer.as_ref(), now);
        let took = answer.as_ref().map_or(now.since(started), |response| response.took);
        let finished = match (what, answer) {
            (What::Page(work), answer) => Finished::Page(work, answer),
            (What::Robots(fetch), answer) => {
                let is_own = fetch.site() == site;
                let crawl_delay = self.robots_answered(fetch, answer.as_ref(), now);
                flight = flight.with_crawl_delay(crawl_delay.filter(|_| is_own));
                Finished::Errand
            }
            (What::Sitemap(url, may_lead_on), Ok(response)) => {
                Finished::Listed(self.sitemap_answered(site, &url, may_lead_on, &response))
            }
            (What::Backlinks(question), Ok(response)) => Finished::Listed(question.answered(&response)),
            (What::Sitemap(..) | What::Backlinks(_), Err(_)) => Finished::Errand,
        };
        self.guest.hosts.finished(flight, about_host, took, now);
        let beside = ip.and_then(|ip| self.beside.remove(&ip)).unwrap_or_default();
        for site in [site].into_iter().chain(beside) {
            if self.busy.remove(&site) {
                self.ready.push_back(site);
            }
        }
        finished
    }

    /// Takes an answer about the rules of a site, wherever it comes from. The Crawl-delay that they ask for.
    fn robots_answered(
        &mut self,
        fetch: RobotsFetch,
        answer: Result<&Response, &FetchError>,
        now: Timestamp,
    ) -> Option<Duration> {
        let robots = self.guest.robots.as_mut()?;
        let (at, site) = (fetch.url().clone(), fetch.site());
        let policy = match robots.answered(fetch, answer, now) {
            RobotsStep::Done(policy) => policy,
            RobotsStep::Fetch(next) => {
                // It waits for its turn there, whoever sends us.
                let there = next.url().site();
                let is_new = !self.sites.contains_key(&there);
                let held = self.sites.entry(there).or_default();
                held.asking.push_back(next);
                self.errands += 1;
                let has_no_place = std::mem::take(&mut held.waits_for_rules) || is_new;
                if has_no_place && !self.busy.contains(&there) {
                    self.ready.push_back(there);
                }
                return None;
            }
        };
        let held = self.sites.entry(site).or_default();
        held.is_asking = false;
        if std::mem::take(&mut held.waits_for_rules) {
            self.ready.push_back(site);
        }
        let named = policy.sitemaps().filter_map(|url| at.join(url).ok());
        // One that lies elsewhere is for the pauses of another site.
        for url in named.filter(|url| url.site() == site).take(SITEMAPS) {
            held.sitemaps.push_back((url, true));
            self.errands += 1;
        }
        policy.crawl_delay()
    }

    /// The URLs that a sitemap lists, for the end of the queue: nobody has judged a page that leads to them.
    fn sitemap_answered(
        &mut self,
        site: SiteId,
        url: &CanonicalUrl,
        may_lead_on: bool,
        response: &Response,
    ) -> Vec<NewUrl> {
        let mut found = Vec::new();
        if response.status != 200 {
            return found;
        }
        let held = self.sites.entry(site).or_default();
        let (room, mut more) = (LISTED.saturating_sub(held.listed), Vec::new());
        let mut take = |entry: SitemapEntry| match entry.kind {
            _ if entry.url.site() != site => {}
            SitemapKind::Page if found.len() < room => {
                found.push(NewUrl { url: entry.url, relevance: 0.0, priority: LISTED_PRIORITY, depth: 1 });
            }
            SitemapKind::Sitemap if may_lead_on && more.len() < SITEMAPS => more.push((entry.url, false)),
            _ => {}
        };
        if response.body.starts_with(&[0x1f, 0x8b]) {
            let unpacked = flate2::read::MultiGzDecoder::new(&response.body[..]).take(SITEMAP_BYTES);
            read_sitemap(BufReader::new(unpacked), url, &mut take);
        } else {
            read_sitemap(&response.body[..], url, &mut take);
        }
        held.listed += found.len();
        self.errands += more.len();
        held.sitemaps.extend(more);
        found
    }
}

/// What becomes of work at a site whose rules cannot be had: what keeps us from them mostly keeps us from its pages.
fn without_rules(work: &Work, policy: &RobotsPolicy, until: Timestamp, now: Timestamp) -> Outcome {
    let (kind, detail) = match policy.trouble() {
        Some(trouble) if trouble.kind != FailureKind::Status => (trouble.kind, trouble.detail().to_owned()),
        Some(trouble) => (FailureKind::Robots, trouble.detail().to_owned()),
        None => (FailureKind::Robots, "its robots.txt cannot be read".to_owned()),
    };
    let passing =
        matches!(kind, FailureKind::Dns | FailureKind::Connect | FailureKind::Timeout | FailureKind::Robots);
    match failed(work, now, passing, Failure::new(kind, detail)) {
        Outcome::Retry { failure, .. } => Outcome::Retry { failure, not_before: until },
        outcome => outcome,
    }
}

/// What came of a request.
pub(crate) enum Finished {
    /// An answer for a page.
    Page(Work, Result<Response, FetchError>),
    /// URLs that a sitemap lists, or that are said to link to a page.
    Listed(Vec<NewUrl>),
    /// Something that only the window needs to know.
    Errand,
}

/// Sitemaps that are read of one site, or of one index.
const SITEMAPS: usize = 5;

/// URLs that are taken from the sitemaps of one site: a focused crawl wants a foot in the door, not all of it.
const LISTED: usize = 1_000;

/// Below whatever a strategy says of a link that was seen.
const LISTED_PRIORITY: f64 = -1.0;

/// Bytes of a sitemap after decompression.
const SITEMAP_BYTES: u64 = 50 << 20;
