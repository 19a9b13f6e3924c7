//! A site's policy: which URL to fetch, what follows from each answer, and how long it is valid.

use std::sync::Arc;
use std::time::Duration;

use porthole_store::StoredRobots;
use porthole_types::{CanonicalUrl, Failure, FailureKind, SiteId, Timestamp, UrlId};

use super::lines::MAX_BYTES;
use super::rules::RobotsRules;
use crate::{FetchError, Response};

/// What a site allows, according to one answer about its robots.txt. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct RobotsPolicy {
    /// Id of the URL of the robots.txt. There is one policy per scheme, host and port.
    key: UrlId,
    access: Access,
    ask_again: Timestamp,
    /// Since when robots.txt could not be fetched. The policy is older than that, or forbids everything.
    unreachable_since: Option<Timestamp>,
    /// Why robots.txt could not be fetched.
    trouble: Option<Failure>,
}

#[derive(Clone, Debug, PartialEq)]
enum Access {
    /// There are rules (2xx).
    Rules(Arc<RobotsRules>),
    /// There is no robots.txt (4xx, or too many redirects): everything is allowed.
    Everything,
    /// Unknown (5xx, no answer, or an incomplete one): nothing is allowed.
    Nothing,
}

/// The verdict about a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RobotsVerdict {
    /// It may be fetched.
    Allowed,
    /// It must not be fetched, because of this line of robots.txt.
    Forbidden {
        /// For example `Disallow: /private/`.
        rule: String,
    },
    /// Nothing may be fetched from this site until its robots.txt has been read.
    NotNow {
        /// When robots.txt is fetched again.
        until: Timestamp,
    },
}

/// How long a policy is valid (RFC 9309, 2.4).
const FRESH_FOR: Duration = Duration::from_secs(24 * 3600);
/// The first wait after a failure. Later waits are as long as the site has been unreachable, up to a day.
const FIRST_RETRY: Duration = Duration::from_secs(10 * 60);
/// After this time an unreachable robots.txt counts as missing (RFC 9309, 2.3.1.4).
const GONE_AFTER: Duration = Duration::from_secs(30 * 24 * 3600);
/// Maximum number of redirects, to any host (RFC 9309, 2.3.1.2).
const MAX_REDIRECTS: u32 = 5;

impl RobotsPolicy {
    /// Whether a URL of this site may be fetched.
    pub fn allows(&self, url: &CanonicalUrl) -> bool {
        match &self.access {
            Access::Rules(rules) => rules.allows(url.path_and_query()),
            Access::Everything => true,
            Access::Nothing => false,
        }
    }

    /// Whether a URL of this site may be fetched, and why not.
    pub fn verdict(&self, url: &CanonicalUrl) -> RobotsVerdict {
        match &self.access {
            Access::Everything => RobotsVerdict::Allowed,
            Access::Nothing => RobotsVerdict::NotNow { until: self.ask_again },
            Access::Rules(rules) => match rules.refusal(url.path_and_query()) {
                None => RobotsVerdict::Allowed,
                Some(rule) => RobotsVerdict::Forbidden { rule },
            },
        }
    }

    /// The pause between two requests that the site asks for.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.rules().and_then(RobotsRules::crawl_delay)
    }

    /// The sitemaps that the site names, as written.
    pub fn sitemaps(&self) -> impl Iterator<Item = &str> {
        self.rules().into_iter().flat_map(RobotsRules::sitemaps)
    }

    /// When robots.txt has to be fetched again.
    pub fn ask_again(&self) -> Timestamp {
        self.ask_again
    }

    /// Why robots.txt could not be fetched the last time. The cause usually applies to every page: no such name, a
    /// forbidden address, or no connection.
    pub fn trouble(&self) -> Option<&Failure> {
        self.trouble.as_ref()
    }

    /// The policy in the form stored for the next run. `None` if it is too large.
    pub(crate) fn stored(&self, sid: SiteId) -> Option<StoredRobots> {
        /// Maximum size of stored rules.
        const MOST: usize = 8 << 10;
        let rules = self.rules().map(RobotsRules::lines);
        if rules.as_ref().is_some_and(|rules| rules.len() > MOST) {
            return None;
        }
        Some(StoredRobots {
            oid: self.key,
            sid,
            until: self.ask_again,
            since: self.unreachable_since,
            detail: self.trouble.as_ref().map(|failure| failure.detail().to_owned()),
            rules,
        })
    }

    /// Restores a policy of an earlier run.
    pub(super) fn of_stored(stored: &StoredRobots) -> Self {
        let is_gone = stored.since.is_none_or(|since| stored.until.since(since) >= GONE_AFTER);
        let access = match &stored.rules {
            Some(rules) => Access::Rules(Arc::new(RobotsRules::of_lines(rules))),
            None if is_gone => Access::Everything,
            None => Access::Nothing,
        };
        let trouble = stored.detail.as_ref().map(|detail| Failure::new(FailureKind::Robots, detail.clone()));
        RobotsPolicy {
            key: stored.oid,
            access,
            ask_again: stored.until,
            unreachable_since: stored.since,
            trouble,
        }
    }

    /// Id of the robots.txt that it comes from.
    pub(super) fn key(&self) -> UrlId {
        self.key
    }

    /// Memory that it occupies.
    pub(super) fn bytes(&self) -> usize {
        let trouble = self.trouble.as_ref().map_or(0, |failure| failure.detail().len());
        size_of::<Self>() + trouble + self.rules().map_or(0, RobotsRules::bytes)
    }

    fn rules(&self) -> Option<&RobotsRules> {
        match &self.access {
            Access::Rules(rules) => Some(rules),
            Access::Everything | Access::Nothing => None,
        }
    }
}

