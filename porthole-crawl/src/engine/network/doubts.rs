//! Failures whose cause is not known yet: the site's, that of the way to it, or our own
//! ([`outage`](crate::engine::outage)).

use std::net::IpAddr;
use std::time::Duration;

use porthole_types::{CanonicalUrl, FailureKind, SiteId, Timestamp};

use super::lanes::{Job, Lane, What};
use super::{Action, JobId, Network};
use crate::FetchError;
use crate::engine::manners::Manners;
use crate::engine::messages::ToWriter;
use crate::engine::outage::{Attempt, Blame};
use crate::engine::site::Address;
use crate::host::{HostAnswer, Turn};

/// If an answer came within this time, requests get through.
const GETS_THROUGH: Duration = Duration::from_secs(5);

/// A request that failed, after so long.
pub(super) struct FailedRequest {
    pub(super) job: Job,
    pub(super) error: FetchError,
    pub(super) took: Duration,
}

/// A site that has answered, with the URL of its robots.txt and where it was.
#[derive(Clone)]
pub(super) struct AnsweringSite {
    site: SiteId,
    robots: CanonicalUrl,
    address: Option<IpAddr>,
    has_page: bool,
}

impl Network {
    /// Whether an error may be nobody's fault, or our own.
    pub(super) fn is_doubtful(&self, error: &FetchError) -> bool {
        let is_unreached =
            matches!(error.kind, FailureKind::Dns | FailureKind::Connect | FailureKind::Timeout);
        self.doubts && (error.kind == FailureKind::Local || is_unreached && self.is_polite())
    }

    /// Settles failures that nothing more will be learnt about, and announces an outage when it is time.
    pub(super) fn settle_doubts(&mut self, now: Timestamp) {
        if !self.requests.is_open() && !self.names.is_open() {
            return;
        }
        // While answers come, names that nobody answers for are dead, however many there are.
        if now.since(self.last_answer) < GETS_THROUGH {
            let news = self.names.resume(self.next_job, now);
            self.outbox.extend(news.map(ToWriter::Outage));
        }
        // A site that had brought a page and fails with the others says as much as a probe. One that gave its rules only
        // may never bring any.
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
            (self.requests.long_doubted(now), self.names.long_doubted(now))
        };
        requests.into_iter().for_each(|failed| self.fail(failed, now));
        names.into_iter().for_each(|(site, error)| self.unlocated(site, &error, now));
    }

    /// A request that failed is done as if it had not been made.
    pub(super) fn excuse(&mut self, failed: FailedRequest, about_host: HostAnswer, now: Timestamp) {
        let FailedRequest { job: Job { what, site, flight, gates, .. }, took, .. } = failed;
        let held = self.sites.entry(site).or_default();
        held.in_flight = held.in_flight.saturating_sub(1);
        match what {
            What::Page(work) => {
                self.begun = self.begun.saturating_sub(1);
                self.outbox.push(ToWriter::Unsent(Box::new(work.clone())));
                held.offer(work);
            }
            What::Robots(fetch) => held.rules.push_front(fetch),
            What::Sitemap(sitemap) => held.sitemaps.push_front((sitemap.url, sitemap.leads_on)),
            What::Backlinks(question) => held.questions.push_front(question),
            What::Probe(_) => {}
        }
        if let (Some(manners), Some(flight)) = (&mut self.manners, flight) {
            manners.hosts.finished(flight, about_host, took, now);
        }
        self.place(site, now);
        self.leave_gates(gates, now);
    }

    /// A request failed, and it is not known whose fault that is.
    pub(super) fn doubt(&mut self, id: JobId, failed: FailedRequest, now: Timestamp) {
        /// How long fewer requests are made after one that could not be sent while others were.
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

    /// A request failed, and its site is to blame.
    pub(super) fn fail(&mut self, failed: FailedRequest, now: Timestamp) {
        let FailedRequest { job, error, took } = failed;
        self.finish(job, Err(error), took, now);
    }

    /// While only probes are made: asks a site that has answered before for its robots.txt, if one may be asked.
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
                // A failure in doubt is over for the site, which may have been asked for something else than a probe.
                Turn::InFlight if !self.jobs.has_site(site) => match self.requests.doubted_at(site) {
                    Some(failed) => failed.after(self.pause()),
                    None => continue,
                },
                Turn::InFlight | Turn::GivenUp => continue,
            };
            if due <= now {
                // Another one next time.
                self.answering.rotate_left(at + 1);
                self.sites.entry(site).or_default().address = Address::Known(address);
                return Some(self.dispatch(site, What::Probe(robots), None, now));
            }
            self.probe_due = self.probe_due.into_iter().chain(Some(due)).min();
        }
        // One whose turn it is, and whose rules have come.
        let lanes = [Lane::Quick, Lane::Prepared].into_iter();
        let (_, site) = lanes.filter_map(|lane| self.ready[lane as usize].first()).min()?.clone();
        let robots = self.sites.get(&site)?.any_url()?.join("/robots.txt").ok()?;
        (self.turn(site, now) == Turn::Now).then(|| self.dispatch(site, What::Probe(robots), None, now))
    }

    /// The shortest pause between two requests to a site.
    fn pause(&self) -> Duration {
        self.manners.as_ref().map_or(Duration::ZERO, Manners::min_delay)
    }

    /// Remembers a site that answered, and whether it brought a page.
    pub(super) fn note_answering(
        &mut self,
        site: SiteId,
        url: &CanonicalUrl,
        address: Option<IpAddr>,
        is_page: bool,
    ) {
        /// Sites that are remembered.
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
