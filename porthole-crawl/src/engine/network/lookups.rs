//! Look-ups of sites' addresses. They have slots of their own, so that names that nobody answers for hold up no request;
//! sites that were found before come first.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use porthole_types::{Failure, FailureKind, SiteId, Timestamp};

use super::{Action, JobId, Network, domain_of};
use crate::FetchError;
use crate::engine::messages::ToWriter;
use crate::engine::outage::{Attempt, Blame};
use crate::engine::site::{Address, Phase};
use crate::host::HostAnswer;
use crate::result::failed;

/// Address look-ups under way at once, and those of one domain.
const MAX_LOOKUPS: usize = 64;
const MAX_LOOKUPS_OF_A_DOMAIN: usize = 4;

/// Look-ups under way at once, besides, of sites that were found before.
const LOOKUPS_OF_FOUND: usize = 16;

/// Address look-ups, in the order in which sites came.
#[derive(Default)]
pub(super) struct Lookups {
    queue: VecDeque<SiteId>,
    /// The number and the domain of each.
    under_way: HashMap<SiteId, (JobId, SiteId)>,
    /// Sites that were found before: they may come out of the resolver's memory.
    found: HashSet<SiteId>,
}

impl Lookups {
    /// Sites that were found before come first: names that nobody answers for must not hold them up.
    pub(super) fn enqueue(&mut self, site: SiteId) {
        match self.found.contains(&site) {
            true => self.queue.push_front(site),
            false => self.queue.push_back(site),
        }
    }

    /// Look-ups that wait or are under way.
    pub(super) fn len(&self) -> usize {
        self.queue.len() + self.under_way.len()
    }

    /// Whether some wait for a slot.
    pub(super) fn is_any_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether some are under way.
    pub(super) fn is_any_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Whether there is a slot for the look-up of a site; those that were found before have some of their own.
    fn has_slot(&self, site: SiteId) -> bool {
        let own = if self.found.contains(&site) { LOOKUPS_OF_FOUND } else { 0 };
        self.under_way.len() < MAX_LOOKUPS + own
    }

    /// Whether a site is found for the first time, as far as is remembered.
    fn is_new(&mut self, site: SiteId) -> bool {
        const MOST: usize = 10_000;
        if self.found.len() >= MOST {
            self.found.clear();
        }
        self.found.insert(site)
    }
}

/// Whether a resolver says that there is no such name, rather than that it cannot tell now.
fn is_no_name(error: &FetchError) -> bool {
    /// What resolvers say when they cannot tell, in the words of the usual libraries and our own.
    const NOT_NOW: [&str; 3] = ["emporary failure", "ry again", "no answer within"];
    error.kind == FailureKind::Dns && !NOT_NOW.iter().any(|words| error.detail.contains(words))
}

impl Network {
    pub(super) fn next_lookup(&mut self, now: Timestamp) -> Option<Action> {
        let &first = self.lookups.queue.front()?;
        if !self.lookups.has_slot(first) || self.is_closing() || !self.names.may_begin(now) {
            return None;
        }
        // Those of a domain that has its share go to the back.
        for _ in 0..self.lookups.queue.len() {
            let site = self.lookups.queue.pop_front()?;
            if !self.lookups.has_slot(site) {
                self.lookups.queue.push_front(site);
                return None;
            }
            let Some(url) = self.sites.get(&site).and_then(|held| held.any_url().cloned()) else {
                self.set_phase(site, Phase::Idle);
                continue;
            };
            let domain = domain_of(&url);
            let same = self.lookups.under_way.values().filter(|(_, other)| *other == domain).count();
            if same >= MAX_LOOKUPS_OF_A_DOMAIN {
                self.lookups.queue.push_back(site);
                continue;
            }
            let id = self.next_job;
            self.next_job += 1;
            self.names.began(id);
            self.lookups.under_way.insert(site, (id, domain));
            return Some(Action::Locate(site, url));
        }
        None
    }

    /// Takes where a site is.
    pub(crate) fn located(&mut self, site: SiteId, found: Result<Vec<IpAddr>, FetchError>, now: Timestamp) {
        let Some((id, _)) = self.lookups.under_way.remove(&site) else { return };
        match found {
            Ok(addresses) => {
                self.set_phase(site, Phase::Idle);
                if let Some(held) = self.sites.get_mut(&site) {
                    let address = addresses.get(held.connect_failures % addresses.len().max(1)).copied();
                    held.address = Address::Known(address);
                    self.outbox.extend(address.map(|address| ToWriter::Located(site, address)));
                }
                self.place(site, now);
                if self.lookups.is_new(site) {
                    let (unlocated, news) = self.names.answered(id, self.next_job, now);
                    self.outbox.extend(news.map(ToWriter::Outage));
                    unlocated.into_iter().for_each(|(site, error)| self.unlocated(site, &error, now));
                }
            }
            Err(error) if self.is_doubtful(&error) && !is_no_name(&error) => {
                let (is_ours, why) = (error.kind == FailureKind::Local, error.detail.clone());
                // While requests get through, names that are not found for long are gone.
                let is_provable = self.requests.is_suspended();
                let attempt = Attempt { id, site, is_ours, is_provable, why: &why };
                match self.names.failed(&attempt, (site, error), self.next_job, now) {
                    Blame::Doubtful => {}
                    Blame::Excused(_) => self.look_up_again(site, now),
                    Blame::Own((site, error)) => self.unlocated(site, &error, now),
                }
            }
            Err(error) => {
                // A resolver that knows that there is no such name works.
                let (unlocated, news) = self.names.answered(id, self.next_job, now);
                self.outbox.extend(news.map(ToWriter::Outage));
                unlocated.into_iter().for_each(|(site, error)| self.unlocated(site, &error, now));
                self.unlocated(site, &error, now);
            }
        }
    }

    /// Nobody knows whether the name has an address.
    pub(super) fn look_up_again(&mut self, site: SiteId, now: Timestamp) {
        self.set_phase(site, Phase::Idle);
        self.place(site, now);
    }

    /// A name without an address is a host that failed.
    pub(super) fn unlocated(&mut self, site: SiteId, error: &FetchError, now: Timestamp) {
        self.set_phase(site, Phase::Idle);
        if let Some(manners) = &mut self.manners {
            let flight = manners.hosts.started(site, None, None);
            manners.hosts.finished(flight, HostAnswer::of(Err(error), now), Duration::ZERO, now);
        }
        self.settle_all(site, |work| {
            let passing = error.kind == FailureKind::Dns || error.kind == FailureKind::Timeout;
            failed(work, now, passing, Failure::new(error.kind, error.detail.clone()))
        });
        self.drop_aux(site, error, now);
        self.place(site, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_nobody_answers_for_hold_up_no_site_that_was_found_before() {
        let (known, dead) = (SiteId(1), 100..100 + MAX_LOOKUPS as u64);
        let mut lookups = Lookups::default();
        assert!(lookups.is_new(known));
        lookups.under_way.extend(dead.map(|name| (SiteId(name), (0, SiteId(name)))));
        (1_000..4_000).for_each(|name| lookups.enqueue(SiteId(name)));
        lookups.enqueue(known);
        assert_eq!(lookups.queue.front(), Some(&known));
        assert!(lookups.has_slot(known) && !lookups.has_slot(SiteId(1_000)));
    }
}
