//! From a site to its policy: which URL to ask, what follows from each answer, how long it holds.

use std::sync::Arc;
use std::time::Duration;

use porthole_store::StoredRobots;
use porthole_types::{CanonicalUrl, Failure, FailureKind, SiteId, Timestamp, UrlId};

use super::lines::MAX_BYTES;
use super::rules::RobotsRules;
use crate::{FetchError, Response};

/// What a site lets us do, as of one answer about its robots.txt. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct RobotsPolicy {
    /// Id of the URL of the robots.txt: scheme, host and port have one policy together.
    key: UrlId,
    access: Access,
    ask_again: Timestamp,
    /// Since when the site could not be asked; the policy is older than that, or forbids everything.
    unreachable_since: Option<Timestamp>,
    /// Why the site could not be asked.
    trouble: Option<Failure>,
}

#[derive(Clone, Debug, PartialEq)]
enum Access {
    /// There are rules (2xx).
    Rules(Arc<RobotsRules>),
    /// There is no robots.txt (4xx, or too many redirects): everything is allowed.
    Everything,
    /// It cannot be known (5xx, no answer, half of one): nothing is allowed.
    Nothing,
}

/// What a policy says of one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RobotsVerdict {
    /// It may be fetched.
    Allowed,
    /// It may not; this line of the robots.txt says so.
    Forbidden {
        /// `Disallow: /private/`.
        rule: String,
    },
    /// Nothing of this site may be fetched before its robots.txt has been read; it is asked for again then.
    NotNow {
        /// When.
        until: Timestamp,
    },
}

/// RFC 9309, 2.4: not used for longer without asking.
const FRESH_FOR: Duration = Duration::from_secs(24 * 3600);
/// The first wait after a failure; then as long again as the site has been out of reach, up to a day.
const FIRST_RETRY: Duration = Duration::from_secs(10 * 60);
/// RFC 9309, 2.3.1.4: after so long the robots.txt counts as not being there.
const GONE_AFTER: Duration = Duration::from_secs(30 * 24 * 3600);
/// RFC 9309, 2.3.1.2: so many redirects are followed, to whatever host.
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

    /// The sitemaps that the site names, as they are written.
    pub fn sitemaps(&self) -> impl Iterator<Item = &str> {
        self.rules().into_iter().flat_map(RobotsRules::sitemaps)
    }

    /// From when on the site has to be asked again.
    pub fn ask_again(&self) -> Timestamp {
        self.ask_again
    }

    /// Why the site could not be asked, the last time that it was. What keeps us from robots.txt mostly keeps us
    /// from every page: a name without an address, an address that may not be fetched, nobody there.
    pub fn trouble(&self) -> Option<&Failure> {
        self.trouble.as_ref()
    }

    /// The policy of a site for the next run; `None` if it would take much room.
    pub(crate) fn stored(&self, sid: SiteId) -> Option<StoredRobots> {
        /// Bytes of rules that are kept.
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

    /// The policy that an earlier run knew.
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

    /// What it costs to keep this.
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

/// A robots.txt being asked for. The driver fetches [`RobotsFetch::url`], politely towards that URL's host,
/// and hands in what came.
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
    /// A redirect: fetch on.
    Fetch(RobotsFetch),
    /// The site's policy is known.
    Done(RobotsPolicy),
}

impl RobotsFetch {
    /// Begins to ask for the robots.txt of a page's site. `old` is what was known of it before.
    pub fn new(page: &CanonicalUrl, old: Option<RobotsPolicy>) -> Self {
        let url = robots_url(page);
        RobotsFetch { key: url.id(), site: url.site(), url, redirects: 0, old }
    }

    /// What is to be fetched now.
    pub fn url(&self) -> &CanonicalUrl {
        &self.url
    }

    /// The site whose rules are asked for; after a redirect they may be fetched from another.
    pub fn site(&self) -> SiteId {
        self.site
    }

    /// Takes the answer. `agent` is the product token that we look for in the rules.
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
            // A broken connection is no word about the rest of the file.
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
            // Too many requests is no word about the file. RFC 9309 lets us go on; a guest does not.
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

    /// The next hop; `None` after too many of them, or if it leads nowhere.
    fn redirected(&self, response: &Response) -> Option<RobotsFetch> {
        let url = self.url.join(response.headers.get("location")?).ok()?;
        let redirects = self.redirects + 1;
        (redirects <= MAX_REDIRECTS).then(|| RobotsFetch { url, redirects, ..self.clone() })
    }

    fn refused(self, status: u16, now: Timestamp) -> RobotsPolicy {
        let detail = format!("robots.txt has status {status}");
        self.unreachable(Failure::new(FailureKind::Status, detail), now)
    }

    /// Nothing is allowed, unless rules are known from before; a site that is out of reach for very long
    /// counts as one without a robots.txt.
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

/// Where the robots.txt for a page is.
pub(super) fn robots_url(page: &CanonicalUrl) -> CanonicalUrl {
    page.join("/robots.txt").expect("every site has a root")
}
