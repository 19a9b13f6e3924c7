//! Counts sites by state, for those who watch a crawl.

use std::time::Duration;

use porthole_types::{SiteId, Timestamp};

use super::Network;
use crate::engine::messages::ToWriter;
use crate::engine::site::Phase;

/// The sites of the network half by state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SiteStates {
    /// They may be requested now.
    pub(crate) ready: usize,
    /// They must not be requested yet.
    pub(crate) resting: usize,
    /// They have a request or a lookup in flight, or wait for one that shares their address.
    pub(crate) busy: usize,
    /// They failed so often that they rest for long or are no longer requested; also sites that are not held.
    pub(crate) given_up: usize,
    /// Those of them that are not held and will be requested again. The frontier counts them as resting.
    pub(crate) failing: Vec<SiteId>,
}

/// Time between two reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

impl Network {
    /// Reports the sites by state once a second, if they have changed.
    pub(crate) fn report_sites(&mut self, now: Timestamp) {
        if self.reported_sites.as_ref().is_some_and(|(at, _)| now.since(*at) < REPORT_INTERVAL) {
            return;
        }
        let states = self.site_states(now);
        if self.reported_sites.as_ref().is_none_or(|(_, before)| *before != states) {
            self.outbox.push(ToWriter::Sites(states.clone()));
        }
        self.reported_sites = Some((now, states));
    }

    fn site_states(&self, now: Timestamp) -> SiteStates {
        let mut states = SiteStates::default();
        for held in self.sites.values() {
            match &held.phase {
                _ if held.in_flight > 0 => states.busy += 1,
                Phase::Ready(_) => states.ready += 1,
                Phase::Resting(..) => states.resting += 1,
                Phase::Locating | Phase::Waiting | Phase::AwaitingRules => states.busy += 1,
                Phase::Idle => {}
            }
        }
        let Some(manners) = &self.manners else { return states };
        for (site, is_given_up) in manners.hosts.failing(now) {
            states.given_up += 1;
            match self.sites.get(&site).map(|held| &held.phase) {
                Some(Phase::Resting(..)) => states.resting = states.resting.saturating_sub(1),
                None if !is_given_up => states.failing.push(site),
                _ => {}
            }
        }
        // The order of a hash map is no change.
        states.failing.sort_unstable();
        states
    }
}
