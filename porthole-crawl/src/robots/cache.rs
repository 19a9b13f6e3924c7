//! The policies of the sites that are being crawled, in bounded memory.

use porthole_store::StoredRobots;
use porthole_types::{CanonicalUrl, Timestamp};

use super::policy::{RobotsFetch, RobotsPolicy, RobotsStep, robots_url};
use crate::recent::Recent;
use crate::{FetchError, Response};

/// What is known of robots.txt files. A site that is forgotten for want of room is simply asked again.
pub struct RobotsCache {
    agent: Box<str>,
    policies: Recent<RobotsPolicy>,
}

/// What [`RobotsCache::look`] finds.
#[derive(Clone, Debug)]
pub enum RobotsLook {
    /// The site's policy.
    Known(RobotsPolicy),
    /// The site has to be asked first. The cache does not know who is asking already: the driver keeps one
    /// of these a site.
    Ask(RobotsFetch),
}

impl RobotsCache {
    /// An empty cache for a crawler of this name, of at most so many bytes.
    pub fn new(agent: &str, max_bytes: usize) -> Self {
        RobotsCache { agent: agent.into(), policies: Recent::new(max_bytes) }
    }

    /// The policy for a URL, if it is known and not too old.
    pub fn look(&mut self, url: &CanonicalUrl, now: Timestamp) -> RobotsLook {
        match self.policies.get(robots_url(url).id().0) {
            Some(policy) if now < policy.ask_again() => RobotsLook::Known(policy.clone()),
            old => RobotsLook::Ask(RobotsFetch::new(url, old.cloned())),
        }
    }

    /// Takes the answer to what a fetch asked for, and keeps the policy when there is one.
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

    /// Takes what an earlier run knew.
    pub(crate) fn recall(&mut self, stored: &StoredRobots) {
        let policy = RobotsPolicy::of_stored(stored);
        self.policies.put(policy.key().0, policy.clone(), policy.bytes());
    }

    /// Bytes that are kept.
    pub fn bytes(&self) -> usize {
        self.policies.weight()
    }
}