/// A robots.txt that is being fetched. The driver fetches [`RobotsFetch::url`], politely towards that URL's host, and
/// passes in the answer.
#[derive(Clone, Debug)]
pub struct RobotsFetch {
    url: CanonicalUrl,
    key: UrlId,
    site: SiteId,
    redirects: u32,
    old: Option<RobotsPolicy>,
}

/// What follows from an answer.
#[derive(Clone, Debug)]
pub enum RobotsStep {
    /// A redirect: fetch the next URL.
    Fetch(RobotsFetch),
    /// The site's policy is known.
    Done(RobotsPolicy),
}

impl RobotsFetch {
    /// Starts fetching the robots.txt of a page's site. `old` is the policy known before.
    pub fn new(page: &CanonicalUrl, old: Option<RobotsPolicy>) -> Self {
        let url = robots_url(page);
        RobotsFetch { key: url.id(), site: url.site(), url, redirects: 0, old }
    }

    /// The URL to fetch now.
    pub fn url(&self) -> &CanonicalUrl {
        &self.url
    }

    /// The site whose robots.txt this is. After a redirect it may be fetched from another.
    pub fn site(&self) -> SiteId {
        self.site
    }

    /// Handles the answer. `agent` is the product token to look for in the rules.
    pub fn answered(
        mut self,
        agent: &str,
        answer: Result<&Response, &FetchError>,
        now: Timestamp,
    ) -> RobotsStep {
        let response = match answer {
            Ok(response) => response,
            Err(error) => {
                let failure = Failure::new(error.kind, error.detail.clone());
                return RobotsStep::Done(self.unreachable(failure, now));
            }
        };
        let access = match response.status {
            // A broken connection says nothing about the rest of the file.
            200..300 if response.truncated && response.body.len() < MAX_BYTES => {
                let detail = "robots.txt was cut off".to_owned();
                let failure = Failure::new(FailureKind::Connect, detail);
                return RobotsStep::Done(self.unreachable(failure, now));
            }
            200..300 => {
                let rules = RobotsRules::parse(agent, &response.body, response.truncated);
                Access::Rules(Arc::new(rules))
            }
            304 => match self.old.take() {
                Some(old) => old.access,
                None => return RobotsStep::Done(self.refused(304, now)),
            },
            300..400 => match self.redirected(response) {
                Some(next) => return RobotsStep::Fetch(next),
                None => Access::Everything,
            },
            // 429 says nothing about the file. RFC 9309 permits to continue, but waiting is more polite.
            429 => return RobotsStep::Done(self.refused(429, now)),
            400..500 => Access::Everything,
            status => return RobotsStep::Done(self.refused(status, now)),
        };
        RobotsStep::Done(RobotsPolicy {
            key: self.key,
            access,
            ask_again: now.after(FRESH_FOR),
            unreachable_since: None,
            trouble: None,
        })
    }

    /// The next hop, or `None` after too many or for an invalid target.
    fn redirected(&self, response: &Response) -> Option<RobotsFetch> {
        let url = self.url.join(response.headers.get("location")?).ok()?;
        let redirects = self.redirects + 1;
        (redirects <= MAX_REDIRECTS).then(|| RobotsFetch { url, redirects, ..self.clone() })
    }

    fn refused(self, status: u16, now: Timestamp) -> RobotsPolicy {
        let detail = format!("robots.txt has status {status}");
        self.unreachable(Failure::new(FailureKind::Status, detail), now)
    }

    /// Nothing is allowed unless rules are known from before. A site that is unreachable for very long counts as one
    /// without a robots.txt.
    fn unreachable(self, trouble: Failure, now: Timestamp) -> RobotsPolicy {
        let since = self.old.as_ref().and_then(|old| old.unreachable_since).unwrap_or(now);
        let lasted = now.since(since);
        let access = match self.old.map(|old| old.access) {
            Some(Access::Rules(rules)) => Access::Rules(rules),
            _ if lasted >= GONE_AFTER => Access::Everything,
            _ => Access::Nothing,
        };
        RobotsPolicy {
            key: self.key,
            access,
            ask_again: now.after(lasted.clamp(FIRST_RETRY, FRESH_FOR)),
            unreachable_since: Some(since),
            trouble: Some(trouble),
        }
    }
}

/// The URL of a page's robots.txt.
pub(super) fn robots_url(page: &CanonicalUrl) -> CanonicalUrl {
    page.join("/robots.txt").expect("every site has a root")
}
