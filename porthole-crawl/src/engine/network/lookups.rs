//! Address lookups. They have their own slots, so that names that do not resolve delay no request. Sites that were
//! resolved before come first.

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

/// Maximum number of lookups in flight, in total and per domain.
const MAX_LOOKUPS: usize = 64;
const MAX_LOOKUPS_OF_A_DOMAIN: usize = 4;

/// Additional slots for sites that were resolved before.
const LOOKUPS_OF_FOUND: usize = 16;

/// Queued and running address lookups.
#[derive(Default)]
pub(super) struct Lookups {
    queue: VecDeque<SiteId>,
    /// Job id and domain of each running lookup.
    under_way: HashMap<SiteId, (JobId, SiteId)>,
    /// Sites that were resolved before. The resolver may have them cached.
    found: HashSet<SiteId>,
}

impl Lookups {
    /// Queues a lookup. Sites that were resolved before go first, so that dead names do not delay them.
    pub(super) fn enqueue(&mut self, site: SiteId) {
        match self.found.contains(&site) {
            true => self.queue.push_front(site),
            false => self.queue.push_back(site),
        }
    }

    /// Number of lookups queued or in flight.
    pub(super) fn len(&self) -> usize {
        self.queue.len() + self.under_way.len()
    }

    /// Whether lookups are queued.
    pub(super) fn is_any_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether lookups are in flight.
    pub(super) fn is_any_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Whether a slot is free for this site. Sites that were resolved before have extra slots.
    fn has_slot(&self, site: SiteId) -> bool {
        let own = if self.found.contains(&site) { LOOKUPS_OF_FOUND } else { 0 };
        self.under_way.len() < MAX_LOOKUPS + own
    }

    /// Marks a site as resolved. Returns whether this is the first time, as far as it is remembered.
    fn mark_found(&mut self, site: SiteId) -> bool {
        const MOST: usize = 10_000;
        if self.found.len() >= MOST {
            self.found.clear();
        }
        self.found.insert(site)
    }
}

/// Whether the resolver says that the name does not exist, as opposed to a temporary failure.
fn is_no_name(error: &FetchError) -> bool {
    /// Phrases for a temporary failure, from the usual resolvers and our own.
    const TEMPORARY: [&str; 3] = ["emporary failure", "ry again", "no answer within"];
    error.kind == FailureKind::Dns && !TEMPORARY.iter().any(|words| error.detail.contains(words))
}

impl Network {
    pub(super) fn next_lookup(&mut self, now: Timestamp) -> Option<Action> {
        let &first = self.lookups.queue.front()?;
        if !self.lookups.has_slot(first) || self.is_closing() || !self.names.may_begin(now) {
            return None;
        }
        // Lookups of a domain that is at its limit go to the back.
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

    /// Handles the result of an address lookup.
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
                if self.lookups.mark_found(site) {
                    let (unlocated, news) = self.names.answered(id, self.next_job, now);
                    self.outbox.extend(news.map(ToWriter::Outage));
                    unlocated.into_iter().for_each(|(site, error)| self.unlocated(site, &error, now));
                }
            }
            Err(error) if self.is_doubtful(&error) && !is_no_name(&error) => {
                let (is_ours, why) = (error.kind == FailureKind::Local, error.detail.clone());
                // While requests get through, names that stay unresolved for long are dead.
                let is_provable = self.requests.is_suspended();
                let attempt = Attempt { id, site, is_ours, is_provable, why: &why };
                match self.names.failed(&attempt, (site, error), self.next_job, now) {
                    Blame::Doubtful => {}
                    Blame::Excused(_) => self.look_up_again(site, now),
                    Blame::Own((site, error)) => self.unlocated(site, &error, now),
                }
            }
            Err(error) => {
                // A resolver that answers "no such name" works.
                let (unlocated, news) = self.names.answered(id, self.next_job, now);
                self.outbox.extend(news.map(ToWriter::Outage));
                unlocated.into_iter().for_each(|(site, error)| self.unlocated(site, &error, now));
                self.unlocated(site, &error, now);
            }
        }
    }

    /// Retries a lookup whose failure was not the site's fault.
    pub(super) fn look_up_again(&mut self, site: SiteId, now: Timestamp) {
        self.set_phase(site, Phase::Idle);
        self.place(site, now);
    }

    /// Handles a name without an address as a failure of its host.
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
        assert!(lookups.mark_found(known));
        lookups.under_way.extend(dead.map(|name| (SiteId(name), (0, SiteId(name)))));
        (1_000..4_000).for_each(|name| lookups.enqueue(SiteId(name)));
        lookups.enqueue(known);
        assert_eq!(lookups.queue.front(), Some(&known));
        assert!(lookups.has_slot(known) && !lookups.has_slot(SiteId(1_000)));
    }
}
