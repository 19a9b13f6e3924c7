//! Failures whose cause is not known yet. It can be the site, the network in between, or this machine. See
//! [`outage`](crate::engine::outage).

use std::net::IpAddr;
use std::time::Duration;

use porthole_types::{CanonicalUrl, FailureKind, SiteId, Timestamp};

use super::lanes::{Job, Lane, Purpose};
use super::{Action, JobId, Network};
use crate::FetchError;
use crate::engine::manners::Manners;
use crate::engine::messages::ToWriter;
use crate::engine::outage::{Attempt, Blame};
use crate::engine::site::Address;
use crate::host::{HostAnswer, Turn};

/// Requests are known to get through if an answer arrived within this time.
const GETS_THROUGH: Duration = Duration::from_secs(5);

/// A failed request and how long it took.
pub(super) struct FailedRequest {
    pub(super) job: Job,
    pub(super) error: FetchError,
    pub(super) took: Duration,
}

/// A site that has answered: the URL of its robots.txt, its address, and whether it has delivered a page.
#[derive(Clone)]
pub(super) struct AnsweringSite {
    site: SiteId,
    robots: CanonicalUrl,
    address: Option<IpAddr>,
    has_page: bool,
}

impl Network {
    /// Whether an error may not be the site's fault.
    pub(super) fn is_doubtful(&self, error: &FetchError) -> bool {
        let is_unreached =
            matches!(error.kind, FailureKind::Dns | FailureKind::Connect | FailureKind::Timeout);
        self.doubts && (error.kind == FailureKind::Local || is_unreached && self.is_polite())
    }

    /// Settles failures about which nothing more will be learned, and announces an outage when it is due.
    pub(super) fn settle_doubts(&mut self, now: Timestamp) {
        if !self.requests.is_open() && !self.names.is_open() {
            return;
        }
        // While answers arrive, names that do not resolve are dead, however many they are.
        if now.since(self.last_answer) < GETS_THROUGH {
            let news = self.names.resume(self.next_job, now);
            self.outbox.extend(news.map(ToWriter::Outage));
        }
        // A site that delivered a page before and now fails with the others is as conclusive as a probe. One that has only
        // sent its robots.txt may never deliver a page.
        let fails =
            |answering: &AnsweringSite| answering.has_page && self.requests.is_in_doubt(answering.site);
        let is_proven = self.answering.iter().any(fails);
        let must_probe = !self.answering.is_empty() && !is_proven;
        if let Some((failed, news)) = self.requests.announce(must_probe, now) {
            self.outbox.push(ToWriter::Outage(news));
            failed.into_iter().for_each(|failed| self.excuse(failed, HostAnswer::Unknown, now));
        }
        if let Some((failed, news)) = self.names.announce(false, now) {
            self.outbox.push(ToWriter::Outage(news));
            failed.into_iter().for_each(|(site, _)| self.look_up_again(site, now));
        }
        let is_waiting = self.lookups.is_any_queued()
            || !self.resting.is_empty()
            || self.ready.iter().any(|ready| !ready.is_empty());
        let is_quiet = self.jobs.is_empty() && !self.lookups.is_any_under_way();
        let (requests, names) = if is_quiet && (!is_waiting || self.is_closing() || self.is_paused) {
            (self.requests.undecidable(), self.names.undecidable())
        } else {
            (self.requests.expired_doubts(now), self.names.expired_doubts(now))
        };
        requests.into_iter().for_each(|failed| self.fail(failed, now));
        names.into_iter().for_each(|(site, error)| self.unlocated(site, &error, now));
    }

    /// Undoes a failed request, as if it had not been sent.
    pub(super) fn excuse(&mut self, failed: FailedRequest, about_host: HostAnswer, now: Timestamp) {
        let FailedRequest { job: Job { purpose, site, flight, gates, .. }, took, .. } = failed;
        let held = self.sites.entry(site).or_default();
        held.in_flight = held.in_flight.saturating_sub(1);
        match purpose {
            Purpose::Page(work) => {
                self.started_pages = self.started_pages.saturating_sub(1);
                self.outbox.push(ToWriter::Unsent(Box::new(work.clone())));
                held.offer(work);
            }
            Purpose::Robots(fetch) => held.rules.push_front(fetch),
            Purpose::Sitemap(sitemap) => held.sitemaps.push_front((sitemap.url, sitemap.is_index_followed)),
            Purpose::Backlinks(question) => held.questions.push_front(question),
            Purpose::Probe(_) => {}
        }
        if let (Some(manners), Some(flight)) = (&mut self.manners, flight) {
            manners.hosts.finished(flight, about_host, took, now);
        }
        self.place(site, now);
        self.leave_gates(gates, now);
    }

