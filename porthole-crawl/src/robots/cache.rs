//! Cache of robots.txt policies, with bounded memory.

use porthole_store::StoredRobots;
use porthole_types::{CanonicalUrl, Timestamp};

use super::policy::{RobotsFetch, RobotsPolicy, RobotsStep, robots_url};
use crate::recent::Recent;
use crate::{FetchError, Response};

/// The known robots.txt policies. A site that is evicted is fetched again.
pub struct RobotsCache {
    agent: Box<str>,
    policies: Recent<RobotsPolicy>,
}

/// The result of [`RobotsCache::look`].
#[derive(Clone, Debug)]
pub enum RobotsLook {
    /// The site's policy.
    Known(RobotsPolicy),
    /// robots.txt has to be fetched first. The cache does not track fetches in progress: the driver keeps one per
    /// site.
    Ask(RobotsFetch),
}

impl RobotsCache {
    /// Creates an empty cache of at most `max_bytes` for the crawler `agent`.
    pub fn new(agent: &str, max_bytes: usize) -> Self {
        RobotsCache { agent: agent.into(), policies: Recent::new(max_bytes) }
    }

    /// The policy for a URL, if it is known and fresh.
    pub fn look(&mut self, url: &CanonicalUrl, now: Timestamp) -> RobotsLook {
        match self.policies.get(robots_url(url).id().0) {
            Some(policy) if now < policy.ask_again() => RobotsLook::Known(policy.clone()),
            old => RobotsLook::Ask(RobotsFetch::new(url, old.cloned())),
        }
    }

    /// Handles the answer to a fetch, and caches the policy when it is complete.
    pub fn answered(
        &mut self,
        fetch: RobotsFetch,
        answer: Result<&Response, &FetchError>,
        now: Timestamp,
    ) -> RobotsStep {
        let step = fetch.answered(&self.agent, answer, now);
        if let RobotsStep::Done(policy) = &step {
            self.policies.put(policy.key().0, policy.clone(), policy.bytes());
        }
        step
    }

    /// Restores a policy of an earlier run.
    pub(crate) fn recall(&mut self, stored: &StoredRobots) {
        let policy = RobotsPolicy::of_stored(stored);
        self.policies.put(policy.key().0, policy.clone(), policy.bytes());
    }

    /// Number of bytes in use.
    pub fn bytes(&self) -> usize {
        self.policies.weight()
    }
}
