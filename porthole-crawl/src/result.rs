//! What the store keeps of a fetch, and what a page's links are worth.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use porthole_page::Page;
use porthole_strategy::{Source, Strategy};
use porthole_topic::Judge;
use porthole_types::{
    CanonicalUrl, Failure, FailureKind, Judgment, LinkRow, Mark, NewUrl, Outcome, PageResult, SiteId,
    Timestamp, UrlId, Work,
};

use crate::Response;

/// After this many tries a failure that may pass is taken for good.
const TRIES: u32 = 3;

/// How long a URL waits after its first failure; twice as long after each further one.
const FIRST_WAIT: Duration = Duration::from_secs(60);

/// What makes a crawl a focused one.
pub struct Focus {
    /// Says how relevant a page is.
    pub judge: Box<dyn Judge>,
    /// Says what its links are worth.
    pub strategy: Box<dyn Strategy>,
    /// What every topic means to the crawl, by id.
    pub marks: Vec<Mark>,
}

/// Says what links are worth. There is one: a strategy may learn from page to page.
pub(crate) struct Scorer {
    pub(crate) strategy: Box<dyn Strategy>,
    pub(crate) marks: Vec<Mark>,
}

impl Scorer {
    /// Tells the strategy of a page and what it is worth to its links; the rows of these. `relevance` is the page's own.
    pub(crate) fn links(
        &mut self,
        url: &CanonicalUrl,
        depth: u32,
        page: Page,
        judgment: Judgment,
        relevance: f64,
    ) -> Vec<LinkRow> {
        let source = Source { url, page: &page, judgment, on_topic: self.is_on_topic(judgment), depth };
        let strategy = &mut self.strategy;
        strategy.arrived(&source);
        if page.robots.nofollow {
            return Vec::new();
        }
        let priorities: Vec<Option<f64>> =
            page.links.iter().map(|link| strategy.priority(&source, link)).collect();
        // Estimated as relevant as the page that links to it (S8).
        let believed = priorities.into_iter().map(|priority| Some((relevance, priority?)));
        link_rows(page, depth + 1, believed)
    }

    /// Whether a page's best leaf is good or below a good topic.
    pub(crate) fn is_on_topic(&self, judgment: Judgment) -> bool {
        let mark = self.marks.get(usize::from(judgment.best.0)).copied().unwrap_or_default();
        matches!(mark, Mark::Good | Mark::Subsumed)
    }
}

pub(crate) fn empty_result(work: &Work, at: Timestamp) -> PageResult {
    PageResult {
        seq: 0,
        oid: work.oid,
        sid: work.sid,
        at,
        status: 0,
        outcome: Outcome::Fetched,
        judgment: None,
        title: String::new(),
        language: String::new(),
        bytes: 0,
        simhash: 0,
        span: None,
        links: Vec::new(),
    }
}

/// Failures that may pass are tried again, later and later.
pub(crate) fn failed(work: &Work, at: Timestamp, passing: bool, failure: Failure) -> Outcome {
    if !passing || work.numtries + 1 >= TRIES {
        return Outcome::Dead(failure);
    }
    Outcome::Retry { failure, not_before: at.after(FIRST_WAIT * 2u32.pow(work.numtries)) }
}

/// The target of a redirect is worth what the URL was.
pub(crate) fn redirect(work: &Work, response: &Response, result: &mut PageResult) {
    match response.headers.get("location").map(|location| work.url.join(location)) {
        Some(Ok(target)) => {
            result.outcome = Outcome::Redirected;
            let ids = (target.id(), target.site());
            result.links = vec![link_row(target, ids, (work.relevance, work.priority), work.depth)];
        }
        Some(Err(error)) => result.outcome = dead(format!("redirect to what is no URL: {error}")),
        None => result.outcome = dead("redirect without a location".to_owned()),
    }
}

fn dead(detail: String) -> Outcome {
    Outcome::Dead(Failure::new(FailureKind::Protocol, detail))
}

/// The page's links, each target once with the best that is believed of it; none if the page asks not to follow them,
/// and none that is not worth following: a link that the crawl will not take is not part of its graph.
pub(crate) fn link_rows(
    page: Page,
    depth: u32,
    believed: impl Iterator<Item = Option<(f64, f64)>>,
) -> Vec<LinkRow> {
    if page.robots.nofollow {
        return Vec::new();
    }
    let mut rows: Vec<LinkRow> = Vec::with_capacity(page.links.len());
    let mut places: HashMap<UrlId, usize, foldhash::fast::FixedState> =
        HashMap::with_capacity_and_hasher(page.links.len(), foldhash::fast::FixedState::default());
    for (link, believed) in page.links.into_iter().zip(believed) {
        let Some(believed) = believed else { continue };
        let oid = link.target.id();
        match places.entry(oid) {
            Entry::Vacant(place) => {
                place.insert(rows.len());
                // Neighbours mostly lead to the same site.
                let neighbour =
                    rows.last().filter(|row| row.target.url.authority() == link.target.authority());
                let sid = neighbour.map_or_else(|| link.target.site(), |row| row.sid);
                rows.push(link_row(link.target, (oid, sid), believed, depth));
            }
            Entry::Occupied(place) => {
                let known = &mut rows[*place.get()].target;
                known.priority = known.priority.max(believed.1);
            }
        }
    }
    rows
}

fn link_row(url: CanonicalUrl, ids: (UrlId, SiteId), believed: (f64, f64), depth: u32) -> LinkRow {
    let ((oid, sid), (relevance, priority)) = (ids, believed);
    let target = NewUrl { url, relevance, priority, depth };
    LinkRow { oid, sid, target, wgt_fwd: 0.0, wgt_rev: 0.0 }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use porthole_types::Headers;

    use super::*;
    use crate::reading::{Reader, Unread};

    fn work(numtries: u32) -> Work {
        let url = CanonicalUrl::parse("http://a.test/x").unwrap();
        Work {
            oid: url.id(),
            sid: url.site(),
            url,
            numtries,
            relevance: 0.0,
            priority: 0.0,
            depth: 0,
            pages_of_site: 0,
            rank: Default::default(),
        }
    }

    fn outcome(numtries: u32, status: u16) -> Outcome {
        let response = Response {
            status,
            headers: Headers::new(),
            body: Default::default(),
            truncated: false,
            took: Duration::ZERO,
        };
        let unread = Unread { work: work(numtries), answer: Ok(response), at: Timestamp(0) };
        Reader::new(None, None, Arc::default()).read(unread).unwrap().result.outcome
    }

    #[test]
    fn what_may_pass_is_tried_again_later_and_later() {
        let wait = |outcome| match outcome {
            Outcome::Retry { not_before, .. } => Some(not_before.0 / 1000),
            _ => None,
        };
        assert_eq!(wait(outcome(0, 503)), Some(60));
        assert_eq!(wait(outcome(1, 503)), Some(120));
        assert_eq!(wait(outcome(2, 503)), None);
        assert_eq!(wait(outcome(0, 429)), Some(60));
        assert_eq!(wait(outcome(0, 404)), None);
        assert!(matches!(outcome(0, 302), Outcome::Dead(Failure { kind: FailureKind::Protocol, .. })));
    }
}