    /// Handles a failure whose cause is unknown.
    pub(super) fn doubt(&mut self, id: JobId, failed: FailedRequest, now: Timestamp) {
        /// How long the number of requests stays reduced after one could not be sent while others were in flight.
        const CAUTION: Duration = Duration::from_secs(10);
        let (site, why) = (failed.job.site, failed.error.detail.clone());
        let is_ours = failed.error.kind == FailureKind::Local;
        if is_ours && !self.jobs.is_empty() {
            self.ceiling = Some((self.jobs.len(), now.after(CAUTION)));
        }
        let is_provable = !self.answering.is_empty();
        let attempt = Attempt { id, site, is_ours, is_provable, why: &why };
        match self.requests.failed(&attempt, failed, self.next_job, now) {
            Blame::Doubtful => {}
            Blame::Excused(failed) => {
                let is_outage = self.requests.is_suspended();
                let about_host = if is_ours && !is_outage { HostAnswer::Unsent } else { HostAnswer::Unknown };
                self.excuse(failed, about_host, now);
            }
            Blame::Own(failed) => self.fail(failed, now),
        }
    }

    /// Handles a failure that is the site's fault.
    pub(super) fn fail(&mut self, failed: FailedRequest, now: Timestamp) {
        let FailedRequest { job, error, took } = failed;
        self.finish(job, Err(error), took, now);
    }

    /// While only probes are sent: requests robots.txt from a site that answered before, if politeness permits.
    pub(super) fn next_probe(&mut self, now: Timestamp) -> Option<Action> {
        self.probe_due = None;
        if !self.requests.is_suspended() || !self.requests.may_begin(now) || self.is_paused {
            return None;
        }
        for at in 0..self.answering.len() {
            let AnsweringSite { site, robots, address, .. } = self.answering[at].clone();
            let address = match self.sites.get(&site).map(|held| held.address) {
                Some(Address::Known(known)) => known,
                _ => address,
            };
            let due = match self.turn_at(site, address, now) {
                Turn::Now => now,
                Turn::NotBefore(due) => due,
                // The site is busy only because the cause of its last failure is not settled.
                Turn::InFlight if !self.jobs.has_site(site) => match self.requests.doubted_at(site) {
                    Some(failed) => failed.after(self.min_delay()),
                    None => continue,
                },
                Turn::InFlight | Turn::GivenUp => continue,
            };
            if due <= now {
                // Probe another site next time.
                self.answering.rotate_left(at + 1);
                self.sites.entry(site).or_default().address = Address::Known(address);
                return Some(self.dispatch(site, Purpose::Probe(robots), None, now));
            }
            self.probe_due = self.probe_due.into_iter().chain(Some(due)).min();
        }
        // Otherwise the best ready site that has sent its robots.txt.
        let lanes = [Lane::Quick, Lane::Prepared].into_iter();
        let (_, site) = lanes.filter_map(|lane| self.ready[lane as usize].first()).min()?.clone();
        let robots = self.sites.get(&site)?.any_url()?.join("/robots.txt").ok()?;
        (self.turn(site, now) == Turn::Now).then(|| self.dispatch(site, Purpose::Probe(robots), None, now))
    }

    fn min_delay(&self) -> Duration {
        self.manners.as_ref().map_or(Duration::ZERO, Manners::min_delay)
    }

    /// Remembers a site that answered, as a target for probes.
    pub(super) fn note_answering(
        &mut self,
        site: SiteId,
        url: &CanonicalUrl,
        address: Option<IpAddr>,
        is_page: bool,
    ) {
        /// Number of sites to remember.
        const MOST: usize = 16;
        if let Some(known) = self.answering.iter_mut().find(|known| known.site == site) {
            known.has_page |= is_page;
        } else if self.answering.len() < MOST {
            let robots = url.join("/robots.txt").ok();
            let answering = |robots| AnsweringSite { site, robots, address, has_page: is_page };
            self.answering.extend(robots.map(answering));
        }
    }
}
