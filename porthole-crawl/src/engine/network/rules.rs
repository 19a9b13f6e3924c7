//! Rules that sites publish for crawlers: robots.txt, its Crawl-delay, and the sitemaps it names.

use std::time::Duration;

use porthole_types::{CanonicalUrl, Failure, FailureKind, Outcome, SiteId, Timestamp, Work};

use super::Network;
use crate::engine::messages::ToWriter;
use crate::result::failed;
use crate::robots::{RobotsFetch, RobotsLook, RobotsPolicy, RobotsStep, RobotsVerdict};
use crate::sitemap::{LISTED_PER_SITE, Sitemap, chosen_sitemaps};
use crate::{FetchError, Response};

/// Outcome for a URL that robots.txt does not allow to fetch.
pub(super) fn refused(work: &Work, policy: &RobotsPolicy, verdict: RobotsVerdict, now: Timestamp) -> Outcome {
    let until = match verdict {
        RobotsVerdict::Forbidden { rule } => {
            return Outcome::Skipped(Failure::new(FailureKind::Robots, rule));
        }
        RobotsVerdict::NotNow { until } => until,
        RobotsVerdict::Allowed => now,
    };
    // What makes robots.txt unreachable usually makes the pages unreachable too.
    let (kind, detail) = match policy.trouble() {
        Some(trouble) if trouble.kind != FailureKind::Status => (trouble.kind, trouble.detail()),
        Some(trouble) => (FailureKind::Robots, trouble.detail()),
        None => (FailureKind::Robots, "its robots.txt cannot be read"),
    };
    let passing =
        matches!(kind, FailureKind::Dns | FailureKind::Connect | FailureKind::Timeout | FailureKind::Robots);
    match failed(work, now, passing, Failure::new(kind, detail)) {
        Outcome::Retry { failure, .. } => Outcome::Retry { failure, not_before: until },
        outcome => outcome,
    }
}

impl Network {
    /// The Crawl-delay of a URL's site, if its robots.txt is known.
    pub(super) fn crawl_delay(&mut self, url: &CanonicalUrl, now: Timestamp) -> Option<Duration> {
        match self.manners.as_mut()?.robots.look(url, now) {
            RobotsLook::Known(policy) => policy.crawl_delay(),
            RobotsLook::Ask(_) => None,
        }
    }

    /// Handles an answer to a robots.txt request. Returns the Crawl-delay, if the rules are complete.
    pub(super) fn rules_answered(
        &mut self,
        fetch: RobotsFetch,
        answer: Result<&Response, &FetchError>,
        now: Timestamp,
    ) -> Option<Duration> {
        let robots = &mut self.manners.as_mut()?.robots;
        let (at, site) = (fetch.url().clone(), fetch.site());
        let policy = match robots.answered(fetch, answer, now) {
            RobotsStep::Done(policy) => policy,
            RobotsStep::Fetch(next) => {
                // A redirected robots.txt waits for its turn at the target site.
                let there = next.url().site();
                self.sites.entry(there).or_default().rules.push_back(next);
                self.place(there, now);
                return None;
            }
        };
        self.outbox.extend(policy.stored(site).map(|stored| ToWriter::Robots(Box::new(stored))));
        let held = self.sites.entry(site).or_default();
        held.asks_rules = false;
        if self.reads_sitemaps {
            let named = policy.sitemaps().filter_map(|url| at.join(url).ok());
            // A sitemap on another host would be subject to that host's politeness, so it is not read.
            let own = chosen_sitemaps(named.filter(|url| url.site() == site).collect());
            held.sitemaps.extend(own.into_iter().map(|url| (url, true)));
        }
        self.place(site, now);
        policy.crawl_delay()
    }

    /// Queues the URLs that a sitemap lists, at the end of the queue: no judged page links to them.
    pub(super) fn sitemap_answered(&mut self, site: SiteId, sitemap: &Sitemap, response: &Response) {
        let held = self.sites.entry(site).or_default();
        let room = LISTED_PER_SITE.saturating_sub(held.listed);
        let (listed, more) = sitemap.read(response, site, room);
        held.listed += listed.len();
        held.sitemaps.extend(more.into_iter().map(|url| (url, false)));
        if !listed.is_empty() {
            self.outbox.push(ToWriter::Listed(listed));
        }
    }
}
