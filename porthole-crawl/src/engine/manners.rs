//! Politeness state: pauses and robots.txt, and what is stored of them for the next run.

use std::time::Duration;

use porthole_store::{StoreReader, StoredHost};
use porthole_types::{SiteId, Timestamp};

use crate::host::{Flight, HostAnswer, Hosts, Politeness};
use crate::recent::Recent;
use crate::robots::RobotsCache;

/// Maximum size of the cached robots.txt rules in bytes.
const ROBOTS_BYTES: usize = 32 << 20;

/// Number of sites whose speed is remembered.
const KNOWN_SITES: usize = 100_000;

/// See the module documentation.
pub(crate) struct Manners {
    pub(crate) hosts: Hosts,
    pub(crate) robots: RobotsCache,
    /// Whether a site answered its last request quickly.
    quick: Recent<bool>,
    politeness: Politeness,
    is_recalled: bool,
}

impl Manners {
    pub(crate) fn new(politeness: Politeness, agent: &str) -> Self {
        Manners {
            hosts: Hosts::new(politeness.clone()),
            robots: RobotsCache::new(agent, ROBOTS_BYTES),
            quick: Recent::new(KNOWN_SITES),
            politeness,
            is_recalled: false,
        }
    }

    /// The minimum pause between two requests to a site.
    pub(crate) fn min_delay(&self) -> Duration {
        self.politeness.min_delay
    }

    /// Loads the state that an earlier run stored. Does nothing when called again.
    pub(crate) fn recall(
        &mut self,
        reader: &dyn StoreReader,
        now: Timestamp,
    ) -> Result<(), porthole_store::Error> {
        if std::mem::replace(&mut self.is_recalled, true) {
            return Ok(());
        }
        reader.known_robots(now)?.iter().for_each(|stored| self.robots.recall(stored));
        for StoredHost { sid, at, is_quick, trouble, not_before } in reader.known_hosts()? {
            self.quick.put(sid.0, is_quick, 1);
            let is_old = now.since(at) >= self.politeness.forget_after;
            self.hosts.recall(sid, if is_old { 0 } else { trouble }, not_before, now);
        }
        Ok(())
    }

    pub(crate) fn is_quick(&mut self, site: SiteId) -> bool {
        self.quick.get(site.0).is_some_and(|is_quick| *is_quick)
    }

    /// Records the end of a request. Returns the site's state if it has to be stored.
    pub(crate) fn finished(
        &mut self,
        site: SiteId,
        flight: Flight,
        answer: HostAnswer,
        is_quick: bool,
        took: Duration,
        now: Timestamp,
    ) -> Option<StoredHost> {
        let (before, _) = self.hosts.trouble_of(site);
        self.hosts.finished(flight, answer, took, now);
        let (trouble, not_before) = self.hosts.trouble_of(site);
        let was_quick = self.quick.get(site.0).copied();
        if was_quick == Some(is_quick) && before == trouble {
            return None;
        }
        self.quick.put(site.0, is_quick, 1);
        Some(StoredHost { sid: site, at: now, is_quick, trouble, not_before })
    }

    /// Sites that the next run must not request for a while.
    pub(crate) fn troubled(&mut self, now: Timestamp) -> Vec<StoredHost> {
        let quick = &mut self.quick;
        let host = |(sid, trouble, not_before): (SiteId, u32, Timestamp)| {
            let is_quick = quick.get(sid.0).is_some_and(|is_quick| *is_quick);
            StoredHost { sid, at: now, is_quick, trouble, not_before }
        };
        self.hosts.troubled(now).map(host).collect()
    }
}
